/*
 * All tiles of one layout at one scale and in one colouring, drawn by workers.
 *
 * Each tile is one cached GskCairoNode: on the cairo renderer that is four times cheaper
 * than a texture, which would be copied every frame.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/canvas/tile-level.h"

#include <sys/resource.h>
#include <unistd.h>

#define SIZE TESSERA_TILE_PIXELS

typedef struct
{
  TesseraTileLevel *level;
  TesseraTilePlace place;
  double distance;
  uint32_t *pixels;
} Tile;

static guint
hash_place (gconstpointer key)
{
  const TesseraTilePlace *place = key;

  return (guint) (place->column * 2654435761 + place->row * 40503);
}

static gboolean
equal_places (gconstpointer a, gconstpointer b)
{
  const TesseraTilePlace *x = a, *y = b;

  return x->column == y->column && x->row == y->row;
}

static void
node_unref (gpointer node)
{
  if (node != NULL)
    gsk_render_node_unref (node);
}

TesseraTileLevel *
tessera_tile_level_new (TesseraSheet *sheet,
                        TesseraPaint *paint,
                        double sx,
                        double sy,
                        void (*ready) (gpointer user),
                        gpointer user)
{
  TesseraTileLevel *level = g_new0 (TesseraTileLevel, 1);

  g_atomic_ref_count_init (&level->references);
  level->sx = sx;
  level->sy = sy;
  level->nodes = g_hash_table_new_full (hash_place, equal_places, g_free, node_unref);
  level->sheet = tessera_sheet_ref (sheet);
  level->paint = tessera_paint_ref (paint);
  level->ready = ready;
  level->user = user;
  return level;
}

static void
level_unref (TesseraTileLevel *level)
{
  if (!g_atomic_ref_count_dec (&level->references))
    return;
  g_hash_table_unref (level->nodes);
  tessera_sheet_unref (level->sheet);
  tessera_paint_unref (level->paint);
  g_free (level);
}

void
tessera_tile_level_drop (TesseraTileLevel *level)
{
  g_atomic_int_set (&level->dropped, 1);
  level_unref (level);
}

/* --- workers ------------------------------------------------------------------------ */

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
  TesseraTileLevel *level = tile->level;

  if (tile->pixels == NULL || g_atomic_int_get (&level->dropped))
    return G_SOURCE_REMOVE;
  g_hash_table_insert (level->nodes, g_memdup2 (&tile->place, sizeof tile->place),
                       node_of (g_steal_pointer (&tile->pixels)));
  level->ready (level->user);
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
  const TesseraTileLevel *level = tile->level;
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

void
tessera_tile_level_request (TesseraTileLevel *level,
                            TesseraTilePlace place,
                            double distance)
{
  Tile *tile = g_new0 (Tile, 1);

  g_atomic_ref_count_inc (&level->references);
  tile->level = level;
  tile->place = place;
  tile->distance = distance;
  g_hash_table_insert (level->nodes, g_memdup2 (&place, sizeof place), NULL);
  g_thread_pool_push (workers (), tile, NULL);
}

/* --- what is there --------------------------------------------------------------------
 */

gboolean
tessera_tile_level_find (const TesseraTileLevel *level,
                         TesseraTilePlace place,
                         GskRenderNode **out_node)
{
  *out_node = NULL;
  return g_hash_table_lookup_extended (level->nodes, &place, NULL, (gpointer *) out_node);
}

size_t
tessera_tile_level_count (const TesseraTileLevel *level)
{
  return g_hash_table_size (level->nodes);
}

void
tessera_tile_level_for_each (const TesseraTileLevel *level,
                             void (*each) (TesseraTilePlace place,
                                           GskRenderNode *node,
                                           gpointer user),
                             gpointer user)
{
  GHashTableIter iter;
  gpointer key, node;

  g_hash_table_iter_init (&iter, level->nodes);
  while (g_hash_table_iter_next (&iter, &key, &node))
    if (node != NULL)
      each (*(const TesseraTilePlace *) key, node, user);
}

void
tessera_tile_level_forget (TesseraTileLevel *level,
                           gboolean (*is_far) (TesseraTilePlace place, gpointer user),
                           gpointer user)
{
  GHashTableIter iter;
  gpointer key, node;

  g_hash_table_iter_init (&iter, level->nodes);
  while (g_hash_table_iter_next (&iter, &key, &node))
    if (node != NULL && is_far (*(const TesseraTilePlace *) key, user))
      g_hash_table_iter_remove (&iter);
}
