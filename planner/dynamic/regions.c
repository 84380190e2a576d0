/*
 * How large the regions above all slots are to be: see regions.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/dynamic/regions.h"

#include <stdlib.h>
#include <string.h>

#include "allocator/follow/rooms.h"

/* As good as endless. */
#define ENDLESS (UINT64_C (1) << 44)
#define MOST_REGIONS 64 /* streams and size classes; more do without */

/* A guest comes or goes. */
typedef struct
{
  uint32_t event;
  uint32_t guest;
  bool comes;
} Move;

typedef struct
{
  TesseraPlan *plan;
  const TesseraBlocks *blocks;
  TesseraGuests *guests;
  Move *moves;
  uint64_t *offsets; /* of guests; UINT64_MAX: it lies nowhere */
  uint64_t tops[MOST_REGIONS];
} Rehearsal;

static int
by_event (const void *a, const void *b)
{
  const Move *x = a, *y = b;

  if (x->event != y->event)
    return x->event < y->event ? -1 : 1;
  if (x->comes != y->comes)
    return x->comes ? 1 : -1;
  return x->guest < y->guest ? -1 : x->guest > y->guest;
}

static void
list_moves (Rehearsal *rehearsal)
{
  const TesseraGuests *guests = rehearsal->guests;

  for (uint32_t i = 0; i < guests->n_guests; i++)
    {
      const TesseraBlock *block = &rehearsal->blocks->blocks[guests->guests[i].block];

      rehearsal->moves[2 * i] = (Move){ block->born_index, i, true };
      rehearsal->moves[2 * i + 1] = (Move){ block->died_index, i, false };
      rehearsal->offsets[i] = UINT64_MAX;
    }
  qsort (rehearsal->moves, 2 * guests->n_guests, sizeof *rehearsal->moves, by_event);
}

static void
note_top (Rehearsal *rehearsal, uint64_t end_bytes)
{
  for (size_t k = 0; k < rehearsal->plan->n_regions; k++)
    {
      const TesseraRegion *region = &rehearsal->plan->regions[k];

      if (end_bytes > region->begin_bytes && end_bytes <= region->end_bytes &&
          end_bytes - region->begin_bytes > rehearsal->tops[k])
        rehearsal->tops[k] = end_bytes - region->begin_bytes;
    }
}

static void
play (Rehearsal *rehearsal, TesseraRooms *rooms, const TesseraTaken *nothing)
{
  const TesseraFollowerHook hook = { 0 };

  for (size_t i = 0; i < 2 * rehearsal->guests->n_guests; i++)
    {
      const Move *move = &rehearsal->moves[i];
      const TesseraGuest *guest = &rehearsal->guests->guests[move->guest];
      const TesseraDynamicRequest request = { .block_bytes = guest->like.most_bytes,
                                              .section = guest->like.section,
                                              .before = guest->like.before,
                                              .stream = guest->like.stream };
      uint64_t *offset = &rehearsal->offsets[move->guest];

      if (!move->comes)
        {
          if (*offset != UINT64_MAX)
            tessera_rooms_give_back (rooms, *offset);
        }
      else if (tessera_rooms_take (rooms, nothing, &hook, &request, offset))
        note_top (rehearsal, *offset + guest->like.most_bytes);
    }
}

static void
add_regions (TesseraPlan *plan)
{
  for (size_t i = 0; i < plan->n_rooms && plan->n_regions < MOST_REGIONS; i++)
    {
      const TesseraRoom *room = &plan->rooms[i];
      bool is_there = false;
      uint64_t begin_bytes = tessera_plan_pool_bytes (plan);

      for (size_t k = 0; k < plan->n_regions; k++)
        is_there = is_there || (plan->regions[k].stream == room->stream &&
                                plan->regions[k].is_small == room->is_small);
      if (!is_there)
        plan->regions[plan->n_regions++] =
            (TesseraRegion){ .begin_bytes = begin_bytes,
                             .end_bytes = begin_bytes + ENDLESS,
                             .stream = room->stream,
                             .is_small = room->is_small };
    }
}

static void
set_regions (Rehearsal *rehearsal)
{
  TesseraPlan *plan = rehearsal->plan;
  size_t n_regions = plan->n_regions;

  plan->n_regions = 0;
  for (size_t k = 0; k < n_regions; k++)
    {
      TesseraRegion region = plan->regions[k];

      /* Large ones: expandable rules take no more for them than a region would, and give
         it back (docs/PLANNER.md). */
      if (rehearsal->tops[k] == 0 || !region.is_small)
        continue;
      region.begin_bytes = tessera_plan_pool_bytes (plan);
      region.end_bytes = region.begin_bytes + rehearsal->tops[k];
      plan->regions[plan->n_regions++] = region;
    }
}

TesseraStatus
tessera_find_regions (TesseraPlan *plan,
                      const TesseraBlocks *blocks,
                      TesseraGuests *guests)
{
  Rehearsal rehearsal = { .plan = plan,
                          .blocks = blocks,
                          .guests = guests,
                          .moves = malloc ((2 * guests->n_guests + 1) * sizeof (Move)),
                          .offsets =
                              malloc ((guests->n_guests + 1) * sizeof (uint64_t)) };
  TesseraRooms rooms = { 0 };
  TesseraTaken *nothing = NULL;
  TesseraStatus status = TESSERA_NO_MEMORY;

  plan->regions = calloc (MOST_REGIONS, sizeof *plan->regions);
  if (rehearsal.moves && rehearsal.offsets && plan->regions)
    status = tessera_taken_new (NULL, 0, &nothing);
  if (status == TESSERA_OK)
    {
      add_regions (plan);
      list_moves (&rehearsal);
      status = tessera_rooms_init (&rooms, plan);
    }
  if (status == TESSERA_OK)
    {
      play (&rehearsal, &rooms, nothing);
      set_regions (&rehearsal);
    }
  tessera_rooms_clear (&rooms);
  tessera_taken_free (nothing);
  free (rehearsal.moves);
  free (rehearsal.offsets);
  return status;
}
