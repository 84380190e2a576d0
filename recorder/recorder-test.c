/*
 * Recording and reading again. SPDX-License-Identifier: Apache-2.0
 */
#include "recorder/recorder.h"

#include <glib.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "db/store.h"
#include "tests/db/test-place.h"
#include "tests/ok.h"

/* Who may do nothing: root would be let into a folder that nobody may write. */
#define NOBODY 65534
#define FIRST_ADDR UINT64_C (0x7f0000000000)

static TesseraRecorder *
begin (const TestPlace *place, uint32_t ring_events, uint32_t flush_ms)
{
  const TesseraMeta meta[] = { { .key = (char *) "policy", .value = (char *) "native" } };
  TesseraRecorderOptions options = { .path = place->path,
                                     .source = "train.py",
                                     .ring_events = ring_events,
                                     .flush_ms = flush_ms,
                                     .meta = meta,
                                     .n_meta = 1 };
  TesseraRecorder *recorder;

  WORKS (error, tessera_recorder_open (&options, &error, &recorder));
  return recorder;
}

static void
add_device (TesseraRecorder *recorder, uint32_t number)
{
  TesseraRecordedDevice device = { .device = number,
                                   .memory_bytes = (uint64_t) 80 << 30,
                                   .alignment_bytes = 512 };

  tessera_settings_default (&device.settings);
  tessera_recorder_device (recorder, &device);
}

/* The k-th event of a device: allocations and frees of a few addresses. */
static TesseraEvent
event_at (uint64_t k)
{
  return (TesseraEvent){ .action = k % 2 ? TESSERA_FREE_COMPLETED : TESSERA_ALLOC,
                         .addr = FIRST_ADDR + k / 2 % 64 * 4096,
                         .size_bytes = 1 + k / 2,
                         .stack = TESSERA_NONE };
}

static void
record (TesseraRecorder *recorder, uint32_t device, uint64_t from, uint64_t to)
{
  for (uint64_t k = from; k < to; k++)
    {
      TesseraEvent event = event_at (k);

      g_assert_true (tessera_recorder_event (recorder, device, &event));
    }
}

static void
check_events (const TesseraTrace *trace, uint64_t n_events)
{
  g_assert_cmpuint (trace->n_events, ==, n_events);
  for (uint64_t k = 0; k < n_events; k++)
    {
      TesseraEvent want = event_at (k);

      g_assert_cmphex (trace->events[k].addr, ==, want.addr);
      g_assert_cmpuint (trace->events[k].size_bytes, ==, want.size_bytes);
      g_assert_cmpuint (trace->events[k].action, ==, want.action);
      g_assert_cmpint (trace->events[k].at_ns, >=, k ? trace->events[k - 1].at_ns : 0);
    }
}

static void
check_file (const TestPlace *place, uint64_t n_events)
{
  g_autoptr (TesseraTrace) trace = test_load (place, TESSERA_NONE);

  check_events (trace, n_events);
}

static void
test_whole (TestPlace *place, gconstpointer data)
{
  TesseraRecorder *recorder = begin (place, 0, 0);
  TesseraSegment segments[] = { { .addr = FIRST_ADDR, .size_bytes = 2 << 20 } };
  TesseraHeld held = { .segments = segments, .n_segments = 1 };
  TesseraRecorderStats stats;

  add_device (recorder, 3);
  tessera_recorder_stream (recorder, 3, 1, 0xdead);
  tessera_recorder_pool (recorder, 3, 1, (TesseraPoolId){ 1, 2 });
  record (recorder, 3, 0, 1000);
  OK (tessera_recorder_flush (recorder, NULL));
  tessera_recorder_get_stats (recorder, &stats);
  g_assert_cmpuint (stats.n_events, ==, 1000);
  g_assert_cmpuint (stats.n_written, ==, 1000);
  record (recorder, 3, 1000, 200000);
  tessera_recorder_state (recorder, 3, &held, true);
  tessera_recorder_close (recorder);
  g_assert_cmpuint (test_place_count_files (place), ==, 1);

  g_autoptr (TesseraTrace) trace = test_load (place, TESSERA_NONE);
  check_events (trace, 200000);
  g_assert_cmpint (trace->events[0].at_ns, ==, 0);
  g_assert_cmpstr (trace->source, ==, "train.py");
  g_assert_cmpstr (tessera_trace_get_meta (trace, "policy"), ==, "native");
  g_assert_cmpstr (tessera_trace_get_meta (trace, TESSERA_META_CLOSED), ==, "yes");
  g_assert_cmpuint (trace->device, ==, 3);
  g_assert_cmpuint (trace->n_streams, ==, 2);
  g_assert_cmpuint (trace->n_pools, ==, 2);
  g_assert_cmpuint (trace->end.n_segments, ==, 1);
  g_assert_true (trace->starts_empty && trace->has_segments && trace->has_addresses &&
                 trace->has_time);
}

