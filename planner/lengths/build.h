/*
 * What the files that make a plan for every length share, and nobody else.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/edits/constraints.h"
#include "planner/lengths/models.h"

typedef struct
{
  const TesseraTrace *trace;
  const TesseraBlocks *blocks;
  const TesseraStructure *structure; /* its steps are parts where steps are cut */
  const TesseraStepParts *parts;     /* phase NULL: they are not */
  const TesseraKind *kind;
  const TesseraKindLaws *laws;
  const TesseraLengthsOptions *options;
  const struct TesseraLengthsEdits *edits;
  TesseraLengths *out;
} TesseraLengthsBuild;

/* Slots, laws, and which of them have a fixed place, without offsets. */
TESSERA_MUST_USE TesseraStatus tessera_lengths_slots (TesseraLengthsBuild *build,
                                                      TesseraError *error);
/* Steps, or parts of them, whose block of the slot is there over the whole of the next
 * step; *@out_is_habit: it is more than one step's. */
uint32_t tessera_lengths_count_kept (const TesseraLengthsBuild *build,
                                     uint32_t slot,
                                     bool *out_is_habit);
/* What several steps keep, with what looks like it, has no place where that is little.
 * Needs places. */
void tessera_lengths_leave_habits (TesseraLengthsBuild *build);
/* What steps keep, of the stream and pool that are planned: who follows knows that it
 * comes, or would take it for one of its equals, which has a place. */
TESSERA_MUST_USE TesseraStatus tessera_lengths_tell_kept (TesseraLengthsBuild *build,
                                                          uint32_t stream,
                                                          uint32_t pool);
/* Whether some block of the slot lives on when the next step asks for its successor. */
bool tessera_lengths_outlives (const TesseraLengthsBuild *build, uint32_t slot);
/* Where they are not cut: what lives into the next step, and is gone there before others
 * come. Needs to know what is early. */
TESSERA_MUST_USE TesseraStatus tessera_lengths_crossing (TesseraLengthsBuild *build);
/* Where steps are cut: what one part makes for others of its step, and who asks for what.
 * Needs to know what is early. */
void tessera_lengths_over_cuts (TesseraLengthsBuild *build);
/* What comes before the first step; offsets of all that is fixed. */
TESSERA_MUST_USE TesseraStatus tessera_lengths_start (TesseraLengthsBuild *build,
                                                      TesseraError *error);
/* The orders of the swept. */
TESSERA_MUST_USE TesseraStatus tessera_lengths_orders (TesseraLengthsBuild *build);
/* TESSERA_REFUSED where some observed step would take far more than is ever alive. */
TESSERA_MUST_USE TesseraStatus
tessera_lengths_refuse_dear (const TesseraLengthsBuild *build, TesseraError *error);

/* The next step of the kind after its @k-th that has a block of the slot; TESSERA_NONE.
 */
uint32_t
tessera_lengths_next (const TesseraLengthsBuild *build, uint32_t slot, uint32_t k);

/* The name's index in the plan's strings, which it joins; TESSERA_NONE for no phase. */
TESSERA_MUST_USE TesseraStatus tessera_lengths_phase (TesseraLengthsBuild *build,
                                                      uint32_t phase,
                                                      uint32_t *out_string);

/*
 * What edits say of places in a plan for every length.
 *
 * What is pinned has a fixed place there, whatever the length, as large as it is at the
 * most that the plan is for. What stays together is pinned one above the other, from the
 * lowest addresses that no pin takes. Of what is apart one side is fixed, since fixed
 * places are nobody else's. What is left to the dynamic allocator has no place, and those
 * who follow know that it comes; under a cap more of it.
 */

#define TESSERA_NOT_PINNED UINT64_MAX

/* By slot, or by block of the start: index. */
typedef struct
{
  uint64_t *pins;  /* [n] offset, or TESSERA_NOT_PINNED */
  uint32_t *edits; /* [n] which pins or fixes it */
  bool *leaves;    /* [n] no place */
  bool *fixes;     /* [n] a place that is nobody else's */
  uint64_t *sides; /* [n] two bits for each of what is kept apart, see n_aparts */
  uint32_t n;
} TesseraEditedPlaces;

enum
{
  TESSERA_MOST_APARTS = 32
};

typedef struct TesseraLengthsEdits
{
  const TesseraEdit *edits;
  bool are_any; /* else all below is empty */
  TesseraEditedPlaces slots, start;
  uint32_t n_aparts; /* bit 2 i of sides: one side of the i-th, bit 2 i + 1: the other */
  uint64_t are_mutual; /* bit i: there is one side, and each of it is apart from all */
  uint32_t fixing;     /* the last edit by which something is fixed; TESSERA_NONE */
  uint64_t cap_bytes;  /* UINT64_MAX: none */
  uint32_t cap_edit;
} TesseraLengthsEdits;

