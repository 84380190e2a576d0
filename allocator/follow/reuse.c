/*
 * Another place in the pool for a planned request whose own place is not free.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/follow/matching.h"

#include <stdlib.h>

#include "db/sort.h"

#define SMALL_BYTES ((uint64_t) 1 << 20) /* PyTorch's small pool serves up to this */

/* Zones that are no slot's alone. */
#define NOBODY UINT64_MAX
#define SEVERAL (UINT64_MAX - 1)
#define TURNS (UINT64_MAX - 2) /* of places that slots take in turn */

enum
{
  /* What lives longer than so many requests has no other place. */
  MAX_NEEDED = 256,
  MAX_TRIES = 2048
};

/* ---- Zones ---- */

/* Of slots that PyTorch would serve from the same memory. Of a rotation of more than a slot
 * and its spare the next requests decide which places are free. */
static uint64_t
zone_of (const TesseraSlots *slots, uint32_t slot)
{
  const TesseraSlot *of = &slots->plan->slots[slot];
  uint64_t key = (uint64_t) of->stream << 17 | (uint64_t) of->pool << 1;

  if (slots->next_places[slots->next_places[slot]] != slot)
    return TURNS;
  /* On a single stream any order is safe. */
  return slots->plan->n_streams > 1 ? key | (of->block_bytes <= SMALL_BYTES) : key;
}

/* Of the first offset that is not below this one. */
static uint32_t
rank_of (const TesseraSlots *slots, uint64_t offset_bytes)
{
  return tessera_count_below (slots->offsets, slots->n_offsets, offset_bytes);
}

TesseraStatus
tessera_reuse_init (TesseraReuse *reuse, const TesseraSlots *slots)
{
  size_t n_offsets = (size_t) slots->n_offsets + 1;
  uint64_t *zones = malloc (n_offsets * sizeof *zones);
  uint64_t *ends = malloc (n_offsets * sizeof *ends);
  uint64_t end_bytes = slots->plan->height_bytes;

  *reuse = (TesseraReuse){ slots, zones, ends };
  if (zones == NULL || ends == NULL)
    {
      tessera_reuse_clear (reuse);
      return TESSERA_NO_MEMORY;
    }
  for (uint32_t r = 0; r < slots->n_offsets; r++)
    zones[r] = NOBODY;
  for (uint32_t i = 0; i < slots->plan->n_slots; i++)
    {
      const TesseraSlot *slot = &slots->plan->slots[i];
      uint64_t zone = zone_of (slots, i);

      for (uint32_t r = rank_of (slots, slot->offset_bytes);
           r < slots->n_offsets &&
           slots->offsets[r] < slot->offset_bytes + slot->block_bytes;
           r++)
        zones[r] = zones[r] == NOBODY || zones[r] == zone ? zone : SEVERAL;
    }
  for (uint32_t r = slots->n_offsets; r-- > 0; ends[r] = end_bytes)
    if (r + 1 < slots->n_offsets && zones[r + 1] != zones[r])
      end_bytes = slots->offsets[r + 1];
  return TESSERA_OK;
}

void
tessera_reuse_clear (TesseraReuse *reuse)
{
  free (reuse->zones);
  free (reuse->ends);
  *reuse = (TesseraReuse){ 0 };
}

/* ---- The search ---- */

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

bool
tessera_reuse_take (const TesseraReuse *reuse,
                    const TesseraFollowerHook *hook,
                    uint32_t slot,
                    uint64_t *out_offset_bytes)
{
  const TesseraSlots *slots = reuse->slots;
  const TesseraSlot *wanted = &slots->plan->slots[slot];
  uint32_t n_needed = count_needed (slots, slot), r = 0;
  uint64_t zone = zone_of (slots, slot);

  if (zone == TURNS || wanted->wraps || n_needed > MAX_NEEDED ||
      wanted->died > slots->plan->sections[wanted->section].end)
    return false;
  for (uint32_t n = 0; r < slots->n_offsets && n < MAX_TRIES; n++)
    {
      uint64_t begin = slots->offsets[r];
      uint64_t end = begin + wanted->block_bytes;
      uint64_t next = reuse->ends[r]; /* no place that begins before it is long enough */

      if (end > slots->plan->height_bytes)
        return false;
      if (reuse->zones[r] == zone && end <= next &&
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