static uint32_t
begin_range (TesseraRecorder *recorder, TesseraRangeKind kind, const char *name)
{
  uint32_t range = tessera_recorder_range_begin (recorder, kind, name, false);

  g_assert_cmpuint (range, !=, TESSERA_NONE);
  return range;
}

/* Opened, recorded into and killed by a process of its own, in the midst of a step: a second
 * later where nobody @flushes. */
static void
record_and_die (const TestPlace *place, uint64_t n_events, bool flushes)
{
  pid_t child = fork ();

  if (child == 0)
    {
      TesseraRecorder *recorder = begin (place, 0, 0);

      add_device (recorder, 0);
      begin_range (recorder, TESSERA_RANGE_STEP, "step 1");
      record (recorder, 0, 0, n_events);
      if (!flushes)
        g_usleep (G_USEC_PER_SEC);
      else if (tessera_recorder_flush (recorder, NULL) != TESSERA_OK)
        _exit (1);
      kill (getpid (), SIGKILL);
    }
  g_assert_cmpint (test_wait (child), ==, SIGKILL);
}

/* Before the first event. */
static void
test_killed_early (TestPlace *place, gconstpointer data)
{
  record_and_die (place, 0, true);
  check_file (place, 0);
}

/* Nobody flushes, and the ring is nearly empty: what is older than the flush interval is in
 * the file by itself. */
static void
test_killed_later (TestPlace *place, gconstpointer data)
{
  record_and_die (place, 5000, false);
  g_autoptr (TesseraTrace) trace = test_load (place, TESSERA_NONE);
  check_events (trace, 5000);
  g_assert_null (tessera_trace_get_meta (trace, "lost_events"));
  g_assert_cmpstr (tessera_trace_get_meta (trace, TESSERA_META_CLOSED), ==, "no");
  g_assert_cmpuint (trace->n_ranges, ==, 1);
  g_assert_cmpuint (trace->ranges[0].begin_index, ==, 0);
  g_assert_cmpuint (trace->ranges[0].end_index, ==, 5000);
}

static void
test_killed (TestPlace *place, gconstpointer data)
{
  g_autofree char *wal = g_strconcat (place->path, "-wal", NULL);

  record_and_die (place, 5000, true);
  g_assert_true (g_file_test (wal, G_FILE_TEST_EXISTS));
  /* reading changes nothing, so it can be done twice, and where nothing may change */
  for (int again = 0; again < 2; again++)
    {
      check_file (place, 5000);
      g_assert_cmpuint (test_place_count_files (place), ==, 2);
    }
  g_assert_cmpint (chmod (place->path, 0444), ==, 0);
  g_assert_cmpint (chmod (wal, 0444), ==, 0);
  g_assert_cmpint (chmod (place->folder, 0555), ==, 0);
  pid_t child = fork ();
  if (child == 0)
    {
      if (geteuid () == 0 && setuid (NOBODY) != 0)
        _exit (1);
      check_file (place, 5000);
      _exit (0);
    }
  g_assert_cmpint (test_wait (child), ==, 0);
  g_assert_cmpint (chmod (place->folder, 0700), ==, 0);
}

/* What a killed recorder left beside the file is not taken for the new one's. */
static void
test_replaces_killed (TestPlace *place, gconstpointer data)
{
  record_and_die (place, 5000, true);
  TesseraRecorder *recorder = begin (place, 0, 0);
  add_device (recorder, 0);
  record (recorder, 0, 0, 10);
  tessera_recorder_close (recorder);
  TesseraTrace *trace = test_load (place, TESSERA_NONE);
  check_events (trace, 10);
  test_save (place, trace);
  tessera_trace_free (trace);

  record_and_die (place, 5000, true);
  trace = test_load (place, TESSERA_NONE);
  test_save (place, trace);
  tessera_trace_free (trace);
  g_assert_cmpuint (test_place_count_files (place), ==, 1);
  check_file (place, 5000);
}

