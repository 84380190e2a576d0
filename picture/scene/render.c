/*
 * Drawing a scene: tile by tile, ground first, then blocks, then pixels.
 *
 * Nothing is kept between calls and the scene is only read, so that any number of threads
 * may draw at once.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "picture/scene/private.h"

#include <math.h>
#include <string.h>

/* ---- one tile: rectangles by exact coverage --------------------------------------- */

/* One tile of a picture: exact area coverage, added up in floats, then turned to pixels.
 *
 * Blocks of one address space never overlap, so adding each one's share of a pixel is
 * exact antialiasing at every zoom. Two planes: what lies on the ground (reserved
 * memory, hatching, edges) and the blocks above it; a third where some blocks are lit.
 *
 * A plane holds differences: each pixel's value less that of its left neighbour. A
 * rectangle changes four of them per line, however wide it is, and one sweep at the end
 * sums them up. (Adding to each pixel instead took 1.6 times as long at ten million
 * blocks, most of it for the thin long ones.) */

#define TILE_WIDTH 256
#define TILE_HEIGHT 128

/* One more than the width: where what reaches the right edge ends. */
#define STRIDE(width) ((width) + 1)

typedef float Four __attribute__ ((vector_size (16)));

typedef struct
{
  Four *blocks; /* [stride * height] red, green, blue times cover, and cover */
  Four *ground; /* cover of reserved memory, of hatching, of edges;
                          of stripes over the blocks */
  Four *lit;    /* as blocks, above them: what is to be seen however small; or NULL */
  int width, height; /* of the part in use */
} Tile;

/* In pixels of the tile, y downwards; x0 <= x1, y0 <= y1; may lie outside of it. */
typedef struct
{
  double x0, x1, y0, y1;
} Bounds;

static inline Four
four_of_rgb (uint32_t rgb)
{
  return (Four){ (float) (rgb >> 16 & 255), (float) (rgb >> 8 & 255), (float) (rgb & 255),
                 1.0f };
}

/* From which size in pixels a rim shows, and where it is at full strength. */
#define RIM_FROM 3.0
#define RIM_FULL 8.0
#define RIM_SHADE 0.30 /* how much darker */
#define RIM_INSET 0.5  /* so that two neighbours share one pixel */
/* Cover is a sum of many differences: these are far from any true value but 1. */
#define ALL_COVERED 0.9995f
#define OVERLAPPED 1.0005f
#define HATCH_PERIOD 6 /* pixels along a row */

/* Stripes: sums of errors are below; a plain area counts for so many, which no blocks on
 * top of each other reach; no smaller than this many pixels. */
#define NO_STRIPE 0.001f
#define PLAIN_STRIPE 16.0f
#define LEAST_STRIPE 3.0
/* So many pixels of a lit block are seen; less cover than this is an error of sums. */
#define LEAST_LIT 2.0
#define NO_LIGHT 0.01f

/* One diagonal line per period, about a pixel wide, with soft sides. */
static const float hatch_cover[HATCH_PERIOD] = { 0.9f, 0.3f, 0.0f, 0.0f, 0.0f, 0.3f };

static inline float
share (double low, double high, int pixel)
{
  double from = low > pixel ? low : pixel;
  double to = high < pixel + 1 ? high : pixel + 1;
  return (float) (to - from);
}

/* Adds @ink times covered area to each pixel of @plane that @bounds touches. */
static void
tile_fill (const Tile *tile, Four *plane, const Bounds *bounds, Four ink)
{
  double x0 = bounds->x0 > 0.0 ? bounds->x0 : 0.0;
  double y0 = bounds->y0 > 0.0 ? bounds->y0 : 0.0;
  double x1 = bounds->x1 < tile->width ? bounds->x1 : tile->width;
  double y1 = bounds->y1 < tile->height ? bounds->y1 : tile->height;
  if (!(x0 < x1 && y0 < y1))
    return;
  int left = (int) x0, top = (int) y0, right = (int) x1, bottom = (int) y1;
  right -= right == x1 && right > left;
  bottom -= bottom == y1;
  const size_t stride = (size_t) STRIDE (tile->width);
  const Four first = ink * share (x0, x1, left);
  const Four last = ink * share (x0, x1, right);
  Four *line = plane + (size_t) top * stride;
  for (int y = top; y <= bottom; y++, line += stride)
    {
      float height = y == top || y == bottom ? share (y0, y1, y) : 1.0f;
      line[left] += first * height;
      if (left == right)
        line[left + 1] -= first * height;
      else
        {
          line[left + 1] += (ink - first) * height;
          line[right] += (last - ink) * height;
          line[right + 1] -= last * height;
        }
    }
}

