/*
 * One sheet: what is on it and where.
 *
 *   headline, sentence                              native  expandable  plan  bound
 *   ------------------------------------------------------------------------------
 *   legend    | left title            | right title
 *             | steps, phases         | steps, phases
 *   parts     | canvas                | canvas
 *             | memory over time
 *   where it came from
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "picture/figure-private.h"

#include <math.h>
#include <stdio.h>

#define MARGIN 20.0
#define HEAD_HEIGHT 86.0
#define LEGEND_WIDTH 196.0
#define GAP 14.0
#define SCALE_WIDTH 46.0 /* numbers left of a canvas */
#define FOOT_HEIGHT 22.0
#define MIN_WIDTH 560.0
#define MIN_HEIGHT 400.0
#define DEVICE_IN_SIGHT 1.6 /* a device larger than this times all else is left out */
#define ROOM_ABOVE 1.03

static double
larger (double a, double b)
{
  return a > b ? a : b;
}

/* Where the tallest thing of a layout ends: its rows, or a request that had no room. */
static double
layout_top (const TesseraLayout *layout, const TesseraScene *scene)
{
  double top = (double) tessera_scene_height_bytes (scene);
  for (size_t i = 0; i < layout->n_ooms; i++)
    {
      uint32_t at = layout->ooms[i].event_index;
      if (layout->curves.reserved_bytes != NULL && at < layout->n_events)
        top = larger (top, (double) layout->curves.reserved_bytes[at] +
                               (double) layout->ooms[i].size_bytes);
    }
  return top;
}

static void
find_top (TesseraSheet *sheet)
{
  const TesseraFigure *figure = sheet->figure;
  sheet->bound_bytes = figure->needs != NULL ? figure->needs->bound_bytes : 0;
  if (sheet->bound_bytes == 0 && figure->plan != NULL)
    sheet->bound_bytes = figure->plan->bound_bytes;
  double top = layout_top (figure->left, sheet->left);
  if (sheet->right != NULL)
    top = larger (top, layout_top (figure->right, sheet->right));
  top = larger (top, (double) sheet->bound_bytes);
  double device = (double) figure->trace->device_bytes;
  sheet->device_bytes = device > 0.0 && device <= top * DEVICE_IN_SIGHT ? device : 0.0;
  top = larger (top, sheet->device_bytes);
  sheet->top_bytes = top > 0.0 ? top * ROOM_ABOVE : 1.0;
}

static TesseraStatus
sheet_init (TesseraSheet *sheet)
{
  const TesseraFigure *f = sheet->figure;
  const TesseraPlan *plan = f->plan;
  TesseraStatus status = tessera_axis_new (f->trace, f->blocks, f->axis, &sheet->axis);
  if (status == TESSERA_OK)
    status = tessera_colouring_new (
        f->trace, f->blocks, f->structure, plan != NULL ? plan->groups : NULL,
        plan != NULL ? plan->n_groups : 0, f->colour, f->dark, &sheet->colouring);
  if (status == TESSERA_OK)
    status = tessera_scene_new (f->blocks, f->left, sheet->axis, &sheet->left);
  if (status == TESSERA_OK && f->right != NULL)
    status = tessera_scene_new (f->blocks, f->right, sheet->axis, &sheet->right);
  if (status == TESSERA_OK)
    find_top (sheet);
  return status;
}

static void
sheet_clear (TesseraSheet *sheet)
{
  tessera_scene_free (sheet->left);
  tessera_scene_free (sheet->right);
  tessera_colouring_free (sheet->colouring);
  tessera_axis_free (sheet->axis);
}

static void
draw_foot (const TesseraSheet *sheet, TesseraArea area)
{
  const TesseraFigure *f = sheet->figure;
  const TesseraTextStyle dim = { 10.5, false, sheet->theme->dim, TESSERA_TEXT_LEFT };
  char text[400], device[32] = "";
  if (f->trace->device_bytes > 0)
    tessera_format_bytes (f->trace->device_bytes, device, sizeof device);
  snprintf (text, sizeof text, "%.200s \xc2\xb7 %zu blocks \xc2\xb7 %u events%s%s",
            f->trace->source != NULL ? f->trace->source : "trace", f->blocks->n_blocks,
            f->blocks->n_events, device[0] != '\0' ? " \xc2\xb7 device " : "", device);
  tessera_text_draw (sheet->cr, &dim, area.x, area.y + 15.0, area.width, text);
}

