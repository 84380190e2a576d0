/*
 * The picture of one layout in pieces that workers draw and the main thread only shows.
 *
 * A level is all tiles of one scale, colouring and layout. There are three: in front the
 * one that is wanted; behind it the last one that was complete; behind that the whole
 * picture, if it was ever seen, so that zooming out never shows nothing.
 *
 * Each tile is one cached GskCairoNode: on the cairo renderer that is four times cheaper
 * than a texture, which would be copied every frame.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/tiles.h"

#include <math.h>

#define SIZE TESSERA_TILE_PIXELS
/* Keys hold column and row in one number; the view's least spans keep rows below this. */
#define ROW_BITS 28
/* Tiles kept of one level beside those that are shown: 64 MiB of pixels. */
#define MOST_TILES 256

typedef struct
{
  gatomicrefcount references;
  double sx; /* device pixels per unit of time: of the whole axis */
  double sy; /* device pixels per byte */
  gboolean whole;
  gboolean complete;
  int dropped;       /* atomic: nobody waits for its tiles any more */
  GHashTable *nodes; /* tile key -> GskRenderNode, or NULL while it is drawn */
  TesseraSheet *sheet;
  TesseraPaint *paint;
} Level;

struct TesseraTiles
{
  void (*ready) (gpointer user);
  gpointer user;
  gatomicrefcount references; /* ours and one per tile on its way; main thread drops */
  TesseraSheet *sheet;
  TesseraPaint *paint;
  Level *front;
  Level *back;
  Level *base;
};

typedef struct
{
  TesseraTiles *tiles;
  Level *level;
  int64_t column;
  int64_t row; /* upwards from the bottom of the world */
  double distance;
  uint32_t *pixels;
} Tile;

/* --- levels ------------------------------------------------------------------------ */

static void
node_unref (gpointer node)
{
  if (node != NULL)
    gsk_render_node_unref (node);
}

static Level *
level_new (TesseraTiles *tiles, double sx, double sy)
{
  Level *level = g_new0 (Level, 1);

  g_atomic_ref_count_init (&level->references);
  level->sx = sx;
  level->sy = sy;
  level->nodes = g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, node_unref);
  level->sheet = tessera_sheet_ref (tiles->sheet);
  level->paint = tessera_paint_ref (tiles->paint);
  return level;
}

static void
level_unref (Level *level)
{
  if (!g_atomic_ref_count_dec (&level->references))
    return;
  g_hash_table_unref (level->nodes);
  tessera_sheet_unref (level->sheet);
  tessera_paint_unref (level->paint);
  g_free (level);
}

static void
level_drop (Level *level)
{
  g_atomic_int_set (&level->dropped, 1);
  level_unref (level);
}

static int64_t
key_of (int64_t column, int64_t row)
{
  return column * (INT64_C (1) << ROW_BITS) + row;
}

/* --- workers ------------------------------------------------------------------------ */

static void
tiles_unref (TesseraTiles *tiles)
{
  if (g_atomic_ref_count_dec (&tiles->references))
    g_free (tiles);
}

static void
tile_free (gpointer user)
{
  Tile *tile = user;

  g_free (tile->pixels);
  level_unref (tile->level);
  tiles_unref (tile->tiles);
  g_free (tile);
}

static GskRenderNode *
node_of (uint32_t *pixels)
{
  static const cairo_user_data_key_t owner;
  const graphene_rect_t bounds = GRAPHENE_RECT_INIT (0, 0, SIZE, SIZE);
  GskRenderNode *node = gsk_cairo_node_new (&bounds);
  cairo_t *cr = gsk_cairo_node_get_draw_context (node);
  cairo_surface_t *surface = cairo_image_surface_create_for_data (
      (unsigned char *) pixels, CAIRO_FORMAT_RGB24, SIZE, SIZE, SIZE * 4);

  cairo_surface_set_user_data (surface, &owner, pixels, g_free);
  cairo_set_source_surface (cr, surface, 0, 0);
  cairo_pattern_set_filter (cairo_get_source (cr), CAIRO_FILTER_NEAREST);
  cairo_paint (cr);
  cairo_destroy (cr);
  cairo_surface_destroy (surface);
  return node;
}

