/*
 * Memory over time, below the canvases: reserved, allocated and live of the left layout,
 * low and high per device pixel, and the bound.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "picture/curves.h"
#include "picture/figure/private.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define TITLE_HEIGHT 22.0
#define SCALE_WIDTH 46.0

typedef struct
{
  const TesseraSheet *sheet;
  TesseraArea area; /* of the curves alone */
  double top_bytes;
  uint32_t n_columns;
  uint64_t *low, *high;
} Graph;

static double
y_of (const Graph *graph, double bytes)
{
  return graph->area.y + graph->area.height * (1.0 - bytes / graph->top_bytes);
}

/* A path along the highs or lows, left to right, as steps. */
static void
trace_columns (const Graph *graph, const uint64_t *values)
{
  cairo_t *cr = graph->sheet->cr;
  double step = graph->area.width / graph->n_columns;
  for (uint32_t c = 0; c < graph->n_columns; c++)
    {
      double y = y_of (graph, (double) values[c]), x = graph->area.x + c * step;
      if (c > 0 && values[c] == values[c - 1] && c + 1 < graph->n_columns &&
          values[c] == values[c + 1])
        continue;
      cairo_line_to (cr, x, y);
      cairo_line_to (cr, x + step, y);
    }
}

static void
close_below (const Graph *graph)
{
  cairo_t *cr = graph->sheet->cr;
  double bottom = graph->area.y + graph->area.height;
  cairo_line_to (cr, graph->area.x + graph->area.width, bottom);
  cairo_line_to (cr, graph->area.x, bottom);
  cairo_close_path (cr);
}

static TesseraStatus
draw_curve (
    Graph *graph, const uint64_t *values, uint32_t rgb, double alpha, bool is_line)
{
  cairo_t *cr = graph->sheet->cr;
  TesseraFold *fold;
  TesseraStatus status =
      tessera_fold_new (values, graph->sheet->figure->left->n_events, &fold);
  if (status != TESSERA_OK)
    return status;
  tessera_fold_columns (fold, graph->sheet->axis, 0.0, 1.0, graph->n_columns, graph->low,
                        graph->high);
  tessera_fold_free (fold);
  tessera_set_rgb (cr, rgb, alpha);
  trace_columns (graph, graph->high);
  if (is_line)
    {
      cairo_set_line_width (cr, 1.0);
      cairo_set_line_join (cr, CAIRO_LINE_JOIN_BEVEL);
      cairo_stroke (cr);
      return TESSERA_OK;
    }
  close_below (graph);
  cairo_fill (cr);
  trace_columns (graph, graph->low); /* what every event of a column has: stronger */
  close_below (graph);
  cairo_fill (cr);
  return TESSERA_OK;
}

typedef struct
{
  const char *name;
  uint32_t rgb;
} Key;

static void
draw_keys (const TesseraSheet *sheet, double x, double y, const Key *keys, size_t n)
{
  for (size_t i = 0; i < n; i++)
    {
      const TesseraTextStyle style = { 11.0, false, sheet->theme->dim,
                                       TESSERA_TEXT_LEFT };
      if (keys[i].name == NULL)
        continue;
      tessera_fill_area (sheet->cr, (TesseraArea){ x, y - 6.0, 12.0, 4.0 }, keys[i].rgb,
                         1.0);
      x += 17.0;
      x += tessera_text_draw (sheet->cr, &style, x, y, 120.0, keys[i].name) + 16.0;
    }
}

static void
draw_title (const TesseraSheet *sheet, TesseraArea area)
{
  static const char *const axes[] = { "axis: bytes moved", "axis: events", "axis: time" };
  const TesseraTheme *theme = sheet->theme;
  const TesseraTextStyle bold = { 12.0, true, theme->text, TESSERA_TEXT_LEFT };
  const TesseraTextStyle dim = { 11.0, false, theme->dim, TESSERA_TEXT_RIGHT };
  double y = area.y + 13.0;
  double x =
      area.x + tessera_text_draw (sheet->cr, &bold, area.x, y, 200.0, "Memory over time");
  const Key keys[] = { { "reserved", theme->hatch },
                       { "allocated", theme->allocated },
                       { "live", theme->live },
                       { sheet->bound_bytes > 0 ? "bound" : NULL, theme->green } };
  draw_keys (sheet, x + 22.0, y, keys, 4);
  tessera_text_draw (sheet->cr, &dim, area.x + area.width, y, 160.0,
                     axes[sheet->axis->kind]);
}

