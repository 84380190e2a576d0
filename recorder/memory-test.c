/*
 * Each allocation of a recording fails once: the recording ends or lacks something, the
 * program goes on, nothing leaks, and what is in the file can be read.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <glib.h>
#include <string.h>

#include "db/store.h"
#include "tests/db/test-place.h"
#include "recorder/recorder.h"
#include "tests/fail_alloc.h"

#define MOST_ALLOCATIONS 10000

static void
record (TesseraRecorder *recorder, uint32_t device)
{
  uint32_t step =
      tessera_recorder_range_begin (recorder, TESSERA_RANGE_STEP, "step", false);

  for (uint64_t k = 0; k < 100; k++)
    {
      TesseraEvent event = { .action = k % 2 ? TESSERA_FREE_COMPLETED : TESSERA_ALLOC,
                             .addr = 4096,
                             .size_bytes = 512,
                             .stream = k % 2,
                             .pool = k % 2,
                             .stack = TESSERA_NONE };

      (void) tessera_recorder_event (recorder, device, &event);
    }
  (void) tessera_recorder_tensor (recorder, device, 4096, TESSERA_TENSOR_BUFFER, "b");
  tessera_recorder_range_end (recorder, step);
}

/* Returns: whether the file was made. */
static bool
live (const TestPlace *place)
{
  TesseraSegment segment = { .addr = 4096, .size_bytes = 4096 };
  TesseraHeld held = { .segments = &segment, .n_segments = 1 };
  TesseraRecorderOptions options = { .path = place->path, .flush_ms = 60000 };
  TesseraError error = { 0 };
  TesseraRecorder *recorder;
  TesseraStatus status = tessera_recorder_open (&options, &error, &recorder);

  if (status != TESSERA_OK)
    {
      g_assert_cmpint (status, ==, TESSERA_NO_MEMORY);
      g_assert_nonnull (strstr (error.text, "no memory left"));
      g_assert_null (recorder);
      return false;
    }
  for (uint32_t device = 1; device < 3; device++)
    {
      TesseraRecordedDevice told = { .device = device, .alignment_bytes = 512 };

      tessera_settings_default (&told.settings);
      tessera_recorder_device (recorder, &told);
      tessera_recorder_stream (recorder, device, 1, 0xdead);
      tessera_recorder_pool (recorder, device, 1, (TesseraPoolId){ 1, 2 });
      tessera_recorder_meta (recorder, "key", "value");
      record (recorder, device);
      status = tessera_recorder_flush (recorder, NULL);
      g_assert_true (status == TESSERA_OK || status == TESSERA_NO_MEMORY);
      tessera_recorder_state (recorder, device, &held, true);
    }
  tessera_recorder_close (recorder);
  return true;
}

static void
test_each (TestPlace *place, gconstpointer data)
{
  bool has_failed = true;
  unsigned long nth;

  for (nth = 1; has_failed; nth++)
    {
      long n_held = tessera_fail_alloc_held ();

      g_assert_cmpuint (nth, <, MOST_ALLOCATIONS);
      tessera_fail_alloc_at (nth);
      bool was_made = live (place);
      has_failed = tessera_fail_alloc_stop ();
      g_assert_cmpint (tessera_fail_alloc_held (), ==, n_held);
      g_assert_true (was_made || has_failed);
      if (was_made)
        tessera_trace_free (test_load (place, TESSERA_NONE));
      test_place_empty (place);
    }
  g_test_message ("%lu allocations", nth - 2);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add ("/recorder/memory", TestPlace, NULL, test_place_begin, test_each,
              test_place_end);
  return g_test_run ();
}
