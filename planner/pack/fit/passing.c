/*
 * Fixed ranges and the rule of the lowest reachable offset. See passing.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/fit/passing.h"

static uint64_t
lower (uint64_t a, uint64_t b)
{
  return a < b ? a : b;
}

/* What of the range lies under the capacity. Fixed items do always. */
static int64_t
bytes_under (const TesseraFixedRange *range, uint64_t capacity_bytes)
{
  uint64_t top = range->is_blocked ? lower (range->top, capacity_bytes) : range->top;
  return top > range->offset ? (int64_t) (top - range->offset) : 0;
}

void
tessera_passing_start (const TesseraFixed *fixed,
                       uint64_t capacity_bytes,
                       TesseraRoom *room)
{
  for (size_t i = 0; i < fixed->n_ranges; i++)
    if (fixed->ranges[i].is_blocked)
      tessera_room_add_all (room, -bytes_under (&fixed->ranges[i], capacity_bytes));
}

static void
lift_life (const TesseraFixedRange *range,
           uint32_t begin,
           uint32_t end,
           uint64_t capacity_bytes,
           TesseraWindows *windows,
           TesseraRoom *room)
{
  if (begin >= end)
    return;
  tessera_windows_raise (windows, begin, end, range->top);
  tessera_room_add (room, begin, end, bytes_under (range, capacity_bytes));
}

static uint32_t
later (uint32_t a, uint32_t b)
{
  return a > b ? a : b;
}

static uint32_t
earlier (uint32_t a, uint32_t b)
{
  return a < b ? a : b;
}

void
tessera_passing_lift (const TesseraFixedRange *range,
                      uint32_t begin,
                      uint32_t end,
                      uint64_t capacity_bytes,
                      TesseraWindows *windows,
                      TesseraRoom *room)
{
  const TesseraPackLives *lives = &range->lives;
  lift_life (range, later (begin, lives->begin), earlier (end, lives->end),
             capacity_bytes, windows, room);
  lift_life (range, later (begin, lives->begin2), earlier (end, lives->end2),
             capacity_bytes, windows, room);
}

static void
count_life (const TesseraFixedRange *range,
            uint32_t begin,
            uint32_t end,
            int64_t bytes,
            const TesseraWindows *windows,
            TesseraRoom *room)
{
  while (begin < end)
    {
      uint32_t window_end;
      uint64_t height_bytes = tessera_windows_at (windows, begin, &window_end);
      uint32_t until = earlier (window_end, end);
      if (height_bytes >= range->top)
        tessera_room_add (room, begin, until, bytes);
      begin = until;
    }
}

void
tessera_passing_count (const TesseraFixed *fixed,
                       uint64_t capacity_bytes,
                       const TesseraWindows *windows,
                       bool is_passed,
                       TesseraRoom *room)
{
  for (size_t i = 0; i < fixed->n_ranges; i++)
    {
      const TesseraFixedRange *range = &fixed->ranges[i];
      int64_t bytes = bytes_under (range, capacity_bytes);
      bytes = is_passed ? bytes : -bytes;
      count_life (range, range->lives.begin, range->lives.end, bytes, windows, room);
      count_life (range, range->lives.begin2, range->lives.end2, bytes, windows, room);
    }
}

void
tessera_passing_raise (const TesseraFixed *fixed,
                       uint64_t old_capacity_bytes,
                       uint64_t capacity_bytes,
                       TesseraRoom *room)
{
  for (size_t i = 0; i < fixed->n_ranges; i++)
    tessera_room_add_all (room, bytes_under (&fixed->ranges[i], old_capacity_bytes) -
                                    bytes_under (&fixed->ranges[i], capacity_bytes));
}
