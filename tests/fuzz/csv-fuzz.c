/*
 * Fuzz target: both kinds of CSV tables.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "recorder/import/csv/csv.h"
#include "tests/fuzz/fuzz.h"

int
LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t n_bytes)
{
  TesseraError error = { 0 };
  TesseraStream *stream;
  TesseraTrace *trace = NULL;

  if (tessera_stream_open_memory (bytes, n_bytes, &stream) != TESSERA_OK)
    return 0;
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
