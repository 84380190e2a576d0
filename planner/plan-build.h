/*
 * What the files that make a plan share with each other, and nobody else.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/pack.h"
#include "planner/planner.h"
#include "planner/run.h"

typedef struct
{
  const TesseraTrace *trace;
  const TesseraBlocks *blocks; /* with groups */
  const TesseraStructure *structure;
  const TesseraPlanOptions *options;
  TesseraRun run;
  TesseraPlan *plan;
  size_t cap_slots;
  size_t first_spare, n_spares; /* slots */

  TesseraItem *items; /* what is packed: a slot, or two that share a range */
  size_t n_items;
  uint32_t *item_of_slot;
} TesseraPlanBuild;

/* Slots in their order, without offsets; sections; phases and ordinals. */
TESSERA_MUST_USE TesseraStatus tessera_build_slots (TesseraPlanBuild *build);
TESSERA_MUST_USE TesseraStatus tessera_build_names (TesseraPlanBuild *build);
/* Items of the slots, in zones that keep apart what must not share an address. */
TESSERA_MUST_USE TesseraStatus tessera_build_items (TesseraPlanBuild *build);
/* Offsets, height and strategy. */
TESSERA_MUST_USE TesseraStatus tessera_build_offsets (TesseraPlanBuild *build);
/* The same where a range may pass from stream to stream, and the list of hand-overs. */
TESSERA_MUST_USE TesseraStatus tessera_build_across (TesseraPlanBuild *build);
TESSERA_MUST_USE TesseraStatus tessera_build_hand_overs (TesseraPlanBuild *build);

/* Whether what PyTorch keeps apart by size is kept apart here: more than one stream. */
static inline bool
tessera_build_splits_sizes (const TesseraPlanBuild *build)
{
  return build->plan->n_streams > 1;
}

/* PyTorch's small pool, by rounded size. */
static inline bool
tessera_slot_is_small (const TesseraSlot *slot)
{
  return slot->block_bytes <= (UINT64_C (1) << 20);
}

/* Slots of equal owner may follow each other at once: same stream, pool and size class.
 */
static inline uint64_t
tessera_slot_owner (const TesseraSlot *slot)
{
  return (uint64_t) slot->pool << 32 | (uint64_t) slot->stream << 1 |
         tessera_slot_is_small (slot);
}
