/*
 * What ends a recording, and that it ends nothing else.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <glib.h>
#include <glib/gstdio.h>
#include <errno.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "db/store.h"
#include "tests/db/test-place.h"
#include "recorder/recorder.h"

static TesseraStatus
open_recorder (const char *path, TesseraError *error, TesseraRecorder **out_recorder)
{
  TesseraRecorderOptions options = { .path = path };
  TesseraStatus status = tessera_recorder_open (&options, error, out_recorder);

  if (status == TESSERA_OK)
    {
      TesseraRecordedDevice device = { .alignment_bytes = 512 };

      tessera_settings_default (&device.settings);
      tessera_recorder_device (*out_recorder, &device);
    }
  return status;
}

static void
record (TesseraRecorder *recorder, uint64_t n_events)
{
  for (uint64_t k = 0; k < n_events; k++)
    {
      TesseraEvent event = { .action = k % 2 ? TESSERA_FREE_COMPLETED : TESSERA_ALLOC,
                             .addr = 4096,
                             .size_bytes = 512,
                             .stack = TESSERA_NONE };

      (void) tessera_recorder_event (recorder, 0, &event);
    }
}

/* Recording has ended with a sentence; calls go on being harmless. */
static void
expect_ended (TesseraRecorder *recorder, const char *words)
{
  TesseraRecorderStats stats;
  TesseraError error = { 0 };
  TesseraEvent event = { .action = TESSERA_ALLOC, .addr = 4096, .stack = TESSERA_NONE };

  g_assert_cmpint (tessera_recorder_flush (recorder, &error), ==, TESSERA_IO);
  g_test_message ("%s", error.text);
  g_assert_nonnull (strstr (error.text, words));
  tessera_recorder_get_stats (recorder, &stats);
  g_assert_true (stats.has_failed);
  g_assert_cmpstr (stats.error.text, ==, error.text);
  g_assert_false (tessera_recorder_event (recorder, 0, &event));
  g_assert_cmpuint (
      tessera_recorder_range_begin (recorder, TESSERA_RANGE_STEP, "step", false), ==,
      TESSERA_NONE);
  tessera_recorder_close (recorder);
}

static uint64_t
count_events (const TestPlace *place)
{
  g_autoptr (TesseraTrace) trace = test_load (place, TESSERA_NONE);
  uint64_t n_events = trace->n_events;

  return n_events;
}

static void
test_no_place (TestPlace *place, gconstpointer data)
{
  g_autofree char *path = g_build_filename (place->folder, "none", "t.tsr", NULL);
  TesseraError error = { 0 };
  TesseraRecorder *recorder = (TesseraRecorder *) &error;

  g_assert_cmpint (open_recorder (path, &error, &recorder), ==, TESSERA_IO);
  g_assert_null (recorder);
  g_assert_nonnull (strstr (error.text, "No such file"));
  error = (TesseraError){ 0 };
  g_assert_cmpint (open_recorder (place->folder, &error, &recorder), ==, TESSERA_IO);
  g_assert_null (recorder);
  g_assert_cmpuint (test_place_count_files (place), ==, 0);
}

static void
test_no_trace (TestPlace *place, gconstpointer data)
{
  TesseraRecorderOptions options = { .path = place->path };
  TesseraError error = { 0 };
  TesseraRecorder *recorder;
  g_autofree char *text = NULL;

  g_assert_true (g_file_set_contents (place->path, "import torch", -1, NULL));
  g_assert_cmpint (open_recorder (place->path, &error, &recorder), ==, TESSERA_IO);
  g_assert_nonnull (strstr (error.text, "no trace would be lost"));
  g_assert_true (g_file_get_contents (place->path, &text, NULL, NULL));
  g_assert_cmpstr (text, ==, "import torch");
  options.overwrites = true;
  OK (tessera_recorder_open (&options, NULL, &recorder));
  tessera_recorder_device (recorder, &(TesseraRecordedDevice){ .alignment_bytes = 512 });
  record (recorder, 100);
  tessera_recorder_close (recorder);
  g_assert_cmpuint (count_events (place), ==, 100);
}

