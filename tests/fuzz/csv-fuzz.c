/*
 * Fuzz target: both kinds of CSV tables.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "recorder/import/private.h"
#include "tests/fuzz/fuzz.h"

int
LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t n_bytes)
{
  TesseraError error = { 0 };
  TesseraStream *stream = tessera_stream_new (bytes, n_bytes);
  TesseraTrace *trace = NULL;

  if (tessera_csv_knows (stream))
    fuzz_check (tessera_import_csv (stream, &error, &trace), &error);
  if (trace != NULL)
    for (size_t i = 0; i < trace->n_ranges; i++)
      if (trace->ranges[i].begin_index > trace->ranges[i].end_index ||
          trace->ranges[i].end_index > trace->n_events)
        abort ();
  tessera_trace_free (trace);
  tessera_stream_close (stream);
  return 0;
}
