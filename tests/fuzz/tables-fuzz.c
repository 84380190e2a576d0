/*
 * Fuzz target: the reader of snapshots in SQLite. The data is changes of a
 * database's bytes, or a database.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <glib.h>
#include <sqlite3.h>

#include "recorder/import/import.h"
#include "tests/fuzz/file-input.h"
#include "tests/fuzz/fuzz.h"

static void
make_base (const char *path)
{
  static const char sql[] =
      "CREATE TABLE device_traces (id INTEGER PRIMARY KEY, action, addr, size, frames);"
      "CREATE TABLE segments (id INTEGER PRIMARY KEY, address, total_size);"
      "CREATE TABLE blocks (segment_id, address, size, state, frames);"
      "INSERT INTO device_traces (action, addr, size, frames) VALUES"
      " ('alloc', '0x1000', 512, '[{\"filename\": \"a\", \"name\": \"b\", \"line\": "
      "1}]'),"
      " ('alloc', 8192, 512, '[]'), ('free_requested', 4096, 512, NULL);"
      "INSERT INTO segments VALUES (1, 4096, 2097152);"
      "INSERT INTO blocks VALUES (1, 4096, 512, 'inactive', NULL),"
      " (1, 4608, 2096640, 'active_allocated', NULL)";
  sqlite3 *db;

  g_assert_cmpint (sqlite3_open (path, &db), ==, SQLITE_OK);
  g_assert_cmpint (sqlite3_exec (db, sql, NULL, NULL, NULL), ==, SQLITE_OK);
  sqlite3_close (db);
}

int
LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t n_bytes)
{
  const TesseraOpenOptions options = { .device = TESSERA_NONE };
  const char *path = fuzz_file_input (bytes, n_bytes, make_base);
  TesseraError error = { 0 };
  TesseraTrace *trace;

  fuzz_check (tessera_open (path, &options, &error, &trace), &error);
  tessera_trace_free (trace);
  return 0;
}
