/*
 * What lies on top of a canvas's tiles: grid, lines, failures, holes, outlines.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/canvas/canvas-private.h"
#include "viewer/document/describe.h"
#include "viewer/canvas/draw.h"

#include <math.h>

/* A mark is never smaller than this many pixels. */
#define LEAST_MARK 8
/* Pixels beyond the edge: far enough for no outline to show. */
#define OUT_OF_SIGHT 20

/* Places cut to what can be seen: a box of a million pixels is slow, and one of a
 * billion more than the renderer can count. */
static double
visible_x (TesseraCanvas *self, double t)
{
  return CLAMP (tessera_canvas_x_of (self, t), -OUT_OF_SIGHT,
                gtk_widget_get_width (GTK_WIDGET (self)) + OUT_OF_SIGHT);
}

static double
visible_y (TesseraCanvas *self, double bytes)
{
  return CLAMP (tessera_canvas_y_of (self, bytes), -OUT_OF_SIGHT,
                gtk_widget_get_height (GTK_WIDGET (self)) + OUT_OF_SIGHT);
}

static void
draw_grid (TesseraCanvas *self, GtkSnapshot *snapshot, const TesseraPalette *palette)
{
  const TesseraView *v = &self->document->view;
  int width = gtk_widget_get_width (GTK_WIDGET (self));
  int height = gtk_widget_get_height (GTK_WIDGET (self));
  double step = tessera_nice_step_bytes (v->y1 - v->y0, MAX (height / 110, 2));
  /* The bound's own label comes first where both want the same place. */
  double bound_y = tessera_canvas_y_of (self, (double) self->document->data->bound_bytes);

  for (double at = ceil (v->y0 / step) * step; at < v->y1; at += step)
    {
      double y = round (tessera_canvas_y_of (self, at));
      g_autofree char *text = NULL;
      g_autoptr (PangoLayout) layout = NULL;

      tessera_draw_box (snapshot, 0, y, width, 1, palette->dim, 0.22);
      if (at <= 0 || y < 16 || y > height - 4 || fabs (y - bound_y) < 30)
        continue;
      text = tessera_describe_bytes_round ((uint64_t) at);
      layout = tessera_text_new (GTK_WIDGET (self), text, 0.85, FALSE);
      tessera_draw_label (snapshot, layout, 7, y - 17, palette->dim, palette->background);
    }
}

static void
draw_device (TesseraCanvas *self, GtkSnapshot *snapshot, const TesseraPalette *palette)
{
  uint64_t device = self->document->ceiling_bytes;
  int width = gtk_widget_get_width (GTK_WIDGET (self)), w, h;
  double y = round (tessera_canvas_y_of (self, (double) device));
  g_autofree char *size = tessera_describe_bytes (device);
  g_autofree char *text = g_strdup_printf (
      "%s %s", self->document->ceiling_is_device ? "device" : "obtainable", size);
  g_autoptr (PangoLayout) layout =
      tessera_text_new (GTK_WIDGET (self), text, 0.85, FALSE);

  if (device == 0 || y < 0 || y > gtk_widget_get_height (GTK_WIDGET (self)))
    return;
  tessera_draw_box (snapshot, 0, y - 1, width, 2, palette->bad, 1);
  pango_layout_get_pixel_size (layout, &w, &h);
  tessera_draw_label (snapshot, layout, width - w - 8, y + 3, palette->bad,
                      palette->background);
}

/* The bound's label and where it stands: at the left edge, above its line where there is
 * room. */
static PangoLayout *
bound_label_new (TesseraCanvas *self, graphene_rect_t *out_box)
{
  uint64_t bound = self->document->data->bound_bytes;
  double y = round (tessera_canvas_y_of (self, (double) bound));
  g_autofree char *size = tessera_describe_bytes (bound);
  g_autofree char *text = g_strdup_printf ("bound %s", size);
  PangoLayout *layout = tessera_text_new (GTK_WIDGET (self), text, 0.85, FALSE);
  int w, h;

  pango_layout_get_pixel_size (layout, &w, &h);
  *out_box = GRAPHENE_RECT_INIT (7, (float) (y >= h + 4 ? y - h - 3 : y + 3), (float) w,
                                 (float) h);
  return layout;
}

