/*
 * Classes, groups of a class, blocks of a group, in order. See group-nodes.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/panels/groups/group-nodes.h"

#include "viewer/panels/blocklist.h"

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

/* Children of one node, in order. GTK asks for them of every row that it binds, to see
 * whether it can be opened: nothing is looked at before one is wanted. */
struct _TesseraNodes
{
  GObject parent_instance;

  TesseraNodeOrder *tree; /* owned */
  TesseraNodeKind kind;
  const uint32_t *indices; /* of @kind */
  uint32_t *own_indices;   /* the same; NULL: the grouping's */
  uint32_t *order;         /* the same, sorted; NULL: not looked at yet */
  uint32_t n;
  uint32_t n_listed; /* then comes a row for the rest, if any */
};

TesseraNodeOrder *
tessera_node_order_new (TesseraGrouping *grouping,
                        TesseraTreeColumn column,
                        gboolean down)
{
  TesseraNodeOrder *order = g_rc_box_new (TesseraNodeOrder);

  *order = (TesseraNodeOrder){ tessera_grouping_ref (grouping), column, down };
  return order;
}

static void
tree_clear (gpointer user)
{
  tessera_grouping_unref (((TesseraNodeOrder *) user)->grouping);
}

void
tessera_node_order_unref (gpointer order)
{
  g_rc_box_release_full (order, tree_clear);
}

static void look (TesseraNodes *self);

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
      look (self);
      return node_new (self->kind, self->order[position]);
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
  tessera_node_order_unref (TESSERA_NODES (object)->tree);
  g_free (TESSERA_NODES (object)->order);
  g_free (TESSERA_NODES (object)->own_indices);
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
  const TesseraGrouping *grouping = self->tree->grouping;
  TesseraTreeColumn column = self->tree->column;

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
  const TesseraNodeOrder *tree = user;
  const TesseraData *data = tree->grouping->data;
  uint32_t x = *(const uint32_t *) a, y = *(const uint32_t *) b;
  int order = g_utf8_collate (tessera_place_name (data, x), tessera_place_name (data, y));

  if (order != 0)
    return (order < 0) != tree->down ? -1 : 1;
  return (x > y) - (x < y);
}

static void
look (TesseraNodes *self)
{
  if (self->order != NULL || self->n == 0)
    return;
  self->order = g_memdup2 (self->indices, self->n * sizeof *self->order);
  if (self->kind == TESSERA_NODE_GROUP && self->tree->column == TESSERA_TREE_NAME)
    qsort_r (self->order, self->n, sizeof *self->order, compare_names, self->tree);
  else
    tessera_sort_indices (self->order, self->n, key_of, self, self->tree->down);
}

static TesseraNodes *
nodes_new (TesseraNodeOrder *tree,
           TesseraNodeKind kind,
           const uint32_t *indices,
           uint32_t n)
{
  TesseraNodes *nodes = g_object_new (TESSERA_TYPE_NODES, NULL);

  nodes->tree = g_rc_box_acquire (tree);
  nodes->kind = kind;
  nodes->indices = indices;
  nodes->n = n;
  nodes->n_listed = kind == TESSERA_NODE_BLOCK ? MIN (n, MOST_AT_ONCE) : n;
  return nodes;
}

/* Takes @indices over. */
static TesseraNodes *
nodes_of_own (TesseraNodeOrder *tree, TesseraNodeKind kind, uint32_t *indices, uint32_t n)
{
  TesseraNodes *nodes = nodes_new (tree, kind, indices, n);

  nodes->own_indices = indices;
  return nodes;
}

TesseraNodes *
tessera_nodes_of_classes (TesseraNodeOrder *tree)
{
  uint32_t *classes = g_new (uint32_t, TESSERA_N_CLASSES), n = 0;

  for (uint32_t class = 0; class < TESSERA_N_CLASSES; class ++)
    if (tree->grouping->classes[class].n_blocks > 0)
      classes[n++] = class;
  return nodes_of_own (tree, TESSERA_NODE_CLASS, classes, n);
}

TesseraNodes *
tessera_nodes_of_groups (TesseraNodeOrder *tree, uint32_t class)
{
  const TesseraGrouping *grouping = tree->grouping;
  uint32_t *places = g_new (uint32_t, grouping->n_places), n = 0;

  for (uint32_t place = 0; place < grouping->n_places; place++)
    if (grouping->rows[place].lifetime_class == class &&
        grouping->rows[place].n_blocks > 0)
      places[n++] = place;
  return nodes_of_own (tree, TESSERA_NODE_GROUP, places, n);
}

TesseraNodes *
tessera_nodes_of_blocks (TesseraNodeOrder *tree, uint32_t place)
{
  const uint32_t *begin = &tree->grouping->begin[place];

  return nodes_new (tree, TESSERA_NODE_BLOCK, &tree->grouping->blocks[begin[0]],
                    begin[1] - begin[0]);
}

/* --- finding ---------------------------------------------------------------------- */

/* Where an item comes in the order; G_MAXUINT: it is not among them. */
static guint
find_position (TesseraNodes *nodes, uint32_t index)
{
  look (nodes);
  for (uint32_t i = 0; i < nodes->n; i++)
    if (nodes->order[i] == index)
      return i;
  return G_MAXUINT;
}

guint
tessera_nodes_find (TesseraNodes *nodes, TesseraNodeKind kind, uint32_t index)
{
  guint before = get_n_items (G_LIST_MODEL (nodes));
  uint32_t most = kind == TESSERA_NODE_BLOCK ? MOST_LISTED : UINT32_MAX;
  guint position = nodes->kind == kind ? find_position (nodes, index) : G_MAXUINT;

  if (position >= most)
    return G_MAXUINT;
  if (position >= nodes->n_listed)
    {
      guint from = nodes->n_listed;

      nodes->n_listed = MIN (nodes->n, position + 1);
      g_list_model_items_changed (G_LIST_MODEL (nodes), from, before - from,
                                  get_n_items (G_LIST_MODEL (nodes)) - from);
    }
  return position;
}

void
tessera_nodes_list_more (TesseraNodes *nodes)
{
  guint from = nodes->n_listed, before = get_n_items (G_LIST_MODEL (nodes));

  nodes->n_listed = MIN (nodes->n, nodes->n_listed + MOST_AT_ONCE);
  g_list_model_items_changed (G_LIST_MODEL (nodes), from, before - from,
                              get_n_items (G_LIST_MODEL (nodes)) - from);
}