static void
check_range (const TesseraTrace *trace,
             size_t index,
             const char *name,
             uint32_t begin_index,
             uint32_t end_index,
             uint32_t parent)
{
  const TesseraRange *range = &trace->ranges[index];

  g_assert_cmpstr (tessera_trace_string (trace, range->name), ==, name);
  g_assert_cmpuint (range->begin_index, ==, begin_index);
  g_assert_cmpuint (range->end_index, ==, end_index);
  g_assert_cmpuint (range->parent, ==, parent);
  g_assert_cmpint (range->begin_ns, <=, range->end_ns);
}

/* Order and parents are those that an importer would find. */
static void
check_settled (TesseraTrace *trace)
{
  gsize n_bytes = trace->n_ranges * sizeof *trace->ranges;
  g_autofree TesseraRange *ranges = g_memdup2 (trace->ranges, n_bytes);

  tessera_trace_settle_ranges (trace);
  for (size_t i = 0; i < trace->n_ranges; i++)
    {
      g_assert_cmpuint (ranges[i].begin_index, ==, trace->ranges[i].begin_index);
      g_assert_cmpint (ranges[i].begin_ns, ==, trace->ranges[i].begin_ns);
      g_assert_cmpuint (ranges[i].parent, ==, trace->ranges[i].parent);
    }
}

static void
test_ranges (TestPlace *place, gconstpointer data)
{
  TesseraRecorder *recorder = begin (place, 0, 60000);
  uint32_t step, forward, module, other;

  step = begin_range (recorder, TESSERA_RANGE_STEP, "step 1");
  OK (tessera_recorder_flush (recorder, NULL));
  add_device (recorder, 1);
  record (recorder, 1, 0, 10);
  forward = begin_range (recorder, TESSERA_RANGE_PHASE, "forward");
  record (recorder, 1, 10, 20);
  module = begin_range (recorder, TESSERA_RANGE_MODULE, "layer");
  OK (tessera_recorder_flush (recorder, NULL));
  other = begin_range (recorder, TESSERA_RANGE_MODULE, "of another thread");
  record (recorder, 1, 20, 30);
  tessera_recorder_range_end (recorder, module);
  record (recorder, 1, 30, 40);
  tessera_recorder_range_end (recorder, other);
  tessera_recorder_range_end (recorder, forward);
  tessera_recorder_range_end (recorder, forward); /* a slip of the caller's */
  tessera_recorder_range_end (recorder, step);
  step = begin_range (recorder, TESSERA_RANGE_STEP, "step 2");
  record (recorder, 1, 40, 50);
  OK (tessera_recorder_flush (recorder, NULL));
  add_device (recorder, 2);
  record (recorder, 2, 0, 5);
  tessera_recorder_close (recorder);

  TesseraTrace *trace = test_load (place, 1);
  check_events (trace, 50);
  g_assert_cmpuint (trace->n_ranges, ==, 5);
  check_range (trace, 0, "step 1", 0, 40, TESSERA_NONE);
  check_range (trace, 1, "forward", 10, 40, 0);
  check_range (trace, 2, "layer", 20, 30, 1);
  check_range (trace, 3, "of another thread", 20, 40, 1);
  check_range (trace, 4, "step 2", 40, 50, TESSERA_NONE);
  g_assert_cmpint (trace->ranges[0].begin_ns, <, 0); /* before the first event */
  check_settled (trace);
  tessera_trace_free (trace);

  trace = test_load (place, 2);
  check_events (trace, 5);
  g_assert_cmpuint (trace->n_ranges, ==, 5);
  check_range (trace, 4, "step 2", 0, 5, TESSERA_NONE);
  tessera_trace_free (trace);
}

