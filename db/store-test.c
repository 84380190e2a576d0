/*
 * Trace and plan files: round trips, refusals, what stays behind.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "db/store.h"

#include <glib.h>
#include <glib/gstdio.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "db/test-traces.h"

#define SEED 20240517

typedef struct
{
  char *folder;
  char *path; /* in it; not there yet */
} Place;

static void
place_begin (Place *place, gconstpointer data)
{
  place->folder = g_dir_make_tmp ("tessera-store-XXXXXX", NULL);
  g_assert_nonnull (place->folder);
  place->path = g_build_filename (place->folder, "a 100%?#.tsr", NULL);
}

static unsigned
count_files (const Place *place)
{
  g_autoptr (GDir) folder = g_dir_open (place->folder, 0, NULL);
  unsigned n_files = 0;

  while (g_dir_read_name (folder))
    n_files++;
  return n_files;
}

static void
place_end (Place *place, gconstpointer data)
{
  g_autoptr (GDir) folder = g_dir_open (place->folder, 0, NULL);
  const char *name;

  while ((name = g_dir_read_name (folder)))
    {
      g_autofree char *path = g_build_filename (place->folder, name, NULL);

      g_assert_cmpint (g_remove (path), ==, 0);
    }
  g_assert_cmpint (g_rmdir (place->folder), ==, 0);
  g_free (place->folder);
  g_free (place->path);
}

static void
save (const Place *place, const TesseraTrace *trace)
{
  TesseraError error = { 0 };
  TesseraStatus status = tessera_trace_save (trace, place->path, NULL, &error);

  g_assert_cmpstr (error.text, ==, "");
  g_assert_cmpint (status, ==, TESSERA_OK);
}

static TesseraTrace *
load (const Place *place, uint32_t device)
{
  TesseraError error = { 0 };
  TesseraTrace *trace = NULL;
  TesseraStatus status = tessera_trace_load (place->path, device, NULL, &error, &trace);

  g_assert_cmpstr (error.text, ==, "");
  g_assert_cmpint (status, ==, TESSERA_OK);
  return trace;
}

static void
execute (const char *path, const char *sql)
{
  sqlite3 *db = NULL;
  char *text = NULL;

  g_assert_cmpint (sqlite3_open (path, &db), ==, SQLITE_OK);
  sqlite3_exec (db, sql, NULL, NULL, &text);
  g_assert_cmpstr (text, ==, NULL);
  g_assert_cmpint (sqlite3_close (db), ==, SQLITE_OK);
}

static void
assert_refused (const Place *place, TesseraStatus wanted, const char *pattern)
{
  TesseraError error = { 0 };
  TesseraTrace *trace = (TesseraTrace *) &error;
  TesseraStatus status =
      tessera_trace_load (place->path, TESSERA_NONE, NULL, &error, &trace);

  if (!g_pattern_match_simple (pattern, error.text))
    g_error ("expected: %s, found: %s", pattern, error.text);
  g_assert_cmpint (status, ==, wanted);
  g_assert_cmpint (error.status, ==, wanted);
  g_assert_null (trace);
  g_assert_null (strchr (error.text, '\n'));
}

static void
test_round_trip (Place *place, gconstpointer data)
{
  static const size_t sizes[] = { 0, 1, 2, 1000, 70000 };

  for (size_t i = 0; i < G_N_ELEMENTS (sizes); i++)
    for (uint32_t round = 0; round < (sizes[i] > 1000 ? 1 : 10); round++)
      {
        TesseraTrace *trace = test_trace_new (SEED + round, sizes[i]), *loaded;

        save (place, trace);
        loaded = load (place, TESSERA_NONE);
        test_traces_assert_equal (trace, loaded);
        tessera_trace_free (loaded);
        loaded = load (place, trace->device);
        tessera_trace_free (loaded);
        tessera_trace_free (trace);
        g_assert_cmpuint (count_files (place), ==, 1);
      }
  g_assert_cmpint (tessera_file_kind (place->path), ==, TESSERA_FILE_TRACE);
}

