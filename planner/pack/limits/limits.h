/*
 * What items are held to: pins, sets, bodies. See pack.h for what they mean.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/pack.h"

#define TESSERA_PACK_NOT_PINNED UINT64_MAX
#define TESSERA_PACK_NO_BODY UINT32_MAX

/* Of one item. */
typedef struct
{
  uint64_t pinned_bytes; /* or TESSERA_PACK_NOT_PINNED */
  uint64_t in, apart;    /* sets */
  uint64_t body_offset_bytes;
  uint32_t body; /* 0, 1, 2 ... or TESSERA_PACK_NO_BODY */
  uint32_t zone;
} TesseraPackLimit;

/* Tells whether two items may not share an address, whenever they live. */
static inline bool
tessera_pack_limits_meet (const TesseraPackLimit *a, const TesseraPackLimit *b)
{
  return ((a->in & b->apart) | (b->in & a->apart)) != 0 || a->zone != b->zone;
}

/*
 * tessera_pack_limits_new:
 * @out_limits: (array length=n_items): NULL where nobody is held to anything; to be freed
 * @conflict: set when refused
 *
 * Numbers the bodies without gaps, lets a pin hold for all of its body, and makes sure
 * that what is fixed can be: then the rest can always be placed, higher up if need be.
 * Returns: TESSERA_OK, TESSERA_NO_MEMORY or TESSERA_REFUSED; @items have been validated.
 */
TESSERA_MUST_USE TesseraStatus tessera_pack_limits_new (const TesseraItem *items,
                                                        size_t n_items,
                                                        TesseraPackLimit **out_limits,
                                                        uint32_t conflict[2]);

/* What each item says of itself, looked at by nobody: no bodies. */
void tessera_pack_limits_fill (const TesseraItem *items,
                               size_t n_items,
                               TesseraPackLimit *limits);

/* The highest end of what is pinned; @limits may be NULL. */
uint64_t tessera_pack_highest_pin (const TesseraItem *items,
                                   const TesseraPackLimit *limits,
                                   size_t n_items);
