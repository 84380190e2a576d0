// Stands between PyTorch and libtessera.so, as tests/pytorch/shim.c does, and asks the
// device: is a byte written between its release and the next time it is handed out, in
// the order in which the device works? At a release the block's stream fills it with
// words that depend on their addresses; when memory is handed out, the stream that gets
// it counts those that differ. Memory that changes streams too early shows, too: the
// check then runs beside what still writes there.
//
//   nvcc -O2 -std=c++17 -arch=native -shared -Xcompiler -fPIC -I . -o libparanoid.so
//     docs/gpu/paranoid.cu -L build/runtime -ltessera -Xlinker -rpath=$PWD/build/runtime
//
// TESSERA_LIBRARY names it in place of libtessera.so. When the library stops, it writes
// JSON to TESSERA_PARANOID_REPORT. TESSERA_PARANOID_PLANT=N: a word of the Nth block of a
// MiB or more is overwritten once it is filled, and must be found. It serves one device.
//
// Not filled: blocks that record_stream named another stream for, which may still use
// them. Neither filled nor checked: what captures use, and all from the first private
// pool on; graphs use memory after its release. Not checked: what was free while the
// library gave memory back to the driver, as its statistics say: it may be remapped.
//
// SPDX-License-Identifier: Apache-2.0
extern "C"
{
#include "runtime/tessera.h"
}
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <unordered_map>

typedef unsigned long long Word;  // as the device's atomics take it
constexpr Word ROUND_BYTES = 512;  // the library's blocks are multiples
constexpr Word LARGE_BYTES = 1 << 20;
constexpr Word THREADS = 256, MOST_GROUPS = 2048;

// Lies in the host's memory, and can be read whatever became of the device.
struct Findings
{
  Word changed_words[2];  // filled and checked on one stream; on two
  Word first_addr, first_block_bytes;
};

struct Block
{
  void *stream;
  bool is_shared, is_captured;
};

// Filled, and free since. Its key in the map is where it begins.
struct Range
{
  Word end, seed;
  void *stream;
};

// Crossed: filled on another stream. Side stream, captured, remapped: left out.
#define COUNTS(COUNT)                                                                    \
  COUNT (filled_ranges) COUNT (filled_bytes) COUNT (checked_ranges)                      \
  COUNT (checked_bytes) COUNT (crossed_ranges) COUNT (side_stream_ranges)                \
  COUNT (captured_ranges) COUNT (remapped_ranges) COUNT (planted)
#define MEMBER(name) Word name;
static struct { COUNTS (MEMBER) } seen;

static std::mutex lock;  // not held over the library's calls, which may take Python's
// All below are guarded by the lock. Never destroyed: PyTorch frees memory at exit, too.
static auto &blocks = *new std::unordered_map<void *, Block>;
static auto &ranges = *new std::map<Word, Range>;
static Findings *findings;  // none before the first request
static pid_t the_process;   // a forked child has no device
static int the_device;
static Word given_back_bytes;  // by the library to the driver, so far
static Word n_seeds, n_large, plant_at;
static bool has_pools, is_over;

