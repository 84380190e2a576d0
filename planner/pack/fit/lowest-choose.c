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
                           tessera_skyline_highest (&lowest->reach.skyline, s, s + 1));
}

void
tessera_lowest_raise (TesseraLowest *lowest)
{
  int64_t least = INT64_MAX;
  uint64_t old_capacity_bytes = lowest->capacity_bytes;
  tessera_passing_count (&lowest->fixed, old_capacity_bytes, &lowest->windows, false,
                         &lowest->room);
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
settle_turns (TesseraLowest *lowest, uint64_t up_to_bytes)
{
  while (lowest->turns.n_entries > 0)
    {
      TesseraWaiting first = lowest->turns.entries[0];
      if (first.floor > up_to_bytes)
        return TESSERA_NO_RANK;
      const TesseraPackItem *item = &lowest->problem->items[lowest->order[first.rank]];
      uint64_t floor = tessera_lowest_floor (lowest, item);
      if (floor == first.floor)
        return first.rank;
      lowest->n_settled++;
      tessera_turns_replace (&lowest->turns, (TesseraWaiting){ floor, first.rank });
    }
  return TESSERA_NO_RANK;
}

/* The lowest window. */
typedef struct
{
  uint32_t begin, end;
  uint64_t height_bytes;
} Window;

static Window
lowest_window (const TesseraLowest *lowest)
{
  Window window;
  window.begin =
      tessera_windows_lowest (&lowest->windows, &window.height_bytes, &window.end);
  return window;
}

/* Nothing that lives inside the window can come next. Where there is nothing to lift it
 * to, the windows are spent. */
static void
lift (TesseraLowest *lowest, Window window)
{
  const TesseraFixed *fixed = &lowest->fixed;
  TesseraWindows *windows = &lowest->windows;
  size_t next = tessera_fixed_next (fixed, window.begin, window.end, window.height_bytes);
  if (next == fixed->n_ranges ||
      fixed->ranges[next].offset >= tessera_windows_beside (windows, window.begin))
    {
      lowest->is_spent = !tessera_windows_lift (windows, window.begin);
      return;
    }
  tessera_passing_lift (&fixed->ranges[next], window.begin, window.end,
                        lowest->capacity_bytes, windows, &lowest->room);
  tessera_lowest_unpark (lowest, window.begin, window.end);
  tessera_lowest_recall (lowest, next, window.begin, window.end);
}

/* Whether a fixed range keeps the item from lying at the window's height: then it is put
 * off until that is passed. */
static bool
is_put_off (TesseraLowest *lowest, uint32_t rank, uint64_t height_bytes)
{
  const TesseraFixed *fixed = &lowest->fixed;
  const TesseraPackItem *item = &lowest->problem->items[lowest->order[rank]];
  size_t next;
  if (fixed->n_ranges == 0)
    return false;
  next = tessera_fixed_next (fixed, item->lives.begin, item->lives.end, height_bytes);
  if (next == fixed->n_ranges ||
      fixed->ranges[next].offset >= height_bytes + item->size_bytes)
    return false;
  tessera_finder_set (&lowest->finder, lowest->order[rank], TESSERA_NO_RANK);
  tessera_lowest_put_off (lowest, rank, next);
  return true;
}

/* The best rank that lives inside the window and can lie at its height. */
static uint32_t
best_inside (TesseraLowest *lowest, Window window)
{
  uint32_t best;
  do
    best = tessera_finder_best (&lowest->finder, window.begin, window.end);
  while (best != TESSERA_NO_RANK && is_put_off (lowest, best, window.height_bytes));
  return best;
}

uint32_t
tessera_lowest_choose (TesseraLowest *lowest)
{
  for (;;)
    {
      Window window = lowest_window (lowest);
      uint64_t height_bytes = lowest->is_spent ? UINT64_MAX : window.height_bytes;
      uint32_t second = settle_turns (lowest, height_bytes);
      uint32_t best;
      if (second != TESSERA_NO_RANK && lowest->turns.entries[0].floor < height_bytes)
        return second;
      if (height_bytes == UINT64_MAX)
        return second;
      best = best_inside (lowest, window);
      if (second != TESSERA_NO_RANK && second < best)
        return second;
      if (best != TESSERA_NO_RANK)
        return best;
      lift (lowest, window);
    }
}
