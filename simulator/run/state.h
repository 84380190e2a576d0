/*
 * What one run of a trace under a policy knows, and what its parts do for each other.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "allocator/policy.h"
#include "allocator/virtual.h"
#include "simulator/build.h"
#include "simulator/run/flushes.h"
#include "simulator/simulate.h"

typedef struct
{
  uint32_t died_index;
  uint32_t block;
} TesseraRunPending;

typedef struct
{
  const TesseraTrace *trace;
  const TesseraBlocks *blocks;
  const TesseraStructure *structure;
  const TesseraSimulateOptions *options;
  TesseraBuild build;
  TesseraVirtual device;
  TesseraPolicy *policy;
  TesseraRunPending *pending; /* freed and not completed, at the policy */
  size_t n_pending, cap_pending;
  TesseraFlushes flushes; /* calls of empty_cache() */
  size_t n_flushed;
  size_t n_dead;       /* of blocks->by_death */
  uint32_t phase;      /* the policy was last told */
  size_t n_ranges;     /* of the trace, looked at for steps that began */
  uint32_t step_end;   /* of the step that goes on, or TESSERA_NONE */
  bool completes;      /* the trace has completions; else a free is both */
  bool has_seen_pools; /* a request of a private pool */
} TesseraRun;

/* Opens the device and the policy on it. A plan whose pool has no room is declined, as in
 * training: what it would have taken is a request that failed, and the run goes on under
 * expandable rules. */
TESSERA_MUST_USE TesseraStatus tessera_run_open_policy (TesseraRun *run,
                                                        uint64_t limit_bytes,
                                                        TesseraError *error);

/* What is there before the first event. */
TESSERA_MUST_USE TesseraStatus tessera_run_begin (TesseraRun *run);

/* Asks the policy for block `b`, or, where `is_request` is unset, for a block that the
 * trace begins with. A failure is an out of memory of the layout. */
void tessera_run_place (TesseraRun *run, uint32_t b, bool is_request);

/* Bytes left of the device, or TESSERA_NOWHERE where it has no end. */
uint64_t tessera_run_free_at_device (const TesseraRun *run);

/* Frees: requested, and completed when nothing waits any more. Both do nothing for a
 * block that is not live, or not pending. */
void tessera_run_request_free (TesseraRun *run, uint32_t block);
void tessera_run_complete (TesseraRun *run, uint32_t block);
void tessera_run_note_pending (TesseraRun *run, uint32_t block);

/* The policy waits for the side streams: what is pending completes, in recorded order.
 * `user` is the run. */
void tessera_run_synchronize (void *user);
