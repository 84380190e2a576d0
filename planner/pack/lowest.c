/*
 * The rule of the lowest reachable offset. See methods.h.
 *
 * The floor of an item is the highest of the skyline over its life: the offset it would
 * get now. Next comes the item with the lowest floor, ties by rank.
 *
 * Floors are not kept. What matters is the lowest window of the skyline: items that live
 * inside it have its height as floor and come next; if there are none, the window is
 * lifted. Items that are held to something, or have two lives, lie there before the rule
 * begins; what is left free below them is lost.
 *
 * Cost: some O(log n) a placement, and a question to the finder for each.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/methods.h"

/* Of more than one item in so many, or more in all, that come first, fits are as good. */
#define MOST_FIRST_PART 4
#define MOST_FIRST 4096

bool
tessera_lowest_is_for (const TesseraPackProblem *problem)
{
  size_t n_first = 0;
  if (problem->has_zones)
    return false;
  for (size_t i = 0; i < problem->n_blocked; i++)
    if (problem->blocked[i].begin_bytes > 0 &&
        problem->blocked[i].begin_bytes < tessera_pack_least_height (problem))
      return false;
  for (uint32_t i = 0; i < problem->n_items; i++)
    n_first += tessera_pack_is_first (problem, i);
  return n_first <= MIN (problem->n_items / MOST_FIRST_PART, MOST_FIRST);
}

void
tessera_lowest_init (TesseraLowest *lowest, const TesseraPackProblem *problem)
{
  lowest->problem = problem;
  tessera_windows_init (&lowest->windows, problem->n_sections);
  tessera_finder_init (&lowest->finder, problem);
  lowest->ranks = g_new (uint32_t, problem->n_items);
}

void
tessera_lowest_clear (TesseraLowest *lowest)
{
  tessera_windows_clear (&lowest->windows);
  tessera_finder_clear (&lowest->finder);
  g_free (lowest->ranks);
}

/* Those that come first lie where they do, and what is blocked at the bottom. The others
 * wait. Returns: how many. */
static size_t
start (TesseraLowest *lowest, const uint32_t *order, const uint64_t *offsets)
{
  const TesseraPackProblem *problem = lowest->problem;
  TesseraWindows *windows = &lowest->windows;
  size_t n_waiting = 0;
  tessera_windows_flatten (windows);
  if (problem->n_blocked > 0 && problem->blocked[0].begin_bytes == 0)
    tessera_windows_raise (windows, 0, problem->n_sections,
                           problem->blocked[0].end_bytes);
  for (uint32_t rank = 0; rank < problem->n_items; rank++)
    {
      const uint32_t item = order[rank];
      const TesseraPackLives *lives = &problem->items[item].lives;
      const bool is_first = tessera_pack_is_first (problem, item);
      lowest->ranks[item] = is_first ? TESSERA_NO_RANK : rank;
      n_waiting += !is_first;
      if (!is_first)
        continue;
      const uint64_t top = offsets[item] + problem->items[item].size_bytes;
      tessera_windows_raise (windows, lives->begin, lives->end, top);
      tessera_windows_raise (windows, lives->begin2, lives->end2, top);
    }
  tessera_finder_fill (&lowest->finder, lowest->ranks);
  return n_waiting;
}

/* Above this lies what is blocked. */
static uint64_t
find_ceiling (const TesseraPackProblem *problem)
{
  for (size_t i = 0; i < problem->n_blocked; i++)
    if (problem->blocked[i].begin_bytes > 0)
      return problem->blocked[i].begin_bytes;
  return UINT64_MAX;
}

/* The rank that comes next, with windows lifted on the way as needed, and its floor. */
static uint32_t
choose (TesseraLowest *lowest, uint64_t *out_floor_bytes)
{
  for (;;)
    {
      uint32_t end;
      const uint32_t begin =
          tessera_windows_lowest (&lowest->windows, out_floor_bytes, &end);
      const uint32_t rank = tessera_finder_best (&lowest->finder, begin, end);
      if (rank != TESSERA_NO_RANK)
        return rank;
      tessera_windows_lift (&lowest->windows, begin);
    }
}

bool
tessera_lowest_place (TesseraLowest *lowest,
                      const uint32_t *order,
                      const TesseraPackWatch *watch,
                      uint64_t *offsets,
                      uint64_t *out_height_bytes)
{
  const TesseraPackProblem *problem = lowest->problem;
  const uint64_t ceiling_bytes = find_ceiling (problem);
  uint64_t height_bytes = 0;
  for (size_t n_waiting = start (lowest, order, offsets); n_waiting > 0; n_waiting--)
    {
      uint64_t floor_bytes;
      if (n_waiting % TESSERA_LOOK_EVERY == 0 &&
          !tessera_pack_watch_goes_on (watch, height_bytes))
        return false;
      const uint32_t item = order[choose (lowest, &floor_bytes)];
      const uint64_t top = floor_bytes + problem->items[item].size_bytes;
      const TesseraPackLives *lives = &problem->items[item].lives;
      tessera_finder_set (&lowest->finder, item, TESSERA_NO_RANK);
      tessera_windows_raise (&lowest->windows, lives->begin, lives->end, top);
      offsets[item] = floor_bytes;
      height_bytes = MAX (height_bytes, top);
      if (height_bytes > ceiling_bytes)
        return false;
    }
  *out_height_bytes = height_bytes;
  return true;
}