static void
test_empty_round_trip (Place *place, gconstpointer data)
{
  TesseraTrace *trace = NULL, *loaded;

  g_assert_cmpint (tessera_trace_new (&trace), ==, TESSERA_OK);
  save (place, trace);
  loaded = load (place, 0);
  test_traces_assert_equal (trace, loaded);
  tessera_trace_free (loaded);
  tessera_trace_free (trace);
}

static void
test_plan_round_trip (Place *place, gconstpointer data)
{
  for (uint32_t round = 0; round < 20; round++)
    {
      TesseraPlan *plan = test_plan_new (SEED + round, 3 + round * 50), *loaded = NULL;
      TesseraError error = { 0 };
      TesseraStatus status = tessera_plan_save (plan, place->path, &error);

      g_assert_cmpstr (error.text, ==, "");
      g_assert_cmpint (status, ==, TESSERA_OK);
      g_assert_cmpint (tessera_plan_load (place->path, &error, &loaded), ==, TESSERA_OK);
      test_plans_assert_equal (plan, loaded);
      tessera_plan_free (loaded);
      tessera_plan_free (plan);
      g_assert_cmpint (tessera_file_kind (place->path), ==, TESSERA_FILE_PLAN);
      g_assert_cmpuint (count_files (place), ==, 1);
    }
  assert_refused (place, TESSERA_FOREIGN,
                  "*is a Tessera plan, but a trace is needed here");
}

static sqlite3_int64
ask (const char *path, const char *sql)
{
  sqlite3 *db = NULL;
  sqlite3_stmt *statement = NULL;
  sqlite3_int64 answer;

  g_assert_cmpint (sqlite3_open (path, &db), ==, SQLITE_OK);
  g_assert_cmpint (sqlite3_prepare_v2 (db, sql, -1, &statement, NULL), ==, SQLITE_OK);
  g_assert_cmpint (sqlite3_step (statement), ==, SQLITE_ROW);
  answer = sqlite3_column_int64 (statement, 0);
  sqlite3_finalize (statement);
  g_assert_cmpint (sqlite3_close (db), ==, SQLITE_OK);
  return answer;
}

/* A plan in the trace's file is replaced by the next; trace and edits stay as they are.
 */
static void
test_plan_in_trace (Place *place, gconstpointer data)
{
  TesseraTrace *trace = test_trace_new (SEED, 500), *loaded;
  TesseraError error = { 0 };

  save (place, trace);
  execute (place->path, "INSERT INTO edit VALUES (0, 'mine', 1700000000, '{}')");
  for (uint32_t round = 0; round < 2; round++)
    {
      TesseraPlan *plan = test_plan_new (SEED + round, 300 - round * 100);
      TesseraStatus status = tessera_trace_save_plan (place->path, plan, &error);

      g_assert_cmpstr (error.text, ==, "");
      g_assert_cmpint (status, ==, TESSERA_OK);
      g_assert_cmpint (ask (place->path, "SELECT count(*) FROM slot"), ==, plan->n_slots);
      g_assert_cmpint (ask (place->path, "SELECT count(*) FROM block_group"), ==, 4);
      g_assert_cmpint (ask (place->path, "SELECT height_bytes FROM plan"), ==,
                       plan->height_bytes);
      g_assert_cmpint (ask (place->path, "SELECT created_s FROM edit"), ==, 1700000000);
      g_assert_cmpuint (count_files (place), ==, 1);
      tessera_plan_free (plan);
      loaded = load (place, TESSERA_NONE);
      test_traces_assert_equal (trace, loaded);
      tessera_trace_free (loaded);
    }
  tessera_trace_free (trace);
}

