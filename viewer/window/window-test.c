/*
 * The window in the process: its states, its words, its commands.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/model/document.h"
#include "viewer/panels/panels.h"
#include "viewer/test-window.h"
#include "viewer/kit/kit.h"

#include "db/size-text.h"

#include <glib/gstdio.h>
#include <string.h>

static void
test_empty (TestView *f, gconstpointer unused)
{
  g_assert_true (gtk_widget_get_mapped (test_view_find (f, "empty")));
  g_assert_false (gtk_widget_get_visible (test_view_find (f, "headline")));
  g_assert_true (test_view_is_enabled (f, "open"));
  g_assert_false (test_view_is_enabled (f, "plan"));
  g_assert_false (test_view_is_enabled (f, "export-plan"));
}

/* The page of a file comes into sight with the focus on its picture, and goes with it. */
static void
test_page (TestView *f, gconstpointer unused)
{
  static const char *const seen[] = { "canvas-left", "canvas-right", "legend",
                                      "inspector" };

  for (int round = 0; round < 2; round++)
    {
      test_window_open (f->window, f->path);
      for (size_t i = 0; i < G_N_ELEMENTS (seen); i++)
        g_assert_true (gtk_widget_get_mapped (test_view_find (f, seen[i])));
      g_assert_true (gtk_window_get_focus (GTK_WINDOW (f->window)) ==
                     test_view_find (f, "canvas-left"));
      g_assert_true (test_view_is_enabled (f, "export-plan"));
      test_view_act (f, "close-file");
      WAIT (gtk_widget_get_mapped (test_view_find (f, "empty")), 5000);
      g_assert_false (test_view_is_enabled (f, "export-plan"));
    }
}

static void
test_error_is_said (TestView *f, gconstpointer unused)
{
  test_window_open (f->window, "/nowhere/at-all.pickle");
  g_assert_true (test_view_sees (f, "message"));
  g_assert_nonnull (strstr (test_view_text (f, "message"), "at-all.pickle"));
  g_assert_true (gtk_widget_get_mapped (test_view_find (f, "empty")));
  test_view_act (f, "dismiss");
  WAIT (!test_view_sees (f, "message"), 5000);
}

/* The words on top are the verdict's, and the numbers are the needs'. */
static void
test_headline (TestView *f, gconstpointer unused)
{
  g_autofree char *path = test_sample_path ();
  const TesseraDocument *d = f->document;

  if (path == NULL)
    {
      g_test_skip ("the sample is not there");
      return;
    }
  test_window_open (f->window, path);
  g_assert_cmpstr (test_view_text (f, "verdict-headline"), ==, d->verdict.headline);
  g_assert_cmpstr (test_view_text (f, "verdict-sentence"), ==, d->verdict.sentence);
  g_assert_true (d->verdict.died);
  /* Red and green are told apart by more than colour. */
  const struct
  {
    const char *name, *sign;
    uint64_t bytes;
  } numbers[] = { { "need-native", "✗ ", d->needs.native_bytes },
                  { "need-expandable", "✓ ", d->needs.expandable_bytes },
                  { "need-plan", "✓ ", d->needs.plan_bytes },
                  { "need-bound", "", d->needs.bound_bytes } };
  g_assert_cmpstr (test_view_text (f, "verdict-filling"), ==, d->data->filling);
  for (size_t i = 0; i < G_N_ELEMENTS (numbers); i++)
    {
      g_autofree char *text =
          g_strconcat (numbers[i].sign, TESSERA_SIZE (numbers[i].bytes), NULL);

      g_assert_cmpstr (test_view_text (f, numbers[i].name), ==, text);
    }
}

