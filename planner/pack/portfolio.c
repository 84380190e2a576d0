/*
 * The portfolio: orders x placements, tried in threads. See portfolio.h.
 *
 * Attempts are numbered and taken in that order by whoever is idle. The winner is the
 * lowest number that reaches the bound, else the lowest height, ties to the lower number;
 * see watch.h for why no thread can change that by being fast. While the bound is
 * not reached, a round of drawn rules for sweeps follows (rule.h), and rounds of chains
 * (chain.h), each asked for less than the best.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/portfolio.h"

#include "planner/pack/fit/chain.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define LOWEST(keys...) { keys }, TESSERA_PLACE_LOWEST
#define SKYLINE(keys...) { keys }, TESSERA_PLACE_SKYLINE
#define FIRST_FIT(keys...) { keys }, TESSERA_PLACE_FIRST_FIT
#define BEST_FIT(keys...) { keys }, TESSERA_PLACE_BEST_FIT
#define BY(key) TESSERA_BY_##key

/* Likely winners first: the first that reaches the bound ends the search. After number 0
 * come the first rules for sweeps, which take no time at all. On real training traces the
 * lowest reachable offset is at the bound almost always; where it is not, first fit by
 * size is rarely more than 1 % above. */
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

/* Before a sweep those with two lives, or held to something, go onto the shelf one after
 * the other: more of them cost too much. */
#define MAX_ITEMS_BEFORE_SWEEPS 16384

/* Where sweeps are had: up to so many items everything else comes before them, as it
 * costs next to nothing; above, the first rules come after the first candidate, and what
 * walks over neighbours is left out, chains as well; above the next, the first rules come
 * first and only the first candidate is tried beside them (experts with recomputation,
 * 364,000 items: 0.8 % lower than any sweep, for a second); and above the last only
 * sweeps are: the lowest offset takes seconds by then, and some hundred bytes an item. */
#define MAX_ITEMS_OF_SMALL 4096
#define MAX_ITEMS_OF_MIDDLE 12288
#define MAX_ITEMS_OF_LARGE 49152
#define MAX_ITEMS_OF_HUGE 524288
#define N_RULES_OF_HUGE 5 /* a best fit at a million items may take a second */

/* A placement by a sweep costs a fraction of what one by the lowest offset does; so many
 * are had for a unit of the work budget. But not more rules than this are drawn. */
#define SWEPT_A_UNIT 4
#define SWEPT_AT_LEAST                                                                   \
  4096 /* an attempt at few items costs as much as one at so many                        \
        */
#define MAX_DRAWN_RULES 512

/* Nearer to the bound than this part of it, no rules are drawn any more. */
#define NEAR_ENOUGH 16384

/* What one sweep may spend on looking ahead (sweep.h). */
#define LOOKS_OF_A_SWEEP (UINT64_C (1) << 22)
#define LOOKS_AN_ITEM 8
#define LOOKS_PART_OF_LARGE 2 /* above MAX_ITEMS_OF_LARGE: half of that */

/* An attempt that finished. */
typedef struct
{
  uint64_t height_bytes; /* UINT64_MAX: none */
  uint32_t number;
  const char *name;
  uint64_t *offsets; /* [n_items] */
} Finished;

typedef enum
{
  CANDIDATES,
  DRAWN_RULES,
  CHAINS
} Round;

typedef struct
{
  const TesseraPackProblem *problem;
  const TesseraPortfolioOptions *options;
  TesseraPackShared shared;
  _Atomic uint32_t next_number;
  uint32_t n_attempts; /* of this round */
  Round round;
  uint32_t n_rounds;       /* before this one, all chains counted as one */
  TesseraTimes times;      /* zeroed where there are no sweeps */
  uint64_t longest_events; /* life of an item */
  uint64_t work_done;      /* placements of the finished rounds of chains */
  uint32_t n_tries;        /* of a chain in a round */
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
  finished->offsets = malloc (n_items * sizeof *finished->offsets);
  return finished->offsets != NULL ? TESSERA_OK : TESSERA_NO_MEMORY;
}

