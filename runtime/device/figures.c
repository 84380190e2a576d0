/*
 * PyTorch's memory statistics, where a figure rises or falls and its peak follows; the
 * figures of a device for whoever asks, and what it holds at the end of a recording.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/device/device-internal.h"

#include <stdio.h>
#include <stdlib.h>

enum
{
  WHOLE,
  SMALL,
  LARGE,
  N_CLASSES
};

static void
up_one (TesseraStat *stat, uint64_t amount)
{
  stat->current += amount;
  stat->allocated += amount;
  if (stat->current > stat->peak)
    stat->peak = stat->current;
}

static void
down_one (TesseraStat *stat, uint64_t amount)
{
  stat->current -= amount;
  stat->freed += amount;
}

static void
up (TesseraStat *stats, bool is_small, uint64_t amount)
{
  up_one (&stats[WHOLE], amount);
  up_one (&stats[is_small ? SMALL : LARGE], amount);
}

static void
down (TesseraStat *stats, bool is_small, uint64_t amount)
{
  down_one (&stats[WHOLE], amount);
  down_one (&stats[is_small ? SMALL : LARGE], amount);
}

void
tessera_stats_alloc (RuntimeStats *stats, bool is_small, uint64_t asked, uint64_t block)
{
  up (stats->allocation, is_small, 1);
  up (stats->allocated_bytes, is_small, block);
  up (stats->active, is_small, 1);
  up (stats->active_bytes, is_small, block);
  up (stats->requested_bytes, is_small, asked);
  if (block >= stats->max_split_bytes)
    up_one (&stats->oversize_allocations, 1);
}

void
tessera_stats_free (RuntimeStats *stats, bool is_small, uint64_t block)
{
  down (stats->allocation, is_small, 1);
  down (stats->allocated_bytes, is_small, block);
  if (block >= stats->max_split_bytes)
    down_one (&stats->oversize_allocations, 1);
}

void
tessera_stats_complete (RuntimeStats *stats,
                        bool is_small,
                        uint64_t asked,
                        uint64_t block)
{
  down (stats->active, is_small, 1);
  down (stats->active_bytes, is_small, block);
  down (stats->requested_bytes, is_small, asked);
}

void
tessera_stats_reserve (RuntimeStats *stats,
                       bool is_small,
                       bool is_expandable,
                       uint64_t size_bytes)
{
  stats->n_device_alloc++;
  up (stats->reserved_bytes, is_small, size_bytes);
  if (is_expandable)
    return;
  up (stats->segment, is_small, 1);
  if (size_bytes >= stats->max_split_bytes)
    up_one (&stats->oversize_segments, 1);
}

void
tessera_stats_unreserve (RuntimeStats *stats,
                         bool is_small,
                         bool is_expandable,
                         uint64_t size_bytes)
{
  stats->n_device_free++;
  down (stats->reserved_bytes, is_small, size_bytes);
  if (is_expandable)
    return;
  down (stats->segment, is_small, 1);
  if (size_bytes >= stats->max_split_bytes)
    down_one (&stats->oversize_segments, 1);
}

static void
follow (TesseraStat *stats, bool is_small, uint64_t now)
{
  uint64_t before = stats[is_small ? SMALL : LARGE].current;

  if (now > before)
    up (stats, is_small, now - before);
  else if (now < before)
    down (stats, is_small, before - now);
}

void
tessera_stats_splits (RuntimeStats *stats, const TesseraCachingStats *now)
{
  for (int is_small = 0; is_small < 2; is_small++)
    {
      follow (stats->inactive_split, is_small, now->n_inactive_split[is_small]);
      follow (stats->inactive_split_bytes, is_small, now->inactive_split_bytes[is_small]);
    }
}

/* Every figure that is a TesseraStat. */
static void
each (RuntimeStats *stats, void (*act) (TesseraStat *stat))
{
  TesseraStat *const triples[] = {
    stats->allocation,      stats->segment,
    stats->active,          stats->inactive_split,
    stats->allocated_bytes, stats->reserved_bytes,
    stats->active_bytes,    stats->inactive_split_bytes,
    stats->requested_bytes,
  };

  for (size_t i = 0; i < sizeof triples / sizeof *triples; i++)
    for (int class = 0; class < N_CLASSES; class ++)
      act (&triples[i][class]);
  act (&stats->oversize_allocations);
  act (&stats->oversize_segments);
}

static void
reset_peak (TesseraStat *stat)
{
  stat->peak = stat->current;
}

