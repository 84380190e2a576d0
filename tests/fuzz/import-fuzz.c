/*
 * Fuzz target: a whole snapshot import, and what it promises of the start state.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "recorder/import/private.h"
#include "tests/fuzz/fuzz.h"

static void
check_start (const TesseraTrace *trace)
{
  uint64_t end = 0;

  for (size_t i = 0; i < trace->start.n_segments; i++)
    {
      if (trace->start.segments[i].addr < end || trace->start.segments[i].size_bytes == 0)
        abort ();
      end = trace->start.segments[i].addr + trace->start.segments[i].size_bytes;
    }
  end = 0;
  for (size_t i = 0; i < trace->start.n_blocks; i++)
    {
      if (trace->start.blocks[i].addr < end || trace->start.blocks[i].block_bytes == 0)
        abort ();
      end = trace->start.blocks[i].addr + trace->start.blocks[i].block_bytes;
    }
}

static void
check_indices (const TesseraTrace *trace)
{
  for (size_t i = 0; i < trace->n_events; i++)
    {
      const TesseraEvent *event = &trace->events[i];

      if (event->action < TESSERA_ALLOC || event->action > TESSERA_MARK ||
          event->stream >= trace->n_streams || event->pool >= trace->n_pools ||
          (event->stack != TESSERA_NONE && event->stack >= trace->n_stacks))
        abort ();
    }
  for (size_t i = 0; i < trace->n_stack_frames; i++)
    if (trace->stack_frames[i] >= trace->n_frames)
      abort ();
  for (size_t i = 0; i < trace->n_ranges; i++)
    if (trace->ranges[i].begin_index > trace->ranges[i].end_index ||
        trace->ranges[i].end_index > trace->n_events ||
        trace->ranges[i].begin_ns > trace->ranges[i].end_ns)
      abort ();
}

int
LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t n_bytes)
{
  const TesseraOpenOptions options = { .device = TESSERA_NONE };
  TesseraError error = { 0 };
  TesseraStream *stream = tessera_stream_new (bytes, n_bytes);
  TesseraTrace *trace;

  fuzz_check (tessera_import_snapshot (stream, NULL, &options, &error, &trace), &error);
  if (trace != NULL)
    {
      check_start (trace);
      check_indices (trace);
    }
  tessera_trace_free (trace);
  tessera_stream_close (stream);
  return 0;
}
