/*
 * The segments and blocks at the end of a snapshot.
 *
 * Kept as recorded, even where they contradict each other: a check against a replay has
 * to see what the file says. What contradicts is counted in notes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "recorder/import/snapshot.h"

typedef struct
{
  TesseraCapture *capture;
  uint64_t n_elsewhere; /* blocks not where the one before ends */
  uint64_t n_uneven;    /* segments whose blocks do not fill them */
  uint64_t n_overlaps;
} End;

static TesseraStatus
add_block (End *end, const TesseraBlockRecord *record, uint64_t *at)
{
  TesseraHeldBlock block = { .addr = record->addr != 0 ? record->addr : *at,
                             .block_bytes = record->size_bytes,
                             .stack = record->stack,
                             .state = record->state };

  end->n_elsewhere += block.addr != *at;
  if (record->state != TESSERA_BLOCK_FREE)
    block.size_bytes = record->requested_bytes;
  if (__builtin_add_overflow (block.addr, block.block_bytes, at))
    return tessera_fail (end->capture->error, TESSERA_BAD_INPUT,
                         "%s: a block at 0x%" PRIx64 " of %" PRIu64
                         " bytes ends past all addresses: the snapshot is damaged",
                         end->capture->pickle.stream->name, block.addr,
                         block.block_bytes);
  if (tessera_trace_add_block (&end->capture->trace->end, &block) != TESSERA_OK)
    return tessera_capture_no_memory (end->capture);
  return TESSERA_OK;
}

static TesseraStatus
add_blocks (End *end, const TesseraSegmentRecord *record)
{
  TesseraCapture *capture = end->capture;
  uint64_t at = record->addr;

  for (uint32_t k = record->first_block; k != TESSERA_NONE; k = capture->blocks[k].next)
    {
      TesseraStatus status;

      if (capture->blocks[k].is_flawed)
        {
          char where[64];

          snprintf (where, sizeof where, "a block of the segment at 0x%" PRIx64,
                    record->addr);
          return tessera_capture_refuse (capture, TESSERA_RECORD_BLOCK, k, where);
        }
      status = add_block (end, &capture->blocks[k], &at);
      if (status != TESSERA_OK)
        return status;
    }
  end->n_uneven += at != record->addr + record->size_bytes;
  return TESSERA_OK;
}

static TesseraStatus
add_segment (End *end, uint32_t index)
{
  TesseraCapture *capture = end->capture;
  const TesseraSegmentRecord *record = &capture->segments[index];
  TesseraSegment segment = { .addr = record->addr,
                             .size_bytes = record->size_bytes,
                             .stack = record->stack,
                             .is_small = record->is_small,
                             .is_expandable = record->is_expandable };

  if (record->device != capture->trace->device)
    return TESSERA_OK;
  if (record->is_flawed)
    {
      char where[64];

      snprintf (where, sizeof where, "segment %" PRIu32, index);
      return tessera_capture_refuse (capture, TESSERA_RECORD_SEGMENT, index, where);
    }
  if (tessera_trace_add_stream (capture->trace, capture->streams[record->stream],
                                &segment.stream) != TESSERA_OK ||
      tessera_trace_add_pool (capture->trace, capture->pools[record->pool],
                              &segment.pool) != TESSERA_OK ||
      tessera_trace_add_segment (&capture->trace->end, &segment) != TESSERA_OK)
    return tessera_capture_no_memory (capture);
  return add_blocks (end, record);
}

#define COMPARE(a, b) ((a) < (b) ? -1 : (a) > (b))

static int
compare_segments (const void *left, const void *right)
{
  const TesseraSegment *a = left, *b = right;
  int order = COMPARE (a->addr, b->addr);

  return order != 0 ? order : COMPARE (a->size_bytes, b->size_bytes);
}

static int
compare_blocks (const void *left, const void *right)
{
  const TesseraHeldBlock *a = left, *b = right;
  int order = COMPARE (a->addr, b->addr);

  return order != 0 ? order : COMPARE (a->block_bytes, b->block_bytes);
}

static void
sort_held (TesseraHeld *held)
{
  if (held->n_segments > 0)
    qsort (held->segments, held->n_segments, sizeof *held->segments, compare_segments);
  if (held->n_blocks > 0)
    qsort (held->blocks, held->n_blocks, sizeof *held->blocks, compare_blocks);
}

static TesseraStatus
note_oddities (End *end)
{
  TesseraTrace *trace = end->capture->trace;
  TesseraStatus status;

  for (size_t i = 1; i < trace->end.n_segments; i++)
    end->n_overlaps +=
        trace->end.segments[i].addr <
        trace->end.segments[i - 1].addr + trace->end.segments[i - 1].size_bytes;
  status = tessera_note (trace, "end_blocks_elsewhere", end->n_elsewhere,
                         "final blocks leave a gap or overlap");
  if (status == TESSERA_OK)
    status = tessera_note (trace, "end_segments_uneven", end->n_uneven,
                           "final segments are not the sum of their blocks");
  if (status == TESSERA_OK)
    status = tessera_note (trace, "end_segments_overlap", end->n_overlaps,
                           "final segments overlap");
  return status == TESSERA_OK ? TESSERA_OK : tessera_capture_no_memory (end->capture);
}

TesseraStatus
tessera_snapshot_take_end (TesseraCapture *capture, const TesseraSnapshotParts *parts)
{
  End end = { .capture = capture };

  for (size_t i = 0; parts->segments != NULL && i < parts->segments->n_items; i++)
    {
      TesseraValue item =
          tessera_heap_resolve (&capture->pickle.heap, parts->segments->items[i]);

      if (!tessera_value_is_record (item, TESSERA_RECORD_SEGMENT))
        return tessera_fail (
            capture->error, TESSERA_BAD_INPUT,
            "%s: `segments` holds %s where a segment belongs: the snapshot "
            "is damaged",
            capture->pickle.stream->name,
            tessera_heap_describe (&capture->pickle.heap, item));
      for (uint32_t k = 0; k < tessera_record_count (item); k++)
        {
          TesseraStatus status = add_segment (&end, tessera_record_first (item) + k);

          if (status != TESSERA_OK)
            return status;
        }
    }
  sort_held (&capture->trace->end);
  return note_oddities (&end);
}