static gboolean
deliver (gpointer user)
{
  Tile *tile = user;
  int64_t key = key_of (tile->column, tile->row);

  if (tile->pixels == NULL || g_atomic_int_get (&tile->level->dropped) ||
      !g_hash_table_contains (tile->level->nodes, &key))
    return G_SOURCE_REMOVE;
  g_hash_table_insert (tile->level->nodes, g_memdup2 (&key, sizeof key),
                       node_of (g_steal_pointer (&tile->pixels)));
  if (tile->tiles->ready != NULL)
    tile->tiles->ready (tile->tiles->user);
  return G_SOURCE_REMOVE;
}

static void
draw_tile (gpointer user, gpointer unused)
{
  Tile *tile = user;
  Level *level = tile->level;
  TesseraView view = {
    .t0 = (double) tile->column * SIZE / level->sx,
    .t1 = (double) (tile->column + 1) * SIZE / level->sx,
    .y0 = (double) tile->row * SIZE / level->sy,
    .y1 = (double) (tile->row + 1) * SIZE / level->sy,
  };

  if (!g_atomic_int_get (&level->dropped))
    {
      tile->pixels = g_new (uint32_t, SIZE * SIZE);
      tessera_scene_render (level->sheet->scene, &view, &level->paint->ink, tile->pixels,
                            SIZE, SIZE, SIZE, tile->column * SIZE,
                            -(tile->row + 1) * SIZE);
    }
  /* The last references are given up on the main thread. */
  g_idle_add_full (G_PRIORITY_DEFAULT, deliver, tile, tile_free);
}

static int
compare_tiles (gconstpointer a, gconstpointer b, gpointer unused)
{
  const Tile *x = a, *y = b;

  return (x->distance > y->distance) - (x->distance < y->distance);
}

static GThreadPool *
workers (void)
{
  static GThreadPool *pool;

  if (pool == NULL)
    {
      pool = g_thread_pool_new (draw_tile, NULL,
                                (int) MAX (1, g_get_num_processors () - 1), FALSE, NULL);
      g_thread_pool_set_sort_function (pool, compare_tiles, NULL);
    }
  return pool;
}

static void
request (TesseraTiles *tiles, int64_t column, int64_t row, double distance)
{
  Tile *tile = g_new0 (Tile, 1);
  int64_t key = key_of (column, row);

  g_atomic_ref_count_inc (&tiles->references);
  g_atomic_ref_count_inc (&tiles->front->references);
  tile->tiles = tiles;
  tile->level = tiles->front;
  tile->column = column;
  tile->row = row;
  tile->distance = distance;
  g_hash_table_insert (tiles->front->nodes, g_memdup2 (&key, sizeof key), NULL);
  g_thread_pool_push (workers (), tile, NULL);
}

/* --- what is shown -------------------------------------------------------------------
 */

/* A view in device pixels of a level. */
typedef struct
{
  double left, right; /* pixels from the beginning of time */
  double low, high;   /* pixels from the bottom of the world */
  double width, height;
} Window;

static Window
window_of (const Level *level, const TesseraView *view, double width, double height)
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

/* Old tiles in the place where their content is now. Edges lie on whole pixels, so that
 * no seam shows between two of them. */
static void
append_stretched (const Level *level, GtkSnapshot *snapshot, const Window *w)
{
  double fx = w->width / (w->right - w->left);
  double fy = w->height / (w->high - w->low);
  GHashTableIter iter;
  gpointer key, node;

  g_hash_table_iter_init (&iter, level->nodes);
  while (g_hash_table_iter_next (&iter, &key, &node))
    {
      int64_t column = *(int64_t *) key >> ROW_BITS;
      int64_t row = *(int64_t *) key & ((INT64_C (1) << ROW_BITS) - 1);
      double x0 = round (((double) column * SIZE - w->left) * fx);
      double x1 = round (((double) (column + 1) * SIZE - w->left) * fx);
      double y0 = round ((w->high - (double) (row + 1) * SIZE) * fy);
      double y1 = round ((w->high - (double) row * SIZE) * fy);

      if (node != NULL && x1 > 0 && y1 > 0 && x0 < w->width && y0 < w->height &&
          x1 > x0 && y1 > y0)
        append (snapshot, node, x0, y0, x1, y1);
    }
}

