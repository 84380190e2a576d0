/*
 * The window as somebody sees it: under the desktop's theme and locale, on a low screen.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "db/size-text.h"
#include "viewer/canvas/private.h"
#include "viewer/kit/kit.h"
#include "picture/palette.h"
#include "viewer/model/document.h"
#include "viewer/panels/private.h"
#include "viewer/test-window.h"

#include <glib/gstdio.h>
#include <math.h>

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

/* Whether the desktop asks for it or the menu: canvases go by what is seen. */
static void
test_follows_the_desktop (TestView *f, gconstpointer unused)
{
  GSettingsSchemaSource *source = g_settings_schema_source_get_default ();
  g_autoptr (GSettingsSchema) schema =
      source != NULL
          ? g_settings_schema_source_lookup (source, "org.gnome.desktop.interface", TRUE)
          : NULL;
  g_autoptr (GSettings) desktop = NULL;

  test_window_open (f->window, f->path);
  g_assert_false (f->document->dark);
  if (schema == NULL || !g_settings_schema_has_key (schema, "color-scheme"))
    {
      g_test_skip ("there are no schemas of a desktop's settings");
      return;
    }
  desktop = g_settings_new ("org.gnome.desktop.interface");
  g_settings_set_string (desktop, "color-scheme", "prefer-dark");
  WAIT (f->document->dark, 5000);
  test_window_settle (f->window);
  g_assert_true (f->document->paint->dark);
  /* The menu has the last word. */
  test_view_act (f, "dark");
  WAIT (!f->document->dark, 5000);
  g_settings_reset (desktop, "color-scheme");
  adw_style_manager_set_color_scheme (adw_style_manager_get_default (),
                                      ADW_COLOR_SCHEME_DEFAULT);
  g_assert_false (f->document->dark);
}

