/*
 * Hand-overs between streams, what they cost, and plans that make do with few.
 *
 * A hand-over waits where there is less slack than db/plan.h asks for. Small blocks make
 * most of these and save least, so plans with fewer leave the small ones out: only blocks
 * of at least so many bytes are handed on without slack (TesseraPlanOptions).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/planner.h"

typedef struct
{
  uint64_t height_bytes;
  size_t n_hand_overs;
  size_t n_waits;   /* of these: without slack */
  size_t n_pending; /* of these: before the host saw that the side streams were done */
  int64_t stall_ns; /* the longest that a request comes before that, by the trace's clock:
                       so far can a stream fall behind. 0 where there is no clock */
} TesseraWaits;

TesseraWaits tessera_waits_of (const TesseraPlan *plan);

/* The sizes worth trying as waits_from_bytes, from all to none: ascending, the first 0,
 * the last UINT64_MAX. Returns: how many. */
#define TESSERA_MAX_WAITS_STEPS 66
size_t tessera_waits_steps (const TesseraBlocks *blocks,
                            uint64_t steps[TESSERA_MAX_WAITS_STEPS]);

/* Plans across streams as tessera_plan_trace() does, with at most @max_waits hand-overs
 * without slack. Never higher than with none. The time limit is that of all plannings
 * together; what it cuts short, or who stops, ends the search with the best so far. */
TESSERA_MUST_USE TesseraStatus
tessera_plan_within_waits (const TesseraTrace *trace,
                           const TesseraBlocks *blocks,
                           const TesseraStructure *structure,
                           const TesseraPlanOptions *options,
                           size_t max_waits,
                           TesseraError *error,
                           TesseraPlan **out_plan);
