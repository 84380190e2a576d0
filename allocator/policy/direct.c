/*
 * The policy that keeps nothing: a call of the driver for every block.
 *
 * Requests of 1 MiB and more are segments of their own, given back when their free
 * completes. Smaller ones share slabs of 2 MiB by PyTorch's rules for its small pool, per
 * stream; a slab goes back with its last block. So what lives is what must fit, plus less
 * than the slabs: a run that dies under a caching policy can be recorded. Slow: the
 * driver waits for the whole device whenever memory goes back.
 *
 * Private pools are served by PyTorch's native rules, whatever the size: what a graph
 * captured stays in use after its blocks are freed, until the pool is released.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdlib.h>

#include "allocator/policy/functions.h"
#include "allocator/table.h"

#define DIRECT_BYTES ((uint64_t) 1 << 20) /* from here on: the device itself */

/* A segment of one block. */
typedef struct
{
  uint64_t size_bytes;
  uint64_t block_bytes;
  uint32_t stream;
  TesseraBlockState state;
} Segment;

typedef struct
{
  TesseraPolicy policy; /* must be first; its allocator has the slabs and private pools */
  TesseraDevice *device;
  TesseraObserver observer;
  TesseraTable segments;     /* by address */
  TesseraCachingStats stats; /* of the segments; its peaks: of all */
  uint64_t limit_bytes;      /* 0: none */
} Direct;

static TesseraCachingStats
sum_stats (const Direct *direct)
{
  const TesseraCachingStats *own = &direct->stats;
  TesseraCachingStats sum = *tessera_caching_stats (direct->policy.caching);

  sum.allocated_bytes += own->allocated_bytes;
  sum.active_bytes += own->active_bytes;
  sum.requested_bytes += own->requested_bytes;
  sum.reserved_bytes += own->reserved_bytes;
  sum.n_retries += own->n_retries;
  sum.n_ooms += own->n_ooms;
  sum.peak_allocated_bytes = own->peak_allocated_bytes;
  sum.peak_active_bytes = own->peak_active_bytes;
  sum.peak_requested_bytes = own->peak_requested_bytes;
  sum.peak_reserved_bytes = own->peak_reserved_bytes;
  return sum;
}

static void
raise_peaks (Direct *direct)
{
  TesseraCachingStats *stats = &direct->stats;
  const TesseraCachingStats now = sum_stats (direct);

  tessera_raise_to (&stats->peak_allocated_bytes, now.allocated_bytes);
  tessera_raise_to (&stats->peak_active_bytes, now.active_bytes);
  tessera_raise_to (&stats->peak_requested_bytes, now.requested_bytes);
  tessera_raise_to (&stats->peak_reserved_bytes, now.reserved_bytes);
}

static TesseraStatus
ask_device (Direct *direct, uint64_t block_bytes, uint32_t stream, uint64_t *out_addr)
{
  uint64_t reserved_bytes = sum_stats (direct).reserved_bytes;

  if (direct->limit_bytes != 0 && (reserved_bytes > direct->limit_bytes ||
                                   block_bytes > direct->limit_bytes - reserved_bytes))
    return TESSERA_OUT_OF_DEVICE;
  return direct->device->allocate (direct->device, block_bytes, stream, out_addr);
}

/* Waits for what is pending, which gives it back, and asks again. */
static TesseraStatus
obtain (Direct *direct, uint64_t block_bytes, uint32_t stream, uint64_t *out_addr)
{
  TesseraStatus status = ask_device (direct, block_bytes, stream, out_addr);

  if (status != TESSERA_OUT_OF_DEVICE)
    return status;
  tessera_caching_empty_cache (direct->policy.caching);
  direct->stats.n_retries++;
  status = ask_device (direct, block_bytes, stream, out_addr);
  if (status == TESSERA_OUT_OF_DEVICE)
    direct->stats.n_ooms++;
  return status;
}

