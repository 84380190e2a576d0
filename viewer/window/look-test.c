/*
 * The window as somebody sees it: under the desktop's theme and locale, on a low screen.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/document/describe.h"
#include "viewer/test-window.h"

#include <glib/gstdio.h>

/* What opens over the window has its size from what is in it: all of that fits a screen
 * of 1280 x 720 with a panel on it. */
static void
test_menus_fit (TestView *f, gconstpointer unused)
{
  GtkWidget *edits = GTK_WIDGET (
      gtk_menu_button_get_popover (GTK_MENU_BUTTON (test_view_find (f, "edit-button"))));
  GtkWidget *keys = GTK_WIDGET (
      gtk_application_window_get_help_overlay (GTK_APPLICATION_WINDOW (f->window)));
  GtkWidget *opened[] = { edits, keys };

  g_assert_nonnull (keys);
  for (size_t i = 0; i < G_N_ELEMENTS (opened); i++)
    {
      int width, height;

      gtk_widget_set_visible (opened[i], TRUE);
      WAIT (gtk_widget_get_mapped (opened[i]), 5000);
      gtk_widget_measure (opened[i], GTK_ORIENTATION_HORIZONTAL, -1, NULL, &width, NULL,
                          NULL);
      gtk_widget_measure (opened[i], GTK_ORIENTATION_VERTICAL, -1, NULL, &height, NULL,
                          NULL);
      g_assert_cmpint (width, <=, 1200);
      g_assert_cmpint (height, <=, 640);
      g_assert_cmpint (height, >=, 300);
      gtk_widget_set_visible (opened[i], FALSE);
    }
}

/* What `tessera plan` warns of is on screen as well. */
static void
test_a_worse_plan_says_so (TestView *f, gconstpointer unused)
{
  g_autofree char *path = test_turns_path ();

  test_window_open (f->window, path);
  g_assert_cmpstr (test_view_text (f, "plan-warning"), ==,
                   "The plan takes 80.00 MiB where the run as it was reserved 40.00 MiB: "
                   "following it would be worse");
  g_assert_true (gtk_widget_get_mapped (test_view_find (f, "plan-warning")));
  test_window_open (f->window, f->path);
  g_assert_false (gtk_widget_get_mapped (test_view_find (f, "plan-warning")));
  g_unlink (path);
}

static void
test_one_of_each (TestView *f, gconstpointer unused)
{
  g_autofree char *folder = g_dir_make_tmp ("one-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (folder, "one.csv", NULL);

  g_assert_true (g_file_set_contents (
      path,
      "seq,time_us,action,id,size_bytes,stream,iteration,phase,module\n"
      "0,0,alloc,0,1048576,0,0,forward,a\n1,10,free,0,1048576,0,0,forward,a\n",
      -1, NULL));
  test_window_open (f->window, path);
  g_assert_true (
      gtk_widget_activate_action (GTK_WIDGET (f->window), "win.side", "s", "groups"));
  test_window_settle (f->window);
  g_assert_cmpstr (test_view_text (f, "group-count"), ==, "1 group, 1 block");
  g_unlink (path);
  g_rmdir (folder);
}

/* Whether the desktop asks for it or the menu: canvases and words go by what is seen. */
static void
test_follows_the_theme (TestView *f, gconstpointer unused)
{
  static const struct
  {
    const char *theme;
    gboolean is_dark, has_contrast;
  } themes[] = { { "Adwaita-dark", TRUE, FALSE },
                 { "HighContrast", FALSE, TRUE },
                 { "Adwaita", FALSE, FALSE } };
  GtkSettings *settings = gtk_settings_get_default ();
  g_autofree char *before = NULL;

  g_object_get (settings, "gtk-theme-name", &before, NULL);
  test_window_open (f->window, f->path);
  for (size_t i = 0; i < G_N_ELEMENTS (themes); i++)
    {
      g_object_set (settings, "gtk-theme-name", themes[i].theme, NULL);
      test_window_settle (f->window);
      g_assert_cmpint (f->document->dark, ==, themes[i].is_dark);
      g_assert_cmpint (gtk_widget_has_css_class (GTK_WIDGET (f->window), "dark"), ==,
                       themes[i].is_dark);
      g_assert_cmpint (gtk_widget_has_css_class (GTK_WIDGET (f->window), "high-contrast"),
                       ==, themes[i].has_contrast);
    }
  g_object_set (settings, "gtk-theme-name", before, NULL);
}

/* Under any locale: see test_init_display(). */
static void
test_reads_english (TestView *f, gconstpointer unused)
{
  g_autofree char *size = tessera_describe_bytes (UINT64_C (3) << 19);
  graphene_point_t left, right;

  g_assert_cmpstr (size, ==, "1.50 MiB");
  test_window_open (f->window, f->path);
  g_assert_true (gtk_widget_compute_point (test_view_find (f, "canvas-left"),
                                           GTK_WIDGET (f->window),
                                           &GRAPHENE_POINT_INIT (0, 0), &left));
  g_assert_true (gtk_widget_compute_point (test_view_find (f, "canvas-right"),
                                           GTK_WIDGET (f->window),
                                           &GRAPHENE_POINT_INIT (0, 0), &right));
  g_assert_cmpfloat (left.x, <, right.x);
}

int
main (int argc, char **argv)
{
  if (!test_init_display (&argc, &argv))
    return 0;
#define ADD(name, function)                                                              \
  g_test_add ("/look/" name, TestView, NULL, test_view_set_up, function,                 \
              test_view_tear_down)
  ADD ("menus fit", test_menus_fit);
  ADD ("a worse plan says so", test_a_worse_plan_says_so);
  ADD ("one of each", test_one_of_each);
  ADD ("follows the theme", test_follows_the_theme);
  ADD ("reads English", test_reads_english);
  return g_test_run ();
}
