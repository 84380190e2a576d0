/*
 * From a trace to a checked plan: see planner.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/planner.h"

#include "planner/check.h"
#include "planner/kinds/plan.h"
#include "planner/plan/build.h"
#include "planner/plan/resume.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Sums of sizes, in the packer too (planner/pack.h), must not wrap: no device has so
 * much. */
#define MAX_TOTAL_BYTES (UINT64_C (1) << 59)

static TesseraStatus
refuse_giants (const TesseraBlocks *blocks, TesseraError *error)
{
  uint64_t sum = 0;

  for (size_t i = 0; i < blocks->n_blocks; i++)
    {
      if (blocks->blocks[i].block_bytes > MAX_TOTAL_BYTES - sum)
        return tessera_fail (
            error, TESSERA_REFUSED,
            "the blocks of this trace sum to more than 512 PiB, at block "
            "%zu of %" PRIu64 " bytes: the trace is damaged",
            i, blocks->blocks[i].size_bytes);
      sum += blocks->blocks[i].block_bytes;
    }
  return TESSERA_OK;
}

/* The blocks with their groups, as edited: those of the caller stay as they are. */
static TesseraStatus
group (TesseraPlanBuild *build, const TesseraBlocks *blocks, TesseraBlocks *grouped)
{
  build->blocks = grouped;
  return tessera_wishes_of_trace (
      build->trace, blocks, build->structure, build->options->edits,
      build->options->n_edits, build->error, build->options->out_conflict, grouped,
      &build->plan->groups, &build->plan->n_groups, &build->wishes);
}

/* An edit all of whose blocks are dynamic leaves nothing out: no plan pretends that it
 * did. Where several edits are about a block, the first is asked. */
static TesseraStatus
refuse_dynamic (TesseraPlanBuild *build)
{
  const TesseraPlanOptions *options = build->options;
  const TesseraComplaint complaint = { options->edits, build->error,
                                       options->out_conflict };
  const uint32_t *left_out = build->wishes.left_out;
  uint8_t *reaches = calloc (options->n_edits + 1, 1); /* 1: dynamic ones, 2: others */
  uint32_t refused = TESSERA_NONE;

  if (!reaches)
    return TESSERA_NO_MEMORY;
  for (size_t i = 0; i < build->blocks->n_blocks; i++)
    if (left_out[i])
      reaches[left_out[i] - 1] |= build->run.is_dynamic[i] ? 1 : 2;
  for (uint32_t i = 0; i < options->n_edits && refused == TESSERA_NONE; i++)
    if (reaches[i] == 1)
      refused = i;
  free (reaches);
  return refused == TESSERA_NONE
             ? TESSERA_OK
             : tessera_complain (&complaint, refused, refused, TESSERA_ALL_DYNAMIC);
}

/* What edits leave to the dynamic allocator: a slot stands for the blocks of all steps.
 */
