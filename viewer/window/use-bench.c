/*
 * What the main thread does while somebody looks around in the window, with a real hand:
 * wheel, drags, keys, the table, dialogs; with the tree of groups and the table of blocks on screen
 * and a plan on either side. Then another file over the open one, and none.
 *
 * Of traces that are made up, 100,000 and a million blocks; or of the file that is named.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "edits/edits.h"
#include "viewer/model/document.h"
#include "viewer/test-bench.h"
#include "viewer/test-hand.h"

#include <glib/gstdio.h>
#include <string.h>

/* A hand does not move more often than frames are drawn. */
#define FRAME_MS 17
#define KEY_MS 60
#define N_EDITS 500

static GtkWidget *
find (TestBench *bench, const char *name)
{
  return test_find (GTK_WIDGET (bench->window), name);
}

static void
act_on (TestBench *bench, const char *action, const char *target)
{
  g_assert_true (
      gtk_widget_activate_action (GTK_WIDGET (bench->window), action, "s", target));
}

static void
measure_action (TestBench *bench, const char *action, const char *what)
{
  test_bench_begin (bench);
  test_bench_act (bench, action);
  test_bench_end (bench, what, 0);
}

static void
measure_switch (TestBench *bench, const char *action, const char *to, const char *what)
{
  test_bench_begin (bench);
  act_on (bench, action, to);
  test_bench_end (bench, what, 0);
}

/* --- the hand -------------------------------------------------------------------------
 */

/* @button: 4 is up, 5 down. */
static void
measure_wheel (TestBench *bench, const char *canvas, unsigned button, const char *what)
{
  test_hand_point (find (bench, canvas), 0.4, 0.6);
  test_bench_settle (bench);
  test_bench_begin (bench);
  for (int i = 0; i < 20; i++)
    {
      test_hand_button (button, TRUE);
      test_hand_button (button, FALSE);
      test_bench_wait_ms (FRAME_MS);
    }
  test_bench_end (bench, what, 0);
}

/* From one share of the canvas to another. */
static void
drag (GtkWidget *canvas, double x0, double y0, double x1, double y1)
{
  const int n = 30;

  test_hand_point (canvas, x0, y0);
  test_bench_wait_ms (FRAME_MS);
  test_hand_button (1, TRUE);
  for (int i = 1; i <= n; i++)
    {
      test_hand_point (canvas, x0 + (x1 - x0) * i / n, y0 + (y1 - y0) * i / n);
      test_bench_wait_ms (FRAME_MS);
    }
  test_hand_button (1, FALSE);
}

static void
measure_drag (TestBench *bench, const char *canvas, const char *what)
{
  test_bench_settle (bench);
  test_bench_begin (bench);
  drag (find (bench, canvas), 0.7, 0.7, 0.3, 0.4);
  test_bench_end (bench, what, 0);
}

static void
measure_band (TestBench *bench)
{
  g_autofree char *what = NULL;

  test_bench_act (bench, "win.fit");
  test_bench_settle (bench);
  test_bench_begin (bench);
  test_hand_key (XK_Shift_L, TRUE);
  drag (find (bench, "canvas-left"), 0.3, 0.02, 0.6, 0.98);
  test_bench_wait_ms (FRAME_MS);
  test_hand_key (XK_Shift_L, FALSE);
  test_bench_settle (bench);
  what = g_strdup_printf ("select %zu blocks by a band",
                          tessera_document_n_selected (bench->document));
  test_bench_end (bench, what, 0);
  measure_action (bench, "win.clear", "nothing selected");
}

static void
measure_key (TestBench *bench, KeySym key, int n, const char *what)
{
  test_bench_settle (bench);
  test_bench_begin (bench);
  for (int i = 0; i < n; i++)
    {
      test_hand_press (0, key);
      test_bench_wait_ms (KEY_MS);
    }
  test_bench_end (bench, what, 0);
}

