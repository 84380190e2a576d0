/*
 * Colours of the drawing, and what is to be told of one moment.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/model/data.h"

#include <string.h>

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

TESSERA_DEFINE_SHARED (TesseraPaint, tessera_paint, paint_clear)

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
  paint->colouring = tessera_colouring_new (&data->whose, data->blocks, data->groups,
                                            data->n_groups, key, dark);
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

/* --- one moment of a layout ---------------------------------------------------------- */

/* The same to a reader: of one size, from one place, of one kind. */
static bool
is_alike (const TesseraBlock *a, const TesseraBlock *b)
{
  return a->size_bytes == b->size_bytes && a->stack == b->stack &&
         a->born_phase == b->born_phase && a->died_phase == b->died_phase &&
         a->lifetime_class == b->lifetime_class;
}

static uint64_t
size_of (gconstpointer blocks, uint32_t index)
{
  return ((const TesseraBlocks *) blocks)->blocks[index].size_bytes;
}

size_t
tessera_largest_blocks (const TesseraBlocks *blocks,
                        const TesseraLayout *layout,
                        uint32_t event_index,
                        size_t n,
                        TesseraAlike *out_rows)
{
  g_autoptr (GArray) live = g_array_new (FALSE, FALSE, sizeof (uint32_t));
  size_t n_found = 0;

  for (uint32_t i = 0; i < blocks->n_blocks; i++)
    if (tessera_is_live (blocks, layout, i, event_index))
      g_array_append_val (live, i);
  tessera_sort_indices ((uint32_t *) (void *) live->data, live->len, size_of, blocks,
                        TRUE);
  for (guint i = 0; n > 0 && i < live->len; i++)
    {
      uint32_t block = g_array_index (live, uint32_t, i);
      size_t row = 0;

      while (row < n_found &&
             !is_alike (&blocks->blocks[out_rows[row].block], &blocks->blocks[block]))
        row++;
      if (row == n && size_of (blocks, block) < size_of (blocks, out_rows[n - 1].block))
        break;
      if (row == n_found && n_found < n)
        out_rows[n_found++] = (TesseraAlike){ block, 0 };
      if (row < n)
        out_rows[row].n_blocks++;
    }
  return n_found;
}

void
tessera_moment_at (const TesseraData *data,
                   const TesseraLayout *layout,
                   const TesseraPaint *paint,
                   uint32_t event_index,
                   TesseraMoment *out_moment)
{
  out_moment->n_largest = tessera_largest_blocks (data->blocks, layout, event_index,
                                                  TESSERA_N_LARGEST, out_moment->largest);
  out_moment->colouring = paint->colouring;
  tessera_colouring_live_at (paint->colouring, data->blocks, layout, event_index,
                             out_moment->live_bytes);
  out_moment->parts = tessera_parts_at (data->trace, data->blocks, layout, event_index);
}
