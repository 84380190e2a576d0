/*
 * Sets of blocks: what is selected, blocks by class and group.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/model/data.h"

#include <string.h>

/* --- a set of blocks ----------------------------------------------------------------- */

/* One byte for each block of the trace and a list of those that are in it: drawing asks
 * for the byte, panels walk the list. A million blocks are made in about a millisecond. */

static void
selection_clear (gpointer user)
{
  TesseraSelection *selection = user;

  g_free (selection->blocks);
  g_free (selection->is_in);
}

TESSERA_DEFINE_SHARED (TesseraSelection, tessera_selection, selection_clear)

TesseraSelection *
tessera_selection_new (size_t n_all, uint8_t *is_in)
{
  TesseraSelection *selection;
  size_t n = 0;

  for (size_t i = 0; i < n_all; i++)
    n += is_in[i];
  if (n == 0)
    {
      g_free (is_in);
      return NULL;
    }
  selection = g_atomic_rc_box_new0 (TesseraSelection);
  selection->blocks = g_new (uint32_t, n);
  selection->is_in = is_in;
  selection->n_all = n_all;
  for (size_t i = 0; i < n_all; i++)
    if (is_in[i])
      selection->blocks[selection->n_blocks++] = (uint32_t) i;
  return selection;
}

TesseraSelection *
tessera_selection_of_blocks (size_t n_all, const uint32_t *blocks, size_t n_blocks)
{
  uint8_t *is_in = g_malloc0 (MAX (n_all, 1));

  for (size_t i = 0; i < n_blocks; i++)
    if (blocks[i] < n_all)
      is_in[blocks[i]] = 1;
  return tessera_selection_new (n_all, is_in);
}

TesseraSelection *
tessera_selection_join (TesseraSelection *selection,
                        TesseraSelection *found,
                        TesseraSelectHow how)
{
  uint8_t *is_in;

  if (how == TESSERA_SELECT_ONLY || (selection == NULL && how != TESSERA_SELECT_LESS))
    return tessera_selection_ref (found);
  if (selection == NULL || found == NULL)
    return tessera_selection_ref (selection);
  is_in = g_memdup2 (selection->is_in, selection->n_all);
  for (size_t i = 0; i < found->n_blocks; i++)
    {
      uint8_t *is_one = &is_in[found->blocks[i]];

      *is_one = how == TESSERA_SELECT_TURN ? !*is_one : how == TESSERA_SELECT_MORE;
    }
  return tessera_selection_new (selection->n_all, is_in);
}

gboolean
tessera_selection_has (const TesseraSelection *selection, uint32_t block)
{
  return selection != NULL && block < selection->n_all && selection->is_in[block];
}

gboolean
tessera_selection_equals (const TesseraSelection *a, const TesseraSelection *b)
{
  if (a == NULL || b == NULL)
    return a == b;
  return a->n_all == b->n_all && a->n_blocks == b->n_blocks &&
         memcmp (a->blocks, b->blocks, a->n_blocks * sizeof *a->blocks) == 0;
}

/* --- blocks by lifetime class and group ---------------------------------------------- */

/* One sweep over births and deaths sums up every place and class at once; nothing here
 * grows faster than the blocks. */

static void
grouping_clear (gpointer user)
{
  TesseraGrouping *grouping = user;

  g_free (grouping->rows);
  g_free (grouping->begin);
  g_free (grouping->blocks);
  tessera_data_unref (grouping->data);
}

TESSERA_DEFINE_SHARED (TesseraGrouping, tessera_grouping, grouping_clear)

static uint8_t
class_of (const TesseraBlock *block)
{
  return block->lifetime_class < TESSERA_N_CLASSES ? block->lifetime_class : 0;
}

uint32_t
tessera_place_of (const TesseraData *data, uint32_t block)
{
  const TesseraBlock *b = &data->blocks->blocks[block];

  return b->group < data->n_groups ? b->group : (uint32_t) data->n_groups + class_of (b);
}

const char *
tessera_place_name (const TesseraData *data, uint32_t place)
{
  return place < data->n_groups ? data->groups[place].name : "in no group";
}

const char *
tessera_place_reason (const TesseraData *data, uint32_t place)
{
  static const char *const reasons[] = {
    [TESSERA_GROUP_PERSISTENT] = "outlive the steps",
    [TESSERA_GROUP_HOMO_PHASE] = "HomoPhase: same phases",
    [TESSERA_GROUP_HOMO_SIZE] = "HomoSize: same size",
    [TESSERA_GROUP_HOMO_LAYER] = "HomoLayer: same module",
    [TESSERA_GROUP_HAND] = "made by hand",
  };
  uint8_t kind;

  if (place >= data->n_groups)
    return "nothing in common";
  kind = data->groups[place].kind;
  return kind < G_N_ELEMENTS (reasons) ? reasons[kind] : "";
}

/* --- counting --------------------------------------------------------------------- */

typedef struct
{
  TesseraGroupRow *row;
  uint64_t alive_bytes;
  uint64_t used;       /* block bytes x events */
  uint32_t first, end; /* events */
} Sum;

