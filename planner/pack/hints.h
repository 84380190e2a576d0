/*
 * Where the items of a problem lay in a layout before, as the problem would have them.
 *
 * Zones lie on top of each other. One that has to grow, or somebody pinned into the
 * middle of one, moves all above: what matters of a former layout is how the items of the
 * zone lay to each other. So addresses that none of them used are taken out of it, and it
 * is laid from the bottom of what is free now, around what is not to be had.
 *
 * Example: a zone lay at 4..10, and 6..7 is pinned by another now; below it are 5 used.
 * What lay at 4 comes to 5, what lay at 5 to 7. Who lay at 5..7 lies across what is
 * blocked, and has to look for another place.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/pack/problem.h"

/* Lay nowhere. */
#define TESSERA_PACK_NO_HINT UINT64_MAX

/*
 * tessera_pack_hints_find:
 * @former: as in TesseraPackOptions
 *
 * Sets problem->hints. What is blocked must be known.
 *
 * Returns: TESSERA_OK or TESSERA_NO_MEMORY.
 */
TESSERA_MUST_USE TesseraStatus tessera_pack_hints_find (TesseraPackProblem *problem,
                                                        const uint64_t *former);
