/*
 * What a replay of a recording needs beyond the public face of the caching allocator.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "allocator/caching.h"
#include "db/trace.h"

/* ---- The constants of its rules ---- */

/* The constants of PyTorch's allocator, each named once.
 *
 * They are a struct and not macros, since a replay that agrees with a recording proves
 * little unless it disagrees when a rule is wrong: tests alter one rule at a time and look
 * for the disagreement. The policy direct has other sizes of segments; nothing else ever
 * passes anything but tessera_rules_pytorch. */

#define TESSERA_MIB ((uint64_t) 1 << 20)

typedef struct
{
  uint64_t small_bytes;        /* rounded sizes up to this are served by the small pool */
  uint64_t small_buffer_bytes; /* a segment (or page) of a small pool */
  uint64_t made_to_measure_bytes; /* from here on a segment is as large as its request */
  uint64_t segment_step_bytes;    /* ... rounded up to this */
  uint64_t small_remainder_bytes; /* least remainder split off: small, expandable */
  uint64_t large_remainder_bytes; /* ... and in large pools of cudaMalloc segments */
  bool equal_sizes_from_the_top;  /* equal free blocks by descending address */
  bool small_pool_first;          /* order of a flush */
  bool forward_merge_only;        /* a freed block ignores a free block before it */
} TesseraRules;

extern const TesseraRules tessera_rules_pytorch;

uint64_t tessera_rules_segment_size (const TesseraRules *rules,
                                     const TesseraSettings *settings,
                                     uint64_t block_bytes);

/* ---- The replay ---- */

/* What a replay of a recording needs beyond the public face: it knows some things that
 * the policy could not, and wants to look closer than a caller may. */

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