/* 0 where the shorter side is below RIM_FROM, 1 from RIM_FULL on. */
static double
rim_strength (const Bounds *b)
{
  double width = b->x1 - b->x0, height = b->y1 - b->y0;
  double side = width < height ? width : height;
  if (side <= RIM_FROM)
    return 0.0;
  return side >= RIM_FULL ? 1.0 : (side - RIM_FROM) / (RIM_FULL - RIM_FROM);
}

static Bounds
inset (const Bounds *b)
{
  return (Bounds){ b->x0 + RIM_INSET, b->x1 - RIM_INSET, b->y0 + RIM_INSET,
                   b->y1 - RIM_INSET };
}

/* A block: filled, with a darker rim that fades in where the block is big enough to have
 * one. */
static void
tile_fill_block (const Tile *tile, const Bounds *bounds, uint32_t rgb)
{
  Four ink = four_of_rgb (rgb);
  float shade = (float) (RIM_SHADE * rim_strength (bounds));
  if (shade > 0.0f) /* darker all over, then made up for inside of the rim */
    {
      Bounds inside = inset (bounds);
      Four light = ink * shade;
      light[3] = 0.0f;
      tile_fill (tile, tile->blocks, &inside, light);
      ink -= light;
    }
  tile_fill (tile, tile->blocks, bounds, ink);
}

/* A thin line along the inside of @bounds on the ground plane, where it is big enough. */
static void
tile_edge (const Tile *tile, const Bounds *bounds)
{
  float strength = (float) rim_strength (bounds);
  if (strength <= 0.0f)
    return;
  Bounds inside = inset (bounds);
  Four edge = { 0.0f, 0.0f, strength, 0.0f };
  tile_fill (tile, tile->ground, bounds, edge);
  tile_fill (tile, tile->ground, &inside, -edge);
}

/* At least @least, about the same middle. */
static void
widen (double *low, double *high, double least)
{
  double more = least - (*high - *low);
  if (more <= 0.0)
    return;
  *low -= more / 2;
  *high += more / 2;
}

/* Stripes all over @bounds, above the blocks; a plain area where they would be lost, some
 * pixels wide and high however small @bounds are. */
static void
tile_stripe (const Tile *tile, const Bounds *bounds)
{
  bool is_thin = bounds->x1 - bounds->x0 < 2 * HATCH_PERIOD ||
                 bounds->y1 - bounds->y0 < 2 * HATCH_PERIOD;
  Bounds wide = *bounds;
  widen (&wide.x0, &wide.x1, LEAST_STRIPE);
  widen (&wide.y0, &wide.y1, LEAST_STRIPE);
  Four stripes = { 0.0f, 0.0f, 0.0f, is_thin ? PLAIN_STRIPE : 1.0f };
  tile_fill (tile, tile->ground, &wide, stripes);
}

/* On the lit plane, some pixels wide and high however small @bounds are; nothing where
 * they are larger. */
static void
tile_light (const Tile *tile, const Bounds *bounds, uint32_t rgb)
{
  Bounds wide = *bounds;
  if (bounds->x1 - bounds->x0 >= LEAST_LIT && bounds->y1 - bounds->y0 >= LEAST_LIT)
    return;
  widen (&wide.x0, &wide.x1, LEAST_LIT);
  widen (&wide.y0, &wide.y1, LEAST_LIT);
  tile_fill (tile, tile->lit, &wide, four_of_rgb (rgb));
}

