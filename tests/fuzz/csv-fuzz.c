/*
 * Fuzz target: both kinds of CSV tables.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/recorder/imported.h"
#include "tests/db/sound.h"
#include "tests/fuzz/fuzz.h"

int
LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t n_bytes)
{
  TesseraError error = { 0 };
  TesseraStream *stream = test_stream (bytes, n_bytes);
  TesseraTrace *trace = NULL;

  if (tessera_csv_knows (stream))
    fuzz_check (tessera_import_csv (stream, &error, &trace), &error);
  if (trace != NULL)
    test_trace_is_sound (trace);
  tessera_trace_free (trace);
  tessera_stream_close (stream);
  return 0;
}
