/*
 * The virtual device.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/virtual.h"

#include "allocator/caching.h"

#define GRAIN_BYTES ((uint64_t) 2 << 20)
/* Where a driver's own addresses begin on Linux, more or less; 0 stays invalid. */
#define FIRST_ADDR ((uint64_t) 1 << 33)

static uint64_t
take_addresses (TesseraVirtual *self, uint64_t size_bytes)
{
  uint64_t addr = self->next_addr;

  self->next_addr += (size_bytes + GRAIN_BYTES - 1) / GRAIN_BYTES * GRAIN_BYTES;
  return addr;
}

static TesseraStatus
use (TesseraVirtual *self, uint64_t size_bytes)
{
  if (self->device_bytes != 0 && (self->used_bytes > self->device_bytes ||
                                  size_bytes > self->device_bytes - self->used_bytes))
    {
      self->n_refused++;
      return TESSERA_OUT_OF_DEVICE;
    }
  self->used_bytes += size_bytes;
  if (self->used_bytes > self->peak_used_bytes)
    self->peak_used_bytes = self->used_bytes;
  return TESSERA_OK;
}

static TesseraStatus
allocate (TesseraDevice *device, uint64_t size_bytes, uint32_t stream, uint64_t *out_addr)
{
  TesseraVirtual *self = (TesseraVirtual *) device;
  TesseraStatus status = use (self, size_bytes);

  *out_addr = 0;
  if (status != TESSERA_OK)
    return status;
  *out_addr = take_addresses (self, size_bytes);
  self->n_allocated++;
  return TESSERA_OK;
}

static void
release (TesseraDevice *device, uint64_t addr, uint64_t size_bytes)
{
  TesseraVirtual *self = (TesseraVirtual *) device;

  self->used_bytes -= size_bytes;
  self->n_released++;
}

static TesseraStatus
reserve (TesseraDevice *device,
         uint32_t stream,
         uint64_t page_bytes,
         uint64_t *out_addr,
         uint64_t *out_size_bytes)
{
  TesseraVirtual *self = (TesseraVirtual *) device;

  *out_size_bytes = tessera_reservation_size (self->device_bytes, page_bytes);
  *out_addr = take_addresses (self, *out_size_bytes);
  return TESSERA_OK;
}

static void
unreserve (TesseraDevice *device, uint64_t addr, uint64_t size_bytes)
{
}

static TesseraStatus
map (TesseraDevice *device, uint64_t addr, uint64_t size_bytes, uint32_t stream)
{
  TesseraVirtual *self = (TesseraVirtual *) device;
  TesseraStatus status = use (self, size_bytes);

  if (status == TESSERA_OK)
    self->n_mapped++;
  return status;
}

static void
unmap (TesseraDevice *device, uint64_t addr, uint64_t size_bytes)
{
  TesseraVirtual *self = (TesseraVirtual *) device;

  self->used_bytes -= size_bytes;
  self->n_unmapped++;
  self->now_ns += self->unmap_ns;
}

static void
synchronize (TesseraDevice *device)
{
  TesseraVirtual *self = (TesseraVirtual *) device;

  self->n_synchronized++;
  if (self->synchronize != NULL)
    self->synchronize (self->user);
}

static void *
mark (TesseraDevice *device, uint32_t stream)
{
  return device;
}

static void
forget_mark (TesseraDevice *device, void *mark)
{
}

static bool
ends (TesseraDevice *device, void *mark, uint64_t within_ns)
{
  return true;
}

static bool
order (TesseraDevice *device, uint32_t stream, void *mark)
{
  ((TesseraVirtual *) device)->n_ordered++;
  return true;
}

static uint64_t
free_bytes (TesseraDevice *device)
{
  const TesseraVirtual *self = (const TesseraVirtual *) device;

  if (self->device_bytes == 0)
    return UINT64_MAX;
  return self->device_bytes > self->used_bytes ? self->device_bytes - self->used_bytes
                                               : 0;
}

static uint64_t
now_ns (TesseraDevice *device)
{
  return ((const TesseraVirtual *) device)->now_ns;
}

void
tessera_virtual_init (TesseraVirtual *virtual_device, uint64_t device_bytes)
{
  *virtual_device = (TesseraVirtual){
    .device = { allocate, release, reserve, unreserve, map, unmap, synchronize,
                free_bytes, now_ns, mark, forget_mark, ends, order },
    .device_bytes = device_bytes,
    .next_addr = FIRST_ADDR,
  };
}

void
tessera_virtual_adopt (TesseraVirtual *virtual_device, const TesseraTrace *trace)
{
  const TesseraHeld *start = &trace->start;
  uint64_t end = virtual_device->next_addr;

  for (size_t i = 0; i < start->n_segments; i++)
    {
      const TesseraSegment *segment = &start->segments[i];
      uint64_t segment_end = segment->addr + segment->size_bytes;

      /* The reservation goes on above what is mapped of it now. */
      if (segment->is_expandable)
        segment_end += tessera_reservation_size (trace->device_bytes, GRAIN_BYTES);
      if (segment_end > end)
        end = segment_end;
      virtual_device->used_bytes += segment->size_bytes;
    }
  if (virtual_device->used_bytes > virtual_device->peak_used_bytes)
    virtual_device->peak_used_bytes = virtual_device->used_bytes;
  virtual_device->next_addr = (end + GRAIN_BYTES - 1) / GRAIN_BYTES * GRAIN_BYTES;
}
