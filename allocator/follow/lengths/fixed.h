/*
 * The fixed places of a plan for every length, and which of them a block lies in.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "allocator/follow.h"
#include "db/lengths.h"

/* A place that does not move, and whether a block lies there. */
typedef struct
{
  uint64_t offset_bytes;
  uint32_t slot;
  bool is_spare;
  bool is_taken;
  bool is_own; /* ... by a block of the slot, not by one that may lie there meanwhile */
} TesseraFixedPlace;

typedef struct
{
  const TesseraLengths *lengths;
  uint64_t *most_bytes;      /* [n_laws] what fixed places have */
  TesseraFixedPlace *places; /* by offset */
  uint32_t n_places;
  uint32_t *own, *spare; /* [n_slots] index into places, or TESSERA_NONE */
} TesseraFixedPlaces;

/* Nothing lies in any. TESSERA_OK or TESSERA_NO_MEMORY; to be cleared in any case. */
TESSERA_MUST_USE TesseraStatus tessera_fixed_places_init (TesseraFixedPlaces *fixed,
                                                          const TesseraLengths *lengths);
void tessera_fixed_places_clear (TesseraFixedPlaces *fixed);

/* The one at the offset, or NULL. */
TesseraFixedPlace *tessera_fixed_places_at (const TesseraFixedPlaces *fixed,
                                            uint64_t offset_bytes);

/* The slot's own, or NULL: it has none. */
const TesseraFixedPlace *tessera_fixed_places_own (const TesseraFixedPlaces *fixed,
                                                   uint32_t slot);

/* Takes a place of the slot that is free, large enough, and granted by the guard.
 * Returns: whether there is one. */
bool tessera_fixed_places_take (TesseraFixedPlaces *fixed,
                                uint32_t slot,
                                uint64_t size_bytes,
                                const TesseraFollowerGuard *guard,
                                uint64_t *out_offset_bytes);
