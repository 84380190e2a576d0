/*
 * Nothing that is written is cut: every label of the window, in every panel and state.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/model/document.h"
#include "viewer/panels/private.h"
#include "viewer/test-clip.h"
#include "viewer/test-window.h"

#include <glib/gstdio.h>
#include <string.h>

#define WIDTH 1280
#define HEIGHT 720
typedef struct
{
  TesseraWindow *window;
  TesseraDocument *document;
  int width, height;
  int n_cut;
} Look;

static void
look_at (Look *look, const char *state)
{
  test_window_settle (look->window);
  look->n_cut += test_count_cut (look->window, state, look->width, look->height);
}

/* --- states ---------------------------------------------------------------------------
 */

static void
act (Look *look, const char *detailed)
{
  g_autofree char *full = g_strconcat ("win.", detailed, NULL);
  g_autofree char *name = NULL;
  g_autoptr (GVariant) target = NULL;
  g_autoptr (GError) error = NULL;

  g_assert_true (g_action_parse_detailed_name (full, &name, &target, &error));
  g_assert_true (
      gtk_widget_activate_action_variant (GTK_WIDGET (look->window), name, target));
  test_window_settle (look->window);
}

static void
act_and_look (Look *look, const char *const *actions)
{
  for (; *actions != NULL; actions++)
    {
      act (look, *actions);
      look_at (look, *actions);
    }
}

static void
begin (Look *look, int width, int height)
{
  *look = (Look){ .width = width, .height = height };
  look->window = test_window_new ();
  look->document = tessera_window_get_document (look->window);
  gtk_window_set_default_size (GTK_WINDOW (look->window), width, height);
  WAIT (gdk_surface_get_width (gtk_native_get_surface (GTK_NATIVE (look->window))) ==
            width,
        5000);
}

/* Edits are kept beside the trace. */
static void
forget_edits (const char *path)
{
  g_autofree char *kept = g_strconcat (path, ".edits.json", NULL);

  g_unlink (kept);
}

static void
end (Look *look)
{
  test_window_free (look->window);
  g_assert_cmpint (look->n_cut, ==, 0);
}

static void
look_at_panels (Look *look)
{
  static const char *const panels[] = { "side::block",  "go-peak",     "go-hole",
                                        "select-group", "side::plans", "side::edits",
                                        "side::groups", NULL };
  static const char *const colours[] = {
    "colour::category", "colour::class",  "colour::group",
    "colour::size",     "colour::stream", "colour::phase",
    "colour::age",      "colour::module", NULL
  };
  static const char *const more[] = { "arrange::vertical",
                                      "table",
                                      "arrange::horizontal",
                                      "left::native",
                                      "axis::events",
                                      "axis::time",
                                      "left::expandable",
                                      "left::recorded",
                                      "table",
                                      NULL };

  act_and_look (look, panels);
  act_and_look (look, colours);
  act_and_look (look, more);
}

static void
ask (Look *look, const char *query)
{
  gtk_editable_set_text (
      GTK_EDITABLE (test_find (GTK_WIDGET (look->window), "group-query")), query);
  tessera_document_set_query (tessera_window_get_document (look->window), query);
  test_window_settle (look->window);
}

/* Every row of the tree, opened. */
static void
look_at_tree (Look *look)
{
  GtkWidget *view = test_find (GTK_WIDGET (look->window), "groups-panel");
  GtkColumnView *rows = GTK_COLUMN_VIEW (test_find (view, "groups"));

  act (look, "clear");
  act (look, "side::groups");
  test_window_settle (look->window);
  for (guint i = 0; i < MIN (tessera_groups_view_get_tree (view)->rows->len, 60); i++)
    {
      TesseraGroupTree *tree = tessera_groups_view_get_tree (view);
      TesseraNode node = g_array_index (tree->rows, TesseraNode, i);

      if (node.kind == TESSERA_NODE_GROUP && !tessera_group_tree_is_open (tree, node))
        g_signal_emit_by_name (rows, "activate", i);
    }
  look_at (look, "the tree, opened");
  ask (look, "size>=1MiB phase=forward");
  look_at (look, "a query");
  ask (look, "colour=red");
  look_at (look, "a query that is none");
  ask (look, "");
}

