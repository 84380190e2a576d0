/*
 * Trace and plan files when memory, disk or the operating system fail: the k-th
 * allocation, the k-th write, the sync and the rename, for every k.
 *
 * SQLite gets its memory, its pwrite() and its pread() from here. It allocates thousands
 * of times a file: of those, each STRIDE-th is made to fail, or each with -m slow.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "db/store.h"

#include <errno.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/db/test-place.h"
#include "tests/db/test-traces.h"
#include "tests/fail_alloc.h"
#include "tests/ok.h"

#define SEED 20240517
#define STRIDE 29

int __real_fsync (int fd);
int __real_rename (const char *from, const char *to);
int __wrap_fsync (int fd);
int __wrap_rename (const char *from, const char *to);

/* Calls of each kind until the one that fails with @number; 0: not armed. */
typedef struct
{
  long n_left;
  int number;
  bool has_failed;
} Fault;

static Fault sqlite_fault, write_fault, read_fault, fsync_fault, rename_fault;
static long n_sqlite_held; /* blocks that SQLite has */

static bool
strike (Fault *fault)
{
  if (fault->n_left <= 0 || --fault->n_left > 0)
    return false;
  fault->has_failed = true;
  errno = fault->number;
  return true;
}

int
__wrap_fsync (int fd)
{
  return strike (&fsync_fault) ? -1 : __real_fsync (fd);
}

int
__wrap_rename (const char *from, const char *to)
{
  return strike (&rename_fault) ? -1 : __real_rename (from, to);
}

static ssize_t
faulty_pwrite (int fd, const void *bytes, size_t n_bytes, off_t offset)
{
  return strike (&write_fault) ? -1 : pwrite (fd, bytes, n_bytes, offset);
}

static ssize_t
faulty_pread (int fd, void *bytes, size_t n_bytes, off_t offset)
{
  return strike (&read_fault) ? -1 : pread (fd, bytes, n_bytes, offset);
}

/* SQLite's own allocator, some of whose calls fail. */
static sqlite3_mem_methods sqlites;

static void *
faulty_malloc (int n_bytes)
{
  void *block = strike (&sqlite_fault) ? NULL : sqlites.xMalloc (n_bytes);

  n_sqlite_held += block != NULL;
  return block;
}

static void *
faulty_realloc (void *block, int n_bytes)
{
  return strike (&sqlite_fault) ? NULL : sqlites.xRealloc (block, n_bytes);
}

static void
counted_free (void *block)
{
  n_sqlite_held--;
  sqlites.xFree (block);
}

static void
take_over_sqlite (void)
{
  g_assert_cmpint (sqlite3_config (SQLITE_CONFIG_GETMALLOC, &sqlites), ==, SQLITE_OK);
  sqlite3_mem_methods methods = sqlites;
  methods.xMalloc = faulty_malloc;
  methods.xRealloc = faulty_realloc;
  methods.xFree = counted_free;
  g_assert_cmpint (sqlite3_config (SQLITE_CONFIG_MALLOC, &methods), ==, SQLITE_OK);
  g_assert_cmpint (sqlite3_initialize (), ==, SQLITE_OK);
  sqlite3_vfs *vfs = sqlite3_vfs_find (NULL);
  for (const char *name = NULL; (name = vfs->xNextSystemCall (vfs, name));)
    if (g_str_has_prefix (name, "pwrite"))
      vfs->xSetSystemCall (vfs, name, (sqlite3_syscall_ptr) faulty_pwrite);
    else if (g_str_has_prefix (name, "pread"))
      vfs->xSetSystemCall (vfs, name, (sqlite3_syscall_ptr) faulty_pread);
}

typedef struct
{
  TestPlace place; /* its path is the trace's */
  char *plan_path;
  TesseraTrace *trace;
  TesseraPlan *plan;
} Scene;

static void
scene_end (Scene *scene, gconstpointer data)
{
  test_place_end (&scene->place, NULL);
  g_free (scene->plan_path);
  tessera_trace_free (scene->trace);
  tessera_plan_free (scene->plan);
}

typedef TesseraStatus (*Work) (const Scene *scene, TesseraError *error);

static TesseraStatus
save_trace (const Scene *scene, TesseraError *error)
{
  return tessera_trace_save (scene->trace, scene->place.path, NULL, error);
}

