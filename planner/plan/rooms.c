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

/* A slot takes its place over [begin, end). */
typedef struct
{
  uint32_t begin, end, slot;
} Life;

/* Numbers below a limit, in ascending order: a bit each. */
typedef struct
{
  uint64_t *words; /* [n_words] */
  size_t n_words;
} Ranks;

typedef struct
{
  TesseraPlan *plan;
  bool splits_sizes;
  Life *lives; /* by begin */
  size_t n_lives;
  size_t *alive; /* lives begun before the room in view, and not ended before the last */
  size_t n_alive, next;
  /* Slots in order of their offsets: sorting those in the way of each room anew took
   * longer than all else of a plan. */
  uint32_t *order;    /* [n_slots] slots by rank */
  TesseraGap *ranges; /* [n_slots] by rank */
  uint32_t *rank;     /* [n_slots] of a slot */
  Ranks in_way;       /* of the room in view; between two, those of @alive */
  uint32_t *passing;  /* ranks that are in the way of the room in view alone */
  size_t n_passing;
  TesseraGap *foreign; /* of other owners than @owner, whenever; in order, apart */
  size_t n_foreign;
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

static void
put (Ranks *ranks, uint32_t rank)
{
  ranks->words[rank / 64] |= UINT64_C (1) << rank % 64;
}

static void
take (Ranks *ranks, uint32_t rank)
{
  ranks->words[rank / 64] &= ~(UINT64_C (1) << rank % 64);
}

static bool
has (const Ranks *ranks, uint32_t rank)
{
  return ranks->words[rank / 64] >> rank % 64 & 1;
}

/* The first one from @rank on, or TESSERA_NONE. */
static uint32_t
next_rank (const Ranks *ranks, uint32_t rank)
{
  size_t word = rank / 64;
  uint64_t bits =
      word < ranks->n_words ? ranks->words[word] >> rank % 64 << rank % 64 : 0;

  while (bits == 0 && ++word < ranks->n_words)
    bits = ranks->words[word];
  return bits != 0 ? (uint32_t) (word * 64 + (size_t) __builtin_ctzll (bits))
                   : TESSERA_NONE;
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
        search->lives[search->n_lives++] = (Life){ plan->sections[slot->section].begin,
                                                   MIN (slot->died_next, slot->born), i };
    }
  qsort (search->lives, search->n_lives, sizeof *search->lives, by_begin);
}

static uint64_t
owner_of (const Search *search, uint32_t stream, uint32_t pool, bool is_small)
{
  return (uint64_t) pool << 32 | (uint64_t) stream << 1 |
         (search->splits_sizes && is_small);
}

static int
by_offset (gconstpointer a, gconstpointer b, gpointer plan)
{
  const TesseraSlot *slots = ((const TesseraPlan *) plan)->slots;
  uint32_t x = *(const uint32_t *) a, y = *(const uint32_t *) b;

  if (slots[x].offset_bytes != slots[y].offset_bytes)
    return slots[x].offset_bytes < slots[y].offset_bytes ? -1 : 1;
  return (x > y) - (x < y);
}

/* Where slots lie, from the lowest up. */
static void
rank_slots (Search *search)
{
  TesseraPlan *plan = search->plan;

  for (uint32_t i = 0; i < plan->n_slots; i++)
    search->order[i] = i;
  g_qsort_with_data (search->order, (int) plan->n_slots, sizeof *search->order, by_offset,
                     plan);
  for (uint32_t i = 0; i < plan->n_slots; i++)
    {
      const TesseraSlot *slot = &plan->slots[search->order[i]];

      search->ranges[i] =
          (TesseraGap){ slot->offset_bytes, slot->offset_bytes + slot->block_bytes };
      search->rank[search->order[i]] = i;
    }
}

static void
find_foreign (Search *search, uint64_t owner)
{
  const TesseraPlan *plan = search->plan;
  TesseraGap *foreign = search->foreign;
  size_t n = 0;

  search->owner = owner;
  for (size_t i = 0; i < plan->n_slots; i++)
    {
      const TesseraSlot *slot = &plan->slots[search->order[i]];
      const TesseraGap *range = &search->ranges[i];

      if (owner_of (search, slot->stream, slot->pool, tessera_slot_is_small (slot)) ==
          owner)
        continue;
      if (n == 0 || range->begin > foreign[n - 1].end)
        foreign[n++] = *range;
      else if (range->end > foreign[n - 1].end)
        foreign[n - 1].end = range->end;
    }
  search->n_foreign = n;
}

/* For the room in view only. */
static void
pass_by (Search *search, const Life *life)
{
  uint32_t rank = search->rank[life->slot];

  if (has (&search->in_way, rank))
    return;
  put (&search->in_way, rank);
  search->passing[search->n_passing++] = rank;
}

