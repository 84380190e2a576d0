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
 * Not thread-safe: the caller holds one lock per device.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "allocator/policy.h"

#define TESSERA_DIRECT_BYTES ((uint64_t) 1 << 20) /* from here on: the device itself */

typedef struct TesseraDirect TesseraDirect;

/* As tessera_policy_new(), whatever the settings say but for large segments. @device must
 * outlive it. */
TESSERA_MUST_USE TesseraStatus tessera_direct_new (const TesseraPolicyOptions *options,
                                                   TesseraDevice *device,
                                                   const TesseraObserver *observer,
                                                   TesseraDirect **out_direct);
void tessera_direct_free (TesseraDirect *direct); /* NULL is fine */

/* As their namesakes in caching.h; unknown addresses give TESSERA_INVALID. */
TESSERA_MUST_USE TesseraStatus tessera_direct_malloc (TesseraDirect *direct,
                                                      uint64_t size_bytes,
                                                      uint32_t stream,
                                                      uint32_t pool,
                                                      TesseraGrant *out_grant);
TesseraStatus tessera_direct_free_requested (TesseraDirect *direct, uint64_t addr);
TesseraStatus tessera_direct_free_completed (TesseraDirect *direct, uint64_t addr);
/* From the next request on; 0: none. */
void tessera_direct_set_limit (TesseraDirect *direct, uint64_t limit_bytes);

/* Borrowed: the slabs and private pools, for what concerns them alone. */
TesseraCaching *tessera_direct_slabs (TesseraDirect *direct);

void tessera_direct_get_stats (const TesseraDirect *direct,
                               TesseraCachingStats *out_stats);
void tessera_direct_reset_peaks (TesseraDirect *direct);
/* The segments of one block each, in no order, then the slabs. */
void tessera_direct_each (const TesseraDirect *direct,
                          void (*visit) (void *user, const TesseraBlockInfo *info),
                          void *user);
/* Recomputes every cached figure; writes expected and found into @error. */
TESSERA_MUST_USE TesseraStatus tessera_direct_check (const TesseraDirect *direct,
                                                     TesseraError *error);