static TesseraStatus
save_plan (const Scene *scene, TesseraError *error)
{
  return tessera_plan_save (scene->plan, scene->plan_path, error);
}

static TesseraStatus
load_trace (const Scene *scene, TesseraError *error)
{
  g_autoptr (TesseraTrace) trace = NULL;
  TesseraStatus status =
      tessera_trace_load (scene->place.path, TESSERA_NONE, NULL, error, &trace);

  if (status == TESSERA_OK)
    test_traces_assert_equal (trace, scene->trace);
  return status;
}

static TesseraStatus
load_plan (const Scene *scene, TesseraError *error)
{
  g_autoptr (TesseraPlan) plan = NULL;
  TesseraStatus status = tessera_plan_load (scene->plan_path, error, &plan);

  if (status == TESSERA_OK)
    test_plans_assert_equal (plan, scene->plan);
  return status;
}

static TesseraStatus
save_edits (const Scene *scene, TesseraError *error)
{
  char name[] = "mine", rule[] = "{}";
  const TesseraStoredEdit edits[] = { { name, rule, 1700000000, 0 },
                                      { name, rule, 1700000001, 1 } };

  return tessera_trace_save_edits (scene->place.path, edits, G_N_ELEMENTS (edits), error);
}

static TesseraStatus
load_edits (const Scene *scene, TesseraError *error)
{
  TesseraStoredEdit *edits = NULL;
  size_t n_edits = 0;
  TesseraStatus status =
      tessera_trace_load_edits (scene->place.path, error, &edits, &n_edits);

  if (status == TESSERA_OK)
    {
      g_assert_cmpuint (n_edits, ==, 2);
      g_assert_cmpint (edits[1].created_s, ==, 1700000001);
      g_assert_cmpuint (edits[1].is_undone, ==, 1);
    }
  tessera_stored_edits_free (edits, n_edits);
  return status;
}

/* Saving a trace forgets its edits: saving those comes later. */
static const Work all_work[] = { save_trace, save_plan,  load_trace,
                                 load_plan,  save_edits, load_edits };

static void
assert_works (const Scene *scene, Work work)
{
  WORKS (error, work (scene, &error));
}

static void
scene_begin (Scene *scene, gconstpointer data)
{
  test_place_begin (&scene->place, NULL);
  scene->plan_path = g_build_filename (scene->place.folder, "a.tsp", NULL);
  scene->trace = test_trace_new (SEED, 50);
  scene->plan = test_plan_new (SEED, 9);
  scene->plan->lengths = test_lengths_new ();
  assert_works (scene, save_trace);
  assert_works (scene, save_plan);
}

/* After a failure the older files are whole and alone. */
static void
assert_unharmed (const Scene *scene)
{
  g_assert_cmpuint (test_place_count_files (&scene->place), ==, 2);
  assert_works (scene, load_trace);
  assert_works (scene, load_plan);
}

/* Fails the @nth allocation of @work: of ours, or of SQLite. Returns: whether there is one. */
static bool
fail_nth (Scene *scene, Work work, long nth, bool of_sqlite, unsigned *n_lived)
{
  long held = tessera_fail_alloc_held (), sqlite_held = n_sqlite_held;
  TesseraError error = { 0 };
  bool has_failed;

  if (of_sqlite)
    sqlite_fault = (Fault){ .n_left = nth, .number = ENOMEM };
  else
    tessera_fail_alloc_at ((unsigned) nth);
  TesseraStatus status = work (scene, &error);
  has_failed = of_sqlite ? sqlite_fault.has_failed : tessera_fail_alloc_stop ();
  sqlite_fault = (Fault){ 0 };
  if (!has_failed)
    return false;
  if (of_sqlite && status == TESSERA_OK) /* SQLite can do without some of its caches */
    ++*n_lived;
  else
    {
      g_assert_cmpint (status, ==, TESSERA_NO_MEMORY);
      g_assert_cmpint (error.status, ==, TESSERA_NO_MEMORY);
      g_assert_true (g_str_has_suffix (error.text, "no memory left"));
    }
  g_assert_cmpint (tessera_fail_alloc_held (), ==, held);
  g_assert_cmpint (n_sqlite_held, ==, sqlite_held);
  return true;
}

