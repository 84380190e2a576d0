/*
 * What a follower looks up in a plan.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/follow/slots.h"

#include <stdlib.h>
#include <string.h>

#define FNV_START UINT64_C (0xcbf29ce484222325)
#define FNV_PRIME UINT64_C (0x100000001b3)

static bool
is_slot_sound (const TesseraPlan *plan, uint32_t slot, uint32_t section)
{
  const TesseraSlot *s = &plan->slots[slot];

  return s->section == section && s->block_bytes > 0 &&
         s->block_bytes <= plan->height_bytes &&
         s->offset_bytes <= plan->height_bytes - s->block_bytes;
}

static bool
is_sound (const TesseraPlan *plan)
{
  uint32_t slot = 0;

  if (plan->n_slots >= TESSERA_NONE || plan->n_sections >= TESSERA_NONE)
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

/* The size as the plan counts it: whole steps of its alignment, at least one. */
static uint64_t
round_to_plan (const TesseraPlan *plan, uint64_t size_bytes)
{
  uint64_t step = plan->alignment_bytes > 0 ? plan->alignment_bytes : 1;
  uint64_t n_steps = size_bytes / step + (size_bytes % step != 0);

  return (n_steps > 0 ? n_steps : 1) * step;
}

/* The finalizer of SplitMix64: sizes are multiples of the alignment, and often one of
 * another, so every bit has to reach the low ones. */
static uint32_t
hash_key (uint64_t block_bytes, uint32_t stream_pool)
{
  uint64_t h = block_bytes + stream_pool * UINT64_C (0x9e3779b97f4a7c15);

  h = (h ^ (h >> 30)) * UINT64_C (0xbf58476d1ce4e5b9);
  h = (h ^ (h >> 27)) * UINT64_C (0x94d049bb133111eb);
  return (uint32_t) (h ^ (h >> 31));
}

/* The place of the key in the table: where it is, or the empty one where it would be. */
static TesseraSignature *
look_up (const TesseraSlots *slots, uint64_t block_bytes, uint32_t stream_pool)
{
  uint32_t at = hash_key (block_bytes, stream_pool) & slots->table_mask;

  for (;; at = (at + 1) & slots->table_mask)
    {
      TesseraSignature *entry = &slots->table[at];

      if (entry->signature == TESSERA_NONE ||
          (entry->block_bytes == block_bytes && entry->stream_pool == stream_pool))
        return entry;
    }
}

static uint32_t
pack_stream_pool (uint32_t stream, uint32_t pool)
{
  return stream << 16 | pool;
}

uint32_t
tessera_slots_find_signature (const TesseraSlots *slots,
                              uint64_t size_bytes,
                              uint32_t stream,
                              uint32_t pool)
{
  if (stream > UINT16_MAX || pool > UINT16_MAX || size_bytes > slots->plan->height_bytes)
    return TESSERA_NONE;
  return look_up (slots, round_to_plan (slots->plan, size_bytes),
                  pack_stream_pool (stream, pool))
      ->signature;
}

static void
fill_signatures (TesseraSlots *slots)
{
  uint32_t n_signatures = 0;

  for (uint32_t i = 0; i <= slots->table_mask; i++)
    slots->table[i].signature = TESSERA_NONE;
  for (uint32_t i = 0; i < slots->plan->n_slots; i++)
    {
      const TesseraSlot *slot = &slots->plan->slots[i];
      uint32_t stream_pool = pack_stream_pool (slot->stream, slot->pool);
      TesseraSignature *entry = look_up (slots, slot->block_bytes, stream_pool);

      if (entry->signature == TESSERA_NONE)
        *entry = (TesseraSignature){ .block_bytes = slot->block_bytes,
                                     .stream_pool = stream_pool,
                                     .signature = n_signatures++ };
      slots->signatures[i] = entry->signature;
    }
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

typedef struct
{
  uint32_t section;
  uint32_t block;
  uint32_t slot;
} Spare;

static int
compare_spares (const void *a, const void *b)
{
  const Spare *x = a;
  const Spare *y = b;

  if (x->section != y->section)
    return x->section < y->section ? -1 : 1;
  return (x->block > y->block) - (x->block < y->block);
}

/* A spare and the slot it stands in for were made from the same block. */
static TesseraStatus
fill_spares (TesseraSlots *slots)
{
  const TesseraPlan *plan = slots->plan;
  Spare *spares = malloc ((plan->n_slots + 1) * sizeof *spares);
  size_t n_spares = 0;

  if (spares == NULL)
    return TESSERA_NO_MEMORY;
  for (uint32_t s = 0; s < plan->n_sections; s++)
    for (uint32_t i = slots->n_asked[s]; i < plan->sections[s].n_slots; i++)
      {
        uint32_t slot = plan->sections[s].first_slot + i;

        spares[n_spares++] = (Spare){ s, plan->slots[slot].block, slot };
      }
  if (n_spares > 0)
    qsort (spares, n_spares, sizeof *spares, compare_spares);
  for (uint32_t s = 0; s < plan->n_sections; s++)
    for (uint32_t i = 0; i < plan->sections[s].n_slots; i++)
      {
        uint32_t slot = plan->sections[s].first_slot + i;
        const Spare wanted = { s, plan->slots[slot].block, slot };
        const Spare *spare = NULL;

        if (i < slots->n_asked[s] && n_spares > 0)
          spare = bsearch (&wanted, spares, n_spares, sizeof *spares, compare_spares);
        slots->spares[slot] = spare != NULL ? spare->slot : TESSERA_NONE;
      }
  free (spares);
  return TESSERA_OK;
}

static int
compare_u64 (const void *a, const void *b)
{
  const uint64_t *x = a;
  const uint64_t *y = b;

  return (*x > *y) - (*x < *y);
}

static uint32_t
rank_of (const TesseraSlots *slots, uint64_t offset_bytes)
{
  uint32_t low = 0;
  uint32_t high = slots->n_offsets;

  while (low < high)
    {
      uint32_t middle = low + (high - low) / 2;

      if (slots->offsets[middle] < offset_bytes)
        low = middle + 1;
      else
        high = middle;
    }
  return low;
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

      slots->ranks[i] = rank_of (slots, slot->offset_bytes);
      slots->end_ranks[i] = rank_of (slots, slot->offset_bytes + slot->block_bytes);
    }
}

