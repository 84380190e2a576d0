/*
 * The tables of both files.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "db/store/schema.h"

#include <stdio.h>
#include <string.h>

#include "db/store/rows.h"
#include "db/schema.sql.h"
#include "db/store.h"

const TesseraFormat tessera_trace_format = {
  .application_id = TESSERA_TRACE_APPLICATION_ID,
  .noun = "trace",
  .remedy = "make it again with tessera record, tessera dry-run or tessera import",
  .sql = TESSERA_SQL_TRACE,
};
const TesseraFormat tessera_plan_format = {
  .application_id = TESSERA_PLAN_APPLICATION_ID,
  .noun = "plan",
  .remedy = "make it again with tessera plan",
  .sql = TESSERA_SQL_PLAN,
};

int
tessera_schema_create (sqlite3 *db, const TesseraFormat *format)
{
  char pragmas[96];
  int rc = sqlite3_exec (db, format->sql, NULL, NULL, NULL);

  snprintf (pragmas, sizeof pragmas,
            "PRAGMA application_id = %u; PRAGMA user_version = %u",
            format->application_id, TESSERA_FORMAT_VERSION);
  return rc == SQLITE_OK ? sqlite3_exec (db, pragmas, NULL, NULL, NULL) : rc;
}

/* Looks table after table of @model up in the file. Returns: what SQLite says; the first
 * name that differs goes to @out_name, which has @name_bytes. */
static int
compare_tables (sqlite3 *model, sqlite3_stmt *wanted, char *out_name, size_t name_bytes)
{
  sqlite3_stmt *tables = NULL;
  int rc = sqlite3_prepare_v2 (model,
                               "SELECT name, sql FROM sqlite_schema"
                               " WHERE type = 'table' AND sql IS NOT NULL",
                               -1, &tables, NULL);

  while (rc == SQLITE_OK && (rc = sqlite3_step (tables)) == SQLITE_ROW)
    {
      rc = sqlite3_bind_value (wanted, 1, sqlite3_column_value (tables, 0));
      if (rc == SQLITE_OK)
        rc = sqlite3_bind_value (wanted, 2, sqlite3_column_value (tables, 1));
      if (rc == SQLITE_OK)
        rc = sqlite3_step (wanted);
      if (rc == SQLITE_ROW && !sqlite3_column_int (wanted, 0))
        {
          snprintf (out_name, name_bytes, "%s", sqlite3_column_text (tables, 0));
          break;
        }
      if (rc == SQLITE_ROW)
        rc = sqlite3_reset (wanted);
    }
  sqlite3_finalize (tables);
  return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

TesseraStatus
tessera_schema_check (sqlite3 *db,
                      const TesseraFormat *format,
                      const char *path,
                      TesseraError *error)
{
  sqlite3 *model = NULL;
  sqlite3_stmt *wanted = NULL;
  char differs[64] = "";
  TesseraStatus status = TESSERA_OK;
  int rc = sqlite3_open_v2 (":memory:", &model,
                            SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);

  if (rc == SQLITE_OK)
    rc = tessera_schema_create (model, format);
  if (rc == SQLITE_OK)
    rc = sqlite3_prepare_v2 (db,
                             "SELECT count(*) = 1 AND max(sql = ?2 AND type = 'table')"
                             " FROM sqlite_schema WHERE name = ?1 COLLATE NOCASE",
                             -1, &wanted, NULL);
  if (rc == SQLITE_OK)
    rc = compare_tables (model, wanted, differs, sizeof differs);
  if (rc != SQLITE_OK)
    status = tessera_fail_sqlite (error, db, rc, path, "read");
  else if (*differs)
    status = tessera_fail (error, TESSERA_BAD_INPUT,
                           "%s is damaged or of another version of Tessera (its table %s"
                           " is not as this one makes it): %s",
                           path, differs, format->remedy);
  sqlite3_finalize (wanted);
  sqlite3_close (model);
  return status;
}