static void
draw_lines (const Graph *graph)
{
  const TesseraSheet *sheet = graph->sheet;
  const TesseraTextStyle style = { 10.0, false, sheet->theme->dim, TESSERA_TEXT_RIGHT };
  const TesseraArea *a = &graph->area;
  const char *unit;
  double unit_bytes, step = tessera_tick_bytes (graph->top_bytes, &unit, &unit_bytes);
  while (a->height * step / graph->top_bytes < 24.0)
    step *= 2.0;
  for (double at = 0.0; at < graph->top_bytes; at += step)
    {
      double y = floor (y_of (graph, at));
      char text[32];
      if (at > 0.0)
        tessera_fill_area (sheet->cr, (TesseraArea){ a->x, y, a->width, 1.0 },
                           sheet->theme->text, 0.09);
      snprintf (text, sizeof text, "%.0f %s", at / unit_bytes, at > 0.0 ? unit : "");
      tessera_text_draw (sheet->cr, &style, a->x - 6.0, y + (at > 0.0 ? 3.5 : 0.0),
                         SCALE_WIDTH - 6.0, text);
    }
  if (sheet->bound_bytes == 0)
    return;
  const double dashes[] = { 5.0, 4.0 };
  double y = floor (y_of (graph, (double) sheet->bound_bytes)) + 0.5;
  tessera_set_rgb (sheet->cr, sheet->theme->green, 1.0);
  cairo_set_line_width (sheet->cr, 1.0);
  cairo_set_dash (sheet->cr, dashes, 2, 0.0);
  cairo_move_to (sheet->cr, a->x, y);
  cairo_line_to (sheet->cr, a->x + a->width, y);
  cairo_stroke (sheet->cr);
  cairo_set_dash (sheet->cr, NULL, 0, 0.0);
}

static TesseraStatus
draw_all_curves (Graph *graph)
{
  const TesseraTheme *theme = graph->sheet->theme;
  const TesseraCurves *curves = &graph->sheet->figure->left->curves;
  const struct
  {
    const uint64_t *values;
    uint32_t rgb;
    double alpha;
    bool is_line;
  } all[] = { { curves->reserved_bytes, theme->hatch, 0.55, false },
              { curves->live_bytes, theme->live, 0.7, false },
              { curves->allocated_bytes, theme->allocated, 1.0, true } };
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
    {
      if (all[i].values == NULL)
        continue;
      TesseraStatus status =
          draw_curve (graph, all[i].values, all[i].rgb, all[i].alpha, all[i].is_line);
      if (status != TESSERA_OK)
        return status;
    }
  return TESSERA_OK;
}

TesseraStatus
tessera_draw_curves (const TesseraSheet *sheet, TesseraArea area)
{
  const TesseraLayout *left = sheet->figure->left;
  area.x += SCALE_WIDTH;
  area.width -= SCALE_WIDTH;
  Graph graph = { .sheet = sheet };
  graph.area =
      (TesseraArea){ floor (area.x), floor (area.y + TITLE_HEIGHT), floor (area.width),
                     floor (area.height - TITLE_HEIGHT - 4.0) };
  graph.top_bytes =
      fmax ((double) left->peak_reserved_bytes, (double) left->peak_active_bytes);
  graph.top_bytes = fmax (graph.top_bytes, (double) sheet->bound_bytes) * 1.06;
  graph.top_bytes = fmax (graph.top_bytes, 1.0);
  graph.n_columns = (uint32_t) lround (graph.area.width * sheet->scale);
  graph.low = malloc ((graph.n_columns + 1) * sizeof *graph.low);
  graph.high = malloc ((graph.n_columns + 1) * sizeof *graph.high);
  TesseraStatus status = TESSERA_NO_MEMORY;
  draw_title (sheet, area);
  cairo_save (sheet->cr);
  if (graph.low != NULL && graph.high != NULL)
    {
      tessera_fill_area (sheet->cr, graph.area, sheet->theme->canvas, 1.0);
      status = draw_all_curves (&graph);
      draw_lines (&graph);
      tessera_frame_area (sheet->cr, graph.area, sheet->theme->line, 1.0);
    }
  cairo_restore (sheet->cr);
  free (graph.low);
  free (graph.high);
  return status;
}
