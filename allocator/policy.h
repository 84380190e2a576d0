/*
 * One allocation policy over one device: native, expandable, direct or plan.
 *
 * The same object serves a simulated run over the virtual device and a training process
 * over a real one. Native and expandable are TesseraCaching. Direct asks the device for
 * every request of 1 MiB and more, shares slabs of 2 MiB among smaller ones, and gives back
 * what is free at once, private pools apart, which keep it for their graphs: only what lives
 * must fit, so that a run which dies under a caching policy can be recorded. Slow: the
 * driver waits for the whole device whenever memory goes back. Plan is one pool of the
 * plan's height, followed by matching; what does not match is served by expandable rules.
 *
 * What plan hands out is free at that moment, by a record that shares nothing with the
 * matching, and ordered for its stream: the last users of every byte of the range were
 * the same stream, or none; where more than one stream is at work, bytes last used by a
 * large request (> 1 MiB rounded) serve a small one, and the reverse, only after the
 * stream has made a request that PyTorch could have served from that block (same size
 * class, not larger). Nothing passes between private pools. A request whose slot is not
 * so ordered gets another place that is, else it is a miss. A miss that finds the device
 * full may lie anywhere in the pool that is free and ordered: no run ends for memory that
 * a plan keeps unused. A plan that was made for another run is declined
 * (allocator/policy/monitor.c): expandable rules serve from then on, blocks in the pool
 * stay until they are freed, and the pages that nobody needs are given back.
 *
 * Not thread-safe: the caller holds one lock per device.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "allocator/caching.h"
#include "allocator/follow.h"

typedef struct TesseraPolicy TesseraPolicy;

typedef enum
{
  TESSERA_POLICY_NATIVE,
  TESSERA_POLICY_EXPANDABLE,
  TESSERA_POLICY_DIRECT,
  TESSERA_POLICY_PLAN
} TesseraPolicyKind;

typedef struct
{
  TesseraPolicyKind kind;
  TesseraCachingOptions caching; /* settings.is_expandable follows from kind; limit_bytes
                                    holds for everything, the plan's pool included */
  const TesseraPlan *plan;       /* plan only; outlives the policy */
  bool by_length;                /* plan: follow what it has for every length */
  bool has_fine_pages; /* plan: what lies beside the pool comes in pages as fine as the
                          pool's, where the settings have larger ones */
  bool is_simulation;  /* nothing computes on this memory: any plan is taken as it is */
  bool never_declines; /* a plan is followed however badly it fits: for tests */
} TesseraPolicyOptions;

/* The plan's pool is addresses at first, and pages of stream 0 as soon as they are used,
 * which stay while the plan is followed (by length: as steps need them):
 * TESSERA_OUT_OF_DEVICE where the device has less left than the pool (or the limit
 * forbids it), TESSERA_REFUSED for a plan that this cannot follow; @error says why. */
TESSERA_MUST_USE TesseraStatus tessera_policy_new (const TesseraPolicyOptions *options,
                                                   TesseraDevice *device,
                                                   const TesseraObserver *observer,
                                                   TesseraError *error,
                                                   TesseraPolicy **out_policy);
/* Memory that is still held stays with the device. NULL is fine. */
void tessera_policy_free (TesseraPolicy *policy);

typedef struct
{
  TesseraGrant grant;
  bool is_hit;       /* plan: the plan served it, in the pool */
  bool is_unplanned; /* plan: it left the request to others, on purpose */
  uint32_t slot;     /* plan: the slot, or TESSERA_NONE */
} TesseraPolicyGrant;

/* As tessera_caching_malloc(). */
TESSERA_MUST_USE TesseraStatus tessera_policy_malloc (TesseraPolicy *policy,
                                                      uint64_t size_bytes,
                                                      uint32_t stream,
                                                      uint32_t pool,
                                                      TesseraPolicyGrant *out_grant);
TesseraStatus tessera_policy_free_requested (TesseraPolicy *policy, uint64_t addr);
TesseraStatus tessera_policy_free_completed (TesseraPolicy *policy, uint64_t addr);
void tessera_policy_empty_cache (TesseraPolicy *policy);

/* As their namesakes in caching.h. A stream is told as soon as it is known to work, be it
 * only as the side stream of a block: the rules of several streams hold from then on. */
void tessera_policy_see_streams (TesseraPolicy *policy); /* one that has no number */
/* Another stream has its number now: what it waited for counts no more. */
void tessera_policy_forget_stream (TesseraPolicy *policy, uint32_t stream);
TESSERA_MUST_USE TesseraStatus tessera_policy_set_stream_handle (TesseraPolicy *policy,
                                                                 uint32_t stream,
                                                                 uint64_t handle);
TesseraStatus tessera_policy_release_pool (TesseraPolicy *policy, uint32_t pool);
void tessera_policy_set_routed (TesseraPolicy *policy, bool is_routed);
void tessera_policy_set_limit (TesseraPolicy *policy, uint64_t limit_bytes);

/* Whether the address is the plan's pool's, with memory or without. */
bool tessera_policy_is_in_pool (const TesseraPolicy *policy, uint64_t addr);

/* Marks of the program; only plan listens. */
void tessera_policy_step (TesseraPolicy *policy);
/* A step ended, and none begins yet. */
void tessera_policy_end_step (TesseraPolicy *policy);
void tessera_policy_phase (TesseraPolicy *policy, const char *name);

/* Requests, some of which missed the plan. */
typedef struct
{
  uint64_t n_requests, n_misses;
  uint64_t asked_bytes, missed_bytes;
} TesseraHitCount;

/* Once, and for good. */
typedef struct
{
  bool is_declined;
  bool lacks_barriers;     /* memory cannot pass between streams in this run */
  TesseraHitCount misfit;  /* of the stretches of the run that decided it */
  uint64_t pool_bytes;     /* of the whole pool */
  uint64_t returned_bytes; /* of it at once */
} TesseraDecline;

typedef struct
{
  TesseraCachingStats caching; /* pool included in reserved; blocks in the pool counted */
  TesseraFollowerStats follower;
  uint64_t misses_unordered; /* of the misses: free, but not ordered for the stream */
  uint64_t n_barriers;       /* plan: that streams wait at, to get what others freed */
  uint64_t misses_rescued;   /* of the misses: the device was full, the pool was not */
  uint64_t pool_addr, pool_bytes; /* plan: that are held; else 0 */
  uint64_t promised_bytes;        /* ... and for pages that were not used yet */
  uint64_t pool_height_bytes;     /* ... with the pages that have no memory: to its end */
  uint64_t extra_bytes, peak_extra_bytes; /* reserved outside the pool */
  uint64_t peak_kept_bytes; /* there and in the pool, had none of its pages gone back */
  TesseraDecline decline;
} TesseraPolicyStats;
void tessera_policy_get_stats (const TesseraPolicy *policy,
                               TesseraPolicyStats *out_stats);
void tessera_policy_reset_peaks (TesseraPolicy *policy);

/* Blocks as in tessera_caching_each(); those of the plan's pool first. */
void tessera_policy_each (const TesseraPolicy *policy,
                          void (*visit) (void *user, const TesseraBlockInfo *info),
                          void *user);
/* For a simulated run that takes over a state: native and expandable only, else NULL. */
TesseraCaching *tessera_policy_caching (TesseraPolicy *policy);