/* Each that asks: empty, and with a value that cannot be. */
static void
look_at_bars (Look *look)
{
  size_t n;
  const TesseraEditCommand *commands = tessera_edit_commands (&n);

  act (look, "next-block");
  act (look, "select-group");
  for (size_t i = 0; i < n; i++)
    {
      GtkWidget *entry;

      if (!commands[i].asks ||
          tessera_document_why_no_edit (look->document, commands[i].kind,
                                        commands[i].by) != NULL)
        continue;
      act (look, commands[i].action);
      look_at (look, commands[i].title);
      entry = test_find (GTK_WIDGET (look->window), "edit-entry");
      if (!gtk_widget_get_mapped (entry))
        continue;
      gtk_editable_set_text (GTK_EDITABLE (entry), "colour=red");
      look_at (look, commands[i].title);
    }
}

static void
look_at_edits (Look *look, gboolean conflicts)
{
  static const char *const makes[] = {
    "side::edits", "edit-dynamic",        "undo",
    "next-block",  "pin-at(uint64 0)",    "side::plans",
    "keep-plan",   "show-left(uint32 0)", "side::edits",
    "next-block",  "pin-at(uint64 0)",    NULL,
  };

  act_and_look (look, makes);
  g_assert_cmpint (look->document->conflict.first != TESSERA_NONE, ==, conflicts);
  look_at (look, "a conflict");
  act (look, "side::groups");
  look_at (look, "a conflict beside the groups");
  /* More than a low window has room for: it scrolls, and does not grow. */
  static const char *const opens[] = { "table", "arrange::vertical", "edit-cap", NULL };
  act_and_look (look, opens);
  g_signal_emit_by_name (test_find (GTK_WIDGET (look->window), "edit-cancel"), "clicked");
  act (look, "arrange::horizontal");
  act (look, "table");
  act (look, "undo");
  look_at (look, "undone");
}

/* While it is being made. */
static void
look_at_planning (Look *look)
{
  act (look, "side::groups");
  for (int i = 0; i < 2; i++)
    {
      gtk_widget_activate_action (GTK_WIDGET (look->window), "win.plan", NULL);
      WAIT (tessera_document_is_busy (look->document), 5000);
      look->n_cut += test_count_cut (look->window, "planning", look->width, look->height);
      test_window_settle (look->window);
    }
}

static void
look_at_file (const char *path, int width, int height, gboolean conflicts)
{
  Look look;

  begin (&look, width, height);
  look_at (&look, "empty");
  test_window_open (look.window, path);
  look_at (&look, "opened");
  look_at_panels (&look);
  look_at_tree (&look);
  look_at_bars (&look);
  look_at_edits (&look, conflicts);
  look_at_planning (&look);
  forget_edits (path);
  end (&look);
}

/* --- files ----------------------------------------------------------------------------
 */

