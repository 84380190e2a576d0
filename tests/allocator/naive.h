/*
 * A second caching allocator, for tests only: the same rules, written as plainly as they
 * read, with one array of blocks and a walk over all of it for every question.
 *
 * It shares nothing with the real one but the rounding of sizes and the device's numbers.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "allocator/caching.h"
#include "allocator/virtual.h"

#include <glib.h>

typedef enum
{
  NAIVE_FREE,
  NAIVE_PENDING,
  NAIVE_LIVE
} NaiveState;

typedef struct
{
  uint64_t addr, size, requested;
  uint64_t segment, page; /* base of its segment; page size, 0: cudaMalloc */
  uint64_t end;           /* of the segment or reservation */
  uint64_t born;          /* the older the segment, the lower; 0: nothing mapped yet */
  uint64_t stamp;         /* searches of its pool when it became free as it is */
  uint32_t stream, pool;
  bool is_small, is_mapped;
  NaiveState state;
} NaiveBlock;

typedef struct
{
  char what; /* a, f: segment alloc, free; m, u: map, unmap */
  uint64_t addr, size;
} NaiveCall;

typedef struct
{
  TesseraCachingOptions options;
  TesseraVirtual device;
  GArray *blocks;  /* NaiveBlock, in no order */
  GArray *calls;   /* NaiveCall, since cleared */
  GArray *waiting; /* uint64_t: addresses of pending blocks, first come first */
  uint64_t n_searches[8][2];
  uint64_t n_segments; /* and reservations that ever had memory */
  bool is_unused[8];
  bool is_routed;
  uint64_t n_retries;
} Naive;

void
naive_open (Naive *naive, const TesseraCachingOptions *options, uint64_t device_bytes);
void naive_close (Naive *naive);
TesseraStatus naive_malloc (
    Naive *naive, uint64_t size, uint32_t stream, uint32_t pool, TesseraGrant *out_grant);
void naive_free_requested (Naive *naive, uint64_t addr);
void naive_free_completed (Naive *naive, uint64_t addr);
void naive_empty_cache (Naive *naive);
uint64_t naive_reserved (const Naive *naive);
