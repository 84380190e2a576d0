/*
 * What regions of several sizes are worth to a plan with dynamic requests, by simulation
 * of the whole trace.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/regions.h"
#include "simulator/simulate.h"

/* The plan with regions of one size, followed on an endless device. */
typedef struct
{
  uint64_t region_bytes;
  uint64_t pool_bytes;
  uint64_t reserved_bytes; /* the most */
  uint64_t n_misses;
  uint64_t miss_bytes; /* asked for by these */
  bool is_declined;    /* in mid-run: what comes later counts as no miss */
} TesseraRegionRow;

typedef struct
{
  TesseraRegionRow rows[TESSERA_MAX_REGION_SIZES]; /* the first is without regions */
  size_t n_rows;
  uint64_t expandable_bytes; /* the most that expandable segments reserve */
} TesseraRegionCurve;

/*
 * tessera_region_curve:
 * @plan: of @trace, made with @needs; each of its variants is checked. Has regions of
 *   as many bytes as it came with again in the end, and is checked anew
 * @progress: (nullable)
 *
 * Returns: TESSERA_OK, or what checking or simulating says
 */
TESSERA_MUST_USE TesseraStatus tessera_region_curve (const TesseraTrace *trace,
                                                     const TesseraBlocks *blocks,
                                                     const TesseraStructure *structure,
                                                     TesseraPlan *plan,
                                                     const TesseraRegionNeeds *needs,
                                                     const TesseraProgress *progress,
                                                     TesseraError *error,
                                                     TesseraRegionCurve *out_curve);

/* The row that reserves least; of several the one with the fewest misses, declined ones
 * last, and then the smallest. As the first is without regions, none is chosen that takes
 * more than expandable segments where that does not. */
size_t tessera_region_curve_best (const TesseraRegionCurve *curve);
