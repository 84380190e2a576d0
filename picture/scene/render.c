/*
 * Drawing a scene: tile by tile, ground first, then blocks, then pixels.
 *
 * Nothing is kept between calls and the scene is only read, so that any number of threads
 * may draw at once. When the host has no memory for a tile the picture is still drawn, in
 * smaller tiles on the stack.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "picture/scene/big-alloc.h"
#include "picture/scene/raster.h"
#include "picture/scene/private.h"

#include <stdlib.h>
#include <string.h>

#define SPARE_SIDE 32
#define PALER 0.55f

typedef struct
{
  const TesseraScene *scene;
  const TesseraView *view;
  const TesseraInk *ink;
  uint32_t faint_rgb;        /* blocks that the legend's filter leaves out */
  double x_per_unit, x_at_0; /* pixels of the whole call from units of the index */
  double y_per_unit, y_at_0;
} Drawing;

static uint32_t
mean_rgb (uint32_t a, uint32_t b)
{
  return ((a >> 1) & 0x7f7f7fu) + ((b >> 1) & 0x7f7f7fu);
}

/* A quarter of its own colour. */
static inline uint32_t
dim_rgb (uint32_t rgb, uint32_t ground)
{
  return mean_rgb (mean_rgb (rgb, ground), ground);
}

static inline bool
is_shown (const TesseraInk *ink, uint32_t block)
{
  return ink->block_shown == NULL || ink->block_shown[block];
}

static inline bool
is_lit (const TesseraInk *ink, uint32_t block)
{
  return ink->block_lit == NULL || ink->block_lit[block];
}

/* What a block is drawn in. */
static inline uint32_t
rgb_of_block (const Drawing *d, uint32_t block)
{
  if (!is_shown (d->ink, block))
    return d->faint_rgb;
  if (!is_lit (d->ink, block))
    return dim_rgb (d->ink->block_rgb[block], d->ink->reserved_rgb);
  return d->ink->block_rgb[block];
}

static inline TesseraBounds
bounds_of (const Drawing *d, const TesseraBox *box, int x, int y)
{
  return (TesseraBounds){ box->t0 * d->x_per_unit + d->x_at_0 - x,
                          box->t1 * d->x_per_unit + d->x_at_0 - x,
                          d->y_at_0 - box->y1 * d->y_per_unit - y,
                          d->y_at_0 - box->y0 * d->y_per_unit - y };
}

/* The part of the view that a tile shows, as a box of the index. */
static TesseraBox
box_of_tile (
    const Drawing *d, const TesseraTile *tile, int x, int y, int width, int height)
{
  double t_per_pixel = (d->view->t1 - d->view->t0) / width;
  double y_per_pixel = (d->view->y1 - d->view->y0) / height;
  TesseraView part = { d->view->t0 + x * t_per_pixel,
                       d->view->t0 + (x + tile->width) * t_per_pixel,
                       d->view->y1 - (y + tile->height) * y_per_pixel,
                       d->view->y1 - y * y_per_pixel };
  return tessera_scene_box_of_view (d->scene, &part);
}

static void
draw_spans (const Drawing *d, const TesseraTile *tile, TesseraBox box, int x, int y)
{
  const TesseraRecord *records;
  size_t n;
  TesseraWalk walk;
  tessera_walk_init (&walk, &d->scene->span_index, box);
  while ((records = tessera_walk_next (&walk, &n)) != NULL)
    for (size_t i = 0; i < n; i++)
      {
        if (!tessera_box_meets (&records[i].box, &box))
          continue;
        const TesseraSpan *span = &d->scene->layout->spans[records[i].id];
        TesseraBounds bounds = bounds_of (d, &records[i].box, x, y);
        /* A plan's pool is free where nothing is planned, not wasted: no hatching. */
        TesseraFour cover = span->is_plan_pool ? (TesseraFour){ 0.5f, 0.0f, 0.0f, 0.0f }
                                               : (TesseraFour){ 1.0f, 1.0f, 0.0f, 0.0f };
        tessera_tile_fill (tile, tile->ground, &bounds, cover);
        if (!span->is_expandable && !span->is_plan_pool)
          tessera_tile_edge (tile, &bounds);
      }
}

static bool
has_missed (const TesseraScene *scene, uint32_t block)
{
  const TesseraLayout *layout = scene->layout;
  const TesseraBlock *b = &scene->blocks->blocks[block];

  return layout->is_hit != NULL && !layout->is_hit[block] && !layout->is_left[block] &&
         (layout->declined_index == 0 || b->born_index < layout->declined_index) &&
         (b->flags & (TESSERA_AT_START | TESSERA_UNKNOWN_START | TESSERA_FAILED)) == 0;
}

