/*
 * What a segment and a block in a snapshot become: what was held at its end.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "db/array.h"
#include "recorder/import/capture.h"

/* The latest use of a block, which comes first in its list; NULL: none recorded. */
static const TesseraHistoryRecord *
latest_use (TesseraCapture *capture, const TesseraFields *fields)
{
  const TesseraObject *list;

  if (!tessera_fields_have (fields, TESSERA_TEXT_HISTORY))
    return NULL;
  list = tessera_heap_object (
      &capture->pickle.heap,
      tessera_heap_resolve (&capture->pickle.heap, fields->values[TESSERA_TEXT_HISTORY]),
      TESSERA_OBJECT_LIST);
  if (list == NULL || list->n_items == 0 ||
      !tessera_value_is_record (list->items[0], TESSERA_RECORD_HISTORY))
    return NULL;
  return &capture->histories[tessera_record_first (list->items[0])];
}

static bool
read_state (const TesseraFields *fields, uint8_t *out_state)
{
  if (tessera_fields_say (fields, TESSERA_TEXT_STATE, TESSERA_TEXT_ACTIVE_ALLOCATED))
    *out_state = TESSERA_BLOCK_LIVE;
  else if (tessera_fields_say (fields, TESSERA_TEXT_STATE,
                               TESSERA_TEXT_ACTIVE_PENDING_FREE) ||
           tessera_fields_say (fields, TESSERA_TEXT_STATE,
                               TESSERA_TEXT_ACTIVE_AWAITING_FREE))
    *out_state = TESSERA_BLOCK_PENDING;
  else if (tessera_fields_say (fields, TESSERA_TEXT_STATE, TESSERA_TEXT_INACTIVE))
    *out_state = TESSERA_BLOCK_FREE;
  else
    return false;
  return true;
}

TesseraStatus
tessera_make_block (TesseraCapture *capture,
                    const TesseraFields *fields,
                    TesseraValue *out_value)
{
  TesseraBlockRecord block = { .next = TESSERA_NONE };
  const TesseraHistoryRecord *use;
  uint32_t index;
  TesseraTextId wrong = TESSERA_N_TEXTS;
  TesseraStatus status = tessera_capture_number (capture, capture->n_blocks, &index);

  if (status == TESSERA_OK)
    status = tessera_capture_stack (capture, fields, &block.stack);
  if (status != TESSERA_OK)
    return status;
  capture->seen |= fields->present;
  use = latest_use (capture, fields);
  if (use != NULL && block.stack == TESSERA_NONE)
    block.stack = use->stack;
  if (!read_state (fields, &block.state))
    wrong = TESSERA_TEXT_STATE;
  if (!tessera_capture_size (capture, fields, TESSERA_TEXT_SIZE, &block.size_bytes))
    wrong = TESSERA_TEXT_SIZE;
  if (tessera_fields_have (fields, TESSERA_TEXT_ADDRESS) &&
      !tessera_capture_handle (capture, fields, TESSERA_TEXT_ADDRESS, &block.addr))
    wrong = TESSERA_TEXT_ADDRESS;
  if (!tessera_capture_size (capture, fields, TESSERA_TEXT_REQUESTED_SIZE,
                             &block.requested_bytes))
    block.requested_bytes = use != NULL ? use->real_bytes : block.size_bytes;
  if (wrong != TESSERA_N_TEXTS)
    block.is_flawed =
        tessera_capture_flaw (capture, TESSERA_RECORD_BLOCK, index, wrong, fields);
  if (!TESSERA_RESERVE (capture->blocks, capture->cap_blocks, capture->n_blocks + 1))
    return tessera_capture_no_memory (capture);
  capture->blocks[capture->n_blocks++] = block;
  *out_value = tessera_value_record (TESSERA_RECORD_BLOCK, index, 1);
  return TESSERA_OK;
}

/* Links the blocks of a segment's list; false when it holds anything else, or blocks of
 * another segment. */
static bool
take_blocks (TesseraCapture *capture, const TesseraObject *list, uint32_t *out_first)
{
  uint32_t *link = out_first;

  for (size_t i = 0; i < list->n_items; i++)
    {
      TesseraValue item = tessera_heap_resolve (&capture->pickle.heap, list->items[i]);
      uint32_t first = tessera_record_first (item);

      if (!tessera_value_is_record (item, TESSERA_RECORD_BLOCK))
        return false;
      for (uint32_t k = first; k < first + tessera_record_count (item); k++)
        {
          if (capture->blocks[k].is_taken)
            return false;
          capture->blocks[k].is_taken = true;
          *link = k;
          link = &capture->blocks[k].next;
        }
    }
  return true;
}

