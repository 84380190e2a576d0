/*
 * What the main thread does while somebody works in the window, with a real hand: wheel,
 * drags, keys, the table, dialogs, selections, edits; with the tree of groups and the table
 * of blocks on screen. Then another file over the open one, and none.
 *
 * A line of a table for each thing, with the longest turn of the main loop, which is how
 * long nothing can be clicked: none should take more than 16 ms of the processor. Of traces
 * that are made up, of as many blocks as are named, else of 100,000 and a million; or of
 * the file that is named.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "db/store.h"
#include "edits/edits.h"
#include "viewer/model/document.h"
#include "viewer/test-hand.h"
#include "viewer/test-window.h"

#include <glib/gstdio.h>
#include <malloc.h>
#include <string.h>
#include <time.h>

#define MOST_MS 16.0
/* Nothing waits for so long: planning a million blocks on a busy machine. */
#define PATIENCE_MS 600000
/* After a preview the full plan has so long, then it is stopped, as people do: how long
 * plans take is not the question here, and what the window shows meanwhile is the same in
 * each second. */
#define FULL_PLAN_MS 12000
/* A hand does not move more often than frames are drawn. */
#define FRAME_MS 17
#define KEY_MS 60
#define N_EDITS 500

typedef struct
{
  TesseraWindow *window;
  TesseraDocument *document;
  const char *path;
  TesseraFollowed *other; /* a plan to compare with */
  gint64 begin_us;
  double begin_ms;
  int n_actions, n_within;
  guint stopper;       /* 0: nothing is to be stopped */
  gboolean is_stopped; /* planning was, before its end */
} Bench;

/* --- turns of the main loop ------------------------------------------------------------ */

/* A turn is what happens between two looks at what is waiting: as long as it lasts nothing
 * can be clicked. Times are of the processor, of the main thread alone: what others do on
 * the machine is no part of them. */
static struct
{
  double begin_ms;
  double longest_ms; /* so far */
} turn;

static double
cpu_ms (void)
{
  struct timespec now;

  clock_gettime (CLOCK_THREAD_CPUTIME_ID, &now);
  return (double) now.tv_sec * 1e3 + (double) now.tv_nsec / 1e6;
}

/* The loop asks what is waiting: the turn before is over. */
static int
on_poll (GPollFD *fds, guint n_fds, int timeout_ms)
{
  double all_ms = cpu_ms () - turn.begin_ms;
  int n;

  turn.longest_ms = MAX (turn.longest_ms, all_ms);
  n = g_poll (fds, n_fds, timeout_ms);
  turn.begin_ms = cpu_ms ();
  return n;
}

/* --- one thing, measured -------------------------------------------------------------- */

static GtkWidget *
find (Bench *bench, const char *name)
{
  return test_find (GTK_WIDGET (bench->window), name);
}

static void
wait_ms (guint ms)
{
  gboolean passed = FALSE;

  g_timeout_add (ms, test_set_true, &passed);
  WAIT (passed, PATIENCE_MS);
}

/* Is nothing waited for that is seen? Of needs nothing is said. */
static gboolean
is_quiet (TesseraDocument *document)
{
  for (int work = 0; work < TESSERA_N_WORKS; work++)
    if (work != TESSERA_WORK_NEEDS && document->jobs[work] != NULL)
      return FALSE;
  return TRUE;
}

/* Some frames go by: what a change brings is drawn in the next. */
static void
settle (Bench *bench)
{
  for (int i = 0; i < 3; i++)
    {
      WAIT (is_quiet (bench->document), PATIENCE_MS);
      wait_ms (50);
    }
}

static void
begin (Bench *bench)
{
  turn.longest_ms = 0;
  turn.begin_ms = cpu_ms ();
  bench->begin_us = g_get_monotonic_time ();
  bench->begin_ms = cpu_ms ();
}

static double
since_s (const Bench *bench)
{
  return (double) (g_get_monotonic_time () - bench->begin_us) / 1e6;
}