/* A file that may grow no further: no signal, a sentence, and what was written stays. In
 * a process of its own, since limits can only go down. */
static void
test_file_limit (TestPlace *place, gconstpointer data)
{
  pid_t child = fork ();

  if (child == 0)
    {
      const struct rlimit limit = { 1 << 20, 1 << 20 };
      TesseraRecorder *recorder;

      g_assert_cmpint (setrlimit (RLIMIT_FSIZE, &limit), ==, 0);
      OK (open_recorder (place->path, NULL, &recorder));
      record (recorder, 100);
      OK (tessera_recorder_flush (recorder, NULL));
      record (recorder, 200000);
      expect_ended (recorder, "larger than files may be");
      _exit (0);
    }
  g_assert_cmpint (test_wait (child), ==, 0);
  g_assert_cmpuint (count_events (place), >=, 100);
}

static void
test_removed (TestPlace *place, gconstpointer data)
{
  TesseraRecorder *recorder;

  OK (open_recorder (place->path, NULL, &recorder));
  record (recorder, 100);
  g_assert_cmpint (g_remove (place->path), ==, 0);
  expect_ended (recorder, "was removed or replaced");
}

static void
test_replaced (TestPlace *place, gconstpointer data)
{
  g_autofree char *other = g_strconcat (place->path, ".other", NULL);
  g_autofree char *text = NULL;
  TesseraRecorder *recorder;

  OK (open_recorder (place->path, NULL, &recorder));
  g_assert_true (g_file_set_contents (other, "other", -1, NULL));
  g_assert_cmpint (g_rename (other, place->path), ==, 0);
  record (recorder, 100);
  expect_ended (recorder, "was removed or replaced");
  g_assert_true (g_file_get_contents (place->path, &text, NULL, NULL));
  g_assert_cmpstr (text, ==, "other");
}

/* SQLite's calls of the system, counted down; then the disk is full, or we are dead. */
static atomic_long n_calls_left = LONG_MAX;
static bool dies;
static ssize_t (*real_pwrite) (int fd, const void *bytes, size_t n_bytes, off_t at);
static int (*real_truncate) (int fd, off_t n_bytes);
static int (*real_unlink) (const char *path);

static bool
may_call (void)
{
  if (atomic_fetch_sub (&n_calls_left, 1) > 0)
    return true;
  if (dies)
    kill (getpid (), SIGKILL);
  errno = ENOSPC;
  return false;
}

static ssize_t
counted_pwrite (int fd, const void *bytes, size_t n_bytes, off_t at)
{
  return may_call () ? real_pwrite (fd, bytes, n_bytes, at) : -1;
}

static int
counted_truncate (int fd, off_t n_bytes)
{
  return may_call () ? real_truncate (fd, n_bytes) : -1;
}

static int
counted_unlink (const char *path)
{
  return may_call () ? real_unlink (path) : -1;
}

static sqlite3_syscall_ptr
replace_call (const char *name, sqlite3_syscall_ptr by)
{
  sqlite3_vfs *vfs = sqlite3_vfs_find (NULL);
  sqlite3_syscall_ptr real = vfs->xGetSystemCall (vfs, name);

  g_assert_cmpint (vfs->xSetSystemCall (vfs, name, by), ==, SQLITE_OK);
  return real;
}

static void
replace_calls (void)
{
  sqlite3_vfs *vfs = sqlite3_vfs_find (NULL);
  const char *pwrite_name = vfs->xGetSystemCall (vfs, "pwrite64") ? "pwrite64" : "pwrite";

  real_pwrite = (ssize_t (*) (int, const void *, size_t, off_t)) replace_call (
      pwrite_name, (sqlite3_syscall_ptr) counted_pwrite);
  real_truncate = (int (*) (int, off_t)) replace_call (
      "ftruncate", (sqlite3_syscall_ptr) counted_truncate);
  real_unlink = (int (*) (const char *)) replace_call (
      "unlink", (sqlite3_syscall_ptr) counted_unlink);
}

