/*
 * What a policy does, as a struct of functions; for the files of allocator/policy only.
 *
 * Every policy has an allocator by PyTorch's rules, and does with it what its functions
 * do not say otherwise: native and expandable say nothing, direct takes large requests
 * from it, plan all that it has places for.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "allocator/policy.h"

/* As their namesakes in policy.h. NULL: as the allocator does, or nothing. */
typedef struct
{
  TesseraStatus (*malloc) (TesseraPolicy *policy,
                           uint64_t size_bytes,
                           uint32_t stream,
                           uint32_t pool,
                           TesseraPolicyGrant *out_grant);
  TesseraStatus (*free_requested) (TesseraPolicy *policy, uint64_t addr);
  TesseraStatus (*free_completed) (TesseraPolicy *policy, uint64_t addr);
  void (*set_limit) (TesseraPolicy *policy, uint64_t limit_bytes);
  /* After the allocator did its part: */
  void (*empty_cache) (TesseraPolicy *policy);
  void (*see_streams) (TesseraPolicy *policy);
  void (*forget_stream) (TesseraPolicy *policy, uint32_t stream);
  void (*release_pool) (TesseraPolicy *policy, uint32_t pool);
  void (*set_routed) (TesseraPolicy *policy, bool is_routed);
  void (*step) (TesseraPolicy *policy);
  void (*phase) (TesseraPolicy *policy, const char *name);
  bool (*is_in_pool) (const TesseraPolicy *policy, uint64_t addr);
  void (*add_stats) (const TesseraPolicy *policy, TesseraPolicyStats *stats);
  void (*reset_peaks) (TesseraPolicy *policy);
  /* Before the allocator does its part: */
  void (*each) (const TesseraPolicy *policy,
                void (*visit) (void *user, const TesseraBlockInfo *info),
                void *user);
  /* For tests (tests/allocator/check.h): */
  TesseraStatus (*check) (const TesseraPolicy *policy, TesseraError *error);
  void (*free) (TesseraPolicy *policy);
} TesseraPolicyFunctions;

struct TesseraPolicy
{
  const TesseraPolicyFunctions *functions;
  TesseraPolicyKind kind;
  TesseraCaching *caching;
};

/* Both make policy->caching themselves; @error says why on failure, but for
 * TESSERA_INVALID settings and where host memory is short. */
TESSERA_MUST_USE TesseraStatus tessera_direct_new (const TesseraPolicyOptions *options,
                                                   TesseraDevice *device,
                                                   const TesseraObserver *observer,
                                                   TesseraPolicy **out_policy);
TESSERA_MUST_USE TesseraStatus tessera_planned_new (const TesseraPolicyOptions *options,
                                                    TesseraDevice *device,
                                                    const TesseraObserver *observer,
                                                    TesseraError *error,
                                                    TesseraPolicy **out_policy);

static inline void
tessera_raise_to (uint64_t *peak_bytes, uint64_t bytes)
{
  if (bytes > *peak_bytes)
    *peak_bytes = bytes;
}
