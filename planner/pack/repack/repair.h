/*
 * A layout made for a problem as it was, repaired for the problem as it is.
 *
 * Everybody begins where it lay. Whoever lies in the way of what is held now (pins
 * first), or where another lies already, or was not there before, waits and is put back
 * by ejection chains (repack.h): below the height of before, and where that takes too
 * long below some more. Then the height is lowered as far as the looks go.
 *
 * Example: A (size 4, at 0), B (2, at 4) and C (1, at 6) are alive together, and B is
 * pinned to 0 now. A is in its way and waits; at 2 it has only C to push, which goes to 6
 * again: A 2..6, C 6..7, as high as before.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/pack/repack/repack.h"

typedef struct
{
  TesseraRepackOptions chains;
  const uint64_t *former; /* [n_items] where each lay, or TESSERA_NOWHERE */
} TesseraRepairOptions;

/*
 * tessera_repair:
 * @times: of @problem, which is without zones
 * @offsets: (array): set where something lower was found
 * @height_bytes: what is to be beaten, UINT64_MAX: nothing; that of @offsets where
 *   something lower was found
 *
 * Returns: TESSERA_OK, TESSERA_NO_MEMORY or TESSERA_CANCELLED. A pure function of its
 * arguments but for a cancel.
 */
TESSERA_MUST_USE TesseraStatus tessera_repair (const TesseraPackProblem *problem,
                                               const TesseraTimes *times,
                                               const TesseraRepairOptions *options,
                                               uint64_t *offsets,
                                               uint64_t *height_bytes);
