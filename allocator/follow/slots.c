/*
 * What a follower looks up in a plan: see matching.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/follow/matching.h"

#include <stdlib.h>
#include <string.h>

/* ---- Signatures: a hash table by stream, pool and rounded size ---- */

uint64_t
tessera_slots_round (const TesseraSlots *slots, uint64_t size_bytes)
{
  uint64_t alignment_bytes = slots->plan->alignment_bytes;
  uint64_t step = alignment_bytes > 0 ? alignment_bytes : 1;
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
  if (stream > UINT16_MAX || pool > UINT16_MAX || size_bytes > slots->most_bytes)
    return TESSERA_NONE;
  return look_up (slots, tessera_slots_round (slots, size_bytes),
                  pack_stream_pool (stream, pool))
      ->signature;
}

static uint32_t
signature_of (const TesseraSlots *slots, uint32_t slot)
{
  const TesseraSlot *of = &slots->plan->slots[slot];

  return look_up (slots, of->block_bytes, pack_stream_pool (of->stream, of->pool))
      ->signature;
}

/* Enters a request of this shape, with a number of its own if it is the first:
 * @n_signatures counts them. Returns: its signature. */
static uint32_t
sign (TesseraSlots *slots,
      uint64_t block_bytes,
      uint32_t stream,
      uint32_t pool,
      uint32_t *n_signatures)
{
  uint32_t stream_pool = pack_stream_pool (stream, pool);
  TesseraSignature *entry = look_up (slots, block_bytes, stream_pool);

  if (entry->signature == TESSERA_NONE)
    *entry = (TesseraSignature){ .block_bytes = block_bytes,
                                 .stream_pool = stream_pool,
                                 .signature = (*n_signatures)++ };
  if (block_bytes > slots->most_bytes)
    slots->most_bytes = block_bytes;
  return entry->signature;
}

/* ---- Rotations: places that requests take in turn ---- */

/* Slots of one section that are equal but for their number are one rotation. */
typedef struct
{
  uint32_t section;
  uint32_t signature;
  uint32_t block;
  uint32_t slot;
} Member;

static int
compare_numbers (uint32_t x, uint32_t y)
{
  return (x > y) - (x < y);
}

static int
compare_rotations (const Member *x, const Member *y)
{
  if (x->section != y->section)
    return compare_numbers (x->section, y->section);
  return compare_numbers (x->signature, y->signature);
}

/* A slot comes right before the spare that was made from the same block. */
static int
compare_members (const void *a, const void *b)
{
  const Member *x = a, *y = b;
  int order = compare_rotations (x, y);

  if (order != 0)
    return order;
  if (x->block != y->block)
    return compare_numbers (x->block, y->block);
  return compare_numbers (x->slot, y->slot);
}

/* Taken over the whole of a section that repeats. */
static bool
is_of_rotation (const TesseraSlots *slots, uint32_t slot)
{
  const TesseraSlot *of = &slots->plan->slots[slot];
  const TesseraSection *section = &slots->plan->sections[of->section];

  if (section->kind != TESSERA_SECTION_REPEATS)
    return false;
  if (slot - section->first_slot >= slots->n_asked[of->section])
    return true;
  return of->wraps ? of->died_next >= of->born
                   : of->born == section->begin && of->died >= section->end;
}

/* Links the slots of each rotation in a ring. */
static void
link_rotations (TesseraSlots *slots, const Member *members, size_t n_members)
{
  size_t end;

  for (size_t i = 0; i < n_members; i = end)
    {
      for (end = i;
           end < n_members && compare_rotations (&members[i], &members[end]) == 0; end++)
        {
          slots->next_places[members[end].slot] =
              end + 1 < n_members ? members[end + 1].slot : TESSERA_NONE;
        }
      slots->next_places[members[end - 1].slot] = members[i].slot;
    }
}

/* slots->next_places. */
static TesseraStatus
fill_rotations (TesseraSlots *slots)
{
  const TesseraPlan *plan = slots->plan;
  Member *members = malloc ((plan->n_slots + 1) * sizeof *members);
  size_t n_members = 0;

  if (members == NULL)
    return TESSERA_NO_MEMORY;
  for (uint32_t i = 0; i < plan->n_slots; i++)
    {
      slots->next_places[i] = i;
      if (is_of_rotation (slots, i))
        members[n_members++] = (Member){ .section = plan->slots[i].section,
                                         .signature = signature_of (slots, i),
                                         .block = plan->slots[i].block,
                                         .slot = i };
    }
  if (n_members > 0)
    qsort (members, n_members, sizeof *members, compare_members);
  link_rotations (slots, members, n_members);
  free (members);
  return TESSERA_OK;
}

