/*
 * The law of rooms: what dynamic requests are told is free is free of slots.
 *
 * Rooms and slots are rectangles of time and addresses. A sweep over time keeps in two
 * trees over the addresses what slots and what rooms take now: a slot that is born looks
 * at the rooms, a room that opens at the slots.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/check/sweep.h"

#include <inttypes.h>
#include <stdlib.h>

#include "planner/check/cover.h"

#define SMALL_BYTES (UINT64_C (1) << 20)

typedef struct
{
  uint32_t position;
  uint32_t index;
  bool begins; /* ends come first */
  bool is_room;
} Moment;

typedef struct
{
  const TesseraPlan *plan;
  Moment *moments;
  size_t n_moments;
  TesseraCover slots, rooms;
  TesseraError *error;
} Sweep;

static TesseraStatus
refuse (const Sweep *sweep, size_t room, const char *expected)
{
  const TesseraRoom *of = &sweep->plan->rooms[room];

  return tessera_fail (sweep->error, TESSERA_REFUSED,
                       "rooms: expected %s, found room %zu (offsets %" PRIu64
                       " to %" PRIu64 ", stream %u, before slot %" PRIu32
                       ", positions %" PRIu32 " to %" PRIu32 ", next %" PRIu32 ")",
                       expected, room, of->begin_bytes, of->end_bytes,
                       (unsigned) of->stream, of->before, of->born, of->died,
                       of->died_next);
}

/* The last request of the section before @before, or NONE. */
static uint32_t
slot_before (const TesseraPlan *plan, const TesseraRoom *room)
{
  uint32_t slot = room->before;

  while (slot > plan->sections[room->section].first_slot)
    if (plan->slots[--slot].ordinal != TESSERA_NONE)
      return slot;
  return TESSERA_NONE;
}

static bool
is_span_sane (const TesseraPlan *plan, const TesseraRoom *room)
{
  const TesseraSection *section = &plan->sections[room->section];
  uint32_t last = slot_before (plan, room);
  uint32_t latest = last == TESSERA_NONE ? section->begin : plan->slots[last].born + 1;

  if (room->born < section->begin || room->born > latest || room->died < room->born ||
      room->died > plan->n_positions)
    return false;
  if (room->died_next == 0)
    return true;
  return section->kind == TESSERA_SECTION_REPEATS && room->died >= section->end &&
         room->died_next > section->begin && room->died_next <= section->end;
}

static bool
is_in_order (const TesseraRoom *a, const TesseraRoom *b)
{
  const uint32_t x[] = { a->section, a->before, a->stream, a->is_small };
  const uint32_t y[] = { b->section, b->before, b->stream, b->is_small };

  for (size_t k = 0; k < sizeof x / sizeof *x; k++)
    if (x[k] != y[k])
      return x[k] < y[k];
  return false;
}

static TesseraStatus
check_room (const Sweep *sweep, size_t index)
{
  const TesseraPlan *plan = sweep->plan;
  const TesseraRoom *room = &plan->rooms[index];
  const TesseraSection *section;

  if (room->section >= plan->n_sections || room->stream >= plan->n_streams)
    return refuse (sweep, index, "a section and a stream of the plan");
  section = &plan->sections[room->section];
  if (room->before < section->first_slot ||
      room->before - section->first_slot > section->n_slots)
    return refuse (sweep, index, "a slot of its section, or one past the last");
  if (index > 0 && !is_in_order (room - 1, room))
    return refuse (sweep, index, "rooms in order, each once");
  if (room->begin_bytes % plan->alignment_bytes != 0 ||
      room->end_bytes % plan->alignment_bytes != 0 ||
      room->begin_bytes > room->end_bytes || room->end_bytes > plan->height_bytes)
    return refuse (sweep, index, "an aligned range below the plan's height");
  if (!is_span_sane (plan, room))
    return refuse (sweep, index,
                   "positions from the request before it on, and a next step only where "
                   "the section repeats");
  return TESSERA_OK;
}

static TesseraStatus
check_regions (const TesseraPlan *plan, TesseraError *error)
{
  uint64_t end_bytes = plan->height_bytes;

  for (size_t i = 0; i < plan->n_regions; i++)
    {
      const TesseraRegion *region = &plan->regions[i];
      bool is_sane = region->begin_bytes == end_bytes &&
                     region->end_bytes >= region->begin_bytes &&
                     region->end_bytes % plan->alignment_bytes == 0 &&
                     region->stream < plan->n_streams && region->is_small <= 1;

      for (size_t k = 0; k < i; k++)
        is_sane = is_sane && (plan->regions[k].stream != region->stream ||
                              plan->regions[k].is_small != region->is_small);
      if (!is_sane)
        return tessera_fail (error, TESSERA_REFUSED,
                             "rooms: expected regions one above the other from %" PRIu64
                             " on, one of each stream and class, found region %zu from "
                             "%" PRIu64 " to %" PRIu64,
                             end_bytes, i, region->begin_bytes, region->end_bytes);
      end_bytes = region->end_bytes;
    }
  return TESSERA_OK;
}

/* ---- the sweep ---- */

static int
by_position (const void *a, const void *b)
{
  const Moment *x = a, *y = b;

  if (x->position != y->position)
    return x->position < y->position ? -1 : 1;
  return (int) x->begins - (int) y->begins;
}

static void
add_span (Sweep *sweep, uint32_t begin, uint32_t end, uint32_t index, bool is_room)
{
  if (begin >= end)
    return;
  sweep->moments[sweep->n_moments++] = (Moment){ begin, index, true, is_room };
  sweep->moments[sweep->n_moments++] = (Moment){ end, index, false, is_room };
}

