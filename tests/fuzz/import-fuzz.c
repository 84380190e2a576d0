/*
 * Fuzz target: a whole snapshot import, and what it promises of the start state.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/recorder/imported.h"
#include "tests/db/sound.h"
#include "tests/fuzz/fuzz.h"

int
LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t n_bytes)
{
  const TesseraOpenOptions options = { .device = TESSERA_NONE };
  TesseraError error = { 0 };
  TesseraStream *stream = test_stream (bytes, n_bytes);
  TesseraTrace *trace;

  fuzz_check (tessera_import_snapshot (stream, &options, &error, &trace), &error);
  if (trace != NULL)
    {
      test_trace_is_sound (trace);
      test_start_is_sound (trace);
      for (size_t i = 0; i < trace->n_ranges; i++)
        g_assert_cmpint (trace->ranges[i].begin_ns, <=, trace->ranges[i].end_ns);
    }
  tessera_trace_free (trace);
  tessera_stream_close (stream);
  return 0;
}