// Nothing can be said of the library then.
#define CHECK(call)                                                                      \
  do                                                                                     \
    if (int check_status = (int) (call))                                                 \
      fprintf (stderr, "paranoid: %s: error %d\n", #call, check_status), abort ();       \
  while (0)

__device__ Word
word_at (Word addr, Word seed)
{
  Word word = (addr ^ seed * 0x9e3779b97f4a7c15) * 0xbf58476d1ce4e5b9;
  word = (word ^ word >> 29) * 0x94d049bb133111eb;
  return word ^ word >> 32;
}

#define EACH_WORD(addr, begin, end)                                                      \
  Word addr = begin + ((Word) blockIdx.x * blockDim.x + threadIdx.x) * sizeof (Word);    \
  addr < end; addr += (Word) gridDim.x * blockDim.x * sizeof (Word)

__global__ void
fill_words (Word begin, Word end, Word seed)
{
  for (EACH_WORD (addr, begin, end))
    *(Word *) addr = word_at (addr, seed);
}

// The findings are far away: one thread of a group goes there, and only with bad news.
__global__ void
check_words (Word begin, Word end, Word seed, bool crosses, Word block_bytes,
             Findings *found)
{
  __shared__ Word n_changed, first;
  if (threadIdx.x == 0)
    n_changed = 0, first = ~(Word) 0;
  __syncthreads ();
  for (EACH_WORD (addr, begin, end))
    if (*(Word *) addr != word_at (addr, seed))
      atomicAdd (&n_changed, 1), atomicMin (&first, addr);
  __syncthreads ();
  if (threadIdx.x != 0 || n_changed == 0)
    return;
  atomicAdd (&found->changed_words[crosses], n_changed);
  if (atomicCAS (&found->first_addr, 0, first) == 0)
    found->first_block_bytes = block_bytes;
}

static unsigned
groups_for (Word n_bytes)
{
  return (unsigned) std::min (n_bytes / sizeof (Word) / THREADS + 1, MOST_GROUPS);
}

// An error counts as yes: beside some captures the legacy stream must be left alone.
static bool
is_capturing (void *stream)
{
  cudaStreamCaptureStatus status;
  bool fails = cudaStreamIsCapturing ((cudaStream_t) stream, &status) != cudaSuccess;
  cudaGetLastError ();
  return fails || status != cudaStreamCaptureStatusNone;
}

// The library's own function, which this one hides from everyone else.
static void *
find (const char *name)
{
  Dl_info info;
  CHECK (dladdr ((void *) tessera_version, &info) == 0);
  return dlsym (dlopen (info.dli_fname, RTLD_NOW | RTLD_NOLOAD), name);
}

#define LIBRARY(name) static const auto library = (decltype (&::name)) find (#name)

static bool
serves (int device)
{
  return findings != nullptr && !is_over && device == the_device &&
         the_process == getpid ();
}

static void
get_ready (int device)
{
  const char *number = getenv ("TESSERA_PARANOID_PLANT");
  CHECK (cudaHostAlloc ((void **) &findings, sizeof *findings, cudaHostAllocMapped));
  *findings = Findings ();
  plant_at = number != nullptr ? strtoull (number, nullptr, 10) : 0;
  the_device = device;
  the_process = getpid ();
}

static void
drop_remapped ()
{
  TesseraDeviceStats stats = {};
  stats.struct_bytes = sizeof stats;
  CHECK (tessera_get_stats (the_device, &stats));
  if (stats.reserved_bytes[0].freed == given_back_bytes)
    return;
  given_back_bytes = stats.reserved_bytes[0].freed;
  seen.remapped_ranges += ranges.size ();
  ranges.clear ();
}

// From a stream that is in order with nobody.
static void
plant (Word addr, cudaStream_t after)
{
  cudaStream_t stream;
  CHECK (cudaStreamSynchronize (after));
  CHECK (cudaStreamCreateWithFlags (&stream, cudaStreamNonBlocking));
  CHECK (cudaMemsetAsync ((void *) addr, 0, sizeof (Word), stream));
  CHECK (cudaStreamSynchronize (stream));
  CHECK (cudaStreamDestroy (stream));
  seen.planted = addr;
}

static void
fill (Word begin, Word end, void *stream)
{
  const Range range = { end, ++n_seeds, stream };
  if (begin == end)
    return;
  fill_words<<<groups_for (end - begin), THREADS, 0, (cudaStream_t) stream>>> (
      begin, end, range.seed);
  CHECK (cudaGetLastError ());
  ranges[begin] = range;
  seen.filled_ranges++;
  seen.filled_bytes += end - begin;
  if (end - begin >= LARGE_BYTES && ++n_large == plant_at)
    plant (begin, (cudaStream_t) stream);
}

static void
check (Word begin, Word end, const Range &range, void *stream, Word block_bytes)
{
  bool crosses = range.stream != stream;
  check_words<<<groups_for (end - begin), THREADS, 0, (cudaStream_t) stream>>> (
      begin, end, range.seed, crosses, block_bytes, findings);
  CHECK (cudaGetLastError ());
  seen.checked_ranges++;
  seen.checked_bytes += end - begin;
  seen.crossed_ranges += crosses;
}

// What the block covers of ranges leaves them, the rest stays.
static void
take (Word block, Word block_bytes, void *stream, bool is_captured)
{
  Word block_end = block + (block_bytes + ROUND_BYTES - 1) / ROUND_BYTES * ROUND_BYTES;
  auto at = ranges.upper_bound (block);
  if (at != ranges.begin () && std::prev (at)->second.end > block)
    --at;
  while (at != ranges.end () && at->first < block_end)
    {
      auto [begin, range] = *at;
      Word from = std::max (begin, block), to = std::min (range.end, block_end);
      at = ranges.erase (at);
      if (begin < from)
        ranges[begin] = Range{ from, range.seed, range.stream };
      if (to < range.end)
        ranges[to] = range;
      if (is_captured)
        seen.captured_ranges++;
      else
        check (from, to, range, stream, block_bytes);
    }
}

void *
tessera_torch_alloc (ssize_t size, int device, void *stream)
{
  LIBRARY (tessera_torch_alloc);
  void *ptr = library (size, device, stream);
  std::lock_guard<std::mutex> guard (lock);
  bool is_captured = has_pools || is_capturing (stream);
  if (findings == nullptr && ptr != nullptr && !is_captured)
    get_ready (device);
  if (ptr == nullptr || !serves (device))
    return ptr;
  drop_remapped ();
  take ((Word) ptr, (Word) size, stream, is_captured);
  blocks[ptr] = Block{ stream, false, is_captured };
  return ptr;
}

void
tessera_torch_free (void *ptr, size_t size, int device, void *stream)
{
  LIBRARY (tessera_torch_free);
  std::unique_lock<std::mutex> guard (lock);
  auto block = blocks.find (ptr);
  if (serves (device) && block != blocks.end ())
    {
      drop_remapped ();
      if (block->second.is_captured || has_pools || is_capturing (stream))
        seen.captured_ranges++;
      else if (block->second.is_shared)
        seen.side_stream_ranges++;
      else
        fill ((Word) ptr, (Word) ptr + size / sizeof (Word) * sizeof (Word), stream);
      blocks.erase (block);
    }
  guard.unlock ();
  library (ptr, size, device, stream);
}

void
tessera_torch_record_stream (void *ptr, void *stream)
{
  LIBRARY (tessera_torch_record_stream);
  library (ptr, stream);
  std::lock_guard<std::mutex> guard (lock);
  auto block = blocks.find (ptr);
  if (block != blocks.end () && block->second.stream != stream)
    block->second.is_shared = true;
}

void
tessera_torch_begin_pool (int device, TesseraTorchPool pool, void *filter)
{
  LIBRARY (tessera_torch_begin_pool);
  library (device, pool, filter);
  std::lock_guard<std::mutex> guard (lock);
  has_pools = true;
}

// Python's exit comes here, while the device still answers.
void
tessera_stop ()
{
  LIBRARY (tessera_stop);
  library ();
  std::lock_guard<std::mutex> guard (lock);
  const char *path = getenv ("TESSERA_PARANOID_REPORT");
  FILE *file = path != nullptr && serves (the_device) ? fopen (path, "w") : nullptr;
  is_over = true;
  if (file == nullptr)
    return;
  fprintf (file, "{\"device_status\": %d", (int) cudaDeviceSynchronize ());
  const Findings found = *findings;
#define PRINT(name, value) fprintf (file, ",\n \"%s\": %llu", name, value);
#define PRINT_COUNT(name) PRINT (#name, seen.name)
  PRINT ("changed_words", found.changed_words[0] + found.changed_words[1])
  PRINT ("changed_across_streams", found.changed_words[1])
  PRINT ("first_addr", found.first_addr)
  PRINT ("first_block_bytes", found.first_block_bytes)
  COUNTS (PRINT_COUNT)
  fprintf (file, "}\n");
  fclose (file);
}
