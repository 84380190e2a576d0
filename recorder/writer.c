/*
 * The thread that takes what is in the ring and writes it into the file: private.h.
 *
 * Nobody wakes it for an event: that would be a system call under the lock of whoever
 * allocates. It looks every TICK_MS how full the ring is, and writes when half the flush
 * interval is over, which leaves the other half for writing, or when a quarter of the
 * ring is full. Looking costs 0.1 % of a core.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "recorder/private.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "db/array.h"

#define TICK_MS 25
#define NS_PER_MS 1000000
/* Items of one transaction at most: 3.6 MiB. */
#define BATCH_ITEMS 65536
/* A producer that took a place fills it within a microsecond, or when it is scheduled
 * again; one that never is (a thread that was killed) shall not stop a flush. */
#define MOST_WAITS_MS 1000

struct TesseraWriter
{
  char *path;
  int64_t flush_ns;
  TesseraRing *ring;
  TesseraNames *names;
  atomic_bool is_running;
  pthread_t thread;

  pthread_mutex_t lock; /* guards the following */
  pthread_cond_t wake;  /* the writer */
  pthread_cond_t done;  /* who waits for it */
  uint64_t n_flushes, n_flushed;
  bool is_open, is_stopping;
  TesseraRecorderStats stats;
  uint32_t *late_ends; /* handles of ranges */
  size_t n_late_ends, cap_late_ends;
  TesseraEnds ends;

  /* the thread's own */
  TesseraLive *live;
  TesseraNews news;
  TesseraBatchRows rows;
  TesseraRingItem *items;
  size_t n_held;    /* of them: taken and not looked at yet */
  int claim;        /* of that file; -1: none */
  bool keeps_older; /* a file that is there stays until there is an event */
  uint64_t n_lost, n_refused_reported;
  int64_t begun_ns; /* the last batch */
};

bool
tessera_writer_is_running (const TesseraWriter *writer)
{
  return atomic_load_explicit (&writer->is_running, memory_order_relaxed);
}

static void
fail (TesseraWriter *writer, const TesseraError *error)
{
  atomic_store (&writer->is_running, false);
  pthread_mutex_lock (&writer->lock);
  if (!writer->stats.has_failed)
    writer->stats.error = *error;
  writer->stats.has_failed = true;
  pthread_cond_broadcast (&writer->done);
  pthread_mutex_unlock (&writer->lock);
}

static TesseraStatus
fail_memory (const TesseraWriter *writer, TesseraError *error)
{
  return tessera_fail (error, TESSERA_NO_MEMORY,
                       "Cannot write %s: this machine has no memory left", writer->path);
}

/* What the file says of losses; to be called before the news are taken. */
static uint32_t
name_gap (TesseraWriter *writer, uint64_t n_lost)
{
  char text[64];

  writer->n_lost += n_lost;
  snprintf (text, sizeof text, "%llu", (unsigned long long) writer->n_lost);
  tessera_names_meta (writer->names, "lost_events", text);
  snprintf (text, sizeof text, "%llu events lost", (unsigned long long) n_lost);
  return tessera_names_string (writer->names, text);
}

/* Ends whose begin has not come out of the ring yet stay for the next time. */
static TesseraStatus
end_late_ranges (TesseraWriter *writer)
{
  TesseraStatus status = TESSERA_OK;
  size_t n_kept = 0;

  pthread_mutex_lock (&writer->lock);
  for (size_t i = 0; i < writer->n_late_ends; i++)
    {
      uint32_t handle = writer->late_ends[i];
      TesseraStatus ended =
          tessera_batch_rows_end_range (&writer->rows, handle, tessera_now_ns ());

      if (ended == TESSERA_INVALID)
        writer->late_ends[n_kept++] = handle;
      else if (ended != TESSERA_OK)
        status = ended;
    }
  writer->n_late_ends = n_kept;
  pthread_mutex_unlock (&writer->lock);
  return status;
}

/* What the batch before could not write. */
static uint64_t
take_refused (TesseraWriter *writer)
{
  uint64_t n_refused = writer->rows.n_refused - writer->n_refused_reported;

  writer->n_refused_reported += n_refused;
  return n_refused;
}

