/*
 * A device under its lock: what it follows, its limit, the marks of the program; its
 * blocks, its streams and the private pools that are open; and how it is opened, with what
 * the recording says of its rules and its policy.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/device/device-internal.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db/array.h"
#include "runtime/guest.h"

void
tessera_device_lock (RuntimeDevice *device)
{
  pthread_mutex_lock (&device->lock);
}

void
tessera_device_enter (RuntimeDevice *device)
{
  TesseraRecorder *recorder = tessera_recorder_enter ();

  pthread_mutex_lock (&device->lock);
  device->entered = recorder;
  device->recorder = tessera_recorder_still (recorder);
}

void
tessera_device_unlock (RuntimeDevice *device)
{
  TesseraRecorder *recorder = device->entered;

  device->recorder = device->entered = NULL;
  pthread_mutex_unlock (&device->lock);
  tessera_recorder_leave (recorder);
}

/* What @fraction of the memory is; 0: no limit, which is what 1 and more mean. */
static uint64_t
limit_of (const RuntimeDevice *device, double fraction)
{
  return fraction > 0 && fraction < 1
             ? (uint64_t) (fraction * (double) device->memory_bytes)
             : 0;
}

void
tessera_device_set_fraction (RuntimeDevice *device, double fraction)
{
  tessera_device_lock (device);
  device->limit_bytes = limit_of (device, fraction);
  tessera_policy_set_limit (device->policy, device->limit_bytes);
  tessera_device_unlock (device);
}

void
tessera_device_see_streams (RuntimeDevice *device)
{
  tessera_device_lock (device);
  tessera_policy_see_streams (device->policy);
  tessera_device_unlock (device);
}

void
tessera_device_step (RuntimeDevice *device, bool begins)
{
  tessera_device_lock (device);
  device->step_is_new = true;
  device->step_begins = begins;
  device->step_hash = 0;
  tessera_device_unlock (device);
}

bool
tessera_device_step_repeats (RuntimeDevice *device)
{
  bool does;

  tessera_device_lock (device);
  does = device->step_hash == device->last_step_hash;
  device->last_step_hash = device->step_hash;
  tessera_device_unlock (device);
  return does;
}

void
tessera_device_phase (RuntimeDevice *device, const char *name)
{
  char *phase = name != NULL ? strdup (name) : NULL;

  tessera_device_lock (device);
  free (device->phase);
  device->phase = phase;
  device->phase_is_new = true;
  tessera_device_unlock (device);
}

/* A step or phase in which nothing happens is in no trace, so that the policy must not
 * see it either: what it does would differ from its simulation. */
void
tessera_device_tell_marks (RuntimeDevice *device)
{
  if (device->step_is_new && device->step_begins)
    tessera_policy_step (device->policy);
  else if (device->step_is_new)
    tessera_policy_end_step (device->policy);
  if (device->phase_is_new)
    tessera_policy_phase (device->policy, device->phase);
  device->step_is_new = device->phase_is_new = false;
}

void
tessera_device_mark (RuntimeDevice *device)
{
  const RuntimeBlock nothing = { 0 };

  tessera_device_enter (device);
  tessera_device_record (device, TESSERA_MARK, &nothing, TESSERA_NONE);
  tessera_device_unlock (device);
}

/* ---- Streams, numbered by first use; 0 is the default stream ---- */

static bool
add_stream (RuntimeDevice *device, uint64_t handle, uint16_t *out_stream)
{
  size_t index = device->n_streams;

  if (index > UINT16_MAX ||
      !TESSERA_RESERVE (device->streams, device->cap_streams, index + 1) ||
      (handle != 0 && tessera_table_reserve (&device->stream_of) != TESSERA_OK) ||
      tessera_policy_set_stream_handle (device->policy, (uint32_t) index, handle) !=
          TESSERA_OK)
    return false;
  device->streams[index] = (RuntimeStream){ .handle = handle };
  device->n_streams++;
  if (handle != 0) /* the table knows no 0 */
    tessera_table_add (&device->stream_of, handle, (void *) (index + 1));
  if (device->recorder != NULL && index != 0)
    tessera_recorder_stream (device->recorder, (uint32_t) device->ordinal,
                             (uint16_t) index, handle);
  *out_stream = (uint16_t) index;
  return true;
}

bool
tessera_device_stream (RuntimeDevice *device, uint64_t handle, uint16_t *out_stream)
{
  size_t found;

  *out_stream = 0;
  if (device->n_streams == 0 && !add_stream (device, 0, out_stream))
    return false;
  if (handle == 0)
    return true;
  if (device->streams[device->last_stream].handle == handle)
    {
      *out_stream = device->last_stream;
      return true;
    }
  found = (size_t) tessera_table_get (&device->stream_of, handle);
  if (found != 0)
    *out_stream = (uint16_t) (found - 1);
  else if (!add_stream (device, handle, out_stream))
    return false;
  device->last_stream = *out_stream;
  return true;
}

