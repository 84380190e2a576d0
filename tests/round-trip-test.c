/*
 * Real traces through their file: nothing lost, small enough, and SQL agrees with C.
 *
 * Every snapshot of the shared data is imported, saved, loaded and compared field by
 * field; view block is compared with planner/blocks.h, view usage with its load bound.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <glib.h>
#include <glib/gstdio.h>
#include <sqlite3.h>

#include "db/store.h"
#include "tests/db/test-traces.h"
#include "planner/blocks.h"
#include "recorder/import/import.h"
#include "tests/ok.h"
#include "tests/planner/auto.h"

/* The promise of docs/FORMAT.md. */
#define MAX_EVENT_BYTES 40
/* Below this many events the tables' first pages outweigh the events. */
#define MIN_EVENTS 20000

#define SQL_OK(db, call)                                                                 \
  G_STMT_START                                                                           \
  {                                                                                      \
    if ((call) != SQLITE_OK)                                                             \
      g_error ("%s", sqlite3_errmsg (db));                                               \
  }                                                                                      \
  G_STMT_END

static int64_t
or_never (sqlite3_stmt *statement, int column, uint32_t n_events)
{
  return sqlite3_column_type (statement, column) == SQLITE_NULL
             ? n_events
             : sqlite3_column_int64 (statement, column);
}

/* Failed requests are blocks to the planner only, and a free of an address that nobody
 * knows makes one there. */
static bool
is_in_view (const TesseraBlock *block)
{
  return !(block->flags & (TESSERA_FAILED | TESSERA_UNKNOWN_START));
}

static void
compare_blocks (sqlite3 *db, const TesseraBlocks *blocks)
{
  sqlite3_stmt *statement = NULL;
  size_t at = 0;

  SQL_OK (db,
          sqlite3_prepare_v2 (db,
                              "SELECT born_index, freed_index, died_index, size_bytes,"
                              " block_bytes, stream, pool, stack FROM block"
                              " ORDER BY at_start DESC, iif (at_start, addr, born_index)",
                              -1, &statement, NULL));
  while (sqlite3_step (statement) == SQLITE_ROW)
    {
      while (at < blocks->n_blocks && !is_in_view (&blocks->blocks[at]))
        at++;
      g_assert_cmpuint (at, <, blocks->n_blocks);
      const TesseraBlock *block = &blocks->blocks[at++];
      g_assert_cmpint (sqlite3_column_int64 (statement, 0), ==, block->born_index);
      g_assert_cmpint (or_never (statement, 1, blocks->n_events), ==, block->freed_index);
      /* to the planner a block of the start that ends with event 0 lives until 1 */
      g_assert_cmpint (MAX (or_never (statement, 2, blocks->n_events), 1), ==,
                       block->died_index);
      g_assert_cmpint (sqlite3_column_int64 (statement, 3), ==, block->size_bytes);
      g_assert_cmpint (sqlite3_column_int64 (statement, 4), ==, block->block_bytes);
      g_assert_cmpint (sqlite3_column_int64 (statement, 5), ==, block->stream);
      g_assert_cmpint (sqlite3_column_int64 (statement, 6), ==, block->pool);
      g_assert_cmpint (or_never (statement, 7, TESSERA_NONE), ==, block->stack);
    }
  sqlite3_finalize (statement);
  while (at < blocks->n_blocks && !is_in_view (&blocks->blocks[at]))
    at++;
  g_assert_cmpuint (at, ==, blocks->n_blocks);
}

/* The view takes seconds on longer ones; the blocks it sums up are compared anyway. */
#define MAX_USAGE_EVENTS 50000

/* Where no request failed, the highest value of active_bytes is the load bound. */
static void
compare_peak (sqlite3 *db, const TesseraBlocks *blocks)
{
  sqlite3_stmt *statement = NULL;
  uint32_t at_index;

  if (blocks->n_events > MAX_USAGE_EVENTS)
    return;
  for (size_t i = 0; i < blocks->n_blocks; i++)
    if (!is_in_view (&blocks->blocks[i]))
      return;
  SQL_OK (db, sqlite3_prepare_v2 (db,
                                  "SELECT active_bytes FROM usage"
                                  " ORDER BY active_bytes DESC LIMIT 1",
                                  -1, &statement, NULL));
  if (sqlite3_step (statement) == SQLITE_ROW)
    g_assert_cmpint (sqlite3_column_int64 (statement, 0), ==,
                     tessera_blocks_bound (blocks, 0, blocks->n_events, &at_index));
  sqlite3_finalize (statement);
}

static void
compare_with_planner (const TesseraTrace *trace, const char *path)
{
  g_autoptr (TesseraBlocks) blocks = NULL;
  sqlite3 *db = NULL;

  blocks = tessera_blocks_new (trace);
  SQL_OK (db, sqlite3_open (path, &db));
  compare_blocks (db, blocks);
  compare_peak (db, blocks);
  sqlite3_close (db);
}

static void
test_file (gconstpointer data)
{
  TesseraOpenOptions options = { .device = TESSERA_NONE };
  TesseraError error = { 0 };
  g_autoptr (TesseraTrace) trace = NULL, loaded = NULL;
  g_autofree char *folder = g_dir_make_tmp ("tessera-real-XXXXXX", NULL);
  g_autofree char *path = g_build_filename (folder, "a.tsr", NULL);
  TesseraStatus status = tessera_open (data, &options, &error, &trace);
  GStatBuf info;

  g_assert_cmpstr (error.text, ==, "");
  OK (status);
  works (tessera_trace_save (trace, path, NULL, &error), &error);
  OK (tessera_trace_load (path, TESSERA_NONE, NULL, &error, &loaded));
  test_traces_assert_equal (trace, loaded);
  g_assert_cmpint (g_stat (path, &info), ==, 0);
  if (trace->n_stacks == 0 && trace->n_events >= MIN_EVENTS)
    g_assert_cmpint (info.st_size, <=, MAX_EVENT_BYTES * trace->n_events);
  compare_with_planner (loaded, path);
  g_remove (path);
  g_rmdir (folder);
}

static unsigned
add_folder (const char *folder_name)
{
  g_autofree char *folder =
      g_build_filename (g_getenv ("TESSERA_SHARED_DATA"), folder_name, NULL);
  g_autoptr (GDir) files = g_dir_open (folder, 0, NULL);
  const char *name;
  unsigned n_files = 0;

  while (files && (name = g_dir_read_name (files)))
    {
      g_autofree char *test_path = g_strconcat ("/round-trip/", name, NULL);

      if (!g_str_has_suffix (name, ".pickle") && !g_str_has_suffix (name, ".pickle.gz"))
        continue;
      g_test_add_data_func_full (test_path, g_build_filename (folder, name, NULL),
                                 test_file, g_free);
      n_files++;
    }
  return n_files;
}

static void
test_nothing (void)
{
  g_test_skip ("the shared snapshots are not there");
}

int
main (int argc, char **argv)
{
  static const char *const folders[] = { "sample", "snapshots/real", "snapshots/jobs",
                                         "snapshots/pytorch-2.6" };
  unsigned n_files = 0;

  g_test_init (&argc, &argv, NULL);
  for (size_t i = 0; i < G_N_ELEMENTS (folders); i++)
    n_files += add_folder (folders[i]);
  if (n_files == 0)
    g_test_add_func ("/round-trip/none", test_nothing);
  return g_test_run ();
}
