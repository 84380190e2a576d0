/* See figure.h. SPDX-License-Identifier: Apache-2.0 */
#include <glib.h>
#include <math.h>

#include "picture/figure/private.h"
#include "picture/palette.h"

#define MARGIN 24.0
#define SIZE 12.0 /* of text */
#define N_TICKS 5

/* The plan lies below the others, wider: where they coincide all are seen. */
static const struct
{
  const char *name;
  uint32_t slot;
  double width, alpha;
} lines[TESSERA_FRONTIER_POLICIES] = {
  { "native", 4, 2.0, 1.0 },
  { "expandable segments", 0, 3.0, 1.0 },
  { "plan", 2, 9.0, 0.45 },
};

static void
draw_text (cairo_t *cr, double x, double y, TesseraTextAlign align, const char *text)
{
  const TesseraTextStyle style = { .size = SIZE,
                                   .rgb = tessera_palette (false)->text,
                                   .align = align };

  tessera_text_draw (cr, &style, x, y, 190.0, text);
}

static double
x_of (const TesseraFrontier *frontier, TesseraArea area, size_t at)
{
  return area.x + area.width * ((double) at + 0.5) / (double) frontier->n_at;
}

static double
y_of (const TesseraFrontier *frontier, TesseraArea area, double value)
{
  return area.y + area.height * (1.0 - value / (double) MAX (frontier->last, 1) / 1.08);
}

static void
draw_scale (const TesseraFrontier *frontier, cairo_t *cr, TesseraArea area)
{
  const double last = (double) frontier->last;
  const size_t each = (size_t) ceil (90.0 * (double) frontier->n_at / area.width);

  for (double value = 0; value <= last;
       value += fmax (tessera_nice_step (last, N_TICKS), 1))
    {
      g_autofree char *text = g_strdup_printf ("%.0f", value);
      const double y = y_of (frontier, area, value);

      tessera_fill_area (cr, (TesseraArea){ area.x, y, area.width, 1.0 },
                         tessera_palette (false)->frame, 1.0);
      draw_text (cr, area.x - 6.0, y + SIZE / 3, TESSERA_TEXT_RIGHT, text);
    }
  for (size_t at = 0; at < frontier->n_at; at += each)
    draw_text (cr, x_of (frontier, area, at), area.y + area.height + SIZE * 1.5,
               TESSERA_TEXT_CENTRE, frontier->at[at]);
}

static void
draw_curve (const TesseraFrontier *frontier,
            cairo_t *cr,
            TesseraArea area,
            const uint64_t *largest,
            size_t policy)
{
  const size_t stride = frontier->n_gpus * TESSERA_FRONTIER_POLICIES;
  const uint32_t rgb = tessera_palette_rgb (lines[policy].slot, false);

  tessera_set_rgb (cr, rgb, lines[policy].alpha);
  cairo_set_line_width (cr, lines[policy].width);
  for (size_t at = 0; at < frontier->n_at; at++)
    cairo_line_to (cr, x_of (frontier, area, at),
                   y_of (frontier, area, (double) largest[at * stride]));
  cairo_stroke (cr);
  for (size_t at = 0; at < frontier->n_at; at++)
    {
      const uint64_t value = largest[at * stride];
      const bool is_last = value == frontier->last;
      const double x = x_of (frontier, area, at);
      const double y = y_of (frontier, area, (double) value);
      g_autofree char *text = value > 0 ? g_strdup_printf ("%" G_GUINT64_FORMAT "%s",
                                                           value, is_last ? "+" : "")
                                        : g_strdup ("none");

      tessera_set_rgb (cr, rgb, lines[policy].alpha);
      cairo_arc (cr, x, y, lines[policy].width + 1.0, 0, 2 * G_PI);
      cairo_fill (cr);
      /* The least below its curve, the most above. */
      if (policy == 0 && !is_last && y + 2 * SIZE < area.y + area.height)
        draw_text (cr, x, y + SIZE * 1.6, TESSERA_TEXT_CENTRE, text);
      if (policy == TESSERA_FRONTIER_POLICIES - 1)
        draw_text (cr, x, y - SIZE * 0.9, TESSERA_TEXT_CENTRE, text);
    }
}

void
tessera_frontier_draw (const TesseraFrontier *frontier,
                       cairo_t *cr,
                       double width,
                       double height)
{
  const size_t n_columns = (size_t) ceil (sqrt ((double) frontier->n_gpus));
  const size_t n_rows = (frontier->n_gpus + n_columns - 1) / n_columns;
  const double top = 3 * MARGIN;
  const double panel_width = (width - MARGIN) / (double) n_columns;
  const double panel_height = (height - top) / (double) n_rows;
  TesseraTextStyle title = { 1.5 * SIZE, true, tessera_palette (false)->text,
                             TESSERA_TEXT_LEFT, false };

  tessera_text_prepare (cr);
  tessera_fill_area (cr, (TesseraArea){ 0, 0, width, height },
                     tessera_palette (false)->sheet, 1.0);
  tessera_text_draw (cr, &title, MARGIN, 1.5 * MARGIN, width, frontier->title);
  for (size_t i = 0; i < TESSERA_FRONTIER_POLICIES; i++)
    {
      const double x = MARGIN + 190.0 * (double) i, y = 2.5 * MARGIN;

      tessera_fill_area (cr,
                         (TesseraArea){ x, y - lines[i].width / 2, 28.0, lines[i].width },
                         tessera_palette_rgb (lines[i].slot, false), lines[i].alpha);
      draw_text (cr, x + 36.0, y + SIZE / 3, TESSERA_TEXT_LEFT, lines[i].name);
    }
  title.size = SIZE;
  for (size_t gpu = 0; gpu < frontier->n_gpus; gpu++)
    {
      const TesseraArea area = { 2 * MARGIN + panel_width * (double) (gpu % n_columns),
                                 top + MARGIN + panel_height * (double) (gpu / n_columns),
                                 panel_width - 2 * MARGIN, panel_height - 3 * MARGIN };

      tessera_text_draw (cr, &title, area.x, area.y - 6.0, area.width,
                         frontier->gpus[gpu]);
      draw_scale (frontier, cr, area);
      for (size_t policy = TESSERA_FRONTIER_POLICIES; policy-- > 0;)
        draw_curve (frontier, cr, area,
                    frontier->largest + gpu * TESSERA_FRONTIER_POLICIES + policy, policy);
    }
}