static void
check_tensor (const TesseraTrace *trace,
              size_t index,
              const char *name,
              uint32_t event_index,
              TesseraTensorKind kind)
{
  const TesseraTensor *tensor = &trace->tensors[index];

  g_assert_cmpstr (tessera_trace_string (trace, tensor->name), ==, name);
  g_assert_cmpuint (tensor->event_index, ==, event_index);
  g_assert_cmpuint (tensor->kind, ==, kind);
  g_assert_cmphex (tensor->addr, ==, FIRST_ADDR + event_index);
}

static void
tell_tensor (TesseraRecorder *recorder,
             uint32_t device,
             const char *name,
             uint64_t event_index,
             TesseraTensorKind kind)
{
  g_assert_true (
      tessera_recorder_tensor (recorder, device, FIRST_ADDR + event_index, kind, name));
}

/* Over several batches and devices, each at its place among its device's events. What could
 * not be loaded again does not reach the file, and ends no recording. */
static void
test_tensors (TestPlace *place, gconstpointer data)
{
  TesseraRecorder *recorder = begin (place, 0, 60000);
  TesseraRecorderStats stats;

  add_device (recorder, 1);
  tell_tensor (recorder, 1, "first", 0, TESSERA_TENSOR_BUFFER);
  record (recorder, 1, 0, 10);
  tell_tensor (recorder, 1, "weight", 10, TESSERA_TENSOR_PARAMETER);
  tell_tensor (recorder, 7, "of no device", 10, TESSERA_TENSOR_PARAMETER);
  g_assert_false (
      tessera_recorder_tensor (recorder, 1, 512, (TesseraTensorKind) 0, "of no kind"));
  g_assert_false (
      tessera_recorder_tensor (recorder, 1, 512, (TesseraTensorKind) 257, "of no kind"));
  OK (tessera_recorder_flush (recorder, NULL));
  tell_tensor (recorder, 1, "weight", 10, TESSERA_TENSOR_GRADIENT);
  add_device (recorder, 2);
  record (recorder, 2, 0, 4);
  tell_tensor (recorder, 2, "weight", 4, TESSERA_TENSOR_PARAMETER);
  record (recorder, 1, 10, 20);
  OK (tessera_recorder_flush (recorder, NULL));
  tell_tensor (recorder, 1, "exp_avg of weight", 20, TESSERA_TENSOR_OPTIMIZER_STATE);
  tessera_recorder_get_stats (recorder, &stats);
  g_assert_cmpuint (stats.n_events, ==, 24);
  tessera_recorder_close (recorder);

  TesseraTrace *trace = test_load (place, 1);
  check_events (trace, 20);
  g_assert_cmpuint (trace->n_tensors, ==, 4);
  check_tensor (trace, 0, "first", 0, TESSERA_TENSOR_BUFFER);
  check_tensor (trace, 1, "weight", 10, TESSERA_TENSOR_PARAMETER);
  check_tensor (trace, 2, "weight", 10, TESSERA_TENSOR_GRADIENT);
  check_tensor (trace, 3, "exp_avg of weight", 20, TESSERA_TENSOR_OPTIMIZER_STATE);
  tessera_trace_free (trace);
  trace = test_load (place, 2);
  check_events (trace, 4);
  g_assert_cmpuint (trace->n_tensors, ==, 1);
  check_tensor (trace, 0, "weight", 4, TESSERA_TENSOR_PARAMETER);
  tessera_trace_free (trace);
}

/* An older trace is given up for an event, not for ranges alone. */
static void
test_keeps_older (TestPlace *place, gconstpointer data)
{
  g_autofree char *older = NULL, *now = NULL;
  gsize n_older, n_now;
  TesseraRecorder *recorder = begin (place, 0, 0);

  add_device (recorder, 0);
  record (recorder, 0, 0, 7);
  tessera_recorder_close (recorder);
  g_assert_true (g_file_get_contents (place->path, &older, &n_older, NULL));

  recorder = begin (place, 0, 0);
  add_device (recorder, 0);
  tessera_recorder_range_end (recorder, begin_range (recorder, TESSERA_RANGE_STEP, "1"));
  OK (tessera_recorder_flush (recorder, NULL));
  tessera_recorder_state (recorder, 0, &(TesseraHeld){ 0 }, true);
  tessera_recorder_close (recorder);
  g_assert_true (g_file_get_contents (place->path, &now, &n_now, NULL));
  g_assert_cmpuint (n_now, ==, n_older);
  g_assert_cmpint (memcmp (now, older, n_now), ==, 0);

  recorder = begin (place, 0, 0);
  add_device (recorder, 0);
  uint32_t step = begin_range (recorder, TESSERA_RANGE_STEP, "1");
  OK (tessera_recorder_flush (recorder, NULL));
  record (recorder, 0, 0, 3);
  tessera_recorder_range_end (recorder, step);
  tessera_recorder_close (recorder);
  TesseraTrace *trace = test_load (place, TESSERA_NONE);
  check_events (trace, 3);
  check_range (trace, 0, "1", 0, 3, TESSERA_NONE);
  tessera_trace_free (trace);
  g_assert_cmpuint (test_place_count_files (place), ==, 1);
}

