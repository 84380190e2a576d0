// What handing memory from stream to stream costs on a device, and what an event of a whole context
// covers: the facts that a barrier leans on (docs/gpu/TODO.md). Prints JSON.
//
//   nvcc -O2 -arch=native -o barriers docs/gpu/barriers.cu && ./barriers
//
// SPDX-License-Identifier: Apache-2.0
#include <cuda.h>
#include <cuda_runtime.h>
#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

using Clock = std::chrono::steady_clock;

#define CHECK(call)                                                                                \
  do {                                                                                             \
    int check_status = (int)(call);                                                                \
    if (check_status != 0) {                                                                       \
      fprintf (stderr, "%s:%d: %s: error %d\n", __FILE__, __LINE__, #call, check_status);          \
      exit (1);                                                                                    \
    }                                                                                              \
  } while (0)

// A kernel that waits for this longest time gives up, so that no finding hangs the device.
constexpr long long MOST_SPIN_NS = 2000000000;
constexpr auto A_WHILE = std::chrono::milliseconds (30);

typedef CUresult (*CtxRecordEvent) (CUcontext, CUevent);
static CtxRecordEvent ctx_record_event;
static CUcontext context;
static volatile int *flag_host;  // of the host, seen by kernels
static int *flag;

__device__ long long
now_ns ()
{
  long long ns;
  asm volatile ("mov.u64 %0, %globaltimer;" : "=l"(ns));
  return ns;
}

__global__ void
wait_for_flag (volatile int *go)
{
  long long began = now_ns ();
  while (!*go && now_ns () - began < MOST_SPIN_NS)
    {
    }
}

__global__ void
work_for (long long ns, long long *ended_at)
{
  long long began = now_ns ();
  while (now_ns () - began < ns)
    {
    }
  if (ended_at != nullptr)
    *ended_at = now_ns ();
}

__global__ void
note_time (long long *at)
{
  *at = now_ns ();
}

static cudaStream_t
new_stream ()
{
  cudaStream_t stream;
  CHECK (cudaStreamCreateWithFlags (&stream, cudaStreamNonBlocking));
  return stream;
}

static cudaEvent_t
new_event ()
{
  cudaEvent_t event;
  CHECK (cudaEventCreateWithFlags (&event, cudaEventDisableTiming));
  return event;
}

template <typename Work>
static double
ns_each (int n, Work work)
{
  std::vector<double> rounds;
  for (int round = 0; round < 7; round++)
    {
      auto begin = Clock::now ();
      for (int i = 0; i < n; i++)
        work (i);
      rounds.push_back (std::chrono::duration<double, std::nano> (Clock::now () - begin).count () / n);
      CHECK (cudaDeviceSynchronize ());
    }
  std::sort (rounds.begin (), rounds.end ());
  return rounds[rounds.size () / 2];
}

// Host time of the calls with so many other streams, each of which did some work before every call.
static void
print_calls (int n_streams)
{
  const int n = 300;
  std::vector<cudaStream_t> streams;
  for (int i = 0; i < n_streams; i++)
    streams.push_back (new_stream ());
  cudaStream_t taker = new_stream ();
  cudaEvent_t event = new_event ();
  std::vector<cudaEvent_t> events;
  for (int i = 0; i < n_streams; i++)
    events.push_back (new_event ());
  CHECK (cudaEventRecord (event, streams[0]));
  CHECK (cudaDeviceSynchronize ());

  printf (" {\"streams\": %d", n_streams);
  printf (", \"record_ns\": %.0f", ns_each (n, [&] (int) { CHECK (cudaEventRecord (event, streams[0])); }));
  printf (", \"query_ns\": %.0f", ns_each (n, [&] (int) { CHECK (cudaEventQuery (event)); }));
  printf (", \"wait_ns\": %.0f", ns_each (n, [&] (int) { CHECK (cudaStreamWaitEvent (taker, event, 0)); }));
  printf (", \"launch_ns\": %.0f",
          ns_each (n, [&] (int) { work_for<<<1, 1, 0, streams[0]>>> (0, nullptr); }));
  if (ctx_record_event != nullptr)
    printf (", \"context_record_ns\": %.0f", ns_each (n, [&] (int) { CHECK (ctx_record_event (context, event)); }));
  // What a barrier costs, with one launch on each stream before it; the launches alone beside it.
  auto launches = [&] () {
    for (cudaStream_t stream : streams)
      work_for<<<1, 1, 0, stream>>> (0, nullptr);
  };
  printf (", \"launches_ns\": %.0f", ns_each (100, [&] (int) { launches (); }));
  if (ctx_record_event != nullptr)
    printf (", \"launches_and_context_barrier_ns\": %.0f", ns_each (100, [&] (int) {
              launches ();
              CHECK (ctx_record_event (context, event));
              CHECK (cudaStreamWaitEvent (taker, event, 0));
            }));
  printf (", \"launches_and_list_barrier_ns\": %.0f}", ns_each (100, [&] (int) {
            launches ();
            for (int i = 0; i < n_streams; i++)
              {
                CHECK (cudaEventRecord (events[i], streams[i]));
                CHECK (cudaStreamWaitEvent (taker, events[i], 0));
              }
          }));
  for (cudaStream_t stream : streams)
    CHECK (cudaStreamDestroy (stream));
  for (cudaEvent_t each : events)
    CHECK (cudaEventDestroy (each));
  CHECK (cudaEventDestroy (event));
  CHECK (cudaStreamDestroy (taker));
}

// Device time from the end of work on one stream to the begin of work on another that waits for it.
static double
gap_ns (bool by_context)
{
  cudaStream_t from = new_stream (), to = new_stream ();
  cudaEvent_t event = new_event ();
  long long *at;
  CHECK (cudaMallocHost (&at, 2 * sizeof *at));
  std::vector<double> gaps;
  for (int i = 0; i < 101; i++)
    {
      work_for<<<1, 1, 0, from>>> (200000, at);
      if (by_context)
        CHECK (ctx_record_event (context, event));
      else
        CHECK (cudaEventRecord (event, from));
      CHECK (cudaStreamWaitEvent (to, event, 0));
      note_time<<<1, 1, 0, to>>> (at + 1);
      CHECK (cudaDeviceSynchronize ());
      gaps.push_back ((double)(at[1] - at[0]));
    }
  std::sort (gaps.begin (), gaps.end ());
  CHECK (cudaFreeHost (at));
  return gaps[gaps.size () / 2];
}

// Whether an event of the whole context holds another stream back while work that was enqueued on
// @stream before it is not over; @destroy: the stream is destroyed meanwhile.
static bool
covers (cudaStream_t stream, bool destroy)
{
  cudaEvent_t event = new_event ();
  cudaStream_t taker = new_stream ();
  long long *at;
  CHECK (cudaMallocHost (&at, sizeof *at));
  *at = 0;
  *flag_host = 0;
  wait_for_flag<<<1, 1, 0, stream>>> (flag);
  CHECK (cudaGetLastError ());
  if (destroy)
    CHECK (cudaStreamDestroy (stream));
  CHECK (ctx_record_event (context, event));
  CHECK (cudaStreamWaitEvent (taker, event, 0));
  note_time<<<1, 1, 0, taker>>> (at);
  CHECK (cudaGetLastError ());
  std::this_thread::sleep_for (A_WHILE);
  bool held = cudaEventQuery (event) == cudaErrorNotReady && *(volatile long long *)at == 0;
  *flag_host = 1;
  CHECK (cudaDeviceSynchronize ());
  held = held && *(volatile long long *)at != 0;
  CHECK (cudaFreeHost (at));
  CHECK (cudaEventDestroy (event));
  CHECK (cudaStreamDestroy (taker));
  return held;
}

// What an event of the whole context does while another thread's stream captures, and to that capture.
static void
print_capture (const char *name, cudaStreamCaptureMode mode, bool of_context)
{
  cudaStream_t capturing = new_stream (), other = new_stream (), third = new_stream ();
  cudaEvent_t event = new_event ();
  std::atomic<int> stage (0);
  int status = -1, waited = -1, ended = -1;
  std::thread capturer ([&] {
    CHECK (cudaStreamBeginCapture (capturing, mode));
    work_for<<<1, 1, 0, capturing>>> (0, nullptr);
    stage = 1;
    while (stage != 2)
      std::this_thread::yield ();
    cudaGraph_t graph = nullptr;
    ended = (int)cudaStreamEndCapture (capturing, &graph);
    if (graph != nullptr)
      CHECK (cudaGraphDestroy (graph));
  });
  while (stage != 1)
    std::this_thread::yield ();
  if (of_context)
    status = (int)ctx_record_event (context, event);
  else
    status = (int)cudaEventRecord (event, other);
  waited = (int)cudaStreamWaitEvent (third, event, 0);
  stage = 2;
  capturer.join ();
  cudaGetLastError ();
  printf ("  {\"capture\": \"%s\", \"event_of\": \"%s\", \"record\": %d, \"wait\": %d, \"end_of_capture\": %d}", name,
          of_context ? "context" : "another stream", status, waited, ended);
  CHECK (cudaDeviceSynchronize ());
}

// Milliseconds that a call takes while a kernel runs that ends only after 200 ms.
template <typename Work>
static double
ms_beside_work (Work work)
{
  cudaStream_t busy = new_stream ();
  work_for<<<1, 1, 0, busy>>> (200000000, nullptr);
  std::this_thread::sleep_for (std::chrono::milliseconds (5));
  auto begin = Clock::now ();
  work ();
  double ms = std::chrono::duration<double, std::milli> (Clock::now () - begin).count ();
  CHECK (cudaDeviceSynchronize ());
  CHECK (cudaStreamDestroy (busy));
  return ms;
}

#define DRIVER(name) auto name = (decltype (&::name))dlsym (driver, #name)

static void
print_memory (void *driver)
{
  DRIVER (cuMemAddressReserve);
  DRIVER (cuMemCreate);
  DRIVER (cuMemMap);
  DRIVER (cuMemSetAccess);
  DRIVER (cuMemUnmap);
  DRIVER (cuMemRelease);
  CUmemAllocationProp what = {};
  what.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  what.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CUmemAccessDesc access = {};
  access.location = what.location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  const int n = 64;
  bool is_first = true;
  for (size_t size = 2u << 20; size <= (size_t)200 << 20; size *= 10)
    {
      CUdeviceptr base;
      std::vector<CUmemGenericAllocationHandle> handles (n);
      CHECK (cuMemAddressReserve (&base, n * size, 0, 0, 0));
      auto timed = [&] (auto work) {
        auto begin = Clock::now ();
        for (int i = 0; i < n; i++)
          CHECK (work (i));
        return std::chrono::duration<double, std::micro> (Clock::now () - begin).count () / n;
      };
      double create = timed ([&] (int i) { return cuMemCreate (&handles[i], size, &what, 0); });
      double map = timed ([&] (int i) { return cuMemMap (base + i * size, size, 0, handles[i], 0); });
      double set = timed ([&] (int i) { return cuMemSetAccess (base + i * size, size, &access, 1); });
      double unmap = timed ([&] (int i) { return cuMemUnmap (base + i * size, size); });
      double map_again = timed ([&] (int i) { return cuMemMap (base + i * size, size, 0, handles[i], 0); });
      auto begin = Clock::now ();
      CHECK (cuMemSetAccess (base, n * size, &access, 1));
      double set_all = std::chrono::duration<double, std::micro> (Clock::now () - begin).count ();
      double busy = ms_beside_work ([&] { CHECK (cuMemUnmap (base, size)); });
      for (int i = 1; i < n; i++)
        CHECK (cuMemUnmap (base + i * size, size));
      double release = timed ([&] (int i) { return cuMemRelease (handles[i]); });
      std::vector<void *> plain (n);
      double alloc = timed ([&] (int i) { return cudaMalloc (&plain[i], size); });
      double busy_free = ms_beside_work ([&] { CHECK (cudaFree (plain[0])); });
      double busy_alloc = ms_beside_work ([&] { CHECK (cudaMalloc (&plain[0], size)); });
      double free = timed ([&] (int i) { return cudaFree (plain[i]); });
      printf ("%s  {\"bytes\": %zu, \"create_us\": %.1f, \"map_us\": %.1f, \"set_access_us\": %.1f, "
              "\"unmap_us\": %.1f, \"map_again_us\": %.1f, \"set_access_of_64_at_once_us\": %.1f, "
              "\"release_us\": %.1f, \"malloc_us\": %.1f, \"free_us\": %.1f, "
              "\"unmap_beside_200_ms_of_work_ms\": %.2f, \"free_beside_200_ms_of_work_ms\": %.2f, "
              "\"malloc_beside_200_ms_of_work_ms\": %.2f}",
              is_first ? "" : ",\n", size, create, map, set, unmap, map_again, set_all, release, alloc, free,
              busy, busy_free, busy_alloc);
      is_first = false;
    }
}

int
main ()
{
  CHECK (cudaSetDevice (0));
  CHECK (cudaFree (nullptr));
  void *driver = dlopen ("libcuda.so.1", RTLD_NOW);
  auto current = (CUresult (*) (CUcontext *))dlsym (driver, "cuCtxGetCurrent");
  CHECK (current (&context));
  ctx_record_event = (CtxRecordEvent)dlsym (driver, "cuCtxRecordEvent");
  CHECK (cudaHostAlloc ((void **)&flag_host, sizeof (int), cudaHostAllocMapped));
  CHECK (cudaHostGetDevicePointer ((void **)&flag, (void *)flag_host, 0));
  cudaDeviceProp device;
  CHECK (cudaGetDeviceProperties (&device, 0));
  int version = 0;
  CHECK (cudaDriverGetVersion (&version));
  CUevent probe;
  CHECK (cudaEventCreateWithFlags ((cudaEvent_t *)&probe, cudaEventDisableTiming));
  int status = ctx_record_event != nullptr ? (int)ctx_record_event (context, probe) : -1;
  printf ("{\"device\": \"%s\", \"driver\": %d, \"context_record\": %d,\n\"calls\": [\n", device.name, version, status);
  if (status != 0)
    ctx_record_event = nullptr;
  bool is_first = true;
  for (int n : {1, 4, 16, 64})
    {
      printf ("%s", is_first ? "" : ",\n");
      print_calls (n);
      is_first = false;
    }
  printf ("],\n\"gap_by_event_ns\": %.0f", gap_ns (false));
  if (ctx_record_event != nullptr)
    {
      printf (",\n\"gap_by_context_ns\": %.0f,\n\"covers\": {", gap_ns (true));
      printf ("\"non-blocking stream\": %s", covers (new_stream (), false) ? "true" : "false");
      cudaStream_t blocking;
      CHECK (cudaStreamCreate (&blocking));
      printf (", \"blocking stream\": %s", covers (blocking, false) ? "true" : "false");
      printf (", \"legacy stream\": %s", covers (cudaStreamLegacy, false) ? "true" : "false");
      printf (", \"per-thread stream\": %s", covers (cudaStreamPerThread, false) ? "true" : "false");
      printf (", \"destroyed stream\": %s},\n\"captures\": [\n", covers (new_stream (), true) ? "true" : "false");
      print_capture ("relaxed", cudaStreamCaptureModeRelaxed, true);
      printf (",\n");
      print_capture ("thread local", cudaStreamCaptureModeThreadLocal, true);
      printf (",\n");
      print_capture ("global", cudaStreamCaptureModeGlobal, true);
      printf (",\n");
      print_capture ("global", cudaStreamCaptureModeGlobal, false);
      printf ("]");
    }
  printf (",\n\"memory\": [\n");
  print_memory (driver);
  printf ("]}\n");
  return 0;
}
