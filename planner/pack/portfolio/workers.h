/*
 * The threads of a portfolio: one round of numbered attempts.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/pack/portfolio/run.h"

#include <pthread.h>

typedef struct
{
  TesseraPortfolio *portfolio;
  TesseraDesk desk;
  TesseraFinished best; /* of this round, in this thread */
  pthread_t thread;
  bool reports; /* to the person who waits: one thread only */
} TesseraPortfolioWorker;

/* [options->n_threads] of them, for the problem of @portfolio. Cleared by the next. */
TESSERA_MUST_USE TesseraStatus
tessera_portfolio_workers_new (TesseraPortfolio *portfolio,
                               const TesseraDeskParts *parts,
                               TesseraPortfolioWorker **out_workers);
/* NULL is fine. */
void tessera_portfolio_workers_free (TesseraPortfolioWorker *workers, uint32_t n_workers);

/* All attempts of one round; the best of them ends up in the portfolio. The calling
 * thread works as well, so that a thread that cannot be made costs speed only. */
void tessera_portfolio_run_round (TesseraPortfolio *portfolio,
                                  TesseraPortfolioWorker *workers,
                                  uint32_t n_attempts);