/* ---- Requests in a row: where in a plan a run may be that made them last ---- */

#define FNV_START UINT64_C (0xcbf29ce484222325)
#define FNV_PRIME UINT64_C (0x100000001b3)

static uint64_t
hash_gram (const uint32_t *signatures)
{
  uint64_t h = FNV_START;

  for (int i = 0; i < TESSERA_GRAM_REQUESTS; i++)
    h = (h ^ signatures[i] ^ (h >> 31)) * FNV_PRIME;
  return h;
}

static int
compare_grams (const void *a, const void *b)
{
  const TesseraGram *x = a, *y = b;

  if (x->hash != y->hash)
    return x->hash < y->hash ? -1 : 1;
  return (x->last > y->last) - (x->last < y->last);
}

/* There is room for one a request. */
static void
fill_grams (TesseraSlots *slots)
{
  for (uint32_t s = 0; s < slots->plan->n_sections; s++)
    {
      for (uint32_t i = TESSERA_GRAM_REQUESTS; i <= tessera_slots_n_requests (slots, s);
           i++)
        {
          uint32_t end = slots->first_requests[s] + i;

          slots->grams[slots->n_grams++] = (TesseraGram){
            .hash = hash_gram (slots->signatures + end - TESSERA_GRAM_REQUESTS),
            .last = end - 1,
          };
        }
    }
  if (slots->n_grams > 0)
    qsort (slots->grams, slots->n_grams, sizeof *slots->grams, compare_grams);
}

/* The first of the grams that is not before this one. */
static uint32_t
first_gram (const TesseraSlots *slots, uint64_t hash, uint32_t last)
{
  const TesseraGram from = { .hash = hash, .last = last };
  uint32_t low = 0;
  uint32_t high = slots->n_grams;

  while (low < high)
    {
      uint32_t middle = low + (high - low) / 2;

      if (compare_grams (&slots->grams[middle], &from) < 0)
        low = middle + 1;
      else
        high = middle;
    }
  return low;
}

static bool
is_gram (const TesseraSlots *slots, uint32_t gram, const uint32_t *signatures)
{
  return memcmp (slots->signatures + slots->grams[gram].last + 1 - TESSERA_GRAM_REQUESTS,
                 signatures, TESSERA_GRAM_REQUESTS * sizeof *signatures) == 0;
}

uint32_t
tessera_slots_find_gram (const TesseraSlots *slots,
                         const uint32_t *signatures,
                         uint32_t cursor,
                         uint32_t first)
{
  uint64_t hash = hash_gram (signatures);
  const uint32_t starts[] = { cursor, first };

  for (size_t k = 0; k < sizeof starts / sizeof starts[0]; k++)
    {
      uint32_t gram = first_gram (slots, hash, starts[k]);

      if (gram < slots->n_grams && slots->grams[gram].hash == hash &&
          is_gram (slots, gram, signatures))
        return slots->grams[gram].last;
    }
  return TESSERA_NONE;
}

/* ---- The whole ---- */

static bool
is_slot_sound (const TesseraPlan *plan, uint32_t slot, uint32_t section)
{
  const TesseraSlot *s = &plan->slots[slot];

  return s->section == section && s->block_bytes > 0 &&
         s->block_bytes <= plan->height_bytes &&
         s->offset_bytes <= plan->height_bytes - s->block_bytes;
}

static bool
are_unplanned_sound (const TesseraPlan *plan)
{
  for (size_t i = 0; i < plan->n_unplanned; i++)
    {
      const TesseraUnplanned *unplanned = &plan->unplanned[i];

      if (unplanned->section >= plan->n_sections || unplanned->block_bytes == 0)
        return false;
      if (i > 0 && (unplanned[-1].section > unplanned->section ||
                    (unplanned[-1].section == unplanned->section &&
                     unplanned[-1].before > unplanned->before)))
        return false;
    }
  return true;
}

