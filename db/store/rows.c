/*
 * C structs as rows of a table: ranges of values, and rows back into items. Nothing that
 * a file says is believed before it is checked.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "db/store/private.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db/array.h"

/* Numbers as they lie in an item. */
typedef struct
{
  uint8_t n_bytes;  /* 0: it is no number */
  bool is_plain;    /* without sign, and has to be in range */
  bool is_nullable; /* all ones are NULL */
  uint64_t below;   /* 0: what the column says */
} Number;

static const Number numbers[] = {
  [TESSERA_COLUMN_U8] = { 1, true },
  [TESSERA_COLUMN_U16] = { 2, true },
  [TESSERA_COLUMN_U32] = { 4, true },
  [TESSERA_COLUMN_U32_OR_NONE] = { 4, true, true },
  [TESSERA_COLUMN_FLAG] = { 1, true, false, 2 },
  [TESSERA_COLUMN_BYTES] = { 8, true, false, (uint64_t) INT64_MAX + 1 },
  [TESSERA_COLUMN_BYTES_OR_ALL] = { 8, true, true, (uint64_t) INT64_MAX + 1 },
  [TESSERA_COLUMN_BITS] = { 8 },
  [TESSERA_COLUMN_COUNT] = { sizeof (size_t) },
};
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers begin low");

static uint64_t
get_number (const Number *kind, const char *at)
{
  uint64_t number = 0;

  memcpy (&number, at, kind->n_bytes);
  return number;
}

static bool
is_none (const Number *kind, uint64_t number)
{
  return kind->is_nullable && number == UINT64_MAX >> (64 - 8 * kind->n_bytes);
}

static bool
is_text (const TesseraColumn *column)
{
  return column->kind == TESSERA_COLUMN_TEXT ||
         column->kind == TESSERA_COLUMN_TEXT_OR_NULL;
}

void
tessera_item_clear (const TesseraTable *table, void *item)
{
  for (size_t i = 0; i < table->n_columns; i++)
    if (is_text (&table->columns[i]))
      {
        char **text = (char **) ((char *) item + table->columns[i].offset);

        free (*text);
        *text = NULL;
      }
}

/* A number that is one, a text that is there. */
static bool
is_sound (const TesseraColumn *column, const void *item)
{
  const char *at = (const char *) item + column->offset;

  return column->kind == TESSERA_COLUMN_REAL   ? isfinite (*(const double *) at)
         : column->kind == TESSERA_COLUMN_TEXT ? *(char *const *) at != NULL
                                               : true;
}

bool
tessera_item_check (const TesseraTable *table,
                    const void *item,
                    uint64_t index,
                    const TesseraLimits *limits,
                    char *reason,
                    size_t reason_bytes)
{
  const char *law;

  for (size_t i = 0; i < table->n_columns; i++)
    {
      const TesseraColumn *column = &table->columns[i];
      const Number *kind = &numbers[column->kind];
      uint64_t number = get_number (kind, (const char *) item + column->offset);
      uint64_t below = kind->below     ? kind->below
                       : column->limit ? limits->below[column->limit]
                       : column->below ? column->below
                                       : UINT64_MAX;

      if (!is_sound (column, item))
        {
          snprintf (reason, reason_bytes, "%s is missing or not a number", column->name);
          return false;
        }
      if (kind->is_plain && !is_none (kind, number) &&
          (number >= below || number < column->minimum))
        {
          snprintf (reason, reason_bytes, "%s is %llu, which is not in %u .. below %llu",
                    column->name, (unsigned long long) number, column->minimum,
                    (unsigned long long) below);
          return false;
        }
    }
  law = table->check ? table->check (item, index, limits) : NULL;
  if (law)
    snprintf (reason, reason_bytes, "%s", law);
  return !law;
}

/* The system's reason, or 0. SQLite forgets that of a commit: there errno still tells,
 * which is believed only where no call but a write sets it so. */
static int
find_cause (sqlite3 *db)
{
  int number = db ? sqlite3_system_errno (db) : 0;

  if (number == 0 && (errno == EFBIG || errno == EDQUOT || errno == EIO))
    number = errno;
  return number;
}