static void
test_failing_allocations (Scene *scene, gconstpointer of_sqlite)
{
  long stride = of_sqlite && !g_test_slow () ? STRIDE : 1;

  for (size_t i = 0; i < G_N_ELEMENTS (all_work); i++)
    {
      unsigned n_failed = 0, n_lived = 0;

      while (fail_nth (scene, all_work[i], 1 + n_failed * stride, of_sqlite, &n_lived))
        n_failed++;
      g_test_message ("work %zu: %u allocations failed, %u dispensable", i, n_failed,
                      n_lived);
      g_assert_cmpuint (n_failed, >, 0);
      g_assert_cmpuint (n_lived, <=, n_failed / 10);
      assert_unharmed (scene);
    }
}

static void
fail_every (Scene *scene, Work work, Fault *fault, int number, const char *pattern)
{
  long nth = 1;

  for (;; nth++)
    {
      TesseraError error = { 0 };

      *fault = (Fault){ .n_left = nth, .number = number };
      TesseraStatus status = work (scene, &error);
      if (!fault->has_failed)
        break;
      *fault = (Fault){ 0 };
      g_assert_cmpint (status, ==, TESSERA_IO);
      test_matches (error.text, pattern);
      assert_unharmed (scene);
    }
  *fault = (Fault){ 0 };
  g_assert_cmpint (nth, >, 1);
}

static void
test_failing_writes (Scene *scene, gconstpointer data)
{
  static const Work saves[] = { save_trace, save_plan, save_edits };

  for (size_t i = 0; i < G_N_ELEMENTS (saves); i++)
    {
      fail_every (scene, saves[i], &write_fault, ENOSPC,
                  "Cannot write *: the disk is full;*");
      fail_every (scene, saves[i], &write_fault, EIO, "Cannot write *: *");
    }
}

/* The last fsync() is that of the folder: a file system that cannot does no harm. */
static void
test_failing_sync_and_rename (Scene *scene, gconstpointer data)
{
  TesseraError error = { 0 };

  fail_every (scene, save_trace, &rename_fault, EACCES,
              "Cannot write *.tsr: Permission denied");
  fsync_fault = (Fault){ .n_left = 1, .number = EIO };
  GIVES (TESSERA_IO, save_trace (scene, &error));
  assert_unharmed (scene);
  fsync_fault = (Fault){ .n_left = 2, .number = EINVAL };
  assert_works (scene, save_trace);
  g_assert_true (fsync_fault.has_failed);
  assert_unharmed (scene);
}

static void
copy_file (const char *from, const char *to)
{
  g_autofree char *bytes = NULL;
  size_t n_bytes;

  g_assert_true (g_file_get_contents (from, &bytes, &n_bytes, NULL));
  g_assert_true (g_file_set_contents (to, bytes, (gssize) n_bytes, NULL));
}

/* The trace as a process leaves it that is killed while it adds two edits: with a journal
 * in @mode beside it. */
static void
leave_journal (const Scene *scene, const char *mode, const char *suffix, const char *sql)
{
  g_autofree char *away = g_strconcat (scene->place.path, ".away", NULL);
  g_autofree char *journal_away = g_strconcat (away, suffix, NULL);
  g_autofree char *journal = g_strconcat (scene->place.path, suffix, NULL);
  g_autofree char *pragma =
      g_strconcat ("PRAGMA cache_size = 1; PRAGMA journal_mode = ", mode, NULL);
  sqlite3 *db;

  copy_file (scene->place.path, away);
  g_assert_cmpint (sqlite3_open (away, &db), ==, SQLITE_OK);
  g_assert_cmpint (sqlite3_exec (db, pragma, NULL, NULL, NULL), ==, SQLITE_OK);
  g_assert_cmpint (sqlite3_exec (db, sql, NULL, NULL, NULL), ==, SQLITE_OK);
  copy_file (away, scene->place.path);
  copy_file (journal_away, journal);
  sqlite3_close (db);
  g_remove (away);
}

/* What a journal beside a trace holds is in the trace until the new file is in its
 * place: whoever fails, or is killed, before the rename leaves all of it. */
