/*
 * Event tables read by several threads: the same events, the same sentences.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "db/store/events-read.h"

#include <glib.h>
#include <glib/gstdio.h>

#include "db/store.h"
#include "db/store/file.h"
#include "db/test-place.h"
#include "db/test-traces.h"

#define SEED 20240517
/* Enough for three threads. */
#define N_EVENTS 160000

typedef struct
{
  TesseraRowReader reader;
  TesseraError error;
  struct stat as_opened;
} Opened;

static TesseraTrace *
save_large (const TestPlace *place)
{
  TesseraTrace *trace = test_trace_new (SEED, N_EVENTS);
  TesseraError error = { 0 };

  g_assert_cmpint (tessera_trace_save (trace, place->path, NULL, &error), ==, TESSERA_OK);
  return trace;
}

static void
open_file (const TestPlace *place, const TesseraTrace *trace, Opened *out)
{
  uint64_t *below = out->reader.limits.below;

  *out = (Opened){ .reader = { .path = place->path, .error = &out->error } };
  g_assert_cmpint (stat (place->path, &out->as_opened), ==, 0);
  g_assert_cmpint (tessera_file_open (place->path, &tessera_trace_format, &out->error,
                                      &out->reader.db),
                   ==, TESSERA_OK);
  tessera_limits_init (&out->reader.limits);
  below[TESSERA_LIMIT_STACKS] = trace->n_stacks;
  below[TESSERA_LIMIT_STREAMS] = trace->n_streams;
  below[TESSERA_LIMIT_POOLS] = trace->n_pools;
}

static TesseraStatus
read_apart (Opened *opened, const TesseraTrace *of, uint64_t n_events, TesseraTrace **out)
{
  g_assert_cmpint (tessera_trace_new (out), ==, TESSERA_OK);
  return tessera_read_events_apart (&opened->reader, &opened->as_opened, of->device,
                                    n_events, *out);
}

/* The bytes between the fields may differ. */
static void
assert_same_event (const TesseraEvent *a, const TesseraEvent *b)
{
  g_assert_true (a->addr == b->addr && a->size_bytes == b->size_bytes &&
                 a->at_ns == b->at_ns && a->stack == b->stack && a->stream == b->stream &&
                 a->pool == b->pool && a->action == b->action &&
                 a->pool_known == b->pool_known && a->is_left == b->is_left);
}

static void
test_same (TestPlace *place, gconstpointer data)
{
  TesseraTrace *trace = save_large (place), *loaded;
  TesseraError error = { 0 };
  Opened opened;

  if (g_get_num_processors () < 2)
    {
      g_test_skip ("one processor: everything is read in order");
      tessera_trace_free (trace);
      return;
    }
  open_file (place, trace, &opened);
  g_assert_cmpint (read_apart (&opened, trace, N_EVENTS, &loaded), ==, TESSERA_OK);
  g_assert_cmpuint (loaded->n_events, ==, N_EVENTS);
  for (size_t i = 0; i < N_EVENTS; i++)
    assert_same_event (&loaded->events[i], &trace->events[i]);
  tessera_trace_free (loaded);
  sqlite3_close (opened.reader.db);

  g_assert_cmpint (tessera_trace_load (place->path, TESSERA_NONE, NULL, &error, &loaded),
                   ==, TESSERA_OK);
  test_traces_assert_equal (trace, loaded);
  tessera_trace_free (loaded);
  tessera_trace_free (trace);
}

/* Where the parts might not be of one file, or cannot be, nothing is read. */
static void
test_refused (TestPlace *place, gconstpointer data)
{
  TesseraTrace *trace = save_large (place), *loaded;
  g_autofree char *wal = g_strconcat (place->path, "-wal", NULL);
  Opened opened;

  open_file (place, trace, &opened);
  opened.as_opened.st_ino++;
  g_assert_cmpint (read_apart (&opened, trace, N_EVENTS, &loaded), ==, TESSERA_REFUSED);
  g_assert_cmpuint (loaded->n_events, ==, 0);
  tessera_trace_free (loaded);
  opened.as_opened.st_ino--;
  g_assert_cmpint (read_apart (&opened, trace, UINT64_C (1) << 40, &loaded), ==,
                   TESSERA_REFUSED);
  g_assert_null (loaded->events);
  tessera_trace_free (loaded);
  g_assert_true (g_file_set_contents (wal, "", 0, NULL));
  g_assert_cmpint (read_apart (&opened, trace, N_EVENTS, &loaded), ==, TESSERA_REFUSED);
  g_assert_null (loaded->events);
  tessera_trace_free (loaded);
  g_unlink (wal);
  g_assert_cmpstr (opened.error.text, ==, "");
  sqlite3_close (opened.reader.db);
  tessera_trace_free (trace);
}

