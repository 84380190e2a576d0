/*
 * Fixed places of a plan for every length: see fixed.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/follow/lengths/fixed.h"

#include <stdlib.h>

#include "allocator/follow/lengths/sweep.h"

static int
by_offset (const void *a, const void *b)
{
  const TesseraFixedPlace *x = a;
  const TesseraFixedPlace *y = b;

  return (x->offset_bytes > y->offset_bytes) - (x->offset_bytes < y->offset_bytes);
}

static void
list_places (TesseraFixedPlaces *fixed)
{
  const TesseraLengths *lengths = fixed->lengths;

  for (uint32_t i = 0; i < lengths->n_slots; i++)
    {
      const TesseraLengthsSlot *slot = &lengths->slots[i];

      fixed->own[i] = fixed->spare[i] = TESSERA_NONE;
      if (slot->place != TESSERA_PLACE_FIXED)
        continue;
      fixed->places[fixed->n_places++] =
          (TesseraFixedPlace){ slot->offset_bytes, i, false, false };
      if (slot->crosses && slot->spare_bytes != slot->offset_bytes)
        fixed->places[fixed->n_places++] =
            (TesseraFixedPlace){ slot->spare_bytes, i, true, false };
    }
  qsort (fixed->places, fixed->n_places, sizeof *fixed->places, by_offset);
  for (uint32_t k = 0; k < fixed->n_places; k++)
    {
      const TesseraFixedPlace *place = &fixed->places[k];

      (place->is_spare ? fixed->spare : fixed->own)[place->slot] = k;
    }
}

TesseraStatus
tessera_fixed_places_init (TesseraFixedPlaces *fixed, const TesseraLengths *lengths)
{
  size_t n = (size_t) lengths->n_slots + 1;

  *fixed = (TesseraFixedPlaces){ .lengths = lengths };
  fixed->most_bytes = malloc (((size_t) lengths->n_laws + 1) * sizeof *fixed->most_bytes);
  fixed->places = calloc (2 * n, sizeof *fixed->places);
  fixed->own = malloc (n * sizeof *fixed->own);
  fixed->spare = malloc (n * sizeof *fixed->spare);
  if (!fixed->most_bytes || !fixed->places || !fixed->own || !fixed->spare ||
      !tessera_sweep_sizes (lengths, &lengths->most, fixed->most_bytes))
    return TESSERA_NO_MEMORY;
  list_places (fixed);
  return TESSERA_OK;
}

void
tessera_fixed_places_clear (TesseraFixedPlaces *fixed)
{
  free (fixed->most_bytes);
  free (fixed->places);
  free (fixed->own);
  free (fixed->spare);
  *fixed = (TesseraFixedPlaces){ 0 };
}

TesseraFixedPlace *
tessera_fixed_places_at (const TesseraFixedPlaces *fixed, uint64_t offset_bytes)
{
  const TesseraFixedPlace key = { .offset_bytes = offset_bytes };

  return fixed->n_places > 0
             ? bsearch (&key, fixed->places, fixed->n_places, sizeof key, by_offset)
             : NULL;
}

const TesseraFixedPlace *
tessera_fixed_places_own (const TesseraFixedPlaces *fixed, uint32_t slot)
{
  return fixed->own[slot] != TESSERA_NONE ? &fixed->places[fixed->own[slot]] : NULL;
}

bool
tessera_fixed_places_take (TesseraFixedPlaces *fixed,
                           uint32_t slot,
                           uint64_t size_bytes,
                           const TesseraFollowerGuard *guard,
                           uint64_t *out_offset_bytes)
{
  const uint32_t places[] = { fixed->own[slot], fixed->spare[slot] };

  if (size_bytes > fixed->most_bytes[fixed->lengths->slots[slot].law])
    return false;
  for (size_t k = 0; k < 2; k++)
    {
      TesseraFixedPlace *place =
          places[k] != TESSERA_NONE ? &fixed->places[places[k]] : NULL;
      uint64_t end_bytes;

      if (place == NULL || place->is_taken ||
          !guard->take (guard->user, place->offset_bytes, &end_bytes))
        continue;
      place->is_taken = place->is_own = true;
      *out_offset_bytes = place->offset_bytes;
      return true;
    }
  return false;
}
