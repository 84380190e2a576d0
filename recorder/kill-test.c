/*
 * Killed at random moments while it records, a program leaves a trace that opens, holds what
 * was recorded up to some moment, and as a rule lacks at most the last half second: a machine
 * on which all else waits for the disk may stall for longer.
 *
 * kill-test DRIVER: 20 rounds, or 200 where TESSERA_TEST_LONG is set.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <fcntl.h>
#include <glib.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "db/store.h"
#include "tests/db/test-place.h"

#define ROUNDS 20
#define LONG_ROUNDS 200
#define LONGEST_LIFE_MS 1200
#define MOST_MISSING_MS 500
#define ROUNDS_A_LATE_ONE 10

static const char *driver;

typedef struct
{
  gint64 at_us[LONGEST_LIFE_MS + 1];
  uint64_t n_events[LONGEST_LIFE_MS + 1];
  size_t n;
} History;

/* How far the program was MOST_MISSING_MS before it died. */
static uint64_t
n_events_due (const History *history, gint64 killed_us)
{
  for (size_t i = history->n; i-- > 0;)
    if (history->at_us[i] <= killed_us - MOST_MISSING_MS * 1000)
      return history->n_events[i];
  return 0;
}

/* Returns: how many events the program is known to have recorded in time. */
static uint64_t
run_and_kill (const TestPlace *place, guint life_ms)
{
  g_autofree char *progress_path = g_build_filename (place->folder, "progress", NULL);
  g_autofree History *history = g_new0 (History, 1);
  atomic_uint_fast64_t zero = 0, *progress;
  gint64 end_us = g_get_monotonic_time () + life_ms * 1000, killed_us;

  g_assert_true (
      g_file_set_contents (progress_path, (const char *) &zero, sizeof zero, NULL));
  int fd = open (progress_path, O_RDONLY);
  progress = mmap (NULL, sizeof *progress, PROT_READ, MAP_SHARED, fd, 0);
  g_assert_true (progress != MAP_FAILED);
  close (fd);
  pid_t child = fork ();
  if (child == 0)
    {
      execl (driver, driver, place->path, progress_path, (char *) NULL);
      _exit (127);
    }
  while ((killed_us = g_get_monotonic_time ()) < end_us && history->n < LONGEST_LIFE_MS)
    {
      history->at_us[history->n] = killed_us;
      history->n_events[history->n++] = atomic_load (progress);
      g_usleep (1000);
    }
  g_assert_cmpint (kill (child, SIGKILL), ==, 0);
  g_assert_cmpint (test_wait (child), ==, SIGKILL);
  munmap (progress, sizeof *progress);
  return n_events_due (history, killed_us);
}

static void
check_ranges (const TesseraTrace *trace)
{
  for (size_t i = 0; i < trace->n_ranges; i++)
    {
      const TesseraRange *range = &trace->ranges[i];
      bool is_step = range->kind == TESSERA_RANGE_STEP;

      g_assert_cmpuint (range->parent, ==, is_step ? TESSERA_NONE : i - 1 - (i % 3 == 2));
      g_assert_cmpuint (range->begin_index, ==, i / 3 * 1000 + (i % 3 == 2) * 500);
      if (range->end_index != trace->n_events)
        g_assert_cmpuint (range->end_index - range->begin_index, ==,
                          is_step ? 1000 : 500);
    }
}

/* Returns: whether all that was due is there. */
static bool
check_trace (const TestPlace *place, uint64_t n_due)
{
  g_autoptr (TesseraTrace) trace = test_load (place, TESSERA_NONE);

  g_assert_null (tessera_trace_get_meta (trace, "lost_events"));
  g_assert_cmpstr (tessera_trace_get_meta (trace, TESSERA_META_CLOSED), ==, "no");
  for (size_t k = 0; k < trace->n_events; k++)
    g_assert_cmpuint (trace->events[k].size_bytes, ==, k + 1);
  check_ranges (trace);
  return trace->n_events >= n_due;
}

static void
test_kill (void)
{
  int n_rounds = g_getenv ("TESSERA_TEST_LONG") ? LONG_ROUNDS : ROUNDS, n_late = 0;

  for (int round = 0; round < n_rounds; round++)
    {
      guint life_ms = (guint) g_test_rand_int_range (0, LONGEST_LIFE_MS);
      TestPlace place;

      test_place_begin (&place, NULL);
      uint64_t n_due = run_and_kill (&place, life_ms);
      g_test_message ("round %d: killed after %u ms, %" G_GUINT64_FORMAT " events due",
                      round, life_ms, n_due);
      /* Killed before the file was made: there is none, or the temporary one. */
      n_late += g_file_test (place.path, G_FILE_TEST_EXISTS)
                    ? !check_trace (&place, n_due)
                    : n_due > 0;
      test_place_end (&place, NULL);
    }
  g_assert_cmpint (n_late, <=, n_rounds / ROUNDS_A_LATE_ONE);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_assert_cmpint (argc, ==, 2);
  driver = argv[1];
  g_test_add_func ("/recorder/kill", test_kill);
  return g_test_run ();
}