static void
sum_birth (Sum *sum, const TesseraData *data, const TesseraBlock *b)
{
  TesseraGroupRow *row = sum->row;

  row->n_blocks++;
  row->size_bytes += b->size_bytes;
  if (b->born_index <= data->bound_index && b->died_index > data->bound_index)
    row->peak_bytes += b->block_bytes;
  sum->alive_bytes += b->block_bytes;
  row->height_bytes = MAX (row->height_bytes, sum->alive_bytes);
  sum->used += b->block_bytes * (b->died_index - b->born_index);
  sum->first = MIN (sum->first, b->born_index);
  sum->end = MAX (sum->end, b->died_index);
}

static void
finish_row (const Sum *sum)
{
  double area = (double) sum->row->height_bytes * ((double) sum->end - sum->first);

  sum->row->filled = area > 0 ? (double) sum->used / area : 0;
}

/* Of a block: its place's and its class's. */
static void
find_sums (const TesseraGrouping *grouping, uint32_t block, Sum *sums, Sum *out_both[2])
{
  uint32_t place = tessera_place_of (grouping->data, block);

  out_both[0] = &sums[place];
  out_both[1] = &sums[grouping->n_places + grouping->rows[place].lifetime_class];
}

static void
sum_deaths (const TesseraGrouping *grouping,
            const uint8_t *is_in,
            uint32_t until,
            size_t *gone,
            Sum *sums)
{
  const TesseraBlocks *blocks = grouping->data->blocks;

  for (; *gone < blocks->n_blocks; ++*gone)
    {
      uint32_t d = blocks->by_death[*gone];
      Sum *both[2];

      if (blocks->blocks[d].died_index > until)
        break;
      if (is_in != NULL && !is_in[d])
        continue;
      find_sums (grouping, d, sums, both);
      for (int i = 0; i < 2; i++)
        both[i]->alive_bytes -= blocks->blocks[d].block_bytes;
    }
}

static void
sweep (TesseraGrouping *grouping, const uint8_t *is_in, Sum *sums)
{
  const TesseraBlocks *blocks = grouping->data->blocks;
  size_t gone = 0;

  for (uint32_t block = 0; block < blocks->n_blocks; block++)
    {
      const TesseraBlock *b = &blocks->blocks[block];
      gboolean counts = is_in == NULL || is_in[block];
      Sum *both[2];

      find_sums (grouping, block, sums, both);
      if (counts)
        sum_deaths (grouping, is_in, b->born_index, &gone, sums);
      for (int i = 0; i < 2; i++)
        if (counts)
          sum_birth (both[i], grouping->data, b);
        else
          both[i]->row->is_whole = FALSE;
    }
}

/* Counting sort by place keeps births in order. */
static void
list_blocks (TesseraGrouping *grouping, const uint8_t *is_in)
{
  size_t n_blocks = grouping->data->blocks->n_blocks;
  g_autofree uint32_t *next = NULL;

  for (size_t place = 0; place < grouping->n_places; place++)
    grouping->begin[place + 1] =
        grouping->begin[place] + (uint32_t) grouping->rows[place].n_blocks;
  grouping->blocks = g_new (uint32_t, MAX (grouping->begin[grouping->n_places], 1));
  next = g_memdup2 (grouping->begin, grouping->n_places * sizeof *next);
  for (uint32_t i = 0; i < n_blocks; i++)
    if (is_in == NULL || is_in[i])
      grouping->blocks[next[tessera_place_of (grouping->data, i)]++] = i;
}

/* Of whole groups the planner knows better: it laid them out. */
static void
take_local_layouts (TesseraGrouping *grouping)
{
  for (size_t i = 0; i < grouping->data->n_groups; i++)
    if (grouping->rows[i].is_whole)
      {
        grouping->rows[i].height_bytes = grouping->data->groups[i].height_bytes;
        grouping->rows[i].filled = grouping->data->groups[i].time_memory_product;
      }
}

TesseraGrouping *
tessera_grouping_new (TesseraData *data, const uint8_t *is_in)
{
  TesseraGrouping *grouping = g_atomic_rc_box_new0 (TesseraGrouping);
  const size_t n_rows = data->n_groups + 2 * TESSERA_N_CLASSES;
  g_autofree Sum *sums = g_new (Sum, n_rows);

  grouping->data = tessera_data_ref (data);
  grouping->n_places = data->n_groups + TESSERA_N_CLASSES;
  grouping->rows = g_new0 (TesseraGroupRow, n_rows);
  grouping->begin = g_new0 (uint32_t, grouping->n_places + 1);
  for (size_t i = 0; i < n_rows; i++)
    {
      TesseraGroupRow *row = &grouping->rows[i];

      row->lifetime_class = i < data->n_groups
                                ? data->groups[i].lifetime_class
                                : (uint8_t) ((i - data->n_groups) % TESSERA_N_CLASSES);
      row->is_whole = TRUE;
      sums[i] = (Sum){ .row = row, .first = UINT32_MAX };
    }
  sweep (grouping, is_in, sums);
  for (size_t i = 0; i < n_rows; i++)
    finish_row (&sums[i]);
  take_local_layouts (grouping);
  list_blocks (grouping, is_in);
  return grouping;
}
