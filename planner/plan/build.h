/*
 * What the files that make a plan share with each other, and nobody else.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <time.h>

#include "planner/edits/holds.h"
#include "planner/fold.h"
#include "planner/memory.h"
#include "planner/pack.h"
#include "planner/planner.h"

enum
{
  TESSERA_BUILD_MOST_SECTIONS = 10 /* the start, kinds of step, the end */
};

/* In left_out below: no edit does, steps keep it for good (planner/fold.h). */
#define TESSERA_LEFT_OUT_KEPT UINT32_MAX

/* When planning is to stop before its end: a person said so, or its time is up. In the
 * thread that plans; time is looked at where progress is reported, so a plan may take
 * somewhat longer than its limit. */
typedef struct
{
  const TesseraProgress *asked; /* (nullable): the caller's */
  TesseraProgress progress;     /* asks both; once it said stop, it stays with it */
  double time_limit_s;          /* of CLOCK_MONOTONIC; 0: none */
  struct timespec begin;
  TesseraCut cut; /* who said stop */
} TesseraStop;

typedef struct
{
  const TesseraTrace *trace;
  const TesseraBlocks *blocks; /* with groups, as edited */
  const TesseraStructure *structure;
  const TesseraPlanOptions *options;
  TesseraError *error;
  TesseraRun run;
  TesseraPlan *plan;
  size_t cap_slots, cap_unplanned;
  size_t n_spares[TESSERA_BUILD_MOST_SECTIONS]; /* by section: its last slots */

  TesseraConstraints constraints; /* of the edits */
  TesseraHolds holds;             /* the same, of slots */
  uint32_t *left_out; /* [n_blocks] of those that stand for others: 1 + the edit that
                           leaves it without a slot, or TESSERA_LEFT_OUT_KEPT; 0: none */
  TesseraStop stop;

  TesseraItem *items; /* what is packed: a slot, or two that share a range */
  size_t n_items;
  uint32_t *item_of_slot;
  uint64_t *last; /* (nullable) [n_blocks] of a preview under a cap: where the blocks lay
                     in the round before, UINT64_MAX: nowhere */
} TesseraPlanBuild;

/* A slot that reaches into a step: from the start into the first, or from the repeating
 * step into the next. */
typedef struct
{
  uint64_t owner, block_bytes;
  uint32_t tail; /* how far */
  uint32_t slot;
  uint32_t partner; /* slot, or TESSERA_NONE */
} TesseraTail;

/* Finds for each of @starts one of @wraps of equal owner and size that reaches no less
 * far, each at most once: the two never need their range at the same time. Those that
 * reach farthest come first. Sorts both. */
void tessera_match_tails (TesseraTail *starts,
                          size_t n_starts,
                          TesseraTail *wraps,
                          size_t n_wraps);

/* A slot of @block without an offset and names; the end is behind the birth. */
TesseraSlot tessera_build_make_slot (const TesseraPlanBuild *build,
                                     uint32_t block,
                                     uint32_t section,
                                     uint32_t born,
                                     uint32_t died);
void tessera_build_add_slot (TesseraPlanBuild *build, const TesseraSlot *slot);
/* Adds an unplanned request, without its names: it comes before the next slot that is
 * added. */
void tessera_build_unplanned (TesseraPlanBuild *build,
                              uint32_t block,
                              uint32_t section,
                              uint32_t born);
/* Slots in their order, without offsets; sections; phases and ordinals, and the unplanned
 * requests. */
void tessera_build_slots (TesseraPlanBuild *build);
void tessera_build_names (TesseraPlanBuild *build);
/* Items of the slots, in zones that keep apart what must not share an address. */
TESSERA_MUST_USE TesseraStatus tessera_build_items (TesseraPlanBuild *build);
/* What edits leave out, and what steps keep, of one kind of step. */
TESSERA_MUST_USE TesseraStatus tessera_build_leave_out (TesseraPlanBuild *build);
/* What edits hold, of slots. @stands_for: [n_blocks] the block whose slot stands for
 * each, or TESSERA_NONE. @map: all but the slots of blocks. */
