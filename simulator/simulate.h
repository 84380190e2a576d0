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
  const TesseraProgress *progress;
} TesseraSimulateOptions;

/* @structure may be NULL unless a plan is followed. */
TESSERA_MUST_USE TesseraStatus tessera_simulate (const TesseraTrace *trace,
                                                 const TesseraBlocks *blocks,
                                                 const TesseraStructure *structure,
                                                 const TesseraSimulateOptions *options,
                                                 TesseraError *error,
                                                 TesseraLayout **out_layout);

/* The least device memory, to 2 MiB, on which the policy completes the trace (no request
 * fails, those that failed in the file included). */
TESSERA_MUST_USE TesseraStatus tessera_fit (const TesseraTrace *trace,
                                            const TesseraBlocks *blocks,
                                            const TesseraStructure *structure,
                                            const TesseraSimulateOptions *options,
                                            TesseraError *error,
                                            uint64_t *out_device_bytes);
