/*
 * Which addresses are held, and by how many at once: see cover.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/check/cover.h"

#include <stdlib.h>
#include <string.h>

#define ROOT 1

static int
compare_bounds (const void *a, const void *b)
{
  const uint64_t *x = a, *y = b;
  return (*x > *y) - (*x < *y);
}

TesseraStatus
tessera_cover_init (TesseraCover *cover, const TesseraPlan *plan)
{
  size_t n = 0;
  *cover = (TesseraCover){ 0 };
  cover->bounds = calloc (2 * plan->n_slots + 2, sizeof *cover->bounds);
  cover->counts = calloc (8 * plan->n_slots + 8, sizeof *cover->counts);
  cover->bytes = calloc (8 * plan->n_slots + 8, sizeof *cover->bytes);
  if (cover->bounds == NULL || cover->counts == NULL || cover->bytes == NULL)
    {
      tessera_cover_clear (cover);
      return TESSERA_NO_MEMORY;
    }
  for (size_t i = 0; i < plan->n_slots; i++)
    {
      const TesseraSlot *slot = &plan->slots[i];
      cover->bounds[n++] = slot->offset_bytes;
      cover->bounds[n++] = slot->offset_bytes + slot->block_bytes;
    }
  qsort (cover->bounds, n, sizeof *cover->bounds, compare_bounds);
  for (size_t i = 0; i < n; i++)
    if (i == 0 || cover->bounds[i] != cover->bounds[cover->n_bounds - 1])
      cover->bounds[cover->n_bounds++] = cover->bounds[i];
  return TESSERA_OK;
}

void
tessera_cover_clear (TesseraCover *cover)
{
  free (cover->bounds);
  free (cover->counts);
  free (cover->bytes);
  *cover = (TesseraCover){ 0 };
}

void
tessera_cover_forget (TesseraCover *cover)
{
  memset (cover->counts, 0, 4 * cover->n_bounds * sizeof *cover->counts);
  memset (cover->bytes, 0, 4 * cover->n_bounds * sizeof *cover->bytes);
}

/* Stretches [low, high) of a node lie between the bounds of these numbers. */
static void
change (TesseraCover *cover,
        size_t node,
        size_t low,
        size_t high,
        const TesseraSlot *slot,
        uint32_t by)
{
  uint64_t begin = slot->offset_bytes, end = slot->offset_bytes + slot->block_bytes;
  if (cover->bounds[high] <= begin || end <= cover->bounds[low])
    return;
  if (begin <= cover->bounds[low] && cover->bounds[high] <= end)
    cover->counts[node] += by;
  else
    {
      size_t middle = low + (high - low) / 2;
      change (cover, 2 * node, low, middle, slot, by);
      change (cover, 2 * node + 1, middle, high, slot, by);
    }
  if (cover->counts[node] > 0)
    cover->bytes[node] = cover->bounds[high] - cover->bounds[low];
  else
    cover->bytes[node] =
        high - low == 1 ? 0 : cover->bytes[2 * node] + cover->bytes[2 * node + 1];
}

static bool
is_free (const TesseraCover *cover,
         size_t node,
         size_t low,
         size_t high,
         const TesseraSlot *slot)
{
  uint64_t begin = slot->offset_bytes, end = slot->offset_bytes + slot->block_bytes;
  if (cover->bytes[node] == 0 || cover->bounds[high] <= begin ||
      end <= cover->bounds[low])
    return true;
  if (cover->counts[node] > 0 ||
      (begin <= cover->bounds[low] && cover->bounds[high] <= end))
    return false;
  size_t middle = low + (high - low) / 2;
  return is_free (cover, 2 * node, low, middle, slot) &&
         is_free (cover, 2 * node + 1, middle, high, slot);
}

void
tessera_cover_add (TesseraCover *cover, const TesseraSlot *slot)
{
  change (cover, ROOT, 0, cover->n_bounds - 1, slot, 1);
}

void
tessera_cover_remove (TesseraCover *cover, const TesseraSlot *slot)
{
  change (cover, ROOT, 0, cover->n_bounds - 1, slot, UINT32_MAX);
}

bool
tessera_cover_is_free (const TesseraCover *cover, const TesseraSlot *slot)
{
  return is_free (cover, ROOT, 0, cover->n_bounds - 1, slot);
}

uint64_t
tessera_cover_bytes (const TesseraCover *cover)
{
  return cover->n_bounds > 0 ? cover->bytes[ROOT] : 0;
}