/* Those alive when the room opens. Rooms come in order of their births. */
static void
keep_alive (Search *search, const TesseraRoom *room)
{
  const Life *lives = search->lives;
  size_t n_kept = 0;

  for (size_t i = 0; i < search->n_alive; i++)
    if (lives[search->alive[i]].end > room->born)
      search->alive[n_kept++] = search->alive[i];
    else
      take (&search->in_way, search->rank[lives[search->alive[i]].slot]);
  for (; search->next < search->n_lives && lives[search->next].begin <= room->born;
       search->next++)
    if (lives[search->next].end > room->born)
      {
        search->alive[n_kept++] = search->next;
        put (&search->in_way, search->rank[lives[search->next].slot]);
      }
  search->n_alive = n_kept;
}

/* And those born while it is open, or that live on into the next step. */
static void
list_passing (Search *search, const TesseraRoom *room)
{
  const Life *lives = search->lives;
  uint32_t begin = search->plan->sections[room->section].begin;

  for (size_t i = search->next; i < search->n_lives && lives[i].begin < room->died; i++)
    pass_by (search, &lives[i]);
  for (size_t i = 0; i < search->n_lives && lives[i].begin < room->died_next; i++)
    if (lives[i].end > begin)
      pass_by (search, &lives[i]);
}

static void
forget_passing (Search *search)
{
  while (search->n_passing > 0)
    take (&search->in_way, search->passing[--search->n_passing]);
}

static void
find_hole (Search *search, TesseraRoom *room)
{
  uint64_t free_from = 0, height_bytes = search->plan->height_bytes;
  uint32_t rank = next_rank (&search->in_way, 0);
  size_t b = 0;

  room->begin_bytes = room->end_bytes = height_bytes;
  for (;;)
    {
      TesseraGap next = { height_bytes, height_bytes };

      if (rank != TESSERA_NONE &&
          (b == search->n_foreign ||
           search->ranges[rank].begin <= search->foreign[b].begin))
        {
          next = search->ranges[rank];
          rank = next_rank (&search->in_way, rank + 1);
        }
      else if (b < search->n_foreign)
        next = search->foreign[b++];
      if (next.begin > free_from &&
          next.begin - free_from > room->end_bytes - room->begin_bytes)
        {
          room->begin_bytes = free_from;
          room->end_bytes = next.begin;
        }
      if (next.begin >= height_bytes)
        break;
      free_from = MAX (next.end, free_from);
    }
}

/* Small and large rooms of one place are open for as long, and mostly have one owner. */
static bool
is_as_before (const TesseraRoom *before, const TesseraRoom *room)
{
  return before != NULL && before->section == room->section &&
         before->born == room->born && before->died == room->died &&
         before->died_next == room->died_next;
}

static void
look_at (Search *search, const TesseraRoom *before, TesseraRoom *room)
{
  if (is_as_before (before, room))
    {
      room->begin_bytes = before->begin_bytes;
      room->end_bytes = before->end_bytes;
      return;
    }
  keep_alive (search, room);
  list_passing (search, room);
  find_hole (search, room);
  forget_passing (search);
}

static void
forget_alive (Search *search)
{
  for (size_t i = 0; i < search->n_alive; i++)
    take (&search->in_way, search->rank[search->lives[search->alive[i]].slot]);
  search->n_alive = search->next = 0;
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
      const TesseraRoom *first = &plan->rooms[from], *before = NULL;

      if (first->begin_bytes != UINT64_MAX)
        continue;
      find_foreign (search, owner_of (search, first->stream, 0, first->is_small));
      forget_alive (search);
      for (size_t i = from; i < plan->n_rooms; i++)
        if (owner_of (search, plan->rooms[i].stream, 0, plan->rooms[i].is_small) ==
            search->owner)
          {
            look_at (search, before, &plan->rooms[i]);
            before = &plan->rooms[i];
          }
    }
}

/* Sets the range of each room, all else of which is set. Where slots of another stream or
 * pool ever lie is none of its; @splits_sizes: nor where those of the other size class
 * do. */
static void
find_holes (TesseraPlan *plan, bool splits_sizes)
{
  size_t n = plan->n_slots + 1, n_words = n / 64 + 1;
  g_autofree Life *lives = g_new (Life, 2 * n);
  g_autofree size_t *alive = g_new (size_t, 2 * n);
  g_autofree uint32_t *order = g_new (uint32_t, n), *rank = g_new (uint32_t, n),
                      *passing = g_new (uint32_t, n);
  g_autofree TesseraGap *ranges = g_new (TesseraGap, n), *foreign = g_new (TesseraGap, n);
  g_autofree uint64_t *words = g_new0 (uint64_t, n_words);
  Search search = { .plan = plan,
                    .splits_sizes = splits_sizes,
                    .lives = lives,
                    .alive = alive,
                    .order = order,
                    .ranges = ranges,
                    .rank = rank,
                    .in_way = { words, n_words },
                    .passing = passing,
                    .foreign = foreign };

  rank_slots (&search);
  list_lives (&search);
  find_all (&search);
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
  if (!build->options->without_regions)
    find_regions (build->plan, build->blocks, &guests);
  g_free (guests.guests);
}
