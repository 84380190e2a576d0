/*
 * Opening a trace of a million blocks in the window: how long until the first picture,
 * and what the main thread did meanwhile.
 *
 * The trace is made up once and read from a .tsr; or it is the file that is named.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/canvas/canvas.h"
#include "viewer/test-made.h"
#include "viewer/test-turns.h"
#include "viewer/test-window.h"

static void
measure (const char *path)
{
  static TestTurns turns;
  GtkWidget *window;
  TesseraDocument *document;
  gint64 begin_us;
  double main_ms, all_ms;
  g_autoptr (GFile) file = g_file_new_for_path (path);

  test_turns_watch (&turns);
  window = GTK_WIDGET (test_window_new ());
  document = tessera_window_get_document (TESSERA_WINDOW (window));
  begin_us = g_get_monotonic_time ();
  main_ms = test_cpu_ms (FALSE);
  all_ms = test_cpu_ms (TRUE);
  test_turns_reset ();
  tessera_window_open (TESSERA_WINDOW (window), file);
  WAIT (document->sheets[TESSERA_SIDE_LEFT] != NULL || document->error != NULL, SLOW_MS);
  g_assert_nonnull (document->data);
  g_print ("%zu blocks: read after %.2f s, %.2f s of all threads\n",
           document->data->blocks->n_blocks,
           (double) (g_get_monotonic_time () - begin_us) / 1e6,
           (test_cpu_ms (TRUE) - all_ms) / 1e3);
  WAIT (gtk_widget_get_mapped (test_find (window, "canvas-left")), SLOW_MS);
  WAIT (tessera_canvas_is_complete (test_find (window, "canvas-left")), SLOW_MS);
  g_print ("first picture after %.2f s, %.2f s of all threads, %.0f ms of the main "
           "thread; longest turn %.0f ms on the wall, %.1f of the processor, %.1f of it "
           "the renderer's: %s\n",
           (double) (g_get_monotonic_time () - begin_us) / 1e6,
           (test_cpu_ms (TRUE) - all_ms) / 1e3, test_cpu_ms (FALSE) - main_ms,
           turns.wall_ms, turns.longest.all_ms, turns.longest.render_ms,
           turns.longest.what != NULL ? turns.longest.what : "an event");
}

int
main (int argc, char **argv)
{
  char *made;

  if (!test_init_display (&argc, &argv))
    return 0;
  if (argc > 1)
    {
      measure (argv[1]);
      return 0;
    }
  made = test_made_new (1000000);
  measure (made);
  test_made_free (made);
  return 0;
}
