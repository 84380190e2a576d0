/*
 * The exact search of a problem that rules leave above its bound.
 *
 * Nobody knows beforehand which height is found soon: of two that differ by a thousandth
 * one may take a hundredth of the work. So each call asks for the bound first, with half
 * of its work, and then from above for heights below the best layout, with small shares.
 * The next call has more work and goes on from what is known by then.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/exact.h"
#include "planner/pack/portfolio/portfolio.h"

typedef struct
{
  TesseraPackProblem *problem;
  TesseraExactItem *items; /* NULL: the search is not for this problem */
  uint64_t unit_bytes;     /* heights that matter are multiples */
  uint32_t n_asked;
  uint64_t load_bound_bytes; /* before anything was proven */
} TesseraRefinement;

/* Problems of few items, held to nothing. */
bool tessera_refinement_is_for (const TesseraPackProblem *problem);
/* Of a problem that it is not for nothing is made. */
TESSERA_MUST_USE TesseraStatus tessera_refinement_init (TesseraRefinement *refinement,
                                                        TesseraPackProblem *problem);
void tessera_refinement_clear (TesseraRefinement *refinement); /* a zeroed one is fine */

/*
 * tessera_refine:
 * @work: placements, as the portfolio counts them
 * @best: replaced by what is lower; problem->bound_bytes is raised by what is proven
 *
 * Returns: TESSERA_OK, TESSERA_NO_MEMORY or TESSERA_CANCELLED.
 */
TESSERA_MUST_USE TesseraStatus tessera_refine (TesseraRefinement *refinement,
                                               uint64_t work,
                                               const TesseraProgress *progress,
                                               double fraction,
                                               TesseraPackLayout *best);
