/*
 * The canonical run: the part of a trace that a plan is made for, with the steps that
 * repeat folded into one.
 *
 * Positions are those of the events before the second repeating step; what comes after
 * the last is moved up. Steps fold when they ask for the same things in the same order;
 * what their events have in common is how many of the step's requests came before. Frees
 * that wait for another stream come at other moments each time, so an end counts as the
 * next request: nothing can take the place sooner.
 *
 * What steps keep for good has no slot. A loop that puts its losses in a list, or leaves
 * a cycle to Python's collector, keeps what one request gave over the whole of the next
 * step, which asks for the like of it: no slot can hold both, and no number of places
 * would do. Such a request is *kept*: it gets no place in any step (an unplanned request,
 * db/plan.h), and all others fold. So it is bounded by what it takes beside the pool,
 * which nobody plans. What only an early step keeps (state that it made) is no habit:
 * steps fold from the one after it, if enough of them are left.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <glib.h>

#include "db/plan.h"
#include "planner/fold/units.h"

typedef struct
{
  const TesseraTrace *trace;
  const TesseraBlocks *blocks;
  const TesseraStructure *structure;
  uint32_t limit;     /* events from here on are left out */
  uint32_t last_step; /* of structure: the last that repeats */
  TesseraUnits units; /* the steps that repeat, of one kind; each up to where the next
                         begins; no kind: none do */
  char reason[320];
} TesseraRun;

/* How long a dynamic block lives, in positions; see TesseraSlot. */
typedef struct
{
  uint32_t born, died, died_next;
} TesseraRunSpan;

/* @first_step, @last_step: numbers as shown, -1: from the first, to the last. Returns
 * TESSERA_INVALID when the trace has no such steps. */
TESSERA_MUST_USE TesseraStatus tessera_run_init (const TesseraTrace *trace,
                                                 const TesseraBlocks *blocks,
                                                 const TesseraStructure *structure,
                                                 int64_t first_step,
                                                 int64_t last_step,
                                                 TesseraError *error,
                                                 TesseraRun *out_run);
void tessera_run_clear (TesseraRun *run);

/* How long a dynamic block lives in a step, and after which planned requests it may be
 * born: @born is the position from which on. Where died_next is not 0 it lives into the
 * next step, as slots do that wrap. *@out_step: the step among those that repeat. */
TesseraRunSpan
tessera_run_span (const TesseraUnits *units, uint32_t block, uint32_t *out_step);
