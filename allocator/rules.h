/*
 * The constants of PyTorch's allocator, each named once.
 *
 * They are a struct and not macros, since a replay that agrees with a recording proves
 * little unless it disagrees when a rule is wrong: tests alter one rule at a time and look
 * for the disagreement. The policy direct has other sizes of segments; nothing else ever
 * passes anything but tessera_rules_pytorch.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/trace.h"

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
