/*
 * Lifetime classes, groups of a class, blocks of a group, in order: the rows that are seen
 * of their tree.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/panels/private.h"

#include <stdlib.h>
#include <string.h>

/* --- order ------------------------------------------------------------------------ */

/* Of what is not negative the bits are in order. */
static uint64_t
key_of_double (double value)
{
  uint64_t key;

  memcpy (&key, &value, sizeof key);
  return key;
}

TesseraGroupRow
tessera_node_row (const TesseraGrouping *grouping, TesseraNode node)
{
  const TesseraData *data = grouping->data;
  const TesseraBlock *b;

  if (node.kind != TESSERA_NODE_BLOCK)
    return grouping->rows[node.index];
  b = &data->blocks->blocks[node.index];
  return (TesseraGroupRow){
    .n_blocks = 1,
    .size_bytes = b->size_bytes,
    .height_bytes = b->block_bytes,
    .peak_bytes = b->born_index <= data->bound_index && b->died_index > data->bound_index
                      ? b->block_bytes
                      : 0,
    .filled = b->died_index - b->born_index,
  };
}

static uint64_t
key_of (const TesseraGroupTree *self, TesseraNodeKind kind, uint32_t index)
{
  TesseraGroupRow row = tessera_node_row (self->grouping, (TesseraNode){ kind, index });

  switch (self->column)
    {
    case TESSERA_TREE_NAME:
      return index;
    case TESSERA_TREE_PEAK:
      return row.peak_bytes;
    case TESSERA_TREE_BYTES:
      return row.size_bytes;
    case TESSERA_TREE_FILLED:
      return key_of_double (row.filled);
    default:
      return row.height_bytes;
    }
}

static uint64_t
key_of_row (gconstpointer self, uint32_t row)
{
  return key_of (self, TESSERA_NODE_GROUP, row);
}

static uint64_t
key_of_block (gconstpointer self, uint32_t block)
{
  return key_of (self, TESSERA_NODE_BLOCK, block);
}

/* Equals stay as they are numbered, whichever way. */
static int
compare_names (const void *a, const void *b, void *user)
{
  const TesseraGroupTree *self = user;
  const TesseraData *data = self->grouping->data;
  uint32_t x = *(const uint32_t *) a, y = *(const uint32_t *) b;
  int order = g_utf8_collate (tessera_place_name (data, x), tessera_place_name (data, y));

  if (order != 0)
    return (order < 0) != self->down ? -1 : 1;
  return (x > y) - (x < y);
}

/* --- rows ------------------------------------------------------------------------- */

static void
append (TesseraGroupTree *self, TesseraNodeKind kind, uint32_t index)
{
  TesseraNode node = { kind, index };

  g_array_append_val (self->rows, node);
}

static void
append_blocks (TesseraGroupTree *self, uint32_t place)
{
  const uint32_t *begin = &self->grouping->begin[place];
  uint32_t n = begin[1] - begin[0];
  g_autofree uint32_t *blocks =
      g_memdup2 (&self->grouping->blocks[begin[0]], n * sizeof *blocks);

  tessera_sort_indices (blocks, n, key_of_block, self, self->down);
  for (uint32_t i = 0; i < n; i++)
    append (self, TESSERA_NODE_BLOCK, blocks[i]);
}

static void
append_groups (TesseraGroupTree *self, uint8_t lifetime_class)
{
  const TesseraGrouping *grouping = self->grouping;
  g_autofree uint32_t *places = g_new (uint32_t, grouping->n_places);
  uint32_t n = 0;

  for (uint32_t place = 0; place < grouping->n_places; place++)
    if (grouping->rows[place].lifetime_class == lifetime_class &&
        grouping->rows[place].n_blocks > 0)
      places[n++] = place;
  if (self->column == TESSERA_TREE_NAME)
    qsort_r (places, n, sizeof *places, compare_names, self);
  else
    tessera_sort_indices (places, n, key_of_row, self, self->down);
  for (uint32_t i = 0; i < n; i++)
    {
      append (self, TESSERA_NODE_GROUP, places[i]);
      if (self->is_open[places[i]])
        append_blocks (self, places[i]);
    }
}

