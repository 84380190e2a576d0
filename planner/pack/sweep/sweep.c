/*
 * Fits in order of time, class after class. See sweep.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/sweep/sweep.h"

#include <stdlib.h>
#include <string.h>

/* How many placements pass between two looks at the watch. */
#define LOOK_EVERY 256

/* Ranges that an item goes around at most. Where there are more, those that touch become
 * one, and then neighbours: that closes holes, but never opens what is taken. */
#define MAX_TAKEN 4096
#define RUN_OF_TAKEN 8

/* Where a class stands in time. */
typedef struct
{
  const uint64_t *offsets;
  uint32_t n_later;
  uint32_t entered; /* of sweep->later */
  uint32_t left;    /* of all lives, by end */
} Moment;

static const TesseraPackItem *
item_of (const TesseraSweep *sweep, uint32_t life)
{
  return &sweep->times->problem->items[life / 2];
}

/* In the time of the sweep: backwards, the last section is 0. */
static uint32_t
begin_of (const TesseraSweep *sweep, uint32_t life)
{
  const TesseraPackProblem *problem = sweep->times->problem;
  return sweep->is_backward ? problem->n_sections - tessera_life_end (problem, life)
                            : tessera_life_begin (problem, life);
}

static uint32_t
end_of (const TesseraSweep *sweep, uint32_t life)
{
  const TesseraPackProblem *problem = sweep->times->problem;
  return sweep->is_backward ? problem->n_sections - tessera_life_begin (problem, life)
                            : tessera_life_end (problem, life);
}

/* The @k-th of all lives in the order of begins, of ends. */
static uint32_t
kth_begin (const TesseraSweep *sweep, uint32_t k)
{
  const TesseraTimes *times = sweep->times;
  return sweep->is_backward ? times->by_end[times->n_lives - 1 - k] : times->by_begin[k];
}

static uint32_t
kth_end (const TesseraSweep *sweep, uint32_t k)
{
  const TesseraTimes *times = sweep->times;
  return sweep->is_backward ? times->by_begin[times->n_lives - 1 - k] : times->by_end[k];
}

TesseraStatus
tessera_sweep_init (TesseraSweep *sweep, const TesseraTimes *times)
{
  const TesseraPackProblem *problem = times->problem;
  uint32_t highest = 0;
  for (uint32_t i = 0; i < problem->n_items; i++)
    if (problem->items[i].contention > highest)
      highest = problem->items[i].contention;
  sweep->times = times;
  sweep->later = malloc (times->n_lives * sizeof *sweep->later);
  sweep->is_placed = malloc (problem->n_items * sizeof *sweep->is_placed);
  sweep->taken = malloc (MAX_TAKEN * sizeof *sweep->taken);
  sweep->spare = malloc (MAX_TAKEN * sizeof *sweep->spare);
  if (sweep->later != NULL && sweep->is_placed != NULL && sweep->taken != NULL &&
      sweep->spare != NULL &&
      tessera_gaps_init (&sweep->gaps, highest + problem->n_blocked) == TESSERA_OK)
    return TESSERA_OK;
  tessera_sweep_clear (sweep);
  return TESSERA_NO_MEMORY;
}

void
tessera_sweep_clear (TesseraSweep *sweep)
{
  free (sweep->later);
  free (sweep->is_placed);
  free (sweep->taken);
  free (sweep->spare);
  tessera_gaps_clear (&sweep->gaps);
  memset (sweep, 0, sizeof *sweep);
}

void
tessera_sweep_begin (TesseraSweep *sweep, bool is_backward, uint64_t looks)
{
  memset (sweep->is_placed, 0, sweep->times->problem->n_items * sizeof *sweep->is_placed);
  sweep->is_backward = is_backward;
  sweep->looks_left = looks;
}

void
tessera_sweep_note (TesseraSweep *sweep, uint32_t item)
{
  sweep->is_placed[item] = 1;
}

static void
leave (TesseraSweep *sweep, const Moment *moment, uint32_t life)
{
  const TesseraPackItem *item = item_of (sweep, life);
  uint64_t offset = moment->offsets[life / 2];
  tessera_gaps_give (&sweep->gaps, offset, offset + item->size_bytes);
}

/* Ends and begins up to @time, as they come: what is taken must be free, so ends of a
 * moment come before its begins. */
