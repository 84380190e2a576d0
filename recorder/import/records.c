/*
 * What each kind of dict in a snapshot becomes: a trace entry, a frame, a segment, a block,
 * a use of a block, an annotation.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "recorder/import/private.h"

#define MAX_TIME_US ((int64_t) 1 << 52) /* the year 2112; fits nanoseconds in 63 bits */

static int64_t
get_time_us (TesseraCapture *capture, const TesseraFields *fields)
{
  int64_t time_us;

  if (!tessera_fields_have (fields, TESSERA_TEXT_TIME_US) ||
      !tessera_heap_i64 (&capture->pickle.heap, fields->values[TESSERA_TEXT_TIME_US],
                         &time_us) ||
      time_us > MAX_TIME_US || time_us < -MAX_TIME_US)
    return TESSERA_TIME_MISSING;
  return time_us;
}

/* Trace entries */

static uint8_t
action_of (const TesseraFields *fields, uint32_t *out_text)
{
  static const uint8_t actions[TESSERA_N_TEXTS] = {
    [TESSERA_TEXT_ALLOC] = TESSERA_ALLOC,
    [TESSERA_TEXT_FREE_REQUESTED] = TESSERA_FREE_REQUESTED,
    [TESSERA_TEXT_FREE_COMPLETED] = TESSERA_FREE_COMPLETED,
    [TESSERA_TEXT_SEGMENT_ALLOC] = TESSERA_SEGMENT_ALLOC,
    [TESSERA_TEXT_SEGMENT_FREE] = TESSERA_SEGMENT_FREE,
    [TESSERA_TEXT_SEGMENT_MAP] = TESSERA_SEGMENT_MAP,
    [TESSERA_TEXT_SEGMENT_UNMAP] = TESSERA_SEGMENT_UNMAP,
    [TESSERA_TEXT_OOM] = TESSERA_OOM,
    [TESSERA_TEXT_SNAPSHOT] = TESSERA_SNAPSHOT,
    [TESSERA_TEXT_ANNOTATE] = TESSERA_MARK,
    [TESSERA_TEXT_USER_DEFINED] = TESSERA_MARK,
    [TESSERA_TEXT_WORKSPACE_SNAPSHOT] = TESSERA_MARK,
  };
  TesseraValue value = fields->values[TESSERA_TEXT_ACTION];
  uint64_t text = value >> TESSERA_VALUE_TAG_BITS;

  if (tessera_value_kind (value) != TESSERA_VALUE_TEXT)
    return TESSERA_ACTION_FLAWED;
  if (text < TESSERA_N_TEXTS && actions[text] != 0)
    return actions[text];
  *out_text = (uint32_t) text;
  return TESSERA_ACTION_UNKNOWN;
}

/* Whether the entry's address is that of memory, which then must be a range. */
static bool
has_range (uint8_t action)
{
  return action >= TESSERA_ALLOC && action <= TESSERA_SEGMENT_UNMAP;
}

/* The key that makes no sense, or TESSERA_N_TEXTS. */
static TesseraTextId
read_entry (TesseraCapture *capture, const TesseraFields *fields, TesseraEvent *event)
{
  TesseraTextId addr = event->action == TESSERA_OOM &&
                               tessera_fields_have (fields, TESSERA_TEXT_DEVICE_FREE)
                           ? TESSERA_TEXT_DEVICE_FREE
                           : TESSERA_TEXT_ADDR;
  bool is_memory = has_range (event->action);
  uint64_t end;

  if (event->action == TESSERA_ACTION_FLAWED)
    return TESSERA_TEXT_ACTION;
  if (!tessera_capture_handle (capture, fields, addr, &event->addr) && is_memory)
    return addr;
  if (!tessera_capture_size (capture, fields, TESSERA_TEXT_SIZE, &event->size_bytes))
    {
      if (is_memory || event->action == TESSERA_OOM)
        return TESSERA_TEXT_SIZE;
      event->size_bytes = 0;
    }
  if (is_memory && __builtin_add_overflow (event->addr, event->size_bytes, &end))
    return addr;
  return TESSERA_N_TEXTS;
}

