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
 * Of several such places the request gets the lowest, so that what lies elsewhere than
 * planned stays together. A block that was to live for more than 256 requests, or into the
 * next step, gets none: its request misses.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "allocator/follow.h"
#include "allocator/follow/slots.h"

/* A zone is what PyTorch would serve from the same memory: the same stream, pool, and
 * where several streams are at work the same of small and large. Between two offsets of a
 * plan there is one zone, or several, and then nothing there is lent. Made once from a
 * plan and not changed afterwards. */
#define TESSERA_ZONE_TURNS (UINT32_MAX - 2) /* of places that slots take in turn */

typedef struct
{
  const TesseraSlots *slots;
  uint32_t *at;      /* [n_offsets] the zone between this offset and the next */
  uint64_t *ends;    /* [n_offsets] up to where it is the same */
  uint32_t *of_slot; /* [n_slots] */
  bool is_off;       /* there are too many zones to tell them apart: nothing is lent */
} TesseraZones;

/* Slots of equal keys are what PyTorch would serve from the same memory. */
uint64_t tessera_zone_key (const TesseraPlan *plan, const TesseraSlot *slot);

typedef struct
{
  const TesseraSlots *slots;
  TesseraZones zones;
} TesseraReuse;

TESSERA_MUST_USE TesseraStatus tessera_reuse_init (TesseraReuse *reuse,
                                                   const TesseraSlots *slots);
void tessera_reuse_clear (TesseraReuse *reuse);

/*
 * tessera_reuse_take:
 * @slot: what is asked for; its own place is not free
 *
 * Takes such a place, if @hook takes it too. Returns: whether there is one; where in
 * *out_offset_bytes.
 */
bool tessera_reuse_take (const TesseraReuse *reuse,
                         const TesseraFollowerHook *hook,
                         uint32_t slot,
                         uint64_t *out_offset_bytes);
