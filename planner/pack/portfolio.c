/*
 * The portfolio: orders x placements, tried in threads. See portfolio.h.
 *
 * Attempts are numbered and taken in that order by whoever is idle. The winner is the
 * lowest number that reaches the bound, else the lowest height, ties to the lower number;
 * see watch.h for why no thread can change that by being fast. While the bound is
 * not reached, rounds of chains follow (chain.h), each asked for less than the best.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/portfolio.h"

#include "planner/pack/chain.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define LOWEST(keys...) { keys }, TESSERA_PLACE_LOWEST
#define SKYLINE(keys...) { keys }, TESSERA_PLACE_SKYLINE
#define FIRST_FIT(keys...) { keys }, TESSERA_PLACE_FIRST_FIT
#define BEST_FIT(keys...) { keys }, TESSERA_PLACE_BEST_FIT
#define BY(key) TESSERA_BY_##key

/* Likely winners first: the first that reaches the bound ends the search. On real
 * training traces the lowest reachable offset is at the bound almost always; where it is
 * not, first fit by size is rarely more than 1 % above. */
static const TesseraCandidate candidates[] = {
  { "lowest offset next; contention, life, area",
    LOWEST (BY (PREFERENCE), BY (CONTENTION), BY (LIFE), BY (AREA)) },
  { "lowest offset next; load, area, life", LOWEST (BY (LOAD), BY (AREA), BY (LIFE)) },
  { "first fit by size", FIRST_FIT (BY (SIZE), BY (LIFE)) },
  { "skyline by load, life, area", SKYLINE (BY (LOAD), BY (LIFE), BY (AREA)) },
  { "first fit by load, life, area", FIRST_FIT (BY (LOAD), BY (LIFE), BY (AREA)) },
  { "lowest offset next; life, area", LOWEST (BY (LIFE), BY (AREA)) },
  { "lowest offset next; area", LOWEST (BY (AREA)) },
  { "first fit by area", FIRST_FIT (BY (AREA)) },
  { "first fit by size^2 * life", FIRST_FIT (BY (SIZE2_LIFE)) },
  { "first fit by size^2 * wide life", FIRST_FIT (BY (SIZE2_WIDE)) },
  { "first fit by size^4 * wide life", FIRST_FIT (BY (SIZE4_WIDE)) },
  { "first fit by contention, life, area",
    FIRST_FIT (BY (CONTENTION), BY (LIFE), BY (AREA)) },
  { "skyline by life, area", SKYLINE (BY (LIFE), BY (AREA)) },
  { "skyline by area", SKYLINE (BY (AREA)) },
  { "skyline by size", SKYLINE (BY (SIZE), BY (LIFE)) },
  { "first fit, persistent first, by size",
    FIRST_FIT (BY (PREFERENCE), BY (SIZE), BY (LIFE)) },
  { "best fit by size", BEST_FIT (BY (SIZE), BY (LIFE)) },
  { "best fit by contention, life, area",
    BEST_FIT (BY (CONTENTION), BY (LIFE), BY (AREA)) },
  { "best fit by area", BEST_FIT (BY (AREA)) },
  { "best fit by size^2 * life", BEST_FIT (BY (SIZE2_LIFE)) },
  { "best fit by size^4 * wide life", BEST_FIT (BY (SIZE4_WIDE)) },
  { "lowest offset next; size", LOWEST (BY (SIZE), BY (LIFE)) },
  { "first fit by life", FIRST_FIT (BY (LIFE), BY (AREA)) },
  { "first fit by birth", FIRST_FIT (BY (BIRTH)) },
  { "best fit by birth", BEST_FIT (BY (BIRTH)) },
  { "first fit in order of time", FIRST_FIT (BY (TIME)) },
  { "best fit in order of time", BEST_FIT (BY (TIME)) },
};
#define N_CANDIDATES ((uint32_t) (sizeof candidates / sizeof candidates[0]))

/* With several owners the lowest reachable offset has no windows to go by, which costs
 * some twenty times as much (a tenth of a second at 3,000 items), and more the larger. */
