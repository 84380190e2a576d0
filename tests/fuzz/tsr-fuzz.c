/*
 * Fuzz target: the reader of trace files. What it accepts has to be sound: every index in
 * it is followed, and it can be saved again.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <glib.h>

#include "db/store.h"
#include "tests/db/sound.h"
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
  test_trace_is_sound (trace);
  OK (tessera_trace_save (trace, path, NULL, NULL));
  OK (tessera_trace_load (path, trace->device, NULL, NULL, &again));
  test_traces_assert_equal (trace, again);
  return 0;
}
