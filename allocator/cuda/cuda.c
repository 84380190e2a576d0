/*
 * A GPU as a device: finding its driver, its context, its size.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/cuda/internal.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#define DRIVER "libcuda.so.1"

static const struct
{
  const char *symbol;
  size_t offset; /* in CudaDriver */
  bool is_optional;
} calls[] = {
#define CALL(name, symbol, ...) { #symbol, offsetof (CudaDriver, name), false },
#define OPTIONAL(name, symbol, ...) { #symbol, offsetof (CudaDriver, name), true },
  TESSERA_CUDA_CALLS (CALL) TESSERA_CUDA_OPTIONAL_CALLS (OPTIONAL)
#undef OPTIONAL
#undef CALL
};

TesseraStatus
tessera_cuda_find_driver (CudaDriver *driver, TesseraError *error)
{
  void *library = dlopen (DRIVER, RTLD_NOW | RTLD_NOLOAD);

  if (library == NULL)
    library = dlopen (DRIVER, RTLD_NOW);
  if (library == NULL)
    return tessera_fail (error, TESSERA_REFUSED,
                         "there is no CUDA driver on this machine (" DRIVER ")");
  for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
    {
      void *address = dlsym (library, calls[i].symbol);

      if (address == NULL && !calls[i].is_optional)
        return tessera_fail (error, TESSERA_REFUSED,
                             "the CUDA driver (" DRIVER ") lacks %s: a driver of CUDA "
                             "11.2 or later is needed",
                             calls[i].symbol);
      memcpy ((char *) driver + calls[i].offset, &address, sizeof address);
    }
  *(void **) &driver->forget = dlsym (library, "nullcuda_forget");
  *(void **) &driver->virtual_ns = dlsym (library, "nullcuda_now_ns");
  return TESSERA_OK;
}

int
tessera_cuda_enter (TesseraCuda *cuda, CudaScope *out_scope)
{
  int result = cuda->driver.context_push (cuda->context);

  out_scope->capture_mode = CUDA_CAPTURE_RELAXED;
  if (result == CUDA_OK)
    cuda->driver.exchange_capture_mode (&out_scope->capture_mode);
  return result;
}

void
tessera_cuda_leave (TesseraCuda *cuda, CudaScope *scope)
{
  CudaContext context;

  cuda->driver.exchange_capture_mode (&scope->capture_mode);
  cuda->driver.context_pop (&context);
}

static TesseraStatus
open_context (TesseraCuda *cuda, int ordinal, TesseraError *error)
{
  const CudaDriver *driver = &cuda->driver;
  uint64_t free_bytes;
  size_t granularity_bytes = 0;
  int has_rdma = 0;
  int result = driver->init (0);

  if (result == CUDA_OK)
    result = driver->device_get (&cuda->ordinal, ordinal);
  if (result == CUDA_OK)
    result = driver->context_retain (&cuda->context, cuda->ordinal);
  if (result != CUDA_OK)
    return tessera_fail (error, TESSERA_REFUSED,
                         "the CUDA driver does not open device %d: error %d", ordinal,
                         result);
  if (driver->device_attribute (&has_rdma, CUDA_HAS_RDMA_OF_PAGES, cuda->ordinal) !=
      CUDA_OK)
    has_rdma = 0;
  cuda->page_options = (CudaPageOptions){
    .kind = CUDA_PINNED,
    .location = { CUDA_ON_DEVICE, cuda->ordinal },
    .has_rdma = has_rdma != 0,
  };
  if (driver->granularity (&granularity_bytes, &cuda->page_options,
                           CUDA_MINIMUM_GRANULARITY) == CUDA_OK)
    cuda->granularity_bytes = granularity_bytes;
  tessera_cuda_memory (cuda, &cuda->total_bytes, &free_bytes);
  if (cuda->total_bytes == 0 || cuda->granularity_bytes == 0)
    return tessera_fail (error, TESSERA_REFUSED,
                         "the CUDA driver does not tell the memory of device %d, or maps "
                         "no pages there",
                         ordinal);
  return TESSERA_OK;
}

TesseraStatus
tessera_cuda_open (int ordinal, TesseraError *error, TesseraCuda **out_cuda)
{
  TesseraCuda *cuda = calloc (1, sizeof *cuda);
  TesseraStatus status;

  *out_cuda = NULL;
  if (cuda == NULL)
    return tessera_fail (error, TESSERA_NO_MEMORY,
                         "there is no memory left to open the GPU");
  tessera_cuda_fill_device (cuda);
  status = tessera_cuda_find_driver (&cuda->driver, error);
  if (status == TESSERA_OK)
    status = open_context (cuda, ordinal, error);
  if (status == TESSERA_OK)
    *out_cuda = cuda;
  else
    tessera_cuda_close (cuda);
  return status;
}

void
tessera_cuda_close (TesseraCuda *cuda)
{
  TesseraCudaEvent *event;
  CudaScope scope;
  bool has_entered;

  if (cuda == NULL)
    return;
  has_entered = cuda->context != NULL && tessera_cuda_enter (cuda, &scope) == CUDA_OK;
  while ((event = cuda->free_events) != NULL)
    {
      cuda->free_events = event->next;
      if (has_entered)
        cuda->driver.event_destroy (event->event);
      free (event);
    }
  if (has_entered)
    tessera_cuda_leave (cuda, &scope);
  if (cuda->context != NULL)
    cuda->driver.context_release (cuda->ordinal);
  free (cuda->reservations);
  free (cuda);
}

TesseraDevice *
tessera_cuda_device (TesseraCuda *cuda)
{
  return &cuda->device;
}

void
tessera_cuda_set_owner (TesseraCuda *cuda, const TesseraCudaOwner *owner)
{
  cuda->owner = *owner;
  if (owner->may_mark != NULL && owner->handle_of != NULL &&
      tessera_cuda_can_order (cuda))
    tessera_cuda_fill_barriers (&cuda->device);
}

void
tessera_cuda_memory (TesseraCuda *cuda,
                     uint64_t *out_total_bytes,
                     uint64_t *out_free_bytes)
{
  size_t total_bytes = 0;
  size_t free_bytes = 0;
  int result;

  TESSERA_CUDA_INSIDE (cuda, result,
                       cuda->driver.memory_info (&free_bytes, &total_bytes));
  if (result != CUDA_OK)
    total_bytes = free_bytes = 0;
  *out_total_bytes = total_bytes;
  *out_free_bytes = free_bytes;
}

void
tessera_cuda_forget (TesseraCuda *cuda, uint64_t addr, uint64_t n_bytes)
{
  if (cuda->driver.forget != NULL)
    cuda->driver.forget (addr, n_bytes);
}