static void
test_disk_full (TestPlace *place, gconstpointer data)
{
  long most = 4096;

  for (long n_writes = 0; n_writes < most; n_writes += 1 + n_writes / 8)
    {
      TesseraRecorder *recorder;
      TesseraError error = { 0 };
      uint64_t n_flushed = 0;

      atomic_store (&n_calls_left, n_writes);
      TesseraStatus status = open_recorder (place->path, &error, &recorder);
      for (int i = 0; status == TESSERA_OK && i < 10; i++)
        {
          record (recorder, 1000);
          status = tessera_recorder_flush (recorder, &error);
          n_flushed += status == TESSERA_OK ? 1000 : 0;
        }
      if (recorder && status != TESSERA_OK)
        expect_ended (recorder, "the disk is full");
      else
        tessera_recorder_close (recorder);
      atomic_store (&n_calls_left, LONG_MAX);
      if (status != TESSERA_OK)
        g_assert_nonnull (strstr (error.text, "the disk is full"));
      else
        most = n_writes; /* it needed no more */
      if (g_file_test (place->path, G_FILE_TEST_EXISTS))
        g_assert_cmpuint (count_events (place), >=, n_flushed);
      else
        g_assert_cmpuint (n_flushed, ==, 0);
    }
  g_assert_cmpint (most, <, 4096);
}

/* Records, flushes, closes; tells how far it came. */
static void
live_until (const TestPlace *place, long n_calls, atomic_long *n_flushed)
{
  TesseraRecorder *recorder;

  dies = true;
  atomic_store (&n_calls_left, n_calls);
  if (open_recorder (place->path, NULL, &recorder) != TESSERA_OK)
    _exit (1);
  for (int i = 0; i < 3; i++)
    {
      record (recorder, 1000);
      if (tessera_recorder_flush (recorder, NULL) != TESSERA_OK)
        _exit (1);
      atomic_fetch_add (n_flushed, 1000);
    }
  tessera_recorder_close (recorder);
  _exit (0);
}

/* Killed before each call that changes a file, from the first to the last of closing, it
 * leaves no trace or a whole one. */
static void
test_killed_at_each_call (TestPlace *place, gconstpointer data)
{
  atomic_long *n_flushed = mmap (NULL, sizeof *n_flushed, PROT_READ | PROT_WRITE,
                                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  int outcome = 1;
  long n_calls;

  for (n_calls = 0; outcome != 0; n_calls++)
    {
      atomic_store (n_flushed, 0);
      pid_t child = fork ();
      if (child == 0)
        live_until (place, n_calls, n_flushed);
      outcome = test_wait (child);
      g_assert_true (outcome == 0 || outcome == SIGKILL);
      if (g_file_test (place->path, G_FILE_TEST_EXISTS))
        g_assert_cmpuint (count_events (place), >=, (uint64_t) atomic_load (n_flushed));
      else
        g_assert_cmpint (atomic_load (n_flushed), ==, 0);
      test_place_empty (place);
    }
  g_test_message ("killed before each of %ld calls", n_calls - 1);
  munmap (n_flushed, sizeof *n_flushed);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  TEST ("/recorder/fault/no-place", test_no_place);
  TEST ("/recorder/fault/no-trace", test_no_trace);
  TEST ("/recorder/fault/file-limit", test_file_limit);
  TEST ("/recorder/fault/removed", test_removed);
  TEST ("/recorder/fault/replaced", test_replaced);
  replace_calls ();
  TEST ("/recorder/fault/disk-full", test_disk_full);
  TEST ("/recorder/fault/killed-at-each-call", test_killed_at_each_call);
  return g_test_run ();
}
