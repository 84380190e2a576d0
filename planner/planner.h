/*
 * From a trace to a checked plan.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/plan.h"
#include "planner/edit.h"
#include "planner/pack.h"

/* What shapes the layout. */
typedef enum
{
  TESSERA_STRATEGY_FREE,   /* no groups: best height */
  TESSERA_STRATEGY_STALLOC /* groups laid out as units and fused, as published */
} TesseraStrategy;

/* Whether streams share addresses. Then a block ends where its free is requested, and who
 * follows the plan orders each hand-over by a barrier, which needs a program that orders
 * other streams behind each allocation before they use it. */
typedef enum
{
  TESSERA_STREAMS_AS_KNOWN, /* across where the trace says that its program was seen to do
                               so (meta "contract" begins with "kept") and it wins more
                               than one percent */
  TESSERA_STREAMS_APART,
  TESSERA_STREAMS_ACROSS
} TesseraStreams;

typedef struct
{
  TesseraStrategy strategy;
  const TesseraEdit *edits; /* (nullable): in their order; those undone are skipped */
  size_t n_edits;
  TesseraEditConflict *out_conflict; /* (nullable): set on TESSERA_REFUSED */
  bool is_preview; /* as fast as can be: @former repaired, or one order. What is kept
                      and exported is planned without */
  const TesseraPlan *former; /* (nullable): of a preview: a plan of the same trace and
                               structure, made before; where its slots lie is a hint. A
                               full plan never looks at it */
  TesseraStreams streams;
  uint64_t parted_bytes; /* across streams: how high buffers may go so that less passes
                            from stream to stream; 0: no higher than they have to */
  int64_t first_step;    /* plan from these steps only (numbers as shown); -1: all */
  int64_t last_step;
  uint64_t work_budget; /* 0: default */
  const TesseraProgress *progress;
  bool keeps_best; /* stopped by @progress, the best plan so far is the result, and
                          says so (cut_short): planning again gives another. Once it says
                          stop it has to stay with it */
  const TesseraListener *listener; /* (nullable): height and bound while it works, of the
                                      packing in hand (pack.h) */
} TesseraPlanOptions;

/* Whether there is something to plan: TESSERA_INVALID where the trace has no events,
 * TESSERA_REFUSED where no device could have served the blocks (their sizes are damaged).
 * Planning begins with this check. */
TESSERA_MUST_USE TesseraStatus tessera_check_blocks (const TesseraBlocks *blocks,
                                                     TesseraError *error);
/* Whether what PyTorch keeps apart by size is kept apart in plans of the trace: it has more
 * than one stream, or is a recording of ours, whose plan is there to be followed: the run
 * that does so may bring a stream that the recording lacked (to prefetch batches), and from
 * then on no range passes between small and large at will. */
bool tessera_plan_splits_sizes (const TesseraTrace *trace);
/* Why a dry run saw that the program's streams can't share a pool; NULL: none did. Such a
 * trace is not planned across streams: TESSERA_REFUSED. */
const char *tessera_plan_broken_contract (const TesseraTrace *trace);
/* The same trace, options and budget give the same slots on every machine. The plan has
 * been checked when plan->checked is set; a plan that fails its check is never returned.
 */
TESSERA_MUST_USE TesseraStatus tessera_plan_trace (const TesseraTrace *trace,
                                                   const TesseraBlocks *blocks,
                                                   const TesseraStructure *structure,
                                                   const TesseraPlanOptions *options,
                                                   TesseraError *error,
                                                   TesseraPlan **out_plan);