/* Takes a batch out of the ring. *out_n_items: 0 when there was none. */
static TesseraStatus
gather (TesseraWriter *writer, size_t *out_n_items)
{
  size_t n_items =
      writer->n_held + tessera_ring_take (writer->ring, writer->items + writer->n_held,
                                          BATCH_ITEMS - writer->n_held);
  uint64_t n_lost = tessera_ring_take_lost (writer->ring) + take_refused (writer);
  uint32_t gap = n_lost ? name_gap (writer, n_lost) : TESSERA_NONE;
  TesseraStatus status = tessera_news_take (&writer->news, writer->names);

  *out_n_items = n_items;
  writer->n_held = 0;
  if (status == TESSERA_OK)
    status = tessera_batch_rows_begin (&writer->rows, &writer->news);
  for (size_t i = 0; status == TESSERA_OK && i < n_items; i++)
    status = tessera_batch_rows_add (&writer->rows, &writer->news, &writer->items[i]);
  if (status == TESSERA_OK && n_items < BATCH_ITEMS)
    status = end_late_ranges (writer);
  if (status == TESSERA_OK && n_lost)
    status = tessera_batch_rows_add_gap (&writer->rows, gap, tessera_now_ns ());
  return status;
}

static void
release (int *claim)
{
  if (*claim >= 0)
    close (*claim);
  *claim = -1;
}

static TesseraStatus
write_batch (TesseraWriter *writer, const TesseraLiveBatch *batch, TesseraError *error)
{
  TesseraStatus status =
      writer->live ? tessera_live_write (writer->live, batch, error)
                   : tessera_live_create (writer->path, batch, error, &writer->live);

  if (status != TESSERA_OK)
    return status;
  release (&writer->claim);
  tessera_news_written (&writer->news);
  pthread_mutex_lock (&writer->lock);
  writer->stats.n_written = writer->rows.n_events;
  writer->stats.n_lost = writer->rows.n_refused;
  pthread_mutex_unlock (&writer->lock);
  return TESSERA_OK;
}

/* Ranges alone are no recording for which an older file would be given up. */
static bool
must_wait (TesseraWriter *writer)
{
  if (writer->live || !writer->keeps_older)
    return false;
  writer->n_held += tessera_ring_take (writer->ring, writer->items + writer->n_held,
                                       BATCH_ITEMS - writer->n_held);
  for (size_t i = 0; i < writer->n_held; i++)
    if (writer->items[i].kind == TESSERA_ITEM_EVENT)
      return false;
  return writer->n_held < BATCH_ITEMS;
}

/* One transaction. Returns: whether there is more to take; sets is_running to false on
 * failure. */
static bool
write_some (TesseraWriter *writer)
{
  TesseraLiveBatch batch;
  TesseraError error = { 0 };
  size_t n_items;
  TesseraStatus status;

  if (must_wait (writer))
    return false;
  status = gather (writer, &n_items);
  if (status == TESSERA_OK && writer->live && n_items == 0 &&
      writer->rows.n_changed == 0 && !tessera_news_any (&writer->news))
    return false;
  if (status == TESSERA_OK)
    status = tessera_batch_rows_fill (&writer->rows, &writer->news, &batch);
  if (status != TESSERA_OK)
    fail_memory (writer, &error);
  else
    status = write_batch (writer, &batch, &error);
  if (status != TESSERA_OK)
    fail (writer, &error);
  return status == TESSERA_OK && n_items > 0;
}

/* Everything that was pushed before the call. */
static void
write_all (TesseraWriter *writer)
{
  uint64_t n_wanted = tessera_ring_n_pushed (writer->ring);
  const struct timespec moment = { .tv_nsec = NS_PER_MS };

  writer->begun_ns = tessera_now_ns ();
  for (int i = 0; i < MOST_WAITS_MS && tessera_writer_is_running (writer);)
    {
      if (write_some (writer) && tessera_ring_n_taken (writer->ring) < n_wanted)
        continue;
      if (tessera_ring_n_taken (writer->ring) >= n_wanted)
        return;
      nanosleep (&moment, NULL);
      i++;
    }
}

