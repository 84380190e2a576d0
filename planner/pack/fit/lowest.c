/*
 * The rule of the lowest reachable offset. See lowest.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/fit/lowest.h"

#include <stdlib.h>
#include <string.h>

/* After so many raises the capacity no longer holds anybody back: an instance that needs
 * more is far from the bound, and other candidates do better there. */
#define MAX_RAISES 200

/* Each raise looks at all sections: in all at so many. */
#define MAX_SECTIONS_OF_RAISES 4000000

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
      tessera_finder_init (&lowest->finder, problem) != TESSERA_OK)
    goto fail;
  lowest->heap = calloc (problem->n_items, sizeof *lowest->heap);
  lowest->ranks = calloc (problem->n_items, sizeof *lowest->ranks);
  lowest->parked_next = calloc (problem->n_items, sizeof *lowest->parked_next);
  lowest->parked_head = calloc (problem->n_sections, sizeof *lowest->parked_head);
  lowest->parked_bits = calloc (n_words, sizeof *lowest->parked_bits);
  if (lowest->heap != NULL && lowest->ranks != NULL && lowest->parked_next != NULL &&
      lowest->parked_head != NULL && lowest->parked_bits != NULL)
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
  free (lowest->heap);
  free (lowest->ranks);
  free (lowest->parked_next);
  free (lowest->parked_head);
  free (lowest->parked_bits);
  memset (lowest, 0, sizeof *lowest);
}

static bool
comes_before (TesseraWaiting a, TesseraWaiting b)
{
  return a.floor != b.floor ? a.floor < b.floor : a.rank < b.rank;
}

/* Puts @waiting at the hole @at, moving it down to where it belongs. */
static void
sift_down (TesseraLowest *lowest, size_t at, TesseraWaiting waiting)
{
  for (;;)
    {
      size_t child = at * 2 + 1;
      if (child >= lowest->n_heap)
        break;
      if (child + 1 < lowest->n_heap &&
          comes_before (lowest->heap[child + 1], lowest->heap[child]))
        child++;
      if (!comes_before (lowest->heap[child], waiting))
        break;
      lowest->heap[at] = lowest->heap[child];
      at = child;
    }
  lowest->heap[at] = waiting;
}

static void
push (TesseraLowest *lowest, TesseraWaiting waiting)
{
  size_t at = lowest->n_heap++;
  while (at > 0 && comes_before (waiting, lowest->heap[(at - 1) / 2]))
    {
      lowest->heap[at] = lowest->heap[(at - 1) / 2];
      at = (at - 1) / 2;
    }
  lowest->heap[at] = waiting;
}

static void
pop (TesseraLowest *lowest)
{
  TesseraWaiting last = lowest->heap[--lowest->n_heap];
  if (lowest->n_heap > 0)
    sift_down (lowest, 0, last);
}

static uint64_t
floor_of (const TesseraLowest *lowest, const TesseraPackItem *item)
{
  return tessera_reach_floor (&lowest->reach, item);
}

static int64_t
room_for (const TesseraLowest *lowest, const TesseraPackItem *item)
{
  int64_t first = tessera_room_lowest (&lowest->room, item->lives.begin, item->lives.end);
  int64_t second =
      tessera_room_lowest (&lowest->room, item->lives.begin2, item->lives.end2);
  return first < second ? first : second;
}

/* Its floor is not that of one window. */
static bool
waits_in_heap (const TesseraLowest *lowest, const TesseraPackItem *item)
{
  return lowest->problem->n_owners > 1 || item->lives.begin2 < item->lives.end2;
}

/* From now on the item may be chosen. */
static void
wait_for_turn (TesseraLowest *lowest, uint32_t rank)
{
  uint32_t item_index = lowest->order[rank];
  const TesseraPackItem *item = &lowest->problem->items[item_index];
  if (waits_in_heap (lowest, item))
    push (lowest, (TesseraWaiting){ floor_of (lowest, item), rank });
  else
    tessera_finder_set (&lowest->finder, item_index, rank);
}

/* The item, which was chosen, is no longer waiting. */
static void
take (TesseraLowest *lowest, uint32_t rank)
{
  uint32_t item_index = lowest->order[rank];
  if (waits_in_heap (lowest, &lowest->problem->items[item_index]))
    pop (lowest);
  else
    tessera_finder_set (&lowest->finder, item_index, TESSERA_NO_RANK);
}

/* The item waits until something is placed in the section that is short of room. */
static void
park (TesseraLowest *lowest, uint32_t rank, const TesseraPackItem *item)
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

static void
unpark (TesseraLowest *lowest, uint32_t begin, uint32_t end)
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

static void
start (TesseraLowest *lowest, const uint32_t *order, uint64_t capacity_bytes)
{
  const TesseraPackProblem *problem = lowest->problem;
  lowest->order = order;
  lowest->capacity_bytes = capacity_bytes;
  lowest->has_limit = true;
  lowest->n_raises = 0;
  tessera_reach_flatten (&lowest->reach);
  tessera_room_reset (&lowest->room, (int64_t) capacity_bytes);
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
  lowest->n_parked = 0;
  lowest->n_heap = 0;
  tessera_windows_flatten (&lowest->windows);
  for (size_t rank = 0; rank < problem->n_items; rank++)
    {
      bool is_single = !waits_in_heap (lowest, &problem->items[order[rank]]);
      lowest->ranks[order[rank]] = is_single ? (uint32_t) rank : TESSERA_NO_RANK;
      if (!is_single)
        push (lowest, (TesseraWaiting){ 0, (uint32_t) rank });
    }
  tessera_finder_fill (&lowest->finder, lowest->ranks, problem->n_items);
}

