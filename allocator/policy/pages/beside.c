/*
 * The device as a plan's pool leaves it: see beside.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/policy/pages/beside.h"

static TesseraDevice *
whole_of (TesseraDevice *device)
{
  return ((TesseraBeside *) device)->whole;
}

static uint64_t
free_bytes (TesseraDevice *device)
{
  const TesseraBeside *beside = (const TesseraBeside *) device;
  uint64_t promised_bytes = beside->pages != NULL ? beside->pages->promised_bytes : 0;
  uint64_t left_bytes = beside->whole->free_bytes (beside->whole);

  return left_bytes > promised_bytes ? left_bytes - promised_bytes : 0;
}

static bool
has_room (TesseraDevice *device, uint64_t size_bytes)
{
  const TesseraBeside *beside = (const TesseraBeside *) device;

  return beside->pages == NULL || beside->pages->promised_bytes == 0 ||
         size_bytes <= free_bytes (device);
}

static TesseraStatus
allocate (TesseraDevice *device, uint64_t size_bytes, uint32_t stream, uint64_t *out_addr)
{
  *out_addr = 0;
  if (!has_room (device, size_bytes))
    return TESSERA_OUT_OF_DEVICE;
  return whole_of (device)->allocate (whole_of (device), size_bytes, stream, out_addr);
}

static void
release (TesseraDevice *device, uint64_t addr, uint64_t size_bytes)
{
  whole_of (device)->release (whole_of (device), addr, size_bytes);
}

static TesseraStatus
reserve (TesseraDevice *device,
         uint32_t stream,
         uint64_t page_bytes,
         uint64_t *out_addr,
         uint64_t *out_size_bytes)
{
  return whole_of (device)->reserve (whole_of (device), stream, page_bytes, out_addr,
                                     out_size_bytes);
}

static void
unreserve (TesseraDevice *device, uint64_t addr, uint64_t size_bytes)
{
  whole_of (device)->unreserve (whole_of (device), addr, size_bytes);
}

static TesseraStatus
map (TesseraDevice *device, uint64_t addr, uint64_t size_bytes, uint32_t stream)
{
  if (!has_room (device, size_bytes))
    return TESSERA_OUT_OF_DEVICE;
  return whole_of (device)->map (whole_of (device), addr, size_bytes, stream);
}

static void
unmap (TesseraDevice *device, uint64_t addr, uint64_t size_bytes)
{
  whole_of (device)->unmap (whole_of (device), addr, size_bytes);
}

static void
synchronize (TesseraDevice *device)
{
  whole_of (device)->synchronize (whole_of (device));
}

void
tessera_beside_init (TesseraBeside *beside, TesseraDevice *whole)
{
  *beside = (TesseraBeside){
    .device = { allocate, release, reserve, unreserve, map, unmap, synchronize,
                free_bytes },
    .whole = whole,
  };
}
