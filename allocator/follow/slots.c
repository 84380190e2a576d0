/*
 * What a follower looks up in a plan.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/follow/slots.h"

#include <stdlib.h>

#include "allocator/follow/slots/private.h"
#include "db/search.h"

static bool
is_slot_sound (const TesseraPlan *plan, uint32_t slot, uint32_t section)
{
  const TesseraSlot *s = &plan->slots[slot];

  return s->section == section && s->block_bytes > 0 &&
         s->block_bytes <= plan->height_bytes &&
         s->offset_bytes <= plan->height_bytes - s->block_bytes;
}

static bool
are_placeless_sound (const TesseraPlan *plan)
{
  for (size_t i = 0; i < plan->n_placeless; i++)
    {
      const TesseraPlaceless *placeless = &plan->placeless[i];

      if (placeless->section >= plan->n_sections || placeless->block_bytes == 0)
        return false;
      if (i > 0 && (placeless[-1].section > placeless->section ||
                    (placeless[-1].section == placeless->section &&
                     placeless[-1].before > placeless->before)))
        return false;
    }
  return true;
}

static bool
is_sound (const TesseraPlan *plan)
{
  uint32_t slot = 0;

  if (plan->n_slots >= TESSERA_NONE || plan->n_sections >= TESSERA_NONE ||
      plan->n_placeless >= TESSERA_NONE - plan->n_slots || !are_placeless_sound (plan))
    return false;
  for (uint32_t s = 0; s < plan->n_sections; s++)
    {
      const TesseraSection *section = &plan->sections[s];

      if (section->first_slot != slot || section->n_slots > plan->n_slots - slot)
        return false;
      for (uint32_t i = 0; i < section->n_slots; i++)
        if (!is_slot_sound (plan, slot++, s))
          return false;
    }
  return slot == plan->n_slots;
}

/* Spares stand last in a section that repeats; they are no request's own. */
static void
count_asked (TesseraSlots *slots)
{
  const TesseraPlan *plan = slots->plan;

  for (uint32_t s = 0; s < plan->n_sections; s++)
    {
      const TesseraSection *section = &plan->sections[s];
      uint32_t n_asked = section->n_slots;

      while (section->kind == TESSERA_SECTION_REPEATS && n_asked > 0 &&
             plan->slots[section->first_slot + n_asked - 1].ordinal == TESSERA_NONE)
        n_asked--;
      slots->n_asked[s] = n_asked;
    }
}

/* Merges the slots that are asked for with the placeless requests, section by section. */
static void
fill_requests (TesseraSlots *slots)
{
  const TesseraPlan *plan = slots->plan;
  size_t next = 0; /* placeless request */
  uint32_t n_signatures = 0;
  uint32_t n = 0;

  for (uint32_t i = 0; i <= slots->table_mask; i++)
    slots->table[i].signature = TESSERA_NONE;
  for (uint32_t s = 0; s < plan->n_sections; s++)
    {
      uint32_t slot = plan->sections[s].first_slot;
      uint32_t last = slot + slots->n_asked[s];

      slots->first_requests[s] = n;
      while (slot < last ||
             (next < plan->n_placeless && plan->placeless[next].section == s))
        {
          const TesseraPlaceless *placeless =
              next < plan->n_placeless && plan->placeless[next].section == s &&
                      (slot == last || plan->placeless[next].before <= slot)
                  ? &plan->placeless[next++]
                  : NULL;
          const TesseraSlot *of = placeless == NULL ? &plan->slots[slot] : NULL;

          slots->next_slots[n] =
              slot < last ? slot
                          : plan->sections[s].first_slot + plan->sections[s].n_slots;
          slots->phases[n] = of == NULL ? placeless->phase : of->phase;
          slots->signatures[n++] =
              of == NULL
                  ? tessera_slots_sign (slots, placeless->block_bytes, placeless->stream,
                                        placeless->pool, &n_signatures)
                  : tessera_slots_sign (slots, of->block_bytes, of->stream, of->pool,
                                        &n_signatures);
          slot += of != NULL;
        }
    }
  slots->first_requests[plan->n_sections] = slots->n_requests = n;
  slots->next_slots[n] = (uint32_t) plan->n_slots;
}