/* Ring of 64, writer asleep: what does not fit is lost, and the file says where. */
static void
test_lost (TestPlace *place, gconstpointer data)
{
  TesseraRecorder *recorder = begin (place, 64, 60000);
  uint64_t n_kept = 0, n_tried = 1000000;
  TesseraRecorderStats stats;

  add_device (recorder, 0);
  uint32_t range = begin_range (recorder, TESSERA_RANGE_PHASE, "forward");
  for (uint64_t k = 0; k < n_tried; k++)
    {
      TesseraEvent event = event_at (k);

      n_kept += tessera_recorder_event (recorder, 0, &event);
    }
  tessera_recorder_range_end (recorder, range);
  OK (tessera_recorder_flush (recorder, NULL));
  tessera_recorder_get_stats (recorder, &stats);
  g_assert_cmpuint (stats.n_events, ==, n_kept);
  g_assert_cmpuint (stats.n_written, ==, n_kept);
  g_assert_cmpuint (stats.n_lost, >=, n_tried - n_kept);
  g_assert_cmpuint (n_kept, <, n_tried);
  record (recorder, 0, 0, 10); /* the burst is over */
  tessera_recorder_close (recorder);

  g_autoptr (TesseraTrace) trace = test_load (place, TESSERA_NONE);
  g_assert_cmpuint (trace->n_events, ==, n_kept + 10);
  g_assert_cmpuint (trace->n_ranges, >=, 2);
  g_assert_cmpstr (tessera_trace_string (trace, trace->ranges[0].name), ==, "forward");
  g_assert_cmpuint (trace->ranges[0].end_index, <=, n_kept);
  const TesseraRange *gap = &trace->ranges[1];
  g_assert_true (
      g_str_has_suffix (tessera_trace_string (trace, gap->name), " events lost"));
  g_assert_cmpuint (gap->begin_index, ==, gap->end_index);
  g_assert_cmpuint (gap->begin_index, >, 0);
  g_assert_cmpuint (
      g_ascii_strtoull (tessera_trace_get_meta (trace, "lost_events"), NULL, 10), >=,
      n_tried - n_kept);
  check_settled (trace);
}

/* Events that name a device, stream or pool that nobody has told are lost, not the file.
 */
static void
test_refused (TestPlace *place, gconstpointer data)
{
  TesseraRecorder *recorder = begin (place, 0, 0);
  TesseraEvent event = event_at (0);
  TesseraRecorderStats stats;

  add_device (recorder, 0);
  record (recorder, 0, 0, 4);
  g_assert_true (tessera_recorder_event (recorder, 7, &event));
  event.stream = 3;
  g_assert_true (tessera_recorder_event (recorder, 0, &event));
  record (recorder, 0, 4, 8);
  OK (tessera_recorder_flush (recorder, NULL));
  tessera_recorder_get_stats (recorder, &stats);
  g_assert_cmpuint (stats.n_events, ==, 8);
  g_assert_cmpuint (stats.n_lost, ==, 2);
  g_assert_false (stats.has_failed);
  tessera_recorder_close (recorder);
  g_autoptr (TesseraTrace) trace = test_load (place, TESSERA_NONE);
  check_events (trace, 8);
  g_assert_cmpstr (tessera_trace_get_meta (trace, "lost_events"), ==, "2");
}