static void
test_refusals (Place *place, gconstpointer data)
{
  TesseraTrace *trace = test_trace_new (SEED, 100);

  assert_refused (place, TESSERA_IO, "Cannot read *.tsr: No such file or directory");
  g_assert_true (g_file_set_contents (place->path, "", 0, NULL));
  assert_refused (place, TESSERA_FOREIGN, "*.tsr is empty, not a Tessera trace");
  g_assert_true (g_file_set_contents (place->path, "seq,time_us\n", -1, NULL));
  assert_refused (place, TESSERA_FOREIGN, "*does not begin like one");
  g_assert_cmpint (tessera_file_kind (place->path), ==, TESSERA_FILE_OTHER);
  g_assert_true (g_file_set_contents (place->path, "SQLite fo", -1, NULL));
  assert_refused (place, TESSERA_BAD_INPUT, "*is cut short*");
  g_remove (place->path);
  execute (place->path, "PRAGMA application_id = 7; CREATE TABLE event (a)");
  assert_refused (place, TESSERA_FOREIGN,
                  "*of another program (application_id 0x00000007)*");
  g_assert_cmpint (tessera_file_kind (place->path), ==, TESSERA_FILE_OTHER);
  save (place, trace);
  execute (place->path, "PRAGMA user_version = 3");
  assert_refused (place, TESSERA_FUTURE,
                  "*newer Tessera (format 3; this one reads up to 2)*");
  execute (place->path, "PRAGMA user_version = 0");
  assert_refused (place, TESSERA_BAD_INPUT, "*has no format version*");
  g_remove (place->path);
  g_assert_cmpint (g_mkdir (place->path, 0700), ==, 0);
  assert_refused (place, TESSERA_IO, "Cannot read *: Is a directory");
  g_assert_cmpint (g_rmdir (place->path), ==, 0);
  g_assert_cmpint (mkfifo (place->path, 0600), ==, 0);
  assert_refused (place, TESSERA_IO, "*is not a file but a device or pipe");
  tessera_trace_free (trace);
}

static void
test_truncated (Place *place, gconstpointer data)
{
  TesseraTrace *trace = test_trace_new (SEED, 1000);
  g_autofree char *bytes = NULL;
  size_t n_bytes;

  save (place, trace);
  g_assert_true (g_file_get_contents (place->path, &bytes, &n_bytes, NULL));
  for (size_t i = 1; i <= 50; i++)
    {
      g_assert_true (
          g_file_set_contents (place->path, bytes, (gssize) (n_bytes * i / 51), NULL));
      assert_refused (place, TESSERA_BAD_INPUT, "*is cut short: it has * of * bytes*");
    }
  tessera_trace_free (trace);
}

/* Whatever bytes are turned over, the file is read or refused, and what is read can be
 * walked. The schema comes first in a file: half of the damage goes beyond it. */
static void
test_damaged (Place *place, gconstpointer data)
{
  TesseraTrace *trace = test_trace_new (SEED, 300);
  g_autoptr (GRand) random = g_rand_new_with_seed (SEED);
  g_autofree char *bytes = NULL;
  size_t n_bytes;
  unsigned n_refused = 0;

  save (place, trace);
  g_assert_true (g_file_get_contents (place->path, &bytes, &n_bytes, NULL));
  for (int round = 0; round < 400; round++)
    {
      g_autofree char *damaged = g_memdup2 (bytes, n_bytes);
      TesseraError error = { 0 };
      TesseraTrace *loaded = NULL;

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
      tessera_trace_free (loaded);
    }
  g_assert_cmpuint (n_refused, >, 100);
  g_assert_cmpuint (n_refused, <, 400);
  tessera_trace_free (trace);
}

