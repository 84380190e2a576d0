/*
 * Memory of a GPU: segments in one piece, reservations that pages are mapped into.
 *
 * A page's handle is released as soon as the page is mapped: the mapping alone keeps the
 * memory, and nothing needs to be remembered to give it back. Pages are unmapped one by
 * one, since the driver takes back only what was mapped by one call.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/cuda/internal.h"

#include <time.h>

#include "allocator/caching.h"
#include "db/array.h"

/* Results of the driver other than a lack of memory are no reason to flush and retry. */
static TesseraStatus
status_of (int result)
{
  if (result == CUDA_OK)
    return TESSERA_OK;
  return result == CUDA_OUT_OF_MEMORY ? TESSERA_OUT_OF_DEVICE : TESSERA_IO;
}

static TesseraStatus
allocate (TesseraDevice *device, uint64_t size_bytes, uint32_t stream, uint64_t *out_addr)
{
  TesseraCuda *self = (TesseraCuda *) device;
  CudaAddr addr = 0;
  int result;

  TESSERA_CUDA_INSIDE (self, result, self->driver.allocate (&addr, size_bytes));
  *out_addr = result == CUDA_OK ? addr : 0;
  return status_of (result);
}

static void
release (TesseraDevice *device, uint64_t addr, uint64_t size_bytes)
{
  TesseraCuda *self = (TesseraCuda *) device;
  int result;

  TESSERA_CUDA_INSIDE (self, result, self->driver.free (addr));
  (void) result; /* of no use: the process may end */
}

static TesseraStatus
reserve (TesseraDevice *device,
         uint32_t stream,
         uint64_t page_bytes,
         uint64_t *out_addr,
         uint64_t *out_size_bytes)
{
  TesseraCuda *self = (TesseraCuda *) device;
  uint64_t size_bytes = tessera_reservation_size (self->total_bytes, page_bytes);
  CudaAddr addr = 0;
  int result;

  *out_addr = *out_size_bytes = 0;
  if (page_bytes == 0 || page_bytes % self->granularity_bytes != 0)
    return TESSERA_INVALID;
  if (!TESSERA_RESERVE (self->reservations, self->cap_reservations,
                        self->n_reservations + 1))
    return TESSERA_NO_MEMORY;
  TESSERA_CUDA_INSIDE (self, result, self->driver.reserve (&addr, size_bytes, 0, 0, 0));
  if (result != CUDA_OK)
    return status_of (result);
  self->reservations[self->n_reservations++] =
      (CudaReservation){ addr, size_bytes, page_bytes };
  *out_addr = addr;
  *out_size_bytes = size_bytes;
  return TESSERA_OK;
}

/* Few: two for each stream that allocates. */
static CudaReservation *
reservation_at (TesseraCuda *self, uint64_t addr)
{
  for (size_t i = 0; i < self->n_reservations; i++)
    if (addr - self->reservations[i].addr < self->reservations[i].size_bytes)
      return &self->reservations[i];
  return NULL;
}

static void
unreserve (TesseraDevice *device, uint64_t addr, uint64_t size_bytes)
{
  TesseraCuda *self = (TesseraCuda *) device;
  CudaReservation *reservation = reservation_at (self, addr);
  int result;

  if (reservation != NULL)
    *reservation = self->reservations[--self->n_reservations];
  TESSERA_CUDA_INSIDE (self, result, self->driver.unreserve (addr, size_bytes));
  (void) result;
}

static int
map_page (TesseraCuda *self, uint64_t addr, uint64_t page_bytes)
{
  unsigned long long page;
  int result = self->driver.page_create (&page, page_bytes, &self->page_options, 0);

  if (result != CUDA_OK)
    return result;
  result = self->driver.page_map (addr, page_bytes, 0, page, 0);
  self->driver.page_release (page);
  return result;
}

/* Of the last page no more is made than was asked for. */
static uint64_t
next_page (const TesseraCuda *self, uint64_t rest_bytes, uint64_t page_bytes)
{
  uint64_t granularity = self->granularity_bytes;
  uint64_t needed_bytes = (rest_bytes + granularity - 1) / granularity * granularity;

  return needed_bytes < page_bytes ? needed_bytes : page_bytes;
}

