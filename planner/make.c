/*
 * From a trace to a checked plan: see planner.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/planner.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "planner/check.h"
#include "planner/edit.h"
#include "planner/plan/build.h"
#include "planner/what-if.h"

/* Sums of sizes, in the packer too (planner/pack.h), must not wrap: no device has so
 * much. */
#define MAX_TOTAL_BYTES (UINT64_C (1) << 59)
#define LEAST_IMPOSSIBLE_BYTES (UINT64_C (1) << 50) /* of one block */

TesseraStatus
tessera_check_blocks (const TesseraBlocks *blocks, TesseraError *error)
{
  uint64_t sum = 0;

  if (blocks->n_events == 0)
    return tessera_fail (error, TESSERA_INVALID,
                         "the trace holds no events: nothing was recorded; turn the "
                         "recording of memory history on before the run allocates");
  for (size_t i = 0; i < blocks->n_blocks; i++)
    {
      if (blocks->blocks[i].block_bytes >= LEAST_IMPOSSIBLE_BYTES &&
          !(blocks->blocks[i].flags & TESSERA_FAILED))
        return tessera_fail (error, TESSERA_REFUSED,
                             "block %zu takes %" PRIu64
                             " bytes, and no device has 1 PiB: the trace is damaged",
                             i, blocks->blocks[i].size_bytes);
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

static bool
report (void *user, double fraction)
{
  TesseraStop *stop = user;

  stop->has_stopped = stop->has_stopped || !tessera_progress (stop->asked, fraction);
  return !stop->has_stopped;
}

/* The blocks with their groups, as edited: those of the caller stay as they are. */
static TesseraStatus
group (TesseraPlanBuild *build, const TesseraBlocks *blocks, TesseraBlocks *grouped)
{
  TesseraConstraints *constraints = &build->constraints;
  TesseraStatus status = tessera_constraints_of_trace (
      build->trace, blocks, build->structure, build->options->edits,
      build->options->n_edits, NULL, build->complaint.error, build->options->out_conflict,
      constraints);

  *grouped = *blocks;
  grouped->blocks = constraints->blocks;
  build->blocks = grouped;
  build->plan->groups = g_steal_pointer (&constraints->groups);
  build->plan->n_groups = constraints->n_groups;
  constraints->n_groups = 0;
  return status;
}

/* TESSERA_NONE: no other device of the source did anything. */
static uint32_t
find_device (const TesseraTrace *trace)
{
  for (size_t i = 0; i < trace->n_devices; i++)
    if (trace->devices[i].device != trace->device && trace->devices[i].n_events > 0)
      return trace->device;
  return TESSERA_NONE;
}

static void
describe (TesseraPlanBuild *build)
{
  TesseraPlan *plan = build->plan;
  const TesseraTrace *trace = build->trace;

  plan->alignment_bytes = trace->alignment_bytes ? trace->alignment_bytes : 1;
  plan->trace_fingerprint = tessera_trace_fingerprint (trace);
  plan->device = find_device (trace);
  plan->n_streams = (uint32_t) trace->n_streams;
  plan->work_budget = build->options->work_budget;
  plan->source = g_strdup (trace->source ? trace->source : "");
}

/* Which run it was, so that another can decline the plan. */
static void
describe_run (TesseraPlanBuild *build)
{
  TesseraPlan *plan = build->plan;

  plan->world = (uint32_t) tessera_trace_get_number (build->trace, "world");
  plan->rank = (uint32_t) tessera_trace_get_number (build->trace, "rank");
  plan->device_bytes = build->trace->device_bytes;
  plan->torch = g_strdup (tessera_trace_get_meta (build->trace, "torch"));
}

static TesseraStatus
make (TesseraPlanBuild *build, TesseraUnits *kinds)
{
  TesseraStatus status;

  describe (build);
  describe_run (build);
  *kinds = tessera_build_find_kinds (build);
  status = tessera_build_plan (build, kinds);
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
    status = tessera_check_edits (build->plan, &build->holds,
                                  build->constraints.cap_bytes, &law, error);
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

static TesseraStatus
plan_trace (const TesseraTrace *trace,
            const TesseraBlocks *blocks,
            const TesseraStructure *structure,
            const TesseraPlanOptions *options,
            bool crosses_streams,
            TesseraError *error,
            TesseraPlan **out_plan)
{
  TesseraPlanBuild build = {
    .trace = trace,
    .blocks = blocks,
    .structure = structure,
    .options = options,
    .stop = { options->progress, { report, &build.stop }, false },
    .complaint = { options->edits, error, options->out_conflict }
  };
  TesseraBlocks ended = { 0 }, grouped;
  TesseraUnits kinds = { 0 };
  TesseraStatus status = tessera_check_blocks (blocks, error);

  *out_plan = NULL;
  if (options->out_conflict)
    *options->out_conflict = (TesseraEditConflict){ TESSERA_NONE, TESSERA_NONE };
  if (status == TESSERA_OK)
    {
      tessera_demand_memory (tessera_plan_new (&build.plan));
      build.plan->crosses_streams = crosses_streams;
      if (build.plan->crosses_streams)
        tessera_blocks_ended_at_free (blocks, &ended);
      status = group (&build, ended.blocks != NULL ? &ended : blocks, &grouped);
    }
  if (status == TESSERA_OK)
    status = tessera_run_init (trace, build.blocks, structure, options->first_step,
                               options->last_step, error, &build.run);
  if (status == TESSERA_OK)
    status = make (&build, &kinds);
  if (status == TESSERA_OK)
    status = check (&build, error);
  if (status == TESSERA_OK)
    *out_plan = build.plan;
  else
    tessera_plan_free (build.plan);
  tessera_carries_clear (&build.carries);
  tessera_units_clear (&kinds);
  tessera_run_clear (&build.run);
  free (build.holders);
  free (build.left_out);
  tessera_holds_clear (&build.holds);
  tessera_constraints_clear (&build.constraints);
  tessera_blocks_freed_before_clear (&ended);
  return explain (status, error);
}

/* What a dry run said of the program ("kept: ...", "broken: ..."), behind @word; NULL: it
 * said something else, or nothing. */
static const char *
find_contract (const TesseraTrace *trace, const char *word)
{
  const char *contract = tessera_trace_get_meta (trace, "contract");

  return contract != NULL && g_str_has_prefix (contract, word) ? contract + strlen (word)
                                                               : NULL;
}

const char *
tessera_plan_broken_contract (const TesseraTrace *trace)
{
  return find_contract (trace, "broken: ");
}

bool
tessera_plan_splits_sizes (const TesseraTrace *trace)
{
  return trace->n_streams > 1 || tessera_trace_get_meta (trace, "policy") != NULL;
}

/* Waiting has to win more than one part in so many of the pool. */
#define WORTH_WAITING 100

/* Which of two plans of a trace is to be had, where nobody said. The other is freed. */
static TesseraPlan *
choose_streams (TesseraPlan *apart, TesseraPlan *across)
{
  uint64_t apart_bytes = tessera_plan_pool_bytes (apart);
  bool is_worth =
      tessera_plan_pool_bytes (across) < apart_bytes - apart_bytes / WORTH_WAITING;

  tessera_plan_free (is_worth ? apart : across);
  return is_worth ? across : apart;
}

TesseraStatus
tessera_plan_trace (const TesseraTrace *trace,
                    const TesseraBlocks *blocks,
                    const TesseraStructure *structure,
                    const TesseraPlanOptions *options,
                    TesseraError *error,
                    TesseraPlan **out_plan)
{
  bool has_streams = trace->n_streams > 1;
  bool decides = has_streams && options->streams == TESSERA_STREAMS_AS_KNOWN &&
                 find_contract (trace, "kept: ") != NULL;
  TesseraPlan *apart = NULL;
  TesseraStatus status;

  if (options->streams == TESSERA_STREAMS_ACROSS &&
      tessera_plan_broken_contract (trace) != NULL)
    {
      *out_plan = NULL;
      return tessera_fail (error, TESSERA_REFUSED,
                           "a dry run saw that the streams of this program can't share a "
                           "pool: %s",
                           tessera_plan_broken_contract (trace));
    }
  if (decides && options->is_preview && options->former != NULL)
    return plan_trace (trace, blocks, structure, options,
                       options->former->crosses_streams, error, out_plan);
  if (!decides)
    return plan_trace (trace, blocks, structure, options,
                       has_streams && options->streams == TESSERA_STREAMS_ACROSS, error,
                       out_plan);
  status = plan_trace (trace, blocks, structure, options, false, error, &apart);
  if (status == TESSERA_OK)
    status = plan_trace (trace, blocks, structure, options, true, error, out_plan);
  if (status == TESSERA_OK)
    *out_plan = choose_streams (apart, *out_plan);
  else
    tessera_plan_free (apart);
  return status;
}

TesseraEditReach
tessera_edit_reach (const TesseraTrace *trace,
                    const TesseraBlocks *blocks,
                    const TesseraStructure *structure,
                    const uint8_t *selected)
{
  const TesseraPlanOptions options = { .first_step = -1, .last_step = -1 };
  TesseraPlanBuild build = {
    .trace = trace, .blocks = blocks, .structure = structure, .options = &options
  };
  TesseraEditReach reach = { 0 };
  TesseraUnits kinds;
  const TesseraUnits *units = &kinds;

  if (tessera_run_init (trace, blocks, structure, -1, -1, NULL, &build.run) != TESSERA_OK)
    return reach; /* only steps that are asked for can be missing */
  kinds = tessera_build_find_kinds (&build);
  if (kinds.n_kinds == 0)
    units = &build.run.units;
  for (uint32_t i = 0; i < blocks->n_blocks; i++)
    if (selected[i] && units->is_dynamic && units->is_dynamic[i])
      reach.n_dynamic++;
    else if (selected[i] && tessera_units_stands_for (units, i) != TESSERA_NONE)
      reach.n_placed++;
  tessera_units_clear (&kinds);
  tessera_run_clear (&build.run);
  return reach;
}
