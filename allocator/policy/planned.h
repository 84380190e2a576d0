/*
 * A policy that follows a plan: what planned.c, which serves, and open.c, which begins,
 * share.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "allocator/follow/lengths/lengths.h"
#include "allocator/policy/handover.h"
#include "allocator/policy/functions.h"
#include "allocator/policy/pool.h"

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

extern const TesseraPolicyFunctions tessera_planned_functions;

/* The hook of the follower (@user: the policy): takes the range for the request that is
 * being served. */
bool tessera_planned_take (void *user, uint64_t offset_bytes, uint64_t *out_end_bytes);
/* What lies beside the pool has what that leaves of a limit, of which 0 would be none;
 * and of the device what is not promised. */
void tessera_planned_limit_beside (TesseraPlanned *planned);
