/*
 * What stands along the time of a picture: lanes of steps and phases above it, curves of memory
 * below it. See marks.h and axis.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "picture/marks.h"

#include "picture/colour.h"

#include <math.h>
#include <string.h>

/* ---- lanes ------------------------------------------------------------------------- */

#define STEP_HEIGHT 18.0
#define PHASE_HEIGHT 15.0
#define LANE_GAP 3.0
/* For the first letters of a name. */
#define LEAST_CUT 30.0
/* Deeper phases than this are found by hovering blocks; a lane each would eat the
 * canvas. */
#define MOST_DEPTH 2u

double
tessera_lanes_height (const TesseraStructure *structure)
{
  uint32_t n_depths = 0;

  for (size_t i = 0; structure != NULL && i < structure->n_phases; i++)
    n_depths = MAX (n_depths, structure->phases[i].depth + 1);
  if (structure == NULL || (structure->n_steps == 0 && n_depths == 0))
    return 0;
  return STEP_HEIGHT + MIN (n_depths, MOST_DEPTH) * (PHASE_HEIGHT + LANE_GAP);
}

/* In the middle of a box, or as much of it as there is room for, but not of a number. */
static void
draw_lane_name (TesseraPen *pen, TesseraArea box, uint32_t ground, const char *name)
{
  char shown[256];
  TesseraWords words = { tessera_show_text (name, shown, sizeof shown), 0.82 };
  const double room = box.width - 6;
  double width, height;

  pen->measure (pen, &words, &width, &height);
  if (width > room && (room < LEAST_CUT || g_ascii_isdigit (*name)))
    return;
  if (width > room)
    width = words.most_width = room;
  pen->write (pen, &words, box.x + (box.width - width) / 2,
              box.y + (box.height - height) / 2, tessera_palette_text_on (ground));
}

/* A stretch of a lane with its name where there is room for it. Where it ends within the
 * pixel that is drawn already, which *@last is the end of, it adds nothing. Returns:
 * false: past the right edge. */
static bool
draw_stretch (TesseraPen *pen,
              double x0,
              double x1,
              double y,
              double height,
              double width,
              uint32_t rgb,
              const char *name,
              double *last)
{
  if (x1 < 0 || x1 < *last + 0.5)
    return true;
  if (x0 > width)
    return false;
  x0 = fmax (x0, -8);
  *last = x1 = fmin (x1, width + 8);
  /* A pixel between neighbours, but never nothing. */
  pen->fill (pen, (TesseraArea){ x0, y, fmax (x1 - x0 - 1, 1), height },
             x1 - x0 > 8 ? 3 : 0, rgb, 1);
  x0 = fmax (x0, 0);
  if (x1 - x0 >= 24)
    draw_lane_name (pen, (TesseraArea){ x0, y, fmin (x1, width) - x0, height }, rgb,
                    name);
  return true;
}

void
tessera_lanes_draw (TesseraPen *pen,
                    const TesseraTrace *trace,
                    const TesseraStructure *structure,
                    const TesseraAxis *axis,
                    const TesseraView *view,
                    double width,
                    bool dark)
{
  double last = -INFINITY, last_of_depth[MOST_DEPTH] = { -INFINITY, -INFINITY };
  const double f = width / (view->t1 - view->t0);
  bool more = true;

#define X_OF(event) ((axis->at[MIN ((event), axis->n_events)] - view->t0) * f)
  for (size_t i = 0; more && i < structure->n_steps; i++)
    {
      const TesseraStep *step = &structure->steps[i];
      const double x0 = X_OF (step->begin_index), x1 = X_OF (step->end_index);
      g_autofree char *name = g_strdup_printf ("%s%" G_GINT64_FORMAT,
                                               x1 - x0 > 60 ? "step " : "", step->number);

      more = draw_stretch (pen, x0, x1, 0, STEP_HEIGHT, width, pen->palette->lane, name,
                           &last);
    }
  more = true;
  for (size_t i = 0; more && i < structure->n_phases; i++)
    {
      const TesseraPhase *phase = &structure->phases[i];
      const char *name = tessera_phase_name (trace, phase);

      if (phase->depth < MOST_DEPTH)
        more = draw_stretch (pen, X_OF (phase->begin_index), X_OF (phase->end_index),
                             STEP_HEIGHT + LANE_GAP +
                                 phase->depth * (PHASE_HEIGHT + LANE_GAP),
                             PHASE_HEIGHT, width, tessera_colour_of_name (name, dark),
                             name, &last_of_depth[phase->depth]);
    }
#undef X_OF
}

char *
tessera_lanes_find (const TesseraTrace *trace,
                    const TesseraStructure *structure,
                    double y,
                    uint32_t event_index,
                    uint32_t *out_begin,
                    uint32_t *out_end)
{
  const uint32_t depth =
      (uint32_t) MAX ((y - STEP_HEIGHT - LANE_GAP) / (PHASE_HEIGHT + LANE_GAP), 0);
  char shown[256];

  for (size_t i = 0; y < STEP_HEIGHT && i < structure->n_steps; i++)
    {
      const TesseraStep *step = &structure->steps[i];

      *out_begin = step->begin_index;
      *out_end = step->end_index;
      if (event_index >= *out_begin && event_index < *out_end)
        return g_strdup_printf ("step %" G_GINT64_FORMAT, step->number);
    }
  for (size_t i = 0; y >= STEP_HEIGHT && i < structure->n_phases; i++)
    {
      const TesseraPhase *phase = &structure->phases[i];

      *out_begin = phase->begin_index;
      *out_end = phase->end_index;
      if (phase->depth == depth && event_index >= *out_begin && event_index < *out_end)
        return g_strconcat (
            tessera_show_text (tessera_phase_name (trace, phase), shown, sizeof shown),
            phase->is_inferred ? " (inferred from stacks)" : "", NULL);
    }
  return NULL;
}

/* ---- curves folded to pixel columns, low and high per column, so that no peak can vanish ---- */

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
      if (all[i].values == NULL)
        continue;
      tessera_fold_columns (all[i].values, axis, n_columns, low, high);
      /* What every event of a column has is stronger. */
      for (int is_low = 0; is_low < 2; is_low++)
        {
          tessera_set_rgb (cr, all[i].rgb, is_low ? 1.0 : 0.55);
          fill_columns (cr, area, is_low ? low : high, n_columns, top_bytes);
        }
    }
}
