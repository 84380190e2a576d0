/*
 * Another place in the pool for a planned request whose own place is not free.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/follow/matching.h"

#include <stdlib.h>

#include "db/sort.h"

#define SMALL_BYTES ((uint64_t) 1 << 20) /* PyTorch's small pool serves up to this */

enum
{
  MAX_ZONES = 64, /* streams, pools and sizes that are kept apart; more: no reuse */
  NOBODY = UINT32_MAX,
  SEVERAL = UINT32_MAX - 1,
  /* What lives longer than so many requests has no other place. */
  MAX_NEEDED = 256,
  MAX_TRIES = 2048
};

/* ---- Zones ---- */

/* Slots of equal keys are what PyTorch would serve from the same memory. */
static uint64_t
zone_key (const TesseraPlan *plan, const TesseraSlot *slot)
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
      uint64_t key = zone_key (plan, &plan->slots[i]);
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

/* Of the first offset that is not below this one. */
static uint32_t
rank_of (const TesseraSlots *slots, uint64_t offset_bytes)
{
  return tessera_count_below (slots->offsets, slots->n_offsets, offset_bytes);
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
        const TesseraSlot *slot = &slots->plan->slots[i];

        depths[rank_of (slots, slot->offset_bytes)]++;
        depths[rank_of (slots, slot->offset_bytes + slot->block_bytes)]--;
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

/* ---- The search ---- */

TesseraStatus
tessera_reuse_init (TesseraReuse *reuse, const TesseraSlots *slots)
{
  *reuse = (TesseraReuse){ .slots = slots };
  return init_zones (&reuse->zones, slots);
}

void
tessera_reuse_clear (TesseraReuse *reuse)
{
  clear_zones (&reuse->zones);
  *reuse = (TesseraReuse){ 0 };
}

/* How many slots of its section are asked for while the block of @slot lives. */
static uint32_t
count_needed (const TesseraSlots *slots, uint32_t slot)
{
  const TesseraPlan *plan = slots->plan;
  const uint32_t section = plan->slots[slot].section;
  uint32_t low = slot + 1;
  uint32_t high = plan->sections[section].first_slot + slots->n_asked[section];

  while (low < high)
    {
      uint32_t middle = low + (high - low) / 2;

      if (plan->slots[middle].born < plan->slots[slot].died)
        low = middle + 1;
      else
        high = middle;
    }
  return low - slot - 1;
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
             const TesseraFollowerHook *hook,
             uint32_t slot,
             uint64_t *out_offset_bytes)
{
  const TesseraSlots *slots = reuse->slots;
  const TesseraSlot *wanted = &slots->plan->slots[slot];
  uint32_t n_needed = count_needed (slots, slot);
  uint32_t r = 0;

  if (wanted->wraps || wanted->died > slots->plan->sections[wanted->section].end ||
      n_needed > MAX_NEEDED)
    return false;
  for (uint32_t n = 0; r < slots->n_offsets && n < MAX_TRIES; n++)
    {
      uint64_t begin = slots->offsets[r];
      uint64_t end = begin + wanted->block_bytes;
      uint64_t next = reuse->zones.ends[r];

      if (end > slots->plan->height_bytes)
        return false;
      if (reuse->zones.at[r] == reuse->zones.of_slot[slot] && end <= next &&
          !is_needed (slots, slot, n_needed, begin, end, &next) &&
          hook->take (hook->user, begin, &next))
        {
          *out_offset_bytes = begin;
          return true;
        }
      r = rank_of (slots, next);
    }
  return false;
}

bool
tessera_reuse_take (const TesseraReuse *reuse,
                    const TesseraFollowerHook *hook,
                    uint32_t slot,
                    uint64_t *out_offset_bytes)
{
  return !reuse->zones.is_off && reuse->zones.of_slot[slot] != TESSERA_ZONE_TURNS &&
         take_lowest (reuse, hook, slot, out_offset_bytes);
}
