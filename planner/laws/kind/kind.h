/*
 * Steps of one kind, request by request: what they have in common, and what only some do.
 *
 * Their skeletons are merged into one sequence that holds each of them in order: a slot
 * is a place of it, and each step has a block there or none. Steps with most requests in
 * common are of one kind, although some leave out a few: masks that need no padding,
 * copies that a batch of one doesn't make, states of the optimizer that only the first
 * step makes.
 *
 * Time in a kind counts slots: a block is alive from its own slot's request to the one
 * before which it ended, the latest of any step.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/laws/kind/skeleton.h"

typedef struct
{
  uint16_t stream, pool;
  uint32_t phase;  /* index into the structure's phases of the first step seen, or NONE */
  uint32_t died;   /* slot before whose request it has ended; n_slots: the step's end */
  uint32_t n_seen; /* steps that have a block here */
  uint32_t n_cross; /* ... that lives into the next step, or to the trace's end */
} TesseraKindSlot;

typedef struct
{
  uint32_t *steps;  /* [n_steps] indices into the structure's; a typical one first, then
                       ascending */
  uint64_t *hashes; /* [n_steps] of their skeletons */
  uint32_t n_steps;
  TesseraKindSlot *slots;
  uint32_t n_slots;
  uint32_t *blocks; /* [n_slots x n_steps] the block of the slot in the step, or NONE */
} TesseraKind;

typedef struct
{
  TesseraKind *kinds; /* most steps first */
  uint32_t n_kinds;
  uint32_t *kind_of_step; /* [n_steps of the structure]; NONE: not looked at */
} TesseraKinds;

static inline uint32_t
tessera_kind_block (const TesseraKind *kind, uint32_t slot, uint32_t step)
{
  return kind->blocks[(size_t) slot * kind->n_steps + step];
}

/* Of all steps; of more than TESSERA_FIT_STEPS (planner/laws/fit/fit.h) the last so many.
 * @are_parts: of steps (planner/laws/parts/parts.h): of one kind although the last of a
 * step goes on with the optimizer. TESSERA_OK or TESSERA_NO_MEMORY. */
TESSERA_MUST_USE TesseraStatus tessera_kinds_init (TesseraKinds *kinds,
                                                   const TesseraTrace *trace,
                                                   const TesseraBlocks *blocks,
                                                   const TesseraStructure *structure,
                                                   bool are_parts);
void tessera_kinds_clear (TesseraKinds *kinds);
void tessera_kind_clear (TesseraKind *kind);
