/*
 * One run of a trace under a policy.
 *
 * The policy is the real one, over the virtual device. It is given the requests, the
 * frees and their completions at the events where the file has them, and the calls of
 * empty_cache() that the file shows; what it answers becomes the layout.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "simulator/run/run.h"

#include <stdlib.h>

#include "simulator/run/state.h"

uint64_t
tessera_run_free_at_device (const TesseraRun *run)
{
  const TesseraVirtual *device = &run->device;

  if (run->options->device_bytes == 0)
    return TESSERA_NOWHERE;
  return device->device_bytes > device->used_bytes
             ? device->device_bytes - device->used_bytes
             : 0;
}

/* Does this request count, when only some steps are asked for? */
static bool
is_counted (const TesseraRun *run, const TesseraBlock *block)
{
  const TesseraSimulateOptions *options = run->options;
  int64_t number;

  if (options->first_step < 0 && options->last_step < 0)
    return true;
  if (block->step == TESSERA_NONE || block->step >= run->structure->n_steps)
    return false;
  number = run->structure->steps[block->step].number;
  return number >= options->first_step &&
         (options->last_step < 0 || number <= options->last_step);
}

static void
count_hit (TesseraRun *run, uint32_t b, const TesseraPolicyGrant *grant, bool is_request)
{
  TesseraLayout *layout = run->build.layout;
  bool is_hit = grant->is_hit;

  if (layout->kind != TESSERA_LAYOUT_PLAN)
    return;
  layout->is_hit[b] = is_hit;
  layout->is_left[b] = grant->is_placeless;
  if (is_request && layout->declined_index == 0 &&
      is_counted (run, &run->blocks->blocks[b]))
    {
      layout->n_hits += is_hit;
      layout->n_misses += !is_hit;
      layout->miss_bytes += is_hit ? 0 : run->blocks->blocks[b].size_bytes;
      layout->n_planned_misses += grant->is_placeless;
      layout->planned_miss_bytes +=
          grant->is_placeless ? run->blocks->blocks[b].size_bytes : 0;
    }
}

/* The run opened a private pool before it asked for anything there: what the plan needs
 * is mapped by then. */
static void
see_pool (TesseraRun *run, uint32_t pool)
{
  if (pool == 0 || run->has_seen_pools || run->options->kind != TESSERA_LAYOUT_PLAN)
    return;
  run->has_seen_pools = true;
  tessera_policy_set_routed (run->policy, true);
  tessera_policy_set_routed (run->policy, false);
}

void
tessera_run_place (TesseraRun *run, uint32_t b, bool is_request)
{
  const TesseraBlock *block = &run->blocks->blocks[b];
  TesseraPolicyGrant grant;
  TesseraStatus status;

  see_pool (run, block->pool);
  status =
      tessera_policy_malloc (run->policy, block->size_bytes > 0 ? block->size_bytes : 1,
                             block->stream, block->pool, &grant);

  count_hit (run, b, &grant, is_request);
  if (status == TESSERA_OK)
    tessera_build_place (&run->build, b, grant.grant.addr, grant.grant.block_bytes);
  else if (status == TESSERA_OUT_OF_DEVICE)
    tessera_build_oom (&run->build, block,
                       tessera_round_size (&run->trace->settings, block->size_bytes),
                       tessera_run_free_at_device (run));
  else
    run->build.status = status;
}

/* The private pools that the recorded call took memory from are without users by then. */
static void
empty_cache (TesseraRun *run, uint32_t e)
{
  const TesseraTrace *trace = run->trace;

  for (; trace->n_pools > 1 && e < trace->n_events; e++)
    {
      const TesseraEvent *event = &trace->events[e];

      if (event->action != TESSERA_SEGMENT_FREE &&
          event->action != TESSERA_SEGMENT_UNMAP &&
          event->action != TESSERA_FREE_COMPLETED)
        break;
      if (event->action != TESSERA_FREE_COMPLETED && event->pool != 0)
        tessera_policy_release_pool (run->policy, event->pool);
    }
  tessera_policy_empty_cache (run->policy);
}

/* A run tells a step wherever one begins or ends: also where what is done between steps,
 * an evaluation, say, cuts one in two. */
static void
tell_steps (TesseraRun *run, uint32_t e)
{
  const TesseraTrace *trace = run->trace;
  bool is_told = run->step_end <= e;

  if (is_told)
    run->step_end = TESSERA_NONE;
  for (; run->n_ranges < trace->n_ranges && trace->ranges[run->n_ranges].begin_index <= e;
       run->n_ranges++)
    {
      const TesseraRange *range = &trace->ranges[run->n_ranges];

      if (range->kind != TESSERA_RANGE_STEP || range->is_inferred)
        continue;
      is_told = true;
      run->step_end = range->end_index > e ? range->end_index : TESSERA_NONE;
    }
  if (is_told)
    tessera_policy_step (run->policy);
}