static TesseraStatus
find_left_out (TesseraPlanBuild *build)
{
  size_t n_blocks = build->blocks->n_blocks;

  build->left_out = calloc (n_blocks + 1, sizeof *build->left_out);
  if (!build->left_out)
    return TESSERA_NO_MEMORY;
  if (build->wishes.left_out && build->run.is_dynamic)
    {
      TesseraStatus status = refuse_dynamic (build);

      if (status != TESSERA_OK)
        return status;
    }
  for (uint32_t i = 0; build->wishes.left_out && i < n_blocks; i++)
    {
      uint32_t block = build->wishes.left_out[i] ? tessera_run_stands_for (&build->run, i)
                                                 : TESSERA_NONE;

      if (block == TESSERA_NONE || build->left_out[block])
        continue;
      build->left_out[block] = build->wishes.left_out[i];
      build->n_left_out++;
    }
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
  plan->work_budget = build->options->work_budget;
  plan->time_limit_s = build->options->time_limit_s;
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

/* Above the most that the trace has alive by so much, one kind of step may be lower. */
#define DEAR_KINDS 1.02

static bool
is_dear (const TesseraPlanBuild *build)
{
  uint64_t bound = tessera_blocks_bound (build->blocks, 0, build->blocks->n_events, NULL);

  return (double) build->plan->height_bytes > DEAR_KINDS * (double) bound;
}

/* Several kinds of step, planned already, or one where that is lower by more than what it
 * has no slots for. */
static TesseraStatus
take_lower (TesseraPlanBuild *build, const TesseraUnits *units)
{
  const TesseraRun *run = &build->run;
  TesseraPlan *plan = build->plan;
  uint64_t height_bytes = plan->height_bytes;
  TesseraStatus status;

  tessera_build_forget (build);
  plan->n_positions = build->run.n_positions;
  free (plan->follow_reason);
  plan->follow_reason = strdup (build->run.reason);
  status = plan->follow_reason ? tessera_build_layout (build) : TESSERA_NO_MEMORY;
  if (status != TESSERA_OK ||
      plan->height_bytes +
              tessera_units_load_beside (units, run->step_begin, run->step_end) <=
          height_bytes)
    return status;
  tessera_build_forget (build);
  return tessera_kinds_plan (build, units);
}

/* Of one kind of step, or of several where that folds more of them. */
static TesseraStatus
lay_out (TesseraPlanBuild *build)
{
  TesseraUnits units;
  TesseraStatus status = tessera_kinds_find (build, &units);

  if (status == TESSERA_OK)
    status = units.n_kinds > 0 ? tessera_kinds_plan (build, &units)
                               : tessera_build_layout (build);
  if (status == TESSERA_OK && units.n_kinds > 0 && build->run.repeats && is_dear (build))
    status = take_lower (build, &units);
  tessera_units_clear (&units);
  return status;
}

static TesseraStatus
make (TesseraPlanBuild *build)
{
  TesseraStatus status = describe (build);

  if (status == TESSERA_OK)
    status = describe_run (build);
  if (status == TESSERA_OK)
    status = find_left_out (build);
  if (status == TESSERA_OK)
    status = lay_out (build);
  if (status == TESSERA_OK && build->plan->height_bytes > build->wishes.cap_bytes)
    status = tessera_build_under_cap (build);
  if (status == TESSERA_OK)
    status = tessera_resume_settle (build);
  build->plan->slot_digest = tessera_plan_digest (build->plan);
  return status;
}

/* A plan that fails its check is a fault of ours, and never leaves this function. */
static TesseraStatus
check (const TesseraPlanBuild *build, TesseraError *error)
{
  TesseraLaw law = TESSERA_LAW_NONE;
  TesseraStatus status = tessera_check_plan (build->plan, build->trace, &law, error);

  if (status == TESSERA_OK)
    status = tessera_check_edits (build->plan, &build->holds, build->wishes.cap_bytes,
                                  &law, error);
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
  TesseraPlanBuild build = { .trace = trace,
                             .blocks = blocks,
                             .structure = structure,
                             .options = options,
                             .error = error };
  TesseraBlocks grouped = { 0 };
  TesseraStatus status = refuse_giants (blocks, error);

  *out_plan = NULL;
  tessera_stop_init (&build.stop, options->progress, options->time_limit_s);
  if (options->out_conflict)
    *options->out_conflict = (TesseraEditConflict){ TESSERA_NONE, TESSERA_NONE };
  if (status == TESSERA_OK)
    status = tessera_plan_new (&build.plan);
  if (status == TESSERA_OK)
    status = group (&build, blocks, &grouped);
  if (status == TESSERA_OK && options->across_streams)
    status = tessera_order_ends (&grouped, options->waits_from_bytes, &build.noticed);
  if (status == TESSERA_OK)
    status = tessera_run_init (trace, build.blocks, structure, options->first_step,
                               options->last_step, error, &build.run);
  if (status == TESSERA_OK && options->across_streams)
    status = tessera_plan_clock_init (&build.clock, &build.run);
  if (status == TESSERA_OK)
    status = tessera_resume_check (&build);
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
  free (build.left_out);
  free (build.noticed);
  tessera_plan_clock_clear (&build.clock);
  tessera_holds_clear (&build.holds);
  tessera_wishes_clear (&build.wishes);
  free (grouped.blocks);
  return explain (status, error);
}