static void
measure_walks (TestBench *bench)
{
  gtk_widget_grab_focus (find (bench, "canvas-left"));
  measure_key (bench, XK_n, 20, "n, 20 times");
  measure_key (bench, XK_p, 20, "p, 20 times");
  gtk_widget_grab_focus (find (bench, "block-table"));
  measure_key (bench, XK_Down, 40, "down in the table, 40 times");
  measure_key (bench, XK_Page_Down, 10, "page down in the table, 10 times");
  gtk_widget_grab_focus (find (bench, "groups"));
  measure_key (bench, XK_Down, 20, "down in the groups, 20 times");
  measure_key (bench, XK_Right, 1, "unfold a group");
  measure_action (bench, "win.clear", "nothing selected");
}

/* --- the table ------------------------------------------------------------------------
 */

static void
measure_text (TestBench *bench, const char *entry, const char *text, const char *what)
{
  test_bench_begin (bench);
  gtk_editable_set_text (GTK_EDITABLE (find (bench, entry)), text);
  /* The entry waits for the next letter. */
  test_bench_wait_ms (300);
  test_bench_end (bench, what, 0);
}

static void
measure_scroll (TestBench *bench, const char *list, double share, const char *what)
{
  GtkAdjustment *down =
      gtk_scrollable_get_vadjustment (GTK_SCROLLABLE (find (bench, list)));

  test_bench_begin (bench);
  gtk_adjustment_set_value (down, share * gtk_adjustment_get_upper (down));
  test_bench_end (bench, what, 0);
}

static void
measure_table (TestBench *bench)
{
  GtkColumnView *view = GTK_COLUMN_VIEW (find (bench, "block-table"));
  GListModel *columns = gtk_column_view_get_columns (view);

  test_bench_act (bench, "win.table");
  test_bench_settle (bench);
  measure_action (bench, "win.table", "open the table");
  for (guint i = 0; i < g_list_model_get_n_items (columns); i++)
    {
      g_autoptr (GtkColumnViewColumn) column = g_list_model_get_item (columns, i);
      g_autofree char *what = g_strdup_printf ("sort by column %u", i);

      test_bench_begin (bench);
      gtk_column_view_sort_by_column (view, column, GTK_SORT_DESCENDING);
      test_bench_end (bench, what, 0);
    }
  measure_text (bench, "filter-text", "a", "filter by a text");
  measure_text (bench, "filter-least", "1 GiB", "and by a size: few are left");
  measure_text (bench, "filter-least", "", "by the text alone");
  measure_text (bench, "filter-text", "", "no filter");
  measure_scroll (bench, "block-table", 0.0001, "scroll the table a little");
  measure_scroll (bench, "block-table", 0.5, "scroll it far");
  measure_wheel (bench, "block-table", 5, "the wheel over the table");
  measure_action (bench, "win.select-all", "select all blocks");
  measure_scroll (bench, "block-table", 0.1, "scroll while all is selected");
  measure_action (bench, "win.clear", "nothing selected");
}

static void
measure_query (TestBench *bench)
{
  static const char text[] = "size>=1MiB phase=a*";

  test_bench_act (bench, "win.find");
  test_bench_settle (bench);
  test_bench_begin (bench);
  for (size_t i = 0; text[i] != '\0'; i++)
    {
      test_hand_type ((const char[]){ text[i], '\0' });
      test_bench_wait_ms (KEY_MS);
    }
  test_bench_end (bench, "type a query", 0);
  measure_key (bench, XK_BackSpace, (int) strlen (text), "and delete it");
}

/* --- how it looks ---------------------------------------------------------------------
 */

static void
measure_looks (TestBench *bench)
{
  measure_switch (bench, "win.axis", "events", "axis: events");
  measure_switch (bench, "win.axis", "time", "axis: time");
  measure_switch (bench, "win.axis", "bytes", "axis: bytes");
  measure_switch (bench, "win.colour", "size", "colours by size");
  measure_switch (bench, "win.colour", "class", "colours by class");
  measure_action (bench, "win.dark", "dark");
  measure_action (bench, "win.dark", "light");
  measure_switch (bench, "win.arrange", "stacked", "one above the other");
  measure_switch (bench, "win.arrange", "side", "side by side");
}

