/*
 * The largest range that slots leave free as long as a room is in use: see holes.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/dynamic/holes.h"

#include <stdlib.h>
#include <string.h>

/* A slot takes its place over [begin, end). */
typedef struct
{
  uint32_t begin, end, slot;
} Life;

typedef struct
{
  uint64_t begin_bytes, end_bytes;
} Range;

typedef struct
{
  TesseraPlan *plan;
  bool splits_sizes;
  Life *lives; /* by begin */
  size_t n_lives;
  size_t *alive; /* lives begun before the room in view, and not ended before the last */
  size_t n_alive, next;
  Range *ranges;  /* in the way of the room in view */
  Range *foreign; /* of other owners than @owner, whenever; in order, apart */
  size_t n_ranges, n_foreign;
  uint64_t owner;
} Search;

static int
by_begin (const void *a, const void *b)
{
  const Life *x = a, *y = b;

  if (x->begin != y->begin)
    return x->begin < y->begin ? -1 : 1;
  return x->slot < y->slot ? -1 : x->slot > y->slot;
}

static int
by_offset (const void *a, const void *b)
{
  const Range *x = a, *y = b;

  if (x->begin_bytes != y->begin_bytes)
    return x->begin_bytes < y->begin_bytes ? -1 : 1;
  return x->end_bytes < y->end_bytes ? -1 : x->end_bytes > y->end_bytes;
}

static void
list_lives (Search *search)
{
  const TesseraPlan *plan = search->plan;

  for (uint32_t i = 0; i < plan->n_slots; i++)
    {
      const TesseraSlot *slot = &plan->slots[i];

      search->lives[search->n_lives++] = (Life){ slot->born, slot->died, i };
      if (slot->wraps)
        search->lives[search->n_lives++] =
            (Life){ plan->sections[slot->section].begin,
                    slot->died_next < slot->born ? slot->died_next : slot->born, i };
    }
  qsort (search->lives, search->n_lives, sizeof *search->lives, by_begin);
}

static uint64_t
owner_of (const Search *search, uint32_t stream, uint32_t pool, bool is_small)
{
  return (uint64_t) pool << 32 | (uint64_t) stream << 1 |
         (search->splits_sizes && is_small);
}

static Range
range_of (const TesseraSlot *slot)
{
  return (Range){ slot->offset_bytes, slot->offset_bytes + slot->block_bytes };
}

static void
find_foreign (Search *search, uint64_t owner)
{
  const TesseraPlan *plan = search->plan;
  size_t n = 0, n_apart = 0;
  Range *foreign = search->foreign;

  search->owner = owner;
  for (size_t i = 0; i < plan->n_slots; i++)
    {
      const TesseraSlot *slot = &plan->slots[i];

      if (owner_of (search, slot->stream, slot->pool,
                    slot->block_bytes <= (UINT64_C (1) << 20)) != owner)
        foreign[n++] = range_of (slot);
    }
  qsort (foreign, n, sizeof *foreign, by_offset);
  for (size_t i = 0; i < n; i++)
    if (n_apart > 0 && foreign[i].begin_bytes <= foreign[n_apart - 1].end_bytes)
      {
        if (foreign[i].end_bytes > foreign[n_apart - 1].end_bytes)
          foreign[n_apart - 1].end_bytes = foreign[i].end_bytes;
      }
    else
      foreign[n_apart++] = foreign[i];
  search->n_foreign = n_apart;
}

static void
add_range (Search *search, const Life *life)
{
  search->ranges[search->n_ranges++] = range_of (&search->plan->slots[life->slot]);
}

/* Rooms come in order of their births. */
static void
list_in_way (Search *search, const TesseraRoom *room)
{
  size_t n_kept = 0;

  while (search->next < search->n_lives &&
         search->lives[search->next].begin <= room->born)
    search->alive[search->n_alive++] = search->next++;
  for (size_t i = 0; i < search->n_alive; i++)
    if (search->lives[search->alive[i]].end > room->born)
      {
        search->alive[n_kept++] = search->alive[i];
        add_range (search, &search->lives[search->alive[i]]);
      }
  search->n_alive = n_kept;
  for (size_t i = search->next;
       i < search->n_lives && search->lives[i].begin < room->died; i++)
    add_range (search, &search->lives[i]);
}

/* What lives on into the next step. */
static void
list_in_way_next (Search *search, const TesseraRoom *room)
{
  uint32_t begin = search->plan->sections[room->section].begin;

  for (size_t i = 0; i < search->n_lives && search->lives[i].begin < room->died_next; i++)
    if (search->lives[i].end > begin)
      add_range (search, &search->lives[i]);
}

static void
find_hole (Search *search, TesseraRoom *room)
{
  uint64_t free_from = 0, height_bytes = search->plan->height_bytes;
  size_t a = 0, b = 0;

  search->n_ranges = 0;
  list_in_way (search, room);
  if (room->died_next > 0)
    list_in_way_next (search, room);
  qsort (search->ranges, search->n_ranges, sizeof *search->ranges, by_offset);
  room->begin_bytes = room->end_bytes = height_bytes;
  for (;;)
    {
      Range next = { height_bytes, height_bytes };

      if (a < search->n_ranges &&
          (b == search->n_foreign ||
           search->ranges[a].begin_bytes <= search->foreign[b].begin_bytes))
        next = search->ranges[a++];
      else if (b < search->n_foreign)
        next = search->foreign[b++];
      if (next.begin_bytes > free_from &&
          next.begin_bytes - free_from > room->end_bytes - room->begin_bytes)
        {
          room->begin_bytes = free_from;
          room->end_bytes = next.begin_bytes;
        }
      if (next.begin_bytes >= height_bytes)
        break;
      free_from = next.end_bytes > free_from ? next.end_bytes : free_from;
    }
}

/* Rooms of one owner after the other: each sweeps over the lives once. */
static void
find_all (Search *search)
{
  TesseraPlan *plan = search->plan;

  for (size_t i = 0; i < plan->n_rooms; i++)
    plan->rooms[i].begin_bytes = UINT64_MAX; /* not found yet */
  for (size_t from = 0; from < plan->n_rooms; from++)
    {
      const TesseraRoom *first = &plan->rooms[from];

      if (first->begin_bytes != UINT64_MAX)
        continue;
      find_foreign (search, owner_of (search, first->stream, 0, first->is_small));
      search->n_alive = search->next = 0;
      for (size_t i = from; i < plan->n_rooms; i++)
        if (owner_of (search, plan->rooms[i].stream, 0, plan->rooms[i].is_small) ==
            search->owner)
          find_hole (search, &plan->rooms[i]);
    }
}

TesseraStatus
tessera_find_holes (TesseraPlan *plan, bool splits_sizes)
{
  size_t n = 2 * plan->n_slots + 1;
  Search search = { .plan = plan,
                    .splits_sizes = splits_sizes,
                    .lives = malloc (n * sizeof *search.lives),
                    .alive = malloc (n * sizeof *search.alive),
                    .ranges = malloc (2 * n * sizeof *search.ranges),
                    .foreign = malloc (n * sizeof *search.foreign) };
  TesseraStatus status = TESSERA_NO_MEMORY;

  if (search.lives && search.alive && search.ranges && search.foreign)
    {
      list_lives (&search);
      find_all (&search);
      status = TESSERA_OK;
    }
  free (search.lives);
  free (search.alive);
  free (search.ranges);
  free (search.foreign);
  return status;
}
