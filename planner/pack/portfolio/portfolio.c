/*
 * The portfolio: orders x placements, tried in threads. See portfolio.h.
 *
 * Attempts are numbered and taken in that order by whoever is idle. The winner is the
 * lowest number that reaches the bound, else the lowest height, ties to the lower number;
 * see watch.h for why no thread can change that by being fast.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/portfolio/former.h"
#include "planner/pack/portfolio/rounds.h"
#include "planner/pack/repack/owners.h"

#include <string.h>

/* Of a preview: the rounds of more items take 1.4 to 3 processor seconds at 100,000, and
 * end up to as much lower as this part of the height of before. */
#define MOST_ITEMS_OF_ROUNDS 32768
#define NEAR_SETTLED 256
/* Of a preview: of no more items repairs get a part of their looks before orders, and one
 * after them. */
#define MOST_ITEMS_OF_HASTE 32768
#define HASTY_PART 8
#define LATER_PART 2
/* What was brought nearer to the bound than this part of it may be again, and at once. */
#define HARD_PART 2048

/* What is known of the problem before anything is tried, and room for the best. */
static TesseraStatus
init_run (TesseraPortfolio *portfolio, TesseraDeskParts *parts)
{
  const TesseraPackProblem *problem = portfolio->problem;
  TesseraScope *scope = &portfolio->scope;
  size_t n_before = 0;
  for (uint32_t i = 0; i < problem->n_items; i++)
    {
      n_before += tessera_rule_is_first (problem, i) ? 1 : 0;
      if (problem->items[i].life_events > portfolio->longest_events)
        portfolio->longest_events = problem->items[i].life_events;
    }
  *scope = (TesseraScope){ .problem = problem,
                           .fit_at_most = portfolio->options->fit_at_most,
                           .has_sweeps = tessera_scope_can_sweep (problem, n_before),
                           .is_brief = portfolio->options->is_brief,
                           .is_rough = portfolio->options->rough_part != 0,
                           .is_glance = portfolio->options->rough_part != 0 &&
                                        portfolio->options->glance_part != 0 };
  TesseraStatus status = tessera_finished_init (&portfolio->best, problem->n_items);
  if (status == TESSERA_OK && scope->has_sweeps)
    {
      portfolio->cuts = tessera_life_cuts (problem);
      status = tessera_times_init (&portfolio->times, problem);
    }
  bool fits_all = !scope->has_sweeps || problem->n_items <= scope->fit_at_most;
  *parts = (TesseraDeskParts){
    .has_orders = tessera_scope_has_orders (scope),
    .n_on_shelf = fits_all ? problem->n_items : n_before,
    .times = scope->has_sweeps ? &portfolio->times : NULL,
  };
  return status;
}

/* What the rounds have left above the bound, around the peak. In place. */
static TesseraStatus
repack (const TesseraPortfolio *portfolio, uint64_t *offsets, uint64_t *height_bytes)
{
  const TesseraPortfolioOptions *options = portfolio->options;
  const TesseraRepackOptions repack_options = {
    .looks = tessera_scope_looks_of_repack (&portfolio->scope, options->work_budget),
    .progress = options->progress,
    .fraction = options->fraction_end,
  };
  if (options->stopped != NULL && *options->stopped)
    return TESSERA_OK;
  TesseraStatus status =
      portfolio->problem->n_owners > 1
          ? tessera_repack_owners (portfolio->problem, &repack_options, offsets,
                                   height_bytes)
          : tessera_repack (&portfolio->times, &repack_options, offsets, height_bytes);
  if (status != TESSERA_CANCELLED || options->stopped == NULL)
    return status;
  *options->stopped = true;
  return TESSERA_OK;
}

static bool
is_over (const TesseraPortfolio *portfolio)
{
  return tessera_pack_is_enough (portfolio->problem, portfolio->best.height_bytes);
}

