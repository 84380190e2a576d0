/*
 * One run of a trace under a policy.
 *
 * The policy is the real one, over the virtual device. It is given the requests, the
 * frees and their completions at the events where the file has them, and the calls of
 * empty_cache() that the file shows; what it answers becomes the layout.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "simulator/run.h"

#include <stdio.h>
#include <stdlib.h>

#include "allocator/policy.h"
#include "allocator/virtual.h"
#include "db/array.h"
#include "simulator/build.h"
#include "simulator/flushes.h"

typedef struct
{
  uint32_t died_index;
  uint32_t block;
} Pending;

typedef struct
{
  const TesseraTrace *trace;
  const TesseraBlocks *blocks;
  const TesseraStructure *structure;
  const TesseraSimulateOptions *options;
  TesseraBuild build;
  TesseraVirtual device;
  TesseraPolicy *policy;
  Pending *pending; /* freed and not completed, at the policy */
  size_t n_pending, cap_pending;
  TesseraFlushes flushes; /* calls of empty_cache() */
  size_t n_flushed;
  size_t n_dead;            /* of blocks->by_death */
  uint32_t phase;           /* the policy was last told */
  size_t n_steps;           /* of the structure, told to the policy */
  bool completes;           /* the trace has completions; else a free is both */
  bool has_side_streams;    /* ends of blocks are a matter of the plan's slots */
  uint8_t *ends_when_freed; /* [n_blocks] across streams: who takes the range waits for
                               its side streams (TesseraSlot) */
  bool is_pool;             /* what the policy takes now is the plan's pool */
} Run;

static void
see_segment (void *user,
             uint64_t addr,
             uint64_t size_bytes,
             uint32_t stream,
             uint32_t pool,
             bool is_small,
             bool is_expandable)
{
  Run *run = user;

  tessera_build_add_span (&run->build,
                          (TesseraSpan){ .addr = addr,
                                         .size_bytes = size_bytes,
                                         .stream = (uint16_t) stream,
                                         .pool = (uint16_t) pool,
                                         .is_small = is_small,
                                         .is_expandable = is_expandable && !run->is_pool,
                                         .is_plan_pool = run->is_pool });
}

static void
see_segment_alloc (void *user,
                   uint64_t addr,
                   uint64_t size_bytes,
                   uint32_t stream,
                   uint32_t pool,
                   bool is_small)
{
  see_segment (user, addr, size_bytes, stream, pool, is_small, false);
}

static void
see_segment_map (void *user,
                 uint64_t addr,
                 uint64_t size_bytes,
                 uint32_t stream,
                 uint32_t pool,
                 bool is_small)
{
  see_segment (user, addr, size_bytes, stream, pool, is_small, true);
}

static void
see_segment_gone (void *user, uint64_t addr, uint64_t size_bytes)
{
  Run *run = user;

  tessera_build_cut (&run->build, addr, size_bytes);
}

static void
see_plan_declined (void *user)
{
  Run *run = user;
  TesseraLayout *layout = run->build.layout;

  layout->declined_index = run->build.now;
  snprintf (layout->note, sizeof layout->note,
            "The plan does not suit this run, which declines it at event %u: expandable "
            "rules serve from there on, and what nobody needs of the pool is given back.",
            run->build.now);
}

static void
complete (Run *run, uint32_t block)
{
  if (run->build.states[block] != TESSERA_BLOCK_PENDING)
    return;
  tessera_policy_free_completed (run->policy, run->build.layout->addr[block]);
  tessera_build_free_completed (&run->build, block);
  /* Nearly always the last one: completed at the event after its request. */
  for (size_t i = run->n_pending; i-- > 0;)
    if (run->pending[i].block == block)
      {
        run->pending[i] = run->pending[--run->n_pending];
        break;
      }
}

