/*
 * A device: opened with its policy, told of what the driver gives, asked for its figures.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/device-internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db/array.h"
#include "runtime/alloc-conf.h"
#include "runtime/notice.h"
#include "runtime/plan-file.h"

void
tessera_device_lock (RuntimeDevice *device)
{
  pthread_mutex_lock (&device->lock);
}

void
tessera_device_enter (RuntimeDevice *device, TesseraRecorder *recorder)
{
  pthread_mutex_lock (&device->lock);
  device->recorder = tessera_recorder_still (recorder);
}

void
tessera_device_unlock (RuntimeDevice *device)
{
  device->recorder = NULL;
  pthread_mutex_unlock (&device->lock);
}

static void
record_span (RuntimeDevice *device, TesseraAction action, const RuntimeSpan *span)
{
  const RuntimeBlock shape = { .addr = span->addr,
                               .size_bytes = span->size_bytes,
                               .stream = (uint16_t) span->stream,
                               .pool = (uint16_t) span->pool };

  tessera_device_record (device, action, &shape, TESSERA_NONE);
}

static void
take_span (RuntimeDevice *device, const RuntimeSpan *span)
{
  tessera_spans_add (&device->spans, span);
  tessera_stats_reserve (&device->stats, span->is_small, span->is_expandable,
                         span->size_bytes);
  record_span (device, span->is_expandable ? TESSERA_SEGMENT_MAP : TESSERA_SEGMENT_ALLOC,
               span);
}

static void
give_span (RuntimeDevice *device, uint64_t addr, uint64_t size_bytes, bool is_expandable)
{
  RuntimeSpan span = tessera_spans_remove (&device->spans, addr, size_bytes);

  span.addr = addr;
  span.size_bytes = size_bytes;
  tessera_stats_unreserve (&device->stats, span.is_small, is_expandable, size_bytes);
  record_span (device, is_expandable ? TESSERA_SEGMENT_UNMAP : TESSERA_SEGMENT_FREE,
               &span);
}

static void
on_segment_alloc (void *user,
                  uint64_t addr,
                  uint64_t size_bytes,
                  uint32_t stream,
                  uint32_t pool,
                  bool is_small)
{
  take_span (user, &(RuntimeSpan){ addr, size_bytes, stream, pool, is_small, false });
}

static void
on_segment_map (void *user,
                uint64_t addr,
                uint64_t size_bytes,
                uint32_t stream,
                uint32_t pool,
                bool is_small)
{
  take_span (user, &(RuntimeSpan){ addr, size_bytes, stream, pool, is_small, true });
}

static void
on_segment_free (void *user, uint64_t addr, uint64_t size_bytes)
{
  give_span (user, addr, size_bytes, false);
}

static void
on_segment_unmap (void *user, uint64_t addr, uint64_t size_bytes)
{
  give_span (user, addr, size_bytes, true);
}

static void
on_synchronize (void *user)
{
  tessera_device_wait (user);
}

static void
complain (const char *sentence)
{
  tessera_notice ("%s", sentence);
}

static uint64_t
limit_of (const RuntimeDevice *device, double fraction)
{
  return fraction > 0 && fraction < 1
             ? (uint64_t) (fraction * (double) device->memory_bytes)
             : 0;
}

static TesseraStatus
make_policy (RuntimeDevice *device,
             const TesseraPlan *plan,
             uint64_t limit_bytes,
             TesseraError *error)
{
  const TesseraObserver observer = { on_segment_alloc, on_segment_free, on_segment_map,
                                     on_segment_unmap, device };
  const TesseraPolicyOptions options = {
    .kind = device->kind,
    .caching = { .settings = device->settings, .limit_bytes = limit_bytes },
    .plan = plan,
  };

  return tessera_policy_new (&options, tessera_cuda_device (device->cuda), &observer,
                             error, &device->policy);
}

/* What serves, as far as it can be known before memory is taken. Settings are recorded
 * once: what a plan misses is served by expandable rules, and so is a run without it. */
static void
choose_kind (RuntimeDevice *device, TesseraPolicyKind kind, const TesseraPlan *plan)
{
  if (kind == TESSERA_POLICY_PLAN &&
      (plan == NULL ||
       !tessera_plan_file_suits (plan, device->ordinal, device->memory_bytes)))
    kind = TESSERA_POLICY_EXPANDABLE;
  if (kind == TESSERA_POLICY_NATIVE && device->settings.is_expandable)
    kind = TESSERA_POLICY_EXPANDABLE;
  device->settings.is_expandable =
      kind == TESSERA_POLICY_EXPANDABLE || kind == TESSERA_POLICY_PLAN;
  device->kind = kind;
}

/* A plan that cannot be followed costs a notice, not the run. */
static TesseraStatus
open_policy (RuntimeDevice *device,
             const TesseraPlan *plan,
             uint64_t limit_bytes,
             TesseraError *error)
{
  TesseraError reason = { 0 };

  if (device->kind != TESSERA_POLICY_PLAN)
    return make_policy (device, NULL, limit_bytes, error);
  if (make_policy (device, plan, limit_bytes, &reason) == TESSERA_OK)
    return TESSERA_OK;
  tessera_notice (
      "The plan is not followed on device %d, expandable rules serve instead: "
      "%s.",
      device->ordinal, reason.text);
  device->kind = TESSERA_POLICY_EXPANDABLE;
  return make_policy (device, NULL, limit_bytes, error);
}