/* A run that followed a plan: hits and misses are told and can be found. */
static void
test_followed (TestView *f, gconstpointer unused)
{
  g_autofree char *path = test_followed_path ();
  const TesseraLayout *layout;
  GtkWidget *text;
  uint32_t missed = 0;

  test_window_open (f->window, path);
  layout = f->document->sheets[TESSERA_SIDE_LEFT]->layout;
  g_assert_cmpuint (layout->n_hits, ==, 25);
  g_assert_cmpuint (layout->n_misses, ==, 2);
  g_assert_true (layout->spans[0].is_plan_pool);
  g_assert_nonnull (strstr (test_view_text (f, "verdict-sentence"),
                            "Plan train.tsp was followed: 25 hits, 2 misses (13.00 MiB), "
                            "pool 40.00 MiB, extras 20.00 MiB."));
  g_assert_null (strstr (test_view_text (f, "verdict-sentence"), ": ."));
  g_assert_true (gtk_widget_get_visible (test_view_find (f, "legend-missed")));
  g_assert_false (gtk_widget_get_visible (test_view_find (f, "legend-failed")));
  while (f->document->data->blocks->blocks[missed].size_bytes != 12 << 20)
    missed++;
  tessera_document_select (f->document, missed);
  g_assert_true (
      g_str_has_suffix (test_view_text (f, "block-left"), ", missed the plan"));
  tessera_document_select (f->document, 1);
  g_assert_true (g_str_has_suffix (test_view_text (f, "block-left"), " into the pool"));
  test_view_act (f, "table");
  text = test_view_find (f, "filter-text");
  gtk_editable_set_text (GTK_EDITABLE (text), "missed");
  WAIT (g_str_equal (test_view_text (f, "block-count"), "2 of 27 blocks"), 5000);
  g_unlink (path);
}

static void
test_zoom_actions (TestView *f, gconstpointer unused)
{
  test_window_open (f->window, f->path);
  test_view_act (f, "zoom-in");
  g_assert_cmpfloat (f->document->view.t1 - f->document->view.t0, <, 1);
  double before = f->document->view.t0;
  test_view_act (f, "pan-right");
  g_assert_cmpfloat (f->document->view.t0, >, before);
  test_view_act (f, "go-begin");
  g_assert_cmpfloat (f->document->view.t0, ==, 0);
  test_view_act (f, "fit");
  g_assert_true (test_is_fit (f->document));
}

static void
test_selection_is_everywhere (TestView *f, gconstpointer unused)
{
  test_window_open (f->window, f->path);
  test_view_act (f, "table");
  /* Wherever the pointer is. */
  tessera_document_hover (f->document, TESSERA_SIDE_LEFT, TESSERA_NONE);
  test_view_act (f, "next-block");
  test_view_act (f, "next-block");
  g_assert_cmpuint (f->document->selected, ==, 1);
  g_assert_cmpstr (test_view_text (f, "block-size"), ==, "2.00 MiB");
  g_assert_nonnull (strstr (test_view_text (f, "block-exact"), "2,097,152 bytes"));
  test_window_settle (f->window);
  g_assert_true (gtk_widget_get_mapped (test_view_find (f, "block-table")));
  {
    GtkColumnView *view = GTK_COLUMN_VIEW (test_view_find (f, "block-table"));
    GtkSelectionModel *selection = gtk_column_view_get_model (view);

    /* By size, the largest first: both of 2 MiB before the one of 1 MiB. */
    g_assert_true (gtk_selection_model_is_selected (selection, 0));
    gtk_selection_model_select_item (selection, 2, TRUE);
    g_assert_cmpuint (f->document->selected, ==, 0);
  }
  test_view_act (f, "clear");
  g_assert_cmpuint (f->document->selected, ==, TESSERA_NONE);
}

/* Several rows of the table are several blocks, and the other way round. */
static void
test_selection_of_several (TestView *f, gconstpointer unused)
{
  test_window_open (f->window, f->path);
  test_view_do (f, "table");
  g_assert_true (gtk_widget_get_mapped (test_view_find (f, "block-table")));
  GtkSelectionModel *rows =
      gtk_column_view_get_model (GTK_COLUMN_VIEW (test_view_find (f, "block-table")));
  tessera_document_hover (f->document, TESSERA_SIDE_LEFT, TESSERA_NONE);
  test_view_act (f, "next-block");
  g_assert_false (gtk_widget_get_mapped (test_view_find (f, "selection-count")));
  test_view_do (f, "next-block-too");
  g_assert_cmpstr (test_view_text (f, "selection-count"), ==, "2 blocks");
  g_assert_cmpstr (test_view_text (f, "selection-bytes"), ==, "3.00 MiB asked");
  g_assert_cmpstr (test_view_text (f, "selection-peak"), ==, "3.00 MiB, 100.0 % of it");
  /* By size: B, C, A. */
  g_assert_true (gtk_selection_model_is_selected (rows, 0));
  g_assert_false (gtk_selection_model_is_selected (rows, 1));
  g_assert_true (gtk_selection_model_is_selected (rows, 2));
  gtk_selection_model_select_range (rows, 0, 2, TRUE);
  g_assert_cmpuint (tessera_document_n_selected (f->document), ==, 2);
  g_assert_true (tessera_selection_has (f->document->selection, 2));
  g_assert_false (tessera_selection_has (f->document->selection, 0));
  gtk_selection_model_select_all (rows);
  test_window_settle (f->window);
  g_assert_cmpstr (test_view_text (f, "selection-count"), ==, "3 blocks");
  g_assert_cmpstr (test_view_text (f, "selection-sizes"), ==,
                   "2 × 2.00 MiB\n1 × 1.00 MiB");
}

