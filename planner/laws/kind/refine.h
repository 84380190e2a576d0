/*
 * A kind compared once more, by sizes: with the parameters known, laws tell what a step's
 * request must be like to be the one of a slot.
 *
 * Where steps leave requests out, skeletons alone pair some wrongly: one request too
 * early or too late, of another size. Laws that hold for the typical steps, those that do
 * exactly the same, say which.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/laws/fit/parameters.h"

/* Replaces @kind and @laws by better ones, where there are. TESSERA_OK or
 * TESSERA_NO_MEMORY. */
TESSERA_MUST_USE TesseraStatus tessera_kind_refine (TesseraKind *kind,
                                                    TesseraKindLaws *laws,
                                                    const TesseraTrace *trace,
                                                    const TesseraBlocks *blocks,
                                                    const TesseraStructure *structure,
                                                    bool are_parts);
