/*
 * A trace file that grows: see db/live.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "db/live.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "db/array.h"
#include "db/store/private.h"

#define PAGE_BYTES 4096
/* Pages in the WAL before they move into the file: 16 MiB. More makes checkpoints rarer,
 * and the WAL that a kill leaves longer. */
#define CHECKPOINT_PAGES 4096

struct TesseraLive
{
  sqlite3 *db;
  char *path;    /* as the caller named it */
  char *real;    /* where it lies */
  dev_t storage; /* which file that was when it was made */
  ino_t inode;
  TesseraLimits limits; /* of what is in the file */
  uint32_t *devices;    /* number of each device in the file */
  size_t n_devices, cap_devices;
};

static TesseraStatus
fail_sqlite (const TesseraLive *live, sqlite3 *db, int rc, TesseraError *error)
{
  return tessera_fail_sqlite (error, db, rc, live->path, "write");
}

/* One statement with up to two numbers. */
static int
run (sqlite3 *db, const char *sql, int64_t first, int64_t second)
{
  sqlite3_stmt *statement = NULL;
  int rc = sqlite3_prepare_v2 (db, sql, -1, &statement, NULL);

  if (rc == SQLITE_OK)
    rc = sqlite3_bind_int64 (statement, 1, first);
  if (rc == SQLITE_OK && sqlite3_bind_parameter_count (statement) > 1)
    rc = sqlite3_bind_int64 (statement, 2, second);
  if (rc == SQLITE_OK)
    rc = sqlite3_step (statement);
  sqlite3_finalize (statement);
  return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* The device assumed at the beginning turned out to be another. */
static int
renumber_device (sqlite3 *db, uint32_t from, uint32_t to)
{
  static const char *const statements[] = {
    "UPDATE recording SET device = ?2 WHERE device = ?1",
    "UPDATE rounding SET device = ?2 WHERE device = ?1",
    "UPDATE stream SET device = ?2 WHERE device = ?1",
    "UPDATE pool SET device = ?2 WHERE device = ?1",
    "UPDATE range SET device = ?2 WHERE device = ?1",
    "UPDATE tensor SET device = ?2 WHERE device = ?1",
  };
  int rc = SQLITE_OK;

  for (size_t i = 0; rc == SQLITE_OK && i < sizeof statements / sizeof *statements; i++)
    rc = run (db, statements[i], from, to);
  return rc;
}

/* A device that comes later has the ranges of the others too. */
static int
copy_ranges (sqlite3 *db, uint32_t from, uint32_t to)
{
  return run (db,
              "INSERT INTO range SELECT ?2, range_index, name, kind, begin_index,"
              " end_index, begin_ns, end_ns, parent, is_inferred"
              " FROM range WHERE device = ?1",
              from, to);
}

static TesseraStatus
settle_devices (TesseraLive *live,
                sqlite3 *db,
                const TesseraLiveBatch *batch,
                TesseraError *error)
{
  int rc = SQLITE_OK;

  if (!TESSERA_RESERVE (live->devices, live->cap_devices, batch->n_devices))
    return fail_sqlite (live, NULL, SQLITE_NOMEM, error);
  for (size_t i = 0; rc == SQLITE_OK && i < batch->n_devices; i++)
    {
      uint32_t device = batch->devices[i].head->device;

      if (i < live->n_devices && live->devices[i] != device)
        rc = renumber_device (db, live->devices[i], device);
      else if (i >= live->n_devices && i > 0)
        rc = copy_ranges (db, live->devices[0], device);
      live->devices[i] = device;
    }
  live->n_devices = batch->n_devices;
  if (rc == SQLITE_OK && batch->ranges_later_ns)
    rc = run (db, "UPDATE range SET begin_ns = begin_ns + ?1, end_ns = end_ns + ?1",
              batch->ranges_later_ns, 0);
  return rc == SQLITE_OK ? TESSERA_OK : fail_sqlite (live, db, rc, error);
}

static TesseraStatus
write_names (TesseraLive *live, TesseraRowWriter *writer, const TesseraLiveBatch *batch)
{
  uint64_t *below = live->limits.below;
  const TesseraRows parts[] = {
    { &tessera_meta_table, .items = batch->meta, .n_items = batch->n_meta,
      .replaces = true },
    { &tessera_string_table, .items = batch->strings, .n_items = batch->n_strings,
      .first_key = below[TESSERA_LIMIT_STRINGS] },
    { &tessera_frame_table, .items = batch->frames, .n_items = batch->n_frames,
      .first_key = below[TESSERA_LIMIT_FRAMES] },
    { &tessera_stack_node_table, .items = batch->nodes, .n_items = batch->n_nodes,
      .first_key = below[TESSERA_LIMIT_NODES] },
    { &tessera_stack_table, .items = batch->stack_nodes, .n_items = batch->n_stacks,
      .first_key = below[TESSERA_LIMIT_STACKS] },
  };

  below[TESSERA_LIMIT_STRINGS] += batch->n_strings;
  below[TESSERA_LIMIT_FRAMES] += batch->n_frames;
  below[TESSERA_LIMIT_NODES] += batch->n_nodes;
  below[TESSERA_LIMIT_STACKS] += batch->n_stacks;
  for (size_t i = 0; i < batch->n_devices; i++)
    below[TESSERA_LIMIT_MOMENTS] += batch->devices[i].n_events;
  return tessera_write_rows (writer, 0, parts, LENGTH (parts));
}

static TesseraStatus
write_device (TesseraLive *live,
              TesseraRowWriter *writer,
              const TesseraLiveBatch *batch,
              size_t place)
{
  static const TesseraHeld nothing;
  const TesseraLiveDevice *device = &batch->devices[place];
  const TesseraTrace *head = device->head;
  const TesseraHeld *end = device->end ? device->end : &nothing;
  size_t n_if_news = device->has_news ? SIZE_MAX : 0;
  TesseraDeviceInfo info = { .device = head->device,
                             .n_events = head->n_events,
                             .n_segments = end->n_segments };
#define MIN(a, b) ((a) < (b) ? (a) : (b))
  const TesseraRows parts[] = {
    { &tessera_recording_table, .items = head, .n_items = 1, .first_key = place,
      .replaces = true },
    { &tessera_device_table, .items = &info, .n_items = 1, .first_key = place,
      .replaces = true },
    { &tessera_rounding_table, .items = head->settings.roundup_divisions,
      .n_items = MIN (LENGTH (head->settings.roundup_divisions), n_if_news),
      .replaces = true },
    { &tessera_stream_table, .items = head->streams,
      .n_items = MIN (head->n_streams, n_if_news), .replaces = true },
    { &tessera_pool_table, .items = head->pools,
      .n_items = MIN (head->n_pools, n_if_news), .replaces = true },
    { &tessera_event_table, .items = device->events, .n_items = device->n_events,
      .keys = device->event_indices },
    { &tessera_range_table, .items = batch->ranges, .n_items = batch->n_ranges,
      .keys = batch->range_indices, .replaces = true },
    { &tessera_tensor_table, .items = device->tensors, .n_items = device->n_tensors,
      .first_key = head->n_tensors - device->n_tensors },
    { &tessera_segment_table, .items = head->start.segments,
      .n_items = MIN (head->start.n_segments, n_if_news), .replaces = true },
    { &tessera_held_block_table, .items = head->start.blocks,
      .n_items = MIN (head->start.n_blocks, n_if_news), .replaces = true },
    { &tessera_segment_table, .items = end->segments, .n_items = end->n_segments,
      .at_end = true },
    { &tessera_held_block_table, .items = end->blocks, .n_items = end->n_blocks,
      .at_end = true },
  };
#undef MIN

  live->limits.below[TESSERA_LIMIT_STREAMS] = head->n_streams;
  live->limits.below[TESSERA_LIMIT_POOLS] = head->n_pools;
  return tessera_write_rows (writer, head->device, parts, LENGTH (parts));
}

/* In a transaction that the caller began. */
static TesseraStatus
write_batch (TesseraLive *live,
             sqlite3 *db,
             const TesseraLiveBatch *batch,
             TesseraError *error)
{
  TesseraRowWriter writer = {
    .db = db, .path = live->path, .limits = &live->limits, .error = error
  };
  TesseraStatus status = settle_devices (live, db, batch, error);

  if (status == TESSERA_OK)
    status = write_names (live, &writer, batch);
  for (size_t i = 0; status == TESSERA_OK && i < batch->n_devices; i++)
    status = write_device (live, &writer, batch, i);
  return status;
}

/* The file was made whole by now. Journals of the mode that is left could not be read
 * along after a kill, so there are none: the change of mode is one write of one page. */
static int
enter_wal (TesseraLive *live, const char *vfs)
{
  char pragmas[256];
  int rc = sqlite3_open_v2 (live->real, &live->db,
                            SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, vfs);

  if (rc == SQLITE_OK)
    rc = sqlite3_extended_result_codes (live->db, 1);
  snprintf (pragmas, sizeof pragmas,
            "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = OFF;"
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
            "PRAGMA wal_autocheckpoint = %d; PRAGMA temp_store = MEMORY;"
            "PRAGMA trusted_schema = OFF",
            CHECKPOINT_PAGES);
  if (rc == SQLITE_OK)
    rc = sqlite3_exec (live->db, pragmas, NULL, NULL, NULL);
  return rc;
}

static bool
cannot_lock (int rc)
{
  return rc == SQLITE_IOERR_LOCK || rc == SQLITE_IOERR_RDLOCK ||
         rc == SQLITE_IOERR_CHECKRESERVEDLOCK;
}

/* Some cluster file systems know no locks: then without. */
static TesseraStatus
reopen (TesseraLive *live, TesseraError *error)
{
  char real[PATH_MAX];
  struct stat info;
  int rc;

  if (!realpath (live->path, real))
    return fail_sqlite (live, NULL, SQLITE_CANTOPEN, error);
  live->real = strdup (real);
  if (!live->real)
    return fail_sqlite (live, NULL, SQLITE_NOMEM, error);
  rc = enter_wal (live, NULL);

  if (cannot_lock (rc))
    {
      sqlite3_close (live->db);
      rc = enter_wal (live, "unix-none");
    }
  if (rc != SQLITE_OK)
    return fail_sqlite (live, live->db, rc, error);
  if (stat (live->real, &info) != 0)
    return fail_sqlite (live, NULL, SQLITE_CANTOPEN, error);
  live->storage = info.st_dev;
  live->inode = info.st_ino;
  return TESSERA_OK;
}

static void
live_free (TesseraLive *live)
{
  sqlite3_close (live->db);
  free (live->path);
  free (live->real);
  free (live->devices);
  free (live);
}

TesseraStatus
tessera_live_claim (const char *path,
                    bool overwrites,
                    TesseraError *error,
                    int *out_claim)
{
  int failure = tessera_output_check (path);
  struct stat there;
  TesseraStatus status;

  *out_claim = -1;
  if (failure == ENOMEM)
    return tessera_fail_sqlite (error, NULL, SQLITE_NOMEM, path, "write");
  if (failure)
    return tessera_fail (error, TESSERA_IO, "Cannot write %s: %s", path,
                         strerror (failure));
  if (stat (path, &there) != 0)
    return TESSERA_OK;
  if (!S_ISREG (there.st_mode))
    return tessera_fail (error, TESSERA_IO,
                         "Cannot write %s: it is not a file but a device or pipe", path);
  if (there.st_size > 0 && !overwrites && tessera_file_kind (path) != TESSERA_FILE_TRACE)
    return tessera_fail (error, TESSERA_IO,
                         "Cannot write %s: a file that is no trace would be lost; name"
                         " another file, or overwrite it with TESSERA_FORCE=1",
                         path);
  status = tessera_file_check_idle (path, error);
  if (status == TESSERA_OK && (*out_claim = tessera_file_claim (path)) < 0)
    status = tessera_file_check_idle (path, error); /* another one was faster */
  return status;
}

TesseraStatus
tessera_live_create (const char *path,
                     const TesseraLiveBatch *batch,
                     TesseraError *error,
                     TesseraLive **out_live)
{
  TesseraLive *live = calloc (1, sizeof *live);
  TesseraNewFile file = { 0 };
  TesseraStatus status = TESSERA_OK;

  *out_live = NULL;
  if (!live || !(live->path = strdup (path)))
    {
      free (live);
      return tessera_fail_sqlite (error, NULL, SQLITE_NOMEM, path, "write");
    }
  live->limits.below[TESSERA_LIMIT_MOMENTS] = 1;
  status = tessera_file_check_idle (path, error);
  if (status == TESSERA_OK)
    status =
        tessera_new_file_create (&file, path, &tessera_trace_format, PAGE_BYTES, error);
  if (status == TESSERA_OK)
    status = tessera_new_file_finish (&file, write_batch (live, file.db, batch, error));
  if (status == TESSERA_OK)
    status = reopen (live, error);
  if (status == TESSERA_OK)
    *out_live = live;
  else
    live_free (live);
  return status;
}

/* SQLite would go on writing into a file that nobody can find any more. */
static TesseraStatus
check_there (const TesseraLive *live, TesseraError *error)
{
  struct stat info;

  if (stat (live->real, &info) == 0 && info.st_dev == live->storage &&
      info.st_ino == live->inode)
    return TESSERA_OK;
  return tessera_fail (error, TESSERA_IO,
                       "Cannot write %s: the file was removed or replaced", live->path);
}

/* SQLite does not keep the system's reason of a failed commit. */
static TesseraStatus
commit (const TesseraLive *live, TesseraError *error)
{
  int rc;

  errno = 0;
  rc = sqlite3_exec (live->db, "COMMIT", NULL, NULL, NULL);
  if (rc == SQLITE_OK)
    return TESSERA_OK;
  if ((rc & 0xff) == SQLITE_IOERR && errno && errno != EFBIG)
    return tessera_fail (error, TESSERA_IO, "Cannot write %s: %s", live->path,
                         strerror (errno));
  return fail_sqlite (live, live->db, rc, error);
}

TesseraStatus
tessera_live_write (TesseraLive *live, const TesseraLiveBatch *batch, TesseraError *error)
{
  TesseraStatus status = check_there (live, error);
  int rc;

  if (status != TESSERA_OK)
    return status;
  rc = sqlite3_exec (live->db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
  if (rc != SQLITE_OK)
    return fail_sqlite (live, live->db, rc, error);
  status = write_batch (live, live->db, batch, error);
  if (status == TESSERA_OK)
    status = commit (live, error);
  if (status != TESSERA_OK)
    sqlite3_exec (live->db, "ROLLBACK", NULL, NULL, NULL);
  return status;
}

TesseraStatus
tessera_live_close (TesseraLive *live, TesseraError *error)
{
  TesseraStatus status = check_there (live, error);
  int rc = SQLITE_OK;

  /* not DELETE: see enter_wal() */
  if (status == TESSERA_OK)
    rc = sqlite3_exec (live->db, "PRAGMA journal_mode = MEMORY", NULL, NULL, NULL);
  if (rc != SQLITE_OK)
    status = fail_sqlite (live, live->db, rc, error);
  live_free (live);
  return status;
}
