/*
 * The stand-in for the CUDA driver.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/cuda/fake/fake-cuda.h"

#include <stdio.h>
#include <string.h>

#include "allocator/cuda/internal.h"

#define VISIBLE __attribute__ ((visibility ("default")))
#define PROTOTYPE(name, symbol, ...) VISIBLE int symbol (__VA_ARGS__);
TESSERA_CUDA_CALLS (PROTOTYPE)
TESSERA_CUDA_OPTIONAL_CALLS (PROTOTYPE)

#define GRANULARITY_BYTES ((size_t) 2 << 20)
#define MAX_RANGES 8192

enum
{
  INVALID_VALUE = 1,
  INVALID_DEVICE = 101,
  CAPTURE_UNSUPPORTED = 900,
  ONLY_DEVICE = 3
};

typedef enum
{
  NOTHING,
  SEGMENT,
  RESERVATION,
  PAGE,   /* by handle */
  MAPPING /* of a page */
} Kind;

typedef struct
{
  Kind kind;
  uint64_t addr;
  uint64_t n_bytes;
  bool is_mapped; /* page: its memory belongs to the mapping */
} Range;

extern VISIBLE FakeCuda fake_cuda;
FakeCuda fake_cuda = { .device_bytes = (uint64_t) 1 << 30 };
static Range ranges[MAX_RANGES];
static uint64_t next_addr = (uint64_t) 1 << 40;
static char event_places[64];

static void
misuse (const char *call, const char *what)
{
  if (fake_cuda.misuse[0] == '\0')
    snprintf (fake_cuda.misuse, sizeof fake_cuda.misuse, "%s: %s", call, what);
}

static int
begin (const char *call, bool needs_context)
{
  if (fake_cuda.is_over)
    return CUDA_DEINITIALIZED;
  if (needs_context && fake_cuda.depth == 0)
    misuse (call, "no context is current");
  if (needs_context && fake_cuda.capture_mode != CUDA_CAPTURE_RELAXED)
    misuse (call, "would disturb a capture");
  if (fake_cuda.fail_nth > 0 &&
      (fake_cuda.fail_name == NULL || strcmp (fake_cuda.fail_name, call) == 0) &&
      --fake_cuda.fail_nth == 0)
    return fake_cuda.fail_result;
  return CUDA_OK;
}

static Range *
find (Kind kind, uint64_t addr, uint64_t n_bytes)
{
  for (size_t i = 0; i < MAX_RANGES; i++)
    if (ranges[i].kind == kind && ranges[i].addr == addr &&
        (n_bytes == 0 || ranges[i].n_bytes == n_bytes))
      return &ranges[i];
  return NULL;
}

static bool
overlaps (Kind kind, uint64_t addr, uint64_t n_bytes)
{
  for (size_t i = 0; i < MAX_RANGES; i++)
    if (ranges[i].kind == kind && ranges[i].addr < addr + n_bytes &&
        addr < ranges[i].addr + ranges[i].n_bytes)
      return true;
  return false;
}

static bool
is_inside (Kind kind, uint64_t addr, uint64_t n_bytes)
{
  for (size_t i = 0; i < MAX_RANGES; i++)
    if (ranges[i].kind == kind && ranges[i].addr <= addr &&
        addr + n_bytes <= ranges[i].addr + ranges[i].n_bytes)
      return true;
  return false;
}

static uint64_t
add (Kind kind, uint64_t addr, uint64_t n_bytes)
{
  for (size_t i = 0; i < MAX_RANGES; i++)
    if (ranges[i].kind == NOTHING)
      {
        if (addr == 0)
          {
            addr = next_addr;
            next_addr +=
                (n_bytes + GRANULARITY_BYTES - 1) / GRANULARITY_BYTES * GRANULARITY_BYTES;
          }
        ranges[i] = (Range){ kind, addr, n_bytes, false };
        return addr;
      }
  misuse ("fake", "too many ranges");
  return 0;
}

static bool
has_room (uint64_t n_bytes)
{
  return n_bytes <= fake_cuda.device_bytes &&
         fake_cuda.used_bytes <= fake_cuda.device_bytes - n_bytes;
}

int
cuInit (unsigned flags)
{
  return begin ("cuInit", false);
}

int
cuDeviceGet (int *device, int ordinal)
{
  int result = begin ("cuDeviceGet", false);

  *device = ONLY_DEVICE;
  return result == CUDA_OK && ordinal != 0 ? INVALID_DEVICE : result;
}

int
cuDeviceGetAttribute (int *value, int attribute, int device)
{
  *value = attribute == CUDA_HAS_RDMA_OF_PAGES;
  return begin ("cuDeviceGetAttribute", false);
}

int
cuDevicePrimaryCtxRetain (CudaContext *context, int device)
{
  int result = begin ("cuDevicePrimaryCtxRetain", false);

  *context = result == CUDA_OK ? (CudaContext) &ranges : NULL;
  fake_cuda.n_retained += result == CUDA_OK;
  return result;
}

