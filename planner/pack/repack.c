/*
 * Packing anew around the peak, and repairing a layout of before. See repack.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/repack.h"

#include <string.h>

/* The first target is so far of the way down to the bound. */
#define FIRST_PART 4
/* Targets nearer to the height than this part of the bound are not worth it. */
#define SMALLEST_PART (1u << 19)

/* Targets above the height of before: so many parts of it more, then twice as many. */
#define FIRST_PART_MORE 1024
/* So much of the looks goes into reaching any of them. */
#define REACHING_PART 2
/* Of more items all of them: three targets cost as much. */
#define MOST_ITEMS_OF_PART 32768
/* Targets that are nearer to each other than this part of the height are one. */
#define NEAREST_PART 8192

/* Takes out what sticks out, and puts it back below the target. */
static bool
reach (TesseraEjection *ejection, const uint64_t *offsets, uint64_t target_bytes)
{
  memcpy (ejection->offsets, offsets, ejection->problem->n_items * sizeof *offsets);
  tessera_ejection_begin (ejection);
  tessera_ejection_take_out_above (ejection, target_bytes);
  return tessera_ejection_reach (ejection, target_bytes);
}

/* Takes over what was reached. */
static void
note (const TesseraEjection *ejection, uint64_t *offsets, uint64_t *height_bytes)
{
  memcpy (offsets, ejection->offsets, ejection->problem->n_items * sizeof *offsets);
  *height_bytes = tessera_pack_height (ejection->problem, offsets);
}

/* Until the looks are spent. */
static void
lower (TesseraEjection *ejection, uint64_t *offsets, uint64_t *height_bytes)
{
  const uint64_t bound_bytes = ejection->problem->bound_bytes;
  uint64_t step_bytes =
      *height_bytes <= bound_bytes ? 0 : (*height_bytes - bound_bytes) / FIRST_PART + 1;
  while (*height_bytes > bound_bytes && step_bytes > bound_bytes / SMALLEST_PART &&
         ejection->looks < ejection->options->looks && !ejection->is_cancelled)
    if (reach (ejection, offsets,
               *height_bytes - MIN (step_bytes, *height_bytes - bound_bytes)))
      note (ejection, offsets, height_bytes);
    else
      step_bytes /= 2;
}

TesseraStatus
tessera_repack (const TesseraPackProblem *problem,
                const TesseraRepackOptions *options,
                uint64_t *offsets,
                uint64_t *height_bytes)
{
  TesseraEjection ejection;
  if (options->looks == 0 || *height_bytes <= problem->bound_bytes)
    return TESSERA_OK;
  tessera_ejection_init (&ejection, problem, options);
  lower (&ejection, offsets, height_bytes);
  tessera_ejection_clear (&ejection);
  return ejection.is_cancelled ? TESSERA_CANCELLED : TESSERA_OK;
}

/* ---- repairs ---- */

typedef struct
{
  TesseraEjection ejection;
  uint64_t *begun;    /* [n_items] where all lie before chains begin */
  uint64_t *found;    /* [n_items] the lowest layout */
  uint64_t top_bytes; /* of those that are not held */
} Repair;

/* Who lies free where it lay, above all that lie lower, stays there: that is so where
 * nothing alive with it reaches above its offset. What is held comes later. */
static void
settle (Repair *repair)
{
  const TesseraPackProblem *problem = repair->ejection.problem;
  TesseraKeyed *places = g_new (TesseraKeyed, problem->n_items);
  TesseraReach reach;
  size_t n_places = 0;
  for (uint32_t i = 0; i < problem->n_items; i++)
    if (!tessera_pack_is_held (problem, i) && problem->hints[i] != TESSERA_NOWHERE)
      places[n_places++] = (TesseraKeyed){ problem->hints[i], i };
  tessera_pack_sort (places, n_places);
  tessera_reach_init (&reach, problem);
  for (size_t k = 0; k < n_places; k++)
    {
      const uint32_t item = places[k].value;
      uint64_t top_bytes = places[k].key + problem->items[item].size_bytes;
      if (tessera_reach_floor (&reach, item) > places[k].key)
        continue;
      tessera_reach_raise (&reach, item, top_bytes);
      repair->ejection.offsets[item] = places[k].key;
      repair->top_bytes = MAX (repair->top_bytes, top_bytes);
    }
  tessera_reach_clear (&reach);
  g_free (places);
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
          meets_ranges (problem->blocked, problem->n_blocked, at, top))
        ejection->offsets[i] = TESSERA_NOWHERE;
    }
  for (uint32_t i = 0; i < problem->n_items; i++)
    if (tessera_pack_is_pinned (problem, i))
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
      const uint32_t body = tessera_pack_body (problem, i);
      if (ejection->offsets[i] != TESSERA_NOWHERE)
        continue;
      if (body == TESSERA_PACK_NO_BODY ||
          problem->body_items[tessera_pack_body_begin (problem, body)] == i)
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
begin_again (Repair *repair, uint64_t target_bytes)
{
  begin_anew (repair);
  return go_on (repair, target_bytes);
}

/* The lowest that is worth asking for: the height of before, or what it has to be at
 * least. */
static uint64_t
least_of (const Repair *repair)
{
  uint64_t least_bytes = tessera_pack_least_height (repair->ejection.problem);
  return MAX (least_bytes, repair->top_bytes);
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
      if (begin_again (repair, target_bytes))
        note (&repair->ejection, repair->found, height_bytes);
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
  bool is_reached = begin_again (repair, target_bytes);
  for (uint64_t more = least_bytes / FIRST_PART_MORE + 1; !is_reached; more *= 2)
    {
      low_bytes = target_bytes;
      target_bytes = least_bytes + more;
      if (target_bytes >= *height_bytes || !has_looks (repair, true))
        return;
      is_reached = go_on (repair, target_bytes);
    }
  note (ejection, repair->found, &found_bytes);
  if (low_bytes != 0)
    halve (repair, low_bytes, &found_bytes);
  lower (ejection, repair->found, &found_bytes);
  if (found_bytes >= *height_bytes)
    return;
  memcpy (offsets, repair->found, ejection->problem->n_items * sizeof *offsets);
  *height_bytes = found_bytes;
}

TesseraStatus
tessera_repair (const TesseraPackProblem *problem,
                const TesseraRepackOptions *options,
                uint64_t *offsets,
                uint64_t *height_bytes)
{
  Repair repair = { .begun = g_new (uint64_t, problem->n_items),
                    .found = g_new (uint64_t, problem->n_items) };
  tessera_ejection_init (&repair.ejection, problem, options);
  settle (&repair);
  tessera_ejection_begin (&repair.ejection);
  if (begin (&repair))
    search (&repair, offsets, height_bytes);
  tessera_ejection_clear (&repair.ejection);
  g_free (repair.begun);
  g_free (repair.found);
  return repair.ejection.is_cancelled ? TESSERA_CANCELLED : TESSERA_OK;
}
