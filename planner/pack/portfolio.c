/*
 * Attempts at one problem, one after the other: a layout of before, orders, rules. See
 * private.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/private.h"

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

/* A preview of no more items tries all orders and improves a little: a tenth of a second
 * for 10,000 of them. Of more the first layout is all there is time for. */
#define MOST_ITEMS_OF_PREVIEW 16384

/* What a preview repaired is replaced only by what is lower by this part. */
#define REPAIRED_PART 1024

/* What sticks out of a repaired layout is put elsewhere first, before another order moves
 * all: in 13 ms. */
#define LOOKS_OF_REPAIR (UINT64_C (1) << 18)

/* What one sweep may spend on looking ahead. */
#define LOOKS_OF_A_SWEEP (UINT64_C (1) << 22)
#define LOOKS_AN_ITEM 8

typedef struct
{
  const char *of_lowest, *of_first_fit; /* names, by placement */
  TesseraOrderKey keys[TESSERA_ORDER_MAX_KEYS];
} Order;

/* Likely winners first. On real training traces the first or the second is at the bound
 * almost always. */
static const Order orders[] = {
  { "lowest offset next; contention, life, area",
    "first fit by contention, life, area",
    { BY (PREFERENCE), BY (CONTENTION), BY (LIFE), BY (AREA) } },
  { "lowest offset next; load, area, life",
    "first fit by load, area, life",
    { BY (LOAD), BY (AREA), BY (LIFE) } },
  { "lowest offset next; life, area",
    "first fit by life, area",
    { BY (LIFE), BY (AREA) } },
  { "lowest offset next; area", "first fit by area", { BY (AREA) } },
  { "lowest offset next; size, life", "first fit by size", { BY (SIZE), BY (LIFE) } },
};
#define N_ORDERS ((uint32_t) G_N_ELEMENTS (orders))
/* The orders that come before the rules for sweeps. */
#define N_ORDERS_BEFORE_RULES 2
/* By which a layout of before is repaired. */
#define ORDER_OF_REPAIR 3

typedef struct
{
  TesseraPackProblem *problem;
  TesseraPackJob *job;
  TesseraWorkspace workspace;
  TesseraPackLayout best;
  uint64_t longest_events; /* life of an item */
  uint32_t n_rules, n_fits;
} Portfolio;

static bool
attempt_rule (Portfolio *portfolio,
              uint32_t number,
              uint64_t below_bytes,
              TesseraPackLayout *attempt)
{
  static const char *const names[2][2] = {
    { "first fit in order of time", "first fit in order of time, backward" },
    { "best fit in order of time", "best fit in order of time, backward" },
  };
  const TesseraRule rule = tessera_rule_nth (portfolio->longest_events, number);
  attempt->strategy = names[rule.fit == TESSERA_SWEEP_BEST_FIT][rule.is_backward];
  return tessera_attempt_sweep (&portfolio->workspace, &rule,
                                LOOKS_OF_A_SWEEP +
                                    LOOKS_AN_ITEM * portfolio->problem->n_items,
                                below_bytes, &attempt->height_bytes);
}

static void
put_in_order (TesseraWorkspace *workspace, uint32_t order)
{
  tessera_order_items (workspace->problem, orders[order].keys, workspace->entries,
                       workspace->order);
}

/* Returns: false where the attempt was given up, or is not for this problem. */
static bool
attempt_order (Portfolio *portfolio,
               uint32_t order,
               bool is_lowest,
               uint64_t below_bytes,
               TesseraPackLayout *attempt)
{
  TesseraWorkspace *workspace = &portfolio->workspace;
  const size_t most_items = !is_lowest   ? MOST_ITEMS_TO_FIT
                            : order == 0 ? MOST_ITEMS_OF_FIRST_ORDER
                                         : MOST_ITEMS_OF_ORDERS;
  if (portfolio->problem->n_items > most_items && (workspace->sweep != NULL || order > 0))
    return false;
  attempt->strategy = is_lowest ? orders[order].of_lowest : orders[order].of_first_fit;
  put_in_order (workspace, order);
  return is_lowest
             ? tessera_attempt_lowest (workspace, below_bytes, &attempt->height_bytes)
             : tessera_attempt_first_fit (workspace, below_bytes, &attempt->height_bytes);
}

/* By number: two orders, the rules, the other orders, and by first fit all orders where
 * something comes first, else the one by size. Returns: as above. */
static bool
make_attempt (Portfolio *portfolio,
              uint32_t number,
              uint64_t below_bytes,
              TesseraPackLayout *attempt)
{
  const uint32_t n_before_others = N_ORDERS_BEFORE_RULES + portfolio->n_rules;
  if (number >= N_ORDERS_BEFORE_RULES && number < n_before_others)
    return attempt_rule (portfolio, number - N_ORDERS_BEFORE_RULES, below_bytes, attempt);
  const uint32_t order = number < n_before_others ? number : number - portfolio->n_rules;
  if (order < N_ORDERS)
    return portfolio->workspace.lowest != NULL &&
           attempt_order (portfolio, order, true, below_bytes, attempt);
  return attempt_order (portfolio,
                        portfolio->n_fits == 1 ? N_ORDERS - 1 : order - N_ORDERS, false,
                        below_bytes, attempt);
}

/* Keeps what the workspace holds where it is lower than the best, or @below_bytes. */
static void
keep_attempt (Portfolio *portfolio, uint64_t below_bytes, TesseraPackLayout attempt)
{
  /* Below the bound, which a pin may set, lower is no better. */
  attempt.height_bytes = MAX (attempt.height_bytes, portfolio->problem->bound_bytes);
  if (attempt.height_bytes >= below_bytes)
    return;
  attempt.offsets = portfolio->workspace.offsets;
  portfolio->workspace.offsets = portfolio->best.offsets;
  portfolio->best = attempt;
}