static void
note_pending (Run *run, uint32_t block)
{
  if (TESSERA_RESERVE (run->pending, run->cap_pending, run->n_pending + 1))
    run->pending[run->n_pending++] = (Pending){
      .died_index = run->blocks->blocks[block].died_index,
      .block = block,
    };
  else
    run->build.status = TESSERA_NO_MEMORY;
}

static void
request_free (Run *run, uint32_t block)
{
  if (run->build.states[block] != TESSERA_BLOCK_LIVE)
    return;
  tessera_build_free_requested (&run->build, block);
  tessera_policy_free_requested (run->policy, run->build.layout->addr[block]);
  note_pending (run, block);
  if (run->has_side_streams && run->ends_when_freed[block])
    complete (run, block);
}

static int
compare_pending (const void *a, const void *b)
{
  const Pending *x = a;
  const Pending *y = b;

  if (x->died_index != y->died_index)
    return x->died_index < y->died_index ? -1 : 1;
  return (x->block > y->block) - (x->block < y->block);
}

/* The policy waits for the side streams: what is pending completes, in recorded order. */
static void
synchronize (void *user)
{
  Run *run = user;

  if (run->n_pending > 1)
    qsort (run->pending, run->n_pending, sizeof *run->pending, compare_pending);
  for (size_t i = 0; i < run->n_pending; i++)
    {
      uint32_t block = run->pending[i].block;

      tessera_policy_free_completed (run->policy, run->build.layout->addr[block]);
      tessera_build_free_completed (&run->build, block);
    }
  run->n_pending = 0;
}

static uint64_t
free_at_device (const Run *run)
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
is_counted (const Run *run, const TesseraBlock *block)
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
count_hit (Run *run, uint32_t b, bool is_hit, bool is_request)
{
  TesseraLayout *layout = run->build.layout;

  if (layout->kind != TESSERA_LAYOUT_PLAN)
    return;
  layout->is_hit[b] = is_hit;
  if (is_request && layout->declined_index == 0 &&
      is_counted (run, &run->blocks->blocks[b]))
    {
      layout->n_hits += is_hit;
      layout->n_misses += !is_hit;
      layout->miss_bytes += is_hit ? 0 : run->blocks->blocks[b].size_bytes;
    }
}

static void
place (Run *run, uint32_t b, bool is_request)
{
  const TesseraBlock *block = &run->blocks->blocks[b];
  TesseraPolicyGrant grant;
  TesseraStatus status =
      tessera_policy_malloc (run->policy, block->size_bytes > 0 ? block->size_bytes : 1,
                             block->stream, block->pool, &grant);

  count_hit (run, b, grant.is_hit, is_request);
  if (status == TESSERA_OK && run->has_side_streams && grant.slot != TESSERA_NONE)
    run->ends_when_freed[b] = run->options->plan->slots[grant.slot].side_streams;
  if (status == TESSERA_OK)
    tessera_build_place (&run->build, b, grant.grant.addr, grant.grant.block_bytes);
  else if (status == TESSERA_OUT_OF_DEVICE)
    tessera_build_oom (&run->build, block,
                       tessera_round_size (&run->trace->settings, block->size_bytes),
                       free_at_device (run));
  else
    run->build.status = status;
}

static void
note_seeded (void *user, const TesseraBlockInfo *info)
{
  Run *run = user;
  uint32_t b;

  if (info->state == TESSERA_BLOCK_FREE)
    return;
  b = tessera_start_block_at (run->blocks, info->addr);
  if (b != TESSERA_NONE)
    tessera_build_place (&run->build, b, info->addr, info->block_bytes);
}

