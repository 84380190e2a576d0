/*
 * Who takes device memory beside PyTorch's allocator: the CUDA driver loads this library,
 * and CUPTI tells it of each call that takes memory or gives it back.
 *
 *   cc -O2 -shared -fPIC -I/usr/local/cuda/include callers.c -o libcallers.so -ldl
 *   CUDA_INJECTION64_PATH=$PWD/libcallers.so TESSERA_CALLERS_REPORT=to.json python x.py
 *
 * The report is written whenever the program asks how much memory is free, so that it
 * tells of the same moment as the answer; at exit only where it never asked. CUPTI is the
 * copy that the program has opened, then what CUPTI_LIBRARY names, then the loader's.
 * "device_bytes" is by how much free memory fell in the calls, which is all there is to
 * know of modules: they are loaded when a kernel is first used. Memory behind a handle
 * counts until its last release, mapped or not. What fails is a sentence in the report.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define _GNU_SOURCE
#include <cupti.h>

#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_ROWS = 2048, MOST_HELD = 1 << 16, MOST_SEEN = 1 << 16, MOST_NAMES = 3 };

/* Up to USES a row counts them, up to CREATES in the bytes that were asked for. */
typedef enum { TAKES, PITCH, CREATES, LOADS, USES, GIVES, RELEASES, RETAINS, ASKS } Kind;

typedef struct
{
  CUpti_CallbackId id;
  Kind kind;
  size_t at, bytes_at; /* in the parameters: what is handed over, and its size */
} Watch;