int
cuDevicePrimaryCtxRelease_v2 (int device)
{
  int result = begin ("cuDevicePrimaryCtxRelease_v2", false);

  fake_cuda.n_retained -= result == CUDA_OK;
  return result;
}

int
cuCtxPushCurrent_v2 (CudaContext context)
{
  int result = begin ("cuCtxPushCurrent_v2", false);

  if (context != (CudaContext) &ranges)
    misuse ("cuCtxPushCurrent_v2", "not the context of the device");
  fake_cuda.depth += result == CUDA_OK;
  return result;
}

int
cuCtxPopCurrent_v2 (CudaContext *context)
{
  int result = fake_cuda.is_over ? CUDA_DEINITIALIZED : CUDA_OK;

  *context = (CudaContext) &ranges;
  fake_cuda.depth -= result == CUDA_OK;
  return result;
}

int
cuCtxSynchronize (void)
{
  int result = begin ("cuCtxSynchronize", true);

  fake_cuda.n_waited += result == CUDA_OK;
  return result;
}

int
cuThreadExchangeStreamCaptureMode (int *mode)
{
  int before = fake_cuda.capture_mode;

  fake_cuda.capture_mode = *mode;
  *mode = before;
  return CUDA_OK;
}

int
cuMemGetInfo_v2 (size_t *free_bytes, size_t *total_bytes)
{
  *total_bytes = fake_cuda.device_bytes;
  *free_bytes = fake_cuda.device_bytes - fake_cuda.used_bytes;
  return begin ("cuMemGetInfo_v2", true);
}

int
cuMemAlloc_v2 (CudaAddr *addr, size_t n_bytes)
{
  int result = begin ("cuMemAlloc_v2", true);

  if (result != CUDA_OK)
    return result;
  if (!has_room (n_bytes))
    return CUDA_OUT_OF_MEMORY;
  *addr = add (SEGMENT, 0, n_bytes);
  fake_cuda.used_bytes += n_bytes;
  fake_cuda.n_segments++;
  return CUDA_OK;
}

int
cuMemFree_v2 (CudaAddr addr)
{
  int result = begin ("cuMemFree_v2", true);
  Range *range = find (SEGMENT, addr, 0);

  if (result != CUDA_OK)
    return result;
  if (range == NULL)
    {
      misuse ("cuMemFree_v2", "not a segment");
      return INVALID_VALUE;
    }
  fake_cuda.used_bytes -= range->n_bytes;
  fake_cuda.n_segments--;
  range->kind = NOTHING;
  return CUDA_OK;
}

int
cuMemGetAllocationGranularity (size_t *n_bytes, const CudaPageOptions *options, int kind)
{
  *n_bytes = GRANULARITY_BYTES;
  if (options->kind != CUDA_PINNED || options->location.kind != CUDA_ON_DEVICE ||
      options->location.id != ONLY_DEVICE)
    misuse ("cuMemGetAllocationGranularity", "not memory of the device");
  return begin ("cuMemGetAllocationGranularity", false);
}

int
cuMemAddressReserve (CudaAddr *addr,
                     size_t n_bytes,
                     size_t alignment,
                     CudaAddr wanted,
                     unsigned long long flags)
{
  int result = begin ("cuMemAddressReserve", true);

  if (result != CUDA_OK)
    return result;
  if (n_bytes % GRANULARITY_BYTES != 0)
    misuse ("cuMemAddressReserve", "not whole pages");
  *addr = add (RESERVATION, 0, n_bytes);
  fake_cuda.n_reservations++;
  return CUDA_OK;
}

int
cuMemAddressFree (CudaAddr addr, size_t n_bytes)
{
  int result = begin ("cuMemAddressFree", true);
  Range *range = find (RESERVATION, addr, n_bytes);

  if (result != CUDA_OK)
    return result;
  if (range == NULL || overlaps (MAPPING, addr, n_bytes))
    misuse ("cuMemAddressFree", "not a reservation, or pages are mapped there");
  else
    range->kind = NOTHING;
  fake_cuda.n_reservations -= range != NULL;
  return CUDA_OK;
}

int
cuMemCreate (unsigned long long *page,
             size_t n_bytes,
             const CudaPageOptions *options,
             unsigned long long flags)
{
  int result = begin ("cuMemCreate", true);

  if (result != CUDA_OK)
    return result;
  if (n_bytes == 0 || n_bytes % GRANULARITY_BYTES != 0)
    misuse ("cuMemCreate", "not whole pages");
  if (!has_room (n_bytes))
    return CUDA_OUT_OF_MEMORY;
  *page = add (PAGE, 0, n_bytes);
  fake_cuda.used_bytes += n_bytes;
  fake_cuda.n_pages++;
  fake_cuda.rdma_bytes += options->has_rdma ? n_bytes : 0;
  return CUDA_OK;
}