/* @preview_s: 0: there is none. */
static void
end (Bench *bench, const char *what, double preview_s)
{
  settle (bench);
  bench->n_actions++;
  bench->n_within += turn.longest_ms <= MOST_MS;
  g_print ("| %s | %.2f | %.2f%s | %.0f | %.1f%s |\n", what, preview_s, since_s (bench),
           bench->is_stopped ? ", stopped" : "", cpu_ms () - bench->begin_ms,
           turn.longest_ms, turn.longest_ms > MOST_MS ? " (!)" : "");
  bench->is_stopped = FALSE;
}

static gboolean
stop_planning (gpointer user)
{
  Bench *bench = user;

  bench->stopper = 0;
  bench->is_stopped = bench->document->jobs[TESSERA_WORK_PLAN] != NULL;
  if (bench->is_stopped)
    tessera_document_cancel (bench->document);
  return G_SOURCE_REMOVE;
}

/* Waits for the plan of the edits that stand, the preview first. */
static void
end_edit (Bench *bench, const char *what)
{
  TesseraDocument *document = bench->document;
  double preview_s;

  WAIT (document->jobs[TESSERA_WORK_EDIT] == NULL, PATIENCE_MS);
  WAIT (document->planned->request.generation == document->request.generation ||
            document->conflict.first != TESSERA_NONE,
        PATIENCE_MS);
  preview_s = since_s (bench);
  bench->stopper = g_timeout_add (FULL_PLAN_MS, stop_planning, bench);
  end (bench, what, preview_s);
  g_clear_handle_id (&bench->stopper, g_source_remove);
}

/* --- the hand ------------------------------------------------------------------------- */

/* From one share of a widget to another. */
static void
drag (GtkWidget *widget, double x0, double y0, double x1, double y1)
{
  const int n = 30;

  test_hand_point (widget, x0, y0);
  wait_ms (FRAME_MS);
  test_hand_button (1, TRUE);
  for (int i = 1; i <= n; i++)
    {
      test_hand_point (widget, x0 + (x1 - x0) * i / n, y0 + (y1 - y0) * i / n);
      wait_ms (FRAME_MS);
    }
  test_hand_button (1, FALSE);
}

static void
draw_band (Bench *bench)
{
  test_hand_key (XK_Shift_L, TRUE);
  drag (find (bench, "canvas-left"), 0.3, 0.02, 0.6, 0.98);
  wait_ms (FRAME_MS);
  test_hand_key (XK_Shift_L, FALSE);
}

static void
grow_window (Bench *bench)
{
  for (int i = 0; i <= 20; i++)
    {
      gtk_window_set_default_size (GTK_WINDOW (bench->window), 1280 + 64 * i,
                                   720 + 36 * i);
      wait_ms (2 * FRAME_MS);
    }
}

static void
shrink_window (Bench *bench)
{
  g_assert_cmpint (gtk_widget_get_width (GTK_WIDGET (bench->window)), >, 2000);
  gtk_window_set_default_size (GTK_WINDOW (bench->window), 1280, 720);
}

static void
close_others (Bench *bench)
{
  GListModel *windows = gtk_window_get_toplevels ();

  for (guint i = g_list_model_get_n_items (windows); i > 0; i--)
    {
      g_autoptr (GtkWindow) window = g_list_model_get_item (windows, i - 1);

      if (window != GTK_WINDOW (bench->window) &&
          gtk_widget_get_visible (GTK_WIDGET (window)))
        gtk_window_close (window);
    }
  settle (bench);
  test_hand_focus (GTK_WINDOW (bench->window));
}

/* --- selections, edits, files ----------------------------------------------------------- */

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
select_every_other (Bench *bench)
{
  select_some (bench, 2);
}

static void
select_first_group (Bench *bench)
{
  tessera_document_select_group_of (bench->document, 0);
}

static void
select_first (Bench *bench)
{
  tessera_document_select (bench->document, 0);
}

static void
select_every_tenth (Bench *bench)
{
  select_some (bench, 10);
}

static void
edit (Bench *bench, TesseraEditKind kind, uint64_t at, const char *group)
{
  TesseraEdit made = tessera_edit_of (kind);

  made.at = at;
  made.group = group != NULL ? strdup (group) : NULL;
  tessera_document_edit_selection (bench->document, &made, TRUE);
}

static void
group_some (Bench *bench)
{
  edit (bench, TESSERA_EDIT_GROUP, 0, "every tenth");
}

