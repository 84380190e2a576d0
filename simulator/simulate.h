/*
 * A trace run again under a policy, over the virtual device.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/plan.h"
#include "planner/structure.h"
#include "simulator/layout.h"

typedef struct
{
  TesseraLayoutKind kind;  /* RECORDED: as the file says (block sizes by replay) */
  const TesseraPlan *plan; /* for TESSERA_LAYOUT_PLAN */
  bool by_length;          /* ... by what it has for every length */
  uint64_t device_bytes;   /* 0: endless */
  uint64_t limit_bytes;    /* 0: the trace's own */
  int64_t first_step,
      last_step;       /* only these steps' requests are counted as hits; -1: all */
  bool without_curves; /* for fit: leave spans and curves out */
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

/*
 * tessera_advise_plan:
 * Whether a run is advised to follow a plan, by what the plan does to its own trace.
 *
 * @planned: (nullable): the layout under the plan's offsets, where that is there already
 * @out_no_lengths: a sentence where what the plan had for every length was dropped, else
 *   NULL; to be freed
 *
 * Simulates the trace that @plan was made from, as a run would follow the plan (by length
 * where it has something for every length), natively, and with expandable segments. Not
 * advised is a plan that is declined, that requests miss though it has slots for them (by
 * length: most of them), or that reserves more than the better of the two others by 2 %
 * and by 4 MiB: @plan->followable becomes TESSERA_FOLLOWABLE_NO, which runs decline, and
 * follow_reason says why. Where only following by length is at fault, @plan->lengths goes
 * instead. Changes nothing else of the plan, and nothing where it can't be followed.
 *
 * Returns: TESSERA_OK also where it is not advised; TESSERA_NO_MEMORY, TESSERA_CANCELLED,
 * or what the simulation says
 */
TESSERA_MUST_USE TesseraStatus tessera_advise_plan (const TesseraTrace *trace,
                                                    const TesseraBlocks *blocks,
                                                    const TesseraStructure *structure,
                                                    TesseraPlan *plan,
                                                    const TesseraLayout *planned,
                                                    const TesseraProgress *progress,
                                                    TesseraError *error,
                                                    char **out_no_lengths);
