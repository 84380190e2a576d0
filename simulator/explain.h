/*
 * Why a block lies where it lies in a layout: what it rests on, what rests on it, whether
 * there was a lower place.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "simulator/layout.h"

/* Blocks are neighbours when they share a moment and one ends where the other begins. */
typedef struct
{
  uint64_t addr, block_bytes;
  uint64_t base_addr;  /* where the memory begins that holds it: segment or pool */
  uint64_t lower_addr; /* the lowest address from there on at which nothing else lies in
                          its whole life and it would fit; addr: there is none below */
  uint32_t *below;     /* what it rests on, largest first */
  size_t n_below;
  uint32_t *above; /* what rests on it, largest first */
  size_t n_above;
  uint32_t
      *chain; /* from the largest it rests on downward, each on the largest of its own */
  size_t n_chain;
} TesseraPlaceReason;

/* Linear in blocks, for each block of the chain once more. The caller clears *out_reason.
 * Returns: whether the block was ever placed (its request did not fail) */
bool tessera_explain_place (const TesseraBlocks *blocks,
                            const TesseraLayout *layout,
                            uint32_t block,
                            TesseraPlaceReason *out_reason);
void tessera_place_reason_clear (TesseraPlaceReason *reason);
