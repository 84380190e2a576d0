/*
 * A layout of before, repaired. See repair.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/repack/repair.h"

#include "db/sort.h"
#include "planner/pack/reach.h"

#include <stdlib.h>
#include <string.h>

/* Targets above the height of before: so many parts of it more, then twice as many. */
#define FIRST_PART_MORE 1024
/* So much of the looks goes into reaching any of them. */
#define REACHING_PART 2
/* Of more items all of them: three targets cost as much. */
#define MOST_ITEMS_OF_PART 32768
/* Targets that are nearer to each other than this part of the height are one. */
#define NEAREST_PART 8192

typedef struct
{
  TesseraEjection ejection;
  const TesseraRepairOptions *options;
  uint64_t *begun;    /* [n_items] where all lie before chains begin */
  uint64_t *found;    /* [n_items] the lowest layout */
  uint64_t top_bytes; /* of those that are not held */
} Repair;

/* Items that nothing holds, in ascending order of where they lay. */
static TesseraStatus
list_places (const Repair *repair, TesseraKeyed *places, size_t *out_n)
{
  const TesseraPackProblem *problem = repair->ejection.problem;
  size_t n = 0;
  for (uint32_t i = 0; i < problem->n_items; i++)
    if (!tessera_pack_is_held (problem, i) &&
        repair->options->former[i] != TESSERA_NOWHERE)
      places[n++] = (TesseraKeyed){ repair->options->former[i], i };
  *out_n = n;
  return tessera_sort_keyed (places, n);
}

/* Who lies free where it lay, above all that lie lower: that is so where nothing alive
 * with it reaches above its offset. @problem: as its own items see it. */
static TesseraStatus
settle (Repair *repair, const TesseraPackProblem *problem)
{
  TesseraKeyed *places = malloc (problem->n_items * sizeof *places);
  TesseraReach reach = { 0 };
  TesseraStatus status =
      places != NULL ? tessera_reach_init (&reach, problem) : TESSERA_NO_MEMORY;
  size_t n_places = 0;
  if (status == TESSERA_OK)
    status = list_places (repair, places, &n_places);
  for (size_t k = 0; k < n_places && status == TESSERA_OK; k++)
    {
      const TesseraPackItem *item = &problem->items[places[k].value];
      uint64_t top_bytes = places[k].key + item->size_bytes;
      if (tessera_reach_floor (&reach, item) > places[k].key)
        continue;
      tessera_reach_raise (&reach, item, top_bytes);
      repair->ejection.offsets[places[k].value] = places[k].key;
      if (top_bytes > repair->top_bytes)
        repair->top_bytes = top_bytes;
    }
  tessera_reach_clear (&reach);
  free (places);
  return status;
}

static bool
meets_ranges (const TesseraPackRange *ranges, size_t n_ranges, uint64_t at, uint64_t top)
{
  size_t low = 0, high = n_ranges; /* the first that ends above */
  while (low < high)
    {
      size_t middle = low + (high - low) / 2;
      if (ranges[middle].end_bytes <= at)
        low = middle + 1;
      else
        high = middle;
    }
  return low < n_ranges && ranges[low].begin_bytes < top;
}

/* What is pinned lies where it belongs, and all in its way or in ranges of others wait;
 * in the end, those that have no place yet. Returns: false where it is too much. */
static bool
begin (Repair *repair)
{
  TesseraEjection *ejection = &repair->ejection;
  const TesseraPackProblem *problem = ejection->problem;
  for (uint32_t i = 0; i < problem->n_items; i++)
    {
      uint64_t at = ejection->offsets[i], top = at + problem->items[i].size_bytes;
      if (at != TESSERA_NOWHERE &&
          (meets_ranges (problem->blocked, problem->n_blocked, at, top)))
        ejection->offsets[i] = TESSERA_NOWHERE;
    }
  for (uint32_t i = 0; problem->limits != NULL && i < problem->n_items; i++)
    if (problem->limits[i].pinned_bytes != TESSERA_PACK_NOT_PINNED)
      {
        ejection->offsets[i] = problem->limits[i].pinned_bytes;
        if (!tessera_ejection_make_way (ejection, i) ||
            ejection->looks >= ejection->options->looks)
          return false;
      }
  memcpy (repair->begun, ejection->offsets, problem->n_items * sizeof *repair->begun);
  return true;
}

/* Whoever has no place waits, a body once. */
static void
take_out_nowhere (Repair *repair)
{
  TesseraEjection *ejection = &repair->ejection;
  const TesseraPackProblem *problem = ejection->problem;
  for (uint32_t i = 0; i < problem->n_items; i++)
    {
      uint32_t body =
          problem->limits != NULL ? problem->limits[i].body : TESSERA_PACK_NO_BODY;
      if (ejection->offsets[i] != TESSERA_NOWHERE)
        continue;
      if (body == TESSERA_PACK_NO_BODY ||
          problem->body_items[body > 0 ? problem->body_ends[body - 1] : 0] == i)
        tessera_ejection_take_out (ejection, i);
    }
}

