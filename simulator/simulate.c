/*
 * A trace run again under a policy, over the virtual device.
 *
 * The policy is the real one. It is given the requests, the frees and their completions
 * at the events where the file has them, and the calls of empty_cache() that the file
 * shows; what it answers becomes the layout. tessera_fit() finds the smallest device so.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "simulator/simulate.h"

#include "allocator/policy.h"
#include "allocator/virtual.h"
#include "simulator/private.h"

#define GRAIN_BYTES ((uint64_t) 2 << 20)

typedef struct
{
  const TesseraTrace *trace;
  const TesseraBlocks *blocks;
  const TesseraStructure *structure;
  const TesseraSimulateOptions *options;
  TesseraBuild build;
  TesseraVirtual device;
  TesseraPolicy *policy;
  TesseraStatus status; /* what a call of the policy came to */
  GArray *pending; /* of uint32_t: blocks whose free was requested since the policy last
                      waited; some have completed */
  GHashTable *pending_at; /* the last block that was freed at an address */
  GArray *flushes;        /* of uint32_t: first entries of the calls of empty_cache() */
  guint n_flushed;
  size_t n_dead;       /* of blocks->by_death */
  uint32_t phase;      /* the policy was last told */
  size_t n_ranges;     /* of the trace, looked at for steps that began */
  uint32_t step_end;   /* of the step that goes on, or TESSERA_NONE */
  bool completes;      /* the trace has completions; else a free is both */
  bool has_seen_pools; /* a request of a private pool */
} Run;

/* Bytes left of the device, or TESSERA_NOWHERE where it has no end. */
static uint64_t
count_free_bytes (const Run *run)
{
  const TesseraVirtual *device = &run->device;

  return run->options->device_bytes == 0
             ? TESSERA_NOWHERE
             : device->device_bytes - MIN (device->used_bytes, device->device_bytes);
}

/* Frees: requested, and completed when nothing waits any more. Both do nothing for a
 * block that is not live, or not pending. */
static void
complete_free (Run *run, uint32_t block)
{
  if (run->build.states[block] != TESSERA_BLOCK_PENDING)
    return;
  tessera_policy_free_completed (run->policy, run->build.layout->addr[block]);
  tessera_build_free_completed (&run->build, block);
}

static void
request_free (Run *run, uint32_t block)
{
  uint64_t addr = run->build.layout->addr[block];

  if (run->build.states[block] != TESSERA_BLOCK_LIVE)
    return;
  g_hash_table_insert (run->pending_at, (gpointer) (uintptr_t) addr,
                       GUINT_TO_POINTER (block));
  tessera_build_free_requested (&run->build, block);
  tessera_policy_free_requested (run->policy, run->build.layout->addr[block]);
  g_array_append_val (run->pending, block);
}

static int
compare_deaths (const void *a, const void *b, void *user)
{
  const TesseraBlock *blocks = user;
  uint32_t x = *(const uint32_t *) a, y = *(const uint32_t *) b;
  uint32_t left = blocks[x].died_index, right = blocks[y].died_index;

  return left != right ? (left > right) - (left < right) : (x > y) - (x < y);
}

/* The policy waits for the side streams: what is pending completes, in recorded order. */
static void
synchronize (void *user)
{
  Run *run = user;

  g_array_sort_with_data (run->pending, compare_deaths, run->blocks->blocks);
  for (guint i = 0; i < run->pending->len; i++)
    complete_free (run, g_array_index (run->pending, uint32_t, i));
  g_array_set_size (run->pending, 0);
}

static void
see_memory_came (void *user, const TesseraSegment *memory)
{
  Run *run = user;
  bool is_pool =
      run->policy != NULL && tessera_policy_is_in_pool (run->policy, memory->addr);

  tessera_build_add_span (
      &run->build, (TesseraSpan){ .addr = memory->addr,
                                  .size_bytes = memory->size_bytes,
                                  .stream = memory->stream,
                                  .pool = memory->pool,
                                  .is_small = memory->is_small,
                                  .is_expandable = memory->is_expandable && !is_pool,
                                  .is_plan_pool = is_pool });
}

