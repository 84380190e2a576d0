/*
 * Which parts of a plan's pool may be lent to whom.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/follow/places/zones.h"

#include <stdlib.h>

#define SMALL_BYTES ((uint64_t) 1 << 20) /* PyTorch's small pool serves up to this */

enum
{
  MAX_ZONES = 64, /* streams, pools and sizes that are kept apart; more: no reuse */
  NOBODY = UINT32_MAX,
  SEVERAL = UINT32_MAX - 1
};

uint64_t
tessera_zone_key (const TesseraPlan *plan, const TesseraSlot *slot)
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

TesseraStatus
tessera_zones_init (TesseraZones *zones, const TesseraSlots *slots)
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
      tessera_zones_clear (zones);
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

void
tessera_zones_clear (TesseraZones *zones)
{
  free (zones->at);
  free (zones->ends);
  free (zones->of_slot);
  *zones = (TesseraZones){ 0 };
}