void
tessera_device_watch_stream (RuntimeDevice *device, uint16_t index)
{
  RuntimeStream *stream = &device->streams[index];
  uint64_t id;

  if (!device->watches_streams || stream->handle == 0) /* the legacy one never goes */
    return;
  id = tessera_cuda_stream_id (device->cuda, stream->handle);
  if (id == 0 || id != stream->id)
    tessera_policy_forget_stream (device->policy, index);
  stream->id = id;
}

/* ---- Private pools ---- */

/* False: no memory, or too many. */
static bool
pool_of (RuntimeDevice *device, TesseraPoolId id, bool adds, uint16_t *out_pool)
{
  size_t n = device->n_pools;

  for (size_t i = 0; i < n; i++)
    if (device->pools[i].id.owner_id == id.owner_id &&
        device->pools[i].id.user_id == id.user_id)
      {
        *out_pool = (uint16_t) i;
        return true;
      }
  if (!adds || n > UINT16_MAX ||
      !TESSERA_RESERVE (device->pools, device->cap_pools, n + 1))
    return false;
  device->pools[n] = (RuntimePool){ .id = id };
  device->n_pools++;
  if (device->recorder != NULL)
    tessera_recorder_pool (device->recorder, (uint32_t) device->ordinal, (uint16_t) n,
                           id);
  *out_pool = (uint16_t) n;
  return true;
}

void
tessera_device_begin_pool (RuntimeDevice *device, TesseraPoolId id)
{
  uint16_t pool;

  tessera_device_enter (device);
  if (device->n_routes == MAX_ROUTES || !pool_of (device, id, true, &pool))
    tessera_notice ("A private pool could not be opened, so its requests are served "
                    "from the default one: do not replay graphs captured into it.");
  else
    {
      device->pools[pool].n_users++;
      device->routes[device->n_routes++] = (RuntimeRoute){ pool, pthread_self () };
      tessera_policy_set_routed (device->policy, true);
    }
  tessera_device_unlock (device);
}

/* The latest that this thread opened to the pool, else the latest of all: captures of
 * several threads may share one. n_routes: none is open. */
static size_t
find_route (const RuntimeDevice *device, uint16_t pool)
{
  size_t found = device->n_routes;

  for (size_t i = device->n_routes; i-- > 0;)
    if (device->routes[i].pool == pool)
      {
        if (pthread_equal (device->routes[i].thread, pthread_self ()))
          return i;
        if (found == device->n_routes)
          found = i;
      }
  return found;
}

void
tessera_device_end_pool (RuntimeDevice *device, TesseraPoolId id)
{
  uint16_t pool;
  size_t ended;

  tessera_device_lock (device);
  if (pool_of (device, id, false, &pool))
    {
      ended = find_route (device, pool);
      for (size_t i = ended; i + 1 < device->n_routes; i++)
        device->routes[i] = device->routes[i + 1];
      device->n_routes -= ended < device->n_routes;
      tessera_policy_set_routed (device->policy, device->n_routes != 0);
    }
  tessera_device_unlock (device);
}

void
tessera_device_release_pool (RuntimeDevice *device, TesseraPoolId id)
{
  uint16_t pool;

  tessera_device_lock (device);
  /* The default pool and one that was never used are unknown to the policy. */
  if (pool_of (device, id, false, &pool) && device->pools[pool].n_users != 0 &&
      --device->pools[pool].n_users == 0)
    (void) !tessera_policy_release_pool (device->policy, pool);
  tessera_device_unlock (device);
}

/* The latest pool that this thread opened, else, for a stream that captures, the latest
 * of all: autograd's threads capture for the thread that called them. */
