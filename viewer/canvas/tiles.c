/*
 * The picture of one layout in pieces that workers draw and the main thread only shows.
 *
 * There are three levels of tiles: in front the one that is wanted; behind it the last
 * one that was complete; behind that the whole picture, if it was ever seen, so that
 * zooming out never shows nothing.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/canvas/tiles.h"

#include <math.h>

#define SIZE TESSERA_TILE_PIXELS
/* Tiles kept of one level: 64 MiB of pixels. */
#define MOST_TILES 256

/* Cairo cannot draw an image larger than 32,767 pixels; one pixel of a tile that is
 * stretched so far tells nothing anyhow. */
#define MOST_STRETCHED 16384

struct TesseraTiles
{
  void (*ready) (gpointer user);
  gpointer user;
  TesseraSheet *sheet;
  TesseraPaint *paint;
  TesseraTileLevel *front;
  TesseraTileLevel *back;
  TesseraTileLevel *base;
};

/* A view in device pixels of a level. */
typedef struct
{
  double left, right; /* pixels from the beginning of time */
  double low, high;   /* pixels from the bottom of the world */
  double width, height;
} Window;

static Window
window_of (const TesseraTileLevel *level,
           const TesseraView *view,
           double width,
           double height)
{
  return (Window){
    .left = view->t0 * level->sx,
    .right = view->t1 * level->sx,
    .low = view->y0 * level->sy,
    .high = view->y1 * level->sy,
    .width = width,
    .height = height,
  };
}

static void
append (GtkSnapshot *snapshot,
        GskRenderNode *node,
        double x0,
        double y0,
        double x1,
        double y1)
{
  gtk_snapshot_save (snapshot);
  gtk_snapshot_translate (snapshot, &GRAPHENE_POINT_INIT ((float) x0, (float) y0));
  gtk_snapshot_scale (snapshot, (float) ((x1 - x0) / SIZE), (float) ((y1 - y0) / SIZE));
  gtk_snapshot_append_node (snapshot, node);
  gtk_snapshot_restore (snapshot);
}

typedef struct
{
  GtkSnapshot *snapshot;
  Window window;
  double fx, fy; /* this scale in the level's pixels */
} Stretch;

/* An old tile in the place where its content is now. Edges lie on whole pixels, so that
 * no seam shows between two of them. */
static void
append_stretched (TesseraTilePlace place, GskRenderNode *node, gpointer user)
{
  const Stretch *s = user;
  const Window *w = &s->window;
  double left = (double) place.column * SIZE - w->left;
  double low = (double) place.row * SIZE;
  double x0 = round (left * s->fx), x1 = round ((left + SIZE) * s->fx);
  double y0 = round ((w->high - low - SIZE) * s->fy),
         y1 = round ((w->high - low) * s->fy);

  if (x1 > MAX (x0, 0) && y1 > MAX (y0, 0) && x0 < w->width && y0 < w->height &&
      x1 - x0 < MOST_STRETCHED && y1 - y0 < MOST_STRETCHED)
    append (s->snapshot, node, x0, y0, x1, y1);
}

static void
append_level (const TesseraTileLevel *level,
              GtkSnapshot *snapshot,
              const TesseraView *view,
              double width,
              double height)
{
  Stretch s = { snapshot, window_of (level, view, width, height), 0, 0 };

  s.fx = width / (s.window.right - s.window.left);
  s.fy = height / (s.window.high - s.window.low);
  tessera_tile_level_for_each (level, append_stretched, &s);
}

static gboolean
is_within (const TesseraView *inner, const TesseraView *outer)
{
  return inner->t0 >= outer->t0 && inner->t1 <= outer->t1 && inner->y0 >= outer->y0 &&
         inner->y1 <= outer->y1;
}

/* The whole picture is painted only where the last one leaves something bare. */
static void
append_old_levels (const TesseraTiles *tiles,
                   GtkSnapshot *snapshot,
                   const TesseraView *view,
                   double width,
                   double height)
{
  if (tiles->base != NULL &&
      (tiles->back == NULL || !is_within (view, &tiles->back->view)))
    append_level (tiles->base, snapshot, view, width, height);
  if (tiles->back != NULL)
    append_level (tiles->back, snapshot, view, width, height);
}

/* Calls @each for every tile that the window needs. */
static void
for_each_wanted (const Window *w,
                 void (*each) (TesseraTilePlace place, gpointer user),
                 gpointer user)
{
  int64_t first_column = (int64_t) floor (w->left / SIZE);
  int64_t last_column = (int64_t) ceil ((w->left + w->width + 1) / SIZE);
  int64_t first_row = (int64_t) floor ((w->low - 1) / SIZE);
  int64_t last_row = (int64_t) ceil ((w->low + w->height + 1) / SIZE);

  for (int64_t row = MAX (first_row, 0); row < last_row; row++)
    for (int64_t column = MAX (first_column, 0); column < last_column; column++)
      each ((TesseraTilePlace){ column, row }, user);
}

typedef struct
{
  TesseraTiles *tiles;
  GtkSnapshot *snapshot;
  const Window *window;
  double focus_x, focus_y; /* device pixels within the window */
  size_t n_missing;
} Pass;

