/*
 * Writing a trace or plan file: beside its target, then renamed over it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "db/store/file.h"
#include "db/store/rows.h"

static TesseraStatus
fail_system (const TesseraNewFile *file, int number)
{
  return tessera_fail (file->error, TESSERA_IO, "Cannot write %s: %s", file->path,
                       strerror (number));
}

static TesseraStatus
fail_sqlite (const TesseraNewFile *file, int rc)
{
  return tessera_fail_sqlite (file->error, file->db, rc, file->path, "write");
}

void
tessera_new_file_discard (TesseraNewFile *file)
{
  sqlite3_close (file->db);
  tessera_output_discard (&file->output);
  memset (file, 0, sizeof *file);
}

/* Nobody else sees the file before the rename: no journal, no locks, one sync at the end.
 */
static int
open_temporary (TesseraNewFile *file, unsigned page_bytes)
{
  char pragmas[224];
  int rc = sqlite3_open_v2 (file->output.temporary, &file->db,
                            SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);

  if (rc != SQLITE_OK)
    return rc;
  snprintf (pragmas, sizeof pragmas,
            "PRAGMA page_size = %u; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
            "PRAGMA locking_mode = EXCLUSIVE; PRAGMA temp_store = MEMORY;"
            "PRAGMA trusted_schema = OFF",
            page_bytes);
  return sqlite3_exec (file->db, pragmas, NULL, NULL, NULL);
}

static TesseraStatus
settle (TesseraNewFile *file, TesseraStatus status)
{
  if (status != TESSERA_OK)
    tessera_new_file_discard (file);
  return status;
}

TesseraStatus
tessera_new_file_create (TesseraNewFile *file,
                         const char *path,
                         const TesseraFormat *format,
                         unsigned page_bytes,
                         TesseraError *error)
{
  TesseraStatus status;
  int rc;

  *file = (TesseraNewFile){ .path = path, .error = error };
  status = tessera_output_begin (&file->output, path, error);
  if (status != TESSERA_OK)
    return settle (file, status);
  rc = open_temporary (file, page_bytes);
  if (rc == SQLITE_OK)
    rc = sqlite3_exec (file->db, "BEGIN", NULL, NULL, NULL);
  if (rc == SQLITE_OK)
    rc = tessera_schema_create (file->db, format);
  return settle (file, rc == SQLITE_OK ? TESSERA_OK : fail_sqlite (file, rc));
}

/* Every page of @from into @to. Returns: what SQLite says. */
static int
copy_pages (sqlite3 *from, sqlite3 *to)
{
  sqlite3_backup *backup = sqlite3_backup_init (to, "main", from, "main");

  if (!backup)
    return sqlite3_errcode (to);
  sqlite3_backup_step (backup, -1);
  return sqlite3_backup_finish (backup);
}

TesseraStatus
tessera_new_file_copy (TesseraNewFile *file,
                       const char *path,
                       const TesseraFormat *format,
                       TesseraError *error)
{
  sqlite3 *from = NULL;
  TesseraStatus status = tessera_file_open (path, format, error, &from);
  int rc;

  *file = (TesseraNewFile){ .path = path, .error = error };
  if (status != TESSERA_OK)
    return status;
  status = tessera_output_begin (&file->output, path, error);
  if (status == TESSERA_OK)
    {
      rc = open_temporary (file, 4096);
      if (rc == SQLITE_OK)
        rc = copy_pages (from, file->db);
      if (rc == SQLITE_OK)
        rc = sqlite3_db_config (file->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
      if (rc == SQLITE_OK)
        rc = sqlite3_exec (file->db, "BEGIN", NULL, NULL, NULL);
      status = rc == SQLITE_OK ? TESSERA_OK : fail_sqlite (file, rc);
    }
  sqlite3_close (from);
  return settle (file, status);
}

/* What a journal beside the target holds goes into the target itself, by SQLite's rules:
 * else the file would be without it between the removal of the journal and the rename.
 * The change of mode is one write of one page: a journal of its own, left by a full disk,
 * would make the file unreadable. What is no database has nothing to lose. Returns: what
 * SQLite says. */
static int
bring_in_journals (const char *target)
{
  sqlite3 *db = NULL;
  int rc =
      sqlite3_open_v2 (target, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);

  if (rc == SQLITE_OK)
    rc = sqlite3_exec (db,
                       "PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE; ROLLBACK;"
                       "PRAGMA journal_mode = MEMORY",
                       NULL, NULL, NULL);
  sqlite3_close (db);
  return rc == SQLITE_NOTADB || rc == SQLITE_CORRUPT ? SQLITE_OK : rc;
}

/* Returns: 0 or an errno. */
static int
remove_journals (const char *target)
{
  static const char *const suffixes[] = { "-wal", "-shm", "-journal" };
  char name[PATH_MAX + 16];

  for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
    {
      snprintf (name, sizeof name, "%s%s", target, suffixes[i]);
      if (unlink (name) != 0 && errno != ENOENT)
        return errno;
    }
  return 0;
}

TesseraStatus
tessera_new_file_commit (TesseraNewFile *file)
{
  int rc = sqlite3_exec (file->db, "COMMIT", NULL, NULL, NULL), failure = 0;
  TesseraStatus status;

  if (rc != SQLITE_OK)
    return settle (file, fail_sqlite (file, rc));
  rc = sqlite3_close (file->db);
  file->db = NULL;
  if (rc == SQLITE_OK && !file->output.is_stream &&
      !tessera_file_is_at_rest (file->output.target))
    rc = bring_in_journals (file->output.target);
  if (rc != SQLITE_OK)
    return settle (file, fail_sqlite (file, rc));
  if (!file->output.is_stream)
    failure = remove_journals (file->output.target);
  if (failure)
    return settle (file, fail_system (file, failure));
  status = tessera_output_commit (&file->output, file->path, file->error);
  memset (file, 0, sizeof *file);
  return status;
}
