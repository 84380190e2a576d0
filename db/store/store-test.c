/*
 * Trace and plan files: round trips, targets, cancelling, several devices; and files that
 * are not what they should be: each is refused in one sentence.
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
  g_autoptr (TesseraTrace) loaded = test_load (place, device);

  test_traces_assert_equal (trace, loaded);
}

static void
assert_plan_in_file (const TestPlace *place, const TesseraPlan *plan)
{
  g_autoptr (TesseraPlan) loaded = test_load_plan (place);

  test_plans_assert_equal (plan, loaded);
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
  g_autoptr (TesseraTrace) trace = NULL;

  OK (tessera_trace_new (&trace));
  test_save (place, trace);
  assert_in_file (place, 0, trace);
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
  g_autoptr (TesseraPlan) plan = test_plan_new (5, 21);

  plan->lengths = test_lengths_new ();
  test_save_plan (place, plan);
  assert_plan_in_file (place, plan);
  tessera_lengths_free (plan->lengths);
  plan->lengths = NULL;
  test_save_plan (place, plan);
  assert_plan_in_file (place, plan);
}

/* Edits in the trace's file, and what it says of itself, are replaced; the trace stays as it is. */
static void
test_edits_in_trace (TestPlace *place, gconstpointer data)
{
  char name[] = "to the \xe2\x86\x93 bottom", rule[] = "{\"kind\":\"pin\"}", empty[] = "";
  const TesseraStoredEdit edits[] = { { name, rule, 1700000000, 0 },
                                      { empty, rule, -1, 1 } };
  g_autoptr (TesseraTrace) trace = test_trace_new (SEED, 500);

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
}

/* Saving checks what loading will check. */
static void
test_cannot_save (TestPlace *place, gconstpointer data)
{
  g_autoptr (TesseraTrace) trace = test_trace_new (SEED, 100);
  TesseraError error = { 0 };

  trace->events[42].stream = 6;
  GIVES (TESSERA_INVALID, tessera_trace_save (trace, place->path, NULL, &error));
  test_matches (error.text, "Cannot save *: in table event, row 42, stream is 6,*");
  trace->events[42].stream = 0;
  error = (TesseraError){ 0 };
  trace->events[7].size_bytes = (uint64_t) INT64_MAX + 1;
  GIVES (TESSERA_INVALID, tessera_trace_save (trace, place->path, NULL, &error));
  g_assert_cmpuint (test_place_count_files (place), ==, 0);
}

/* The target is followed where it is a link, also to what is not there, and never
 * replaced where it is no file. */
static void
test_targets (TestPlace *place, gconstpointer data)
{
  g_autoptr (TesseraTrace) trace = test_trace_new (SEED, 10);
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
  GIVES (TESSERA_IO, tessera_trace_save (trace, place->folder, NULL, &error));
  test_matches (error.text, "*Is a directory");
  error = (TesseraError){ 0 };
  GIVES (TESSERA_IO, tessera_trace_save (trace, "/nonexistent/a.tsr", NULL, &error));
  g_assert_cmpstr (error.text, ==,
                   "Cannot write /nonexistent/a.tsr: No such file or directory");
  g_assert_cmpuint (test_place_count_files (place), ==, 2);
}

static void
test_cancel (TestPlace *place, gconstpointer data)
{
  g_autoptr (TesseraTrace) trace = test_trace_new (SEED, 20000),
                           older = test_trace_new (SEED, 5);
  TestWatch state = { .n_allowed = UINT_MAX };
  TesseraProgress progress = { test_watch, &state };
  TesseraTrace *loaded = NULL;

  OK (tessera_trace_save (trace, place->path, &progress, NULL));
  unsigned n_saves = state.n_calls;
  g_assert_cmpuint (n_saves, >, 20);
  g_assert_cmpuint (n_saves, <, 300);
  for (unsigned n_allowed = 0; n_allowed < 90; n_allowed += 30)
    {
      TesseraError error = { 0 };

      state = (TestWatch){ .n_allowed = n_allowed };
      loaded = NULL;
      GIVES (TESSERA_CANCELLED,
             tessera_trace_load (place->path, TESSERA_NONE, &progress, &error, &loaded));
      g_assert_null (loaded);
      g_assert_cmpuint (state.n_calls, ==, n_allowed + 1);
      g_assert_true (g_str_has_suffix (error.text, "was cancelled"));
    }
  test_save (place, older);
  for (unsigned n_allowed = 0; n_allowed < n_saves; n_allowed += 10)
    {
      TesseraError error = { 0 };

      state = (TestWatch){ .n_allowed = n_allowed };
      GIVES (TESSERA_CANCELLED,
             tessera_trace_save (trace, place->path, &progress, &error));
      g_assert_true (g_str_has_suffix (error.text, "nothing was written"));
      g_assert_cmpuint (test_place_count_files (place), ==, 1);
    }
  assert_in_file (place, TESSERA_NONE, older);
}