static int
compare_u64 (const void *a, const void *b)
{
  const uint64_t *x = a;
  const uint64_t *y = b;

  return (*x > *y) - (*x < *y);
}

static void
fill_ranks (TesseraSlots *slots)
{
  const TesseraPlan *plan = slots->plan;

  for (uint32_t i = 0; i < plan->n_slots; i++)
    slots->offsets[i] = plan->slots[i].offset_bytes;
  if (plan->n_slots > 0)
    qsort (slots->offsets, plan->n_slots, sizeof *slots->offsets, compare_u64);
  for (uint32_t i = 0; i < plan->n_slots; i++)
    if (i == 0 || slots->offsets[i] != slots->offsets[slots->n_offsets - 1])
      slots->offsets[slots->n_offsets++] = slots->offsets[i];
  for (uint32_t i = 0; i < plan->n_slots; i++)
    {
      const TesseraSlot *slot = &plan->slots[i];

      slots->ranks[i] =
          tessera_count_below (slots->offsets, slots->n_offsets, slot->offset_bytes);
      slots->end_ranks[i] = tessera_count_below (slots->offsets, slots->n_offsets,
                                                 slot->offset_bytes + slot->block_bytes);
    }
}

TesseraStatus
tessera_slots_init (TesseraSlots *slots, const TesseraPlan *plan)
{
  size_t n_slots = plan->n_slots > 0 ? plan->n_slots : 1;
  size_t n_requests = plan->n_slots + plan->n_placeless + 1; /* at most, and an end */
  size_t n_table = 16;

  *slots = (TesseraSlots){ .plan = plan };
  if (!is_sound (plan))
    return TESSERA_INVALID;
  while (n_table < 2 * n_requests)
    n_table *= 2;
  slots->table_mask = (uint32_t) (n_table - 1);
  slots->first_requests = calloc (plan->n_sections + 1, sizeof *slots->first_requests);
  slots->signatures = malloc (n_requests * sizeof *slots->signatures);
  slots->phases = malloc (n_requests * sizeof *slots->phases);
  slots->next_slots = malloc (n_requests * sizeof *slots->next_slots);
  slots->rotas = malloc (n_slots * sizeof *slots->rotas);
  slots->next_places = malloc (n_slots * sizeof *slots->next_places);
  slots->n_asked = calloc (plan->n_sections + 1, sizeof *slots->n_asked);
  slots->ranks = malloc (n_slots * sizeof *slots->ranks);
  slots->end_ranks = malloc (n_slots * sizeof *slots->end_ranks);
  slots->offsets = malloc (n_slots * sizeof *slots->offsets);
  slots->table = malloc (n_table * sizeof *slots->table);
  slots->grams = malloc (n_requests * sizeof *slots->grams);
  if (slots->first_requests == NULL || slots->signatures == NULL ||
      slots->phases == NULL || slots->next_slots == NULL || slots->rotas == NULL ||
      slots->next_places == NULL || slots->n_asked == NULL || slots->ranks == NULL ||
      slots->end_ranks == NULL || slots->offsets == NULL || slots->table == NULL ||
      slots->grams == NULL)
    {
      tessera_slots_clear (slots);
      return TESSERA_NO_MEMORY;
    }
  count_asked (slots);
  fill_requests (slots);
  if (tessera_slots_fill_rotas (slots) != TESSERA_OK)
    {
      tessera_slots_clear (slots);
      return TESSERA_NO_MEMORY;
    }
  fill_ranks (slots);
  tessera_slots_fill_grams (slots);
  return TESSERA_OK;
}

void
tessera_slots_clear (TesseraSlots *slots)
{
  free (slots->first_requests);
  free (slots->signatures);
  free (slots->phases);
  free (slots->next_slots);
  free (slots->rotas);
  free (slots->next_places);
  free (slots->n_asked);
  free (slots->ranks);
  free (slots->end_ranks);
  free (slots->offsets);
  free (slots->table);
  free (slots->grams);
  *slots = (TesseraSlots){ 0 };
}