TesseraStatus
tessera_fail_sqlite (
    TesseraError *error, sqlite3 *db, int rc, const char *path, const char *verb)
{
  int number = find_cause (db);
  const char *cause = number ? strerror (number) : sqlite3_errstr (rc);

  if (db && sqlite3_extended_errcode (db) == SQLITE_READONLY_ROLLBACK)
    return tessera_fail (error, TESSERA_IO,
                         "Cannot %s %s: another program was stopped while it wrote into"
                         " it; open it once with that, or with sqlite3",
                         verb, path);
  switch (rc & 0xff)
    {
    case SQLITE_NOMEM:
      return tessera_fail (error, TESSERA_NO_MEMORY,
                           "Cannot %s %s: this machine has no memory left", verb, path);
    case SQLITE_FULL:
      return tessera_fail (
          error, TESSERA_IO,
          "Cannot %s %s: the disk is full; make room or name another place", verb, path);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return tessera_fail (error, TESSERA_IO,
                           "Cannot %s %s: another process writes it; name another file",
                           verb, path);
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_READONLY:
      if (number == EFBIG)
        return tessera_fail (error, TESSERA_IO,
                             "Cannot %s %s: it would be larger than files may be here; "
                             "raise the limit (ulimit -f) or name another place",
                             verb, path);
      return tessera_fail (error, TESSERA_IO, "Cannot %s %s: %s", verb, path, cause);
    default:
      return tessera_fail (error, TESSERA_BAD_INPUT,
                           "Cannot %s %s: the file is damaged (%s); make it again", verb,
                           path, db ? sqlite3_errmsg (db) : sqlite3_errstr (rc));
    }
}

/* The widest table needs about 500 bytes. */
#define SQL_BYTES 2048
/* Progress is asked about this often over all rows. */
#define N_REPORTS 100

static void
compose (const TesseraTable *table, char *sql)
{
  static const char *const scopes[] = { "", " WHERE device = ?1",
                                        " WHERE device = ?1 AND at_end = ?2" };
  size_t at = (size_t) snprintf (sql, SQL_BYTES, "SELECT %s", table->key);

  for (size_t i = 0; i < table->n_columns; i++)
    at += (size_t) snprintf (sql + at, SQL_BYTES - at, ", %s", table->columns[i].name);
  snprintf (sql + at, SQL_BYTES - at, " FROM %s%s ORDER BY %s", table->name,
            scopes[table->n_scopes], table->key);
}

static int
bind (sqlite3_stmt *statement, const TesseraTable *table, uint32_t device, bool at_end)
{
  int rc = SQLITE_OK;

  if (table->n_scopes > 0)
    rc = sqlite3_bind_int64 (statement, 1, device);
  if (rc == SQLITE_OK && table->n_scopes > 1)
    rc = sqlite3_bind_int (statement, 2, at_end);
  return rc;
}

TesseraStatus
tessera_fail_row (TesseraRowReader *reader,
                  const TesseraTable *table,
                  uint64_t index,
                  const char *reason)
{
  return tessera_fail (reader->error, TESSERA_BAD_INPUT,
                       "%s is damaged: in table %s, row %llu, %s; make it again",
                       reader->path, table->name, (unsigned long long) index, reason);
}

static TesseraStatus
fail_memory (TesseraRowReader *reader)
{
  return tessera_fail_sqlite (reader->error, NULL, SQLITE_NOMEM, reader->path, "read");
}

/* Returns: whether @number fits the struct's field; stores it if so. */
static bool
store_number (const Number *kind, sqlite3_int64 number, char *at)
{
  uint64_t bits = (uint64_t) number;

  if (kind->is_plain && (number < 0 || bits > UINT64_MAX >> (64 - 8 * kind->n_bytes) ||
                         is_none (kind, bits)))
    return false;
  memcpy (at, &bits, kind->n_bytes);
  return true;
}

/* @value: unprotected, which is enough for a connection of one thread; asking it is
 * faster than asking the statement for each thing about a column. */
