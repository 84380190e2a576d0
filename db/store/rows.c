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

void
tessera_limits_init (TesseraLimits *limits)
{
  memset (limits, 0, sizeof *limits);
  limits->below[TESSERA_LIMIT_NONE] = UINT64_MAX;
  limits->below[TESSERA_LIMIT_ACTIONS] = TESSERA_MARK + 1;
  limits->below[TESSERA_LIMIT_STATES] = TESSERA_BLOCK_LIVE + 1;
  limits->below[TESSERA_LIMIT_RANGE_KINDS] = TESSERA_RANGE_MODULE + 1;
  limits->below[TESSERA_LIMIT_TENSOR_KINDS] = TESSERA_TENSOR_BUFFER + 1;
  limits->below[TESSERA_LIMIT_CLASSES] = TESSERA_CLASS_DYNAMIC + 1;
  limits->below[TESSERA_LIMIT_GROUP_KINDS] = TESSERA_GROUP_HAND + 1;
  limits->below[TESSERA_LIMIT_PLACES] = TESSERA_PLACE_NONE + 1;
  limits->below[TESSERA_LIMIT_FOLLOWABLES] = TESSERA_FOLLOWABLE_YES + 1;
  limits->below[TESSERA_LIMIT_ALTERNATES] = TESSERA_ALTERNATE_SECOND + 1;
  limits->below[TESSERA_LIMIT_CUTS] = TESSERA_CUT_BY_PERSON + 1;
}