int
cuMemRelease (unsigned long long page)
{
  int result = begin ("cuMemRelease", false);
  Range *range = find (PAGE, page, 0);

  if (result != CUDA_OK)
    return result;
  if (range == NULL)
    {
      misuse ("cuMemRelease", "not a page");
      return INVALID_VALUE;
    }
  range->kind = NOTHING;
  fake_cuda.n_pages--;
  fake_cuda.used_bytes -= range->is_mapped ? 0 : range->n_bytes;
  return CUDA_OK;
}

int
cuMemMap (CudaAddr addr,
          size_t n_bytes,
          size_t offset,
          unsigned long long page,
          unsigned long long flags)
{
  int result = begin ("cuMemMap", true);
  Range *range = find (PAGE, page, n_bytes);

  if (result == CUDA_OK &&
      (range == NULL || offset != 0 || !is_inside (RESERVATION, addr, n_bytes) ||
       overlaps (MAPPING, addr, n_bytes)))
    {
      misuse ("cuMemMap", "not a page, not reserved, or mapped already");
      result = INVALID_VALUE;
    }
  if (result != CUDA_OK)
    return result;
  range->is_mapped = true;
  add (MAPPING, addr, n_bytes);
  fake_cuda.n_mapped++;
  return CUDA_OK;
}

int
cuMemUnmap (CudaAddr addr, size_t n_bytes)
{
  int result = begin ("cuMemUnmap", true);
  Range *range = find (MAPPING, addr, n_bytes);

  if (result != CUDA_OK)
    return result;
  if (range == NULL)
    {
      misuse ("cuMemUnmap", "not what was mapped by one call");
      return INVALID_VALUE;
    }
  range->kind = NOTHING;
  fake_cuda.n_mapped--;
  fake_cuda.used_bytes -= n_bytes;
  return CUDA_OK;
}

int
cuMemSetAccess (CudaAddr addr, size_t n_bytes, const CudaAccess *accesses, size_t n)
{
  if (n != 1 || accesses->flags != CUDA_READ_WRITE ||
      accesses->location.id != ONLY_DEVICE || !is_inside (RESERVATION, addr, n_bytes))
    misuse ("cuMemSetAccess", "not to the device, or not reserved");
  return begin ("cuMemSetAccess", true);
}

int
cuEventCreate (CudaEvent *event, unsigned flags)
{
  int result = begin ("cuEventCreate", true);

  if (flags != CUDA_DISABLE_TIMING)
    misuse ("cuEventCreate", "takes times");
  *event = (CudaEvent) &event_places[fake_cuda.n_events % sizeof event_places];
  fake_cuda.n_events += result == CUDA_OK;
  return result;
}

int
cuEventDestroy_v2 (CudaEvent event)
{
  int result = begin ("cuEventDestroy_v2", true);

  fake_cuda.n_events -= result == CUDA_OK;
  return result;
}

int
cuEventRecord (CudaEvent event, CudaStream stream)
{
  int result = begin ("cuEventRecord", true);

  fake_cuda.n_recorded += result == CUDA_OK;
  return result;
}

int
cuCtxRecordEvent (CudaContext context, CudaEvent event)
{
  int result = begin ("cuCtxRecordEvent", true);

  if (context != (CudaContext) &ranges)
    misuse ("cuCtxRecordEvent", "not the context of the device");
  if (result == CUDA_OK && fake_cuda.capture_status != 0)
    {
      misuse ("cuCtxRecordEvent", "ends a capture");
      result = CAPTURE_UNSUPPORTED;
    }
  if (result != CUDA_OK)
    return result;
  fake_cuda.n_of_context++;
  fake_cuda.recorded_event = event;
  return CUDA_OK;
}

int
cuStreamGetId (CudaStream stream, unsigned long long *id)
{
  int result = begin ("cuStreamGetId", true);

  *id = (uintptr_t) stream + 1;
  return result;
}

int
cuStreamWaitEvent (CudaStream stream, CudaEvent event, unsigned flags)
{
  int result = begin ("cuStreamWaitEvent", true);

  if (flags != 0)
    misuse ("cuStreamWaitEvent", "an event from outside of a graph");
  if (result != CUDA_OK)
    return result;
  fake_cuda.n_ordered++;
  fake_cuda.ordered_event = event;
  fake_cuda.ordered_stream = stream;
  return CUDA_OK;
}

int
cuEventQuery (CudaEvent event)
{
  int result = begin ("cuEventQuery", true);

  return result == CUDA_OK ? fake_cuda.query_result : result;
}

int
cuEventSynchronize (CudaEvent event)
{
  fake_cuda.query_result = CUDA_OK;
  return begin ("cuEventSynchronize", true);
}

int
cuStreamSynchronize (CudaStream stream)
{
  int result = begin ("cuStreamSynchronize", true);

  fake_cuda.n_waited += result == CUDA_OK;
  return result;
}

int
cuStreamIsCapturing (CudaStream stream, int *status)
{
  int result = begin ("cuStreamIsCapturing", true);

  *status = fake_cuda.capture_status;
  return result == CUDA_OK ? fake_cuda.capture_result : result;
}
