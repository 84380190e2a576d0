/*
 * Lifetime classes, groups of a class, blocks of a group, in order: as a tree of list
 * models that make rows only where they are seen.
 *
 * A GtkTreeListModel keeps a record for each row that is open, so a group lists its first
 * thousand blocks in the order that was chosen, and a row that brings more. GTK asks for
 * the children of every row that it binds, to see whether it can be opened: so nothing is
 * sorted before one is wanted.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/panels/private.h"

#include <stdlib.h>
#include <string.h>

#define MOST_AT_ONCE 1000
/* No block is looked for further down: its group stands for it. */
#define MOST_LISTED 20000

/* --- items ------------------------------------------------------------------------ */

G_DEFINE_TYPE (TesseraNode, tessera_node, G_TYPE_OBJECT)

static void
tessera_node_class_init (TesseraNodeClass *class)
{
}

static void
tessera_node_init (TesseraNode *self)
{
}

static TesseraNode *
node_new (TesseraNodeKind kind, uint32_t index)
{
  TesseraNode *node = g_object_new (TESSERA_TYPE_NODE, NULL);

  node->kind = kind;
  node->index = index;
  return node;
}

/* --- lists ------------------------------------------------------------------------ */

typedef struct
{
  TesseraGrouping *grouping;
  TesseraTreeColumn column;
  gboolean down;
} Order;

/* Children of one node, in order: a GListModel of TesseraNode. */
#define TESSERA_TYPE_NODES (tessera_nodes_get_type ())
G_DECLARE_FINAL_TYPE (TesseraNodes, tessera_nodes, TESSERA, NODES, GObject)

struct _TesseraNodes
{
  GObject parent_instance;

  Order order; /* a reference of ours */
  TesseraNodeKind kind;
  const uint32_t *blocks; /* of the grouping; NULL: of another kind */
  uint32_t *sorted;       /* of @kind; NULL: blocks that nobody looked at yet */
  gboolean is_sorted;
  uint32_t n;
  uint32_t n_listed; /* then comes a row for the rest, if any */
};

static void sort_nodes (TesseraNodes *self);

static GType
get_item_type (GListModel *model)
{
  return TESSERA_TYPE_NODE;
}

static guint
get_n_items (GListModel *model)
{
  const TesseraNodes *self = TESSERA_NODES (model);

  return self->n_listed + (self->n_listed < self->n);
}

static gpointer
get_item (GListModel *model, guint position)
{
  TesseraNodes *self = TESSERA_NODES (model);

  if (position < self->n_listed)
    {
      sort_nodes (self);
      return node_new (self->kind, self->sorted[position]);
    }
  if (position == self->n_listed && self->n_listed < self->n)
    return node_new (TESSERA_NODE_MORE, self->n - self->n_listed);
  return NULL;
}

static void
init_list_model (GListModelInterface *interface)
{
  interface->get_item_type = get_item_type;
  interface->get_n_items = get_n_items;
  interface->get_item = get_item;
}

G_DEFINE_TYPE_WITH_CODE (TesseraNodes,
                         tessera_nodes,
                         G_TYPE_OBJECT,
                         G_IMPLEMENT_INTERFACE (G_TYPE_LIST_MODEL, init_list_model))

static void
tessera_nodes_finalize (GObject *object)
{
  tessera_grouping_unref (TESSERA_NODES (object)->order.grouping);
  g_free (TESSERA_NODES (object)->sorted);
  G_OBJECT_CLASS (tessera_nodes_parent_class)->finalize (object);
}

static void
tessera_nodes_class_init (TesseraNodesClass *class)
{
  G_OBJECT_CLASS (class)->finalize = tessera_nodes_finalize;
}

static void
tessera_nodes_init (TesseraNodes *self)
{
}

/* --- order ------------------------------------------------------------------------ */

/* Of what is not negative the bits are in order. */
static uint64_t
key_of_double (double value)
{
  uint64_t key;

  memcpy (&key, &value, sizeof key);
  return key;
}

