/*
 * PyTorch's memory statistics, kept as the blocks come and go.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "allocator/policy.h"
#include "runtime/tessera.h"

/* The figures' own layout: whole, small pool, large pool. */
typedef TesseraDeviceStats RuntimeStats;

void
tessera_stats_alloc (RuntimeStats *stats, bool is_small, uint64_t asked, uint64_t block);
void tessera_stats_free (RuntimeStats *stats, bool is_small, uint64_t block);
void tessera_stats_complete (RuntimeStats *stats,
                             bool is_small,
                             uint64_t asked,
                             uint64_t block);
/* A segment of its own (cudaMalloc), or pages of an expandable one. */
void tessera_stats_reserve (RuntimeStats *stats,
                            bool is_small,
                            bool is_expandable,
                            uint64_t size_bytes);
void tessera_stats_unreserve (RuntimeStats *stats,
                              bool is_small,
                              bool is_expandable,
                              uint64_t size_bytes);
/* As they are now, after one operation. */
void tessera_stats_splits (RuntimeStats *stats, const TesseraCachingStats *now);

void tessera_stats_reset_peaks (RuntimeStats *stats);
void tessera_stats_reset_accumulated (RuntimeStats *stats);
