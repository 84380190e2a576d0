/*
 * PyTorch's memory statistics: a figure rises or falls, its peak follows.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/device/stats.h"

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
