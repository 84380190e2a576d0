/*
 * A window for tests.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/test-window.h"

#include "viewer/window/window.h"

#include <glib/gstdio.h>
#include <locale.h>

static TesseraApp *app;

gboolean
test_init_display (int *argc, char ***argv)
{
  g_autoptr (GError) error = NULL;

  if (!gtk_init_check ())
    {
      g_print ("1..0 # SKIP no display\n");
      return FALSE;
    }
  g_test_init (argc, argv, NULL);
  /* As for somebody who writes 33,17, where the machine has such a locale, and from the
   * right. */
  setlocale (LC_NUMERIC, "de_DE.UTF-8");
  gtk_widget_set_default_direction (GTK_TEXT_DIR_RTL);
  g_set_application_name ("Tessera");
  app = tessera_app_new ();
  g_application_set_flags (G_APPLICATION (app), G_APPLICATION_NON_UNIQUE);
  g_assert_true (g_application_register (G_APPLICATION (app), NULL, &error));
  return TRUE;
}

TesseraWindow *
test_window_new (void)
{
  GtkWidget *window = tessera_window_new (GTK_APPLICATION (app));

  gtk_window_set_default_size (GTK_WINDOW (window), 1100, 700);
  gtk_window_present (GTK_WINDOW (window));
  WAIT (gtk_widget_get_mapped (window) && gtk_widget_get_width (window) > 0, SLOW_MS);
  return TESSERA_WINDOW (window);
}

void
test_window_free (TesseraWindow *window)
{
  TesseraDocument *document = g_object_ref (tessera_window_get_document (window));

  g_object_ref (window);
  gtk_window_destroy (GTK_WINDOW (window));
  /* Tiles on their way and what GTK queued still hold on for a moment. */
  WAIT (G_OBJECT (window)->ref_count == 1, 5000);
  g_assert_finalize_object (window);
  WAIT (G_OBJECT (document)->ref_count == 1, 5000);
  g_assert_finalize_object (document);
}

void
test_window_settle (TesseraWindow *window)
{
  int quiet = 0;

  /* Settled twice in a row: a frame may still ask for a picture. */
  while (quiet < 3)
    {
      gboolean passed = FALSE;

      WAIT (tessera_window_is_settled (window), SLOW_MS);
      g_timeout_add (60, test_set_true, &passed);
      WAIT (passed, 5000);
      quiet = tessera_window_is_settled (window) ? quiet + 1 : 0;
    }
}

void
test_window_open (TesseraWindow *window, const char *path)
{
  g_assert_true (
      gtk_widget_activate_action (GTK_WIDGET (window), "win.open-path", "s", path));
  test_window_settle (window);
}

static GtkWidget *
find (GtkWidget *root, const char *name)
{
  GtkWidget *found = NULL;

  if (g_strcmp0 (gtk_widget_get_name (root), name) == 0)
    return root;
  for (GtkWidget *child = gtk_widget_get_first_child (root);
       child != NULL && found == NULL; child = gtk_widget_get_next_sibling (child))
    found = find (child, name);
  return found;
}

GtkWidget *
test_find (GtkWidget *root, const char *name)
{
  GtkWidget *found = find (root, name);

  g_assert_nonnull (found);
  return found;
}

uint32_t *
test_pixels (GtkWidget *widget, int *out_width, int *out_height)
{
  g_autoptr (GdkTexture) texture = NULL;

  /* Between frames there may be nothing to take yet. */
  WAIT (texture != NULL || (texture = tessera_widget_to_texture (widget)) != NULL, 5000);
  *out_width = gdk_texture_get_width (texture);
  *out_height = gdk_texture_get_height (texture);
  uint32_t *pixels = g_new (uint32_t, (size_t) *out_width * (size_t) *out_height);
  gdk_texture_download (texture, (guchar *) pixels, (size_t) *out_width * 4);
  return pixels;
}

void
test_view_set_up (TestView *view, gconstpointer unused)
{
  view->window = test_window_new ();
  view->document = tessera_window_get_document (view->window);
  view->path = test_three_blocks_path ();
}

void
test_view_tear_down (TestView *view, gconstpointer unused)
{
  g_autofree char *kept = g_strconcat (view->path, ".edits.json", NULL);

  test_window_free (view->window);
  g_unlink (kept);
  g_unlink (view->path);
  g_free (view->path);
}

GtkWidget *
test_view_find (TestView *view, const char *name)
{
  return test_find (GTK_WIDGET (view->window), name);
}

gboolean
test_view_sees (TestView *view, const char *name)
{
  GtkWidget *found = find (GTK_WIDGET (view->window), name);

  return found != NULL && gtk_widget_get_mapped (found);
}

const char *
test_view_text (TestView *view, const char *name)
{
  return gtk_label_get_text (GTK_LABEL (test_view_find (view, name)));
}

void
test_view_act (TestView *view, const char *action)
{
  g_autofree char *full = g_strconcat ("win.", action, NULL);

  g_assert_true (gtk_widget_activate_action (GTK_WIDGET (view->window), full, NULL));
}

void
test_view_do (TestView *view, const char *action)
{
  test_view_act (view, action);
  test_window_settle (view->window);
}

gboolean
test_view_is_enabled (TestView *view, const char *action)
{
  return g_action_group_get_action_enabled (G_ACTION_GROUP (view->window), action);
}
