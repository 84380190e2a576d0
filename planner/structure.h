/*
 * Steps, phases and lifetime classes of a trace.
 *
 * Steps come from annotations or marks where there are any, else from the repetition of
 * the (size, stream) sequence, with a stated confidence. Phases come from annotations,
 * else from stacks (forward, backward, optimizer), marked as inferred.
 *
 * Lifetime classes: a block is persistent when it is alive over the whole of a step that
 * began after its birth, or outlives the last; dynamic when the step before or after has
 * no block of its size at its place; scoped when it is born in one computation phase and
 * dies in another; else transient.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/blocks.h"

typedef enum
{
  TESSERA_STEPS_NONE,
  TESSERA_STEPS_ANNOTATED,
  TESSERA_STEPS_REPETITION
} TesseraStepsFrom;

typedef struct
{
  uint32_t begin_index;
  uint32_t end_index;
  int64_t number;     /* as the file calls it, else 0, 1, 2 ... */
  uint64_t signature; /* equal: the same sequence of (action, size, stream, pool) */
  uint32_t kind;      /* steps with equal signature have equal kind, 0, 1 ... */
} TesseraStep;

typedef struct
{
  uint32_t begin_index;
  uint32_t end_index;
  uint32_t name;     /* string id of the trace, or TESSERA_NONE when label is set */
  const char *label; /* static text of inferred phases, else NULL */
  uint32_t parent;   /* index into phases, or TESSERA_NONE */
  uint32_t main;     /* the computation phase it belongs to (forward, backward, optimizer
                        ...): itself or an enclosing one; classes and groups go by it */
  uint32_t depth;
  uint8_t is_inferred;
} TesseraPhase;

typedef struct
{
  TesseraStep *steps; /* in order, disjoint */
  size_t n_steps;
  TesseraStepsFrom steps_from;
  double confidence;    /* 0..1; 1 for annotations */
  TesseraPhase *phases; /* by begin, outer first */
  size_t n_phases;
  bool phases_inferred;
  uint32_t *phase_of_event; /* [n_events] innermost, or TESSERA_NONE */
} TesseraStructure;

/*
 * tessera_structure_new:
 *
 * Fills the class, step and phases of @blocks as well.
 */
TesseraStructure *tessera_structure_new (const TesseraTrace *trace,
                                         TesseraBlocks *blocks);
void tessera_structure_free (TesseraStructure *structure); /* NULL is fine */
/* Borrowed; never NULL. */
const char *tessera_phase_name (const TesseraTrace *trace, const TesseraPhase *phase);
/* Of the name of the @phase-th, or of TESSERA_NONE. */
uint64_t tessera_phase_hash (const TesseraTrace *trace,
                             const TesseraStructure *structure,
                             uint32_t phase);
