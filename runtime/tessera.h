/*
 * libtessera.so: Tessera inside a training process.
 *
 * PyTorch calls the tessera_torch_* functions through a pluggable allocator; the Python
 * package calls the others through ctypes. Nothing here aborts, exits or prints. All
 * functions may be called from any thread, with or without the interpreter's lock, and in
 * a forked child, where they serve memory no more and record nothing: a child has no
 * device. The library is never unloaded.
 *
 * Sizes are bytes. Text is UTF-8. Functions that return int give 0, or -1 after which
 * tessera_last_error() says why in one sentence (kept per thread).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define TESSERA_API __attribute__ ((visibility ("default")))

TESSERA_API const char *tessera_version (void);
TESSERA_API const char *tessera_last_error (void);

/*
 * Before tessera_start(). Unknown keys and values that make no sense are refused.
 *
 * policy       native (default), expandable, direct, plan
 * record       path of the trace to write; %r rank, %h host, %p process; none by default
 * plan         path of the plan to follow; implies policy=plan
 * follow       length: steps of other lengths than the plan's trace are planned as well;
 *              trace: the plan of the trace as it was, for the same batches in the same
 *              order; default: length where the plan has steps that vary by a law
 * torch        version of PyTorch, kept in the trace; a plan of another one is declined
 * rank, world  of this process; default: RANK and WORLD_SIZE of the environment, else 0
 *              of 1
 * alloc_conf   text of PYTORCH_CUDA_ALLOC_CONF, which native and expandable obey;
 *              default: that of the environment
 * limit        fraction of the device, 0..1; 0: none
 * flush_ms     at most this long until an event is in the file (default 250)
 * ring_events  events that the ring holds (default 262144)
 * stacks       1: Python stacks of allocations are recorded; 0 (default): they are not
 */
TESSERA_API int tessera_configure (const char *key, const char *value);

/* Opens plan and trace. What fails is declined and said by a notice: without the trace
 * the run goes on unrecorded, without the plan under expandable rules. -1 only where it
 * could not serve memory at all (no driver, no memory): then PyTorch's own allocator must
 * stay in place. */
TESSERA_API int tessera_start (void);
/* Everything recorded is in the file and the file is closed; memory is served as before.
 * Call at interpreter exit. Safe to call twice. */
TESSERA_API void tessera_stop (void);
/* Begins a trace in the midst of the run, at @path as it is, with what is held now as its
 * start; tessera_stop() ends it, after which another may begin. -1 where one is written. */
TESSERA_API int tessera_record (const char *path, int stacks);
/* Whether a trace is being written: not after tessera_stop(), or where it is refused. */
TESSERA_API int tessera_is_recording (void);
/* The path of the trace that is being written, borrowed for good; NULL: none is. */
TESSERA_API const char *tessera_trace_path (void);
/* What was recorded so far is in the file when this returns. For tests and snapshots. */
TESSERA_API int tessera_flush (void);

/* A sentence that a person should read, each once: a plan declined, a trace that cannot
 * be written, a missing hook. Returns its length, 0 when there is none. */
TESSERA_API size_t tessera_take_notice (char *out_text, size_t n_bytes);

/*
 * What the program is doing. Names are copied. Steps and phases are the process's,
 * modules the calling thread's: a phase of the main thread holds for the autograd thread
 * too.
 */
TESSERA_API void tessera_step (int64_t number); /* a step ends here, this one begins; -1:
                                                   none begins */
/* Called where a step ends, before tessera_step(): whether its requests, on all devices,
 * were those of the step for which this was called last, by size, stream and order. */
TESSERA_API int tessera_step_repeats (void);
TESSERA_API void tessera_phase_begin (const char *name);
TESSERA_API void tessera_phase_end (void);
TESSERA_API void tessera_module_begin (const char *name);
TESSERA_API void tessera_module_end (void);
TESSERA_API void tessera_mark (const char *name);
/* A tensor's storage begins at @address of the device, now. @kind: TesseraTensorKind of
 * db/trace.h: 1 parameter, 2 gradient, 3 state of an optimizer, 4 buffer. For the trace alone;
 * the address is not followed. */