static bool
is_found (const Portfolio *portfolio)
{
  return portfolio->best.height_bytes != UINT64_MAX;
}

/* A layout of before may be better repaired with what is held placed first, or last. What
 * then sticks out makes room for itself, so that the rest can stay. */
static void
repair (Portfolio *portfolio)
{
  const int n_ways = portfolio->problem->limits != NULL ? 2 : 1;
  put_in_order (&portfolio->workspace, ORDER_OF_REPAIR);
  for (int way = 0; way < n_ways; way++)
    {
      TesseraPackLayout attempt = { .strategy = "as before, repaired" };
      tessera_attempt_former (&portfolio->workspace, way == 0, &attempt.height_bytes);
      keep_attempt (portfolio, portfolio->best.height_bytes, attempt);
    }
  TesseraPackLayout *best = &portfolio->best;
  if (best->height_bytes > portfolio->problem->bound_bytes &&
      portfolio->problem->n_items <= MOST_ITEMS_OF_PREVIEW)
    tessera_eject (portfolio->problem, LOOKS_OF_REPAIR, portfolio->job->asked.progress,
                   best->offsets, &best->height_bytes);
  best->height_bytes = MAX (best->height_bytes, portfolio->problem->bound_bytes);
}

/* Whether there is to be another attempt. A preview of many items has enough with one. */
static bool
goes_on (const Portfolio *portfolio, uint32_t number)
{
  const bool is_hasty = portfolio->job->asked.is_preview &&
                        portfolio->problem->n_items > MOST_ITEMS_OF_PREVIEW;
  return portfolio->best.height_bytes > portfolio->problem->bound_bytes &&
         !(is_found (portfolio) &&
           (portfolio->job->has_stopped || (is_hasty && number > 0)));
}

/* A preview takes nothing for the repaired layout that is not lower by more than a little:
 * most blocks lie there where they lay. */
static TesseraStatus
try_all (Portfolio *portfolio)
{
  TesseraPackJob *job = portfolio->job;
  const uint64_t repaired_bytes = portfolio->best.height_bytes;
  const uint32_t n_attempts = N_ORDERS + portfolio->n_rules + portfolio->n_fits;
  uint64_t below_bytes = repaired_bytes;
  if (job->asked.is_preview && is_found (portfolio))
    below_bytes -= repaired_bytes / REPAIRED_PART;
  for (uint32_t number = 0; number < n_attempts && goes_on (portfolio, number); number++)
    {
      TesseraPackLayout attempt = { 0 };
      TesseraStatus status = tessera_pack_report (
          job, portfolio->problem, portfolio->best.height_bytes, "trying orders",
          TESSERA_PACK_ORDERS_FRACTION * number / n_attempts);
      if (status != TESSERA_OK)
        return status;
      if (job->has_stopped && is_found (portfolio))
        break;
      if (make_attempt (portfolio, number, below_bytes, &attempt))
        keep_attempt (portfolio, below_bytes, attempt);
      below_bytes = MIN (below_bytes, portfolio->best.height_bytes);
    }
  return TESSERA_OK;
}

TesseraStatus
tessera_pack_report (TesseraPackJob *job,
                     const TesseraPackProblem *problem,
                     uint64_t height_bytes,
                     const char *doing,
                     double done)
{
  const TesseraListener *listener = job->asked.listener;
  const TesseraNews news = { .height_bytes =
                                 height_bytes != UINT64_MAX ? height_bytes : 0,
                             .bound_bytes = problem->bound_bytes,
                             .doing = doing };
  if (job->has_stopped)
    return TESSERA_OK;
  if (listener != NULL)
    listener->tell (listener->user, &news);
  job->has_stopped = !tessera_progress (
      job->asked.progress,
      job->fraction_begin + done * (job->fraction_end - job->fraction_begin));
  return job->has_stopped && !job->asked.keeps_best ? TESSERA_CANCELLED : TESSERA_OK;
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
  portfolio->n_fits = n_first > 0 || problem->least_bytes > 0 ? N_ORDERS : 1;
  tessera_workspace_init (&portfolio->workspace, problem);
  if (problem->has_zones || n_first > MOST_ITEMS_BEFORE_SWEEPS)
    return;
  portfolio->workspace.sweep = tessera_sweep_new (problem);
  portfolio->n_rules =
      problem->n_items <= MOST_ITEMS_OF_FIRST_ORDER ? TESSERA_N_RULES : N_RULES_OF_HUGE;
}

TesseraStatus
tessera_pack_problem (TesseraPackProblem *problem,
                      TesseraPackJob *job,
                      uint64_t *offsets,
                      const char **out_strategy)
{
  Portfolio portfolio = { .problem = problem,
                          .job = job,
                          .best = { .height_bytes = UINT64_MAX,
                                    .offsets = g_new (uint64_t, problem->n_items) } };
  init (&portfolio);
  if (problem->hints != NULL && !job->has_stopped)
    repair (&portfolio);
  TesseraStatus status = try_all (&portfolio);
  if (status == TESSERA_OK &&
      (!job->asked.is_preview || problem->n_items <= MOST_ITEMS_OF_PREVIEW))
    status = tessera_pack_improve (problem, job, &portfolio.best);
  if (status == TESSERA_OK)
    {
      memcpy (offsets, portfolio.best.offsets, problem->n_items * sizeof *offsets);
      *out_strategy = portfolio.best.strategy;
    }
  tessera_workspace_clear (&portfolio.workspace);
  g_free (portfolio.best.offsets);
  return status;
}
