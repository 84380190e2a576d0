/* See axis.h. SPDX-License-Identifier: Apache-2.0 */
#include "picture/axis.h"

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

/* ---- drawing ---------------------------------------------------------------------- */

double
tessera_graph_y_of (const TesseraGraph *graph, double bytes)
{
  return graph->y + graph->height * (1.0 - bytes / graph->top_bytes);
}

/* A path along the values of the columns, left to right, as steps. */
static void
trace_columns (const TesseraGraph *graph, const uint64_t *values)
{
  double step = graph->width / graph->n_columns;
  for (uint32_t c = 0; c < graph->n_columns; c++)
    {
      double y = tessera_graph_y_of (graph, (double) values[c]), x = graph->x + c * step;
      if (c > 0 && values[c] == values[c - 1] && c + 1 < graph->n_columns &&
          values[c] == values[c + 1])
        continue;
      cairo_line_to (graph->cr, x, y);
      cairo_line_to (graph->cr, x + step, y);
    }
}

void
tessera_graph_fill (const TesseraGraph *graph,
                    const uint64_t *values,
                    const TesseraAxis *axis,
                    uint32_t rgb,
                    double high_alpha,
                    double low_alpha)
{
  g_autofree uint64_t *low = g_new (uint64_t, graph->n_columns + 1);
  g_autofree uint64_t *high = g_new (uint64_t, graph->n_columns + 1);
  double bottom = graph->y + graph->height;
  tessera_fold_columns (values, axis, graph->n_columns, low, high);
  for (int is_low = 0; is_low < 2; is_low++)
    {
      cairo_set_source_rgba (graph->cr, (rgb >> 16 & 255) / 255.0,
                             (rgb >> 8 & 255) / 255.0, (rgb & 255) / 255.0,
                             is_low ? low_alpha : high_alpha);
      trace_columns (graph, is_low ? low : high);
      cairo_line_to (graph->cr, graph->x + graph->width, bottom);
      cairo_line_to (graph->cr, graph->x, bottom);
      cairo_close_path (graph->cr);
      cairo_fill (graph->cr);
    }
}

void
tessera_graph_line (const TesseraGraph *graph,
                    const uint64_t *values,
                    const TesseraAxis *axis)
{
  g_autofree uint64_t *low = g_new (uint64_t, graph->n_columns + 1);
  g_autofree uint64_t *high = g_new (uint64_t, graph->n_columns + 1);
  tessera_fold_columns (values, axis, graph->n_columns, low, high);
  trace_columns (graph, high);
  cairo_set_line_width (graph->cr, 1.0);
  cairo_set_line_join (graph->cr, CAIRO_LINE_JOIN_BEVEL);
  cairo_stroke (graph->cr);
}