static void
finished_clear (Finished *finished)
{
  free (finished->offsets);
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
  if (portfolio->round != CHAINS)
    LOWER (&portfolio->shared.best_height_bytes, attempt.height_bytes);
  if (attempt.height_bytes == portfolio->problem->bound_bytes)
    LOWER (&portfolio->shared.reached, attempt.number);
  if (!is_better (&attempt, &worker->best))
    return;
  attempt.offsets = worker->desk.offsets;
  worker->desk.offsets = worker->best.offsets;
  worker->best = attempt;
}

static bool
has_sweeps (const Portfolio *portfolio)
{
  return portfolio->times.problem != NULL;
}

/* More are left to the other placements. @is_simple: by size, the one that wins yet. */
static size_t
most_items (const Portfolio *portfolio, TesseraPlacement placement, bool is_simple)
{
  size_t most_to_fit = portfolio->options->fit_at_most;
  const bool has_owners = portfolio->problem->n_owners > 1;

  if (has_sweeps (portfolio) && most_to_fit > MAX_ITEMS_OF_MIDDLE && !is_simple)
    most_to_fit = MAX_ITEMS_OF_MIDDLE;
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

static bool
has_orders (const Portfolio *portfolio)
{
  return !has_sweeps (portfolio) || portfolio->problem->n_items <= MAX_ITEMS_OF_HUGE;
}

/* How many rules are among the candidates, and how many candidates come before them. */
static uint32_t
n_first_rules (const Portfolio *portfolio)
{
  size_t n_items = portfolio->problem->n_items;
  if (!has_sweeps (portfolio) || n_items <= MAX_ITEMS_OF_SMALL)
    return 0;
  return n_items <= MAX_ITEMS_OF_HUGE ? TESSERA_N_FIRST_RULES : N_RULES_OF_HUGE;
}

static uint32_t
n_before_rules (const Portfolio *portfolio)
{
  return portfolio->problem->n_items <= MAX_ITEMS_OF_LARGE ? 1 : 0;
}

/* In order of time a fit walks over those alive only: of a large problem that sweeps are
 * not for it is the one that can be paid for. A small one has it by birth. */
static bool
is_tried (const Portfolio *portfolio, const TesseraCandidate *candidate)
{
  const size_t n_items = portfolio->problem->n_items;

  if (!has_orders (portfolio) ||
      (has_sweeps (portfolio) && n_items > MAX_ITEMS_OF_LARGE &&
       candidate != &candidates[0]))
    return false;
  return candidate->keys[0] == TESSERA_BY_TIME
             ? !has_sweeps (portfolio) && n_items > portfolio->options->fit_at_most
             : n_items <= most_items (portfolio, candidate->placement,
                                      candidate->keys[0] == TESSERA_BY_SIZE);
}

static const char *
name_of_rule (const TesseraRule *rule)
{
  static const char *const names[2][2][2] = {
    { { "first fit in order of time", "best fit in order of time" },
      { "first fit in order of time, backward", "best fit in order of time, backward" } },
    { { "first fit in order of time, class after class",
        "best fit in order of time, class after class" },
      { "first fit in order of time, class after class, backward",
        "best fit in order of time, class after class, backward" } },
  };
  return names[rule->n_life_cuts + rule->n_size_cuts > 0][rule->is_backward]
              [rule->fit == TESSERA_SWEEP_BEST_FIT];
}

static bool
attempt_rule (Portfolio *portfolio,
              TesseraDesk *desk,
              uint32_t rule_number,
              Finished *attempt)
{
  const TesseraPackWatch watch = { &portfolio->shared, attempt->number };
  const TesseraRule rule =
      tessera_rule_nth (portfolio->problem, portfolio->longest_events, rule_number);
  if (!has_sweeps (portfolio))
    return false;
  attempt->name = name_of_rule (&rule);
  uint64_t looks = LOOKS_OF_A_SWEEP + LOOKS_AN_ITEM * portfolio->problem->n_items;
  if (portfolio->problem->n_items > MAX_ITEMS_OF_LARGE)
    looks /= LOOKS_PART_OF_LARGE;
  return tessera_attempt_sweep (desk, &rule, looks, &watch, &attempt->height_bytes);
}

/* A candidate of the portfolio, or one of the first rules, which stand among them. */
static bool
attempt_candidate (Portfolio *portfolio, TesseraDesk *desk, Finished *attempt)
{
  const TesseraPackWatch watch = { &portfolio->shared, attempt->number };
  uint32_t before = n_before_rules (portfolio), n_rules = n_first_rules (portfolio);
  uint32_t number = attempt->number;
  if (number >= before && number < before + n_rules)
    return attempt_rule (portfolio, desk, number - before, attempt);
  const TesseraCandidate *candidate =
      &candidates[number < before ? number : number - n_rules];
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
  bool is_finished = false;
  switch (portfolio->round)
    {
    case CANDIDATES:
      is_finished = attempt_candidate (portfolio, &worker->desk, &attempt);
      break;
    case DRAWN_RULES:
      is_finished = attempt_rule (portfolio, &worker->desk,
                                  n_first_rules (portfolio) + number, &attempt);
      break;
    case CHAINS:
      is_finished = attempt_chain (portfolio, &worker->desk, &attempt);
      break;
    }
  if (is_finished)
    keep_attempt (worker, attempt);
}

/* A third of the way for the candidates, another for drawn rules, the rest for chains. */
static double
fraction_done (const Portfolio *portfolio, uint32_t number)
{
  const TesseraPortfolioOptions *options = portfolio->options;
  double done = portfolio->round == CHAINS
                    ? (double) portfolio->work_done / (double) (options->work_budget + 1)
                    : (double) number / (double) portfolio->n_attempts;
  return options->fraction_begin + (portfolio->n_rounds + done) / 3 *
                                       (options->fraction_end - options->fraction_begin);
}

/* At most some hundred times in all. */
static bool
is_reported (const Portfolio *portfolio, uint32_t number)
{
  return portfolio->round == CHAINS ? number == 0
                                    : number % (portfolio->n_attempts / 32 + 1) == 0;
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
      if (worker->reports && is_reported (portfolio, number) &&
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

static bool
is_over (Portfolio *portfolio)
{
  return portfolio->best.height_bytes == portfolio->problem->bound_bytes ||
         atomic_load (&portfolio->shared.cancelled);
}

/* As many as the budget allows, the first rules too where they have not been
 * tried, each at less than the best so far or given up. */
static void
run_drawn_rules (Portfolio *portfolio, Worker *workers, pthread_t *threads)
{
  uint64_t n_rules = portfolio->options->work_budget * SWEPT_A_UNIT /
                     (portfolio->problem->n_items + SWEPT_AT_LEAST);
  portfolio->n_rounds++;
  uint64_t bound_bytes = portfolio->problem->bound_bytes;
  if (is_over (portfolio) || !has_sweeps (portfolio) || n_rules == 0 ||
      portfolio->best.height_bytes - bound_bytes < bound_bytes / NEAR_ENOUGH)
    return;
  portfolio->round = DRAWN_RULES;
  atomic_store (&portfolio->shared.best_height_bytes, portfolio->best.height_bytes);
  run_round (portfolio, workers, threads,
             n_rules < MAX_DRAWN_RULES ? (uint32_t) n_rules : MAX_DRAWN_RULES);
}

static TesseraStatus
run_chains (Portfolio *portfolio, Worker *workers, pthread_t *threads)
{
  const TesseraPackProblem *problem = portfolio->problem;
  portfolio->n_rounds++;
  portfolio->n_tries = 1 + PLACEMENTS_A_ROUND / (uint32_t) problem->n_items;
  uint64_t work_of_round =
      (uint64_t) portfolio->n_tries * problem->n_items * TESSERA_N_CHAINS;
  if (problem->n_owners > 1)
    work_of_round *= COST_OF_OWNERS;
  if (is_over (portfolio) ||
      (has_sweeps (portfolio) && problem->n_items > MAX_ITEMS_OF_MIDDLE) ||
      problem->n_items > most_items (portfolio, TESSERA_PLACE_LOWEST, false) ||
      work_of_round > portfolio->options->work_budget)
    return TESSERA_OK;
  TesseraStatus status =
      tessera_chains_init (portfolio->chains, problem, workers[0].desk.entries);
  portfolio->round = CHAINS;
  atomic_store (&portfolio->shared.best_height_bytes, UINT64_MAX);
  while (status == TESSERA_OK && !is_over (portfolio) &&
         portfolio->work_done + work_of_round <= portfolio->options->work_budget)
    {
      run_round (portfolio, workers, threads, TESSERA_N_CHAINS);
      portfolio->work_done += work_of_round;
    }
  return status;
}

/* Where only some orders are wanted and none of these is for such a problem: all. */
static void
run_first_round (Portfolio *portfolio, Worker *workers, pthread_t *threads)
{
  uint32_t n_all = N_CANDIDATES + n_first_rules (portfolio);
  uint32_t n_orders = portfolio->options->n_orders;
  if (n_orders > 0 && n_orders < n_all)
    run_round (portfolio, workers, threads, n_orders);
  if (portfolio->best.height_bytes == UINT64_MAX)
    run_round (portfolio, workers, threads, n_all);
}

/* Of few items chains come before rules, of many after them. */
static TesseraStatus
run_rounds (Portfolio *portfolio, Worker *workers, pthread_t *threads)
{
  bool is_small = portfolio->problem->n_items <= MAX_ITEMS_OF_SMALL;
  TesseraStatus status;
  run_first_round (portfolio, workers, threads);
  if (!is_small)
    run_drawn_rules (portfolio, workers, threads);
  status = run_chains (portfolio, workers, threads);
  if (is_small && status == TESSERA_OK)
    run_drawn_rules (portfolio, workers, threads);
  return status;
}

/* What the threads share and what each has of its own. */
static TesseraStatus
init_parts (Portfolio *portfolio, Worker *workers)
{
  const TesseraPackProblem *problem = portfolio->problem;
  size_t n_before = 0;
  for (uint32_t i = 0; i < problem->n_items; i++)
    {
      n_before += tessera_rule_is_first (problem, i) ? 1 : 0;
      if (problem->items[i].life_events > portfolio->longest_events)
        portfolio->longest_events = problem->items[i].life_events;
    }
  TesseraStatus status = finished_init (&portfolio->best, problem->n_items);
  if (status == TESSERA_OK && !problem->has_zones && problem->n_owners == 1 &&
      n_before <= MAX_ITEMS_BEFORE_SWEEPS)
    status = tessera_times_init (&portfolio->times, problem);
  bool fits_all =
      !has_sweeps (portfolio) || problem->n_items <= portfolio->options->fit_at_most;
  const TesseraDeskParts parts = {
    .has_orders = has_orders (portfolio),
    .n_on_shelf = fits_all ? problem->n_items : n_before,
    .times = has_sweeps (portfolio) ? &portfolio->times : NULL,
  };
  for (uint32_t i = 0; i < portfolio->options->n_threads && status == TESSERA_OK; i++)
    {
      workers[i].portfolio = portfolio;
      workers[i].reports = i == 0;
      status = tessera_desk_init (&workers[i].desk, problem, &parts);
      if (status == TESSERA_OK)
        status = finished_init (&workers[i].best, problem->n_items);
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
  if (workers == NULL || threads == NULL)
    goto out;
  status = init_parts (&portfolio, workers);
  if (status != TESSERA_OK)
    goto out;
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
  tessera_times_clear (&portfolio.times);
  free (workers);
  free (threads);
  return status;
}
