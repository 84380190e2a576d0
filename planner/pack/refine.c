/*
 * What the portfolio leaves above the bound. See refine.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/refine.h"

#include "planner/exact.h"

#include <stdlib.h>
#include <string.h>

/* The search takes some 50,000 looks at items for a decision at 1,000 of them. */
#define MAX_ITEMS 4096

/* The search looks at so many items in the time that a placement takes. */
#define LOOKS_A_PLACEMENT 512

/* Nobody knows beforehand which height is found soon: of two that differ by a thousandth
 * one may take a hundredth of the work. So all are asked with a small share of the work
 * first, which doubles from round to round. Below so many looks, times the square of the
 * items, a search does not get anywhere. The bound itself, which settles everything, gets
 * twice the share of others. */
#define LOOKS_AN_ITEM_SQUARED 400
#define SHARES_OF_BOUND 4

/* The work that a caller gives is for searches that get somewhere; so much of it shows
 * whether one does: enough for a question at the bound and two others. */
#define TRIAL 0.2
#define LARGEST_OF_BOUND (TRIAL / 2)
#define LARGEST_FIRST_SHARE (TRIAL / 4)

/* The next height is so much of what lies between the highest that is known to be too low
 * and the lowest that is known to do. In a round so many may fail from above. */
#define STEPS_BETWEEN 8
#define MAX_FAILURES 4

#define FOUND_AT_BOUND "exact search: at the load bound"
#define FOUND_AT_LOWEST "exact search: a lower layout is proven impossible"
#define FOUND_LOWER "exact search: lower than any rule"
#define PROVEN "simple rules; exact search proves that no layout is lower"

typedef struct
{
  const TesseraPortfolioOptions *options;
  double begin, end; /* of the work, as a share */
  TesseraNews news;
} Stretch;

static bool
report (void *user, double fraction)
{
  const Stretch *stretch = user;
  const TesseraPortfolioOptions *options = stretch->options;
  const TesseraListener *listener = options->listener;
  if (listener != NULL)
    listener->tell (listener->user, &stretch->news);
  double done = stretch->begin + fraction * (stretch->end - stretch->begin);
  return tessera_progress (options->progress,
                           options->fraction_begin +
                               done * (options->fraction_end - options->fraction_begin));
}

