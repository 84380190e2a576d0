/*
 * The portfolio: orders x placements, tried in threads.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/pack.h"
#include "planner/pack/problem.h"

typedef struct
{
  uint32_t n_threads;     /* at least 1 */
  uint64_t work_budget;   /* placements that may be tried on improving */
  size_t fit_at_most;     /* items; of larger problems, fits in order of time only */
  uint32_t n_orders;      /* of the portfolio, the first; 0: all */
  const uint64_t *former; /* see TesseraPackOptions */
  bool is_brief;          /* the same */
  bool is_settled;        /* the same */
  uint32_t glance_part;   /* is_glance: of the looks at it; 0: it is not */
  uint32_t rough_part;    /* the same */
  uint64_t hard_budget;   /* instead of work_budget where a layout of before is torn */
  uint64_t *spent;        /* (nullable): what chains took of the work is added */
  const TesseraProgress *progress;
  bool *stopped; /* (nullable): told to stop: what is known then is the answer. Is set,
                    and where it already is, the first attempt that ends is enough */
  const TesseraListener *listener; /* (nullable) */
  double fraction_begin; /* which part of the whole this problem is, for @progress */
  double fraction_end;
} TesseraPortfolioOptions;

/*
 * tessera_portfolio_run:
 * @offsets: (array): by item of @problem, above base_bytes
 * @out_strategy: static text
 *
 * Returns: TESSERA_OK, TESSERA_NO_MEMORY or, where there is no options->stopped,
 * TESSERA_CANCELLED. The result depends on
 * @problem and the work budget alone, not on the number of threads.
 */
TESSERA_MUST_USE TesseraStatus
tessera_portfolio_run (const TesseraPackProblem *problem,
                       const TesseraPortfolioOptions *options,
                       uint64_t *offsets,
                       uint64_t *out_height_bytes,
                       const char **out_strategy);
