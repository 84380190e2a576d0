/*
 * What lies on top of a canvas's tiles: grid, lines, failures, holes, outlines. Words are
 * in canvas-words.c.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/canvas/canvas-private.h"
#include "viewer/model/document.h"
#include "viewer/kit/draw.h"

#include <math.h>

/* A mark is never smaller than this many pixels. */
#define LEAST_MARK 8
/* So many pixels are the least from line to line: each has its size above it. */
#define BETWEEN_GRID_LINES 60
/* Pixels beyond the edge: far enough for no outline to show. */
#define OUT_OF_SIGHT 20

double
tessera_canvas_visible_x (const TesseraCanvas *self, double t)
{
  return CLAMP (tessera_canvas_x_of (self, t), -OUT_OF_SIGHT,
                gtk_widget_get_width (GTK_WIDGET (self)) + OUT_OF_SIGHT);
}

double
tessera_canvas_visible_y (const TesseraCanvas *self, double bytes)
{
  return CLAMP (tessera_canvas_y_of (self, bytes), -OUT_OF_SIGHT,
                gtk_widget_get_height (GTK_WIDGET (self)) + OUT_OF_SIGHT);
}

double
tessera_canvas_grid_step_bytes (const TesseraCanvas *self)
{
  const TesseraView *v = &self->document->view;

  /* Of nothing there is no half a byte. */
  return MAX (
      tessera_nice_step_bytes (
          v->y1 - v->y0,
          MAX (gtk_widget_get_height (GTK_WIDGET (self)) / BETWEEN_GRID_LINES, 3)),
      1);
}

static void
draw_grid (TesseraCanvas *self, GtkSnapshot *snapshot, const TesseraPalette *palette)
{
  const TesseraView *v = &self->document->view;
  double step = tessera_canvas_grid_step_bytes (self);

  for (double at = ceil (v->y0 / step) * step; at < v->y1; at += step)
    tessera_draw_box (snapshot, 0, round (tessera_canvas_y_of (self, at)),
                      gtk_widget_get_width (GTK_WIDGET (self)), 1, palette->dim, 0.22);
}

static void
draw_device (TesseraCanvas *self, GtkSnapshot *snapshot, const TesseraPalette *palette)
{
  uint64_t device = self->document->ceiling_bytes;
  double y = round (tessera_canvas_y_of (self, (double) device));

  if (device > 0 && y >= 0 && y <= gtk_widget_get_height (GTK_WIDGET (self)))
    tessera_draw_box (snapshot, 0, y - 1, gtk_widget_get_width (GTK_WIDGET (self)), 2,
                      palette->bad, 1);
}

static void
draw_bound (TesseraCanvas *self, GtkSnapshot *snapshot, const TesseraPalette *palette)
{
  double y = round (
      tessera_canvas_y_of (self, (double) tessera_document_bound (self->document)));

  if (y >= 0 && y <= gtk_widget_get_height (GTK_WIDGET (self)))
    tessera_draw_dashes (snapshot, 0, y - 1, gtk_widget_get_width (GTK_WIDGET (self)), 1,
                         6, palette->good);
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
  x = tessera_canvas_visible_x (self, rect.t0);
  y = tessera_canvas_visible_y (self, rect.y1);
  width = MAX (tessera_canvas_visible_x (self, rect.t1) - x, LEAST_MARK);
  height = MAX (tessera_canvas_visible_y (self, rect.y0) - y, 3);
  x = MIN (x, MAX (gtk_widget_get_width (GTK_WIDGET (self)) - width, 0));
  tessera_draw_box (snapshot, x, y, width, height, palette->bad, 0.3);
  tessera_draw_outline (snapshot, x, y, width, height, 1.5, palette->bad);
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
      last_x = x;
    }
}