static uint64_t
hash_gram (const uint32_t *signatures)
{
  uint64_t h = FNV_START;

  for (int i = 0; i < TESSERA_GRAM_SLOTS; i++)
    h = (h ^ signatures[i] ^ (h >> 31)) * FNV_PRIME;
  return h;
}

static int
compare_grams (const void *a, const void *b)
{
  const TesseraGram *x = a;
  const TesseraGram *y = b;

  if (x->hash != y->hash)
    return x->hash < y->hash ? -1 : 1;
  return (x->last_slot > y->last_slot) - (x->last_slot < y->last_slot);
}

static void
fill_grams (TesseraSlots *slots)
{
  for (uint32_t s = 0; s < slots->plan->n_sections; s++)
    {
      for (uint32_t i = TESSERA_GRAM_SLOTS; i <= slots->n_asked[s]; i++)
        {
          uint32_t end = slots->plan->sections[s].first_slot + i;

          slots->grams[slots->n_grams++] = (TesseraGram){
            .hash = hash_gram (slots->signatures + end - TESSERA_GRAM_SLOTS),
            .last_slot = end - 1,
          };
        }
    }
  if (slots->n_grams > 0)
    qsort (slots->grams, slots->n_grams, sizeof *slots->grams, compare_grams);
}

TesseraStatus
tessera_slots_init (TesseraSlots *slots, const TesseraPlan *plan)
{
  size_t n_slots = plan->n_slots > 0 ? plan->n_slots : 1;
  size_t n_table = 16;

  *slots = (TesseraSlots){ .plan = plan };
  if (!is_sound (plan))
    return TESSERA_INVALID;
  while (n_table < 2 * n_slots)
    n_table *= 2;
  slots->table_mask = (uint32_t) (n_table - 1);
  slots->signatures = malloc (n_slots * sizeof *slots->signatures);
  slots->spares = malloc (n_slots * sizeof *slots->spares);
  slots->n_asked = calloc (plan->n_sections + 1, sizeof *slots->n_asked);
  slots->ranks = malloc (n_slots * sizeof *slots->ranks);
  slots->end_ranks = malloc (n_slots * sizeof *slots->end_ranks);
  slots->offsets = malloc (n_slots * sizeof *slots->offsets);
  slots->table = malloc (n_table * sizeof *slots->table);
  slots->grams = malloc (n_slots * sizeof *slots->grams);
  if (slots->signatures == NULL || slots->spares == NULL || slots->n_asked == NULL ||
      slots->ranks == NULL || slots->end_ranks == NULL || slots->offsets == NULL ||
      slots->table == NULL || slots->grams == NULL)
    {
      tessera_slots_clear (slots);
      return TESSERA_NO_MEMORY;
    }
  fill_signatures (slots);
  count_asked (slots);
  if (fill_spares (slots) != TESSERA_OK)
    {
      tessera_slots_clear (slots);
      return TESSERA_NO_MEMORY;
    }
  fill_ranks (slots);
  fill_grams (slots);
  return TESSERA_OK;
}

void
tessera_slots_clear (TesseraSlots *slots)
{
  free (slots->signatures);
  free (slots->spares);
  free (slots->n_asked);
  free (slots->ranks);
  free (slots->end_ranks);
  free (slots->offsets);
  free (slots->table);
  free (slots->grams);
  *slots = (TesseraSlots){ 0 };
}

uint32_t
tessera_slots_find_gram (const TesseraSlots *slots,
                         const uint32_t *signatures,
                         uint32_t cursor,
                         uint32_t first)
{
  const TesseraGram from = { .hash = hash_gram (signatures), .last_slot = cursor };
  const TesseraGram any = { .hash = from.hash, .last_slot = first };
  const TesseraGram *starts[] = { &from, &any };

  for (size_t k = 0; k < sizeof starts / sizeof starts[0]; k++)
    {
      uint32_t low = 0;
      uint32_t high = slots->n_grams;

      while (low < high)
        {
          uint32_t middle = low + (high - low) / 2;

          if (compare_grams (&slots->grams[middle], starts[k]) < 0)
            low = middle + 1;
          else
            high = middle;
        }
      if (low < slots->n_grams && slots->grams[low].hash == from.hash &&
          memcmp (slots->signatures + slots->grams[low].last_slot + 1 -
                      TESSERA_GRAM_SLOTS,
                  signatures, TESSERA_GRAM_SLOTS * sizeof *signatures) == 0)
        return slots->grams[low].last_slot;
    }
  return TESSERA_NONE;
}