/* One wrong value in an otherwise good file, and the words that name it. */
static void
test_wrong_values (Place *place, gconstpointer data)
{
  static const struct
  {
    const char *sql;
    const char *pattern;
  } cases[] = {
    { "UPDATE event SET action = 0 WHERE event_index = 5",
      "*event, row 5, action is 0,*" },
    { "UPDATE event SET action = 11 WHERE event_index = 5", "*row 5, action is 11,*" },
    { "UPDATE event SET action = 300 WHERE event_index = 5",
      "*row 5, action is of the*" },
    { "UPDATE event SET stream = 6", "*event, row 0, stream is 6,*" },
    { "UPDATE event SET stream = 70000", "*event, row 0, stream is of the wrong type*" },
    { "UPDATE event SET pool = -1", "*event, row 0, pool is of the wrong type*" },
    { "UPDATE event SET pool_known = 2", "*pool_known is 2*" },
    { "UPDATE event SET stack = 1000000", "*event, row 0, stack is 1000000*" },
    { "UPDATE event SET stack = 4294967295",
      "*stack is of the wrong type or too large*" },
    { "UPDATE event SET size_bytes = -1", "*event, row 0, size_bytes is of the wrong*" },
    { "DELETE FROM event WHERE event_index = 7", "*event, row 7, *leaves a gap*" },
    { "DELETE FROM event WHERE event_index = 99", "*holds 99 of 100 events*" },
    { "DELETE FROM event WHERE event_index = 0", "*event, row 0*leaves a gap*" },
    { "UPDATE event SET event_index = -1 WHERE event_index = 0",
      "*numbering is broken*" },
    { "UPDATE recording SET n_events = 1152921504606846976",
      "*100 of 1152921504606846976*" },
    { "UPDATE recording SET n_events = -1", "*holds no recording*" },
    { "DELETE FROM recording", "*holds no recording*" },
    { "UPDATE recording SET device = 4294967295", "*holds no recording*" },
    { "UPDATE recording SET alignment_bytes = 0", "*alignment_bytes is 0*" },
    { "UPDATE recording SET has_time = 2", "*has_time is of the wrong type*" },
    { "UPDATE recording SET garbage_collection_threshold = 9e999",
      "*is missing or not a number*" },
    { "UPDATE frame SET name = 51", "*frame, row 0, name is 51,*" },
    { "UPDATE frame SET name = 1, file = 1, line = 1", "*frame, row 1, it repeats*" },
    { "UPDATE string SET text = 'same'", "*string, row 1, it repeats an earlier row*" },
    { "UPDATE stack_node SET caller = node_index", "*stack_node, row 0, caller is not*" },
    { "UPDATE stack_node SET frame = 60", "*stack_node, row 0, frame is 60*" },
    { "UPDATE stack SET node = 100000", "*stack, row 0, node is 100000*" },
    { "UPDATE stack SET node = 3", "*stack, row 1, it repeats*" },
    { "UPDATE stream SET handle = 5 WHERE stream_index = 0", "*stream, row 0*" },
    { "UPDATE stream SET handle = 0 WHERE stream_index = 3",
      "*stream, row 3, it repeats*" },
    { "UPDATE held_block SET state = 3", "*held_block, row 0, state is 3*" },
    { "UPDATE segment SET stack = 200", "*segment, row 0, stack is 200*" },
    { "UPDATE range SET end_index = 101", "*range, row 0, end_index is 101*" },
    { "UPDATE range SET begin_index = 3, end_index = 2",
      "*end_index is before begin_index*" },
    { "UPDATE range SET parent = range_index", "*parent is not an earlier row*" },
    { "UPDATE range SET kind = 4", "*kind is 4*" },
    { "UPDATE meta SET key = 'x'", "*meta, row 1, it repeats*" },
    { "INSERT INTO rounding SELECT device, 16, 0 FROM recording", "*rounding, row 16*" },
    { "DROP TABLE edit", "*its table edit is not as Tessera makes it*" },
    { "ALTER TABLE event ADD COLUMN more INTEGER", "*its table event is not as*" },
    { "DROP VIEW block; DROP TABLE event; CREATE VIEW event AS WITH RECURSIVE"
      " n (event_index) AS (SELECT 0 UNION ALL SELECT event_index + 1 FROM n)"
      " SELECT * FROM n",
      "*its table event is not as Tessera makes it*" },
  };
  TesseraTrace *trace = test_trace_new (SEED, 100);
  g_autofree char *bytes = NULL;
  size_t n_bytes;

  save (place, trace);
  g_assert_cmpuint (trace->n_ranges, >, 1);
  g_assert_cmpuint (trace->start.n_segments, >, 1);
  g_assert_true (g_file_get_contents (place->path, &bytes, &n_bytes, NULL));
  for (size_t i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_assert_true (g_file_set_contents (place->path, bytes, (gssize) n_bytes, NULL));
      g_test_message ("%s", cases[i].sql);
      execute (place->path, cases[i].sql);
      assert_refused (place, TESSERA_BAD_INPUT, cases[i].pattern);
    }
  tessera_trace_free (trace);
}

