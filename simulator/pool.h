/*
 * The pool of the plan that a recorded run followed, as its trace tells (docs/FORMAT.md).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/blocks.h"

/* Where it lay; n_bytes 0: no plan was followed. */
typedef struct
{
  uint64_t addr;
  uint64_t n_bytes;
  uint32_t declined_index; /* as in TesseraLayout */
} TesseraRecordedPool;

/* What the trace's meta says, of the trace's device; nothing where it says no sense. */
TesseraRecordedPool tessera_recorded_pool (const TesseraTrace *trace);
bool tessera_pool_holds (TesseraRecordedPool pool, uint64_t addr);
/* Was the block asked for under the plan? Those of the start and those that failed were
 * not served, and those asked for after it was declined were not served by it. */
bool tessera_pool_was_asked (TesseraRecordedPool pool, const TesseraBlock *block);
/* ... and did it miss the plan: does it lie outside of the pool? */
bool tessera_pool_was_missed (TesseraRecordedPool pool, const TesseraBlock *block);
/* Whether that was planned: one of those that the plan leaves to the dynamic allocator. */
bool tessera_pool_was_left (const TesseraTrace *trace,
                            TesseraRecordedPool pool,
                            const TesseraBlock *block);
