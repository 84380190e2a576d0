/*
 * The laws of plans with several kinds of step: see check.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/check/sweep.h"

/* Where the kinds' sections lie among the sections: [first, end). */
typedef struct
{
  size_t first, end;
  uint32_t begin, stop; /* positions */
} TesseraCheckKinds;

/* Whether more than one section of @plan repeats. */
bool tessera_check_has_kinds (const TesseraPlan *plan, TesseraCheckKinds *out_kinds);

#define TESSERA_CHECK_MAX_KINDS 64

/* Each assumes that the laws before it in check.h hold. Returns as those of sweep.h. */
TESSERA_MUST_USE TesseraStatus tessera_check_kinds_lifetimes (
    const TesseraPlan *plan, const TesseraCheckKinds *kinds, TesseraError *error);
TESSERA_MUST_USE TesseraStatus tessera_check_crossings (const TesseraPlan *plan,
                                                        TesseraError *error);
TESSERA_MUST_USE TesseraStatus tessera_check_kinds_overlap (
    const TesseraPlan *plan, const TesseraCheckKinds *kinds, TesseraError *error);
TESSERA_MUST_USE TesseraStatus tessera_check_kinds_bound (const TesseraPlan *plan,
                                                          const TesseraCheckKinds *kinds,
                                                          TesseraError *error);
TESSERA_MUST_USE TesseraStatus tessera_check_kinds_rotations (
    const TesseraPlan *plan, const TesseraCheckKinds *kinds, TesseraError *error);

/* The end of the slot's block in a step of another kind: by its crossing, else the
 * section's end. */
uint32_t tessera_check_crossed (const TesseraPlan *plan, uint32_t slot, uint32_t section);

/* For each slot, 1 + the number of its rotation, or 0; the caller frees
   *@out_rotations. */
TESSERA_MUST_USE TesseraStatus tessera_check_find_rotations (const TesseraPlan *plan,
                                                             uint32_t **out_rotations,
                                                             uint32_t *out_n_rotations);
