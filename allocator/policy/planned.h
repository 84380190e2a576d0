/*
 * The policy that follows a plan; for the files of allocator/policy only.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "allocator/follow/lengths/lengths.h"
#include "allocator/policy/handover.h"
#include "allocator/policy/pool.h"

/* Every policy has an allocator by PyTorch's rules: native, expandable and direct are no
 * more than that, a plan leaves to it what it has no place for. */
struct TesseraPolicy
{
  TesseraPolicyKind kind;
  TesseraCaching *caching;
};

typedef struct
{
  TesseraPolicy policy; /* must be first; its allocator serves what the plan does not */
  const TesseraPlan *plan;
  TesseraFollower *follower; /* NULL: the plan was declined */
  TesseraLengthsFollower
      *by_length;                /* in its place, where the plan is for every length */
  TesseraFollowerStats followed; /* up to when it was declined */
  TesseraPool pool;
  TesseraHandover *handover; /* NULL: streams are kept apart */
  TesseraMonitor monitor;
  TesseraDecline decline;
  TesseraObserver observer;
  TesseraPolicyStats peaks; /* its peaks count */
  uint64_t align_bytes;     /* in whole steps of which the matching counts */
  uint64_t limit_bytes;     /* for the pool and what lies beside it; 0: none */
  uint64_t seen_held_bytes, seen_promised_bytes; /* by what lies beside the pool */
  uint64_t step_bytes;                           /* by length: of the step under way */
  uint32_t n_sought;                             /* ... requests in it, so far */
  uint32_t main_stream;                          /* ... of what is planned */
  bool never_declines;
  bool is_routed;                  /* nothing may be given back */
  bool has_freed;                  /* blocks of the pool since it was trimmed */
  TesseraOccupancyRequest request; /* that is being served */
  bool is_unplanned;               /* ... which the plan leaves to others */
  bool is_unordered;               /* ... and some range was refused to it for that */
  uint64_t misses_unordered;
  uint64_t n_barriers; /* up to when it was declined */
  uint64_t n_rescued;
  uint64_t n_relieved; /* requests that found memory once pages were given back */
} TesseraPlanned;

/* The hook of the follower (@user: the policy): takes the range for the request that is
 * being served. */
bool tessera_planned_take (void *user, uint64_t offset_bytes, uint64_t *out_end_bytes);
/* What lies beside the pool has what that leaves of a limit, of which 0 would be none;
 * and of the device what is not promised. */
void tessera_planned_limit_beside (TesseraPlanned *planned);

/* Makes its allocator itself; @error says why on failure, but for TESSERA_INVALID settings
 * and where host memory is short. */
TESSERA_MUST_USE TesseraStatus tessera_planned_new (const TesseraPolicyOptions *options,
                                                    TesseraDevice *device,
                                                    const TesseraObserver *observer,
                                                    TesseraError *error,
                                                    TesseraPolicy **out_policy);
/* All but the policy itself. */
void tessera_planned_clear (TesseraPlanned *planned);

/* As their namesakes in policy.h; frees are of blocks in the pool. */
TESSERA_MUST_USE TesseraStatus tessera_planned_malloc (TesseraPlanned *planned,
                                                       uint64_t size_bytes,
                                                       uint32_t stream,
                                                       uint32_t pool,
                                                       TesseraPolicyGrant *out_grant);
TesseraStatus tessera_planned_free_requested (TesseraPlanned *planned, uint64_t addr);
TesseraStatus tessera_planned_free_completed (TesseraPlanned *planned, uint64_t addr);
void tessera_planned_set_limit (TesseraPlanned *planned, uint64_t limit_bytes);
void tessera_planned_step (TesseraPlanned *planned);
void tessera_planned_phase (TesseraPlanned *planned, const char *name);
void tessera_planned_add_stats (const TesseraPlanned *planned, TesseraPolicyStats *stats);
/* The same, after the allocator did its part. */
void tessera_planned_empty_cache (TesseraPlanned *planned);
void tessera_planned_release_pool (TesseraPlanned *planned, uint32_t pool);
void tessera_planned_set_routed (TesseraPlanned *planned, bool is_routed);
void tessera_planned_reset_peaks (TesseraPlanned *planned);