/*
 * tessera_lengths_edits_init:
 * @structure: of the trace, whether its steps are cut or not
 *
 * Of the edits that stand; @build has its laws and parameters. A slot stands for the
 * blocks of all steps: what is said of one of them is said of it.
 *
 * Returns: TESSERA_OK, TESSERA_NO_MEMORY or TESSERA_REFUSED. To be cleared in any case.
 */
TESSERA_MUST_USE TesseraStatus
tessera_lengths_edits_init (TesseraLengthsEdits *edits,
                            const TesseraLengthsBuild *build,
                            const TesseraStructure *structure,
                            uint32_t n_start,
                            TesseraError *error);
void tessera_lengths_edits_clear (TesseraLengthsEdits *edits);

/* "the edit "here" @reason: no plan for every length is made with it". Returns:
 * TESSERA_REFUSED */
TesseraStatus tessera_lengths_edits_refuse (const TesseraLengthsEdits *edits,
                                            uint32_t edit,
                                            TesseraError *error,
                                            const char *reason);

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
 * Returns: TESSERA_OK, TESSERA_NO_MEMORY, or TESSERA_REFUSED: nothing is left to leave
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

/*
 * Pins in a plan for every length: what is fixed goes around them
 * (above).
 */

/* Says which edit is behind one of two blocks of the start that can't both lie where they
 * are to. Returns: TESSERA_REFUSED */
TesseraStatus tessera_lengths_pins_refuse_start (const TesseraLengthsBuild *build,
                                                 const uint32_t conflict[2],
                                                 TesseraError *error);
/* The edit whose pin ends highest; TESSERA_NONE: nothing is pinned. */
uint32_t tessera_lengths_pins_highest (const TesseraLengthsBuild *build);

/* What is free below the highest pin. */
typedef struct
{
  struct
  {
    uint64_t begin_bytes, end_bytes;
  } * gaps; /* ascending; NULL: nothing is pinned */
  size_t n_gaps;
  uint64_t top_bytes; /* all above is free */
} TesseraPinGaps;

/* @block_bytes: [n_laws] at the most. TESSERA_REFUSED: two pins share an address. */
TESSERA_MUST_USE TesseraStatus tessera_pin_gaps_init (TesseraPinGaps *gaps,
                                                      const TesseraLengthsBuild *build,
                                                      const uint64_t *block_bytes,
                                                      TesseraError *error);
void tessera_pin_gaps_clear (TesseraPinGaps *gaps);
/* The lowest free place of so many bytes, which is free no more. */
uint64_t tessera_pin_gaps_take (TesseraPinGaps *gaps, uint64_t bytes);

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
 * @n_positions: no end is beyond it
 * @out_order: slots are indices into @items; laws are left 0
 *
 * Returns: TESSERA_OK or TESSERA_NO_MEMORY
 */
TESSERA_MUST_USE TesseraStatus tessera_order_from_layout (const TesseraLaidOut *items,
                                                          uint32_t n_items,
                                                          uint32_t n_positions,
                                                          TesseraOrder *out_order);

/*
 * One packing of the swept slots, at given parameters: what an order is taken from.
 */

/* Whether PyTorch's small blocks and its large ones are to be kept apart, as in a plan that
 * is there to be followed (planner/plan/build.h). */
bool tessera_lengths_splits_sizes (const TesseraLengthsBuild *build);

typedef struct
{
  bool is_first;  /* of the step that makes what one step makes: others may lie in its
                     place  until it comes. Around what is pinned zones would cost more
                     than  they  are worth, but in steps of parts */
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
 * Returns: TESSERA_OK, TESSERA_NO_MEMORY or TESSERA_CANCELLED
 */
TESSERA_MUST_USE TesseraStatus tessera_lengths_lay_out (const TesseraLengthsBuild *build,
                                                        const uint32_t *swept,
                                                        const TesseraLayOutWay *way,
                                                        const uint64_t *block_bytes,
                                                        TesseraLaidOut *out_laid_out,
                                                        uint32_t *out_n_low);

/* What no layout of the same slots, without anything pinned, is below. TESSERA_OK or
 * TESSERA_NO_MEMORY. */
TESSERA_MUST_USE TesseraStatus tessera_lengths_bound (const TesseraLengthsBuild *build,
                                                      const uint32_t *swept,
                                                      bool has_zones,
                                                      const uint64_t *block_bytes,
                                                      uint64_t *out_bytes);
