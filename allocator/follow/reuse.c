/*
 * Another place in the pool for a planned request whose own place is not free.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/follow/reuse.h"

#include <stdlib.h>

#define SMALL_BYTES ((uint64_t) 1 << 20) /* PyTorch's small pool serves up to this */

enum
{
  MAX_ZONES = 64, /* streams, pools and sizes that are kept apart; more: no reuse */
  NOBODY = UINT32_MAX,
  SEVERAL = UINT32_MAX - 1,
  /* Of the short search: what lives longer than so many requests has no other place. */
  MAX_NEEDED = 256,
  MAX_TRIES = 512,
  /* Of a search of the whole pool: places that the hook may refuse. */
  MAX_REFUSED = 8,
  LOOKS_A_REQUEST = 256,
  MAX_LOOKS = 1 << 20 /* kept */
};

/* ---- Zones ---- */

uint64_t
tessera_zone_key (const TesseraPlan *plan, const TesseraSlot *slot)
{
  uint64_t key = (uint64_t) slot->stream << 17 | (uint64_t) slot->pool << 1;

  /* On a single stream any order is safe. */
  return plan->n_streams > 1 ? key | (slot->block_bytes <= SMALL_BYTES) : key;
}

/* Of a rotation of more than a slot and its spare: which of its places are free, the next
 * requests of the rotation decide. */
static bool
takes_turns (const TesseraSlots *slots, uint32_t slot)
{
  return slots->next_places[slots->next_places[slot]] != slot;
}

/* Numbers the zones of the slots. Returns: how many, or MAX_ZONES + 1: too many. */
static uint32_t
number_zones (TesseraZones *zones)
{
  const TesseraPlan *plan = zones->slots->plan;
  uint64_t keys[MAX_ZONES];
  uint32_t n_zones = 0;

  for (uint32_t i = 0; i < plan->n_slots; i++)
    {
      uint64_t key = tessera_zone_key (plan, &plan->slots[i]);
      uint32_t zone = 0;

      if (takes_turns (zones->slots, i))
        {
          zones->of_slot[i] = TESSERA_ZONE_TURNS;
          continue;
        }
      while (zone < n_zones && keys[zone] != key)
        zone++;
      if (zone == MAX_ZONES)
        return MAX_ZONES + 1;
      if (zone == n_zones)
        keys[n_zones++] = key;
      zones->of_slot[i] = zone;
    }
  return n_zones;
}

/* Marks between which offsets slots of one zone lie: counts of begins less ends. */
static void
mark_zone (TesseraZones *zones, uint32_t zone, int32_t *depths)
{
  const TesseraSlots *slots = zones->slots;
  int64_t depth = 0;

  for (uint32_t r = 0; r <= slots->n_offsets; r++)
    depths[r] = 0;
  for (uint32_t i = 0; i < slots->plan->n_slots; i++)
    if (zones->of_slot[i] == zone)
      {
        depths[slots->ranks[i]]++;
        depths[slots->end_ranks[i]]--;
      }
  for (uint32_t r = 0; r < slots->n_offsets; r++)
    {
      depth += depths[r];
      if (depth > 0)
        zones->at[r] = zones->at[r] == NOBODY ? zone : SEVERAL;
    }
}

static void
clear_zones (TesseraZones *zones)
{
  free (zones->at);
  free (zones->ends);
  free (zones->of_slot);
  *zones = (TesseraZones){ 0 };
}

static TesseraStatus
init_zones (TesseraZones *zones, const TesseraSlots *slots)
{
  size_t n_offsets = (size_t) slots->n_offsets + 1;
  int32_t *depths = calloc (n_offsets, sizeof *depths);
  uint64_t end_bytes = slots->plan->height_bytes;
  uint32_t n_zones;

  *zones = (TesseraZones){ .slots = slots };
  zones->at = malloc (n_offsets * sizeof *zones->at);
  zones->ends = malloc (n_offsets * sizeof *zones->ends);
  zones->of_slot = malloc ((slots->plan->n_slots + 1) * sizeof *zones->of_slot);
  if (depths == NULL || zones->at == NULL || zones->ends == NULL ||
      zones->of_slot == NULL)
    {
      free (depths);
      clear_zones (zones);
      return TESSERA_NO_MEMORY;
    }
  for (uint32_t r = 0; r < slots->n_offsets; r++)
    zones->at[r] = NOBODY;
  n_zones = number_zones (zones);
  zones->is_off = n_zones > MAX_ZONES;
  for (uint32_t z = 0; !zones->is_off && z < n_zones; z++)
    mark_zone (zones, z, depths);
  if (!zones->is_off)
    mark_zone (zones, TESSERA_ZONE_TURNS, depths);
  for (uint32_t r = slots->n_offsets; r-- > 0;)
    {
      if (r + 1 < slots->n_offsets && zones->at[r + 1] != zones->at[r])
        end_bytes = slots->offsets[r + 1];
      zones->ends[r] = end_bytes;
    }
  free (depths);
  return TESSERA_OK;
}