/* Under any locale: see test_init_display(). */
static void
test_reads_english (TestView *f, gconstpointer unused)
{
  const char *size = TESSERA_SIZE (UINT64_C (3) << 19);
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

/* What is looked for and not there is no empty list that nobody explains. */
static void
test_nothing_found_is_said (TestView *f, gconstpointer unused)
{
  GtkWidget *groups = test_view_find (f, "groups-panel");
  GtkWidget *note = test_find (groups, "note");

  test_window_open (f->window, f->path);
  g_assert_true (gtk_widget_activate_action (GTK_WIDGET (f->window), "win.query", "s",
                                             "size>=900GiB"));
  test_window_settle (f->window);
  g_assert_true (gtk_widget_get_mapped (note));
  tessera_document_set_query (f->document, "");
  test_window_settle (f->window);
  g_assert_false (gtk_widget_get_mapped (note));
  test_view_act (f, "table");
  note = test_find (
      gtk_widget_get_ancestor (test_view_find (f, "block-table"), GTK_TYPE_OVERLAY),
      "note");
  test_window_settle (f->window);
  g_assert_false (gtk_widget_get_mapped (note));
  gtk_editable_set_text (GTK_EDITABLE (test_view_find (f, "filter-least")), "900 GiB");
  test_window_settle (f->window);
  g_assert_true (gtk_widget_get_mapped (note));
}

/* All frames of no stack are no choice. */
static void
test_no_stack_no_choice (TestView *f, gconstpointer unused)
{
  g_autofree char *sample = test_sample_path ();
  uint32_t block = 0;

  test_window_open (f->window, f->path);
  tessera_document_select (f->document, 0);
  g_assert_false (gtk_widget_get_visible (test_view_find (f, "stack-all")));
  if (sample == NULL)
    return;
  test_window_open (f->window, sample);
  while (f->document->data->blocks->blocks[block].stack >=
         f->document->data->trace->n_stacks)
    block++;
  tessera_document_select (f->document, block);
  g_assert_true (gtk_widget_get_visible (test_view_find (f, "stack-all")));
}

/* However often the key is pressed: what is selected does not go out of sight. */
static void
test_zoom_keeps_the_selected (TestView *f, gconstpointer unused)
{
  const TesseraView *v = &f->document->view;
  TesseraView block;

  test_window_open (f->window, f->path);
  tessera_document_select (f->document, 2);
  g_assert_true (tessera_scene_block_rect (f->document->sheets[TESSERA_SIDE_LEFT]->scene,
                                           2, &block));
  g_assert_true (block.t0 > (v->t0 + v->t1) / 2);
  for (int i = 0; i < 12; i++)
    test_view_act (f, "zoom-in");
  g_assert_true (block.t0 < v->t1 && block.t1 > v->t0);
  g_assert_true (block.y0 < v->y1 && block.y1 > v->y0);
  tessera_document_select (f->document, TESSERA_NONE);
  for (int i = 0; i < 40; i++)
    test_view_act (f, "zoom-out");
  g_assert_true (block.t0 < v->t1 && block.t1 > v->t0);
}

/* On a low screen too there are heights to read off, each at a round number. */
static void
test_heights_can_be_read_off (TestView *f, gconstpointer unused)
{
  g_autofree char *sample = test_sample_path ();
  const TesseraView *v = &f->document->view;
  const TesseraCanvas *canvas = tessera_panel_of (test_view_find (f, "canvas-left"));
  double step;

  if (sample == NULL)
    {
      g_test_skip ("the sample is not there");
      return;
    }
  gtk_window_set_default_size (GTK_WINDOW (f->window), 1280, 720);
  test_window_open (f->window, sample);
  step = tessera_canvas_grid_step_bytes (canvas);
  g_assert_cmpfloat ((v->y1 - v->y0) / step, >=, 4);
  g_assert_cmpfloat (step, ==, 10.0 * (1 << 30));
}

/* Whatever the height: 0.5 GiB, 1 GiB, 1.5 GiB, and nothing that is rounded; far up no
 * two of one name. */
static void
test_heights_are_round (TestView *f, gconstpointer unused)
{
  for (double span = 2000; span < 1e14; span *= 1.13)
    for (int most = 2; most <= 10; most++)
      {
        double step = tessera_nice_step_bytes (span, most);
        double above = ceil (7.7 * (1 << 30) / step) * step;
        g_autofree char *here = tessera_describe_height ((uint64_t) above, step);
        g_autofree char *next = tessera_describe_height ((uint64_t) (above + step), step);

        g_assert_cmpstr (here, !=, next);
        g_assert_cmpfloat (span / step, <=, most + 1e-6);
        for (double at = step; at <= span; at += step)
          {
            g_autofree char *text = tessera_describe_height ((uint64_t) at, step);
            uint64_t bytes = 0;

            g_assert_true (tessera_parse_bytes (text, &bytes));
            g_assert_cmpuint (bytes, ==, (uint64_t) at);
          }
      }
}

static double
light_of (uint32_t rgb)
{
  static const double shares[] = { 0.0722, 0.7152, 0.2126 };
  double light = 0;

  for (int i = 0; i < 3; i++)
    {
      double c = (rgb >> (8 * i) & 255) / 255.0;

      light += shares[i] * (c <= 0.03928 ? c / 12.92 : pow ((c + 0.055) / 1.055, 2.4));
    }
  return light;
}

static void
assert_read (uint32_t words, uint32_t ground)
{
  double a = light_of (words) + 0.05, b = light_of (ground) + 0.05;

  g_assert_cmpfloat (MAX (a, b) / MIN (a, b), >=, 4.5);
}

/* On the lane of a phase. */
static void
assert_name_is_read (const char *name, gboolean dark)
{
  uint32_t ground = tessera_colour_of_name (name, dark);

  assert_read (tessera_palette_text_on (ground), ground);
}

/* Words on the canvas have the contrast that WCAG asks of small ones. */
static void
test_words_have_contrast (TestView *f, gconstpointer unused)
{
  static const char *const phases[] = { "forward", "backward", "optim",    "recompute",
                                        "eval",    "loss",     "zero_grad" };

  for (int dark = 0; dark < 2; dark++)
    {
      const TesseraPalette *p = tessera_palette (dark);
      const uint32_t words[] = { p->text, p->dim,         p->bad,
                                 p->good, p->select_text, p->accent };

      for (size_t i = 0; i < G_N_ELEMENTS (words); i++)
        assert_read (words[i], p->background);
      assert_read (tessera_palette_text_on (p->lane), p->lane);
      /* In a block. */
      for (int i = 0; i < TESSERA_N_CATEGORIES; i++)
        {
          uint32_t ground = tessera_colour_of_category ((TesseraCategory) i, dark);

          assert_read (tessera_palette_text_on (ground), ground);
        }
      for (size_t i = 0; i < G_N_ELEMENTS (phases); i++)
        assert_name_is_read (phases[i], dark);
      /* Others have a colour by their names. */
      for (int i = 0; i < 100; i++)
        {
          g_autofree char *name = g_strdup_printf ("p%d", i);

          assert_name_is_read (name, dark);
        }
    }
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
  ADD ("follows the desktop", test_follows_the_desktop);
  ADD ("reads English", test_reads_english);
  ADD ("nothing found is said", test_nothing_found_is_said);
  ADD ("no stack, no choice", test_no_stack_no_choice);
  ADD ("zoom keeps the selected", test_zoom_keeps_the_selected);
  ADD ("heights can be read off", test_heights_can_be_read_off);
  ADD ("heights are round", test_heights_are_round);
  ADD ("words have contrast", test_words_have_contrast);
  return g_test_run ();
}