/* What the rows of the table that are seen say, a number and a size each. */
static void
append_rows (GtkWidget *widget, GString *text)
{
  if (g_str_equal (gtk_widget_get_name (widget), "number") &&
      gtk_widget_get_mapped (widget) &&
      strchr (gtk_inscription_get_text (GTK_INSCRIPTION (widget)), 'x') == NULL &&
      strstr (gtk_inscription_get_text (GTK_INSCRIPTION (widget)), "event") == NULL)
    g_string_append_printf (text, "%s;",
                            gtk_inscription_get_text (GTK_INSCRIPTION (widget)));
  for (GtkWidget *child = gtk_widget_get_first_child (widget); child != NULL;
       child = gtk_widget_get_next_sibling (child))
    append_rows (child, text);
}

static void
assert_rows (TestView *f, const char *expected)
{
  g_autoptr (GString) text = g_string_new (NULL);

  test_window_settle (f->window);
  append_rows (test_view_find (f, "block-table"), text);
  g_assert_cmpstr (text->str, ==, expected);
}

/* Sorted by a head, filtered to fewer rows and back: no row says what is no more. */
static void
test_rows_of_table (TestView *f, gconstpointer unused)
{
  GtkWidget *least;
  g_autoptr (GtkColumnViewColumn) by_block = NULL;

  test_window_open (f->window, f->path);
  test_view_act (f, "table");
  GtkColumnView *view = GTK_COLUMN_VIEW (test_view_find (f, "block-table"));
  least = test_view_find (f, "filter-least");
  by_block = g_list_model_get_item (gtk_column_view_get_columns (view), 0);
  assert_rows (f, "1;2.00 MiB;2;2.00 MiB;0;1.00 MiB;");
  gtk_column_view_sort_by_column (view, by_block, GTK_SORT_ASCENDING);
  assert_rows (f, "0;1.00 MiB;1;2.00 MiB;2;2.00 MiB;");
  gtk_column_view_sort_by_column (view, by_block, GTK_SORT_DESCENDING);
  assert_rows (f, "2;2.00 MiB;1;2.00 MiB;0;1.00 MiB;");
  gtk_editable_set_text (GTK_EDITABLE (least), "2 MiB");
  assert_rows (f, "2;2.00 MiB;1;2.00 MiB;");
  g_assert_cmpstr (test_view_text (f, "block-count"), ==, "2 of 3 blocks");
  gtk_editable_set_text (GTK_EDITABLE (least), "many");
  g_assert_true (gtk_widget_has_css_class (least, "error"));
  gtk_editable_set_text (GTK_EDITABLE (least), "3 MiB");
  assert_rows (f, "");
  gtk_editable_set_text (GTK_EDITABLE (least), "");
  assert_rows (f, "2;2.00 MiB;1;2.00 MiB;0;1.00 MiB;");
  g_assert_cmpstr (test_view_text (f, "block-count"), ==, "3 blocks");
}