static void
test_journals_until_the_rename (Scene *scene, gconstpointer data)
{
  static const char two_edits[] =
      "INSERT INTO edit VALUES (0, 'a', 1, '{}', 0), (1, 'b', 1700000001, '{}', 1)";
  static const Work saves[] = { save_edits, save_trace };

  for (size_t i = 0; i < G_N_ELEMENTS (saves); i++)
    {
      TesseraError error = { 0 };

      assert_works (scene, save_trace);
      leave_journal (scene, "WAL", "-wal", two_edits);
      assert_works (scene, load_edits);
      rename_fault = (Fault){ .n_left = 1, .number = EACCES };
      GIVES (TESSERA_IO, saves[i](scene, &error));
      g_assert_true (rename_fault.has_failed);
      assert_works (scene, load_trace);
      assert_works (scene, load_edits);
      assert_works (scene, saves[i]);
      assert_works (scene, load_trace);
      g_assert_cmpuint (test_place_count_files (&scene->place), ==, 2);
    }
}

/* What was never committed is no part of the trace: it is refused until that is taken
 * back, which whoever replaces it does first. */
static void
test_hot_journal_until_the_rename (Scene *scene, gconstpointer data)
{
  TesseraError error = { 0 };

  assert_works (scene, save_trace);
  assert_works (scene, save_edits);
  leave_journal (scene, "DELETE", "-journal",
                 "BEGIN; DELETE FROM edit; UPDATE event SET addr = 7; UPDATE string SET "
                 "text = text || hex (zeroblob (100))");
  GIVES (TESSERA_IO, load_trace (scene, &error));
  g_assert_nonnull (strstr (error.text, "stopped while it wrote"));
  rename_fault = (Fault){ .n_left = 1, .number = EACCES };
  GIVES (TESSERA_IO, save_trace (scene, &error));
  g_assert_true (rename_fault.has_failed);
  assert_works (scene, load_trace);
  assert_works (scene, load_edits);
  g_assert_cmpuint (test_place_count_files (&scene->place), ==, 2);
}

/* Not EIO: SQLite calls a file damaged of which the disk cannot read a part. */
static void
test_failing_reads (Scene *scene, gconstpointer data)
{
  fail_every (scene, load_trace, &read_fault, ESTALE, "Cannot read *");
  fail_every (scene, load_plan, &read_fault, ESTALE, "Cannot read *");
}

/* A limit of the operating system instead of a fault of ours. */
static void
assert_limited (Scene *scene, Work save)
{
  struct rlimit before, limited;
  TesseraError error = { 0 };

  g_assert_cmpint (getrlimit (RLIMIT_FSIZE, &before), ==, 0);
  limited = before;
  limited.rlim_cur = 20000;
  g_assert_cmpint (setrlimit (RLIMIT_FSIZE, &limited), ==, 0);
  TesseraStatus status = save (scene, &error);
  g_assert_cmpint (setrlimit (RLIMIT_FSIZE, &before), ==, 0);
  g_assert_cmpint (status, ==, TESSERA_IO);
  g_assert_true (g_str_has_prefix (error.text, "Cannot write "));
  g_assert_nonnull (strstr (error.text, "larger than files may be here"));
  assert_unharmed (scene);
}

static void
test_file_size_limit (Scene *scene, gconstpointer data)
{
  signal (SIGXFSZ, SIG_IGN);
  assert_limited (scene, save_trace);
  assert_limited (scene, save_plan);
}

#define ADD(path, test)                                                                  \
  g_test_add ("/store-fault/" path, Scene, NULL, scene_begin, test, scene_end)

int
main (int argc, char **argv)
{
  take_over_sqlite ();
  g_test_init (&argc, &argv, NULL);
  ADD ("allocations", test_failing_allocations);
  g_test_add ("/store-fault/sqlite-allocations", Scene, "", scene_begin,
              test_failing_allocations, scene_end);
  ADD ("writes", test_failing_writes);
  ADD ("sync-and-rename", test_failing_sync_and_rename);
  ADD ("journals-until-the-rename", test_journals_until_the_rename);
  ADD ("hot-journal-until-the-rename", test_hot_journal_until_the_rename);
  ADD ("reads", test_failing_reads);
  ADD ("file-size-limit", test_file_size_limit);
  return g_test_run ();
}
