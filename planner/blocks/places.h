/*
 * Which block holds an address: a hash table that never forgets a key, since addresses
 * come back.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/status.h"

typedef struct
{
  uint64_t addr;
  uint32_t holder; /* block, or TESSERA_NONE: free now */
  uint8_t is_used; /* somebody held it at some time */
} TesseraPlace;

/* Zeroed: empty. */
typedef struct
{
  TesseraPlace *places;
  size_t n_places; /* a power of two */
  size_t n_used;
} TesseraPlaces;

void tessera_places_clear (TesseraPlaces *places);
/* The place of @addr, valid until the next find; NULL: no memory. */
TesseraPlace *tessera_places_find (TesseraPlaces *places, uint64_t addr);
void tessera_places_hold (TesseraPlaces *places,
                          TesseraPlace *place,
                          uint64_t addr,
                          uint32_t block);
