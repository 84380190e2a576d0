/*
 * C structs as rows of a table: ranges of values and what reading has in common with
 * writing.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "db/store/rows.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db/lengths.h"
#include "db/plan.h"

void
tessera_limits_init (TesseraLimits *limits)
{
  memset (limits, 0, sizeof *limits);
  limits->below[TESSERA_LIMIT_NONE] = UINT64_MAX;
  limits->below[TESSERA_LIMIT_ACTIONS] = TESSERA_MARK + 1;
  limits->below[TESSERA_LIMIT_STATES] = TESSERA_BLOCK_LIVE + 1;
  limits->below[TESSERA_LIMIT_RANGE_KINDS] = TESSERA_RANGE_MODULE + 1;
  limits->below[TESSERA_LIMIT_CLASSES] = TESSERA_CLASS_DYNAMIC + 1;
  limits->below[TESSERA_LIMIT_GROUP_KINDS] = TESSERA_GROUP_HAND + 1;
  limits->below[TESSERA_LIMIT_PLACES] = TESSERA_PLACE_NONE + 1;
  limits->below[TESSERA_LIMIT_FOLLOWABLES] = TESSERA_FOLLOWABLE_YES + 1;
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
