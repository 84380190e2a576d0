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
  /* Bounds the work: what lives longer than so many requests has no second place. */
  MAX_NEEDED = 256,
  MAX_TRIES = 512,
  NOBODY = UINT32_MAX,
  SEVERAL = UINT32_MAX - 1,
  TURNS = UINT32_MAX - 2
};

uint64_t
tessera_reuse_key (const TesseraPlan *plan, const TesseraSlot *slot)
{
  uint64_t key = (uint64_t) slot->stream << 17 | (uint64_t) slot->pool << 1;

  /* On a single stream any order is safe. */
  return plan->n_streams > 1 ? key | (slot->block_bytes <= SMALL_BYTES) : key;
}

/* Of a rota of more than a slot and its spare: which of its places are free, the next
 * requests of the rota decide. */
static bool
takes_turns (const TesseraSlots *slots, uint32_t slot)
{
  return slots->next_places[slots->next_places[slot]] != slot;
}

/* Numbers the zones of the slots. Returns: how many, or MAX_ZONES + 1: too many. */
static uint32_t
number_zones (TesseraReuse *reuse)
{
  const TesseraPlan *plan = reuse->slots->plan;
  uint64_t keys[MAX_ZONES];
  uint32_t n_zones = 0;

  for (uint32_t i = 0; i < plan->n_slots; i++)
    {
      uint64_t key = tessera_reuse_key (plan, &plan->slots[i]);
      uint32_t zone = 0;

      if (takes_turns (reuse->slots, i))
        {
          reuse->zone_of_slot[i] = TURNS;
          continue;
        }
      while (zone < n_zones && keys[zone] != key)
        zone++;
      if (zone == MAX_ZONES)
        return MAX_ZONES + 1;
      if (zone == n_zones)
        keys[n_zones++] = key;
      reuse->zone_of_slot[i] = zone;
    }
  return n_zones;
}

/* Marks between which offsets slots of one zone lie: counts of begins less ends. */
static void
mark_zone (TesseraReuse *reuse, uint32_t zone, int32_t *depths)
{
  const TesseraSlots *slots = reuse->slots;
  int64_t depth = 0;

  for (uint32_t r = 0; r <= slots->n_offsets; r++)
    depths[r] = 0;
  for (uint32_t i = 0; i < slots->plan->n_slots; i++)
    if (reuse->zone_of_slot[i] == zone)
      {
        depths[slots->ranks[i]]++;
        depths[slots->end_ranks[i]]--;
      }
  for (uint32_t r = 0; r < slots->n_offsets; r++)
    {
      depth += depths[r];
      if (depth > 0)
        reuse->zones[r] = reuse->zones[r] == NOBODY ? zone : SEVERAL;
    }
}

TesseraStatus
tessera_reuse_init (TesseraReuse *reuse, const TesseraSlots *slots)
{
  size_t n_offsets = (size_t) slots->n_offsets + 1;
  int32_t *depths = calloc (n_offsets, sizeof *depths);
  uint64_t end_bytes = slots->plan->height_bytes;
  uint32_t n_zones;

  *reuse = (TesseraReuse){ .slots = slots };
  reuse->zones = malloc (n_offsets * sizeof *reuse->zones);
  reuse->zone_ends = malloc (n_offsets * sizeof *reuse->zone_ends);
  reuse->zone_of_slot = malloc ((slots->plan->n_slots + 1) * sizeof *reuse->zone_of_slot);
  if (depths == NULL || reuse->zones == NULL || reuse->zone_ends == NULL ||
      reuse->zone_of_slot == NULL)
    {
      free (depths);
      tessera_reuse_clear (reuse);
      return TESSERA_NO_MEMORY;
    }
  for (uint32_t r = 0; r < slots->n_offsets; r++)
    reuse->zones[r] = NOBODY;
  n_zones = number_zones (reuse);
  reuse->is_off = n_zones > MAX_ZONES || slots->plan->across_streams;
  for (uint32_t z = 0; !reuse->is_off && z < n_zones; z++)
    mark_zone (reuse, z, depths);
  if (!reuse->is_off)
    mark_zone (reuse, TURNS, depths);
  for (uint32_t r = slots->n_offsets; r-- > 0;)
    {
      if (r + 1 < slots->n_offsets && reuse->zones[r + 1] != reuse->zones[r])
        end_bytes = slots->offsets[r + 1];
      reuse->zone_ends[r] = end_bytes;
    }
  free (depths);
  return TESSERA_OK;
}

void
tessera_reuse_clear (TesseraReuse *reuse)
{
  free (reuse->zones);
  free (reuse->zone_ends);
  free (reuse->zone_of_slot);
  *reuse = (TesseraReuse){ 0 };
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

bool
tessera_reuse_take (const TesseraReuse *reuse,
                    TesseraTaken *taken,
                    const TesseraFollowerGuard *guard,
                    uint32_t slot,
                    uint32_t n_after,
                    uint64_t *out_offset_bytes)
{
  const TesseraSlots *slots = reuse->slots;
  const TesseraSlot *wanted = &slots->plan->slots[slot];
  uint32_t n_needed = 0;
  uint32_t r = 0;

  if (reuse->is_off || wanted->wraps ||
      wanted->died > slots->plan->sections[wanted->section].end)
    return false;
  while (n_needed < n_after &&
         slots->plan->slots[slot + 1 + n_needed].born < wanted->died)
    if (++n_needed > MAX_NEEDED)
      return false;
  for (uint32_t n = 0; r < slots->n_offsets && n < MAX_TRIES; n++)
    {
      uint64_t begin = slots->offsets[r];
      uint64_t end = begin + wanted->block_bytes;
      uint64_t next = reuse->zone_ends[r];
      uint32_t end_rank;

      if (end > slots->plan->height_bytes)
        return false;
      if (reuse->zones[r] == reuse->zone_of_slot[slot] && end <= next)
        {
          end_rank = tessera_taken_rank (taken, end);
          if (!tessera_taken_is_blocked (taken, begin, end_rank, &next) &&
              !is_needed (slots, slot, n_needed, begin, end, &next) &&
              tessera_taken_take (taken, guard, r, end_rank, wanted->block_bytes, slot,
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
