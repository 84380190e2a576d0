/*
 * Recording into a trace while the program runs: see recorder.h. The program's threads put
 * items into the ring; a thread of the recorder's own takes them out and writes the file.
 *
 * Nobody wakes the thread for an event: that would be a system call under the lock of
 * whoever allocates. It looks every TICK_MS how full the ring is, and writes when half the
 * flush interval is over, which leaves the other half for writing, or when a quarter of the
 * ring is full. Looking costs 0.1 % of a core. All of SQLite happens there, with every
 * signal blocked, so that a file that may grow no further (SIGXFSZ) ends the recording and
 * not the program.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "db/array.h"
#include "recorder/private.h"

#define DEFAULT_RING_EVENTS 262144
#define DEFAULT_FLUSH_MS 250
#define TICK_MS 25
#define NS_PER_MS 1000000
/* Items of one transaction at most: 3.6 MiB. */
#define BATCH_ITEMS 65536
/* A producer that took a place fills it within a microsecond, or when it is scheduled
 * again; one that never is (a thread that was killed) shall not stop a flush. */
#define MOST_WAITS_MS 1000

/* Forks between this process and the one that loaded the library. */
static atomic_uint n_forks;

static void
count_fork (void)
{
  atomic_fetch_add (&n_forks, 1);
}

static void
watch_forks (void)
{
  pthread_atfork (NULL, NULL, count_fork);
}

static bool
is_own (const TesseraRecorder *recorder)
{
  return recorder->n_forks == atomic_load_explicit (&n_forks, memory_order_relaxed);
}

/* Whether writing has not failed: else nothing is worth a place in the ring any more. */
static bool
is_running (const TesseraRecorder *recorder)
{
  return atomic_load_explicit (&recorder->is_running, memory_order_relaxed);
}

bool
tessera_recorder_is_recording (const TesseraRecorder *recorder)
{
  return is_own (recorder) && is_running (recorder);
}

static void
fail (TesseraRecorder *recorder, const TesseraError *error)
{
  atomic_store (&recorder->is_running, false);
  pthread_mutex_lock (&recorder->lock);
  if (!recorder->stats.has_failed)
    recorder->stats.error = *error;
  recorder->stats.has_failed = true;
  pthread_cond_broadcast (&recorder->done);
  pthread_mutex_unlock (&recorder->lock);
}

static TesseraStatus
fail_memory (const char *path, TesseraError *error)
{
  return tessera_fail (error, TESSERA_NO_MEMORY,
                       "Cannot write %s: this machine has no memory left", path);
}

/* What the file says of losses; to be called before the news are taken. */
static uint32_t
name_gap (TesseraRecorder *recorder, uint64_t n_lost)
{
  char text[64];

  recorder->n_lost += n_lost;
  snprintf (text, sizeof text, "%llu", (unsigned long long) recorder->n_lost);
  tessera_names_meta (&recorder->names, "lost_events", text);
  snprintf (text, sizeof text, "%llu events lost", (unsigned long long) n_lost);
  return tessera_names_string (&recorder->names, text);
}

/* Ends whose begin has not come out of the ring yet stay for the next time. */
static TesseraStatus
end_late_ranges (TesseraRecorder *recorder)
{
  TesseraStatus status = TESSERA_OK;
  size_t n_kept = 0;

  pthread_mutex_lock (&recorder->lock);
  for (size_t i = 0; i < recorder->n_late_ends; i++)
    {
      uint32_t handle = recorder->late_ends[i];
      TesseraStatus ended =
          tessera_batch_rows_end_range (&recorder->rows, handle, tessera_now_ns ());

      if (ended == TESSERA_INVALID)
        recorder->late_ends[n_kept++] = handle;
      else if (ended != TESSERA_OK)
        status = ended;
    }
  recorder->n_late_ends = n_kept;
  pthread_mutex_unlock (&recorder->lock);
  return status;
}

/* What the batch before could not write. */
static uint64_t
take_refused (TesseraRecorder *recorder)
{
  uint64_t n_refused = recorder->rows.n_refused - recorder->n_refused_reported;

  recorder->n_refused_reported += n_refused;
  return n_refused;
}

