/*
 * What a replay of a recording needs beyond the public face: it knows some things that
 * the policy could not, and wants to look closer than a caller may.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "allocator/caching.h"
#include "allocator/rules.h"

/* Other rules, before anything else is called. */
void tessera_caching_set_rules (TesseraCaching *caching, const TesseraRules *rules);

/* A malloc whose search is known to have missed, because a flush follows in the
 * recording. (Frees that completed between search and flush are recorded before both.) */
TESSERA_MUST_USE TesseraStatus tessera_caching_malloc_missed (TesseraCaching *caching,
                                                              uint64_t size_bytes,
                                                              uint32_t stream,
                                                              uint32_t pool,
                                                              TesseraGrant *out_grant);

/* Whether this request would be served now without asking the device. */
bool tessera_caching_needs_no_device (TesseraCaching *caching,
                                      uint64_t size_bytes,
                                      uint32_t stream,
                                      uint32_t pool);

/* Like tessera_caching_seed(), with other sizes of the blocks (one for each at the
 * start). NULL: the trace's own. */
TESSERA_MUST_USE TesseraStatus tessera_caching_seed_sizes (TesseraCaching *caching,
                                                           const TesseraTrace *trace,
                                                           const uint64_t *block_bytes);

/* Requested size of the live or pending block at @addr; 0: there is none. */
uint64_t tessera_caching_requested_at (const TesseraCaching *caching, uint64_t addr);

/* The live block just before the live block at @addr, and the bytes between it and the
 * next block in use. Returns: false when there is none. */
bool tessera_caching_block_before (const TesseraCaching *caching,
                                   uint64_t addr,
                                   uint64_t *out_addr,
                                   uint64_t *out_room_bytes);

/* The pool that holds memory at @addr, 0 where none does. */
uint32_t tessera_caching_pool_at (const TesseraCaching *caching, uint64_t addr);
/* Whether a reservation of this kind, mapped or not, reaches @addr. */
bool tessera_caching_is_reserved (const TesseraCaching *caching,
                                  uint64_t addr,
                                  uint32_t stream,
                                  uint32_t pool,
                                  uint64_t page_bytes);

/* Tells the segments that a flush would give back now, in order, until @visit returns
 * false. Returns: whether it never did. */
bool tessera_caching_each_flushed (const TesseraCaching *caching,
                                   bool (*visit) (void *user, uint64_t addr),
                                   void *user);