TesseraStatus
tessera_make_entry (TesseraCapture *capture,
                    const TesseraFields *fields,
                    TesseraValue *out_value)
{
  TesseraEvent event = { .stack = TESSERA_NONE };
  TesseraTextId wrong;
  TesseraPoolId pool;
  uint64_t stream = 0;
  uint32_t index, unknown = 0;
  TesseraStatus status =
      tessera_capture_number (capture, capture->trace->n_events, &index);

  if (status != TESSERA_OK)
    return status;
  event.stack = tessera_capture_stack (capture, fields);
  capture->seen |= fields->present;
  event.action = action_of (fields, &unknown);
  if (event.action == TESSERA_ACTION_UNKNOWN)
    event.stack = unknown;
  wrong = read_entry (capture, fields, &event);
  if (wrong == TESSERA_N_TEXTS && tessera_fields_have (fields, TESSERA_TEXT_STREAM) &&
      !tessera_capture_handle (capture, fields, TESSERA_TEXT_STREAM, &stream))
    wrong = TESSERA_TEXT_STREAM;
  event.at_ns = get_time_us (capture, fields);
  if (event.at_ns != TESSERA_TIME_MISSING)
    event.at_ns *= 1000;
  event.pool_known =
      tessera_capture_pool_id (capture, fields, TESSERA_TEXT_POOL_ID, &pool);
  status = tessera_capture_stream (capture, stream, &event.stream);
  if (status == TESSERA_OK)
    status = tessera_capture_pool (capture, pool, &event.pool);
  if (status != TESSERA_OK)
    return status;
  if (wrong != TESSERA_N_TEXTS)
    {
      tessera_capture_flaw (capture, TESSERA_RECORD_ENTRY, index, wrong, fields);
      event.action = TESSERA_ACTION_FLAWED;
    }
  import_must (tessera_trace_add_event (capture->trace, &event));
  *out_value = tessera_value_record (TESSERA_RECORD_ENTRY, index, 1);
  return TESSERA_OK;
}

/* Frames */

TesseraStatus
tessera_make_frame (TesseraCapture *capture,
                    const TesseraFields *fields,
                    TesseraValue *out_value)
{
  TesseraFrame frame = {
    .name = tessera_capture_string (capture, fields->values[TESSERA_TEXT_NAME]),
    .file = tessera_capture_string (capture, fields->values[TESSERA_TEXT_FILENAME])
  };
  uint32_t index;

  /* One file at hand has 2^64 - 1 as a line: unknown, like 0. */
  if (!tessera_fields_have (fields, TESSERA_TEXT_LINE) ||
      !tessera_heap_i64 (&capture->pickle.heap, fields->values[TESSERA_TEXT_LINE],
                         &frame.line) ||
      frame.line < 0)
    frame.line = 0;
  import_must (tessera_trace_add_frame (capture->trace, &frame, &index));
  *out_value = tessera_value_record (TESSERA_RECORD_FRAME, index, 1);
  return TESSERA_OK;
}

/* Blocks and their history (2.0) */

TesseraStatus
tessera_make_history (TesseraCapture *capture,
                      const TesseraFields *fields,
                      TesseraValue *out_value)
{
  TesseraHistoryRecord history;
  uint32_t index;
  TesseraStatus status = tessera_capture_number (capture, capture->n_histories, &index);

  if (status != TESSERA_OK)
    return status;
  history.stack = tessera_capture_stack (capture, fields);
  if (!tessera_capture_size (capture, fields, TESSERA_TEXT_REAL_SIZE,
                             &history.real_bytes))
    history.real_bytes = 0;
  IMPORT_RESERVE (capture->histories, capture->cap_histories, capture->n_histories + 1);
  capture->histories[capture->n_histories++] = history;
  *out_value = tessera_value_record (TESSERA_RECORD_HISTORY, index, 1);
  return TESSERA_OK;
}

/* Annotations */