static void
see_memory_went (void *user, const TesseraSegment *memory)
{
  Run *run = user;

  tessera_build_cut (&run->build, memory->addr, memory->size_bytes);
}

static void
see_plan_declined (void *user)
{
  Run *run = user;
  TesseraLayout *layout = run->build.layout;

  layout->declined_index = run->build.now;
  g_snprintf (
      layout->note, sizeof layout->note,
      "The plan does not suit this run, which declines it at event %u: expandable "
      "rules serve from there on, and what nobody needs of the pool is given back.",
      run->build.now);
}

/* Of all blocks that lay there the last one. */
static void
see_block_passed (void *user, uint64_t addr)
{
  Run *run = user;
  gpointer block =
      g_hash_table_lookup (run->pending_at, (gconstpointer) (uintptr_t) addr);

  tessera_build_free_completed (&run->build, GPOINTER_TO_UINT (block));
}

static TesseraStatus
open_kind (Run *run, TesseraPolicyKind kind, TesseraError *error)
{
  const TesseraTrace *trace = run->trace;
  const TesseraPolicyOptions options = {
    .kind = kind,
    .caching = { .settings = trace->settings,
                 .limit_bytes = run->options->limit_bytes,
                 .stream_handles = trace->streams,
                 .n_streams = trace->n_streams },
    .plan = run->options->plan,
    .by_length = kind == TESSERA_POLICY_PLAN && run->options->by_length,
    .has_fine_pages = true,
    .is_simulation = true,
  };
  const TesseraObserver observer = {
    .memory_came = see_memory_came,
    .memory_went = see_memory_went,
    .plan_declined = see_plan_declined,
    .block_passed = see_block_passed,
    .user = run,
  };

  return tessera_policy_new (&options, &run->device.device, &observer, error,
                             &run->policy);
}

/* Opens the device and the policy on it. A plan whose pool has no room is declined, as in
 * training: what it would have taken is a request that failed, and the run goes on under
 * expandable rules. */
static TesseraStatus
open_policy (Run *run, TesseraError *error)
{
  static const TesseraPolicyKind kinds[] = {
    [TESSERA_LAYOUT_NATIVE] = TESSERA_POLICY_NATIVE,
    [TESSERA_LAYOUT_EXPANDABLE] = TESSERA_POLICY_EXPANDABLE,
    [TESSERA_LAYOUT_PLAN] = TESSERA_POLICY_PLAN,
  };
  TesseraLayoutKind kind = run->options->kind;
  TesseraError declined = { 0 };
  TesseraPolicyStats stats;
  TesseraStatus status;

  tessera_virtual_init (&run->device, run->options->device_bytes);
  run->device.synchronize = synchronize;
  run->device.user = run;
  status = open_kind (run, kinds[kind], &declined);
  if (status == TESSERA_OUT_OF_DEVICE)
    {
      const TesseraBlock nobody = { .size_bytes = 0 };

      tessera_build_oom (&run->build, &nobody,
                         tessera_plan_pool_bytes (run->options->plan),
                         count_free_bytes (run));
      return open_kind (run, TESSERA_POLICY_EXPANDABLE, error);
    }
  if (status != TESSERA_OK)
    return tessera_fail (error, status, "%s", declined.text);
  if (tessera_trace_has_streams (run->trace))
    tessera_policy_see_streams (run->policy);
  tessera_policy_get_stats (run->policy, &stats);
  run->build.layout->pool_addr = stats.pool_addr;
  return TESSERA_OK;
}

static void
count_hit (Run *run, uint32_t b, const TesseraPolicyGrant *grant, bool is_request)
{
  TesseraLayout *layout = run->build.layout;
  bool is_hit = grant->is_hit;

  if (layout->kind != TESSERA_LAYOUT_PLAN)
    return;
  layout->is_hit[b] = is_hit;
  layout->is_left[b] = grant->is_unplanned;
  if (is_request && layout->declined_index == 0)
    {
      layout->n_hits += is_hit;
      layout->n_misses += !is_hit;
      layout->miss_bytes += is_hit ? 0 : run->blocks->blocks[b].size_bytes;
      layout->n_planned_misses += grant->is_unplanned;
      layout->planned_miss_bytes +=
          grant->is_unplanned ? run->blocks->blocks[b].size_bytes : 0;
    }
}

