/*
 * Orders and rules, in threads. See portfolio.h.
 *
 * Attempts are numbered and taken in that order by whoever is idle. The winner is the
 * lowest number that reaches the bound, else the lowest height, ties to the lower number;
 * see methods.h for why no thread can change that by being fast.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/portfolio.h"

#include <pthread.h>
#include <string.h>

#define BY(key) TESSERA_BY_##key

/* First fit walks over the neighbours of each item, which costs the square of their
 * number: a quarter of a second at 30,000 items, four times as much at twice as many. */
#define MOST_ITEMS_TO_FIT 65536
/* Before a sweep the items with two lives, or held to something, are fitted one after the
 * other: more of them cost too much. */
#define MOST_ITEMS_BEFORE_SWEEPS 16384
/* The lowest reachable offset takes a second at 300,000 items. Of larger problems sweeps
 * do as well in a fraction of that. */
#define MOST_ITEMS_OF_ORDERS 131072
#define MOST_ITEMS_OF_FIRST_ORDER 524288
/* A sweep of a million items takes a third of a second. */
#define N_RULES_OF_HUGE 4

/* A preview of no more items tries all orders and improves a little: a tenth of a second for
 * 10,000 of them. Of more the repaired layout, or one order, is all there is time for. */
#define MOST_ITEMS_OF_PREVIEW 16384

/* What a preview repaired is replaced only by what is lower by this part. */
#define REPAIRED_PART 1024

/* What one sweep may spend on looking ahead. */
#define LOOKS_OF_A_SWEEP (UINT64_C (1) << 22)
#define LOOKS_AN_ITEM 8

#define LOWEST "lowest offset next; "
#define FIRST_FIT "first fit by "

typedef struct
{
  const char *of_lowest, *of_first_fit; /* names, by placement */
  TesseraOrderKey keys[TESSERA_ORDER_MAX_KEYS];
} Order;

/* Likely winners first. On real training traces the first or the second is at the bound
 * almost always. */
static const Order orders[] = {
  { LOWEST "contention, life, area",
    FIRST_FIT "contention, life, area",
    { BY (PREFERENCE), BY (CONTENTION), BY (LIFE), BY (AREA) } },
  { LOWEST "load, area, life",
    FIRST_FIT "load, area, life",
    { BY (LOAD), BY (AREA), BY (LIFE) } },
  { LOWEST "life, area", FIRST_FIT "life, area", { BY (LIFE), BY (AREA) } },
  { LOWEST "area", FIRST_FIT "area", { BY (AREA) } },
  { LOWEST "size, life", FIRST_FIT "size", { BY (SIZE), BY (LIFE) } },
};
#define N_ORDERS ((uint32_t) (sizeof orders / sizeof orders[0]))
/* The orders that come before the rules for sweeps. */
#define N_ORDERS_BEFORE_RULES 2

/* What is tried, by number: two orders, the rules, the other orders, and by first fit all
 * orders where something is held, else the one by size. */
typedef enum
{
  BY_ORDER, /* at the lowest reachable offset */
  BY_RULE,
  BY_FIRST_FIT
} Way;

typedef struct
{
  const TesseraPackProblem *problem;
  const TesseraPortfolioOptions *options;
  TesseraPackShared shared;
  TesseraTimes times; /* zeroed where there are no sweeps */
  bool has_sweeps;
  bool has_lowest;         /* the lowest reachable offset can be had */
  uint64_t longest_events; /* life of an item */
  uint32_t n_rules, n_fits, n_attempts;
  _Atomic uint32_t next_number;
  bool is_hurried; /* nothing is reported, and the first that ends is enough */
} Portfolio;

typedef struct
{
  Portfolio *portfolio;
  TesseraWorkspace workspace;
  TesseraPackLayout best;
  uint32_t best_number;
  pthread_t thread;
  bool reports; /* to the person who waits: one thread only */
} Worker;