static TesseraTextId
read_segment (TesseraCapture *capture,
              const TesseraFields *fields,
              TesseraSegmentRecord *segment,
              uint64_t *out_stream)
{
  uint64_t device = 0, end;

  if (!tessera_capture_size (capture, fields, TESSERA_TEXT_TOTAL_SIZE,
                             &segment->size_bytes))
    return TESSERA_TEXT_TOTAL_SIZE;
  if (!tessera_capture_handle (capture, fields, TESSERA_TEXT_ADDRESS, &segment->addr) ||
      __builtin_add_overflow (segment->addr, segment->size_bytes, &end))
    return TESSERA_TEXT_ADDRESS;
  if (tessera_fields_have (fields, TESSERA_TEXT_STREAM) &&
      !tessera_capture_handle (capture, fields, TESSERA_TEXT_STREAM, out_stream))
    return TESSERA_TEXT_STREAM;
  if (tessera_fields_have (fields, TESSERA_TEXT_DEVICE) &&
      (!tessera_capture_u64 (capture, fields, TESSERA_TEXT_DEVICE, &device) ||
       device >= TESSERA_MAX_DEVICES))
    return TESSERA_TEXT_DEVICE;
  segment->device = (uint32_t) device;
  return TESSERA_N_TEXTS;
}

/* The pool it serves; a file that does not say has one by the size of small buffers. */
static bool
is_small (const TesseraFields *fields, uint64_t size_bytes)
{
  if (tessera_fields_say (fields, TESSERA_TEXT_SEGMENT_TYPE, TESSERA_TEXT_SMALL))
    return true;
  if (tessera_fields_say (fields, TESSERA_TEXT_SEGMENT_TYPE, TESSERA_TEXT_LARGE))
    return false;
  return size_bytes == (uint64_t) 2 << 20;
}

static TesseraStatus
read_blocks (TesseraCapture *capture,
             const TesseraFields *fields,
             TesseraSegmentRecord *segment,
             TesseraTextId *wrong)
{
  TesseraHeap *heap = &capture->pickle.heap;
  TesseraValue value;
  const TesseraObject *list;

  if (!tessera_fields_have (fields, TESSERA_TEXT_BLOCKS))
    return TESSERA_OK;
  value = tessera_heap_resolve (heap, fields->values[TESSERA_TEXT_BLOCKS]);
  list = tessera_heap_object (heap, value, TESSERA_OBJECT_LIST);
  if (list == NULL || !take_blocks (capture, list, &segment->first_block))
    {
      *wrong = TESSERA_TEXT_BLOCKS;
      return TESSERA_OK;
    }
  return tessera_pickle_become (
      &capture->pickle, value,
      tessera_value_make (TESSERA_VALUE_CONST, TESSERA_CONST_NONE));
}

TesseraStatus
tessera_make_segment (TesseraCapture *capture,
                      const TesseraFields *fields,
                      TesseraValue *out_value)
{
  TesseraSegmentRecord segment = { .first_block = TESSERA_NONE };
  TesseraTextId wrong;
  TesseraPoolId pool;
  uint64_t stream = 0;
  uint32_t index;
  TesseraStatus status = tessera_capture_number (capture, capture->n_segments, &index);

  if (status == TESSERA_OK)
    status = tessera_capture_stack (capture, fields, &segment.stack);
  if (status != TESSERA_OK)
    return status;
  capture->seen |= fields->present;
  wrong = read_segment (capture, fields, &segment, &stream);
  status = read_blocks (capture, fields, &segment, &wrong);
  segment.is_small = is_small (fields, segment.size_bytes);
  segment.is_expandable = tessera_fields_are_true (fields, TESSERA_TEXT_IS_EXPANDABLE);
  tessera_capture_pool_id (capture, fields, TESSERA_TEXT_SEGMENT_POOL_ID, &pool);
  if (status == TESSERA_OK)
    status = tessera_capture_pool (capture, pool, &segment.pool);
  if (status == TESSERA_OK)
    status = tessera_capture_stream (capture, stream, &segment.stream);
  if (status != TESSERA_OK)
    return status;
  if (wrong != TESSERA_N_TEXTS)
    segment.is_flawed =
        tessera_capture_flaw (capture, TESSERA_RECORD_SEGMENT, index, wrong, fields);
  if (!TESSERA_RESERVE (capture->segments, capture->cap_segments,
                        capture->n_segments + 1))
    return tessera_capture_no_memory (capture);
  capture->segments[capture->n_segments++] = segment;
  *out_value = tessera_value_record (TESSERA_RECORD_SEGMENT, index, 1);
  return TESSERA_OK;
}