/* A copy, since edits are kept beside it. */
static void
look_at_copy (const char *source, int width, int height)
{
  g_autofree char *base = g_path_get_basename (source);
  g_autofree char *folder = g_dir_make_tmp ("clip-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (folder, base, NULL);

  test_copy_file (source, path);
  look_at_file (path, width, height, TRUE);
  g_unlink (path);
  g_rmdir (folder);
}

static void
test_sample (void)
{
  g_autofree char *path = test_sample_path ();

  if (path == NULL)
    g_test_skip ("the sample is not there");
  else
    look_at_copy (path, WIDTH, HEIGHT);
}

/* What people named has no end: it is cut, and nothing else is for it. */
static char *
make_long_names (const char *folder)
{
  g_autofree char *module = g_strnfill (300, 'm');
  g_autofree char *phase = g_strnfill (200, 'p');
  g_autofree char *base = g_strnfill (200, 'f');
  g_autofree char *name = g_strconcat (base, ".csv", NULL);
  char *path = g_build_filename (folder, name, NULL);
  g_autoptr (GString) table =
      g_string_new ("seq,time_us,action,id,size_bytes,stream,iteration,phase,module\n");

  for (int i = 0; i < 60; i++)
    g_string_append_printf (table, "%d,%d,%s,%d,%d,0,%d,%s,%s.%d\n", i, i * 10,
                            i % 3 < 2 ? "alloc" : "free", i % 3 < 2 ? i : i - 1,
                            (1 + (i - (i % 3 == 2)) % 7) << 20, i / 30, phase, module,
                            i % 4);
  g_assert_true (g_file_set_contents (path, table->str, -1, NULL));
  return path;
}

static void
test_long_names (void)
{
  g_autofree char *folder = g_dir_make_tmp ("clip-XXXXXX", NULL);
  g_autofree char *path = make_long_names (folder);

  look_at_file (path, WIDTH, HEIGHT, FALSE);
  g_unlink (path);
  g_rmdir (folder);
}

/* Many phases and modules, of long names. */
static void
test_sharded (void)
{
  static const char *const panels[] = { "colour::phase",  "colour::module",
                                        "go-peak",        "next-block",
                                        "select-group",   "side::groups",
                                        "colour::stream", NULL };
  const char *root = g_getenv ("TESSERA_SOURCE_ROOT");
  g_autofree char *path =
      g_build_filename (root, "samples", "fsdp1-7b-rank3of16.pickle.gz", NULL);
  Look look;

  begin (&look, WIDTH, HEIGHT);
  test_window_open (look.window, path);
  look_at (&look, "sharded");
  act_and_look (&look, panels);
  end (&look);
}

/* While a plan is made, and what a stop keeps. */
static void
test_cut_short (void)
{
  g_autofree char *path = test_hard_path ();
  GtkWidget *work;
  Look look;

  begin (&look, WIDTH, HEIGHT);
  work = test_find (GTK_WIDGET (look.window), "work");
  for (int dark = 0; dark < 2; dark++)
    {
      tessera_document_open (look.document, path);
      WAIT (strstr (gtk_label_get_text (GTK_LABEL (work)), "so far") != NULL, SLOW_MS);
      look.n_cut += test_count_cut (look.window, "planning", WIDTH, HEIGHT);
      tessera_document_cancel (look.document);
      look_at (&look, "cut short");
      act (&look, "dark");
    }
  end (&look);
  g_unlink (path);
}

static void
look_at_made (char *path)
{
  static const char *const panels[] = { "go-peak",     "next-block",   "side::block",
                                        "side::plans", "side::groups", "table",
                                        NULL };
  static const char *const across[] = { "side::plans", "across", "side::block", NULL };
  Look look;

  begin (&look, WIDTH, HEIGHT);
  test_window_open (look.window, path);
  act_and_look (&look, panels);
  if (tessera_document_has_streams (look.document))
    act_and_look (&look, across);
  end (&look);
  g_unlink (path);
  g_free (path);
}

static void
test_made (void)
{
  look_at_made (test_followed_path ());
  look_at_made (test_devices_path ());
  look_at_made (test_three_blocks_path ());
  look_at_made (test_turns_path ());
}

/* Text a quarter larger, on a window that is, too. */
static void
test_large_text (void)
{
  g_autofree char *path = test_sample_path ();
  GtkSettings *settings = gtk_settings_get_default ();
  int dpi;

  if (path == NULL)
    {
      g_test_skip ("the sample is not there");
      return;
    }
  g_object_get (settings, "gtk-xft-dpi", &dpi, NULL);
  g_object_set (settings, "gtk-xft-dpi", dpi * 5 / 4, NULL);
  look_at_copy (path, WIDTH * 5 / 4, HEIGHT * 5 / 4);
  g_object_set (settings, "gtk-xft-dpi", dpi, NULL);
}

int
main (int argc, char **argv)
{
  if (!test_init_display (&argc, &argv))
    return 0;
  if (argc > 1)
    {
      look_at_copy (argv[1], WIDTH, HEIGHT);
      return 0;
    }
  g_test_add_func ("/clip/sample", test_sample);
  g_test_add_func ("/clip/long-names", test_long_names);
  g_test_add_func ("/clip/sharded", test_sharded);
  g_test_add_func ("/clip/made", test_made);
  g_test_add_func ("/clip/cut-short", test_cut_short);
  g_test_add_func ("/clip/large-text", test_large_text);
  return g_test_run ();
}
