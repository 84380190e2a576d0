/* See axis.h and marks.h. SPDX-License-Identifier: Apache-2.0 */
#include "picture/marks.h"

#include <glib.h>
#include <string.h>

void
tessera_fold_columns (const uint64_t *values,
                      const TesseraAxis *axis,
                      uint32_t n_columns,
                      uint64_t *low,
                      uint64_t *high)
{
  memset (low, axis->n_events > 0 ? 0xff : 0, n_columns * sizeof *low);
  memset (high, 0, n_columns * sizeof *high);
  for (uint32_t i = 0; i < axis->n_events; i++)
    {
      double end = axis->at[i + 1] * n_columns;
      for (uint32_t c = (uint32_t) (axis->at[i] * n_columns); c < n_columns && c < end;
           c++)
        {
          low[c] = MIN (low[c], values[i]);
          high[c] = MAX (high[c], values[i]);
        }
    }
}

/* Fills what lies below @values of the columns, as steps. */
static void
fill_columns (
    cairo_t *cr, TesseraArea area, const uint64_t *values, uint32_t n, double top_bytes)
{
  double step = area.width / n;
  for (uint32_t c = 0; c < n; c++)
    {
      double y = area.y + area.height * (1.0 - (double) values[c] / top_bytes);
      if (c > 0 && values[c] == values[c - 1] && c + 1 < n && values[c] == values[c + 1])
        continue;
      cairo_line_to (cr, area.x + c * step, y);
      cairo_line_to (cr, area.x + (c + 1) * step, y);
    }
  cairo_line_to (cr, area.x + area.width, area.y + area.height);
  cairo_line_to (cr, area.x, area.y + area.height);
  cairo_close_path (cr);
  cairo_fill (cr);
}

void
tessera_curves_draw (cairo_t *cr,
                     TesseraArea area,
                     const TesseraCurves *curves,
                     const TesseraAxis *axis,
                     double top_bytes,
                     uint32_t n_columns,
                     const TesseraPalette *palette)
{
  const struct
  {
    const uint64_t *values;
    uint32_t rgb;
  } all[] = { { curves->reserved_bytes, palette->curve_reserved },
              { curves->allocated_bytes, palette->curve_allocated },
              { curves->live_bytes, palette->curve_live } };
  g_autofree uint64_t *low = g_new (uint64_t, n_columns + 1);
  g_autofree uint64_t *high = g_new (uint64_t, n_columns + 1);
  for (size_t i = 0; i < G_N_ELEMENTS (all); i++)
    {
      const uint32_t rgb = all[i].rgb;
      if (all[i].values == NULL)
        continue;
      tessera_fold_columns (all[i].values, axis, n_columns, low, high);
      /* What every event of a column has is stronger. */
      for (int is_low = 0; is_low < 2; is_low++)
        {
          cairo_set_source_rgba (cr, (rgb >> 16 & 255) / 255.0, (rgb >> 8 & 255) / 255.0,
                                 (rgb & 255) / 255.0, is_low ? 1.0 : 0.55);
          fill_columns (cr, area, is_low ? low : high, n_columns, top_bytes);
        }
    }
}