static void
test_wrong_plan_values (Place *place, gconstpointer data)
{
  static const struct
  {
    const char *sql;
    const char *pattern;
  } cases[] = {
    { "UPDATE slot SET died = 1001", "*slot, row 0, died is 1001*" },
    { "UPDATE slot SET section = 3", "*slot, row 0, section is 3*" },
    { "UPDATE slot SET phase = 2", "*slot, row 0, phase is 2*" },
    { "UPDATE slot SET block_group = 4", "*slot, row 0, block_group is 4*" },
    { "UPDATE slot SET wraps = 2", "*wraps is 2*" },
    { "UPDATE slot SET lifetime_class = 5", "*lifetime_class is 5*" },
    { "UPDATE slot SET offset_bytes = -512", "*offset_bytes is of the wrong type*" },
    { "DELETE FROM slot WHERE slot_index = 20",
      "*section, row 2, its slots do not exist*" },
    { "DELETE FROM slot WHERE slot_index = 3", "*slot, row 3, the numbering is broken*" },
    { "UPDATE section SET end_position = 1001", "*end_position is 1001*" },
    { "UPDATE section SET n_slots = 4294967295", "*its slots do not exist*" },
    { "UPDATE hand_over SET to_slot = 21", "*hand_over, row 0, to_slot is 21*" },
    { "UPDATE plan SET followable = 3", "*followable is 3*" },
    { "UPDATE plan SET n_positions = 10", "*" },
    { "DELETE FROM plan", "*holds no plan*" },
    { "INSERT INTO plan SELECT 1, height_bytes, bound_bytes, alignment_bytes, "
      "n_positions,"
      " trace_fingerprint, slot_digest, device, n_streams, across_streams, followable,"
      " checked, follow_reason, strategy, source FROM plan",
      "*plan, row 1, it repeats*" },
    { "UPDATE block_group SET kind = 5", "*kind is 5*" },
    { "UPDATE block_group SET time_memory_product = -9e999",
      "*is missing or not a number*" },
  };
  TesseraPlan *plan = test_plan_new (SEED, 21);
  g_autofree char *bytes = NULL;
  size_t n_bytes;

  g_assert_cmpint (tessera_plan_save (plan, place->path, NULL), ==, TESSERA_OK);
  g_assert_true (g_file_get_contents (place->path, &bytes, &n_bytes, NULL));
  for (size_t i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      TesseraError error = { 0 };
      TesseraPlan *loaded = NULL;

      g_assert_true (g_file_set_contents (place->path, bytes, (gssize) n_bytes, NULL));
      execute (place->path, cases[i].sql);
      g_assert_cmpint (tessera_plan_load (place->path, &error, &loaded), ==,
                       TESSERA_BAD_INPUT);
      if (!g_pattern_match_simple (cases[i].pattern, error.text))
        g_error ("expected: %s, found: %s", cases[i].pattern, error.text);
    }
  tessera_plan_free (plan);
}

