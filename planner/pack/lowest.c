/*
 * The rule of the lowest reachable offset. See methods.h.
 *
 * The floor of an item is the highest of the skyline over its life: the offset it would
 * get now. Next comes the item with the lowest floor, ties by rank. Lying there, it may
 * leave a hole below itself that nothing can fill any more; where a section could then
 * no longer hold all that is still to come under the capacity, the item has to wait.
 * When all wait, the capacity is raised by the least that lets one of them go on.
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

#include <string.h>

/* After so many raises the capacity no longer holds anybody back: an instance that needs
 * more is far from the bound, and other candidates do better there. */
#define MAX_RAISES 200
/* Each raise looks at all sections: in all at so many. */
#define MAX_SECTIONS_OF_RAISES 4000000
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
  tessera_skyline_init (&lowest->skyline, problem->n_sections);
  tessera_room_init (&lowest->room, problem->n_sections);
  tessera_windows_init (&lowest->windows, problem->n_sections);
  tessera_finder_init (&lowest->finder, problem);
  lowest->ranks = g_new (uint32_t, problem->n_items);
  lowest->parked_next = g_new (uint32_t, problem->n_items);
  lowest->parked_head = g_new (uint32_t, problem->n_sections);
  lowest->parked_bits = g_new (uint64_t, problem->n_sections / 64 + 1);
}

void
tessera_lowest_clear (TesseraLowest *lowest)
{
  tessera_skyline_clear (&lowest->skyline);
  tessera_room_clear (&lowest->room);
  tessera_windows_clear (&lowest->windows);
  tessera_finder_clear (&lowest->finder);
  g_free (lowest->ranks);
  g_free (lowest->parked_next);
  g_free (lowest->parked_head);
  g_free (lowest->parked_bits);
}

/* ---- who waits ---- */

/* How high the item may lie under the capacity. */
static int64_t
room_for (const TesseraLowest *lowest, const TesseraPackItem *item)
{
  return tessera_room_lowest (&lowest->room, item->lives.begin, item->lives.end, NULL);
}

/* The item waits until something is placed in the section that is short of room. */
static void
park (TesseraLowest *lowest, uint32_t rank, const TesseraPackItem *item)
{
  uint32_t section;
  tessera_room_lowest (&lowest->room, item->lives.begin, item->lives.end, &section);
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
  for (; rank != TESSERA_NO_RANK; rank = lowest->parked_next[rank])
    {
      tessera_finder_set (&lowest->finder, lowest->order[rank], rank);
      lowest->n_parked--;
    }
}

/* Something was placed in sections [begin, end). */
static void
unpark (TesseraLowest *lowest, uint32_t begin, uint32_t end)
{
  if (lowest->n_parked == 0)
    return;
  for (uint32_t word = begin / 64; word <= (end - 1) / 64; word++)
    for (uint64_t bits = lowest->parked_bits[word]; bits != 0; bits &= bits - 1)
      {
        uint32_t section = word * 64 + (uint32_t) __builtin_ctzll (bits);
        if (section >= begin && section < end)
          unpark_section (lowest, section);
      }
}

/* ---- one attempt ---- */

static void
put (TesseraLowest *lowest, uint32_t begin, uint32_t end, uint64_t bytes, uint64_t top)
{
  if (begin >= end)
    return;
  tessera_skyline_raise (&lowest->skyline, begin, end, top);
  tessera_windows_raise (&lowest->windows, begin, end, top);
  tessera_room_add (&lowest->room, begin, end, (int64_t) bytes);
  unpark (lowest, begin, end);
}

/* Those that come first lie where they do; the others wait. Returns: how many. */
static size_t
list_waiting (TesseraLowest *lowest, const uint64_t *offsets)
{
  const TesseraPackProblem *problem = lowest->problem;
  size_t n_waiting = 0;
  for (uint32_t rank = 0; rank < problem->n_items; rank++)
    {
      const uint32_t item = lowest->order[rank];
      const TesseraPackLives *lives = &problem->items[item].lives;
      const uint64_t bytes = problem->items[item].size_bytes;
      bool is_first = tessera_pack_is_first (problem, item);
      const uint64_t top = offsets[item] + bytes;
      lowest->ranks[item] = is_first ? TESSERA_NO_RANK : rank;
      n_waiting += !is_first;
      if (!is_first)
        continue;
      put (lowest, lives->begin, lives->end, bytes, top);
      put (lowest, lives->begin2, lives->end2, bytes, top);
    }
  tessera_finder_fill (&lowest->finder, lowest->ranks);
  return n_waiting;
}

