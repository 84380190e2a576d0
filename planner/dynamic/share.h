/*
 * What steps that differ in part have in common: the requests that all of them make, in
 * the same order.
 *
 * Steps of a mixture of experts ask for the same things but for those whose sizes follow
 * the routing. A request is told from others by stream, pool, phase and rounded size.
 * What all steps make equally often is compared first (Myers' longest common sequence);
 * what lies between two common places is then compared with all that each step has there.
 * So thousands of sizes that nobody else has cost no more than one look each.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/structure.h"

enum
{
  TESSERA_SHARE_STEPS = 64 /* at most that are compared */
};

/*
 * tessera_share_steps:
 * @bounds: (array length=@n_steps + 1): events at which the steps begin, and where the
 *   last one ends; @n_steps from 2 to TESSERA_SHARE_STEPS
 * @out_is_shared: (array length=bounds[n_steps] - bounds[0]): for each event whether it
 * is a request that all steps make; as many in each step, and in the same order
 * @out_n_shared: of one step; 0 where the steps have too little in common to say
 *
 * Returns: TESSERA_OK or TESSERA_NO_MEMORY
 */
TESSERA_MUST_USE TesseraStatus tessera_share_steps (const TesseraTrace *trace,
                                                    const TesseraBlocks *blocks,
                                                    const TesseraStructure *structure,
                                                    const uint32_t *bounds,
                                                    uint32_t n_steps,
                                                    bool *out_is_shared,
                                                    uint32_t *out_n_shared);

/* The same of two steps that need not follow each other: @bounds are begin and end of the
 * one, begin and end of the other, and so are the marks. */
TESSERA_MUST_USE TesseraStatus tessera_share_two (const TesseraTrace *trace,
                                                  const TesseraBlocks *blocks,
                                                  const TesseraStructure *structure,
                                                  const uint32_t bounds[4],
                                                  bool *out_is_shared,
                                                  uint32_t *out_n_shared);
