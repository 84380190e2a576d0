/*
 * The rounds of a portfolio. See rounds.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/portfolio/rounds.h"

#include "planner/pack/sweep/outward.h"

/* A chain makes so many placements, or one attempt, in a round: enough to be worth the
 * start of a thread. Fixed, so that rounds do not depend on the machine. */
#define PLACEMENTS_A_ROUND 4096u

/* With a layout of before to go by a few attempts may do; of a preview there are few. */
#define PLACEMENTS_A_HINTED_ROUND 256u

/* So many floors that are found anew take as long as a placement. */
#define SETTLED_A_UNIT 16

/* A placement by a sweep costs a fraction of what one by the lowest offset does; so many
 * are had for a unit of the work budget. But not more rules than this are drawn. */
#define SWEPT_A_UNIT 4
#define SWEPT_AT_LEAST                                                                   \
  4096 /* an attempt at few items costs as much as one at so many                        \
        */
#define MAX_DRAWN_RULES 512

/* Most rules of own places are soon given up: so many cost what one drawn rule does. */
#define OWN_A_DRAWN 6
#define MAX_OWN_RULES (TESSERA_N_OWN_RULES + TESSERA_N_OUTWARD)

/* So many times what is little (problem.h) is worth all of the work, less of it as much
 * less. */
#define WORTH_ALL 16

/* Nearer to the bound than this part of it, no rules are drawn any more. */
#define NEAR_ENOUGH 16384

static bool
is_over (TesseraPortfolio *portfolio)
{
  return tessera_pack_is_enough (portfolio->problem, portfolio->best.height_bytes) ||
         atomic_load (&portfolio->shared.cancelled);
}

/* Nobody would see what is left to be won. */
static bool
is_little (const TesseraPortfolio *portfolio)
{
  const TesseraPackProblem *problem = portfolio->problem;
  return portfolio->best.height_bytes <= problem->bound_bytes + problem->little_bytes;
}

static bool
is_near (const TesseraPortfolio *portfolio)
{
  uint64_t bound_bytes = portfolio->problem->bound_bytes;
  return is_little (portfolio) ||
         portfolio->best.height_bytes - bound_bytes < bound_bytes / NEAR_ENOUGH;
}

/* How many sweeps the budget allows. */
static uint64_t
n_sweeps_allowed (const TesseraPortfolio *portfolio)
{
  return portfolio->options->work_budget * SWEPT_A_UNIT /
         (portfolio->problem->n_items + SWEPT_AT_LEAST);
}

/* Each at no more than the best so far or given up. */
static void
run_rules (TesseraPortfolio *portfolio,
           TesseraPortfolioWorker *workers,
           TesseraRound round,
           uint64_t n_rules)
{
  if (is_over (portfolio) || !portfolio->scope.has_sweeps || n_rules == 0 ||
      is_near (portfolio))
    return;
  portfolio->round = round;
  atomic_store (&portfolio->shared.best_height_bytes, portfolio->best.height_bytes);
  tessera_portfolio_run_round (portfolio, workers, (uint32_t) n_rules);
}

static void
run_own_rules (TesseraPortfolio *portfolio, TesseraPortfolioWorker *workers)
{
  uint64_t n_rules = n_sweeps_allowed (portfolio) * OWN_A_DRAWN;
  run_rules (portfolio, workers, TESSERA_ROUND_OWN_RULES,
             n_rules < MAX_OWN_RULES ? n_rules : MAX_OWN_RULES);
}

/* The first rules too where they have not been tried. */
static void
run_drawn_rules (TesseraPortfolio *portfolio, TesseraPortfolioWorker *workers)
{
  uint64_t n_rules =
      n_sweeps_allowed (portfolio) + tessera_scope_n_late_rules (&portfolio->scope);
  portfolio->n_rounds++;
  run_rules (portfolio, workers, TESSERA_ROUND_DRAWN_RULES,
             n_rules < MAX_DRAWN_RULES ? n_rules : MAX_DRAWN_RULES);
}

/* Of a preview by what there is to be won. */
static uint64_t
work_of_chains (const TesseraPortfolio *portfolio)
{
  const TesseraPackProblem *problem = portfolio->problem;
  const uint64_t work = portfolio->options->work_budget;
  uint64_t left_bytes = portfolio->best.height_bytes - problem->bound_bytes;
  if (problem->little_bytes == 0 || left_bytes / WORTH_ALL >= problem->little_bytes)
    return work;
  return (uint64_t) ((double) work * (double) left_bytes /
                     ((double) problem->little_bytes * WORTH_ALL));
}

/* What taking turns cost in a round beyond what its placements are charged for: of items
 * that few may lie beside hundreds of floors are found anew for each that is placed.
 * Where a chain got through, how far the others were depends on threads: such a round is
 * not charged for it. */
