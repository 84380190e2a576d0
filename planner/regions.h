/*
 * Regions for dynamic requests as large as somebody wants them.
 *
 * What a plan says of regions is what the trace's own run needs for small blocks. Made
 * with TesseraPlanOptions.regions_for_large it has some for large blocks too; that is all
 * that dynamic blocks take at most beside the rooms, and any plan with less of it is as
 * sound.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/planner.h"

enum
{
  TESSERA_MAX_REGIONS = 64,     /* streams and size classes; more do without */
  TESSERA_MAX_REGION_SIZES = 7, /* worth trying */
};

/* The regions that a plan was made with, those for small blocks first. */
typedef struct
{
  TesseraRegion regions[TESSERA_MAX_REGIONS];
  size_t n_regions;
  uint64_t small_bytes; /* of those for small blocks */
  uint64_t whole_bytes; /* of all */
} TesseraRegionNeeds;

TesseraRegionNeeds tessera_region_needs (const TesseraPlan *plan);

/* Gives @plan, which was made with @needs, regions of @size_bytes in all, at most what it
 * needs: small blocks first, the last one served gets what is left, in whole units of the
 * alignment. Then the checker judges @plan against @trace.
 * Returns: TESSERA_OK, TESSERA_REFUSED or TESSERA_NO_MEMORY */
TESSERA_MUST_USE TesseraStatus tessera_regions_set (TesseraPlan *plan,
                                                    const TesseraTrace *trace,
                                                    const TesseraRegionNeeds *needs,
                                                    uint64_t size_bytes,
                                                    TesseraError *error);

/* Sizes from 0 to all, ascending: half of the small blocks' and all of it, and then the
 * large ones' in quarters. Returns: how many. */
size_t tessera_region_sizes (const TesseraRegionNeeds *needs,
                             uint64_t out_sizes[TESSERA_MAX_REGION_SIZES]);
