/*
 * A trace to be simulated, made at random, and the check of what became of it: what a
 * layout says is worked out again from its blocks and spans, event by event.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <glib.h>

#include "planner/planner.h"
#include "simulator/simulate.h"
#include "simulator/verdict.h"
#include "tests/planner/auto.h"

typedef struct
{
  TesseraTrace *trace;
  TesseraBlocks *blocks;
  TesseraStructure *structure;
} Case;

void case_add_event (TesseraTrace *trace,
                     uint8_t action,
                     uint64_t addr,
                     uint64_t size_bytes,
                     uint16_t stream);
/* @late: one free in so many waits for a while before it completes; 0: none. */
TesseraTrace *case_trace (guint n_calls, guint n_streams, guint late, guint seed);
Case case_new (TesseraTrace *trace); /* takes @trace over */
/* Of a snapshot of the shared data, packed or not: its name without an ending. False, with a
 * skip, where the file is not there. */
bool case_open (const char *name, Case *out_case);
void case_clear (Case *c);

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Case, case_clear)
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TesseraLayout, tessera_layout_free)

/* These must go well. @options: NULL: as if nothing was said. */
TesseraPlan *case_plan (const Case *c, const TesseraPlanOptions *options);
TesseraLayout *case_simulate (const Case *c, const TesseraSimulateOptions *options);
/* ... under a plan, all of its steps. */
TesseraLayout *case_follow (const Case *c, const TesseraPlan *plan);
/* ... as a run follows it, without lengths: what the plan then says of itself. */
const char *case_advise (const Case *c, TesseraPlan *plan);
/* The parts at one moment sum to what the curves say. */
TesseraParts case_check_parts (const TesseraTrace *trace,
                               const TesseraBlocks *blocks,
                               const TesseraLayout *layout,
                               uint32_t at);
/* At sixty moments, and the peaks. */
void case_check_layout (const Case *c, const TesseraLayout *layout, guint seed);
/* No two blocks share an address while both are alive, by the trace: pair by pair. What
 * is pending is at an end where this run waited for the device before the other one did.
 */
void case_assert_no_overlap (const TesseraBlocks *blocks, const TesseraLayout *layout);
