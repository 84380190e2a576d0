/*
 * The inside of a scene.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "picture/scene.h"

/* ---- boxes ----------------------------------------------------------------- */

/* Rectangles in time x address, sorted so that any part of them is found and drawn fast.
 *
 * Records are sorted by size class, then along a Morton curve, under an implicit tree of
 * bounding boxes with FAN children per node. Positions are whole numbers: time in
 * 1 / 2^32 of the axis, height in units chosen so that everything fits into 32 bits.
 * Read-only once sorted: any number of threads may ask. */

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
 * @records: in any order; taken, g_free()
 * @height_units: the largest y1
 *
 * Peak memory, records included: 48 bytes a record; 21 stay.
 */
void tessera_box_index_init (TesseraBoxIndex *index,
                             TesseraRecord *records,
                             size_t n_records,
                             uint32_t height_units);
void tessera_box_index_clear (TesseraBoxIndex *index);

/* Where a walk through the records that meet a box stands. */
typedef struct
{
  const TesseraBoxIndex *index;
  TesseraBox box;
  uint64_t least_t, least_y;                 /* what is smaller is passed over */
  const TesseraRecord *record, *end_record;  /* of the run that is looked at */
  size_t next[TESSERA_BOX_INDEX_MAX_LEVELS]; /* node to look at, by level */
  size_t end[TESSERA_BOX_INDEX_MAX_LEVELS];
  int level;
} TesseraWalk;

void tessera_walk_init (TesseraWalk *walk, const TesseraBoxIndex *index, TesseraBox box);
/* To the next run of records (at most FAN), of which some may be wanted. Returns: whether there
 * is one. */
bool tessera_walk_on (TesseraWalk *walk);

static inline bool
tessera_box_meets (const TesseraBox *a, const TesseraBox *b)
{
  return a->t0 < b->t1 && b->t0 < a->t1 && a->y0 < b->y1 && b->y0 < a->y1;
}

static inline bool
tessera_walk_wants (const TesseraWalk *walk, const TesseraBox *box)
{
  return tessera_box_meets (box, &walk->box) && box->t1 - box->t0 >= walk->least_t &&
         box->y1 - box->y0 >= walk->least_y;
}

/* The next record that is wanted; NULL: the end. */
static inline const TesseraRecord *
tessera_walk_next (TesseraWalk *walk)
{
  do
    while (walk->record < walk->end_record)
      {
        const TesseraRecord *record = walk->record++;
        if (tessera_walk_wants (walk, &record->box))
          return record;
      }
  while (tessera_walk_on (walk));
  return NULL;
}

/* ---- rows ------------------------------------------------------------------ */

/* Recorded addresses compacted to rows: only memory that the driver gave has height.
 *
 * A row range is a segment, an expandable reservation at its largest extent, a plan's
 * pool, or (where a trace tells no segments) a run of addresses that blocks touch. Row
 * ranges whose lives do not meet may share rows, so that the height of everything is
 * near the peak of reserved. What is there most of the time lies at the bottom; a plan's
 * pool begins at 0. */

typedef struct
{
  uint64_t addr;
  uint64_t size_bytes;
  uint64_t y_bytes;    /* bottom of its rows */
  uint32_t born_index; /* of its first span ... */
  uint32_t died_index; /* ... to the end of its last */
  bool is_pool;        /* a plan's */
} TesseraRow;

typedef struct
{
  const TesseraLayout *layout;
  TesseraRow *rows;
  size_t n_rows;
  uint32_t *row_of_span; /* [layout->n_spans] */
  size_t n_span_rows;    /* the first n_span_rows come from spans, the rest from blocks */
  uint64_t *block_y;     /* [n_blocks] or TESSERA_NOWHERE; g_free() once it was read */
  uint64_t height_bytes;
} TesseraRows;

/* @layout is borrowed. */
TesseraRows *tessera_rows_new (const TesseraBlocks *blocks, const TesseraLayout *layout);
void tessera_rows_free (TesseraRows *rows);

uint64_t tessera_rows_y_of (const TesseraRows *rows, uint64_t addr, uint32_t event_index);

/* ---- a scene ------------------------------------------------------------------------- */

struct TesseraScene
{
  const TesseraBlocks *blocks;
  const TesseraLayout *layout;
  const TesseraAxis *axis;
  TesseraRows *rows;
  int y_shift; /* a unit of height in the indices is 1 << y_shift bytes */
  TesseraBoxIndex block_index;
  TesseraBoxIndex span_index;
  TesseraBoxIndex pending_index; /* the last part of blocks: freed, not free yet */
};

/* All units that a view touches; an edge that lies between units takes both in. */
TesseraBox tessera_scene_box_of_view (const TesseraScene *scene, const TesseraView *view);
