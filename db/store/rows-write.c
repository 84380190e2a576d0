/*
 * Items into a table, a million and more a second.
 *
 * One statement a table, "INSERT INTO event ... SELECT ... FROM source", where source is
 * a virtual table over the array in memory. Tried first: a prepared INSERT, bound and
 * stepped row by row, which took 1.75 times as long (10 columns: 1.0 against 1.74 million
 * rows a second; a raw INSERT of one single integer column: 1.79 million).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "db/store/rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A longer INSERT has no place here: the widest table needs about 500 bytes. */
#define SQL_BYTES 2048
/* Progress is asked at most about this often over all rows. */
#define N_REPORTS 100

struct TesseraRowWriter
{
  sqlite3 *db;
  const char *path;
  const TesseraLimits *limits;
  const TesseraProgress *progress;
  TesseraError *error;
  uint64_t n_rows, n_written, n_next_report;
  /* what the statement that runs now reads from */
  const TesseraTable *table;
  TesseraRows rows;
  void *scratch; /* one item */
  TesseraStatus status;
};

typedef struct
{
  sqlite3_vtab base;
  TesseraRowWriter *writer;
} Source;

typedef struct
{
  sqlite3_vtab_cursor base;
  size_t index;
  const char *item;
} Cursor;

static int
source_connect (sqlite3 *db,
                void *user,
                int n_arguments,
                const char *const *arguments,
                sqlite3_vtab **out_vtab,
                char **out_text)
{
  char sql[TESSERA_MAX_COLUMNS * 8 + 32] = "CREATE TABLE x (k";
  Source *source;
  int rc;

  for (int i = 0; i < TESSERA_MAX_COLUMNS; i++)
    snprintf (sql + strlen (sql), sizeof sql - strlen (sql), ", c%d", i);
  strcat (sql, ")");
  rc = sqlite3_declare_vtab (db, sql);
  if (rc != SQLITE_OK)
    return rc;
  source = sqlite3_malloc64 (sizeof *source);
  if (!source)
    return SQLITE_NOMEM;
  memset (source, 0, sizeof *source);
  source->writer = user;
  *out_vtab = &source->base;
  return SQLITE_OK;
}

static int
source_disconnect (sqlite3_vtab *vtab)
{
  sqlite3_free (vtab);
  return SQLITE_OK;
}

static int
source_best_index (sqlite3_vtab *vtab, sqlite3_index_info *info)
{
  return SQLITE_OK;
}

static int
source_open (sqlite3_vtab *vtab, sqlite3_vtab_cursor **out_cursor)
{
  Cursor *cursor = sqlite3_malloc64 (sizeof *cursor);

  if (!cursor)
    return SQLITE_NOMEM;
  memset (cursor, 0, sizeof *cursor);
  *out_cursor = &cursor->base;
  return SQLITE_OK;
}

static int
source_close (sqlite3_vtab_cursor *cursor)
{
  sqlite3_free (cursor);
  return SQLITE_OK;
}

static bool
report (TesseraRowWriter *writer)
{
  if (writer->n_written++ < writer->n_next_report)
    return true;
  writer->n_next_report = writer->n_written + writer->n_rows / N_REPORTS;
  if (tessera_progress (writer->progress,
                        (double) (writer->n_written - 1) / (double) writer->n_rows))
    return true;
  writer->status =
      tessera_fail (writer->error, TESSERA_CANCELLED,
                    "Saving %s was cancelled; nothing was written", writer->path);
  return false;
}

static uint64_t
key_of (const TesseraRows *rows, size_t index)
{
  return rows->keys ? rows->keys[index] : rows->first_key + index;
}

