/*
 * Rounds of improvements. See improve.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/portfolio/improve.h"

#include "planner/pack/fit/chain.h"
#include "planner/pack/portfolio/refine.h"
#include "planner/pack/repack/repair.h"

#include <stdlib.h>
#include <string.h>

/* What each part may spend in the first round, in placements of some microsecond. Small
 * cores that no rule packs need the exact search most: with half as much one of
 * MiniMalloc's instances ends 4 % higher. */
#define FIRST_SLICE (UINT64_C (1) << 12)
#define SLICES_OF_REPACKING 1
#define SLICES_OF_CHAINS 4
#define SLICES_OF_SEARCH 8
/* Re-packing looks at so many lives, 50 ns each, in the time of a placement. */
#define LOOKS_A_PLACEMENT 16
/* So many floors that are found anew take as long as a placement. */
#define FLOORS_A_PLACEMENT 16
/* A chain makes so many placements, or one attempt, in a row. */
#define PLACEMENTS_OF_A_CHAIN 4096u

/* Nearer to the bound than this part of it nobody sees a difference. Small problems, which
 * the exact search ends, are asked for the bound itself. */
#define NEAR_PART 32768

/* Repairing a layout of before may take so many looks for each item, and at least and at
 * most so many: between a hundredth and a twentieth of a second. */
#define REPAIR_LOOKS_AN_ITEM 64
#define FEWEST_REPAIR_LOOKS (UINT64_C (1) << 17)
#define MOST_REPAIR_LOOKS (UINT64_C (1) << 20)

typedef struct
{
  TesseraImprovement *of;
  uint64_t slice;
  uint64_t spent;
  TesseraChain chains[TESSERA_N_CHAINS];
  uint32_t n_tried; /* chains, in turn */
  TesseraRefinement refinement;
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
      tessera_refinement_is_for (problem) ? 0 : problem->bound_bytes / NEAR_PART;
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
  if (of->problem->has_zones || of->times == NULL || !has_work (rounds, work))
    return TESSERA_OK;
  TesseraStatus status = report (rounds, "re-packing around the peak");
  if (status != TESSERA_OK || is_stopped (of->options))
    return status;
  status =
      tessera_repack (of->times, &options, of->best->offsets, &of->best->height_bytes);
  rounds->spent += work;
  if (of->best->height_bytes < before_bytes)
    of->best->strategy = "re-packed around the peak";
  return settle_stop (of->options, status);
}

/* The next chain makes its attempts. Returns: what they cost. */
static uint64_t
try_chain (Rounds *rounds)
{
  TesseraImprovement *of = rounds->of;
  TesseraPackShared shared = { .best_height_bytes = UINT64_MAX, .reached = UINT32_MAX };
  const TesseraPackWatch watch = { &shared, 0 };
  const uint32_t n_items = (uint32_t) of->problem->n_items;
  const uint32_t n_tries = 1 + PLACEMENTS_OF_A_CHAIN / n_items;
  TesseraChain *chain = &rounds->chains[rounds->n_tried++ % TESSERA_N_CHAINS];
  uint64_t height_bytes;
  chain->n_settled = 0;
  if (tessera_chain_try (chain, of->desk, of->best->height_bytes - 1, n_tries, &watch,
                         &height_bytes))
    {
      memcpy (of->best->offsets, of->desk->offsets, n_items * sizeof *of->best->offsets);
      of->best->height_bytes = height_bytes;
      of->best->strategy = "lowest offset next; what is in trouble moves forward";
    }
  uint64_t placements = (uint64_t) n_tries * n_items,
           floors = chain->n_settled / FLOORS_A_PLACEMENT;
  return placements > floors ? placements : floors;
}

static TesseraStatus
improve_by_chains (Rounds *rounds)
{
  const TesseraImprovement *of = rounds->of;
  const uint64_t work = rounds->slice * SLICES_OF_CHAINS, end = rounds->spent + work;
  TesseraStatus status = TESSERA_OK;
  if (!of->has_lowest || work < TESSERA_N_CHAINS * of->problem->n_items ||
      !has_work (rounds, work))
    return TESSERA_OK;
  if (rounds->chains[0].order == NULL)
    status = tessera_chains_init (rounds->chains, of->problem, of->desk->entries);
  while (status == TESSERA_OK && rounds->spent < end && is_wanted (rounds))
    {
      status = report (rounds, "improving on orders");
      if (status == TESSERA_OK && !is_stopped (of->options))
        rounds->spent += try_chain (rounds);
    }
  return status;
}

static TesseraStatus
search_exactly (Rounds *rounds)
{
  TesseraImprovement *of = rounds->of;
  const uint64_t work = rounds->slice * SLICES_OF_SEARCH;
  if (!tessera_refinement_is_for (of->problem) || !has_work (rounds, work))
    return TESSERA_OK;
  TesseraStatus status = report (rounds, "searching exactly");
  if (status != TESSERA_OK || is_stopped (of->options))
    return status;
  status = tessera_refine (&rounds->refinement, work, of->options->progress,
                           fraction_of (rounds), of->best);
  rounds->spent += work;
  return settle_stop (of->options, status);
}

TesseraStatus
tessera_improve (TesseraImprovement *improvement)
{
  Rounds rounds = { .of = improvement, .slice = FIRST_SLICE };
  TesseraStatus status =
      tessera_refinement_init (&rounds.refinement, improvement->problem);
  for (; status == TESSERA_OK && has_work (&rounds, rounds.slice); rounds.slice *= 2)
    {
      status = repack (&rounds);
      if (status == TESSERA_OK)
        status = improve_by_chains (&rounds);
      if (status == TESSERA_OK)
        status = search_exactly (&rounds);
    }
  tessera_chains_clear (rounds.chains);
  tessera_refinement_clear (&rounds.refinement);
  return status;
}

TesseraStatus
tessera_improve_former (TesseraImprovement *improvement)
{
  const TesseraPackProblem *problem = improvement->problem;
  const TesseraPortfolioOptions *options = improvement->options;
  TesseraPackLayout *best = improvement->best;
  uint64_t looks = REPAIR_LOOKS_AN_ITEM * (uint64_t) problem->n_items;
  if (looks < FEWEST_REPAIR_LOOKS)
    looks = FEWEST_REPAIR_LOOKS;
  if (looks > MOST_REPAIR_LOOKS)
    looks = MOST_REPAIR_LOOKS;
  if (problem->has_zones || improvement->times == NULL || is_stopped (options))
    return TESSERA_OK;
  const TesseraRepairOptions repair = {
    .chains = { .looks = looks,
                .progress = options->progress,
                .fraction = options->fraction_begin },
    .former = problem->hints,
  };
  TesseraStatus status = tessera_repair (problem, improvement->times, &repair,
                                         best->offsets, &best->height_bytes);
  if (best->height_bytes != UINT64_MAX)
    best->strategy = "as before, repaired";
  return settle_stop (options, status);
}