#define MAX_ITEMS_OF_OWNERS 4096
#define COST_OF_OWNERS 16

/* A chain makes so many placements, or one attempt, in a round: enough to be worth the
 * start of a thread. Fixed, so that rounds do not depend on the machine. */
#define PLACEMENTS_A_ROUND 4096u

/* An attempt that finished, with the order that led to it. */
typedef struct
{
  uint64_t height_bytes; /* UINT64_MAX: none */
  uint32_t number;
  const char *name;
  uint64_t *offsets; /* [n_items] */
  uint32_t *order;   /* [n_items] */
} Finished;

typedef struct
{
  const TesseraPackProblem *problem;
  const TesseraPortfolioOptions *options;
  TesseraPackShared shared;
  _Atomic uint32_t next_number;
  uint32_t n_attempts; /* of this round */
  uint32_t round;      /* 0: the candidates; then chains */
  uint64_t work_done;  /* placements of the finished rounds of chains */
  uint32_t n_tries;    /* of a chain in a round */
  TesseraChain chains[TESSERA_N_CHAINS];
  Finished best; /* of the finished rounds */
} Portfolio;

typedef struct
{
  Portfolio *portfolio;
  TesseraDesk desk;
  Finished best; /* of this round, in this thread */
  bool reports;  /* to the person who waits: one thread only */
} Worker;

static TesseraStatus
finished_init (Finished *finished, size_t n_items)
{
  finished->height_bytes = UINT64_MAX;
  finished->offsets = calloc (n_items, sizeof *finished->offsets);
  finished->order = calloc (n_items, sizeof *finished->order);
  return finished->offsets != NULL && finished->order != NULL ? TESSERA_OK
                                                              : TESSERA_NO_MEMORY;
}

static void
finished_clear (Finished *finished)
{
  free (finished->offsets);
  free (finished->order);
}

static bool
is_better (const Finished *a, const Finished *b)
{
  return a->height_bytes < b->height_bytes ||
         (a->height_bytes == b->height_bytes && a->number < b->number);
}

static void
swap_finished (Finished *a, Finished *b)
{
  Finished kept = *a;
  *a = *b;
  *b = kept;
}

/* Lowers an atomic to @value; the order among threads does not matter. */
#define LOWER(atomic, value)                                                             \
  do                                                                                     \
    {                                                                                    \
      __typeof__ (value) known = atomic_load (atomic);                                   \
      while ((value) < known && !atomic_compare_exchange_weak (atomic, &known, (value))) \
        ;                                                                                \
    }                                                                                    \
  while (0)

/* Keeps what the desk holds where it is better than what this thread had. */
static void
keep_attempt (Worker *worker, Finished attempt)
{
  Portfolio *portfolio = worker->portfolio;
  /* A chain goes on from where it was: it must not matter when another succeeds. */
  if (portfolio->round == 0)
    LOWER (&portfolio->shared.best_height_bytes, attempt.height_bytes);
  if (attempt.height_bytes == portfolio->problem->bound_bytes)
    LOWER (&portfolio->shared.reached, attempt.number);
  if (!is_better (&attempt, &worker->best))
    return;
  attempt.offsets = worker->desk.offsets;
  attempt.order = worker->desk.order;
  worker->desk.offsets = worker->best.offsets;
  worker->desk.order = worker->best.order;
  worker->best = attempt;
}

/* More are left to the other placements. */
static size_t
most_items (const Portfolio *portfolio, TesseraPlacement placement)
{
  const size_t most_to_fit = portfolio->options->fit_at_most;
  const bool has_owners = portfolio->problem->n_owners > 1;

  switch (placement)
    {
    case TESSERA_PLACE_FIRST_FIT:
      return most_to_fit;
    case TESSERA_PLACE_BEST_FIT: /* never won with owners, walks all the way up */
      return has_owners && most_to_fit > MAX_ITEMS_OF_OWNERS ? MAX_ITEMS_OF_OWNERS
                                                             : most_to_fit;
    case TESSERA_PLACE_LOWEST: /* knows nothing of limits */
      if (portfolio->problem->limits != NULL)
        return 0;
      return has_owners ? MAX_ITEMS_OF_OWNERS : SIZE_MAX;
    case TESSERA_PLACE_SKYLINE:
      break;
    }
  return SIZE_MAX;
}

