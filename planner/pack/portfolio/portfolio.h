/*
 * The packing of one problem: orders and rules first, then improvements of the best
 * layout while there is work left.
 *
 * 1. Attempts: five orders, each item at the lowest reachable offset, first fit by size,
 *    and the first rules for sweeps (sweep/rule.h), in threads. The lowest-numbered
 *    attempt that reaches the bound ends the search.
 * 2. Rounds (improve.h), each with twice the work of the one before: re-packing around
 *    the peak, chains, and an exact search of small problems. Each goes on from the best
 *    layout so far.
 *
 * The budget only says before which part of a round the work ends. So more work makes a
 * longer run of the same, and never ends higher. The number of threads changes nothing.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/pack.h"
#include "planner/pack/problem.h"

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

/* A layout and how it was found. */
typedef struct
{
  uint64_t height_bytes; /* UINT64_MAX: none */
  const char *strategy;  /* static text */
  uint64_t *offsets;     /* [n_items] */
} TesseraPackLayout;

/*
 * tessera_portfolio_run:
 * @problem: its bound is raised where the exact search proves a higher one
 * @offsets: (array): by item of @problem, above base_bytes
 * @out_strategy: static text
 *
 * Returns: TESSERA_OK, TESSERA_NO_MEMORY or, where there is no options->stopped,
 * TESSERA_CANCELLED.
 */
TESSERA_MUST_USE TesseraStatus
tessera_portfolio_run (TesseraPackProblem *problem,
                       const TesseraPortfolioOptions *options,
                       uint64_t *offsets,
                       uint64_t *out_height_bytes,
                       const char **out_strategy);