static uint64_t
key_of_row (const TesseraGroupRow *row, TesseraTreeColumn column)
{
  switch (column)
    {
    case TESSERA_TREE_PEAK:
      return row->peak_bytes;
    case TESSERA_TREE_BYTES:
      return row->size_bytes;
    case TESSERA_TREE_FILLED:
      return key_of_double (row->filled);
    default:
      return row->height_bytes;
    }
}

static uint64_t
key_of_block (const TesseraData *data, uint32_t block, TesseraTreeColumn column)
{
  const TesseraBlock *b = &data->blocks->blocks[block];

  switch (column)
    {
    case TESSERA_TREE_PEAK:
      return b->born_index <= data->bound_index && b->died_index > data->bound_index
                 ? b->block_bytes
                 : 0;
    case TESSERA_TREE_HEIGHT:
      return b->block_bytes;
    case TESSERA_TREE_BYTES:
      return b->size_bytes;
    case TESSERA_TREE_FILLED:
      return b->died_index - b->born_index;
    default:
      return block;
    }
}

static uint64_t
key_of (gconstpointer user, uint32_t index)
{
  const TesseraNodes *self = user;
  const TesseraGrouping *grouping = self->order.grouping;
  TesseraTreeColumn column = self->order.column;

  if (self->kind == TESSERA_NODE_BLOCK)
    return key_of_block (grouping->data, index, column);
  if (self->kind == TESSERA_NODE_CLASS)
    return column == TESSERA_TREE_NAME ? index
                                       : key_of_row (&grouping->classes[index], column);
  return key_of_row (&grouping->rows[index], column);
}

/* Equals stay as they are numbered, whichever way. */
static int
compare_names (const void *a, const void *b, void *user)
{
  const Order *by = user;
  const TesseraData *data = by->grouping->data;
  uint32_t x = *(const uint32_t *) a, y = *(const uint32_t *) b;
  int order = g_utf8_collate (tessera_place_name (data, x), tessera_place_name (data, y));

  if (order != 0)
    return (order < 0) != by->down ? -1 : 1;
  return (x > y) - (x < y);
}

static void
sort_nodes (TesseraNodes *self)
{
  if (self->is_sorted)
    return;
  if (self->sorted == NULL)
    self->sorted = g_memdup2 (self->blocks, self->n * sizeof *self->sorted);
  if (self->kind == TESSERA_NODE_GROUP && self->order.column == TESSERA_TREE_NAME)
    qsort_r (self->sorted, self->n, sizeof *self->sorted, compare_names, &self->order);
  else
    tessera_sort_indices (self->sorted, self->n, key_of, self, self->order.down);
  self->is_sorted = TRUE;
}

static TesseraNodes *
nodes_new (const Order *order, TesseraNodeKind kind)
{
  TesseraNodes *nodes = g_object_new (TESSERA_TYPE_NODES, NULL);

  nodes->order = *order;
  tessera_grouping_ref (order->grouping);
  nodes->kind = kind;
  return nodes;
}

static TesseraNodes *
nodes_of_classes (const Order *order)
{
  TesseraNodes *nodes = nodes_new (order, TESSERA_NODE_CLASS);

  nodes->sorted = g_new (uint32_t, TESSERA_N_CLASSES);
  for (uint32_t class = 0; class < TESSERA_N_CLASSES; class ++)
    if (order->grouping->classes[class].n_blocks > 0)
      nodes->sorted[nodes->n++] = class;
  nodes->n_listed = nodes->n;
  return nodes;
}

static TesseraNodes *
nodes_of_groups (const Order *order, uint32_t class)
{
  const TesseraGrouping *grouping = order->grouping;
  TesseraNodes *nodes = nodes_new (order, TESSERA_NODE_GROUP);

  nodes->sorted = g_new (uint32_t, MAX (grouping->n_places, 1));
  for (uint32_t place = 0; place < grouping->n_places; place++)
    if (grouping->rows[place].lifetime_class == class &&
        grouping->rows[place].n_blocks > 0)
      nodes->sorted[nodes->n++] = place;
  nodes->n_listed = nodes->n;
  return nodes;
}

