/*
 * A portfolio at work: what its rounds have found, and what its threads share.
 *
 * Private to the portfolio.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/pack/fit/chain.h"
#include "planner/pack/portfolio/finished.h"
#include "planner/pack/portfolio/portfolio.h"
#include "planner/pack/portfolio/scope.h"

typedef enum
{
  TESSERA_ROUND_CANDIDATES,
  TESSERA_ROUND_OWN_RULES,
  TESSERA_ROUND_DRAWN_RULES,
  TESSERA_ROUND_CHAINS
} TesseraRound;

typedef struct
{
  const TesseraPackProblem *problem;
  const TesseraPortfolioOptions *options;
  TesseraPackShared shared;
  TesseraScope scope;
  _Atomic uint32_t next_number;
  uint32_t n_attempts; /* of this round */
  TesseraRound round;
  bool is_hurried;         /* nothing is reported, and the first that ends is enough */
  uint32_t n_rounds;       /* before this one, all chains counted as one */
  TesseraTimes times;      /* zeroed where there are no sweeps */
  TesseraLifeCuts cuts;    /* set where there are sweeps */
  uint64_t longest_events; /* life of an item */
  uint64_t work_done;      /* placements of the finished rounds of chains */
  uint32_t n_tries;        /* of a chain in a round */
  TesseraChain chains[TESSERA_N_CHAINS];
  TesseraFinished best; /* of the finished rounds */
} TesseraPortfolio;