static void
draw_bound (TesseraCanvas *self, GtkSnapshot *snapshot, const TesseraPalette *palette)
{
  double y =
      round (tessera_canvas_y_of (self, (double) self->document->data->bound_bytes));
  g_autoptr (PangoLayout) layout = NULL;
  graphene_rect_t box;

  if (y < 0 || y > gtk_widget_get_height (GTK_WIDGET (self)))
    return;
  layout = bound_label_new (self, &box);
  tessera_draw_dashes (snapshot, 0, y - 1, gtk_widget_get_width (GTK_WIDGET (self)), 1, 6,
                       palette->good);
  tessera_draw_label (snapshot, layout, box.origin.x, box.origin.y, palette->good,
                      palette->background);
}

/* Where a label of @width x @height at (@x, @y) stands so that the bound's can be read:
 * below it, where both want the same place. */
static double
y_off_bound_label (TesseraCanvas *self, double x, double y, int width, int height)
{
  graphene_rect_t box, wanted;
  g_autoptr (PangoLayout) bound = bound_label_new (self, &box);

  /* With the ground that both stand on, and a pixel of air. */
  graphene_rect_inset (&box, -7, -1);
  graphene_rect_init (&wanted, (float) x, (float) y, (float) width, (float) height);
  if (!graphene_rect_intersection (&box, &wanted, NULL))
    return y;
  return box.origin.y + box.size.height + 1;
}

/* A request that failed, at its size: where the plan has room for it, or on top of all
 * that was reserved. */
static void
draw_request (TesseraCanvas *self,
              GtkSnapshot *snapshot,
              const TesseraPalette *palette,
              const TesseraOom *oom)
{
  TesseraData *data = self->document->data;
  const TesseraSheet *sheet = tessera_canvas_sheet (self);
  uint32_t block = oom->event_index < data->blocks->n_events
                       ? data->blocks->block_of_event[oom->event_index]
                       : TESSERA_NONE;
  TesseraView rect = {
    .t0 = tessera_sheet_t_of (sheet, oom->event_index),
    .t1 = tessera_sheet_t_of (sheet, oom->event_index + 1),
    .y0 = (double) sheet->layout->curves.reserved_bytes[oom->event_index],
  };
  double x, y, width, height;

  rect.y1 = rect.y0 + (double) oom->size_bytes;
  if (block != TESSERA_NONE)
    (void) tessera_scene_block_rect (sheet->scene, block, &rect);
  x = visible_x (self, rect.t0);
  y = visible_y (self, rect.y1);
  width = MAX (visible_x (self, rect.t1) - x, LEAST_MARK);
  height = MAX (visible_y (self, rect.y0) - y, 3);
  x = MIN (x, MAX (gtk_widget_get_width (GTK_WIDGET (self)) - width, 0));
  tessera_draw_box (snapshot, x, y, width, height, palette->bad, 0.3);
  tessera_draw_outline (snapshot, x, y, width, height, 1.5, palette->bad);
}

/* Below the device's own label. */
static double
failure_label_y (TesseraCanvas *self, int text_height)
{
  uint64_t device = self->document->ceiling_bytes;

  if (device == 0)
    return 8;
  return MAX (tessera_canvas_y_of (self, (double) device) + 6, 6) + text_height + 4;
}