/* Returns: how many items wait for a place. */
static size_t
start (TesseraLowest *lowest,
       const uint32_t *order,
       uint64_t capacity_bytes,
       const uint64_t *offsets)
{
  const TesseraPackProblem *problem = lowest->problem;
  lowest->order = order;
  lowest->capacity_bytes = capacity_bytes;
  lowest->has_limit = true;
  lowest->n_raises = 0;
  lowest->n_parked = 0;
  lowest->most_bytes = UINT64_MAX;
  memset (lowest->parked_head, 0xff, problem->n_sections * sizeof *lowest->parked_head);
  memset (lowest->parked_bits, 0,
          (problem->n_sections / 64 + 1) * sizeof *lowest->parked_bits);
  tessera_room_reset (&lowest->room, (int64_t) capacity_bytes);
  for (size_t i = 0; i < problem->n_items; i++)
    {
      const TesseraPackItem *item = &problem->items[i];
      const int64_t bytes = (int64_t) item->size_bytes;
      tessera_room_add (&lowest->room, item->lives.begin, item->lives.end, -bytes);
      if (tessera_pack_has_second (item))
        tessera_room_add (&lowest->room, item->lives.begin2, item->lives.end2, -bytes);
    }
  tessera_skyline_flatten (&lowest->skyline);
  tessera_windows_flatten (&lowest->windows);
  for (size_t i = 0; i < problem->n_blocked; i++)
    if (problem->blocked[i].begin_bytes == 0)
      put (lowest, 0, problem->n_sections, 0, problem->blocked[i].end_bytes);
    else
      lowest->most_bytes = MIN (lowest->most_bytes, problem->blocked[i].begin_bytes);
  return list_waiting (lowest, offsets);
}

static uint64_t
floor_of (const TesseraLowest *lowest, const TesseraPackItem *item)
{
  return tessera_skyline_highest (&lowest->skyline, item->lives.begin, item->lives.end);
}

/* The rank that comes next, with windows lifted on the way as needed; TESSERA_NO_RANK:
 * whoever is left is parked. */
static uint32_t
choose (TesseraLowest *lowest)
{
  for (;;)
    {
      uint64_t height_bytes;
      uint32_t end;
      uint32_t begin = tessera_windows_lowest (&lowest->windows, &height_bytes, &end);
      uint32_t rank = tessera_finder_best (&lowest->finder, begin, end);
      if (rank != TESSERA_NO_RANK || !tessera_windows_lift (&lowest->windows, begin))
        return rank;
    }
}

/* The windows as they were before any was lifted. */
static void
lower_windows (TesseraLowest *lowest)
{
  tessera_windows_flatten (&lowest->windows);
  for (uint32_t s = 0; s < lowest->problem->n_sections; s++)
    tessera_windows_raise (&lowest->windows, s, s + 1,
                           tessera_skyline_highest (&lowest->skyline, s, s + 1));
}

/* Everybody waits: the capacity is raised by the least that lets one go on. */
static void
raise_capacity (TesseraLowest *lowest)
{
  const TesseraPackProblem *problem = lowest->problem;
  int64_t least = INT64_MAX;
  lower_windows (lowest);
  for (uint32_t s = 0; s < problem->n_sections; s++)
    for (uint32_t rank = lowest->parked_head[s]; rank != TESSERA_NO_RANK;
         rank = lowest->parked_next[rank])
      {
        const TesseraPackItem *item = &problem->items[lowest->order[rank]];
        int64_t missing = (int64_t) floor_of (lowest, item) - room_for (lowest, item);
        least = MIN (least, missing);
      }
  least = MAX (least, 1);
  tessera_room_add_all (&lowest->room, least);
  lowest->capacity_bytes += (uint64_t) least;
  lowest->n_raises++;
  lowest->has_limit = lowest->n_raises < MAX_RAISES &&
                      lowest->n_raises < MAX_SECTIONS_OF_RAISES / problem->n_sections;
  unpark (lowest, 0, problem->n_sections);
}

/* The item lies at its floor, or has to wait. Returns: its end; 0 where it waits. */
static uint64_t
place_or_park (TesseraLowest *lowest, uint32_t rank, uint64_t *offsets)
{
  const TesseraPackItem *item = &lowest->problem->items[lowest->order[rank]];
  const uint64_t floor = floor_of (lowest, item), top = floor + item->size_bytes;
  tessera_finder_set (&lowest->finder, lowest->order[rank], TESSERA_NO_RANK);
  if (lowest->has_limit && (int64_t) floor > room_for (lowest, item))
    {
      park (lowest, rank, item);
      return 0;
    }
  put (lowest, item->lives.begin, item->lives.end, item->size_bytes, top);
  offsets[lowest->order[rank]] = floor;
  return top;
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
  for (size_t n_waiting = start (lowest, order, capacity_bytes, offsets); n_waiting > 0;)
    {
      /* In some section a raised capacity is filled to the last byte: as good a lower
       * bound of the height in the end as the height that has been reached. */
      if (n_looks++ % TESSERA_LOOK_EVERY == 0 &&
          !tessera_pack_watch_goes_on (watch, lowest->capacity_bytes))
        return false;
      uint32_t rank = choose (lowest);
      if (rank == TESSERA_NO_RANK)
        {
          raise_capacity (lowest);
          n_looks = 0;
          continue;
        }
      uint64_t top = place_or_park (lowest, rank, offsets);
      n_waiting -= top > 0;
      height_bytes = MAX (height_bytes, top);
      if (height_bytes > lowest->most_bytes)
        return false;
    }
  *out_height_bytes = height_bytes;
  return true;
}