/* To whom it is read out a cell is a label, and whoever rests on it reads all of it. */
static void
test_cell (TestView *f, gconstpointer unused)
{
  GtkWidget *cell = g_object_ref_sink (tessera_cell_new (4, FALSE));

  gtk_inscription_set_text (GTK_INSCRIPTION (cell), "forward 1, step 0");
  gtk_test_accessible_assert_role (GTK_ACCESSIBLE (cell), GTK_ACCESSIBLE_ROLE_LABEL);
  gtk_test_accessible_assert_property (
      GTK_ACCESSIBLE (cell), GTK_ACCESSIBLE_PROPERTY_LABEL, "forward 1, step 0");
  g_assert_true (gtk_widget_get_has_tooltip (cell));
  g_object_unref (cell);
}

static guint
n_rows_selected (GtkSelectionModel *rows)
{
  g_autoptr (GtkBitset) selected = gtk_selection_model_get_selection (rows);

  return (guint) gtk_bitset_get_size (selected);
}

/* A row of the tree lights its blocks up; a block is found in the tree. */
static void
test_groups (TestView *f, gconstpointer unused)
{
  test_window_open (f->window, f->path);
  gtk_widget_activate_action (GTK_WIDGET (f->window), "win.side", "s", "groups");
  test_window_settle (f->window);
  GtkSelectionModel *rows =
      gtk_column_view_get_model (GTK_COLUMN_VIEW (test_view_find (f, "groups")));
  g_assert_cmpuint (g_list_model_get_n_items (G_LIST_MODEL (rows)), >=, 2);
  gtk_selection_model_select_all (rows);
  g_assert_cmpuint (tessera_document_n_selected (f->document), ==, 3);
  gtk_selection_model_select_item (rows, 1, TRUE); /* the only group of its class */
  g_assert_cmpuint (tessera_document_n_selected (f->document), >, 0);
  g_assert_cmpuint (tessera_document_n_selected (f->document), <, 3);
  g_assert_true (gtk_selection_model_is_selected (rows, 1));
  g_assert_cmpuint (n_rows_selected (rows), ==, 2);
  gtk_selection_model_unselect_item (rows, 0);
  g_assert_cmpuint (tessera_document_n_selected (f->document), ==, 0);
  /* With its group and class, where it is all of them. */
  tessera_document_select (f->document, 2);
  g_assert_cmpuint (n_rows_selected (rows), >=, 1);
  g_assert_cmpuint (n_rows_selected (rows), <=, 3);
  tessera_document_select (f->document, TESSERA_NONE);
  g_assert_cmpuint (n_rows_selected (rows), ==, 0);
  tessera_document_select_all (f->document);
  test_window_settle (f->window);
  g_assert_cmpuint (n_rows_selected (rows), ==,
                    g_list_model_get_n_items (G_LIST_MODEL (rows)));
  /* The arrow of the first class closes it, and opens it again. */
  {
    g_autoptr (GListModel) controllers =
        gtk_widget_observe_controllers (test_view_find (f, "group-arrow"));
    g_autoptr (GObject) click = g_list_model_get_item (controllers, 0);
    guint n = g_list_model_get_n_items (G_LIST_MODEL (rows));

    g_signal_emit_by_name (click, "released", 1, 0.0, 0.0);
    g_assert_cmpuint (g_list_model_get_n_items (G_LIST_MODEL (rows)), <, n);
    g_signal_emit_by_name (click, "released", 1, 0.0, 0.0);
    g_assert_cmpuint (g_list_model_get_n_items (G_LIST_MODEL (rows)), ==, n);
  }
  /* Typing filters, Enter selects, what is wrong is said. */
  test_view_act (f, "find");
  GtkWidget *entry = test_view_find (f, "group-query");
  gtk_editable_set_text (GTK_EDITABLE (entry), "size=2MiB");
  WAIT (g_str_equal (test_view_text (f, "group-count"), "2 of 3 blocks"), 5000);
  g_signal_emit_by_name (entry, "activate");
  WAIT (tessera_document_n_selected (f->document) == 2, 5000);
  gtk_editable_set_text (GTK_EDITABLE (entry), "size=2MiB phase");
  WAIT (gtk_widget_get_mapped (test_view_find (f, "query-error")), 5000);
  g_assert_nonnull (strstr (test_view_text (f, "query-error"), "phase"));
  gtk_editable_set_text (GTK_EDITABLE (entry), "");
  WAIT (!gtk_widget_get_mapped (test_view_find (f, "query-error")), 5000);
  /* It is about what is open. */
  gtk_editable_set_text (GTK_EDITABLE (entry), "size=2MiB");
  WAIT (f->document->query != NULL, 5000);
  test_window_open (f->window, f->path);
  g_assert_cmpstr (gtk_editable_get_text (GTK_EDITABLE (entry)), ==, "");
  g_assert_null (f->document->query);
}

