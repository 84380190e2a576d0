/*
 * A plan in memory: birth, end and digest.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "db/plan.h"

#include <stdlib.h>

#include "db/hash.h"

TesseraStatus
tessera_plan_new (TesseraPlan **out_plan)
{
  *out_plan = calloc (1, sizeof **out_plan);
  return *out_plan ? TESSERA_OK : TESSERA_NO_MEMORY;
}

void
tessera_plan_free (TesseraPlan *plan)
{
  if (!plan)
    return;
  for (size_t i = 0; plan->groups && i < plan->n_groups; i++)
    free (plan->groups[i].name);
  for (size_t i = 0; plan->strings && i < plan->n_strings; i++)
    free (plan->strings[i]);
  for (size_t i = 0; plan->edits && i < plan->n_edits; i++)
    {
      free (plan->edits[i].name);
      free (plan->edits[i].rule);
    }
  tessera_lengths_free (plan->lengths);
  free (plan->slots);
  free (plan->placeless);
  free (plan->sections);
  free (plan->crossings);
  free (plan->rooms);
  free (plan->regions);
  free (plan->groups);
  free (plan->edits);
  free (plan->strings);
  free (plan->follow_reason);
  free (plan->strategy);
  free (plan->source);
  free (plan->torch);
  free (plan);
}

uint64_t
tessera_plan_pool_bytes (const TesseraPlan *plan)
{
  return plan->n_regions > 0 ? plan->regions[plan->n_regions - 1].end_bytes
                             : plan->height_bytes;
}

static uint64_t
hash_dynamic (const TesseraPlan *plan, uint64_t hash)
{
  for (size_t i = 0; i < plan->n_rooms; i++)
    {
      const TesseraRoom *room = &plan->rooms[i];
      const uint64_t numbers[] = { room->section,  room->before,      room->stream,
                                   room->is_small, room->begin_bytes, room->end_bytes };

      for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
        hash = tessera_hash_number (hash, numbers[k]);
    }
  for (size_t i = 0; i < plan->n_regions; i++)
    {
      hash = tessera_hash_number (hash, plan->regions[i].stream);
      hash = tessera_hash_number (hash, plan->regions[i].is_small);
      hash = tessera_hash_number (hash, plan->regions[i].end_bytes);
    }
  return hash;
}

static uint64_t
hash_placeless (const TesseraPlan *plan, uint64_t hash)
{
  for (size_t i = 0; i < plan->n_placeless; i++)
    {
      const TesseraPlaceless *placeless = &plan->placeless[i];
      const uint64_t numbers[] = { placeless->section, placeless->before,
                                   placeless->ordinal, placeless->block_bytes,
                                   placeless->stream,  placeless->pool };

      for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
        hash = tessera_hash_number (hash, numbers[k]);
    }
  return hash;
}

uint64_t
tessera_plan_digest (const TesseraPlan *plan)
{
  uint64_t hash = TESSERA_HASH_START;

  for (size_t i = 0; i < plan->n_slots; i++)
    {
      const TesseraSlot *slot = &plan->slots[i];
      const uint64_t numbers[] = { slot->section,      slot->ordinal, slot->block_bytes,
                                   slot->offset_bytes, slot->born,    slot->died,
                                   slot->stream };

      for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
        hash = tessera_hash_number (hash, numbers[k]);
    }
  for (size_t i = 0; i < plan->n_crossings; i++)
    {
      hash = tessera_hash_number (hash, plan->crossings[i].slot);
      hash = tessera_hash_number (hash, plan->crossings[i].section);
      hash = tessera_hash_number (hash, plan->crossings[i].died);
    }
  return hash_placeless (plan, hash_dynamic (plan, hash));
}
