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

typedef enum
{
  LOWEST,      /* lowest reachable offset (lowest.c) */
  SWEEP,       /* sweep.c */
  FIT,         /* first fit */
  FIT_OF_FIRST /* first fit, which pays only where something comes first or is blocked */
} Method;

typedef struct
{
  const char *strategy;
  Method method;
  TesseraOrderKey keys[TESSERA_ORDER_MAX_KEYS];
  double longest_short; /* of a sweep: part of the longest life */
  bool is_backward, is_best_fit;
} Attempt;

#define CONTENTION BY (PREFERENCE), BY (CONTENTION), BY (LIFE), BY (AREA)
#define LOAD BY (LOAD), BY (AREA), BY (LIFE)
#define LIFE BY (LIFE), BY (AREA)
#define AREA BY (AREA)
#define SIZE BY (SIZE), BY (LIFE)
#define FIRST_IN_TIME "first fit in order of time"
#define BEST_IN_TIME "best fit in order of time"
#define SHORT 0.015

/* Likely winners first. On real training traces the first or the second is at the bound
 * almost always. */
static const Attempt attempts[] = {
  { "lowest offset next; contention, life, area", LOWEST, { CONTENTION } },
  { "lowest offset next; load, area, life", LOWEST, { LOAD } },
  { FIRST_IN_TIME, SWEEP, .is_best_fit = false },
  { BEST_IN_TIME, SWEEP, .is_best_fit = true },
  { FIRST_IN_TIME ", backward", SWEEP, .is_backward = true },
  { BEST_IN_TIME ", backward", SWEEP, .is_backward = true, .is_best_fit = true },
  { FIRST_IN_TIME, SWEEP, .longest_short = SHORT },
  { BEST_IN_TIME, SWEEP, .longest_short = SHORT, .is_best_fit = true },
  { FIRST_IN_TIME ", backward", SWEEP, .longest_short = SHORT, .is_backward = true },
  { BEST_IN_TIME ", backward", SWEEP, { 0 }, SHORT, true, true },
  { "lowest offset next; life, area", LOWEST, { LIFE } },
  { "lowest offset next; area", LOWEST, { AREA } },
  { "lowest offset next; size, life", LOWEST, { SIZE } },
  { "first fit by contention, life, area", FIT_OF_FIRST, { CONTENTION } },
  { "first fit by load, area, life", FIT_OF_FIRST, { LOAD } },
  { "first fit by life, area", FIT_OF_FIRST, { LIFE } },
  { "first fit by area", FIT_OF_FIRST, { AREA } },
  { "first fit by size", FIT, { SIZE } },
};
#define N_ATTEMPTS ((uint32_t) G_N_ELEMENTS (attempts))
static const TesseraOrderKey keys_of_repair[TESSERA_ORDER_MAX_KEYS] = { AREA };

typedef struct
{
  TesseraPackProblem *problem;
  TesseraPackJob *job;
  TesseraWorkspace workspace;
  TesseraPackLayout best;
  uint64_t longest_events; /* life of an item */
  bool has_first;          /* something comes first, or is blocked */
} Portfolio;

static bool
is_found (const Portfolio *portfolio)
{
  return portfolio->best.height_bytes != UINT64_MAX;
}

/* A sweep of a million items takes a third of a second: of huge problems only those are
 * tried that take all lives at once. */
static size_t
most_items_of (const Attempt *attempt)
{
  if (attempt->method == SWEEP)
    return attempt->longest_short > 0 ? MOST_ITEMS_OF_FIRST_ORDER : SIZE_MAX;
  if (attempt->method == LOWEST)
    return attempt == attempts ? MOST_ITEMS_OF_FIRST_ORDER : MOST_ITEMS_OF_ORDERS;
  return MOST_ITEMS_TO_FIT;
}

