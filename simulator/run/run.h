/*
 * One run of a trace under a policy.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "simulator/simulate.h"

typedef struct
{
  const TesseraSimulateOptions *options;
  uint64_t limit_bytes;   /* 0: none */
  bool stop_at_first_oom; /* whether it completes is all that is asked */
} TesseraRunOptions;

/* Native, expandable or plan. */
TESSERA_MUST_USE TesseraStatus tessera_run (const TesseraTrace *trace,
                                            const TesseraBlocks *blocks,
                                            const TesseraStructure *structure,
                                            const TesseraRunOptions *run_options,
                                            TesseraError *error,
                                            TesseraLayout **out_layout);
