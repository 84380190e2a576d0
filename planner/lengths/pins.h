/*
 * Pins in a plan for every length: what is fixed goes around them
 * (planner/lengths/edits.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/lengths/edits.h"

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
