/*
 * One tile of a picture: exact area coverage, added up in floats, then turned to pixels.
 *
 * Blocks of one address space never overlap, so adding each one's share of a pixel is
 * exact antialiasing at every zoom. Two planes: what lies on the ground (reserved
 * memory, hatching, edges) and the blocks above it.
 *
 * A plane holds differences: each pixel's value less that of its left neighbour. A
 * rectangle changes four of them per line, however wide it is, and one sweep at the end
 * sums them up. (Adding to each pixel instead took 1.6 times as long at ten million
 * blocks, most of it for the thin long ones.)
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
