/*
 * Groups of items as rectangles, and rectangles in layers: the parts of paper.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/groups.h"
#include "planner/strategy/paper.h"

/* A group, several that were fused, or a single item. */
typedef struct
{
  TesseraLocalPlan plan; /* sources are items; offsets within the rectangle */
  uint64_t size_bytes;   /* height */
  uint32_t begin, end;
  uint32_t begin2, end2; /* and before; equal: not */
  uint32_t from_phase, to_phase;
  uint32_t group; /* of its first item */
  uint64_t offset_bytes;
  bool is_single; /* a request by itself */
  bool wraps;     /* one of its items does, though its lives may meet in the whole */
} TesseraRectangle;

typedef struct
{
  TesseraRectangle *rectangles;
  size_t n_rectangles, cap_rectangles;
} TesseraRectangles;

/* Rectangles of items of one zone. @order: the items, by group. Not @is_grouped: only
 * hand-made groups are rectangles of more than one. Returns: TESSERA_OK or
 * TESSERA_NO_MEMORY; @out is to be cleared in any case. */
TESSERA_MUST_USE TesseraStatus tessera_rectangles_make (const TesseraItem *items,
                                                        const TesseraPaperItem *grouped,
                                                        const uint32_t *order,
                                                        size_t n_order,
                                                        bool is_grouped,
                                                        TesseraRectangles *out);
TESSERA_MUST_USE TesseraStatus tessera_rectangles_fuse (TesseraRectangles *rectangles);
void tessera_rectangles_clear (TesseraRectangles *rectangles);

/* Gives each rectangle an offset: layers, on top of each other. Sorts them. */
TESSERA_MUST_USE TesseraStatus tessera_layers_place (TesseraRectangles *rectangles,
                                                     uint64_t *out_height_bytes);
