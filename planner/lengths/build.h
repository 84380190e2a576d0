/*
 * What the files that make a plan for every length share, and nobody else.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

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
  const struct TesseraLengthsEdits *edits; /* planner/lengths/edits.h */
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
