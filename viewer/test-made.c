/*
 * A made-up trace of as many blocks as are wanted, for benchmarks.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/test-made.h"

#include "db/store.h"

#include <glib/gstdio.h>
#include <time.h>

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

char *
test_made_new (uint32_t n_blocks)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (1);
  g_autofree gboolean *is_taken = g_new0 (gboolean, N_ALIVE);
  g_autofree char *folder = g_dir_make_tmp ("made-XXXXXX", NULL);
  char *path = g_build_filename (folder, "made.tsr", NULL);
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
  return path;
}

void
test_made_free (char *path)
{
  g_autofree char *folder = g_path_get_dirname (path);

  g_unlink (path);
  g_rmdir (folder);
  g_free (path);
}

double
test_cpu_ms (gboolean all_threads)
{
  struct timespec now;

  clock_gettime (all_threads ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_THREAD_CPUTIME_ID, &now);
  return (double) now.tv_sec * 1e3 + (double) now.tv_nsec / 1e6;
}

/* Whatever else is waiting, it has its turn between two others. */
static gboolean
on_turn (gpointer user)
{
  TestWatch *watch = user;
  gint64 now_us = g_get_monotonic_time ();
  double cpu_ms = test_cpu_ms (FALSE);

  watch->longest_ms = MAX (watch->longest_ms, (double) (now_us - watch->last_us) / 1e3);
  watch->longest_cpu_ms = MAX (watch->longest_cpu_ms, cpu_ms - watch->last_cpu_ms);
  watch->last_us = now_us;
  watch->last_cpu_ms = cpu_ms;
  return G_SOURCE_CONTINUE;
}

void
test_watch_reset (TestWatch *watch)
{
  watch->last_us = g_get_monotonic_time ();
  watch->last_cpu_ms = test_cpu_ms (FALSE);
  watch->longest_ms = watch->longest_cpu_ms = 0;
}

void
test_watch_start (TestWatch *watch)
{
  test_watch_reset (watch);
  watch->source = g_timeout_add_full (G_PRIORITY_HIGH, 1, on_turn, watch, NULL);
}

void
test_watch_stop (TestWatch *watch)
{
  g_source_remove (watch->source);
}
