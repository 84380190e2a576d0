/*
 * The picture of one layout in pieces that workers draw and the main thread only shows.
 *
 * Each tile is one cached GskCairoNode: on the cairo renderer that is four times cheaper
 * than a texture, which would be copied every frame. There are three levels of tiles: in
 * front the one that is wanted; behind it the last one that was complete; behind that the
 * whole picture, if it was ever seen, so that zooming out never shows nothing.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/canvas/private.h"

#include <math.h>
#include <sys/resource.h>
#include <unistd.h>

#define SIZE TESSERA_TILE_PIXELS
/* Tiles kept of one level: 64 MiB of pixels. */
#define MOST_TILES 256

/* Cairo cannot draw an image larger than 32,767 pixels; one pixel of a tile that is
 * stretched so far shows nothing anyhow. */
#define MOST_STRETCHED 16384

/* A tile's place: columns from the beginning of time, rows from the bottom of the
 * world. */
typedef struct
{
  int64_t column;
  int64_t row;
} Place;

/* All tiles of one layout at one scale and in one colouring. */
typedef struct
{
  gatomicrefcount references; /* the tiles' and one per tile on its way */
  TesseraTiles *tiles;        /* main thread only, until it is dropped */
  int dropped;                /* atomic: nobody waits for its tiles any more */
  double sx;                  /* device pixels per unit of time: of the whole axis */
  double sy;                  /* device pixels per byte */
  TesseraSheet *sheet;
  TesseraPaint *paint;
  GHashTable *nodes; /* Place -> GskRenderNode, or NULL while it is drawn */
  gboolean whole;    /* made for a view of everything */
  gboolean complete; /* nothing that was wanted is missing */
  TesseraView view;  /* that was wanted last */
} Level;

struct TesseraTiles
{
  void (*ready) (gpointer user);
  gpointer user;
  TesseraSheet *sheet;
  TesseraPaint *paint;
  Level *front;
  Level *back;
  Level *base;
};

/* --- a level ---------------------------------------------------------------------- */

static guint
hash_place (gconstpointer key)
{
  const Place *place = key;

  return (guint) (place->column * 2654435761 + place->row * 40503);
}

static gboolean
equal_places (gconstpointer a, gconstpointer b)
{
  const Place *x = a, *y = b;

  return x->column == y->column && x->row == y->row;
}

static void
node_unref (gpointer node)
{
  if (node != NULL)
    gsk_render_node_unref (node);
}

