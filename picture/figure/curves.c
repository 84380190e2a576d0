/*
 * Memory over time, below the canvases: reserved, allocated and live of the left layout,
 * low and high per device pixel, and the bound.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "picture/axis.h"
#include "picture/figure/private.h"

#include <math.h>

#define TITLE_HEIGHT 22.0

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
draw_bound (const TesseraSheet *sheet, const TesseraGraph *graph)
{
  double y = floor (tessera_graph_y_of (graph, (double) sheet->bound_bytes)) + 0.5;
  if (sheet->bound_bytes > 0)
    tessera_draw_bound_line (sheet, graph->x, y, graph->width);
}

static void
draw_all_curves (const TesseraSheet *sheet, const TesseraGraph *graph)
{
  const TesseraTheme *theme = sheet->theme;
  const TesseraCurves *curves = &sheet->figure->left->curves;
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
      tessera_set_rgb (sheet->cr, all[i].rgb, all[i].alpha);
      if (all[i].is_line)
        tessera_graph_line (graph, all[i].values, sheet->axis);
      else
        tessera_graph_fill (graph, all[i].values, sheet->axis, all[i].rgb, all[i].alpha,
                            all[i].alpha);
    }
}

void
tessera_draw_curves (const TesseraSheet *sheet, TesseraArea area)
{
  const TesseraLayout *left = sheet->figure->left;
  area.x += TESSERA_SCALE_WIDTH;
  area.width -= TESSERA_SCALE_WIDTH;
  TesseraGraph graph = { .cr = sheet->cr,
                         .x = floor (area.x),
                         .y = floor (area.y + TITLE_HEIGHT),
                         .width = floor (area.width),
                         .height = floor (area.height - TITLE_HEIGHT - 4.0) };
  const TesseraArea box = { graph.x, graph.y, graph.width, graph.height };
  graph.top_bytes =
      fmax ((double) left->peak_reserved_bytes, (double) left->peak_active_bytes);
  graph.top_bytes = fmax (graph.top_bytes, (double) sheet->bound_bytes) * 1.06;
  graph.top_bytes = fmax (graph.top_bytes, 1.0);
  graph.n_columns = (uint32_t) lround (graph.width * sheet->scale);
  draw_title (sheet, area);
  cairo_save (sheet->cr);
  tessera_fill_area (sheet->cr, box, sheet->theme->canvas, 1.0);
  draw_all_curves (sheet, &graph);
  tessera_draw_scale (sheet, box, graph.top_bytes, true);
  draw_bound (sheet, &graph);
  tessera_frame_area (sheet->cr, box, sheet->theme->line, 1.0);
  cairo_restore (sheet->cr);
}