static TesseraStatus
store_value (sqlite3_value *value, const TesseraColumn *column, char *at)
{
  const Number *kind = &numbers[column->kind];
  int type = sqlite3_value_type (value);

  if (column->kind == TESSERA_COLUMN_COUNT)
    return TESSERA_OK;
  if (type == SQLITE_NULL && kind->is_nullable)
    memset (at, 0xff, kind->n_bytes);
  else if (type == SQLITE_NULL && column->kind == TESSERA_COLUMN_TEXT_OR_NULL)
    *(char **) at = NULL;
  else if (type == SQLITE_TEXT && is_text (column))
    {
      const char *text = (const char *) sqlite3_value_text (value);

      *(char **) at = text ? strdup (text) : NULL;
      return *(char **) at ? TESSERA_OK : TESSERA_NO_MEMORY;
    }
  else if (type == SQLITE_FLOAT && column->kind == TESSERA_COLUMN_REAL)
    *(double *) at = sqlite3_value_double (value);
  else if (type != SQLITE_INTEGER || kind->n_bytes == 0 ||
           !store_number (kind, sqlite3_value_int64 (value), at))
    return TESSERA_BAD_INPUT;
  return TESSERA_OK;
}

/* Fills @item from the statement's row. On failure its texts are freed. */
static TesseraStatus
read_item (TesseraRowReader *reader,
           const TesseraTable *table,
           sqlite3_stmt *statement,
           uint64_t index,
           char *item)
{
  char reason[160];

  for (size_t i = 0; i < table->n_columns; i++)
    {
      const TesseraColumn *column = &table->columns[i];
      TesseraStatus status = store_value (sqlite3_column_value (statement, (int) i + 1),
                                          column, item + column->offset);

      if (status == TESSERA_OK)
        continue;
      tessera_item_clear (table, item);
      if (status == TESSERA_NO_MEMORY)
        return fail_memory (reader);
      snprintf (reason, sizeof reason, "%s is of the wrong type or too large",
                column->name);
      return tessera_fail_row (reader, table, index, reason);
    }
  if (tessera_item_check (table, item, index, &reader->limits, reason, sizeof reason))
    return TESSERA_OK;
  tessera_item_clear (table, item);
  return tessera_fail_row (reader, table, index, reason);
}

/* Counts a row as done. Returns: whether the work is to go on. */
static bool
report (const TesseraProgress *progress,
        uint64_t n_rows,
        uint64_t *n_done,
        uint64_t *n_next_report)
{
  uint64_t n = (*n_done)++;

  if (n < *n_next_report)
    return true;
  *n_next_report = n + 1 + n_rows / N_REPORTS;
  return tessera_progress (progress, n < n_rows ? (double) n / (double) n_rows : 1.0);
}

/* The row at hand into one item more. */
static TesseraStatus
append_row (TesseraRowReader *reader,
            const TesseraTable *table,
            sqlite3_stmt *statement,
            TesseraItems *to)
{
  size_t item_bytes = table->item_bytes;
  char *item;
  TesseraStatus status;

  if (to->n >= to->most)
    return tessera_fail_row (reader, table, to->n, TESSERA_REPEATS);
  if (!tessera_array_reserve (&to->items, &to->cap, to->n + 1, item_bytes) ||
      (reader->allows_gaps && !TESSERA_RESERVE (to->keys, to->cap_keys, to->n + 1)))
    return fail_memory (reader);
  item = (char *) to->items + to->n * item_bytes;
  if (!to->is_filled)
    memset (item, 0, item_bytes);
  status = read_item (reader, table, statement, to->n, item);
  if (status == TESSERA_OK && reader->allows_gaps)
    to->keys[to->n] = (uint32_t) sqlite3_column_int64 (statement, 0);
  to->n += status == TESSERA_OK;
  return status;
}