static void
go_on_to (TesseraSweep *sweep, Moment *moment, uint32_t time)
{
  for (;;)
    {
      bool enters = moment->entered < moment->n_later &&
                    begin_of (sweep, sweep->later[moment->entered]) <= time;
      uint32_t until = enters ? begin_of (sweep, sweep->later[moment->entered]) : time;
      for (; moment->left < sweep->times->n_lives; moment->left++)
        {
          uint32_t life = kth_end (sweep, moment->left);
          if (end_of (sweep, life) > until)
            break;
          if (sweep->is_placed[life / 2])
            leave (sweep, moment, life);
        }
      if (!enters)
        return;
      uint32_t life = sweep->later[moment->entered++];
      uint64_t offset = moment->offsets[life / 2];
      tessera_gaps_take (&sweep->gaps, offset,
                         offset + item_of (sweep, life)->size_bytes);
    }
}

/* Two sorted stretches of @from become one of @to. */
static void
merge_taken (
    const TesseraGap *from, uint32_t begin, uint32_t middle, uint32_t end, TesseraGap *to)
{
  uint32_t low = begin, high = middle;
  for (uint32_t i = begin; i < end; i++)
    to[i] = high == end || (low < middle && from[low].begin <= from[high].begin)
                ? from[low++]
                : from[high++];
}

/* Runs of a few are sorted in place, then merged to and fro. */
static void
sort_taken (TesseraSweep *sweep)
{
  const uint32_t n = sweep->n_taken;
  TesseraGap *taken = sweep->taken;
  for (uint32_t i = 1; i < n; i++)
    {
      const TesseraGap gap = taken[i];
      uint32_t k = i;
      for (; k % RUN_OF_TAKEN != 0 && taken[k - 1].begin > gap.begin; k--)
        taken[k] = taken[k - 1];
      taken[k] = gap;
    }
  for (uint32_t run = RUN_OF_TAKEN; run < n; run *= 2)
    {
      for (uint32_t begin = 0; begin < n; begin += 2 * run)
        merge_taken (sweep->taken, begin, begin + run < n ? begin + run : n,
                     begin + 2 * run < n ? begin + 2 * run : n, sweep->spare);
      taken = sweep->taken;
      sweep->taken = sweep->spare;
      sweep->spare = taken;
    }
}

/* Sorts what is taken; ranges that touch, or are less than @hole_bytes apart, become
 * one: nothing would fit between them. */
static void
settle_taken (TesseraSweep *sweep, uint64_t hole_bytes)
{
  uint32_t n = 0;
  sort_taken (sweep);
  for (uint32_t i = 0; i < sweep->n_taken; i++)
    {
      TesseraGap *last = n > 0 ? &sweep->taken[n - 1] : NULL;
      if (last == NULL || (sweep->taken[i].begin > last->end &&
                           sweep->taken[i].begin - last->end >= hole_bytes))
        sweep->taken[n++] = sweep->taken[i];
      else if (sweep->taken[i].end > last->end)
        last->end = sweep->taken[i].end;
    }
  sweep->n_taken = n;
}

/* Halves what is taken, by closing every other hole. */
static void
halve_taken (TesseraSweep *sweep)
{
  for (uint32_t i = 0; i + 1 < sweep->n_taken; i += 2)
    sweep->taken[i / 2] = (TesseraGap){ sweep->taken[i].begin, sweep->taken[i + 1].end };
  sweep->n_taken /= 2;
}

/* What of classes before begins inside the life: it is free now and will not be. Returns:
 * false when what may be spent is spent. */
static bool
collect_taken (TesseraSweep *sweep, const Moment *moment, uint32_t life)
{
  uint32_t end = end_of (sweep, life);
  uint64_t size_bytes = item_of (sweep, life)->size_bytes;
  sweep->n_taken = 0;
  for (uint32_t k = moment->entered;
       k < moment->n_later && begin_of (sweep, sweep->later[k]) < end; k++)
    {
      if (sweep->looks_left-- == 0)
        {
          sweep->looks_left = 0;
          return false;
        }
      uint32_t other = sweep->later[k];
      uint64_t offset = moment->offsets[other / 2];
      sweep->taken[sweep->n_taken++] =
          (TesseraGap){ offset, offset + item_of (sweep, other)->size_bytes };
      if (sweep->n_taken < MAX_TAKEN)
        continue;
      settle_taken (sweep, size_bytes);
      if (sweep->n_taken > MAX_TAKEN / 2)
        halve_taken (sweep);
    }
  if (sweep->n_taken > 1)
    settle_taken (sweep, size_bytes);
  return true;
}

