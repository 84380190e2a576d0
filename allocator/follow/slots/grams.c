/*
 * Requests in a row, by a hash of their signatures: where in a plan a run may be that
 * made them last.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/follow/slots/private.h"

#include <stdlib.h>
#include <string.h>

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
  const TesseraGram *x = a;
  const TesseraGram *y = b;

  if (x->hash != y->hash)
    return x->hash < y->hash ? -1 : 1;
  return (x->last > y->last) - (x->last < y->last);
}

void
tessera_slots_fill_grams (TesseraSlots *slots)
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

uint32_t
tessera_slots_find_gram_near (const TesseraSlots *slots,
                              const uint32_t *signatures,
                              uint32_t cursor,
                              const TesseraGramRange *range)
{
  uint64_t hash = hash_gram (signatures);
  uint32_t nearest = TESSERA_NONE;
  uint32_t least = UINT32_MAX;

  for (uint32_t gram = first_gram (slots, hash, range->first);
       gram < slots->n_grams && slots->grams[gram].hash == hash &&
       slots->grams[gram].last < range->end;
       gram++)
    {
      uint32_t last = slots->grams[gram].last;
      uint32_t away = last > cursor ? last - cursor : cursor - last;

      if (away < least &&
          (range->phase == TESSERA_NONE || slots->phases[last] == range->phase) &&
          is_gram (slots, gram, signatures))
        {
          nearest = last;
          least = away;
        }
    }
  return nearest;
}