void
tessera_item_clear (const TesseraTable *table, void *item)
{
  for (size_t i = 0; i < table->n_columns; i++)
    if (table->columns[i].kind == TESSERA_COLUMN_TEXT ||
        table->columns[i].kind == TESSERA_COLUMN_TEXT_OR_NULL)
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

/* Returns: whether @column is a number with a limit; its value goes to *out_number. */
static bool
limited_number (const TesseraColumn *column, const void *item, uint64_t *out_number)
{
  const char *at = (const char *) item + column->offset;

  switch (column->kind)
    {
    case TESSERA_COLUMN_U8:
    case TESSERA_COLUMN_FLAG:
      *out_number = *(const uint8_t *) at;
      return true;
    case TESSERA_COLUMN_U16:
      *out_number = *(const uint16_t *) at;
      return true;
    case TESSERA_COLUMN_U32:
      *out_number = *(const uint32_t *) at;
      return true;
    case TESSERA_COLUMN_U32_OR_NONE:
      *out_number = *(const uint32_t *) at;
      return *out_number != TESSERA_NONE;
    case TESSERA_COLUMN_BYTES:
    case TESSERA_COLUMN_BYTES_OR_ALL:
      *out_number = *(const uint64_t *) at;
      return column->kind == TESSERA_COLUMN_BYTES || *out_number != UINT64_MAX;
    default:
      return false;
    }
}

static uint64_t
limit_of (const TesseraColumn *column, const TesseraLimits *limits)
{
  switch (column->kind)
    {
    case TESSERA_COLUMN_FLAG:
      return 2;
    case TESSERA_COLUMN_BYTES:
    case TESSERA_COLUMN_BYTES_OR_ALL:
      return (uint64_t) INT64_MAX + 1;
    default:
      return limits->below[column->limit];
    }
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
      uint64_t number, below = limit_of (column, limits);

      if (!is_sound (column, item))
        {
          snprintf (reason, reason_bytes, "%s is missing or not a number", column->name);
          return false;
        }
      if (!limited_number (column, item, &number))
        continue;
      if (number >= below || number < column->minimum)
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
bind (sqlite3_stmt *statement, const TesseraTable *table, TesseraScope scope)
{
  int rc = SQLITE_OK;

  if (table->n_scopes > 0)
    rc = sqlite3_bind_int64 (statement, 1, scope.device);
  if (rc == SQLITE_OK && table->n_scopes > 1)
    rc = sqlite3_bind_int (statement, 2, scope.at_end);
  return rc;
}

static TesseraStatus
fail_row (TesseraRowReader *reader,
          const TesseraTable *table,
          uint64_t index,
          const char *reason)
{
  return tessera_fail (reader->error, TESSERA_BAD_INPUT,
                       "%s is damaged: in table %s, row %llu, %s; make it again",
                       reader->path, table->name, (unsigned long long) index, reason);
}

/* Returns: whether @number fits the struct's field; stores it if so. */
static bool
store_number (const TesseraColumn *column, sqlite3_int64 number, char *at)
{
  switch (column->kind)
    {
    case TESSERA_COLUMN_BOOL:
      *(bool *) at = number == 1;
      return number == 0 || number == 1;
    case TESSERA_COLUMN_U8:
    case TESSERA_COLUMN_FLAG:
      *(uint8_t *) at = (uint8_t) number;
      return number >= 0 && number <= UINT8_MAX;
    case TESSERA_COLUMN_U16:
      *(uint16_t *) at = (uint16_t) number;
      return number >= 0 && number <= UINT16_MAX;
    case TESSERA_COLUMN_U32:
      *(uint32_t *) at = (uint32_t) number;
      return number >= 0 && number <= UINT32_MAX;
    case TESSERA_COLUMN_U32_OR_NONE:
      *(uint32_t *) at = (uint32_t) number;
      return number >= 0 && number < TESSERA_NONE;
    case TESSERA_COLUMN_BYTES:
    case TESSERA_COLUMN_BYTES_OR_ALL:
      *(uint64_t *) at = (uint64_t) number;
      return number >= 0;
    default: /* TESSERA_COLUMN_BITS, TESSERA_COLUMN_NUMBER: any 64 bits */
      *(int64_t *) at = number;
      return true;
    }
}

/* Returns: TESSERA_BAD_INPUT for a NULL where there is to be none. */
static TesseraStatus
store_null (const TesseraColumn *column, char *at)
{
  if (column->kind == TESSERA_COLUMN_U32_OR_NONE)
    *(uint32_t *) at = TESSERA_NONE;
  else if (column->kind == TESSERA_COLUMN_BYTES_OR_ALL)
    *(uint64_t *) at = UINT64_MAX;
  else if (column->kind == TESSERA_COLUMN_TEXT_OR_NULL)
    *(char **) at = NULL;
  else
    return TESSERA_BAD_INPUT;
  return TESSERA_OK;
}

static TesseraStatus
store_text (sqlite3_value *value, char *at)
{
  const char *text = (const char *) sqlite3_value_text (value);

  *(char **) at = text ? strdup (text) : NULL;
  return *(char **) at ? TESSERA_OK : TESSERA_NO_MEMORY;
}

/* @value: unprotected, which is enough for a connection of one thread; asking it is
 * faster than asking the statement for each thing about a column. */
static TesseraStatus
store_value (sqlite3_value *value, const TesseraColumn *column, char *at)
{
  int type = sqlite3_value_type (value);
  bool is_text =
      column->kind == TESSERA_COLUMN_TEXT || column->kind == TESSERA_COLUMN_TEXT_OR_NULL;

  if (column->kind == TESSERA_COLUMN_COUNT)
    return TESSERA_OK;
  if (type == SQLITE_NULL)
    return store_null (column, at);
  if (is_text)
    return type == SQLITE_TEXT ? store_text (value, at) : TESSERA_BAD_INPUT;
  if (column->kind == TESSERA_COLUMN_REAL)
    {
      *(double *) at = sqlite3_value_double (value);
      return type == SQLITE_FLOAT ? TESSERA_OK : TESSERA_BAD_INPUT;
    }
  if (type == SQLITE_INTEGER && store_number (column, sqlite3_value_int64 (value), at))
    return TESSERA_OK;
  return TESSERA_BAD_INPUT;
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
        return tessera_fail_sqlite (reader->error, NULL, SQLITE_NOMEM, reader->path,
                                    "read");
      snprintf (reason, sizeof reason, "%s is of the wrong type or too large",
                column->name);
      return fail_row (reader, table, index, reason);
    }
  if (tessera_item_check (table, item, index, &reader->limits, reason, sizeof reason))
    return TESSERA_OK;
  tessera_item_clear (table, item);
  return fail_row (reader, table, index, reason);
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

static TesseraStatus
take_item (TesseraRowReader *reader,
           const TesseraTable *table,
           TesseraTakeRow take,
           void *user,
           char *item,
           uint64_t index,
           uint64_t key)
{
  TesseraStatus status = take (user, item, index, key);

  if (status == TESSERA_NO_MEMORY)
    return tessera_fail_sqlite (reader->error, NULL, SQLITE_NOMEM, reader->path, "read");
  if (status != TESSERA_OK)
    return fail_row (reader, table, index,
                     "it repeats an earlier row or is before it, leaves a gap or is one"
                     " too many");
  if (!report (reader->progress, reader->n_rows, &reader->n_read, &reader->n_next_report))
    return tessera_fail (reader->error, TESSERA_CANCELLED, "Reading %s was cancelled",
                         reader->path);
  return TESSERA_OK;
}

static TesseraStatus
step_rows (TesseraRowReader *reader,
           const TesseraTable *table,
           sqlite3_stmt *statement,
           TesseraTakeRow take,
           void *user,
           char *item)
{
  sqlite3_int64 last_key = -1;
  uint64_t index = 0;
  int rc;

  while ((rc = sqlite3_step (statement)) == SQLITE_ROW)
    {
      sqlite3_int64 key = sqlite3_column_int64 (statement, 0);
      TesseraStatus status;

      if (sqlite3_column_type (statement, 0) != SQLITE_INTEGER || key <= last_key ||
          (!table->has_gaps && key != last_key + 1))
        return fail_row (reader, table, index, "the numbering is broken");
      last_key = key;
      memset (item, 0, table->item_bytes);
      status = read_item (reader, table, statement, index, item);
      if (status == TESSERA_OK)
        status = take_item (reader, table, take, user, item, index, (uint64_t) key);
      if (status != TESSERA_OK)
        return status;
      index++;
    }
  if (rc != SQLITE_DONE)
    return tessera_fail_sqlite (reader->error, reader->db, rc, reader->path, "read");
  return TESSERA_OK;
}

TesseraStatus
tessera_read_rows (TesseraRowReader *reader,
                   const TesseraTable *table,
                   TesseraScope scope,
                   TesseraTakeRow take,
                   void *user)
{
  char sql[SQL_BYTES];
  sqlite3_stmt *statement = NULL;
  TesseraStatus status;
  char *item = malloc (table->item_bytes);
  int rc;

  if (!item)
    return tessera_fail_sqlite (reader->error, NULL, SQLITE_NOMEM, reader->path, "read");
  compose (table, sql);
  rc = sqlite3_prepare_v2 (reader->db, sql, -1, &statement, NULL);
  if (rc == SQLITE_OK)
    rc = bind (statement, table, scope);
  status = rc == SQLITE_OK ? step_rows (reader, table, statement, take, user, item)
                           : tessera_fail_sqlite (reader->error, reader->db, rc,
                                                  reader->path, "read");
  sqlite3_finalize (statement);
  free (item);
  return status;
}

typedef struct
{
  const TesseraTable *table;
  TesseraItems *items;
} ItemsOfTable;

static TesseraStatus
append_item (void *user, void *item, uint64_t index, uint64_t key)
{
  const ItemsOfTable *of = user;
  TesseraItems *to = of->items;
  size_t item_bytes = of->table->item_bytes;
  TesseraStatus status = TESSERA_OK;

  if (to->n >= to->most)
    status = TESSERA_BAD_INPUT;
  else if (!tessera_array_reserve (&to->items, &to->cap, to->n + 1, item_bytes))
    status = TESSERA_NO_MEMORY;
  if (status == TESSERA_OK)
    memcpy ((char *) to->items + to->n++ * item_bytes, item, item_bytes);
  else
    tessera_item_clear (of->table, item);
  return status;
}

TesseraStatus
tessera_read_items (TesseraRowReader *reader,
                    const TesseraTable *table,
                    TesseraItems *items)
{
  ItemsOfTable of = { table, items };

  return tessera_read_rows (reader, table, (TesseraScope){ 0 }, append_item, &of);
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
bind_or_null (sqlite3_stmt *statement, int place, bool is_null, uint64_t number)
{
  return is_null ? sqlite3_bind_null (statement, place)
                 : sqlite3_bind_int64 (statement, place, (sqlite3_int64) number);
}

static int
bind_value (sqlite3_stmt *statement,
            int place,
            const TesseraColumn *column,
            const char *at)
{
  switch (column->kind)
    {
    case TESSERA_COLUMN_U8:
    case TESSERA_COLUMN_FLAG:
      return sqlite3_bind_int (statement, place, *(const uint8_t *) at);
    case TESSERA_COLUMN_BOOL:
      return sqlite3_bind_int (statement, place, *(const bool *) at);
    case TESSERA_COLUMN_U16:
      return sqlite3_bind_int (statement, place, *(const uint16_t *) at);
    case TESSERA_COLUMN_U32:
      return sqlite3_bind_int64 (statement, place, *(const uint32_t *) at);
    case TESSERA_COLUMN_U32_OR_NONE:
      return bind_or_null (statement, place, *(const uint32_t *) at == TESSERA_NONE,
                           *(const uint32_t *) at);
    case TESSERA_COLUMN_BYTES_OR_ALL:
      return bind_or_null (statement, place, *(const uint64_t *) at == UINT64_MAX,
                           *(const uint64_t *) at);
    case TESSERA_COLUMN_REAL:
      return sqlite3_bind_double (statement, place, *(const double *) at);
    case TESSERA_COLUMN_TEXT:
    case TESSERA_COLUMN_TEXT_OR_NULL: /* NULL is NULL */
      return sqlite3_bind_text (statement, place, *(char *const *) at, -1, SQLITE_STATIC);
    case TESSERA_COLUMN_COUNT:
      return sqlite3_bind_int64 (statement, place, (sqlite3_int64) * (const size_t *) at);
    default: /* TESSERA_COLUMN_BYTES, TESSERA_COLUMN_BITS, TESSERA_COLUMN_NUMBER */
      return sqlite3_bind_int64 (statement, place, *(const int64_t *) at);
    }
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
  _Alignas(uint64_t) char scratch[TESSERA_SCRATCH_BYTES];
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
      if (rows->get)
        {
          rows->get (rows->items, i, scratch);
          item = scratch;
        }
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
  const TesseraScope scope = { .device = device, .at_end = rows->at_end };
  char sql[SQL_BYTES];
  sqlite3_stmt *statement = NULL;
  TesseraStatus status;
  int rc;

  if (rows->n_items == 0)
    return TESSERA_OK;
  compose_insert (rows->table, rows->replaces, sql);
  rc = sqlite3_prepare_v2 (writer->db, sql, -1, &statement, NULL);
  if (rc == SQLITE_OK)
    rc = bind (statement, rows->table, scope);
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
