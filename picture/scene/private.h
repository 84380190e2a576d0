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
 * @records: from tessera_big_alloc(), in any order; taken
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

/* ---- rows ------------------------------------------------------------------ */

/* Recorded addresses compacted to rows: only memory that the driver gave has height.
 *
 * A row range is a segment, an expandable reservation at its largest extent, a plan's
 * pool, or (where a trace tells no segments) a run of addresses that blocks touch. Row
 * ranges whose lives do not meet may share rows, so that the height of everything is
 * near the peak of reserved. What lives long and starts early lies at the bottom; a
 * plan's pool begins at 0. */

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
TesseraRows *tessera_rows_new (const TesseraBlocks *blocks, const TesseraLayout *layout);
void tessera_rows_free (TesseraRows *rows);
/* Frees block_y once it was read. */
void tessera_rows_drop_blocks (TesseraRows *rows);

uint64_t tessera_rows_y_of (const TesseraRows *rows, uint64_t addr, uint32_t event_index);

/* ---- tiles ----------------------------------------------------------------- */

/* One tile of a picture: exact area coverage, added up in floats, then turned to pixels.
 *
 * Blocks of one address space never overlap, so adding each one's share of a pixel is
 * exact antialiasing at every zoom. Two planes: what lies on the ground (reserved
 * memory, hatching, edges) and the blocks above it.
 *
 * A plane holds differences: each pixel's value less that of its left neighbour. A
 * rectangle changes four of them per line, however wide it is, and one sweep at the end
 * sums them up. (Adding to each pixel instead took 1.6 times as long at ten million
 * blocks, most of it for the thin long ones.) */

#define TESSERA_TILE_WIDTH 256
#define TESSERA_TILE_HEIGHT 128

/* One more than the width: where what reaches the right edge ends. */
#define TESSERA_TILE_STRIDE(width) ((width) + 1)

typedef float TesseraFour __attribute__ ((vector_size (16)));

typedef struct
{
  TesseraFour *blocks; /* [stride * height] red, green, blue times cover, and cover */
  TesseraFour *ground; /* cover of reserved memory, of hatching, of edges;
                          of stripes over the blocks */
  TesseraFour *lit; /* as blocks, above them: what is to be seen however small; or NULL */
  int width, height; /* of the part in use */
} TesseraTile;

/* In pixels of the tile, y downwards; x0 <= x1, y0 <= y1; may lie outside of it. */
typedef struct
{
  double x0, x1, y0, y1;
} TesseraBounds;

static inline TesseraFour
tessera_four_of_rgb (uint32_t rgb)
{
  return (TesseraFour){ (float) (rgb >> 16 & 255), (float) (rgb >> 8 & 255),
                        (float) (rgb & 255), 1.0f };
}

/* Adds @ink times covered area to each pixel of @plane that @bounds touches. */
void tessera_tile_fill (const TesseraTile *tile,
                        TesseraFour *plane,
                        const TesseraBounds *bounds,
                        TesseraFour ink);
/* Adds a rectangle that lies within one pixel of the tile; false: it does not. Most
 * blocks of a big trace do. */
static inline bool
tessera_tile_fill_pixel (const TesseraTile *tile,
                         TesseraFour *plane,
                         const TesseraBounds *b,
                         uint32_t rgb)
{
  if (!(b->x0 >= 0.0 && b->y0 >= 0.0 && b->x0 < tile->width && b->y0 < tile->height))
    return false;
  int x = (int) b->x0, y = (int) b->y0;
  if (b->x1 > x + 1 || b->y1 > y + 1)
    return false;
  TesseraFour ink =
      tessera_four_of_rgb (rgb) * (float) ((b->x1 - b->x0) * (b->y1 - b->y0));
  plane += y * TESSERA_TILE_STRIDE (tile->width) + x;
  plane[0] += ink;
  plane[1] -= ink;
  return true;
}

/* A block: filled, with a darker rim that fades in where the block is big enough to have
 * one. */
void tessera_tile_fill_block (const TesseraTile *tile,
                              const TesseraBounds *bounds,
                              uint32_t rgb);
/* Stripes all over @bounds, above the blocks; a plain area where they would be lost, some
 * pixels wide and high however small @bounds are. */
void tessera_tile_stripe (const TesseraTile *tile, const TesseraBounds *bounds);
/* On the lit plane, some pixels wide and high however small @bounds are; nothing where
 * they are larger. */
void
tessera_tile_light (const TesseraTile *tile, const TesseraBounds *bounds, uint32_t rgb);
/* A thin line along the inside of @bounds on the ground plane, where it is big enough. */
void tessera_tile_edge (const TesseraTile *tile, const TesseraBounds *bounds);

typedef struct
{
  uint32_t background_rgb, reserved_rgb, hatch_rgb, edge_rgb, stripe_rgb;
} TesseraGround;

/* @phase: x + y of the tile's first pixel within the whole picture, for hatching. */
void tessera_tile_resolve (const TesseraTile *tile,
                           const TesseraGround *ground,
                           int64_t phase,
                           uint32_t *pixels,
                           size_t stride_pixels);

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

/* Like g_malloc(); big arrays, which are written once from end to end, get huge pages
 * where the system has them to give: else most of the time would go into being given each
 * page of 4 KiB. free() takes it back. */
void *tessera_big_alloc (size_t n_bytes);
/* All units that a view touches; an edge that lies between units takes both in. */
TesseraBox tessera_scene_box_of_view (const TesseraScene *scene, const TesseraView *view);