static TesseraNodes *
nodes_of_blocks (const Order *order, uint32_t place)
{
  const uint32_t *begin = &order->grouping->begin[place];
  TesseraNodes *nodes = nodes_new (order, TESSERA_NODE_BLOCK);

  nodes->blocks = &order->grouping->blocks[begin[0]];
  nodes->n = begin[1] - begin[0];
  nodes->n_listed = MIN (nodes->n, MOST_AT_ONCE);
  return nodes;
}

static void
set_listed (TesseraNodes *nodes, uint32_t n_listed)
{
  guint from = nodes->n_listed, before = get_n_items (G_LIST_MODEL (nodes));

  nodes->n_listed = MIN (nodes->n, n_listed);
  g_list_model_items_changed (G_LIST_MODEL (nodes), from, before - from,
                              get_n_items (G_LIST_MODEL (nodes)) - from);
}

/* Position among the children, or G_MAXUINT. Lists so many blocks that it is there. */
static guint
find_node (TesseraNodes *nodes, TesseraNodeKind kind, uint32_t index)
{
  uint32_t most = kind == TESSERA_NODE_BLOCK ? MOST_LISTED : UINT32_MAX, i = 0;

  sort_nodes (nodes);
  while (i < nodes->n && nodes->sorted[i] != index)
    i++;
  if (nodes->kind != kind || i == nodes->n || i >= most)
    return G_MAXUINT;
  if (i >= nodes->n_listed)
    set_listed (nodes, i + 1);
  return i;
}

/* --- the tree --------------------------------------------------------------------- */

static GListModel *
create_children (gpointer item, gpointer order)
{
  const TesseraNode *node = item;

  if (node->kind == TESSERA_NODE_CLASS)
    return G_LIST_MODEL (nodes_of_groups (order, node->index));
  if (node->kind == TESSERA_NODE_GROUP)
    return G_LIST_MODEL (nodes_of_blocks (order, node->index));
  return NULL;
}

static void
order_free (gpointer order)
{
  tessera_grouping_unref (((Order *) order)->grouping);
  g_free (order);
}

GtkTreeListModel *
tessera_group_tree_new (TesseraGrouping *grouping,
                        TesseraTreeColumn column,
                        gboolean down)
{
  Order *order = g_new (Order, 1);

  *order = (Order){ tessera_grouping_ref (grouping), column, down };
  return gtk_tree_list_model_new (G_LIST_MODEL (nodes_of_classes (order)), FALSE, FALSE,
                                  create_children, order, order_free);
}

static GtkTreeListRow *
open_child (GtkTreeListRow *parent, TesseraNodeKind kind, uint32_t index)
{
  GListModel *children;
  guint position;

  gtk_tree_list_row_set_expanded (parent, TRUE);
  children = gtk_tree_list_row_get_children (parent);
  if (children == NULL)
    return NULL;
  position = find_node (TESSERA_NODES (children), kind, index);
  return position != G_MAXUINT ? gtk_tree_list_row_get_child_row (parent, position)
                               : NULL;
}

static GtkTreeListRow *
row_of_class (GtkTreeListModel *tree, uint32_t class)
{
  TesseraNodes *nodes = TESSERA_NODES (gtk_tree_list_model_get_model (tree));
  guint position = find_node (nodes, TESSERA_NODE_CLASS, class);

  return position != G_MAXUINT ? gtk_tree_list_model_get_child_row (tree, position)
                               : NULL;
}

static const TesseraGrouping *
grouping_of (GtkTreeListModel *tree)
{
  return TESSERA_NODES (gtk_tree_list_model_get_model (tree))->order.grouping;
}