/* Takes a batch out of the ring. *out_n_items: 0 when there was none. */
static TesseraStatus
gather (TesseraRecorder *recorder, size_t *out_n_items)
{
  size_t n_items = recorder->n_held +
                   tessera_ring_take (recorder->ring, recorder->items + recorder->n_held,
                                      BATCH_ITEMS - recorder->n_held);
  uint64_t n_lost = tessera_ring_take_lost (recorder->ring) + take_refused (recorder);
  uint32_t gap = n_lost ? name_gap (recorder, n_lost) : TESSERA_NONE;
  TesseraStatus status = tessera_news_take (&recorder->news, &recorder->names);

  *out_n_items = n_items;
  recorder->n_held = 0;
  if (status == TESSERA_OK)
    status = tessera_batch_rows_begin (&recorder->rows, &recorder->news);
  for (size_t i = 0; status == TESSERA_OK && i < n_items; i++)
    status =
        tessera_batch_rows_add (&recorder->rows, &recorder->news, &recorder->items[i]);
  if (status == TESSERA_OK && n_items < BATCH_ITEMS)
    status = end_late_ranges (recorder);
  if (status == TESSERA_OK && n_lost)
    status = tessera_batch_rows_add_gap (&recorder->rows, gap, tessera_now_ns ());
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
write_batch (TesseraRecorder *recorder,
             const TesseraLiveBatch *batch,
             TesseraError *error)
{
  TesseraStatus status =
      recorder->live
          ? tessera_live_write (recorder->live, batch, error)
          : tessera_live_create (recorder->path, batch, error, &recorder->live);

  if (status != TESSERA_OK)
    return status;
  release (&recorder->claim);
  tessera_news_written (&recorder->news);
  pthread_mutex_lock (&recorder->lock);
  recorder->stats.n_written = recorder->rows.n_events;
  recorder->stats.n_lost = recorder->rows.n_refused;
  pthread_mutex_unlock (&recorder->lock);
  return TESSERA_OK;
}

/* Ranges alone are no recording for which an older file would be given up. */
static bool
must_wait (TesseraRecorder *recorder)
{
  if (recorder->live || !recorder->keeps_older)
    return false;
  recorder->n_held += tessera_ring_take (
      recorder->ring, recorder->items + recorder->n_held, BATCH_ITEMS - recorder->n_held);
  for (size_t i = 0; i < recorder->n_held; i++)
    if (recorder->items[i].kind == TESSERA_ITEM_EVENT)
      return false;
  return recorder->n_held < BATCH_ITEMS;
}

/* One transaction. Returns: whether there is more to take; sets is_running to false on
 * failure. */
static bool
write_some (TesseraRecorder *recorder)
{
  TesseraLiveBatch batch;
  TesseraError error = { 0 };
  size_t n_items;
  TesseraStatus status;

  if (must_wait (recorder))
    return false;
  status = gather (recorder, &n_items);
  if (status == TESSERA_OK && recorder->live && n_items == 0 &&
      recorder->rows.n_changed == 0 && !tessera_news_any (&recorder->news))
    return false;
  if (status == TESSERA_OK)
    status = tessera_batch_rows_fill (&recorder->rows, &recorder->news, &batch);
  if (status != TESSERA_OK)
    fail_memory (recorder->path, &error);
  else
    status = write_batch (recorder, &batch, &error);
  if (status != TESSERA_OK)
    fail (recorder, &error);
  return status == TESSERA_OK && n_items > 0;
}

/* Everything that was pushed before the call. */
static void
write_all (TesseraRecorder *recorder)
{
  uint64_t n_wanted = tessera_ring_n_pushed (recorder->ring);
  const struct timespec moment = { .tv_nsec = NS_PER_MS };

  recorder->begun_ns = tessera_now_ns ();
  for (int i = 0; i < MOST_WAITS_MS && is_running (recorder);)
    {
      if (write_some (recorder) && tessera_ring_n_taken (recorder->ring) < n_wanted)
        continue;
      if (tessera_ring_n_taken (recorder->ring) >= n_wanted)
        return;
      nanosleep (&moment, NULL);
      i++;
    }
}

static bool
is_due (const TesseraRecorder *recorder)
{
  uint64_t n_waiting =
      tessera_ring_n_pushed (recorder->ring) - tessera_ring_n_taken (recorder->ring);

  return n_waiting >= tessera_ring_n_items (recorder->ring) / 4 ||
         tessera_now_ns () - recorder->begun_ns >= recorder->flush_ns / 2;
}

/* Sleeps until there is something to do. Returns: the flush to be completed. */
static uint64_t
await_work (TesseraRecorder *recorder, bool *out_is_stopping)
{
  uint64_t n_flushes;

  pthread_mutex_lock (&recorder->lock);
  while (!recorder->is_stopping && recorder->n_flushes == recorder->n_flushed &&
         !is_due (recorder))
    {
      int64_t until_ns = tessera_now_ns () + (int64_t) TICK_MS * NS_PER_MS;
      struct timespec until = { .tv_sec = until_ns / 1000000000,
                                .tv_nsec = until_ns % 1000000000 };

      pthread_cond_timedwait (&recorder->wake, &recorder->lock, &until);
    }
  n_flushes = recorder->n_flushes;
  *out_is_stopping = recorder->is_stopping;
  pthread_mutex_unlock (&recorder->lock);
  return n_flushes;
}

static void
complete (TesseraRecorder *recorder, uint64_t n_flushes)
{
  pthread_mutex_lock (&recorder->lock);
  recorder->is_open = true;
  recorder->n_flushed = n_flushes;
  pthread_cond_broadcast (&recorder->done);
  pthread_mutex_unlock (&recorder->lock);
}

/* The states at the end are a transaction of their own: if they make no sense, the events
 * stay. */
static void
close_file (TesseraRecorder *recorder)
{
  TesseraError error = { 0 };
  TesseraStatus status = TESSERA_OK;

  if (is_running (recorder))
    write_some (recorder); /* what the last batch refused */
  if (is_running (recorder) && recorder->live &&
      tessera_news_lend_ends (&recorder->news, &recorder->names))
    {
      TesseraLiveBatch batch;

      tessera_news_fill (&recorder->news, &batch);
      status = tessera_live_write (recorder->live, &batch, &error);
    }
  if (recorder->live && tessera_live_close (recorder->live, &error) != TESSERA_OK)
    status = error.status;
  if (status != TESSERA_OK)
    fail (recorder, &error);
}

static void *
run (void *user)
{
  TesseraRecorder *recorder = user;
  bool is_stopping = false;

  write_some (recorder); /* makes the file */
  recorder->begun_ns = tessera_now_ns ();
  complete (recorder, 0);
  while (!is_stopping && is_running (recorder))
    {
      uint64_t n_flushes = await_work (recorder, &is_stopping);

      write_all (recorder);
      complete (recorder, n_flushes);
    }
  close_file (recorder);
  return NULL;
}

static void
recorder_free (TesseraRecorder *recorder)
{
  release (&recorder->claim);
  tessera_python_free (recorder->python);
  tessera_names_clear (&recorder->names);
  tessera_ring_free (recorder->ring);
  tessera_news_clear (&recorder->news);
  tessera_batch_rows_clear (&recorder->rows);
  free (recorder->late_ends);
  free (recorder->items);
  free (recorder->path);
  free (recorder);
}

/* Conditions are waited for by the clock that nobody sets. */
static void
init_locks (TesseraRecorder *recorder)
{
  pthread_condattr_t attributes;

  pthread_condattr_init (&attributes);
  pthread_condattr_setclock (&attributes, CLOCK_MONOTONIC);
  pthread_mutex_init (&recorder->range_lock, NULL);
  pthread_mutex_init (&recorder->lock, NULL);
  pthread_cond_init (&recorder->wake, &attributes);
  pthread_cond_init (&recorder->done, &attributes);
  pthread_condattr_destroy (&attributes);
}

/* Signals are the program's. */
static int
create_thread (TesseraRecorder *recorder)
{
  sigset_t all, before;
  int failure;

  sigfillset (&all);
  pthread_sigmask (SIG_SETMASK, &all, &before);
  failure = pthread_create (&recorder->thread, NULL, run, recorder);
  pthread_sigmask (SIG_SETMASK, &before, NULL);
  if (!failure)
    pthread_setname_np (recorder->thread, "tessera-writer");
  return failure;
}

/* Under the lock: waits until the file is there, or found to be an older trace, and
 * @n_flushes are done. Returns: TESSERA_OK, or how writing failed. */
static TesseraStatus
await (TesseraRecorder *recorder, uint64_t n_flushes, TesseraError *error)
{
  while ((!recorder->is_open || recorder->n_flushed < n_flushes) &&
         !recorder->stats.has_failed)
    pthread_cond_wait (&recorder->done, &recorder->lock);
  return recorder->stats.has_failed ? tessera_fail (error, recorder->stats.error.status,
                                                    "%s", recorder->stats.error.text)
                                    : TESSERA_OK;
}

/* Makes all but the thread. Returns: TESSERA_OK or TESSERA_NO_MEMORY */
static TesseraStatus
fill (TesseraRecorder *recorder, const TesseraRecorderOptions *options)
{
  TesseraNames *names = &recorder->names;
  uint32_t flush_ms = options->flush_ms ? options->flush_ms : DEFAULT_FLUSH_MS;

  recorder->n_forks = atomic_load (&n_forks);
  recorder->flush_ns = (int64_t) flush_ms * NS_PER_MS;
  recorder->keeps_older = access (options->path, F_OK) == 0;
  recorder->path = strdup (options->path);
  recorder->items = malloc (BATCH_ITEMS * sizeof *recorder->items);
  atomic_init (&recorder->is_running, true);
  init_locks (recorder);
  tessera_batch_rows_init (&recorder->rows, tessera_now_ns ());
  if (!recorder->path || !recorder->items ||
      tessera_names_init (names, options->source ? options->source : options->path) !=
          TESSERA_OK ||
      tessera_ring_new (options->ring_events ? options->ring_events : DEFAULT_RING_EVENTS,
                        &recorder->ring) != TESSERA_OK)
    return TESSERA_NO_MEMORY;
  for (size_t i = 0; i < options->n_meta; i++)
    tessera_names_meta (names, options->meta[i].key, options->meta[i].value);
  tessera_names_meta (names, "format", TESSERA_FORMAT_RECORDED);
  tessera_names_meta (names, TESSERA_META_CLOSED, "no");
  if (options->stacks)
    recorder->python = tessera_python_new (names);
  return TESSERA_OK;
}

/* Writes the rest, closes the file, joins the thread. */
static void
stop (TesseraRecorder *recorder)
{
  pthread_mutex_lock (&recorder->lock);
  recorder->is_stopping = true;
  pthread_cond_signal (&recorder->wake);
  pthread_mutex_unlock (&recorder->lock);
  pthread_join (recorder->thread, NULL);
  pthread_cond_destroy (&recorder->wake);
  pthread_cond_destroy (&recorder->done);
  pthread_mutex_destroy (&recorder->lock);
}

TesseraStatus
tessera_recorder_open (const TesseraRecorderOptions *options,
                       TesseraError *error,
                       TesseraRecorder **out_recorder)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  TesseraRecorder *recorder;
  int claim;
  TesseraStatus status =
      tessera_live_claim (options->path, options->overwrites, error, &claim);

  *out_recorder = NULL;
  if (status != TESSERA_OK)
    return status;
  pthread_once (&once, watch_forks);
  recorder = calloc (1, sizeof *recorder);
  if (!recorder)
    {
      release (&claim);
      return fail_memory (options->path, error);
    }
  recorder->claim = claim;
  status = fill (recorder, options);
  if (status != TESSERA_OK)
    fail_memory (options->path, error);
  else if (create_thread (recorder) != 0)
    status = tessera_fail (error, TESSERA_IO, "Cannot write %s: no thread can be started",
                           options->path);
  else
    {
      pthread_mutex_lock (&recorder->lock);
      status = await (recorder, 0, error);
      pthread_mutex_unlock (&recorder->lock);
      if (status != TESSERA_OK)
        stop (recorder);
    }
  if (status == TESSERA_OK)
    *out_recorder = recorder;
  else
    recorder_free (recorder);
  return status;
}