/* The policy takes over the state that the file begins with. */
static TesseraStatus
seed (Run *run)
{
  const TesseraHeld *start = &run->trace->start;
  TesseraCaching *caching = tessera_policy_caching (run->policy);
  TesseraStatus status = tessera_caching_seed (caching, run->trace);

  if (status != TESSERA_OK)
    return status;
  tessera_virtual_adopt (&run->device, run->trace);
  for (size_t i = 0; i < start->n_segments; i++)
    see_segment (run, start->segments[i].addr, start->segments[i].size_bytes,
                 start->segments[i].stream, start->segments[i].pool,
                 start->segments[i].is_small, start->segments[i].is_expandable);
  tessera_caching_each (caching, note_seeded, run);
  return TESSERA_OK;
}

/* Frees before the first event, of either way to begin. */
static void
request_start_frees (Run *run, bool is_seeded)
{
  for (uint32_t b = 0; b < run->blocks->n_blocks; b++)
    {
      if ((run->blocks->blocks[b].flags & TESSERA_AT_START) == 0)
        break;
      if (!tessera_is_pending_at_start (run->trace, run->blocks, b) ||
          run->build.states[b] != TESSERA_BLOCK_LIVE)
        continue;
      if (!is_seeded)
        request_free (run, b);
      else
        {
          /* The policy knows already. */
          tessera_build_free_requested (&run->build, b);
          note_pending (run, b);
        }
    }
}

/* A device smaller than what the run began with: caches go first. */
static void
squeeze_start (Run *run)
{
  TesseraVirtual *device = &run->device;
  const TesseraBlock nobody = { .size_bytes = 0 };

  if (device->device_bytes == 0 || device->used_bytes <= device->device_bytes)
    return;
  tessera_policy_empty_cache (run->policy);
  if (device->used_bytes > device->device_bytes)
    tessera_build_oom (&run->build, &nobody, device->used_bytes - device->device_bytes,
                       0);
}

static TesseraStatus
begin (Run *run)
{
  bool is_expandable = run->options->kind != TESSERA_LAYOUT_NATIVE;
  bool is_seeded = run->options->kind != TESSERA_LAYOUT_PLAN &&
                   run->trace->has_segments &&
                   run->trace->settings.is_expandable == is_expandable;

  if (is_seeded)
    {
      TesseraStatus status = seed (run);

      if (status != TESSERA_OK)
        return status;
    }
  else
    for (uint32_t b = 0; b < run->blocks->n_blocks &&
                         (run->blocks->blocks[b].flags & TESSERA_AT_START) != 0;
         b++)
      place (run, b, false);
  request_start_frees (run, is_seeded);
  squeeze_start (run);
  tessera_build_start (&run->build);
  return run->build.status;
}

/* The private pools that the recorded call took memory from are without users by then. */
static void
empty_cache (Run *run, uint32_t e)
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

/* Steps and phases, as a run tells them that names them itself. What was only inferred
 * from the whole trace no run could tell. */