static void
pin_low (Bench *bench)
{
  bench->other = tessera_followed_ref (bench->document->planned);
  edit (bench, TESSERA_EDIT_PIN, 4096, NULL);
}

static void
pin_high (Bench *bench)
{
  edit (bench, TESSERA_EDIT_PIN, bench->document->planned->plan->height_bytes, NULL);
}

static void
leave_out (Bench *bench)
{
  edit (bench, TESSERA_EDIT_DYNAMIC, 0, NULL);
}

static void
cap (Bench *bench)
{
  edit (bench, TESSERA_EDIT_CAP,
        bench->document->planned->plan->height_bytes / 512 / 10 * 9 * 512, NULL);
}

static void
carry (Bench *bench)
{
  tessera_document_propose (bench->document);
}

static void
drop (Bench *bench)
{
  tessera_document_propose_next (bench->document, 1, TRUE);
  tessera_document_accept_proposal (bench->document);
}

static void
undo_all (Bench *bench)
{
  tessera_document_go_to_edits (bench->document, 0);
}

/* As many edits that change little, from a file. */
static void
read_edits (Bench *bench)
{
  g_autoptr (TesseraHistory) history = tessera_history_new ();
  g_autofree char *json = NULL;
  g_autofree char *path = g_strconcat (bench->path, ".more.json", NULL);

  for (uint32_t i = 0; i < N_EDITS; i++)
    {
      TesseraEdit made = tessera_edit_of (TESSERA_EDIT_GROUP);

      made.what.blocks = g_memdup2 (&i, sizeof i);
      made.what.n_blocks = 1;
      made.group = strdup ("a group of some");
      made.name = g_strdup_printf ("block %u on its own", i);
      tessera_history_add (history, &made);
    }
  json = tessera_history_to_json (history);
  g_assert_true (g_file_set_contents (path, json, -1, NULL));
  begin (bench);
  tessera_document_load_edits (bench->document, path);
  WAIT (bench->document->jobs[TESSERA_WORK_EDIT] == NULL, PATIENCE_MS);
  g_unlink (path);
}

static void
compare (Bench *bench)
{
  tessera_document_set_left_plan (bench->document, bench->other);
  g_clear_pointer (&bench->other, tessera_followed_unref);
}

static void
open_again (Bench *bench)
{
  TesseraData *before = bench->document->data;

  gtk_widget_activate_action (GTK_WIDGET (bench->window), "win.open-path", "s",
                              bench->path);
  WAIT (bench->document->data != before && bench->document->planned != NULL, PATIENCE_MS);
}

/* --- all that is done -------------------------------------------------------------------- */

typedef enum
{
  ACT,  /* an action, with a target */
  EDIT, /* the same, which plans anew */
  CALL,
  CALL_EDIT,
  WHEEL,  /* over a widget: 4 is up, 5 down */
  DRAG,   /* over a widget */
  KEYS,   /* a key in a widget, so many times */
  TYPE,   /* a text, a key each letter, where the focus is */
  TEXT,   /* into an entry, which waits for the next letter */
  SCROLL, /* a list, to a share of it */
  SORT,   /* the table, by a column */
  POPOVER /* of a button */
} How;

typedef struct
{
  How how;
  const char *what; /* for the table; NULL: it is done and not measured */
  const char *on;   /* the action, the widget */
  const char *value;
  double number;
  KeySym key;
  void (*call) (Bench *bench);
} Step;

