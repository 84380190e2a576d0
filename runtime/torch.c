/*
 * PyTorch's hooks: what comes in through the pluggable allocator; figures for Python.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/device/device.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "runtime/process.h"

enum
{
  SENTENCE_BYTES = 1024
};

static _Atomic double fractions[TESSERA_MAX_DEVICES]; /* 0: not told */
static atomic_bool uses_streams[TESSERA_MAX_DEVICES];
static atomic_bool tells_streams;
static atomic_bool leaves_out_stacks;

double
tessera_torch_fraction (int ordinal)
{
  return atomic_load (&fractions[ordinal]);
}

bool
tessera_torch_tells_streams (void)
{
  return atomic_load (&tells_streams);
}

bool
tessera_torch_uses_streams (int ordinal)
{
  return atomic_load (&uses_streams[ordinal]);
}

void
tessera_torch_has_record_stream (int is_installed)
{
  atomic_store (&tells_streams, is_installed != 0);
}

/* Out of line: the sentence needs room that a request that succeeds does not. */
static __attribute__ ((noinline)) void
fail_to_open (int ordinal, ssize_t size)
{
  TesseraError error = { 0 };
  char text[SENTENCE_BYTES];

  (void) !tessera_process_device (ordinal, &error);
  snprintf (text, sizeof text, "CUDA out of memory. Tried to allocate %zd bytes. %s",
            size, error.text);
  tessera_throw (text);
}

static RuntimeDevice *
device_of (int ordinal)
{
  RuntimeDevice *device = tessera_process_known_device (ordinal);

  if (tessera_process_state () != TESSERA_PROCESS_SERVING)
    return NULL;
  return device != NULL ? device : tessera_process_device (ordinal, NULL);
}

static uint64_t
serve (RuntimeDevice *device,
       uint64_t size_bytes,
       uint64_t stream,
       char *out_text,
       size_t n_bytes)
{
  TesseraRecorder *recorder = tessera_recorder_enter ();
  RuntimeRequest request = { size_bytes, stream, TESSERA_NONE };

  if (recorder != NULL)
    {
      /* Both may take the interpreter's lock, so no lock of ours is held. */
      tessera_finder_ask (recorder);
      if (!atomic_load_explicit (&leaves_out_stacks, memory_order_relaxed))
        request.stack = tessera_recorder_stack (recorder);
      tessera_recorder_leave (recorder);
    }
  return tessera_device_malloc (device, &request, out_text, n_bytes);
}

void *
tessera_torch_alloc (ssize_t size, int ordinal, void *stream)
{
  char text[SENTENCE_BYTES];
  RuntimeDevice *device;
  uint64_t addr;

  if (size == 0)
    return NULL;
  device = device_of (ordinal);
  if (device == NULL)
    {
      fail_to_open (ordinal, size);
      return NULL;
    }
  /* A negative size is one that is far too large. */
  addr = serve (device, (uint64_t) size, (uintptr_t) stream, text, sizeof text);
  if (addr == 0)
    tessera_throw (text);
  return (void *) (uintptr_t) addr;
}

/* The device that a pointer belongs to is the one named, as a rule; a stale record of
 * PyTorch's may name another. */
static bool
on_owner (int ordinal,
          bool (*act) (RuntimeDevice *device, uint64_t addr, void *user),
          const void *ptr,
          void *user)
{
  RuntimeDevice *named = tessera_process_known_device (ordinal), *device;

  if (named != NULL && act (named, (uintptr_t) ptr, user))
    return true;
  for (int i = 0; i < TESSERA_MAX_DEVICES; i++)
    {
      device = tessera_process_known_device (i);
      if (device != NULL && device != named && act (device, (uintptr_t) ptr, user))
        return true;
    }
  return false;
}

static bool
free_there (RuntimeDevice *device, uint64_t addr, void *user)
{
  return tessera_device_free (device, addr);
}

void
tessera_torch_free (void *ptr, size_t size, int ordinal, void *stream)
{
  if (ptr != NULL && tessera_process_state () == TESSERA_PROCESS_SERVING &&
      !on_owner (ordinal, free_there, ptr, NULL))
    tessera_notice ("PyTorch freed memory that Tessera never gave; it was left alone.");
}

void
tessera_torch_init (int n_devices)
{
  tessera_process_see_devices (n_devices);
  if (n_devices > TESSERA_MAX_DEVICES)
    tessera_notice ("Of %d devices only the first %d can be served.", n_devices,
                    TESSERA_MAX_DEVICES);
}

void
tessera_torch_empty_cache (void)
{
  if (tessera_process_state () != TESSERA_PROCESS_SERVING)
    return;
  for (int i = 0; i < TESSERA_MAX_DEVICES; i++)
    if (tessera_process_known_device (i) != NULL)
      tessera_device_empty_cache (tessera_process_known_device (i));
}