/* Below it, also where it made way for the bound's. */
static double
failure_label_end (TesseraCanvas *self, int text_height)
{
  double y = failure_label_y (self, text_height);
  double height = 2 * text_height + 8;
  graphene_rect_t box;
  g_autoptr (PangoLayout) bound = bound_label_new (self, &box);
  double bound_end = (double) box.origin.y + (double) box.size.height;

  if ((double) box.origin.y < y + height + 1 && bound_end > y - 1)
    y = bound_end + 2;
  return y + height + 4;
}

static void
draw_failure_label (TesseraCanvas *self,
                    GtkSnapshot *snapshot,
                    const TesseraPalette *palette,
                    const TesseraOom *oom,
                    double x)
{
  int canvas_width = gtk_widget_get_width (GTK_WIDGET (self)), w1, w2, h;
  const TesseraParts *parts = &self->document->verdict.parts;
  gboolean has_hole = parts->event_index == oom->event_index;
  g_autofree char *asked = tessera_describe_bytes (oom->size_bytes);
  g_autofree char *hole = tessera_describe_bytes (parts->largest_hole_bytes);
  g_autofree char *text = has_hole ? g_strdup_printf ("asked %s, hole %s", asked, hole)
                                   : g_strdup_printf ("asked %s", asked);
  g_autoptr (PangoLayout) title =
      tessera_text_new (GTK_WIDGET (self), "out of memory", 0.9, TRUE);
  g_autoptr (PangoLayout) line = tessera_text_new (GTK_WIDGET (self), text, 0.85, FALSE);
  double y;

  pango_layout_get_pixel_size (title, &w1, &h);
  pango_layout_get_pixel_size (line, &w2, NULL);
  y = failure_label_y (self, h);
  /* To the side of the mark where there is room. */
  w1 = MAX (w1, w2) + 12;
  x = x - w1 - 6 > 0 ? x - w1 - 6 : MIN (x + 8, canvas_width - w1);
  y = y_off_bound_label (self, x, y, w1, 2 * h + 8);
  tessera_draw_pill (snapshot, x, y, w1, 2 * h + 8, 4, palette->background, 0.88);
  tessera_draw_text (snapshot, title, x + 6, y + 3, palette->bad);
  tessera_draw_text (snapshot, line, x + 6, y + 4 + h, palette->dim);
}

static void
draw_failures (TesseraCanvas *self, GtkSnapshot *snapshot, const TesseraPalette *palette)
{
  const TesseraSheet *sheet = tessera_canvas_sheet (self);
  const TesseraSheet *left = self->document->sheets[TESSERA_SIDE_LEFT];
  const TesseraLayout *recorded = left != NULL ? left->layout : sheet->layout;
  int width = gtk_widget_get_width (GTK_WIDGET (self));
  int height = gtk_widget_get_height (GTK_WIDGET (self));
  double last_x = -1e9, x1;

  for (size_t i = 0; i < recorded->n_ooms; i++)
    {
      const TesseraOom *oom = &recorded->ooms[i];
      double x = tessera_canvas_x_of (self, tessera_sheet_t_of (sheet, oom->event_index));

      x1 = tessera_canvas_x_of (self, tessera_sheet_t_of (sheet, oom->event_index + 1));
      if (x1 < -LEAST_MARK || x > width + LEAST_MARK)
        continue;
      draw_request (self, snapshot, palette, oom);
      if (sheet->planned != NULL || x - last_x < 2)
        continue;
      tessera_draw_box (snapshot, MIN (round (x), width - 1), 0, 1, height, palette->bad,
                        0.9);
      if (x - last_x > 160)
        draw_failure_label (self, snapshot, palette, oom, x);
      last_x = x;
    }
}

