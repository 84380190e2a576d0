/*
 * The size that windows had last. See window-size.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/window/window-size.h"

#include <glib/gstdio.h>

#define GROUP "window"
/* What all panels have room in; and what no screen has. */
#define LEAST_WIDTH 640
#define LEAST_HEIGHT 400
#define MOST 16384

static char *
path_of (void)
{
  return g_build_filename (g_get_user_config_dir (), "tessera", "window.ini", NULL);
}

void
tessera_window_size_restore (GtkWindow *window)
{
  g_autoptr (GKeyFile) file = g_key_file_new ();
  g_autofree char *path = path_of ();
  int width, height;

  if (!g_key_file_load_from_file (file, path, G_KEY_FILE_NONE, NULL))
    return;
  width = g_key_file_get_integer (file, GROUP, "width", NULL);
  height = g_key_file_get_integer (file, GROUP, "height", NULL);
  if (width < LEAST_WIDTH || height < LEAST_HEIGHT || width > MOST || height > MOST)
    return;
  gtk_window_set_default_size (window, width, height);
  if (g_key_file_get_boolean (file, GROUP, "maximized", NULL))
    gtk_window_maximize (window);
}

void
tessera_window_size_keep (GtkWindow *window)
{
  g_autoptr (GKeyFile) file = g_key_file_new ();
  g_autofree char *path = path_of ();
  g_autofree char *folder = g_path_get_dirname (path);
  int width, height;

  /* Of a window that is maximized this is the size that it goes back to. */
  gtk_window_get_default_size (window, &width, &height);
  g_key_file_set_integer (file, GROUP, "width", width);
  g_key_file_set_integer (file, GROUP, "height", height);
  g_key_file_set_boolean (file, GROUP, "maximized", gtk_window_is_maximized (window));
  if (g_mkdir_with_parents (folder, 0700) == 0)
    g_key_file_save_to_file (file, path, NULL);
}
