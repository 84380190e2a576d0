/*
 * Rounds of improvements. See portfolio.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/portfolio.h"

#include "planner/exact.h"
#include "planner/pack/repack.h"

#include <string.h>

/* What each part may spend in the first round, in placements of some microsecond: next to
 * nothing, since who needs little should not wait for who gets much. Of many items a
 * fourth of them, which is the least that can change anything. Small cores that no rule
 * packs need the exact search most. */
#define FIRST_SLICE 32
#define FIRST_SLICE_PART 4
#define SLICES_OF_REPACKING 1
#define SLICES_OF_SEARCH 8
/* Re-packing looks at so many lives, 50 ns each, in the time of a placement. */
#define LOOKS_A_PLACEMENT 16
#define SEARCH_REPORTS_A_REPORT 4

/* Nearer to the bound than this part of it nobody sees a difference. Small problems, which
 * the exact search ends, are asked for the bound itself. */
#define NEAR_PART 32768

/* Repairing a layout of before may take so many looks for each item, and at least and at
 * most so many: between a hundredth and a twentieth of a second. */
#define REPAIR_LOOKS_AN_ITEM 64
#define FEWEST_REPAIR_LOOKS (UINT64_C (1) << 17)
#define MOST_REPAIR_LOOKS (UINT64_C (1) << 20)

/* The search takes some 50,000 looks at items for a decision at 1,000 of them. */
#define MOST_ITEMS_OF_SEARCH 4096
/* The search looks at so many items in the time that a placement takes. */
#define LOOKS_OF_SEARCH_A_PLACEMENT 2048
/* Of the work of a call: for the bound, and for each height from above. */
#define PART_OF_BOUND 2
#define PART_OF_HEIGHT 8
/* The next height is so much of what lies between the highest that is known to be too low
 * and the lowest that is known to do. In a call so many may fail from above. */
#define STEPS_BETWEEN 8
#define MOST_FAILURES 4

#define FOUND_AT_BOUND "exact search: at the load bound"
#define FOUND_AT_LOWEST "exact search: a lower layout is proven impossible"
#define FOUND_LOWER "exact search: lower than any rule"
#define PROVEN "simple rules; exact search proves that no layout is lower"

typedef struct
{
  TesseraImprovement *of;
  uint64_t slice;
  uint64_t spent;
  TesseraExactItem *exact_items; /* NULL: the exact search is not for this problem */
  uint64_t unit_bytes;           /* heights that matter are multiples */
  uint64_t load_bound_bytes;     /* before anything was proven */
  uint64_t base_bytes;           /* blocked below all; and what is blocked above: */
  uint64_t most_bytes;
  uint32_t n_asked;
} Rounds;

static double
fraction_of (const Rounds *rounds)
{
  const TesseraPortfolioOptions *options = rounds->of->options;
  double done = (double) rounds->spent / (double) (options->work_budget + 1);
  double inside =
      TESSERA_PACK_ORDERS_FRACTION + (1 - TESSERA_PACK_ORDERS_FRACTION) * done;
  return options->fraction_begin +
         inside * (options->fraction_end - options->fraction_begin);
}

static bool
is_stopped (const TesseraPortfolioOptions *options)
{
  return options->stopped != NULL && *options->stopped;
}

/* Whoever is told to stop and has something to show is not cancelled. */
static TesseraStatus
settle_stop (const TesseraPortfolioOptions *options, TesseraStatus status)
{
  if (status != TESSERA_CANCELLED || options->stopped == NULL)
    return status;
  *options->stopped = true;
  return TESSERA_OK;
}

/* Tells what is known, and asks whether to go on. */
static TesseraStatus
report (const Rounds *rounds, const char *doing)
{
  const TesseraPortfolioOptions *options = rounds->of->options;
  const TesseraListener *listener = options->listener;
  const TesseraNews news = { .height_bytes = rounds->of->best->height_bytes,
                             .bound_bytes = rounds->of->problem->bound_bytes,
                             .doing = doing };
  if (listener != NULL)
    listener->tell (listener->user, &news);
  return settle_stop (options, tessera_progress (options->progress, fraction_of (rounds))
                                   ? TESSERA_OK
                                   : TESSERA_CANCELLED);
}

static bool
is_wanted (const Rounds *rounds)
{
  const TesseraPackProblem *problem = rounds->of->problem;
  uint64_t height_bytes = rounds->of->best->height_bytes;
  uint64_t near_bytes =
      rounds->exact_items != NULL ? 0 : problem->bound_bytes / NEAR_PART;
  return height_bytes > problem->bound_bytes + near_bytes &&
         !is_stopped (rounds->of->options);
}

/* Whether there is so much work for another part of the round. */
static bool
has_work (const Rounds *rounds, uint64_t work)
{
  return rounds->spent + work <= rounds->of->options->work_budget && is_wanted (rounds);
}

