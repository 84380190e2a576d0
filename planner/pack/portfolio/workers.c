/*
 * The threads of a portfolio. See workers.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/portfolio/workers.h"

#include "planner/pack/portfolio/attempts.h"

#include <stdlib.h>

/* Lowers an atomic to @value; the order among threads does not matter. */
#define LOWER(atomic, value)                                                             \
  do                                                                                     \
    {                                                                                    \
      __typeof__ (value) known = atomic_load (atomic);                                   \
      while ((value) < known && !atomic_compare_exchange_weak (atomic, &known, (value))) \
        ;                                                                                \
    }                                                                                    \
  while (0)

/* Of two that are low enough the lower number: others may not have been waited for. */
static bool
is_better (const TesseraPackProblem *problem,
           const TesseraFinished *a,
           const TesseraFinished *b)
{
  return tessera_pack_is_enough (problem, a->height_bytes) &&
                 tessera_pack_is_enough (problem, b->height_bytes)
             ? a->number < b->number
             : tessera_finished_is_better (a, b);
}

/* Keeps what the desk holds where it is better than what this thread had. Those who may
 * end low enough are not given up for who is lower than that: which of them wins must not
 * depend on who was faster. */
static void
keep_attempt (TesseraPortfolioWorker *worker, TesseraFinished attempt)
{
  TesseraPortfolio *portfolio = worker->portfolio;
  const TesseraPackProblem *problem = portfolio->problem;
  bool is_enough = tessera_pack_is_enough (problem, attempt.height_bytes);
  uint64_t asked_bytes = is_enough && problem->enough_bytes > attempt.height_bytes
                             ? problem->enough_bytes
                             : attempt.height_bytes;
  /* A chain goes on from where it was: it must not matter when another succeeds. */
  if (portfolio->round != TESSERA_ROUND_CHAINS)
    LOWER (&portfolio->shared.best_height_bytes, asked_bytes);
  if (is_enough)
    LOWER (&portfolio->shared.reached, attempt.number);
  if (!is_better (problem, &attempt, &worker->best))
    return;
  attempt.offsets = worker->desk.offsets;
  worker->desk.offsets = worker->best.offsets;
  worker->best = attempt;
}

/* A third of the way for the candidates, another for drawn rules, the rest for chains. */
static double
fraction_done (const TesseraPortfolio *portfolio, uint32_t number)
{
  const TesseraPortfolioOptions *options = portfolio->options;
  double done = portfolio->round == TESSERA_ROUND_CHAINS
                    ? (double) portfolio->work_done / (double) (options->work_budget + 1)
                    : (double) number / (double) portfolio->n_attempts;
  return options->fraction_begin + (portfolio->n_rounds + done) / 3 *
                                       (options->fraction_end - options->fraction_begin);
}

/* At most some hundred times in all. */
static bool
is_reported (const TesseraPortfolio *portfolio, uint32_t number)
{
  return portfolio->round == TESSERA_ROUND_CHAINS
             ? number == 0
             : number % (portfolio->n_attempts / 32 + 1) == 0;
}

static const char *const doing[] = {
  [TESSERA_ROUND_CANDIDATES] = "trying orders",
  [TESSERA_ROUND_DRAWN_RULES] = "trying classes",
  [TESSERA_ROUND_CHAINS] = "improving on orders",
};

/* Chains keep what they find to themselves until their round is over. */
static void
tell (const TesseraPortfolioWorker *worker)
{
  TesseraPortfolio *portfolio = worker->portfolio;
  const TesseraListener *listener = portfolio->options->listener;
  uint64_t height_bytes = portfolio->best.height_bytes;
  uint64_t found_bytes = atomic_load (&portfolio->shared.best_height_bytes);
  if (listener == NULL)
    return;
  if (found_bytes < height_bytes)
    height_bytes = found_bytes;
  const TesseraNews news = { .height_bytes =
                                 height_bytes != UINT64_MAX ? height_bytes : 0,
                             .bound_bytes = portfolio->problem->bound_bytes,
                             .doing = doing[portfolio->round] };
  listener->tell (listener->user, &news);
}

/* Returns: false when the work is to stop. */
static bool
report (TesseraPortfolioWorker *worker, uint32_t number)
{
  TesseraPortfolio *portfolio = worker->portfolio;
  if (!worker->reports || portfolio->is_hurried || !is_reported (portfolio, number))
    return true;
  tell (worker);
  return tessera_progress (portfolio->options->progress,
                           fraction_done (portfolio, number));
}

