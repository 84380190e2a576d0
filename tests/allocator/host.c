/*
 * The host as a device, over mmap.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/allocator/host.h"

#include <sys/mman.h>

#include "allocator/caching.h"

/* Addresses of one reservation where the device has no size of its own. */
#define ENDLESS_BYTES ((uint64_t) 1 << 40)

static void *
pointer_to (uint64_t addr)
{
  return (void *) (uintptr_t) addr;
}

static TesseraStatus
map_anew (uint64_t size_bytes, int protection, uint64_t *out_addr)
{
  void *memory = mmap (NULL, size_bytes, protection,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

  *out_addr = memory != MAP_FAILED ? (uint64_t) (uintptr_t) memory : 0;
  return memory != MAP_FAILED ? TESSERA_OK : TESSERA_OUT_OF_DEVICE;
}

static bool
has_room (const TesseraHost *self, uint64_t size_bytes)
{
  return self->device_bytes == 0 || (self->used_bytes <= self->device_bytes &&
                                     size_bytes <= self->device_bytes - self->used_bytes);
}

static void
use (TesseraHost *self, uint64_t size_bytes)
{
  self->used_bytes += size_bytes;
  if (self->used_bytes > self->peak_used_bytes)
    self->peak_used_bytes = self->used_bytes;
}

static TesseraStatus
allocate (TesseraDevice *device, uint64_t size_bytes, uint32_t stream, uint64_t *out_addr)
{
  TesseraHost *self = (TesseraHost *) device;
  TesseraStatus status;

  *out_addr = 0;
  if (!has_room (self, size_bytes))
    return TESSERA_OUT_OF_DEVICE;
  status = map_anew (size_bytes, PROT_READ | PROT_WRITE, out_addr);
  if (status == TESSERA_OK)
    use (self, size_bytes);
  return status;
}

static void
release (TesseraDevice *device, uint64_t addr, uint64_t size_bytes)
{
  TesseraHost *self = (TesseraHost *) device;

  munmap (pointer_to (addr), size_bytes);
  self->used_bytes -= size_bytes;
}

static TesseraStatus
reserve (TesseraDevice *device,
         uint32_t stream,
         uint64_t page_bytes,
         uint64_t *out_addr,
         uint64_t *out_size_bytes)
{
  TesseraHost *self = (TesseraHost *) device;
  uint64_t device_bytes = self->device_bytes != 0 ? self->device_bytes : ENDLESS_BYTES;

  *out_size_bytes = tessera_reservation_size (device_bytes, page_bytes);
  return map_anew (*out_size_bytes, PROT_NONE, out_addr);
}

static void
unreserve (TesseraDevice *device, uint64_t addr, uint64_t size_bytes)
{
  munmap (pointer_to (addr), size_bytes);
}

static TesseraStatus
map (TesseraDevice *device, uint64_t addr, uint64_t size_bytes, uint32_t stream)
{
  TesseraHost *self = (TesseraHost *) device;

  if (!has_room (self, size_bytes) ||
      mprotect (pointer_to (addr), size_bytes, PROT_READ | PROT_WRITE) != 0)
    return TESSERA_OUT_OF_DEVICE;
  use (self, size_bytes);
  return TESSERA_OK;
}

/* The addresses stay reserved, what lay there is gone. */
static void
unmap (TesseraDevice *device, uint64_t addr, uint64_t size_bytes)
{
  TesseraHost *self = (TesseraHost *) device;

  mmap (pointer_to (addr), size_bytes, PROT_NONE,
        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  self->used_bytes -= size_bytes;
}

static void
synchronize (TesseraDevice *device)
{
  TesseraHost *self = (TesseraHost *) device;

  if (self->synchronize != NULL)
    self->synchronize (self->user);
}

static uint64_t
free_bytes (TesseraDevice *device)
{
  const TesseraHost *self = (const TesseraHost *) device;

  if (self->device_bytes == 0)
    return UINT64_MAX;
  return self->device_bytes > self->used_bytes ? self->device_bytes - self->used_bytes
                                               : 0;
}

void
tessera_host_init (TesseraHost *host, uint64_t device_bytes)
{
  *host = (TesseraHost){
    .device = { allocate, release, reserve, unreserve, map, unmap, synchronize,
                free_bytes, NULL },
    .device_bytes = device_bytes,
  };
}
