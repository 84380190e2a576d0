/*
 * The kinds of step of a plan: the sections that repeat. See check.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/plan.h"

#define TESSERA_CHECK_MAX_KINDS 64

/* Where the kinds' sections lie among the sections: [first, end). Without any all is 0. */
typedef struct
{
  size_t first, end;
  uint32_t begin, stop; /* positions */
} TesseraCheckKinds;

TesseraCheckKinds tessera_check_find_kinds (const TesseraPlan *plan);
/* Whether more than one section repeats. */
bool tessera_check_has_several (const TesseraCheckKinds *kinds);

/* Of plans with several kinds, what of lifetimes goes beyond those of one. TESSERA_OK or
 * TESSERA_REFUSED with a sentence in @error. */
TESSERA_MUST_USE TesseraStatus tessera_check_kinds_lifetimes (
    const TesseraPlan *plan, const TesseraCheckKinds *kinds, TesseraError *error);
TESSERA_MUST_USE TesseraStatus tessera_check_crossings (const TesseraPlan *plan,
                                                        TesseraError *error);

/* The end of the slot's block in a step of another kind: by its crossing, else the
 * section's end. */
uint32_t tessera_check_crossed (const TesseraPlan *plan, uint32_t slot, uint32_t section);

/* For each slot, 1 + the number of its rotation, or 0; the caller frees *@out_rotations,
 * on TESSERA_NO_MEMORY as well. */
TESSERA_MUST_USE TesseraStatus tessera_check_find_rotations (const TesseraPlan *plan,
                                                             uint32_t **out_rotations,
                                                             uint32_t *out_n_rotations);