static Way
way_of (const Portfolio *portfolio, uint32_t number, uint32_t *out_index)
{
  *out_index = number;
  if (number < N_ORDERS_BEFORE_RULES)
    return BY_ORDER;
  *out_index = number - N_ORDERS_BEFORE_RULES;
  if (*out_index < portfolio->n_rules)
    return BY_RULE;
  *out_index = number - portfolio->n_rules;
  if (*out_index < N_ORDERS)
    return BY_ORDER;
  *out_index = portfolio->n_fits == 1 ? N_ORDERS - 1 : *out_index - N_ORDERS;
  return BY_FIRST_FIT;
}

static bool
attempt_rule (Worker *worker,
              uint32_t number,
              const TesseraPackWatch *watch,
              TesseraPackLayout *attempt)
{
  static const char *const names[2][2] = {
    { "first fit in order of time", "first fit in order of time, backward" },
    { "best fit in order of time", "best fit in order of time, backward" },
  };
  const Portfolio *portfolio = worker->portfolio;
  const TesseraRule rule = tessera_rule_nth (portfolio->longest_events, number);
  attempt->strategy = names[rule.fit == TESSERA_SWEEP_BEST_FIT][rule.is_backward];
  return tessera_attempt_sweep (&worker->workspace, &rule,
                                LOOKS_OF_A_SWEEP +
                                    LOOKS_AN_ITEM * portfolio->problem->n_items,
                                watch, &attempt->height_bytes);
}

/* Returns: false where the attempt was given up, or is not for this problem. */
static bool
attempt_order (Worker *worker,
               uint32_t order,
               bool is_first_fit,
               const TesseraPackWatch *watch,
               TesseraPackLayout *attempt)
{
  const Portfolio *portfolio = worker->portfolio;
  const TesseraPackProblem *problem = portfolio->problem;
  TesseraWorkspace *workspace = &worker->workspace;
  const size_t most_items = is_first_fit ? MOST_ITEMS_TO_FIT
                            : order == 0 ? MOST_ITEMS_OF_FIRST_ORDER
                                         : MOST_ITEMS_OF_ORDERS;
  if ((!is_first_fit && !portfolio->has_lowest) ||
      (problem->n_items > most_items && (portfolio->has_sweeps || order > 0)))
    return false;
  attempt->strategy = is_first_fit ? orders[order].of_first_fit : orders[order].of_lowest;
  tessera_order_items (problem, orders[order].keys, workspace->entries, workspace->order);
  return is_first_fit
             ? tessera_attempt_first_fit (workspace, watch, &attempt->height_bytes)
             : tessera_attempt_lowest (workspace, watch, &attempt->height_bytes);
}

