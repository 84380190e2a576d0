/*
 * What the files of the CUDA device share.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "allocator/cuda.h"
#include "db/status.h"

/* ---- The driver ---- */

/* The calls of the CUDA driver that a device needs, found at run time.
 *
 * Declared here, as the driver's interface has been since CUDA 11.2, because neither its
 * headers nor its library may be needed to build or load us. */

typedef struct CUctx_st *CudaContext;
typedef struct CUstream_st *CudaStream;
typedef struct CUevent_st *CudaEvent;
typedef unsigned long long CudaAddr;

enum
{
  CUDA_OK = 0,
  CUDA_OUT_OF_MEMORY = 2,
  CUDA_DEINITIALIZED = 4, /* the process ends */
  CUDA_CONTEXT_DESTROYED = 709,
  CUDA_DISABLE_TIMING = 2,
  CUDA_CAPTURE_RELAXED = 2,
  CUDA_PINNED = 1, /* the only kind of memory there is */
  CUDA_ON_DEVICE = 1,
  CUDA_READ_WRITE = 3,
  CUDA_MINIMUM_GRANULARITY = 0,
  CUDA_HAS_RDMA_OF_PAGES = 110 /* attribute of a device */
};

typedef struct
{
  int kind;
  int id;
} CudaLocation;

typedef struct
{
  int kind;
  int handle_kinds; /* for other processes; 0: none */
  CudaLocation location;
  void *windows_only;
  unsigned char compression;
  unsigned char has_rdma; /* network cards may read it */
  unsigned short usage;
  unsigned char reserved[4];
} CudaPageOptions;
_Static_assert(sizeof (CudaPageOptions) == 32, "the driver's layout");

typedef struct
{
  CudaLocation location;
  int flags;
} CudaAccess;
_Static_assert(sizeof (CudaAccess) == 12, "the driver's layout");

/* Name of ours, of the driver's, and what it takes. All return a result. */
#define TESSERA_CUDA_CALLS(CALL)                                                         \
  CALL (init, cuInit, unsigned flags)                                                    \
  CALL (device_get, cuDeviceGet, int *device, int ordinal)                               \
  CALL (device_attribute, cuDeviceGetAttribute, int *value, int attribute, int device)   \
  CALL (context_retain, cuDevicePrimaryCtxRetain, CudaContext *context, int device)      \
  CALL (context_release, cuDevicePrimaryCtxRelease_v2, int device)                       \
  CALL (context_push, cuCtxPushCurrent_v2, CudaContext context)                          \
  CALL (context_pop, cuCtxPopCurrent_v2, CudaContext *context)                           \
  CALL (context_wait, cuCtxSynchronize, void)                                            \
  CALL (exchange_capture_mode, cuThreadExchangeStreamCaptureMode, int *mode)             \
  CALL (memory_info, cuMemGetInfo_v2, size_t *free_bytes, size_t *total_bytes)           \
  CALL (allocate, cuMemAlloc_v2, CudaAddr *addr, size_t n_bytes)                         \
  CALL (free, cuMemFree_v2, CudaAddr addr)                                               \
  CALL (granularity, cuMemGetAllocationGranularity, size_t *n_bytes,                     \
        const CudaPageOptions *options, int kind)                                        \
  CALL (reserve, cuMemAddressReserve, CudaAddr *addr, size_t n_bytes, size_t alignment,  \
        CudaAddr wanted, unsigned long long flags)                                       \
  CALL (unreserve, cuMemAddressFree, CudaAddr addr, size_t n_bytes)                      \
  CALL (page_create, cuMemCreate, unsigned long long *page, size_t n_bytes,              \
        const CudaPageOptions *options, unsigned long long flags)                        \
  CALL (page_release, cuMemRelease, unsigned long long page)                             \
  CALL (page_map, cuMemMap, CudaAddr addr, size_t n_bytes, size_t offset,                \
        unsigned long long page, unsigned long long flags)                               \
  CALL (page_unmap, cuMemUnmap, CudaAddr addr, size_t n_bytes)                           \
  CALL (set_access, cuMemSetAccess, CudaAddr addr, size_t n_bytes,                       \
        const CudaAccess *accesses, size_t n_accesses)                                   \
  CALL (event_create, cuEventCreate, CudaEvent *event, unsigned flags)                   \
  CALL (event_destroy, cuEventDestroy_v2, CudaEvent event)                               \
  CALL (event_record, cuEventRecord, CudaEvent event, CudaStream stream)                 \
  CALL (event_query, cuEventQuery, CudaEvent event)                                      \
  CALL (event_wait, cuEventSynchronize, CudaEvent event)                                 \
  CALL (stream_wait, cuStreamSynchronize, CudaStream stream)                             \
  CALL (stream_is_capturing, cuStreamIsCapturing, CudaStream stream, int *status)

