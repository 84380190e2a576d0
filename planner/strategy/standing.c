/*
 * A few items among many that stand: see standing.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/strategy/standing.h"

#include "db/array.h"
#include "db/sort.h"

#include <stdlib.h>
#include <string.h>

/* What stands may be seen between each two of four times as many moments. */
#define MOST_MOVING 256

typedef struct
{
  const TesseraItem *items;
  const uint64_t *layered;
  size_t n_items;
  uint32_t *moving; /* items */
  size_t n_moving;
  uint32_t *moments; /* ascending, from 0 to the last end */
  size_t n_moments;
  size_t *highest;   /* after each moment the last of the ranges, 0: none */
  TesseraItem *seen; /* the moving ones, then ranges */
  size_t n_seen, cap_seen;
} Standing;

static void
standing_clear (Standing *standing)
{
  free (standing->moving);
  free (standing->moments);
  free (standing->highest);
  free (standing->seen);
}

static bool
stands (const Standing *standing, size_t item)
{
  return standing->layered[item] != UINT64_MAX && standing->items[item].is_pinned;
}

static int
compare_moments (const void *a, const void *b)
{
  const uint32_t *x = a, *y = b;

  return (*x > *y) - (*x < *y);
}

/* Returns: false where there are too many, or their lives are of several kinds. */
static bool
find_moving (Standing *standing)
{
  for (uint32_t i = 0; i < standing->n_items; i++)
    {
      if (standing->items[i].wide_end != 0)
        return false;
      if (stands (standing, i))
        continue;
      if (standing->n_moving == MOST_MOVING)
        return false;
      standing->moving[standing->n_moving++] = i;
    }
  return standing->n_moving > 0;
}

static void
find_moments (Standing *standing)
{
  uint32_t *moments = standing->moments, end = 0;
  size_t n = 0, n_left = 0;

  for (size_t i = 0; i < standing->n_items; i++)
    end = standing->items[i].end > end ? standing->items[i].end : end;
  moments[n++] = 0;
  moments[n++] = end;
  for (size_t i = 0; i < standing->n_moving; i++)
    {
      const TesseraItem *item = &standing->items[standing->moving[i]];

      moments[n++] = item->begin;
      moments[n++] = item->end;
      moments[n++] = item->begin2;
      moments[n++] = item->end2;
    }
  qsort (moments, n, sizeof *moments, compare_moments);
  for (size_t i = 0; i < n; i++)
    if (n_left == 0 || moments[i] != moments[n_left - 1])
      moments[n_left++] = moments[i];
  standing->n_moments = n_left;
}

static TesseraStatus
standing_init (Standing *standing)
{
  standing->moving = malloc (MOST_MOVING * sizeof *standing->moving);
  standing->moments = malloc ((4 * MOST_MOVING + 2) * sizeof *standing->moments);
  standing->highest = calloc (4 * MOST_MOVING + 2, sizeof *standing->highest);
  if (!standing->moving || !standing->moments || !standing->highest)
    return TESSERA_NO_MEMORY;
  if (!find_moving (standing))
    return TESSERA_REFUSED;
  find_moments (standing);
  if (!TESSERA_RESERVE (standing->seen, standing->cap_seen, standing->n_moving))
    return TESSERA_NO_MEMORY;
  for (size_t i = 0; i < standing->n_moving; i++)
    standing->seen[standing->n_seen++] = standing->items[standing->moving[i]];
  return TESSERA_OK;
}

/* The last moment that is not after @at. */
static size_t
moment_of (const Standing *standing, uint32_t at)
{
  size_t low = 0, high = standing->n_moments;

  while (high - low > 1)
    {
      size_t middle = low + (high - low) / 2;

      if (standing->moments[middle] <= at)
        low = middle;
      else
        high = middle;
    }
  return low;
}

/* What lies there, seen after each moment of a life. Items come in ascending order of
 * their places. */
static TesseraStatus
see (Standing *standing, const TesseraItem *item, uint32_t begin, uint32_t end)
{
  uint64_t top_bytes = item->pinned_bytes + item->size_bytes;

  for (size_t k = moment_of (standing, begin);
       begin < end && k + 1 < standing->n_moments && standing->moments[k] < end; k++)
    {
      TesseraItem *range = &standing->seen[standing->highest[k]];

      if (standing->highest[k] != 0 && range->zone == item->zone &&
          item->pinned_bytes <= range->pinned_bytes + range->size_bytes)
        {
          if (top_bytes > range->pinned_bytes + range->size_bytes)
            range->size_bytes = top_bytes - range->pinned_bytes;
          continue;
        }
      if (!TESSERA_RESERVE (standing->seen, standing->cap_seen, standing->n_seen + 1))
        return TESSERA_NO_MEMORY;
      standing->highest[k] = standing->n_seen;
      standing->seen[standing->n_seen++] = (TesseraItem){
        .size_bytes = item->size_bytes,
        .begin = standing->moments[k],
        .end = standing->moments[k + 1],
        .zone = item->zone,
        .is_pinned = 1,
        .pinned_bytes = item->pinned_bytes,
      };
    }
  return TESSERA_OK;
}

static TesseraStatus
see_all (Standing *standing)
{
  TesseraKeyed *places = malloc ((standing->n_items + 1) * sizeof *places);
  TesseraStatus status = TESSERA_NO_MEMORY;
  size_t n = 0;

  for (uint32_t i = 0; places && i < standing->n_items; i++)
    if (stands (standing, i))
      places[n++] = (TesseraKeyed){ standing->items[i].pinned_bytes, i };
  if (places)
    status = tessera_sort_keyed (places, n);
  for (size_t i = 0; status == TESSERA_OK && i < n; i++)
    {
      const TesseraItem *item = &standing->items[places[i].value];

      status = see (standing, item, item->begin, item->end);
      if (status == TESSERA_OK)
        status = see (standing, item, item->begin2, item->end2);
    }
  free (places);
  return status;
}

static TesseraStatus
pack_seen (const Standing *standing,
           const TesseraPackOptions *options,
           uint64_t *offsets,
           TesseraPacking *out_packing)
{
  TesseraPackOptions of_seen = *options;
  uint64_t *places = malloc (standing->n_seen * sizeof *places);
  TesseraStatus status = TESSERA_NO_MEMORY;

  of_seen.former = NULL;
  if (places)
    status =
        tessera_pack (standing->seen, standing->n_seen, &of_seen, places, out_packing);
  if (status == TESSERA_OK)
    {
      for (size_t i = 0; i < standing->n_items; i++)
        offsets[i] = standing->items[i].pinned_bytes;
      for (size_t i = 0; i < standing->n_moving; i++)
        offsets[standing->moving[i]] = places[i];
    }
  free (places);
  return status;
}

TesseraStatus
tessera_standing_pack (const TesseraItem *items,
                       const uint64_t *layered,
                       size_t n_items,
                       const TesseraPackOptions *options,
                       uint64_t *offsets,
                       TesseraPacking *out_packing)
{
  Standing standing = { .items = items, .layered = layered, .n_items = n_items };
  TesseraStatus status = standing_init (&standing);

  if (status == TESSERA_OK)
    status = see_all (&standing);
  if (status == TESSERA_OK)
    status = pack_seen (&standing, options, offsets, out_packing);
  standing_clear (&standing);
  return status;
}