static void
list_moments (Sweep *sweep)
{
  const TesseraPlan *plan = sweep->plan;

  for (uint32_t i = 0; i < plan->n_slots; i++)
    {
      const TesseraSlot *slot = &plan->slots[i];

      add_span (sweep, slot->born, slot->died, i, false);
      if (slot->wraps)
        add_span (sweep, plan->sections[slot->section].begin,
                  slot->died_next < slot->born ? slot->died_next : slot->born, i, false);
    }
  for (uint32_t i = 0; i < plan->n_rooms; i++)
    {
      const TesseraRoom *room = &plan->rooms[i];

      add_span (sweep, room->born, room->died, i, true);
      if (room->died_next > 0)
        add_span (sweep, plan->sections[room->section].begin, room->died_next, i, true);
    }
  qsort (sweep->moments, sweep->n_moments, sizeof *sweep->moments, by_position);
}

/* A room that is open now and that the slot would lie in: for the sentence. */
static size_t
find_room (const TesseraPlan *plan, const TesseraSlot *slot)
{
  for (size_t i = 0; i < plan->n_rooms; i++)
    {
      const TesseraRoom *room = &plan->rooms[i];

      if (slot->offset_bytes < room->end_bytes &&
          room->begin_bytes < slot->offset_bytes + slot->block_bytes &&
          slot->born < room->died && room->born < slot->died)
        return i;
    }
  return 0;
}

static TesseraStatus
walk (Sweep *sweep)
{
  const TesseraPlan *plan = sweep->plan;

  for (size_t i = 0; i < sweep->n_moments; i++)
    {
      const Moment *moment = &sweep->moments[i];
      size_t range = moment->index + (moment->is_room ? plan->n_slots : 0);
      TesseraCover *own = moment->is_room ? &sweep->rooms : &sweep->slots;
      TesseraCover *others = moment->is_room ? &sweep->slots : &sweep->rooms;

      if (!moment->begins)
        tessera_cover_remove (own, range);
      else if (tessera_cover_is_free (others, range))
        tessera_cover_add (own, range);
      else
        return refuse (sweep,
                       moment->is_room ? moment->index
                                       : find_room (plan, &plan->slots[moment->index]),
                       "a range that no slot needs while the room is in use");
    }
  return TESSERA_OK;
}

/* Slots of other streams and pools, and of the other class where those are apart, lie in
 * no room, whenever they live: @stream and class are the room's. */
static TesseraStatus
check_owner (Sweep *sweep, uint32_t stream, uint8_t is_small)
{
  const TesseraPlan *plan = sweep->plan;

  tessera_cover_forget (&sweep->slots);
  for (size_t i = 0; i < plan->n_slots; i++)
    {
      const TesseraSlot *slot = &plan->slots[i];

      if (slot->stream != stream || slot->pool != 0 ||
          (plan->n_streams > 1 && (slot->block_bytes <= SMALL_BYTES) != is_small))
        tessera_cover_add (&sweep->slots, i);
    }
  for (size_t i = 0; i < plan->n_rooms; i++)
    {
      const TesseraRoom *room = &plan->rooms[i];

      if (room->stream == stream && room->is_small == is_small &&
          !tessera_cover_is_free (&sweep->slots, plan->n_slots + i))
        return refuse (sweep, i, "a range where no other stream or pool has slots");
    }
  return TESSERA_OK;
}

static TesseraStatus
check_owners (Sweep *sweep)
{
  TesseraStatus status = TESSERA_OK;

  for (size_t i = 0; i < sweep->plan->n_rooms && status == TESSERA_OK; i++)
    {
      const TesseraRoom *room = &sweep->plan->rooms[i];
      bool was_seen = false;

      for (size_t k = 0; k < i && !was_seen; k++)
        was_seen = sweep->plan->rooms[k].stream == room->stream &&
                   sweep->plan->rooms[k].is_small == room->is_small;
      if (!was_seen)
        status = check_owner (sweep, room->stream, room->is_small);
    }
  return status;
}

TesseraStatus
tessera_check_rooms (TesseraCheck *check, TesseraError *error)
{
  const TesseraPlan *plan = check->plan;
  size_t n_moments = 4 * (plan->n_slots + plan->n_rooms);
  Sweep sweep = { .plan = plan, .error = error };
  TesseraStatus status = check_regions (plan, error);

  if (status == TESSERA_OK && plan->n_rooms > 0 &&
      tessera_check_has_several (&check->kinds))
    return tessera_fail (error, TESSERA_REFUSED,
                         "rooms: expected none in a plan of several kinds of step, found "
                         "%zu",
                         plan->n_rooms);
  for (size_t i = 0; i < plan->n_rooms && status == TESSERA_OK; i++)
    status = check_room (&sweep, i);
  if (status != TESSERA_OK || plan->n_rooms == 0)
    return status;
  sweep.moments = malloc (n_moments * sizeof *sweep.moments);
  if (sweep.moments == NULL)
    return TESSERA_NO_MEMORY;
  list_moments (&sweep);
  status = tessera_cover_init (&sweep.slots, plan, true);
  if (status == TESSERA_OK)
    status = tessera_cover_init (&sweep.rooms, plan, true);
  if (status == TESSERA_OK)
    status = walk (&sweep);
  if (status == TESSERA_OK)
    status = check_owners (&sweep);
  free (sweep.moments);
  tessera_cover_clear (&sweep.slots);
  tessera_cover_clear (&sweep.rooms);
  return status;
}
