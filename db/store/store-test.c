/*
 * Trace and plan files: round trips, targets, cancelling, several devices.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "db/store.h"

#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "db/lengths.h"
#include "tests/db/test-place.h"
#include "tests/db/test-traces.h"

#define SEED 20240517
static void
assert_in_file (const TestPlace *place, uint32_t device, const TesseraTrace *trace)
{
  TesseraTrace *loaded = test_load (place, device);

  test_traces_assert_equal (trace, loaded);
  tessera_trace_free (loaded);
}

static void
assert_plan_in_file (const TestPlace *place, const TesseraPlan *plan)
{
  TesseraPlan *loaded = test_load_plan (place);

  test_plans_assert_equal (plan, loaded);
  tessera_plan_free (loaded);
}

static void
test_round_trip (TestPlace *place, gconstpointer data)
{
  static const size_t sizes[] = { 0, 1, 2, 1000, 70000 };

  for (size_t i = 0; i < G_N_ELEMENTS (sizes); i++)
    for (uint32_t round = 0; round < (sizes[i] > 1000 ? 1 : 10); round++)
      {
        TesseraTrace *trace = test_trace_new (SEED + round, sizes[i]);

        test_save (place, trace);
        assert_in_file (place, TESSERA_NONE, trace);
        assert_in_file (place, trace->device, trace);
        tessera_trace_free (trace);
        g_assert_cmpuint (test_place_count_files (place), ==, 1);
      }
  g_assert_cmpint (tessera_file_kind (place->path), ==, TESSERA_FILE_TRACE);
}

static void
test_empty_round_trip (TestPlace *place, gconstpointer data)
{
  TesseraTrace *trace;

  OK (tessera_trace_new (&trace));
  test_save (place, trace);
  assert_in_file (place, 0, trace);
  tessera_trace_free (trace);
}

static void
test_plan_round_trip (TestPlace *place, gconstpointer data)
{
  for (uint32_t round = 0; round < 20; round++)
    {
      TesseraPlan *plan = test_plan_new (SEED + round, 3 + round * 50);

      test_save_plan (place, plan);
      assert_plan_in_file (place, plan);
      tessera_plan_free (plan);
      g_assert_cmpint (tessera_file_kind (place->path), ==, TESSERA_FILE_PLAN);
      g_assert_cmpuint (test_place_count_files (place), ==, 1);
    }
}

/* Plans for every length; then without: none, and none of the file before. */
static void
test_lengths_round_trip (TestPlace *place, gconstpointer data)
{
  TesseraPlan *plan = test_plan_new (5, 21);

  plan->lengths = test_lengths_new ();
  test_save_plan (place, plan);
  assert_plan_in_file (place, plan);
  tessera_lengths_free (plan->lengths);
  plan->lengths = NULL;
  test_save_plan (place, plan);
  assert_plan_in_file (place, plan);
  tessera_plan_free (plan);
}

/* Edits in the trace's file, and what it says of itself, are replaced; the trace stays as it is. */
static void
test_edits_in_trace (TestPlace *place, gconstpointer data)
{
  char name[] = "to the \xe2\x86\x93 bottom", rule[] = "{\"kind\":\"pin\"}", empty[] = "";
  const TesseraStoredEdit edits[] = { { name, rule, 1700000000, 0 },
                                      { empty, rule, -1, 1 } };
  TesseraTrace *trace = test_trace_new (SEED, 500);

  test_save (place, trace);
  for (size_t n = 3; n-- > 0;)
    {
      TesseraStoredEdit *found = NULL;
      size_t n_found = 0;

      OK (tessera_trace_save_edits (place->path, edits, n, NULL));
      OK (tessera_trace_load_edits (place->path, NULL, &found, &n_found));
      g_assert_cmpuint (n_found, ==, n);
      for (size_t i = 0; i < n; i++)
        {
          g_assert_cmpstr (found[i].name, ==, edits[i].name);
          g_assert_cmpstr (found[i].rule, ==, edits[i].rule);
          g_assert_cmpint (found[i].created_s, ==, edits[i].created_s);
          g_assert_cmpuint (found[i].is_undone, ==, edits[i].is_undone);
        }
      tessera_stored_edits_free (found, n_found);
    }
  OK (tessera_trace_set_meta (trace, "tried_fused", "4096"));
  OK (tessera_trace_save_meta (trace, place->path, NULL));
  assert_in_file (place, TESSERA_NONE, trace);
  tessera_trace_free (trace);
}

