/*
 * A trace run again under a policy, over the virtual device.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/plan.h"
#include "planner/lengths.h"
#include "planner/structure.h"
#include "simulator/layout.h"

typedef struct
{
  TesseraLayoutKind kind;  /* RECORDED: as the file says (block sizes by replay) */
  const TesseraPlan *plan; /* for TESSERA_LAYOUT_PLAN */
  bool by_length;          /* ... by what it has for every length */
  uint64_t device_bytes;   /* 0: endless */
  uint64_t limit_bytes;    /* 0: the trace's own */
  bool without_curves;     /* for fit: leave spans and curves out */
  bool without_sizes; /* RECORDED: for what asks only what is live: blocks are the rounded
                          requests, and nothing is replayed to find more of them */
  const TesseraProgress *progress;
} TesseraSimulateOptions;

/* @structure may be NULL unless a plan is followed. */
TESSERA_MUST_USE TesseraStatus tessera_simulate (const TesseraTrace *trace,
                                                 const TesseraBlocks *blocks,
                                                 const TesseraStructure *structure,
                                                 const TesseraSimulateOptions *options,
                                                 TesseraError *error,
                                                 TesseraLayout **out_layout);

/* What a policy needs for a trace. */
typedef struct
{
  uint64_t smallest_bytes; /* the least device memory, to 2 MiB, on which it completes: no
                              request fails, those that failed in the file included */
  uint64_t retries;        /* how often it flushed and waited there */
  uint64_t endless_bytes;  /* the most it reserves with memory to spare */
} TesseraNeed;

/* @out_need: 0 where there is an error; TESSERA_REFUSED: it completes on no device */
TESSERA_MUST_USE TesseraStatus tessera_fit (const TesseraTrace *trace,
                                            const TesseraBlocks *blocks,
                                            const TesseraStructure *structure,
                                            const TesseraSimulateOptions *options,
                                            TesseraError *error,
                                            TesseraNeed *out_need);

typedef struct
{
  const TesseraLaws
      *laws; /* (nullable): of the trace: what the plan has for every length is
                              made from these */
  TesseraLengthsOptions lengths;
  bool without_advice; /* the plan is followed, whatever it does */
  const TesseraProgress *progress;
} TesseraFollowOptions;

/*
 * tessera_follow_plan:
 * The trace that @plan was made from as a run goes that follows the plan, and whether a run
 * is advised to.
 *
 * @out_layout: by length where the plan then has something for every length, else under
 *   its offsets
 * @out_no_lengths: a sentence where it has nothing for every length though lengths vary,
 *   else NULL; g_free()
 *
 * Makes what @plan has for every length; what it has already stays where no laws are given.
 * Not advised is a plan that is declined, that requests miss though it has slots for them (by
 * length: most of them), or that reserves more than the better of native and expandable
 * segments by 2 % and by 4 MiB: @plan->followable becomes TESSERA_FOLLOWABLE_NO, which runs
 * decline, and follow_reason says why. Where only following by length is at fault,
 * @plan->lengths goes instead; and where it reserves too much, and steps have dynamic
 * requests, the rest is for the same batches alone. Changes nothing else of the plan.
 *
 * Returns: TESSERA_OK also where it is not advised; TESSERA_NO_MEMORY, TESSERA_CANCELLED,
 * or what the simulation says
 */
TESSERA_MUST_USE TesseraStatus tessera_follow_plan (const TesseraTrace *trace,
                                                    const TesseraBlocks *blocks,
                                                    const TesseraStructure *structure,
                                                    const TesseraFollowOptions *options,
                                                    TesseraPlan *plan,
                                                    TesseraError *error,
                                                    TesseraLayout **out_layout,
                                                    char **out_no_lengths);