/* ---- Searches ---- */

TesseraStatus
tessera_reuse_init (TesseraReuse *reuse, const TesseraSlots *slots)
{
  TesseraStatus status;

  *reuse = (TesseraReuse){ .slots = slots, .looks = MAX_LOOKS };
  status = init_zones (&reuse->zones, slots);
  if (status == TESSERA_OK)
    status = tessera_outlook_init (&reuse->outlook, slots->offsets, slots->n_offsets,
                                   slots->plan->height_bytes);
  if (status != TESSERA_OK)
    tessera_reuse_clear (reuse);
  return status;
}

void
tessera_reuse_clear (TesseraReuse *reuse)
{
  clear_zones (&reuse->zones);
  tessera_outlook_clear (&reuse->outlook);
  *reuse = (TesseraReuse){ 0 };
}

/* Slots in a row, in the order of their requests. */
typedef struct
{
  uint32_t first, n;
} Row;

/* All that is asked for in its section after @slot. */
static Row
rest_of_section (const TesseraSlots *slots, uint32_t slot)
{
  uint32_t section = slots->plan->slots[slot].section;

  return (Row){ slot + 1, slots->plan->sections[section].first_slot +
                              slots->n_asked[section] - slot - 1 };
}

/* The first of @row, those born before @position. */
static Row
born_before (const TesseraSlots *slots, Row row, uint32_t position)
{
  uint32_t low = 0;
  uint32_t high = row.n;

  while (low < high)
    {
      uint32_t middle = low + (high - low) / 2;

      if (slots->plan->slots[row.first + middle].born < position)
        low = middle + 1;
      else
        high = middle;
    }
  return (Row){ row.first, low };
}

static bool
overlaps (const TesseraSlot *slot, uint64_t begin, uint64_t end)
{
  return slot->offset_bytes < end && begin < slot->offset_bytes + slot->block_bytes;
}

/* Will a slot requested while @slot would live need any of the range? */
static bool
is_needed (const TesseraSlots *slots,
           uint32_t slot,
           uint32_t n_needed,
           uint64_t begin,
           uint64_t end,
           uint64_t *out_end_bytes)
{
  for (uint32_t i = slot + 1; i <= slot + n_needed; i++)
    {
      const TesseraSlot *other = &slots->plan->slots[i];

      if (!overlaps (other, begin, end))
        other = &slots->plan->slots[slots->next_places[i]];
      if (overlaps (other, begin, end))
        {
          *out_end_bytes = other->offset_bytes + other->block_bytes;
          return true;
        }
    }
  return false;
}

/* The lowest place that no slot needs meanwhile; looks at not too many. */
static bool
take_lowest (const TesseraReuse *reuse,
             TesseraTaken *taken,
             const TesseraFollowerHook *hook,
             uint32_t slot,
             uint64_t *out_offset_bytes)
{
  const TesseraSlots *slots = reuse->slots;
  const TesseraSlot *wanted = &slots->plan->slots[slot];
  uint32_t n_needed = born_before (slots, rest_of_section (slots, slot), wanted->died).n;
  uint32_t r = 0;

  if (wanted->wraps || wanted->died > slots->plan->sections[wanted->section].end ||
      n_needed > MAX_NEEDED)
    return false;
  for (uint32_t n = 0; r < slots->n_offsets && n < MAX_TRIES; n++)
    {
      uint64_t begin = slots->offsets[r];
      uint64_t end = begin + wanted->block_bytes;
      uint64_t next = reuse->zones.ends[r];
      uint32_t end_rank;

      if (end > slots->plan->height_bytes)
        return false;
      if (reuse->zones.at[r] == reuse->zones.of_slot[slot] && end <= next)
        {
          end_rank = tessera_taken_rank (taken, end);
          if (!tessera_taken_is_blocked (taken, begin, end_rank, &next) &&
              !is_needed (slots, slot, n_needed, begin, end, &next) &&
              tessera_taken_take (taken, hook, r, end_rank, wanted->block_bytes, slot,
                                  &next))
            {
              *out_offset_bytes = begin;
              return true;
            }
        }
      r = tessera_taken_rank (taken, next);
    }
  return false;
}

