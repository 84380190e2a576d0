/*
 * How steps are chosen to fold, what they keep, and what they do not have in common:
 * between the files of this folder.
 *
 * The longest run of steps with equal requests is folded, else what all steps have in
 * common. A block that is alive through the whole of the step after its own is kept for
 * good: its request gets no place in any step, where that is little; else nothing can be
 * folded up to there.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/fold.h"
#include "planner/fold/retained.h"

/* Folds steps among [@from, @to], if any do, and gives the reason. @is_asked: a person
 * chose these. */
void tessera_run_choose (TesseraRun *run, uint32_t from, uint32_t to, bool is_asked);

/* Folds these steps, which ask for the same but for what is dynamic. */
void tessera_run_fold (TesseraRun *run, uint32_t first, uint32_t last);

/* Nothing is folded. */
void tessera_run_whole (TesseraRun *run, const char *reason);

/* What steps do not have in common: dynamic.c. */
enum
{
  TESSERA_SHARE_STEPS = 64 /* at most that are compared */
};

typedef struct
{
  uint32_t n_a_step;   /* dynamic requests, on average */
  uint64_t most_bytes; /* of their blocks that are alive at once */
} TesseraDynamicLoad;

/*
 * tessera_dynamic_find:
 * @first, @last: steps that are to fold; what lies between two belongs to the earlier
 * @last_end: event at which the last ends
 * @limit: event at which the trace ends for the plan
 * @out_is_dynamic: [n_blocks] 1: the block gets no slot; NULL where the steps
 *   have too little in common. In the steps before and after a block is dynamic that
 *   lies between two common requests where blocks of the folded steps are; the caller
 *   frees it
 */
void tessera_dynamic_find (const TesseraTrace *trace,
                           const TesseraBlocks *blocks,
                           const TesseraStructure *structure,
                           uint32_t first,
                           uint32_t last,
                           uint32_t last_end,
                           uint32_t limit,
                           uint8_t **out_is_dynamic,
                           TesseraDynamicLoad *out_load);
