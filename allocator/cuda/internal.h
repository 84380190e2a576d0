/*
 * What the files of the CUDA device share.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "allocator/cuda.h"
#include "allocator/cuda/driver.h"

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

/* memory.c: the doors of @cuda->device; event.c: those for barriers */
void tessera_cuda_fill_device (TesseraCuda *cuda);
void tessera_cuda_fill_barriers (TesseraDevice *device);