TesseraStatus
tessera_make_annotation (TesseraCapture *capture,
                         const TesseraFields *fields,
                         TesseraValue *out_value)
{
  TesseraAnnotationRecord annotation = { .name = TESSERA_NONE };
  TesseraValue name = fields->values[TESSERA_TEXT_NAME];
  uint64_t device = 0;
  uint32_t index;
  TesseraStatus status = tessera_capture_number (capture, capture->n_annotations, &index);

  if (status != TESSERA_OK)
    return status;
  annotation.time_us = get_time_us (capture, fields);
  annotation.is_end = tessera_fields_say (fields, TESSERA_TEXT_STAGE, TESSERA_TEXT_END);
  annotation.is_flawed =
      tessera_value_kind (name) != TESSERA_VALUE_TEXT ||
      annotation.time_us == TESSERA_TIME_MISSING ||
      (!annotation.is_end &&
       !tessera_fields_say (fields, TESSERA_TEXT_STAGE, TESSERA_TEXT_START)) ||
      (tessera_fields_have (fields, TESSERA_TEXT_DEVICE) &&
       (!tessera_capture_u64 (capture, fields, TESSERA_TEXT_DEVICE, &device) ||
        device >= TESSERA_MAX_DEVICES));
  annotation.device = (uint32_t) device;
  if (!annotation.is_flawed)
    annotation.name = (uint32_t) (name >> TESSERA_VALUE_TAG_BITS);
  IMPORT_RESERVE (capture->annotations, capture->cap_annotations,
                  capture->n_annotations + 1);
  capture->annotations[capture->n_annotations++] = annotation;
  *out_value = tessera_value_record (TESSERA_RECORD_ANNOTATION, index, 1);
  return TESSERA_OK;
}

/* Segments and their blocks */

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

  if (status != TESSERA_OK)
    return status;
  block.stack = tessera_capture_stack (capture, fields);
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
  IMPORT_RESERVE (capture->blocks, capture->cap_blocks, capture->n_blocks + 1);
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

static void
read_blocks (TesseraCapture *capture,
             const TesseraFields *fields,
             TesseraSegmentRecord *segment,
             TesseraTextId *wrong)
{
  TesseraHeap *heap = &capture->pickle.heap;
  TesseraValue value;
  const TesseraObject *list;

  if (!tessera_fields_have (fields, TESSERA_TEXT_BLOCKS))
    return;
  value = tessera_heap_resolve (heap, fields->values[TESSERA_TEXT_BLOCKS]);
  list = tessera_heap_object (heap, value, TESSERA_OBJECT_LIST);
  if (list == NULL || !take_blocks (capture, list, &segment->first_block))
    {
      *wrong = TESSERA_TEXT_BLOCKS;
      return;
    }
  tessera_pickle_become (&capture->pickle, value,
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

  if (status != TESSERA_OK)
    return status;
  segment.stack = tessera_capture_stack (capture, fields);
  capture->seen |= fields->present;
  wrong = read_segment (capture, fields, &segment, &stream);
  read_blocks (capture, fields, &segment, &wrong);
  segment.is_small = is_small (fields, segment.size_bytes);
  segment.is_expandable = tessera_fields_are_true (fields, TESSERA_TEXT_IS_EXPANDABLE);
  tessera_capture_pool_id (capture, fields, TESSERA_TEXT_SEGMENT_POOL_ID, &pool);
  status = tessera_capture_pool (capture, pool, &segment.pool);
  if (status == TESSERA_OK)
    status = tessera_capture_stream (capture, stream, &segment.stream);
  if (status != TESSERA_OK)
    return status;
  if (wrong != TESSERA_N_TEXTS)
    segment.is_flawed =
        tessera_capture_flaw (capture, TESSERA_RECORD_SEGMENT, index, wrong, fields);
  IMPORT_RESERVE (capture->segments, capture->cap_segments, capture->n_segments + 1);
  capture->segments[capture->n_segments++] = segment;
  *out_value = tessera_value_record (TESSERA_RECORD_SEGMENT, index, 1);
  return TESSERA_OK;
}
