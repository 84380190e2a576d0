/*
 * What the main thread does after edits and selections in the window, with the groups and
 * the table of blocks on screen: its longest turn, which is how long nothing can be
 * clicked. No turn should take more than 16 ms of the processor, or, where drawing the
 * window alone takes that, much more than a frame.
 *
 * Of traces that are made up, 100,000 and a million blocks; or of the file that is named.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/document/edits/document-edit.h"
#include "viewer/document/edits/document-propose.h"
#include "viewer/document/select/document-query.h"
#include "viewer/document/select/document-select.h"
#include "viewer/document/document-plans.h"
#include "viewer/test-made.h"
#include "viewer/test-plain.h"
#include "viewer/test-turns.h"
#include "viewer/test-window.h"

#include <glib/gstdio.h>
#include <malloc.h>
#include <string.h>

#define MOST_MS 16.0
/* Nothing else waits for so long: planning a million blocks on a busy machine. */
#define PATIENCE_MS 600000
/* After a preview the full plan has so long, then it is stopped, as people do: how long
 * plans take is not the question here, and what the window shows meanwhile is the same in
 * each second. */
#define FULL_PLAN_MS 12000

typedef struct
{
  TesseraWindow *window;
  TesseraDocument *document;
  gint64 begin_us;
  double begin_ms;
  int n_actions, n_within, n_within_drawn;
  guint stopper; /* 0: nothing is to be stopped */
  gboolean is_stopped;
  gboolean is_plain; /* what is measured is none of our window's actions */
} Bench;

static TestTurns turns;

static void
act (Bench *bench, const char *action)
{
  g_assert_true (gtk_widget_activate_action (GTK_WIDGET (bench->window), action, NULL));
}

static void
begin (Bench *bench)
{
  test_turns_reset ();
  bench->begin_us = g_get_monotonic_time ();
  bench->begin_ms = test_cpu_ms (FALSE);
}

static double
since_s (const Bench *bench)
{
  return (double) (g_get_monotonic_time () - bench->begin_us) / 1e6;
}

static gboolean
is_quiet (TesseraDocument *document)
{
  for (int work = 0; work < TESSERA_N_WORKS; work++)
    if (work != TESSERA_WORK_NEEDS && document->jobs[work] != NULL)
      return FALSE;
  return TRUE;
}

static gboolean
stop_planning (gpointer user)
{
  Bench *bench = user;

  bench->stopper = 0;
  if (bench->document->jobs[TESSERA_WORK_PLAN] != NULL)
    {
      bench->is_stopped = TRUE;
      tessera_document_cancel (bench->document);
    }
  return G_SOURCE_REMOVE;
}

/* Some frames go by: what a change brings is drawn in the next. */
static void
settle (Bench *bench)
{
  for (int i = 0; i < 3; i++)
    {
      gboolean passed = FALSE;

      WAIT (is_quiet (bench->document), PATIENCE_MS);
      g_timeout_add (50, test_set_true, &passed);
      WAIT (passed, PATIENCE_MS);
    }
}

static const char *
name_of (const TestTurn *turn)
{
  return turn->what == NULL                            ? "the action, an event"
         : g_str_has_suffix (turn->what, "paint_idle") ? "frame"
                                                       : turn->what;
}

static void
print_turn (Bench *bench, const char *what, const char *shown)
{
  const TestTurn *turn = &turns.longest;
  double drawn_ms = test_turn_without_render_ms (&turns.drawn);

  bench->n_actions += !bench->is_plain;
  bench->n_within += !bench->is_plain && turn->all_ms <= MOST_MS;
  bench->n_within_drawn += !bench->is_plain && drawn_ms <= MOST_MS;
  g_print ("| %s | %s | %.2f%s | %.0f | %.1f%s | %.1f | %.1f | %.1f | %.1f | %.1f | %s | "
           "%.1f%s | %s |\n",
           what, shown, since_s (bench), bench->is_stopped ? ", stopped" : "",
           test_cpu_ms (FALSE) - bench->begin_ms, turn->all_ms,
           turn->all_ms > MOST_MS ? " (!)" : "",
           turn->all_ms - turn->update_ms - turn->layout_ms - turn->snapshot_ms -
               turn->render_ms,
           turn->update_ms, turn->layout_ms, turn->snapshot_ms, turn->render_ms,
           name_of (turn), drawn_ms, drawn_ms > MOST_MS ? " (!)" : "",
           name_of (&turns.drawn));
}

