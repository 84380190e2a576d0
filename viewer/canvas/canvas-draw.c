/*
 * What lies on top of a canvas's picture: grid, lines, failures, holes, outlines; and what
 * they are, in words.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/canvas/private.h"

#include <math.h>

/* A mark is never smaller than this many pixels. */
#define LEAST_MARK 8
/* So many pixels are the least from line to line: each has its size above it. */
#define BETWEEN_GRID_LINES 54
/* Pixels beyond the edge: far enough for no outline to show. */
#define OUT_OF_SIGHT 20

gboolean
tessera_canvas_box_of (const TesseraCanvas *self,
                       const TesseraView *rect,
                       graphene_rect_t *out_box)
{
  const double right = gtk_widget_get_width (self->panel.box) + OUT_OF_SIGHT;
  const double bottom = gtk_widget_get_height (self->panel.box) + OUT_OF_SIGHT;
  const double x0 = CLAMP (tessera_canvas_x_of (self, rect->t0), -OUT_OF_SIGHT, right);
  const double x1 = CLAMP (tessera_canvas_x_of (self, rect->t1), -OUT_OF_SIGHT, right);
  const double y0 = CLAMP (tessera_canvas_y_of (self, rect->y1), -OUT_OF_SIGHT, bottom);
  const double y1 = CLAMP (tessera_canvas_y_of (self, rect->y0), -OUT_OF_SIGHT, bottom);

  *out_box = *TESSERA_BOX (x0, y0, MAX (x1 - x0, 1), MAX (y1 - y0, 1));
  return x1 > 0 && x0 < right - OUT_OF_SIGHT && y1 > 0 && y0 < bottom - OUT_OF_SIGHT;
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

/* What is being drawn, and where. */
typedef struct
{
  TesseraCanvas *canvas;
  TesseraDocument *document;
  const TesseraSheet *sheet;
  GtkSnapshot *snapshot;
  const TesseraPalette *palette;
  TesseraLabels room; /* for words */
  int width, height;
} Picture;

/* Likewise of a block; FALSE also where it has no place here. */
static gboolean
block_box (Picture *p, uint32_t block, graphene_rect_t *out_box)
{
  TesseraView rect;

  return block != TESSERA_NONE &&
         tessera_scene_block_rect (p->sheet->scene, block, &rect) &&
         tessera_canvas_box_of (p->canvas, &rect, out_box);
}

static void
draw_grid (Picture *p)
{
  const TesseraView *v = &p->document->view;
  double step = tessera_canvas_grid_step_bytes (p->canvas);

  for (double at = ceil (v->y0 / step) * step; at < v->y1; at += step)
    tessera_draw_box (
        p->snapshot,
        TESSERA_BOX (0, round (tessera_canvas_y_of (p->canvas, at)), p->width, 1),
        p->palette->dim, 0.22);
}

static void
draw_device (Picture *p)
{
  uint64_t device = p->document->ceiling_bytes;
  double y = round (tessera_canvas_y_of (p->canvas, (double) device));

  if (device > 0 && y >= 0 && y <= p->height)
    tessera_draw_box (p->snapshot, TESSERA_BOX (0, y - 1, p->width, 2), p->palette->bad,
                      1);
}

static void
draw_bound (Picture *p)
{
  double y = round (
      tessera_canvas_y_of (p->canvas, (double) tessera_document_bound (p->document)));

  if (y >= 0 && y <= p->height)
    tessera_draw_dashes (p->snapshot, TESSERA_BOX (0, y - 1, p->width, 1), 6,
                         p->palette->good);
}

/* Whose failures both sides show. */
static const TesseraLayout *
recorded_layout (Picture *p)
{
  const TesseraSheet *left = p->document->sheets[TESSERA_SIDE_LEFT];

  return (left != NULL ? left : p->sheet)->layout;
}

/* A request that failed, at its size: where the plan has room for it, or on top of all
 * that was reserved. */
static void
draw_request (Picture *p, const TesseraOom *oom)
{
  TesseraData *data = p->document->data;
  const TesseraSheet *sheet = p->sheet;
  uint32_t block = oom->event_index < data->blocks->n_events
                       ? data->blocks->block_of_event[oom->event_index]
                       : TESSERA_NONE;
  TesseraView rect = {
    .t0 = tessera_sheet_t_of (sheet, oom->event_index),
    .t1 = tessera_sheet_t_of (sheet, oom->event_index + 1),
    .y0 = (double) sheet->layout->curves.reserved_bytes[oom->event_index],
  };
  graphene_rect_t box;

  rect.y1 = rect.y0 + (double) oom->size_bytes;
  if (block != TESSERA_NONE)
    (void) tessera_scene_block_rect (sheet->scene, block, &rect);
  if (!tessera_canvas_box_of (p->canvas, &rect, &box))
    return;
  box.size.width = fmaxf (box.size.width, LEAST_MARK);
  box.size.height = fmaxf (box.size.height, 3);
  box.origin.x = fminf (box.origin.x, fmaxf ((float) p->width - box.size.width, 0));
  tessera_draw_box (p->snapshot, &box, p->palette->bad, 0.3);
  tessera_draw_outline (p->snapshot, &box, 1.5, p->palette->bad);
}

static void
draw_failures (Picture *p)
{
  const TesseraSheet *sheet = p->sheet;
  const TesseraLayout *recorded = recorded_layout (p);
  int width = p->width;
  int height = p->height;
  double last_x = -1e9, x1;

  for (size_t i = 0; i < recorded->n_ooms; i++)
    {
      const TesseraOom *oom = &recorded->ooms[i];
      double x =
          tessera_canvas_x_of (p->canvas, tessera_sheet_t_of (sheet, oom->event_index));

      x1 = tessera_canvas_x_of (p->canvas,
                                tessera_sheet_t_of (sheet, oom->event_index + 1));
      if (x1 < -LEAST_MARK || x > width + LEAST_MARK)
        continue;
      draw_request (p, oom);
      if (sheet->planned != NULL || x - last_x < 2)
        continue;
      tessera_draw_box (p->snapshot,
                        TESSERA_BOX (MIN (round (x), width - 1), 0, 1, height),
                        p->palette->bad, 0.9);
      last_x = x;
    }
}

/* Of the largest hole of the chosen moment, from its segment's row at that event. Returns: whether
 * it can be seen. */
static gboolean
hole_box (Picture *p, graphene_rect_t *out_box)
{
  const TesseraSheet *sheet = p->sheet;
  const TesseraParts *parts = &p->document->described.parts;
  uint64_t bottom;
  double t;

  if (parts->largest_hole_bytes == 0 || p->canvas->side != TESSERA_SIDE_LEFT)
    return FALSE;
  bottom =
      tessera_scene_y_of (sheet->scene, parts->largest_hole_addr, parts->event_index);
  t = tessera_sheet_t_of (sheet, parts->event_index);
  if (bottom == TESSERA_NOWHERE ||
      !tessera_canvas_box_of (
          p->canvas,
          &(TesseraView){ t, t, (double) bottom,
                          (double) (bottom + parts->largest_hole_bytes) },
          out_box))
    return FALSE;
  out_box->origin.x -= 4;
  out_box->size.width = 8;
  return out_box->size.height >= 3;
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

/* Of the pool of the plan that the recorded run followed, for as long as it did. Returns:
 * whether there is one, and it has a place. */
static gboolean
pool_box (Picture *p, graphene_rect_t *out_box)
{
  const TesseraSheet *sheet = p->sheet;
  const TesseraLayout *layout = sheet->layout;
  const TesseraSpan *first = first_of_pool (layout);
  uint32_t end = layout->declined_index != 0 ? layout->declined_index : layout->n_events;
  uint64_t bottom = TESSERA_NOWHERE;

  if (first != NULL)
    bottom = tessera_scene_y_of (sheet->scene, first->addr, first->born_index);
  if (bottom == TESSERA_NOWHERE)
    return FALSE;
  bottom -= first->addr - layout->pool_addr;
  return tessera_canvas_box_of (
      p->canvas,
      &(TesseraView){ tessera_sheet_t_of (sheet, first->born_index),
                      tessera_sheet_t_of (sheet, end), (double) bottom,
                      (double) (bottom + layout->pool_bytes) },
      out_box);
}

static void
draw_moment (Picture *p)
{
  double x = round (tessera_canvas_x_of (
      p->canvas, tessera_sheet_t_of (p->sheet, p->document->moment)));
  int height = p->height;

  if (x >= 0 && x <= p->width)
    tessera_draw_dashes (p->snapshot, TESSERA_BOX (x, 0, 1, height), 3, p->palette->dim);
}

static void
draw_block (Picture *p, uint32_t block, double line, uint32_t rgb)
{
  graphene_rect_t box;

  if (block_box (p, block, &box))
    tessera_draw_outline (
        p->snapshot, graphene_rect_inset (&box, (float) -line, (float) -line), line, rgb);
}

/* --- room for words --------------------------------------------------------------- */

/* Air between two. */
#define GAP 2

void
tessera_labels_begin (TesseraLabels *self, double width, double height)
{
  self->width = (float) width;
  self->height = (float) height;
  self->n_taken = 0;
}

void
tessera_labels_avoid (TesseraLabels *self, const graphene_rect_t *box)
{
  if (self->n_taken < TESSERA_MOST_LABELS)
    self->taken[self->n_taken++] = *box;
}

static gboolean
is_free (const TesseraLabels *self, const graphene_rect_t *box)
{
  if (box->origin.y < 0 || box->origin.y + box->size.height > self->height)
    return FALSE;
  for (unsigned i = 0; i < self->n_taken; i++)
    {
      graphene_rect_t around = self->taken[i];

      graphene_rect_inset (&around, -GAP, -GAP);
      if (graphene_rect_intersection (box, &around, NULL))
        return FALSE;
    }
  return TRUE;
}

gboolean
tessera_labels_place (TesseraLabels *self, graphene_rect_t *box, double most_pixels)
{
  graphene_rect_t best = *box, at;
  float wanted, least = INFINITY;

  if (self->n_taken == TESSERA_MOST_LABELS)
    return FALSE;
  best.origin.x = fmaxf (fminf (best.origin.x, self->width - best.size.width), 0);
  best.origin.y = fmaxf (fminf (best.origin.y, self->height - best.size.height), 0);
  wanted = best.origin.y;
  at = best;
  if (is_free (self, &at))
    least = 0;
  /* Else the nearest free place touches one of those in the way. */
  for (unsigned i = 0; least > 0 && i < 2 * self->n_taken; i++)
    {
      const graphene_rect_t *r = &self->taken[i / 2];
      float way;

      at.origin.y = i % 2 == 0 ? r->origin.y - at.size.height - GAP
                               : r->origin.y + r->size.height + GAP;
      way = fabsf (at.origin.y - wanted);
      if (way < least && way <= most_pixels && is_free (self, &at))
        {
          best = at;
          least = way;
        }
    }
  if (isinf (least))
    return FALSE;
  *box = best;
  tessera_labels_avoid (self, box);
  return TRUE;
}

/* --- words ------------------------------------------------------------------------ */

/* The device and the bound are said first; what finds no room beside what was said before
 * is left out. */

/* From the edge, and from what they are about. */
#define MARGIN 7
/* Around words on a ground of their own. */
#define PAD 3
/* How far they may make way before nobody knows what they are about. */
#define MOST_WAY 60
/* A selected block so small, in pixels, is not written over. */
#define SMALL_BLOCK 80
/* Failures nearer to each other than this have one label. */
#define BETWEEN_FAILURES 160

static PangoLayout *
text_new (Picture *p, const char *text, int *out_width, int *out_height)
{
  PangoLayout *layout = tessera_text_new (p->canvas->panel.box, text, 0.85, FALSE);

  pango_layout_get_pixel_size (layout, out_width, out_height);
  return layout;
}

/* At (@x, @y), or as near as there is room. Returns: whether there was any. */
static gboolean
say (Picture *p, PangoLayout *text, double x, double y, double most_way, uint32_t rgb)
{
  graphene_rect_t box;
  int w, h;

  pango_layout_get_pixel_size (text, &w, &h);
  box = GRAPHENE_RECT_INIT ((float) x - PAD, (float) round (y), (float) w + 2 * PAD,
                            (float) h);
  if (!tessera_labels_place (&p->room, &box, most_way))
    return FALSE;
  tessera_draw_label (p->snapshot, text, box.origin.x + PAD, box.origin.y, rgb,
                      p->palette->background);
  return TRUE;
}

/* --- lines ------------------------------------------------------------------------- */

/* Where a line lies, which nothing is written across. Returns: whether it is seen. */
static gboolean
avoid_line (Picture *p, uint64_t bytes, double *out_y)
{
  double y = round (tessera_canvas_y_of (p->canvas, (double) bytes));

  *out_y = y;
  if (bytes == 0 || y < 0 || y > p->height)
    return FALSE;
  tessera_labels_avoid (&p->room,
                        &GRAPHENE_RECT_INIT (0, (float) y - 1, (float) p->width, 1));
  return TRUE;
}

static void
say_lines (Picture *p)
{
  TesseraDocument *document = p->document;
  uint64_t device = document->ceiling_bytes, bound = tessera_document_bound (document);
  g_autofree char *device_text =
      g_strdup_printf ("%s %s", document->ceiling_is_device ? "device" : "obtainable",
                       TESSERA_SIZE (device));
  g_autofree char *bound_text = g_strdup_printf ("bound %s", TESSERA_SIZE (bound));
  g_autoptr (PangoLayout) text = NULL;
  double device_y, bound_y;
  gboolean has_device = avoid_line (p, device, &device_y);
  gboolean has_bound = avoid_line (p, bound, &bound_y);
  int w, h;

  if (has_device)
    {
      text = text_new (p, device_text, &w, &h);
      say (p, text, p->width - w - MARGIN, device_y + 3, MOST_WAY, p->palette->bad);
      g_clear_object (&text);
    }
  if (!has_bound)
    return;
  text = text_new (p, bound_text, &w, &h);
  say (p, text, MARGIN, bound_y - h - 4, MOST_WAY, p->palette->good);
}

/* --- marks ------------------------------------------------------------------------- */

static void
say_failure (Picture *p, const TesseraOom *oom, double x)
{
  const TesseraParts *parts = &p->document->verdict.parts;
  gboolean is_verdict = parts->event_index == oom->event_index;
  g_autofree char *text = g_strdup_printf (
      "asked %s%s%s", TESSERA_SIZE (oom->size_bytes), is_verdict ? ", hole " : "",
      is_verdict ? TESSERA_SIZE (parts->largest_hole_bytes) : "");
  g_autoptr (PangoLayout) title =
      tessera_text_new (p->canvas->panel.box, "✗ out of memory", 0.9, TRUE);
  g_autoptr (PangoLayout) line = NULL;
  graphene_rect_t box;
  int w1, w2, h, h2;
  double y = tessera_canvas_y_of (p->canvas, (double) p->document->ceiling_bytes) + 4;

  pango_layout_get_pixel_size (title, &w1, &h);
  line = text_new (p, text, &w2, &h2);
  /* Below the device's line, to the side of the mark where there is room. */
  w2 = MAX (w1, w2) + 12;
  x = x - w2 - 6 > 0 ? x - w2 - 6 : x + 8;
  box = GRAPHENE_RECT_INIT ((float) x,
                            (float) round (p->document->ceiling_bytes > 0 ? y : 8),
                            (float) w2, (float) (h + h2 + 8));
  /* Where it is too low for both lines, the title says what the mark is. */
  if (!tessera_labels_place (&p->room, &box, p->height))
    {
      g_clear_object (&line);
      box.size = GRAPHENE_SIZE_INIT ((float) w1 + 12, (float) h + 6);
      if (!tessera_labels_place (&p->room, &box, p->height))
        return;
    }
  x = box.origin.x;
  y = box.origin.y;
  tessera_draw_pill (p->snapshot, TESSERA_BOX (x, y, box.size.width, box.size.height), 4,
                     p->palette->background, 0.88);
  tessera_draw_text (p->snapshot, title, x + 6, y + 3, p->palette->bad);
  if (line != NULL)
    tessera_draw_text (p->snapshot, line, x + 6, y + 4 + h, p->palette->dim);
}

/* Beside the place that a plan has for a request that failed. */
static void
say_served (Picture *p, uint32_t block)
{
  g_autoptr (PangoLayout) text = NULL;
  graphene_rect_t box;
  float x;
  int w, h;

  if (!block_box (p, block, &box))
    return;
  text = text_new (p, "✓ fits here", &w, &h);
  x = box.origin.x - (float) w - MARGIN;
  say (p, text, x > 0 ? x : box.origin.x + box.size.width + MARGIN, box.origin.y + MARGIN,
       MOST_WAY, p->palette->good);
}

static void
say_failures (Picture *p)
{
  const TesseraSheet *sheet = p->sheet;
  const TesseraLayout *layout = recorded_layout (p);
  double last_x = -INFINITY;

  for (size_t i = 0; i < layout->n_ooms; i++)
    {
      const uint32_t event = layout->ooms[i].event_index;
      double x = tessera_canvas_x_of (p->canvas, tessera_sheet_t_of (sheet, event));

      if (x < -MARGIN || x > p->width + MARGIN || x - last_x <= BETWEEN_FAILURES)
        continue;
      if (sheet->planned == NULL)
        say_failure (p, &layout->ooms[i], x);
      else
        say_served (p, sheet->data->blocks->block_of_event[event]);
      last_x = x;
    }
}

static void
say_hole (Picture *p)
{
  const TesseraParts *parts = &p->document->described.parts;
  g_autofree char *words_of =
      g_strdup_printf ("largest hole %s", TESSERA_SIZE (parts->largest_hole_bytes));
  g_autoptr (PangoLayout) text = NULL;
  graphene_rect_t box;
  double x, top, end;
  int w, h;

  if (!hole_box (p, &box))
    return;
  text = text_new (p, words_of, &w, &h);
  /* In the middle of what can be seen of it. */
  top = MAX (box.origin.y, 0);
  end = MIN ((double) (box.origin.y + box.size.height), p->height);
  if (end - top <= h + 4)
    return;
  x = (double) box.origin.x - w - 8;
  say (p, text, x > 0 ? x : box.origin.x + box.size.width + 8, (top + end - h) / 2,
       (end - top - h) / 2, p->palette->accent);
}

static void
say_pool (Picture *p)
{
  const TesseraLayout *layout = p->sheet->layout;
  g_autofree char *words_of =
      g_strdup_printf ("the plan's pool %s", TESSERA_SIZE (layout->pool_bytes));
  int w, h;
  g_autoptr (PangoLayout) text = text_new (p, words_of, &w, &h);
  graphene_rect_t box;

  if (pool_box (p, &box) && box.size.height > (float) h + 8)
    say (p, text, MIN ((double) (box.origin.x + box.size.width), p->width) - w - 10,
         box.origin.y + 5, MOST_WAY, p->palette->accent);
}

/* The outline of what is selected says more than the grid. */
static void
avoid_selected (Picture *p)
{
  graphene_rect_t box;

  if (block_box (p, p->document->selected, &box) && box.size.width < SMALL_BLOCK &&
      box.size.height < SMALL_BLOCK)
    tessera_labels_avoid (&p->room, graphene_rect_inset (&box, -2, -2));
}

/* Above its line, else below, or not. */
static void
say_grid (Picture *p)
{
  const TesseraView *v = &p->document->view;
  double step = tessera_canvas_grid_step_bytes (p->canvas);
  uint32_t rgb = p->palette->dim;

  for (double at = ceil (v->y0 / step) * step; at < v->y1; at += step)
    {
      double y = round (tessera_canvas_y_of (p->canvas, at));
      g_autofree char *size = NULL;
      g_autoptr (PangoLayout) text = NULL;
      int w, h;

      if (at <= 0 || y > p->height - 4)
        continue;
      size = tessera_describe_height ((uint64_t) at, step);
      text = text_new (p, size, &w, &h);
      if (y <= h + 2 || !say (p, text, MARGIN, y - h - 3, 0, rgb))
        say (p, text, MARGIN, y + 3, 0, rgb);
    }
}

/* --- the band, and all of it ------------------------------------------------------ */

/* What the band covers: bytes of address and events of time. */
static void
draw_band_words (Picture *p, uint32_t rgb)
{
  const TesseraAxis *axis = p->sheet->axis;
  TesseraView view = tessera_canvas_band_view (p->canvas);
  uint32_t n_events =
      tessera_axis_event_at (axis, view.t1) - tessera_axis_event_at (axis, view.t0) + 1;
  g_autofree char *text =
      g_strdup_printf ("%s %s × %s",
                       p->canvas->band == TESSERA_BAND_ZOOM          ? "zoom into"
                       : p->canvas->band == TESSERA_BAND_SELECT_MORE ? "select also"
                                                                     : "select",
                       TESSERA_SIZE ((uint64_t) MAX (view.y1 - view.y0, 0)),
                       TESSERA_COUNTED (n_events, "event"));
  g_autoptr (PangoLayout) layout =
      tessera_text_new (p->canvas->panel.box, text, 0.85, FALSE);
  int w, h;
  double x, y;

  pango_layout_get_pixel_size (layout, &w, &h);
  x = CLAMP (MIN (p->canvas->band_x, p->canvas->band_end_x) + 5, 5,
             MAX (p->width - w - 5, 5));
  y = MIN (p->canvas->band_y, p->canvas->band_end_y) - h - 4;
  if (y < 2)
    y = MIN (p->canvas->band_y, p->canvas->band_end_y) + 4;
  tessera_draw_label (p->snapshot, layout, x, y, rgb, p->palette->background);
}

static void
draw_band (Picture *p)
{
  double x = MIN (p->canvas->band_x, p->canvas->band_end_x);
  double y = MIN (p->canvas->band_y, p->canvas->band_end_y);
  double width = fabs (p->canvas->band_end_x - p->canvas->band_x);
  double height = fabs (p->canvas->band_end_y - p->canvas->band_y);

  uint32_t rgb =
      p->canvas->band == TESSERA_BAND_ZOOM ? p->palette->accent : p->palette->select;

  if (p->canvas->band == TESSERA_BAND_NONE)
    return;
  tessera_draw_box (p->snapshot, TESSERA_BOX (x, y, width, height), rgb, 0.15);
  tessera_draw_outline (p->snapshot, TESSERA_BOX (x, y, width, height), 1, rgb);
  draw_band_words (p, rgb);
}

void
tessera_canvas_draw_marks (TesseraCanvas *self, GtkSnapshot *snapshot)
{
  TesseraDocument *document = self->panel.document;
  Picture picture = { .canvas = self,
                      .document = document,
                      .sheet = tessera_canvas_sheet (self),
                      .snapshot = snapshot,
                      .palette = tessera_palette (document->dark),
                      .width = gtk_widget_get_width (self->panel.box),
                      .height = gtk_widget_get_height (self->panel.box) };
  Picture *p = &picture;
  graphene_rect_t box;

  draw_grid (p);
  draw_moment (p);
  if (pool_box (p, &box))
    tessera_draw_outline (snapshot, &box, 1.5, p->palette->accent);
  draw_bound (p);
  if (hole_box (p, &box))
    tessera_draw_outline (snapshot, &box, 2, p->palette->accent);
  draw_failures (p);
  draw_device (p);
  if (document->hovered != document->selected)
    draw_block (p, document->hovered, 1, p->palette->text);
  draw_block (p, document->selected, 2, p->palette->select);
  tessera_labels_begin (&p->room, p->width, p->height);
  say_lines (p);
  avoid_selected (p);
  say_hole (p);
  say_failures (p);
  say_pool (p);
  say_grid (p);
  tessera_canvas_draw_names (self, snapshot, &p->room);
  draw_band (p);
}
