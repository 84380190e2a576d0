/*
 * Pins in a plan for every length: what is pinned has a fixed place there, whatever the
 * length, as large as it is at the most that the plan is for.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/edits/wishes.h"
#include "planner/lengths/build.h"

#define TESSERA_NOT_PINNED UINT64_MAX

typedef struct TesseraLengthsPins
{
  const TesseraEdit *edits;
  uint64_t *of_slot;  /* [n_slots] offset, or TESSERA_NOT_PINNED; NULL: nothing is */
  uint64_t *of_start; /* [n_start] the same of what comes before the first step */
  uint32_t *edit_of_slot, *edit_of_start; /* where they are pinned */
} TesseraLengthsPins;

/*
 * tessera_lengths_pins_init:
 * @structure: of the trace, whether its steps are cut or not
 *
 * Of the standing pins. A slot stands for the blocks of all steps.
 *
 * Returns: TESSERA_OK, TESSERA_NO_MEMORY or TESSERA_REFUSED. To be cleared in any case.
 */
TESSERA_MUST_USE TesseraStatus
tessera_lengths_pins_init (TesseraLengthsPins *pins,
                           const TesseraLengthsBuild *build,
                           const TesseraStructure *structure,
                           uint32_t n_start,
                           TesseraError *error);
void tessera_lengths_pins_clear (TesseraLengthsPins *pins);

/* Slots that are pinned are fixed. TESSERA_REFUSED: where the place of one follows from
 * that of others. */
TESSERA_MUST_USE TesseraStatus tessera_lengths_pin_slots (TesseraLengthsBuild *build,
                                                          TesseraError *error);

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