static void
test_fork (TestPlace *place, gconstpointer data)
{
  TesseraRecorder *recorder = begin (place, 0, 0);

  add_device (recorder, 0);
  record (recorder, 0, 0, 1000);
  pid_t child = fork ();
  if (child == 0)
    {
      TesseraEvent event = event_at (0);
      TesseraRecorderStats stats;
      bool is_quiet = !tessera_recorder_event (recorder, 0, &event);

      is_quiet &= tessera_recorder_range_begin (recorder, TESSERA_RANGE_PHASE, "child",
                                                false) == TESSERA_NONE;
      is_quiet &=
          !tessera_recorder_tensor (recorder, 0, 512, TESSERA_TENSOR_BUFFER, "child");
      is_quiet &= tessera_recorder_stack (recorder) == TESSERA_NONE;
      is_quiet &= tessera_recorder_flush (recorder, NULL) == TESSERA_INVALID;
      tessera_recorder_meta (recorder, "child", "was here");
      tessera_recorder_get_stats (recorder, &stats);
      is_quiet &= stats.n_events == 0;
      tessera_recorder_close (recorder);
      _exit (is_quiet ? 0 : 1);
    }
  g_assert_cmpint (test_wait (child), ==, 0);
  record (recorder, 0, 1000, 2000);
  tessera_recorder_close (recorder);
  g_autoptr (TesseraTrace) trace = test_load (place, TESSERA_NONE);
  check_events (trace, 2000);
  g_assert_null (tessera_trace_get_meta (trace, "child"));
}

static void
expect_refused (const TestPlace *place, int go_fd, bool has_older)
{
  TesseraRecorderOptions options = { .path = place->path };
  TesseraError error = { 0 }, again = { 0 };
  TesseraRecorder *recorder;
  char go;

  if (read (go_fd, &go, 1) != 1)
    _exit (1);
  bool is_refused =
      (has_older ||
       (tessera_trace_save_edits (place->path, NULL, 0, &error) == TESSERA_IO &&
        strstr (error.text, "is being recorded by process"))) &&
      tessera_recorder_open (&options, &again, &recorder) == TESSERA_IO &&
      strstr (again.text, "is being recorded by process");
  _exit (is_refused ? 0 : 1);
}

/* Another process's recording can neither be changed nor replaced while it goes on. */
static void
test_busy (TestPlace *place, gconstpointer data)
{
  TesseraRecorder *recorder;
  int pipe_fds[2];
  pid_t child;

  for (int i = 0; i < 2; i++) /* the second time over an older trace, without an event */
    {
      g_assert_cmpint (pipe (pipe_fds), ==, 0);
      child = fork (); /* before there is a second thread */
      if (child == 0)
        expect_refused (place, pipe_fds[0], i > 0);
      recorder = begin (place, 0, 0);
      g_assert_cmpint (write (pipe_fds[1], "", 1), ==, 1);
      g_assert_cmpint (test_wait (child), ==, 0);
      tessera_recorder_close (recorder);
      close (pipe_fds[0]);
      close (pipe_fds[1]);
    }
}

#define GROWING_EVENTS 1500000
#define GROWING_BATCH 20000

/* Reads until all events are there. Whatever a reading gives is what was recorded until
 * some moment; it gives something before the end, too. */
static void
read_growing (const TestPlace *place)
{
  uint64_t n_before = 0, n_growths = 0;

  while (n_before < GROWING_EVENTS)
    {
      TesseraError error = { 0 };
      g_autoptr (TesseraTrace) trace = NULL;

      if (tessera_trace_load (place->path, TESSERA_NONE, NULL, &error, &trace) !=
          TESSERA_OK)
        {
          if (strstr (error.text, "is being recorded by process") == NULL &&
              strstr (error.text, "it holds no recording") == NULL)
            _exit (1);
          continue;
        }
      check_events (trace, trace->n_events);
      if (trace->n_events < n_before)
        _exit (2);
      n_growths += trace->n_events > n_before;
      n_before = trace->n_events;
    }
  _exit (n_growths >= 2 ? 0 : 3);
}

/* Another process's recording can be read while it goes on, also while its pages move from
 * the WAL into the file, which they do several times here. */
