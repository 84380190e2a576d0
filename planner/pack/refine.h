/*
 * What the portfolio leaves above the bound: searched exactly (planner/exact.h).
 *
 * In rounds, from both ends: the bound itself and, where that is proven impossible, what
 * lies a step above; then, from above, a step below the lowest height that is known, and
 * down from each that is found. A question gets a share of the work that doubles from
 * round to round, since how much one needs can't be told from its height. Every layout's
 * height that matters is a multiple of the greatest common divisor of the sizes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/pack/portfolio/portfolio.h"

/* Tells whether the search can be asked at all: not where somebody is held to something,
 * or lives longer in the eyes of other owners, nor of thousands of items. */
bool tessera_pack_can_refine (const TesseraPackProblem *problem);

/*
 * tessera_pack_refine:
 * @problem: its bound_bytes is raised to what is proven
 * @offsets: (array): by item of @problem, above base_bytes; replaced by lower ones
 * @height_bytes: of @offsets, lowered
 * @strategy: changed where the search found the layout or proved that none is lower
 *
 * Spends a fifth of options->work_budget, and where that found something lower, the rest
 * of it. Returns: TESSERA_OK, TESSERA_NO_MEMORY or,
 * where there is no options->stopped, TESSERA_CANCELLED.
 */
TESSERA_MUST_USE TesseraStatus
tessera_pack_refine (TesseraPackProblem *problem,
                     const TesseraPortfolioOptions *options,
                     uint64_t *offsets,
                     uint64_t *height_bytes,
                     const char **strategy);