void
tessera_torch_memory_fraction (double fraction, int ordinal)
{
  RuntimeDevice *device = tessera_process_known_device (ordinal);

  if (ordinal < 0 || ordinal >= TESSERA_MAX_DEVICES ||
      tessera_process_state () == TESSERA_PROCESS_FORKED)
    return;
  atomic_store (&fractions[ordinal], fraction);
  if (device != NULL)
    tessera_device_set_fraction (device, fraction);
}

typedef struct
{
  uint64_t addr, size_bytes;
} Base;

static bool
find_base (RuntimeDevice *device, uint64_t addr, void *user)
{
  Base *base = user;

  return tessera_device_base (device, addr, &base->addr, &base->size_bytes);
}

void *
tessera_torch_base_alloc (void *ptr, size_t *out_size)
{
  Base base = { 0 };

  if (tessera_process_state () == TESSERA_PROCESS_SERVING)
    on_owner (-1, find_base, ptr, &base);
  if (out_size != NULL)
    *out_size = base.size_bytes;
  return (void *) (uintptr_t) base.addr;
}

static bool
record_there (RuntimeDevice *device, uint64_t addr, void *user)
{
  return tessera_device_record_stream (device, addr, *(uint64_t *) user);
}

void
tessera_torch_record_stream (void *ptr, void *stream)
{
  uint64_t handle = (uintptr_t) stream;

  if (ptr != NULL && tessera_process_state () == TESSERA_PROCESS_SERVING)
    on_owner (-1, record_there, ptr, &handle);
}

void
tessera_torch_has_streams (int ordinal)
{
  if (ordinal >= 0 && ordinal < TESSERA_MAX_DEVICES &&
      tessera_process_state () != TESSERA_PROCESS_FORKED &&
      !atomic_exchange (&uses_streams[ordinal], true))
    tessera_process_see_streams (ordinal);
}

void
tessera_torch_begin_pool (int ordinal, TesseraTorchPool pool, void *filter)
{
  RuntimeDevice *device = device_of (ordinal);

  if (device != NULL)
    tessera_device_begin_pool (device, (TesseraPoolId){ pool.owner_id, pool.user_id });
}

void
tessera_torch_end_pool (int ordinal, TesseraTorchPool pool)
{
  RuntimeDevice *device = device_of (ordinal);

  if (device != NULL)
    tessera_device_end_pool (device, (TesseraPoolId){ pool.owner_id, pool.user_id });
}

void
tessera_torch_release_pool (int ordinal, TesseraTorchPool pool)
{
  RuntimeDevice *device = device_of (ordinal);

  if (device != NULL)
    tessera_device_release_pool (device, (TesseraPoolId){ pool.owner_id, pool.user_id });
}

void
tessera_leave_out_stacks (int leave_out)
{
  atomic_store (&leaves_out_stacks, leave_out != 0);
}

static RuntimeDevice *
asked_device (int ordinal)
{
  return tessera_process_state () == TESSERA_PROCESS_SERVING
             ? tessera_process_known_device (ordinal)
             : NULL;
}

static void
add_recording (TesseraDeviceStats *stats)
{
  TesseraRecorder *recorder = tessera_recorder_enter ();
  TesseraRecorderStats recorded;

  if (recorder == NULL)
    return;
  tessera_recorder_get_stats (recorder, &recorded);
  stats->n_events = recorded.n_events;
  stats->n_lost = recorded.n_lost;
  tessera_recorder_leave (recorder);
}

int
tessera_get_stats (int ordinal, TesseraDeviceStats *out_stats)
{
  TesseraDeviceStats stats = { .max_split_bytes = UINT64_MAX };
  uint64_t n_bytes = out_stats->struct_bytes;
  RuntimeDevice *device = asked_device (ordinal);

  if (ordinal < 0 || ordinal >= TESSERA_MAX_DEVICES)
    return tessera_set_last_error ("There is no device %d.", ordinal);
  if (n_bytes < sizeof n_bytes)
    return tessera_set_last_error ("struct_bytes is not set.");
  if (device != NULL)
    tessera_device_get_stats (device, &stats);
  add_recording (&stats);
  stats.struct_bytes = n_bytes;
  memcpy (out_stats, &stats, n_bytes < sizeof stats ? n_bytes : sizeof stats);
  return 0;
}

void
tessera_reset_peak_stats (int ordinal)
{
  RuntimeDevice *device = asked_device (ordinal);

  if (device != NULL)
    tessera_device_reset_peaks (device);
}

void
tessera_reset_accumulated_stats (int ordinal)
{
  RuntimeDevice *device = asked_device (ordinal);

  if (device != NULL)
    tessera_device_reset_accumulated (device);
}