/* In order of time a fit walks over those alive only: of a large problem it is the one
 * that can be paid for, and where many micro-batches overlap the best by far. A small one
 * has it by birth. */
static bool
is_tried (const Portfolio *portfolio, const TesseraCandidate *candidate)
{
  const size_t n_items = portfolio->problem->n_items;

  return candidate->keys[0] == TESSERA_BY_TIME
             ? n_items > portfolio->options->fit_at_most
             : n_items <= most_items (portfolio, candidate->placement);
}

/* A candidate of the portfolio. */
static bool
attempt_candidate (Portfolio *portfolio, TesseraDesk *desk, Finished *attempt)
{
  const TesseraCandidate *candidate = &candidates[attempt->number];
  const TesseraPackWatch watch = { &portfolio->shared, attempt->number };
  if (!is_tried (portfolio, candidate))
    return false;
  attempt->name = candidate->name;
  tessera_order_items (portfolio->problem, candidate->keys, desk->entries, desk->order);
  return tessera_attempt (desk, candidate->placement, &watch, &attempt->height_bytes);
}

/* Some attempts of a chain, at less than the best of the rounds before. */
static bool
attempt_chain (Portfolio *portfolio, TesseraDesk *desk, Finished *attempt)
{
  const TesseraPackWatch watch = { &portfolio->shared, attempt->number };
  attempt->name = "lowest offset next; what is in trouble moves forward";
  return tessera_chain_try (&portfolio->chains[attempt->number], desk,
                            portfolio->best.height_bytes - 1, portfolio->n_tries, &watch,
                            &attempt->height_bytes);
}

static void
attempt_number (Worker *worker, uint32_t number)
{
  Portfolio *portfolio = worker->portfolio;
  Finished attempt = { .number = number };
  bool is_finished = portfolio->round == 0
                         ? attempt_candidate (portfolio, &worker->desk, &attempt)
                         : attempt_chain (portfolio, &worker->desk, &attempt);
  if (is_finished)
    keep_attempt (worker, attempt);
}

/* Half of the way for the candidates, the rest for improving. */
static double
fraction_done (const Portfolio *portfolio, uint32_t number)
{
  double done = portfolio->round == 0
                    ? 0.5 * number / N_CANDIDATES
                    : 0.5 + 0.5 * (double) portfolio->work_done /
                                (double) (portfolio->options->work_budget + 1);
  const TesseraPortfolioOptions *options = portfolio->options;
  return options->fraction_begin +
         done * (options->fraction_end - options->fraction_begin);
}

static void *
work (void *data)
{
  Worker *worker = data;
  Portfolio *portfolio = worker->portfolio;
  for (;;)
    {
      uint32_t number = atomic_fetch_add (&portfolio->next_number, 1);
      if (number >= portfolio->n_attempts ||
          number > atomic_load (&portfolio->shared.reached) ||
          atomic_load (&portfolio->shared.cancelled))
        return NULL;
      if (worker->reports && (portfolio->round == 0 || number == 0) &&
          !tessera_progress (portfolio->options->progress,
                             fraction_done (portfolio, number)))
        atomic_store (&portfolio->shared.cancelled, true);
      attempt_number (worker, number);
    }
}

/* All attempts of one round; the best of them ends up in the portfolio. The calling
 * thread works as well, so that a thread that cannot be made costs speed only. */