/* Two plans on two sides, and how they differ. */
static void
test_compare (TestView *f, gconstpointer unused)
{
  GtkWidget *window = GTK_WIDGET (f->window);

  test_window_open (f->window, f->path);
  gtk_widget_activate_action (window, "win.side", "s", "plans");
  g_assert_cmpstr (test_view_text (f, "compare-height-right"), ==, "3.00 MiB");
  g_assert_cmpstr (test_view_text (f, "compare-above bound-right"), ==, "0.0 %");
  g_assert_cmpstr (test_view_text (f, "compare-hits-left"), ==, "–");
  test_view_act (f, "keep-plan");
  gtk_widget_activate_action (window, "win.show-left", "u", 0);
  test_window_settle (f->window);
  g_assert_true (gtk_widget_get_mapped (test_find (window, "compare-moved")));
  g_assert_cmpstr (test_view_text (f, "compare-height-left"), ==, "3.00 MiB");
  g_assert_cmpstr (test_view_text (f, "compare-hits-left"), ==,
                   test_view_text (f, "compare-hits-right"));
  g_assert_cmpstr (test_view_text (f, "compare-same"), ==, "3");
  g_assert_cmpstr (test_view_text (f, "compare-moved"), ==, "0");
}

static void
test_save_picture (TestView *f, gconstpointer unused)
{
  static const char *const suffixes[] = { ".png", ".svg", ".html" };

  test_window_open (f->window, f->path);
  for (size_t i = 0; i < G_N_ELEMENTS (suffixes); i++)
    {
      g_autofree char *path = g_strconcat (f->path, suffixes[i], NULL);
      g_autofree char *contents = NULL;
      size_t length = 0;

      g_assert_true (gtk_widget_activate_action (GTK_WIDGET (f->window),
                                                 "win.save-picture-to", "s", path));
      g_assert_false (test_view_is_enabled (f, "save-picture-to"));
      WAIT (!tessera_document_is_busy (f->document), SLOW_MS);
      g_assert_nonnull (strstr (test_view_text (f, "message"), path));
      g_test_message ("%s", test_view_text (f, "message"));
      g_assert_true (g_file_get_contents (path, &contents, &length, NULL));
      g_assert_cmpuint (length, >, 1000);
      g_unlink (path);
    }
}

static void
test_switches (TestView *f, gconstpointer unused)
{
  static const char *const axes[] = { "events", "time", "bytes" };
  static const char *const arranges[] = { "vertical", "horizontal" };
  GtkWidget *window = GTK_WIDGET (f->window);

  test_window_open (f->window, f->path);
  for (size_t i = 0; i < G_N_ELEMENTS (axes); i++)
    {
      g_assert_true (gtk_widget_activate_action (window, "win.axis", "s", axes[i]));
      test_window_settle (f->window);
    }
  for (size_t i = 0; i < G_N_ELEMENTS (arranges); i++)
    {
      g_assert_true (
          gtk_widget_activate_action (window, "win.arrange", "s", arranges[i]));
      test_window_settle (f->window);
    }
  for (int key = 0; key < TESSERA_N_COLOUR_KEYS; key++)
    {
      g_assert_true (gtk_widget_activate_action (
          window, "win.colour", "s", tessera_colour_key_name ((TesseraColourKey) key)));
      test_window_settle (f->window);
      g_assert_cmpint (f->document->paint->colouring->key, ==, key);
    }
  for (int i = 0; i < 2; i++)
    {
      test_view_do (f, "dark");
      g_assert_cmpint (f->document->dark, ==, i == 0);
    }
  for (int kind = TESSERA_LAYOUT_NATIVE; kind <= TESSERA_LAYOUT_EXPANDABLE; kind++)
    {
      g_assert_true (gtk_widget_activate_action (
          window, "win.left", "s",
          kind == TESSERA_LAYOUT_NATIVE ? "native" : "expandable"));
      test_window_settle (f->window);
      g_assert_cmpint (f->document->sheets[TESSERA_SIDE_LEFT]->layout->kind, ==, kind);
    }
}

