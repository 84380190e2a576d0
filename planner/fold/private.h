/*
 * What the steps that are to fold do not have in common: dynamic.c.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/fold.h"

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
