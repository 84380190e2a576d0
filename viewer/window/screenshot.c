/*
 * The window as a picture file, once everything in it is done.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/window/screenshot.h"

/* A window that stays settled this long has drawn its last tile too. */
#define QUIET_MS 400
#define LOOK_EVERY_MS 50
#define MOST_TRIES 20

typedef struct
{
  GWeakRef window;
  char *path;
  void (*done) (gpointer user, gboolean success);
  gpointer user;
  int quiet_ms;
  int n_tries;
} Shot;

GdkTexture *
tessera_widget_to_texture (GtkWidget *widget)
{
  g_autoptr (GdkPaintable) paintable = gtk_widget_paintable_new (widget);
  g_autoptr (GtkSnapshot) snapshot = gtk_snapshot_new ();
  GdkTexture *texture;
  GskRenderNode *node;
  GtkNative *native = gtk_widget_get_native (widget);
  int scale = gtk_widget_get_scale_factor (widget);
  /* With its frame, which a window's own width leaves out: anything else would scale. */
  int width = gdk_paintable_get_intrinsic_width (paintable);
  int height = gdk_paintable_get_intrinsic_height (paintable);

  gtk_snapshot_scale (snapshot, (float) scale, (float) scale);
  gdk_paintable_snapshot (paintable, snapshot, width, height);
  node = gtk_snapshot_to_node (snapshot);
  if (node == NULL || native == NULL)
    return NULL;
  texture = gsk_renderer_render_texture (
      gtk_native_get_renderer (native), node,
      &GRAPHENE_RECT_INIT (0, 0, (float) (width * scale), (float) (height * scale)));
  gsk_render_node_unref (node);
  return texture;
}

gboolean
tessera_widget_save_png (GtkWidget *widget, const char *path)
{
  g_autoptr (GdkTexture) texture = tessera_widget_to_texture (widget);

  return texture != NULL && gdk_texture_save_to_png (texture, path);
}

static gboolean
look (gpointer user)
{
  Shot *shot = user;
  g_autoptr (TesseraWindow) window = g_weak_ref_get (&shot->window);
  gboolean success;

  if (window == NULL)
    return G_SOURCE_REMOVE;
  shot->quiet_ms =
      tessera_window_is_settled (window) ? shot->quiet_ms + LOOK_EVERY_MS : 0;
  if (shot->quiet_ms < QUIET_MS)
    return G_SOURCE_CONTINUE;
  success = tessera_widget_save_png (GTK_WIDGET (window), shot->path);
  /* Between frames there may be nothing to take yet. */
  if (!success && shot->n_tries++ < MOST_TRIES)
    {
      gtk_widget_queue_draw (GTK_WIDGET (window));
      return G_SOURCE_CONTINUE;
    }
  shot->done (shot->user, success);
  return G_SOURCE_REMOVE;
}

static void
shot_free (gpointer user)
{
  Shot *shot = user;

  g_weak_ref_clear (&shot->window);
  g_free (shot->path);
  g_free (shot);
}

void
tessera_screenshot_when_settled (TesseraWindow *window,
                                 const char *path,
                                 void (*done) (gpointer user, gboolean success),
                                 gpointer user)
{
  Shot *shot = g_new0 (Shot, 1);

  g_weak_ref_init (&shot->window, window);
  shot->path = g_strdup (path);
  shot->done = done;
  shot->user = user;
  g_timeout_add_full (G_PRIORITY_DEFAULT, LOOK_EVERY_MS, look, shot, shot_free);
}
