/*
 * Slots whose blocks live on only where a length needs no rounding.
 *
 * What attention adds to its scores has to be rounded up to a multiple of 8: then a copy
 * is made, which lives until the backward pass, and what it was made of is gone soon.
 * Where the length is a multiple there is no copy, and what it would be made of lives as
 * long. Taken for one slot that would be both at once: 15 % of a step of T5. So such a
 * slot becomes two, of which each step has one.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/laws/fit/parameters.h"

/* Of a kind with two lengths, in place; the parts of a slot follow each other. TESSERA_OK
 * or TESSERA_NO_MEMORY. */
TESSERA_MUST_USE TesseraStatus tessera_kind_split (TesseraKind *kind,
                                                   TesseraKindLaws *laws,
                                                   const TesseraBlocks *blocks);

/* Whether all steps that tell of the slot have it where the length needs rounding, and
 * those only: it is such a copy. */
bool tessera_kind_is_copy (const TesseraKind *kind,
                           const TesseraKindLaws *laws,
                           uint32_t slot);

/* The last slot that the step has: what it lacks behind that it was not asked about. */
uint32_t tessera_kind_last_slot (const TesseraKind *kind, uint32_t step);
