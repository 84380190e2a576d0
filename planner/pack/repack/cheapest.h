/*
 * Where a block lies at the least cost for those that are in its way.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* One end of what lies somewhere. */
typedef struct
{
  uint64_t at_bytes;
  uint64_t cost; /* of what lies there, if it has to go; all of them fit into 64 bits */
} TesseraEdge;

/*
 * tessera_cheapest_offset:
 * @lows: (array length=n): where each range begins; sorted on return
 * @highs: (array length=n): where each ends, in any order; sorted on return
 * @scratch: (array length=n)
 * @limit_bytes: the highest offset that is asked about
 *
 * Returns: the lowest of the offsets in [0, limit] at which the ranges met cost least in
 * all. O(n log n).
 */
uint64_t tessera_cheapest_offset (TesseraEdge *lows,
                                  TesseraEdge *highs,
                                  TesseraEdge *scratch,
                                  size_t n,
                                  uint64_t size_bytes,
                                  uint64_t limit_bytes,
                                  uint64_t *out_cost);