static bool
is_due (const TesseraWriter *writer)
{
  uint64_t n_waiting =
      tessera_ring_n_pushed (writer->ring) - tessera_ring_n_taken (writer->ring);

  return n_waiting >= tessera_ring_n_items (writer->ring) / 4 ||
         tessera_now_ns () - writer->begun_ns >= writer->flush_ns / 2;
}

/* Sleeps until there is something to do. Returns: the flush to be completed. */
static uint64_t
await_work (TesseraWriter *writer, bool *out_is_stopping)
{
  uint64_t n_flushes;

  pthread_mutex_lock (&writer->lock);
  while (!writer->is_stopping && writer->n_flushes == writer->n_flushed &&
         !is_due (writer))
    {
      int64_t until_ns = tessera_now_ns () + (int64_t) TICK_MS * NS_PER_MS;
      struct timespec until = { .tv_sec = until_ns / 1000000000,
                                .tv_nsec = until_ns % 1000000000 };

      pthread_cond_timedwait (&writer->wake, &writer->lock, &until);
    }
  n_flushes = writer->n_flushes;
  *out_is_stopping = writer->is_stopping;
  pthread_mutex_unlock (&writer->lock);
  return n_flushes;
}

static void
complete (TesseraWriter *writer, uint64_t n_flushes)
{
  pthread_mutex_lock (&writer->lock);
  writer->is_open = true;
  writer->n_flushed = n_flushes;
  pthread_cond_broadcast (&writer->done);
  pthread_mutex_unlock (&writer->lock);
}

/* The states at the end are a transaction of their own: if they make no sense, the events
 * stay. */
static void
close_file (TesseraWriter *writer)
{
  TesseraError error = { 0 };
  TesseraStatus status = TESSERA_OK;

  if (tessera_writer_is_running (writer))
    write_some (writer); /* what the last batch refused */
  if (tessera_writer_is_running (writer) && writer->live && writer->ends.n_states > 0)
    {
      TesseraLiveBatch batch;

      tessera_news_fill (&writer->news, &batch);
      batch.n_strings = batch.n_frames = batch.n_nodes = batch.n_stacks = 0;
      tessera_ends_fill (&writer->ends, &writer->news);
      status = tessera_live_write (writer->live, &batch, &error);
    }
  if (writer->live && tessera_live_close (writer->live, &error) != TESSERA_OK)
    status = error.status;
  if (status != TESSERA_OK)
    fail (writer, &error);
}

static void *
run (void *user)
{
  TesseraWriter *writer = user;
  bool is_stopping = false;

  write_some (writer); /* makes the file */
  writer->begun_ns = tessera_now_ns ();
  complete (writer, 0);
  while (!is_stopping && tessera_writer_is_running (writer))
    {
      uint64_t n_flushes = await_work (writer, &is_stopping);

      write_all (writer);
      complete (writer, n_flushes);
    }
  close_file (writer);
  return NULL;
}

static void
writer_free (TesseraWriter *writer)
{
  release (&writer->claim);
  tessera_news_clear (&writer->news);
  tessera_batch_rows_clear (&writer->rows);
  tessera_ends_clear (&writer->ends);
  free (writer->late_ends);
  free (writer->items);
  free (writer->path);
  free (writer);
}

/* Conditions are waited for by the clock that nobody sets. */
static TesseraStatus
init_locks (TesseraWriter *writer)
{
  pthread_condattr_t attributes;

  if (pthread_condattr_init (&attributes) != 0)
    return TESSERA_NO_MEMORY;
  pthread_condattr_setclock (&attributes, CLOCK_MONOTONIC);
  pthread_mutex_init (&writer->lock, NULL);
  pthread_cond_init (&writer->wake, &attributes);
  pthread_cond_init (&writer->done, &attributes);
  pthread_condattr_destroy (&attributes);
  return TESSERA_OK;
}

/* Signals are the program's. */
static int
create_thread (TesseraWriter *writer)
{
  sigset_t all, before;
  int failure;

  sigfillset (&all);
  pthread_sigmask (SIG_SETMASK, &all, &before);
  failure = pthread_create (&writer->thread, NULL, run, writer);
  pthread_sigmask (SIG_SETMASK, &before, NULL);
  if (!failure)
    pthread_setname_np (writer->thread, "tessera-writer");
  return failure;
}