/* The windows as they were before any was lifted. */
static void
lower_windows (TesseraLowest *lowest)
{
  tessera_windows_flatten (&lowest->windows);
  for (uint32_t s = 0; s < lowest->problem->n_sections; s++)
    tessera_windows_raise (&lowest->windows, s, s + 1,
                           tessera_skyline_highest (&lowest->reach.own[0], s, s + 1));
}

/* Everybody waits: the capacity is raised by the least that lets one go on. */
static void
raise_capacity (TesseraLowest *lowest)
{
  int64_t least = INT64_MAX;
  for (uint32_t s = 0; s < lowest->problem->n_sections; s++)
    for (uint32_t rank = lowest->parked_head[s]; rank != TESSERA_NO_RANK;
         rank = lowest->parked_next[rank])
      {
        const TesseraPackItem *item = &lowest->problem->items[lowest->order[rank]];
        int64_t missing = (int64_t) floor_of (lowest, item) - room_for (lowest, item);
        if (missing < least)
          least = missing;
      }
  tessera_room_add_all (&lowest->room, least);
  lowest->capacity_bytes += (uint64_t) least;
  lowest->n_raises++;
  lowest->has_limit =
      lowest->n_raises < MAX_RAISES &&
      lowest->n_raises < MAX_SECTIONS_OF_RAISES / lowest->problem->n_sections;
  if (lowest->problem->n_owners == 1)
    lower_windows (lowest);
  unpark (lowest, 0, lowest->problem->n_sections);
}

/* Gives the first of the heap its true floor at the moment. Returns: its rank, or
 * TESSERA_NO_RANK where none waits. */
static uint32_t
settle_heap (TesseraLowest *lowest)
{
  while (lowest->n_heap > 0)
    {
      TesseraWaiting first = lowest->heap[0];
      const TesseraPackItem *item = &lowest->problem->items[lowest->order[first.rank]];
      uint64_t floor = floor_of (lowest, item);
      if (floor == first.floor)
        return first.rank;
      sift_down (lowest, 0, (TesseraWaiting){ floor, first.rank });
    }
  return TESSERA_NO_RANK;
}

/* The rank that comes next, with windows lifted on the way as needed; TESSERA_NO_RANK:
 * whoever is left is parked. */
static uint32_t
choose (TesseraLowest *lowest)
{
  uint32_t second = settle_heap (lowest);
  if (lowest->problem->n_owners > 1)
    return second;
  for (;;)
    {
      uint64_t height_bytes;
      uint32_t end;
      uint32_t begin = tessera_windows_lowest (&lowest->windows, &height_bytes, &end);
      uint32_t best = tessera_finder_best (&lowest->finder, begin, end);
      if (second != TESSERA_NO_RANK &&
          (lowest->heap[0].floor < height_bytes ||
           (lowest->heap[0].floor == height_bytes && second < best)))
        return second;
      if (best != TESSERA_NO_RANK)
        return best;
      if (!tessera_windows_lift (&lowest->windows, begin))
        return second;
    }
}

static void
put (TesseraLowest *lowest, const TesseraPackItem *item, uint64_t floor)
{
  const uint32_t lives[2][2] = { { item->lives.begin, item->lives.end },
                                 { item->lives.begin2, item->lives.end2 } };
  uint64_t top = floor + item->size_bytes;
  tessera_reach_raise (&lowest->reach, item, top);
  for (int i = 0; i < 2; i++)
    {
      if (lowest->problem->n_owners == 1)
        tessera_windows_raise (&lowest->windows, lives[i][0], lives[i][1], top);
      tessera_room_add (&lowest->room, lives[i][0], lives[i][1],
                        (int64_t) item->size_bytes);
    }
  for (int i = 0; i < 2; i++)
    unpark (lowest, lives[i][0], lives[i][1]);
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
  uint64_t height_bytes = 0;
  uint32_t n_looks = 0;
  start (lowest, order, capacity_bytes);
  for (size_t n_placed = 0; n_placed < lowest->problem->n_items;)
    {
      /* In some section a raised capacity is filled to the last byte: as good a lower
       * bound of the height in the end as the height that has been reached. */
      if (n_looks++ % LOOK_EVERY == 0 &&
          !tessera_pack_watch_goes_on (watch, lowest->capacity_bytes))
        return TESSERA_LOWEST_STOPPED;
      uint32_t rank = choose (lowest);
      if (rank == TESSERA_NO_RANK && !may_raise)
        return TESSERA_LOWEST_STUCK;
      if (rank == TESSERA_NO_RANK)
        {
          raise_capacity (lowest);
          n_looks = 0;
          continue;
        }
      const TesseraPackItem *item = &lowest->problem->items[order[rank]];
      uint64_t floor = floor_of (lowest, item);
      take (lowest, rank);
      if (lowest->has_limit && (int64_t) floor > room_for (lowest, item))
        {
          park (lowest, rank, item);
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
