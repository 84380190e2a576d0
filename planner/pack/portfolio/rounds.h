/*
 * The rounds of a portfolio, one after the other until the bound is reached or the work
 * is spent: candidates, drawn rules for sweeps (rule.h), chains (chain.h), each asked for
 * less than the best.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/pack/portfolio/workers.h"

/* The first: orders. The others go on from there. */
TESSERA_MUST_USE TesseraStatus tessera_portfolio_run_orders (
    TesseraPortfolio *portfolio, TesseraPortfolioWorker *workers);
/* Returns: TESSERA_OK or TESSERA_NO_MEMORY; the best stands in @portfolio. */
TESSERA_MUST_USE TesseraStatus tessera_portfolio_run_rounds (
    TesseraPortfolio *portfolio, TesseraPortfolioWorker *workers);
