/*
 * The exact search of what rules leave. See refine.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/portfolio/refine.h"

#include <stdlib.h>

/* The search takes some 50,000 looks at items for a decision at 1,000 of them. */
#define MOST_ITEMS 4096
/* The search looks at so many items in the time that a placement takes. */
#define LOOKS_A_PLACEMENT 2048
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

/* One call. */
typedef struct
{
  TesseraRefinement *of;
  TesseraPackLayout *best;
  const TesseraProgress *progress;
  double fraction;
  uint64_t looks_left;
  bool has_found;
} Call;

bool
tessera_refinement_is_for (const TesseraPackProblem *problem)
{
  return problem->limits == NULL && problem->n_blocked == 0 &&
         problem->n_items <= MOST_ITEMS;
}

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

TesseraStatus
tessera_refinement_init (TesseraRefinement *refinement, TesseraPackProblem *problem)
{
  *refinement =
      (TesseraRefinement){ .problem = problem, .load_bound_bytes = problem->bound_bytes };
  if (problem->n_items == 0 || !tessera_refinement_is_for (problem))
    return TESSERA_OK;
  refinement->items = calloc (problem->n_items, sizeof *refinement->items);
  if (refinement->items == NULL)
    return TESSERA_NO_MEMORY;
  refinement->unit_bytes = common_divisor (problem);
  for (size_t i = 0; i < problem->n_items; i++)
    {
      const TesseraPackLives *lives = &problem->items[i].lives;
      bool has_second = lives->begin2 < lives->end2;
      refinement->items[i] =
          (TesseraExactItem){ .size_bytes = problem->items[i].size_bytes,
                              .begin = lives->begin,
                              .end = lives->end,
                              .begin2 = has_second ? lives->begin2 : 0,
                              .end2 = has_second ? lives->end2 : 0 };
    }
  return TESSERA_OK;
}

void
tessera_refinement_clear (TesseraRefinement *refinement)
{
  free (refinement->items);
  *refinement = (TesseraRefinement){ 0 };
}

/* The caller knows how far all of the work is. */
static bool
report (void *user, double fraction)
{
  const Call *call = user;
  (void) fraction;
  return tessera_progress (call->progress, call->fraction);
}

/* Asks for a height, and notes what the answer says of heights. */
static TesseraStatus
ask (Call *call, uint64_t capacity_bytes, uint64_t looks, TesseraExactAnswer *out_answer)
{
  TesseraRefinement *of = call->of;
  const TesseraProgress progress = { report, call };
  const TesseraExactOptions options = { .capacity_bytes = capacity_bytes,
                                        .work_budget = looks,
                                        .turn = of->n_asked++,
                                        .progress = &progress };
  TesseraExactResult result = { 0 };
  TesseraStatus status = tessera_exact_search (of->items, of->problem->n_items, &options,
                                               call->best->offsets, &result);
  call->looks_left -= result.work < call->looks_left ? result.work : call->looks_left;
  *out_answer = result.answer;
  if (result.answer == TESSERA_EXACT_IMPOSSIBLE)
    of->problem->bound_bytes = capacity_bytes + of->unit_bytes;
  if (result.answer == TESSERA_EXACT_FITS)
    {
      call->best->height_bytes = tessera_pack_height (of->problem, call->best->offsets);
      call->has_found = true;
    }
  return status;
}

static bool
goes_on (const Call *call, uint64_t looks)
{
  return call->of->problem->bound_bytes < call->best->height_bytes &&
         looks <= call->looks_left;
}

/* A step up from the bound, or down from the height. */
static uint64_t
step_bytes (const Call *call)
{
  const TesseraRefinement *of = call->of;
  uint64_t between =
      (call->best->height_bytes - of->problem->bound_bytes) / of->unit_bytes;
  return between / STEPS_BETWEEN * of->unit_bytes;
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
    status = ask (call, call->of->problem->bound_bytes + above_bytes, looks, &answer);
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
        below_bytes = (n_failures + 1) * call->of->unit_bytes;
      if (call->best->height_bytes - call->of->problem->bound_bytes <= below_bytes)
        break; /* the bound itself: asked from below */
      status = ask (call, call->best->height_bytes - below_bytes, looks, &answer);
      n_failures = answer == TESSERA_EXACT_FITS ? 0 : n_failures + 1;
    }
  return status;
}

TesseraStatus
tessera_refine (TesseraRefinement *refinement,
                uint64_t work,
                const TesseraProgress *progress,
                double fraction,
                TesseraPackLayout *best)
{
  const uint64_t looks = work * LOOKS_A_PLACEMENT;
  Call call = { .of = refinement,
                .best = best,
                .progress = progress,
                .fraction = fraction,
                .looks_left = looks };
  TesseraStatus status = climb (&call, looks / PART_OF_BOUND);
  if (status == TESSERA_OK)
    status = descend (&call, looks / PART_OF_HEIGHT);
  bool is_optimal = best->height_bytes == refinement->problem->bound_bytes;
  if (call.has_found)
    best->strategy = best->height_bytes == refinement->load_bound_bytes ? FOUND_AT_BOUND
                     : is_optimal                                       ? FOUND_AT_LOWEST
                                                                        : FOUND_LOWER;
  else if (is_optimal)
    best->strategy = PROVEN;
  return status;
}
