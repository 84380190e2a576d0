/*
 * Rooms for dynamic requests: what slots leave free where they come.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/dynamic/rooms.h"

#include <stdlib.h>
#include <string.h>

#include "planner/dynamic/holes.h"
#include "planner/dynamic/regions.h"

/* The first slot of the section whose request is at @position or later, and no spare. */
static uint32_t
slot_at (const TesseraPlan *plan, const TesseraSection *section, uint32_t position)
{
  uint32_t low = section->first_slot, end = low + section->n_slots, high = end;

  while (high > low && plan->slots[high - 1].ordinal == TESSERA_NONE)
    high--;
  end = high == low + section->n_slots ? end : high;
  while (low < high)
    {
      uint32_t middle = low + (high - low) / 2;

      if (plan->slots[middle].born < position)
        low = middle + 1;
      else
        high = middle;
    }
  return low < end ? low : section->first_slot + section->n_slots;
}

/* Where the request of a slot may be followed by dynamic ones. */
static uint32_t
first_position (const TesseraPlan *plan, const TesseraSection *section, uint32_t before)
{
  uint32_t slot = before;

  while (slot > section->first_slot && plan->slots[slot - 1].ordinal == TESSERA_NONE)
    slot--;
  return slot > section->first_slot ? plan->slots[slot - 1].born + 1 : section->begin;
}

static int
by_place (const void *a, const void *b)
{
  const TesseraGuest *x = a, *y = b;
  const uint32_t keys_x[] = { x->like.section, x->like.before, x->like.stream,
                              x->like.is_small, x->step };
  const uint32_t keys_y[] = { y->like.section, y->like.before, y->like.stream,
                              y->like.is_small, y->step };

  for (size_t k = 0; k < sizeof keys_x / sizeof *keys_x; k++)
    if (keys_x[k] != keys_y[k])
      return keys_x[k] < keys_y[k] ? -1 : 1;
  return 0;
}

static void
add_guest (const TesseraPlanBuild *build, TesseraGuests *guests, uint32_t index)
{
  const TesseraBlock *block = &build->blocks->blocks[index];
  const TesseraPlan *plan = build->plan;
  TesseraGuest *guest = &guests->guests[guests->n_guests];
  const TesseraSection *section = plan->sections;
  TesseraSpell span;

  if (block->pool != 0 || !tessera_run_span (&build->run, index, &span, &guest->step))
    return;
  while (section + 1 < plan->sections + plan->n_sections && span.born >= section->end)
    section++;
  guest->like = (TesseraRoom){ .most_bytes = block->block_bytes,
                               .sum_bytes = block->block_bytes,
                               .section = (uint32_t) (section - plan->sections),
                               .before = slot_at (plan, section, span.born),
                               .died = span.died,
                               .died_next = span.died_next,
                               .n_requests = 1,
                               .stream = block->stream,
                               .is_small = block->block_bytes <= (UINT64_C (1) << 20) };
  guest->block = index;
  guest->like.born = first_position (plan, section, guest->like.before);
  guests->n_guests++;
}

static bool
is_same_place (const TesseraRoom *a, const TesseraRoom *b)
{
  return a->section == b->section && a->before == b->before && a->stream == b->stream &&
         a->is_small == b->is_small;
}

/* Guests of one place, in order of steps: what all of them need. */
static TesseraRoom
join (const TesseraGuest *guests, size_t n)
{
  TesseraRoom room = guests[0].like;
  uint64_t sum_bytes = 0;
  uint32_t n_requests = 0;

  room.sum_bytes = room.n_requests = 0;
  for (size_t i = 0; i < n; i++)
    {
      const TesseraRoom *like = &guests[i].like;

      if (i > 0 && guests[i].step != guests[i - 1].step)
        sum_bytes = n_requests = 0;
      sum_bytes += like->sum_bytes;
      n_requests++;
      room.sum_bytes = sum_bytes > room.sum_bytes ? sum_bytes : room.sum_bytes;
      room.n_requests = n_requests > room.n_requests ? n_requests : room.n_requests;
      room.most_bytes =
          like->most_bytes > room.most_bytes ? like->most_bytes : room.most_bytes;
      room.died = like->died > room.died ? like->died : room.died;
      room.died_next =
          like->died_next > room.died_next ? like->died_next : room.died_next;
    }
  return room;
}

