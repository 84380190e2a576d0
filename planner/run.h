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
 * Paired, two steps in a row stand for all that come: what the one makes and the next
 * lets go of only after it made its own has a place in each of the two.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/plan.h"
#include "planner/structure.h"

typedef struct
{
  const TesseraTrace *trace;
  const TesseraBlocks *blocks;
  const TesseraStructure *structure;
  uint32_t limit;  /* events from here on are left out */
  bool repeats;    /* else all below but n_positions is 0 */
  bool is_assumed; /* the last step stands alone: that it repeats is an assumption */
  uint32_t first_step, last_step; /* of structure: that repeat */
  bool is_paired; /* what repeats are two steps in a row, which all take turns */
  uint32_t step_begin, step_end; /* first repeating step, or pair: events, positions */
  uint32_t last_begin, last_end; /* the last of them: events */
  uint32_t n_positions;
  uint32_t n_requests; /* of one repeating step */
  uint32_t *requests;  /* their events: first step's, second's, ... last's */
  uint32_t
      *ordinal_of;     /* [last_end - step_begin] requests in its step before the event */
  uint8_t *is_dynamic; /* [n_blocks] 1: no slot (planner/dynamic/dynamic.h); or NULL */
  uint8_t *is_kept;    /* [n_blocks] 1: of a repeating step, no slot (planner/kept.h); or
                          NULL */
  uint32_t n_kept;     /* ... requests of a step */
  uint64_t
      kept_bytes; /* ... what a step keeps; where is_kept is NULL: too much to fold */
  char reason[320];
} TesseraRun;

/* Lifetime of a block in positions; see TesseraSlot. Where died_next is beyond born, a
 * block outlives the birth of its successor. */
typedef struct
{
  uint32_t born, died, died_next;
  bool wraps;
  uint32_t
      tail; /* ordinal of the next step's request at which it ends, or TESSERA_NONE */
} TesseraSpell;

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

/* Folds pairs of steps instead of steps, where there is more than one and none has
 * dynamic requests: of an odd number the first goes to the start. Returns: whether it
 * did; else @run is as it was, and when memory is short too. */
bool tessera_run_pair (const TesseraRun *run, TesseraRun *out_paired);

/* Returns: whether the canonical run holds the block; *out_spell is its lifetime there.
 */
bool tessera_run_spell (const TesseraRun *run, uint32_t block, TesseraSpell *out_spell);

/* How long a dynamic block lives in the canonical run, and after which planned requests
 * it may be born: @born is the position from which on. It wraps as slots do. Returns:
 * false: the block is none, or not held. */
bool tessera_run_span (const TesseraRun *run,
                       uint32_t block,
                       TesseraSpell *out_span,
                       uint32_t *out_step);

/* The block whose slot stands for @block: of a repeating step the like of it in the first
 * of these, else itself; TESSERA_NONE: the canonical run does not hold it. */
uint32_t tessera_run_stands_for (const TesseraRun *run, uint32_t block);

/* Steps that stand for all. */
static inline uint32_t
tessera_run_at_once (const TesseraRun *run)
{
  return run->is_paired ? 2 : 1;
}

/* Whether steps keep for good what this request of a repeating step gives: it gets no
 * place. */
static inline bool
tessera_run_keeps (const TesseraRun *run, uint32_t block)
{
  return run->is_kept && run->is_kept[block];
}

/* Paired: what the other step of the pair has like @block, which stands for itself; else
 * TESSERA_NONE. */
uint32_t tessera_run_partner (const TesseraRun *run, uint32_t block);

/* For a block of the start that dies in the first repeating step: how many of its
 * requests come before, else TESSERA_NONE. */
uint32_t tessera_run_tail (const TesseraRun *run, uint32_t block);
