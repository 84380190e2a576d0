/*
 * A trace or plan file as a whole: whose it is, of which version, whether it is whole;
 * its tables; how a new one is written beside its target, then renamed over it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "db/store/private.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "db/schema.sql.h"

/* SQLite's file header: https://www.sqlite.org/fileformat.html, 1.3. Big-endian. */
#define HEADER_BYTES 100
#define MAGIC "SQLite format 3"
#define AT_PAGE_BYTES 16 /* two bytes; 1 stands for 65536 */
#define AT_READ_VERSION 19
#define AT_N_PAGES 28
#define AT_USER_VERSION 60
#define AT_APPLICATION_ID 68
#define WAL_VERSION 2

typedef struct
{
  unsigned char bytes[HEADER_BYTES];
  size_t n_bytes; /* how much of it there was */
  uint64_t file_bytes;
} Header;

static uint32_t
number_at (const Header *header, size_t at)
{
  const unsigned char *bytes = header->bytes + at;

  return (uint32_t) bytes[0] << 24 | (uint32_t) bytes[1] << 16 |
         (uint32_t) bytes[2] << 8 | bytes[3];
}

/* Returns: 0 or an errno. What is not a plain file cannot be one of ours; opening a pipe
 * must not wait for its writer. */
static int
read_header (const char *path, Header *header)
{
  struct stat info;
  int fd = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), failure = 0;

  memset (header, 0, sizeof *header);
  if (fd < 0)
    return errno;
  if (fstat (fd, &info) != 0)
    failure = errno;
  else if (!S_ISREG (info.st_mode))
    failure = S_ISDIR (info.st_mode) ? EISDIR : ESPIPE;
  else
    {
      ssize_t n_bytes = read (fd, header->bytes, HEADER_BYTES);

      failure = n_bytes < 0 ? errno : 0;
      header->n_bytes = n_bytes < 0 ? 0 : (size_t) n_bytes;
      header->file_bytes = (uint64_t) info.st_size;
    }
  close (fd);
  return failure;
}

TesseraFileKind
tessera_file_kind (const char *path)
{
  Header header;
  uint32_t id;

  if (read_header (path, &header) != 0 || header.n_bytes < HEADER_BYTES ||
      memcmp (header.bytes, MAGIC, sizeof MAGIC) != 0)
    return TESSERA_FILE_OTHER;
  id = number_at (&header, AT_APPLICATION_ID);
  return id == TESSERA_TRACE_APPLICATION_ID  ? TESSERA_FILE_TRACE
         : id == TESSERA_PLAN_APPLICATION_ID ? TESSERA_FILE_PLAN
                                             : TESSERA_FILE_OTHER;
}

static TesseraStatus
refuse_owner (const char *path,
              const TesseraFormat *format,
              uint32_t application_id,
              TesseraError *error)
{
  const TesseraFormat *other =
      format == &tessera_trace_format ? &tessera_plan_format : &tessera_trace_format;

  if (application_id == other->application_id)
    return tessera_fail (error, TESSERA_FOREIGN,
                         "%s is a Tessera %s, but a %s is needed here", path, other->noun,
                         format->noun);
  return tessera_fail (error, TESSERA_FOREIGN,
                       "%s is an SQLite database of another program (application_id"
                       " 0x%08x), not a Tessera %s%s",
                       path, application_id, format->noun,
                       format == &tessera_trace_format
                           ? "; of PyTorch a snapshot is read as "
                             "torch.cuda.memory._dump_snapshot() writes it"
                           : "");
}

static TesseraStatus
check_whole (const char *path, const Header *header, TesseraError *error)
{
  uint64_t page_bytes = number_at (header, AT_PAGE_BYTES) >> 16;
  uint64_t wanted_bytes =
      (page_bytes == 1 ? 65536 : page_bytes) * number_at (header, AT_N_PAGES);

  if (header->n_bytes == HEADER_BYTES && header->file_bytes >= wanted_bytes)
    return TESSERA_OK;
  return tessera_fail (
      error, TESSERA_BAD_INPUT,
      "%s is cut short: it has %llu of %llu bytes; copy or make it again", path,
      (unsigned long long) header->file_bytes, (unsigned long long) wanted_bytes);
}

