/*
 * The engineer's path by keyboard alone, in the application as it is: from a trace to an
 * edited plan in a file, in at most twenty presses.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "db/store.h"
#include "viewer/model/document.h"
#include "viewer/test-clip.h"
#include "viewer/test-hand.h"
#include "viewer/test-window.h"

#include <glib/gstdio.h>
#include <json-glib/json-glib.h>
#include <string.h>

#include "db/size-text.h"
#include "tests/db/auto.h"
#include "tests/ok.h"

#define MOST_PRESSES 20
#define WIDTH 1280
#define HEIGHT 720

typedef struct
{
  TesseraWindow *window;
  TesseraDocument *document;
  char *folder;
  char *trace; /* a copy: edits are kept beside it */
  int n_presses;
} Path;

/* --- a hand on the keys ---------------------------------------------------------------
 */

static void
press (Path *p, GdkModifierType modifiers, KeySym symbol)
{
  test_hand_press (modifiers, symbol);
  p->n_presses++;
}

/* The toolkit's own dialog, once it listens; NULL: there is none. */
static GtkWindow *
find_dialog (void)
{
  GListModel *windows = gtk_window_get_toplevels ();

  for (guint i = 0; i < g_list_model_get_n_items (windows); i++)
    {
      g_autoptr (GtkWindow) window = g_list_model_get_item (windows, i);

      if (GTK_IS_FILE_CHOOSER (window) && gtk_widget_get_mapped (GTK_WIDGET (window)))
        return window;
    }
  return NULL;
}

static gboolean
dialog_listens (void)
{
  GtkWindow *dialog = find_dialog ();

  return dialog != NULL && gtk_window_is_active (dialog) &&
         gtk_window_get_focus (dialog) != NULL;
}

/* Types @text, which makes the name @name: one action, a name is typed at one go. */
static void
type_name (Path *p, const char *text, const char *name)
{
  WAIT (dialog_listens (), SLOW_MS);
  test_hand_type (text);
  p->n_presses++;
  WAIT (GTK_IS_EDITABLE (gtk_window_get_focus (find_dialog ())) &&
            g_str_equal (gtk_editable_get_text (
                             GTK_EDITABLE (gtk_window_get_focus (find_dialog ()))),
                         name),
        SLOW_MS);
  press (p, 0, XK_Return);
  WAIT (find_dialog () == NULL, SLOW_MS);
  test_hand_focus (GTK_WINDOW (p->window));
  WAIT (gtk_window_is_active (GTK_WINDOW (p->window)), SLOW_MS);
}

/* --- what the command line says
 * --------------------------------------------------------- */

static JsonObject *
ask_command (const char *const *arguments, JsonParser *parser)
{
  g_autofree char *output = NULL;
  g_autoptr (GError) error = NULL;
  int status = -1;

  g_assert_true (g_spawn_sync (NULL, (char **) arguments, NULL, G_SPAWN_DEFAULT, NULL,
                               NULL, &output, NULL, &status, &error));
  g_assert_no_error (error);
  g_assert_cmpint (status, ==, 0);
  if (parser == NULL)
    return NULL;
  g_assert_true (json_parser_load_from_data (parser, output, -1, NULL));
  return json_node_get_object (json_parser_get_root (parser));
}

static const char *
text_of (Path *p, const char *name)
{
  return gtk_label_get_text (GTK_LABEL (test_find (GTK_WIDGET (p->window), name)));
}

static void
assert_shows_bytes (Path *p, const char *name, JsonObject *object, const char *member)
{
  char buffer[32];
  const char *described = tessera_format_bytes (
      (uint64_t) json_object_get_int_member (object, member), buffer, sizeof buffer);

  if (strstr (text_of (p, name), described) == NULL)
    g_error ("%s says \"%s\", the command line %s", name, text_of (p, name), described);
}

static void
numbers_are_infos (Path *p)
{
  const char *const argv[] = { g_getenv ("TESSERA_CLI"), "info", "--json", p->trace,
                               NULL };
  g_autoptr (JsonParser) parser = json_parser_new ();
  JsonObject *info = ask_command (argv, parser);

  g_assert_cmpstr (text_of (p, "verdict-headline"), ==,
                   json_object_get_string_member (info, "headline"));
  g_assert_cmpstr (text_of (p, "verdict-sentence"), ==,
                   json_object_get_string_member (info, "sentence"));
  g_assert_cmpstr (text_of (p, "verdict-filling"), ==,
                   json_object_get_string_member (info, "filling"));
  assert_shows_bytes (p, "subtitle-left", info, "peak_reserved_bytes");
}

