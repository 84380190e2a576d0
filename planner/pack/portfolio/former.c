/*
 * What a layout of before is worth. See former.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/portfolio/former.h"

#include "planner/pack/repack/owners.h"

#include <stdlib.h>

/* Repairs may look so often for each item, about as long as the first round takes; of few
 * items so often in all, a hundredth of a second; of many, some twentieth of one. */
#define LOOKS_AN_ITEM 64
#define FEWEST_LOOKS (UINT64_C (1) << 17)
#define MOST_LOOKS (UINT64_C (1) << 20)

static uint64_t
looks_of (const TesseraPortfolio *portfolio, uint32_t part)
{
  const TesseraPortfolioOptions *options = portfolio->options;
  uint64_t looks = LOOKS_AN_ITEM * (uint64_t) portfolio->problem->n_items;
  if (looks < FEWEST_LOOKS)
    looks = FEWEST_LOOKS;
  if (looks > MOST_LOOKS)
    looks = MOST_LOOKS;
  looks += options->work_budget;
  return options->glance_part > part ? looks / options->glance_part : looks / part;
}

TesseraStatus
tessera_portfolio_repair (TesseraPortfolio *portfolio, uint32_t part)
{
  const TesseraPackProblem *problem = portfolio->problem;
  const TesseraPortfolioOptions *options = portfolio->options;
  TesseraFinished *best = &portfolio->best;
  if (problem->hints == NULL || problem->has_zones ||
      (options->stopped != NULL && *options->stopped) ||
      (problem->n_owners == 1 && !portfolio->scope.has_sweeps))
    return TESSERA_OK;
  const TesseraRepairOptions repair = {
    .chains = { .looks = looks_of (portfolio, part),
                .progress = options->progress,
                .fraction = options->fraction_begin },
    .former = problem->hints,
    .goes_on = options->rough_part != 0,
  };
  const uint64_t before_bytes = best->height_bytes;
  TesseraStatus status =
      problem->n_owners > 1
          ? tessera_repair_owners (problem, &repair, best->offsets, &best->height_bytes)
          : tessera_repair (problem, &portfolio->times, &repair, best->offsets,
                            &best->height_bytes);
  if (best->height_bytes < before_bytes)
    best->name = "as before, repaired";
  if (status == TESSERA_CANCELLED && options->stopped != NULL)
    *options->stopped = true;
  return status == TESSERA_CANCELLED && options->stopped != NULL ? TESSERA_OK : status;
}