static void
unmap_pages (TesseraCuda *self, uint64_t addr, uint64_t size_bytes, uint64_t page_bytes)
{
  for (uint64_t at = 0; at < size_bytes; at += page_bytes)
    self->driver.page_unmap (addr + at, next_page (self, size_bytes - at, page_bytes));
}

static int
map_pages (TesseraCuda *self, uint64_t addr, uint64_t size_bytes, uint64_t page_bytes)
{
  const CudaAccess access = { self->page_options.location, CUDA_READ_WRITE };
  uint64_t mapped_bytes = 0, next_bytes;
  int result = CUDA_OK;

  while (mapped_bytes < size_bytes && result == CUDA_OK)
    {
      next_bytes = next_page (self, size_bytes - mapped_bytes, page_bytes);
      result = map_page (self, addr + mapped_bytes, next_bytes);
      mapped_bytes += result == CUDA_OK ? next_bytes : 0;
    }
  if (result == CUDA_OK)
    result = self->driver.set_access (addr, mapped_bytes, &access, 1);
  if (result != CUDA_OK)
    unmap_pages (self, addr, mapped_bytes, page_bytes);
  return result;
}

static TesseraStatus
map (TesseraDevice *device, uint64_t addr, uint64_t size_bytes, uint32_t stream)
{
  TesseraCuda *self = (TesseraCuda *) device;
  const CudaReservation *reservation = reservation_at (self, addr);
  int result;

  if (reservation == NULL || (addr - reservation->addr) % reservation->page_bytes != 0)
    return TESSERA_INVALID;
  TESSERA_CUDA_INSIDE (self, result,
                       map_pages (self, addr, size_bytes, reservation->page_bytes));
  return status_of (result);
}

static uint64_t
host_ns (const TesseraCuda *self)
{
  struct timespec now;

  if (self->driver.virtual_ns != NULL)
    return (uint64_t) self->driver.virtual_ns ();
  clock_gettime (CLOCK_MONOTONIC, &now);
  return (uint64_t) now.tv_sec * 1000000000 + (uint64_t) now.tv_nsec;
}

static uint64_t
now_ns (TesseraDevice *device)
{
  const TesseraCuda *self = (const TesseraCuda *) device;

  return host_ns (self) - self->waited_ns;
}

/* Unlike freeing a segment, unmapping waits for nobody who may still use the pages. Where
 * the driver refuses to wait, they stay mapped: lost, but not pulled from under a kernel.
 */
static void
unmap (TesseraDevice *device, uint64_t addr, uint64_t size_bytes)
{
  TesseraCuda *self = (TesseraCuda *) device;
  const CudaReservation *reservation = reservation_at (self, addr);
  uint64_t began_ns;
  CudaScope scope;
  int result;

  if (reservation == NULL || tessera_cuda_enter (self, &scope) != CUDA_OK)
    return;
  began_ns = host_ns (self);
  result = self->driver.context_wait ();
  self->waited_ns += host_ns (self) - began_ns;
  if (result == CUDA_OK)
    unmap_pages (self, addr, size_bytes, reservation->page_bytes);
  tessera_cuda_leave (self, &scope);
}

static void
synchronize (TesseraDevice *device)
{
  TesseraCuda *self = (TesseraCuda *) device;
  uint64_t began_ns = host_ns (self);

  if (self->owner.synchronize != NULL)
    self->owner.synchronize (self->owner.user);
  self->waited_ns += host_ns (self) - began_ns;
}

static uint64_t
free_bytes (TesseraDevice *device)
{
  uint64_t total_bytes, left_bytes;

  tessera_cuda_memory ((TesseraCuda *) device, &total_bytes, &left_bytes);
  return total_bytes != 0 ? left_bytes : UINT64_MAX;
}

void
tessera_cuda_fill_device (TesseraCuda *cuda)
{
  cuda->device = (TesseraDevice){ allocate, release,     reserve,    unreserve, map,
                                  unmap,    synchronize, free_bytes, now_ns };
}