/* Of the trace and the edits kept beside it. */
static void
numbers_are_plans (Path *p)
{
  g_autofree char *out = g_build_filename (p->folder, "alone.tsp", NULL);
  const char *const argv[] = {
    g_getenv ("TESSERA_CLI"), "plan", "--json", p->trace, "-o", out, NULL
  };
  g_autoptr (JsonParser) parser = json_parser_new ();
  JsonObject *plan = ask_command (argv, parser);
  g_autofree char *digest = g_strdup_printf ("%016" G_GINT64_MODIFIER "x",
                                             p->document->planned->plan->slot_digest);

  assert_shows_bytes (p, "subtitle-right", plan, "height_bytes");
  assert_shows_bytes (p, "need-bound", plan, "bound_bytes");
  assert_shows_bytes (p, "plan-proof", plan, "height_bytes");
  if (!g_str_has_suffix (text_of (p, "plan-proof"),
                         json_object_get_string_member (plan, "proof")))
    g_error ("the window says \"%s\"", text_of (p, "plan-proof"));
  g_assert_cmpstr (json_object_get_string_member (plan, "slot_digest"), ==, digest);
  g_unlink (out);
}

/* --- the path
 * --------------------------------------------------------------------------- */

static void
begin (Path *p, const char *source)
{
  g_autofree char *base = g_path_get_basename (source);

  *p = (Path){ 0 };
  p->folder = g_dir_make_tmp ("path-XXXXXX", NULL);
  p->trace = g_build_filename (p->folder, base, NULL);
  test_copy_file (source, p->trace);
  p->window = test_window_new ();
  p->document = tessera_window_get_document (p->window);
  gtk_window_set_default_size (GTK_WINDOW (p->window), WIDTH, HEIGHT);
  WAIT (gtk_window_is_active (GTK_WINDOW (p->window)), 5000);
  press (p, GDK_CONTROL_MASK, XK_o);
  type_name (p, p->trace, p->trace);
  WAIT (p->document->data != NULL, SLOW_MS);
  test_window_settle (p->window);
}

static void
end (Path *p)
{
  g_autofree char *kept = g_strconcat (p->trace, ".edits.json", NULL);

  test_window_free (p->window);
  g_unlink (kept);
  g_unlink (p->trace);
  g_assert_cmpint (g_rmdir (p->folder), ==, 0);
  g_free (p->trace);
  g_free (p->folder);
}

/* The group moves to another place, and the plan is made again. */
static void
move_group (Path *p)
{
  press (p, 0, XK_k);
  test_window_settle (p->window);
  press (p, 0, XK_h);
  WAIT (p->document->selection != NULL, SLOW_MS);
  test_window_settle (p->window);
  press (p, 0, XK_g);
  test_window_settle (p->window);
  g_test_message ("%zu blocks move", tessera_document_n_selected (p->document));
  press (p, GDK_ALT_MASK, XK_Up);
  WAIT (p->document->proposal.landings != NULL, SLOW_MS);
  WAIT (p->document->proposal.offset_bytes != p->document->proposal.landings->base_bytes,
        SLOW_MS);
  press (p, 0, XK_Return);
  WAIT (tessera_document_n_standing (p->document) == 1, SLOW_MS);
  test_window_settle (p->window);
  g_assert_true (tessera_document_is_plan_current (p->document));
}

/* Beside the one without the edit: what is told is what the plans are. */
static void
compare (Path *p)
{
  char buffer[32];

  press (p, GDK_CONTROL_MASK, XK_j);
  test_window_settle (p->window);
  g_assert_cmpstr (
      text_of (p, "compare-height-right"), ==,
      tessera_format_bytes (p->document->planned->height_bytes, buffer, sizeof buffer));
  press (p, 0, XK_x);
  test_window_settle (p->window);
  g_assert_cmpint (test_count_cut (p->window, "plans", WIDTH, HEIGHT), ==, 0);
}

