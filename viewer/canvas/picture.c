/*
 * The picture of one layout, which workers draw and the main thread only shows.
 *
 * A part of it at a time: what is seen, and some of what lies around that, at the scale in
 * force. It is one cached GskCairoNode: on the cairo renderer that is four times cheaper
 * than a texture, which would be copied every frame. While the next part is drawn, the last
 * one is stretched into its place, and behind it the picture of everything, if that was ever
 * seen, so that zooming out never shows nothing.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/canvas/private.h"

#include <math.h>

/* Drawn beyond each edge, as a share of what is seen: so far it moves without a worker. */
#define AROUND 0.2
/* Rows of pixels that a worker draws at a time. */
#define BAND 128
/* Cairo cannot draw an image larger than 32,767 pixels; one that is stretched so far shows
 * nothing anyhow. */
#define MOST_STRETCHED 32000

/* Of a layout at one scale and in one colouring. */
typedef struct
{
  TesseraPicture *picture; /* NULL: nobody waits for it any more */
  TesseraSheet *sheet;
  TesseraPaint *paint;
  double sx, sy; /* device pixels per unit of time, which is all of it, and per byte */
  int64_t x, y;  /* of its lower left corner, from the beginning of time and the bottom */
  int width, height; /* device pixels */
  gboolean is_whole; /* made for a view of everything */
  uint32_t *pixels;  /* ... until they are all drawn, and from then on ... */
  GskRenderNode *node;
  int n_bands; /* atomic: to be drawn yet */
} Part;

struct TesseraPicture
{
  void (*ready) (gpointer user);
  gpointer user;
  TesseraSheet *sheet;
  TesseraPaint *paint;
  Part *shown, *whole; /* NULL: none yet; they may be one */
  Part *coming;        /* workers are at it; NULL: none */
  gboolean is_complete;
};

static void
part_clear (gpointer user)
{
  Part *part = user;

  g_clear_pointer (&part->node, gsk_render_node_unref);
  g_free (part->pixels);
  tessera_sheet_unref (part->sheet);
  tessera_paint_unref (part->paint);
}

/* References are the main thread's alone. */
static void
part_unref (Part *part)
{
  g_rc_box_release_full (part, part_clear);
}

/* --- workers ---------------------------------------------------------------------- */

typedef struct
{
  Part *part;
  int row; /* the first of its pixels, from the top */
} Band;

static gboolean
deliver (gpointer user)
{
  static const cairo_user_data_key_t owner;
  Part *part = user;
  TesseraPicture *self = part->picture;
  cairo_surface_t *image;

  if (self == NULL)
    return G_SOURCE_REMOVE;
  image = cairo_image_surface_create_for_data ((unsigned char *) part->pixels,
                                               CAIRO_FORMAT_RGB24, part->width,
                                               part->height, part->width * 4);
  cairo_surface_set_user_data (image, &owner, g_steal_pointer (&part->pixels), g_free);
  part->node = tessera_image_node (image, part->width, part->height);
  self->coming = NULL;
  g_clear_pointer (&self->shown, part_unref);
  self->shown = g_rc_box_acquire (part);
  if (part->is_whole)
    {
      g_clear_pointer (&self->whole, part_unref);
      self->whole = g_rc_box_acquire (part);
    }
  self->ready (self->user);
  return G_SOURCE_REMOVE;
}

static void
draw_band (gpointer user, gpointer unused)
{
  g_autofree Band *band = user;
  Part *part = band->part;
  int height = MIN (BAND, part->height - band->row);
  int64_t top = part->y + part->height - band->row;
  const TesseraView view = {
    .t0 = (double) part->x / part->sx,
    .t1 = (double) (part->x + part->width) / part->sx,
    .y0 = (double) (top - height) / part->sy,
    .y1 = (double) top / part->sy,
  };

  tessera_scene_render (part->sheet->scene, &view, &part->paint->ink,
                        part->pixels + (size_t) band->row * (size_t) part->width,
                        (size_t) part->width, part->width, height, part->x, -top);
  if (g_atomic_int_dec_and_test (&part->n_bands))
    g_idle_add_full (G_PRIORITY_DEFAULT, deliver, part, (GDestroyNotify) part_unref);
}

static void
start (Part *part)
{
  static GThreadPool *workers;

  if (workers == NULL)
    workers = g_thread_pool_new (draw_band, NULL,
                                 (int) MAX (1, g_get_num_processors () - 1), FALSE, NULL);
  part->pixels = g_new (uint32_t, (size_t) part->width * (size_t) part->height);
  part->n_bands = (part->height + BAND - 1) / BAND;
  for (int row = 0; row < part->height; row += BAND)
    g_thread_pool_push (workers, g_memdup2 (&(Band){ part, row }, sizeof (Band)), NULL);
}

/* --- painting --------------------------------------------------------------------- */

/* What is seen, in device pixels. */
typedef struct
{
  double sx, sy;
  int64_t x, y; /* as a part's */
  int width, height;
  gboolean is_whole;
} Window;

