/*
 * What has its place before the rule of the lowest reachable offset begins. See fixed.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/fit/fixed.h"

#include <stdlib.h>
#include <string.h>

/* Each item that is placed goes around them all: so many looks are had. */
#define MAX_LOOKS (UINT64_C (1) << 22)
/* Where more is fixed than one item in so many, there is little left to choose. */
#define MOST_FIXED 4

static bool
is_fixed (const TesseraPackLimit *limit)
{
  return limit->pinned_bytes != TESSERA_PACK_NOT_PINNED ||
         limit->body != TESSERA_PACK_NO_BODY;
}

static size_t
count_fixed (const TesseraPackProblem *problem)
{
  size_t n_fixed = 0;
  for (size_t i = 0; i < problem->n_items; i++)
    n_fixed += is_fixed (&problem->limits[i]) ? 1 : 0;
  return n_fixed;
}

bool
tessera_fixed_is_for (const TesseraPackProblem *problem)
{
  if (problem->limits == NULL)
    return true;
  size_t n_fixed = count_fixed (problem);
  return !problem->has_zones && n_fixed <= problem->n_items / MOST_FIXED &&
         (problem->n_blocked + n_fixed) * (uint64_t) problem->n_items <= MAX_LOOKS;
}

uint64_t
tessera_body_base (const TesseraPackProblem *problem,
                   uint32_t body,
                   TesseraFitFrom fit_from,
                   const void *data)
{
  const uint32_t *first =
      &problem->body_items[body == 0 ? 0 : problem->body_ends[body - 1]];
  const uint32_t *last = &problem->body_items[problem->body_ends[body]];
  uint64_t base = 0;
  for (const uint32_t *at = first, *settled = first; at < last;)
    {
      uint64_t distance = problem->limits[*at].body_offset_bytes;
      uint64_t place = fit_from (data, &problem->items[*at], base + distance) - distance;
      if (place > base)
        settled = at;
      base = place;
      /* Round and round, until all fit that came since the base was lifted. */
      if (++at == last)
        at = first;
      if (at == settled)
        break;
    }
  return base;
}

static uint64_t
fit_on_shelf (const void *data, const TesseraPackItem *item, uint64_t from_bytes)
{
  return tessera_shelf_fit_from (data, item, from_bytes);
}

static void
fix (TesseraFixed *fixed, uint32_t i, uint64_t offset)
{
  const TesseraPackItem *item = &fixed->shelf.problem->items[i];
  uint64_t top = offset + item->size_bytes;
  tessera_shelf_put (&fixed->shelf, i, offset);
  fixed->offsets[i] = offset;
  fixed->ranges[fixed->n_ranges++] =
      (TesseraFixedRange){ offset, top, item->lives, false };
  fixed->n_items++;
  if (top > fixed->height_bytes)
    fixed->height_bytes = top;
}

static void
fix_bodies (TesseraFixed *fixed, const TesseraPackProblem *problem)
{
  for (uint32_t body = 0, i = 0; body < problem->n_bodies; body++)
    {
      uint64_t base;
      if (fixed->offsets[problem->body_items[i]] != TESSERA_PACK_NOT_PINNED)
        {
          i = problem->body_ends[body];
          continue;
        }
      base = tessera_body_base (problem, body, fit_on_shelf, &fixed->shelf);
      for (; i < problem->body_ends[body]; i++)
        fix (fixed, problem->body_items[i],
             base + problem->limits[problem->body_items[i]].body_offset_bytes);
    }
}

static int
compare_ranges (const void *a, const void *b)
{
  const TesseraFixedRange *x = a, *y = b;
  if (x->offset != y->offset)
    return x->offset < y->offset ? -1 : 1;
  if (x->lives.begin != y->lives.begin)
    return x->lives.begin < y->lives.begin ? -1 : 1;
  return (x->top > y->top) - (x->top < y->top);
}

TesseraStatus
tessera_fixed_init (TesseraFixed *fixed, const TesseraPackProblem *problem)
{
  const TesseraPackLives always = { 0, problem->n_sections, UINT32_MAX, 0 };
  *fixed = (TesseraFixed){ .n_ranges = 0 };
  if (problem->limits == NULL || !tessera_fixed_is_for (problem))
    return TESSERA_OK;
  size_t n_fixed = count_fixed (problem);
  fixed->ranges = malloc ((n_fixed + problem->n_blocked + 1) * sizeof *fixed->ranges);
  fixed->offsets = malloc ((problem->n_items + 1) * sizeof *fixed->offsets);
  if (fixed->ranges == NULL || fixed->offsets == NULL ||
      tessera_shelf_init (&fixed->shelf, problem, n_fixed) != TESSERA_OK)
    {
      tessera_fixed_clear (fixed);
      return TESSERA_NO_MEMORY;
    }
  tessera_shelf_block (&fixed->shelf);
  for (size_t i = 0; i < problem->n_blocked; i++)
    fixed->ranges[fixed->n_ranges++] =
        (TesseraFixedRange){ problem->blocked[i].begin_bytes,
                             problem->blocked[i].end_bytes, always, true };
  for (uint32_t i = 0; i < problem->n_items; i++)
    {
      fixed->offsets[i] = TESSERA_PACK_NOT_PINNED;
      if (problem->limits[i].pinned_bytes != TESSERA_PACK_NOT_PINNED)
        fix (fixed, i, problem->limits[i].pinned_bytes);
    }
  fix_bodies (fixed, problem);
  qsort (fixed->ranges, fixed->n_ranges, sizeof *fixed->ranges, compare_ranges);
  return TESSERA_OK;
}

void
tessera_fixed_clear (TesseraFixed *fixed)
{
  tessera_shelf_clear (&fixed->shelf);
  free (fixed->ranges);
  free (fixed->offsets);
  *fixed = (TesseraFixed){ .n_ranges = 0 };
}

void
tessera_fixed_copy (const TesseraFixed *fixed, size_t n_items, uint64_t *offsets)
{
  for (uint32_t i = 0; fixed->offsets != NULL && i < n_items; i++)
    if (tessera_fixed_has (fixed, i))
      offsets[i] = fixed->offsets[i];
}

size_t
tessera_fixed_next (const TesseraFixed *fixed,
                    uint32_t begin,
                    uint32_t end,
                    uint64_t height_bytes)
{
  size_t low = 0, high = fixed->n_ranges;
  while (low < high)
    {
      size_t middle = low + (high - low) / 2;
      if (fixed->ranges[middle].offset < height_bytes)
        low = middle + 1;
      else
        high = middle;
    }
  for (; low < fixed->n_ranges; low++)
    {
      const TesseraPackLives *lives = &fixed->ranges[low].lives;
      if ((lives->begin < end && begin < lives->end) ||
          (lives->begin2 < end && begin < lives->end2))
        break;
    }
  return low;
}