/* Returns: false when there is none any more. */
static bool
make_next_attempt (TesseraPortfolioWorker *worker)
{
  TesseraPortfolio *portfolio = worker->portfolio;
  uint32_t number = atomic_fetch_add (&portfolio->next_number, 1);
  if (number >= portfolio->n_attempts ||
      number > atomic_load (&portfolio->shared.reached) ||
      (portfolio->is_hurried && worker->best.height_bytes != UINT64_MAX) ||
      atomic_load (&portfolio->shared.cancelled))
    return false;
  if (!report (worker, number))
    atomic_store (&portfolio->shared.cancelled, true);
  TesseraFinished attempt = { .number = number };
  if (tessera_portfolio_attempt (portfolio, &worker->desk, &attempt))
    keep_attempt (worker, attempt);
  return true;
}

static void *
work (void *data)
{
  while (make_next_attempt (data))
    ;
  return NULL;
}

/* The likely winner goes first, by itself: where it ends the search, or a preview has
 * enough with it, others would work in vain. */
static bool
goes_on_after_first (TesseraPortfolio *portfolio, TesseraPortfolioWorker *workers)
{
  if (portfolio->round != TESSERA_ROUND_CANDIDATES)
    return true;
  return make_next_attempt (&workers[0]) &&
         atomic_load (&portfolio->shared.reached) == UINT32_MAX &&
         !atomic_load (&portfolio->shared.cancelled);
}

void
tessera_portfolio_run_round (TesseraPortfolio *portfolio,
                             TesseraPortfolioWorker *workers,
                             uint32_t n_attempts)
{
  uint32_t n_threads = 0, n_wanted;
  portfolio->n_attempts = n_attempts;
  atomic_store (&portfolio->next_number, 0);
  for (uint32_t i = 0; i < portfolio->options->n_threads; i++)
    workers[i].best.height_bytes = UINT64_MAX;
  n_wanted = goes_on_after_first (portfolio, workers) ? portfolio->options->n_threads : 1;
  for (uint32_t i = 1; i < n_wanted; i++)
    {
      if (pthread_create (&workers[i].thread, NULL, work, &workers[i]) != 0)
        break;
      n_threads = i;
    }
  work (&workers[0]);
  for (uint32_t i = 1; i <= n_threads; i++)
    pthread_join (workers[i].thread, NULL);
  TesseraFinished *winner = &workers[0].best;
  for (uint32_t i = 1; i < portfolio->options->n_threads; i++)
    if (is_better (portfolio->problem, &workers[i].best, winner))
      winner = &workers[i].best;
  if (winner->height_bytes <= portfolio->best.height_bytes &&
      winner->height_bytes != UINT64_MAX)
    tessera_finished_swap (&portfolio->best, winner);
}

TesseraStatus
tessera_portfolio_workers_new (TesseraPortfolio *portfolio,
                               const TesseraDeskParts *parts,
                               TesseraPortfolioWorker **out_workers)
{
  const uint32_t n_workers = portfolio->options->n_threads;
  TesseraPortfolioWorker *workers = calloc (n_workers, sizeof *workers);
  TesseraStatus status = workers != NULL ? TESSERA_OK : TESSERA_NO_MEMORY;
  for (uint32_t i = 0; i < n_workers && status == TESSERA_OK; i++)
    {
      workers[i].portfolio = portfolio;
      workers[i].reports = i == 0;
      status = tessera_desk_init (&workers[i].desk, portfolio->problem, parts);
      if (status == TESSERA_OK)
        status = tessera_finished_init (&workers[i].best, portfolio->problem->n_items);
    }
  *out_workers = status == TESSERA_OK ? workers : NULL;
  if (status != TESSERA_OK)
    tessera_portfolio_workers_free (workers, n_workers);
  return status;
}

void
tessera_portfolio_workers_free (TesseraPortfolioWorker *workers, uint32_t n_workers)
{
  for (uint32_t i = 0; workers != NULL && i < n_workers; i++)
    {
      tessera_desk_clear (&workers[i].desk);
      tessera_finished_clear (&workers[i].best);
    }
  free (workers);
}