static Window
window_of (const TesseraPicture *self, const TesseraView *view, int width, int height)
{
  double top = (double) tessera_scene_height_bytes (self->sheet->scene);
  Window w = { .sx = width / (view->t1 - view->t0),
               .sy = height / (view->y1 - view->y0) };

  w.x = (int64_t) round (view->t0 * w.sx);
  w.y = (int64_t) round (view->y0 * w.sy);
  w.width = width;
  w.height = height;
  w.is_whole = view->t0 <= 0 && view->t1 >= 1 && view->y0 <= 0 && view->y1 >= top;
  return w;
}

/* Whether a part is just what is to be seen, or more. */
static gboolean
covers (const TesseraPicture *self, const Part *part, const Window *w)
{
  return part != NULL && part->sheet == self->sheet && part->paint == self->paint &&
         fabs (part->sx / w->sx - 1) < 1e-6 && fabs (part->sy / w->sy - 1) < 1e-6 &&
         part->x <= w->x && part->x + part->width >= w->x + w->width && part->y <= w->y &&
         part->y + part->height >= w->y + w->height;
}

/* [*begin, *begin + *size) is seen: as much around it as there is, up to @end. */
static void
widen (int64_t *begin, int *size, double end)
{
  int64_t around = (int64_t) (*size * AROUND), last = *begin + *size;
  int64_t most = MAX (MIN (last + around, (int64_t) ceil (end)), last);

  *begin = MAX (*begin - around, MIN (*begin, 0));
  *size = (int) (most - *begin);
}

static void
ask (TesseraPicture *self, const Window *w)
{
  Part *part = self->coming = g_rc_box_new0 (Part);
  double top = (double) tessera_scene_height_bytes (self->sheet->scene);

  *part = (Part){ .picture = self,
                  .sheet = tessera_sheet_ref (self->sheet),
                  .paint = tessera_paint_ref (self->paint),
                  .sx = w->sx,
                  .sy = w->sy,
                  .x = w->x,
                  .y = w->y,
                  .width = w->width,
                  .height = w->height,
                  .is_whole = w->is_whole };
  widen (&part->x, &part->width, w->sx);
  widen (&part->y, &part->height, top * w->sy);
  start (part);
}

/* Stretched to where its content is now. Edges lie on whole pixels. */
static void
append (const Part *part, GtkSnapshot *snapshot, const Window *w)
{
  double fx = w->sx / part->sx, fy = w->sy / part->sy;
  double x0 = round ((double) part->x * fx) - (double) w->x;
  double x1 = round ((double) (part->x + part->width) * fx) - (double) w->x;
  double bottom = w->height + (double) w->y;
  double y0 = bottom - round ((double) (part->y + part->height) * fy);
  double y1 = bottom - round ((double) part->y * fy);

  if (x1 <= MAX (x0, 0) || y1 <= MAX (y0, 0) || x0 >= w->width || y0 >= w->height ||
      x1 - x0 > MOST_STRETCHED || y1 - y0 > MOST_STRETCHED)
    return;
  gtk_snapshot_save (snapshot);
  gtk_snapshot_translate (snapshot, &GRAPHENE_POINT_INIT ((float) x0, (float) y0));
  gtk_snapshot_scale (snapshot, (float) ((x1 - x0) / part->width),
                      (float) ((y1 - y0) / part->height));
  gtk_snapshot_append_node (snapshot, part->node);
  gtk_snapshot_restore (snapshot);
}

void
tessera_picture_snapshot (TesseraPicture *self,
                          GtkSnapshot *snapshot,
                          const TesseraView *view,
                          int width,
                          int height,
                          int scale)
{
  Window w;

  if (self->sheet == NULL || self->paint == NULL || width <= 0 || height <= 0)
    return;
  w = window_of (self, view, width * scale, height * scale);
  self->is_complete = covers (self, self->shown, &w);
  if (!self->is_complete && self->coming == NULL)
    ask (self, &w);
  gtk_snapshot_save (snapshot);
  gtk_snapshot_scale (snapshot, 1.0f / (float) scale, 1.0f / (float) scale);
  if (!self->is_complete && self->whole != NULL && self->whole != self->shown)
    append (self->whole, snapshot, &w);
  if (self->shown != NULL)
    append (self->shown, snapshot, &w);
  gtk_snapshot_restore (snapshot);
}

gboolean
tessera_picture_is_complete (const TesseraPicture *self)
{
  return self->sheet == NULL || self->is_complete;
}

/* --- life ------------------------------------------------------------------------- */

TesseraPicture *
tessera_picture_new (void (*ready) (gpointer user), gpointer user)
{
  TesseraPicture *self = g_new0 (TesseraPicture, 1);

  self->ready = ready;
  self->user = user;
  return self;
}

void
tessera_picture_set (TesseraPicture *self, TesseraSheet *sheet, TesseraPaint *paint)
{
  if (self->sheet == sheet && self->paint == paint)
    return;
  self->is_complete = FALSE;
  tessera_paint_unref (self->paint);
  self->paint = tessera_paint_ref (paint);
  if (self->sheet == sheet)
    return;
  if (self->coming != NULL)
    self->coming->picture = NULL;
  self->coming = NULL;
  g_clear_pointer (&self->shown, part_unref);
  g_clear_pointer (&self->whole, part_unref);
  tessera_sheet_unref (self->sheet);
  self->sheet = tessera_sheet_ref (sheet);
}

void
tessera_picture_free (TesseraPicture *self)
{
  tessera_picture_set (self, NULL, NULL);
  g_free (self);
}