TesseraStatus
tessera_writer_start (const char *path,
                      bool overwrites,
                      uint32_t flush_ms,
                      TesseraRing *ring,
                      TesseraNames *names,
                      TesseraError *error,
                      TesseraWriter **out_writer)
{
  int claim;
  TesseraStatus status = tessera_live_claim (path, overwrites, error, &claim);
  TesseraWriter *writer;

  *out_writer = NULL;
  if (status != TESSERA_OK)
    return status;
  writer = calloc (1, sizeof *writer);
  if (writer)
    writer->claim = claim;
  if (!writer || !(writer->path = strdup (path)) ||
      !(writer->items = malloc (BATCH_ITEMS * sizeof *writer->items)) ||
      init_locks (writer) != TESSERA_OK)
    {
      if (writer)
        writer_free (writer);
      else
        release (&claim);
      return tessera_fail (error, TESSERA_NO_MEMORY,
                           "Cannot write %s: this machine has no memory left", path);
    }
  writer->flush_ns = (int64_t) flush_ms * NS_PER_MS;
  writer->ring = ring;
  writer->keeps_older = access (path, F_OK) == 0;
  writer->names = names;
  atomic_init (&writer->is_running, true);
  tessera_batch_rows_init (&writer->rows, tessera_now_ns ());
  if (create_thread (writer) != 0)
    {
      writer_free (writer);
      return tessera_fail (error, TESSERA_IO, "Cannot write %s: no thread can be started",
                           path);
    }
  pthread_mutex_lock (&writer->lock);
  while (!writer->is_open && !writer->stats.has_failed)
    pthread_cond_wait (&writer->done, &writer->lock);
  status = writer->stats.has_failed ? writer->stats.error.status : TESSERA_OK;
  if (status != TESSERA_OK)
    tessera_fail (error, status, "%s", writer->stats.error.text);
  pthread_mutex_unlock (&writer->lock);
  if (status == TESSERA_OK)
    *out_writer = writer;
  else
    tessera_writer_stop (writer);
  return status;
}

TesseraStatus
tessera_writer_flush (TesseraWriter *writer, TesseraError *error)
{
  TesseraStatus status;
  uint64_t n_flushes;

  pthread_mutex_lock (&writer->lock);
  n_flushes = ++writer->n_flushes;
  pthread_cond_signal (&writer->wake);
  while (writer->n_flushed < n_flushes && !writer->stats.has_failed)
    pthread_cond_wait (&writer->done, &writer->lock);
  status = writer->stats.has_failed ? writer->stats.error.status : TESSERA_OK;
  if (status != TESSERA_OK)
    tessera_fail (error, status, "%s", writer->stats.error.text);
  pthread_mutex_unlock (&writer->lock);
  return status;
}

void
tessera_writer_end_range (TesseraWriter *writer, uint32_t handle)
{
  pthread_mutex_lock (&writer->lock);
  if (TESSERA_RESERVE (writer->late_ends, writer->cap_late_ends, writer->n_late_ends + 1))
    writer->late_ends[writer->n_late_ends++] = handle;
  pthread_mutex_unlock (&writer->lock);
}

void
tessera_writer_end_state (TesseraWriter *writer, uint32_t device, const TesseraHeld *held)
{
  pthread_mutex_lock (&writer->lock);
  tessera_ends_set (&writer->ends, device, held);
  pthread_mutex_unlock (&writer->lock);
}

void
tessera_writer_get_stats (TesseraWriter *writer, TesseraRecorderStats *out_stats)
{
  pthread_mutex_lock (&writer->lock);
  *out_stats = writer->stats;
  pthread_mutex_unlock (&writer->lock);
}

void
tessera_writer_stop (TesseraWriter *writer)
{
  pthread_mutex_lock (&writer->lock);
  writer->is_stopping = true;
  pthread_cond_signal (&writer->wake);
  pthread_mutex_unlock (&writer->lock);
  pthread_join (writer->thread, NULL);
  pthread_cond_destroy (&writer->wake);
  pthread_cond_destroy (&writer->done);
  pthread_mutex_destroy (&writer->lock);
  writer_free (writer);
}

void
tessera_writer_abandon (TesseraWriter *writer)
{
  writer_free (writer);
}
