/*
 * Filling rectangles by exact coverage.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "picture/scene/raster.h"

#include <math.h>
#include <stdbool.h>

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

void
tessera_tile_fill (const TesseraTile *tile,
                   TesseraFour *plane,
                   const TesseraBounds *bounds,
                   TesseraFour ink)
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
  const size_t stride = (size_t) TESSERA_TILE_STRIDE (tile->width);
  const TesseraFour first = ink * share (x0, x1, left);
  const TesseraFour last = ink * share (x0, x1, right);
  TesseraFour *line = plane + (size_t) top * stride;
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
rim_strength (const TesseraBounds *b)
{
  double width = b->x1 - b->x0, height = b->y1 - b->y0;
  double side = width < height ? width : height;
  if (side <= RIM_FROM)
    return 0.0;
  return side >= RIM_FULL ? 1.0 : (side - RIM_FROM) / (RIM_FULL - RIM_FROM);
}

static TesseraBounds
inset (const TesseraBounds *b)
{
  return (TesseraBounds){ b->x0 + RIM_INSET, b->x1 - RIM_INSET, b->y0 + RIM_INSET,
                          b->y1 - RIM_INSET };
}

void
tessera_tile_fill_block (const TesseraTile *tile,
                         const TesseraBounds *bounds,
                         uint32_t rgb)
{
  TesseraFour ink = tessera_four_of_rgb (rgb);
  float shade = (float) (RIM_SHADE * rim_strength (bounds));
  if (shade > 0.0f) /* darker all over, then made up for inside of the rim */
    {
      TesseraBounds inside = inset (bounds);
      TesseraFour light = ink * shade;
      light[3] = 0.0f;
      tessera_tile_fill (tile, tile->blocks, &inside, light);
      ink -= light;
    }
  tessera_tile_fill (tile, tile->blocks, bounds, ink);
}

void
tessera_tile_edge (const TesseraTile *tile, const TesseraBounds *bounds)
{
  float strength = (float) rim_strength (bounds);
  if (strength <= 0.0f)
    return;
  TesseraBounds inside = inset (bounds);
  TesseraFour edge = { 0.0f, 0.0f, strength, 0.0f };
  tessera_tile_fill (tile, tile->ground, bounds, edge);
  tessera_tile_fill (tile, tile->ground, &inside, -edge);
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

void
tessera_tile_stripe (const TesseraTile *tile, const TesseraBounds *bounds)
{
  bool is_thin = bounds->x1 - bounds->x0 < 2 * HATCH_PERIOD ||
                 bounds->y1 - bounds->y0 < 2 * HATCH_PERIOD;
  TesseraBounds wide = *bounds;
  widen (&wide.x0, &wide.x1, LEAST_STRIPE);
  widen (&wide.y0, &wide.y1, LEAST_STRIPE);
  TesseraFour stripes = { 0.0f, 0.0f, 0.0f, is_thin ? PLAIN_STRIPE : 1.0f };
  tessera_tile_fill (tile, tile->ground, &wide, stripes);
}

void
tessera_tile_light (const TesseraTile *tile, const TesseraBounds *bounds, uint32_t rgb)
{
  TesseraBounds wide = *bounds;
  if (bounds->x1 - bounds->x0 >= LEAST_LIT && bounds->y1 - bounds->y0 >= LEAST_LIT)
    return;
  widen (&wide.x0, &wide.x1, LEAST_LIT);
  widen (&wide.y0, &wide.y1, LEAST_LIT);
  tessera_tile_fill (tile, tile->lit, &wide, tessera_four_of_rgb (rgb));
}

/* How much of a pixel the stripes hide, @cover of them in it. */
static inline float
striped_share (float cover, float hatch)
{
  return cover > 1.5f ? cover / PLAIN_STRIPE : cover * hatch;
}

static inline TesseraFour
mix (TesseraFour a, TesseraFour b, float share_of_b)
{
  float s = share_of_b < 1.0f ? share_of_b : 1.0f;
  return a + (b - a) * s;
}

/* Many small lights in one pixel: their mean, without what rounding left outside. */
static inline TesseraFour
lighten (TesseraFour c, TesseraFour light)
{
  if (light[3] <= NO_LIGHT)
    return c;
  TesseraFour mean = light / light[3];
  for (int i = 0; i < 3; i++)
    mean[i] = mean[i] < 0.0f ? 0.0f : mean[i] > 255.0f ? 255.0f : mean[i];
  return mix (c, mean, light[3]);
}

static inline uint32_t
rgb_of_four (TesseraFour c)
{
  /* rounding errors leave it less than 0.01 outside of 0 ... 255: + 0.5 takes that up */
  return (uint32_t) (c[0] + 0.5f) << 16 | (uint32_t) (c[1] + 0.5f) << 8 |
         (uint32_t) (c[2] + 0.5f);
}

void
tessera_tile_resolve (const TesseraTile *tile,
                      const TesseraGround *ground,
                      int64_t phase,
                      uint32_t *pixels,
                      size_t stride_pixels)
{
  const TesseraFour background = tessera_four_of_rgb (ground->background_rgb);
  const TesseraFour reserved = tessera_four_of_rgb (ground->reserved_rgb);
  const TesseraFour hatch = tessera_four_of_rgb (ground->hatch_rgb);
  const TesseraFour edge = tessera_four_of_rgb (ground->edge_rgb);
  const TesseraFour stripe = tessera_four_of_rgb (ground->stripe_rgb);
  for (int y = 0; y < tile->height; y++)
    {
      const TesseraFour *above = tile->blocks + y * TESSERA_TILE_STRIDE (tile->width);
      const TesseraFour *below = tile->ground + y * TESSERA_TILE_STRIDE (tile->width);
      uint32_t *out = pixels + (size_t) y * stride_pixels;
      const TesseraFour *top =
          tile->lit != NULL ? tile->lit + y * TESSERA_TILE_STRIDE (tile->width) : NULL;
      TesseraFour block = { 0.0f }, cover = { 0.0f }, light = { 0.0f };
      int line = (int) ((phase + y) % HATCH_PERIOD);
      line = line < 0 ? line + HATCH_PERIOD : line;
      for (int x = 0; x < tile->width; x++)
        {
          block += above[x];
          cover += below[x];
          TesseraFour c = block;
          if (c[3] < ALL_COVERED)
            {
              TesseraFour base = mix (background, reserved, cover[0]);
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