uint16_t
tessera_device_route (RuntimeDevice *device, uint64_t stream_handle)
{
  for (size_t i = device->n_routes; i-- > 0;)
    if (pthread_equal (device->routes[i].thread, pthread_self ()))
      return device->routes[i].pool;
  if (device->n_routes != 0 &&
      tessera_cuda_stream_is_capturing (device->cuda, stream_handle))
    return device->routes[device->n_routes - 1].pool;
  return 0;
}

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
make_policy (RuntimeDevice *device, const TesseraPlan *plan, TesseraError *error)
{
  const TesseraObserver observer = tessera_device_observer (device);
  const TesseraPolicyOptions options = {
    .kind = device->kind,
    .caching = { .settings = device->settings, .limit_bytes = device->limit_bytes },
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

static _Atomic uint32_t n_open; /* devices of the process, which are never closed */

/* No stream may capture while all of them are marked: the driver would end the capture.
 * PyTorch opens a pool before it begins one. Of other captures only those of the stream
 * itself, and of all that block the legacy one, are seen: streams that were used before
 * may be gone, and must not be asked. Another device may reach into this one's memory, and
 * no mark holds what it does. */
static bool
may_mark (void *user, uint32_t stream)
{
  const RuntimeDevice *device = user;
  uint64_t handle = device->streams[stream].handle;

  return device->n_routes == 0 && atomic_load (&n_open) <= 1 &&
         !tessera_cuda_stream_is_capturing (device->cuda, 0) &&
         (handle == 0 || !tessera_cuda_stream_is_capturing (device->cuda, handle));
}

static uint64_t
handle_of (void *user, uint32_t stream)
{
  return ((const RuntimeDevice *) user)->streams[stream].handle;
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
open_policy (RuntimeDevice *device, const TesseraPlan *plan, TesseraError *error)
{
  TesseraError reason = { 0 };

  if (device->kind != TESSERA_POLICY_PLAN)
    return make_policy (device, NULL, error);
  if (make_policy (device, plan, &reason) == TESSERA_OK)
    return TESSERA_OK;
  tessera_notice (
      "The plan is not followed on device %d, expandable rules serve instead: "
      "%s.",
      device->ordinal, reason.text);
  device->kind = TESSERA_POLICY_EXPANDABLE;
  return make_policy (device, NULL, error);
}

/* Before the first event: the policy's making may already take memory. */
static void
record_device (RuntimeDevice *device)
{
  const TesseraRecordedDevice recorded = {
    .device = (uint32_t) device->ordinal,
    .memory_bytes = device->memory_bytes,
    .limit_bytes = device->limit_bytes,
    .alignment_bytes = TESSERA_MIN_BLOCK_BYTES,
    .settings = device->settings,
  };

  tessera_recorder_device (device->recorder, &recorded);
}

/* The device and its rules, before memory is taken. */
static void
settle (RuntimeDevice *device, TesseraPolicyKind kind, const TesseraPlan *plan)
{
  double fraction = tessera_options.limit_fraction;
  uint64_t free_bytes;

  tessera_cuda_memory (device->cuda, &device->memory_bytes, &free_bytes);
  tessera_settings_default (&device->settings);
  tessera_alloc_conf_parse (tessera_options.alloc_conf, &device->settings, &fraction,
                            complain);
  device->settings.oldest_segment_first = strverscmp (tessera_options.torch, "2.13") >= 0;
  if (tessera_torch_fraction (device->ordinal) > 0)
    fraction = tessera_torch_fraction (device->ordinal);
  device->stats.max_split_bytes = device->settings.max_split_bytes;
  choose_kind (device, kind, plan);
  device->limit_bytes = limit_of (device, fraction);
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

void
tessera_device_record_start (RuntimeDevice *device, TesseraRecorder *recorder)
{
  uint32_t ordinal = (uint32_t) device->ordinal;

  device->recorder = recorder;
  record_device (device);
  for (size_t i = 1; i < device->n_streams; i++)
    tessera_recorder_stream (recorder, ordinal, (uint16_t) i, device->streams[i].handle);
  for (size_t i = 1; i < device->n_pools; i++)
    tessera_recorder_pool (recorder, ordinal, (uint16_t) i, device->pools[i].id);
  tessera_device_record_state (device, recorder, false);
  device->most_pool_bytes = 0;
  record_policy (device);
  device->recorder = NULL;
}

static bool
fill (RuntimeDevice *device,
      TesseraPolicyKind kind,
      const TesseraPlan *plan,
      TesseraError *error)
{
  uint16_t stream;

  if (tessera_cuda_open (device->ordinal, error, &device->cuda) != TESSERA_OK)
    return false;
  tessera_cuda_set_owner (
      device->cuda, &(TesseraCudaOwner){ on_synchronize, may_mark, handle_of, device });
  settle (device, kind, plan);
  if (!TESSERA_RESERVE (device->pools, device->cap_pools, 1))
    {
      tessera_fail (error, TESSERA_NO_MEMORY, "The host has no memory left.");
      return false;
    }
  device->pools[0] = (RuntimePool){ 0 };
  device->n_pools = 1;
  if (device->recorder != NULL)
    record_device (device);
  if (open_policy (device, plan, error) != TESSERA_OK)
    return false;
  if (device->kind == TESSERA_POLICY_NATIVE)
    device->native_stats =
        tessera_caching_stats (tessera_policy_caching (device->policy));
  device->watches_streams = device->kind == TESSERA_POLICY_PLAN &&
                            plan->crosses_streams && !is_by_length (plan);
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
      free (device);
      return NULL;
    }
  device->recorder = NULL;
  atomic_fetch_add (&n_open, 1);
  return device;
}
