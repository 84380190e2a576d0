/*
 * The window as somebody sees it: under the desktop's theme and locale, on a low screen; what
 * is expected of any window, and what a person should be told who would not look for it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "db/size-text.h"
#include "picture/palette.h"
#include "viewer/canvas/private.h"
#include "viewer/kit/kit.h"
#include "viewer/model/document-private.h"
#include "viewer/model/document.h"
#include "viewer/panels/private.h"
#include "viewer/test-window.h"
#include "viewer/window/window.h"

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

/* What opens over the window has its size from what is in it: all of that fits a screen
 * of 1280 x 720 with a panel on it. */
static void
test_menus_fit (TestView *f, gconstpointer unused)
{
  GtkMenuButton *button = GTK_MENU_BUTTON (test_view_find (f, "edit-button"));
  GtkWidget *keys = GTK_WIDGET (
      gtk_application_window_get_help_overlay (GTK_APPLICATION_WINDOW (f->window)));
  GtkWidget *opened[] = { NULL, keys };

  g_assert_nonnull (keys);
  gtk_menu_button_popup (button);
  opened[0] = GTK_WIDGET (gtk_menu_button_get_popover (button));
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
  gtk_widget_activate_action (GTK_WIDGET (f->window), "win.side", "s", "groups");
  gtk_editable_set_text (GTK_EDITABLE (test_view_find (f, "group-query")),
                         "size>=900GiB");
  WAIT (f->document->query != NULL, 5000);
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

  if (sample == NULL)
    {
      g_test_skip ("the sample is not there");
      return;
    }
  gtk_window_set_default_size (GTK_WINDOW (f->window), 1280, 720);
  test_window_open (f->window, sample);
  double step = tessera_canvas_grid_step_bytes (canvas);
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

/* --- what is expected, and told ------------------------------------------------------ */

static char *
clipboard_text (TestView *f)
{
  GdkClipboard *clipboard = gtk_widget_get_clipboard (GTK_WIDGET (f->window));
  GdkContentProvider *content = gdk_clipboard_get_content (clipboard);
  g_auto (GValue) value = G_VALUE_INIT;

  g_value_init (&value, G_TYPE_STRING);
  g_assert_nonnull (content);
  g_assert_true (gdk_content_provider_get_value (content, &value, NULL));
  return g_value_dup_string (&value);
}

static void
test_copy (TestView *f, gconstpointer unused)
{
  g_autofree char *one = NULL, *all = NULL;
  g_auto (GStrv) lines = NULL;

  g_assert_null (tessera_copy_text (f->document));
  test_window_open (f->window, f->path);
  g_assert_false (test_view_is_enabled (f, "copy"));
  tessera_document_select (f->document, 1);
  test_view_act (f, "copy");
  one = clipboard_text (f);
  g_assert_true (
      g_str_has_prefix (one, "block 1: 2.00 MiB (2,097,152 bytes)\ncategory: "));
  g_assert_nonnull (strstr (one, "\nclass: "));
  g_assert_nonnull (strstr (one, "\nlives: 3 events, 20 µs\n"));
  g_assert_nonnull (strstr (one, "\nplanned at: "));
  test_view_do (f, "select-all");
  test_view_act (f, "copy");
  all = clipboard_text (f);
  lines = g_strsplit (all, "\n", -1);
  g_assert_cmpuint (g_strv_length (lines), ==, 5); /* a head, three, the end */
  g_assert_true (g_str_has_prefix (lines[0], "block\tbytes\t"));
  g_assert_true (g_str_has_prefix (lines[2], "1\t2097152\t1\t4\t"));
  /* As many columns in each. */
  for (int i = 0; i < 4; i++)
    {
      g_auto (GStrv) columns = g_strsplit (lines[i], "\t", -1);

      g_assert_cmpuint (g_strv_length (columns), ==, 9);
    }
}

static void
test_size (TestView *f, gconstpointer unused)
{
  GtkWindow *window = GTK_WINDOW (f->window);
  g_autofree char *path =
      g_build_filename (g_get_user_config_dir (), "tessera", "window.ini", NULL);
  g_autofree char *folder = g_path_get_dirname (path);
  static const char *const bad[] = { "", "nonsense", "[window]\nwidth=3\nheight=900\n",
                                     "[window]\nwidth=99999\nheight=900\n",
                                     "[window]\nwidth=1000\nheight=x\n" };
  int width, height;

  gtk_window_set_default_size (window, 1111, 777);
  tessera_window_keep_size (window);
  gtk_window_set_default_size (window, 900, 700);
  tessera_window_restore_size (window);
  gtk_window_get_default_size (window, &width, &height);
  g_assert_cmpint (width, ==, 1111);
  g_assert_cmpint (height, ==, 777);
  for (size_t i = 0; i < G_N_ELEMENTS (bad); i++)
    {
      gtk_window_set_default_size (window, 900, 700);
      g_assert_true (g_file_set_contents (path, bad[i], -1, NULL));
      tessera_window_restore_size (window);
      gtk_window_get_default_size (window, &width, &height);
      g_assert_cmpint (width, ==, 900);
      g_assert_cmpint (height, ==, 700);
    }
  g_unlink (path);
  g_rmdir (folder);
}

/* A plan that keeps streams apart and is far above the bound says so. */
static void
test_hint (TestView *f, gconstpointer unused)
{
  g_autofree char *path = test_turns_path ();

  test_window_open (f->window, f->path);
  g_assert_false (gtk_widget_get_visible (test_view_find (f, "plan-hint")));
  test_window_open (f->window, path);
  g_assert_true (gtk_widget_get_visible (test_view_find (f, "plan-hint")));
  /* PyTorch does with less than what is proven of a plan that keeps streams apart. */
  g_assert_cmpstr (test_view_text (f, "need-bound"), ==, "40.00 MiB");
  g_assert_cmpstr (test_view_text (f, "plan-proof"), ==,
                   "pool 80.00 MiB: optimal (proven)");
  /* With one pool over all streams it is what lives, and says what it waits for. */
  g_assert_true (gtk_widget_activate_action (GTK_WIDGET (f->window), "win.across", NULL));
  test_window_settle (f->window);
  g_assert_true (f->document->planned->plan->crosses_streams);
  g_assert_cmpuint (f->document->planned->plan->height_bytes, ==, 40u << 20);
  g_assert_nonnull (strstr (test_view_text (f, "plan-hint"), "wait for each other"));
  g_assert_true (gtk_widget_activate_action (GTK_WIDGET (f->window), "win.across", NULL));
  test_window_settle (f->window);
  g_assert_false (f->document->planned->plan->crosses_streams);
  g_unlink (path);
}

/* What is told of a selected block. */
static void
assert_fact (TestView *f, TesseraFactKind kind, const char *name, const char *expected)
{
  const char *is_called;
  g_autofree char *text =
      tessera_describe_fact (f->document, f->document->selected, kind, &is_called);

  g_assert_cmpstr (text, ==, expected);
  g_assert_cmpstr (is_called, ==, name);
}

/* Two blocks take turns on two streams: the table of hand-overs has the one that there is, in
 * the numbers of the layout, and selects the block that got the memory; both say whence it
 * came and where it went. */
static void
test_handovers (TestView *f, gconstpointer unused)
{
  g_autofree char *path = test_turns_path ();
  const TesseraHandovers *handovers;

  test_window_open (f->window, path);
  gtk_widget_activate_action (GTK_WIDGET (f->window), "win.side", "s", "plans");
  g_assert_false (test_view_sees (f, "handovers-panel"));
  tessera_document_select (f->document, 1);
  assert_fact (f, TESSERA_FACT_FROM, "memory from", NULL);
  test_view_do (f, "across");
  g_assert_true (test_view_sees (f, "handovers-panel"));
  handovers = &f->document->planned->layout->handovers;
  g_assert_cmpuint (handovers->n_counts, ==, 1);
  g_assert_cmpuint (handovers->n_waits, ==, 1);
  g_assert_cmpuint (handovers->n_waits, ==, f->document->planned->layout->n_barriers);
  g_assert_true (g_str_has_prefix (test_view_text (f, "plan-hint"),
                                   "Streams wait for each other 1 time,"));
  GtkSelectionModel *rows =
      gtk_column_view_get_model (GTK_COLUMN_VIEW (test_view_find (f, "handovers")));
  g_assert_cmpuint (g_list_model_get_n_items (G_LIST_MODEL (rows)), ==, 1);
  tessera_document_select (f->document, 0);
  g_assert_false (gtk_selection_model_is_selected (rows, 0));
  assert_fact (f, TESSERA_FACT_FROM, "memory from", NULL);
  assert_fact (f, TESSERA_FACT_TO, "memory to",
               "stream 1, 4 events, 4 µs after the free: waits for it");
  gtk_selection_model_select_item (rows, 0, TRUE);
  g_assert_cmpuint (f->document->selected, ==, 1);
  g_assert_true (gtk_selection_model_is_selected (rows, 0));
  assert_fact (f, TESSERA_FACT_FROM, "memory from",
               "stream 0 (default), freed 4 events, 4 µs before: waits for it");
  assert_fact (f, TESSERA_FACT_TO, "memory to", NULL);
  test_view_do (f, "across");
  g_assert_false (test_view_sees (f, "handovers-panel"));
  assert_fact (f, TESSERA_FACT_FROM, "memory from", NULL);
  g_unlink (path);
}

/* Parts that sum to less than the most that was ever reserved say why. */
static void
test_later_peak (TestView *f, gconstpointer unused)
{
  test_window_open (f->window, f->path);
  g_assert_cmpstr (test_view_text (f, "parts-heading"), ==, "At the peak of reserved");
  g_assert_null (gtk_widget_get_tooltip_text (test_view_find (f, "parts-heading")));
  f->document->verdict.parts.reserved_bytes--;
  tessera_document_changed (f->document, TESSERA_CHANGED_MOMENT);
  g_assert_cmpstr (test_view_text (f, "parts-heading"), ==,
                   "At the later peak of reserved");
  g_assert_nonnull (gtk_widget_get_tooltip_text (test_view_find (f, "parts-heading")));
}

static guint
count_rows (GtkWidget *widget)
{
  guint n = gtk_widget_has_css_class (widget, "legend-row") &&
            gtk_widget_get_child_visible (widget) && gtk_widget_get_visible (widget);

  for (GtkWidget *child = gtk_widget_get_first_child (widget); child != NULL;
       child = gtk_widget_get_next_sibling (child))
    n += count_rows (child);
  return n;
}

/* Twelve entries are in sight; the others are made when they unfold, all of them, and go
 * where other colours have fewer. */
static void
test_legend_unfolds (TestView *f, gconstpointer unused)
{
  g_autoptr (GString) csv = g_string_new ("seq,time_us,action,id,size_bytes,stream\n");
  GtkWidget *legend, *more;

  for (int i = 0; i < 40; i++)
    g_string_append_printf (csv, "%d,%d,alloc,%d,1048576,%d\n", i, i, i, i);
  g_assert_true (g_file_set_contents (f->path, csv->str, -1, NULL));
  test_window_open (f->window, f->path);
  legend = test_view_find (f, "legend");
  more = test_view_find (f, "legend-more");
  g_assert_false (gtk_widget_get_visible (more));
  tessera_document_set_colour_key (f->document, TESSERA_COLOUR_STREAM);
  test_window_settle (f->window);
  WAIT (gtk_widget_get_visible (more), SLOW_MS);
  g_assert_cmpuint (count_rows (legend), ==, 12);
  gtk_expander_set_expanded (GTK_EXPANDER (more), TRUE);
  WAIT (count_rows (legend) ==
            MIN (f->document->paint->colouring->n_entries, (size_t) 200),
        SLOW_MS);
  g_assert_cmpuint (count_rows (legend), >, 12);
  tessera_document_set_colour_key (f->document, TESSERA_COLOUR_CLASS);
  WAIT (count_rows (legend) <= 4, SLOW_MS);
  g_assert_false (gtk_widget_get_visible (more));
}

/* Requests that found no place in a plan's pool: a recording that followed the plan has
 * missed it, a simulation serves them beside its pool. */
static void
test_legend_missed (TestView *f, gconstpointer unused)
{
  TesseraLayout *layout;

  test_window_open (f->window, f->path);
  GtkWidget *row = test_view_find (f, "legend-missed");
  GtkWidget *name = gtk_widget_get_next_sibling (gtk_widget_get_first_child (row));
  g_assert_false (gtk_widget_get_visible (row));
  layout = (TesseraLayout *) f->document->sheets[0]->layout;
  layout->n_misses = 2;
  layout->miss_bytes = 3 << 20;
  for (int has_pool = 0; has_pool < 2; has_pool++)
    {
      layout->pool_bytes = has_pool ? 8 << 20 : 0;
      tessera_document_changed (f->document, TESSERA_CHANGED_MOMENT);
      g_assert_true (gtk_widget_get_visible (row));
      g_assert_cmpstr (gtk_label_get_text (GTK_LABEL (name)), ==,
                       has_pool ? "missed the plan" : "beside the pool");
      g_assert_cmpstr (gtk_label_get_text (GTK_LABEL (gtk_widget_get_last_child (row))),
                       ==, "3.00 MiB in all");
    }
  layout->n_misses = 0;
  tessera_document_changed (f->document, TESSERA_CHANGED_MOMENT);
  g_assert_false (gtk_widget_get_visible (row));
}

/* Making rows anew is what held the window after edits. What a plan or an edit leaves as
 * it was stays the same widget; so does the row of a plan when others come. */
static void
test_rows_stay (TestView *f, gconstpointer unused)
{
  static const char *const boxes[] = { "legend-entries", "plans", "parts" };
  GtkWidget *rows[G_N_ELEMENTS (boxes)], *plan, *edit;

  test_window_open (f->window, f->path);
  for (size_t i = 0; i < G_N_ELEMENTS (boxes); i++)
    rows[i] = gtk_widget_get_last_child (test_view_find (f, boxes[i]));
  plan = rows[1];
  test_view_do (f, "select-all");
  test_view_act (f, "keep-plan");
  test_view_do (f, "edit-split-size");
  g_assert_cmpuint (f->document->kept->len, >, 1);
  for (size_t i = 0; i < G_N_ELEMENTS (boxes); i++)
    g_assert_true (gtk_widget_get_last_child (test_view_find (f, boxes[i])) == rows[i]);
  g_assert_true (gtk_widget_get_last_child (test_view_find (f, "plans")) == plan);
  edit = test_view_find (f, "edit-title");
  test_view_do (f, "undo");
  g_assert_true (test_view_find (f, "edit-title") == edit);
}

/* What `tessera info` says: what to do, with the text to type a click away, first until a block is
 * selected, then below it; and whose the memory is, to the byte, at any moment: the legend. */
static void
test_answers (TestView *f, gconstpointer unused)
{
  g_autofree char *sample = test_sample_path ();
  g_autofree char *copied = NULL;
  GtkWidget *answers, *copy, *other;

  if (sample == NULL)
    {
      g_test_skip ("the sample is not there");
      return;
    }
  answers = test_view_find (f, "answers");
  g_assert_false (gtk_widget_get_visible (answers));
  test_window_open (f->window, sample);
  copy = test_view_find (f, "to-do-copy");
  g_assert_cmpstr (test_view_text (f, "to-do-wins"), ==, "7.66 GiB less needed");
  g_assert_cmpstr (gtk_test_accessible_check_property (
                       GTK_ACCESSIBLE (copy), GTK_ACCESSIBLE_PROPERTY_LABEL,
                       "Copy: PYTORCH_ALLOC_CONF=expandable_segments:True"),
                   ==, NULL);
  g_signal_emit_by_name (copy, "clicked");
  copied = clipboard_text (f);
  g_assert_cmpstr (copied, ==, "PYTORCH_ALLOC_CONF=expandable_segments:True");
  g_assert_cmpstr (gtk_button_get_label (GTK_BUTTON (copy)), ==, "Copied");
  other = gtk_widget_get_last_child (test_view_find (f, "to-do"));
  other = test_find (other, "to-do-copy");
  g_signal_emit_by_name (other, "clicked");
  g_assert_cmpstr (gtk_button_get_label (GTK_BUTTON (other)), ==, "Copied");
  g_assert_cmpstr (gtk_button_get_label (GTK_BUTTON (copy)), ==, "Copy");
  g_assert_true (g_str_has_prefix (
      test_view_text (f, "verdict-filling"),
      "Refused in step 3, backward: 7.83 GiB for temporary of backward. Of 25.34 GiB in "
      "use: 31 % loss and logits (loss_utils.py fixed_cross_entropy), 31 % "));
  for (int turn = 0; turn < 2; turn++)
    {
      const TesseraMoment *described = &f->document->described;
      TesseraWhose whose = f->document->data->whose;
      g_autoptr (GArray) rows = NULL;
      uint64_t all_bytes = 0;

      whose.layout = f->document->sheets[TESSERA_SIDE_LEFT]->layout;
      rows = tessera_whose (&whose, TESSERA_BY_CATEGORY, f->document->moment);
      for (guint i = 0; i < rows->len; i++)
        {
          const TesseraOwner *owner = &g_array_index (rows, TesseraOwner, i);
          const TesseraLegendEntry *entry = f->document->paint->colouring->entries;
          size_t at = 0;

          while (!g_str_equal (entry[at].name, owner->name))
            at++;
          g_assert_cmpuint (described->live_bytes[at], ==, owner->bytes);
          all_bytes += owner->bytes;
        }
      g_assert_cmpuint (rows->len, >, 1);
      g_assert_cmpuint (all_bytes, ==, described->parts.live_bytes);
      test_view_do (f, "go-peak");
      g_assert_cmpuint (f->document->described.parts.event_index, ==,
                        f->document->moment);
    }
  g_assert_null (gtk_widget_get_prev_sibling (answers));
  tessera_document_select (f->document, 900);
  g_assert_nonnull (gtk_widget_get_prev_sibling (answers));
  tessera_document_select (f->document, TESSERA_NONE);
  g_assert_null (gtk_widget_get_prev_sibling (answers));
  test_window_open (f->window, f->path);
  g_assert_true (g_str_has_prefix (test_view_text (f, "verdict-filling"), "Fullest in "));
  g_assert_nonnull (strstr (gtk_widget_get_tooltip_text (gtk_widget_get_first_child (
                                test_view_find (f, "legend-entries"))),
                            " % of all"));
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
  ADD ("answers", test_answers);
  ADD ("copy", test_copy);
  ADD ("size", test_size);
  ADD ("hint", test_hint);
  ADD ("hand-overs", test_handovers);
  ADD ("later peak", test_later_peak);
  ADD ("legend unfolds", test_legend_unfolds);
  ADD ("legend missed", test_legend_missed);
  ADD ("rows stay", test_rows_stay);
  return g_test_run ();
}