/* A forked child has neither the thread nor a right to the file: SQLite's memory and
 * descriptors are left alone there. */
void
tessera_recorder_close (TesseraRecorder *recorder)
{
  if (!recorder)
    return;
  if (is_own (recorder))
    {
      tessera_names_meta (&recorder->names, TESSERA_META_CLOSED, "yes");
      stop (recorder);
    }
  recorder_free (recorder);
}

void
tessera_recorder_meta (TesseraRecorder *recorder, const char *key, const char *value)
{
  if (tessera_recorder_is_recording (recorder))
    tessera_names_meta (&recorder->names, key, value);
}

uint32_t
tessera_recorder_stack (TesseraRecorder *recorder)
{
  return recorder->python && tessera_recorder_is_recording (recorder)
             ? tessera_python_stack (recorder->python)
             : TESSERA_NONE;
}

bool
tessera_recorder_event (TesseraRecorder *recorder,
                        uint32_t device,
                        const TesseraEvent *event)
{
  TesseraRingItem item = { .event = *event,
                           .device = device,
                           .kind = TESSERA_ITEM_EVENT };

  if (!tessera_recorder_is_recording (recorder))
    return false;
  item.event.at_ns = tessera_now_ns ();
  return tessera_ring_push (recorder->ring, &item);
}

