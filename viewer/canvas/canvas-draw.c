/*
 * What lies on top of a canvas's picture beside the marks of its layout: grid, moment,
 * outlines of blocks, the band that is being drawn.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/canvas/private.h"

#include <math.h>

/* So many pixels are the least from line to line: each has its size above it. */
#define BETWEEN_GRID_LINES 54
/* Words from the edge. */
#define MARGIN 7
/* A selected block so small, in pixels, is not written over. */
#define SMALL_BLOCK 80
/* How far a link reaches into the blocks at its ends, and how large these ends are. */
#define LINK_END 6.0

gboolean
tessera_canvas_box_of (const TesseraCanvas *self,
                       const TesseraView *rect,
                       TesseraArea *out_box)
{
  return tessera_view_box_of (&self->panel.document->view,
                              gtk_widget_get_width (self->panel.box),
                              gtk_widget_get_height (self->panel.box), rect, out_box);
}

double
tessera_canvas_grid_step_bytes (const TesseraCanvas *self)
{
  const TesseraView *v = &self->panel.document->view;

  /* Of nothing there is no half a byte. */
  return MAX (tessera_nice_step_bytes (
                  v->y1 - v->y0,
                  MAX (gtk_widget_get_height (self->panel.box) / BETWEEN_GRID_LINES, 3)),
              1);
}

static void
draw_grid (TesseraCanvas *self, TesseraMarks *marks)
{
  const TesseraView *v = &marks->view;
  double step = tessera_canvas_grid_step_bytes (self);

  for (double at = ceil (v->y0 / step) * step; at < v->y1; at += step)
    marks->pen->fill (marks->pen,
                      (TesseraArea){ 0, round (tessera_marks_y_of (marks, at)),
                                     marks->labels.width, 1 },
                      0, marks->pen->palette->dim, 0.22);
}

static void
draw_block (TesseraMarks *marks, uint32_t block, double line, uint32_t rgb)
{
  TesseraArea box;

  if (!tessera_marks_block_box (marks, block, &box))
    return;
  box = (TesseraArea){ box.x - line, box.y - line, box.width + 2 * line,
                       box.height + 2 * line };
  tessera_pen_outline (marks->pen, box, line, rgb);
}

/* The bytes that a block hands to one of another stream, from its end to the other's birth:
 * dashed where an earlier wait covers it. */
static void
draw_link (TesseraMarks *marks, uint32_t before, uint32_t after)
{
  const TesseraBlock *blocks = marks->blocks->blocks;
  const uint32_t rgb = marks->pen->palette->select;
  TesseraView low, high;
  TesseraArea box;

  if (before == TESSERA_NONE || after == TESSERA_NONE ||
      blocks[before].stream == blocks[after].stream ||
      !tessera_scene_block_rect (marks->scene, before, &low) ||
      !tessera_scene_block_rect (marks->scene, after, &high))
    return;
  draw_block (marks, before, 1, rgb);
  draw_block (marks, after, 1, rgb);
  low.t0 = low.t1;
  low.t1 = high.t0;
  low.y0 = low.y1 = (MAX (low.y0, high.y0) + MIN (low.y1, high.y1)) / 2;
  if (!tessera_view_box_of (&marks->view, marks->labels.width, marks->labels.height, &low,
                            &box))
    return;
  box = (TesseraArea){ box.x - LINK_END, round (box.y) - 1, box.width + 2 * LINK_END, 2 };
  if (marks->layout->links[after].n_waits > 0)
    marks->pen->fill (marks->pen, box, 0, rgb, 1);
  else
    tessera_pen_dashes (marks->pen, box, 3, rgb);
  for (int end = 0; end < 2; end++)
    marks->pen->fill (marks->pen,
                      (TesseraArea){ box.x + end * box.width - LINK_END / 2, box.y - 2,
                                     LINK_END, LINK_END },
                      LINK_END / 2, rgb, 1);
}

/* The outline of what is selected says more than the grid. */
static void
avoid_selected (TesseraMarks *marks, uint32_t selected)
{
  TesseraArea box;

  if (tessera_marks_block_box (marks, selected, &box) && box.width < SMALL_BLOCK &&
      box.height < SMALL_BLOCK)
    tessera_labels_avoid (&marks->labels, (TesseraArea){ box.x - 2, box.y - 2,
                                                         box.width + 4, box.height + 4 });
}

/* Above its line, else below, or not. */
static void
say_grid (TesseraCanvas *self, TesseraMarks *marks)
{
  const TesseraView *v = &marks->view;
  double step = tessera_canvas_grid_step_bytes (self);
  uint32_t rgb = marks->pen->palette->dim;

  for (double at = ceil (v->y0 / step) * step; at < v->y1; at += step)
    {
      double y = round (tessera_marks_y_of (marks, at)), width, height;
      g_autofree char *size = NULL;

      if (at <= 0 || y > marks->labels.height - 4)
        continue;
      size = tessera_describe_height ((uint64_t) at, step);
      marks->pen->measure (marks->pen, &(TesseraWords){ size, 0.85 }, &width, &height);
      if (y <= height + 2 ||
          !tessera_marks_write (marks, size, MARGIN, y - height - 3, 0, rgb))
        tessera_marks_write (marks, size, MARGIN, y + 3, 0, rgb);
    }
}

