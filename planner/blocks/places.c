/*
 * Which block holds an address: see places.h. Open addressing, linear probing.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/blocks/places.h"

#include <stdlib.h>

static size_t
slot_of (const TesseraPlaces *places, uint64_t addr)
{
  /* Multiplication by 2^64 / golden ratio spreads addresses that are multiples of 512. */
  size_t i =
      (size_t) ((addr * UINT64_C (0x9E3779B97F4A7C15)) >> 20) & (places->n_places - 1);

  while (places->places[i].is_used && places->places[i].addr != addr)
    i = (i + 1) & (places->n_places - 1);
  return i;
}

static TesseraStatus
grow (TesseraPlaces *places)
{
  TesseraPlaces larger = { .n_places = places->n_places ? 2 * places->n_places : 1024,
                           .n_used = places->n_used };

  larger.places = calloc (larger.n_places, sizeof *larger.places);
  if (!larger.places)
    return TESSERA_NO_MEMORY;
  for (size_t i = 0; i < places->n_places; i++)
    if (places->places[i].is_used)
      larger.places[slot_of (&larger, places->places[i].addr)] = places->places[i];
  free (places->places);
  *places = larger;
  return TESSERA_OK;
}

TesseraPlace *
tessera_places_find (TesseraPlaces *places, uint64_t addr)
{
  size_t i;

  if (4 * places->n_used >= 3 * places->n_places && grow (places) != TESSERA_OK)
    return NULL;
  i = slot_of (places, addr);
  return &places->places[i];
}

void
tessera_places_hold (TesseraPlaces *places,
                     TesseraPlace *place,
                     uint64_t addr,
                     uint32_t block)
{
  if (!place->is_used)
    places->n_used++;
  place->is_used = 1;
  place->addr = addr;
  place->holder = block;
}

void
tessera_places_clear (TesseraPlaces *places)
{
  free (places->places);
  *places = (TesseraPlaces){ 0 };
}
