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
  /* The driver gave a segment, or pages of an expandable one; and has them back. */
  void (*memory_came) (void *user, const TesseraSegment *memory);
  void (*memory_went) (void *user, const TesseraSegment *memory);
  void (*plan_declined) (void *user); /* TesseraPolicy: its figures say why */
  void (*pool_sized) (void *user);    /* ... the plan's pool has another size */
  /* ... the block at @addr, whose free is pending, ended: another is to get its memory,
   * behind a barrier. free_completed() is not to be called for it. */
  void (*block_passed) (void *user, uint64_t addr);
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
  /* Free blocks that share a cudaMalloc segment with others: [0] large, [1] small pools.
   */
  uint64_t n_inactive_split[2], inactive_split_bytes[2];
} TesseraCachingStats;

typedef struct
{
  TesseraSettings settings;
  uint64_t limit_bytes; /* memory fraction; 0: none */
  /* Raw handle of each stream index (trace->streams), copied; NULL: the index itself.
   * Streams are kept apart by index; the handle only orders them, as a flush shows. */
  const uint64_t *stream_handles;
  size_t n_streams;
} TesseraCachingOptions;

TESSERA_MUST_USE TesseraStatus tessera_caching_new (const TesseraCachingOptions *options,
                                                    TesseraDevice *device,
                                                    const TesseraObserver *observer,
                                                    TesseraCaching **out_caching);
void tessera_caching_free (TesseraCaching *caching);

/* PyTorch refuses such sizes before it looks at anything. */
#define TESSERA_REFUSED_FROM_BYTES ((uint64_t) 1 << 60)

/* Sizes, as PyTorch computes them. */
uint64_t tessera_round_size (const TesseraSettings *settings, uint64_t size_bytes);
uint64_t tessera_segment_size (const TesseraSettings *settings, uint64_t block_bytes);
/* Addresses of one expandable segment: 9/8 of the device, in whole pages. A device of
 * unknown size (0) counts as endless. */
uint64_t tessera_reservation_size (uint64_t device_bytes, uint64_t page_bytes);
#define TESSERA_ENDLESS_RESERVATION_BYTES ((uint64_t) 1 << 44)
#define TESSERA_SMALL_BYTES ((uint64_t) 1 << 20) /* at most this, rounded: small pool */
#define TESSERA_MIN_BLOCK_BYTES ((uint64_t) 512)

typedef struct
{
  uint64_t addr;
  uint64_t block_bytes; /* what it really takes */
} TesseraGrant;

/* Streams that appear later than the options; before the stream's first request only.
 * Two streams must not have the same handle. */
TESSERA_MUST_USE TesseraStatus tessera_caching_set_stream_handle (TesseraCaching *caching,
                                                                  uint32_t stream,
                                                                  uint64_t handle);

/* Private pools (graphs, MemPool) need no creation; pool 0 is the default one. What a
 * MemPool may be told of splitting and of shortage ("no_split", "use_on_oom") no snapshot
 * and no hook tells.
 *
 * The last user of a private pool is gone: the next flush takes its whole segments. A
 * later request from the pool takes this back. Unknown pools and 0: TESSERA_INVALID. */
TesseraStatus tessera_caching_release_pool (TesseraCaching *caching, uint32_t pool);
/* While requests are routed to private pools (graph capture, use_mem_pool) a failing one
 * does not flush. Requests of a private pool never do, whatever is set here. */
void tessera_caching_set_routed (TesseraCaching *caching, bool is_routed);

/* Returns TESSERA_OUT_OF_DEVICE after flush and retry (also for the 2^60 bytes and more
 * that PyTorch refuses at once), TESSERA_NO_MEMORY of the host, TESSERA_INVALID for 0
 * bytes or a pool beyond 65535. */
TESSERA_MUST_USE TesseraStatus tessera_caching_malloc (TesseraCaching *caching,
                                                       uint64_t size_bytes,
                                                       uint32_t stream,
                                                       uint32_t pool,
                                                       TesseraGrant *out_grant);

/* How much more tessera_caching_malloc() would take from the device for the request, under
 * the rules of expandable segments and if the device has it. */
uint64_t tessera_caching_growth (TesseraCaching *caching,
                                 uint64_t size_bytes,
                                 uint32_t stream,
                                 uint32_t pool);

/* A free is requested, then completes: at once (call both), or when side streams are
 * done. Unknown addresses give TESSERA_INVALID and change nothing. */
TesseraStatus tessera_caching_free_requested (TesseraCaching *caching, uint64_t addr);
TesseraStatus tessera_caching_free_completed (TesseraCaching *caching, uint64_t addr);
/* Completes a free; a cudaMalloc segment of the default pool that is wholly free then
 * goes back at once, which PyTorch never does. */
TesseraStatus tessera_caching_free_to_device (TesseraCaching *caching, uint64_t addr);
/* Gives back what it can; without host memory some expandable pages may stay mapped. */
void tessera_caching_empty_cache (TesseraCaching *caching);
/* Borrowed: they change with every call. */
const TesseraCachingStats *tessera_caching_stats (const TesseraCaching *caching);
/* Peaks begin anew with what is held now. */
void tessera_caching_reset_peaks (TesseraCaching *caching);
/* From the next request on; what is held above it already stays. 0: none. */
void tessera_caching_set_limit (TesseraCaching *caching, uint64_t limit_bytes);
/* Expandable segments leave the device so many bytes of what it has, for others. */
void tessera_caching_set_kept (TesseraCaching *caching, uint64_t kept_bytes);

/* Puts the state at the start of a trace in place, and takes over the trace's stream
 * handles; before the first malloc only (else TESSERA_INVALID). The device is not asked
 * for this memory; see tessera_virtual_adopt(). Expandable segments keep the reservation
 * they had: trace->device_bytes gives its size, the lowest address ever mapped its base.
 * @block_bytes: (nullable): of each block at the start what it takes, else the trace's own.
 * TESSERA_BAD_INPUT: blocks overlap or lie outside the segments; the allocator is then
 * of no use but to be freed. */
TESSERA_MUST_USE TesseraStatus tessera_caching_seed (TesseraCaching *caching,
                                                     const TesseraTrace *trace,
                                                     const uint64_t *block_bytes);

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
