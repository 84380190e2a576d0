/*
 * The rule of the lowest reachable offset. See lowest.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/fit/lowest-parts.h"

#include <stdlib.h>
#include <string.h>

/* How many choices pass between two looks at the watch. */
#define LOOK_EVERY 256

TesseraStatus
tessera_lowest_init (TesseraLowest *lowest, const TesseraPackProblem *problem)
{
  size_t n_words = problem->n_sections / 64 + 1;
  lowest->problem = problem;
  if (tessera_reach_init (&lowest->reach, problem) != TESSERA_OK ||
      tessera_room_init (&lowest->room, problem->n_sections) != TESSERA_OK ||
      tessera_windows_init (&lowest->windows, problem->n_sections) != TESSERA_OK ||
      tessera_finder_init (&lowest->finder, problem) != TESSERA_OK ||
      tessera_fixed_init (&lowest->fixed, problem) != TESSERA_OK ||
      tessera_turns_init (&lowest->turns, problem->n_items) != TESSERA_OK)
    goto fail;
  lowest->deferred_head =
      calloc (lowest->fixed.n_ranges + 1, sizeof *lowest->deferred_head);
  lowest->ranks = calloc (problem->n_items, sizeof *lowest->ranks);
  lowest->parked_next = calloc (problem->n_items, sizeof *lowest->parked_next);
  lowest->parked_head = calloc (problem->n_sections, sizeof *lowest->parked_head);
  lowest->parked_bits = calloc (n_words, sizeof *lowest->parked_bits);
  if (lowest->deferred_head != NULL && lowest->ranks != NULL &&
      lowest->parked_next != NULL && lowest->parked_head != NULL &&
      lowest->parked_bits != NULL)
    return TESSERA_OK;
fail:
  tessera_lowest_clear (lowest);
  return TESSERA_NO_MEMORY;
}

void
tessera_lowest_clear (TesseraLowest *lowest)
{
  tessera_reach_clear (&lowest->reach);
  tessera_room_clear (&lowest->room);
  tessera_windows_clear (&lowest->windows);
  tessera_finder_clear (&lowest->finder);
  tessera_fixed_clear (&lowest->fixed);
  tessera_turns_clear (&lowest->turns);
  free (lowest->deferred_head);
  free (lowest->ranks);
  free (lowest->parked_next);
  free (lowest->parked_head);
  free (lowest->parked_bits);
  memset (lowest, 0, sizeof *lowest);
}

static void
start (TesseraLowest *lowest, const uint32_t *order, uint64_t capacity_bytes)
{
  const TesseraPackProblem *problem = lowest->problem;
  lowest->order = order;
  lowest->capacity_bytes = capacity_bytes;
  lowest->has_limit = true;
  lowest->n_raises = 0;
  lowest->n_settled = 0;
  tessera_reach_flatten (&lowest->reach);
  tessera_room_reset (&lowest->room, (int64_t) capacity_bytes);
  tessera_passing_start (&lowest->fixed, capacity_bytes, &lowest->room);
  for (size_t i = 0; i < problem->n_items; i++)
    {
      const TesseraPackItem *item = &problem->items[i];
      tessera_room_add (&lowest->room, item->lives.begin, item->lives.end,
                        -(int64_t) item->size_bytes);
      tessera_room_add (&lowest->room, item->lives.begin2, item->lives.end2,
                        -(int64_t) item->size_bytes);
    }
  memset (lowest->parked_head, 0xff, problem->n_sections * sizeof *lowest->parked_head);
  memset (lowest->parked_bits, 0,
          (problem->n_sections / 64 + 1) * sizeof *lowest->parked_bits);
  if (lowest->fixed.n_ranges > 0)
    memset (lowest->deferred_head, 0xff,
            lowest->fixed.n_ranges * sizeof *lowest->deferred_head);
  lowest->n_parked = 0;
  lowest->turns.n_entries = 0;
  tessera_windows_flatten (&lowest->windows);
  lowest->is_spent = false;
  for (uint32_t rank = 0; rank < problem->n_items; rank++)
    {
      uint32_t item = order[rank];
      bool is_fixed = tessera_fixed_has (&lowest->fixed, item);
      bool is_single = !tessera_lowest_takes_its_turn (lowest, item);
      lowest->ranks[item] = is_single && !is_fixed ? rank : TESSERA_NO_RANK;
      if (!is_single && !is_fixed)
        tessera_turns_push (&lowest->turns, (TesseraWaiting){ 0, rank });
    }
  tessera_finder_fill (&lowest->finder, lowest->ranks, problem->n_items);
}

static void
put (TesseraLowest *lowest, const TesseraPackItem *item, uint64_t floor)
{
  const uint32_t lives[2][2] = { { item->lives.begin, item->lives.end },
                                 { item->lives.begin2, item->lives.end2 } };
  uint64_t top = floor + item->size_bytes;
  tessera_reach_raise (&lowest->reach, item, top);
  for (int i = 0; i < 2; i++)
    tessera_windows_raise (&lowest->windows, lives[i][0], lives[i][1], top);
  for (int i = 0; i < 2; i++)
    tessera_room_add (&lowest->room, lives[i][0], lives[i][1],
                      (int64_t) item->size_bytes);
  for (int i = 0; i < 2; i++)
    tessera_lowest_unpark (lowest, lives[i][0], lives[i][1]);
}

TesseraLowestEnd
tessera_lowest_place (TesseraLowest *lowest,
                      const uint32_t *order,
                      uint64_t capacity_bytes,
                      bool may_raise,
                      const TesseraPackWatch *watch,
                      uint64_t *offsets,
                      uint64_t *out_height_bytes)
{
  start (lowest, order, capacity_bytes);
  uint64_t height_bytes = lowest->fixed.height_bytes;
  uint32_t n_looks = 0;
  tessera_fixed_copy (&lowest->fixed, lowest->problem->n_items, offsets);
  for (size_t n_placed = lowest->fixed.n_items; n_placed < lowest->problem->n_items;)
    {
      /* In some section a raised capacity is filled to the last byte: as good a lower
       * bound of the height in the end as the height that has been reached. With fixed
       * ranges it need not be. */
      uint64_t least_bytes =
          lowest->fixed.n_ranges > 0 ? height_bytes : lowest->capacity_bytes;
      if (n_looks++ % LOOK_EVERY == 0 && !tessera_pack_watch_goes_on (watch, least_bytes))
        return TESSERA_LOWEST_STOPPED;
      uint32_t rank = tessera_lowest_choose (lowest);
      if (rank == TESSERA_NO_RANK && !may_raise)
        return TESSERA_LOWEST_STUCK;
      if (rank == TESSERA_NO_RANK)
        {
          tessera_lowest_raise (lowest);
          n_looks = 0;
          continue;
        }
      const TesseraPackItem *item = &lowest->problem->items[order[rank]];
      uint64_t floor = tessera_lowest_floor (lowest, item);
      tessera_lowest_take (lowest, rank);
      if (lowest->has_limit && (int64_t) floor > tessera_lowest_room_for (lowest, item))
        {
          tessera_lowest_park (lowest, rank, item);
          continue;
        }
      put (lowest, item, floor);
      n_placed++;
      offsets[order[rank]] = floor;
      if (floor + item->size_bytes > height_bytes)
        height_bytes = floor + item->size_bytes;
    }
  *out_height_bytes = height_bytes;
  return TESSERA_LOWEST_DONE;
}