static Level *
level_new (TesseraTiles *tiles, double sx, double sy, gboolean whole)
{
  Level *level = g_new0 (Level, 1);

  g_atomic_ref_count_init (&level->references);
  level->tiles = tiles;
  level->sx = sx;
  level->sy = sy;
  level->whole = whole;
  level->nodes = g_hash_table_new_full (hash_place, equal_places, g_free, node_unref);
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

/* Tiles that are still waiting are not drawn. */
static void
level_drop (Level *level)
{
  g_atomic_int_set (&level->dropped, 1);
  level_unref (level);
}

/* --- workers ---------------------------------------------------------------------- */

typedef struct
{
  Level *level;
  Place place;
  double distance; /* small ones first */
  uint32_t *pixels;
} Tile;

static void
tile_free (gpointer user)
{
  Tile *tile = user;

  g_free (tile->pixels);
  level_unref (tile->level);
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
  Level *level = tile->level;

  if (tile->pixels == NULL || g_atomic_int_get (&level->dropped))
    return G_SOURCE_REMOVE;
  g_hash_table_insert (level->nodes, g_memdup2 (&tile->place, sizeof tile->place),
                       node_of (g_steal_pointer (&tile->pixels)));
  level->tiles->ready (level->tiles->user);
  return G_SOURCE_REMOVE;
}

/* Whoever moves the picture comes before whoever refines it. On Linux a thread has a
 * niceness of its own. */
static void
step_back (void)
{
  static __thread gboolean done;

  if (!done)
    (void) setpriority (PRIO_PROCESS, (id_t) gettid (), 5);
  done = TRUE;
}

static void
draw_tile (gpointer user, gpointer unused)
{
  Tile *tile = user;
  const Level *level = tile->level;
  double x = (double) tile->place.column * SIZE, y = (double) tile->place.row * SIZE;
  GSource *source;
  TesseraView view = {
    .t0 = x / level->sx,
    .t1 = (x + SIZE) / level->sx,
    .y0 = y / level->sy,
    .y1 = (y + SIZE) / level->sy,
  };

  step_back ();
  if (!g_atomic_int_get (&level->dropped))
    {
      tile->pixels = g_new (uint32_t, SIZE * SIZE);
      tessera_scene_render (level->sheet->scene, &view, &level->paint->ink, tile->pixels,
                            SIZE, SIZE, SIZE, tile->place.column * SIZE,
                            -(tile->place.row + 1) * SIZE);
    }
  /* The last references are given up on the main thread. */
  source = g_idle_source_new ();
  g_source_set_priority (source, G_PRIORITY_DEFAULT);
  g_source_set_static_name (source, "tile");
  g_source_set_callback (source, deliver, tile, tile_free);
  g_source_attach (source, NULL);
  g_source_unref (source);
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
request (Level *level, Place place, double distance)
{
  Tile *tile = g_new0 (Tile, 1);

  g_atomic_ref_count_inc (&level->references);
  *tile = (Tile){ level, place, distance, NULL };
  g_hash_table_insert (level->nodes, g_memdup2 (&place, sizeof place), NULL);
  g_thread_pool_push (workers (), tile, NULL);
}

/* --- painting --------------------------------------------------------------------- */

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

/* Old tiles in the places where their content is now. Edges lie on whole pixels, so that
 * no seam shows between two of them. */
static void
append_stretched (const Level *level,
                  GtkSnapshot *snapshot,
                  const TesseraView *view,
                  double width,
                  double height)
{
  Window w = window_of (level, view, width, height);
  double fx = width / (w.right - w.left), fy = height / (w.high - w.low);
  GHashTableIter iter;
  gpointer key, node;

  g_hash_table_iter_init (&iter, level->nodes);
  while (g_hash_table_iter_next (&iter, &key, &node))
    {
      const Place *place = key;
      double left = (double) place->column * SIZE - w.left;
      double low = (double) place->row * SIZE;
      double x0 = round (left * fx), x1 = round ((left + SIZE) * fx);
      double y0 = round ((w.high - low - SIZE) * fy), y1 = round ((w.high - low) * fy);

      if (node != NULL && x1 > MAX (x0, 0) && y1 > MAX (y0, 0) && x0 < width &&
          y0 < height && x1 - x0 < MOST_STRETCHED && y1 - y0 < MOST_STRETCHED)
        append (snapshot, node, x0, y0, x1, y1);
    }
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
    append_stretched (tiles->base, snapshot, view, width, height);
  if (tiles->back != NULL)
    append_stretched (tiles->back, snapshot, view, width, height);
}

/* Asks for a tile that nobody asked for yet: those near (@focus_x, @focus_y), in device
 * pixels of the window, come first. Returns: whether it is there. */
static gboolean
want (Level *level, Place place, const Window *w, double focus_x, double focus_y)
{
  gpointer node;
  double x, y;

  if (g_hash_table_lookup_extended (level->nodes, &place, NULL, &node))
    return node != NULL;
  x = ((double) place.column + 0.5) * SIZE - w->left - focus_x;
  y = ((double) place.row + 0.5) * SIZE - w->low - (w->height - focus_y);
  request (level, place, x * x + y * y);
  return FALSE;
}

static void
show (const Level *level, GtkSnapshot *snapshot, Place place, const Window *w)
{
  GskRenderNode *node = g_hash_table_lookup (level->nodes, &place);
  double x = (double) place.column * SIZE - round (w->left);
  double y = w->height + round (w->low) - (double) (place.row + 1) * SIZE;

  if (node != NULL)
    append (snapshot, node, x, y, x + SIZE, y + SIZE);
}

/* The places that a window needs, one after the other: FALSE: that was all of them. */
static gboolean
next_place (const Window *w, Place *place)
{
  Place first = { MAX ((int64_t) floor (w->left / SIZE), 0),
                  MAX ((int64_t) floor ((w->low - 1) / SIZE), 0) };
  Place end = { (int64_t) ceil ((w->left + w->width + 1) / SIZE),
                (int64_t) ceil ((w->low + w->height + 1) / SIZE) };

  if (place->row < 0)
    *place = first;
  else if (++place->column >= end.column)
    *place = (Place){ first.column, place->row + 1 };
  return place->column < end.column && place->row < end.row;
}

static gboolean
is_far (gpointer key, gpointer node, gpointer user)
{
  const Place *place = key;
  const Window *w = user;
  double x = (double) place->column * SIZE - w->left;
  double y = (double) place->row * SIZE - w->low;

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
  tiles->front = level_new (tiles, sx, sy, whole);
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
  Level *front;
  Window window;

  if (tiles->sheet == NULL || tiles->paint == NULL || width <= 0 || height <= 0)
    return;
  set_front (tiles, w / (view->t1 - view->t0), h / (view->y1 - view->y0),
             view->t0 <= 0 && view->t1 >= 1 && view->y0 <= 0 &&
                 view->y1 >= (double) tessera_scene_height_bytes (tiles->sheet->scene));
  front = tiles->front;
  window = window_of (front, view, w, h);
  front->complete = TRUE;
  front->view = *view;
  for (Place place = { -1, -1 }; next_place (&window, &place);)
    if (!want (front, place, &window, focus_x * scale, focus_y * scale))
      front->complete = FALSE;

  gtk_snapshot_save (snapshot);
  gtk_snapshot_scale (snapshot, 1.0f / (float) scale, 1.0f / (float) scale);
  if (!front->complete)
    append_old_levels (tiles, snapshot, view, w, h);
  for (Place place = { -1, -1 }; next_place (&window, &place);)
    show (front, snapshot, place, &window);
  gtk_snapshot_restore (snapshot);
  if (g_hash_table_size (front->nodes) > MOST_TILES)
    g_hash_table_foreach_remove (front->nodes, is_far, &window);
}

gboolean
tessera_tiles_is_complete (const TesseraTiles *tiles)
{
  return tiles->sheet == NULL || (tiles->front != NULL && tiles->front->complete);
}

/* --- life ------------------------------------------------------------------------- */

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