TESSERA_API void
tessera_tensor (int device, const void *address, int kind, const char *name);
/* 1: from here on none is recorded; 0: they are again, where `stacks` asked for them. */
TESSERA_API void tessera_leave_out_stacks (int leave_out);
/* What the trace is to say of the run: a key of its meta, and the value. */
TESSERA_API void tessera_note (const char *key, const char *value);
/* Asked on threads that autograd runs, before an allocation is recorded: the name of the
 * module whose backward runs (borrowed until the next call on this thread), or NULL. It
 * is called with the interpreter's lock held. NULL: nobody is asked. */
TESSERA_API void tessera_set_module_finder (const char *(*find) (void) );

/* PyTorch's own statistics, in its own order: whole, small pool, large pool. */
typedef struct
{
  uint64_t current, peak, allocated, freed;
} TesseraStat;

typedef struct
{
  uint64_t struct_bytes; /* set by the caller: sizeof as it knows it */
  TesseraStat allocation[3], segment[3], active[3], inactive_split[3];
  TesseraStat allocated_bytes[3], reserved_bytes[3], active_bytes[3];
  TesseraStat inactive_split_bytes[3], requested_bytes[3];
  TesseraStat oversize_allocations, oversize_segments;
  uint64_t n_alloc_retries, n_ooms, n_sync_all_streams, n_device_alloc, n_device_free;
  uint64_t max_split_bytes; /* UINT64_MAX: no limit */

  /* Following a plan. */
  uint64_t plan_height_bytes; /* 0: no plan is followed, or no more */
  uint64_t hits, misses, hit_bytes, miss_bytes;
  uint64_t hits_elsewhere, misses_unknown, misses_occupied, misses_unordered;
  uint64_t extra_bytes, peak_extra_bytes; /* reserved outside the pool */

  /* Recording. */
  uint64_t n_events, n_lost;

  uint64_t misses_rescued; /* the device was full; a gap of the pool served */

  /* 1: the plan was followed and turned out not to fit; hits and misses are those until
   * then, plan_height_bytes is 0, and what is left of its pool is still held. */
  uint64_t plan_is_declined;
  uint64_t pool_bytes; /* of the plan: held now */

  /* Of the misses: requests that the plan leaves to the dynamic allocator, on purpose. */
  uint64_t misses_planned, planned_miss_bytes;

  uint64_t barriers; /* at which streams waited, to get what others freed */
} TesseraDeviceStats;

TESSERA_API int tessera_get_stats (int device, TesseraDeviceStats *out_stats);
TESSERA_API void tessera_reset_peak_stats (int device);
TESSERA_API void tessera_reset_accumulated_stats (int device);

/* PyTorch's side: see torch/csrc/cuda/CUDAPluggableAllocator.h for when each is called.
 * Streams are cudaStream_t. Sizes are those of the tensors. Failure to allocate raises a
 * C++ exception through the call, whose text begins "CUDA out of memory.". */
typedef struct
{
  uint64_t owner_id, user_id;
} TesseraTorchPool;

TESSERA_API void *tessera_torch_alloc (ssize_t size, int device, void *stream);
TESSERA_API void tessera_torch_free (void *ptr, size_t size, int device, void *stream);
TESSERA_API void tessera_torch_init (int n_devices);
TESSERA_API void tessera_torch_empty_cache (void);
TESSERA_API void tessera_torch_memory_fraction (double fraction, int device);
TESSERA_API void *tessera_torch_base_alloc (void *ptr, size_t *out_size);
TESSERA_API void tessera_torch_record_stream (void *ptr, void *stream);
/* The program made a stream of its own on the device. It may compute there without ever
 * asking for memory or recording a block on it: from now on what PyTorch keeps apart on
 * each stream stays apart. Call it before anything is done on the stream. */
TESSERA_API void tessera_torch_has_streams (int device);
TESSERA_API void
tessera_torch_begin_pool (int device, TesseraTorchPool pool, void *filter);
TESSERA_API void tessera_torch_end_pool (int device, TesseraTorchPool pool);
TESSERA_API void tessera_torch_release_pool (int device, TesseraTorchPool pool);
/* The Python package says once which hooks PyTorch took: without record_stream nothing is
 * reused from stream to stream, and no plan is followed. */
TESSERA_API void tessera_torch_has_record_stream (int is_installed);
