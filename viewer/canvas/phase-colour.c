/*
 * One colour for each name of a phase.
 *
 * The well-known phases have their own; others take one by their name's hash. The
 * colours are Paul Tol's light scheme, which colour-blind people can tell apart; on dark
 * ground they are dimmed. The name on them has 4.5 times their light, or they its.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/canvas/phase-colour.h"

#include <string.h>

static const struct
{
  const char *part;
  uint32_t rgb;
} known[] = {
  { "forward", 0x8fc79a },   { "backward", 0xe0d48a }, { "optim", 0xc48fb8 },
  { "recompute", 0xb9d3e8 }, { "eval", 0xaaaaaa },     { "loss", 0xee9f9f },
  { "zero_grad", 0x9fc9d9 },
};

static const uint32_t others[] = { 0x77aadd, 0x99ddff, 0x44bb99, 0xbbcc33,
                                   0xaaaa00, 0xeedd88, 0xee8866, 0xffaabb };

static uint32_t
dim (uint32_t rgb)
{
  uint32_t red = (rgb >> 16 & 255) / 2;
  uint32_t green = (rgb >> 8 & 255) / 2;
  uint32_t blue = (rgb & 255) / 2;

  return red << 16 | green << 8 | blue;
}

uint32_t
tessera_phase_colour (const char *name, gboolean dark)
{
  g_autofree char *lower = g_ascii_strdown (name, -1);
  uint32_t rgb = others[g_str_hash (lower) % G_N_ELEMENTS (others)];

  for (size_t i = 0; i < G_N_ELEMENTS (known); i++)
    if (strstr (lower, known[i].part) != NULL)
      {
        rgb = known[i].rgb;
        break;
      }
  return dark ? dim (rgb) : rgb;
}
