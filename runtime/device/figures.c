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

static inline void
move_one (TesseraStat *stat, uint64_t amount, bool is_up)
{
  if (!is_up)
    {
      stat->current -= amount;
      stat->freed += amount;
      return;
    }
  stat->current += amount;
  stat->allocated += amount;
  if (stat->current > stat->peak)
    stat->peak = stat->current;
}

static inline void
move (TesseraStat *stats, bool is_small, uint64_t amount, bool is_up)
{
  move_one (&stats[WHOLE], amount, is_up);
  move_one (&stats[is_small ? SMALL : LARGE], amount, is_up);
}

void
tessera_stats_live (RuntimeStats *stats, const RuntimeBlock *block, bool is_live)
{
  move (stats->allocation, block->is_small, 1, is_live);
  move (stats->allocated_bytes, block->is_small, block->block_bytes, is_live);
  if (block->block_bytes >= stats->max_split_bytes)
    move_one (&stats->oversize_allocations, 1, is_live);
}

void
tessera_stats_active (RuntimeStats *stats, const RuntimeBlock *block, bool is_active)
{
  move (stats->active, block->is_small, 1, is_active);
  move (stats->active_bytes, block->is_small, block->block_bytes, is_active);
  move (stats->requested_bytes, block->is_small, block->size_bytes, is_active);
}

void
tessera_stats_reserved (RuntimeStats *stats, const TesseraSegment *memory, bool has_come)
{
  stats->n_device_alloc += has_come;
  stats->n_device_free += !has_come;
  move (stats->reserved_bytes, memory->is_small, memory->size_bytes, has_come);
  if (memory->is_expandable)
    return;
  move (stats->segment, memory->is_small, 1, has_come);
  if (memory->size_bytes >= stats->max_split_bytes)
    move_one (&stats->oversize_segments, 1, has_come);
}

static void
follow (TesseraStat *stats, bool is_small, uint64_t now)
{
  uint64_t before = stats[is_small ? SMALL : LARGE].current;

  if (now != before)
    move (stats, is_small, now > before ? now - before : before - now, now > before);
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
  each (&device->stats, reset_peak);
  tessera_policy_reset_peaks (device->policy);
  tessera_device_unlock (device);
}

void
tessera_device_reset_accumulated (RuntimeDevice *device)
{
  RuntimeStats *stats = &device->stats;
  TesseraPolicyStats policy;

  tessera_device_lock (device);
  tessera_policy_get_stats (device->policy, &policy);
  device->retries_before = policy.caching.n_retries;
  each (stats, reset_accumulated);
  stats->n_ooms = stats->n_sync_all_streams = 0;
  stats->n_device_alloc = stats->n_device_free = 0;
  tessera_device_unlock (device);
}

/* ---- What is held ---- */

/* Memory that lies side by side: a segment, or pages of one reservation that touch. */
typedef struct
{
  const RuntimeDevice *device;
  TesseraSegment segment; /* so far; of 0 bytes: none */
  uint64_t base_addr;     /* of its segment or reservation */
  void (*visit) (void *user, const TesseraSegment *segment);
  void *user;
} Walk;

static void
end_segment (Walk *walk)
{
  if (walk->segment.size_bytes != 0)
    walk->visit (walk->user, &walk->segment);
}

static void
see_block (void *user, const TesseraBlockInfo *info)
{
  Walk *walk = user;
  TesseraSegment *segment = &walk->segment;
  bool is_planned = tessera_policy_is_in_pool (walk->device->policy, info->addr);

  if (walk->base_addr == info->segment_addr &&
      segment->addr + segment->size_bytes == info->addr)
    {
      segment->size_bytes += info->block_bytes;
      return;
    }
  end_segment (walk);
  walk->base_addr = info->segment_addr;
  *segment = (TesseraSegment){ .addr = info->addr,
                               .size_bytes = info->block_bytes,
                               .stack = TESSERA_NONE,
                               .stream = is_planned ? 0 : (uint16_t) info->stream,
                               .pool = is_planned ? 0 : (uint16_t) info->pool,
                               .is_small = info->is_small,
                               .is_expandable = is_planned || info->is_expandable };
}

static void
each_segment (const RuntimeDevice *device,
              void (*visit) (void *user, const TesseraSegment *segment),
              void *user)
{
  Walk walk = { .device = device, .visit = visit, .user = user };

  tessera_policy_each (device->policy, see_block, &walk);
  end_segment (&walk);
}

static void
find_segment (void *user, const TesseraSegment *segment)
{
  TesseraSegment *wanted = user;

  if (wanted->addr - segment->addr < segment->size_bytes)
    *wanted = *segment;
}

bool
tessera_device_base (RuntimeDevice *device,
                     uint64_t addr,
                     uint64_t *out_base,
                     uint64_t *out_size_bytes)
{
  TesseraSegment found = { .addr = addr };

  tessera_device_lock (device);
  each_segment (device, find_segment, &found);
  tessera_device_unlock (device);
  if (found.size_bytes == 0)
    return false;
  *out_base = found.addr;
  *out_size_bytes = found.size_bytes;
  return true;
}

typedef struct
{
  TesseraHeld held;
  bool has_free; /* free blocks are collected as well */
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

  if (info->state == TESSERA_BLOCK_FREE && !collection->has_free)
    return;
  if (tessera_trace_add_block (&collection->held, &block) != TESSERA_OK)
    collection->has_failed = true;
}

static void
collect_segment (void *user, const TesseraSegment *segment)
{
  Collection *collection = user;

  if (tessera_trace_add_segment (&collection->held, segment) != TESSERA_OK)
    collection->has_failed = true;
}

void
tessera_device_record_state (RuntimeDevice *device,
                             TesseraRecorder *recorder,
                             bool at_end)
{
  Collection collection = { .has_free = at_end };

  each_segment (device, collect_segment, &collection);
  tessera_policy_each (device->policy, collect_block, &collection);
  if (!collection.has_failed)
    tessera_recorder_state (recorder, (uint32_t) device->ordinal, &collection.held,
                            at_end);
  tessera_held_clear (&collection.held);
}