#define AT(kind, name, field, bytes) \
  { CUPTI_DRIVER_TRACE_CBID_##name, kind, offsetof (name##_params, field), \
    offsetof (name##_params, bytes) }
#define TAKE(name) AT (TAKES, name, dptr, bytesize)
#define GIVE(name) AT (GIVES, name, dptr, dptr)
#define USE(name, field) AT (USES, name, field, field) /* the first may load it */
#define LOAD(name) { CUPTI_DRIVER_TRACE_CBID_##name, LOADS, 0, 0 }

static const Watch watched[] = {
  TAKE (cuMemAlloc_v2), TAKE (cuMemAllocManaged), TAKE (cuMemAllocAsync),
  TAKE (cuMemAllocAsync_ptsz), TAKE (cuMemAllocFromPoolAsync),
  TAKE (cuMemAllocFromPoolAsync_ptsz), AT (PITCH, cuMemAllocPitch_v2, dptr, Height),
  AT (CREATES, cuMemCreate, handle, size), GIVE (cuMemFree_v2), GIVE (cuMemFreeAsync),
  GIVE (cuMemFreeAsync_ptsz), AT (RELEASES, cuMemRelease, handle, handle),
  AT (RETAINS, cuMemRetainAllocationHandle, handle, handle),
  AT (ASKS, cuMemGetInfo_v2, free, total),
  /* A multicast object has no memory of its own: what it takes is measured. */
  LOAD (cuMulticastCreate), LOAD (cuMulticastBindMem), LOAD (cuModuleLoadData),
  LOAD (cuModuleLoadDataEx), LOAD (cuModuleLoadFatBinary), LOAD (cuLibraryLoadData),
  LOAD (cuDevicePrimaryCtxRetain), LOAD (cuCtxCreate_v2), LOAD (cuCtxCreate_v3),
  LOAD (cuCtxSetLimit), LOAD (cuStreamCreate), LOAD (cuStreamCreateWithPriority),
  LOAD (cuMemHostAlloc_v2), LOAD (cuMemHostRegister_v2),
  LOAD (cuGraphInstantiateWithParams),
  USE (cuLaunchKernel, f), USE (cuLaunchKernelEx, f), USE (cuLaunchCooperativeKernel, f),
  USE (cuFuncGetAttribute, hfunc), USE (cuFuncSetAttribute, hfunc),
  USE (cuFuncSetCacheConfig, hfunc), USE (cuKernelGetAttribute, kernel),
  USE (cuKernelSetAttribute, kernel), USE (cuKernelGetFunction, kernel),
  USE (cuModuleGetFunction, name), USE (cuLibraryGetModule, library),
  USE (cuLibraryGetGlobal, name), USE (cuOccupancyMaxActiveBlocksPerMultiprocessor, func),
  USE (cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, func),
};

typedef struct
{
  char caller[192];
  const char *function;
  Kind kind;
  unsigned long calls, unmeasured, taken, given;
  long live, peak, device;
} Row;

static const Watch *watch_of[CUPTI_DRIVER_TRACE_CBID_SIZE];
static const char *report_path;
static pid_t process;
static CUresult (*get_info) (size_t *, size_t *);
static atomic_flag is_measuring = ATOMIC_FLAG_INIT; /* one call at a time is measured */

static _Thread_local bool is_inside; /* a callback of ours: what it calls is nobody's */
static _Thread_local struct
{
  const Watch *watch; /* of the call in progress, or none */
  char caller[sizeof ((Row *) 0)->caller];
  Row *row; /* whose memory is given back */
  long given, live_before;
  size_t free_before;
  bool is_measured;
} pending;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* All below are guarded by the lock. */
static Row rows[MOST_ROWS];
static struct { unsigned long key, refs; long bytes; bool is_handle; Row *row; }
  held[MOST_HELD];
static unsigned long seen[MOST_SEEN]; /* functions with a kernel, mixed */
static unsigned long n_rows, n_held, n_seen, n_failed, n_unknown, first_used;
static long live_bytes; /* of all rows */
static bool has_asked;
static const char *error = "";

/* The first libraries up the stack, without a word of CUDA's own. */
static void
name_caller (char *caller, size_t room)
{
  static const char *const passed[]
    = { "libcallers", "libcuda.so", "libcupti.so", "libcudart", "libnvidia-", "libc.so",
        "libpthread", "libstdc++" };
  void *frames[96];
  int n_frames = backtrace (frames, 96), n_names = 0;
  const char *name, *last = "";
  Dl_info info;

  snprintf (caller, room, "?");
  for (int i = 0; i < n_frames && n_names < MOST_NAMES; ++i)
    {
      size_t length = n_names > 0 ? strlen (caller) : 0;
      size_t n = sizeof passed / sizeof *passed;

      if (dladdr (frames[i], &info) == 0 || info.dli_fname == NULL)
        continue;
      name = strrchr (info.dli_fname, '/');
      name = name != NULL ? name + 1 : info.dli_fname;
      while (n > 0 && strncmp (name, passed[n - 1], strlen (passed[n - 1])) != 0)
        --n;
      if (n > 0 || strcmp (name, last) == 0)
        continue;
      snprintf (caller + length, room - length, "%s%s", n_names++ > 0 ? " < " : "", name);
      last = name;
    }
}

static bool
ask_free (size_t *free_bytes)
{
  size_t total;

  if (get_info (free_bytes, &total) != CUDA_SUCCESS)
    return false; /* no context is current */
  if (first_used == 0)
    first_used = total - *free_bytes;
  return true;
}

/* The last row has what is too much. */
static Row *
find_row (const char *caller, const char *function, Kind kind)
{
  Row *row = rows;

  while (row < rows + n_rows && row < rows + MOST_ROWS - 1
         && (strcmp (row->caller, caller) != 0 || strcmp (row->function, function) != 0))
    ++row;
  if (row == rows + n_rows)
    {
      *row = (Row) { .function = function, .kind = kind };
      snprintf (row->caller, sizeof row->caller, "%s", caller);
      ++n_rows;
    }
  return row;
}

static void
change (Row *row, long bytes)
{
  *(bytes > 0 ? &row->taken : &row->given) += (unsigned long) labs (bytes);
  row->live += bytes;
  live_bytes += bytes;
  if (row->live > row->peak)
    row->peak = row->live;
}

/* One more (or, with @by -1, one less) holds what a handle or an address is for. */
static void
hold (unsigned long key, bool is_handle, unsigned long by, long bytes, Row *row)
{
  size_t i = n_held;

  while (i > 0 && (held[i - 1].key != key || held[i - 1].is_handle != is_handle))
    --i;
  if (i > 0 && (held[i - 1].refs += by) == 0)
    {
      pending.row = held[i - 1].row;
      pending.given = held[i - 1].bytes;
      change (pending.row, -pending.given);
      held[i - 1] = held[--n_held];
    }
  else if (i == 0 && row != NULL && n_held < MOST_HELD)
    {
      held[n_held].key = key, held[n_held].is_handle = is_handle, held[n_held].refs = 1;
      held[n_held].bytes = bytes, held[n_held++].row = row;
    }
  else if (i == 0)
    n_unknown += key != 0;
}

/* True the first time. A full table has seen everything. */
static bool
is_new (CUpti_CallbackId id, unsigned long kernel)
{
  unsigned long key = ((kernel ^ (unsigned long) id << 48) * 0x9e3779b97f4a7c15ul) | 1;
  size_t i = key >> 48;

  while (seen[i] != 0 && seen[i] != key)
    i = (i + 1) % MOST_SEEN;
  if (seen[i] == key || n_seen == MOST_SEEN / 2)
    return false;
  seen[i] = key;
  return ++n_seen;
}

static void
write_report (size_t free_bytes, size_t total)
{
  char path[4096];
  FILE *file;

  snprintf (path, sizeof path, "%s.%d", report_path != NULL ? report_path : "", process);
  if (report_path == NULL || process != getpid () || (file = fopen (path, "w")) == NULL)
    return;
  fprintf (file, "{\"error\": \"%s\", \"free_bytes\": %zu, \"total_bytes\": %zu, "
           "\"rows\": [", error, free_bytes, total);
  for (const Row *row = rows; row < rows + n_rows; ++row)
    fprintf (file, "%s\n{\"caller\": \"%s\", \"function\": \"%s\", "
             "\"is_allocation\": %s, \"calls\": %lu, \"unmeasured_calls\": %lu, "
             "\"taken_bytes\": %lu, \"given_back_bytes\": %lu, \"live_bytes\": %ld, "
             "\"peak_live_bytes\": %ld, "
             "\"device_bytes\": %ld}", row > rows ? "," : "", row->caller, row->function,
             row->kind < LOADS ? "true" : "false", row->calls, row->unmeasured,
             row->taken, row->given, row->live, row->peak, row->device);
  fprintf (file, "],\n\"first_used_bytes\": %lu, \"failed_calls\": %lu, "
           "\"unknown_gives\": %lu}\n", first_used, n_failed, n_unknown);
  if (fclose (file) == 0)
    rename (path, report_path);
}

static void
enter (const Watch *watch, const char *params)
{
  unsigned long key;

  memcpy (&key, params + watch->at, sizeof key);
  pending.row = NULL;
  pending.given = 0;
  pending.is_measured = false;
  pthread_mutex_lock (&lock);
  pending.watch = watch->kind == USES && !is_new (watch->id, key) ? NULL : watch;
  if (watch->kind == GIVES || watch->kind == RELEASES) /* another may get it now */
    hold (key, watch->kind == RELEASES, -1ul, 0, NULL);
  pending.live_before = live_bytes;
  pthread_mutex_unlock (&lock);
  if (pending.watch == NULL || (watch->kind >= GIVES && pending.row == NULL))
    return;
  if (watch->kind < GIVES)
    name_caller (pending.caller, sizeof pending.caller);
  if (atomic_flag_test_and_set (&is_measuring))
    return;
  pending.is_measured = ask_free (&pending.free_before);
  if (!pending.is_measured)
    atomic_flag_clear (&is_measuring);
}

static void
leave (const Watch *watch, const CUpti_CallbackData *data)
{
  const char *params = data->functionParams;
  bool has_failed = *(const CUresult *) data->functionReturnValue != CUDA_SUCCESS;
  bool is_measured = pending.is_measured;
  size_t free_after, *out;
  long fell = 0, bytes = 0;

  if (pending.is_measured)
    {
      is_measured = ask_free (&free_after);
      atomic_flag_clear (&is_measuring);
    }
  memcpy (&out, params + watch->at, sizeof out);
  memcpy (&bytes, params + watch->bytes_at, sizeof bytes);
  pthread_mutex_lock (&lock);
  n_failed += has_failed;
  if (is_measured) /* less what others took meanwhile */
    fell = (long) (pending.free_before - free_after) - (live_bytes - pending.live_before);
  if (!has_failed && watch->kind == RETAINS)
    hold (*out, true, 1, 0, NULL);
  else if (!has_failed && watch->kind == ASKS)
    {
      has_asked = true;
      write_report (*out, *(size_t *) bytes);
    }
  else if (!has_failed && watch->kind < GIVES)
    {
      pending.row = find_row (pending.caller, data->functionName, watch->kind);
      ++pending.row->calls;
      if (watch->kind == PITCH)
        bytes *= (long) *((const cuMemAllocPitch_v2_params *) params)->pPitch;
      else if (watch->kind >= LOADS)
        bytes = fell;
      else if (watch->kind == CREATES && ((const cuMemCreate_params *) params)->prop
                                           ->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
        bytes = 0; /* the host's */
      change (pending.row, bytes);
      if (watch->kind < LOADS)
        hold (*out, watch->kind == CREATES, 1, bytes, pending.row);
    }
  if (pending.row != NULL)
    {
      bytes = watch->kind < GIVES ? bytes : -pending.given;
      pending.row->device += is_measured ? fell : bytes;
      pending.row->unmeasured += !is_measured;
    }
  pthread_mutex_unlock (&lock);
}

static void CUPTIAPI
on_call (void *none, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *call)
{
  const CUpti_CallbackData *data = call;

  (void) none;
  if (is_inside || domain != CUPTI_CB_DOMAIN_DRIVER_API || watch_of[id] == NULL)
    return;
  is_inside = true;
  if (data->callbackSite == CUPTI_API_ENTER)
    enter (watch_of[id], data->functionParams);
  else if (pending.watch == watch_of[id])
    {
      pending.watch = NULL;
      leave (watch_of[id], data);
    }
  is_inside = false;
}

/* What failed, or NULL. */
static const char *
start (void)
{
  const char *names[] = { "libcupti.so.13", "libcupti.so.12", getenv ("CUPTI_LIBRARY"),
                          "libcupti.so.13", "libcupti.so.12" }, *why = "CUPTI failed";
  void *cupti = NULL, *driver = dlopen ("libcuda.so.1", RTLD_NOW), *frame;
  CUptiResult (*subscribe) (CUpti_SubscriberHandle *, CUpti_CallbackFunc, void *), result;
  CUptiResult (*enable) (uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain,
                         CUpti_CallbackId), (*say) (CUptiResult, const char **);
  CUpti_SubscriberHandle subscriber;

  for (size_t i = 0; cupti == NULL && i < 5; ++i)
    if (names[i] != NULL)
      cupti = dlopen (names[i], RTLD_NOW | (i < 2 ? RTLD_NOLOAD : 0));
  if (cupti == NULL || driver == NULL)
    return "libcupti or libcuda is not found: CUPTI_LIBRARY may name it";
  *(void **) &get_info = dlsym (driver, "cuMemGetInfo_v2");
  *(void **) &subscribe = dlsym (cupti, "cuptiSubscribe");
  *(void **) &enable = dlsym (cupti, "cuptiEnableCallback");
  *(void **) &say = dlsym (cupti, "cuptiGetResultString");
  if (get_info == NULL || subscribe == NULL || enable == NULL || say == NULL)
    return "libcupti or libcuda lacks a function";
  backtrace (&frame, 1); /* its first call opens a library */
  result = subscribe (&subscriber, on_call, NULL);
  for (size_t i = 0; result == CUPTI_SUCCESS && i < sizeof watched / sizeof *watched; ++i)
    {
      watch_of[watched[i].id] = &watched[i];
      result = enable (1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, watched[i].id);
    }
  if (result != CUPTI_SUCCESS)
    say (result, &why);
  return result == CUPTI_SUCCESS ? NULL : why;
}

/* The driver calls it. A job without CUPTI still runs: the report says why. */
__attribute__ ((visibility ("default"))) int
InitializeInjection (void)
{
  const char *why;

  if (process != 0)
    return 1;
  process = getpid ();
  report_path = getenv ("TESSERA_CALLERS_REPORT");
  if ((why = start ()) != NULL)
    {
      error = why;
      write_report (0, 0);
    }
  return 1;
}

static __attribute__ ((destructor)) void
report_last (void)
{
  if (!has_asked && n_rows > 0)
    write_report (0, 0);
}
