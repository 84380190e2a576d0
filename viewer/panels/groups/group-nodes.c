/*
 * Classes, groups of a class, blocks of a group, in order. See group-nodes.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/panels/groups/group-nodes.h"

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
  double key;
  uint32_t index; /* of the nodes' kind */
} Entry;

/* Children of one node, in order. GTK asks for them of every row that it binds, to see
 * whether it can be opened: nothing is looked at before one is wanted, and no more is
 * sorted than is listed. */
struct _TesseraNodes
{
  GObject parent_instance;

  TesseraNodeOrder *tree; /* owned */
  TesseraNodeKind kind;
  const uint32_t *indices; /* of @kind */
  uint32_t *own_indices;   /* the same; NULL: the grouping's */
  Entry *order;            /* NULL: not looked at yet; of blocks those that are sorted */
  uint32_t n;
  uint32_t n_sorted; /* at the front of order */
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

static void sort_first (TesseraNodes *self, uint32_t n_wanted);

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
      sort_first (self, self->n_listed);
      return node_new (self->kind, self->order[position].index);
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
key_of (const TesseraNodes *self, uint32_t index)
{
  const TesseraGrouping *grouping = self->tree->grouping;
  TesseraTreeColumn column = self->tree->column;

  if (self->kind == TESSERA_NODE_BLOCK)
    return key_of_block (grouping->data, index, column);
  if (self->kind == TESSERA_NODE_CLASS)
    return column == TESSERA_TREE_NAME ? (double) index
                                       : key_of_row (&grouping->classes[index], column);
  return key_of_row (&grouping->rows[index], column);
}

static int
compare_names (const void *a, const void *b, void *user)
{
  const TesseraData *data = user;

  return g_utf8_collate (tessera_place_name (data, ((const Entry *) a)->index),
                         tessera_place_name (data, ((const Entry *) b)->index));
}

/* Keys are where names come in their order. */
static void
rank_names (TesseraNodes *self)
{
  TesseraData *data = self->tree->grouping->data;

  qsort_r (self->order, self->n, sizeof *self->order, compare_names, data);
  for (uint32_t i = 1; i < self->n; i++)
    self->order[i].key =
        self->order[i - 1].key +
        (compare_names (&self->order[i - 1], &self->order[i], data) != 0);
}

/* Equals stay as they are numbered, whichever way. */
static int
compare (const void *a, const void *b, void *user)
{
  const Entry *x = a, *y = b;
  const TesseraNodeOrder *tree = user;

  if (x->key != y->key)
    return (x->key < y->key) != tree->down ? -1 : 1;
  return (x->index > y->index) - (x->index < y->index);
}

static void
look (TesseraNodes *self)
{
  if (self->order != NULL)
    return;
  self->order = g_new (Entry, MAX (self->n, 1));
  for (uint32_t i = 0; i < self->n; i++)
    self->order[i] = (Entry){ 0, self->indices[i] };
  if (self->kind == TESSERA_NODE_GROUP && self->tree->column == TESSERA_TREE_NAME)
    rank_names (self);
  else
    for (uint32_t i = 0; i < self->n; i++)
      self->order[i].key = key_of (self, self->indices[i]);
}

static void
swap (Entry *a, Entry *b)
{
  Entry entry = *a;

  *a = *b;
  *b = entry;
}

/* Quickselect: the first @n_wanted of all come to the front, in any order. */
static void
bring_forward (Entry *entries, size_t n, size_t n_wanted, TesseraNodeOrder *tree)
{
  size_t begin = 0, end = n;

  while (end - begin > 1 && n_wanted > begin && n_wanted < end)
    {
      Entry pivot = entries[begin + (end - begin) / 2];
      size_t left = begin, right = end - 1;

      while (TRUE)
        {
          while (compare (&entries[left], &pivot, tree) < 0)
            left++;
          while (compare (&entries[right], &pivot, tree) > 0)
            right--;
          if (left >= right)
            break;
          swap (&entries[left++], &entries[right--]);
        }
      if (n_wanted <= left)
        end = left;
      else
        begin = left;
    }
}

static Entry
entry_of_block (const TesseraNodes *self, uint32_t i)
{
  return (Entry){ key_of (self, self->indices[i]), self->indices[i] };
}

static Entry
last_of (const Entry *entries, size_t n, TesseraNodeOrder *tree)
{
  size_t last = 0;

  for (size_t i = 1; i < n; i++)
    if (compare (&entries[i], &entries[last], tree) > 0)
      last = i;
  return entries[last];
}

/* The @n_next that come behind those that are sorted. One pass over all blocks that keeps
 * no more than twice of what is wanted: entries of a million blocks would be 16 MB, most
 * of the time for new memory. */
static void
sort_next_blocks (TesseraNodes *self, uint32_t n_next)
{
  const Entry *before = self->n_sorted > 0 ? &self->order[self->n_sorted - 1] : NULL;
  size_t n_most = 2 * (size_t) n_next, n = 0;
  g_autofree Entry *next = g_new (Entry, n_most);
  Entry last = { 0 };
  gboolean has_last = FALSE;

  for (uint32_t i = 0; i < self->n; i++)
    {
      Entry entry = entry_of_block (self, i);

      if ((has_last && compare (&entry, &last, self->tree) >= 0) ||
          (before != NULL && compare (&entry, before, self->tree) <= 0))
        continue;
      next[n++] = entry;
      if (n < n_most)
        continue;
      bring_forward (next, n, n_next, self->tree);
      n = n_next;
      last = last_of (next, n, self->tree);
      has_last = TRUE;
    }
  bring_forward (next, n, n_next, self->tree);
  qsort_r (next, n_next, sizeof *next, compare, self->tree);
  self->order = g_renew (Entry, self->order, self->n_sorted + n_next);
  memcpy (&self->order[self->n_sorted], next, n_next * sizeof *next);
  self->n_sorted += n_next;
}

static void
sort_first (TesseraNodes *self, uint32_t n_wanted)
{
  if (n_wanted <= self->n_sorted)
    return;
  if (self->kind == TESSERA_NODE_BLOCK)
    {
      sort_next_blocks (self, n_wanted - self->n_sorted);
      return;
    }
  look (self);
  qsort_r (self->order, self->n, sizeof *self->order, compare, self->tree);
  self->n_sorted = self->n;
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
  sort_first (nodes, nodes->n);
  for (uint32_t i = 0; i < nodes->n; i++)
    if (nodes->order[i].index == index)
      return i;
  return G_MAXUINT;
}

static guint
find_block (TesseraNodes *nodes, uint32_t block)
{
  Entry item = { 0, block };
  gboolean is_in = FALSE;
  guint position = 0;

  item.key = key_of (nodes, block);
  for (uint32_t i = 0; i < nodes->n; i++)
    {
      Entry entry = entry_of_block (nodes, i);

      is_in |= entry.index == block;
      position += compare (&entry, &item, nodes->tree) < 0;
    }
  return is_in ? position : G_MAXUINT;
}

guint
tessera_nodes_find (TesseraNodes *nodes, TesseraNodeKind kind, uint32_t index)
{
  guint before = get_n_items (G_LIST_MODEL (nodes));
  uint32_t most = kind == TESSERA_NODE_BLOCK ? MOST_LISTED : UINT32_MAX;
  guint position = nodes->kind != kind          ? G_MAXUINT
                   : kind == TESSERA_NODE_BLOCK ? find_block (nodes, index)
                                                : find_position (nodes, index);

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