static void
begin_anew (Repair *repair)
{
  TesseraEjection *ejection = &repair->ejection;
  memcpy (ejection->offsets, repair->begun,
          ejection->problem->n_items * sizeof *repair->begun);
  tessera_ejection_begin (ejection);
  take_out_nowhere (repair);
}

/* From where the ejection has come to. */
static bool
go_on (Repair *repair, uint64_t target_bytes)
{
  TesseraEjection *ejection = &repair->ejection;
  tessera_ejection_take_out_above (ejection, target_bytes);
  return tessera_ejection_reach (ejection, target_bytes);
}

static bool
reach (Repair *repair, uint64_t target_bytes)
{
  begin_anew (repair);
  return go_on (repair, target_bytes);
}

static void
note (const Repair *repair, uint64_t *offsets, uint64_t *height_bytes)
{
  const TesseraPackProblem *problem = repair->ejection.problem;
  *height_bytes = 0;
  for (size_t i = 0; i < problem->n_items; i++)
    {
      offsets[i] = repair->ejection.offsets[i];
      if (offsets[i] + problem->items[i].size_bytes > *height_bytes)
        *height_bytes = offsets[i] + problem->items[i].size_bytes;
    }
}

/* The lowest that is worth asking for: the height of before, or what it has to be at
 * least. */
static uint64_t
least_of (const Repair *repair)
{
  const TesseraPackProblem *problem = repair->ejection.problem;
  uint64_t least_bytes =
      problem->least_bytes != 0 ? problem->least_bytes : problem->bound_bytes;
  return least_bytes > repair->top_bytes ? least_bytes : repair->top_bytes;
}

static bool
has_looks (const Repair *repair, bool is_reaching)
{
  const TesseraEjection *ejection = &repair->ejection;
  bool is_part = is_reaching && ejection->problem->n_items <= MOST_ITEMS_OF_PART;
  return !ejection->is_cancelled &&
         ejection->looks < ejection->options->looks / (is_part ? REACHING_PART : 1);
}

/* Between a target that was not reached and the height that was. */
static void
halve (Repair *repair, uint64_t low_bytes, uint64_t *height_bytes)
{
  const TesseraPackProblem *problem = repair->ejection.problem;
  while (*height_bytes > problem->bound_bytes && *height_bytes > low_bytes &&
         *height_bytes - low_bytes > *height_bytes / NEAREST_PART &&
         has_looks (repair, false))
    {
      uint64_t target_bytes = low_bytes + (*height_bytes - low_bytes) / 2;
      if (reach (repair, target_bytes))
        note (repair, repair->found, height_bytes);
      else
        low_bytes = target_bytes;
    }
}

/* The least, then more and more. */
static void
search (Repair *repair, uint64_t *offsets, uint64_t *height_bytes)
{
  TesseraEjection *ejection = &repair->ejection;
  const uint64_t least_bytes = least_of (repair);
  uint64_t low_bytes = 0, found_bytes;
  uint64_t target_bytes = least_bytes < *height_bytes ? least_bytes : *height_bytes - 1;
  bool is_reached = reach (repair, target_bytes);
  for (uint64_t more = least_bytes / FIRST_PART_MORE + 1; !is_reached; more *= 2)
    {
      low_bytes = target_bytes;
      target_bytes = least_bytes + more;
      if (target_bytes >= *height_bytes || !has_looks (repair, true))
        return;
      is_reached = go_on (repair, target_bytes);
    }
  note (repair, repair->found, &found_bytes);
  if (low_bytes != 0)
    halve (repair, low_bytes, &found_bytes);
  tessera_repack_lower (ejection, repair->found, &found_bytes);
  if (found_bytes >= *height_bytes)
    return;
  memcpy (offsets, repair->found, ejection->problem->n_items * sizeof *offsets);
  *height_bytes = found_bytes;
}

TesseraStatus
tessera_repair (const TesseraPackProblem *problem,
                const TesseraTimes *times,
                const TesseraRepairOptions *options,
                uint64_t *offsets,
                uint64_t *height_bytes)
{
  size_t n_items = problem->n_items;
  Repair repair = { .options = options };
  if (options->chains.looks == 0 || *height_bytes <= problem->bound_bytes)
    return TESSERA_OK;
  repair.begun = malloc (n_items * sizeof *repair.begun);
  repair.found = malloc (n_items * sizeof *repair.found);
  TesseraStatus status =
      repair.begun != NULL && repair.found != NULL
          ? tessera_ejection_init (&repair.ejection, times, &options->chains)
          : TESSERA_NO_MEMORY;
  if (status == TESSERA_OK)
    status = settle (&repair, problem);
  if (status == TESSERA_OK)
    tessera_ejection_begin (&repair.ejection);
  if (status == TESSERA_OK && begin (&repair))
    search (&repair, offsets, height_bytes);
  if (status == TESSERA_OK && repair.ejection.is_cancelled)
    status = TESSERA_CANCELLED;
  tessera_ejection_clear (&repair.ejection);
  free (repair.begun);
  free (repair.found);
  return status;
}