static void
record_pool_of_plan (RuntimeDevice *device, const TesseraPlan *plan)
{
  TesseraPolicyStats stats;
  char text[32];

  tessera_policy_get_stats (device->policy, &stats);
  snprintf (text, sizeof text, "%d", device->ordinal);
  tessera_recorder_meta (device->recorder, "plan_device", text);
  snprintf (text, sizeof text, "%" PRIu64, stats.pool_addr);
  tessera_recorder_meta (device->recorder, "plan_pool_addr", text);
  snprintf (text, sizeof text, "%" PRIu64, stats.pool_bytes);
  tessera_recorder_meta (device->recorder, "plan_pool_bytes", text);
}

/* Before the first event: the policy's making may already take memory. */
static void
record_device (RuntimeDevice *device, uint64_t limit_bytes)
{
  const TesseraRecordedDevice recorded = {
    .device = (uint32_t) device->ordinal,
    .memory_bytes = device->memory_bytes,
    .limit_bytes = limit_bytes,
    .alignment_bytes = TESSERA_MIN_BLOCK_BYTES,
    .settings = device->settings,
  };

  tessera_recorder_device (device->recorder, &recorded);
}

static bool
fill (RuntimeDevice *device,
      TesseraPolicyKind kind,
      const TesseraPlan *plan,
      TesseraError *error)
{
  double fraction = tessera_options.limit_fraction;
  uint64_t free_bytes, limit_bytes;
  uint16_t stream;

  if (tessera_cuda_open (device->ordinal, error, &device->cuda) != TESSERA_OK)
    return false;
  tessera_cuda_set_synchronize (device->cuda, on_synchronize, device);
  tessera_cuda_memory (device->cuda, &device->memory_bytes, &free_bytes);
  tessera_settings_default (&device->settings);
  tessera_alloc_conf_parse (tessera_options.alloc_conf, &device->settings, &fraction,
                            complain);
  if (tessera_torch_fraction (device->ordinal) > 0)
    fraction = tessera_torch_fraction (device->ordinal);
  device->stats.max_split_bytes = device->settings.max_split_bytes;
  limit_bytes = limit_of (device, fraction);
  choose_kind (device, kind, plan);
  if (!TESSERA_RESERVE (device->pools, device->cap_pools, 1))
    {
      tessera_fail (error, TESSERA_NO_MEMORY, "The host has no memory left.");
      return false;
    }
  device->pools[0] = (RuntimePool){ 0 };
  device->n_pools = 1;
  if (device->recorder != NULL)
    record_device (device, limit_bytes);
  if (open_policy (device, plan, limit_bytes, error) != TESSERA_OK)
    return false;
  if (device->kind == TESSERA_POLICY_NATIVE)
    device->native_stats =
        tessera_caching_stats (tessera_policy_caching (device->policy));
  if (device->recorder != NULL)
    {
      tessera_recorder_meta (device->recorder, "policy",
                             tessera_policy_kind_name (device->kind));
      if (device->kind == TESSERA_POLICY_PLAN)
        record_pool_of_plan (device, plan);
    }
  return tessera_device_stream (device, 0, &stream);
}

RuntimeDevice *
tessera_device_open (int ordinal,
                     TesseraPolicyKind kind,
                     const TesseraPlan *plan,
                     TesseraRecorder *recorder,
                     TesseraError *error)
{
  RuntimeDevice *device = calloc (1, sizeof *device);

  if (device == NULL)
    {
      tessera_fail (error, TESSERA_NO_MEMORY, "The host has no memory left.");
      return NULL;
    }
  pthread_mutex_init (&device->lock, NULL);
  device->ordinal = ordinal;
  device->put_off_end = &device->put_off;
  device->has_record_stream = tessera_torch_tells_streams ();
  device->recorder = recorder;
  if (!fill (device, kind, plan, error))
    {
      tessera_policy_free (device->policy);
      tessera_cuda_close (device->cuda);
      free (device->pools);
      free (device->spans.all);
      free (device);
      return NULL;
    }
  device->recorder = NULL;
  return device;
}

bool
tessera_device_follows (const RuntimeDevice *device)
{
  return device->kind == TESSERA_POLICY_PLAN;
}

void
tessera_device_set_fraction (RuntimeDevice *device, double fraction)
{
  tessera_device_lock (device);
  tessera_policy_set_limit (device->policy, limit_of (device, fraction));
  tessera_device_unlock (device);
}

/* After some steps it shows whether a plan was made for this program. */
static void
judge_plan (RuntimeDevice *device)
{
  TesseraPolicyStats stats;

  tessera_policy_get_stats (device->policy, &stats);
  if (stats.follower.hits < stats.follower.misses)
    tessera_notice ("The plan looks made for another model or batch: of the first "
                    "%" PRIu64 " requests %" PRIu64 " missed it.",
                    stats.follower.hits + stats.follower.misses, stats.follower.misses);
}

void
tessera_device_step (RuntimeDevice *device, bool ends_one)
{
  tessera_device_lock (device);
  tessera_policy_step (device->policy);
  device->n_steps += ends_one;
  if (ends_one && device->n_steps == JUDGED_STEPS && tessera_device_follows (device))
    judge_plan (device);
  tessera_device_unlock (device);
}

void
tessera_device_phase (RuntimeDevice *device, const char *name)
{
  tessera_device_lock (device);
  tessera_policy_phase (device->policy, name);
  tessera_device_unlock (device);
}

void
tessera_device_mark (RuntimeDevice *device, TesseraRecorder *recorder)
{
  const RuntimeBlock nothing = { 0 };

  tessera_device_enter (device, recorder);
  tessera_device_record (device, TESSERA_MARK, &nothing, TESSERA_NONE);
  tessera_device_unlock (device);
}