static void
want (TesseraTilePlace place, gpointer user)
{
  Pass *pass = user;
  GskRenderNode *node;
  double x, y;

  if (tessera_tile_level_find (pass->tiles->front, place, &node))
    {
      pass->n_missing += node == NULL;
      return;
    }
  x = ((double) place.column + 0.5) * SIZE - pass->window->left - pass->focus_x;
  y = ((double) place.row + 0.5) * SIZE - pass->window->low -
      (pass->window->height - pass->focus_y);
  tessera_tile_level_request (pass->tiles->front, place, x * x + y * y);
  pass->n_missing++;
}

static void
show (TesseraTilePlace place, gpointer user)
{
  Pass *pass = user;
  const Window *w = pass->window;
  GskRenderNode *node;
  double x = (double) place.column * SIZE - round (w->left);
  double y = w->height + round (w->low) - (double) (place.row + 1) * SIZE;

  if (tessera_tile_level_find (pass->tiles->front, place, &node) && node != NULL)
    append (pass->snapshot, node, x, y, x + SIZE, y + SIZE);
}

static gboolean
is_far (TesseraTilePlace place, gpointer user)
{
  const Window *w = user;
  double x = (double) place.column * SIZE - w->left;
  double y = (double) place.row * SIZE - w->low;

  return x < -w->width || x > 2 * w->width || y < -w->height || y > 2 * w->height;
}

/* The front level must have this scale, layout and colouring. */
static void
set_front (TesseraTiles *tiles, double sx, double sy, gboolean whole)
{
  TesseraTileLevel *front = tiles->front;

  if (front != NULL && fabs (front->sx / sx - 1) < 1e-6 &&
      fabs (front->sy / sy - 1) < 1e-6 && front->sheet == tiles->sheet &&
      front->paint == tiles->paint)
    return;
  if (front != NULL && front->complete && front->sheet == tiles->sheet)
    {
      TesseraTileLevel **place = front->whole ? &tiles->base : &tiles->back;

      g_clear_pointer (place, tessera_tile_level_drop);
      if (front->whole)
        g_clear_pointer (&tiles->back, tessera_tile_level_drop);
      *place = front;
    }
  else if (front != NULL)
    tessera_tile_level_drop (front);
  tiles->front = tessera_tile_level_new (tiles->sheet, tiles->paint, sx, sy, tiles->ready,
                                         tiles->user);
  tiles->front->whole = whole;
}

void
tessera_tiles_snapshot (TesseraTiles *tiles,
                        GtkSnapshot *snapshot,
                        const TesseraView *view,
                        int width,
                        int height,
                        int scale,
                        double focus_x,
                        double focus_y)
{
  double w = (double) width * scale, h = (double) height * scale;
  Pass pass = { tiles, snapshot, NULL, focus_x * scale, focus_y * scale, 0 };
  Window window;

  if (tiles->sheet == NULL || tiles->paint == NULL || width <= 0 || height <= 0)
    return;
  set_front (tiles, w / (view->t1 - view->t0), h / (view->y1 - view->y0),
             view->t0 <= 0 && view->t1 >= 1 && view->y0 <= 0 &&
                 view->y1 >= (double) tessera_scene_height_bytes (tiles->sheet->scene));
  window = window_of (tiles->front, view, w, h);
  pass.window = &window;
  for_each_wanted (&window, want, &pass);
  tiles->front->complete = pass.n_missing == 0;
  tiles->front->view = *view;

  gtk_snapshot_save (snapshot);
  gtk_snapshot_scale (snapshot, 1.0f / (float) scale, 1.0f / (float) scale);
  if (!tiles->front->complete)
    append_old_levels (tiles, snapshot, view, w, h);
  for_each_wanted (&window, show, &pass);
  gtk_snapshot_restore (snapshot);
  if (tessera_tile_level_count (tiles->front) > MOST_TILES)
    tessera_tile_level_forget (tiles->front, is_far, &window);
}

gboolean
tessera_tiles_is_complete (const TesseraTiles *tiles)
{
  return tiles->sheet == NULL || (tiles->front != NULL && tiles->front->complete);
}

/* --- life --------------------------------------------------------------------------- */

static void
drop_levels (TesseraTiles *tiles)
{
  g_clear_pointer (&tiles->front, tessera_tile_level_drop);
  g_clear_pointer (&tiles->back, tessera_tile_level_drop);
  g_clear_pointer (&tiles->base, tessera_tile_level_drop);
}

TesseraTiles *
tessera_tiles_new (void (*ready) (gpointer user), gpointer user)
{
  TesseraTiles *tiles = g_new0 (TesseraTiles, 1);

  tiles->ready = ready;
  tiles->user = user;
  return tiles;
}

void
tessera_tiles_free (TesseraTiles *tiles)
{
  tessera_tiles_set_sheet (tiles, NULL);
  tessera_tiles_set_paint (tiles, NULL);
  g_free (tiles);
}

void
tessera_tiles_set_sheet (TesseraTiles *tiles, TesseraSheet *sheet)
{
  if (tiles->sheet == sheet)
    return;
  drop_levels (tiles);
  tessera_sheet_unref (tiles->sheet);
  tiles->sheet = sheet != NULL ? tessera_sheet_ref (sheet) : NULL;
}

void
tessera_tiles_set_paint (TesseraTiles *tiles, TesseraPaint *paint)
{
  if (tiles->paint == paint)
    return;
  tessera_paint_unref (tiles->paint);
  tiles->paint = paint != NULL ? tessera_paint_ref (paint) : NULL;
}