/* Makes the cursor's item ready, or says why it cannot be saved. */
static int
cursor_settle (Cursor *cursor)
{
  TesseraRowWriter *writer = ((Source *) cursor->base.pVtab)->writer;
  const TesseraTable *table = writer->table;
  char reason[160];

  if (cursor->index >= writer->rows.n_items)
    return SQLITE_OK;
  if (!report (writer))
    return SQLITE_INTERRUPT;
  if (writer->rows.get)
    {
      writer->rows.get (writer->rows.items, cursor->index, writer->scratch);
      cursor->item = writer->scratch;
    }
  else
    cursor->item = (const char *) writer->rows.items + cursor->index * table->item_bytes;
  if (tessera_item_check (table, cursor->item, key_of (&writer->rows, cursor->index),
                          writer->limits, reason, sizeof reason))
    return SQLITE_OK;
  writer->status = tessera_fail (writer->error, TESSERA_INVALID,
                                 "Cannot save %s: in table %s, row %zu, %s", writer->path,
                                 table->name, cursor->index, reason);
  return SQLITE_CONSTRAINT;
}

static int
source_filter (sqlite3_vtab_cursor *base,
               int number,
               const char *text,
               int n_values,
               sqlite3_value **values)
{
  ((Cursor *) base)->index = 0;
  return cursor_settle ((Cursor *) base);
}

static int
source_next (sqlite3_vtab_cursor *base)
{
  ((Cursor *) base)->index++;
  return cursor_settle ((Cursor *) base);
}

static int
source_eof (sqlite3_vtab_cursor *base)
{
  const TesseraRowWriter *writer = ((Source *) base->pVtab)->writer;

  return ((const Cursor *) base)->index >= writer->rows.n_items;
}

static void
result_text (sqlite3_context *context, const char *text)
{
  if (text)
    sqlite3_result_text64 (context, text, strlen (text), SQLITE_TRANSIENT, SQLITE_UTF8);
}

/* What is not set stays NULL. */
static void
result_value (sqlite3_context *context, const TesseraColumn *column, const char *at)
{
  switch (column->kind)
    {
    case TESSERA_COLUMN_U8:
    case TESSERA_COLUMN_FLAG:
      sqlite3_result_int (context, *(const uint8_t *) at);
      return;
    case TESSERA_COLUMN_BOOL:
      sqlite3_result_int (context, *(const bool *) at);
      return;
    case TESSERA_COLUMN_U16:
      sqlite3_result_int (context, *(const uint16_t *) at);
      return;
    case TESSERA_COLUMN_U32:
      sqlite3_result_int64 (context, *(const uint32_t *) at);
      return;
    case TESSERA_COLUMN_U32_OR_NONE:
      if (*(const uint32_t *) at != TESSERA_NONE)
        sqlite3_result_int64 (context, *(const uint32_t *) at);
      return;
    case TESSERA_COLUMN_BYTES_OR_ALL:
      if (*(const uint64_t *) at != UINT64_MAX)
        sqlite3_result_int64 (context, *(const sqlite3_int64 *) at);
      return;
    case TESSERA_COLUMN_BYTES:
    case TESSERA_COLUMN_BITS:
    case TESSERA_COLUMN_NUMBER:
      sqlite3_result_int64 (context, *(const int64_t *) at);
      return;
    case TESSERA_COLUMN_REAL:
      sqlite3_result_double (context, *(const double *) at);
      return;
    case TESSERA_COLUMN_TEXT:
    case TESSERA_COLUMN_TEXT_OR_NULL:
      result_text (context, *(char *const *) at);
      return;
    case TESSERA_COLUMN_COUNT:
      sqlite3_result_int64 (context, (sqlite3_int64) * (const size_t *) at);
      return;
    default:
      return;
    }
}

static int
source_column (sqlite3_vtab_cursor *base, sqlite3_context *context, int number)
{
  const Cursor *cursor = (const Cursor *) base;
  const TesseraRowWriter *writer = ((Source *) base->pVtab)->writer;
  const TesseraTable *table = writer->table;

  if (number == 0)
    sqlite3_result_int64 (context, (sqlite3_int64) key_of (&writer->rows, cursor->index));
  else if ((size_t) number <= table->n_columns)
    result_value (context, &table->columns[number - 1],
                  cursor->item + table->columns[number - 1].offset);
  return SQLITE_OK;
}

static int
source_rowid (sqlite3_vtab_cursor *base, sqlite3_int64 *out_rowid)
{
  *out_rowid = (sqlite3_int64) ((const Cursor *) base)->index;
  return SQLITE_OK;
}

