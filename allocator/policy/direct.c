/*
 * The policy that keeps nothing.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/policy/direct.h"

#include <inttypes.h>
#include <stdlib.h>

#include "allocator/table.h"

/* A segment of one block. */
typedef struct
{
  uint64_t size_bytes;
  uint64_t block_bytes;
  uint32_t stream;
  TesseraBlockState state;
} Segment;

struct TesseraDirect
{
  TesseraDevice *device;
  TesseraObserver observer;
  TesseraCaching *slabs;
  TesseraTable segments;     /* by address */
  TesseraCachingStats stats; /* of the segments; its peaks: of all */
  uint64_t limit_bytes;      /* 0: none */
};

TesseraStatus
tessera_direct_new (const TesseraPolicyOptions *options,
                    TesseraDevice *device,
                    const TesseraObserver *observer,
                    TesseraDirect **out_direct)
{
  TesseraDirect *direct = calloc (1, sizeof *direct);
  TesseraCachingOptions slabs = options->caching;
  TesseraStatus status;

  *out_direct = NULL;
  if (direct == NULL)
    return TESSERA_NO_MEMORY;
  direct->device = device;
  direct->limit_bytes = options->caching.limit_bytes;
  if (observer != NULL)
    direct->observer = *observer;
  slabs.settings = (TesseraSettings){
    .max_split_bytes = UINT64_MAX,
    .large_segment_bytes = options->caching.settings.large_segment_bytes,
  };
  status = tessera_caching_new (&slabs, device, observer, &direct->slabs);
  if (status == TESSERA_OK)
    *out_direct = direct;
  else
    tessera_direct_free (direct);
  return status;
}

void
tessera_direct_free (TesseraDirect *direct)
{
  if (direct == NULL)
    return;
  for (size_t i = 0; i < direct->segments.n_slots; i++)
    if (direct->segments.slots[i].addr != 0)
      free (direct->segments.slots[i].value);
  tessera_table_clear (&direct->segments);
  tessera_caching_free (direct->slabs);
  free (direct);
}

static void
raise_to (uint64_t *peak_bytes, uint64_t bytes)
{
  if (bytes > *peak_bytes)
    *peak_bytes = bytes;
}

static void
raise_peaks (TesseraDirect *direct)
{
  TesseraCachingStats *stats = &direct->stats;
  TesseraCachingStats now;

  tessera_direct_get_stats (direct, &now);
  raise_to (&stats->peak_allocated_bytes, now.allocated_bytes);
  raise_to (&stats->peak_active_bytes, now.active_bytes);
  raise_to (&stats->peak_requested_bytes, now.requested_bytes);
  raise_to (&stats->peak_reserved_bytes, now.reserved_bytes);
}

static TesseraStatus
ask_device (TesseraDirect *direct,
            uint64_t block_bytes,
            uint32_t stream,
            uint64_t *out_addr)
{
  TesseraCachingStats now;

  tessera_direct_get_stats (direct, &now);
  if (direct->limit_bytes != 0 &&
      (now.reserved_bytes > direct->limit_bytes ||
       block_bytes > direct->limit_bytes - now.reserved_bytes))
    return TESSERA_OUT_OF_DEVICE;
  return direct->device->allocate (direct->device, block_bytes, stream, out_addr);
}

/* Waits for what is pending, which gives it back, and asks again. */
static TesseraStatus
obtain (TesseraDirect *direct, uint64_t block_bytes, uint32_t stream, uint64_t *out_addr)
{
  TesseraStatus status = ask_device (direct, block_bytes, stream, out_addr);

  if (status != TESSERA_OUT_OF_DEVICE)
    return status;
  tessera_caching_empty_cache (direct->slabs);
  direct->stats.n_retries++;
  status = ask_device (direct, block_bytes, stream, out_addr);
  if (status == TESSERA_OUT_OF_DEVICE)
    direct->stats.n_ooms++;
  return status;
}

static TesseraStatus
add_segment (TesseraDirect *direct,
             uint64_t size_bytes,
             uint32_t stream,
             TesseraGrant *out_grant)
{
  const TesseraObserver *observer = &direct->observer;
  uint64_t block_bytes = (size_bytes + TESSERA_MIN_BLOCK_BYTES - 1) /
                         TESSERA_MIN_BLOCK_BYTES * TESSERA_MIN_BLOCK_BYTES;
  Segment *segment = malloc (sizeof *segment);
  TesseraStatus status = TESSERA_NO_MEMORY;
  uint64_t addr;

  if (segment != NULL)
    status = tessera_table_reserve (&direct->segments);
  if (status == TESSERA_OK)
    status = obtain (direct, block_bytes, stream, &addr);
  if (status != TESSERA_OK)
    {
      free (segment);
      return status;
    }
  *segment = (Segment){ size_bytes, block_bytes, stream, TESSERA_BLOCK_LIVE };
  tessera_table_add (&direct->segments, addr, segment);
  direct->stats.allocated_bytes += block_bytes;
  direct->stats.active_bytes += block_bytes;
  direct->stats.requested_bytes += size_bytes;
  direct->stats.reserved_bytes += block_bytes;
  if (observer->segment_alloc != NULL)
    observer->segment_alloc (observer->user, addr, block_bytes, stream, 0, false);
  *out_grant = (TesseraGrant){ addr, block_bytes };
  return TESSERA_OK;
}

/* What the segments leave of the limit, of which 0 would be none. */
static void
limit_slabs (TesseraDirect *direct)
{
  uint64_t limit_bytes = direct->limit_bytes;

  if (limit_bytes != 0)
    limit_bytes = limit_bytes > direct->stats.reserved_bytes
                      ? limit_bytes - direct->stats.reserved_bytes
                      : 1;
  tessera_caching_set_limit (direct->slabs, limit_bytes);
}

