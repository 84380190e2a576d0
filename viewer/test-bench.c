/*
 * Longest turns of what is done in a window. See test-bench.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/test-bench.h"

#include "viewer/model/document.h"
#include "viewer/test-made.h"
#include "viewer/test-turns.h"

#include <glib/gstdio.h>
#include <malloc.h>

#define MOST_MS 16.0
/* After a preview the full plan has so long, then it is stopped, as people do: how long
 * plans take is not the question here, and what the window shows meanwhile is the same in
 * each second. */
#define FULL_PLAN_MS 12000

static TestTurns turns;

void
test_bench_act (TestBench *bench, const char *action)
{
  g_assert_true (gtk_widget_activate_action (GTK_WIDGET (bench->window), action, NULL));
}

void
test_bench_begin (TestBench *bench)
{
  test_turns_reset ();
  bench->begin_us = g_get_monotonic_time ();
  bench->begin_ms = test_cpu_ms (FALSE);
}

double
test_bench_since_s (const TestBench *bench)
{
  return (double) (g_get_monotonic_time () - bench->begin_us) / 1e6;
}

gboolean
test_bench_is_quiet (TesseraDocument *document)
{
  for (int work = 0; work < TESSERA_N_WORKS; work++)
    if (work != TESSERA_WORK_NEEDS && document->jobs[work] != NULL)
      return FALSE;
  return TRUE;
}

void
test_bench_wait_ms (guint ms)
{
  gboolean passed = FALSE;

  g_timeout_add (ms, test_set_true, &passed);
  WAIT (passed, BENCH_PATIENCE_MS);
}

/* Some frames go by: what a change brings is drawn in the next. */
void
test_bench_settle (TestBench *bench)
{
  for (int i = 0; i < 3; i++)
    {
      WAIT (test_bench_is_quiet (bench->document), BENCH_PATIENCE_MS);
      test_bench_wait_ms (50);
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
print_turn (TestBench *bench, const char *what, const char *shown)
{
  const TestTurn *turn = &turns.longest;
  double drawn_ms = test_turn_without_render_ms (&turns.drawn);

  bench->n_actions++;
  bench->n_within += turn->all_ms <= MOST_MS;
  bench->n_within_drawn += drawn_ms <= MOST_MS;
  g_print ("| %s | %s | %.2f%s | %.0f | %.1f%s | %.1f | %.1f | %.1f | %.1f | %.1f | %s | "
           "%.1f%s | %s |\n",
           what, shown, test_bench_since_s (bench), bench->is_stopped ? ", stopped" : "",
           test_cpu_ms (FALSE) - bench->begin_ms, turn->all_ms,
           turn->all_ms > MOST_MS ? " (!)" : "",
           turn->all_ms - turn->update_ms - turn->layout_ms - turn->snapshot_ms -
               turn->render_ms,
           turn->update_ms, turn->layout_ms, turn->snapshot_ms, turn->render_ms,
           name_of (turn), drawn_ms, drawn_ms > MOST_MS ? " (!)" : "",
           name_of (&turns.drawn));
}

void
test_bench_end (TestBench *bench, const char *what, double preview_s)
{
  char *shown = preview_s > 0 ? g_strdup_printf ("%.2f", preview_s) : g_strdup ("-");

  test_bench_settle (bench);
  print_turn (bench, what, shown);
  bench->is_stopped = FALSE;
  g_free (shown);
}

static gboolean
stop_planning (gpointer user)
{
  TestBench *bench = user;

  bench->stopper = 0;
  if (bench->document->jobs[TESSERA_WORK_PLAN] != NULL)
    {
      bench->is_stopped = TRUE;
      tessera_document_cancel (bench->document);
    }
  return G_SOURCE_REMOVE;
}

void
test_bench_end_edit (TestBench *bench, const char *what)
{
  TesseraDocument *document = bench->document;
  guint generation = document->request.generation;
  double preview_s;

  WAIT (document->jobs[TESSERA_WORK_EDIT] == NULL, BENCH_PATIENCE_MS);
  generation = document->request.generation;
  WAIT (document->planned->request.generation == generation ||
            document->conflict.first != TESSERA_NONE,
        BENCH_PATIENCE_MS);
  preview_s = test_bench_since_s (bench);
  bench->is_stopped = FALSE;
  bench->stopper = g_timeout_add (FULL_PLAN_MS, stop_planning, bench);
  test_bench_end (bench, what, preview_s);
  if (bench->stopper != 0)
    g_source_remove (bench->stopper);
  bench->stopper = 0;
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
void
test_bench_open (TestBench *bench, const char *path)
{
  g_autofree char *what = NULL;

  print_heads ();
  test_bench_begin (bench);
  bench->window = test_window_new ();
  bench->document = tessera_window_get_document (bench->window);
  test_bench_end (bench, "open the window", 0);
  test_bench_begin (bench);
  g_assert_true (gtk_widget_activate_action (GTK_WIDGET (bench->window), "win.open-path",
                                             "s", path));
  WAIT (bench->document->data != NULL || bench->document->error != NULL,
        BENCH_PATIENCE_MS);
  g_assert_nonnull (bench->document->data);
  WAIT (bench->document->planned != NULL, BENCH_PATIENCE_MS);
  what = g_strdup_printf ("open a file of %zu blocks",
                          bench->document->data->blocks->n_blocks);
  test_bench_end (bench, what, 0);
}

void
test_bench_close (TestBench *bench)
{
  g_print ("\n%d of %d actions within %.0f ms, %d but for the renderer\n",
           bench->n_within, bench->n_actions, MOST_MS, bench->n_within_drawn);
  gtk_window_destroy (GTK_WINDOW (bench->window));
}

/* Edits are kept beside a file, or in it: a copy is measured. */
static void
measure_copy (const char *path, TestMeasure measure)
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

static void
measure_made (uint32_t n_blocks, TestMeasure measure)
{
  char *path = test_made_new (n_blocks);

  measure (path);
  test_made_free (path);
}

int
test_bench_main (int argc, char **argv, TestMeasure measure)
{
  static const uint32_t sizes[] = { 100000, 1000000 };
  guint64 n_blocks;

  /* As the program does. */
  mallopt (M_MMAP_THRESHOLD, 256 << 20);
  mallopt (M_TRIM_THRESHOLD, 512 << 20);
  if (!test_init_display (&argc, &argv))
    return 0;
  test_turns_watch (&turns);
  if (argc > 1 &&
      g_ascii_string_to_unsigned (argv[1], 10, 2, UINT32_MAX, &n_blocks, NULL))
    measure_made ((uint32_t) n_blocks, measure);
  else if (argc > 1)
    measure_copy (argv[1], measure);
  for (size_t i = 0; argc < 2 && i < G_N_ELEMENTS (sizes); i++)
    measure_made (sizes[i], measure);
  return 0;
}
