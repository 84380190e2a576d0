/*
 * Hand-overs between streams: see waits.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/waits.h"

#include "planner/plan/stop.h"

#include <stdlib.h>

/* The time that the request of @pair can stand still for. */
static int64_t
stall_of (const TesseraHandOver *pair)
{
  return pair->slack_ns != TESSERA_NO_SLACK && pair->slack_ns < 0 ? -pair->slack_ns : 0;
}

static size_t
count_waits (const TesseraPlan *plan)
{
  size_t n = 0;

  for (size_t i = 0; i < plan->n_hand_overs; i++)
    n += tessera_hand_over_waits (&plan->hand_overs[i]);
  return n;
}

TesseraWaits
tessera_waits_of (const TesseraPlan *plan)
{
  TesseraWaits waits = { .height_bytes = plan->height_bytes,
                         .n_hand_overs = plan->n_hand_overs,
                         .n_waits = count_waits (plan) };

  for (size_t i = 0; i < plan->n_hand_overs; i++)
    {
      const TesseraHandOver *pair = &plan->hand_overs[i];
      int64_t stall_ns = stall_of (pair);

      waits.n_pending +=
          pair->slack_requests != TESSERA_NO_SLACK && pair->slack_requests < 0;
      if (stall_ns > waits.stall_ns)
        waits.stall_ns = stall_ns;
    }
  return waits;
}

size_t
tessera_waits_steps (const TesseraBlocks *blocks, uint64_t steps[TESSERA_MAX_WAITS_STEPS])
{
  uint64_t largest = 0, bytes = UINT64_C (1) << 20;
  size_t n = 0;

  for (size_t i = 0; i < blocks->n_blocks; i++)
    if (blocks->blocks[i].block_bytes > largest)
      largest = blocks->blocks[i].block_bytes;
  steps[n++] = 0;
  for (; bytes <= largest && n + 1 < TESSERA_MAX_WAITS_STEPS; bytes *= 2)
    steps[n++] = bytes + 1; /* above 1 MiB PyTorch calls a block large */
  steps[n++] = UINT64_MAX;
  return n;
}

/* Keeps the lower of two plans, frees the other; ties to the first. */
static void
keep_lower (TesseraPlan **kept, TesseraPlan *plan)
{
  if (*kept && (*kept)->height_bytes <= plan->height_bytes)
    {
      tessera_plan_free (plan);
      return;
    }
  tessera_plan_free (*kept);
  *kept = plan;
}

/* A search by halves: of each planning what is left of the time of all. */
typedef struct
{
  const TesseraTrace *trace;
  const TesseraBlocks *blocks;
  const TesseraStructure *structure;
  TesseraPlanOptions with;
  TesseraStop stop; /* of all plannings */
  size_t max_waits;
  TesseraPlan *best;
  uint8_t cut_short; /* of any of them, or between two */
} Search;

/* Whether there is anything left to plan in. */
static bool
has_time (Search *search)
{
  if (search->stop.time_limit_s > 0)
    search->with.time_limit_s = tessera_stop_seconds_left (&search->stop);
  if (search->cut_short == TESSERA_CUT_NOT && search->stop.time_limit_s > 0 &&
      search->with.time_limit_s <= 0)
    search->cut_short = TESSERA_CUT_BY_TIME;
  return search->cut_short == TESSERA_CUT_NOT;
}

/* *@out_is_within: as few hand-overs wait as may. */
static TesseraStatus
plan_from (Search *search, uint64_t from_bytes, TesseraError *error, bool *out_is_within)
{
  TesseraPlan *plan;
  TesseraStatus status;

  search->with.waits_from_bytes = from_bytes;
  status = tessera_plan_trace (search->trace, search->blocks, search->structure,
                               &search->with, error, &plan);
  if (status != TESSERA_OK)
    return status;
  if (search->cut_short == TESSERA_CUT_NOT)
    search->cut_short = plan->cut_short;
  *out_is_within = count_waits (plan) <= search->max_waits;
  if (*out_is_within)
    keep_lower (&search->best, plan);
  else
    tessera_plan_free (plan);
  return status;
}

TesseraStatus
tessera_plan_within_waits (const TesseraTrace *trace,
                           const TesseraBlocks *blocks,
                           const TesseraStructure *structure,
                           const TesseraPlanOptions *options,
                           size_t max_waits,
                           TesseraError *error,
                           TesseraPlan **out_plan)
{
  uint64_t steps[TESSERA_MAX_WAITS_STEPS];
  size_t low = 0, high = tessera_waits_steps (blocks, steps) - 1;
  Search search = { trace, blocks, structure, .with = *options, .max_waits = max_waits };
  TesseraStatus status;
  bool is_within;

  *out_plan = NULL;
  search.with.across_streams = true;
  tessera_stop_init (&search.stop, options->progress, options->time_limit_s);
  status = plan_from (&search, UINT64_MAX, error, &is_within);
  if (trace->n_streams <= 1) /* nobody waits */
    low = high;
  while (status == TESSERA_OK && low < high && has_time (&search))
    {
      size_t middle = low + (high - low) / 2;

      status = plan_from (&search, steps[middle], error, &is_within);
      if (status == TESSERA_OK && is_within)
        high = middle;
      else
        low = middle + 1;
    }
  if (status == TESSERA_OK)
    {
      search.best->cut_short = search.cut_short;
      search.best->time_limit_s = options->time_limit_s;
      *out_plan = search.best;
    }
  else
    tessera_plan_free (search.best);
  return status;
}