/* What the band covers: bytes of address and events of time. */
static void
draw_band (TesseraCanvas *self, TesseraMarks *marks)
{
  TesseraPen *pen = marks->pen;
  TesseraView view = tessera_canvas_band_view (self);
  uint32_t rgb =
      self->band == TESSERA_BAND_ZOOM ? pen->palette->accent : pen->palette->select;
  uint32_t n_events = tessera_axis_event_at (marks->axis, view.t1) -
                      tessera_axis_event_at (marks->axis, view.t0) + 1;
  TesseraArea box = { MIN (self->band_x, self->band_end_x),
                      MIN (self->band_y, self->band_end_y),
                      fabs (self->band_end_x - self->band_x),
                      fabs (self->band_end_y - self->band_y) };
  g_autofree char *text = NULL;
  double width, height, y;

  if (self->band == TESSERA_BAND_NONE)
    return;
  pen->fill (pen, box, 0, rgb, 0.15);
  tessera_pen_outline (pen, box, 1, rgb);
  text = g_strdup_printf ("%s %s × %s",
                          self->band == TESSERA_BAND_ZOOM          ? "zoom into"
                          : self->band == TESSERA_BAND_SELECT_MORE ? "select also"
                                                                   : "select",
                          TESSERA_SIZE ((uint64_t) MAX (view.y1 - view.y0, 0)),
                          TESSERA_COUNTED (n_events, "event"));
  pen->measure (pen, &(TesseraWords){ text, 0.85 }, &width, &height);
  y = box.y - height - 4 < 2 ? box.y + 4 : box.y - height - 4;
  tessera_canvas_write (pen, &(TesseraWords){ text, 0.85 },
                        CLAMP (box.x + 5, 5, MAX (marks->labels.width - width - 5, 5)), y,
                        rgb);
}

void
tessera_canvas_write (
    TesseraPen *pen, const TesseraWords *words, double x, double y, uint32_t rgb)
{
  double width, height;

  pen->measure (pen, words, &width, &height);
  pen->fill (pen, (TesseraArea){ round (x) - 3, round (y), width + 6, height }, 3,
             pen->palette->background, 0.78);
  pen->write (pen, words, x, y, rgb);
}

void
tessera_canvas_draw_marks (TesseraCanvas *self, TesseraPen *pen)
{
  TesseraDocument *document = self->panel.document;
  const TesseraSheet *sheet = tessera_canvas_sheet (self);
  const TesseraSheet *left = document->sheets[TESSERA_SIDE_LEFT];
  TesseraMarks marks = {
    .pen = pen,
    .whose = &document->data->whose,
    .blocks = document->data->blocks,
    .layout = sheet->layout,
    .recorded = (left != NULL ? left : sheet)->layout,
    .scene = sheet->scene,
    .axis = sheet->axis,
    .is_plan = sheet->planned != NULL,
    .ink = document->paint != NULL ? &document->paint->ink : NULL,
    .view = document->view,
    .labels = { .width = gtk_widget_get_width (self->panel.box),
                .height = gtk_widget_get_height (self->panel.box) },
    .verdict = &document->verdict.parts,
    .moment = self->side == TESSERA_SIDE_LEFT ? &document->described.parts : NULL,
    .bound_bytes = tessera_document_bound (document),
    .room_bytes = document->ceiling_bytes,
    .room_is_device = document->ceiling_is_device,
  };
  const TesseraLink *link =
      sheet->layout->links != NULL && document->selected != TESSERA_NONE
          ? &sheet->layout->links[document->selected]
          : NULL;
  double x = round (tessera_marks_x_of (&marks, document->moment));

  draw_grid (self, &marks);
  if (x >= 0 && x <= marks.labels.width)
    tessera_pen_dashes (pen, (TesseraArea){ x, 0, 1, marks.labels.height }, 3,
                        pen->palette->dim);
  tessera_marks_draw (&marks);
  if (document->hovered != document->selected)
    draw_block (&marks, document->hovered, 1, pen->palette->text);
  if (link != NULL)
    {
      draw_link (&marks, link->before, document->selected);
      draw_link (&marks, document->selected, link->after);
    }
  draw_block (&marks, document->selected, 2, pen->palette->select);
  avoid_selected (&marks, document->selected);
  tessera_marks_say (&marks);
  say_grid (self, &marks);
  tessera_marks_name_blocks (&marks);
  draw_band (self, &marks);
}