/* The largest hole of the chosen moment, from its segment's row at that event. */
static void
draw_hole (TesseraCanvas *self, GtkSnapshot *snapshot, const TesseraPalette *palette)
{
  TesseraDocument *document = self->document;
  const TesseraSheet *sheet = tessera_canvas_sheet (self);
  const TesseraParts *parts = &document->told.parts;
  g_autofree char *size = tessera_describe_bytes (parts->largest_hole_bytes);
  g_autofree char *text = g_strdup_printf ("largest hole %s", size);
  g_autoptr (PangoLayout) layout = NULL;
  int canvas_height = gtk_widget_get_height (GTK_WIDGET (self)), w, h;
  uint64_t bottom;
  double x, y, height, label_y;

  if (parts->largest_hole_bytes == 0 || self->side != TESSERA_SIDE_LEFT)
    return;
  bottom =
      tessera_scene_y_of (sheet->scene, parts->largest_hole_addr, parts->event_index);
  if (bottom == TESSERA_NOWHERE)
    return;
  x = visible_x (self, tessera_sheet_t_of (sheet, parts->event_index));
  y = visible_y (self, (double) bottom + (double) parts->largest_hole_bytes);
  height = visible_y (self, (double) bottom) - y;
  if (height < 3)
    return;
  tessera_draw_outline (snapshot, x - 4, y, 8, height, 2, palette->accent);
  layout = tessera_text_new (GTK_WIDGET (self), text, 0.85, FALSE);
  pango_layout_get_pixel_size (layout, &w, &h);
  /* In the middle of what can be seen of it, but not behind a failure's words. */
  label_y = (MAX (y, 0) + MIN (y + height, canvas_height) - h) / 2;
  if (sheet->layout->n_ooms > 0)
    label_y = MAX (label_y, failure_label_end (self, h));
  x = x - w - 12 > 0 ? x - w - 12 : x + 12;
  label_y = y_off_bound_label (self, x, label_y, w, h);
  if (height > h + 4)
    tessera_draw_label (snapshot, layout, x, label_y, palette->accent,
                        palette->background);
}

/* Of the plan that the recorded run followed. */
static void
draw_pool (TesseraCanvas *self, GtkSnapshot *snapshot, const TesseraPalette *palette)
{
  const TesseraSheet *sheet = tessera_canvas_sheet (self);
  const TesseraLayout *layout = sheet->layout;
  g_autofree char *size = tessera_describe_bytes (layout->pool_bytes);
  g_autofree char *text = g_strdup_printf ("the plan's pool %s", size);
  g_autoptr (PangoLayout) label = tessera_text_new (GTK_WIDGET (self), text, 0.85, FALSE);
  int width = gtk_widget_get_width (GTK_WIDGET (self)), w, h;

  pango_layout_get_pixel_size (label, &w, &h);
  for (size_t i = 0; layout->pool_bytes > 0 && i < layout->n_spans; i++)
    {
      const TesseraSpan *span = &layout->spans[i];
      uint64_t bottom = TESSERA_NOWHERE;
      double x, y, right, height;

      if (span->is_plan_pool)
        bottom = tessera_scene_y_of (sheet->scene, span->addr, span->born_index);
      if (bottom == TESSERA_NOWHERE)
        continue;
      x = visible_x (self, tessera_sheet_t_of (sheet, span->born_index));
      right = visible_x (self, tessera_sheet_t_of (sheet, span->died_index));
      y = visible_y (self, (double) (bottom + span->size_bytes));
      height = visible_y (self, (double) bottom) - y;
      tessera_draw_outline (snapshot, x, y, right - x, height, 1.5, palette->accent);
      if (height > h + 8)
        tessera_draw_label (snapshot, label, MIN (right, width) - w - 10, y + 5,
                            palette->accent, palette->background);
    }
}

static void
draw_moment (TesseraCanvas *self, GtkSnapshot *snapshot, const TesseraPalette *palette)
{
  double x = round (tessera_canvas_x_of (
      self, tessera_sheet_t_of (tessera_canvas_sheet (self), self->document->moment)));
  int height = gtk_widget_get_height (GTK_WIDGET (self));

  if (x >= 0 && x <= gtk_widget_get_width (GTK_WIDGET (self)))
    tessera_draw_dashes (snapshot, x, 0, 1, height, 3, palette->dim);
}

