/*
 * What the files that find size models share, and nobody else: steps compared, and what
 * their sizes follow from.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <glib.h>

#include "planner/lengths.h"

/*
 * A size model of a slot (db/lengths.h), from what was seen of it.
 *
 * A model counts only if it gives every size to the byte, and would be the same if any one
 * observation were left out: then it gave that one without having seen it. Steps with the
 * same parameters are one observation. A model of k coefficients so needs k + 1 different
 * ones at least, with k independent ones among them whichever is left out. A slot without a
 * model is bounded by the largest size that was seen.
 *
 * Exact throughout: coefficients are fractions (Cramer's rule in 128 bits, refused where
 * that is not enough). Most models that are tried are contradicted by a few observations,
 * which arithmetic by 2^64 sees at once.
 */

enum
{
  TESSERA_FIT_WAYS = 8 /* of rounding the length */
};

#define TESSERA_ABSENT UINT64_MAX /* the step has no such request */

/* The terms in each step, for each way of rounding: computed once for all slots whose sizes
 * are tried by them. 50 KB: not for the stack. */
typedef struct
{
  TesseraFitSteps steps;
  uint32_t first_of[TESSERA_FIT_STEPS]; /* the first step with the same parameters */
  bool are_known[TESSERA_FIT_WAYS][TESSERA_FIT_STEPS]; /* no term is too large */
  int64_t terms[TESSERA_FIT_WAYS][TESSERA_FIT_STEPS][TESSERA_N_TERMS];
} TesseraFitTerms;

void tessera_fit_terms_set (TesseraFitTerms *terms, const TesseraFitSteps *steps);

/* @sizes: [n_steps] bytes, or TESSERA_ABSENT. Of several models that hold, the simplest;
 * TESSERA_SIZE_BOUNDED: none does. */
void tessera_fit_law (const TesseraFitTerms *terms,
                      const uint64_t *sizes,
                      TesseraSizeLaw *out_law);

/* The sizes of each slot in each step of a kind, every different row once. */
typedef struct
{
  uint64_t *sizes;      /* [n_vectors x n_steps] bytes, or TESSERA_ABSENT */
  uint32_t *n_slots_of; /* [n_vectors] slots with these sizes */
  uint32_t *of_slot;    /* [n_slots] */
  uint32_t n_vectors, n_steps;
} TesseraVectors;

static inline const uint64_t *
tessera_vector (const TesseraVectors *vectors, uint32_t index)
{
  return vectors->sizes + (size_t) index * vectors->n_steps;
}

void tessera_vectors_init (TesseraVectors *vectors,
                           const TesseraKind *kind,
                           const TesseraBlocks *blocks);
void tessera_vectors_clear (TesseraVectors *vectors);

/* The parameters of the kind's steps, and a model for each slot. @steps: (nullable): the
 * parameters, where they are known. */
void tessera_kind_laws_init (TesseraKindLaws *laws,
                             const TesseraKind *kind,
                             const TesseraBlocks *blocks,
                             const TesseraFitSteps *steps);
void tessera_kind_laws_clear (TesseraKindLaws *laws);

/* The first block born at or after event @index; n_blocks: none. */
uint32_t tessera_first_born (const TesseraBlocks *blocks, uint32_t index);

/*
 * What a step does, without sizes: the sequence of its requests.
 *
 * A request is told from others by its stream, pool and phase and by how long its block
 * lives, in requests: exactly where that is short, else by its magnitude. Two batches of
 * different length give the same sequence, or nearly so.
 */
typedef struct
{
  uint64_t token; /* equal: the same request, as far as one can tell */
  uint64_t phase; /* hash of the innermost one's name */
  uint64_t place; /* equal: the same stream, pool and phase, and both cross or none */
  uint32_t block;
  uint32_t end; /* requests of the step before the block's end: the number of them when it
                   lives to the step's end */
  bool crosses; /* ... and beyond the next one's first request */
} TesseraSkeletonRequest;

typedef struct
{
  TesseraSkeletonRequest *requests;
  uint32_t n_requests;
  uint64_t hash;                   /* of the tokens */
  uint32_t begin_index, end_index; /* what lies between two steps belongs to the first */
} TesseraSkeleton;

/* Of step @step of the structure. */
void tessera_skeleton_init (TesseraSkeleton *skeleton,
                            const TesseraTrace *trace,
                            const TesseraBlocks *blocks,
                            const TesseraStructure *structure,
                            uint32_t step);
void tessera_skeleton_clear (TesseraSkeleton *skeleton);

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

/* The merged sequence of several steps' requests, while it is being made. */
typedef struct
{
  const TesseraMergeSizes *sizes; /* NULL: by their skeletons alone */
  TesseraMergedSlot *slots;       /* in order */
  size_t n_slots;
  uint32_t n_first;   /* requests of the first step */
  uint32_t *requests; /* [n_slots x max_steps] the step's request at the slot, or NONE */
  uint32_t max_steps;
  const TesseraSkeleton **steps; /* [n_steps] borrowed */
  uint32_t n_steps;
  bool are_parts; /* of steps: what comes behind all that is common, the optimizer, is
                     that of the last part */
} TesseraMerge;

void tessera_merge_init (TesseraMerge *merge, uint32_t max_steps);
void tessera_merge_clear (TesseraMerge *merge);

/* Takes the step in if it has most of its requests, and of those of the first step, in
 * common with the sequence. Requests are compared by what the skeleton says of them, or
 * where models are known by the sizes that these give for the step. @skeleton must outlive
 * @merge; @step: into the parameters. Returns: whether it did. */
bool tessera_merge_step (TesseraMerge *merge,
                         const TesseraSkeleton *skeleton,
                         uint32_t step,
                         const TesseraBlocks *blocks);

/* Fills all of @kind but its steps. */
void tessera_merge_finish (const TesseraMerge *merge,
                           const TesseraBlocks *blocks,
                           TesseraKind *kind);

/* Of all steps; of more than TESSERA_FIT_STEPS the last so many. @are_parts: of steps: of
 * one kind although the last of a step goes on with the optimizer. */
void tessera_kinds_init (TesseraKinds *kinds,
                         const TesseraTrace *trace,
                         const TesseraBlocks *blocks,
                         const TesseraStructure *structure,
                         bool are_parts);
void tessera_kinds_clear (TesseraKinds *kinds);

/* @structure and @trace must outlive @parts. Only steps and phases that the trace tells
 * are cut: inferred ones no run could tell. */
void tessera_step_parts_init (TesseraStepParts *parts,
                              const TesseraTrace *trace,
                              const TesseraStructure *structure);
void tessera_step_parts_clear (TesseraStepParts *parts);

/* Of models of parts: whether three parts in four are of one kind, parts of one step have
 * parameters of their own, and at each cut inside a step at most a hundredth of the live
 * bytes is of blocks whose size varies: what is alive over a cut has a place that does not
 * move. */
bool tessera_cuts_are_clean (const TesseraLaws *laws, const TesseraBlocks *blocks);
