/*
 * A folder of its own for each test of files, and SQL on the file in it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/db/test-place.h"

#include <glib/gstdio.h>
#include <sqlite3.h>
#include <sys/wait.h>

#include "db/store.h"
#include "tests/ok.h"

void
test_place_begin (TestPlace *place, gconstpointer data)
{
  place->folder = g_dir_make_tmp ("tessera-test-XXXXXX", NULL);
  g_assert_nonnull (place->folder);
  /* a name that a URI would have to escape */
  place->path = g_build_filename (place->folder, "a 100%?#.tsr", NULL);
}

unsigned
test_place_count_files (const TestPlace *place)
{
  g_autoptr (GDir) folder = g_dir_open (place->folder, 0, NULL);
  unsigned n_files = 0;

  while (g_dir_read_name (folder))
    n_files++;
  return n_files;
}

void
test_place_empty (const TestPlace *place)
{
  g_autoptr (GDir) folder = g_dir_open (place->folder, 0, NULL);
  const char *name;

  while ((name = g_dir_read_name (folder)))
    {
      g_autofree char *path = g_build_filename (place->folder, name, NULL);

      g_assert_cmpint (g_remove (path), ==, 0);
    }
}

void
test_place_end (TestPlace *place, gconstpointer data)
{
  test_place_empty (place);
  g_assert_cmpint (g_rmdir (place->folder), ==, 0);
  g_free (place->folder);
  g_free (place->path);
}

void
test_save (const TestPlace *place, const TesseraTrace *trace)
{
  WORKS (error, tessera_trace_save (trace, place->path, NULL, &error));
}

void
test_save_plan (const TestPlace *place, const TesseraPlan *plan)
{
  WORKS (error, tessera_plan_save (plan, place->path, &error));
}

TesseraTrace *
test_load (const TestPlace *place, uint32_t device)
{
  TesseraTrace *trace = NULL;

  WORKS (error, tessera_trace_load (place->path, device, NULL, &error, &trace));
  return trace;
}

TesseraPlan *
test_load_plan (const TestPlace *place)
{
  TesseraPlan *plan = NULL;

  WORKS (error, tessera_plan_load (place->path, &error, &plan));
  return plan;
}

void
test_matches (const char *text, const char *pattern)
{
  if (!g_pattern_match_simple (pattern, text))
    g_error ("expected: %s, found: %s", pattern, text);
}

int
test_wait (pid_t child)
{
  int outcome;

  g_assert_cmpint (child, >=, 0);
  g_assert_cmpint (waitpid (child, &outcome, 0), ==, child);
  return outcome;
}

void
test_execute (const char *path, const char *sql)
{
  sqlite3 *db = NULL;
  char *text = NULL;

  g_assert_cmpint (sqlite3_open (path, &db), ==, SQLITE_OK);
  sqlite3_exec (db, sql, NULL, NULL, &text);
  g_assert_cmpstr (text, ==, NULL);
  g_assert_cmpint (sqlite3_close (db), ==, SQLITE_OK);
}

char *
test_ask (const char *path, const char *sql)
{
  sqlite3 *db = NULL;
  sqlite3_stmt *statement = NULL;
  GString *answer = g_string_new (NULL);
  int rc;

  g_assert_cmpint (sqlite3_open (path, &db), ==, SQLITE_OK);
  sqlite3_prepare_v2 (db, sql, -1, &statement, NULL);
  if (!statement)
    g_error ("%s: %s", sql, sqlite3_errmsg (db));
  while ((rc = sqlite3_step (statement)) == SQLITE_ROW)
    for (int i = 0; i < sqlite3_column_count (statement); i++)
      {
        const char *text = (const char *) sqlite3_column_text (statement, i);

        g_string_append (answer, text ? text : "NULL");
        g_string_append_c (answer, i + 1 < sqlite3_column_count (statement) ? '|' : '\n');
      }
  g_assert_cmpint (rc, ==, SQLITE_DONE);
  sqlite3_finalize (statement);
  g_assert_cmpint (sqlite3_close (db), ==, SQLITE_OK);
  return g_string_free (answer, FALSE);
}

bool
test_watch (void *user, double fraction)
{
  TestWatch *state = user;

  g_assert_cmpfloat (fraction, >=, state->last);
  g_assert_cmpfloat (fraction, <=, 1);
  state->last = fraction;
  return ++state->n_calls <= state->n_allowed;
}
