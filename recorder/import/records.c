/*
 * What a trace entry, a frame, a use of a block and an annotation in a snapshot become.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "db/array.h"
#include "recorder/import/capture.h"

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

  if (status == TESSERA_OK)
    status = tessera_capture_stack (capture, fields, &event.stack);
  if (status != TESSERA_OK)
    return status;
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
  if (tessera_trace_add_event (capture->trace, &event) != TESSERA_OK)
    return tessera_capture_no_memory (capture);
  *out_value = tessera_value_record (TESSERA_RECORD_ENTRY, index, 1);
  return TESSERA_OK;
}

/* Frames */

TesseraStatus
tessera_make_frame (TesseraCapture *capture,
                    const TesseraFields *fields,
                    TesseraValue *out_value)
{
  TesseraFrame frame = { 0 };
  uint32_t index;
  TesseraStatus status =
      tessera_capture_string (capture, fields->values[TESSERA_TEXT_NAME], &frame.name);

  if (status == TESSERA_OK)
    status = tessera_capture_string (capture, fields->values[TESSERA_TEXT_FILENAME],
                                     &frame.file);
  if (status != TESSERA_OK)
    return status;
  /* One file at hand has 2^64 - 1 as a line: unknown, like 0. */
  if (!tessera_fields_have (fields, TESSERA_TEXT_LINE) ||
      !tessera_heap_i64 (&capture->pickle.heap, fields->values[TESSERA_TEXT_LINE],
                         &frame.line) ||
      frame.line < 0)
    frame.line = 0;
  if (tessera_trace_add_frame (capture->trace, &frame, &index) != TESSERA_OK)
    return tessera_capture_no_memory (capture);
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

  if (status == TESSERA_OK)
    status = tessera_capture_stack (capture, fields, &history.stack);
  if (status != TESSERA_OK)
    return status;
  if (!tessera_capture_size (capture, fields, TESSERA_TEXT_REAL_SIZE,
                             &history.real_bytes))
    history.real_bytes = 0;
  if (!TESSERA_RESERVE (capture->histories, capture->cap_histories,
                        capture->n_histories + 1))
    return tessera_capture_no_memory (capture);
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
  if (!TESSERA_RESERVE (capture->annotations, capture->cap_annotations,
                        capture->n_annotations + 1))
    return tessera_capture_no_memory (capture);
  capture->annotations[capture->n_annotations++] = annotation;
  *out_value = tessera_value_record (TESSERA_RECORD_ANNOTATION, index, 1);
  return TESSERA_OK;
}
