/*
 * What the files that make a plan for every length share, and nobody else.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/lengths.h"

typedef struct
{
  const TesseraTrace *trace;
  const TesseraBlocks *blocks;
  const TesseraStructure *structure; /* its steps are parts where steps are cut */
  const TesseraStepParts *parts;     /* phase NULL: they are not */
  const TesseraKind *kind;
  const TesseraKindLaws *laws;
  const TesseraLengthsOptions *options;
  const struct TesseraLengthsEdits *edits; /* planner/lengths/edits.h */
  TesseraLengths *out;
} TesseraLengthsBuild;

/* Slots, laws, and which of them have a fixed place, without offsets. */
TESSERA_MUST_USE TesseraStatus tessera_lengths_slots (TesseraLengthsBuild *build,
                                                      TesseraError *error);
/* Whether some block of the slot lives on when the next step asks for its successor. */
bool tessera_lengths_outlives (const TesseraLengthsBuild *build, uint32_t slot);
/* Where they are not cut: what lives into the next step, and is gone there before others
 * come. Needs to know what is early. */
TESSERA_MUST_USE TesseraStatus tessera_lengths_crossing (TesseraLengthsBuild *build);
/* Where steps are cut: what one part makes for others of its step, and who asks for what.
 * Needs to know what is early. */
void tessera_lengths_over_cuts (TesseraLengthsBuild *build);
/* With two lengths: what is asked for in some steps only, by their lengths. */
TESSERA_MUST_USE TesseraStatus tessera_lengths_conditions (TesseraLengthsBuild *build);
/* What comes before the first step; offsets of all that is fixed. */
TESSERA_MUST_USE TesseraStatus tessera_lengths_start (TesseraLengthsBuild *build,
                                                      TesseraError *error);
/* The orders of the swept. */
TESSERA_MUST_USE TesseraStatus tessera_lengths_orders (TesseraLengthsBuild *build,
                                                       TesseraError *error);

/* The next step of the kind after its @k-th that has a block of the slot; TESSERA_NONE.
 */
uint32_t
tessera_lengths_next (const TesseraLengthsBuild *build, uint32_t slot, uint32_t k);

/* The name's index in the plan's strings, which it joins; TESSERA_NONE for no phase. */
TESSERA_MUST_USE TesseraStatus tessera_lengths_phase (TesseraLengthsBuild *build,
                                                      uint32_t phase,
                                                      uint32_t *out_string);
