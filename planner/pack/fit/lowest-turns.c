/*
 * The rule of the lowest reachable offset: who waits where. See lowest.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/fit/lowest-parts.h"

uint64_t
tessera_lowest_floor (const TesseraLowest *lowest, const TesseraPackItem *item)
{
  uint64_t floor = tessera_reach_floor (&lowest->reach, item);
  return lowest->fixed.n_ranges == 0
             ? floor
             : tessera_shelf_fit_from (&lowest->fixed.shelf, item, floor);
}

int64_t
tessera_lowest_room_for (const TesseraLowest *lowest, const TesseraPackItem *item)
{
  int64_t first = tessera_room_lowest (&lowest->room, item->lives.begin, item->lives.end);
  int64_t second =
      tessera_room_lowest (&lowest->room, item->lives.begin2, item->lives.end2);
  return first < second ? first : second;
}

bool
tessera_lowest_takes_its_turn (const TesseraLowest *lowest, uint32_t item_index)
{
  const TesseraPackProblem *problem = lowest->problem;
  const TesseraPackLives *lives = &problem->items[item_index].lives;
  const TesseraPackLimit *limit =
      problem->limits != NULL ? &problem->limits[item_index] : NULL;
  return lives->begin2 < lives->end2 ||
         (limit != NULL && (limit->in | limit->apart) != 0);
}

/* From now on the item may be chosen. */
static void
wait_for_turn (TesseraLowest *lowest, uint32_t rank)
{
  uint32_t item_index = lowest->order[rank];
  const TesseraPackItem *item = &lowest->problem->items[item_index];
  if (tessera_lowest_takes_its_turn (lowest, item_index))
    tessera_turns_push (&lowest->turns,
                        (TesseraWaiting){ tessera_lowest_floor (lowest, item), rank });
  else
    {
      tessera_finder_set (&lowest->finder, item_index, rank);
      lowest->is_spent = false;
    }
}

void
tessera_lowest_take (TesseraLowest *lowest, uint32_t rank)
{
  if (lowest->turns.n_entries > 0 && lowest->turns.entries[0].rank == rank)
    tessera_turns_pop (&lowest->turns);
  else
    tessera_finder_set (&lowest->finder, lowest->order[rank], TESSERA_NO_RANK);
}

void
tessera_lowest_park (TesseraLowest *lowest, uint32_t rank, const TesseraPackItem *item)
{
  bool in_first =
      tessera_room_lowest (&lowest->room, item->lives.begin, item->lives.end) <=
      tessera_room_lowest (&lowest->room, item->lives.begin2, item->lives.end2);
  uint32_t section =
      in_first ? tessera_room_where (&lowest->room, item->lives.begin, item->lives.end)
               : tessera_room_where (&lowest->room, item->lives.begin2, item->lives.end2);
  lowest->parked_next[rank] = lowest->parked_head[section];
  lowest->parked_head[section] = rank;
  lowest->parked_bits[section / 64] |= UINT64_C (1) << (section % 64);
  lowest->n_parked++;
}

static void
unpark_section (TesseraLowest *lowest, uint32_t section)
{
  uint32_t rank = lowest->parked_head[section];
  lowest->parked_head[section] = TESSERA_NO_RANK;
  lowest->parked_bits[section / 64] &= ~(UINT64_C (1) << (section % 64));
  while (rank != TESSERA_NO_RANK)
    {
      uint32_t next = lowest->parked_next[rank];
      wait_for_turn (lowest, rank);
      lowest->n_parked--;
      rank = next;
    }
}

void
tessera_lowest_unpark (TesseraLowest *lowest, uint32_t begin, uint32_t end)
{
  if (lowest->n_parked == 0 || begin >= end)
    return;
  for (uint32_t word = begin / 64; word <= (end - 1) / 64; word++)
    for (uint64_t bits = lowest->parked_bits[word]; bits != 0; bits &= bits - 1)
      {
        uint32_t section = word * 64 + (uint32_t) __builtin_ctzll (bits);
        if (section >= begin && section < end)
          unpark_section (lowest, section);
      }
}

void
tessera_lowest_put_off (TesseraLowest *lowest, uint32_t rank, size_t range)
{
  lowest->parked_next[rank] = lowest->deferred_head[range];
  lowest->deferred_head[range] = rank;
}

/* Those who have waited for the range to be passed, and live where it now is. */
void
tessera_lowest_recall (TesseraLowest *lowest, size_t range, uint32_t begin, uint32_t end)
{
  uint32_t rank = lowest->deferred_head[range];
  lowest->deferred_head[range] = TESSERA_NO_RANK;
  while (rank != TESSERA_NO_RANK)
    {
      uint32_t next = lowest->parked_next[rank];
      const TesseraPackLives *lives = &lowest->problem->items[lowest->order[rank]].lives;
      if (lives->begin < end && begin < lives->end)
        wait_for_turn (lowest, rank);
      else
        tessera_lowest_put_off (lowest, rank, range);
      rank = next;
    }
}

size_t
tessera_lowest_list_parked (const TesseraLowest *lowest, uint32_t *ranks)
{
  size_t n_parked = 0;
  for (uint32_t s = 0; s < lowest->problem->n_sections; s++)
    for (uint32_t rank = lowest->parked_head[s]; rank != TESSERA_NO_RANK;
         rank = lowest->parked_next[rank])
      ranks[n_parked++] = rank;
  return n_parked;
}