/* Sizes differ from step to step: where only large blocks were seen small ones may come,
 * and the reverse. Both have a room, for as long. @room comes after all others, the large
 * one of a place before the small one. */
static void
add_room (TesseraPlan *plan, TesseraRoom room)
{
  TesseraRoom *last = plan->n_rooms > 0 ? &plan->rooms[plan->n_rooms - 1] : NULL;
  TesseraRoom other = room;

  if (last && last->section == room.section && last->before == room.before &&
      last->stream == room.stream)
    {
      room.died = last->died = last->died > room.died ? last->died : room.died;
      room.died_next = last->died_next =
          last->died_next > room.died_next ? last->died_next : room.died_next;
      last[-1].died = last->died;
      last[-1].died_next = last->died_next;
      *last = room;
      return;
    }
  other.most_bytes = other.sum_bytes = other.n_requests = 0;
  other.is_small = 0;
  plan->rooms[plan->n_rooms] = room.is_small ? other : room;
  other.is_small = 1;
  plan->rooms[plan->n_rooms + 1] = room.is_small ? room : other;
  plan->n_rooms += 2;
}

static TesseraStatus
list_rooms (TesseraPlan *plan, const TesseraGuests *guests)
{
  plan->rooms = malloc ((2 * guests->n_guests + 1) * sizeof *plan->rooms);
  if (!plan->rooms)
    return TESSERA_NO_MEMORY;
  for (size_t from = 0, to; from < guests->n_guests; from = to)
    {
      for (to = from + 1;
           to < guests->n_guests &&
           is_same_place (&guests->guests[to].like, &guests->guests[from].like);
           to++)
        ;
      add_room (plan, join (guests->guests + from, to - from));
    }
  return TESSERA_OK;
}

/* Whether small and large slots have a part of the pool each, as PyTorch keeps them. */
static bool
are_sizes_apart (const TesseraPlanBuild *build)
{
  const TesseraPlan *plan = build->plan;
  uint64_t begins[2] = { UINT64_MAX, UINT64_MAX }, ends[2] = { 0, 0 };

  if (plan->n_streams > 1 || !tessera_build_splits_sizes (build))
    return plan->n_streams > 1;
  for (size_t i = 0; i < plan->n_slots; i++)
    {
      const TesseraSlot *slot = &plan->slots[i];
      bool is_small = tessera_slot_is_small (slot);
      uint64_t end = slot->offset_bytes + slot->block_bytes;

      begins[is_small] =
          slot->offset_bytes < begins[is_small] ? slot->offset_bytes : begins[is_small];
      ends[is_small] = end > ends[is_small] ? end : ends[is_small];
    }
  return ends[0] <= begins[1] || ends[1] <= begins[0];
}

TesseraStatus
tessera_build_rooms (TesseraPlanBuild *build)
{
  size_t n_dynamic = 0;
  TesseraGuests guests = { 0 };
  TesseraStatus status = TESSERA_NO_MEMORY;

  for (size_t i = 0; build->run.is_dynamic && i < build->blocks->n_blocks; i++)
    n_dynamic += build->run.is_dynamic[i];
  if (n_dynamic == 0)
    return TESSERA_OK;
  guests.guests = malloc ((n_dynamic + 1) * sizeof *guests.guests);
  if (!guests.guests)
    return TESSERA_NO_MEMORY;
  for (uint32_t i = 0; i < build->blocks->n_blocks; i++)
    if (build->run.is_dynamic[i])
      add_guest (build, &guests, i);
  qsort (guests.guests, guests.n_guests, sizeof *guests.guests, by_place);
  status = list_rooms (build->plan, &guests);
  if (status == TESSERA_OK)
    status = tessera_find_holes (build->plan, are_sizes_apart (build));
  if (status == TESSERA_OK && !build->options->without_regions)
    status = tessera_find_regions (build->plan, build->blocks, &guests);
  free (guests.guests);
  return status;
}
