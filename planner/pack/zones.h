/*
 * Which items are packed together: those of a zone, and zones that share a body.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/pack/problem.h"

typedef struct
{
  uint32_t *items; /* by group, in it by zone, in that as the caller had them */
  size_t *ends;    /* [n_groups] where in items each ends */
  size_t n_groups;
} TesseraPackZones;

/* @limits: (nullable). Groups come in the order of their lowest zones. */
TESSERA_MUST_USE TesseraStatus tessera_pack_zones_init (TesseraPackZones *zones,
                                                        const TesseraItem *items,
                                                        const TesseraPackLimit *limits,
                                                        size_t n_items);
void tessera_pack_zones_clear (TesseraPackZones *zones); /* frees; a zeroed one is fine */

/* The sum of the peaks of the zones in items [begin, end). */
TESSERA_MUST_USE TesseraStatus tessera_pack_zones_load (const TesseraPackZones *zones,
                                                        const TesseraItem *items,
                                                        size_t begin,
                                                        size_t end,
                                                        uint64_t *out_load_bytes);

/*
 * tessera_pack_zones_block:
 * @group: the one to be placed next; @offsets of those before it are known
 * @out_ranges: what is not to be had: what lies in groups before, and what is pinned in
 *   those after; to be freed
 */
TESSERA_MUST_USE TesseraStatus tessera_pack_zones_block (const TesseraPackZones *zones,
                                                         const TesseraItem *items,
                                                         const TesseraPackLimit *limits,
                                                         const uint64_t *offsets,
                                                         size_t group,
                                                         TesseraPackRange **out_ranges,
                                                         size_t *out_n_ranges);
/* Those of a group that are pinned at @height_bytes or above go to its end; the others
 * stay in their order. */
TESSERA_MUST_USE TesseraStatus
tessera_pack_zones_put_above (TesseraPackZones *zones,
                              const TesseraPackLimit *limits,
                              size_t group,
                              uint64_t height_bytes,
                              size_t *out_n_above);
/* The least height under which @load_bytes are not blocked. */
uint64_t tessera_pack_least_height (const TesseraPackRange *ranges,
                                    size_t n_ranges,
                                    uint64_t load_bytes);