/* Those that a driver may lack: the first is of CUDA 12.5. NULL then. */
#define TESSERA_CUDA_OPTIONAL_CALLS(CALL)                                                \
  CALL (context_record, cuCtxRecordEvent, CudaContext context, CudaEvent event)          \
  CALL (stream_wait_event, cuStreamWaitEvent, CudaStream stream, CudaEvent event,        \
        unsigned flags)                                                                  \
  CALL (stream_id, cuStreamGetId, CudaStream stream, unsigned long long *id)

#define TESSERA_CUDA_MEMBER(name, symbol, ...) int (*name) (__VA_ARGS__);
typedef struct
{
  TESSERA_CUDA_CALLS (TESSERA_CUDA_MEMBER)
  TESSERA_CUDA_OPTIONAL_CALLS (TESSERA_CUDA_MEMBER)
  /* The null CUDA's alone, else NULL: what was copied there belongs to nobody now. */
  void (*forget) (CudaAddr addr, size_t n_bytes);
  /* ... and what its clock shows, in nanoseconds. */
  double (*virtual_ns) (void);
} CudaDriver;
#undef TESSERA_CUDA_MEMBER

/* Finds the calls in the driver that the process has loaded, else in the one that the
 * system has, which is then never unloaded. TESSERA_REFUSED and a sentence where there is
 * none or it lacks one that is not optional. */
TESSERA_MUST_USE TesseraStatus tessera_cuda_find_driver (CudaDriver *driver,
                                                         TesseraError *error);

/* ---- The device ---- */

/* What the files of the CUDA device share. */

/* Addresses of one expandable segment. */
typedef struct
{
  uint64_t addr;
  uint64_t size_bytes;
  uint64_t page_bytes;
} CudaReservation;

struct TesseraCudaEvent
{
  CudaEvent event;
  TesseraCudaEvent *next; /* free ones */
};

struct TesseraCuda
{
  TesseraDevice device; /* must be first */
  CudaDriver driver;
  int ordinal; /* the driver's own number of the device */
  CudaContext context;
  CudaPageOptions page_options;
  uint64_t total_bytes;
  uint64_t granularity_bytes; /* of pages */
  CudaReservation *reservations;
  size_t n_reservations, cap_reservations;
  TesseraCudaEvent *free_events;
  uint64_t waited_ns; /* for the device, by unmap() and synchronize() */
  TesseraCudaOwner owner;
};

/* Between these, calls of the driver reach the device's context and disturb no capture of
 * this thread. Enter returns the driver's result: when it is not CUDA_OK, nothing was
 * entered. */
typedef struct
{
  int capture_mode;
} CudaScope;
TESSERA_MUST_USE int tessera_cuda_enter (TesseraCuda *cuda, CudaScope *out_scope);
void tessera_cuda_leave (TesseraCuda *cuda, CudaScope *scope);

/* One call of the driver between both: its result, or that of entering, in @result. */
#define TESSERA_CUDA_INSIDE(cuda, result, call)                                          \
  do                                                                                     \
    {                                                                                    \
      CudaScope scope_;                                                                  \
                                                                                         \
      (result) = tessera_cuda_enter ((cuda), &scope_);                                   \
      if ((result) == CUDA_OK)                                                           \
        {                                                                                \
          (result) = (call);                                                             \
          tessera_cuda_leave ((cuda), &scope_);                                          \
        }                                                                                \
    }                                                                                    \
  while (0)

/* memory.c: the doors of @cuda->device; event.c: those for barriers */
void tessera_cuda_fill_device (TesseraCuda *cuda);
void tessera_cuda_fill_barriers (TesseraDevice *device);
