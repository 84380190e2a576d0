/*
 * Recorded addresses compacted to rows: only memory that the driver gave has height.
 *
 * A row range is a segment, an expandable reservation at its largest extent, a plan's
 * pool, or (where a trace tells no segments) a run of addresses that blocks touch. Row
 * ranges whose lives do not meet may share rows, so that the height of everything is
 * near the peak of reserved. What lives long and starts early lies at the bottom; a
 * plan's pool begins at 0.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "simulator/layout.h"

typedef struct
{
  uint64_t addr;
  uint64_t size_bytes;
  uint64_t y_bytes;    /* bottom of its rows */
  uint32_t born_index; /* of its first span ... */
  uint32_t died_index; /* ... to the end of its last */
} TesseraRow;

typedef struct
{
  const TesseraLayout *layout;
  TesseraRow *rows;
  size_t n_rows;
  uint32_t *row_of_span; /* [layout->n_spans] */
  size_t n_span_rows;    /* the first n_span_rows come from spans, the rest from blocks */
  uint64_t *block_y;     /* [n_blocks] or TESSERA_NOWHERE; see tessera_rows_drop_blocks */
  uint64_t height_bytes;
} TesseraRows;

/* @layout is borrowed. */
TESSERA_MUST_USE TesseraStatus tessera_rows_new (const TesseraBlocks *blocks,
                                                 const TesseraLayout *layout,
                                                 TesseraRows **out_rows);
/* Sets y_bytes of all rows and the height of everything. */
TESSERA_MUST_USE TesseraStatus tessera_rows_place (TesseraRows *rows);
void tessera_rows_free (TesseraRows *rows);
/* Lets go of block_y once it was read. */
void tessera_rows_drop_blocks (TesseraRows *rows);

uint64_t tessera_rows_y_of (const TesseraRows *rows, uint64_t addr, uint32_t event_index);
