/*
 * The rule of the lowest reachable offset: who comes next. See lowest.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/fit/lowest-parts.h"

/* After so many raises the capacity no longer holds anybody back: an instance that needs
 * more is far from the bound, and other candidates do better there. */
#define MAX_RAISES 200

/* Each raise looks at all sections: in all at so many. */
#define MAX_SECTIONS_OF_RAISES 4000000

/* The windows as they were before any was lifted. */
static void
lower_windows (TesseraLowest *lowest)
{
  tessera_windows_flatten (&lowest->windows);
  for (uint32_t s = 0; s < lowest->problem->n_sections; s++)
    tessera_windows_raise (&lowest->windows, s, s + 1,
                           tessera_skyline_highest (&lowest->reach.own[0], s, s + 1));
}

void
tessera_lowest_raise (TesseraLowest *lowest)
{
  int64_t least = INT64_MAX;
  uint64_t old_capacity_bytes = lowest->capacity_bytes;
  tessera_passing_count (&lowest->fixed, old_capacity_bytes, &lowest->windows, false,
                         &lowest->room);
  if (lowest->problem->n_owners == 1)
    lower_windows (lowest);
  tessera_passing_count (&lowest->fixed, old_capacity_bytes, &lowest->windows, true,
                         &lowest->room);
  for (uint32_t s = 0; s < lowest->problem->n_sections; s++)
    for (uint32_t rank = lowest->parked_head[s]; rank != TESSERA_NO_RANK;
         rank = lowest->parked_next[rank])
      {
        const TesseraPackItem *item = &lowest->problem->items[lowest->order[rank]];
        int64_t missing = (int64_t) tessera_lowest_floor (lowest, item) -
                          tessera_lowest_room_for (lowest, item);
        if (missing < least)
          least = missing;
      }
  least = least > 0 ? least : 1;
  tessera_room_add_all (&lowest->room, least);
  lowest->capacity_bytes += (uint64_t) least;
  tessera_passing_raise (&lowest->fixed, old_capacity_bytes, lowest->capacity_bytes,
                         &lowest->room);
  lowest->n_raises++;
  lowest->has_limit =
      lowest->n_raises < MAX_RAISES &&
      lowest->n_raises < MAX_SECTIONS_OF_RAISES / lowest->problem->n_sections;
  tessera_lowest_unpark (lowest, 0, lowest->problem->n_sections);
}

/* Gives the first of the heap its true floor at the moment. Returns: its rank, or
 * TESSERA_NO_RANK where none waits. */
static uint32_t
settle_turns (TesseraLowest *lowest)
{
  while (lowest->turns.n_entries > 0)
    {
      TesseraWaiting first = lowest->turns.entries[0];
      const TesseraPackItem *item = &lowest->problem->items[lowest->order[first.rank]];
      uint64_t floor = tessera_lowest_floor (lowest, item);
      if (floor == first.floor)
        return first.rank;
      tessera_turns_replace (&lowest->turns, (TesseraWaiting){ floor, first.rank });
    }
  return TESSERA_NO_RANK;
}

/* Nothing that lives inside the window can come next. Returns: false when there is
 * nothing to lift it to. */
static bool
lift (TesseraLowest *lowest, uint32_t begin, uint32_t end, uint64_t height_bytes)
{
  const TesseraFixed *fixed = &lowest->fixed;
  size_t next = tessera_fixed_next (fixed, begin, end, height_bytes);
  if (next == fixed->n_ranges ||
      fixed->ranges[next].offset >= tessera_windows_beside (&lowest->windows, begin))
    return tessera_windows_lift (&lowest->windows, begin);
  tessera_passing_lift (&fixed->ranges[next], begin, end, lowest->capacity_bytes,
                        &lowest->windows, &lowest->room);
  tessera_lowest_unpark (lowest, begin, end);
  tessera_lowest_recall (lowest, next, begin, end);
  return true;
}

/* The best rank that lives inside the window and can lie at its height. Those that a
 * fixed range keeps from that are put off until it is passed. */
static uint32_t
best_inside (TesseraLowest *lowest, uint32_t begin, uint32_t end, uint64_t height_bytes)
{
  const TesseraFixed *fixed = &lowest->fixed;
  for (;;)
    {
      uint32_t best = tessera_finder_best (&lowest->finder, begin, end);
      if (best == TESSERA_NO_RANK || fixed->n_ranges == 0)
        return best;
      const TesseraPackItem *item = &lowest->problem->items[lowest->order[best]];
      size_t next =
          tessera_fixed_next (fixed, item->lives.begin, item->lives.end, height_bytes);
      if (next == fixed->n_ranges ||
          fixed->ranges[next].offset >= height_bytes + item->size_bytes)
        return best;
      tessera_finder_set (&lowest->finder, lowest->order[best], TESSERA_NO_RANK);
      tessera_lowest_put_off (lowest, best, next);
    }
}

uint32_t
tessera_lowest_choose (TesseraLowest *lowest)
{
  uint32_t second = settle_turns (lowest);
  if (lowest->problem->n_owners > 1)
    return second;
  for (;;)
    {
      uint64_t height_bytes;
      uint32_t end;
      uint32_t begin = tessera_windows_lowest (&lowest->windows, &height_bytes, &end);
      uint32_t best = best_inside (lowest, begin, end, height_bytes);
      if (second != TESSERA_NO_RANK &&
          (lowest->turns.entries[0].floor < height_bytes ||
           (lowest->turns.entries[0].floor == height_bytes && second < best)))
        return second;
      if (best != TESSERA_NO_RANK)
        return best;
      if (!lift (lowest, begin, end, height_bytes))
        return second;
      if (lowest->fixed.n_ranges > 0) /* some that were parked may be among them */
        second = settle_turns (lowest);
    }
}
