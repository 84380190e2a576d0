/*
 * What the driver gives a device and takes back: noted, counted, recorded.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/device/device-internal.h"

static void
record_span (RuntimeDevice *device, TesseraAction action, const RuntimeSpan *span)
{
  const RuntimeBlock shape = { .addr = span->addr,
                               .size_bytes = span->size_bytes,
                               .stream = (uint16_t) span->stream,
                               .pool = (uint16_t) span->pool };

  tessera_device_record (device, action, &shape, TESSERA_NONE);
}

static void
take_span (RuntimeDevice *device, const RuntimeSpan *span)
{
  tessera_spans_add (&device->spans, span);
  tessera_stats_reserve (&device->stats, span->is_small, span->is_expandable,
                         span->size_bytes);
  record_span (device, span->is_expandable ? TESSERA_SEGMENT_MAP : TESSERA_SEGMENT_ALLOC,
               span);
}

static void
give_span (RuntimeDevice *device, uint64_t addr, uint64_t size_bytes, bool is_expandable)
{
  RuntimeSpan span = tessera_spans_remove (&device->spans, addr, size_bytes);

  span.addr = addr;
  span.size_bytes = size_bytes;
  tessera_stats_unreserve (&device->stats, span.is_small, is_expandable, size_bytes);
  record_span (device, is_expandable ? TESSERA_SEGMENT_UNMAP : TESSERA_SEGMENT_FREE,
               &span);
}

static void
on_segment_alloc (void *user,
                  uint64_t addr,
                  uint64_t size_bytes,
                  uint32_t stream,
                  uint32_t pool,
                  bool is_small)
{
  take_span (user, &(RuntimeSpan){ addr, size_bytes, stream, pool, is_small, false });
}

static void
on_segment_map (void *user,
                uint64_t addr,
                uint64_t size_bytes,
                uint32_t stream,
                uint32_t pool,
                bool is_small)
{
  take_span (user, &(RuntimeSpan){ addr, size_bytes, stream, pool, is_small, true });
}

static void
on_segment_free (void *user, uint64_t addr, uint64_t size_bytes)
{
  give_span (user, addr, size_bytes, false);
}

static void
on_segment_unmap (void *user, uint64_t addr, uint64_t size_bytes)
{
  give_span (user, addr, size_bytes, true);
}

TesseraObserver
tessera_device_observer (RuntimeDevice *device)
{
  return (TesseraObserver){ .segment_alloc = on_segment_alloc,
                            .segment_free = on_segment_free,
                            .segment_map = on_segment_map,
                            .segment_unmap = on_segment_unmap,
                            .plan_declined = tessera_device_plan_declined,
                            .pool_sized = tessera_device_pool_sized,
                            .user = device };
}
