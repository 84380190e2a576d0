/*
 * What the files of lengths.h share, and nobody else: size models, and a plan for every
 * length while it is being made.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <glib.h>

#include "planner/edits/holds.h"
#include "planner/lengths.h"
#include "planner/memory.h"
#include "planner/planner.h"

/*
 * A size model of a slot (db/lengths.h), from what was seen of it.
 *
 * A model counts only if it gives every size to the byte, and would be the same if any one
 * observation were left out: then it gave that one without having seen it. Steps with the
 * same parameters are one observation. A model of k coefficients so needs k + 1 different
 * ones at least, with k independent ones among them whichever is left out. A slot without a
 * model is bounded by the largest size that was seen.
 *
 * Exact throughout: coefficients are fractions (elimination in 128 bits, refused where
 * that is not enough).
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

/* The parameters of the kind's steps, and a model for each slot, into its laws, which were
 * cleared. @steps: (nullable): the parameters, where they are known. @only_length: no batch
 * is looked for. */
void tessera_kind_laws_init (TesseraKind *kind,
                             const TesseraBlocks *blocks,
                             const TesseraFitSteps *steps,
                             bool only_length);
void tessera_kind_laws_clear (TesseraKindLaws *laws);

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
  uint32_t law;  /* of the first step's block, or TESSERA_NONE */
  bool is_first; /* the first step of all has it */
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
  uint32_t n_first;              /* requests of the first step */
  const TesseraSkeleton **steps; /* [n_steps] borrowed */
  uint32_t **slots_of;           /* [n_steps] of each request the slot */
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

/* @structure and @trace must outlive @parts. Only steps and phases that the trace tells
 * are cut: inferred ones no run could tell. */
void tessera_step_parts_init (TesseraStepParts *parts,
                              const TesseraTrace *trace,
                              const TesseraStructure *structure);
void tessera_step_parts_clear (TesseraStepParts *parts);

/* Of models of parts: whether parts of one step have sizes of their own, and at each cut
 * inside a step at most a hundredth of the live bytes is of blocks whose size varies: what
 * is alive over a cut has a place that does not move. */
bool tessera_cuts_are_clean (const TesseraLaws *laws, const TesseraBlocks *blocks);

/* ---- A plan while it is being made ---- */

typedef struct
{
  const TesseraTrace *trace;
  const TesseraBlocks *blocks;
  const TesseraStructure *structure; /* its steps are parts where steps are cut */
  const TesseraStepParts *parts;     /* phase NULL: they are not */
  const TesseraKind *kind;
  const TesseraLengthsOptions *options;
  const struct TesseraLengthsEdits *edits;
  TesseraLengths *out;
  uint64_t
      *most_bytes; /* [n_laws of @out] what each takes at the most, in whole blocks */
} TesseraLengthsBuild;

/* Slots, laws, and which of them have a fixed place, without offsets; what laws take at the
 * most. */
TESSERA_MUST_USE TesseraStatus tessera_lengths_slots (TesseraLengthsBuild *build,
                                                      TesseraError *error);
/* The largest load of what is not there for good; @has_fixed: ... and of what is fixed and
 * takes no turns. @block_bytes: [n_laws] */
uint64_t tessera_lengths_load (const TesseraLengths *lengths,
                               const uint64_t *block_bytes,
                               bool has_fixed);
/* Whether some block of the slot lives on when the next step asks for its successor. */
bool tessera_lengths_outlives (const TesseraLengthsBuild *build, uint32_t slot);
/* Where they are not cut: what lives into the next step, and is gone there before others
 * come. Needs to know what is early. */
void tessera_lengths_crossing (TesseraLengthsBuild *build);
/* Where they are not cut: from or up to which length swept slots are asked for. */
void tessera_lengths_limit (TesseraLengthsBuild *build);
/* Where steps are cut: what one part makes for others of its step, and who asks for what.
 * Needs to know what is early. */
void tessera_lengths_over_cuts (TesseraLengthsBuild *build);
/* What comes before the first step; offsets of all that is fixed. */
TESSERA_MUST_USE TesseraStatus tessera_lengths_start (TesseraLengthsBuild *build,
                                                      TesseraError *error);
/* The orders of the swept. */
TESSERA_MUST_USE TesseraStatus tessera_lengths_orders (TesseraLengthsBuild *build);
/* The next step of the kind after its @k-th that has a block of the slot, or any
 * where @slot is TESSERA_NONE; TESSERA_NONE: there is none. */
uint32_t
tessera_lengths_next (const TesseraLengthsBuild *build, uint32_t slot, uint32_t k);

/* The name's index in the plan's strings, which it joins; TESSERA_NONE for no phase. */
uint32_t tessera_lengths_phase (TesseraLengthsBuild *build, uint32_t phase);

/*
 * What edits say of places in a plan for every length.
 *
 * What is pinned has a fixed place there, whatever the length, as large as it is at the
 * most that the plan is for. What stays together is pinned one above the other, from the
 * lowest addresses that no pin takes. Of what is apart the side that takes less is fixed,
 * since fixed places are nobody else's. What is left to the dynamic allocator has no place,
 * and those who follow know that it comes; under a cap more of it.
 */

#define TESSERA_NOT_PINNED UINT64_MAX

enum
{
  TESSERA_MOST_APARTS = 32
};

