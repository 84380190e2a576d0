/*
 * From a trace to a checked plan: see planner.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/planner.h"

#include "planner/check.h"
#include "planner/groups.h"
#include "planner/plan-build.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Sums of sizes must not wrap: no device has so much. */
#define MAX_TOTAL_BYTES (UINT64_C (1) << 62)

static TesseraStatus
refuse_giants (const TesseraBlocks *blocks, TesseraError *error)
{
  uint64_t sum = 0;

  for (size_t i = 0; i < blocks->n_blocks; i++)
    {
      if (blocks->blocks[i].block_bytes > MAX_TOTAL_BYTES - sum)
        return tessera_fail (error, TESSERA_REFUSED,
                             "the blocks of this trace sum to more than 4 EiB, at block "
                             "%zu of %" PRIu64 " bytes: the trace is damaged",
                             i, blocks->blocks[i].size_bytes);
      sum += blocks->blocks[i].block_bytes;
    }
  return TESSERA_OK;
}

/* The blocks with their groups: those of the caller stay as they are. */
static TesseraStatus
group (TesseraPlanBuild *build, const TesseraBlocks *blocks, TesseraBlocks *grouped)
{
  *grouped = *blocks;
  grouped->blocks = malloc ((blocks->n_blocks + 1) * sizeof *grouped->blocks);
  if (!grouped->blocks)
    return TESSERA_NO_MEMORY;
  memcpy (grouped->blocks, blocks->blocks, blocks->n_blocks * sizeof *grouped->blocks);
  build->blocks = grouped;
  return tessera_group_blocks (build->trace, grouped, build->structure,
                               &build->plan->groups, &build->plan->n_groups);
}

/* The most that slots take at one position. */
static TesseraStatus
load_bound (TesseraPlanBuild *build)
{
  TesseraPlan *plan = build->plan;
  uint64_t *change = calloc ((size_t) plan->n_positions + 2, sizeof *change);
  uint64_t load = 0;

  if (!change)
    return TESSERA_NO_MEMORY;
  for (size_t i = 0; i < plan->n_slots; i++)
    {
      const TesseraSlot *slot = &plan->slots[i];

      change[slot->born] += slot->block_bytes;
      change[slot->died] -= slot->block_bytes;
      if (slot->wraps)
        {
          change[build->run.step_begin] += slot->block_bytes;
          change[slot->died_next < slot->born ? slot->died_next : slot->born] -=
              slot->block_bytes;
        }
    }
  for (uint32_t i = 0; i < plan->n_positions; i++)
    {
      load += change[i];
      if (load > plan->bound_bytes)
        plan->bound_bytes = load;
    }
  free (change);
  return TESSERA_OK;
}

static TesseraStatus
describe (TesseraPlanBuild *build)
{
  TesseraPlan *plan = build->plan;
  const TesseraTrace *trace = build->trace;
  const char *reason = build->run.reason;

  plan->n_positions = build->run.n_positions;
  plan->alignment_bytes = trace->alignment_bytes ? trace->alignment_bytes : 1;
  plan->trace_fingerprint = tessera_trace_fingerprint (trace);
  plan->device = trace->device;
  plan->n_streams = (uint32_t) trace->n_streams;
  plan->across_streams = build->options->across_streams;
  plan->followable =
      build->run.repeats ? TESSERA_FOLLOWABLE_YES : TESSERA_FOLLOWABLE_SAME_BATCHES;
  if (plan->alignment_bytes == 1)
    {
      plan->followable = TESSERA_FOLLOWABLE_NO;
      reason =
          "this is a planner's instance, not the record of a run: nothing follows it";
    }
  plan->follow_reason = strdup (reason);
  plan->source = strdup (trace->source ? trace->source : "");
  return plan->follow_reason && plan->source ? TESSERA_OK : TESSERA_NO_MEMORY;
}

/* 0 where the recording did not say, or not sensibly. */
static uint32_t
number_told (const TesseraTrace *trace, const char *key)
{
  const char *text = tessera_trace_get_meta (trace, key);
  unsigned long number = text != NULL ? strtoul (text, NULL, 10) : 0;

  return number < UINT32_MAX ? (uint32_t) number : 0;
}

/* Which run it was, so that another can decline the plan. */
static TesseraStatus
describe_run (TesseraPlanBuild *build)
{
  TesseraPlan *plan = build->plan;
  const char *torch = tessera_trace_get_meta (build->trace, "torch");

  plan->world = number_told (build->trace, "world");
  plan->rank = number_told (build->trace, "rank");
  plan->device_bytes = build->trace->device_bytes;
  if (torch == NULL)
    return TESSERA_OK;
  plan->torch = strdup (torch);
  return plan->torch != NULL ? TESSERA_OK : TESSERA_NO_MEMORY;
}

static TesseraStatus
make (TesseraPlanBuild *build)
{
  TesseraStatus status = describe (build);

  if (status == TESSERA_OK)
    status = describe_run (build);
  if (status == TESSERA_OK)
    status = tessera_build_slots (build);
  if (status == TESSERA_OK)
    status = tessera_build_names (build);
  if (status == TESSERA_OK)
    status = tessera_build_items (build);
  if (status == TESSERA_OK)
    status = load_bound (build);
  if (status == TESSERA_OK)
    status = build->plan->across_streams ? tessera_build_across (build)
                                         : tessera_build_offsets (build);
  build->plan->slot_digest = tessera_plan_digest (build->plan);
  return status;
}

/* A plan that fails its check is a fault of ours, and never leaves this function. */
static TesseraStatus
check (const TesseraPlanBuild *build, TesseraError *error)
{
  TesseraLaw law = TESSERA_LAW_NONE;
  TesseraStatus status = tessera_check_plan (build->plan, build->trace, &law, error);

  build->plan->checked = status == TESSERA_OK;
  return status;
}

static TesseraStatus
explain (TesseraStatus status, TesseraError *error)
{
  if (status == TESSERA_NO_MEMORY)
    return tessera_fail (error, status, "not enough memory to plan this trace");
  if (status == TESSERA_CANCELLED)
    return tessera_fail (error, status, "planning was stopped");
  if (status != TESSERA_OK)
    return tessera_fail (error, status, "the blocks of this trace could not be placed");
  return status;
}

TesseraStatus
tessera_plan_trace (const TesseraTrace *trace,
                    const TesseraBlocks *blocks,
                    const TesseraStructure *structure,
                    const TesseraPlanOptions *options,
                    TesseraError *error,
                    TesseraPlan **out_plan)
{
  TesseraPlanBuild build = {
    .trace = trace, .blocks = blocks, .structure = structure, .options = options
  };
  TesseraBlocks grouped = { 0 };
  TesseraStatus status = refuse_giants (blocks, error);

  *out_plan = NULL;
  if (status == TESSERA_OK)
    status = tessera_plan_new (&build.plan);
  if (status == TESSERA_OK)
    status = group (&build, blocks, &grouped);
  if (status == TESSERA_OK)
    status = tessera_run_init (trace, build.blocks, structure, options->first_step,
                               options->last_step, error, &build.run);
  if (status == TESSERA_OK)
    status = make (&build);
  if (status == TESSERA_OK)
    status = check (&build, error);
  if (status == TESSERA_OK)
    *out_plan = build.plan;
  else
    tessera_plan_free (build.plan);
  tessera_run_clear (&build.run);
  free (build.items);
  free (build.item_of_slot);
  free (grouped.blocks);
  return explain (status, error);
}