static TesseraStatus
step_rows (TesseraRowReader *reader,
           const TesseraTable *table,
           sqlite3_stmt *statement,
           TesseraItems *to)
{
  bool has_gaps = table->has_gaps && reader->allows_gaps;
  sqlite3_int64 last_key = -1;
  int rc;

  while ((rc = sqlite3_step (statement)) == SQLITE_ROW)
    {
      sqlite3_int64 key = sqlite3_column_int64 (statement, 0);
      TesseraStatus status;

      if (sqlite3_column_type (statement, 0) != SQLITE_INTEGER || key <= last_key ||
          key >= (sqlite3_int64) TESSERA_MAX_EVENTS || (!has_gaps && key != last_key + 1))
        return tessera_fail_row (reader, table, to->n, "the numbering is broken");
      last_key = key;
      status = append_row (reader, table, statement, to);
      if (status != TESSERA_OK)
        return status;
      if (!report (reader->progress, reader->n_rows, &reader->n_read,
                   &reader->n_next_report))
        return tessera_fail (reader->error, TESSERA_CANCELLED, "Reading %s was cancelled",
                             reader->path);
    }
  if (rc != SQLITE_DONE)
    return tessera_fail_sqlite (reader->error, reader->db, rc, reader->path, "read");
  return TESSERA_OK;
}

TesseraStatus
tessera_read_items (TesseraRowReader *reader,
                    const TesseraTable *table,
                    bool at_end,
                    TesseraItems *items)
{
  char sql[SQL_BYTES];
  sqlite3_stmt *statement = NULL;
  TesseraStatus status;
  int rc;

  compose (table, sql);
  rc = sqlite3_prepare_v2 (reader->db, sql, -1, &statement, NULL);
  if (rc == SQLITE_OK)
    rc = bind (statement, table, reader->device, at_end);
  status = rc == SQLITE_OK ? step_rows (reader, table, statement, items)
                           : tessera_fail_sqlite (reader->error, reader->db, rc,
                                                  reader->path, "read");
  sqlite3_finalize (statement);
  return status;
}

TesseraStatus
tessera_read_part (TesseraRowReader *reader,
                   const TesseraPart *part,
                   size_t most,
                   void *owner)
{
  TesseraItems items = { .most = most };
  TesseraStatus status = tessera_read_items (reader, part->table, part->at_end, &items);

  memcpy ((char *) owner + part->array_at, &items.items, sizeof items.items);
  memcpy ((char *) owner + part->count_at, &items.n, part->count_bytes);
  free (items.keys);
  return status;
}

TesseraStatus
tessera_read_row (TesseraRowReader *reader,
                  const TesseraTable *table,
                  void *item,
                  bool *out_is_there)
{
  TesseraItems items = { .items = item, .cap = 1, .most = 1, .is_filled = true };
  TesseraStatus status = tessera_read_items (reader, table, false, &items);

  *out_is_there = items.n > 0;
  free (items.keys);
  return status;
}

/* Writing */

/* INSERT INTO t (device, key, a) VALUES (?, ?, ?) */
static void
compose_insert (const TesseraTable *table, bool replaces, char *sql)
{
  static const char *const scopes[] = { "", "device, ", "device, at_end, " };
  size_t at = (size_t) snprintf (sql, SQL_BYTES, "%s INTO %s (%s%s",
                                 replaces ? "REPLACE" : "INSERT", table->name,
                                 scopes[table->n_scopes], table->key);

  for (size_t i = 0; i < table->n_columns; i++)
    at += (size_t) snprintf (sql + at, SQL_BYTES - at, ", %s", table->columns[i].name);
  at += (size_t) snprintf (sql + at, SQL_BYTES - at, ") VALUES (?");
  for (size_t i = 0; i < table->n_scopes + table->n_columns; i++)
    at += (size_t) snprintf (sql + at, SQL_BYTES - at, ", ?");
  snprintf (sql + at, SQL_BYTES - at, ")");
}

static int
bind_value (sqlite3_stmt *statement,
            int place,
            const TesseraColumn *column,
            const char *at)
{
  const Number *kind = &numbers[column->kind];
  uint64_t number = get_number (kind, at);

  if (is_text (column)) /* NULL is NULL */
    return sqlite3_bind_text (statement, place, *(char *const *) at, -1, SQLITE_STATIC);
  if (column->kind == TESSERA_COLUMN_REAL)
    return sqlite3_bind_double (statement, place, *(const double *) at);
  return is_none (kind, number)
             ? sqlite3_bind_null (statement, place)
             : sqlite3_bind_int64 (statement, place, (sqlite3_int64) number);
}

