/*
 * Lifetime classes, their groups, their blocks.
 *
 * A GtkTreeListModel keeps a record for each row that is open, so a group lists its first
 * thousand blocks in the order that was chosen, and a row that brings more.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/panels/groups/group-tree.h"

#include <stdlib.h>

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

#define TESSERA_TYPE_NODES (tessera_nodes_get_type ())
G_DECLARE_FINAL_TYPE (TesseraNodes, tessera_nodes, TESSERA, NODES, GObject)

/* Children of one node, in order. */
struct _TesseraNodes
{
  GObject parent_instance;

  TesseraNodeKind kind;
  uint32_t *order; /* indices of @kind */
  uint32_t n;
  uint32_t n_listed; /* of them; then comes a row for the rest, if any */
};

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
  const TesseraNodes *self = TESSERA_NODES (model);

  if (position < self->n_listed)
    return node_new (self->kind, self->order[position]);
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
  g_free (TESSERA_NODES (object)->order);
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

typedef struct
{
  TesseraGrouping *grouping;
  TesseraTreeColumn column;
  gboolean down;
} Tree;

static void
tree_free (gpointer user)
{
  Tree *tree = user;

  tessera_grouping_unref (tree->grouping);
  g_free (tree);
}

typedef struct
{
  const Tree *tree;
  TesseraNodeKind kind;
} Ordering;

static double
key_of_row (const TesseraGroupRow *row, TesseraTreeColumn column)
{
  switch (column)
    {
    case TESSERA_TREE_PEAK:
      return (double) row->peak_bytes;
    case TESSERA_TREE_BYTES:
      return (double) row->size_bytes;
    case TESSERA_TREE_FILLED:
      return row->filled;
    default:
      return (double) row->height_bytes;
    }
}

static double
key_of_block (const TesseraData *data, uint32_t block, TesseraTreeColumn column)
{
  const TesseraBlock *b = &data->blocks->blocks[block];

  switch (column)
    {
    case TESSERA_TREE_PEAK:
      return b->born_index <= data->bound_index && b->died_index > data->bound_index
                 ? (double) b->block_bytes
                 : 0;
    case TESSERA_TREE_HEIGHT:
      return (double) b->block_bytes;
    case TESSERA_TREE_BYTES:
      return (double) b->size_bytes;
    case TESSERA_TREE_FILLED:
      return (double) (b->died_index - b->born_index);
    default:
      return (double) block;
    }
}

static double
key_of (const Ordering *o, uint32_t index)
{
  const TesseraGrouping *grouping = o->tree->grouping;

  if (o->kind == TESSERA_NODE_BLOCK)
    return key_of_block (grouping->data, index, o->tree->column);
  return key_of_row (o->kind == TESSERA_NODE_CLASS ? &grouping->classes[index]
                                                   : &grouping->rows[index],
                     o->tree->column);
}

static const char *
text_of (const Ordering *o, uint32_t place)
{
  const TesseraData *data = o->tree->grouping->data;

  return o->tree->column == TESSERA_TREE_NAME ? tessera_place_name (data, place)
                                              : tessera_place_reason (data, place);
}

static int
compare (const void *a, const void *b, void *user)
{
  const Ordering *o = user;
  uint32_t x = *(const uint32_t *) a, y = *(const uint32_t *) b;
  gboolean by_text = o->tree->column == TESSERA_TREE_NAME;
  int order;

  if (by_text && o->kind == TESSERA_NODE_GROUP)
    order = g_utf8_collate (text_of (o, x), text_of (o, y));
  else if (by_text && o->kind == TESSERA_NODE_CLASS)
    order = (x > y) - (x < y);
  else
    {
      double p = key_of (o, x), q = key_of (o, y);

      order = (p > q) - (p < q);
    }
  if (order != 0)
    return o->tree->down ? -order : order;
  return (x > y) - (x < y);
}

/* Takes @order over. */
static TesseraNodes *
nodes_new (const Tree *tree, TesseraNodeKind kind, uint32_t *order, uint32_t n)
{
  TesseraNodes *nodes = g_object_new (TESSERA_TYPE_NODES, NULL);
  Ordering ordering = { tree, kind };

  if (n > 1)
    qsort_r (order, n, sizeof *order, compare, &ordering);
  nodes->kind = kind;
  nodes->order = order;
  nodes->n = n;
  nodes->n_listed = kind == TESSERA_NODE_BLOCK ? MIN (n, MOST_AT_ONCE) : n;
  return nodes;
}

static TesseraNodes *
classes_new (const Tree *tree)
{
  uint32_t *order = g_new (uint32_t, TESSERA_N_CLASSES), n = 0;

  for (uint32_t class = 0; class < TESSERA_N_CLASSES; class ++)
    if (tree->grouping->classes[class].n_blocks > 0)
      order[n++] = class;
  return nodes_new (tree, TESSERA_NODE_CLASS, order, n);
}

static TesseraNodes *
groups_new (const Tree *tree, uint32_t class)
{
  const TesseraGrouping *grouping = tree->grouping;
  uint32_t *order = g_new (uint32_t, grouping->n_places), n = 0;

  for (uint32_t place = 0; place < grouping->n_places; place++)
    if (grouping->rows[place].lifetime_class == class &&
        grouping->rows[place].n_blocks > 0)
      order[n++] = place;
  return nodes_new (tree, TESSERA_NODE_GROUP, order, n);
}