static TesseraStatus
add_segment (Direct *direct,
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
limit_slabs (Direct *direct)
{
  uint64_t limit_bytes = direct->limit_bytes;

  if (limit_bytes != 0)
    limit_bytes = limit_bytes > direct->stats.reserved_bytes
                      ? limit_bytes - direct->stats.reserved_bytes
                      : 1;
  tessera_caching_set_limit (direct->policy.caching, limit_bytes);
}

static TesseraStatus
direct_malloc (TesseraPolicy *policy,
               uint64_t size_bytes,
               uint32_t stream,
               uint32_t pool,
               TesseraPolicyGrant *out_grant)
{
  Direct *direct = (Direct *) policy;
  TesseraStatus status;

  if (size_bytes < DIRECT_BYTES || pool != 0)
    {
      limit_slabs (direct);
      status = tessera_caching_malloc (policy->caching, size_bytes, stream, pool,
                                       &out_grant->grant);
    }
  else
    status = add_segment (direct, size_bytes, stream, &out_grant->grant);
  raise_peaks (direct);
  return status;
}

static Segment *
segment_at (const Direct *direct, uint64_t addr)
{
  return addr != 0 ? tessera_table_get (&direct->segments, addr) : NULL;
}

static TesseraStatus
direct_free_requested (TesseraPolicy *policy, uint64_t addr)
{
  Direct *direct = (Direct *) policy;
  Segment *segment = segment_at (direct, addr);

  if (segment == NULL)
    return tessera_caching_free_requested (direct->policy.caching, addr);
  if (segment->state != TESSERA_BLOCK_LIVE)
    return TESSERA_INVALID;
  segment->state = TESSERA_BLOCK_PENDING;
  direct->stats.allocated_bytes -= segment->block_bytes;
  return TESSERA_OK;
}

static TesseraStatus
direct_free_completed (TesseraPolicy *policy, uint64_t addr)
{
  Direct *direct = (Direct *) policy;
  const TesseraObserver *observer = &direct->observer;
  Segment *segment = segment_at (direct, addr);
  uint64_t block_bytes;

  if (segment == NULL)
    return tessera_caching_free_to_device (direct->policy.caching, addr);
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

static void
direct_set_limit (TesseraPolicy *policy, uint64_t limit_bytes)
{
  ((Direct *) policy)->limit_bytes = limit_bytes;
}

static void
direct_add_stats (const TesseraPolicy *policy, TesseraPolicyStats *stats)
{
  stats->caching = sum_stats ((const Direct *) policy);
  stats->extra_bytes = stats->caching.reserved_bytes;
  stats->peak_extra_bytes = stats->caching.peak_reserved_bytes;
}

static void
direct_reset_peaks (TesseraPolicy *policy)
{
  Direct *direct = (Direct *) policy;
  TesseraCachingStats *stats = &direct->stats;

  stats->peak_allocated_bytes = stats->peak_active_bytes = 0;
  stats->peak_requested_bytes = stats->peak_reserved_bytes = 0;
  raise_peaks (direct);
}

/* The segments of one block each, in no order. */
static void
direct_each (const TesseraPolicy *policy,
             void (*visit) (void *user, const TesseraBlockInfo *info),
             void *user)
{
  const Direct *direct = (const Direct *) policy;

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
}

static void
direct_free (TesseraPolicy *policy)
{
  Direct *direct = (Direct *) policy;

  for (size_t i = 0; i < direct->segments.n_slots; i++)
    if (direct->segments.slots[i].addr != 0)
      free (direct->segments.slots[i].value);
  tessera_table_clear (&direct->segments);
}

static const TesseraPolicyFunctions functions = {
  .malloc = direct_malloc,
  .free_requested = direct_free_requested,
  .free_completed = direct_free_completed,
  .set_limit = direct_set_limit,
  .add_stats = direct_add_stats,
  .reset_peaks = direct_reset_peaks,
  .each = direct_each,
  .free = direct_free,
};

TesseraStatus
tessera_direct_new (const TesseraPolicyOptions *options,
                    TesseraDevice *device,
                    const TesseraObserver *observer,
                    TesseraPolicy **out_policy)
{
  TesseraCachingOptions slabs = options->caching;
  Direct *direct = calloc (1, sizeof *direct);
  TesseraStatus status;

  if (direct == NULL)
    return TESSERA_NO_MEMORY;
  direct->policy.functions = &functions;
  direct->device = device;
  direct->observer = *observer;
  direct->limit_bytes = options->caching.limit_bytes;
  slabs.settings = (TesseraSettings){
    .max_split_bytes = UINT64_MAX,
    .large_segment_bytes = options->caching.settings.large_segment_bytes,
  };
  status = tessera_caching_new (&slabs, device, observer, &direct->policy.caching);
  if (status == TESSERA_OK)
    *out_policy = &direct->policy;
  else
    free (direct);
  return status;
}