/* The scopes are bound; @item is in range. Returns: what SQLite says. */
static int
insert_item (sqlite3_stmt *statement,
             const TesseraTable *table,
             const char *item,
             uint64_t key)
{
  int place = table->n_scopes + 1;
  int rc = sqlite3_bind_int64 (statement, place, (sqlite3_int64) key);

  for (size_t i = 0; rc == SQLITE_OK && i < table->n_columns; i++)
    rc = bind_value (statement, ++place, &table->columns[i],
                     item + table->columns[i].offset);
  if (rc != SQLITE_OK)
    return rc;
  rc = sqlite3_step (statement);
  return rc == SQLITE_DONE ? sqlite3_reset (statement) : rc;
}

static TesseraStatus
insert_rows (TesseraRowWriter *writer, sqlite3_stmt *statement, const TesseraRows *rows)
{
  const TesseraTable *table = rows->table;
  char reason[160];

  for (size_t i = 0; i < rows->n_items; i++)
    {
      const char *item = (const char *) rows->items + i * table->item_bytes;
      uint64_t key = rows->keys ? rows->keys[i] : rows->first_key + i;
      int rc;

      if (!report (writer->progress, writer->n_rows, &writer->n_written,
                   &writer->n_next_report))
        return tessera_fail (writer->error, TESSERA_CANCELLED,
                             "Saving %s was cancelled; nothing was written",
                             writer->path);
      if (!tessera_item_check (table, item, key, writer->limits, reason, sizeof reason))
        return tessera_fail (writer->error, TESSERA_INVALID,
                             "Cannot save %s: in table %s, row %zu, %s", writer->path,
                             table->name, i, reason);
      rc = insert_item (statement, table, item, key);
      if (rc != SQLITE_OK)
        return tessera_fail_sqlite (writer->error, writer->db, rc, writer->path, "write");
    }
  return TESSERA_OK;
}

static TesseraStatus
write_part (TesseraRowWriter *writer, uint32_t device, const TesseraRows *rows)
{
  char sql[SQL_BYTES];
  sqlite3_stmt *statement = NULL;
  TesseraStatus status;
  int rc;

  if (rows->n_items == 0)
    return TESSERA_OK;
  compose_insert (rows->table, rows->replaces, sql);
  rc = sqlite3_prepare_v2 (writer->db, sql, -1, &statement, NULL);
  if (rc == SQLITE_OK)
    rc = bind (statement, rows->table, device, rows->at_end);
  status = rc == SQLITE_OK ? insert_rows (writer, statement, rows)
                           : tessera_fail_sqlite (writer->error, writer->db, rc,
                                                  writer->path, "write");
  sqlite3_finalize (statement);
  return status;
}

TesseraStatus
tessera_write_rows (TesseraRowWriter *writer,
                    uint32_t device,
                    const TesseraRows *parts,
                    size_t n_parts)
{
  TesseraStatus status = TESSERA_OK;

  for (size_t i = 0; status == TESSERA_OK && i < n_parts; i++)
    status = write_part (writer, device, &parts[i]);
  return status;
}

TesseraStatus
tessera_write_parts (TesseraRowWriter *writer,
                     uint32_t device,
                     const void *owner,
                     const TesseraPart *parts,
                     size_t n_parts)
{
  TesseraStatus status = TESSERA_OK;

  for (size_t i = 0; status == TESSERA_OK && i < n_parts; i++)
    {
      TesseraRows rows = { .table = parts[i].table, .at_end = parts[i].at_end };

      memcpy (&rows.items, (const char *) owner + parts[i].array_at, sizeof rows.items);
      memcpy (&rows.n_items, (const char *) owner + parts[i].count_at,
              parts[i].count_bytes);
      status = write_part (writer, device, &rows);
    }
  return status;
}