/* Calls @each for every tile that the window needs. */
static void
for_each_wanted (const Window *w,
                 void (*each) (int64_t column, int64_t row, gpointer user),
                 gpointer user)
{
  int64_t first_column = (int64_t) floor (w->left / SIZE);
  int64_t last_column = (int64_t) ceil ((w->left + w->width + 1) / SIZE);
  int64_t first_row = (int64_t) floor ((w->low - 1) / SIZE);
  int64_t last_row = (int64_t) ceil ((w->low + w->height + 1) / SIZE);

  for (int64_t row = MAX (first_row, 0); row < last_row; row++)
    for (int64_t column = MAX (first_column, 0); column < last_column; column++)
      each (column, row, user);
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
want (int64_t column, int64_t row, gpointer user)
{
  Pass *pass = user;
  int64_t key = key_of (column, row);
  gpointer node;
  double x, y;

  if (g_hash_table_lookup_extended (pass->tiles->front->nodes, &key, NULL, &node))
    {
      pass->n_missing += node == NULL;
      return;
    }
  x = ((double) column + 0.5) * SIZE - pass->window->left - pass->focus_x;
  y = ((double) row + 0.5) * SIZE - pass->window->low -
      (pass->window->height - pass->focus_y);
  request (pass->tiles, column, row, x * x + y * y);
  pass->n_missing++;
}

static void
show (int64_t column, int64_t row, gpointer user)
{
  Pass *pass = user;
  int64_t key = key_of (column, row);
  GskRenderNode *node = g_hash_table_lookup (pass->tiles->front->nodes, &key);
  double x = (double) column * SIZE - round (pass->window->left);
  double y = pass->window->height + round (pass->window->low) - (double) (row + 1) * SIZE;

  if (node != NULL)
    append (pass->snapshot, node, x, y, x + SIZE, y + SIZE);
}

static gboolean
is_far (gpointer key, gpointer node, gpointer user)
{
  const Window *w = user;
  double x = (double) (*(int64_t *) key >> ROW_BITS) * SIZE - w->left;
  double y =
      (double) (*(int64_t *) key & ((INT64_C (1) << ROW_BITS) - 1)) * SIZE - w->low;

  return node != NULL &&
         (x < -w->width || x > 2 * w->width || y < -w->height || y > 2 * w->height);
}

/* The front level must have this scale, layout and colouring. */
static void
set_front (TesseraTiles *tiles, double sx, double sy, gboolean whole)
{
  Level *front = tiles->front;

  if (front != NULL && fabs (front->sx / sx - 1) < 1e-6 &&
      fabs (front->sy / sy - 1) < 1e-6 && front->sheet == tiles->sheet &&
      front->paint == tiles->paint)
    return;
  if (front != NULL && front->complete && front->sheet == tiles->sheet)
    {
      Level **place = front->whole ? &tiles->base : &tiles->back;

      g_clear_pointer (place, level_drop);
      if (front->whole)
        g_clear_pointer (&tiles->back, level_drop);
      *place = front;
    }
  else if (front != NULL)
    level_drop (front);
  tiles->front = level_new (tiles, sx, sy);
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

  gtk_snapshot_save (snapshot);
  gtk_snapshot_scale (snapshot, 1.0f / (float) scale, 1.0f / (float) scale);
  for (int i = 0; i < 2 && !tiles->front->complete; i++)
    {
      const Level *level = i == 0 ? tiles->base : tiles->back;
      Window old;

      if (level == NULL)
        continue;
      old = window_of (level, view, w, h);
      append_stretched (level, snapshot, &old);
    }
  for_each_wanted (&window, show, &pass);
  gtk_snapshot_restore (snapshot);
  if (g_hash_table_size (tiles->front->nodes) > MOST_TILES)
    g_hash_table_foreach_remove (tiles->front->nodes, is_far, &window);
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
  g_clear_pointer (&tiles->front, level_drop);
  g_clear_pointer (&tiles->back, level_drop);
  g_clear_pointer (&tiles->base, level_drop);
}

TesseraTiles *
tessera_tiles_new (void (*ready) (gpointer user), gpointer user)
{
  TesseraTiles *tiles = g_new0 (TesseraTiles, 1);

  g_atomic_ref_count_init (&tiles->references);
  tiles->ready = ready;
  tiles->user = user;
  return tiles;
}

void
tessera_tiles_free (TesseraTiles *tiles)
{
  tessera_tiles_set_sheet (tiles, NULL);
  tessera_tiles_set_paint (tiles, NULL);
  tiles->ready = NULL;
  tiles_unref (tiles);
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