static bool
has_companion (const char *path, const char *suffix)
{
  char name[PATH_MAX];
  int n_bytes = snprintf (name, sizeof name, "%s%s", path, suffix);

  return (size_t) n_bytes >= sizeof name || access (name, F_OK) == 0;
}

/* SQLite locks bytes from 2^30 on: https://www.sqlite.org/fileformat.html, 1.4. Asking
 * for a reader's lock takes none and finds writers alone. */
#define LOCKS_AT (1 << 30)
#define LOCKS_BYTES 512

TesseraStatus
tessera_file_check_idle (const char *path, TesseraError *error)
{
  struct flock lock = {
    .l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = LOCKS_AT, .l_len = LOCKS_BYTES
  };
  int fd = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  bool is_locked;

  if (fd < 0)
    return TESSERA_OK; /* who reads or writes it will say why not */
  is_locked = fcntl (fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
  close (fd);
  if (!is_locked)
    return TESSERA_OK;
  return tessera_fail (error, TESSERA_IO,
                       "%s is being recorded by process %ld: wait for its end, or name"
                       " another file",
                       path, (long) lock.l_pid);
}

int
tessera_file_claim (const char *path)
{
  struct flock lock = {
    .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = LOCKS_AT, .l_len = LOCKS_BYTES
  };
  int fd = open (path, O_RDWR | O_CLOEXEC | O_NONBLOCK);

  if (fd >= 0 && fcntl (fd, F_SETLK, &lock) != 0)
    {
      close (fd);
      fd = -1;
    }
  return fd;
}

/* A recorder adds to the WAL, which is read along as far as it went; what would mix two
 * states is pages that it moves from there into the file, and a WAL begun anew, whose
 * header has other salts: https://www.sqlite.org/fileformat.html, 4.1. */
TesseraFileState
tessera_file_state (const char *path)
{
  TesseraFileState state = { 0 };
  struct stat info;
  char name[PATH_MAX];
  int fd = -1;

  if (stat (path, &info) == 0)
    {
      state.inode = (uint64_t) info.st_ino;
      state.size_bytes = (uint64_t) info.st_size;
      state.changed_s = (int64_t) info.st_mtim.tv_sec;
      state.changed_ns = (int64_t) info.st_mtim.tv_nsec;
    }
  if ((size_t) snprintf (name, sizeof name, "%s-wal", path) < sizeof name)
    fd = open (name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd >= 0)
    {
      (void) !read (fd, state.wal_header, sizeof state.wal_header);
      close (fd);
    }
  return state;
}

static TesseraStatus
check_header (const char *path, const TesseraFormat *format, TesseraError *error)
{
  Header header;
  uint32_t version;
  int failure = read_header (path, &header);

  if (failure == ESPIPE)
    return tessera_fail (error, TESSERA_IO,
                         "Cannot read %s: it is not a file but a device or pipe", path);
  if (failure)
    return tessera_fail (error, TESSERA_IO, "Cannot read %s: %s", path,
                         strerror (failure));
  if (header.file_bytes == 0)
    return tessera_fail (error, TESSERA_FOREIGN, "%s is empty, not a Tessera %s", path,
                         format->noun);
  if (memcmp (header.bytes, MAGIC,
              header.n_bytes < sizeof MAGIC ? header.n_bytes : sizeof MAGIC) != 0)
    return tessera_fail (error, TESSERA_FOREIGN,
                         "%s is not a Tessera %s: it does not begin like one", path,
                         format->noun);
  if (header.n_bytes < HEADER_BYTES)
    return check_whole (path, &header, error);
  if (number_at (&header, AT_APPLICATION_ID) != format->application_id)
    return refuse_owner (path, format, number_at (&header, AT_APPLICATION_ID), error);
  version = number_at (&header, AT_USER_VERSION);
  if (version != TESSERA_FORMAT_VERSION)
    return tessera_fail (error, TESSERA_BAD_INPUT,
                         "%s is a %s of another version of Tessera (format %u; this one"
                         " reads format %u): %s",
                         path, format->noun, version, TESSERA_FORMAT_VERSION,
                         format->remedy);
  /* a live or killed recorder's pages may lie in the WAL yet */
  return has_companion (path, "-wal") ? TESSERA_OK : check_whole (path, &header, error);
}

/* What a file holds must not run: no views, no triggers, no functions with effects. */
static int
make_wary (sqlite3 *db)
{
  static const int switches[][2] = { { SQLITE_DBCONFIG_DEFENSIVE, 1 },
                                     { SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0 },
                                     { SQLITE_DBCONFIG_ENABLE_TRIGGER, 0 },
                                     { SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1 },
                                     { SQLITE_DBCONFIG_ENABLE_VIEW, 0 } };

  for (size_t i = 0; i < sizeof switches / sizeof *switches; i++)
    {
      int rc = sqlite3_db_config (db, switches[i][0], switches[i][1], NULL);

      if (rc != SQLITE_OK)
        return rc;
    }
  /* exclusive: the index of a WAL needs no shared memory, so no file beside it */
  return sqlite3_exec (db,
                       "PRAGMA cell_size_check = ON; PRAGMA temp_store = MEMORY;"
                       "PRAGMA locking_mode = EXCLUSIVE",
                       NULL, NULL, NULL);
}

/* The file as a URI. Without a journal beside it nobody is changing it (we replace files
 * whole), so it is opened immutable: no locks, nothing left behind, read-only media. With
 * a WAL it is being recorded, or was when its recorder was killed: read along without
 * locks, also from read-only media. */
static char *
dup_uri (const char *path)
{
  static const char digits[] = "0123456789ABCDEF";
  const char *query = has_companion (path, "-wal")       ? "?vfs=unix-none"
                      : has_companion (path, "-journal") ? ""
                                                         : "?immutable=1";
  char *uri = malloc (3 * strlen (path) + 32), *at = uri;

  if (!uri)
    return NULL;
  at += sprintf (at, "file:%s", *path == '/' ? "//" : "");
  for (; *path; path++)
    if (strchr ("%?#", *path))
      {
        *at++ = '%';
        *at++ = digits[(unsigned char) *path >> 4];
        *at++ = digits[*path & 0xf];
      }
    else
      *at++ = *path;
  strcpy (at, query);
  return uri;
}

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

/* The format's SQL has each table's text as SQLite keeps it: from the begin of a line up to
 * the semicolon behind the line that begins with a bracket. A table that only has the right name
 * could be a view that never ends. Further tables do no harm. */
static TesseraStatus
check_schema (sqlite3 *db,
              const TesseraFormat *format,
              const char *path,
              TesseraError *error)
{
  sqlite3_stmt *wanted = NULL;
  TesseraStatus status = TESSERA_OK;
  int rc = sqlite3_prepare_v2 (db,
                               "SELECT count(*) = 1 AND max(sql = ?2 AND type = 'table')"
                               " FROM sqlite_schema WHERE name = ?1 COLLATE NOCASE",
                               -1, &wanted, NULL);

  for (const char *table = format->sql;
       rc == SQLITE_OK && (table = strstr (table, "\nCREATE TABLE ")) != NULL;)
    {
      const char *name = ++table + strlen ("CREATE TABLE ");
      const char *end = strchr (strstr (name, "\n)"), ';');
      int n_name = (int) strcspn (name, " ");

      rc = sqlite3_bind_text (wanted, 1, name, n_name, SQLITE_STATIC);
      if (rc == SQLITE_OK)
        rc = sqlite3_bind_text (wanted, 2, table, (int) (end - table), SQLITE_STATIC);
      if (rc == SQLITE_OK)
        rc = sqlite3_step (wanted);
      if (rc == SQLITE_ROW && !sqlite3_column_int (wanted, 0))
        status = tessera_fail (error, TESSERA_BAD_INPUT,
                               "%s is damaged or of another version of Tessera (its table"
                               " %.*s is not as this one makes it): %s",
                               path, n_name, name, format->remedy);
      else if (rc == SQLITE_ROW)
        rc = sqlite3_reset (wanted);
    }
  if (status == TESSERA_OK && rc != SQLITE_OK)
    status = tessera_fail_sqlite (error, db, rc, path, "read");
  sqlite3_finalize (wanted);
  return status;
}

TesseraStatus
tessera_file_open (const char *path,
                   const TesseraFormat *format,
                   TesseraError *error,
                   sqlite3 **out_db)
{
  sqlite3 *db = NULL;
  TesseraStatus status = check_header (path, format, error);
  char *uri;
  int rc = SQLITE_NOMEM;

  *out_db = NULL;
  if (status != TESSERA_OK)
    return status;
  uri = dup_uri (path);
  if (uri)
    rc = sqlite3_open_v2 (
        uri, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, NULL);
  free (uri);
  if (rc == SQLITE_OK)
    rc = make_wary (db);
  status = rc == SQLITE_OK ? check_schema (db, format, path, error)
                           : tessera_fail_sqlite (error, db, rc, path, "read");
  if (status != TESSERA_OK)
    sqlite3_close (db);
  else
    *out_db = db;
  return status;
}

static TesseraStatus
fail_sqlite (const TesseraNewFile *file, int rc)
{
  return tessera_fail_sqlite (file->error, file->db, rc, file->path, "write");
}

static void
discard (TesseraNewFile *file)
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
    discard (file);
  return status;
}