/* Whether what a layout of before has come to is all that is wanted: at a glance, or
 * where all orders of a large problem would take seconds to be little lower, if at all.
 */
static bool
is_repaired_enough (const TesseraPortfolio *portfolio)
{
  const TesseraPackProblem *problem = portfolio->problem;
  uint64_t height_bytes = portfolio->best.height_bytes,
           settled_bytes = problem->settled_bytes;
  if (height_bytes == UINT64_MAX || portfolio->options->glance_part != 0)
    return height_bytes != UINT64_MAX;
  return portfolio->options->rough_part != 0 && problem->n_items > MOST_ITEMS_OF_ROUNDS &&
         settled_bytes > problem->bound_bytes + problem->bound_bytes / HARD_PART &&
         height_bytes <= settled_bytes + settled_bytes / NEAR_SETTLED;
}

/* The first orders take as long as a tenth of the looks that repairs of few items may
 * take in vain, a half of many items, and end at the bound as often. */
static TesseraStatus
repair (TesseraPortfolio *portfolio, TesseraPortfolioWorker *workers)
{
  const bool is_first = portfolio->options->rough_part != 0 &&
                        portfolio->options->glance_part == 0 &&
                        portfolio->problem->n_items <= MOST_ITEMS_OF_HASTE;
  TesseraStatus status = tessera_portfolio_repair (portfolio, is_first ? HASTY_PART : 1);
  if (status != TESSERA_OK || is_repaired_enough (portfolio) || is_over (portfolio))
    return status;
  status = tessera_portfolio_run_orders (portfolio, workers);
  if (status == TESSERA_OK && is_first && !is_over (portfolio))
    status = tessera_portfolio_repair (portfolio, LATER_PART);
  return status;
}

static TesseraStatus
look_for (TesseraPortfolio *portfolio, TesseraPortfolioWorker *workers)
{
  TesseraStatus status = repair (portfolio, workers);
  if (status != TESSERA_OK || is_repaired_enough (portfolio) || is_over (portfolio))
    return status;
  return tessera_portfolio_run_rounds (portfolio, workers);
}

TesseraStatus
tessera_portfolio_run (const TesseraPackProblem *problem,
                       const TesseraPortfolioOptions *options,
                       uint64_t *offsets,
                       uint64_t *out_height_bytes,
                       const char **out_strategy)
{
  TesseraPortfolioWorker *workers = NULL;
  TesseraDeskParts parts;
  TesseraPortfolio portfolio = {
    .problem = problem,
    .options = options,
    .shared = { .best_height_bytes = UINT64_MAX, .reached = UINT32_MAX },
  };
  TesseraStatus status = init_run (&portfolio, &parts);
  if (status == TESSERA_OK)
    status = tessera_portfolio_workers_new (&portfolio, &parts, &workers);
  if (status == TESSERA_OK)
    status = look_for (&portfolio, workers);
  if (status == TESSERA_OK && atomic_load (&portfolio.shared.cancelled))
    status = TESSERA_CANCELLED;
  if (status == TESSERA_OK)
    {
      memcpy (offsets, portfolio.best.offsets, problem->n_items * sizeof *offsets);
      *out_height_bytes = portfolio.best.height_bytes;
      *out_strategy = portfolio.best.name;
    }
  if (options->spent != NULL)
    *options->spent += portfolio.work_done;
  tessera_chains_clear (portfolio.chains);
  tessera_portfolio_workers_free (workers, options->n_threads);
  if (status == TESSERA_OK && !problem->has_zones && options->glance_part == 0 &&
      (portfolio.scope.has_sweeps || problem->n_owners > 1))
    {
      status = repack (&portfolio, offsets, out_height_bytes);
      if (*out_height_bytes < portfolio.best.height_bytes)
        *out_strategy = "packed anew around the peak";
    }
  tessera_finished_clear (&portfolio.best);
  tessera_times_clear (&portfolio.times);
  return status;
}
