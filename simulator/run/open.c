/*
 * The policy of a run, its device, and what it tells of segments.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdio.h>

#include "simulator/run/state.h"

static void
see_segment (void *user,
             uint64_t addr,
             uint64_t size_bytes,
             uint32_t stream,
             uint32_t pool,
             bool is_small,
             bool is_expandable)
{
  TesseraRun *run = user;
  bool is_pool = run->policy != NULL && tessera_policy_is_in_pool (run->policy, addr);

  tessera_build_add_span (&run->build,
                          (TesseraSpan){ .addr = addr,
                                         .size_bytes = size_bytes,
                                         .stream = (uint16_t) stream,
                                         .pool = (uint16_t) pool,
                                         .is_small = is_small,
                                         .is_expandable = is_expandable && !is_pool,
                                         .is_plan_pool = is_pool });
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
  TesseraRun *run = user;

  tessera_build_cut (&run->build, addr, size_bytes);
}

static void
see_plan_declined (void *user)
{
  TesseraRun *run = user;
  TesseraLayout *layout = run->build.layout;

  layout->declined_index = run->build.now;
  snprintf (layout->note, sizeof layout->note,
            "The plan does not suit this run, which declines it at event %u: expandable "
            "rules serve from there on, and what nobody needs of the pool is given back.",
            run->build.now);
}

static TesseraStatus
open_kind (TesseraRun *run,
           TesseraPolicyKind kind,
           uint64_t limit_bytes,
           TesseraError *error)
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
    .has_fine_pages = true,
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

TesseraStatus
tessera_run_open_policy (TesseraRun *run, uint64_t limit_bytes, TesseraError *error)
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
  run->device.synchronize = tessera_run_synchronize;
  run->device.user = run;
  status = open_kind (run, kinds[kind], limit_bytes, &declined);
  if (status == TESSERA_OUT_OF_DEVICE)
    {
      const TesseraBlock nobody = { .size_bytes = 0 };

      tessera_build_oom (&run->build, &nobody,
                         tessera_plan_pool_bytes (run->options->plan),
                         tessera_run_free_at_device (run));
      return open_kind (run, TESSERA_POLICY_EXPANDABLE, limit_bytes, error);
    }
  if (status != TESSERA_OK)
    return tessera_fail (error, status, "%s", declined.text);
  tessera_policy_get_stats (run->policy, &stats);
  run->build.layout->pool_addr = stats.pool_addr;
  return TESSERA_OK;
}
