/*
 * The colours themselves: Paul Tol's qualitative schemes, which colour-blind people can
 * tell apart, fitted to light and dark backgrounds.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TESSERA_N_PALETTE 20u

/* Of a picture, for all that is not a block; 0xRRGGBB each. */
typedef struct
{
  uint32_t sheet; /* around pictures that are saved */
  uint32_t background;
  uint32_t reserved; /* fill of what is reserved and free */
  uint32_t hatch;
  uint32_t edge;   /* of segments */
  uint32_t missed; /* stripes over blocks that missed the plan */
  uint32_t frame;
  uint32_t text;
  uint32_t dim; /* less important text */
  uint32_t bad; /* verdicts only, as is good */
  uint32_t good;
  uint32_t select;
  uint32_t select_text; /* as words: what is selected */
  uint32_t accent;
  uint32_t lane;
  uint32_t curve_reserved;
  uint32_t curve_allocated;
  uint32_t curve_live;
} TesseraPalette;

const TesseraPalette *tessera_palette (bool dark);

/* Colour @slot of the palette; beyond TESSERA_N_PALETTE: darker repeats. */
uint32_t tessera_palette_rgb (uint32_t slot, bool dark);
/* The slot that a name prefers: the same in every run. Names of usual phases have theirs,
 * others by hash. */
uint32_t tessera_palette_slot (const char *name);
/* A scale from small (0) to large (1). */
uint32_t tessera_palette_scale (double position, bool dark);
/* Of all that is left over. */
uint32_t tessera_palette_other (bool dark);
/* @rgb made lighter or darker until it can be seen on the background. */
uint32_t tessera_palette_fit (uint32_t rgb, bool dark);
/* How light a colour looks, 0..1. */
double tessera_palette_light (uint32_t rgb);
/* Black or white, whichever is read better on @rgb: its contrast is 4.5 at least. */
uint32_t tessera_palette_text_on (uint32_t rgb);
