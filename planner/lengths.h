/*
 * Steps of every length: what steps do alike, the size models by which their sizes follow
 * from length and batch, and one plan for all lengths from these.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/lengths.h"
#include "planner/check.h"
#include "planner/edit.h"
#include "planner/pack.h"
#include "planner/structure.h"

enum
{
  TESSERA_FIT_STEPS = 64, /* that are looked at; more make no model truer */
  TESSERA_LAW_STEPS =
      3 /* that a kind needs: two show no more than that something varies */
};

typedef struct
{
  TesseraParameters parameters[TESSERA_FIT_STEPS];
  uint32_t n_steps;
  bool has_batch; /* the batch varies as well */
} TesseraFitSteps;

/* The size models of a kind's slots; all 0 for kinds of fewer steps or without models. */
typedef struct
{
  TesseraFitSteps steps; /* the kind's; parameters all 1 where nothing varies */
  bool varies;           /* by parameters that most of what varies follows */
  TesseraSizeLaw *laws;  /* each once */
  uint32_t n_laws;
  uint32_t *law_of_slot; /* [n_slots of the kind] */
  uint32_t n_slots_by_kind[TESSERA_N_SIZE_KINDS];
  uint32_t n_slots_once; /* of the bounded: only one step has them */
} TesseraKindLaws;

/*
 * Steps of one kind, request by request.
 *
 * Their skeletons (requests without sizes) are merged into one sequence that holds each of
 * them in order: a slot is a place of it, and each step has a block there or none. Steps
 * with most requests in common are of one kind, although some leave out a few: masks that
 * need no padding, copies that a batch of one doesn't make, states of the optimizer that
 * only the first step makes.
 *
 * Time in a kind counts slots: a block is alive from its own slot's request to the one
 * before which it ended, the latest of any step.
 */
typedef struct
{
  uint16_t stream, pool;
  uint32_t phase;  /* index into the structure's phases of the first step seen, or NONE */
  uint32_t died;   /* slot before whose request it has ended; n_slots: the step's end */
  uint32_t n_seen; /* steps that have a block here */
  uint32_t n_cross; /* ... that lives into the next step, or to the trace's end */
} TesseraKindSlot;

typedef struct
{
  uint32_t *steps;  /* [n_steps] indices into the structure's; a typical one first, then
                       ascending */
  uint64_t *hashes; /* [n_steps] of their skeletons */
  uint32_t n_steps;
  TesseraKindSlot *slots;
  uint32_t n_slots;
  uint32_t *blocks; /* [n_slots x n_steps] the block of the slot in the step, or NONE */
  TesseraKindLaws laws;
} TesseraKind;

static inline uint32_t
tessera_kind_block (const TesseraKind *kind, uint32_t slot, uint32_t step)
{
  return kind->blocks[(size_t) slot * kind->n_steps + step];
}

/*
 * Where each micro-batch of a step has a length of its own, sizes follow models of the
 * part, not of the step. A cut is where the phase begins again in which steps begin their
 * work (forward), after another one came (backward): who follows a plan is told the same.
 * The last part of a step reaches to its end; what is asked for between two steps is a part
 * of neither.
 */
typedef struct
{
  TesseraStructure structure; /* steps are parts, phases have their bare names; events
                                 are borrowed */
  const char *phase; /* whose begin is the cut, by its bare name; NULL: no step is cut */
  uint32_t *step_of; /* [parts] the step that it is of; the number of them: of none */
  const TesseraStructure *whole;
} TesseraStepParts;

typedef struct
{
  TesseraStepParts
      parts; /* of steps, where models are of these; phase NULL: of whole steps */
  TesseraKind *kinds; /* of steps, or parts: most steps first */
  uint32_t n_kinds;
} TesseraLaws;

TesseraLaws *tessera_laws_new (const TesseraTrace *trace,
                               const TesseraBlocks *blocks,
                               const TesseraStructure *structure);
void tessera_laws_free (TesseraLaws *laws); /* NULL is fine */

/* The kind of most steps whose sizes vary by models, or NULL: then steps are equal, or too
 * few, or have nothing in common. */
const TesseraKind *tessera_laws_main (const TesseraLaws *laws);

typedef struct
{
  TesseraParameters most;   /* the plan is for these and less; 0: the largest seen */
  uint64_t work_budget;     /* of each packing; 0: default */
  const TesseraEdit *edits; /* (nullable): that the plan beside it is made with. They hold
                               at every length: lengths/private.h */
  size_t n_edits;
} TesseraLengthsOptions;

/*
 * tessera_lengths_plan:
 * @out_lengths: NULL on TESSERA_OK too where no kind of step varies by a law
 *
 * Each order is that of a packing at one of sixteen parameters. All are measured at
 * every observed and at 40 other parameters; the best is taken, or several, each for a
 * range, where that is better.
 *
 * Returns: TESSERA_OK, TESSERA_INVALID where laws give no sizes at the most, or TESSERA_REFUSED with a sentence why laws are not enough
 */
TESSERA_MUST_USE TesseraStatus tessera_lengths_plan (const TesseraTrace *trace,
                                                     const TesseraBlocks *blocks,
                                                     const TesseraStructure *structure,
                                                     const TesseraLaws *laws,
                                                     const TesseraLengthsOptions *options,
                                                     TesseraError *error,
                                                     TesseraLengths **out_lengths);

/* What a step with these parameters takes of the pool, and the least that any layout of
 * it could: what is there for good, and the largest load of the rest. */
typedef struct
{
  uint64_t height_bytes;
  uint64_t bound_bytes;
} TesseraLengthsNeed;

/* Returns: false: some model gives no size there. */
bool tessera_lengths_measure (const TesseraLengths *lengths,
                              const TesseraParameters *parameters,
                              TesseraLengthsNeed *out_need);
/* Of those that were seen, the ones whose step takes most. */
TesseraParameters tessera_lengths_fullest (const TesseraLengths *lengths,
                                           TesseraLengthsNeed *out_need);
