/*
 * Rooms for dynamic requests: what slots leave free where they come.
 *
 * After HomoLayer groups of STAlloc (EuroSys '26): there a group is what is allocated in
 * one module and freed in another, and its reusable space what no planned request needs
 * from the begin of the one to the end of the other. Here a group is what is asked for
 * between two planned requests, so it needs no modules, and its space is the largest
 * range, so that it can be looked through at once.
 *
 * Dynamic blocks of the trace are listed with the place at which each is asked for; blocks
 * of one place share a room. Then the largest range is found that slots leave free as long
 * as a room is in use; and what finds no room in the trace itself says how large the
 * regions above all slots are to be.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/plan/build.h"

#include <glib.h>
#include <stdlib.h>
#include <string.h>

#include "allocator/follow/occupancy.h"
#include "allocator/follow/rooms.h"
#include "planner/gaps.h"

/* A dynamic block with the place at which it is asked for. */
typedef struct
{
  TesseraRoom like; /* of its place; but for the range */
  uint32_t step;
  uint32_t block; /* in planner order */
} Guest;

typedef struct
{
  Guest *guests; /* by place */
  size_t n_guests;
} Guests;

/* The largest range that slots leave free while a room is in use. */

/* A stretch of positions, [begin, end). */
typedef struct
{
  uint32_t begin, end;
} Stretch;

/* A slot, as rooms see it: where it lies and when. One that wraps is there twice. */
typedef struct
{
  TesseraGap range;
  Stretch lives[2];
} Lying;

static bool
meet (Stretch a, Stretch b)
{
  return a.begin < b.end && b.begin < a.end;
}

static bool
is_in_way (const Lying *slot, const Stretch uses[2])
{
  return meet (slot->lives[0], uses[0]) || meet (slot->lives[1], uses[0]) ||
         meet (slot->lives[0], uses[1]) || meet (slot->lives[1], uses[1]);
}

/* Equal for those that may have each other's addresses. */
static uint64_t
owner_of (uint32_t stream, uint32_t pool, bool is_small, bool splits_sizes)
{
  return (uint64_t) pool << 32 | (uint64_t) stream << 1 | (splits_sizes && is_small);
}

/* Of other owners' slots the addresses count, whenever they live. */
static Lying
look_at (const TesseraPlan *plan, uint32_t index, uint64_t owner, bool splits_sizes)
{
  const TesseraSlot *slot = &plan->slots[index];
  Lying lying = { .range = { slot->offset_bytes, slot->offset_bytes + slot->block_bytes },
                  .lives = { { slot->born, slot->died } } };

  if (owner_of (slot->stream, slot->pool, tessera_slot_is_small (slot), splits_sizes) !=
      owner)
    lying.lives[0] = (Stretch){ 0, UINT32_MAX };
  else if (slot->wraps)
    lying.lives[1] = (Stretch){ plan->sections[slot->section].begin,
                                MIN (slot->died_next, slot->born) };
  return lying;
}

/* What may be in the way of the owner's rooms, all of which are open within @open, the
 * lowest first. */
static GArray *
list_lying (const TesseraPlan *plan,
            const TesseraKeyed *by_offset,
            Stretch open,
            uint64_t owner,
            bool splits_sizes)
{
  GArray *all = g_array_new (FALSE, FALSE, sizeof (Lying));

  for (size_t i = 0; i < plan->n_slots; i++)
    {
      const Lying lying = look_at (plan, by_offset[i].value, owner, splits_sizes);

      if (meet (lying.lives[0], open) || meet (lying.lives[1], open))
        g_array_append_val (all, lying);
    }
  return all;
}

/* The room is in use from its opening on, and in the next step up to where it is carried. */
static void
find_hole (const TesseraPlan *plan, const GArray *lying, TesseraRoom *room)
{
  const Stretch uses[2] = { { room->born, MAX (room->died, room->born + 1) },
                            { plan->sections[room->section].begin, room->died_next } };
  uint64_t free_from = 0;

  room->begin_bytes = room->end_bytes = plan->height_bytes;
  for (guint i = 0; i <= lying->len; i++)
    {
      const Lying top = { .range = { plan->height_bytes, plan->height_bytes } };
      const Lying *next = i < lying->len ? &g_array_index (lying, Lying, i) : &top;

      if (next != &top && !is_in_way (next, uses))
        continue;
      if (next->range.begin > free_from &&
          next->range.begin - free_from > room->end_bytes - room->begin_bytes)
        {
          room->begin_bytes = free_from;
          room->end_bytes = next->range.begin;
        }
      free_from = MAX (next->range.end, free_from);
    }
}