/* Steps and phases, as a run tells them that names them itself. What was only inferred
 * from the whole trace no run could tell. */
static void
tell_marks (TesseraRun *run, uint32_t e)
{
  const TesseraStructure *structure = run->structure;

  if (structure->steps_from == TESSERA_STEPS_ANNOTATED)
    tell_steps (run, e);
  if (!structure->phases_inferred && structure->phase_of_event != NULL &&
      structure->phase_of_event[e] != run->phase)
    {
      run->phase = structure->phase_of_event[e];
      tessera_policy_phase (
          run->policy,
          run->phase == TESSERA_NONE
              ? NULL
              : tessera_phase_name (run->trace, &structure->phases[run->phase]));
    }
}

static void
see_event (TesseraRun *run, const TesseraEvent *event, uint32_t e)
{
  uint32_t b = run->blocks->block_of_event[e];

  switch (event->action)
    {
    case TESSERA_ALLOC:
    case TESSERA_OOM:
      if (b != TESSERA_NONE)
        tessera_run_place (run, b, true);
      break;
    case TESSERA_FREE_REQUESTED:
      if (b == TESSERA_NONE)
        break;
      tessera_run_request_free (run, b);
      if (!run->completes || run->blocks->blocks[b].died_index <= e)
        tessera_run_complete (run, b);
      break;
    case TESSERA_SEGMENT_FREE:
    case TESSERA_SEGMENT_UNMAP:
      if (run->n_flushed < run->flushes.n_events &&
          run->flushes.events[run->n_flushed] == e)
        {
          run->n_flushed++;
          empty_cache (run, e);
        }
      break;
    default:
      break;
    }
}

static void
complete_dead (TesseraRun *run, uint32_t e)
{
  const TesseraBlocks *blocks = run->blocks;

  for (; run->n_dead < blocks->n_blocks; run->n_dead++)
    {
      uint32_t b = blocks->by_death[run->n_dead];

      if (blocks->blocks[b].died_index > e)
        return;
      tessera_run_request_free (run, b);
      tessera_run_complete (run, b);
    }
}

static TesseraStatus
walk (TesseraRun *run, bool stop_at_first_oom)
{
  const TesseraTrace *trace = run->trace;
  TesseraBuild *build = &run->build;

  for (size_t e = 0; e < trace->n_events && !run->completes; e++)
    run->completes = trace->events[e].action == TESSERA_FREE_COMPLETED;
  for (uint32_t e = 0; e < trace->n_events && build->status == TESSERA_OK; e++)
    {
      if (stop_at_first_oom && build->layout->n_ooms > 0)
        break;
      build->now = e;
      complete_dead (run, e);
      if (run->options->kind == TESSERA_LAYOUT_PLAN)
        tell_marks (run, e);
      see_event (run, &trace->events[e], e);
      tessera_build_end_event (build);
      if (e % 65536 == 0 && !tessera_progress (run->options->progress,
                                               (double) e / (double) trace->n_events))
        return TESSERA_CANCELLED;
    }
  return build->status;
}

TesseraStatus
tessera_run (const TesseraTrace *trace,
             const TesseraBlocks *blocks,
             const TesseraStructure *structure,
             const TesseraRunOptions *run_options,
             TesseraError *error,
             TesseraLayout **out_layout)
{
  TesseraRun run = {
    .trace = trace,
    .blocks = blocks,
    .structure = structure,
    .options = run_options->options,
    .phase = TESSERA_NONE,
    .step_end = TESSERA_NONE,
  };
  TesseraStatus status = tessera_build_init (&run.build, trace, blocks, run.options->kind,
                                             run.options->without_curves);

  *out_layout = NULL;
  if (status == TESSERA_OK)
    status = tessera_run_open_policy (&run, run_options->limit_bytes, error);
  if (status == TESSERA_OK)
    status = tessera_flushes_find (trace, &run.flushes);
  if (status == TESSERA_OK)
    status = tessera_run_begin (&run);
  if (status == TESSERA_OK)
    status = walk (&run, run_options->stop_at_first_oom);
  if (status == TESSERA_OK)
    {
      TesseraPolicyStats stats;

      tessera_policy_get_stats (run.policy, &stats);
      run.build.layout->n_retries = stats.caching.n_retries;
      *out_layout = tessera_build_finish (&run.build);
      status = run.build.status;
    }
  if (status == TESSERA_NO_MEMORY)
    tessera_fail (error, status, "there is no memory left for the simulation");
  else if (status != TESSERA_OK)
    tessera_fail (error, status, "the state at the start of the trace is damaged");
  tessera_policy_free (run.policy);
  tessera_build_clear (&run.build);
  tessera_flushes_clear (&run.flushes);
  free (run.pending);
  return status;
}