static bool
push_mark (TesseraRecorder *recorder, const TesseraRingItem *item)
{
  if (!tessera_ring_push (recorder->ring, item))
    return false;
  atomic_fetch_add_explicit (&recorder->n_marks, 1, memory_order_relaxed);
  return true;
}

uint32_t
tessera_recorder_range_begin (TesseraRecorder *recorder,
                              TesseraRangeKind kind,
                              const char *name,
                              bool is_inferred)
{
  TesseraRingItem item = { .range = { .kind = (uint8_t) kind,
                                      .is_inferred = is_inferred },
                           .kind = TESSERA_ITEM_RANGE_BEGIN };
  uint32_t handle = TESSERA_NONE;

  if (!tessera_recorder_is_recording (recorder))
    return TESSERA_NONE;
  item.range.name = tessera_names_string (&recorder->names, name);
  pthread_mutex_lock (&recorder->range_lock);
  item.range.at_ns = tessera_now_ns ();
  item.range.handle = recorder->n_handles;
  if (recorder->n_handles < TESSERA_NONE && push_mark (recorder, &item))
    handle = recorder->n_handles++;
  pthread_mutex_unlock (&recorder->range_lock);
  return handle;
}

/* The end of a range that finds no place in the ring is kept beside it. */
void
tessera_recorder_range_end (TesseraRecorder *recorder, uint32_t range)
{
  TesseraRingItem item = { .range = { .handle = range }, .kind = TESSERA_ITEM_RANGE_END };

  if (range == TESSERA_NONE || !tessera_recorder_is_recording (recorder))
    return;
  item.range.at_ns = tessera_now_ns ();
  if (push_mark (recorder, &item))
    return;
  pthread_mutex_lock (&recorder->lock);
  if (TESSERA_RESERVE (recorder->late_ends, recorder->cap_late_ends,
                       recorder->n_late_ends + 1))
    recorder->late_ends[recorder->n_late_ends++] = range;
  pthread_mutex_unlock (&recorder->lock);
}