/* A search over what neither is alive now nor begins inside the life. */
typedef struct
{
  uint64_t size_bytes;
  uint64_t best_at, best_bytes;
  uint32_t n_passed; /* of sweep->taken */
  bool stops_at_first;
} Search;

/* Returns: true when nothing better can come. */
static bool
look_between (Search *search, uint64_t begin, uint64_t end)
{
  if (begin >= end || end - begin < search->size_bytes ||
      end - begin >= search->best_bytes)
    return false;
  search->best_at = begin;
  search->best_bytes = end - begin;
  return search->stops_at_first || end - begin == search->size_bytes;
}

/* The parts of one gap that stay free. Gaps come in ascending order. */
static bool
look_into (const TesseraSweep *sweep, Search *search, const TesseraGap *gap)
{
  uint64_t begin = gap->begin;
  while (search->n_passed < sweep->n_taken && sweep->taken[search->n_passed].end <= begin)
    search->n_passed++;
  for (uint32_t i = search->n_passed; i < sweep->n_taken; i++)
    {
      if (sweep->taken[i].begin >= gap->end)
        break;
      if (look_between (search, begin, sweep->taken[i].begin))
        return true;
      if (sweep->taken[i].end > begin)
        begin = sweep->taken[i].end;
    }
  return look_between (search, begin, gap->end);
}

static uint64_t
find (const TesseraSweep *sweep, uint64_t size_bytes, TesseraSweepFit fit)
{
  TesseraGapsCursor cursor = { 0, 0 };
  Search search = { .size_bytes = size_bytes,
                    .best_bytes = UINT64_MAX,
                    .stops_at_first = fit == TESSERA_SWEEP_FIRST_FIT };
  for (;;)
    {
      const TesseraGap *gap = tessera_gaps_next (&sweep->gaps, &cursor, size_bytes);
      if (look_into (sweep, &search, gap) || tessera_gaps_is_last (gap))
        return search.best_at;
    }
}

/* All is free but what is blocked. */
static void
open_gaps (TesseraSweep *sweep)
{
  const TesseraPackProblem *problem = sweep->times->problem;
  tessera_gaps_reset (&sweep->gaps);
  for (size_t i = 0; i < problem->n_blocked; i++)
    tessera_gaps_take (&sweep->gaps, problem->blocked[i].begin_bytes,
                       problem->blocked[i].end_bytes);
}

/* What lies already begins at some moment of this class as well. */
static void
list_later (TesseraSweep *sweep, Moment *moment)
{
  for (uint32_t k = 0; k < sweep->times->n_lives; k++)
    {
      uint32_t life = kth_begin (sweep, k);
      if (sweep->is_placed[life / 2])
        sweep->later[moment->n_later++] = life;
    }
}

bool
tessera_sweep_class (TesseraSweep *sweep,
                     const uint32_t *class,
                     size_t n,
                     TesseraSweepFit fit,
                     const TesseraPackWatch *watch,
                     uint64_t *offsets,
                     uint64_t *height_bytes)
{
  Moment moment = { .offsets = offsets };
  list_later (sweep, &moment);
  open_gaps (sweep);
  for (size_t i = 0; i < n; i++)
    {
      uint32_t life = class[i] * 2;
      uint64_t size_bytes = item_of (sweep, life)->size_bytes;
      if (i % LOOK_EVERY == 0 && !tessera_pack_watch_goes_on (watch, *height_bytes))
        return false;
      go_on_to (sweep, &moment, begin_of (sweep, life));
      if (!collect_taken (sweep, &moment, life))
        return false;
      uint64_t offset = find (sweep, size_bytes, fit);
      tessera_gaps_take (&sweep->gaps, offset, offset + size_bytes);
      sweep->is_placed[class[i]] = 1;
      offsets[class[i]] = offset;
      if (offset + size_bytes > *height_bytes)
        *height_bytes = offset + size_bytes;
    }
  return true;
}
