/*
 * Opening a device: its rules, its policy, and what the recording says of both.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/device/device-internal.h"

#include <stdio.h>
#include <stdlib.h>

#include "db/array.h"
#include "runtime/process/alloc-conf.h"
#include "runtime/process/notice.h"
#include "runtime/process/plan-file.h"

static void
complain (const char *sentence)
{
  tessera_notice ("%s", sentence);
}

static bool
is_by_length (const TesseraPlan *plan)
{
  return plan != NULL &&
         (tessera_options.follow == TESSERA_FOLLOW_LENGTH ||
          (tessera_options.follow == TESSERA_FOLLOW_BEST && plan->lengths != NULL));
}

static TesseraStatus
make_policy (RuntimeDevice *device,
             const TesseraPlan *plan,
             uint64_t limit_bytes,
             TesseraError *error)
{
  const TesseraObserver observer = tessera_device_observer (device);
  const TesseraPolicyOptions options = {
    .kind = device->kind,
    .caching = { .settings = device->settings, .limit_bytes = limit_bytes },
    .plan = plan,
    .by_length = is_by_length (plan),
    .has_fine_pages = true,
  };

  return tessera_policy_new (&options, tessera_cuda_device (device->cuda), &observer,
                             error, &device->policy);
}

static void
on_synchronize (void *user)
{
  tessera_device_wait (user);
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

/* The device and its rules, before memory is taken. Returns: the limit in bytes; 0: none.
 */
static uint64_t
settle (RuntimeDevice *device, TesseraPolicyKind kind, const TesseraPlan *plan)
{
  double fraction = tessera_options.limit_fraction;
  uint64_t free_bytes;

  tessera_cuda_memory (device->cuda, &device->memory_bytes, &free_bytes);
  tessera_settings_default (&device->settings);
  tessera_alloc_conf_parse (tessera_options.alloc_conf, &device->settings, &fraction,
                            complain);
  if (tessera_torch_fraction (device->ordinal) > 0)
    fraction = tessera_torch_fraction (device->ordinal);
  device->stats.max_split_bytes = device->settings.max_split_bytes;
  choose_kind (device, kind, plan);
  return tessera_device_limit (device, fraction);
}

/* What serves in the end. */
static void
record_policy (RuntimeDevice *device)
{
  tessera_recorder_meta (device->recorder, "policy",
                         tessera_policy_kind_name (device->kind));
  if (device->kind == TESSERA_POLICY_PLAN)
    tessera_device_pool_sized (device);
}

static bool
fill (RuntimeDevice *device,
      TesseraPolicyKind kind,
      const TesseraPlan *plan,
      TesseraError *error)
{
  uint64_t limit_bytes;
  uint16_t stream;

  if (tessera_cuda_open (device->ordinal, error, &device->cuda) != TESSERA_OK)
    return false;
  tessera_cuda_set_synchronize (device->cuda, on_synchronize, device);
  limit_bytes = settle (device, kind, plan);
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
    record_policy (device);
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