static bool
is_sound (const TesseraPlan *plan)
{
  uint32_t slot = 0;

  if (plan->n_slots >= TESSERA_NONE || plan->n_sections >= TESSERA_NONE ||
      plan->n_unplanned >= TESSERA_NONE - plan->n_slots || !are_unplanned_sound (plan))
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

static uint64_t
find_step (const TesseraPlan *plan)
{
  uint64_t step_bytes = plan->alignment_bytes > 0 ? plan->alignment_bytes : 1;

  for (size_t i = 0; i < plan->n_slots; i++)
    if (plan->slots[i].block_bytes % step_bytes != 0)
      return 0;
  return step_bytes;
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

/* Merges the slots that are asked for with the unplanned requests, section by section. */
static void
fill_requests (TesseraSlots *slots)
{
  const TesseraPlan *plan = slots->plan;
  size_t next = 0; /* unplanned request */
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
             (next < plan->n_unplanned && plan->unplanned[next].section == s))
        {
          const TesseraUnplanned *unplanned =
              next < plan->n_unplanned && plan->unplanned[next].section == s &&
                      (slot == last || plan->unplanned[next].before <= slot)
                  ? &plan->unplanned[next++]
                  : NULL;
          const TesseraSlot *of = unplanned == NULL ? &plan->slots[slot] : NULL;

          slots->next_slots[n] =
              slot < last ? slot
                          : plan->sections[s].first_slot + plan->sections[s].n_slots;
          slots->have_slots[n] = of != NULL;
          slots->phases[n] = of == NULL ? unplanned->phase : of->phase;
          slots->signatures[n++] =
              of == NULL
                  ? sign (slots, unplanned->block_bytes, unplanned->stream,
                          unplanned->pool, &n_signatures)
                  : sign (slots, of->block_bytes, of->stream, of->pool, &n_signatures);
          slot += of != NULL;
        }
    }
  slots->first_requests[plan->n_sections] = slots->n_requests = n;
  slots->next_slots[n] = (uint32_t) plan->n_slots;
}

static int
compare_u64 (const void *a, const void *b)
{
  const uint64_t *x = a, *y = b;

  return (*x > *y) - (*x < *y);
}

static void
fill_offsets (TesseraSlots *slots)
{
  const TesseraPlan *plan = slots->plan;

  for (uint32_t i = 0; i < plan->n_slots; i++)
    slots->offsets[i] = plan->slots[i].offset_bytes;
  if (plan->n_slots > 0)
    qsort (slots->offsets, plan->n_slots, sizeof *slots->offsets, compare_u64);
  for (uint32_t i = 0; i < plan->n_slots; i++)
    if (i == 0 || slots->offsets[i] != slots->offsets[slots->n_offsets - 1])
      slots->offsets[slots->n_offsets++] = slots->offsets[i];
}

TesseraStatus
tessera_slots_init (TesseraSlots *slots, const TesseraPlan *plan)
{
  size_t n_slots = plan->n_slots > 0 ? plan->n_slots : 1;
  size_t n_requests = plan->n_slots + plan->n_unplanned + 1; /* at most, and an end */
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
  slots->have_slots = malloc (n_requests * sizeof *slots->have_slots);
  slots->next_places = malloc (n_slots * sizeof *slots->next_places);
  slots->n_asked = calloc (plan->n_sections + 1, sizeof *slots->n_asked);
  slots->offsets = malloc (n_slots * sizeof *slots->offsets);
  slots->table = malloc (n_table * sizeof *slots->table);
  slots->grams = malloc (n_requests * sizeof *slots->grams);
  if (slots->first_requests == NULL || slots->signatures == NULL ||
      slots->phases == NULL || slots->next_slots == NULL || slots->next_places == NULL ||
      slots->n_asked == NULL || slots->offsets == NULL || slots->table == NULL ||
      slots->grams == NULL || slots->have_slots == NULL)
    {
      tessera_slots_clear (slots);
      return TESSERA_NO_MEMORY;
    }
  slots->step_bytes = find_step (plan);
  count_asked (slots);
  fill_requests (slots);
  if (fill_rotations (slots) != TESSERA_OK)
    {
      tessera_slots_clear (slots);
      return TESSERA_NO_MEMORY;
    }
  fill_offsets (slots);
  fill_grams (slots);
  return TESSERA_OK;
}

void
tessera_slots_clear (TesseraSlots *slots)
{
  free (slots->first_requests);
  free (slots->signatures);
  free (slots->phases);
  free (slots->next_slots);
  free (slots->have_slots);
  free (slots->next_places);
  free (slots->n_asked);
  free (slots->offsets);
  free (slots->table);
  free (slots->grams);
  *slots = (TesseraSlots){ 0 };
}