/* Returns: as above. */
static bool
make_attempt (Worker *worker, uint32_t number, TesseraPackLayout *attempt)
{
  const TesseraPackWatch watch = { &worker->portfolio->shared, number };
  uint32_t index;
  const Way way = way_of (worker->portfolio, number, &index);
  const bool is_made = way == BY_RULE ? attempt_rule (worker, index, &watch, attempt)
                                      : attempt_order (worker, index, way == BY_FIRST_FIT,
                                                       &watch, attempt);
  /* Below the bound, which a pin may set, lower is no better. */
  attempt->height_bytes =
      MAX (attempt->height_bytes, worker->portfolio->problem->bound_bytes);
  return is_made;
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

/* Keeps what the workspace holds where it is better than what this thread had. */
static void
keep_attempt (Worker *worker, uint32_t number, TesseraPackLayout attempt)
{
  TesseraPackShared *shared = &worker->portfolio->shared;
  LOWER (&shared->best_height_bytes, attempt.height_bytes);
  if (attempt.height_bytes <= worker->portfolio->problem->bound_bytes)
    LOWER (&shared->reached, number);
  if (attempt.height_bytes >= worker->best.height_bytes)
    return;
  attempt.offsets = worker->workspace.offsets;
  worker->workspace.offsets = worker->best.offsets;
  worker->best = attempt;
  worker->best_number = number;
}

/* Returns: false when the work is to stop. */
static bool
report (const Worker *worker, uint32_t number)
{
  Portfolio *portfolio = worker->portfolio;
  const TesseraPortfolioOptions *options = portfolio->options;
  const TesseraListener *listener = options->listener;
  uint64_t height_bytes = atomic_load (&portfolio->shared.best_height_bytes);
  const TesseraNews news = { .height_bytes =
                                 height_bytes != UINT64_MAX ? height_bytes : 0,
                             .bound_bytes = portfolio->problem->bound_bytes,
                             .doing = "trying orders" };
  if (!worker->reports || portfolio->is_hurried)
    return true;
  if (listener != NULL)
    listener->tell (listener->user, &news);
  double done = TESSERA_PACK_ORDERS_FRACTION * number / portfolio->n_attempts;
  return tessera_progress (options->progress,
                           options->fraction_begin +
                               done * (options->fraction_end - options->fraction_begin));
}

/* Returns: false when there is none any more. */
static bool
make_next_attempt (Worker *worker)
{
  Portfolio *portfolio = worker->portfolio;
  uint32_t number = atomic_fetch_add (&portfolio->next_number, 1);
  TesseraPackLayout attempt = { 0 };
  if (number >= portfolio->n_attempts ||
      number > atomic_load (&portfolio->shared.reached) ||
      (portfolio->is_hurried && worker->best.height_bytes != UINT64_MAX) ||
      atomic_load (&portfolio->shared.cancelled))
    return false;
  if (!report (worker, number))
    atomic_store (&portfolio->shared.cancelled, true);
  if (make_attempt (worker, number, &attempt))
    keep_attempt (worker, number, attempt);
  return true;
}

static void *
work (void *data)
{
  while (make_next_attempt (data))
    ;
  return NULL;
}

static void
worker_clear (Worker *worker)
{
  tessera_workspace_clear (&worker->workspace);
  g_free (worker->best.offsets);
}

static void
worker_init (Worker *worker, Portfolio *portfolio)
{
  const TesseraPackProblem *problem = portfolio->problem;
  *worker = (Worker){ .portfolio = portfolio,
                      .best = { .height_bytes = UINT64_MAX,
                                .offsets = g_new (uint64_t, problem->n_items) } };
  tessera_workspace_init (&worker->workspace, problem,
                          problem->n_items <= MOST_ITEMS_OF_FIRST_ORDER ||
                              !portfolio->has_sweeps,
                          !portfolio->has_sweeps || problem->n_items <= MOST_ITEMS_TO_FIT
                              ? problem->n_items
                              : MOST_ITEMS_BEFORE_SWEEPS,
                          portfolio->has_sweeps ? &portfolio->times : NULL);
}

/* What one thread found is the best where it is lower, or as high and of lower number. */
static void
take_better (Worker *best, Worker *other)
{
  TesseraPackLayout layout = other->best;
  if (layout.height_bytes > best->best.height_bytes ||
      (layout.height_bytes == best->best.height_bytes &&
       other->best_number > best->best_number))
    return;
  other->best = best->best;
  best->best = layout;
  best->best_number = other->best_number;
}

/* The other threads; one that cannot be had costs speed only. */
static void
work_in_threads (Portfolio *portfolio, Worker *first)
{
  uint32_t n_others = portfolio->options->n_threads - 1, n_running = 0;
  Worker *others = g_new (Worker, n_others);
  for (; n_running < n_others; n_running++)
    {
      worker_init (&others[n_running], portfolio);
      if (pthread_create (&others[n_running].thread, NULL, work, &others[n_running]) == 0)
        continue;
      worker_clear (&others[n_running]);
      break;
    }
  work (first);
  for (uint32_t i = 0; i < n_running; i++)
    {
      pthread_join (others[i].thread, NULL);
      take_better (first, &others[i]);
      worker_clear (&others[i]);
    }
  g_free (others);
}

static void
init (Portfolio *portfolio)
{
  const TesseraPackProblem *problem = portfolio->problem;
  size_t n_first = 0;
  for (uint32_t i = 0; i < problem->n_items; i++)
    {
      n_first += tessera_pack_is_first (problem, i);
      portfolio->longest_events =
          MAX (portfolio->longest_events, problem->items[i].life_events);
    }
  portfolio->has_lowest = tessera_lowest_is_for (problem);
  portfolio->has_sweeps = !problem->has_zones && n_first <= MOST_ITEMS_BEFORE_SWEEPS;
  if (portfolio->has_sweeps)
    portfolio->n_rules =
        problem->n_items <= MOST_ITEMS_OF_FIRST_ORDER ? TESSERA_N_RULES : N_RULES_OF_HUGE;
  portfolio->n_fits = n_first > 0 || problem->n_blocked > 0 ? N_ORDERS : 1;
  portfolio->n_attempts = N_ORDERS + portfolio->n_rules + portfolio->n_fits;
  if (portfolio->has_sweeps)
    tessera_times_init (&portfolio->times, problem);
}

/* Told to stop: the best so far is the answer. Where there is none one attempt is made,
 * whatever is said. */
static void
hurry (Portfolio *portfolio, Worker *first)
{
  *portfolio->options->stopped = true;
  atomic_store (&portfolio->shared.cancelled, false);
  if (first->best.height_bytes != UINT64_MAX)
    return;
  portfolio->is_hurried = true;
  atomic_store (&portfolio->next_number, 0);
  work (first);
}

/* The likely winner goes first, by itself: where it ends the search others would work in
 * vain. A preview of many items has enough with it, and takes nothing for the repaired
 * layout that is not lower by more than a little: most blocks lie there where they lay. */
static void
try_all (Portfolio *portfolio, Worker *first)
{
  bool *stopped = portfolio->options->stopped;
  const uint64_t repaired_bytes = first->best.height_bytes;
  const uint64_t hurdle_bytes =
      portfolio->options->is_preview && repaired_bytes != UINT64_MAX
          ? repaired_bytes / REPAIRED_PART
          : 0;
  first->best.height_bytes -= hurdle_bytes;
  if (stopped != NULL && *stopped)
    hurry (portfolio, first);
  else if (make_next_attempt (first) &&
           atomic_load (&portfolio->shared.reached) == UINT32_MAX &&
           !(portfolio->options->is_preview &&
             portfolio->problem->n_items > MOST_ITEMS_OF_PREVIEW &&
             first->best.height_bytes != UINT64_MAX))
    work_in_threads (portfolio, first);
  if (stopped != NULL && atomic_load (&portfolio->shared.cancelled))
    hurry (portfolio, first);
  if (first->best.height_bytes == repaired_bytes - hurdle_bytes)
    first->best.height_bytes = repaired_bytes;
}

TesseraStatus
tessera_portfolio_run (TesseraPackProblem *problem,
                       const TesseraPortfolioOptions *options,
                       uint64_t *offsets,
                       const char **out_strategy)
{
  Portfolio portfolio = {
    .problem = problem,
    .options = options,
    .shared = { .best_height_bytes = UINT64_MAX, .reached = UINT32_MAX },
  };
  Worker first;
  TesseraStatus status = TESSERA_OK;
  init (&portfolio);
  worker_init (&first, &portfolio);
  first.reports = true;
  TesseraImprovement improvement = { .problem = problem,
                                     .options = options,
                                     .best = &first.best };
  if (problem->hints != NULL)
    status = tessera_improve_former (&improvement);
  if (status == TESSERA_OK && first.best.height_bytes > problem->bound_bytes)
    {
      try_all (&portfolio, &first);
      if (atomic_load (&portfolio.shared.cancelled))
        status = TESSERA_CANCELLED;
    }
  if (status == TESSERA_OK &&
      (!options->is_preview || problem->n_items <= MOST_ITEMS_OF_PREVIEW))
    status = tessera_improve (&improvement);
  if (status == TESSERA_OK)
    {
      memcpy (offsets, first.best.offsets, problem->n_items * sizeof *offsets);
      *out_strategy = first.best.strategy;
    }
  worker_clear (&first);
  tessera_times_clear (&portfolio.times);
  return status;
}