static void
reset_accumulated (TesseraStat *stat)
{
  stat->allocated = stat->freed = 0;
}

void
tessera_stats_reset_peaks (RuntimeStats *stats)
{
  each (stats, reset_peak);
}

void
tessera_stats_reset_accumulated (RuntimeStats *stats)
{
  each (stats, reset_accumulated);
  stats->n_ooms = stats->n_sync_all_streams = 0;
  stats->n_device_alloc = stats->n_device_free = 0;
}

void
tessera_device_get_stats (RuntimeDevice *device, TesseraDeviceStats *out_stats)
{
  TesseraPolicyStats policy;

  tessera_device_lock (device);
  tessera_policy_get_stats (device->policy, &policy);
  *out_stats = device->stats;
  out_stats->n_alloc_retries = policy.caching.n_retries - device->retries_before;
  tessera_device_unlock (device);
  out_stats->plan_is_declined = policy.decline.is_declined;
  out_stats->plan_height_bytes =
      out_stats->plan_is_declined ? 0 : policy.pool_height_bytes;
  out_stats->pool_bytes = policy.pool_bytes;
  out_stats->extra_bytes = policy.extra_bytes;
  out_stats->peak_extra_bytes = policy.peak_extra_bytes;
  out_stats->hits = policy.follower.hits;
  out_stats->misses = policy.follower.misses;
  out_stats->hit_bytes = policy.follower.hit_bytes;
  out_stats->miss_bytes = policy.follower.miss_bytes;
  out_stats->hits_elsewhere = policy.follower.hits_elsewhere;
  out_stats->misses_unknown = policy.follower.misses_unknown;
  out_stats->misses_occupied = policy.follower.misses_occupied;
  out_stats->misses_unordered = policy.misses_unordered;
  out_stats->barriers = policy.n_barriers;
  out_stats->misses_rescued = policy.misses_rescued;
  out_stats->misses_planned = policy.follower.misses_planned;
  out_stats->planned_miss_bytes = policy.follower.planned_miss_bytes;
}

void
tessera_device_reset_peaks (RuntimeDevice *device)
{
  tessera_device_lock (device);
  tessera_stats_reset_peaks (&device->stats);
  tessera_policy_reset_peaks (device->policy);
  tessera_device_unlock (device);
}

void
tessera_device_reset_accumulated (RuntimeDevice *device)
{
  TesseraPolicyStats policy;

  tessera_device_lock (device);
  tessera_policy_get_stats (device->policy, &policy);
  device->retries_before = policy.caching.n_retries;
  tessera_stats_reset_accumulated (&device->stats);
  tessera_device_unlock (device);
}

typedef struct
{
  TesseraHeld held;
  bool has_failed;
} Collection;

static void
collect_block (void *user, const TesseraBlockInfo *info)
{
  Collection *collection = user;
  const TesseraHeldBlock block = { .addr = info->addr,
                                   .size_bytes = info->size_bytes,
                                   .block_bytes = info->block_bytes,
                                   .stack = TESSERA_NONE,
                                   .state = (uint8_t) info->state };

  if (tessera_trace_add_block (&collection->held, &block) != TESSERA_OK)
    collection->has_failed = true;
}

static void
collect_span (Collection *collection, const RuntimeSpan *span)
{
  const TesseraSegment segment = { .addr = span->addr,
                                   .size_bytes = span->size_bytes,
                                   .stack = TESSERA_NONE,
                                   .stream = (uint16_t) span->stream,
                                   .pool = (uint16_t) span->pool,
                                   .is_small = span->is_small,
                                   .is_expandable = span->is_expandable };

  if (tessera_trace_add_segment (&collection->held, &segment) != TESSERA_OK)
    collection->has_failed = true;
}

static int
compare_blocks (const void *a, const void *b)
{
  const TesseraHeldBlock *x = a, *y = b;

  return (x->addr > y->addr) - (x->addr < y->addr);
}

void
tessera_device_record_end (RuntimeDevice *device, TesseraRecorder *recorder)
{
  Collection collection = { 0 };

  for (size_t i = 0; i < device->spans.n; i++)
    collect_span (&collection, &device->spans.all[i]);
  tessera_policy_each (device->policy, collect_block, &collection);
  if (collection.held.n_blocks != 0)
    qsort (collection.held.blocks, collection.held.n_blocks,
           sizeof *collection.held.blocks, compare_blocks);
  if (!collection.has_failed)
    tessera_recorder_end_state (recorder, (uint32_t) device->ordinal, &collection.held);
  free (collection.held.segments);
  free (collection.held.blocks);
}