/* Small and large rooms of one place are open for as long, and mostly have one owner. */
static bool
is_as_before (const TesseraRoom *before, const TesseraRoom *room)
{
  return before->section == room->section && before->born == room->born &&
         before->died == room->died && before->died_next == room->died_next;
}

/* The positions over which any room is open. */
static Stretch
find_open (const TesseraPlan *plan)
{
  Stretch open = { UINT32_MAX, 0 };

  for (size_t i = 0; i < plan->n_rooms; i++)
    {
      const TesseraSection *section = &plan->sections[plan->rooms[i].section];

      open.begin = MIN (section->begin, open.begin);
      open.end = MAX (MAX (section->end, plan->rooms[i].died), open.end);
    }
  return open;
}

/* Sets the range of each room, all else of which is set. Where slots of another stream or
 * pool ever lie is none of its; @splits_sizes: nor where those of the other size class
 * do. */
static void
find_holes (TesseraPlan *plan, bool splits_sizes)
{
  g_autofree TesseraKeyed *by_offset = g_new (TesseraKeyed, plan->n_slots + 1);
  g_autoptr (GHashTable) of_owner =
      g_hash_table_new_full (NULL, NULL, NULL, (GDestroyNotify) g_array_unref);
  const Stretch open = find_open (plan);
  const GArray *before = NULL;

  for (uint32_t i = 0; i < plan->n_slots; i++)
    by_offset[i] = (TesseraKeyed){ plan->slots[i].offset_bytes, i };
  tessera_sort (by_offset, plan->n_slots);
  for (size_t i = 0; i < plan->n_rooms; i++)
    {
      TesseraRoom *room = &plan->rooms[i];
      const uint64_t owner = owner_of (room->stream, 0, room->is_small, splits_sizes);
      GArray *lying = g_hash_table_lookup (of_owner, GSIZE_TO_POINTER (owner));

      if (lying == NULL)
        {
          lying = list_lying (plan, by_offset, open, owner, splits_sizes);
          g_hash_table_insert (of_owner, GSIZE_TO_POINTER (owner), lying);
        }
      if (lying == before && is_as_before (room - 1, room))
        {
          room->begin_bytes = room[-1].begin_bytes;
          room->end_bytes = room[-1].end_bytes;
        }
      else
        find_hole (plan, lying, room);
      before = lying;
    }
}

/* Regions above all slots. */

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
  Guests *guests;
  Move *moves;
  uint64_t *offsets;               /* of guests; UINT64_MAX: it lies nowhere */
  TesseraOccupancy *map;           /* of the guests that are there, and nothing else */
  TesseraOccupancyRequest request; /* of the one that comes */
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
  const Guests *guests = rehearsal->guests;

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

static bool
take_place (void *user, uint64_t offset_bytes, uint64_t *out_end_bytes)
{
  const Rehearsal *rehearsal = user;

  return tessera_occupancy_take (rehearsal->map, offset_bytes, &rehearsal->request,
                                 out_end_bytes) == TESSERA_OCCUPANCY_GRANTED;
}

static void
give_place_back (TesseraOccupancy *map, uint64_t offset_bytes)
{
  (void) tessera_occupancy_free_requested (map, offset_bytes);
  (void) tessera_occupancy_free_completed (map, offset_bytes);
}

