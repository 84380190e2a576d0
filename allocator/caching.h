/*
 * PyTorch's caching allocator, rule by rule: native and expandable segments.
 *
 * Serves requests from free blocks that it keeps per (stream, pool), takes segments from
 * a TesseraDevice when none fits, gives them back when memory runs out. Every decision,
 * address and order equals PyTorch's; tests replay real snapshots against it. Sources:
 * the behaviour of c10/cuda/CUDACachingAllocator, PyTorch 2.0 to 2.15.
 *
 * Not thread-safe by itself: the caller holds one lock per device.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "allocator/device.h"
#include "db/trace.h"

typedef struct TesseraCaching TesseraCaching;

/* What the policy did, told while it does it; every member may be NULL. Used to draw a
 * simulated run, to compare with a recorded one and to record a real one. */
typedef struct
{
  void (*segment_alloc) (void *user,
                         uint64_t addr,
                         uint64_t size_bytes,
                         uint32_t stream,
                         uint32_t pool,
                         bool is_small);
  void (*segment_free) (void *user, uint64_t addr, uint64_t size_bytes);
  void (*segment_map) (void *user,
                       uint64_t addr,
                       uint64_t size_bytes,
                       uint32_t stream,
                       uint32_t pool,
                       bool is_small);
  void (*segment_unmap) (void *user, uint64_t addr, uint64_t size_bytes);
  void *user;
} TesseraObserver;

typedef struct
{
  uint64_t allocated_bytes; /* blocks handed out and not freed */
  uint64_t active_bytes;    /* and those freed but pending */
  uint64_t requested_bytes; /* asked for, of the active ones */
  uint64_t reserved_bytes;  /* taken from the driver */
  uint64_t peak_allocated_bytes, peak_active_bytes, peak_requested_bytes,
      peak_reserved_bytes;
  uint64_t n_retries;
  uint64_t n_ooms;
} TesseraCachingStats;

typedef struct
{
  TesseraSettings settings;
  uint64_t limit_bytes; /* memory fraction; 0: none */
} TesseraCachingOptions;

TESSERA_MUST_USE TesseraStatus tessera_caching_new (const TesseraCachingOptions *options,
                                                    TesseraDevice *device,
                                                    const TesseraObserver *observer,
                                                    TesseraCaching **out_caching);
void tessera_caching_free (TesseraCaching *caching);

/* Sizes, as PyTorch computes them. */
uint64_t tessera_round_size (const TesseraSettings *settings, uint64_t size_bytes);
uint64_t tessera_segment_size (const TesseraSettings *settings, uint64_t block_bytes);
#define TESSERA_SMALL_BYTES ((uint64_t) 1 << 20) /* at most this, rounded: small pool */
#define TESSERA_MIN_BLOCK_BYTES ((uint64_t) 512)

typedef struct
{
  uint64_t addr;
  uint64_t block_bytes; /* what it really takes */
} TesseraGrant;

/* Returns TESSERA_OUT_OF_DEVICE after flush and retry, TESSERA_NO_MEMORY of the host. */
TESSERA_MUST_USE TesseraStatus tessera_caching_malloc (TesseraCaching *caching,
                                                       uint64_t size_bytes,
                                                       uint32_t stream,
                                                       uint32_t pool,
                                                       TesseraGrant *out_grant);

/* A free is requested, then completes: at once (call both), or when side streams are
 * done. Unknown addresses give TESSERA_INVALID and change nothing. */
TesseraStatus tessera_caching_free_requested (TesseraCaching *caching, uint64_t addr);
TesseraStatus tessera_caching_free_completed (TesseraCaching *caching, uint64_t addr);
void tessera_caching_empty_cache (TesseraCaching *caching);
void tessera_caching_get_stats (const TesseraCaching *caching,
                                TesseraCachingStats *out_stats);

/* Puts the state at the start of a trace in place; before the first malloc only. */
TESSERA_MUST_USE TesseraStatus tessera_caching_seed (TesseraCaching *caching,
                                                     const TesseraTrace *trace);

/* Walks all mapped blocks, segment by segment, ascending address within each.
 * For the final state and for checks. */
typedef struct
{
  uint64_t addr;
  uint64_t block_bytes;
  uint64_t size_bytes;   /* as asked for; 0 when free */
  uint64_t segment_addr; /* base of its segment or reservation */
  uint32_t stream, pool;
  bool is_small, is_expandable;
  TesseraBlockState state;
} TesseraBlockInfo;
void tessera_caching_each (const TesseraCaching *caching,
                           void (*visit) (void *user, const TesseraBlockInfo *info),
                           void *user);

/* Recomputes every cached figure; writes expected and found into @error. */
TesseraStatus tessera_caching_check (const TesseraCaching *caching, TesseraError *error);