/* Two devices in one file, their events interleaved: each is read as a trace of its own.
 */
static void
test_several_devices (TestPlace *place, gconstpointer data)
{
  g_autoptr (TesseraTrace) trace = test_trace_new (SEED, 100);
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
  TesseraTrace *loaded = test_load (place, 5);
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
  GIVES (TESSERA_INVALID, tessera_trace_load (place->path, 4, NULL, &error, &loaded));
  g_assert_true (
      g_pattern_match_simple ("*holds no recording of device 4;*", error.text));
}

/* What people add to the file does not matter to us. */
static void
test_additions (TestPlace *place, gconstpointer data)
{
  g_autoptr (TesseraTrace) trace = test_trace_new (SEED, 100);

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
}

static void
assert_refused (const TestPlace *place, TesseraStatus wanted, const char *pattern)
{
  TesseraError error = { 0 };
  TesseraTrace *trace = (TesseraTrace *) &error;
  TesseraStatus status =
      tessera_trace_load (place->path, TESSERA_NONE, NULL, &error, &trace);

  test_matches (error.text, pattern);
  g_assert_cmpint (status, ==, wanted);
  g_assert_cmpint (error.status, ==, wanted);
  g_assert_null (trace);
  g_assert_null (strchr (error.text, '\n'));
}

static void
assert_plan_refused (const TestPlace *place, const char *pattern)
{
  TesseraError error = { 0 };
  TesseraPlan *loaded = NULL;

  g_assert_cmpint (tessera_plan_load (place->path, &error, &loaded), ==,
                   TESSERA_BAD_INPUT);
  g_assert_null (loaded);
  test_matches (error.text, pattern);
}

static void
test_refusals (TestPlace *place, gconstpointer data)
{
  TesseraPlan *plan = test_plan_new (SEED, 9);

  assert_refused (place, TESSERA_IO, "Cannot read *.tsr: No such file or directory");
  g_assert_true (g_file_set_contents (place->path, "", 0, NULL));
  assert_refused (place, TESSERA_FOREIGN, "*.tsr is empty, not a Tessera trace");
  g_assert_true (g_file_set_contents (place->path, "seq,time_us\n", -1, NULL));
  assert_refused (place, TESSERA_FOREIGN, "*does not begin like one");
  g_assert_cmpint (tessera_file_kind (place->path), ==, TESSERA_FILE_OTHER);
  g_assert_true (g_file_set_contents (place->path, "SQLite fo", -1, NULL));
  assert_refused (place, TESSERA_BAD_INPUT, "*is cut short*");
  g_remove (place->path);
  test_execute (place->path, "PRAGMA application_id = 7; CREATE TABLE event (a)");
  assert_refused (place, TESSERA_FOREIGN,
                  "*of another program (application_id 0x00000007)*_dump_snapshot()*");
  g_assert_cmpint (tessera_file_kind (place->path), ==, TESSERA_FILE_OTHER);
  g_remove (place->path);
  test_save_plan (place, plan);
  assert_refused (place, TESSERA_FOREIGN,
                  "*is a Tessera plan, but a trace is needed here");
  tessera_plan_free (plan);
  g_remove (place->path);
  g_assert_cmpint (g_mkdir (place->path, 0700), ==, 0);
  assert_refused (place, TESSERA_IO, "Cannot read *: Is a directory");
  g_assert_cmpint (g_rmdir (place->path), ==, 0);
  g_assert_cmpint (mkfifo (place->path, 0600), ==, 0);
  assert_refused (place, TESSERA_IO, "*is not a file but a device or pipe");
}

