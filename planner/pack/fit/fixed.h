/*
 * What has its place before the rule of the lowest reachable offset begins: pins, bodies,
 * ranges that are not to be had.
 *
 * Bodies come one after the other to the lowest base at which all of their items fit
 * around the pins; then they are as good as pinned. So nothing of this depends on an
 * order of items.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/pack/fit/shelf.h"

typedef struct
{
  uint64_t offset, top;
  TesseraPackLives lives; /* of a blocked range: all sections */
  bool is_blocked;
} TesseraFixedRange;

typedef struct
{
  TesseraShelf shelf;
  TesseraFixedRange *ranges; /* ascending offsets */
  size_t n_ranges;
  uint64_t *offsets; /* [n_items] TESSERA_PACK_NOT_PINNED: not fixed; NULL: nobody is */
  size_t n_items;    /* that are fixed */
  uint64_t height_bytes; /* the highest end of these */
} TesseraFixed;

/* Whether the rule of the lowest reachable offset is for this problem: no limits, or such
 * as leave one zone, and not too many fixed items. */
bool tessera_fixed_is_for (const TesseraPackProblem *problem);
/* Of a problem without limits, or that it is not for: nothing is fixed. */
TESSERA_MUST_USE TesseraStatus tessera_fixed_init (TesseraFixed *fixed,
                                                   const TesseraPackProblem *problem);
void tessera_fixed_clear (TesseraFixed *fixed); /* frees; a zeroed one is fine */

static inline bool
tessera_fixed_has (const TesseraFixed *fixed, uint32_t item)
{
  return fixed->offsets != NULL && fixed->offsets[item] != TESSERA_PACK_NOT_PINNED;
}
/* The offsets of those that are. */
void tessera_fixed_copy (const TesseraFixed *fixed, size_t n_items, uint64_t *offsets);
/* The lowest range at or above @height_bytes alive in sections [begin, end): its number,
 * or n_ranges. */
size_t tessera_fixed_next (const TesseraFixed *fixed,
                           uint32_t begin,
                           uint32_t end,
                           uint64_t height_bytes);

/* The lowest offset from @from_bytes on at which an item fits. */
typedef uint64_t (*TesseraFitFrom) (const void *data,
                                    const TesseraPackItem *item,
                                    uint64_t from_bytes);
/* The lowest base at which each item of @body fits at its distance. */
uint64_t tessera_body_base (const TesseraPackProblem *problem,
                            uint32_t body,
                            TesseraFitFrom fit_from,
                            const void *data);