static uint64_t
work_of_turns (TesseraPortfolio *portfolio,
               uint32_t n_chains,
               uint64_t work_of_round,
               bool is_higher)
{
  uint64_t n_settled = 0;
  for (uint32_t i = 0; i < n_chains; i++)
    {
      n_settled += portfolio->chains[i].n_settled;
      portfolio->chains[i].n_settled = 0;
    }
  return is_higher && n_settled / SETTLED_A_UNIT > work_of_round
             ? n_settled / SETTLED_A_UNIT - work_of_round
             : 0;
}

static TesseraStatus
run_chains (TesseraPortfolio *portfolio, TesseraPortfolioWorker *workers)
{
  const TesseraPackProblem *problem = portfolio->problem;
  const uint32_t n_chains = tessera_scope_n_chains (&portfolio->scope);
  portfolio->n_rounds++;
  portfolio->n_tries =
      1 + (tessera_scope_is_hinted (&portfolio->scope) ? PLACEMENTS_A_HINTED_ROUND
                                                       : PLACEMENTS_A_ROUND) /
              (uint32_t) problem->n_items;
  const uint64_t work = work_of_chains (portfolio);
  uint64_t work_of_round = (uint64_t) portfolio->n_tries * problem->n_items * n_chains *
                           tessera_scope_cost_of_owners (&portfolio->scope);
  if (is_over (portfolio) || is_little (portfolio) ||
      !tessera_scope_has_chains (&portfolio->scope) || work_of_round > work)
    return TESSERA_OK;
  TesseraStatus status =
      tessera_chains_init (portfolio->chains, problem, n_chains, workers[0].desk.entries);
  portfolio->round = TESSERA_ROUND_CHAINS;
  atomic_store (&portfolio->shared.best_height_bytes, UINT64_MAX);
  while (status == TESSERA_OK && !is_over (portfolio) &&
         portfolio->work_done + work_of_round <= work)
    {
      const uint64_t before_bytes = portfolio->best.height_bytes;
      tessera_portfolio_run_round (portfolio, workers, n_chains);
      portfolio->work_done +=
          work_of_round + work_of_turns (portfolio, n_chains, work_of_round,
                                         portfolio->best.height_bytes == before_bytes);
    }
  return status;
}

/* Where only some orders are wanted and none of these is for such a problem: all. */
static void
run_first_round (TesseraPortfolio *portfolio,
                 TesseraPortfolioWorker *workers,
                 uint32_t n_orders)
{
  uint32_t n_all =
      tessera_n_candidates () + tessera_scope_n_first_rules (&portfolio->scope);
  bool is_all = n_orders == 0 || n_orders >= n_all;
  if (!is_all)
    tessera_portfolio_run_round (portfolio, workers, n_orders);
  if (is_all || portfolio->best.height_bytes == UINT64_MAX)
    tessera_portfolio_run_round (portfolio, workers, n_all);
}

/* Whoever is told to stop before anything has ended ends one, whatever is said. */
static void
hurry (TesseraPortfolio *portfolio, TesseraPortfolioWorker *workers)
{
  *portfolio->options->stopped = true;
  atomic_store (&portfolio->shared.cancelled, false);
  if (portfolio->best.height_bytes != UINT64_MAX)
    return;
  portfolio->is_hurried = true;
  portfolio->round = TESSERA_ROUND_CANDIDATES;
  run_first_round (portfolio, workers, 1);
}

TesseraStatus
tessera_portfolio_run_orders (TesseraPortfolio *portfolio,
                              TesseraPortfolioWorker *workers)
{
  bool *stopped = portfolio->options->stopped;
  if (stopped != NULL && *stopped)
    {
      hurry (portfolio, workers);
      return TESSERA_OK;
    }
  if (portfolio->best.height_bytes != UINT64_MAX) /* as high is not better */
    atomic_store (&portfolio->shared.best_height_bytes, portfolio->best.height_bytes - 1);
  run_first_round (portfolio, workers, portfolio->options->n_orders);
  if (stopped != NULL && atomic_load (&portfolio->shared.cancelled))
    hurry (portfolio, workers);
  return TESSERA_OK;
}

/* Of few items chains come before rules, of many after them. */
TesseraStatus
tessera_portfolio_run_rounds (TesseraPortfolio *portfolio,
                              TesseraPortfolioWorker *workers)
{
  bool is_small = tessera_scope_is_small (&portfolio->scope);
  bool *stopped = portfolio->options->stopped;
  TesseraStatus status;
  if (stopped != NULL && *stopped)
    return TESSERA_OK;
  if (!is_small)
    {
      run_own_rules (portfolio, workers);
      run_drawn_rules (portfolio, workers);
    }
  status = run_chains (portfolio, workers);
  if (is_small && status == TESSERA_OK)
    run_drawn_rules (portfolio, workers);
  if (status == TESSERA_OK && stopped != NULL &&
      atomic_load (&portfolio->shared.cancelled))
    hurry (portfolio, workers);
  return status;
}