/* Older files, newer ones, and those that say no version. */
static void
test_other_versions (TestPlace *place, gconstpointer data)
{
  static const char *const versions[] = { "0", "2", "12" };
  g_autoptr (TesseraTrace) trace = test_trace_new (SEED, 10);
  g_autoptr (TesseraPlan) plan = test_plan_new (SEED, 9);

  for (size_t i = 0; i < G_N_ELEMENTS (versions); i++)
    {
      g_autofree char *sql = g_strconcat ("PRAGMA user_version = ", versions[i], NULL);
      g_autofree char *refused = g_strdup_printf (
          "*.tsr is a trace of another version of Tessera (format %s; this one reads"
          " format 1): make it again with tessera record, tessera dry-run or tessera "
          "import",
          versions[i]);
      g_autofree char *plan_refused = g_strdup_printf (
          "*.tsr is a plan of another version of Tessera (format %s; this one reads"
          " format 1): make it again with tessera plan",
          versions[i]);

      test_save (place, trace);
      test_execute (place->path, sql);
      assert_refused (place, TESSERA_BAD_INPUT, refused);
      test_save_plan (place, plan);
      test_execute (place->path, sql);
      assert_plan_refused (place, plan_refused);
    }
}

static void
test_truncated (TestPlace *place, gconstpointer data)
{
  g_autoptr (TesseraTrace) trace = test_trace_new (SEED, 1000);
  g_autofree char *bytes = NULL;
  size_t n_bytes;

  test_save (place, trace);
  g_assert_true (g_file_get_contents (place->path, &bytes, &n_bytes, NULL));
  for (size_t i = 1; i <= 50; i++)
    {
      g_assert_true (
          g_file_set_contents (place->path, bytes, (gssize) (n_bytes * i / 51), NULL));
      assert_refused (place, TESSERA_BAD_INPUT, "*is cut short: it has * of * bytes*");
    }
}

/* Whatever bytes are turned over, the file is read or refused, and what is read can be
 * walked. The schema comes first in a file: half of the damage goes beyond it. */
static void
test_damaged (TestPlace *place, gconstpointer data)
{
  g_autoptr (TesseraTrace) trace = test_trace_new (SEED, 300);
  g_autoptr (GRand) random = g_rand_new_with_seed (SEED);
  g_autofree char *bytes = NULL;
  size_t n_bytes;
  unsigned n_refused = 0;

  test_save (place, trace);
  g_assert_true (g_file_get_contents (place->path, &bytes, &n_bytes, NULL));
  for (int round = 0; round < 200; round++)
    {
      g_autofree char *damaged = g_memdup2 (bytes, n_bytes);
      TesseraError error = { 0 };
      g_autoptr (TesseraTrace) loaded = NULL;

      for (int i = g_rand_int_range (random, 1, 20); i > 0; i--)
        damaged[g_rand_int_range (random, round % 2 ? 100 : 20000, (int) n_bytes)] =
            (char) g_rand_int (random);
      g_assert_true (g_file_set_contents (place->path, damaged, (gssize) n_bytes, NULL));
      if (tessera_trace_load (place->path, TESSERA_NONE, NULL, &error, &loaded) !=
          TESSERA_OK)
        {
          g_assert_cmpstr (error.text, !=, "");
          g_assert_null (loaded);
          n_refused++;
          continue;
        }
      for (size_t i = 0; i < loaded->n_events; i++)
        if (loaded->events[i].stack != TESSERA_NONE)
          g_assert_cmpuint (loaded->events[i].stack, <, loaded->n_stacks);
    }
  g_assert_cmpuint (n_refused, >, 50);
  g_assert_cmpuint (n_refused, <, 200);
}

typedef struct
{
  const char *sql;
  const char *pattern;
} Wrong;