static void
export_and_check (Path *p)
{
  g_autoptr (TesseraPlan) plan = NULL;
  g_autofree char *stem = g_build_filename (p->folder, "mine", NULL);
  g_autofree char *out = g_strconcat (stem, ".tsp", NULL);
  const char *const argv[] = {
    g_getenv ("TESSERA_CLI"), "check", "--trace", p->trace, out, NULL
  };

  press (p, GDK_CONTROL_MASK, XK_e);
  /* What is offered ends in .tsp, which stays: only what is before it is written over. */
  type_name (p, stem, out);
  test_window_settle (p->window);
  g_assert_true (g_file_test (out, G_FILE_TEST_EXISTS));
  ask_command (argv, NULL);
  OK (tessera_plan_load (out, NULL, &plan));
  g_assert_true ((plan->lengths != NULL) == (p->document->planned->length > 0));
  g_unlink (out);
}

static void
walk (const char *source, gboolean do_lengths_vary)
{
  uint64_t alone_bytes, beside_bytes, alone_digest, mine_digest;
  Path p;

  begin (&p, source);
  numbers_are_infos (&p);
  numbers_are_plans (&p);
  /* Where lengths vary it serves runs of other lengths as well, as the one of `tessera plan`. */
  g_assert_true ((p.document->planned->length > 0) == do_lengths_vary);
  g_assert_null (p.document->planned->why_no_lengths);
  alone_bytes = tessera_followed_peak_bytes (p.document->planned, &beside_bytes);
  alone_digest = p.document->planned->plan->slot_digest;
  g_assert_cmpint (test_count_cut (p.window, "opened", WIDTH, HEIGHT), ==, 0);
  move_group (&p);
  mine_digest = p.document->planned->plan->slot_digest;
  g_assert_cmpuint (mine_digest, !=, alone_digest);
  g_assert_cmpuint (p.document->former_bytes, ==, alone_bytes);
  /* What is pinned to several places has none at every length: that is said. */
  g_assert_cmpuint (p.document->planned->length, ==, 0);
  g_assert_true ((p.document->planned->why_no_lengths != NULL) == do_lengths_vary);
  numbers_are_plans (&p);
  press (&p, GDK_CONTROL_MASK, XK_h);
  test_window_settle (p.window);
  g_assert_cmpstr (text_of (&p, "edits-change"), ==, text_of (&p, "plan-change"));
  g_test_message ("%s", text_of (&p, "plan-change"));
  g_assert_cmpint (test_count_cut (p.window, "edits", WIDTH, HEIGHT), ==, 0);
  compare (&p);
  press (&p, GDK_CONTROL_MASK, XK_z);
  WAIT (tessera_document_n_standing (p.document) == 0, SLOW_MS);
  test_window_settle (p.window);
  g_assert_cmpuint (p.document->planned->plan->slot_digest, ==, alone_digest);
  press (&p, GDK_CONTROL_MASK | GDK_SHIFT_MASK, XK_z);
  WAIT (tessera_document_n_standing (p.document) == 1, SLOW_MS);
  test_window_settle (p.window);
  g_assert_cmpuint (p.document->planned->plan->slot_digest, ==, mine_digest);
  export_and_check (&p);
  g_test_message ("%d actions", p.n_presses);
  g_assert_cmpint (p.n_presses, <=, MOST_PRESSES);
  end (&p);
}

static void
test_sample (void)
{
  g_autofree char *path = test_sample_path ();

  if (path == NULL || g_getenv ("TESSERA_CLI") == NULL)
    g_test_skip ("the sample or the command is not there");
  else
    walk (path, TRUE);
}

static void
test_large (void)
{
  const char *shared = g_getenv ("TESSERA_SHARED_DATA");
  g_autofree char *path = g_build_filename (shared != NULL ? shared : "", "snapshots",
                                            "real", "large-ctx256-fullstep.pickle", NULL);

  if (!g_file_test (path, G_FILE_TEST_EXISTS) || g_getenv ("TESSERA_CLI") == NULL)
    g_test_skip ("the snapshot or the command is not there");
  else
    walk (path, FALSE);
}

int
main (int argc, char **argv)
{
  if (!test_init_display (&argc, &argv))
    return 0;
  g_test_add_func ("/path/sample", test_sample);
  g_test_add_func ("/path/large", test_large);
  return g_test_run ();
}
