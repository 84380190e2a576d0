/*
 * How fast and how large trace files are: a million events saved, loaded and asked for
 * their blocks, beside the plainest thing SQLite can do, an INSERT of one integer a row.
 *
 * CPU time, so that other work on the machine matters less; the ratio matters most.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <glib.h>
#include <glib/gstdio.h>
#include <sqlite3.h>
#include <time.h>

#include "db/store.h"
#include "tests/db/test-traces.h"

#define N_EVENTS 1000000
#define SEED 20240517

static double
cpu_seconds (void)
{
  struct timespec now;

  clock_gettime (CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double) now.tv_sec + (double) now.tv_nsec * 1e-9;
}

static void
must (sqlite3 *db, int rc)
{
  if (rc != SQLITE_OK && rc != SQLITE_DONE && rc != SQLITE_ROW)
    g_error ("%s", sqlite3_errmsg (db));
}

/* One prepared statement, bound and stepped, one transaction, no journal. */
static double
insert_integers (const char *path, size_t n_rows)
{
  sqlite3 *db;
  sqlite3_stmt *statement;
  double began = cpu_seconds ();

  if (sqlite3_open (path, &db) != SQLITE_OK)
    g_error ("%s", path);
  must (db, sqlite3_exec (db,
                          "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
                          "CREATE TABLE t (a INTEGER) STRICT; BEGIN",
                          NULL, NULL, NULL));
  must (db, sqlite3_prepare_v2 (db, "INSERT INTO t VALUES (?1)", -1, &statement, NULL));
  for (size_t i = 0; i < n_rows; i++)
    {
      must (db, sqlite3_bind_int64 (statement, 1, (sqlite3_int64) i));
      must (db, sqlite3_step (statement));
      must (db, sqlite3_reset (statement));
    }
  must (db, sqlite3_finalize (statement));
  must (db, sqlite3_exec (db, "COMMIT", NULL, NULL, NULL));
  sqlite3_close (db);
  return cpu_seconds () - began;
}

static double
walk_blocks (const char *path, size_t *out_n_blocks)
{
  sqlite3 *db;
  sqlite3_stmt *statement;
  double began = cpu_seconds ();

  if (sqlite3_open (path, &db) != SQLITE_OK)
    g_error ("%s", path);
  must (db, sqlite3_prepare_v2 (
                db, "SELECT count(*), sum(died_index - born_index) FROM block", -1,
                &statement, NULL));
  must (db, sqlite3_step (statement));
  *out_n_blocks = (size_t) sqlite3_column_int64 (statement, 0);
  sqlite3_finalize (statement);
  sqlite3_close (db);
  return cpu_seconds () - began;
}

static void
print_speed (const char *what, size_t n_rows, double seconds, double baseline_seconds)
{
  g_print ("%-34s %6.2f M/s  %5.2f of the baseline\n", what,
           (double) n_rows / seconds / 1e6, baseline_seconds / seconds);
}

int
main (int argc, char **argv)
{
  g_autofree char *folder = g_dir_make_tmp ("tessera-bench-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (folder, "a.tsr", NULL);
  g_autofree char *baseline_path = g_build_filename (folder, "baseline", NULL);
  TesseraTrace *trace = test_trace_new_plausible (SEED, N_EVENTS), *loaded = NULL;
  size_t n_blocks = 0;
  double baseline, began;
  GStatBuf info;

  baseline = insert_integers (baseline_path, trace->n_events);
  print_speed ("baseline: one integer a row", trace->n_events, baseline, baseline);
  began = cpu_seconds ();
  if (tessera_trace_save (trace, path, NULL, NULL) != TESSERA_OK)
    g_error ("cannot save");
  print_speed ("save, events", trace->n_events, cpu_seconds () - began, baseline);
  began = cpu_seconds ();
  if (tessera_trace_load (path, TESSERA_NONE, NULL, NULL, &loaded) != TESSERA_OK)
    g_error ("cannot load");
  print_speed ("load, events", loaded->n_events, cpu_seconds () - began, baseline);
  began = walk_blocks (path, &n_blocks);
  print_speed ("view block, blocks", n_blocks, began, baseline);
  if (g_stat (path, &info) == 0)
    g_print ("%-34s %6.1f bytes an event, %.1f MB in all\n", "file",
             (double) info.st_size / (double) trace->n_events,
             (double) info.st_size / 1e6);
  tessera_trace_free (loaded);
  tessera_trace_free (trace);
  g_remove (path);
  g_remove (baseline_path);
  g_rmdir (folder);
  return 0;
}