static const Step steps[] = {
  { ACT, "open the groups", "win.side", "groups" },
  { ACT, "open the table", "win.table" },
  { CALL, NULL, .call = select_first },
  { CALL_EDIT, "pin a block", .call = pin_low },
  { CALL, "compare with another plan", .call = compare },
  { ACT, "show what moved", "win.difference" },
  { WHEEL, "the wheel over it", "canvas-left", NULL, 4 },
  { WHEEL, "and back", "canvas-left", NULL, 5 },
  { ACT, "show all", "win.difference" },
  { ACT, "compare no more", "win.left", "native" },
  { WHEEL, "the wheel on the left: in", "canvas-left", NULL, 4 },
  { DRAG, "drag on the left", "canvas-left" },
  { WHEEL, "the wheel on the left: out", "canvas-left", NULL, 5 },
  { WHEEL, "the wheel on the right: in", "canvas-right", NULL, 4 },
  { DRAG, "drag on the right", "canvas-right" },
  { WHEEL, "the wheel on the right: out", "canvas-right", NULL, 5 },
  { ACT, NULL, "win.fit" },
  { CALL, "select by a band", .call = draw_band },
  { ACT, "nothing selected", "win.clear" },
  { KEYS, "n, 20 times", "canvas-left", NULL, 20, XK_n },
  { KEYS, "p, 20 times", "canvas-left", NULL, 20, XK_p },
  { KEYS, "down in the table, 40 times", "block-table", NULL, 40, XK_Down },
  { KEYS, "page down in the table, 10 times", "block-table", NULL, 10, XK_Page_Down },
  { KEYS, "down in the groups, 20 times", "groups", NULL, 20, XK_Down },
  { KEYS, "unfold a group", "groups", NULL, 1, XK_Right },
  { CALL, "select a group", .call = select_first_group },
  { ACT, "select all alive", "win.select-alive" },
  { CALL, "select every other one", .call = select_every_other },
  { SORT, "sort by block", NULL, NULL, 0 },
  { SORT, "sort by life", NULL, NULL, 2 },
  { SORT, "sort by source", NULL, NULL, 5 },
  { TEXT, "filter by a text", "filter-text", "a" },
  { TEXT, "and by a size: few are left", "filter-least", "1 GiB" },
  { TEXT, "by the text alone", "filter-least", "" },
  { TEXT, "no filter", "filter-text", "" },
  { SCROLL, "scroll the table a little", "block-table", NULL, 0.0001 },
  { SCROLL, "scroll it far", "block-table", NULL, 0.5 },
  { WHEEL, "the wheel over the table", "block-table", NULL, 5 },
  { ACT, "select all blocks", "win.select-all" },
  { SCROLL, "scroll while all is selected", "block-table", NULL, 0.1 },
  { SCROLL, "scroll the tree while all is selected", "groups", NULL, 0.01 },
  { ACT, "nothing selected", "win.clear" },
  { SCROLL, "scroll the tree to its end", "groups", NULL, 1 },
  { ACT, NULL, "win.find" },
  { TYPE, "type a query", NULL, "size>=1MiB phase=a*" },
  { KEYS, "and delete it", NULL, NULL, 19, XK_BackSpace },
  { ACT, "axis: events", "win.axis", "events" },
  { ACT, "axis: time", "win.axis", "time" },
  { ACT, "axis: bytes", "win.axis", "bytes" },
  { ACT, "colours by group", "win.colour", "group" },
  { ACT, "colours by class", "win.colour", "class" },
  { ACT, "dark", "win.dark" },
  { ACT, "light", "win.dark" },
  { ACT, "one above the other", "win.arrange", "vertical" },
  { ACT, "side by side", "win.arrange", "horizontal" },
  { POPOVER, "menu of edits", "edit-button" },
  { POPOVER, "menu of edits again", "edit-button" },
  { POPOVER, "menu of plans", "plan-menu" },
  { POPOVER, "main menu", "main-menu" },
  { ACT, "dialog: export a plan", "win.export-plan" },
  { CALL, NULL, .call = close_others },
  { ACT, "dialog: export a plan, again", "win.export-plan" },
  { CALL, NULL, .call = close_others },
  { ACT, "dialog: all keys", "win.show-help-overlay" },
  { CALL, NULL, .call = close_others },
  { ACT, "open the plans", "win.side", "plans" },
  { ACT, "open the edits", "win.side", "edits" },
  { ACT, "open the block", "win.side", "block" },
  { ACT, "open the groups again", "win.side", "groups" },
  { CALL, NULL, .call = select_every_tenth },
  { CALL_EDIT, "group every tenth block", .call = group_some },
  { EDIT, "undo", "win.undo" },
  { EDIT, "redo", "win.redo" },
  { CALL, NULL, .call = select_first },
  { CALL, "carry a block", .call = carry },
  { CALL_EDIT, "pin it", .call = drop },
  { CALL_EDIT, "pin it elsewhere (conflict)", .call = pin_high },
  { EDIT, "undo the conflict", "win.undo" },
  { CALL_EDIT, "leave it without a slot (conflict)", .call = leave_out },
  { CALL_EDIT, "undo all", .call = undo_all },
  { CALL_EDIT, "cap of 90 %", .call = cap },
  { CALL_EDIT, "read 500 edits", .call = read_edits },
  { ACT, "open the list of 500 edits", "win.side", "edits" },
  { EDIT, "undo the last of them", "win.undo" },
  { CALL_EDIT, "undo all", .call = undo_all },
  { CALL, "from 1280 x 720 to 2560 x 1440", .call = grow_window },
  { WHEEL, "the wheel at 2560 x 1440", "canvas-right", NULL, 4 },
  { WHEEL, "and back", "canvas-right", NULL, 5 },
  { CALL, "back to 1280 x 720 at once", .call = shrink_window },
  { CALL, "open a file over it", .call = open_again },
  { ACT, "close the file", "win.close-file" },
};

