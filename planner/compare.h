/*
 * Two plans of one trace: what lies elsewhere, and how high each is.
 *
 * A slot is known by its block of the trace. Spares, and slots that name no block, are
 * left out.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/plan.h"

/* A block that both plans have a place for, at different offsets. */
typedef struct
{
  uint32_t block;
  uint64_t block_bytes; /* of the first plan's slot */
  uint64_t offset_bytes[2];
} TesseraMovedBlock;

typedef struct
{
  size_t n_slots[2]; /* own places of blocks */
  uint64_t height_bytes[2], bound_bytes[2];
  size_t n_same; /* blocks that lie at the same offset */
  uint64_t same_bytes;
  size_t n_moved;
  uint64_t moved_bytes;
  size_t n_only[2]; /* only this plan has a place for */
  uint64_t only_bytes[2];
  TesseraMovedBlock *moves; /* [n_moved]: largest first, then by block */
  uint32_t *only[2];        /* [n_only] blocks, ascending */
} TesseraComparison;

/*
 * tessera_compare_plans:
 *
 * Any thread. Sorts the slots of both: n log n.
 *
 * Returns: TESSERA_OK, or TESSERA_REFUSED where the plans were not made from the same trace
 */
TESSERA_MUST_USE TesseraStatus tessera_compare_plans (const TesseraPlan *first,
                                                      const TesseraPlan *second,
                                                      TesseraError *error,
                                                      TesseraComparison **out_comparison);
void tessera_comparison_free (TesseraComparison *comparison); /* NULL is fine */