/* How much of a pixel the stripes hide, @cover of them in it. */
static inline float
striped_share (float cover, float hatch)
{
  return cover > 1.5f ? cover / PLAIN_STRIPE : cover * hatch;
}

static inline Four
mix (Four a, Four b, float share_of_b)
{
  float s = share_of_b < 1.0f ? share_of_b : 1.0f;
  return a + (b - a) * s;
}

/* Many small lights in one pixel: their mean, without what rounding left outside. */
static inline Four
lighten (Four c, Four light)
{
  if (light[3] <= NO_LIGHT)
    return c;
  Four mean = light / light[3];
  for (int i = 0; i < 3; i++)
    mean[i] = mean[i] < 0.0f ? 0.0f : mean[i] > 255.0f ? 255.0f : mean[i];
  return mix (c, mean, light[3]);
}

static inline uint32_t
rgb_of_four (Four c)
{
  /* rounding errors leave it less than 0.01 outside of 0 ... 255: + 0.5 takes that up */
  return (uint32_t) (c[0] + 0.5f) << 16 | (uint32_t) (c[1] + 0.5f) << 8 |
         (uint32_t) (c[2] + 0.5f);
}

/* @phase: x + y of the tile's first pixel within the whole picture, for hatching. */
static void
tile_resolve (const Tile *tile,
              const TesseraInk *ink,
              int64_t phase,
              uint32_t *pixels,
              size_t stride_pixels)
{
  const Four background = four_of_rgb (ink->background_rgb);
  const Four reserved = four_of_rgb (ink->reserved_rgb);
  const Four hatch = four_of_rgb (ink->hatch_rgb);
  const Four edge = four_of_rgb (ink->edge_rgb);
  const Four stripe = four_of_rgb (ink->missed_rgb);
  for (int y = 0; y < tile->height; y++)
    {
      const Four *above = tile->blocks + y * STRIDE (tile->width);
      const Four *below = tile->ground + y * STRIDE (tile->width);
      uint32_t *out = pixels + (size_t) y * stride_pixels;
      const Four *top = tile->lit != NULL ? tile->lit + y * STRIDE (tile->width) : NULL;
      Four block = { 0.0f }, cover = { 0.0f }, light = { 0.0f };
      int line = (int) ((phase + y) % HATCH_PERIOD);
      line = line < 0 ? line + HATCH_PERIOD : line;
      for (int x = 0; x < tile->width; x++)
        {
          block += above[x];
          cover += below[x];
          Four c = block;
          if (c[3] < ALL_COVERED)
            {
              Four base = mix (background, reserved, cover[0]);
              base = mix (base, hatch, cover[1] * hatch_cover[line]);
              base = mix (base, edge, cover[2]);
              c += base * (1.0f - c[3]);
            }
          else if (c[3] > OVERLAPPED) /* such data: their mean */
            c /= c[3];
          if (top != NULL)
            c = lighten (c, light += top[x]);
          if (cover[3] > NO_STRIPE)
            c = mix (c, stripe, striped_share (cover[3], hatch_cover[line]));
          out[x] = rgb_of_four (c);
          line = line + 1 < HATCH_PERIOD ? line + 1 : 0;
        }
    }
}

/* ---- the scene, tile by tile ------------------------------------------------------ */

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

static inline Bounds
bounds_of (const Drawing *d, const TesseraBox *box, int x, int y)
{
  return (Bounds){ box->t0 * d->x_per_unit + d->x_at_0 - x,
                   box->t1 * d->x_per_unit + d->x_at_0 - x,
                   d->y_at_0 - box->y1 * d->y_per_unit - y,
                   d->y_at_0 - box->y0 * d->y_per_unit - y };
}

