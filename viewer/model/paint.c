/*
 * Colours of the drawing.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/model/data.h"

#include <string.h>

static const TesseraPalette light = {
  .background = 0xffffff,
  .reserved = 0xeceef1,
  .hatch = 0xc3c7ce,
  .edge = 0xb4b9c2,
  .missed = 0x101216,
  .frame = 0xd0d4da,
  .grid = 0xe3e6ea,
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
  .background = 0x1b1d20,
  .reserved = 0x2b2e33,
  .hatch = 0x4a4f57,
  .edge = 0x5a606a,
  .missed = 0xffffff,
  .frame = 0x3c4048,
  .grid = 0x2d3036,
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
tessera_palette (gboolean dark)
{
  return dark ? &dark_one : &light;
}

static void
paint_clear (gpointer user)
{
  TesseraPaint *paint = user;

  if (paint->whole == NULL)
    tessera_colouring_free (paint->colouring);
  tessera_paint_unref (paint->whole);
  g_clear_pointer (&paint->shown, g_atomic_rc_box_release);
  tessera_selection_unref (paint->lit);
  g_free (paint->shown_entries);
  tessera_data_unref (paint->data);
}

TesseraPaint *
tessera_paint_ref (TesseraPaint *paint)
{
  return g_atomic_rc_box_acquire (paint);
}

void
tessera_paint_unref (TesseraPaint *paint)
{
  if (paint != NULL)
    g_atomic_rc_box_release_full (paint, paint_clear);
}

static TesseraInk
ink_of (const TesseraPaint *paint)
{
  const TesseraPalette *palette = tessera_palette (paint->dark);

  return (TesseraInk){
    .block_rgb = paint->colouring->block_rgb,
    .block_shown = paint->shown,
    .background_rgb = palette->background,
    .reserved_rgb = palette->reserved,
    .hatch_rgb = palette->hatch,
    .edge_rgb = palette->edge,
    .missed_rgb = palette->missed,
    .block_lit = paint->lit != NULL ? paint->lit->is_in : NULL,
  };
}

TesseraPaint *
tessera_paint_new (TesseraData *data, TesseraColourKey key, gboolean dark)
{
  TesseraPaint *paint = g_atomic_rc_box_new0 (TesseraPaint);

  paint->data = tessera_data_ref (data);
  paint->dark = dark;
  if (tessera_colouring_new (data->trace, data->blocks, data->structure, data->groups,
                             data->n_groups, key, dark, &paint->colouring) != TESSERA_OK)
    {
      tessera_paint_unref (paint);
      return NULL;
    }
  paint->shown_entries = g_malloc (MAX (paint->colouring->n_entries, 1));
  memset (paint->shown_entries, 1, paint->colouring->n_entries);
  paint->ink = ink_of (paint);
  return paint;
}

/* @entries: (array), @shown: (transfer full) (nullable), @lit: (nullable) */
static TesseraPaint *
derive (TesseraPaint *paint,
        const uint8_t *entries,
        uint8_t *shown,
        TesseraSelection *lit)
{
  TesseraPaint *whole = paint->whole != NULL ? paint->whole : paint;
  TesseraPaint *derived;

  if (shown == NULL && lit == NULL)
    return tessera_paint_ref (whole);
  derived = g_atomic_rc_box_new0 (TesseraPaint);
  derived->data = tessera_data_ref (whole->data);
  derived->whole = tessera_paint_ref (whole);
  derived->colouring = whole->colouring;
  derived->dark = whole->dark;
  derived->shown_entries = g_memdup2 (entries, MAX (whole->colouring->n_entries, 1));
  derived->shown = shown;
  derived->lit = tessera_selection_ref (lit);
  derived->ink = ink_of (derived);
  return derived;
}

TesseraPaint *
tessera_paint_filter (TesseraPaint *paint, const uint8_t *shown_entries)
{
  const TesseraColouring *colouring = paint->colouring;
  size_t n_blocks = paint->data->blocks->n_blocks;
  uint8_t *shown = NULL;

  if (memchr (shown_entries, 0, colouring->n_entries) != NULL)
    {
      shown = g_atomic_rc_box_alloc (MAX (n_blocks, 1));
      for (size_t i = 0; i < n_blocks; i++)
        shown[i] = shown_entries[colouring->block_entry[i]];
    }
  return derive (paint, shown_entries, shown, paint->lit);
}

TesseraPaint *
tessera_paint_light (TesseraPaint *paint, TesseraSelection *selection)
{
  gboolean any = selection != NULL && selection->n_blocks > 1;
  uint8_t *shown = paint->shown;

  return derive (paint, paint->shown_entries,
                 shown != NULL ? g_atomic_rc_box_acquire (shown) : NULL,
                 any ? selection : NULL);
}