static TesseraStatus
repack (Rounds *rounds)
{
  TesseraImprovement *of = rounds->of;
  const uint64_t before_bytes = of->best->height_bytes;
  const uint64_t work = rounds->slice * SLICES_OF_REPACKING;
  const TesseraRepackOptions options = {
    .looks = work * LOOKS_A_PLACEMENT,
    .progress = of->options->progress,
    .fraction = fraction_of (rounds),
  };
  if (of->problem->has_zones || !has_work (rounds, work))
    return TESSERA_OK;
  TesseraStatus status = report (rounds, "re-packing around the peak");
  if (status != TESSERA_OK || is_stopped (of->options))
    return status;
  status =
      tessera_repack (of->problem, &options, of->best->offsets, &of->best->height_bytes);
  rounds->spent += work;
  if (of->best->height_bytes < before_bytes)
    of->best->strategy = "re-packed around the peak";
  return settle_stop (of->options, status);
}

/* ---- the exact search of what rules leave. Nobody knows beforehand which height is found
 * soon: of two that differ by a thousandth one may take a hundredth of the work. So each
 * call asks for the bound first, with half of its work, and then from above for heights
 * below the best layout, with small shares. The next call has more work and goes on from
 * what is known by then. ---- */

/* One call. */
typedef struct
{
  Rounds *rounds;
  TesseraPackProblem *problem;
  TesseraPackLayout *best;
  uint64_t looks_left;
  uint32_t n_reports;
  bool has_found;
} Call;

static uint64_t
common_divisor (const TesseraPackProblem *problem)
{
  uint64_t divisor = problem->items[0].size_bytes;
  for (size_t i = 1; i < problem->n_items; i++)
    for (uint64_t other = problem->items[i].size_bytes; other != 0;)
      {
        uint64_t rest = divisor % other;
        divisor = other;
        other = rest;
      }
  return divisor;
}

static void
init_search (Rounds *rounds)
{
  const TesseraPackProblem *problem = rounds->of->problem;
  rounds->load_bound_bytes = problem->bound_bytes;
  rounds->most_bytes = UINT64_MAX;
  for (size_t i = 0; i < problem->n_blocked; i++)
    if (problem->blocked[i].begin_bytes == 0)
      rounds->base_bytes = problem->blocked[i].end_bytes;
    else
      rounds->most_bytes = MIN (rounds->most_bytes, problem->blocked[i].begin_bytes);
  if (problem->limits != NULL || problem->n_items > MOST_ITEMS_OF_SEARCH)
    return;
  rounds->exact_items = g_new (TesseraExactItem, problem->n_items);
  rounds->unit_bytes = common_divisor (problem);
  for (size_t i = 0; i < problem->n_items; i++)
    {
      const TesseraPackItem *item = &problem->items[i];
      bool has_second = tessera_pack_has_second (item);
      rounds->exact_items[i] =
          (TesseraExactItem){ .size_bytes = item->size_bytes,
                              .begin = item->lives.begin,
                              .end = item->lives.end,
                              .begin2 = has_second ? item->lives.begin2 : 0,
                              .end2 = has_second ? item->lives.end2 : 0 };
    }
}

/* The caller knows how far all of the work is. */
static bool
report_search (void *user, double fraction)
{
  Call *call = user;
  (void) fraction;
  if (call->n_reports++ % SEARCH_REPORTS_A_REPORT != 0)
    return true;
  return tessera_progress (call->rounds->of->options->progress,
                           fraction_of (call->rounds));
}

/* Asks for a height, and notes what the answer says of heights. */
static TesseraStatus
ask (Call *call, uint64_t capacity_bytes, uint64_t looks, TesseraExactAnswer *out_answer)
{
  Rounds *rounds = call->rounds;
  TesseraPackProblem *problem = call->problem;
  const uint64_t own_bytes = capacity_bytes - rounds->base_bytes;
  const TesseraProgress progress = { report_search, call };
  const TesseraExactOptions options = { .capacity_bytes =
                                            own_bytes - own_bytes % rounds->unit_bytes,
                                        .work_budget = looks,
                                        .turn = rounds->n_asked++,
                                        .progress = &progress };
  TesseraExactResult result = { .answer = TESSERA_EXACT_UNKNOWN };
  TesseraStatus status = TESSERA_OK;
  uint64_t *offsets = call->best->offsets;
  if (capacity_bytes <= rounds->most_bytes)
    status = tessera_exact_search (rounds->exact_items, problem->n_items, &options,
                                   offsets, &result);
  call->looks_left -= MIN (result.work, call->looks_left);
  *out_answer = result.answer;
  if (result.answer == TESSERA_EXACT_IMPOSSIBLE)
    problem->bound_bytes =
        rounds->base_bytes + options.capacity_bytes + rounds->unit_bytes;
  if (result.answer != TESSERA_EXACT_FITS)
    return status;
  for (size_t i = 0; i < problem->n_items; i++)
    offsets[i] += rounds->base_bytes;
  call->best->height_bytes = tessera_pack_height (problem, offsets);
  call->has_found = true;
  return status;
}

