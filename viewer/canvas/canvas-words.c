/*
 * What the lines and marks on a canvas are, in words. The device and the bound are told
 * first; what finds no room beside what was told before is left out.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/canvas/canvas-private.h"
#include "viewer/kit/draw.h"
#include "viewer/canvas/labels.h"
#include "viewer/model/document.h"

#include <math.h>

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

typedef struct
{
  TesseraCanvas *canvas;
  GtkSnapshot *snapshot;
  const TesseraPalette *palette;
  TesseraLabels room;
  int width, height;
} Words;

static PangoLayout *
text_new (Words *words, const char *text, int *out_width, int *out_height)
{
  PangoLayout *layout = tessera_text_new (GTK_WIDGET (words->canvas), text, 0.85, FALSE);

  pango_layout_get_pixel_size (layout, out_width, out_height);
  return layout;
}

/* At (@x, @y), or as near as there is room. Returns: whether there was any. */
static gboolean
say (Words *words, PangoLayout *text, double x, double y, double most_way, uint32_t rgb)
{
  graphene_rect_t box;
  int w, h;

  pango_layout_get_pixel_size (text, &w, &h);
  box = GRAPHENE_RECT_INIT ((float) x - PAD, (float) round (y), (float) w + 2 * PAD,
                            (float) h);
  if (!tessera_labels_place (&words->room, &box, most_way))
    return FALSE;
  tessera_draw_label (words->snapshot, text, (double) box.origin.x + PAD,
                      (double) box.origin.y, rgb, words->palette->background);
  return TRUE;
}

/* --- lines ------------------------------------------------------------------------- */

/* Where a line lies, which nothing is written across. Returns: whether it is seen. */
static gboolean
avoid_line (Words *words, uint64_t bytes, double *out_y)
{
  double y = round (tessera_canvas_y_of (words->canvas, (double) bytes));

  *out_y = y;
  if (bytes == 0 || y < 0 || y > words->height)
    return FALSE;
  tessera_labels_avoid (&words->room,
                        &GRAPHENE_RECT_INIT (0, (float) y - 1, (float) words->width, 1));
  return TRUE;
}

static void
say_lines (Words *words)
{
  TesseraDocument *document = words->canvas->document;
  uint64_t device = document->ceiling_bytes, bound = tessera_document_bound (document);
  g_autofree char *device_size = tessera_describe_bytes (device);
  g_autofree char *device_text = g_strdup_printf (
      "%s %s", document->ceiling_is_device ? "device" : "obtainable", device_size);
  g_autofree char *bound_size = tessera_describe_bytes (bound);
  g_autofree char *bound_text = g_strdup_printf ("bound %s", bound_size);
  g_autoptr (PangoLayout) text = NULL;
  double device_y, bound_y;
  gboolean has_device = avoid_line (words, device, &device_y);
  gboolean has_bound = avoid_line (words, bound, &bound_y);
  int w, h;

  if (has_device)
    {
      text = text_new (words, device_text, &w, &h);
      say (words, text, words->width - w - MARGIN, device_y + 3, MOST_WAY,
           words->palette->bad);
      g_clear_object (&text);
    }
  if (!has_bound)
    return;
  text = text_new (words, bound_text, &w, &h);
  say (words, text, MARGIN, bound_y - h - 4, MOST_WAY, words->palette->good);
}

/* --- marks ------------------------------------------------------------------------- */

static void
say_failure (Words *words, const TesseraOom *oom, double x)
{
  TesseraCanvas *self = words->canvas;
  const TesseraParts *parts = &self->document->verdict.parts;
  g_autofree char *asked = tessera_describe_bytes (oom->size_bytes);
  g_autofree char *hole = tessera_describe_bytes (parts->largest_hole_bytes);
  g_autofree char *text = parts->event_index == oom->event_index
                              ? g_strdup_printf ("asked %s, hole %s", asked, hole)
                              : g_strdup_printf ("asked %s", asked);
  g_autoptr (PangoLayout) title =
      tessera_text_new (GTK_WIDGET (self), "out of memory", 0.9, TRUE);
  g_autoptr (PangoLayout) line = NULL;
  graphene_rect_t box;
  int w1, w2, h, h2;
  double y = tessera_canvas_y_of (self, (double) self->document->ceiling_bytes) + 4;

  pango_layout_get_pixel_size (title, &w1, &h);
  line = text_new (words, text, &w2, &h2);
  /* Below the device's line, to the side of the mark where there is room. */
  w2 = MAX (w1, w2) + 12;
  x = x - w2 - 6 > 0 ? x - w2 - 6 : x + 8;
  box = GRAPHENE_RECT_INIT ((float) x,
                            (float) round (self->document->ceiling_bytes > 0 ? y : 8),
                            (float) w2, (float) (h + h2 + 8));
  /* Where it is too low for both lines, the title says what the mark is. */
  if (!tessera_labels_place (&words->room, &box, words->height))
    {
      g_clear_object (&line);
      box.size = GRAPHENE_SIZE_INIT ((float) w1 + 12, (float) h + 6);
      if (!tessera_labels_place (&words->room, &box, words->height))
        return;
    }
  x = (double) box.origin.x;
  y = (double) box.origin.y;
  tessera_draw_pill (words->snapshot, x, y, (double) box.size.width,
                     (double) box.size.height, 4, words->palette->background, 0.88);
  tessera_draw_text (words->snapshot, title, x + 6, y + 3, words->palette->bad);
  if (line != NULL)
    tessera_draw_text (words->snapshot, line, x + 6, y + 4 + h, words->palette->dim);
}