static void
end (Bench *bench, const char *what, double preview_s)
{
  char *shown = preview_s > 0 ? g_strdup_printf ("%.2f", preview_s) : g_strdup ("-");

  settle (bench);
  print_turn (bench, what, shown);
  bench->is_stopped = FALSE;
  g_free (shown);
}

/* Waits for the plan of the edits that stand, the preview first. */
static void
end_edit (Bench *bench, const char *what)
{
  TesseraDocument *document = bench->document;
  guint generation = document->request.generation;
  double preview_s;

  WAIT (document->jobs[TESSERA_WORK_EDIT] == NULL, PATIENCE_MS);
  generation = document->request.generation;
  WAIT (document->planned->request.generation == generation ||
            document->conflict.first != TESSERA_NONE,
        PATIENCE_MS);
  preview_s = since_s (bench);
  bench->is_stopped = FALSE;
  bench->stopper = g_timeout_add (FULL_PLAN_MS, stop_planning, bench);
  end (bench, what, preview_s);
  if (bench->stopper != 0)
    g_source_remove (bench->stopper);
  bench->stopper = 0;
}

static void
edit (Bench *bench, const char *what, TesseraEdit edit)
{
  begin (bench);
  tessera_document_edit_selection (bench->document, &edit, TRUE);
  end_edit (bench, what);
}

static void
select_some (Bench *bench, uint32_t every)
{
  uint32_t n = (uint32_t) bench->document->data->blocks->n_blocks;
  g_autofree uint32_t *blocks = g_new (uint32_t, n);
  size_t n_some = 0;

  for (uint32_t i = 0; i < n; i += every)
    blocks[n_some++] = i;
  tessera_document_select_blocks (bench->document, blocks, n_some, TESSERA_SELECT_ONLY,
                                  0);
}

static void
measure_selections (Bench *bench)
{
  begin (bench);
  act (bench, "win.next-block");
  end (bench, "next block", 0);
  begin (bench);
  tessera_document_select_group_of (bench->document, 0);
  end (bench, "select a group", 0);
  begin (bench);
  act (bench, "win.select-all");
  end (bench, "select all", 0);
  begin (bench);
  act (bench, "win.select-alive");
  end (bench, "select all alive", 0);
  begin (bench);
  select_some (bench, 2);
  end (bench, "select every other one", 0);
  begin (bench);
  tessera_document_set_query (bench->document, "size>=1MiB");
  end (bench, "query", 0);
  begin (bench);
  tessera_document_set_query (bench->document, "");
  end (bench, "no query", 0);
  begin (bench);
  act (bench, "win.clear");
  end (bench, "nothing selected", 0);
}

static void
measure_edits (Bench *bench)
{
  TesseraEdit made = tessera_edit_of (TESSERA_EDIT_GROUP);

  select_some (bench, 10);
  settle (bench);
  made.group = strdup ("every tenth");
  edit (bench, "group every tenth block", made);
  begin (bench);
  tessera_document_undo (bench->document);
  end_edit (bench, "undo");
  begin (bench);
  tessera_document_redo (bench->document);
  end_edit (bench, "redo");
  tessera_document_select (bench->document, 0);
  settle (bench);
  begin (bench);
  tessera_document_propose (bench->document);
  end (bench, "carry a block", 0);
  begin (bench);
  tessera_document_propose_next (bench->document, 1, TRUE);
  tessera_document_accept_proposal (bench->document);
  end_edit (bench, "pin it");
  made = tessera_edit_of (TESSERA_EDIT_PIN);
  made.at = bench->document->planned->plan->height_bytes;
  edit (bench, "pin it elsewhere (conflict)", made);
  begin (bench);
  tessera_document_undo (bench->document);
  end_edit (bench, "undo the conflict");
  made = tessera_edit_of (TESSERA_EDIT_DYNAMIC);
  edit (bench, "leave it without a slot (conflict)", made);
  begin (bench);
  tessera_document_go_to_edits (bench->document, 0);
  end_edit (bench, "undo all");
  made = tessera_edit_of (TESSERA_EDIT_CAP);
  made.at = bench->document->planned->plan->height_bytes / 512 / 10 * 9 * 512;
  edit (bench, "cap of 90 %", made);
}