static const Wrong wrong_values[] = {
  { "UPDATE event SET action = 0 WHERE event_index = 5", "*event, row 5, action is 0,*" },
  { "UPDATE event SET action = 11 WHERE event_index = 5", "*row 5, action is 11,*" },
  { "UPDATE event SET action = 300 WHERE event_index = 5", "*row 5, action is of the*" },
  { "UPDATE event SET stream = 6", "*event, row 0, stream is 6,*" },
  { "UPDATE event SET stream = 70000", "*event, row 0, stream is of the wrong type*" },
  { "UPDATE event SET pool = -1", "*event, row 0, pool is of the wrong type*" },
  { "UPDATE event SET pool_known = 2", "*pool_known is 2*" },
  { "UPDATE event SET is_left = 2", "*is_left is 2*" },
  { "UPDATE event SET stack = 1000000", "*event, row 0, stack is 1000000*" },
  { "UPDATE event SET stack = 4294967295", "*stack is of the wrong type or too large*" },
  { "UPDATE event SET size_bytes = -1", "*event, row 0, size_bytes is of the wrong*" },
  { "DELETE FROM event WHERE event_index = 7", "*event, row 7, *numbering is broken*" },
  { "DELETE FROM event WHERE event_index = 99; DELETE FROM tensor",
    "*holds 99 of 100 events*" },
  { "DELETE FROM event WHERE event_index = 0", "*event, row 0*numbering is*" },
  { "UPDATE event SET event_index = -1 WHERE event_index = 0", "*numbering is broken*" },
  { "UPDATE recording SET n_events = 1152921504606846976",
    "*100 of 1152921504606846976*" },
  { "UPDATE recording SET n_events = -1", "*holds no recording*" },
  { "DELETE FROM recording", "*holds no recording*" },
  { "UPDATE recording SET device = 4294967295", "*holds no recording*" },
  { "UPDATE recording SET alignment_bytes = 0", "*alignment_bytes is 0*" },
  { "UPDATE recording SET has_time = 2", "*has_time is 2*" },
  { "UPDATE recording SET garbage_collection_threshold = 9e999",
    "*is missing or not a number*" },
  { "UPDATE frame SET name = 51", "*frame, row 0, name is 51,*" },
  { "UPDATE string SET text = 'same'", "*string, row 1, it repeats an earlier row*" },
  { "UPDATE stack_node SET caller = node_index", "*stack_node, row 0, caller is not*" },
  { "UPDATE stack_node SET frame = 60", "*stack_node, row 0, frame is 60*" },
  { "UPDATE stack SET node = 100000", "*stack, row 0, node is 100000*" },
  { "UPDATE stack SET node = 3", "*stack, row 1, it repeats*" },
  { "UPDATE stream SET handle = 5 WHERE stream_index = 0", "*stream, row 0*" },
  { "DELETE FROM event; UPDATE recording SET n_events = 0; DELETE FROM stream; "
    "DELETE FROM segment; DELETE FROM range; DELETE FROM tensor",
    "*stream, row 0, it is missing*" },
  { "UPDATE pool SET user_id = 5 WHERE pool_index = 0", "*pool, row 0, it is not*" },
  { "UPDATE held_block SET state = 3", "*held_block, row 0, state is 3*" },
  { "UPDATE segment SET stack = 200", "*segment, row 0, stack is 200*" },
  { "UPDATE range SET end_index = 101", "*range, row 0, end_index is 101*" },
  { "UPDATE range SET begin_index = 3, end_index = 2",
    "*end_index is before begin_index*" },
  { "UPDATE range SET parent = range_index", "*parent is not an earlier row*" },
  { "UPDATE range SET kind = 4", "*kind is 4*" },
  { "UPDATE tensor SET kind = 0", "*tensor, row 0, kind is 0*" },
  { "UPDATE tensor SET kind = 5", "*tensor, row 0, kind is 5*" },
  { "UPDATE tensor SET name = 51", "*tensor, row 0, name is 51*" },
  { "UPDATE tensor SET event_index = 101", "*tensor, row 0, event_index is 101*" },
  { "UPDATE tensor SET event_index = 100 - tensor_index", "*tensor, row 1, *" },
  { "UPDATE tensor SET tensor_index = 1000 WHERE tensor_index = 0", "*tensor, row 0, *" },
  { "DELETE FROM tensor WHERE tensor_index = 0", "*tensor, row 0, *" },
  { "INSERT INTO rounding SELECT device, 16, 0 FROM recording", "*rounding, row 16*" },
  { "DROP TABLE edit",
    "*its table edit is not as this one makes it*make it again with tessera record**" },
  { "ALTER TABLE event ADD COLUMN more INTEGER", "*its table event is not as*" },
  { "DROP VIEW block; DROP TABLE event; CREATE VIEW event AS WITH RECURSIVE"
    " n (event_index) AS (SELECT 0 UNION ALL SELECT event_index + 1 FROM n)"
    " SELECT * FROM n",
    "*its table event is not as this one makes it*make it again with tessera record**" },
};