/* Saving checks what loading will check. */
static void
test_cannot_save (Place *place, gconstpointer data)
{
  TesseraTrace *trace = test_trace_new (SEED, 100);
  TesseraError error = { 0 };

  trace->events[42].stream = 6;
  g_assert_cmpint (tessera_trace_save (trace, place->path, NULL, &error), ==,
                   TESSERA_INVALID);
  g_assert_true (g_pattern_match_simple (
      "Cannot save *: in table event, row 42, stream is 6,*", error.text));
  trace->events[42].stream = 0;
  error = (TesseraError){ 0 };
  trace->events[7].size_bytes = (uint64_t) INT64_MAX + 1;
  g_assert_cmpint (tessera_trace_save (trace, place->path, NULL, &error), ==,
                   TESSERA_INVALID);
  g_assert_cmpuint (count_files (place), ==, 0);
  tessera_trace_free (trace);
}

/* The target is followed where it is a link, and never replaced where it is no file. */
static void
test_targets (Place *place, gconstpointer data)
{
  TesseraTrace *trace = test_trace_new (SEED, 10);
  g_autofree char *link = g_build_filename (place->folder, "link.tsr", NULL);
  TesseraError error = { 0 };
  struct stat info;

  save (place, trace);
  g_assert_cmpint (symlink (place->path, link), ==, 0);
  g_assert_cmpint (tessera_trace_save (trace, link, NULL, NULL), ==, TESSERA_OK);
  g_assert_cmpint (lstat (link, &info), ==, 0);
  g_assert_true (S_ISLNK (info.st_mode));
  g_assert_cmpint (tessera_trace_save (trace, place->folder, NULL, &error), ==,
                   TESSERA_IO);
  g_assert_true (g_pattern_match_simple ("*something else than a file", error.text));
  error = (TesseraError){ 0 };
  g_assert_cmpint (tessera_trace_save (trace, "/nonexistent/a.tsr", NULL, &error), ==,
                   TESSERA_IO);
  g_assert_cmpstr (error.text, ==,
                   "Cannot write /nonexistent/a.tsr: No such file or directory");
  g_assert_cmpuint (count_files (place), ==, 2);
  tessera_trace_free (trace);
}

typedef struct
{
  unsigned n_calls, n_allowed;
  double last;
} Watch;

static bool
watch (void *user, double fraction)
{
  Watch *state = user;

  g_assert_cmpfloat (fraction, >=, state->last);
  g_assert_cmpfloat (fraction, <=, 1);
  state->last = fraction;
  return ++state->n_calls <= state->n_allowed;
}

static void
test_cancel (Place *place, gconstpointer data)
{
  TesseraTrace *trace = test_trace_new (SEED, 20000), *older = test_trace_new (SEED, 5);
  Watch state = { .n_allowed = UINT_MAX };
  TesseraProgress progress = { watch, &state };
  TesseraTrace *loaded = NULL;
  unsigned n_saves;

  g_assert_cmpint (tessera_trace_save (trace, place->path, &progress, NULL), ==,
                   TESSERA_OK);
  n_saves = state.n_calls;
  g_assert_cmpuint (n_saves, >, 20);
  g_assert_cmpuint (n_saves, <, 300);
  for (unsigned n_allowed = 0; n_allowed < 90; n_allowed += 30)
    {
      TesseraError error = { 0 };

      state = (Watch){ .n_allowed = n_allowed };
      loaded = NULL;
      g_assert_cmpint (
          tessera_trace_load (place->path, TESSERA_NONE, &progress, &error, &loaded), ==,
          TESSERA_CANCELLED);
      g_assert_null (loaded);
      g_assert_cmpuint (state.n_calls, ==, n_allowed + 1);
      g_assert_true (g_str_has_suffix (error.text, "was cancelled"));
    }
  save (place, older);
  for (unsigned n_allowed = 0; n_allowed < n_saves; n_allowed += 10)
    {
      TesseraError error = { 0 };

      state = (Watch){ .n_allowed = n_allowed };
      g_assert_cmpint (tessera_trace_save (trace, place->path, &progress, &error), ==,
                       TESSERA_CANCELLED);
      g_assert_true (g_str_has_suffix (error.text, "nothing was written"));
      g_assert_cmpuint (count_files (place), ==, 1);
    }
  loaded = load (place, TESSERA_NONE);
  test_traces_assert_equal (older, loaded);
  tessera_trace_free (loaded);
  tessera_trace_free (older);
  tessera_trace_free (trace);
}

