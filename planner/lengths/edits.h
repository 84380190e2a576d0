/*
 * What edits say of places in a plan for every length.
 *
 * What is pinned has a fixed place there, whatever the length, as large as it is at the
 * most that the plan is for. What stays together is pinned one above the other, from the
 * lowest addresses that no pin takes. Of what is apart one side is fixed, since fixed
 * places are nobody else's. What is left to the dynamic allocator has no place, and those
 * who follow know that it comes; under a cap more of it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/edits/constraints.h"
#include "planner/lengths/build.h"

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