static const Wrong wrong_plan_values[] = {
  { "UPDATE slot SET died = 1001", "*slot, row 0, died is 1001*" },
  { "UPDATE slot SET section = 3", "*slot, row 0, section is 3*" },
  { "UPDATE slot SET phase = 2", "*slot, row 0, phase is 2*" },
  { "UPDATE slot SET block_group = 4", "*slot, row 0, block_group is 4*" },
  { "UPDATE slot SET wraps = 2", "*wraps is 2*" },
  { "UPDATE slot SET lifetime_class = 5", "*lifetime_class is 5*" },
  { "UPDATE slot SET offset_bytes = -512", "*offset_bytes is of the wrong type*" },
  { "DELETE FROM slot WHERE slot_index = 20; UPDATE crossing SET slot = 0",
    "*section, row 2, its slots do not exist*" },
  { "DELETE FROM slot WHERE slot_index = 3", "*slot, row 3, the numbering is broken*" },
  { "UPDATE section SET end_position = 1001", "*end_position is 1001*" },
  { "UPDATE section SET n_slots = 4294967295", "*its slots do not exist*" },
  { "UPDATE crossing SET slot = 21", "*crossing, row 0, slot is 21*" },
  { "UPDATE section SET alternate = 3", "*section, row 0, alternate is 3*" },
  { "UPDATE crossing SET section = 3", "*crossing, row 0, section is 3*" },
  { "UPDATE crossing SET died = 1001", "*crossing, row 0, died is 1001*" },
  { "UPDATE room SET before_slot = 22", "*room, row 0, before_slot does not exist*" },
  { "UPDATE room SET section = 3", "*room, row 0, section is 3*" },
  { "UPDATE room SET died = 1001", "*room, row 0, died is 1001*" },
  { "UPDATE room SET is_small = 2", "*room, row 0, is_small is 2*" },
  { "UPDATE room SET end_bytes = begin_bytes - 1",
    "*room, row 0, end_bytes is before begin_bytes*" },
  { "UPDATE room SET begin_bytes = -1", "*room, row 0, begin_bytes is*" },
  { "UPDATE region SET end_bytes = begin_bytes - 1",
    "*region, row 0, end_bytes is before begin_bytes*" },
  { "UPDATE region SET stream = 65536", "*region, row 0, stream is*" },
  { "UPDATE plan_edit SET plan_edit_index = 7 WHERE plan_edit_index = 1",
    "*plan_edit, row 1, the numbering is broken*" },
  { "UPDATE plan SET proven_bound_bytes = -1", "*proven_bound_bytes is*" },
  { "UPDATE plan SET cut_short = 2", "*cut_short is 2*" },
  { "UPDATE plan SET work_budget = -1", "*work_budget is*" },
  { "UPDATE plan SET followable = 3", "*followable is 3*" },
  { "UPDATE plan SET n_positions = 10", "*" },
  { "DELETE FROM plan", "*holds no plan*" },
  { "INSERT INTO plan SELECT 1, height_bytes, bound_bytes, alignment_bytes, "
    "n_positions,"
    " trace_fingerprint, slot_digest, device, n_streams, followable, crosses_streams,"
    " checked, follow_reason, strategy, source, world, rank, device_bytes, torch,"
    " proven_bound_bytes, cut_short, work_budget"
    " FROM plan",
    "*plan, row 1, it repeats*" },
  { "UPDATE block_group SET kind = 5", "*kind is 5*" },
  { "UPDATE block_group SET time_memory_product = -9e999",
    "*is missing or not a number*" },
};