TESSERA_MUST_USE TesseraStatus tessera_build_find_holds (TesseraPlanBuild *build,
                                                         const uint32_t *stands_for,
                                                         TesseraHoldsMap map);
/* Takes all of the layout back; the second one frees nothing: who has it keeps it. */
void tessera_build_forget (TesseraPlanBuild *build);
void tessera_build_release (TesseraPlanBuild *build);
/* Slots, names, holds, items, bound, offsets and rooms, anew. */
TESSERA_MUST_USE TesseraStatus tessera_build_layout (TesseraPlanBuild *build);
/* Whom sentences about edits go to. */
TesseraComplaint tessera_build_complaint (const TesseraPlanBuild *build);
/* What the options say about packing. */
TesseraPackOptions tessera_build_pack_options (const TesseraPlanBuild *build);
/* What was cut short is told of, and kept where that was asked for (time that is up
 * always keeps the best): else TESSERA_CANCELLED. */
TESSERA_MUST_USE TesseraStatus tessera_build_settle_cut (TesseraPlanBuild *build,
                                                         const TesseraPacking *packing);
/* Packs items with the groups of their slots as units, as the strategy `stalloc` does.
 * @item_of_slot: [n_slots] or TESSERA_NONE */
TESSERA_MUST_USE TesseraStatus tessera_build_pack_groups (const TesseraPlanBuild *build,
                                                          const TesseraItem *items,
                                                          const uint32_t *item_of_slot,
                                                          size_t n_items,
                                                          uint64_t *offsets,
                                                          TesseraPacking *out_packing);
/* "free: lowest offset next", after the strategy asked for: of the plan. */
void tessera_build_describe (TesseraPlanBuild *build, const char *packing);
/* Offsets, height and strategy, for the items as they are. */
TESSERA_MUST_USE TesseraStatus tessera_build_offsets (TesseraPlanBuild *build);
/* Of a layout in which streams share addresses: moves buffers so that fewer do, no higher
 * than it is, or than the options allow. */
void tessera_build_part_streams (const TesseraPlanBuild *build,
                                 const TesseraItem *items,
                                 const uint32_t *item_of_slot,
                                 size_t n_items,
                                 uint64_t *offsets);
/* Fills the rooms of a plan that has its offsets; none where nothing is dynamic. */
void tessera_build_rooms (TesseraPlanBuild *build);

/* Whether the slot is a spare. Its section has to be closed. */
static inline bool
tessera_build_is_spare (const TesseraPlanBuild *build, size_t slot)
{
  uint32_t section = build->plan->slots[slot].section;
  const TesseraSection *of = &build->plan->sections[section];

  return slot >= (size_t) of->first_slot + of->n_slots - build->n_spares[section];
}

/* Whether what PyTorch keeps apart by size is kept apart here: more than one stream, or a
 * recording of ours, whose plan is there to be followed: the run that does so may bring a
 * stream that the recording lacked (to prefetch batches), and from then on no range
 * passes between small and large at will. */
static inline bool
tessera_build_splits_sizes (const TesseraPlanBuild *build)
{
  return build->plan->n_streams > 1 ||
         tessera_trace_get_meta (build->trace, "policy") != NULL;
}

/* Whether they may share addresses all the same, and whether that they do not costs more
 * than it is worth: what one layout takes at least, if so and if not. */
bool tessera_build_may_join_sizes (const TesseraPlanBuild *build);
bool tessera_build_is_costly (const TesseraPlanBuild *build,
                              uint64_t apart_bytes,
                              uint64_t together_bytes);

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

/* The same, of what may share addresses at all: across streams only pool and size class. */
static inline uint64_t
tessera_build_owner (const TesseraPlanBuild *build, const TesseraSlot *slot)
{
  uint64_t stream = build->plan->crosses_streams ? (uint64_t) slot->stream << 1 : 0;

  return tessera_slot_owner (slot) - stream;
}
