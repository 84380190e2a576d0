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

#include <stdlib.h>

#include "allocator/caching.h"
#include "allocator/follow.h"
#include "allocator/virtual.h"
#include "db/array.h"
#include "simulator/build.h"
#include "simulator/flushes.h"

#define POOL_GRAIN_BYTES ((uint64_t) 2 << 20)

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
  TesseraCaching *caching;
  TesseraFollower *follower; /* plan only */
  uint64_t pool_addr;        /* plan only: where its pool lies */
  Pending *pending;          /* freed and not completed, at the policy */
  size_t n_pending, cap_pending;
  TesseraFlushes flushes; /* calls of empty_cache() */
  size_t n_flushed;
  size_t n_dead;  /* of blocks->by_death */
  uint32_t phase; /* the follower was last told */
  size_t n_steps; /* of the structure, told to the follower */
  bool completes; /* the trace has completions; else a free is both */
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

  tessera_build_add_span (&run->build, (TesseraSpan){ .addr = addr,
                                                      .size_bytes = size_bytes,
                                                      .stream = (uint16_t) stream,
                                                      .pool = (uint16_t) pool,
                                                      .is_small = is_small,
                                                      .is_expandable = is_expandable });
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
complete (Run *run, uint32_t block)
{
  uint64_t addr = run->build.layout->addr[block];

  if (run->build.states[block] != TESSERA_BLOCK_PENDING)
    return;
  if (run->follower != NULL && run->build.layout->is_hit[block])
    tessera_follower_free_at (run->follower, addr - run->pool_addr);
  else
    tessera_caching_free_completed (run->caching, addr);
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
request_free (Run *run, uint32_t block)
{
  uint64_t addr = run->build.layout->addr[block];
  bool is_hit = run->follower != NULL && run->build.layout->is_hit[block];

  if (run->build.states[block] != TESSERA_BLOCK_LIVE)
    return;
  tessera_build_free_requested (&run->build, block);
  if (is_hit)
    return;
  tessera_caching_free_requested (run->caching, addr);
  if (!TESSERA_RESERVE (run->pending, run->cap_pending, run->n_pending + 1))
    {
      run->build.status = TESSERA_NO_MEMORY;
      return;
    }
  run->pending[run->n_pending++] = (Pending){
    .died_index = run->blocks->blocks[block].died_index,
    .block = block,
  };
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

      tessera_caching_free_completed (run->caching, run->build.layout->addr[block]);
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

static bool
place_in_plan (Run *run, uint32_t b, bool is_request)
{
  const TesseraBlock *block = &run->blocks->blocks[b];
  TesseraLayout *layout = run->build.layout;
  uint64_t offset_bytes;
  bool is_hit = tessera_follower_malloc (run->follower, block->size_bytes, block->stream,
                                         block->pool, &offset_bytes, NULL);

  if (is_request && is_counted (run, block))
    {
      layout->n_hits += is_hit;
      layout->n_misses += !is_hit;
    }
  if (!is_hit)
    return false;
  layout->is_hit[b] = 1;
  tessera_build_place (&run->build, b, run->pool_addr + offset_bytes, block->block_bytes);
  return true;
}

static void
place (Run *run, uint32_t b, bool is_request)
{
  const TesseraBlock *block = &run->blocks->blocks[b];
  TesseraGrant grant;
  TesseraStatus status;

  if (run->follower != NULL && place_in_plan (run, b, is_request))
    return;
  status =
      tessera_caching_malloc (run->caching, block->size_bytes > 0 ? block->size_bytes : 1,
                              block->stream, block->pool, &grant);
  if (status == TESSERA_OK)
    tessera_build_place (&run->build, b, grant.addr, grant.block_bytes);
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
  TesseraStatus status = tessera_caching_seed (run->caching, run->trace);

  if (status != TESSERA_OK)
    return status;
  tessera_virtual_adopt (&run->device, run->trace);
  for (size_t i = 0; i < start->n_segments; i++)
    see_segment (run, start->segments[i].addr, start->segments[i].size_bytes,
                 start->segments[i].stream, start->segments[i].pool,
                 start->segments[i].is_small, start->segments[i].is_expandable);
  tessera_caching_each (run->caching, note_seeded, run);
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
          if (!TESSERA_RESERVE (run->pending, run->cap_pending, run->n_pending + 1))
            run->build.status = TESSERA_NO_MEMORY;
          else
            run->pending[run->n_pending++] =
                (Pending){ .died_index = run->blocks->blocks[b].died_index, .block = b };
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
  tessera_caching_empty_cache (run->caching);
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
        tessera_caching_release_pool (run->caching, event->pool);
    }
  tessera_caching_empty_cache (run->caching);
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
      tessera_follower_step (run->follower);
  if (!structure->phases_inferred && structure->phase_of_event != NULL &&
      structure->phase_of_event[e] != run->phase)
    {
      run->phase = structure->phase_of_event[e];
      tessera_follower_phase (
          run->follower,
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
      if (run->follower != NULL)
        tell_marks (run, e);
      see_event (run, &trace->events[e], e);
      tessera_build_end_event (build);
      if (e % 65536 == 0 && !tessera_progress (run->options->progress,
                                               (double) e / (double) trace->n_events))
        return TESSERA_CANCELLED;
    }
  return build->status;
}

/* The plan's pool is taken first, as one piece of the device; what the device has left is
 * what the policy for misses may use. */
static TesseraStatus
open_pool (Run *run)
{
  const TesseraPlan *plan = run->options->plan;
  uint64_t height_bytes = plan->height_bytes;
  TesseraStatus status = tessera_follower_new (plan, &run->follower);

  if (status != TESSERA_OK)
    return status;
  run->pool_addr = run->device.next_addr;
  run->device.next_addr +=
      (height_bytes + POOL_GRAIN_BYTES - 1) / POOL_GRAIN_BYTES * POOL_GRAIN_BYTES;
  run->device.used_bytes += height_bytes;
  tessera_build_add_span (&run->build, (TesseraSpan){ .addr = run->pool_addr,
                                                      .size_bytes = height_bytes,
                                                      .is_plan_pool = true });
  return TESSERA_OK;
}

static TesseraStatus
open_policy (Run *run, uint64_t limit_bytes)
{
  const TesseraTrace *trace = run->trace;
  uint64_t taken_bytes = 0;
  TesseraCachingOptions caching = {
    .settings = trace->settings,
    .limit_bytes = limit_bytes,
    .stream_handles = trace->streams,
    .n_streams = trace->n_streams,
  };
  const TesseraObserver observer = {
    .segment_alloc = see_segment_alloc,
    .segment_free = see_segment_gone,
    .segment_map = see_segment_map,
    .segment_unmap = see_segment_gone,
    .user = run,
  };

  tessera_virtual_init (&run->device, run->options->device_bytes);
  run->device.synchronize = synchronize;
  run->device.user = run;
  caching.settings.is_expandable = run->options->kind != TESSERA_LAYOUT_NATIVE;
  if (run->options->kind == TESSERA_LAYOUT_PLAN)
    {
      TesseraStatus status = open_pool (run);

      if (status != TESSERA_OK)
        return status;
      taken_bytes = run->options->plan->height_bytes;
    }
  if (limit_bytes != 0)
    caching.limit_bytes = limit_bytes > taken_bytes ? limit_bytes - taken_bytes : 1;
  return tessera_caching_new (&caching, &run->device.device, &observer, &run->caching);
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
  if (status == TESSERA_OK)
    status = open_policy (&run, run_options->limit_bytes);
  if (status == TESSERA_OK)
    status = tessera_flushes_find (trace, &run.flushes);
  if (status == TESSERA_OK)
    status = begin (&run);
  if (status == TESSERA_OK)
    status = walk (&run, run_options->stop_at_first_oom);
  if (status == TESSERA_OK)
    {
      TesseraCachingStats stats;

      tessera_caching_get_stats (run.caching, &stats);
      run.build.layout->n_retries = stats.n_retries;
      *out_layout = tessera_build_finish (&run.build);
      status = run.build.status;
    }
  if (status == TESSERA_NO_MEMORY)
    tessera_fail (error, status, "there is no memory left for the simulation");
  else if (status != TESSERA_OK)
    tessera_fail (error, status, "the state at the start of the trace is damaged");
  tessera_caching_free (run.caching);
  tessera_follower_free (run.follower);
  tessera_build_clear (&run.build);
  tessera_flushes_clear (&run.flushes);
  free (run.pending);
  return status;
}