static bool
goes_on (const Call *call, uint64_t looks)
{
  return call->problem->bound_bytes < call->best->height_bytes &&
         looks <= call->looks_left;
}

/* A step up from the bound, or down from the height. */
static uint64_t
step_bytes (const Call *call)
{
  const uint64_t unit_bytes = call->rounds->unit_bytes;
  uint64_t between = (call->best->height_bytes - call->problem->bound_bytes) / unit_bytes;
  return between / STEPS_BETWEEN * unit_bytes;
}

/* From below: what is proven impossible raises the bound. */
static TesseraStatus
climb (Call *call, uint64_t looks)
{
  TesseraExactAnswer answer = TESSERA_EXACT_IMPOSSIBLE;
  TesseraStatus status = TESSERA_OK;
  for (uint64_t above_bytes = 0; status == TESSERA_OK && goes_on (call, looks) &&
                                 answer == TESSERA_EXACT_IMPOSSIBLE;
       above_bytes = step_bytes (call))
    status = ask (call, call->problem->bound_bytes + above_bytes, looks, &answer);
  return status;
}

/* From above: what is found is the next to go down from; what is not found may be luck,
 * so one further below is asked for as well. */
static TesseraStatus
descend (Call *call, uint64_t looks)
{
  TesseraStatus status = TESSERA_OK;
  for (uint32_t n_failures = 0;
       status == TESSERA_OK && n_failures < MOST_FAILURES && goes_on (call, looks);)
    {
      TesseraExactAnswer answer;
      uint64_t below_bytes = (n_failures + 1) * step_bytes (call);
      if (below_bytes == 0)
        below_bytes = (n_failures + 1) * call->rounds->unit_bytes;
      if (call->best->height_bytes - call->problem->bound_bytes <= below_bytes)
        break; /* the bound itself: asked from below */
      status = ask (call, call->best->height_bytes - below_bytes, looks, &answer);
      n_failures = answer == TESSERA_EXACT_FITS ? 0 : n_failures + 1;
    }
  return status;
}

static TesseraStatus
search_exactly (Rounds *rounds)
{
  TesseraImprovement *of = rounds->of;
  TesseraPackLayout *best = of->best;
  const uint64_t work = rounds->slice * SLICES_OF_SEARCH;
  const uint64_t looks = work * LOOKS_OF_SEARCH_A_PLACEMENT;
  if (rounds->exact_items == NULL || !has_work (rounds, work))
    return TESSERA_OK;
  TesseraStatus status = report (rounds, "searching exactly");
  if (status != TESSERA_OK || is_stopped (of->options))
    return status;
  Call call = {
    .rounds = rounds, .problem = of->problem, .best = best, .looks_left = looks
  };
  status = climb (&call, looks / PART_OF_BOUND);
  if (status == TESSERA_OK)
    status = descend (&call, looks / PART_OF_HEIGHT);
  rounds->spent += work;
  bool is_optimal = best->height_bytes == of->problem->bound_bytes;
  if (call.has_found)
    best->strategy = best->height_bytes == rounds->load_bound_bytes ? FOUND_AT_BOUND
                     : is_optimal                                   ? FOUND_AT_LOWEST
                                                                    : FOUND_LOWER;
  else if (is_optimal)
    best->strategy = PROVEN;
  return settle_stop (of->options, status);
}

TesseraStatus
tessera_improve (TesseraImprovement *improvement)
{
  Rounds rounds = { .of = improvement,
                    .slice = MAX (FIRST_SLICE,
                                  improvement->problem->n_items / FIRST_SLICE_PART) };
  TesseraStatus status = TESSERA_OK;
  init_search (&rounds);
  for (; status == TESSERA_OK && has_work (&rounds, rounds.slice); rounds.slice *= 2)
    {
      status = repack (&rounds);
      if (status == TESSERA_OK)
        status = search_exactly (&rounds);
    }
  g_free (rounds.exact_items);
  return status;
}

TesseraStatus
tessera_improve_former (TesseraImprovement *improvement)
{
  const TesseraPackProblem *problem = improvement->problem;
  const TesseraPortfolioOptions *options = improvement->options;
  TesseraPackLayout *best = improvement->best;
  const uint64_t looks = REPAIR_LOOKS_AN_ITEM * (uint64_t) problem->n_items;
  const TesseraRepackOptions repair = {
    .looks = CLAMP (looks, FEWEST_REPAIR_LOOKS, MOST_REPAIR_LOOKS),
    .progress = options->progress,
    .fraction = options->fraction_begin,
  };
  if (problem->has_zones || is_stopped (options))
    return TESSERA_OK;
  TesseraStatus status =
      tessera_repair (problem, &repair, best->offsets, &best->height_bytes);
  if (best->height_bytes != UINT64_MAX)
    best->strategy = "as before, repaired";
  return settle_stop (options, status);
}
