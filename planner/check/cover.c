/*
 * Which addresses are held, and by how many at once: see cover.h.
 *
 * The tree lies in arrays: the leaves are the stretches between neighbouring bounds, the
 * parent of node n is n / 2. A range is held by the fewest nodes that make it up, found
 * from the leaves upwards.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/check/cover.h"

#include <stdlib.h>
#include <string.h>

#include "db/sort.h"

#define ROOT 1

/* The bounds, and where each range begins and ends among them. */
static TesseraStatus
number_bounds (TesseraCover *cover, const TesseraPlan *plan, size_t n_ranges)
{
  TesseraKeyed *sides = calloc (2 * n_ranges + 1, sizeof *sides);
  TesseraStatus status = sides != NULL ? TESSERA_OK : TESSERA_NO_MEMORY;
  for (uint32_t i = 0; status == TESSERA_OK && i < n_ranges; i++)
    {
      const TesseraSlot *slot = i < plan->n_slots ? &plan->slots[i] : NULL;
      const TesseraRoom *room = slot == NULL ? &plan->rooms[i - plan->n_slots] : NULL;
      uint64_t begin = slot != NULL ? slot->offset_bytes : room->begin_bytes;
      uint64_t end = slot != NULL ? begin + slot->block_bytes : room->end_bytes;
      sides[2 * (size_t) i] = (TesseraKeyed){ begin, 2 * i };
      sides[2 * (size_t) i + 1] = (TesseraKeyed){ end, 2 * i + 1 };
    }
  if (status == TESSERA_OK)
    status = tessera_sort_keyed (sides, 2 * n_ranges);
  for (size_t i = 0; status == TESSERA_OK && i < 2 * n_ranges; i++)
    {
      if (i == 0 || sides[i].key != sides[i - 1].key)
        cover->bounds[cover->n_bounds++] = sides[i].key;
      uint32_t *numbers = sides[i].value % 2 == 0 ? cover->first : cover->end;
      numbers[sides[i].value / 2] = (uint32_t) cover->n_bounds - 1;
    }
  free (sides);
  return status;
}

TesseraStatus
tessera_cover_init (TesseraCover *cover, const TesseraPlan *plan, bool has_rooms)
{
  size_t n_ranges = plan->n_slots + (has_rooms ? plan->n_rooms : 0);
  *cover = (TesseraCover){ .n_leaves = 1 };
  cover->bounds = calloc (2 * n_ranges + 1, sizeof *cover->bounds);
  cover->first = calloc (n_ranges + 1, sizeof *cover->first);
  cover->end = calloc (n_ranges + 1, sizeof *cover->end);
  if (cover->bounds == NULL || cover->first == NULL || cover->end == NULL ||
      number_bounds (cover, plan, n_ranges) != TESSERA_OK)
    return TESSERA_NO_MEMORY;
  while (cover->n_leaves < cover->n_bounds)
    cover->n_leaves *= 2;
  cover->counts = calloc (2 * cover->n_leaves, sizeof *cover->counts);
  cover->bytes = calloc (2 * cover->n_leaves, sizeof *cover->bytes);
  return cover->counts != NULL && cover->bytes != NULL ? TESSERA_OK : TESSERA_NO_MEMORY;
}

void
tessera_cover_clear (TesseraCover *cover)
{
  free (cover->bounds);
  free (cover->first);
  free (cover->end);
  free (cover->counts);
  free (cover->bytes);
  *cover = (TesseraCover){ 0 };
}

void
tessera_cover_forget (TesseraCover *cover)
{
  memset (cover->counts, 0, 2 * cover->n_leaves * sizeof *cover->counts);
  memset (cover->bytes, 0, 2 * cover->n_leaves * sizeof *cover->bytes);
}

/* The bytes between the outer bounds of a node so many levels above the leaves. */
static uint64_t
width (const TesseraCover *cover, size_t node, int level)
{
  size_t low = (node << level) - cover->n_leaves;
  size_t high = low + ((size_t) 1 << level), last = cover->n_bounds - 1;
  return cover->bounds[high < last ? high : last] - cover->bounds[low];
}

static void
sum_up (TesseraCover *cover, size_t node, int level)
{
  if (cover->counts[node] > 0)
    cover->bytes[node] = width (cover, node, level);
  else
    cover->bytes[node] =
        level == 0 ? 0 : cover->bytes[2 * node] + cover->bytes[2 * node + 1];
}

static void
change (TesseraCover *cover, size_t range, uint32_t by)
{
  size_t first = cover->first[range] + cover->n_leaves;
  size_t last = cover->end[range] + cover->n_leaves - 1;
  if (first > last)
    return;
  int level = 0;
  for (size_t low = first, high = last + 1; low < high; low /= 2, high /= 2, level++)
    {
      if (low % 2 == 1)
        {
          cover->counts[low] += by;
          sum_up (cover, low++, level);
        }
      if (high % 2 == 1)
        {
          cover->counts[--high] += by;
          sum_up (cover, high, level);
        }
    }
  for (level = 1; first > ROOT; level++)
    {
      first /= 2;
      last /= 2;
      sum_up (cover, first, level);
      if (last != first)
        sum_up (cover, last, level);
    }
}

void
tessera_cover_add (TesseraCover *cover, size_t range)
{
  change (cover, range, 1);
}

void
tessera_cover_remove (TesseraCover *cover, size_t range)
{
  change (cover, range, UINT32_MAX);
}

bool
tessera_cover_is_free (const TesseraCover *cover, size_t range)
{
  size_t first = cover->first[range] + cover->n_leaves;
  size_t last = cover->end[range] + cover->n_leaves - 1;
  if (first > last)
    return true;
  for (size_t low = first, high = last + 1; low < high; low /= 2, high /= 2)
    if ((low % 2 == 1 && cover->bytes[low++] > 0) ||
        (high % 2 == 1 && cover->bytes[--high] > 0))
      return false;
  /* Whatever is above a range's ends holds a part of the range as well. */
  for (; first > 0; first /= 2, last /= 2)
    if (cover->counts[first] > 0 || cover->counts[last] > 0)
      return false;
  return true;
}

uint64_t
tessera_cover_bytes (const TesseraCover *cover)
{
  return cover->bytes[ROOT];
}