static void
test_growing (TestPlace *place, gconstpointer data)
{
  pid_t child = fork (); /* before there is a second thread */

  if (child == 0)
    {
      while (access (place->path, F_OK) != 0)
        g_usleep (1000);
      read_growing (place);
    }
  TesseraRecorder *recorder = begin (place, 0, 10);
  add_device (recorder, 0);
  for (uint64_t k = 0; k < GROWING_EVENTS; k += GROWING_BATCH)
    {
      record (recorder, 0, k, k + GROWING_BATCH);
      OK (tessera_recorder_flush (recorder, NULL));
      g_usleep (10000);
    }
  tessera_recorder_close (recorder);
  g_assert_cmpint (test_wait (child), ==, 0);
}

#define N_DEVICES 2
#define N_THREADS 4
#define N_ROUNDS 200
#define ROUND_EVENTS 100

typedef struct
{
  TesseraRecorder *recorder;
  pthread_mutex_t locks[N_DEVICES]; /* the sanitizer does not know GMutex */
  uint64_t n_events[N_DEVICES];     /* guarded by them */
} Crowd;

static gpointer
run_crowd (gpointer data)
{
  Crowd *crowd = data;

  for (unsigned round = 0; round < N_ROUNDS; round++)
    {
      uint32_t device = round % N_DEVICES;
      uint32_t outer = begin_range (crowd->recorder, TESSERA_RANGE_PHASE, "outer");
      uint32_t inner = begin_range (crowd->recorder, TESSERA_RANGE_MODULE, "inner");

      for (unsigned i = 0; i < ROUND_EVENTS; i++)
        {
          pthread_mutex_lock (&crowd->locks[device]);
          record (crowd->recorder, device, crowd->n_events[device],
                  crowd->n_events[device] + 1);
          crowd->n_events[device]++;
          pthread_mutex_unlock (&crowd->locks[device]);
        }
      tessera_recorder_range_end (crowd->recorder, inner);
      tessera_recorder_range_end (crowd->recorder, outer);
    }
  return NULL;
}

/* Events are in the order of their device's lock, ranges in the file's. */
static void
test_threads (TestPlace *place, gconstpointer data)
{
  Crowd crowd = { .recorder = begin (place, 0, 20) };
  GThread *threads[N_THREADS];

  for (uint32_t device = 0; device < N_DEVICES; device++)
    {
      pthread_mutex_init (&crowd.locks[device], NULL);
      add_device (crowd.recorder, device);
    }
  for (int i = 0; i < N_THREADS; i++)
    threads[i] = g_thread_new (NULL, run_crowd, &crowd);
  for (int i = 0; i < N_THREADS; i++)
    g_thread_join (threads[i]);
  tessera_recorder_close (crowd.recorder);
  for (uint32_t device = 0; device < N_DEVICES; device++)
    {
      TesseraTrace *trace = test_load (place, device);

      check_events (trace, N_THREADS * N_ROUNDS * ROUND_EVENTS / N_DEVICES);
      g_assert_cmpuint (trace->n_ranges, ==, 2 * N_THREADS * N_ROUNDS);
      check_settled (trace);
      tessera_trace_free (trace);
      pthread_mutex_destroy (&crowd.locks[device]);
    }
}

/* Stacks are wished for where there is no Python. */
static void
test_no_python (TestPlace *place, gconstpointer data)
{
  TesseraRecorderOptions options = { .path = place->path, .stacks = true };
  TesseraRecorder *recorder;

  OK (tessera_recorder_open (&options, NULL, &recorder));
  g_assert_cmpuint (tessera_recorder_stack (recorder), ==, TESSERA_NONE);
  tessera_recorder_close (recorder);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  TEST ("/recorder/whole", test_whole);
  TEST ("/recorder/killed-early", test_killed_early);
  TEST ("/recorder/killed", test_killed);
  TEST ("/recorder/killed-later", test_killed_later);
  TEST ("/recorder/replaces-killed", test_replaces_killed);
  TEST ("/recorder/ranges", test_ranges);
  TEST ("/recorder/tensors", test_tensors);
  TEST ("/recorder/keeps-older", test_keeps_older);
  TEST ("/recorder/lost", test_lost);
  TEST ("/recorder/refused", test_refused);
  TEST ("/recorder/fork", test_fork);
  TEST ("/recorder/busy", test_busy);
  TEST ("/recorder/growing", test_growing);
  TEST ("/recorder/no-python", test_no_python);
  TEST ("/recorder/threads", test_threads);
  return g_test_run ();
}