/* What the hand needs to be at before it is measured. */
static void
prepare (Bench *bench, const Step *step)
{
  if (step->how == WHEEL)
    test_hand_point (find (bench, step->on), 0.4, 0.6);
  else if (step->how == KEYS && step->on != NULL)
    gtk_widget_grab_focus (find (bench, step->on));
  settle (bench);
}

static void
scroll (GtkScrollable *list, double share)
{
  GtkAdjustment *down = gtk_scrollable_get_vadjustment (list);

  gtk_adjustment_set_value (down, share * (gtk_adjustment_get_upper (down) -
                                           gtk_adjustment_get_page_size (down)));
}

static void
sort (GtkColumnView *view, guint column)
{
  g_autoptr (GtkColumnViewColumn) by =
      g_list_model_get_item (gtk_column_view_get_columns (view), column);

  gtk_column_view_sort_by_column (view, by, GTK_SORT_DESCENDING);
}

static void
do_step (Bench *bench, const Step *step)
{
  const int n = (int) step->number;

  switch (step->how)
    {
    case ACT:
    case EDIT:
      g_assert_true (gtk_widget_activate_action (GTK_WIDGET (bench->window), step->on,
                                                 step->value != NULL ? "s" : NULL,
                                                 step->value));
      return;
    case CALL:
    case CALL_EDIT:
      step->call (bench);
      return;
    case WHEEL:
      for (int i = 0; i < 20; i++)
        {
          test_hand_button ((unsigned) n, TRUE);
          test_hand_button ((unsigned) n, FALSE);
          wait_ms (FRAME_MS);
        }
      return;
    case DRAG:
      drag (find (bench, step->on), 0.7, 0.7, 0.3, 0.4);
      return;
    case KEYS:
      for (int i = 0; i < n; i++, wait_ms (KEY_MS))
        test_hand_press (0, step->key);
      return;
    case TYPE:
      for (const char *at = step->value; *at != '\0'; at++, wait_ms (KEY_MS))
        test_hand_type ((const char[]){ *at, '\0' });
      return;
    case TEXT:
      gtk_editable_set_text (GTK_EDITABLE (find (bench, step->on)), step->value);
      wait_ms (300);
      return;
    case SCROLL:
      scroll (GTK_SCROLLABLE (find (bench, step->on)), step->number);
      return;
    case SORT:
      sort (GTK_COLUMN_VIEW (find (bench, "block-table")), (guint) n);
      return;
    case POPOVER:
      gtk_menu_button_popup (GTK_MENU_BUTTON (find (bench, step->on)));
      return;
    }
}

static void
measure_step (Bench *bench, const Step *step)
{
  prepare (bench, step);
  begin (bench);
  do_step (bench, step);
  if (step->how == EDIT || step->how == CALL_EDIT)
    end_edit (bench, step->what);
  else if (step->what != NULL)
    end (bench, step->what, 0);
  if (step->how == POPOVER)
    gtk_menu_button_popdown (GTK_MENU_BUTTON (find (bench, step->on)));
}