/* The part of the view that a tile shows, as a box of the index. */
static TesseraBox
box_of_tile (const Drawing *d, const Tile *tile, int x, int y, int width, int height)
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
draw_spans (const Drawing *d, const Tile *tile, TesseraBox box, int x, int y)
{
  const TesseraRecord *record;
  TesseraWalk walk;
  tessera_walk_init (&walk, &d->scene->span_index, box);
  while ((record = tessera_walk_next (&walk)) != NULL)
    {
      const TesseraSpan *span = &d->scene->layout->spans[record->id];
      Bounds bounds = bounds_of (d, &record->box, x, y);
      /* A plan's pool is free where nothing is planned, not wasted: no hatching. */
      Four cover = span->is_plan_pool ? (Four){ 0.5f, 0.0f, 0.0f, 0.0f }
                                      : (Four){ 1.0f, 1.0f, 0.0f, 0.0f };
      tile_fill (tile, tile->ground, &bounds, cover);
      if (!span->is_expandable && !span->is_plan_pool)
        tile_edge (tile, &bounds);
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
draw_blocks (const Drawing *d, const Tile *tile, TesseraBox box, int x, int y)
{
  const TesseraInk *ink = d->ink;
  const TesseraRecord *record;
  TesseraWalk walk;
  tessera_walk_init (&walk, &d->scene->block_index, box);
  while (tessera_walk_on (&walk))
    {
      const TesseraRecord *begin = walk.record, *end = walk.end_record;
      /* Colours lie in another order: asked for early. */
      for (record = begin; record < end; record++)
        __builtin_prefetch (&ink->block_rgb[record->id]);
      for (record = begin; record < end; record++)
        {
          if (!tessera_box_meets (&record->box, &box))
            continue;
          uint32_t block = record->id;
          uint32_t rgb = rgb_of_block (d, block);
          Bounds bounds = bounds_of (d, &record->box, x, y);
          tile_fill_block (tile, &bounds, rgb);
          if (d->scene->layout->n_misses > 0 && is_shown (ink, block) &&
              has_missed (d->scene, block))
            tile_stripe (tile, &bounds);
          if (tile->lit != NULL && ink->block_lit[block] && is_shown (ink, block))
            tile_light (tile, &bounds, rgb);
        }
    }
}

/* What is freed and waits for an event of another stream is paler than what is in use:
 * part of the block's colour is taken back. */
static void
draw_pending (const Drawing *d, const Tile *tile, TesseraBox box, int x, int y)
{
  const TesseraInk *ink = d->ink;
  const Four ground = four_of_rgb (ink->reserved_rgb);
  const TesseraRecord *record;
  TesseraWalk walk;
  tessera_walk_init (&walk, &d->scene->pending_index, box);
  while ((record = tessera_walk_next (&walk)) != NULL)
    if (is_shown (ink, record->id))
      {
        Bounds bounds = bounds_of (d, &record->box, x, y);
        Four paler = (ground - four_of_rgb (rgb_of_block (d, record->id))) * PALER;
        tile_fill (tile, tile->blocks, &bounds, paler);
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
  size_t n_planes = ink->block_lit != NULL ? 3 : 2;
  size_t n_pixels = (size_t) STRIDE (TILE_WIDTH) * TILE_HEIGHT;
  Tile tile = { g_new (Four, n_planes * n_pixels) };
  tile.ground = tile.blocks + n_pixels;
  tile.lit = n_planes > 2 ? tile.ground + n_pixels : NULL;
  for (int y = 0; y < height; y += TILE_HEIGHT)
    for (int x = 0; x < width; x += TILE_WIDTH)
      {
        tile.width = width - x < TILE_WIDTH ? width - x : TILE_WIDTH;
        tile.height = height - y < TILE_HEIGHT ? height - y : TILE_HEIGHT;
        memset (tile.blocks, 0, n_planes * n_pixels * sizeof *tile.blocks);
        if (t_span > 0.0 && y_span > 0.0)
          {
            TesseraBox box = box_of_tile (&d, &tile, x, y, width, height);
            draw_spans (&d, &tile, box, x, y);
            draw_blocks (&d, &tile, box, x, y);
            draw_pending (&d, &tile, box, x, y);
          }
        tile_resolve (&tile, ink, origin_x + x + origin_y + y,
                      pixels + (size_t) y * stride_pixels + x, stride_pixels);
      }
  g_free (tile.blocks);
}