/* What is asked for after a slot. */
typedef struct
{
  Row meanwhile[3]; /* as long as its block lives: in its step, in the next one, in the
                       section after the last */
  Row later[2];
} Future;

static Row
without (Row row, Row begin)
{
  return (Row){ row.first + begin.n, row.n - begin.n };
}

static Future
look_ahead (const TesseraSlots *slots, uint32_t slot)
{
  const TesseraPlan *plan = slots->plan;
  const TesseraSlot *wanted = &plan->slots[slot];
  const TesseraSection *section = &plan->sections[wanted->section];
  Row rest = rest_of_section (slots, slot);
  Row again = { section->first_slot, slot - section->first_slot };
  Row next = { 0 };
  Future future = { .meanwhile = { born_before (slots, rest, wanted->died) } };

  if (wanted->section + 1 < plan->n_sections)
    next = (Row){ section[1].first_slot, slots->n_asked[wanted->section + 1] };
  if (wanted->wraps)
    future.meanwhile[1] = born_before (slots, again, wanted->died_next);
  if (wanted->died > section->end)
    future.meanwhile[2] = born_before (slots, next, wanted->died);
  future.later[0] = without (rest, future.meanwhile[0]);
  future.later[1] = section->kind == TESSERA_SECTION_REPEATS
                        ? without (again, future.meanwhile[1])
                        : without (next, future.meanwhile[2]);
  return future;
}

/* What is taken, or not of this zone, is not to be had. */
static void
begin_outlook (TesseraReuse *reuse, const TesseraTaken *taken, uint32_t zone)
{
  const TesseraSlots *slots = reuse->slots;
  uint64_t end_bytes = 0;

  tessera_outlook_begin (&reuse->outlook);
  for (uint32_t r = 0; r < slots->n_offsets; r++)
    {
      tessera_taken_begins (taken, r, &end_bytes);
      if (slots->offsets[r] < end_bytes || reuse->zones.at[r] != zone)
        tessera_outlook_need (&reuse->outlook, r, r + 1, 0);
    }
  reuse->looks -= 2 * (int64_t) slots->n_offsets;
}

static void
need_slot (TesseraReuse *reuse, uint32_t slot, uint32_t when)
{
  const TesseraSlots *slots = reuse->slots;
  uint32_t other = slots->next_places[slot];

  tessera_outlook_need (&reuse->outlook, slots->ranks[slot], slots->end_ranks[slot],
                        when);
  if (other != slot)
    tessera_outlook_need (&reuse->outlook, slots->ranks[other], slots->end_ranks[other],
                          when);
}

/* @when: of the first of them; @only_bytes: their size, 0: all alike. Returns: of the
 * request after the last. */
static uint32_t
need_row (TesseraReuse *reuse, Row row, uint32_t when, uint64_t only_bytes)
{
  const TesseraSlot *slots = reuse->slots->plan->slots;

  for (uint32_t i = 0; i < row.n; i++, when++)
    if (only_bytes == 0 || slots[row.first + i].block_bytes == only_bytes)
      need_slot (reuse, row.first + i, when);
  reuse->looks -= row.n;
  return when;
}

/* What slots of other sizes need is not to be had. */
static void
bar_row (TesseraReuse *reuse, Row row, uint64_t except_bytes)
{
  const TesseraSlot *slots = reuse->slots->plan->slots;

  for (uint32_t i = 0; i < row.n; i++)
    if (slots[row.first + i].block_bytes != except_bytes)
      need_slot (reuse, row.first + i, 0);
  reuse->looks -= row.n;
}