static const Wrong wrong_lengths[] = {
  { "UPDATE length_plan SET most_length = 0", "*length_plan, row 0*" },
  { "UPDATE length_plan SET most_length = 9000000", "*slot 0 is out of range*" },
  { "UPDATE length_plan SET alignment_bytes = 0", "*length_plan, row 0*" },
  { "UPDATE length_plan SET alignment_bytes = 7", "*slot 0 is out of range*" },
  { "UPDATE length_plan SET n_early = 7", "*row 0 is out of range*" },
  { "UPDATE length_plan SET n_early = 2", "*slot 1 is out of range*" },
  { "UPDATE length_plan SET cut_phase = NULL", "*slot 5 is out of range*" },
  { "UPDATE length_slot SET is_over_cuts = 1 WHERE length_slot_index = 1",
    "*slot 1 is out of range*" },
  { "UPDATE length_plan SET fixed_bytes = 512", "*slot 0 is out of range*" },
  { "UPDATE length_plan SET start_bytes = 512", "*slot of the start 0 is*" },
  { "INSERT INTO length_plan SELECT 1, most_batch, most_length,"
    " has_batch, n_steps, n_early, fixed_bytes, start_bytes, alignment_bytes, cut_phase"
    " FROM length_plan",
    "*length_plan, row 1, it repeats*" },
  { "DELETE FROM length_plan", "*length_step, row 0*" },
  { "UPDATE length_law SET denominator = 0", "*law 0 is out of range*" },
  { "UPDATE length_law SET by_square = 9223372036854775807", "*law 0 is out of range*" },
  { "UPDATE length_law SET by_one = -9223372036854775807 - 1", "*law 0 is out of*" },
  { "UPDATE length_law SET rounding = 0", "*law 0 is out of range*" },
  { "UPDATE length_law SET kind = 5", "*law 0 is out of range*" },
  { "UPDATE length_law SET by_tokens = 1125899906842624", "*slot 0 is out of range*" },
  { "UPDATE length_slot SET law = 3", "*length_slot, row 0, law is 3*" },
  { "UPDATE length_slot SET died = 0", "*slot 0 is out of range*" },
  { "UPDATE length_slot SET died = 7", "*slot 0 is out of range*" },
  { "UPDATE length_slot SET phase = 2", "*length_slot, row 0, phase is 2*" },
  { "UPDATE length_slot SET place = 3", "*length_slot, row 0, place is 3*" },
  { "UPDATE length_slot SET place = 2 WHERE length_slot_index = 1",
    "*orders do not fit*" },
  { "UPDATE length_slot SET offset_bytes = 13825 WHERE length_slot_index = 3",
    "*slot 3 is out of range*" },
  { "UPDATE length_slot SET offset_bytes = 9223372036854775296"
    " WHERE length_slot_index = 3",
    "*slot 3 is out of range*" },
  { "UPDATE length_slot SET spare_bytes = 14336 WHERE length_slot_index = 3",
    "*slot 3 is out of range*" },
  { "UPDATE length_slot SET gone = 1", "*slot 0 is out of range*" },
  { "UPDATE length_slot SET gone = 7 WHERE length_slot_index = 3",
    "*slot 3 is out of range*" },
  { "UPDATE length_order SET in_spare = 1 WHERE length_order_index = 1",
    "*order 0 is out of range*" },
  { "UPDATE start_slot SET died = 0", "*slot of the start 0 is*" },
  { "UPDATE start_slot SET block_bytes = 0", "*slot of the start 0 is*" },
  { "UPDATE start_slot SET offset_bytes = 1", "*slot of the start 0 is*" },
  { "DELETE FROM length_order WHERE length_order_index = 2", "*orders do not fit*" },
  { "UPDATE length_slot SET seen = 3", "*slot 0 is out of range*" },
  { "UPDATE length_order SET n_low = 3", "*order 0 is out of range*" },
  { "UPDATE length_order SET is_first = 1", "*order 0 is out of range*" },
  { "UPDATE length_order SET is_first = 1 WHERE length_order_index = 1",
    "*order 1 is out of range*" },
  { "UPDATE length_order SET from_tokens = 0", "*order 1 is out of range*" },
  { "UPDATE length_order SET from_tokens = from_tokens + 1",
    "*order 0 is out of range*" },
  { "DELETE FROM length_order; DELETE FROM length_order_slot; "
    "DELETE FROM length_order_edge",
    "*order 0 is out of range*" },
  { "UPDATE length_order_slot SET slot = 1", "*order 0 is out of range*" },
  { "UPDATE length_order_slot SET slot = 0", "*order 0 is out of range*" },
  { "UPDATE length_order_slot SET slot = 6", "*length_order_slot, row 0, slot is 6*" },
  { "DELETE FROM length_order_slot WHERE length_order_slot_index = 5",
    "*orders do not fit*" },
  { "UPDATE length_order_edge SET below = above", "*orders do not fit*" },
  { "UPDATE length_order_edge SET below = 0", "*orders do not fit*" },
  { "UPDATE length_order_edge SET above = 9", "*orders do not fit*" },
  { "UPDATE length_order_edge SET above = 4294967294, below = 4294967293",
    "*orders do not fit*" },
};

