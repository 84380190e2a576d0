/*
 * Where in a planned sequence of requests a run is.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/follow/matching.h"

#include "db/trace.h"

#include <string.h>

enum
{
  REACH = TESSERA_ALIGN_REACH,
  CELLS = TESSERA_ALIGN_CELLS,
  /* After so many expected requests other readings are dropped. A repeating layer keeps
     them alive for its own length, so it is to be of the size of a small layer. */
  SURE_STREAK = 32,
  /* What a planned request left out costs, or one too many; less where such are known to
     come, yet not nothing: there any number of them would do for any part of the plan. */
  DIFFERENCE = 4,
  KNOWN_EXTRA = 1,
  LARGE_EXTRA = 2, /* ... and far larger than they were, of a size that no slot has */
  FAR_LARGER = 4,
  IMPOSSIBLE = 1 << 20
};

void
tessera_align_reset (TesseraAlign *align, int64_t cursor)
{
  align->cursor = cursor;
  align->base = cursor - REACH;
  align->streak = 0;
  align->is_sure = true;
}

void
tessera_align_move (TesseraAlign *align, int64_t n_places)
{
  align->cursor -= n_places;
  align->base -= n_places;
}

static bool
is_planned (const TesseraRoute *route, int64_t place, uint32_t signature)
{
  if (place < 0)
    return false;
  if (place < route->n_now)
    return route->now[place] == signature;
  place -= route->n_now;
  return place < route->n_next && route->next[place] == signature;
}

/* What it costs to take the request for one that nobody planned, before the place. */
static uint32_t
cost_of_extra (const TesseraRoute *route,
               int64_t place,
               const TesseraAlignRequest *request)
{
  uint64_t most_bytes = 0;

  if (place >= 0 && place < route->n_now && route->extras_now != NULL)
    most_bytes = route->extras_now[place];
  else if (place >= route->n_now && place - route->n_now < route->n_next &&
           route->extras_next != NULL)
    most_bytes = route->extras_next[place - route->n_now];
  if (most_bytes == 0 || request->block_bytes == UINT64_MAX)
    return DIFFERENCE;
  if (request->block_bytes / FAR_LARGER <= most_bytes)
    return KNOWN_EXTRA;
  return request->signature == TESSERA_NONE ? LARGE_EXTRA : DIFFERENCE;
}

static void
open_row (TesseraAlign *align)
{
  align->base = align->cursor - REACH;
  for (int k = 0; k < CELLS; k++)
    align->cost[k] = DIFFERENCE * (uint32_t) (k < REACH ? REACH - k : k - REACH);
  align->is_sure = false;
  align->streak = 0;
}

/* Brings the cursor back to the middle; new cells are skips from, or extras to, the edge.
 */
static void
centre_row (TesseraAlign *align)
{
  int64_t by = align->cursor - REACH - align->base;

  if (by > 0)
    {
      memmove (align->cost, align->cost + by,
               (size_t) (CELLS - by) * sizeof align->cost[0]);
      for (int64_t k = CELLS - by; k < CELLS; k++)
        align->cost[k] = align->cost[k - 1] + DIFFERENCE;
    }
  else if (by < 0)
    {
      memmove (align->cost - by, align->cost,
               (size_t) (CELLS + by) * sizeof align->cost[0]);
      for (int64_t k = -by - 1; k >= 0; k--)
        align->cost[k] = align->cost[k + 1] + DIFFERENCE;
    }
  align->base += by;
}

/* Moves the row on by one request. Returns the cell of the best place: the cheapest; of
 * equals one where the request is a planned one, then the nearest to the place right
 * after the cursor. */
static int
move_row (TesseraAlign *align,
          const TesseraRoute *route,
          const TesseraAlignRequest *request,
          bool matched[CELLS])
{
  uint32_t from = IMPOSSIBLE; /* the cell before, in the old row */
  uint32_t left = IMPOSSIBLE; /* ... in the new one */
  int best = -1;
  uint32_t best_rank = UINT32_MAX;

  for (int k = 0; k < CELLS; k++)
    {
      int64_t place = align->base + k;
      uint32_t cost = align->cost[k] + cost_of_extra (route, place, request);
      uint32_t away = (uint32_t) (k <= REACH ? REACH + 1 - k : k - REACH - 1);
      uint32_t rank;

      matched[k] = from <= cost && is_planned (route, place - 1, request->signature);
      if (matched[k])
        cost = from;
      if (left + DIFFERENCE < cost) /* a planned one left out */
        {
          cost = left + DIFFERENCE;
          matched[k] = false;
        }
      if (place < 0 || place > (int64_t) route->n_now + route->n_next)
        {
          cost = IMPOSSIBLE;
          matched[k] = false;
        }
      from = align->cost[k];
      align->cost[k] = left = cost;
      rank = (cost * 2 + !matched[k]) * 2 * CELLS + away;
      if (rank < best_rank)
        {
          best_rank = rank;
          best = k;
        }
    }
  return best;
}

TesseraAlignAnswer
tessera_align_request (TesseraAlign *align,
                       const TesseraRoute *route,
                       const TesseraAlignRequest *request,
                       int64_t *out_place)
{
  bool matched[CELLS];
  int best;
  uint32_t least;
  bool is_expected;

  if (align->is_sure)
    {
      if (is_planned (route, align->cursor, request->signature))
        {
          *out_place = align->cursor++;
          return TESSERA_ALIGN_PLANNED;
        }
      if (cost_of_extra (route, align->cursor, request) < DIFFERENCE)
        return TESSERA_ALIGN_EXTRA;
      open_row (align);
    }
  best = move_row (align, route, request, matched);
  least = align->cost[best];
  for (int k = 0; k < CELLS; k++)
    align->cost[k] =
        align->cost[k] - least < IMPOSSIBLE ? align->cost[k] - least : IMPOSSIBLE;
  if (!matched[best] && align->base + best == align->cursor &&
      cost_of_extra (route, align->cursor, request) < DIFFERENCE)
    return TESSERA_ALIGN_EXTRA;
  is_expected = matched[best] && align->base + best == align->cursor + 1 && least == 0;
  align->streak = is_expected ? align->streak + 1 : 0;
  align->cursor = align->base + best;
  if (align->streak >= SURE_STREAK)
    tessera_align_reset (align, align->cursor);
  else
    centre_row (align);
  *out_place = align->cursor - 1;
  return matched[best] ? TESSERA_ALIGN_PLANNED
         : cost_of_extra (route, align->cursor, request) < DIFFERENCE
             ? TESSERA_ALIGN_EXTRA
             : TESSERA_ALIGN_UNPLANNED;
}