static void
draw_block (
    TesseraCanvas *self, GtkSnapshot *snapshot, uint32_t block, double line, uint32_t rgb)
{
  TesseraView rect;
  double x, y, x1, y1;

  if (block == TESSERA_NONE ||
      !tessera_scene_block_rect (tessera_canvas_sheet (self)->scene, block, &rect))
    return;
  x = visible_x (self, rect.t0);
  x1 = visible_x (self, rect.t1);
  y = visible_y (self, rect.y1);
  y1 = visible_y (self, rect.y0);
  tessera_draw_outline (snapshot, x - line, y - line, MAX (x1 - x, 2) + 2 * line,
                        MAX (y1 - y, 2) + 2 * line, line, rgb);
}

/* What the band covers: bytes of address and events of time. */
static void
draw_band_words (TesseraCanvas *self,
                 GtkSnapshot *snapshot,
                 const TesseraPalette *palette,
                 uint32_t rgb)
{
  const TesseraAxis *axis = tessera_canvas_sheet (self)->axis;
  TesseraView view = tessera_canvas_band_view (self);
  g_autofree char *bytes = tessera_describe_bytes ((uint64_t) MAX (view.y1 - view.y0, 0));
  g_autofree char *events = tessera_describe_count (
      tessera_axis_event_at (axis, view.t1) - tessera_axis_event_at (axis, view.t0) + 1);
  g_autofree char *text =
      g_strdup_printf ("%s %s × %s events",
                       self->band == TESSERA_BAND_ZOOM          ? "zoom into"
                       : self->band == TESSERA_BAND_SELECT_MORE ? "select also"
                                                                : "select",
                       bytes, events);
  g_autoptr (PangoLayout) layout =
      tessera_text_new (GTK_WIDGET (self), text, 0.85, FALSE);
  int w, h;
  double x, y;

  pango_layout_get_pixel_size (layout, &w, &h);
  x = CLAMP (MIN (self->band_x, self->band_end_x) + 5, 5,
             MAX (gtk_widget_get_width (GTK_WIDGET (self)) - w - 5, 5));
  y = MIN (self->band_y, self->band_end_y) - h - 4;
  if (y < 2)
    y = MIN (self->band_y, self->band_end_y) + 4;
  tessera_draw_label (snapshot, layout, x, y, rgb, palette->background);
}

static void
draw_band (TesseraCanvas *self, GtkSnapshot *snapshot, const TesseraPalette *palette)
{
  double x = MIN (self->band_x, self->band_end_x);
  double y = MIN (self->band_y, self->band_end_y);
  double width = fabs (self->band_end_x - self->band_x);
  double height = fabs (self->band_end_y - self->band_y);

  uint32_t rgb = self->band == TESSERA_BAND_ZOOM ? palette->accent : palette->select;

  if (self->band == TESSERA_BAND_NONE)
    return;
  tessera_draw_box (snapshot, x, y, width, height, rgb, 0.15);
  tessera_draw_outline (snapshot, x, y, width, height, 1, rgb);
  draw_band_words (self, snapshot, palette, rgb);
}

void
tessera_canvas_draw_marks (TesseraCanvas *self, GtkSnapshot *snapshot)
{
  TesseraDocument *document = self->document;
  const TesseraPalette *palette = tessera_palette (document->dark);

  draw_grid (self, snapshot, palette);
  draw_moment (self, snapshot, palette);
  draw_pool (self, snapshot, palette);
  draw_bound (self, snapshot, palette);
  draw_hole (self, snapshot, palette);
  draw_failures (self, snapshot, palette);
  draw_device (self, snapshot, palette);
  if (document->hovered != document->selected)
    draw_block (self, snapshot, document->hovered, 1, palette->text);
  draw_block (self, snapshot, document->selected, 2, palette->select);
  draw_band (self, snapshot, palette);
}