static TesseraNodes *
blocks_new (const Tree *tree, uint32_t place)
{
  const uint32_t *begin = &tree->grouping->begin[place];
  uint32_t n = begin[1] - begin[0];

  return nodes_new (tree, TESSERA_NODE_BLOCK,
                    g_memdup2 (&tree->grouping->blocks[begin[0]], n * sizeof *begin), n);
}

/* --- the tree --------------------------------------------------------------------- */

static GListModel *
create_children (gpointer item, gpointer user)
{
  const TesseraNode *node = item;

  switch (node->kind)
    {
    case TESSERA_NODE_CLASS:
      return G_LIST_MODEL (groups_new (user, node->index));
    case TESSERA_NODE_GROUP:
      return G_LIST_MODEL (blocks_new (user, node->index));
    default:
      return NULL;
    }
}

GtkTreeListModel *
tessera_group_tree_new (TesseraGrouping *grouping,
                        TesseraTreeColumn column,
                        gboolean down)
{
  Tree *tree = g_new (Tree, 1);
  GtkTreeListModel *model;

  *tree = (Tree){ tessera_grouping_ref (grouping), column, down };
  model = gtk_tree_list_model_new (G_LIST_MODEL (classes_new (tree)), FALSE, FALSE,
                                   create_children, tree, tree_free);
  g_object_set_data (G_OBJECT (model), "tree", tree); /* the model owns it already */
  return model;
}

/* Position among the children, or G_MAXUINT. Lists so many blocks that it is there. */
static guint
find_child (TesseraNodes *nodes, TesseraNodeKind kind, uint32_t index)
{
  guint before = get_n_items (G_LIST_MODEL (nodes));
  uint32_t most = kind == TESSERA_NODE_BLOCK ? MOST_LISTED : UINT32_MAX;

  for (uint32_t i = 0; nodes->kind == kind && i < MIN (nodes->n, most); i++)
    if (nodes->order[i] == index)
      {
        if (i >= nodes->n_listed)
          {
            guint from = nodes->n_listed;

            nodes->n_listed = MIN (nodes->n, i + 1);
            g_list_model_items_changed (G_LIST_MODEL (nodes), from, before - from,
                                        get_n_items (G_LIST_MODEL (nodes)) - from);
          }
        return i;
      }
  return G_MAXUINT;
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
  position = find_child (TESSERA_NODES (children), kind, index);
  return position != G_MAXUINT ? gtk_tree_list_row_get_child_row (parent, position)
                               : NULL;
}

static GtkTreeListRow *
row_of_class (GtkTreeListModel *tree, uint32_t class)
{
  TesseraNodes *nodes = TESSERA_NODES (gtk_tree_list_model_get_model (tree));
  guint position = find_child (nodes, TESSERA_NODE_CLASS, class);

  return position != G_MAXUINT ? gtk_tree_list_model_get_child_row (tree, position)
                               : NULL;
}

static Tree *
tree_of (GtkTreeListModel *tree)
{
  return g_object_get_data (G_OBJECT (tree), "tree");
}

GtkTreeListRow *
tessera_group_tree_open_to (GtkTreeListModel *tree, TesseraNodeKind kind, uint32_t index)
{
  const TesseraGrouping *grouping = tree_of (tree)->grouping;
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
  guint from = nodes->n_listed, before = get_n_items (G_LIST_MODEL (nodes));

  nodes->n_listed = MIN (nodes->n, nodes->n_listed + MOST_AT_ONCE);
  g_list_model_items_changed (G_LIST_MODEL (nodes), from, before - from,
                              get_n_items (G_LIST_MODEL (nodes)) - from);
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

void
tessera_group_tree_open_like (GtkTreeListModel *tree, GtkTreeListModel *like)
{
  GListModel *classes = gtk_tree_list_model_get_model (like);

  for (guint i = 0; i < g_list_model_get_n_items (classes); i++)
    {
      g_autoptr (GtkTreeListRow) of_class = gtk_tree_list_model_get_child_row (like, i);
      g_autoptr (TesseraNode) class = g_list_model_get_item (classes, i);
      g_autoptr (GtkTreeListRow) twin = NULL;
      GListModel *groups = gtk_tree_list_row_get_children (of_class);

      if (groups == NULL || !gtk_tree_list_row_get_expanded (of_class))
        continue;
      twin = row_of_class (tree, class->index);
      if (twin == NULL)
        continue;
      gtk_tree_list_row_set_expanded (twin, TRUE);
      for (guint k = 0; k < g_list_model_get_n_items (groups); k++)
        {
          g_autoptr (GtkTreeListRow) of_group =
              gtk_tree_list_row_get_child_row (of_class, k);
          g_autoptr (TesseraNode) group = g_list_model_get_item (groups, k);
          g_autoptr (GtkTreeListRow) opened = NULL;

          uint32_t place;

          if (!gtk_tree_list_row_get_expanded (of_group))
            continue;
          place = find_twin (tree_of (tree)->grouping, tree_of (like)->grouping,
                             group->index);
          opened = open_child (twin, TESSERA_NODE_GROUP, place);
          if (opened != NULL)
            gtk_tree_list_row_set_expanded (opened, TRUE);
        }
    }
}
