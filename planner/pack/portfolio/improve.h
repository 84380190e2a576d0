/*
 * What orders and rules leave above the bound is improved on, in rounds.
 *
 * Each part of a round goes on from the best layout so far and keeps what is lower:
 * re-packing around the peak (repack/repack.h), chains (fit/chain.h), and the exact
 * search (planner/exact.h) of problems of at most 4,096 items that are held to nothing.
 * A round may spend twice what the one before did.
 *
 * Private to the portfolio.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/pack/fit/attempt.h"
#include "planner/pack/portfolio/portfolio.h"

/* So much of the way is done, for people, when all orders have been tried. */
#define TESSERA_PACK_ORDERS_FRACTION 0.25

typedef struct
{
  TesseraPackProblem *problem;
  const TesseraPortfolioOptions *options;
  TesseraDesk *desk;
  const TesseraTimes *times; /* NULL: of this problem nothing is swept */
  bool has_lowest;           /* chains can be had */
  TesseraPackLayout *best;   /* replaced by what is lower */
} TesseraImprovement;

/* What a layout of before comes to when it is repaired (problem->hints). Nothing happens
 * where it can't be. Returns: TESSERA_OK, TESSERA_NO_MEMORY or TESSERA_CANCELLED. */
TESSERA_MUST_USE TesseraStatus tessera_improve_former (TesseraImprovement *improvement);

/* Returns: as above. */
TESSERA_MUST_USE TesseraStatus tessera_improve (TesseraImprovement *improvement);
