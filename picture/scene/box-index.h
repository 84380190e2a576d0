/*
 * Rectangles in time x address, sorted so that any part of them is found and drawn fast.
 *
 * Records are sorted by size class, then along a Morton curve, under an implicit tree of
 * bounding boxes with FAN children per node. Positions are whole numbers: time in
 * 1 / 2^32 of the axis, height in units chosen so that everything fits into 32 bits.
 * Read-only once sorted: any number of threads may ask.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/status.h"

#define TESSERA_BOX_INDEX_FAN 16u
#define TESSERA_BOX_INDEX_MAX_LEVELS 8 /* FAN ^ 8 = 2 ^ 32 */
#define TESSERA_BOX_INDEX_TIME_UNITS 4294967296.0

typedef struct
{
  uint32_t t0, t1, y0, y1; /* t0 < t1, y0 < y1; t1 and y1 not inside */
} TesseraBox;

typedef struct
{
  TesseraBox box;
  uint32_t id;
} TesseraRecord;

typedef struct
{
  TesseraRecord *records;
  size_t n_records;
  TesseraBox *levels[TESSERA_BOX_INDEX_MAX_LEVELS]; /* levels[0]: of FAN records each */
  size_t n_nodes[TESSERA_BOX_INDEX_MAX_LEVELS];
  int n_levels;
} TesseraBoxIndex;

/*
 * tessera_box_index_init:
 * @records: from malloc(), in any order; taken, whatever the outcome
 * @height_units: the largest y1
 *
 * Peak memory, records included: 48 bytes a record; 21 stay.
 */
TESSERA_MUST_USE TesseraStatus tessera_box_index_init (TesseraBoxIndex *index,
                                                       TesseraRecord *records,
                                                       size_t n_records,
                                                       uint32_t height_units);
void tessera_box_index_clear (TesseraBoxIndex *index);

/* Where a walk through the records that meet a box stands. */
typedef struct
{
  const TesseraBoxIndex *index;
  TesseraBox box;
  size_t next[TESSERA_BOX_INDEX_MAX_LEVELS]; /* node to look at, by level */
  size_t end[TESSERA_BOX_INDEX_MAX_LEVELS];
  int level;
} TesseraWalk;

void tessera_walk_init (TesseraWalk *walk, const TesseraBoxIndex *index, TesseraBox box);
/* The next run of records that may meet the box (at most FAN), or NULL at the end. */
const TesseraRecord *tessera_walk_next (TesseraWalk *walk, size_t *out_n);

static inline bool
tessera_box_meets (const TesseraBox *a, const TesseraBox *b)
{
  return a->t0 < b->t1 && b->t0 < a->t1 && a->y0 < b->y1 && b->y0 < a->y1;
}