static void
measure (const char *path)
{
  Bench bench = { .path = path };

  g_print (
      "\nTimes of turns are the main thread's, of the processor\n\n"
      "| what | preview after, s | all after, s | main thread, ms | longest turn, ms |\n"
      "|---|---|---|---|---|\n");
  begin (&bench);
  bench.window = test_window_new ();
  bench.document = tessera_window_get_document (bench.window);
  end (&bench, "open the window", 0);
  begin (&bench);
  open_again (&bench);
  end (&bench, "open a file", 0);
  g_print ("%zu blocks\n", bench.document->data->blocks->n_blocks);
  for (size_t i = 0; i < G_N_ELEMENTS (steps); i++)
    measure_step (&bench, &steps[i]);
  g_print ("\n%d of %d actions within %.0f ms\n", bench.n_within, bench.n_actions,
           MOST_MS);
  gtk_window_destroy (GTK_WINDOW (bench.window));
}

/* --- what is opened ---------------------------------------------------------------------- */

/* As many alive at once as a large model's step has. */
#define N_ALIVE 4096

static void
add (TesseraTrace *trace, TesseraAction action, uint64_t addr, uint64_t size_bytes)
{
  TesseraEvent event = { .addr = addr,
                         .size_bytes = size_bytes,
                         .at_ns = (int64_t) trace->n_events * 1000,
                         .stack = TESSERA_NONE,
                         .action = (uint8_t) action };

  g_assert_cmpint (tessera_trace_add_event (trace, &event), ==, TESSERA_OK);
}

/* Sizes and order of a caching allocator's program: each place is freed and taken again,
 * so that a plan at the bound is soon found. The same for each number of blocks. */
static void
write_made (const char *path, uint32_t n_blocks)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (1);
  g_autofree gboolean *is_taken = g_new0 (gboolean, N_ALIVE);
  TesseraTrace *trace = NULL;
  TesseraError error = { 0 };

  g_assert_cmpint (tessera_trace_new (&trace), ==, TESSERA_OK);
  trace->has_time = trace->starts_empty = true;
  for (uint32_t i = 0; i < n_blocks; i++)
    {
      uint32_t at = (uint32_t) g_rand_int_range (random, 0, N_ALIVE);
      uint64_t size_bytes = (uint64_t) 512 << at % 14;

      if (is_taken[at])
        {
          add (trace, TESSERA_FREE_REQUESTED, at + 1, size_bytes);
          add (trace, TESSERA_FREE_COMPLETED, at + 1, size_bytes);
        }
      is_taken[at] = TRUE;
      add (trace, TESSERA_ALLOC, at + 1, size_bytes);
    }
  g_assert_cmpint (tessera_trace_save (trace, path, NULL, &error), ==, TESSERA_OK);
  tessera_trace_free (trace);
}

/* Edits are kept beside a file, or in it: a copy is measured. @from: NULL: made up. */
static void
measure_in_folder (const char *from, uint32_t n_blocks)
{
  g_autofree char *folder = g_dir_make_tmp ("bench-XXXXXX", NULL);
  g_autofree char *name =
      from != NULL ? g_path_get_basename (from) : g_strdup ("made.tsr");
  g_autofree char *path = g_build_filename (folder, name, NULL);
  g_autofree char *edits = g_strconcat (path, ".edits.json", NULL);

  if (from != NULL)
    test_copy_file (from, path);
  else
    write_made (path, n_blocks);
  measure (path);
  g_unlink (edits);
  g_unlink (path);
  g_rmdir (folder);
}

int
main (int argc, char **argv)
{
  guint64 n_blocks = 0;

  /* As the program does. */
  mallopt (M_MMAP_THRESHOLD, 256 << 20);
  mallopt (M_TRIM_THRESHOLD, 512 << 20);
  if (!test_init_display (&argc, &argv))
    return 0;
  g_main_context_set_poll_func (NULL, on_poll);
  if (argc > 1 &&
      !g_ascii_string_to_unsigned (argv[1], 10, 2, UINT32_MAX, &n_blocks, NULL))
    measure_in_folder (argv[1], 0);
  else if (argc > 1)
    measure_in_folder (NULL, (uint32_t) n_blocks);
  else
    {
      measure_in_folder (NULL, 100000);
      measure_in_folder (NULL, 1000000);
    }
  return 0;
}
