/*
 * Stands between PyTorch and libtessera.so and believes neither: a witness
 * (witness.h), to whom every range that the library hands out must be free, aligned, and
 * in order for the stream that asked. Streams are marked with the driver's events,
 * recorded here. Of the barriers that the library records and waits for the null CUDA tells;
 * a real driver does not, so a plan across streams cannot be judged there.
 *
 * TESSERA_LIBRARY names this library in place of libtessera.so, against which it is
 * linked; what it does not define, the loader finds there. At exit it writes what it saw
 * as JSON to TESSERA_SHIM_REPORT: counts, the greatest sums, and a row for every request.
 * It knows hits from misses by the library's own counters, and checks them by place: hits
 * lie within the height of the plan.
 *
 * No lock is held over the library's calls, which may take the interpreter's lock. Two
 * threads that allocate at once could therefore get each other's verdict of hit or miss;
 * the tests' programs have no such threads, and the sums are compared at exit.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/tessera.h"
#include "tests/allocator/witness.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct
{
  int64_t step;
  uint64_t addr, size_bytes, stream;
  bool is_hit;
  uint64_t extra_bytes;    /* reserved outside of the pool when it had been served */
  uint64_t reserved_bytes; /* at the driver, then */
} Request;

enum
{
  MOST_TIMED = 64 /* steps, from the first */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* All below are guarded by the lock. */
static Witness *witness; /* NULL before the first request */
static Request *requests;
static size_t n_requests, room_requests;
static int64_t step = -1;
static double step_ns[MOST_TIMED]; /* when each began; 0: not timed */
static uint64_t n_failed, n_pools;
static uint64_t peak_reserved_bytes;
static uint64_t base_free_bytes; /* of the device, before the first request */
static int the_device;           /* of the last request; the tests' programs have one */
static uint64_t first_hit = UINT64_MAX, end_of_hits;

/* The library's own functions, which the shim hides from everyone else. */
static struct
{
  void *(*alloc) (ssize_t, int, void *);
  void (*free) (void *, size_t, int, void *);
  void (*record_stream) (void *, void *);
  void (*begin_pool) (int, TesseraTorchPool, void *);
  void (*step) (int64_t);
  void (*phase_begin) (const char *);
  void (*phase_end) (void);
} library;

static void *
find (void *handle, const char *name)
{
  void *function = dlsym (handle, name);

  if (function == NULL)
    abort ();
  return function;
}

static __attribute__ ((constructor)) void
find_library (void)
{
  Dl_info info;
  void *handle = NULL;

  if (dladdr ((void *) (uintptr_t) tessera_version, &info) != 0)
    handle = dlopen (info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  if (handle == NULL)
    abort ();
  *(void **) &library.alloc = find (handle, "tessera_torch_alloc");
  *(void **) &library.free = find (handle, "tessera_torch_free");
  *(void **) &library.record_stream = find (handle, "tessera_torch_record_stream");
  *(void **) &library.begin_pool = find (handle, "tessera_torch_begin_pool");
  *(void **) &library.step = find (handle, "tessera_step");
  *(void **) &library.phase_begin = find (handle, "tessera_phase_begin");
  *(void **) &library.phase_end = find (handle, "tessera_phase_end");
}

/* Where the driver's functions are: a null CUDA is preloaded, a real driver in nobody's global scope. */
static void *
of_driver (void)
{
  if (dlsym (RTLD_DEFAULT, "cuEventCreate") != NULL)
    return RTLD_DEFAULT;
  return dlopen ("libcuda.so.1", RTLD_NOW);
}

/* What the driver has given to this process since the first request. */
static uint64_t
reserved_bytes (void)
{
  int (*get_info) (size_t *, size_t *);
  size_t free_bytes = 0, total_bytes = 0;

  get_info =
      (int (*) (size_t *, size_t *)) (uintptr_t) dlsym (of_driver (), "cuMemGetInfo_v2");
  if (get_info == NULL || get_info (&free_bytes, &total_bytes) != 0)
    return 0;
  if (base_free_bytes == 0)
    base_free_bytes = free_bytes;
  return base_free_bytes > free_bytes ? base_free_bytes - free_bytes : 0;
}

static TesseraDeviceStats
stats_of (int device)
{
  TesseraDeviceStats stats = { .struct_bytes = sizeof stats };

  if (tessera_get_stats (device, &stats) != 0)
    memset (&stats, 0, sizeof stats);
  return stats;
}

/* The driver's functions, which PyTorch has loaded by the first request. */
static struct
{
  int (*create) (void **, unsigned);
  int (*record) (void *, void *);
  int (*query) (void *);
  int (*destroy) (void *);
} driver;

static __thread bool is_own; /* what is recorded now, under the lock */

static void *
mark (void *user, uint64_t stream)
{
  void *event = NULL;

  is_own = true;
  if (driver.create (&event, 2 /* without times */) != 0 ||
      driver.record (event, (void *) (uintptr_t) stream) != 0)
    abort ();
  is_own = false;
  return event;
}

static bool
has_passed (void *user, void *event)
{
  return driver.query (event) == 0;
}

static void
forget (void *user, void *event)
{
  driver.destroy (event);
}

/* The null CUDA tells of events: the program's and the library's, not ours. */
static void
watch (const char *call, void *stream, void *event) /* unmapped: address and bytes */
{
  if (is_own)
    return;
  pthread_mutex_lock (&lock);
  if (strcmp (call, "cuMemUnmap") == 0)
    witness_unmap (witness, (uintptr_t) stream, (uintptr_t) event);
  else if (strcmp (call, "cuStreamWaitEvent") == 0)
    witness_wait (witness, (uintptr_t) stream, (uintptr_t) event);
  else
    witness_record (witness, (uintptr_t) event, strcmp (call, "cuCtxRecordEvent") == 0);
  pthread_mutex_unlock (&lock);
}

static void
watch_driver (void)
{
  void (*set_watch) (void (*) (const char *, void *, void *));

  *(void **) &set_watch = dlsym (of_driver (), "nullcuda_watch");
  if (set_watch != NULL)
    set_watch (watch);
}

static void
open_witness (void)
{
  const WitnessClock clock = { mark, has_passed, forget, NULL };

  if (witness != NULL)
    return;
  *(void **) &driver.create = find (of_driver (), "cuEventCreate");
  *(void **) &driver.record = find (of_driver (), "cuEventRecord");
  *(void **) &driver.query = find (of_driver (), "cuEventQuery");
  *(void **) &driver.destroy = find (of_driver (), "cuEventDestroy_v2");
  witness = witness_new (&clock);
  watch_driver ();
}

static void
note (const Request *request)
{
  if (request->reserved_bytes > peak_reserved_bytes)
    peak_reserved_bytes = request->reserved_bytes;
  requests = witness_grown (requests, n_requests, &room_requests, sizeof *requests);
  requests[n_requests++] = *request;
  if (!request->is_hit)
    return;
  if (request->addr < first_hit)
    first_hit = request->addr;
  if (request->addr + request->size_bytes > end_of_hits)
    end_of_hits = request->addr + request->size_bytes;
}

void *
tessera_torch_alloc (ssize_t size, int device, void *stream)
{
  const WitnessRequest request = { (uint64_t) size, (uintptr_t) stream, 0 };
  uint64_t n_hits;
  void *ptr;

  pthread_mutex_lock (&lock);
  reserved_bytes ();
  the_device = device;
  open_witness ();
  witness_request (witness, request);
  pthread_mutex_unlock (&lock);

  n_hits = stats_of (device).hits;
  ptr = library.alloc (size, device, stream);

  TesseraDeviceStats stats = stats_of (device);
  pthread_mutex_lock (&lock);
  if (ptr == NULL)
    n_failed += size > 0;
  else
    {
      witness_hand_out (witness, request, (uintptr_t) ptr, (uint64_t) size);
      note (&(Request){ .step = step,
                        .addr = (uintptr_t) ptr,
                        .size_bytes = (uint64_t) size,
                        .stream = (uintptr_t) stream,
                        .is_hit = stats.hits > n_hits,
                        .extra_bytes = stats.extra_bytes,
                        .reserved_bytes = reserved_bytes () });
    }
  pthread_mutex_unlock (&lock);
  return ptr;
}

void
tessera_torch_free (void *ptr, size_t size, int device, void *stream)
{
  pthread_mutex_lock (&lock);
  if (ptr != NULL)
    {
      open_witness ();
      witness_give_back (witness, (uintptr_t) ptr);
    }
  pthread_mutex_unlock (&lock);
  library.free (ptr, size, device, stream);
}

void
tessera_torch_record_stream (void *ptr, void *stream)
{
  pthread_mutex_lock (&lock);
  open_witness ();
  witness_record_stream (witness, (uintptr_t) ptr, (uintptr_t) stream);
  pthread_mutex_unlock (&lock);
  library.record_stream (ptr, stream);
}

/* Private pools are not told: a program that uses one is not judged by them. */
void
tessera_torch_begin_pool (int device, TesseraTorchPool pool, void *filter)
{
  pthread_mutex_lock (&lock);
  n_pools++;
  pthread_mutex_unlock (&lock);
  library.begin_pool (device, pool, filter);
}

/* By the null CUDA's clock; 0 on a GPU. */
static double
now_ns (void)
{
  double (*virtual_ns) (void) =
      (double (*) (void)) (uintptr_t) dlsym (RTLD_DEFAULT, "nullcuda_now_ns");

  return virtual_ns != NULL ? virtual_ns () : 0;
}

void
tessera_step (int64_t number)
{
  pthread_mutex_lock (&lock);
  step = number;
  if (number >= 0 && number < MOST_TIMED)
    step_ns[number] = now_ns ();
  if (witness != NULL)
    witness_mark (witness);
  pthread_mutex_unlock (&lock);
  library.step (number);
}

static void
see_mark (void)
{
  pthread_mutex_lock (&lock);
  if (witness != NULL)
    witness_mark (witness);
  pthread_mutex_unlock (&lock);
}

void
tessera_phase_begin (const char *name)
{
  see_mark ();
  library.phase_begin (name);
}

void
tessera_phase_end (void)
{
  see_mark ();
  library.phase_end ();
}

static void
write_report (FILE *file)
{
  TesseraDeviceStats stats = stats_of (the_device);
  const WitnessFindings *found = witness_findings (witness);
  uint64_t n_hits = 0;

  for (size_t i = 0; i < n_requests; i++)
    n_hits += requests[i].is_hit;
  fprintf (file, "{\"overlaps\": %" PRIu64 ", \"misaligned\": %" PRIu64,
           found->n_overlaps, found->n_misaligned);
  fprintf (file, ", \"unknown_frees\": %" PRIu64 ", \"failed\": %" PRIu64,
           found->n_unknown_frees, n_failed);
  fprintf (file, ", \"of_another_stream\": %" PRIu64 ", \"pending\": %" PRIu64,
           found->n_other_stream, found->n_pending);
  fprintf (file, ", \"of_another_kind\": %" PRIu64 ", \"private_pools\": %" PRIu64,
           found->n_other_kind, n_pools);
  fprintf (file,
           ", \"reused\": %" PRIu64 ", \"marked\": %" PRIu64 ", \"crossed\": %" PRIu64,
           found->n_reused, found->n_marked, found->n_crossed);
  fprintf (file, ", \"passed\": %" PRIu64 ", \"barriers\": %" PRIu64, found->n_passed,
           stats.barriers);
  fprintf (file, ", \"misses_unknown\": %" PRIu64 ", \"misses_occupied\": %" PRIu64,
           stats.misses_unknown, stats.misses_occupied);
  fprintf (file, ", \"misses_unordered\": %" PRIu64 ", \"misses_planned\": %" PRIu64,
           stats.misses_unordered, stats.misses_planned);
  fprintf (file, ", \"peak_live_bytes\": %" PRIu64 ", \"peak_reserved_bytes\": %" PRIu64,
           found->peak_live_bytes, peak_reserved_bytes);
  fprintf (file, ", \"hits\": %" PRIu64 ", \"hits_said\": %" PRIu64, n_hits, stats.hits);
  fprintf (file, ", \"misses_said\": %" PRIu64 ", \"peak_extra_said\": %" PRIu64,
           stats.misses, stats.peak_extra_bytes);
  fprintf (file, ", \"plan_height_bytes\": %" PRIu64 ", \"hits_span_bytes\": %" PRIu64,
           stats.plan_height_bytes, n_hits > 0 ? end_of_hits - first_hit : 0);
  fprintf (file, ", \"pool_bytes\": %" PRIu64 ", \"plan_is_declined\": %" PRIu64,
           stats.pool_bytes, stats.plan_is_declined);
  fprintf (file, ", \"step_ns\": [%.0f", step_ns[0]);
  for (int i = 1; i < MOST_TIMED && step_ns[i] > 0; i++)
    fprintf (file, ", %.0f", step_ns[i]);
  fprintf (file, "],\n\"requests\": [");
  for (size_t i = 0; i < n_requests; i++)
    fprintf (file, "%s[%" PRId64 ",%" PRIu64 ",%d,%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]",
             i > 0 ? ",\n" : "\n", requests[i].step, requests[i].size_bytes,
             requests[i].is_hit, requests[i].stream, requests[i].extra_bytes,
             requests[i].reserved_bytes);
  fprintf (file, "]}\n");
}

static __attribute__ ((destructor)) void
report (void)
{
  const char *path = getenv ("TESSERA_SHIM_REPORT");
  FILE *file = path != NULL && n_requests > 0 ? fopen (path, "w") : NULL;

  if (file == NULL)
    return;
  write_report (file);
  fclose (file);
}
