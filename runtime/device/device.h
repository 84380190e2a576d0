/*
 * One GPU as PyTorch's allocator hooks see it: requests, frees, streams, pools.
 *
 * Everything of a device is guarded by its one lock, and every change is recorded under
 * it, in the order in which it took effect. The policy decides where a block lies; this
 * knows which block a pointer is, which streams still use it, and the figures that
 * PyTorch's memory_stats() would show.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "allocator/cuda.h"
#include "allocator/policy.h"
#include "recorder/recorder.h"
#include "runtime/tessera.h"

typedef struct RuntimeDevice RuntimeDevice;

/* NULL and @error where it cannot be served. @plan: (nullable): followed if it suits;
 * outlives the device. @recorder: (nullable). Devices are never closed. */
RuntimeDevice *tessera_device_open (int ordinal,
                                    TesseraPolicyKind kind,
                                    const TesseraPlan *plan,
                                    TesseraRecorder *recorder,
                                    TesseraError *error);
void tessera_device_lock (RuntimeDevice *device);
void tessera_device_unlock (RuntimeDevice *device);

typedef struct
{
  uint64_t size_bytes; /* not 0 */
  uint64_t stream;     /* handle */
  uint32_t stack;      /* what tessera_recorder_stack() gave */
} RuntimeRequest;

/* All of these take the lock. Returns: 0 where it failed, with the sentence for the
 * exception in @out_text. */
uint64_t tessera_device_malloc (RuntimeDevice *device,
                                const RuntimeRequest *request,
                                char *out_text,
                                size_t n_bytes);
/* False: no block of this device lies there. */
bool tessera_device_free (RuntimeDevice *device, uint64_t addr);
bool tessera_device_record_stream (RuntimeDevice *device, uint64_t addr, uint64_t stream);
/* More than one works there, whether or not it asks for memory. */
void tessera_device_see_streams (RuntimeDevice *device);
void tessera_device_empty_cache (RuntimeDevice *device);
/* 1 and more: no limit. */
void tessera_device_set_fraction (RuntimeDevice *device, double fraction);
/* The memory that the driver gave in one piece around @addr; false: none. */
bool tessera_device_base (RuntimeDevice *device,
                          uint64_t addr,
                          uint64_t *out_base,
                          uint64_t *out_size_bytes);

/* While a pool is open it serves the requests of streams that capture a graph, and those
 * of the thread that opened it: what PyTorch's filter says is not ours to ask. Too much
 * in a private pool is held longer than it need be, and harms nothing. */
void tessera_device_begin_pool (RuntimeDevice *device, TesseraPoolId id);
void tessera_device_end_pool (RuntimeDevice *device, TesseraPoolId id);
void tessera_device_release_pool (RuntimeDevice *device, TesseraPoolId id);

void tessera_device_get_stats (RuntimeDevice *device, TesseraDeviceStats *out_stats);
void tessera_device_reset_peaks (RuntimeDevice *device);
void tessera_device_reset_accumulated (RuntimeDevice *device);

/* The marks of the program; they take the lock. */
/* A step ended, and @begins: another one begins. */
void tessera_device_step (RuntimeDevice *device, bool begins);
/* See tessera_step_repeats(). */
bool tessera_device_step_repeats (RuntimeDevice *device);
void tessera_device_phase (RuntimeDevice *device, const char *name);
void tessera_device_mark (RuntimeDevice *device);

/* The recording begins in the midst of the run: what the device is. Called with the lock.
 */
void tessera_device_record_start (RuntimeDevice *device, TesseraRecorder *recorder);
/* What is held now, as the recording's start or end. Called with the lock. */
void tessera_device_record_state (RuntimeDevice *device,
                                  TesseraRecorder *recorder,
                                  bool at_end);
