/*
 * The functions that tests call, as a program sees them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "nullcuda/private.h"

/* The call succeeds. */
#define OK(call) g_assert_cmpint ((call), ==, NULL_OK)

/* cudaMemcpyKind, which nothing here reads */
enum
{
  NULL_HOST_TO_DEVICE = 1,
  NULL_DEVICE_TO_HOST = 2,
  NULL_DEVICE_TO_DEVICE = 3,
  NULL_COPY_DEFAULT = 4,
};

int cudaGetDeviceCount (int *out_n);
int cudaSetDevice (int device);
int cudaGetDeviceProperties (void *out, int device);
int cudaGetDeviceProperties_v2 (void *out, int device);
int cudaDeviceSynchronize (void);
int cudaGetLastError (void);
const char *cudaGetErrorString (int error);
int cudaMemGetInfo (size_t *out_free_bytes, size_t *out_total_bytes);
int cudaPointerGetAttributes (NullPointerAttributes *out, const void *pointer);

int cudaMalloc (void **out_addr, size_t n_bytes);
int cudaFree (void *addr);
int cudaHostAlloc (void **out_addr, size_t n_bytes, unsigned flags);
int cudaFreeHost (void *addr);
int cudaHostRegister (void *addr, size_t n_bytes, unsigned flags);
int cudaHostUnregister (void *addr);

int cuInit (unsigned flags);
int cuDevicePrimaryCtxRetain (void **out_context, int device);
int cuCtxRecordEvent (void *context, void *event);
int cuGetProcAddress_v2 (
    const char *name, void **out_function, int version, uint64_t flags, int *out_result);
int cuMemAddressReserve (uint64_t *out_addr,
                         size_t n_bytes,
                         size_t alignment,
                         uint64_t wanted,
                         unsigned long long flags);
int cuMemAddressFree (uint64_t addr, size_t n_bytes);
int cuMemCreate (uint64_t *out_handle,
                 size_t n_bytes,
                 const NullAllocationProp *prop,
                 unsigned long long flags);
int cuMemRelease (uint64_t handle);
int cuMemMap (uint64_t addr,
              size_t n_bytes,
              size_t offset,
              uint64_t handle,
              unsigned long long flags);
int cuMemUnmap (uint64_t addr, size_t n_bytes);
int cuMemSetAccess (uint64_t addr, size_t n_bytes, const void *descriptions, size_t n);

int cudaMemcpy (void *to, const void *from, size_t n_bytes, int kind);
int cudaMemsetAsync (void *to, int value, size_t n_bytes, void *stream);

int cudaStreamCreateWithFlags (void **out_stream, unsigned flags);
int cudaStreamDestroy (void *stream);
int cudaStreamQuery (void *stream);
int cudaStreamSynchronize (void *stream);
int cudaStreamWaitEvent (void *stream, void *event, unsigned flags);
int cudaEventCreateWithFlags (void **out_event, unsigned flags);
int cudaEventDestroy (void *event);
int cudaEventRecord (void *event, void *stream);
int cudaEventQuery (void *event);
int cudaEventSynchronize (void *event);
int cudaEventElapsedTime (float *out_ms, void *from, void *to);
int cudaLaunchKernel (const void *function,
                      NullDim grid,
                      NullDim block,
                      void **arguments,
                      size_t shared_bytes,
                      void *stream);

int cudaStreamBeginCapture (void *stream, int mode);
int cudaStreamEndCapture (void *stream, void **out_graph);
int cudaStreamGetCaptureInfo_v2 (void *stream,
                                 int *out_status,
                                 unsigned long long *out_id,
                                 void **out_graph,
                                 const void **out_dependencies,
                                 size_t *out_n);
int cudaStreamGetCaptureInfo (void *stream,
                              int *out_status,
                              unsigned long long *out_id,
                              void **out_graph,
                              const void **out_dependencies,
                              const void **out_edges,
                              size_t *out_n);
int cudaGraphGetNodes (void *graph, void **out_nodes, size_t *inout_n);
int cudaGraphInstantiate (void **out_executable, void *graph, unsigned long long flags);
int cudaGraphLaunch (void *executable, void *stream);
int cudaGraphDestroy (void *graph);
int cudaGraphExecDestroy (void *executable);

long cusparseCreate (void);
long cudaIpcGetMemHandle (void);
int nvmlInit_v2 (void);
int nvmlDeviceGetHandleByIndex_v2 (unsigned index, void **out_device);
int nvmlDeviceGetMemoryInfo (void *device, unsigned long long out_bytes[3]);

void nullcuda_answer (const void *bytes, size_t n_bytes);
unsigned long nullcuda_made_up (void);
void nullcuda_delay (void *stream, double ns);
void nullcuda_refuse (unsigned long nth, unsigned long n);
double nullcuda_now_ns (void);