/* The place needed latest that the hook takes too; needed at @earliest or later. */
static bool
take_latest (TesseraReuse *reuse,
             TesseraTaken *taken,
             const TesseraFollowerHook *hook,
             uint32_t slot,
             uint32_t earliest,
             uint64_t *out_offset_bytes)
{
  const TesseraSlots *slots = reuse->slots;
  uint64_t block_bytes = slots->plan->slots[slot].block_bytes;

  for (int n_refused = 0; n_refused < MAX_REFUSED; n_refused++)
    {
      uint32_t rank, end_rank;
      uint64_t end_bytes;
      uint32_t when = tessera_outlook_find (&reuse->outlook, block_bytes, &rank);

      reuse->looks -= slots->n_offsets;
      if (when == 0 || when < earliest)
        return false;
      end_rank = tessera_taken_rank (taken, slots->offsets[rank] + block_bytes);
      if (tessera_taken_take (taken, hook, rank, end_rank, block_bytes, slot, &end_bytes))
        {
          *out_offset_bytes = slots->offsets[rank];
          return true;
        }
      tessera_outlook_bar (&reuse->outlook, rank, end_bytes);
    }
  return false;
}

static bool
take_unneeded (TesseraReuse *reuse,
               TesseraTaken *taken,
               const TesseraFollowerHook *hook,
               uint32_t slot,
               uint64_t *out_offset_bytes)
{
  Future future = look_ahead (reuse->slots, slot);
  uint32_t when = 1;
  uint32_t earliest;

  if (reuse->looks <= 0)
    return false;
  begin_outlook (reuse, taken, reuse->zones.of_slot[slot]);
  for (int i = 0; i < 3; i++)
    when = need_row (reuse, future.meanwhile[i], when, 0);
  earliest = when;
  for (int i = 0; i < 2; i++)
    when = need_row (reuse, future.later[i], when, 0);
  return take_latest (reuse, taken, hook, slot, earliest, out_offset_bytes);
}

static bool
take_of_same_size (TesseraReuse *reuse,
                   TesseraTaken *taken,
                   const TesseraFollowerHook *hook,
                   uint32_t slot,
                   uint64_t *out_offset_bytes)
{
  uint64_t block_bytes = reuse->slots->plan->slots[slot].block_bytes;
  Future future = look_ahead (reuse->slots, slot);
  uint32_t when = 1;

  if (reuse->looks <= 0)
    return false;
  begin_outlook (reuse, taken, reuse->zones.of_slot[slot]);
  for (int i = 0; i < 3; i++)
    bar_row (reuse, future.meanwhile[i], block_bytes);
  for (int i = 0; i < 3; i++)
    when = need_row (reuse, future.meanwhile[i], when, block_bytes);
  return take_latest (reuse, taken, hook, slot, 1, out_offset_bytes);
}

/* What the run has earned since it was last asked. */
static void
earn (TesseraReuse *reuse, uint64_t n_requests)
{
  uint64_t n_new = n_requests - reuse->n_requests;

  reuse->n_requests = n_requests;
  reuse->looks = n_new < MAX_LOOKS / LOOKS_A_REQUEST
                     ? reuse->looks + (int64_t) n_new * LOOKS_A_REQUEST
                     : MAX_LOOKS;
  if (reuse->looks > MAX_LOOKS)
    reuse->looks = MAX_LOOKS;
}

bool
tessera_reuse_take (TesseraReuse *reuse,
                    TesseraTaken *taken,
                    const TesseraFollowerHook *hook,
                    uint32_t slot,
                    uint64_t n_requests,
                    uint64_t *out_offset_bytes)
{
  bool is_small = reuse->slots->plan->slots[slot].block_bytes <= SMALL_BYTES;

  if (reuse->zones.is_off || reuse->zones.of_slot[slot] == TESSERA_ZONE_TURNS)
    return false;
  earn (reuse, n_requests);
  if (is_small && take_lowest (reuse, taken, hook, slot, out_offset_bytes))
    return true;
  return take_unneeded (reuse, taken, hook, slot, out_offset_bytes) ||
         take_of_same_size (reuse, taken, hook, slot, out_offset_bytes) ||
         (!is_small && take_lowest (reuse, taken, hook, slot, out_offset_bytes));
}