static void
say_failures (Words *words)
{
  TesseraCanvas *self = words->canvas;
  const TesseraSheet *sheet = tessera_canvas_sheet (self);
  const TesseraLayout *layout = sheet->layout;
  double last_x = -INFINITY;

  /* A plan has room for them. */
  for (size_t i = 0; sheet->planned == NULL && i < layout->n_ooms; i++)
    {
      double x = tessera_canvas_x_of (
          self, tessera_sheet_t_of (sheet, layout->ooms[i].event_index));

      if (x < -MARGIN || x > words->width + MARGIN || x - last_x <= BETWEEN_FAILURES)
        continue;
      say_failure (words, &layout->ooms[i], x);
      last_x = x;
    }
}

static void
say_hole (Words *words)
{
  const TesseraParts *parts = &words->canvas->document->told.parts;
  g_autofree char *size = tessera_describe_bytes (parts->largest_hole_bytes);
  g_autofree char *words_of = g_strdup_printf ("largest hole %s", size);
  g_autoptr (PangoLayout) text = NULL;
  graphene_rect_t box;
  double x, top, end;
  int w, h;

  if (!tessera_canvas_hole_box (words->canvas, &box))
    return;
  text = text_new (words, words_of, &w, &h);
  /* In the middle of what can be seen of it. */
  top = MAX ((double) box.origin.y, 0);
  end = MIN ((double) box.origin.y + (double) box.size.height, words->height);
  if (end - top <= h + 4)
    return;
  x = (double) box.origin.x - w - 8;
  say (words, text, x > 0 ? x : (double) box.origin.x + (double) box.size.width + 8,
       (top + end - h) / 2, (end - top - h) / 2, words->palette->accent);
}

static void
say_pool (Words *words)
{
  const TesseraLayout *layout = tessera_canvas_sheet (words->canvas)->layout;
  g_autofree char *size = tessera_describe_bytes (layout->pool_bytes);
  g_autofree char *words_of = g_strdup_printf ("the plan's pool %s", size);
  int w, h;
  g_autoptr (PangoLayout) text = text_new (words, words_of, &w, &h);
  graphene_rect_t box;

  if (tessera_canvas_pool_box (words->canvas, &box) && box.size.height > (float) h + 8)
    say (words, text,
         MIN ((double) box.origin.x + (double) box.size.width, words->width) - w - 10,
         (double) box.origin.y + 5, MOST_WAY, words->palette->accent);
}

/* The outline of what is selected says more than the grid. */
static void
avoid_selected (Words *words)
{
  TesseraCanvas *self = words->canvas;
  TesseraView rect;
  double x, y, width, height;

  if (self->document->selected == TESSERA_NONE ||
      !tessera_scene_block_rect (tessera_canvas_sheet (self)->scene,
                                 self->document->selected, &rect))
    return;
  x = tessera_canvas_visible_x (self, rect.t0);
  y = tessera_canvas_visible_y (self, rect.y1);
  width = tessera_canvas_visible_x (self, rect.t1) - x;
  height = tessera_canvas_visible_y (self, rect.y0) - y;
  if (width < SMALL_BLOCK && height < SMALL_BLOCK)
    tessera_labels_avoid (&words->room,
                          &GRAPHENE_RECT_INIT ((float) x - 2, (float) y - 2,
                                               (float) width + 4, (float) height + 4));
}

/* Above its line, else below, or not. */
static void
say_grid (Words *words)
{
  const TesseraView *v = &words->canvas->document->view;
  double step = tessera_canvas_grid_step_bytes (words->canvas);
  uint32_t rgb = words->palette->dim;

  for (double at = ceil (v->y0 / step) * step; at < v->y1; at += step)
    {
      double y = round (tessera_canvas_y_of (words->canvas, at));
      g_autofree char *size = NULL;
      g_autoptr (PangoLayout) text = NULL;
      int w, h;

      if (at <= 0 || y > words->height - 4)
        continue;
      size = tessera_describe_height ((uint64_t) at, step);
      text = text_new (words, size, &w, &h);
      if (y <= h + 2 || !say (words, text, MARGIN, y - h - 3, 0, rgb))
        say (words, text, MARGIN, y + 3, 0, rgb);
    }
}

void
tessera_canvas_draw_words (TesseraCanvas *self, GtkSnapshot *snapshot)
{
  Words words = { .canvas = self,
                  .snapshot = snapshot,
                  .palette = tessera_palette (self->document->dark),
                  .width = gtk_widget_get_width (GTK_WIDGET (self)),
                  .height = gtk_widget_get_height (GTK_WIDGET (self)) };

  tessera_labels_begin (&words.room, words.width, words.height);
  say_lines (&words);
  avoid_selected (&words);
  say_hole (&words);
  say_failures (&words);
  say_pool (&words);
  say_grid (&words);
}
