/*
 * The packing of one problem: orders and rules first, then improvements of the best
 * layout while there is work left.
 *
 * 1. Attempts (portfolio.c): five orders, each item at the lowest reachable offset, first
 *    fit by size, and the first rules for sweeps, in threads. The lowest-numbered attempt
 *    that reaches the bound ends the search.
 * 2. Rounds (improve.c), each with twice the work of the one before: re-packing around
 *    the peak, and the exact search (planner/exact.h) of problems of at most 4,096 items
 *    that are held to nothing. Each goes on from the best layout so far and
 *    keeps what is lower.
 *
 * The budget only says before which part of a round the work ends. So more work makes a
 * longer run of the same, and never ends higher. The number of threads changes nothing.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/pack/methods.h"

typedef struct
{
  uint32_t n_threads;   /* at least 1 */
  uint64_t work_budget; /* placements that may be tried on improving */
  bool is_preview;      /* of many items one order is enough */
  const TesseraProgress *progress;
  bool *stopped; /* (nullable): told to stop: the best layout so far is the answer. It is
                    set here, and where it already is, one attempt is enough */
  const TesseraListener *listener; /* (nullable) */
  double fraction_begin;           /* which part of the whole this problem is */
  double fraction_end;
} TesseraPortfolioOptions;

/* So much of the way is done, for people, when all orders have been tried. */
#define TESSERA_PACK_ORDERS_FRACTION 0.25

/*
 * tessera_portfolio_run:
 * @problem: its bound is raised where the exact search proves a higher one
 * @offsets: (array): by item of @problem, above base_bytes
 * @out_strategy: static text
 *
 * Returns: TESSERA_OK or, where there is no options->stopped, TESSERA_CANCELLED.
 */
TESSERA_MUST_USE TesseraStatus
tessera_portfolio_run (TesseraPackProblem *problem,
                       const TesseraPortfolioOptions *options,
                       uint64_t *offsets,
                       const char **out_strategy);

typedef struct
{
  TesseraPackProblem *problem;
  const TesseraPortfolioOptions *options;
  TesseraPackLayout *best; /* replaced by what is lower */
} TesseraImprovement;

/* What a layout of before comes to when it is repaired (problem->hints). Nothing happens
 * where it can't be. Returns: TESSERA_OK or TESSERA_CANCELLED. */
TESSERA_MUST_USE TesseraStatus tessera_improve_former (TesseraImprovement *improvement);
/* The rounds. Returns: as above. */
TESSERA_MUST_USE TesseraStatus tessera_improve (TesseraImprovement *improvement);