/* The run opened a private pool before it asked for anything there: what the plan needs
 * is mapped by then. */
static void
see_pool (Run *run, uint32_t pool)
{
  if (pool == 0 || run->has_seen_pools || run->options->kind != TESSERA_LAYOUT_PLAN)
    return;
  run->has_seen_pools = true;
  tessera_policy_set_routed (run->policy, true);
  tessera_policy_set_routed (run->policy, false);
}

/* Asks the policy for block @b, or, where @is_request is unset, for a block that the
 * trace begins with. A failure is an out of memory of the layout. */
static void
place_block (Run *run, uint32_t b, bool is_request)
{
  const TesseraBlock *block = &run->blocks->blocks[b];
  TesseraPolicyGrant grant;
  TesseraStatus status;
  uint64_t n_ordered;

  n_ordered = run->device.n_ordered;
  see_pool (run, block->pool);
  status =
      tessera_policy_malloc (run->policy, block->size_bytes > 0 ? block->size_bytes : 1,
                             block->stream, block->pool, &grant);

  count_hit (run, b, &grant, is_request);
  if (run->build.layout->links != NULL)
    run->build.layout->links[b].n_waits = (uint32_t) (run->device.n_ordered - n_ordered);
  if (status == TESSERA_OK)
    tessera_build_place (&run->build, b, grant.grant.addr, grant.grant.block_bytes);
  else if (status == TESSERA_OUT_OF_DEVICE)
    tessera_build_oom (&run->build, block,
                       tessera_round_size (&run->trace->settings, block->size_bytes),
                       count_free_bytes (run));
  else
    run->status = status;
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
  TesseraStatus status = tessera_caching_seed (caching, run->trace, NULL);

  if (status != TESSERA_OK)
    return status;
  tessera_virtual_adopt (&run->device, run->trace);
  for (size_t i = 0; i < start->n_segments; i++)
    tessera_build_add_span (&run->build, tessera_span_of (&start->segments[i]));
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
          g_array_append_val (run->pending, b);
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

/* What is there before the first event. */
static TesseraStatus
begin_run (Run *run)
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
      place_block (run, b, false);
  request_start_frees (run, is_seeded);
  squeeze_start (run);
  tessera_build_start (&run->build);
  return run->status;
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

/* A run tells a step wherever one begins or ends: also where what is done between steps,
 * an evaluation, say, cuts one in two. */
static void
tell_steps (Run *run, uint32_t e)
{
  const TesseraTrace *trace = run->trace;
  bool is_reported = run->step_end <= e, begins = false;

  if (is_reported)
    run->step_end = TESSERA_NONE;
  for (; run->n_ranges < trace->n_ranges && trace->ranges[run->n_ranges].begin_index <= e;
       run->n_ranges++)
    {
      const TesseraRange *range = &trace->ranges[run->n_ranges];

      if (range->kind != TESSERA_RANGE_STEP || range->is_inferred)
        continue;
      is_reported = begins = true;
      run->step_end = range->end_index > e ? range->end_index : TESSERA_NONE;
    }
  if (begins)
    tessera_policy_step (run->policy);
  else if (is_reported)
    tessera_policy_end_step (run->policy);
}

/* Steps and phases, as a run tells them that names them itself. What was only inferred
 * from the whole trace no run could tell. */
static void
tell_marks (Run *run, uint32_t e)
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
see_event (Run *run, const TesseraEvent *event, uint32_t e)
{
  uint32_t b = run->blocks->block_of_event[e];

  switch (event->action)
    {
    case TESSERA_ALLOC:
    case TESSERA_OOM:
      if (b != TESSERA_NONE)
        place_block (run, b, true);
      break;
    case TESSERA_FREE_REQUESTED:
      if (b == TESSERA_NONE)
        break;
      request_free (run, b);
      if (!run->completes || run->blocks->blocks[b].died_index <= e)
        complete_free (run, b);
      break;
    case TESSERA_SEGMENT_FREE:
    case TESSERA_SEGMENT_UNMAP:
      if (run->n_flushed < run->flushes->len &&
          g_array_index (run->flushes, uint32_t, run->n_flushed) == e)
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
      complete_free (run, b);
    }
}

static TesseraStatus
walk (Run *run, bool stop_at_first_oom)
{
  const TesseraTrace *trace = run->trace;
  TesseraBuild *build = &run->build;

  for (size_t e = 0; e < trace->n_events && !run->completes; e++)
    run->completes = trace->events[e].action == TESSERA_FREE_COMPLETED;
  for (uint32_t e = 0; e < trace->n_events && run->status == TESSERA_OK; e++)
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
  return run->status;
}

static void
clear_run (Run *run)
{
  tessera_policy_free (run->policy);
  tessera_build_clear (&run->build);
  g_array_unref (run->flushes);
  g_array_unref (run->pending);
  g_hash_table_unref (run->pending_at);
}

/* A limit of 0 is none. @stop_at_first_oom: whether the run completes is all that is asked. */
static TesseraStatus
run_trace (const TesseraTrace *trace,
           const TesseraBlocks *blocks,
           const TesseraStructure *structure,
           const TesseraSimulateOptions *options,
           bool stop_at_first_oom,
           TesseraError *error,
           TesseraLayout **out_layout)
{
  Run run = {
    .trace = trace,
    .blocks = blocks,
    .structure = structure,
    .options = options,
    .phase = TESSERA_NONE,
    .step_end = TESSERA_NONE,
    .flushes = tessera_find_flushes (trace),
    .pending = g_array_new (FALSE, FALSE, sizeof (uint32_t)),
    .pending_at = g_hash_table_new (NULL, NULL),
  };
  TesseraPolicyStats stats;

  tessera_build_init (&run.build, trace, blocks, options->kind, options->without_curves);
  if (options->kind == TESSERA_LAYOUT_PLAN && options->plan->crosses_streams &&
      !options->without_curves)
    run.build.layout->links = g_new0 (TesseraLink, blocks->n_blocks + 1);
  TesseraStatus status = open_policy (&run, error);
  if (status == TESSERA_OK)
    status = begin_run (&run);
  if (status == TESSERA_OK)
    status = walk (&run, stop_at_first_oom);
  if (status == TESSERA_OK)
    {
      tessera_policy_get_stats (run.policy, &stats);
      *out_layout = tessera_build_finish (&run.build);
      (*out_layout)->n_retries = stats.caching.n_retries;
      (*out_layout)->n_barriers = stats.n_barriers;
      (*out_layout)->kept_bytes = stats.peak_kept_bytes;
      if ((*out_layout)->links != NULL)
        tessera_layout_link (*out_layout, blocks, structure->n_steps);
    }
  else if (status == TESSERA_NO_MEMORY)
    tessera_fail (error, status, "there is no memory left for the simulation");
  else
    tessera_fail (error, status, "the state at the start of the trace is damaged");
  clear_run (&run);
  return status;
}

static bool
lacks_plan (const TesseraSimulateOptions *options, const TesseraStructure *structure)
{
  return options->kind == TESSERA_LAYOUT_PLAN &&
         (options->plan == NULL || structure == NULL);
}

TesseraStatus
tessera_simulate (const TesseraTrace *trace,
                  const TesseraBlocks *blocks,
                  const TesseraStructure *structure,
                  const TesseraSimulateOptions *options,
                  TesseraError *error,
                  TesseraLayout **out_layout)
{
  TesseraSimulateOptions limited = *options;

  *out_layout = NULL;
  if (options->kind == TESSERA_LAYOUT_RECORDED)
    return tessera_lay_recorded (trace, blocks, options, error, out_layout);
  if (lacks_plan (options, structure))
    return tessera_fail (error, TESSERA_INVALID,
                         "to follow a plan takes a plan and steps");
  if (limited.limit_bytes == 0)
    limited.limit_bytes = trace->limit_bytes;
  return run_trace (trace, blocks, structure, &limited, false, error, out_layout);
}

typedef struct
{
  const TesseraTrace *trace;
  const TesseraBlocks *blocks;
  const TesseraStructure *structure;
  TesseraSimulateOptions options;
  uint64_t peak_live_bytes; /* of the last run */
  uint64_t peak_reserved_bytes, n_retries;
} Fit;

/* Runs on a device of @device_bytes (0: endless, to the end) and says whether nothing
 * failed. The limit of the recorded run was a part of its own device. */
static TesseraStatus
try_device (Fit *fit, uint64_t device_bytes, TesseraError *error, bool *out_completes)
{
  TesseraLayout *layout = NULL;
  TesseraStatus status;

  *out_completes = false;
  fit->options.device_bytes = device_bytes;
  status = run_trace (fit->trace, fit->blocks, fit->structure, &fit->options,
                      device_bytes != 0, error, &layout);
  if (status != TESSERA_OK)
    return status;
  *out_completes = layout->n_ooms == 0;
  fit->peak_live_bytes = layout->peak_live_bytes;
  fit->peak_reserved_bytes = layout->peak_reserved_bytes;
  fit->n_retries = layout->n_retries;
  tessera_layout_free (layout);
  return TESSERA_OK;
}

static uint64_t
round_up (uint64_t bytes)
{
  return (bytes + GRAIN_BYTES - 1) / GRAIN_BYTES * GRAIN_BYTES;
}

static TesseraStatus
fail_on_any (const TesseraTrace *trace, TesseraError *error)
{
  return tessera_fail (error, TESSERA_REFUSED,
                       "%s: no device is large enough, a request fails on any; its "
                       "sizes are wrong: record it again",
                       trace->source != NULL && *trace->source ? trace->source
                                                               : "the trace");
}

/*
 * By bisection over the simulation: from what is live at the peak, which no policy can do
 * without, to what the policy reserves on an endless device. More memory does not always
 * help (a flush that happens early can leave a better state), so the answer is one that
 * completes while 2 MiB less do not, and not said to be the only one.
 */
static TesseraStatus
find_smallest (Fit *fit, TesseraError *error, TesseraNeed *need)
{
  const TesseraTrace *trace = fit->trace;
  bool does_complete;
  TesseraStatus status = try_device (fit, 0, error, &does_complete);

  if (status != TESSERA_OK)
    return status;
  if (!does_complete)
    return fail_on_any (trace, error);
  /* Mostly what is reserved with memory to spare is enough; what is taken and given back
   * within one event is not in it. */
  uint64_t completes = round_up (fit->peak_reserved_bytes), step = GRAIN_BYTES;
  uint64_t fails = fit->peak_live_bytes / GRAIN_BYTES * GRAIN_BYTES;
  bool is_tried = false;
  fails -= fails > 0 ? GRAIN_BYTES : 0;
  need->endless_bytes = fit->peak_reserved_bytes;
  while (!is_tried || completes - fails > GRAIN_BYTES)
    {
      const uint64_t middle = fails + (completes - fails) / 2 / GRAIN_BYTES * GRAIN_BYTES;
      const uint64_t device_bytes = middle > fails ? middle : completes;

      status = try_device (fit, device_bytes, error, &does_complete);
      if (status != TESSERA_OK)
        return status;
      if (does_complete)
        {
          completes = device_bytes;
          need->retries = fit->n_retries;
          is_tried = true;
          continue;
        }
      fails = device_bytes;
      if (fails == completes)
        {
          if (completes > UINT64_MAX / 4)
            return fail_on_any (trace, error);
          completes += step;
          step *= 2;
        }
    }
  need->smallest_bytes = completes;
  return TESSERA_OK;
}

TesseraStatus
tessera_fit (const TesseraTrace *trace,
             const TesseraBlocks *blocks,
             const TesseraStructure *structure,
             const TesseraSimulateOptions *options,
             TesseraError *error,
             TesseraNeed *out_need)
{
  Fit fit = {
    .trace = trace, .blocks = blocks, .structure = structure, .options = *options
  };
  TesseraStatus status;

  *out_need = (TesseraNeed){ 0 };
  if (options->kind == TESSERA_LAYOUT_RECORDED || lacks_plan (options, structure))
    return tessera_fail (error, TESSERA_INVALID,
                         "only a policy can be tried on a device");
  fit.options.without_curves = true;
  status = find_smallest (&fit, error, out_need);
  if (status != TESSERA_OK)
    *out_need = (TesseraNeed){ 0 };
  return status;
}