/* Saving checks what loading will check. */
static void
test_cannot_save (TestPlace *place, gconstpointer data)
{
  TesseraTrace *trace = test_trace_new (SEED, 100);
  TesseraError error = { 0 };

  trace->events[42].stream = 6;
  g_assert_cmpint (tessera_trace_save (trace, place->path, NULL, &error), ==,
                   TESSERA_INVALID);
  test_matches (error.text, "Cannot save *: in table event, row 42, stream is 6,*");
  trace->events[42].stream = 0;
  error = (TesseraError){ 0 };
  trace->events[7].size_bytes = (uint64_t) INT64_MAX + 1;
  g_assert_cmpint (tessera_trace_save (trace, place->path, NULL, &error), ==,
                   TESSERA_INVALID);
  g_assert_cmpuint (test_place_count_files (place), ==, 0);
  tessera_trace_free (trace);
}

/* The target is followed where it is a link, also to what is not there, and never
 * replaced where it is no file. */
static void
test_targets (TestPlace *place, gconstpointer data)
{
  TesseraTrace *trace = test_trace_new (SEED, 10);
  g_autofree char *link = g_build_filename (place->folder, "link.tsr", NULL);
  TesseraError error = { 0 };
  struct stat info;

  test_save (place, trace);
  g_assert_cmpint (symlink (place->path, link), ==, 0);
  OK (tessera_trace_save (trace, link, NULL, NULL));
  g_assert_cmpint (lstat (link, &info), ==, 0);
  g_assert_true (S_ISLNK (info.st_mode));
  g_assert_cmpint (unlink (place->path), ==, 0);
  OK (tessera_trace_save (trace, link, NULL, NULL));
  g_assert_cmpint (lstat (place->path, &info), ==, 0);
  g_assert_true (S_ISREG (info.st_mode));
  g_assert_cmpint (tessera_trace_save (trace, place->folder, NULL, &error), ==,
                   TESSERA_IO);
  test_matches (error.text, "*Is a directory");
  error = (TesseraError){ 0 };
  g_assert_cmpint (tessera_trace_save (trace, "/nonexistent/a.tsr", NULL, &error), ==,
                   TESSERA_IO);
  g_assert_cmpstr (error.text, ==,
                   "Cannot write /nonexistent/a.tsr: No such file or directory");
  g_assert_cmpuint (test_place_count_files (place), ==, 2);
  tessera_trace_free (trace);
}

static void
test_cancel (TestPlace *place, gconstpointer data)
{
  TesseraTrace *trace = test_trace_new (SEED, 20000), *older = test_trace_new (SEED, 5);
  TestWatch state = { .n_allowed = UINT_MAX };
  TesseraProgress progress = { test_watch, &state };
  TesseraTrace *loaded = NULL;
  unsigned n_saves;

  OK (tessera_trace_save (trace, place->path, &progress, NULL));
  n_saves = state.n_calls;
  g_assert_cmpuint (n_saves, >, 20);
  g_assert_cmpuint (n_saves, <, 300);
  for (unsigned n_allowed = 0; n_allowed < 90; n_allowed += 30)
    {
      TesseraError error = { 0 };

      state = (TestWatch){ .n_allowed = n_allowed };
      loaded = NULL;
      g_assert_cmpint (
          tessera_trace_load (place->path, TESSERA_NONE, &progress, &error, &loaded), ==,
          TESSERA_CANCELLED);
      g_assert_null (loaded);
      g_assert_cmpuint (state.n_calls, ==, n_allowed + 1);
      g_assert_true (g_str_has_suffix (error.text, "was cancelled"));
    }
  test_save (place, older);
  for (unsigned n_allowed = 0; n_allowed < n_saves; n_allowed += 10)
    {
      TesseraError error = { 0 };

      state = (TestWatch){ .n_allowed = n_allowed };
      g_assert_cmpint (tessera_trace_save (trace, place->path, &progress, &error), ==,
                       TESSERA_CANCELLED);
      g_assert_true (g_str_has_suffix (error.text, "nothing was written"));
      g_assert_cmpuint (test_place_count_files (place), ==, 1);
    }
  assert_in_file (place, TESSERA_NONE, older);
  tessera_trace_free (older);
  tessera_trace_free (trace);
}