static const struct
{
  const char *sql;
  const char *pattern;
} wrong[] = {
  { "UPDATE event SET action = 11 WHERE event_index = 5",
    "*event, row 5, action is 11*" },
  { "UPDATE event SET action = 11 WHERE event_index >= 150000",
    "*event, row 150000, action is 11*" },
  { "DELETE FROM event WHERE event_index = 149999",
    "*event, row 149999, *leaves a gap*" },
  { "DELETE FROM event WHERE event_index = 80000", "*event, row 80000, *leaves a gap*" },
  { "DELETE FROM range; DELETE FROM event WHERE event_index >= 70000",
    "*holds 70000 of 160000 events*" },
  { "UPDATE event SET event_index = -1 WHERE event_index = 0", "*numbering is broken*" },
  { "UPDATE recording SET n_events = 159999", "*holds 160000 of 159999 events*" },
  { "UPDATE recording SET n_events = 160001", "*holds 160000 of 160001 events*" },
  { "UPDATE recording SET n_events = 1152921504606846976",
    "*holds 160000 of 1152921504606846976 events*" },
};

static void
test_wrong (TestPlace *place, gconstpointer data)
{
  TesseraTrace *trace = save_large (place);
  g_autofree char *bytes = NULL;
  size_t n_bytes;

  g_assert_true (g_file_get_contents (place->path, &bytes, &n_bytes, NULL));
  for (size_t i = 0; i < G_N_ELEMENTS (wrong); i++)
    {
      TesseraError error = { 0 };
      TesseraTrace *loaded = NULL;

      g_assert_true (g_file_set_contents (place->path, bytes, (gssize) n_bytes, NULL));
      test_execute (place->path, wrong[i].sql);
      g_assert_cmpint (
          tessera_trace_load (place->path, TESSERA_NONE, NULL, &error, &loaded), ==,
          TESSERA_BAD_INPUT);
      if (!g_pattern_match_simple (wrong[i].pattern, error.text))
        g_error ("expected: %s, found: %s", wrong[i].pattern, error.text);
    }
  tessera_trace_free (trace);
}

static void
test_progress (TestPlace *place, gconstpointer data)
{
  TesseraTrace *trace = save_large (place), *loaded;
  TestWatch state = { .n_allowed = UINT_MAX };
  TesseraProgress progress = { test_watch, &state };
  TesseraError error = { 0 };

  g_assert_cmpint (
      tessera_trace_load (place->path, TESSERA_NONE, &progress, &error, &loaded), ==,
      TESSERA_OK);
  tessera_trace_free (loaded);
  g_assert_cmpuint (state.n_calls, >, 20);
  g_assert_cmpuint (state.n_calls, <, 300);
  state = (TestWatch){ .n_allowed = 15 };
  loaded = NULL;
  g_assert_cmpint (
      tessera_trace_load (place->path, TESSERA_NONE, &progress, &error, &loaded), ==,
      TESSERA_CANCELLED);
  g_assert_null (loaded);
  g_assert_cmpuint (state.n_calls, ==, 16);
  g_assert_true (g_str_has_suffix (error.text, "was cancelled"));
  tessera_trace_free (trace);
}

#define ADD(path, test)                                                                  \
  g_test_add ("/events-read/" path, TestPlace, NULL, test_place_begin, test,             \
              test_place_end)

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  ADD ("same", test_same);
  ADD ("refused", test_refused);
  ADD ("wrong", test_wrong);
  ADD ("progress", test_progress);
  return g_test_run ();
}