static void
draw_blocks (const Drawing *d, const TesseraTile *tile, TesseraBox box, int x, int y)
{
  const TesseraInk *ink = d->ink;
  const TesseraRecord *records;
  size_t n;
  TesseraWalk walk;
  tessera_walk_init (&walk, &d->scene->block_index, box);
  while ((records = tessera_walk_next (&walk, &n)) != NULL)
    {
      for (size_t i = 0; i < n; i++) /* colours lie in another order: ask early */
        __builtin_prefetch (&ink->block_rgb[records[i].id]);
      for (size_t i = 0; i < n; i++)
        {
          if (!tessera_box_meets (&records[i].box, &box))
            continue;
          uint32_t block = records[i].id;
          uint32_t rgb = rgb_of_block (d, block);
          TesseraBounds bounds = bounds_of (d, &records[i].box, x, y);
          if (!tessera_tile_fill_pixel (tile, tile->blocks, &bounds, rgb))
            tessera_tile_fill_block (tile, &bounds, rgb);
          if (d->scene->layout->n_misses > 0 && is_shown (ink, block) &&
              has_missed (d->scene, block))
            tessera_tile_stripe (tile, &bounds);
          if (tile->lit != NULL && ink->block_lit[block] && is_shown (ink, block))
            tessera_tile_light (tile, &bounds, rgb);
        }
    }
}

/* What is freed and waits for an event of another stream is paler than what is in use:
 * part of the block's colour is taken back. */
static void
draw_pending (const Drawing *d, const TesseraTile *tile, TesseraBox box, int x, int y)
{
  const TesseraInk *ink = d->ink;
  const TesseraFour ground = tessera_four_of_rgb (ink->reserved_rgb);
  const TesseraRecord *records;
  size_t n;
  TesseraWalk walk;
  tessera_walk_init (&walk, &d->scene->pending_index, box);
  while ((records = tessera_walk_next (&walk, &n)) != NULL)
    for (size_t i = 0; i < n; i++)
      {
        uint32_t block = records[i].id;
        if (!tessera_box_meets (&records[i].box, &box) || !is_shown (ink, block))
          continue;
        TesseraBounds bounds = bounds_of (d, &records[i].box, x, y);
        TesseraFour paler =
            (ground - tessera_four_of_rgb (rgb_of_block (d, block))) * PALER;
        tessera_tile_fill (tile, tile->blocks, &bounds, paler);
      }
}

void
tessera_scene_render (const TesseraScene *scene,
                      const TesseraView *view,
                      const TesseraInk *ink,
                      uint32_t *pixels,
                      size_t stride_pixels,
                      int width,
                      int height,
                      int64_t origin_x,
                      int64_t origin_y)
{
  double t_span = view->t1 - view->t0, y_span = view->y1 - view->y0;
  if (width <= 0 || height <= 0)
    return;
  double y_unit = (double) (UINT64_C (1) << scene->y_shift);
  Drawing d = { .scene = scene, .view = view, .ink = ink };
  d.faint_rgb = mean_rgb (ink->background_rgb, ink->edge_rgb);
  d.x_per_unit = width / t_span / TESSERA_BOX_INDEX_TIME_UNITS;
  d.x_at_0 = -view->t0 / t_span * width;
  d.y_per_unit = height / y_span * y_unit;
  d.y_at_0 = view->y1 / y_span * height;
  const TesseraGround ground = { ink->background_rgb, ink->reserved_rgb, ink->hatch_rgb,
                                 ink->edge_rgb, ink->missed_rgb };

  size_t n_planes = ink->block_lit != NULL ? 3 : 2;
  TesseraFour spare[3 * TESSERA_TILE_STRIDE (SPARE_SIDE) * SPARE_SIDE];
  size_t n_pixels =
      (size_t) TESSERA_TILE_STRIDE (TESSERA_TILE_WIDTH) * TESSERA_TILE_HEIGHT;
  TesseraFour *planes = tessera_big_alloc (n_planes * n_pixels * sizeof *planes);
  int tile_width = planes != NULL ? TESSERA_TILE_WIDTH : SPARE_SIDE;
  int tile_height = planes != NULL ? TESSERA_TILE_HEIGHT : SPARE_SIDE;
  n_pixels = (size_t) TESSERA_TILE_STRIDE (tile_width) * (size_t) tile_height;
  TesseraTile tile = { .blocks = planes != NULL ? planes : spare };
  tile.ground = tile.blocks + n_pixels;
  tile.lit = n_planes > 2 ? tile.ground + n_pixels : NULL;
  for (int y = 0; y < height; y += tile_height)
    for (int x = 0; x < width; x += tile_width)
      {
        tile.width = width - x < tile_width ? width - x : tile_width;
        tile.height = height - y < tile_height ? height - y : tile_height;
        memset (tile.blocks, 0, n_planes * n_pixels * sizeof *tile.blocks);
        if (t_span > 0.0 && y_span > 0.0)
          {
            TesseraBox box = box_of_tile (&d, &tile, x, y, width, height);
            draw_spans (&d, &tile, box, x, y);
            draw_blocks (&d, &tile, box, x, y);
            draw_pending (&d, &tile, box, x, y);
          }
        tessera_tile_resolve (&tile, &ground, origin_x + x + origin_y + y,
                              pixels + (size_t) y * stride_pixels + x, stride_pixels);
      }
  free (planes);
}