/* Without xCreate it exists in every connection under its module's name. */
static const sqlite3_module source_module = { .xConnect = source_connect,
                                              .xBestIndex = source_best_index,
                                              .xDisconnect = source_disconnect,
                                              .xOpen = source_open,
                                              .xClose = source_close,
                                              .xFilter = source_filter,
                                              .xNext = source_next,
                                              .xEof = source_eof,
                                              .xColumn = source_column,
                                              .xRowid = source_rowid };

TesseraStatus
tessera_row_writer_new (sqlite3 *db,
                        const char *path,
                        const TesseraLimits *limits,
                        uint64_t n_rows,
                        const TesseraProgress *progress,
                        TesseraError *error,
                        TesseraRowWriter **out_writer)
{
  TesseraRowWriter *writer = calloc (1, sizeof *writer);
  int rc;

  *out_writer = NULL;
  if (!writer)
    return tessera_fail_sqlite (error, NULL, SQLITE_NOMEM, path, "write");
  *writer = (TesseraRowWriter){ .db = db,
                                .path = path,
                                .limits = limits,
                                .progress = progress,
                                .error = error,
                                .n_rows = n_rows ? n_rows : 1 };
  rc = sqlite3_create_module_v2 (db, "source", &source_module, writer, NULL);
  if (rc != SQLITE_OK)
    {
      free (writer);
      return tessera_fail_sqlite (error, db, rc, path, "write");
    }
  *out_writer = writer;
  return TESSERA_OK;
}

void
tessera_row_writer_free (TesseraRowWriter *writer)
{
  if (!writer)
    return;
  /* dropping the module keeps the connection from calling into freed memory */
  sqlite3_create_module_v2 (writer->db, "source", NULL, NULL, NULL);
  free (writer);
}

/* INSERT INTO t (device, key, a) SELECT ?1, k, c0 FROM source */
static void
compose (const TesseraTable *table, bool replaces, char *sql)
{
  static const char *const scopes[] = { "", "device, ", "device, at_end, " };
  static const char *const values[] = { "", "?1, ", "?1, ?2, " };
  size_t at = 0;

  at += (size_t) snprintf (sql, SQL_BYTES, "%s INTO %s (%s%s",
                           replaces ? "REPLACE" : "INSERT", table->name,
                           scopes[table->n_scopes], table->key);
  for (size_t i = 0; i < table->n_columns; i++)
    at += (size_t) snprintf (sql + at, SQL_BYTES - at, ", %s", table->columns[i].name);
  at += (size_t) snprintf (sql + at, SQL_BYTES - at, ") SELECT %sk",
                           values[table->n_scopes]);
  for (size_t i = 0; i < table->n_columns; i++)
    at += (size_t) snprintf (sql + at, SQL_BYTES - at, ", c%zu", i);
  snprintf (sql + at, SQL_BYTES - at, " FROM source");
}

TesseraStatus
tessera_write_rows (TesseraRowWriter *writer,
                    const TesseraTable *table,
                    TesseraScope scope,
                    TesseraRows rows)
{
  char sql[SQL_BYTES];
  sqlite3_stmt *statement = NULL;
  int rc;

  if (rows.n_items == 0)
    return TESSERA_OK;
  writer->table = table;
  writer->rows = rows;
  writer->status = TESSERA_OK;
  writer->scratch = calloc (1, table->item_bytes);
  if (!writer->scratch)
    return tessera_fail_sqlite (writer->error, NULL, SQLITE_NOMEM, writer->path, "write");
  compose (table, rows.replaces, sql);
  rc = sqlite3_prepare_v2 (writer->db, sql, -1, &statement, NULL);
  if (rc == SQLITE_OK && table->n_scopes > 0)
    rc = sqlite3_bind_int64 (statement, 1, scope.device);
  if (rc == SQLITE_OK && table->n_scopes > 1)
    rc = sqlite3_bind_int (statement, 2, scope.at_end);
  if (rc == SQLITE_OK)
    rc = sqlite3_step (statement);
  if (writer->status == TESSERA_OK && rc != SQLITE_DONE)
    writer->status =
        tessera_fail_sqlite (writer->error, writer->db, rc, writer->path, "write");
  sqlite3_finalize (statement);
  free (writer->scratch);
  writer->scratch = NULL;
  return writer->status;
}
