/*
 * Stands between PyTorch and libtessera.so and believes neither: a table of live ranges
 * of its own, in which every address that the library hands out must lie free and
 * aligned.
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

#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum
{
  ALIGNMENT_BYTES = 512
};

typedef struct
{
  uint64_t addr, size_bytes;
} Range;

typedef struct
{
  int64_t step;
  uint64_t addr, size_bytes, stream;
  bool is_hit;
  uint64_t extra_bytes;    /* reserved outside of the pool when it had been served */
  uint64_t reserved_bytes; /* at the driver, then */
} Request;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* All below are guarded by the lock. */
static Range *live; /* by address; no two overlap but where an overlap was counted */
static size_t n_live, room_live;
static Request *requests;
static size_t n_requests, room_requests;
static int64_t step = -1;
static uint64_t n_overlaps, n_misaligned, n_unknown_frees, n_failed;
static uint64_t live_bytes, peak_live_bytes, peak_reserved_bytes;
static uint64_t base_free_bytes; /* of the device, before the first request */
static int the_device;           /* of the last request; the tests' programs have one */
static uint64_t first_hit = UINT64_MAX, end_of_hits;

static void *
grown (void *items, size_t n_items, size_t *room, size_t item_bytes)
{
  if (n_items < *room)
    return items;
  *room = *room == 0 ? 1024 : 2 * *room;
  items = realloc (items, *room * item_bytes);
  if (items == NULL)
    abort ();
  return items;
}

/* The library's own functions, which the shim hides from everyone else. */
static struct
{
  void *(*alloc) (ssize_t, int, void *);
  void (*free) (void *, size_t, int, void *);
  void (*step) (int64_t);
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
  *(void **) &library.step = find (handle, "tessera_step");
}

/* What the driver has given to this process since the first request. */
static uint64_t
reserved_bytes (void)
{
  int (*get_info) (size_t *, size_t *);
  size_t free_bytes = 0, total_bytes = 0;

  get_info =
      (int (*) (size_t *, size_t *)) (uintptr_t) dlsym (RTLD_DEFAULT, "cuMemGetInfo_v2");
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

/* The first live range that ends behind @addr. */
static size_t
place_of (uint64_t addr)
{
  size_t low = 0, high = n_live;

  while (low < high)
    {
      size_t middle = low + (high - low) / 2;

      if (live[middle].addr + live[middle].size_bytes > addr)
        high = middle;
      else
        low = middle + 1;
    }
  return low;
}

static void
enter (uint64_t addr, uint64_t size_bytes)
{
  size_t at = place_of (addr);

  n_misaligned += addr % ALIGNMENT_BYTES != 0;
  n_overlaps += at < n_live && live[at].addr < addr + size_bytes;
  live = grown (live, n_live, &room_live, sizeof *live);
  memmove (&live[at + 1], &live[at], (n_live - at) * sizeof *live);
  live[at] = (Range){ addr, size_bytes };
  n_live++;
  live_bytes += size_bytes;
  if (live_bytes > peak_live_bytes)
    peak_live_bytes = live_bytes;
}

static void
leave (uint64_t addr)
{
  size_t at = place_of (addr);

  if (at == n_live || live[at].addr != addr)
    {
      n_unknown_frees++;
      return;
    }
  live_bytes -= live[at].size_bytes;
  n_live--;
  memmove (&live[at], &live[at + 1], (n_live - at) * sizeof *live);
}

static void
note (const Request *request)
{
  if (request->reserved_bytes > peak_reserved_bytes)
    peak_reserved_bytes = request->reserved_bytes;
  requests = grown (requests, n_requests, &room_requests, sizeof *requests);
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
  uint64_t n_hits;
  void *ptr;

  pthread_mutex_lock (&lock);
  reserved_bytes ();
  the_device = device;
  pthread_mutex_unlock (&lock);

  n_hits = stats_of (device).hits;
  ptr = library.alloc (size, device, stream);

  TesseraDeviceStats stats = stats_of (device);
  pthread_mutex_lock (&lock);
  if (ptr == NULL)
    n_failed += size > 0;
  else
    {
      enter ((uintptr_t) ptr, (uint64_t) size);
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
    leave ((uintptr_t) ptr);
  pthread_mutex_unlock (&lock);
  library.free (ptr, size, device, stream);
}

void
tessera_step (int64_t number)
{
  pthread_mutex_lock (&lock);
  step = number;
  pthread_mutex_unlock (&lock);
  library.step (number);
}

static void
write_report (FILE *file)
{
  TesseraDeviceStats stats = stats_of (the_device);
  uint64_t n_hits = 0;

  for (size_t i = 0; i < n_requests; i++)
    n_hits += requests[i].is_hit;
  fprintf (file, "{\"overlaps\": %" PRIu64 ", \"misaligned\": %" PRIu64, n_overlaps,
           n_misaligned);
  fprintf (file, ", \"unknown_frees\": %" PRIu64 ", \"failed\": %" PRIu64,
           n_unknown_frees, n_failed);
  fprintf (file, ", \"peak_live_bytes\": %" PRIu64 ", \"peak_reserved_bytes\": %" PRIu64,
           peak_live_bytes, peak_reserved_bytes);
  fprintf (file, ", \"hits\": %" PRIu64 ", \"hits_said\": %" PRIu64, n_hits, stats.hits);
  fprintf (file, ", \"misses_said\": %" PRIu64 ", \"peak_extra_said\": %" PRIu64,
           stats.misses, stats.peak_extra_bytes);
  fprintf (file, ", \"plan_height_bytes\": %" PRIu64 ", \"hits_span_bytes\": %" PRIu64,
           stats.plan_height_bytes, n_hits > 0 ? end_of_hits - first_hit : 0);
  fprintf (file, ", \"pool_bytes\": %" PRIu64 ", \"plan_is_declined\": %" PRIu64,
           stats.pool_bytes, stats.plan_is_declined);
  fprintf (file, ",\n\"requests\": [");
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