typedef struct TesseraLengthsEdits
{
  const TesseraEdit *edits;
  uint32_t n_start, n; /* places: the blocks of the start, then the slots */
  uint64_t *pins;      /* [n] offset, or TESSERA_NOT_PINNED */
  uint32_t *by;        /* [n] the edit that pins or fixes it */
  bool *leaves;        /* [n] no place */
  uint64_t *sides; /* [n] of what is kept apart two bits each: bit 2 i of the i-th edit
                          is one side, bit 2 i + 1 the other; 0: apart from nothing */
  uint32_t n_aparts;
  uint64_t are_mutual; /* bit i: there is one side, and each of it is apart from all */
  uint32_t fixing;     /* the last edit that keeps apart; TESSERA_NONE */
  uint64_t cap_bytes;  /* UINT64_MAX: none */
  uint32_t cap_edit;
} TesseraLengthsEdits;

/* Whether an edit says where it lies, or what it lies apart from. */
static inline bool
tessera_lengths_is_held (const TesseraLengthsEdits *edits, uint32_t place)
{
  return edits->pins[place] != TESSERA_NOT_PINNED || edits->sides[place] != 0;
}

/*
 * tessera_lengths_edits_init:
 * @structure: of the trace, whether its steps are cut or not
 *
 * Of the edits that stand; @build has its laws and parameters. A slot stands for the
 * blocks of all steps: what is said of one of them is said of it.
 *
 * Returns: TESSERA_OK or TESSERA_REFUSED. To be cleared in any case.
 */
TESSERA_MUST_USE TesseraStatus
tessera_lengths_edits_init (TesseraLengthsEdits *edits,
                            const TesseraLengthsBuild *build,
                            const TesseraStructure *structure,
                            uint32_t n_start,
                            TesseraError *error);
void tessera_lengths_edits_clear (TesseraLengthsEdits *edits);

/* Slots that are left to others have no place. Needs to know in which steps they come. */
void tessera_lengths_leave_slots (TesseraLengthsBuild *build);

/* Slots that are pinned or apart are fixed. TESSERA_REFUSED: where the place of one
 * follows from that of others. */
TESSERA_MUST_USE TesseraStatus tessera_lengths_fix_slots (TesseraLengthsBuild *build,
                                                          TesseraError *error);

/*
 * tessera_lengths_edits_cap:
 * @out_fits: the pool is no higher than the cap
 *
 * Where it is, more is left to others, the least bytes x lifetime first, until what is
 * alive at the most is below @most_bytes. What other edits hold stays.
 *
 * Returns: TESSERA_OK, or TESSERA_REFUSED: nothing is left to leave
 */
TESSERA_MUST_USE TesseraStatus
tessera_lengths_edits_cap (TesseraLengthsEdits *edits,
                           const TesseraLengthsBuild *build,
                           uint64_t *most_bytes,
                           bool *out_fits,
                           TesseraError *error);

/* TESSERA_REFUSED: no pool is as low as the cap. */
TesseraStatus tessera_lengths_edits_refuse_cap (const TesseraLengthsEdits *edits,
                                                TesseraError *error);

/* "the edit "here" @reason: no plan for every length is made with it". Returns:
 * TESSERA_REFUSED */
TesseraStatus tessera_lengths_edits_refuse (const TesseraLengthsEdits *edits,
                                            uint32_t edit,
                                            TesseraError *error,
                                            const char *reason);
/* The edit whose pin ends highest; TESSERA_NONE: nothing is pinned. */
uint32_t tessera_lengths_pins_highest (const TesseraLengthsBuild *build);

/*
 * From a layout to the order in which slots lie, which holds for any sizes.
 *
 * In each moment the blocks alive lie one above the other. Whoever lies directly above
 * another in some moment rests on it: that is an edge. New neighbours meet only where a
 * block is born or dies, so there are at most three edges an event.
 */

/* [begin, end) and where it lies. */
typedef struct
{
  uint32_t begin, end;
  uint64_t offset_bytes;
} TesseraLaidOut;

/*
 * tessera_order_from_layout:
 * @items: no two that are alive in one moment have the same offset; begin < end
 * @out_order: slots are indices into @items; laws are left 0
 */
void tessera_order_from_layout (const TesseraLaidOut *items,
                                uint32_t n_items,
                                TesseraOrder *out_order);

/*
 * One packing of the swept slots, at given parameters: what an order is taken from.
 */

typedef struct
{
  bool is_first;  /* of the step that makes what one step makes: others may lie in its
                     place until it comes. Around what is pinned zones would cost more
                     than they are worth, but in steps of parts */
  bool in_spare;  /* ... whose slots that take turns lie in their spare places */
  bool has_zones; /* small ones (at the most) lie below all others */
} TesseraLayOutWay;

/*
 * tessera_lengths_lay_out:
 * @swept: [n_swept] slots
 * @block_bytes: [n_laws] at the parameters
 * @out_laid_out: [n_swept]; offsets count from where the first of them may lie
 * @out_n_low: so many lie below all others and are kept apart from them: the small ones;
 * of parts that make what is there over cuts the large ones
 *
 * Returns: TESSERA_OK or TESSERA_INVALID
 */
TESSERA_MUST_USE TesseraStatus tessera_lengths_lay_out (const TesseraLengthsBuild *build,
                                                        const uint32_t *swept,
                                                        const TesseraLayOutWay *way,
                                                        const uint64_t *block_bytes,
                                                        TesseraLaidOut *out_laid_out,
                                                        uint32_t *out_n_low);

/* What no layout of the same slots, without anything pinned, is below; 0: their sizes are
 * beyond what can be computed. */
uint64_t tessera_lengths_bound (const TesseraLengthsBuild *build,
                                const uint32_t *swept,
                                bool has_zones,
                                const uint64_t *block_bytes);

/* What each model takes at these parameters, in whole blocks: [n_laws], for the caller to
 * free. NULL: one gives no size. */
uint64_t *tessera_lengths_sizes (const TesseraLengths *lengths,
                                 const TesseraParameters *at);