/* Two devices in one file, their events interleaved: each is read as a trace of its own.
 */
static void
test_several_devices (Place *place, gconstpointer data)
{
  TesseraTrace *trace = test_trace_new (SEED, 100), *loaded;
  TesseraError error = { 0 };
  g_autofree char *sql = NULL;

  trace->device = 3;
  save (place, trace);
  sql = g_strdup_printf (
      "INSERT INTO recording SELECT 1, 5, source, 50, memory_bytes, limit_bytes,"
      " alignment_bytes, has_addresses, has_segments, has_time, starts_empty, "
      "is_expandable,"
      " max_split_bytes, max_non_split_rounding_bytes, large_segment_bytes,"
      " garbage_collection_threshold FROM recording;"
      "UPDATE recording SET n_events = 50 WHERE device = 3;"
      "INSERT INTO stream SELECT 5, stream_index, handle FROM stream;"
      "INSERT INTO pool SELECT 5, pool_index, owner_id, user_id FROM pool;"
      "UPDATE event SET device = 5 WHERE event_index %% 2 = 1");
  execute (place->path, sql);
  loaded = load (place, 5);
  g_assert_cmpuint (loaded->device, ==, 5);
  g_assert_cmpuint (loaded->n_events, ==, 50);
  g_assert_cmpuint (loaded->n_ranges, ==, 0);
  g_assert_cmphex (loaded->events[7].addr, ==, trace->events[15].addr);
  tessera_trace_free (loaded);
  loaded = load (place, TESSERA_NONE); /* as many events: the lower number */
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
test_additions (Place *place, gconstpointer data)
{
  TesseraTrace *trace = test_trace_new (SEED, 100), *loaded;

  save (place, trace);
  execute (place->path,
           "CREATE INDEX by_addr ON event (addr); CREATE TABLE mine (a);"
           "CREATE VIEW big AS SELECT * FROM event WHERE size_bytes > 1000000;"
           "CREATE TRIGGER no AFTER INSERT ON slot BEGIN SELECT raise(abort, 'no'); END;"
           "ANALYZE");
  loaded = load (place, TESSERA_NONE);
  test_traces_assert_equal (trace, loaded);
  tessera_trace_free (loaded);
  execute (place->path, "PRAGMA journal_mode = WAL");
  loaded = load (place, TESSERA_NONE);
  test_traces_assert_equal (trace, loaded);
  tessera_trace_free (loaded);
  tessera_trace_free (trace);
}

#define ADD(path, test)                                                                  \
  g_test_add ("/store/" path, Place, NULL, place_begin, test, place_end)

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  ADD ("round-trip", test_round_trip);
  ADD ("empty-round-trip", test_empty_round_trip);
  ADD ("plan-round-trip", test_plan_round_trip);
  ADD ("plan-in-trace", test_plan_in_trace);
  ADD ("refusals", test_refusals);
  ADD ("truncated", test_truncated);
  ADD ("damaged", test_damaged);
  ADD ("wrong-values", test_wrong_values);
  ADD ("wrong-plan-values", test_wrong_plan_values);
  ADD ("cannot-save", test_cannot_save);
  ADD ("targets", test_targets);
  ADD ("cancel", test_cancel);
  ADD ("several-devices", test_several_devices);
  ADD ("additions", test_additions);
  return g_test_run ();
}