/* Two devices in one file, their events interleaved: each is read as a trace of its own.
 */
static void
test_several_devices (TestPlace *place, gconstpointer data)
{
  TesseraTrace *trace = test_trace_new (SEED, 100), *loaded;
  TesseraError error = { 0 };
  g_autofree char *sql = NULL;

  trace->device = 3;
  test_save (place, trace);
  sql = g_strdup_printf (
      "INSERT INTO recording SELECT 1, 5, source, 50, memory_bytes, limit_bytes,"
      " alignment_bytes, has_addresses, has_segments, has_time, starts_empty, "
      "is_expandable,"
      " max_split_bytes, max_non_split_rounding_bytes, large_segment_bytes,"
      " garbage_collection_threshold FROM recording;"
      "UPDATE recording SET n_events = 50 WHERE device = 3;"
      "INSERT INTO stream SELECT 5, stream_index, handle FROM stream;"
      "INSERT INTO pool SELECT 5, pool_index, owner_id, user_id FROM pool;"
      "INSERT INTO tensor SELECT 5, tensor_index, event_index, addr, kind, name FROM "
      "tensor;"
      "UPDATE event SET device = 5 WHERE event_index %% 2 = 1");
  test_execute (place->path, sql);
  loaded = test_load (place, 5);
  g_assert_cmpuint (loaded->device, ==, 5);
  g_assert_cmpuint (loaded->n_events, ==, 50);
  g_assert_cmpuint (loaded->n_ranges, ==, 0);
  g_assert_cmphex (loaded->events[7].addr, ==, trace->events[15].addr);
  g_assert_cmpuint (loaded->n_tensors, ==, trace->n_tensors);
  for (size_t i = 0; i < loaded->n_tensors; i++)
    g_assert_cmpuint (loaded->tensors[i].event_index, ==,
                      trace->tensors[i].event_index / 2);
  tessera_trace_free (loaded);
  loaded = test_load (place, TESSERA_NONE); /* as many events: the lower number */
  g_assert_cmpuint (loaded->device, ==, 3);
  g_assert_cmpuint (loaded->n_ranges, ==, trace->n_ranges);
  for (size_t i = 0; i < loaded->n_ranges; i++)
    {
      g_assert_cmpuint (loaded->ranges[i].begin_index, ==,
                        (trace->ranges[i].begin_index + 1) / 2);
      g_assert_cmpuint (loaded->ranges[i].end_index, ==,
                        (trace->ranges[i].end_index + 1) / 2);
    }
  tessera_trace_free (loaded);
  g_assert_cmpint (tessera_trace_load (place->path, 4, NULL, &error, &loaded), ==,
                   TESSERA_INVALID);
  g_assert_true (
      g_pattern_match_simple ("*holds no recording of device 4;*", error.text));
  tessera_trace_free (trace);
}

/* What people add to the file does not matter to us. */
static void
test_additions (TestPlace *place, gconstpointer data)
{
  TesseraTrace *trace = test_trace_new (SEED, 100);

  test_save (place, trace);
  test_execute (
      place->path,
      "CREATE INDEX by_addr ON event (addr); CREATE TABLE mine (a);"
      "CREATE VIEW big AS SELECT * FROM event WHERE size_bytes > 1000000;"
      "CREATE TRIGGER no AFTER INSERT ON edit BEGIN SELECT raise(abort, 'no'); END;"
      "ANALYZE");
  assert_in_file (place, TESSERA_NONE, trace);
  test_execute (place->path, "PRAGMA journal_mode = WAL");
  assert_in_file (place, TESSERA_NONE, trace);
  tessera_trace_free (trace);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  TEST ("/store/round-trip", test_round_trip);
  TEST ("/store/empty-round-trip", test_empty_round_trip);
  TEST ("/store/plan-round-trip", test_plan_round_trip);
  TEST ("/store/lengths-round-trip", test_lengths_round_trip);
  TEST ("/store/edits-in-trace", test_edits_in_trace);
  TEST ("/store/cannot-save", test_cannot_save);
  TEST ("/store/targets", test_targets);
  TEST ("/store/cancel", test_cancel);
  TEST ("/store/several-devices", test_several_devices);
  TEST ("/store/additions", test_additions);
  return g_test_run ();
}