/* To the share of what can be scrolled, as who pulls the bar does. */
static void
scroll_tree (Bench *bench, double share)
{
  GtkWidget *tree = test_find (GTK_WIDGET (bench->window), "groups");
  GtkAdjustment *down = gtk_scrollable_get_vadjustment (GTK_SCROLLABLE (tree));

  gtk_adjustment_set_value (down, share * (gtk_adjustment_get_upper (down) -
                                           gtk_adjustment_get_page_size (down)));
}

static void
measure_scrolling (Bench *bench)
{
  act (bench, "win.select-all");
  begin (bench);
  scroll_tree (bench, 0.01);
  end (bench, "scroll while all is selected", 0);
  act (bench, "win.clear");
  settle (bench);
  begin (bench);
  scroll_tree (bench, 0.5);
  end (bench, "scroll far", 0);
  begin (bench);
  scroll_tree (bench, 1);
  end (bench, "scroll to the end", 0);
  begin (bench);
  tessera_document_set_query (bench->document, "size>=1MiB");
  end (bench, "query: rows go from the end", 0);
  begin (bench);
  tessera_document_set_query (bench->document, "");
  end (bench, "no query", 0);
}

static void
measure_panels (Bench *bench)
{
  begin (bench);
  act (bench, "win.table");
  end (bench, "open the table", 0);
  begin (bench);
  tessera_document_set_left_plan (bench->document, bench->document->planned);
  end (bench, "compare", 0);
  begin (bench);
  tessera_document_set_left_kind (bench->document, bench->document->left_kind);
  end (bench, "compare no more", 0);
  begin (bench);
  tessera_document_set_colour_key (bench->document, TESSERA_COLOUR_GROUP);
  end (bench, "colours by group", 0);
}

static gboolean
draw_all (gpointer user)
{
  gtk_widget_queue_draw (user);
  for (GtkWidget *child = gtk_widget_get_first_child (user); child != NULL;
       child = gtk_widget_get_next_sibling (child))
    draw_all (child);
  return G_SOURCE_REMOVE;
}

/* What GTK takes for as many widgets as are seen, in this run and on this machine: no
 * code of ours is in it. */
static void
measure_plain (Bench *bench)
{
  guint n_widgets;
  GtkWindow *plain = test_plain_new (GTK_WINDOW (bench->window), &n_widgets);
  g_autofree char *drawn =
      g_strdup_printf ("(a plain window of %u widgets, drawn)", n_widgets);
  g_autofree char *changed =
      g_strdup_printf ("(a plain window of %u widgets, all texts changed)", n_widgets);

  WAIT (gtk_widget_get_mapped (GTK_WIDGET (plain)), PATIENCE_MS);
  settle (bench);
  bench->is_plain = TRUE;
  begin (bench);
  draw_all (plain);
  end (bench, drawn, 0);
  begin (bench);
  test_plain_change (plain);
  end (bench, changed, 0);
  bench->is_plain = FALSE;
  gtk_window_destroy (plain);
  settle (bench);
}

/* The same of what GTK does with a list that has as many labels in its 200 rows as the
 * tree has widgets. */
