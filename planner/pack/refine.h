/*
 * What the portfolio leaves above the bound: searched exactly (planner/exact.h).
 *
 * First the bound itself is asked for, then heights between the lowest that may be and
 * the lowest that is known, by halves. An answer lowers the height, a proof raises the
 * bound. Every layout's height that matters is a multiple of the greatest common divisor
 * of the sizes, so there are few to ask.
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
 * Spends options->work_budget at most. Returns: TESSERA_OK, TESSERA_NO_MEMORY or
 * TESSERA_CANCELLED.
 */
TESSERA_MUST_USE TesseraStatus
tessera_pack_refine (TesseraPackProblem *problem,
                     const TesseraPortfolioOptions *options,
                     uint64_t *offsets,
                     uint64_t *height_bytes,
                     const char **strategy);