static bool
attempt_sweep (Portfolio *portfolio,
               const Attempt *attempt,
               uint64_t below_bytes,
               uint64_t *out_height_bytes)
{
  const double longest_events = (double) portfolio->longest_events;
  const TesseraRule rule = {
    .longest_short_events = (uint64_t) (attempt->longest_short * longest_events),
    .is_backward = attempt->is_backward,
    .is_best_fit = attempt->is_best_fit,
  };
  const uint64_t looks = LOOKS_OF_A_SWEEP + LOOKS_AN_ITEM * portfolio->problem->n_items;
  return tessera_attempt_sweep (&portfolio->workspace, &rule, looks, below_bytes,
                                out_height_bytes);
}

/* Returns: false where the attempt was given up, or is not for this problem. Where nothing
 * else is, the first order serves however many items there are. */
static bool
make_attempt (Portfolio *portfolio,
              const Attempt *attempt,
              uint64_t below_bytes,
              uint64_t *out_height_bytes)
{
  TesseraWorkspace *workspace = &portfolio->workspace;
  if (portfolio->problem->n_items > most_items_of (attempt) &&
      (workspace->sweep != NULL || is_found (portfolio)))
    return false;
  if (attempt->method == SWEEP)
    return workspace->sweep != NULL &&
           attempt_sweep (portfolio, attempt, below_bytes, out_height_bytes);
  if (attempt->method == LOWEST
          ? workspace->lowest == NULL
          : attempt->method == FIT_OF_FIRST && !portfolio->has_first)
    return false;
  tessera_order_items (portfolio->problem, attempt->keys, workspace->order);
  return attempt->method == LOWEST
             ? tessera_attempt_lowest (workspace, below_bytes, out_height_bytes)
             : tessera_attempt_first_fit (workspace, below_bytes, out_height_bytes);
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

/* A layout of before may be better repaired with what is held placed first, or last. What
 * then sticks out makes room for itself, so that the rest can stay. */
static void
repair (Portfolio *portfolio)
{
  const int n_ways = portfolio->problem->limits != NULL ? 2 : 1;
  tessera_order_items (portfolio->problem, keys_of_repair, portfolio->workspace.order);
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
  uint64_t below_bytes = repaired_bytes;
  if (job->asked.is_preview && is_found (portfolio))
    below_bytes -= repaired_bytes / REPAIRED_PART;
  for (uint32_t number = 0; number < N_ATTEMPTS && goes_on (portfolio, number); number++)
    {
      TesseraPackLayout attempt = { .strategy = attempts[number].strategy };
      TesseraStatus status = tessera_pack_report (
          job, portfolio->problem, portfolio->best.height_bytes, "trying orders",
          TESSERA_PACK_ORDERS_FRACTION * number / N_ATTEMPTS);
      if (status != TESSERA_OK)
        return status;
      if (job->has_stopped && is_found (portfolio))
        break;
      if (make_attempt (portfolio, &attempts[number], below_bytes, &attempt.height_bytes))
        keep_attempt (portfolio, below_bytes, attempt);
      below_bytes = MIN (below_bytes, portfolio->best.height_bytes);
    }
  return TESSERA_OK;
}

bool
tessera_pack_goes_on (TesseraPackJob *job, double done)
{
  job->has_stopped = !tessera_progress (
      job->asked.progress,
      job->fraction_begin + done * (job->fraction_end - job->fraction_begin));
  return !job->has_stopped;
}

TesseraStatus
tessera_pack_status (const TesseraPackJob *job)
{
  return job->has_stopped && !job->asked.keeps_best ? TESSERA_CANCELLED : TESSERA_OK;
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
  tessera_pack_goes_on (job, done);
  return tessera_pack_status (job);
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
  portfolio->has_first = n_first > 0 || problem->least_bytes > 0;
  tessera_workspace_init (&portfolio->workspace, problem);
  if (!problem->has_zones && n_first <= MOST_ITEMS_BEFORE_SWEEPS)
    portfolio->workspace.sweep = tessera_sweep_new (problem);
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