/* Both canvases, side by side or one above the other. */
static TesseraStatus
draw_panels (const TesseraSheet *sheet, TesseraArea area)
{
  const TesseraFigure *f = sheet->figure;
  TesseraArea left = area, right = area;
  if (sheet->right == NULL)
    return tessera_draw_panel (sheet, f->left, sheet->left, area, true);
  if (f->stacked)
    {
      left.height = floor ((area.height - GAP) / 2.0);
      right.y += left.height + GAP;
      right.height = area.height - left.height - GAP;
    }
  else
    {
      double canvas = floor ((area.width - SCALE_WIDTH - GAP) / 2.0);
      left.width = canvas + SCALE_WIDTH;
      right.x += left.width + GAP;
      right.width = canvas;
    }
  TesseraStatus status = tessera_draw_panel (sheet, f->left, sheet->left, left, true);
  if (status == TESSERA_OK)
    status = tessera_draw_panel (sheet, f->right, sheet->right, right, f->stacked);
  return status;
}

static TesseraStatus
draw_sheet (const TesseraSheet *sheet, double width, double height)
{
  cairo_t *cr = sheet->cr;
  double inner = width - 2.0 * MARGIN, below = HEAD_HEIGHT;
  double curves = floor (height * 0.16 < 96.0 ? 96.0 : height * 0.16);
  double right_x = MARGIN + LEGEND_WIDTH + GAP, right_width = width - MARGIN - right_x;
  double foot_y = height - FOOT_HEIGHT - 4.0, curves_y = floor (foot_y - curves);
  tessera_fill_area (cr, (TesseraArea){ 0, 0, width, height }, sheet->theme->sheet, 1.0);
  tessera_draw_head (sheet, (TesseraArea){ MARGIN, 0, inner, HEAD_HEIGHT });
  tessera_fill_area (cr, (TesseraArea){ 0, below, width, 1 }, sheet->theme->line, 1.0);
  tessera_draw_legend (sheet, (TesseraArea){ MARGIN, below + 12.0, LEGEND_WIDTH - 8.0,
                                             foot_y - below - 12.0 });
  TesseraStatus status =
      draw_panels (sheet, (TesseraArea){ right_x, below + 10.0, right_width,
                                         curves_y - below - 10.0 - GAP });
  if (status == TESSERA_OK)
    status = tessera_draw_curves (
        sheet, (TesseraArea){ right_x, curves_y, right_width, curves });
  draw_foot (sheet, (TesseraArea){ right_x, foot_y, right_width, FOOT_HEIGHT });
  return status;
}

TesseraStatus
tessera_figure_draw (const TesseraFigure *figure,
                     cairo_t *cr,
                     double width,
                     double height,
                     double scale,
                     TesseraError *error)
{
  if (!(width >= MIN_WIDTH && height >= MIN_HEIGHT && scale > 0.0 &&
        width * scale < 32768.0 && height * scale < 32768.0))
    return tessera_fail (
        error, TESSERA_INVALID,
        "A picture of %.0f x %.0f at scale %g can't be drawn: it needs at "
        "least %.0f x %.0f, and at most 32,767 pixels each way.",
        width, height, scale, MIN_WIDTH, MIN_HEIGHT);
  TesseraSheet sheet = {
    .figure = figure, .theme = tessera_theme (figure->dark), .cr = cr, .scale = scale
  };
  cairo_save (cr);
  tessera_text_prepare (cr);
  TesseraStatus status = sheet_init (&sheet);
  if (status == TESSERA_OK)
    status = draw_sheet (&sheet, width, height);
  cairo_restore (cr);
  sheet_clear (&sheet);
  if (status == TESSERA_OK && cairo_status (cr) != CAIRO_STATUS_SUCCESS)
    return tessera_fail (error, TESSERA_IO, "The picture could not be drawn: %s.",
                         cairo_status_to_string (cairo_status (cr)));
  if (status == TESSERA_NO_MEMORY)
    return tessera_fail (
        error, status,
        "The picture needs more memory than this machine has left; close "
        "something else or draw it smaller.");
  if (status != TESSERA_OK)
    return tessera_fail (error, status,
                         "The layouts of this picture do not belong to one trace.");
  return status;
}
