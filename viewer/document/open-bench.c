/*
 * Opening a trace of a million blocks in the window: how long until the first picture,
 * and what the main thread did meanwhile.
 *
 * The trace is made up once and read from a .tsr; or it is the file that is named.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "db/store.h"
#include "viewer/canvas/canvas.h"
#include "viewer/test-window.h"

#include <glib/gstdio.h>
#include <time.h>

#define N_BLOCKS 1000000
/* As many alive at once as a large model's step has. */
#define N_ALIVE 4096

static double
cpu_ms (clockid_t clock)
{
  struct timespec now;

  clock_gettime (clock, &now);
  return (double) now.tv_sec * 1e3 + (double) now.tv_nsec / 1e6;
}

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

/* Sizes and order of a caching allocator's program: each place is freed and taken again.
 */
static void
made_trace (const char *path)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (1);
  g_autofree uint64_t *sizes = g_new0 (uint64_t, N_ALIVE);
  TesseraTrace *trace = NULL;
  TesseraError error = { 0 };

  g_assert_cmpint (tessera_trace_new (&trace), ==, TESSERA_OK);
  trace->has_time = trace->starts_empty = true;
  for (int i = 0; i < N_BLOCKS; i++)
    {
      uint32_t at = (uint32_t) g_rand_int_range (random, 0, N_ALIVE);

      if (sizes[at] != 0)
        {
          add (trace, TESSERA_FREE_REQUESTED, at + 1, sizes[at]);
          add (trace, TESSERA_FREE_COMPLETED, at + 1, sizes[at]);
        }
      sizes[at] = (uint64_t) 512 << g_rand_int_range (random, 0, 14);
      add (trace, TESSERA_ALLOC, at + 1, sizes[at]);
    }
  g_assert_cmpint (tessera_trace_save (trace, path, NULL, &error), ==, TESSERA_OK);
  tessera_trace_free (trace);
}

typedef struct
{
  gint64 last_us;
  double longest_ms; /* without a turn of the main loop */
} Watch;

static gboolean
on_turn (gpointer user)
{
  Watch *watch = user;
  gint64 now_us = g_get_monotonic_time ();

  watch->longest_ms = MAX (watch->longest_ms, (double) (now_us - watch->last_us) / 1e3);
  watch->last_us = now_us;
  return G_SOURCE_CONTINUE;
}

static void
measure (const char *path)
{
  GtkWidget *window = GTK_WIDGET (test_window_new ());
  TesseraDocument *document = tessera_window_get_document (TESSERA_WINDOW (window));
  Watch watch = { .last_us = g_get_monotonic_time () };
  gint64 begin_us = watch.last_us;
  double main_ms = cpu_ms (CLOCK_THREAD_CPUTIME_ID);
  double all_ms = cpu_ms (CLOCK_PROCESS_CPUTIME_ID);
  g_autoptr (GFile) file = g_file_new_for_path (path);
  guint turns = g_timeout_add (1, on_turn, &watch);

  tessera_window_open (TESSERA_WINDOW (window), file);
  WAIT (document->sheets[TESSERA_SIDE_LEFT] != NULL || document->error != NULL, SLOW_MS);
  g_assert_nonnull (document->data);
  g_print ("%zu blocks: read after %.2f s, %.2f s of all threads\n",
           document->data->blocks->n_blocks,
           (double) (g_get_monotonic_time () - begin_us) / 1e6,
           (cpu_ms (CLOCK_PROCESS_CPUTIME_ID) - all_ms) / 1e3);
  WAIT (gtk_widget_get_mapped (test_find (window, "canvas-left")), SLOW_MS);
  WAIT (tessera_canvas_is_complete (TESSERA_CANVAS (test_find (window, "canvas-left"))),
        SLOW_MS);
  g_print ("first picture after %.2f s, %.2f s of all threads, %.0f ms of the main "
           "thread, longest turn %.0f ms\n",
           (double) (g_get_monotonic_time () - begin_us) / 1e6,
           (cpu_ms (CLOCK_PROCESS_CPUTIME_ID) - all_ms) / 1e3,
           cpu_ms (CLOCK_THREAD_CPUTIME_ID) - main_ms, watch.longest_ms);
  g_source_remove (turns);
}

int
main (int argc, char **argv)
{
  g_autofree char *made = NULL;

  if (!test_init_display (&argc, &argv))
    return 0;
  if (argc < 2)
    {
      g_autofree char *folder = g_dir_make_tmp ("open-bench-XXXXXX", NULL);

      made = g_build_filename (folder, "million.tsr", NULL);
      made_trace (made);
    }
  measure (argc < 2 ? made : argv[1]);
  if (made != NULL)
    {
      g_autofree char *folder = g_path_get_dirname (made);

      g_unlink (made);
      g_rmdir (folder);
    }
  return 0;
}
