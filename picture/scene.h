/*
 * A layout made drawable: rectangles over compacted addresses, indexed for drawing at any
 * zoom and for finding what lies under the pointer.
 *
 * Recorded addresses are compacted: only reserved space has height; segments that come
 * and go share rows. Heights are bytes. A scene is built on a worker and read-only
 * afterwards; colours are none of it, they come with each drawing (TesseraInk).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "picture/axis.h"
#include "picture/colour.h"
#include "simulator/layout.h"

#include <glib.h>

typedef struct TesseraScene TesseraScene;

/* @blocks, @layout and @axis are borrowed and must outlive the scene; they are of one trace. Blocks whose
 * request failed in this layout have no rectangle. */
TesseraScene *tessera_scene_new (const TesseraBlocks *blocks,
                                 const TesseraLayout *layout,
                                 const TesseraAxis *axis);
void tessera_scene_free (TesseraScene *scene);

/* Height of everything, in bytes: the top of the highest row. */
uint64_t tessera_scene_height_bytes (const TesseraScene *scene);
/* Where the tallest thing ends: that, or a request that failed on top of what was reserved. */
double tessera_scene_top_bytes (const TesseraScene *scene);
/* Row (compacted) position of a recorded address at an event; TESSERA_NOWHERE: unmapped.
 */
uint64_t
tessera_scene_y_of (const TesseraScene *scene, uint64_t addr, uint32_t event_index);

/* Part of the scene that a picture shows: time 0..1 of the axis, height in bytes. */
typedef struct
{
  double t0, t1;
  double y0, y1; /* bottom, top */
} TesseraView;

/* The block under a point, or TESSERA_NONE. */
uint32_t tessera_scene_block_at (const TesseraScene *scene, double t, double y_bytes);
/* All blocks that meet a rectangle, uint32_t: (transfer full). */
GArray *tessera_scene_blocks_in (const TesseraScene *scene, const TesseraView *view);
/* The rectangle of a block; false when it is not placed in this layout. */
bool tessera_scene_block_rect (const TesseraScene *scene,
                               uint32_t block,
                               TesseraView *out_rect);

/* The part of a block that a picture shows, until it is freed, in pixels from the top left. */
typedef struct
{
  uint32_t block;
  double x, y, width, height;
} TesseraShownBlock;

/* The blocks of which a picture of @width x @height pixels shows that much at least, at most @most,
 * largest first: where words can stand. TesseraShownBlock, g_array_unref(). */
GArray *tessera_scene_largest (const TesseraScene *scene,
                               const TesseraView *view,
                               double width,
                               double height,
                               double least_width,
                               double least_height,
                               guint most);

/* Colours of all blocks: 0xRRGGBB by block index, and whether each is shown (legend
 * filter). */
typedef struct
{
  const uint32_t *block_rgb;  /* [n_blocks] */
  const uint8_t *block_shown; /* [n_blocks] or NULL: all */
  uint32_t background_rgb;
  uint32_t reserved_rgb;    /* fill of reserved but free */
  uint32_t hatch_rgb;       /* its hatching */
  uint32_t edge_rgb;        /* faint edges of segments */
  uint32_t missed_rgb;      /* stripes over blocks that missed the plan */
  const uint8_t *block_lit; /* [n_blocks] or NULL: all; the others are dimmed */
} TesseraInk;

/*
 * tessera_scene_render:
 * @pixels: 0x00RRGGBB, @stride_pixels per row, top row first; every pixel is written
 *
 * Blocks that missed the plan that this layout follows, against its will, are striped,
 * and seen however small; so are those that alone are lit. The part of a block after its
 * free, until its memory can be used again, is paler. Exact area coverage at every zoom:
 * blocks thinner than a pixel blend by density, so no peak vanishes and nothing pops.
 * Thread-safe for different @pixels. Hatching is in device pixels from the view's origin,
 * so that pictures join: @origin_x, @origin_y place pixel (0, 0) within the whole picture.
 */
void tessera_scene_render (const TesseraScene *scene,
                           const TesseraView *view,
                           const TesseraInk *ink,
                           uint32_t *pixels,
                           size_t stride_pixels,
                           int width,
                           int height,
                           int64_t origin_x,
                           int64_t origin_y);
