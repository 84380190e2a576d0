/*
 * Hand-overs between streams: see waits.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/waits.h"

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
  TesseraPlanOptions with = *options;
  TesseraPlan *best = NULL, *plan;
  TesseraStatus status;

  *out_plan = NULL;
  with.across_streams = true;
  with.waits_from_bytes = UINT64_MAX;
  status = tessera_plan_trace (trace, blocks, structure, &with, error, &best);
  while (status == TESSERA_OK && low < high)
    {
      size_t middle = low + (high - low) / 2;

      with.waits_from_bytes = steps[middle];
      status = tessera_plan_trace (trace, blocks, structure, &with, error, &plan);
      if (status != TESSERA_OK)
        break;
      if (count_waits (plan) <= max_waits)
        {
          high = middle;
          keep_lower (&best, plan);
        }
      else
        {
          low = middle + 1;
          tessera_plan_free (plan);
        }
    }
  if (status == TESSERA_OK)
    *out_plan = best;
  else
    tessera_plan_free (best);
  return status;
}
