/*
 * Another place in the pool for a planned request whose own place is not free.
 *
 * A run that differs a little from its plan leaves blocks where others were meant to be.
 * Most of the pool is not needed at most moments: a place will do that is free now and
 * that no slot needs as long as this one was to live. It must be one where only requests
 * lie that PyTorch would serve from the same memory as this one (stream, pool, and where
 * several streams are at work small or large): no range passes between them here. Places
 * that slots take in turn are not lent.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "allocator/follow/slots.h"
#include "allocator/follow/taken.h"

typedef struct
{
  const TesseraSlots *slots;
  uint32_t *zones;        /* [n_offsets] who lies between this offset and the next */
  uint64_t *zone_ends;    /* [n_offsets] up to where it is the same */
  uint32_t *zone_of_slot; /* [n_slots] */
  bool is_off;            /* ranges pass between streams by listed hand-overs only */
} TesseraReuse;

/* Slots of equal keys are what PyTorch would serve from the same memory. */
uint64_t tessera_reuse_key (const TesseraPlan *plan, const TesseraSlot *slot);

TESSERA_MUST_USE TesseraStatus tessera_reuse_init (TesseraReuse *reuse,
                                                   const TesseraSlots *slots);
void tessera_reuse_clear (TesseraReuse *reuse);

/*
 * tessera_reuse_take:
 * @slot: what is asked for; its own place is not free
 * @n_after: slots after it that are requested in its section
 *
 * Takes the lowest such place that @guard takes too. Returns: whether there is one; where
 * in *out_offset_bytes.
 */
bool tessera_reuse_take (const TesseraReuse *reuse,
                         TesseraTaken *taken,
                         const TesseraFollowerGuard *guard,
                         uint32_t slot,
                         uint32_t n_after,
                         uint64_t *out_offset_bytes);