/* The list is there for a file of several devices alone, and opens what is chosen. */
static void
test_devices (TestView *f, gconstpointer unused)
{
  g_autofree char *path = test_devices_path ();
  GtkWidget *list = test_view_find (f, "devices");

  g_assert_false (gtk_widget_get_visible (list));
  test_window_open (f->window, path);
  g_assert_true (gtk_widget_get_mapped (list));
  g_assert_cmpstr (gtk_menu_button_get_label (GTK_MENU_BUTTON (list)), ==, "Device 1");
  g_assert_cmpuint (f->document->data->trace->n_events, ==, 2);
  gtk_menu_button_popup (GTK_MENU_BUTTON (list));
  g_assert_cmpint (
      g_menu_model_get_n_items (gtk_menu_button_get_menu_model (GTK_MENU_BUTTON (list))),
      ==, 3);
  gtk_menu_button_popdown (GTK_MENU_BUTTON (list));
  gtk_widget_activate_action (GTK_WIDGET (f->window), "win.device", "u", 3);
  test_window_settle (f->window);
  g_assert_cmpuint (f->document->data->trace->device, ==, 3);
  g_assert_cmpuint (f->document->data->trace->n_events, ==, 1);
  g_assert_cmpstr (gtk_menu_button_get_label (GTK_MENU_BUTTON (list)), ==, "Device 3");
  /* One that cannot be opened leaves the list at what is open. */
  g_unlink (path);
  gtk_widget_activate_action (GTK_WIDGET (f->window), "win.device", "u", 1);
  test_window_settle (f->window);
  g_assert_nonnull (strstr (test_view_text (f, "message"), "cannot be opened"));
  g_assert_cmpuint (f->document->data->trace->device, ==, 3);
  g_assert_cmpstr (gtk_menu_button_get_label (GTK_MENU_BUTTON (list)), ==, "Device 3");
  test_window_open (f->window, f->path);
  g_assert_false (gtk_widget_get_visible (list));
}

static void
test_is_accessible (TestView *f, gconstpointer unused)
{
  GtkWidget *canvas = test_view_find (f, "canvas-left");

  gtk_test_accessible_assert_role (GTK_ACCESSIBLE (canvas), GTK_ACCESSIBLE_ROLE_IMG);
  gtk_test_accessible_assert_property (GTK_ACCESSIBLE (canvas),
                                       GTK_ACCESSIBLE_PROPERTY_LABEL,
                                       "PyTorch's layout, time by address");
  g_assert_true (gtk_widget_get_focusable (canvas));
  test_window_open (f->window, f->path);
  tessera_document_hover (f->document, TESSERA_SIDE_LEFT, TESSERA_NONE);
  test_view_act (f, "next-block");
  gtk_test_accessible_assert_property (
      GTK_ACCESSIBLE (test_view_find (f, "canvas-right")),
      GTK_ACCESSIBLE_PROPERTY_DESCRIPTION,
      "block of 1.00 MiB, 7 events, 50 µs, 0 B into the pool");
}

int
main (int argc, char **argv)
{
  if (!test_init_display (&argc, &argv))
    return 0;
#define ADD(name, function)                                                              \
  g_test_add ("/window/" name, TestView, NULL, test_view_set_up, function,               \
              test_view_tear_down)
  ADD ("empty", test_empty);
  ADD ("page", test_page);
  ADD ("error is said", test_error_is_said);
  ADD ("headline", test_headline);
  ADD ("followed plan", test_followed);
  ADD ("zoom actions", test_zoom_actions);
  ADD ("selection is everywhere", test_selection_is_everywhere);
  ADD ("selection of several", test_selection_of_several);
  ADD ("rows of the table", test_rows_of_table);
  ADD ("cell", test_cell);
  ADD ("groups", test_groups);
  ADD ("compare", test_compare);
  ADD ("save picture", test_save_picture);
  ADD ("switches", test_switches);
  ADD ("devices", test_devices);
  ADD ("is accessible", test_is_accessible);
  return g_test_run ();
}
