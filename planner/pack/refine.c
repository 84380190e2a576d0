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

/* The bound itself is worth half of the work: it settles everything. Smaller shares than
 * the other one are not worth asking: a core of 200 items often needs 30 million looks.
 */
#define SHARE_OF_BOUND 0.5
#define SHARE_OF_OTHERS 0.16

#define FOUND_AT_BOUND "exact search: at the load bound"
#define FOUND_AT_LOWEST "exact search: a lower layout is proven impossible"
#define FOUND_LOWER "exact search: lower than any rule"
#define PROVEN "simple rules; exact search proves that no layout is lower"

typedef struct
{
  const TesseraPortfolioOptions *options;
  double begin, end; /* of the work, as a share */
} Stretch;

static bool
report (void *user, double fraction)
{
  const Stretch *stretch = user;
  const TesseraPortfolioOptions *options = stretch->options;
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
  double done; /* share of the work */
  bool has_found;
} Refinement;

static TesseraStatus
ask (Refinement *refinement,
     uint64_t capacity_bytes,
     double share,
     TesseraExactAnswer *out_answer)
{
  const TesseraPortfolioOptions *options = refinement->options;
  Stretch stretch = { options, refinement->done, refinement->done + share };
  TesseraProgress progress = { report, &stretch };
  TesseraExactOptions exact_options = {
    .capacity_bytes = capacity_bytes,
    .work_budget =
        1 + (uint64_t) ((double) options->work_budget * LOOKS_A_PLACEMENT * share),
    .progress = &progress,
  };
  TesseraExactResult result;
  TesseraStatus status =
      tessera_exact_search (refinement->items, refinement->problem->n_items,
                            &exact_options, refinement->offsets, &result);
  refinement->done += share * (double) result.work / (double) exact_options.work_budget;
  *out_answer = result.answer;
  if (result.answer == TESSERA_EXACT_FITS)
    {
      *refinement->height_bytes = height_of (refinement->problem, refinement->offsets);
      refinement->has_found = true;
    }
  return status;
}

/* The bound first, then the middle between what may still be and what is known, until
 * they meet or the work is spent. */
static TesseraStatus
ask_heights (Refinement *refinement, uint64_t unit_bytes)
{
  uint64_t *bound_bytes = &refinement->problem->bound_bytes;
  uint64_t from_bytes = *bound_bytes, asked_bytes = *bound_bytes;
  double share = SHARE_OF_BOUND;
  while (from_bytes < *refinement->height_bytes && refinement->done + share <= 1)
    {
      TesseraExactAnswer answer;
      TesseraStatus status = ask (refinement, asked_bytes, share, &answer);
      if (status != TESSERA_OK)
        return status;
      if (answer == TESSERA_EXACT_IMPOSSIBLE)
        *bound_bytes = asked_bytes + unit_bytes;
      if (answer != TESSERA_EXACT_FITS)
        from_bytes = asked_bytes + unit_bytes;
      uint64_t n_between = (*refinement->height_bytes - from_bytes) / unit_bytes;
      asked_bytes = from_bytes + (n_between > 0 ? (n_between - 1) / 2 : 0) * unit_bytes;
      share = SHARE_OF_OTHERS;
    }
  return TESSERA_OK;
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
  TesseraStatus status = ask_heights (&refinement, common_divisor (problem));
  free (refinement.items);
  bool is_optimal = *height_bytes == problem->bound_bytes;
  if (refinement.has_found)
    *strategy = *height_bytes == load_bound_bytes ? FOUND_AT_BOUND
                : is_optimal                      ? FOUND_AT_LOWEST
                                                  : FOUND_LOWER;
  else if (is_optimal)
    *strategy = PROVEN;
  return status;
}