static void
list_rows (TesseraGroupTree *self)
{
  const TesseraGrouping *grouping = self->grouping;
  uint32_t classes[TESSERA_N_CLASSES], n = 0;

  for (uint32_t class = 0; class < TESSERA_N_CLASSES; class ++)
    if (grouping->rows[grouping->n_places + class].n_blocks > 0)
      classes[n++] = (uint32_t) grouping->n_places + class;
  tessera_sort_indices (classes, n, key_of_row, self, self->down);
  g_array_set_size (self->rows, 0);
  for (uint32_t i = 0; i < n; i++)
    {
      append (self, TESSERA_NODE_CLASS, classes[i]);
      if (self->is_open[classes[i]])
        append_groups (self, grouping->rows[classes[i]].lifetime_class);
    }
}

/* --- the tree --------------------------------------------------------------------- */

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

static void
open_like (TesseraGroupTree *self, const TesseraGroupTree *like)
{
  memcpy (&self->is_open[self->grouping->n_places],
          &like->is_open[like->grouping->n_places], TESSERA_N_CLASSES);
  for (uint32_t place = 0; place < like->grouping->n_places; place++)
    if (like->is_open[place])
      {
        uint32_t twin = find_twin (self->grouping, like->grouping, place);

        if (twin != TESSERA_NONE)
          self->is_open[twin] = TRUE;
      }
}

TesseraGroupTree *
tessera_group_tree_new (TesseraGrouping *grouping,
                        const TesseraGroupTree *like,
                        TesseraTreeColumn column,
                        gboolean down)
{
  TesseraGroupTree *self = g_new0 (TesseraGroupTree, 1);

  self->grouping = tessera_grouping_ref (grouping);
  self->column = column;
  self->down = down;
  self->rows = g_array_new (FALSE, FALSE, sizeof (TesseraNode));
  self->is_open = g_new0 (uint8_t, grouping->n_places + TESSERA_N_CLASSES);
  if (like != NULL)
    open_like (self, like);
  else
    memset (&self->is_open[grouping->n_places], TRUE, TESSERA_N_CLASSES);
  list_rows (self);
  return self;
}

void
tessera_group_tree_free (TesseraGroupTree *self)
{
  if (self == NULL)
    return;
  tessera_grouping_unref (self->grouping);
  g_array_unref (self->rows);
  g_free (self->is_open);
  g_free (self);
}

gboolean
tessera_group_tree_is_open (const TesseraGroupTree *self, TesseraNode node)
{
  return node.kind != TESSERA_NODE_BLOCK && self->is_open[node.index];
}

gboolean
tessera_group_tree_set_open (TesseraGroupTree *self, TesseraNode node, gboolean open)
{
  if (node.kind == TESSERA_NODE_BLOCK || tessera_group_tree_is_open (self, node) == open)
    return FALSE;
  self->is_open[node.index] = (uint8_t) open;
  list_rows (self);
  return TRUE;
}

guint
tessera_group_tree_open_to (TesseraGroupTree *self, TesseraNodeKind kind, uint32_t index)
{
  const TesseraGrouping *grouping = self->grouping;
  uint32_t place =
      kind == TESSERA_NODE_BLOCK ? tessera_place_of (grouping->data, index) : index;

  if (kind != TESSERA_NODE_CLASS)
    tessera_group_tree_set_open (
        self,
        (TesseraNode){ TESSERA_NODE_CLASS, (uint32_t) grouping->n_places +
                                               grouping->rows[place].lifetime_class },
        TRUE);
  if (kind == TESSERA_NODE_BLOCK)
    tessera_group_tree_set_open (self, (TesseraNode){ TESSERA_NODE_GROUP, place }, TRUE);
  for (guint i = 0; i < self->rows->len; i++)
    {
      const TesseraNode *node = &g_array_index (self->rows, TesseraNode, i);

      if (node->kind == kind && node->index == index)
        return i;
    }
  return G_MAXUINT;
}