/* One wrong value in an otherwise good file, and the words that name it. */
static void
assert_all_refused (const TestPlace *place, const Wrong *wrong, size_t n)
{
  bool is_plan = tessera_file_kind (place->path) == TESSERA_FILE_PLAN;
  g_autofree char *bytes = NULL;
  size_t n_bytes;

  g_assert_true (g_file_get_contents (place->path, &bytes, &n_bytes, NULL));
  for (size_t i = 0; i < n; i++)
    {
      g_assert_true (g_file_set_contents (place->path, bytes, (gssize) n_bytes, NULL));
      g_test_message ("%s", wrong[i].sql);
      test_execute (place->path, wrong[i].sql);
      if (is_plan)
        assert_plan_refused (place, wrong[i].pattern);
      else
        assert_refused (place, TESSERA_BAD_INPUT, wrong[i].pattern);
    }
}

static void
test_wrong_values (TestPlace *place, gconstpointer data)
{
  g_autoptr (TesseraTrace) trace = test_trace_new (SEED, 100);
  g_autoptr (TesseraPlan) plan = test_plan_new (SEED, 21);

  g_assert_cmpuint (trace->n_ranges, >, 1);
  g_assert_cmpuint (trace->start.n_segments, >, 1);
  test_save (place, trace);
  assert_all_refused (place, wrong_values, G_N_ELEMENTS (wrong_values));
  test_save_plan (place, plan);
  assert_all_refused (place, wrong_plan_values, G_N_ELEMENTS (wrong_plan_values));
  plan->lengths = test_lengths_new ();
  test_save_plan (place, plan);
  assert_all_refused (place, wrong_lengths, G_N_ELEMENTS (wrong_lengths));
}

static const Wrong wrong_events[] = {
  { "UPDATE event SET stream = 4000 WHERE event_index = 1500",
    "*in table event, row 1500, stream is 4000*" },
  { "UPDATE event SET stream = 4000 WHERE event_index IN (7, 1500)",
    "*in table event, row 7, stream is 4000*" },
  { "UPDATE event SET event_index = 3000 WHERE event_index = 999",
    "*in table event, row 999, the numbering is broken*" },
  { "DELETE FROM event WHERE event_index = 2000", "*it holds 2000 of 2001 events*" },
  { "DELETE FROM event WHERE event_index > 1000", "*it holds 1001 of 2001 events*" },
  { "INSERT INTO event SELECT 2001, device, action, addr, size_bytes, at_ns, stack, "
    "stream,"
    " pool, pool_known, is_left FROM event WHERE event_index = 5",
    "*in table event, row 2001, *" },
};

static void
test_wrong_events (TestPlace *place, gconstpointer data)
{
  g_autoptr (TesseraTrace) trace = test_trace_new (SEED, 2001);

  test_save (place, trace);
  assert_all_refused (place, wrong_events, G_N_ELEMENTS (wrong_events));
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
  TEST ("/store-hostile/refusals", test_refusals);
  TEST ("/store-hostile/other-versions", test_other_versions);
  TEST ("/store-hostile/truncated", test_truncated);
  TEST ("/store-hostile/damaged", test_damaged);
  TEST ("/store-hostile/wrong-values", test_wrong_values);
  TEST ("/store-hostile/wrong-events", test_wrong_events);
  return g_test_run ();
}
