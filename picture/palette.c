/*
 * Colour values after Paul Tol, "Colour schemes" (SRON technical note, issue 3.2):
 * bright, muted, light, dark and older 21-colour schemes without their reds and greens,
 * which are kept for verdicts.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "picture/palette.h"

#include <math.h>
#include <string.h>

/* Names prefer the first, calm and well apart; the rest serve when those are taken. */
#define N_PREFERRED 11u

static const uint32_t palette[TESSERA_N_PALETTE] = {
  0x4477aa, 0xddcc77, 0xaa3377, 0x88ccee, 0xee8866, 0x44aa99, 0xcc6677,
  0x5d4fa8, 0x999933, 0xaa4499, 0xcc99bb, 0xccbb44, 0x882255, 0x666633,
  0xffaabb, 0xaa7744, 0xbbcc33, 0x225555, 0xaaaa00, 0x774411
};

/* Phases that most training runs have, by the part of a name that gives them away. */
static const struct
{
  const char *part;
  uint32_t slot;
} usual[] = { { "recompute", 4 }, { "zero_grad", 8 }, { "backward", 1 }, { "forward", 5 },
              { "ptimizer", 9 },  { "eval", 10 },     { "loss", 6 } };

/* Viridis (Smith and van der Walt), its darkest end left out. */
static const uint32_t scale[] = { 0xfde725, 0xaddc30, 0x5ec962, 0x28ae80,
                                  0x21918c, 0x2c728e, 0x3b528b, 0x472d7b };

static uint32_t
mix (uint32_t a, uint32_t b, double share_of_b)
{
  uint32_t rgb = 0;
  for (int shift = 0; shift <= 16; shift += 8)
    {
      double from = a >> shift & 255, to = b >> shift & 255;
      rgb |= (uint32_t) (from + (to - from) * share_of_b + 0.5) << shift;
    }
  return rgb;
}

double
tessera_palette_light (uint32_t rgb)
{
  return (0.299 * (rgb >> 16 & 255) + 0.587 * (rgb >> 8 & 255) + 0.114 * (rgb & 255)) /
         255.0;
}

uint32_t
tessera_palette_fit (uint32_t rgb, bool dark)
{
  double light = tessera_palette_light (rgb);
  double least = dark ? 0.38 : 0.20, most = dark ? 0.68 : 0.80;
  if (light < least)
    return mix (rgb, 0xffffff, (least - light) / (1.0 - light));
  if (light > most)
    return mix (rgb, 0x000000, 1.0 - most / light);
  return rgb;
}

uint32_t
tessera_palette_rgb (uint32_t slot, bool dark)
{
  uint32_t rgb = palette[slot % TESSERA_N_PALETTE];
  if (slot >= TESSERA_N_PALETTE)
    rgb = mix (rgb, 0x000000, 0.25);
  return tessera_palette_fit (rgb, dark);
}

uint32_t
tessera_palette_slot (const char *name)
{
  for (size_t i = 0; i < sizeof usual / sizeof usual[0]; i++)
    if (strstr (name, usual[i].part) != NULL)
      return usual[i].slot;
  uint32_t hash = 2166136261u; /* FNV-1a */
  for (; *name != '\0'; name++)
    hash = (hash ^ (unsigned char) *name) * 16777619u;
  hash ^= hash >> 15;
  return hash % N_PREFERRED;
}

uint32_t
tessera_palette_scale (double position, bool dark)
{
  const int n = (int) (sizeof scale / sizeof scale[0]);
  double at = position < 0.0 ? 0.0 : position > 1.0 ? n - 1 : position * (n - 1);
  int step = (int) at < n - 1 ? (int) at : n - 2;
  return tessera_palette_fit (mix (scale[step], scale[step + 1], at - step), dark);
}

uint32_t
tessera_palette_other (bool dark)
{
  return dark ? 0x85878c : 0xb4b4b4;
}

uint32_t
tessera_palette_text_on (uint32_t rgb)
{
  static const double shares[] = { 0.0722, 0.7152, 0.2126 };
  double light = 0.0; /* as WCAG has it */
  for (int i = 0; i < 3; i++)
    {
      double c = (rgb >> (8 * i) & 255) / 255.0;
      light += shares[i] * (c <= 0.03928 ? c / 12.92 : pow ((c + 0.055) / 1.055, 2.4));
    }
  return (light + 0.05) * (light + 0.05) > 1.05 * 0.05 ? 0x000000 : 0xffffff;
}

/* ---- of all that is not a block ---- */

static const TesseraPalette light = {
  .sheet = 0xfcfcfc,
  .background = 0xffffff,
  .reserved = 0xeceef1,
  .hatch = 0xc3c7ce,
  .edge = 0xb4b9c2,
  .missed = 0x101216,
  .frame = 0xd0d4da,
  .text = 0x1c1f24,
  .dim = 0x5c636e,
  .bad = 0xc01c28,
  .good = 0x17834f,
  .select = 0xf08000,
  .select_text = 0xb35900,
  .accent = 0x1c71d8,
  .lane = 0xe4e7eb,
  .curve_reserved = 0xc9cfd7,
  .curve_allocated = 0xa8c4ea,
  .curve_live = 0x5d95d9,
};

static const TesseraPalette dark_one = {
  .sheet = 0x232428,
  .background = 0x1b1d20,
  .reserved = 0x2b2e33,
  .hatch = 0x4a4f57,
  .edge = 0x5a606a,
  .missed = 0xffffff,
  .frame = 0x3c4048,
  .text = 0xf2f3f5,
  .dim = 0xa2a8b3,
  .bad = 0xff7b72,
  .good = 0x4cd48a,
  .select = 0xffc233,
  .select_text = 0xffc233,
  .accent = 0x62a0ea,
  .lane = 0x3d424a,
  .curve_reserved = 0x4a5059,
  .curve_allocated = 0x3f5f8c,
  .curve_live = 0x5787c6,
};

const TesseraPalette *
tessera_palette (bool dark)
{
  return dark ? &dark_one : &light;
}