static void
measure_sizes (TestBench *bench)
{
  GtkWindow *window = GTK_WINDOW (bench->window);

  gtk_window_set_default_size (window, 1280, 720);
  test_bench_settle (bench);
  test_bench_begin (bench);
  for (int i = 1; i <= 20; i++)
    {
      gtk_window_set_default_size (window, 1280 + 64 * i, 720 + 36 * i);
      test_bench_wait_ms (2 * FRAME_MS);
    }
  test_bench_end (bench, "from 1280 x 720 to 2560 x 1440", 0);
  g_assert_cmpint (gtk_widget_get_width (GTK_WIDGET (window)), >, 2000);
  measure_wheel (bench, "canvas-right", 4, "the wheel at 2560 x 1440");
  measure_wheel (bench, "canvas-right", 5, "and back");
  test_bench_begin (bench);
  gtk_window_set_default_size (window, 1280, 720);
  test_bench_end (bench, "back to 1280 x 720 at once", 0);
}

static void
measure_comparison (TestBench *bench, TesseraFollowed *other)
{
  test_bench_begin (bench);
  tessera_document_set_left_plan (bench->document, other);
  test_bench_end (bench, "compare with another plan", 0);
  measure_action (bench, "win.difference", "show what moved");
  measure_wheel (bench, "canvas-left", 4, "the wheel over it");
  measure_wheel (bench, "canvas-left", 5, "and back");
  measure_action (bench, "win.difference", "show all");
}

/* --- dialogs --------------------------------------------------------------------------
 */

static void
measure_popover (TestBench *bench, const char *button, const char *what)
{
  GtkMenuButton *menu = GTK_MENU_BUTTON (find (bench, button));

  test_bench_begin (bench);
  gtk_menu_button_popup (menu);
  test_bench_end (bench, what, 0);
  gtk_menu_button_popdown (menu);
  test_bench_settle (bench);
}

static void
close_others (TestBench *bench)
{
  GListModel *windows = gtk_window_get_toplevels ();

  for (guint i = g_list_model_get_n_items (windows); i > 0; i--)
    {
      g_autoptr (GtkWindow) window = g_list_model_get_item (windows, i - 1);

      if (window != GTK_WINDOW (bench->window) &&
          gtk_widget_get_visible (GTK_WIDGET (window)))
        gtk_window_close (window);
    }
  test_bench_settle (bench);
  test_hand_focus (GTK_WINDOW (bench->window));
  test_bench_settle (bench);
}

static void
measure_dialog (TestBench *bench, const char *action, const char *what)
{
  measure_action (bench, action, what);
  close_others (bench);
}

static void
measure_dialogs (TestBench *bench)
{
  measure_popover (bench, "edit-button", "menu of edits");
  measure_popover (bench, "edit-button", "menu of edits again");
  measure_popover (bench, "plan-menu", "menu of plans");
  measure_popover (bench, "main-menu", "main menu");
  measure_dialog (bench, "win.export-plan", "dialog: export a plan");
  measure_dialog (bench, "win.export-plan", "dialog: export a plan, again");
  measure_dialog (bench, "win.save-picture", "dialog: save a picture");
  measure_dialog (bench, "win.show-help-overlay", "dialog: all keys");
  measure_switch (bench, "win.side", "plans", "open the plans");
  measure_switch (bench, "win.side", "edits", "open the edits");
  measure_switch (bench, "win.side", "block", "open the block");
  measure_switch (bench, "win.side", "groups", "open the groups again");
}

/* --- edits ----------------------------------------------------------------------------
 */

