/*
 * Fuzz target: the reader of trace files. What it accepts has to be sound: every index in
 * it is followed, and it can be saved again.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <glib.h>

#include "db/store.h"
#include "tests/db/test-traces.h"
#include "tests/fuzz/file-input.h"
#include "tests/ok.h"
#include "tests/db/auto.h"

#define SEED 1
#define N_EVENTS 30

static void
make_base (const char *path)
{
  g_autoptr (TesseraTrace) trace = test_trace_new (SEED, N_EVENTS);

  OK (tessera_trace_save (trace, path, NULL, NULL));
}

static void
walk (const TesseraTrace *trace)
{
  for (size_t i = 0; i < trace->n_events; i++)
    {
      const TesseraEvent *event = &trace->events[i];

      g_assert_cmpuint (event->stream, <, trace->n_streams);
      g_assert_cmpuint (event->pool, <, trace->n_pools);
      if (event->stack != TESSERA_NONE)
        g_assert_cmpuint (trace->stack_begin[event->stack], <=,
                          trace->stack_begin[event->stack + 1]);
    }
  for (size_t i = 0; i < trace->n_stack_frames; i++)
    g_assert_cmpuint (trace->stack_frames[i], <, trace->n_frames);
  for (size_t i = 0; i < trace->n_ranges; i++)
    {
      g_assert_cmpuint (trace->ranges[i].end_index, <=, trace->n_events);
      g_assert_true (trace->ranges[i].parent == TESSERA_NONE ||
                     trace->ranges[i].parent < i);
    }
  for (size_t i = 0; i < trace->n_tensors; i++)
    {
      g_assert_cmpuint (trace->tensors[i].event_index, <=, trace->n_events);
      g_assert_cmpuint (trace->tensors[i].name, <, tessera_trace_n_strings (trace));
    }
}

int
LLVMFuzzerTestOneInput (const uint8_t *data, size_t n_bytes)
{
  const char *path = fuzz_file_input (data, n_bytes, make_base);
  TesseraError error = { 0 };
  g_autoptr (TesseraTrace) trace = NULL, again = NULL;
  TesseraStatus status = tessera_trace_load (path, TESSERA_NONE, NULL, &error, &trace);

  g_assert_true ((status == TESSERA_OK) == (trace != NULL));
  g_assert_true ((status == TESSERA_OK) == (error.text[0] == '\0'));
  if (status != TESSERA_OK)
    return 0;
  walk (trace);
  OK (tessera_trace_save (trace, path, NULL, NULL));
  OK (tessera_trace_load (path, trace->device, NULL, NULL, &again));
  test_traces_assert_equal (trace, again);
  return 0;
}