bool
tessera_pack_can_refine (const TesseraPackProblem *problem)
{
  return problem->limits == NULL && problem->n_blocked == 0 && problem->n_owners == 1 &&
         problem->n_items <= MAX_ITEMS;
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

static void
fill_items (const TesseraPackProblem *problem, TesseraExactItem *items)
{
  for (size_t i = 0; i < problem->n_items; i++)
    {
      const TesseraPackLives *lives = &problem->items[i].lives;
      bool has_second = lives->begin2 < lives->end2;
      items[i] = (TesseraExactItem){ .size_bytes = problem->items[i].size_bytes,
                                     .begin = lives->begin,
                                     .end = lives->end,
                                     .begin2 = has_second ? lives->begin2 : 0,
                                     .end2 = has_second ? lives->end2 : 0 };
    }
}

static uint64_t
height_of (const TesseraPackProblem *problem, const uint64_t *offsets)
{
  uint64_t height_bytes = 0;
  for (size_t i = 0; i < problem->n_items; i++)
    if (offsets[i] + problem->items[i].size_bytes > height_bytes)
      height_bytes = offsets[i] + problem->items[i].size_bytes;
  return height_bytes;
}

/* The search so far. */
typedef struct
{
  TesseraPackProblem *problem;
  const TesseraPortfolioOptions *options;
  TesseraExactItem *items;
  uint64_t *offsets;
  uint64_t *height_bytes;
  uint64_t unit_bytes; /* heights that matter are multiples */
  double share;        /* of the work, for one question of this round */
  double done;         /* share of the work */
  uint32_t n_asked;
  bool has_found;
} Refinement;

/* Asks for a height, and notes what the answer says of heights. */
static TesseraStatus
ask (Refinement *refinement,
     uint64_t capacity_bytes,
     double share,
     TesseraExactAnswer *out_answer)
{
  const TesseraPortfolioOptions *options = refinement->options;
  Stretch stretch = { options,
                      refinement->done,
                      refinement->done + share,
                      { *refinement->height_bytes, refinement->problem->bound_bytes,
                        "searching exactly" } };
  TesseraProgress progress = { report, &stretch };
  TesseraExactOptions exact_options = {
    .capacity_bytes = capacity_bytes,
    .work_budget =
        1 + (uint64_t) ((double) options->work_budget * LOOKS_A_PLACEMENT * share),
    .turn = refinement->n_asked++,
    .progress = &progress,
  };
  TesseraExactResult result;
  TesseraStatus status =
      tessera_exact_search (refinement->items, refinement->problem->n_items,
                            &exact_options, refinement->offsets, &result);
  refinement->done += share * (double) result.work / (double) exact_options.work_budget;
  *out_answer = result.answer;
  if (result.answer == TESSERA_EXACT_IMPOSSIBLE)
    refinement->problem->bound_bytes = capacity_bytes + refinement->unit_bytes;
  if (result.answer == TESSERA_EXACT_FITS)
    {
      *refinement->height_bytes = height_of (refinement->problem, refinement->offsets);
      refinement->has_found = true;
    }
  return status;
}

/* While nothing is found the trial is all there is. */
static bool
goes_on (const Refinement *refinement, double share)
{
  return refinement->problem->bound_bytes < *refinement->height_bytes &&
         refinement->done + share <= (refinement->has_found ? 1 : TRIAL);
}

/* A step up from the bound, or down from the height. */
static uint64_t
step_bytes (const Refinement *refinement)
{
  uint64_t between = (*refinement->height_bytes - refinement->problem->bound_bytes) /
                     refinement->unit_bytes;
  return between / STEPS_BETWEEN * refinement->unit_bytes;
}

/* From below: what is proven impossible raises the bound. */
static TesseraStatus
climb (Refinement *refinement)
{
  TesseraExactAnswer answer = TESSERA_EXACT_IMPOSSIBLE;
  TesseraStatus status = TESSERA_OK;
  double share = refinement->share * SHARES_OF_BOUND;
  if (!refinement->has_found && share > LARGEST_OF_BOUND)
    share = LARGEST_OF_BOUND;
  for (uint64_t above_bytes = 0; status == TESSERA_OK && goes_on (refinement, share) &&
                                 answer == TESSERA_EXACT_IMPOSSIBLE;
       above_bytes = step_bytes (refinement))
    status =
        ask (refinement, refinement->problem->bound_bytes + above_bytes, share, &answer);
  return status;
}

/* From above: what is found is the next to go down from; what is not found may be luck,
 * so one further below is asked for as well. */
static TesseraStatus
descend (Refinement *refinement)
{
  TesseraStatus status = TESSERA_OK;
  for (uint32_t n_failures = 0; status == TESSERA_OK && n_failures < MAX_FAILURES &&
                                goes_on (refinement, refinement->share);)
    {
      TesseraExactAnswer answer;
      uint64_t below_bytes = (n_failures + 1) * step_bytes (refinement);
      if (below_bytes == 0)
        below_bytes = (n_failures + 1) * refinement->unit_bytes;
      if (*refinement->height_bytes - refinement->problem->bound_bytes <= below_bytes)
        break; /* the bound itself: asked from below */
      status = ask (refinement, *refinement->height_bytes - below_bytes,
                    refinement->share, &answer);
      n_failures = answer == TESSERA_EXACT_FITS ? 0 : n_failures + 1;
    }
  return status;
}

/* Rounds from both ends, until they meet or the work is spent. */
static TesseraStatus
ask_heights (Refinement *refinement)
{
  const double n_items = (double) refinement->problem->n_items;
  double least = LOOKS_AN_ITEM_SQUARED * n_items * n_items /
                 ((double) refinement->options->work_budget * LOOKS_A_PLACEMENT + 1);
  TesseraStatus status = TESSERA_OK;
  for (refinement->share = least < LARGEST_FIRST_SHARE ? least : LARGEST_FIRST_SHARE;
       status == TESSERA_OK && goes_on (refinement, refinement->share);
       refinement->share *= 2)
    {
      status = climb (refinement);
      if (status == TESSERA_OK)
        status = descend (refinement);
    }
  return status;
}

TesseraStatus
tessera_pack_refine (TesseraPackProblem *problem,
                     const TesseraPortfolioOptions *options,
                     uint64_t *offsets,
                     uint64_t *height_bytes,
                     const char **strategy)
{
  const uint64_t load_bound_bytes = problem->bound_bytes;
  Refinement refinement = {
    .problem = problem,
    .options = options,
    .items = calloc (problem->n_items, sizeof *refinement.items),
    .offsets = offsets,
    .height_bytes = height_bytes,
  };
  if (refinement.items == NULL)
    return TESSERA_NO_MEMORY;
  fill_items (problem, refinement.items);
  refinement.unit_bytes = common_divisor (problem);
  TesseraStatus status = ask_heights (&refinement);
  free (refinement.items);
  if (status == TESSERA_CANCELLED && options->stopped != NULL)
    {
      *options->stopped = true;
      status = TESSERA_OK;
    }
  bool is_optimal = *height_bytes == problem->bound_bytes;
  if (refinement.has_found)
    *strategy = *height_bytes == load_bound_bytes ? FOUND_AT_BOUND
                : is_optimal                      ? FOUND_AT_LOWEST
                                                  : FOUND_LOWER;
  else if (is_optimal)
    *strategy = PROVEN;
  return status;
}