TesseraStatus
tessera_direct_malloc (TesseraDirect *direct,
                       uint64_t size_bytes,
                       uint32_t stream,
                       uint32_t pool,
                       TesseraGrant *out_grant)
{
  TesseraStatus status;

  *out_grant = (TesseraGrant){ 0 };
  /* Sizes beyond reason too: the caching allocator refuses them as PyTorch does. */
  if (size_bytes < TESSERA_DIRECT_BYTES || pool != 0 ||
      size_bytes >= TESSERA_REFUSED_FROM_BYTES)
    {
      limit_slabs (direct);
      status =
          tessera_caching_malloc (direct->slabs, size_bytes, stream, pool, out_grant);
    }
  else
    status = add_segment (direct, size_bytes, stream, out_grant);
  raise_peaks (direct);
  return status;
}

static Segment *
segment_at (const TesseraDirect *direct, uint64_t addr)
{
  return addr != 0 ? tessera_table_get (&direct->segments, addr) : NULL;
}

TesseraStatus
tessera_direct_free_requested (TesseraDirect *direct, uint64_t addr)
{
  Segment *segment = segment_at (direct, addr);

  if (segment == NULL)
    return tessera_caching_free_requested (direct->slabs, addr);
  if (segment->state != TESSERA_BLOCK_LIVE)
    return TESSERA_INVALID;
  segment->state = TESSERA_BLOCK_PENDING;
  direct->stats.allocated_bytes -= segment->block_bytes;
  return TESSERA_OK;
}

TesseraStatus
tessera_direct_free_completed (TesseraDirect *direct, uint64_t addr)
{
  const TesseraObserver *observer = &direct->observer;
  Segment *segment = segment_at (direct, addr);
  uint64_t block_bytes;

  if (segment == NULL)
    return tessera_caching_free_to_device (direct->slabs, addr);
  if (segment->state != TESSERA_BLOCK_PENDING)
    return TESSERA_INVALID;
  block_bytes = segment->block_bytes;
  direct->stats.active_bytes -= block_bytes;
  direct->stats.requested_bytes -= segment->size_bytes;
  direct->stats.reserved_bytes -= block_bytes;
  tessera_table_remove (&direct->segments, addr);
  free (segment);
  if (observer->segment_free != NULL)
    observer->segment_free (observer->user, addr, block_bytes);
  direct->device->release (direct->device, addr, block_bytes);
  return TESSERA_OK;
}

void
tessera_direct_set_limit (TesseraDirect *direct, uint64_t limit_bytes)
{
  direct->limit_bytes = limit_bytes;
}

TesseraCaching *
tessera_direct_slabs (TesseraDirect *direct)
{
  return direct->slabs;
}

void
tessera_direct_get_stats (const TesseraDirect *direct, TesseraCachingStats *out_stats)
{
  const TesseraCachingStats *own = &direct->stats;

  tessera_caching_get_stats (direct->slabs, out_stats);
  out_stats->allocated_bytes += own->allocated_bytes;
  out_stats->active_bytes += own->active_bytes;
  out_stats->requested_bytes += own->requested_bytes;
  out_stats->reserved_bytes += own->reserved_bytes;
  out_stats->n_retries += own->n_retries;
  out_stats->n_ooms += own->n_ooms;
  out_stats->peak_allocated_bytes = own->peak_allocated_bytes;
  out_stats->peak_active_bytes = own->peak_active_bytes;
  out_stats->peak_requested_bytes = own->peak_requested_bytes;
  out_stats->peak_reserved_bytes = own->peak_reserved_bytes;
}

void
tessera_direct_reset_peaks (TesseraDirect *direct)
{
  TesseraCachingStats *stats = &direct->stats;

  stats->peak_allocated_bytes = stats->peak_active_bytes = 0;
  stats->peak_requested_bytes = stats->peak_reserved_bytes = 0;
  raise_peaks (direct);
}

void
tessera_direct_each (const TesseraDirect *direct,
                     void (*visit) (void *user, const TesseraBlockInfo *info),
                     void *user)
{
  for (size_t i = 0; i < direct->segments.n_slots; i++)
    {
      uint64_t addr = direct->segments.slots[i].addr;
      const Segment *segment = direct->segments.slots[i].value;

      if (addr == 0)
        continue;
      visit (user, &(TesseraBlockInfo){ .addr = addr,
                                        .block_bytes = segment->block_bytes,
                                        .size_bytes = segment->size_bytes,
                                        .segment_addr = addr,
                                        .stream = segment->stream,
                                        .state = segment->state });
    }
  tessera_caching_each (direct->slabs, visit, user);
}

TesseraStatus
tessera_direct_check (const TesseraDirect *direct, TesseraError *error)
{
  uint64_t reserved_bytes = 0;
  uint64_t allocated_bytes = 0;

  for (size_t i = 0; i < direct->segments.n_slots; i++)
    if (direct->segments.slots[i].addr != 0)
      {
        const Segment *segment = direct->segments.slots[i].value;

        reserved_bytes += segment->block_bytes;
        if (segment->state == TESSERA_BLOCK_LIVE)
          allocated_bytes += segment->block_bytes;
      }
  if (reserved_bytes != direct->stats.reserved_bytes ||
      reserved_bytes != direct->stats.active_bytes ||
      allocated_bytes != direct->stats.allocated_bytes)
    return tessera_fail (error, TESSERA_INVALID,
                         "direct: expected %" PRIu64 " bytes reserved and %" PRIu64
                         " allocated, found %" PRIu64 " and %" PRIu64,
                         reserved_bytes, allocated_bytes, direct->stats.reserved_bytes,
                         direct->stats.allocated_bytes);
  return tessera_caching_check (direct->slabs, error);
}