TesseraStatus
tessera_new_file_create (TesseraNewFile *file,
                         const char *path,
                         const TesseraFormat *format,
                         unsigned page_bytes,
                         TesseraError *error)
{
  char pragmas[96];
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
    rc = sqlite3_exec (file->db, format->sql, NULL, NULL, NULL);
  snprintf (pragmas, sizeof pragmas,
            "PRAGMA application_id = %u; PRAGMA user_version = %u",
            format->application_id, TESSERA_FORMAT_VERSION);
  if (rc == SQLITE_OK)
    rc = sqlite3_exec (file->db, pragmas, NULL, NULL, NULL);
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
  TesseraStatus status = tessera_file_check_idle (path, error);
  int rc;

  *file = (TesseraNewFile){ .path = path, .error = error };
  if (status == TESSERA_OK)
    status = tessera_file_open (path, format, error, &from);
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

static TesseraStatus
commit (TesseraNewFile *file)
{
  int rc = sqlite3_exec (file->db, "COMMIT", NULL, NULL, NULL), failure = 0;
  TesseraStatus status;

  if (rc != SQLITE_OK)
    return settle (file, fail_sqlite (file, rc));
  rc = sqlite3_close (file->db);
  file->db = NULL;
  if (rc == SQLITE_OK && !file->output.is_stream &&
      (has_companion (file->output.target, "-journal") ||
       has_companion (file->output.target, "-wal")))
    rc = bring_in_journals (file->output.target);
  if (rc != SQLITE_OK)
    return settle (file, fail_sqlite (file, rc));
  if (!file->output.is_stream)
    failure = remove_journals (file->output.target);
  if (failure)
    return settle (file, tessera_fail (file->error, TESSERA_IO, "Cannot write %s: %s",
                                       file->path, strerror (failure)));
  status = tessera_output_commit (&file->output, file->path, file->error);
  memset (file, 0, sizeof *file);
  return status;
}

TesseraStatus
tessera_new_file_finish (TesseraNewFile *file, TesseraStatus status)
{
  return status == TESSERA_OK ? commit (file) : settle (file, status);
}

/* Network file systems lock only what is open for writing, a snapshot may be open for
 * reading alone. */
static int
open_for_lock (const char *path)
{
  int fd = open (path, O_RDWR | O_CLOEXEC | O_NONBLOCK);

  return fd < 0 && errno != ENOENT ? open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : fd;
}

/* A writer replaces the file: who waited for the lock holds that of the old one. */
static bool
is_still_at (int fd, const char *path)
{
  struct stat locked, there;

  return fstat (fd, &locked) == 0 && stat (path, &there) == 0 &&
         locked.st_dev == there.st_dev && locked.st_ino == there.st_ino;
}

TesseraStatus
tessera_file_lock (const char *path, TesseraError *error, int *out_lock)
{
  int fd;

  *out_lock = -1;
  while ((fd = open_for_lock (path)) >= 0)
    {
      while (flock (fd, LOCK_EX) != 0 && errno == EINTR)
        continue;
      if (is_still_at (fd, path))
        {
          *out_lock = fd;
          return TESSERA_OK;
        }
      close (fd);
    }
  return tessera_fail (error, TESSERA_IO, "Cannot open %s: %s", path, strerror (errno));
}

void
tessera_file_unlock (int lock)
{
  if (lock >= 0)
    close (lock);
}