static void
play (Rehearsal *rehearsal, const TesseraRooms *rooms)
{
  const TesseraFollowerHook hook = { take_place, rehearsal };

  for (size_t i = 0; i < 2 * rehearsal->guests->n_guests; i++)
    {
      const Move *move = &rehearsal->moves[i];
      const Guest *guest = &rehearsal->guests->guests[move->guest];
      const TesseraDynamicRequest request = { .block_bytes = guest->like.most_bytes,
                                              .section = guest->like.section,
                                              .before = guest->like.before,
                                              .stream = guest->like.stream };
      uint64_t *offset = &rehearsal->offsets[move->guest];

      if (!move->comes)
        {
          if (*offset != UINT64_MAX)
            give_place_back (rehearsal->map, *offset);
          continue;
        }
      rehearsal->request = (TesseraOccupancyRequest){
        .size_bytes = request.block_bytes,
        .block_bytes = request.block_bytes,
      };
      if (tessera_rooms_take (rooms, &hook, &request, offset))
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

/* Serves the dynamic requests of the trace from the rooms of the plan and gives it
 * regions for those that find none: for small blocks. */
static void
find_regions (TesseraPlan *plan, const TesseraBlocks *blocks, Guests *guests)
{
  g_autofree Move *moves = g_new (Move, 2 * guests->n_guests + 1);
  g_autofree uint64_t *offsets = g_new (uint64_t, guests->n_guests + 1);
  Rehearsal rehearsal = { plan, blocks, guests, moves, offsets, NULL, { 0 }, { 0 } };
  static const TesseraOccupancyLaws apart = { .live = true };
  TesseraRooms rooms = { 0 };

  plan->regions = g_new0 (TesseraRegion, MOST_REGIONS);
  add_regions (plan);
  list_moves (&rehearsal);
  if (tessera_occupancy_new (tessera_plan_pool_bytes (plan), &apart, &rehearsal.map) !=
          TESSERA_OK ||
      tessera_rooms_init (&rooms, plan) != TESSERA_OK)
    g_error ("not enough memory to plan");
  play (&rehearsal, &rooms);
  set_regions (&rehearsal);
  tessera_rooms_clear (&rooms);
  tessera_occupancy_free (rehearsal.map);
}

/* The rooms themselves. */

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
  const Guest *x = a, *y = b;
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
add_guest (const TesseraPlanBuild *build, Guests *guests, uint32_t index)
{
  const TesseraBlock *block = &build->blocks->blocks[index];
  const TesseraPlan *plan = build->plan;
  Guest *guest = &guests->guests[guests->n_guests];
  const TesseraSection *section = plan->sections;
  TesseraRunSpan span;

  if (block->pool != 0)
    return;
  span = tessera_run_span (build->units, index, &guest->step);
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
                               .is_small = block->block_bytes <= TESSERA_SMALL_BYTES };
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
join (const Guest *guests, size_t n)
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
      room.sum_bytes = MAX (sum_bytes, room.sum_bytes);
      room.n_requests = MAX (n_requests, room.n_requests);
      room.most_bytes = MAX (like->most_bytes, room.most_bytes);
      room.died = MAX (like->died, room.died);
      room.died_next = MAX (like->died_next, room.died_next);
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
      room.died = last->died = MAX (last->died, room.died);
      room.died_next = last->died_next = MAX (last->died_next, room.died_next);
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

static void
list_rooms (TesseraPlan *plan, const Guests *guests)
{
  plan->rooms = g_new (TesseraRoom, 2 * guests->n_guests + 1);
  for (size_t from = 0, to; from < guests->n_guests; from = to)
    {
      for (to = from + 1;
           to < guests->n_guests &&
           is_same_place (&guests->guests[to].like, &guests->guests[from].like);
           to++)
        ;
      add_room (plan, join (guests->guests + from, to - from));
    }
}

/* Whether small and large slots have a part of the pool each, as PyTorch keeps them. */
static bool
are_sizes_apart (const TesseraPlanBuild *build)
{
  const TesseraPlan *plan = build->plan;
  uint64_t begins[2] = { UINT64_MAX, UINT64_MAX }, ends[2] = { 0, 0 };

  if (plan->n_streams > 1 || !tessera_plan_splits_sizes (build->trace))
    return plan->n_streams > 1;
  for (size_t i = 0; i < plan->n_slots; i++)
    {
      const TesseraSlot *slot = &plan->slots[i];
      bool is_small = tessera_slot_is_small (slot);
      uint64_t end = slot->offset_bytes + slot->block_bytes;

      begins[is_small] = MIN (slot->offset_bytes, begins[is_small]);
      ends[is_small] = MAX (end, ends[is_small]);
    }
  return ends[0] <= begins[1] || ends[1] <= begins[0];
}

void
tessera_build_rooms (TesseraPlanBuild *build)
{
  const uint8_t *is_dynamic = build->units->is_dynamic;
  size_t n_blocks = build->blocks->n_blocks, n_dynamic = 0;
  Guests guests = { 0 };

  for (size_t i = 0; is_dynamic && i < n_blocks; i++)
    n_dynamic += is_dynamic[i];
  if (n_dynamic == 0)
    return;
  guests.guests = g_new (Guest, n_dynamic);
  for (uint32_t i = 0; i < n_blocks; i++)
    if (is_dynamic[i])
      add_guest (build, &guests, i);
  if (guests.n_guests > 0)
    qsort (guests.guests, guests.n_guests, sizeof *guests.guests, by_place);
  list_rooms (build->plan, &guests);
  find_holes (build->plan, are_sizes_apart (build));
  find_regions (build->plan, build->blocks, &guests);
  g_free (guests.guests);
}