static void
measure_plain_list (Bench *bench)
{
  GtkWindow *plain = test_plain_list_new (1000, 8);

  WAIT (gtk_widget_get_mapped (GTK_WIDGET (plain)), PATIENCE_MS);
  settle (bench);
  bench->is_plain = TRUE;
  begin (bench);
  test_plain_list_scroll (plain, 0.5);
  end (bench, "(a plain list of 8 columns, scrolled far)", 0);
  test_plain_list_scroll (plain, 1);
  settle (bench);
  begin (bench);
  test_plain_list_shorten (plain);
  end (bench, "(the same at its end, its last row goes)", 0);
  bench->is_plain = FALSE;
  gtk_window_destroy (plain);
  settle (bench);
}

static void
print_heads (void)
{
  g_print (
      "\nTimes of turns are the main thread's, of the processor\n\n"
      "| what | preview after, s | all after, s | main thread, ms | longest turn, ms | "
      "handlers | ticks, styles | layout | snapshot | renderer | what it was | longest "
      "but for the renderer, ms | what it was |\n"
      "|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
}

/* From no window to the plan of a file in it. */
static void
measure_opening (Bench *bench, const char *path)
{
  g_autofree char *what = NULL;

  begin (bench);
  bench->window = test_window_new ();
  bench->document = tessera_window_get_document (bench->window);
  end (bench, "open the window", 0);
  begin (bench);
  g_assert_true (gtk_widget_activate_action (GTK_WIDGET (bench->window), "win.open-path",
                                             "s", path));
  WAIT (bench->document->data != NULL || bench->document->error != NULL, PATIENCE_MS);
  g_assert_nonnull (bench->document->data);
  WAIT (bench->document->planned != NULL, PATIENCE_MS);
  what = g_strdup_printf ("open a file of %zu blocks",
                          bench->document->data->blocks->n_blocks);
  end (bench, what, 0);
}

static void
measure (const char *path)
{
  Bench bench = { .window = NULL };

  print_heads ();
  measure_opening (&bench, path);
  begin (&bench);
  gtk_widget_queue_draw (GTK_WIDGET (bench.window));
  end (&bench, "draw the window", 0);
  begin (&bench);
  tessera_document_set_query (bench.document, "");
  gtk_widget_activate_action (GTK_WIDGET (bench.window), "win.side", "s", "groups");
  end (&bench, "open the groups", 0);
  measure_selections (&bench);
  measure_scrolling (&bench);
  measure_panels (&bench);
  measure_plain (&bench);
  measure_plain_list (&bench);
  measure_edits (&bench);
  g_print ("\n%d of %d actions within %.0f ms, %d but for the renderer\n", bench.n_within,
           bench.n_actions, MOST_MS, bench.n_within_drawn);
  gtk_window_destroy (GTK_WINDOW (bench.window));
}

/* Edits are kept beside a file, or in it: a copy is measured. */
static void
measure_copy (const char *path)
{
  g_autofree char *folder = g_dir_make_tmp ("edited-XXXXXX", NULL);
  g_autofree char *name = g_path_get_basename (path);
  g_autofree char *copy = g_build_filename (folder, name, NULL);
  g_autofree char *edits = g_strconcat (copy, ".edits.json", NULL);
  g_autoptr (GFile) from = g_file_new_for_path (path);
  g_autoptr (GFile) to = g_file_new_for_path (copy);

  g_assert_true (
      g_file_copy (from, to, G_FILE_COPY_TARGET_DEFAULT_PERMS, NULL, NULL, NULL, NULL));
  measure (copy);
  g_unlink (edits);
  g_unlink (copy);
  g_assert_cmpint (g_rmdir (folder), ==, 0);
}

int
main (int argc, char **argv)
{
  static const uint32_t sizes[] = { 100000, 1000000 };

  /* As the program does. */
  mallopt (M_MMAP_THRESHOLD, 256 << 20);
  mallopt (M_TRIM_THRESHOLD, 512 << 20);
  if (!test_init_display (&argc, &argv))
    return 0;
  test_turns_watch (&turns);
  if (argc > 1)
    measure_copy (argv[1]);
  for (size_t i = 0; argc < 2 && i < G_N_ELEMENTS (sizes); i++)
    {
      char *path = test_made_new (sizes[i]);

      measure (path);
      test_made_free (path);
    }
  return 0;
}
