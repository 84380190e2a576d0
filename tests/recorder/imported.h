/*
 * For tests of importers: files that are memory, and what is looked at in traces.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "recorder/import/private.h"

#include <string.h>

/* Over memory that must outlive the stream; never gzip. */
static inline TesseraStream *
test_stream (const void *bytes, size_t n_bytes)
{
  TesseraStream *stream = g_new0 (TesseraStream, 1);

  stream->from = stream->at = bytes;
  stream->end = stream->at + n_bytes;
  stream->is_at_end = true;
  stream->file_bytes = stream->file_at = n_bytes;
  g_strlcpy (stream->name, "memory", sizeof stream->name);
  return stream;
}

/* The sentence has these words. */
static inline void
test_says (const TesseraError *error, const char *words)
{
  if (strstr (error->text, words) == NULL)
    g_error ("\"%s\" does not say \"%s\"", error->text, words);
}

static inline void
test_range_is (const TesseraTrace *trace,
               size_t index,
               const char *name,
               uint32_t begin_index,
               uint32_t end_index,
               TesseraRangeKind kind)
{
  const TesseraRange *range = &trace->ranges[index];

  g_assert_cmpstr (tessera_trace_string (trace, range->name), ==, name);
  g_assert_cmpuint (range->begin_index, ==, begin_index);
  g_assert_cmpuint (range->end_index, ==, end_index);
  g_assert_cmpuint (range->kind, ==, kind);
}

/* The state at the start: ascending, apart, blocks inside segments where there are any. */
static inline void
test_start_is_sound (const TesseraTrace *trace)
{
  const TesseraHeld *start = &trace->start;
  uint64_t end = 0;
  size_t k = 0;

  for (size_t i = 0; i < start->n_segments; i++)
    {
      g_assert_cmpuint (start->segments[i].addr, >=, end);
      g_assert_cmpuint (start->segments[i].size_bytes, >, 0);
      end = start->segments[i].addr + start->segments[i].size_bytes;
    }
  end = 0;
  for (size_t i = 0; i < start->n_blocks; i++)
    {
      const TesseraHeldBlock *block = &start->blocks[i];

      g_assert_cmpuint (block->addr, >=, end);
      g_assert_cmpuint (block->block_bytes, >, 0);
      g_assert_cmpint (block->state, !=, TESSERA_BLOCK_FREE);
      end = block->addr + block->block_bytes;
      if (!trace->has_segments)
        continue;
      while (k < start->n_segments &&
             start->segments[k].addr + start->segments[k].size_bytes <= block->addr)
        k++;
      g_assert_cmpuint (k, <, start->n_segments);
      g_assert_cmpuint (start->segments[k].addr, <=, block->addr);
      g_assert_cmpuint (end, <=, start->segments[k].addr + start->segments[k].size_bytes);
    }
}
