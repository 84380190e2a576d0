/*
 * Sorting rectangles and finding them again.
 *
 * The order: what is small on any screen (below 1 / 4096 of the axis and 1 / 2048 of the
 * height) is one class; larger ones form classes in steps of 8x in each direction, so
 * that a node's box is not blown up by one giant. Inside of a class the Morton code of
 * the centre keeps neighbours together.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "picture/scene/private.h"

#include <string.h>

#include "planner/memory.h"

#define SMALL_TIME_BITS 12 /* 1 / 4096 of the axis */
#define SMALL_Y_BITS 11    /* 1 / 2048 of the height */
#define MORTON_BITS 13     /* of each direction; 2 * 13 + 6 bits of class = 32 */

/* 0: smaller than 2^-bits of the world; then one more for each factor of 8, at most 7. */
static uint32_t
size_class (uint64_t size, uint64_t world, int bits)
{
  uint64_t step = world >> bits;
  uint32_t class = 0;
  for (; size > step && class < 7; size >>= 3)
    class ++;
  return class;
}

/* Bits of a 13-bit number, each followed by a zero. */
static uint32_t
spread (uint32_t x)
{
  x = (x | (x << 8)) & 0x00ff00ffu;
  x = (x | (x << 4)) & 0x0f0f0f0fu;
  x = (x | (x << 2)) & 0x33333333u;
  return (x | (x << 1)) & 0x55555555u;
}

static uint32_t
key_of (const TesseraBox *box, uint32_t height_units)
{
  uint64_t height = (uint64_t) height_units + 1;
  uint64_t middle_t = ((uint64_t) box->t0 + box->t1) / 2;
  uint64_t middle_y = ((uint64_t) box->y0 + box->y1) / 2;
  uint32_t class =
      size_class (box->t1 - box->t0, UINT64_C (1) << 32, SMALL_TIME_BITS) * 8 +
      size_class (box->y1 - box->y0, height, SMALL_Y_BITS);
  uint32_t x = (uint32_t) (middle_t >> (32 - MORTON_BITS));
  uint32_t y = (uint32_t) ((middle_y << MORTON_BITS) / height);
  return class << (2 * MORTON_BITS) | spread (y) << 1 | spread (x);
}

static void
widen (TesseraBox *box, const TesseraBox *by)
{
  box->t0 = by->t0 < box->t0 ? by->t0 : box->t0;
  box->t1 = by->t1 > box->t1 ? by->t1 : box->t1;
  box->y0 = by->y0 < box->y0 ? by->y0 : box->y0;
  box->y1 = by->y1 > box->y1 ? by->y1 : box->y1;
}

static void
build_levels (TesseraBoxIndex *index)
{
  size_t n_below = index->n_records;
  for (int level = 0; n_below > 0 && level < TESSERA_BOX_INDEX_MAX_LEVELS; level++)
    {
      size_t n = (n_below + TESSERA_BOX_INDEX_FAN - 1) / TESSERA_BOX_INDEX_FAN;
      TesseraBox *nodes = g_new (TesseraBox, n);
      for (size_t i = 0; i < n_below; i++)
        {
          const TesseraBox *below =
              level == 0 ? &index->records[i].box : &index->levels[level - 1][i];
          if (i % TESSERA_BOX_INDEX_FAN == 0)
            nodes[i / TESSERA_BOX_INDEX_FAN] = *below;
          else
            widen (&nodes[i / TESSERA_BOX_INDEX_FAN], below);
        }
      index->levels[level] = nodes;
      index->n_nodes[level] = n;
      index->n_levels = level + 1;
      if (n == 1)
        break;
      n_below = n;
    }
}

void
tessera_box_index_init (TesseraBoxIndex *index,
                        TesseraRecord *records,
                        size_t n_records,
                        uint32_t height_units)
{
  g_autofree TesseraKeyed *order = g_new (TesseraKeyed, n_records + 1);
  memset (index, 0, sizeof *index);
  for (size_t i = 0; i < n_records; i++)
    order[i] = (TesseraKeyed){ key_of (&records[i].box, height_units), (uint32_t) i };
  tessera_sort (order, n_records);
  index->records = g_new (TesseraRecord, n_records);
  index->n_records = n_records;
  for (size_t i = 0; i < n_records; i++)
    index->records[i] = records[order[i].value];
  build_levels (index);
  g_free (records);
}

void
tessera_box_index_clear (TesseraBoxIndex *index)
{
  g_free (index->records);
  for (int i = 0; i < index->n_levels; i++)
    g_free (index->levels[i]);
  memset (index, 0, sizeof *index);
}

void
tessera_walk_init (TesseraWalk *walk, const TesseraBoxIndex *index, TesseraBox box)
{
  walk->index = index;
  walk->box = box;
  walk->least_t = walk->least_y = 0;
  walk->record = walk->end_record = NULL;
  walk->level = index->n_levels - 1;
  if (walk->level >= 0)
    {
      walk->next[walk->level] = 0;
      walk->end[walk->level] = index->n_nodes[walk->level];
    }
}

bool
tessera_walk_on (TesseraWalk *walk)
{
  const TesseraBoxIndex *index = walk->index;
  int level = walk->level;
  while (level >= 0 && level < index->n_levels)
    {
      if (walk->next[level] == walk->end[level])
        {
          level++;
          continue;
        }
      size_t node = walk->next[level]++;
      if (!tessera_walk_wants (walk, &index->levels[level][node]))
        continue;
      size_t n_below = level == 0 ? index->n_records : index->n_nodes[level - 1];
      size_t begin = node * TESSERA_BOX_INDEX_FAN, end = begin + TESSERA_BOX_INDEX_FAN;
      end = end < n_below ? end : n_below;
      if (level == 0)
        {
          walk->level = 0;
          walk->record = &index->records[begin];
          walk->end_record = &index->records[end];
          return true;
        }
      level--;
      walk->next[level] = begin;
      walk->end[level] = end;
    }
  walk->level = -1;
  return false;
}
