/*
 * The portfolio: orders x placements, tried in threads. See pack-portfolio.h.
 *
 * Attempts are numbered and taken in that order by whoever is idle. The winner is the
 * lowest number that reaches the bound, else the lowest height, ties to the lower number;
 * see pack-watch.h for why no thread can change that by being fast. While the bound is
 * not reached, rounds of altered orders follow: items that stick out above the bound, and
 * some others, move forward in the best order so far.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack-portfolio.h"

#include "planner/pack-attempt.h"

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
  { "lowest offset next; size", LOWEST (BY (SIZE), BY (LIFE)) },
  { "first fit by life", FIRST_FIT (BY (LIFE), BY (AREA)) },
  { "first fit by birth", FIRST_FIT (BY (BIRTH)) },
  { "best fit by birth", BEST_FIT (BY (BIRTH)) },
};
#define N_CANDIDATES ((uint32_t) (sizeof candidates / sizeof candidates[0]))

/* A walk over neighbours costs the square of the number of items; above this the fits are
 * left out (at 50,000 items one takes about a second). */
#define MAX_ITEMS_TO_FIT 50000

/* Altered orders of one round; fixed, so that rounds do not depend on the machine. */
#define N_ALTERED 16

/* An attempt that finished, with the order that led to it. */
typedef struct
{
  uint64_t height_bytes; /* UINT64_MAX: none */
  uint32_t number;
  TesseraPlacement placement;
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
  uint32_t round;      /* 0: the candidates; later ones alter @best */
  uint64_t work_done;  /* placements of the finished rounds of altered orders */
  Finished best;       /* of the finished rounds */
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

/* splitmix64: the same everywhere, and any seed is a good one. */
static uint64_t
random_next (uint64_t *state)
{
  uint64_t z = (*state += UINT64_C (0x9e3779b97f4a7c15));
  z = (z ^ (z >> 30)) * UINT64_C (0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C (0x94d049bb133111eb);
  return z ^ (z >> 31);
}

/* 0 <= value < 1 */
static double
random_fraction (uint64_t *state)
{
  return (double) (random_next (state) >> 11) * 0x1p-53;
}

/* The best order so far, with the items that stick out above the bound moved forward by a
 * random part of their way, and, in three attempts of four, some others as well: one, a
 * few, or one in a hundred. */
static void
alter_order (const Portfolio *portfolio, uint32_t number, TesseraDesk *desk)
{
  static const double others[4] = { 0, 1, 4, 0.01 };
  const TesseraPackProblem *problem = portfolio->problem;
  const Finished *best = &portfolio->best;
  double n_items = (double) problem->n_items;
  double part = others[number % 4];
  double chance = part < 1 ? part : part / n_items;
  uint64_t state = ((uint64_t) portfolio->round << 32) + number;
  for (size_t rank = 0; rank < problem->n_items; rank++)
    {
      uint32_t item = best->order[rank];
      uint64_t top = best->offsets[item] + problem->items[item].size_bytes;
      bool sticks_out = top > problem->bound_bytes;
      double key = (double) rank;
      if (sticks_out || random_fraction (&state) < chance)
        key *= random_fraction (&state);
      desk->entries[rank] = (TesseraOrderEntry){ .keys = { -key },
                                                 .item = item,
                                                 .source = (uint32_t) rank };
    }
  tessera_order_entries (desk->entries, problem->n_items, desk->order);
}

static void
attempt_number (Worker *worker, uint32_t number)
{
  Portfolio *portfolio = worker->portfolio;
  TesseraDesk *desk = &worker->desk;
  Finished attempt = { .number = number,
                       .name = portfolio->best.name,
                       .placement = portfolio->best.placement };
  if (portfolio->round == 0)
    {
      attempt.name = candidates[number].name;
      attempt.placement = candidates[number].placement;
      bool is_fit = attempt.placement == TESSERA_PLACE_FIRST_FIT ||
                    attempt.placement == TESSERA_PLACE_BEST_FIT;
      if (is_fit && portfolio->problem->n_items > MAX_ITEMS_TO_FIT)
        return;
      tessera_order_items (portfolio->problem, candidates[number].keys, desk->entries,
                           desk->order);
    }
  else
    alter_order (portfolio, number, desk);
  const TesseraPackWatch watch = { &portfolio->shared, number };
  if (tessera_attempt (desk, attempt.placement, &watch, &attempt.height_bytes))
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

static void
run_rounds (Portfolio *portfolio, Worker *workers, pthread_t *threads)
{
  const TesseraPackProblem *problem = portfolio->problem;
  run_round (portfolio, workers, threads, N_CANDIDATES);
  uint64_t work_of_round = (uint64_t) problem->n_items * N_ALTERED;
  while (portfolio->best.height_bytes > problem->bound_bytes &&
         !atomic_load (&portfolio->shared.cancelled) &&
         portfolio->work_done + work_of_round <= portfolio->options->work_budget)
    {
      portfolio->round++;
      run_round (portfolio, workers, threads, N_ALTERED);
      portfolio->work_done += work_of_round;
    }
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
  run_rounds (&portfolio, workers, threads);
  status = TESSERA_CANCELLED;
  if (atomic_load (&portfolio.shared.cancelled))
    goto out;
  memcpy (offsets, portfolio.best.offsets, problem->n_items * sizeof *offsets);
  *out_height_bytes = portfolio.best.height_bytes;
  *out_strategy = portfolio.best.name;
  status = TESSERA_OK;
out:
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
