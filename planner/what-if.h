/*
 * What if: the blocks of a trace as they would be if some of them were freed earlier.
 *
 * A trace tells when a block was freed, not when it was last used, so these are questions
 * that a person asks: what would it win to let go of this before the backward pass? The
 * answer is a plan of the changed blocks beside a plan of those that ran.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/structure.h"

/* Ascending events; at most one a step, if there are steps. The caller frees events. */
typedef struct
{
  uint32_t *events;
  size_t n_events;
} TesseraMoments;

/* The peak of the load in each step; without steps, of the whole trace. */
void tessera_moments_of_peaks (const TesseraBlocks *blocks,
                               const TesseraStructure *structure,
                               TesseraMoments *out_moments);
/*
 * tessera_blocks_freed_before:
 * @chosen: (array): one byte for each block of @blocks
 * @moments: (nullable): NULL: right after their birth, as if they were kept elsewhere
 *
 * A copy in which each chosen block that is alive at one of @moments, and was born before
 * it, ends there at the latest. All else is as it was; events are shared with @blocks,
 * which has to outlive the copy.
 */
void tessera_blocks_freed_before (const TesseraBlocks *blocks,
                                  const uint8_t *chosen,
                                  const TesseraMoments *moments,
                                  size_t *out_n_changed,
                                  uint64_t *out_changed_bytes,
                                  TesseraBlocks *out_copy);
/* The same with each block's end where its free is requested, whatever waits for it then:
 * so it is behind a barrier. */
void tessera_blocks_ended_at_free (const TesseraBlocks *blocks, TesseraBlocks *out_copy);
void tessera_blocks_freed_before_clear (TesseraBlocks *copy);
