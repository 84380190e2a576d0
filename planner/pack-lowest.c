/*
 * The rule of the lowest reachable offset. See pack-lowest.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack-lowest.h"

#include <stdlib.h>
#include <string.h>

#define NOBODY UINT32_MAX

/* After so many raises the capacity no longer holds anybody back: an instance that needs
 * more is far from the bound, and other candidates do better there. */
#define MAX_RAISES 200

TesseraStatus
tessera_lowest_init (TesseraLowest *lowest, const TesseraPackProblem *problem)
{
  size_t n_words = problem->n_sections / 64 + 1;
  lowest->problem = problem;
  if (tessera_skyline_init (&lowest->skyline, problem->n_sections) != TESSERA_OK ||
      tessera_room_init (&lowest->room, problem->n_sections) != TESSERA_OK)
    goto fail;
  lowest->heap = calloc (problem->n_items, sizeof *lowest->heap);
  lowest->parked_next = calloc (problem->n_items, sizeof *lowest->parked_next);
  lowest->parked_head = calloc (problem->n_sections, sizeof *lowest->parked_head);
  lowest->parked_bits = calloc (n_words, sizeof *lowest->parked_bits);
  if (lowest->heap != NULL && lowest->parked_next != NULL &&
      lowest->parked_head != NULL && lowest->parked_bits != NULL)
    return TESSERA_OK;
fail:
  tessera_lowest_clear (lowest);
  return TESSERA_NO_MEMORY;
}

void
tessera_lowest_clear (TesseraLowest *lowest)
{
  tessera_skyline_clear (&lowest->skyline);
  tessera_room_clear (&lowest->room);
  free (lowest->heap);
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
  uint64_t first = tessera_skyline_highest (&lowest->skyline, item->begin, item->end);
  uint64_t second = tessera_skyline_highest (&lowest->skyline, item->begin2, item->end2);
  return first > second ? first : second;
}

static int64_t
room_for (const TesseraLowest *lowest, const TesseraPackItem *item)
{
  int64_t first = tessera_room_lowest (&lowest->room, item->begin, item->end);
  int64_t second = tessera_room_lowest (&lowest->room, item->begin2, item->end2);
  return first < second ? first : second;
}

/* The item waits until something is placed in the section that is short of room. */
static void
park (TesseraLowest *lowest, uint32_t rank, const TesseraPackItem *item)
{
  bool in_first = tessera_room_lowest (&lowest->room, item->begin, item->end) <=
                  tessera_room_lowest (&lowest->room, item->begin2, item->end2);
  uint32_t section = in_first
                         ? tessera_room_where (&lowest->room, item->begin, item->end)
                         : tessera_room_where (&lowest->room, item->begin2, item->end2);
  lowest->parked_next[rank] = lowest->parked_head[section];
  lowest->parked_head[section] = rank;
  lowest->parked_bits[section / 64] |= UINT64_C (1) << (section % 64);
  lowest->n_parked++;
}

static void
unpark_section (TesseraLowest *lowest, uint32_t section)
{
  uint32_t rank = lowest->parked_head[section];
  lowest->parked_head[section] = NOBODY;
  lowest->parked_bits[section / 64] &= ~(UINT64_C (1) << (section % 64));
  while (rank != NOBODY)
    {
      const TesseraPackItem *item = &lowest->problem->items[lowest->order[rank]];
      push (lowest, (TesseraWaiting){ floor_of (lowest, item), rank });
      rank = lowest->parked_next[rank];
      lowest->n_parked--;
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
  lowest->has_limit = true;
  lowest->n_raises = 0;
  tessera_skyline_flatten (&lowest->skyline);
  tessera_room_reset (&lowest->room, (int64_t) capacity_bytes);
  for (size_t i = 0; i < problem->n_items; i++)
    {
      const TesseraPackItem *item = &problem->items[i];
      tessera_room_add (&lowest->room, item->begin, item->end,
                        -(int64_t) item->size_bytes);
      tessera_room_add (&lowest->room, item->begin2, item->end2,
                        -(int64_t) item->size_bytes);
    }
  memset (lowest->parked_head, 0xff, problem->n_sections * sizeof *lowest->parked_head);
  memset (lowest->parked_bits, 0,
          (problem->n_sections / 64 + 1) * sizeof *lowest->parked_bits);
  lowest->n_parked = 0;
  lowest->n_heap = problem->n_items;
  for (size_t i = 0; i < problem->n_items; i++)
    lowest->heap[i] = (TesseraWaiting){ 0, (uint32_t) i };
}

/* Everybody waits: the capacity is raised by the least that lets one go on. */
static void
raise_capacity (TesseraLowest *lowest)
{
  int64_t least = INT64_MAX;
  for (uint32_t s = 0; s < lowest->problem->n_sections; s++)
    for (uint32_t rank = lowest->parked_head[s]; rank != NOBODY;
         rank = lowest->parked_next[rank])
      {
        const TesseraPackItem *item = &lowest->problem->items[lowest->order[rank]];
        int64_t missing = (int64_t) floor_of (lowest, item) - room_for (lowest, item);
        if (missing < least)
          least = missing;
      }
  tessera_room_add_all (&lowest->room, least);
  lowest->has_limit = ++lowest->n_raises < MAX_RAISES;
  unpark (lowest, 0, lowest->problem->n_sections);
}

static void
put (TesseraLowest *lowest, const TesseraPackItem *item, uint64_t floor)
{
  uint64_t top = floor + item->size_bytes;
  int64_t size_bytes = (int64_t) item->size_bytes;
  tessera_skyline_raise (&lowest->skyline, item->begin, item->end, top);
  tessera_skyline_raise (&lowest->skyline, item->begin2, item->end2, top);
  tessera_room_add (&lowest->room, item->begin, item->end, size_bytes);
  tessera_room_add (&lowest->room, item->begin2, item->end2, size_bytes);
  unpark (lowest, item->begin, item->end);
  unpark (lowest, item->begin2, item->end2);
}

bool
tessera_lowest_place (TesseraLowest *lowest,
                      const uint32_t *order,
                      uint64_t capacity_bytes,
                      const TesseraPackWatch *watch,
                      uint64_t *offsets,
                      uint64_t *out_height_bytes)
{
  uint64_t height_bytes = 0;
  uint32_t n_looks = 0;
  start (lowest, order, capacity_bytes);
  while (lowest->n_heap > 0 || lowest->n_parked > 0)
    {
      if ((++n_looks & 1023) == 0 && !tessera_pack_watch_goes_on (watch, height_bytes))
        return false;
      if (lowest->n_heap == 0)
        {
          raise_capacity (lowest);
          continue;
        }
      TesseraWaiting first = lowest->heap[0];
      const TesseraPackItem *item = &lowest->problem->items[order[first.rank]];
      uint64_t floor = floor_of (lowest, item);
      if (floor != first.floor)
        {
          sift_down (lowest, 0, (TesseraWaiting){ floor, first.rank });
          continue;
        }
      pop (lowest);
      if (lowest->has_limit && (int64_t) floor > room_for (lowest, item))
        {
          park (lowest, first.rank, item);
          continue;
        }
      put (lowest, item, floor);
      offsets[order[first.rank]] = floor;
      if (floor + item->size_bytes > height_bytes)
        height_bytes = floor + item->size_bytes;
    }
  *out_height_bytes = height_bytes;
  return true;
}