static void
run_round (Portfolio *portfolio, Worker *workers, pthread_t *threads, uint32_t n_attempts)
{
  uint32_t n_threads = 0;
  portfolio->n_attempts = n_attempts;
  atomic_store (&portfolio->next_number, 0);
  for (uint32_t i = 0; i < portfolio->options->n_threads; i++)
    workers[i].best.height_bytes = UINT64_MAX;
  for (uint32_t i = 1; i < portfolio->options->n_threads; i++)
    {
      if (pthread_create (&threads[n_threads], NULL, work, &workers[i]) != 0)
        break;
      n_threads++;
    }
  work (&workers[0]);
  for (uint32_t i = 0; i < n_threads; i++)
    pthread_join (threads[i], NULL);
  Finished *winner = &workers[0].best;
  for (uint32_t i = 1; i < portfolio->options->n_threads; i++)
    if (is_better (&workers[i].best, winner))
      winner = &workers[i].best;
  if (winner->height_bytes <= portfolio->best.height_bytes &&
      winner->height_bytes != UINT64_MAX)
    swap_finished (&portfolio->best, winner);
}

static TesseraStatus
run_rounds (Portfolio *portfolio, Worker *workers, pthread_t *threads)
{
  const TesseraPackProblem *problem = portfolio->problem;
  run_round (portfolio, workers, threads, N_CANDIDATES);
  portfolio->n_tries = 1 + PLACEMENTS_A_ROUND / (uint32_t) problem->n_items;
  uint64_t work_of_round =
      (uint64_t) portfolio->n_tries * problem->n_items * TESSERA_N_CHAINS;
  if (problem->n_owners > 1)
    work_of_round *= COST_OF_OWNERS;
  if (portfolio->best.height_bytes == problem->bound_bytes ||
      problem->n_items > most_items (portfolio, TESSERA_PLACE_LOWEST) ||
      work_of_round > portfolio->options->work_budget)
    return TESSERA_OK;
  TesseraStatus status =
      tessera_chains_init (portfolio->chains, problem, workers[0].desk.entries);
  atomic_store (&portfolio->shared.best_height_bytes, UINT64_MAX);
  while (status == TESSERA_OK && portfolio->best.height_bytes > problem->bound_bytes &&
         !atomic_load (&portfolio->shared.cancelled) &&
         portfolio->work_done + work_of_round <= portfolio->options->work_budget)
    {
      portfolio->round++;
      run_round (portfolio, workers, threads, TESSERA_N_CHAINS);
      portfolio->work_done += work_of_round;
    }
  return status;
}

TesseraStatus
tessera_portfolio_run (const TesseraPackProblem *problem,
                       const TesseraPortfolioOptions *options,
                       uint64_t *offsets,
                       uint64_t *out_height_bytes,
                       const char **out_strategy)
{
  TesseraStatus status = TESSERA_NO_MEMORY;
  Portfolio portfolio = {
    .problem = problem,
    .options = options,
    .shared = { .best_height_bytes = UINT64_MAX, .reached = UINT32_MAX },
  };
  Worker *workers = calloc (options->n_threads, sizeof *workers);
  pthread_t *threads = calloc (options->n_threads, sizeof *threads);
  if (workers == NULL || threads == NULL ||
      finished_init (&portfolio.best, problem->n_items) != TESSERA_OK)
    goto out;
  for (uint32_t i = 0; i < options->n_threads; i++)
    {
      workers[i].portfolio = &portfolio;
      workers[i].reports = i == 0;
      if (tessera_desk_init (&workers[i].desk, problem) != TESSERA_OK ||
          finished_init (&workers[i].best, problem->n_items) != TESSERA_OK)
        goto out;
    }
  status = run_rounds (&portfolio, workers, threads);
  if (status == TESSERA_OK && atomic_load (&portfolio.shared.cancelled))
    status = TESSERA_CANCELLED;
  if (status != TESSERA_OK)
    goto out;
  memcpy (offsets, portfolio.best.offsets, problem->n_items * sizeof *offsets);
  *out_height_bytes = portfolio.best.height_bytes;
  *out_strategy = portfolio.best.name;
out:
  tessera_chains_clear (portfolio.chains);
  for (uint32_t i = 0; workers != NULL && i < options->n_threads; i++)
    {
      tessera_desk_clear (&workers[i].desk);
      finished_clear (&workers[i].best);
    }
  finished_clear (&portfolio.best);
  free (workers);
  free (threads);
  return status;
}