static void
tell_marks (Run *run, uint32_t e)
{
  const TesseraStructure *structure = run->structure;

  if (structure->steps_from == TESSERA_STEPS_ANNOTATED)
    for (; run->n_steps < structure->n_steps &&
           structure->steps[run->n_steps].begin_index <= e;
         run->n_steps++)
      tessera_policy_step (run->policy);
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
see_event (Run *run, const TesseraEvent *event, uint32_t e)
{
  uint32_t b = run->blocks->block_of_event[e];

  switch (event->action)
    {
    case TESSERA_ALLOC:
    case TESSERA_OOM:
      if (b != TESSERA_NONE)
        place (run, b, true);
      break;
    case TESSERA_FREE_REQUESTED:
      if (b == TESSERA_NONE)
        break;
      request_free (run, b);
      if (!run->completes || run->blocks->blocks[b].died_index <= e)
        complete (run, b);
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
complete_dead (Run *run, uint32_t e)
{
  const TesseraBlocks *blocks = run->blocks;

  for (; run->n_dead < blocks->n_blocks; run->n_dead++)
    {
      uint32_t b = blocks->by_death[run->n_dead];

      if (blocks->blocks[b].died_index > e)
        return;
      request_free (run, b);
      complete (run, b);
    }
}

static TesseraStatus
walk (Run *run, bool stop_at_first_oom)
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

static TesseraStatus
open_kind (Run *run, TesseraPolicyKind kind, uint64_t limit_bytes, TesseraError *error)
{
  const TesseraTrace *trace = run->trace;
  const TesseraPolicyOptions options = {
    .kind = kind,
    .caching = { .settings = trace->settings,
                 .limit_bytes = limit_bytes,
                 .stream_handles = trace->streams,
                 .n_streams = trace->n_streams },
    .plan = run->options->plan,
    .by_length = kind == TESSERA_POLICY_PLAN && run->options->by_length,
    .is_simulation = true,
  };
  const TesseraObserver observer = {
    .segment_alloc = see_segment_alloc,
    .segment_free = see_segment_gone,
    .segment_map = see_segment_map,
    .segment_unmap = see_segment_gone,
    .plan_declined = see_plan_declined,
    .user = run,
  };

  return tessera_policy_new (&options, &run->device.device, &observer, error,
                             &run->policy);
}

/* A plan whose pool has no room is declined, as in training: what it would have taken is
 * a request that failed, and the run goes on under expandable rules. */
static TesseraStatus
open_policy (Run *run, uint64_t limit_bytes, TesseraError *error)
{
  static const TesseraPolicyKind kinds[] = {
    [TESSERA_LAYOUT_NATIVE] = TESSERA_POLICY_NATIVE,
    [TESSERA_LAYOUT_EXPANDABLE] = TESSERA_POLICY_EXPANDABLE,
    [TESSERA_LAYOUT_PLAN] = TESSERA_POLICY_PLAN,
  };
  TesseraLayoutKind kind = run->options->kind;
  TesseraError declined = { 0 };
  TesseraStatus status;

  tessera_virtual_init (&run->device, run->options->device_bytes);
  run->device.synchronize = synchronize;
  run->device.user = run;
  run->is_pool = kind == TESSERA_LAYOUT_PLAN;
  status = open_kind (run, kinds[kind], limit_bytes, &declined);
  run->is_pool = false;
  if (status == TESSERA_OUT_OF_DEVICE)
    {
      const TesseraBlock nobody = { .size_bytes = 0 };

      tessera_build_oom (&run->build, &nobody,
                         tessera_plan_pool_bytes (run->options->plan),
                         free_at_device (run));
      return open_kind (run, TESSERA_POLICY_EXPANDABLE, limit_bytes, error);
    }
  if (status != TESSERA_OK)
    tessera_fail (error, status, "%s", declined.text);
  return status;
}

TesseraStatus
tessera_run (const TesseraTrace *trace,
             const TesseraBlocks *blocks,
             const TesseraStructure *structure,
             const TesseraRunOptions *run_options,
             TesseraError *error,
             TesseraLayout **out_layout)
{
  Run run = {
    .trace = trace,
    .blocks = blocks,
    .structure = structure,
    .options = run_options->options,
    .phase = TESSERA_NONE,
  };
  TesseraStatus status = tessera_build_init (&run.build, trace, blocks, run.options->kind,
                                             run.options->without_curves);

  *out_layout = NULL;
  run.has_side_streams = run.options->kind == TESSERA_LAYOUT_PLAN &&
                         run.options->plan->across_streams && !run.options->by_length;
  if (status == TESSERA_OK && run.has_side_streams)
    {
      run.ends_when_freed = calloc (blocks->n_blocks + 1, 1);
      status = run.ends_when_freed ? TESSERA_OK : TESSERA_NO_MEMORY;
    }
  if (status == TESSERA_OK)
    status = open_policy (&run, run_options->limit_bytes, error);
  if (status == TESSERA_OK)
    status = tessera_flushes_find (trace, &run.flushes);
  if (status == TESSERA_OK)
    status = begin (&run);
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
  free (run.ends_when_freed);
  return status;
}