GtkTreeListRow *
tessera_group_tree_open_to (GtkTreeListModel *tree, TesseraNodeKind kind, uint32_t index)
{
  const TesseraGrouping *grouping = grouping_of (tree);
  uint32_t place =
      kind == TESSERA_NODE_BLOCK ? tessera_place_of (grouping->data, index) : index;
  g_autoptr (GtkTreeListRow) of_class = NULL;
  g_autoptr (GtkTreeListRow) of_group = NULL;

  if (kind == TESSERA_NODE_CLASS)
    return row_of_class (tree, index);
  of_class = row_of_class (tree, grouping->rows[place].lifetime_class);
  if (of_class == NULL)
    return NULL;
  of_group = open_child (of_class, TESSERA_NODE_GROUP, place);
  if (of_group == NULL || kind == TESSERA_NODE_GROUP)
    return g_steal_pointer (&of_group);
  return open_child (of_group, TESSERA_NODE_BLOCK, index);
}

void
tessera_group_tree_more (GtkTreeListModel *tree, GtkTreeListRow *row)
{
  g_autoptr (GtkTreeListRow) parent = gtk_tree_list_row_get_parent (row);
  TesseraNodes *nodes = TESSERA_NODES (gtk_tree_list_row_get_children (parent));

  set_listed (nodes, nodes->n_listed + MOST_AT_ONCE);
}

void
tessera_group_tree_open_classes (GtkTreeListModel *tree)
{
  guint n = g_list_model_get_n_items (gtk_tree_list_model_get_model (tree));

  for (guint i = 0; i < n; i++)
    {
      g_autoptr (GtkTreeListRow) row = gtk_tree_list_model_get_child_row (tree, i);

      gtk_tree_list_row_set_expanded (row, TRUE);
    }
}

/* The place in @grouping of the same name and class; TESSERA_NONE: there is none. */
static uint32_t
find_twin (const TesseraGrouping *grouping, const TesseraGrouping *like, uint32_t place)
{
  const char *name = tessera_place_name (like->data, place);

  if (grouping->data == like->data)
    return place;
  for (uint32_t i = 0; i < grouping->n_places; i++)
    if (grouping->rows[i].lifetime_class == like->rows[place].lifetime_class &&
        g_str_equal (tessera_place_name (grouping->data, i), name))
      return i;
  return TESSERA_NONE;
}

/* Opens below @twin the groups that are open below @of_class. */
static void
open_groups_like (GtkTreeListModel *tree,
                  GtkTreeListRow *twin,
                  GtkTreeListModel *like,
                  GtkTreeListRow *of_class)
{
  GListModel *groups = gtk_tree_list_row_get_children (of_class);

  gtk_tree_list_row_set_expanded (twin, TRUE);
  for (guint i = 0; i < g_list_model_get_n_items (groups); i++)
    {
      g_autoptr (GtkTreeListRow) of_group = gtk_tree_list_row_get_child_row (of_class, i);
      g_autoptr (TesseraNode) group = g_list_model_get_item (groups, i);
      g_autoptr (GtkTreeListRow) opened = NULL;

      if (!gtk_tree_list_row_get_expanded (of_group))
        continue;
      opened =
          open_child (twin, TESSERA_NODE_GROUP,
                      find_twin (grouping_of (tree), grouping_of (like), group->index));
      if (opened != NULL)
        gtk_tree_list_row_set_expanded (opened, TRUE);
    }
}

void
tessera_group_tree_open_like (GtkTreeListModel *tree, GtkTreeListModel *like)
{
  GListModel *classes = gtk_tree_list_model_get_model (like);

  for (guint i = 0; i < g_list_model_get_n_items (classes); i++)
    {
      g_autoptr (GtkTreeListRow) of_class = gtk_tree_list_model_get_child_row (like, i);
      g_autoptr (TesseraNode) class = g_list_model_get_item (classes, i);
      g_autoptr (GtkTreeListRow) twin = row_of_class (tree, class->index);

      if (twin != NULL && gtk_tree_list_row_get_expanded (of_class))
        open_groups_like (tree, twin, like, of_class);
    }
}