bool
tessera_recorder_tensor (TesseraRecorder *recorder,
                         uint32_t device,
                         uint64_t addr,
                         TesseraTensorKind kind,
                         const char *name)
{
  TesseraRingItem item = { .tensor = { .addr = addr, .kind = (uint8_t) kind },
                           .device = device,
                           .kind = TESSERA_ITEM_TENSOR };

  if (kind < TESSERA_TENSOR_PARAMETER || kind > TESSERA_TENSOR_BUFFER ||
      !tessera_recorder_is_recording (recorder))
    return false;
  item.tensor.name = tessera_names_string (&recorder->names, name);
  return push_mark (recorder, &item);
}

void
tessera_recorder_get_stats (TesseraRecorder *recorder, TesseraRecorderStats *out_stats)
{
  uint64_t n_marks = atomic_load (&recorder->n_marks), n_pushed;

  *out_stats = (TesseraRecorderStats){ 0 };
  if (!is_own (recorder))
    return;
  n_pushed = tessera_ring_n_pushed (recorder->ring);
  pthread_mutex_lock (&recorder->lock);
  *out_stats = recorder->stats;
  pthread_mutex_unlock (&recorder->lock);
  out_stats->n_events = (n_pushed > n_marks ? n_pushed - n_marks : 0) - out_stats->n_lost;
  out_stats->n_lost += tessera_ring_n_lost (recorder->ring);
}

TesseraStatus
tessera_recorder_flush (TesseraRecorder *recorder, TesseraError *error)
{
  TesseraStatus status;

  if (!is_own (recorder))
    return tessera_fail (error, TESSERA_INVALID,
                         "A forked child has no recording to be flushed");
  pthread_mutex_lock (&recorder->lock);
  recorder->n_flushes++;
  pthread_cond_signal (&recorder->wake);
  status = await (recorder, recorder->n_flushes, error);
  pthread_mutex_unlock (&recorder->lock);
  return status;
}