gboolean
tessera_canvas_hole_box (TesseraCanvas *self, graphene_rect_t *out_box)
{
  const TesseraSheet *sheet = tessera_canvas_sheet (self);
  const TesseraParts *parts = &self->document->told.parts;
  uint64_t bottom;
  double x, y, end;

  if (parts->largest_hole_bytes == 0 || self->side != TESSERA_SIDE_LEFT)
    return FALSE;
  bottom =
      tessera_scene_y_of (sheet->scene, parts->largest_hole_addr, parts->event_index);
  if (bottom == TESSERA_NOWHERE)
    return FALSE;
  x = tessera_canvas_visible_x (self, tessera_sheet_t_of (sheet, parts->event_index));
  y = tessera_canvas_visible_y (self,
                                (double) bottom + (double) parts->largest_hole_bytes);
  end = tessera_canvas_visible_y (self, (double) bottom);
  *out_box = GRAPHENE_RECT_INIT ((float) x - 4, (float) y, 8, (float) (end - y));
  return end - y >= 3;
}

/* The largest hole of the chosen moment, from its segment's row at that event. */
static void
draw_hole (TesseraCanvas *self, GtkSnapshot *snapshot, const TesseraPalette *palette)
{
  graphene_rect_t box;

  if (tessera_canvas_hole_box (self, &box))
    tessera_draw_outline (snapshot, (double) box.origin.x, (double) box.origin.y,
                          (double) box.size.width, (double) box.size.height, 2,
                          palette->accent);
}

/* From when some of it had memory first. */
static const TesseraSpan *
first_of_pool (const TesseraLayout *layout)
{
  for (size_t i = 0; layout->pool_bytes > 0 && i < layout->n_spans; i++)
    if (layout->spans[i].is_plan_pool)
      return &layout->spans[i];
  return NULL;
}

gboolean
tessera_canvas_pool_box (TesseraCanvas *self, graphene_rect_t *out_box)
{
  const TesseraSheet *sheet = tessera_canvas_sheet (self);
  const TesseraLayout *layout = sheet->layout;
  const TesseraSpan *first = first_of_pool (layout);
  uint32_t end = layout->declined_index != 0 ? layout->declined_index : layout->n_events;
  uint64_t bottom = TESSERA_NOWHERE;
  double x, y;

  if (first != NULL)
    bottom = tessera_scene_y_of (sheet->scene, first->addr, first->born_index);
  if (bottom == TESSERA_NOWHERE)
    return FALSE;
  bottom -= first->addr - layout->pool_addr;
  x = tessera_canvas_visible_x (self, tessera_sheet_t_of (sheet, first->born_index));
  y = tessera_canvas_visible_y (self, (double) (bottom + layout->pool_bytes));
  *out_box = GRAPHENE_RECT_INIT (
      (float) x, (float) y,
      (float) (tessera_canvas_visible_x (self, tessera_sheet_t_of (sheet, end)) - x),
      (float) (tessera_canvas_visible_y (self, (double) bottom) - y));
  return TRUE;
}

/* Of the plan that the recorded run followed. */
static void
draw_pool (TesseraCanvas *self, GtkSnapshot *snapshot, const TesseraPalette *palette)
{
  graphene_rect_t box;

  if (tessera_canvas_pool_box (self, &box))
    tessera_draw_outline (snapshot, (double) box.origin.x, (double) box.origin.y,
                          (double) box.size.width, (double) box.size.height, 1.5,
                          palette->accent);
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
  x = tessera_canvas_visible_x (self, rect.t0);
  x1 = tessera_canvas_visible_x (self, rect.t1);
  y = tessera_canvas_visible_y (self, rect.y1);
  y1 = tessera_canvas_visible_y (self, rect.y0);
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
  g_autofree char *events = tessera_describe_counted (
      tessera_axis_event_at (axis, view.t1) - tessera_axis_event_at (axis, view.t0) + 1,
      "event");
  g_autofree char *text =
      g_strdup_printf ("%s %s × %s",
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
  tessera_canvas_draw_words (self, snapshot);
  draw_band (self, snapshot, palette);
}