/* A file with as many edits that change little. Its path; the caller removes it. */
static char *
write_edits (void)
{
  g_autoptr (TesseraHistory) history = tessera_history_new ();
  g_autoptr (GError) error = NULL;
  g_autofree char *json = NULL;
  g_autofree char *folder = g_dir_make_tmp ("edits-XXXXXX", NULL);
  char *path = g_build_filename (folder, "edits.json", NULL);

  for (uint32_t i = 0; i < N_EDITS; i++)
    {
      TesseraEdit edit = { .kind = TESSERA_EDIT_GROUP };

      tessera_selector_init (&edit.what);
      edit.what.blocks = malloc (sizeof (uint32_t));
      g_assert_nonnull (edit.what.blocks);
      edit.what.blocks[0] = i;
      edit.what.n_blocks = 1;
      edit.group = strdup ("a group of some");
      edit.name = g_strdup_printf ("block %u on its own", i);
      tessera_history_add (history, &edit);
    }
  json = tessera_history_to_json (history);
  g_file_set_contents (path, json, -1, &error);
  g_assert_no_error (error);
  return path;
}

static void
measure_history (TestBench *bench)
{
  g_autofree char *path = write_edits ();
  g_autofree char *folder = g_path_get_dirname (path);

  test_bench_begin (bench);
  tessera_document_load_edits (bench->document, path);
  test_bench_end_edit (bench, "read 500 edits");
  measure_switch (bench, "win.side", "edits", "open the list of 500 edits");
  test_bench_begin (bench);
  test_bench_act (bench, "win.undo");
  test_bench_end_edit (bench, "undo the last of them");
  test_bench_begin (bench);
  tessera_document_go_to_edits (bench->document, 0);
  test_bench_end_edit (bench, "undo all");
  measure_switch (bench, "win.side", "groups", "open the groups again");
  g_unlink (path);
  g_rmdir (folder);
}

/* --- files ----------------------------------------------------------------------------
 */

static void
measure_files (TestBench *bench, const char *path)
{
  TesseraData *before = bench->document->data;

  test_bench_begin (bench);
  act_on (bench, "win.open-path", path);
  WAIT (bench->document->data != before, BENCH_PATIENCE_MS);
  WAIT (bench->document->planned != NULL, BENCH_PATIENCE_MS);
  test_bench_end (bench, "open a file over it", 0);
  test_bench_settle (bench);
  measure_action (bench, "win.close-file", "close the file");
}

static void
measure (const char *path)
{
  TestBench bench = { .window = NULL };
  TesseraFollowed *other;
  TesseraEdit pin = tessera_edit_of (TESSERA_EDIT_PIN);

  test_bench_open (&bench, path);
  act_on (&bench, "win.side", "groups");
  test_bench_act (&bench, "win.table");
  other = tessera_followed_ref (bench.document->planned);
  tessera_document_select (bench.document, 0);
  test_bench_settle (&bench);
  pin.at = 4096;
  test_bench_begin (&bench);
  tessera_document_edit_selection (bench.document, &pin, TRUE);
  test_bench_end_edit (&bench, "pin a block");
  measure_comparison (&bench, other);
  tessera_followed_unref (other);
  measure_wheel (&bench, "canvas-left", 4, "the wheel on the left: in");
  measure_drag (&bench, "canvas-left", "drag on the left");
  measure_wheel (&bench, "canvas-left", 5, "the wheel on the left: out");
  measure_wheel (&bench, "canvas-right", 4, "the wheel on the right: in");
  measure_drag (&bench, "canvas-right", "drag on the right");
  measure_wheel (&bench, "canvas-right", 5, "the wheel on the right: out");
  measure_band (&bench);
  measure_walks (&bench);
  measure_table (&bench);
  measure_query (&bench);
  measure_looks (&bench);
  measure_dialogs (&bench);
  measure_history (&bench);
  measure_sizes (&bench);
  measure_files (&bench, path);
  test_bench_close (&bench);
}

int
main (int argc, char **argv)
{
  return test_bench_main (argc, argv, measure);
}
