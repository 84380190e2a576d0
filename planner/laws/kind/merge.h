/*
 * The merged sequence of several steps' requests, while it is being made.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/lengths.h"
#include "planner/laws/kind/kind.h"

/* A slot of the merged sequence, as the first step that had it shows it. */
typedef struct
{
  uint64_t token, place;
  uint64_t size_bytes;
  bool crosses;
  uint32_t law; /* of the first step's block, or TESSERA_NONE */
  uint32_t row; /* of @requests */
} TesseraMergedSlot;

/* What is known of sizes once steps were compared without: see tessera_merge_step(). */
typedef struct
{
  const TesseraSizeLaw *laws;
  const uint32_t *law_of_block;        /* TESSERA_NONE: none that holds for it */
  const TesseraParameters *parameters; /* of each step */
} TesseraMergeSizes;

typedef struct
{
  const TesseraMergeSizes *sizes; /* NULL: by their skeletons alone */
  TesseraMergedSlot *slots;       /* in order */
  size_t n_slots;
  uint32_t n_first;   /* requests of the first step */
  uint32_t *requests; /* [n_slots x max_steps] the step's request at the slot, or NONE */
  size_t cap_rows;
  uint32_t max_steps;
  const TesseraSkeleton **steps; /* [n_steps] borrowed */
  uint32_t n_steps;
  bool are_parts; /* of steps: what comes behind all that is common, the optimizer, is
                     that of the last part */
} TesseraMerge;

TESSERA_MUST_USE TesseraStatus tessera_merge_init (TesseraMerge *merge,
                                                   uint32_t max_steps);
void tessera_merge_clear (TesseraMerge *merge);

/* Takes the step in if it has most of its requests, and of those of the first step, in
 * common with the sequence; *out_joined says whether it did. Requests are compared by
 * what the skeleton says of them, or where laws are known by their sizes: those that the
 * laws give for the step. @skeleton must outlive @merge; @step: into the parameters. */
TESSERA_MUST_USE TesseraStatus tessera_merge_step (TesseraMerge *merge,
                                                   const TesseraSkeleton *skeleton,
                                                   uint32_t step,
                                                   const TesseraBlocks *blocks,
                                                   bool *out_joined);

/* Fills all of @kind but its steps. */
TESSERA_MUST_USE TesseraStatus tessera_merge_finish (const TesseraMerge *merge,
                                                     const TesseraBlocks *blocks,
                                                     TesseraKind *kind);
