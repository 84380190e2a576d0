/*
 * A PyTorch memory snapshot while it is being read: which dict becomes what. A trace entry,
 * a frame, a segment, a block, a use of a block, an annotation become records.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <inttypes.h>
#include <string.h>

#include "recorder/import/private.h"

/* PyTorch refuses such requests itself. */
#define MAX_SIZE_BYTES ((uint64_t) 1 << 60)
#define MAX_TIME_US ((int64_t) 1 << 52) /* the year 2112; fits nanoseconds in 63 bits */
/* An entry of PyTorch's takes 27 bytes of the file at least, and ten times that in memory:
 * past so many records each has to stand for so many bytes. */
#define FREE_RECORDS ((size_t) 1 << 18)
#define LEAST_RECORD_BYTES 25
/* The frames of a new stack take five bytes each in a real file, and 51 in memory. */
#define FRAMES_A_RECORD 5

static const char *const texts[TESSERA_N_TEXTS] = {
#define TEXT(name, text) [TESSERA_TEXT_##name] = text,
  TESSERA_SNAPSHOT_TEXTS (TEXT)
#undef TEXT
};

_Static_assert(TESSERA_N_TEXTS <= 64, "TesseraFields.present has a bit for each");

static void
gather_fields (const TesseraValue *pairs, size_t n_pairs, TesseraFields *fields)
{
  fields->present = 0;
  for (size_t i = 0; i < n_pairs; i++)
    {
      uint64_t id = pairs[2 * i] >> TESSERA_VALUE_TAG_BITS;

      if (tessera_value_kind (pairs[2 * i]) != TESSERA_VALUE_TEXT ||
          id >= TESSERA_N_TEXTS)
        continue;
      fields->present |= (uint64_t) 1 << id;
      fields->values[id] = pairs[2 * i + 1];
    }
}

bool
tessera_capture_fields (TesseraCapture *capture,
                        TesseraValue value,
                        TesseraFields *out_fields)
{
  const TesseraObject *dict = tessera_heap_object (
      &capture->pickle.heap, tessera_heap_resolve (&capture->pickle.heap, value),
      TESSERA_OBJECT_DICT);

  out_fields->present = 0;
  if (dict == NULL)
    return false;
  gather_fields (dict->items, dict->n_items / 2, out_fields);
  return true;
}

const TesseraObject *
tessera_capture_list (TesseraCapture *capture,
                      const TesseraFields *fields,
                      TesseraTextId key,
                      TesseraValue *out_value)
{
  *out_value = tessera_value_make (TESSERA_VALUE_CONST, TESSERA_CONST_NONE);
  if (tessera_fields_have (fields, key))
    *out_value = tessera_heap_resolve (&capture->pickle.heap, fields->values[key]);
  return tessera_heap_object (&capture->pickle.heap, *out_value, TESSERA_OBJECT_LIST);
}

bool
tessera_records_next (TesseraCapture *capture, TesseraRecords *records)
{
  while (records->n_left == 0)
    {
      TesseraValue item;

      if (records->list == NULL || records->n_items == records->list->n_items)
        return false;
      item = tessera_heap_resolve (&capture->pickle.heap,
                                   records->list->items[records->n_items++]);
      if (tessera_value_is_record (item, records->kind))
        {
          records->n_left = tessera_record_count (item);
          records->index = tessera_record_first (item) - 1;
        }
      else
        records->other = records->n_others++ == 0 ? item : records->other;
    }
  records->n_left--;
  records->index++;
  return true;
}

/* The conversion is remembered: a stack's frames name the same files over and over. */
static uint32_t
intern (TesseraCapture *capture, uint32_t text)
{
  const char *bytes = tessera_strings_get (capture->pickle.heap.texts, text);
  g_autofree char *valid = g_utf8_make_valid (bytes, -1);

  IMPORT_RESERVE (capture->strings, capture->cap_strings, (size_t) text + 1);
  while (capture->n_strings <= text)
    capture->strings[capture->n_strings++] = TESSERA_NONE;
  import_must (tessera_trace_intern (capture->trace, valid, strlen (valid),
                                     &capture->strings[text]));
  return capture->strings[text];
}

uint32_t
tessera_capture_string (TesseraCapture *capture, TesseraValue value)
{
  uint32_t text = (uint32_t) (value >> TESSERA_VALUE_TAG_BITS);

  if (tessera_value_kind (value) != TESSERA_VALUE_TEXT)
    return TESSERA_NONE;
  return text < capture->n_strings && capture->strings[text] != TESSERA_NONE
             ? capture->strings[text]
             : intern (capture, text);
}

static gpointer
flaw_key (TesseraRecordKind kind, uint32_t index)
{
  return GSIZE_TO_POINTER ((gsize) kind << 32 | index);
}

/* Remembers why a record is flawed: its value under @key. */
static void
note_flaw (TesseraCapture *capture,
           TesseraRecordKind kind,
           uint32_t index,
           TesseraTextId key,
           const TesseraFields *fields)
{
  const TesseraPickle *pickle = &capture->pickle;
  const uint64_t at = tessera_stream_position (pickle->stream);

  if (g_hash_table_size (capture->flaws) >= TESSERA_MAX_FLAWS)
    return;
  g_hash_table_insert (
      capture->flaws, flaw_key (kind, index),
      !tessera_fields_have (fields, key)
          ? g_strdup_printf ("(ends at byte %" PRIu64 ") has no `%s`", at, texts[key])
          : g_strdup_printf (
                "(ends at byte %" PRIu64 ") has %s as `%s`, which makes no sense there",
                at, tessera_heap_describe (&pickle->heap, fields->values[key]),
                texts[key]));
}

TesseraStatus
tessera_capture_refuse (TesseraCapture *capture,
                        TesseraRecordKind kind,
                        uint32_t index,
                        const char *where)
{
  const char *flaw = g_hash_table_lookup (capture->flaws, flaw_key (kind, index));

  return tessera_fail (capture->error, TESSERA_BAD_INPUT,
                       "%s: %s %s: the snapshot is damaged", capture->pickle.stream->name,
                       where, flaw != NULL ? flaw : "makes no sense");
}

/* Fields. Numbers: false when missing or no such number. */

static bool
is_true (const TesseraFields *fields, TesseraTextId key)
{
  return tessera_fields_have (fields, key) &&
         fields->values[key] ==
             tessera_value_make (TESSERA_VALUE_CONST, TESSERA_CONST_TRUE);
}

/* Whether the field is there, and says @text. */
static bool
says (const TesseraFields *fields, TesseraTextId key, TesseraTextId text)
{
  return tessera_fields_have (fields, key) &&
         fields->values[key] == tessera_value_make (TESSERA_VALUE_TEXT, text);
}

static bool
number_of (const TesseraCapture *capture,
           const TesseraFields *fields,
           TesseraTextId key,
           uint64_t *out_number)
{
  *out_number = 0;
  return tessera_fields_have (fields, key) &&
         tessera_heap_u64 (&capture->pickle.heap, fields->values[key], out_number);
}

/* A handle or an address: negative ones are the same bits seen as signed. */
static bool
handle_of (TesseraCapture *capture,
           const TesseraFields *fields,
           TesseraTextId key,
           uint64_t *out_handle)
{
  int64_t number;

  if (number_of (capture, fields, key, out_handle))
    return true;
  if (!tessera_fields_have (fields, key) ||
      !tessera_heap_i64 (&capture->pickle.heap, fields->values[key], &number))
    return false;
  *out_handle = (uint64_t) number;
  return true;
}

/* At most 2^60 bytes. */
static bool
size_of (TesseraCapture *capture,
         const TesseraFields *fields,
         TesseraTextId key,
         uint64_t *out_size_bytes)
{
  return number_of (capture, fields, key, out_size_bytes) &&
         *out_size_bytes <= MAX_SIZE_BYTES;
}

/* Turns a list of frames into a stack of the trace, once: the list stands for it then. */
static uint32_t
stack_of (TesseraCapture *capture, const TesseraFields *fields)
{
  TesseraValue value;
  TesseraRecords frames = { .kind = TESSERA_RECORD_FRAME };
  size_t n_frames = 0;
  uint32_t stack = TESSERA_NONE;

  frames.list = tessera_capture_list (capture, fields, TESSERA_TEXT_FRAMES, &value);
  if (tessera_value_is_record (value, TESSERA_RECORD_STACK))
    return tessera_record_first (value);
  if (frames.list == NULL)
    return TESSERA_NONE;
  while (tessera_records_next (capture, &frames))
    {
      IMPORT_RESERVE (capture->scratch, capture->cap_scratch, n_frames + 1);
      capture->scratch[n_frames++] = frames.index;
    }
  capture->n_records += n_frames / FRAMES_A_RECORD; /* judged with the next record */
  if (n_frames > 0)
    import_must (
        tessera_trace_add_stack (capture->trace, capture->scratch, n_frames, &stack));
  tessera_pickle_become (&capture->pickle, value,
                         tessera_value_record (TESSERA_RECORD_STACK, stack, 1));
  return stack;
}

/* How many streams or pools there may be: @index is that of the last. */
static TesseraStatus
check_number (TesseraCapture *capture, uint16_t index, const char *what)
{
  if (index < TESSERA_MAX_STREAMS)
    return TESSERA_OK;
  return tessera_fail (capture->error, TESSERA_BAD_INPUT,
                       "%s names more than %d %s: the snapshot is damaged",
                       capture->pickle.stream->name, TESSERA_MAX_STREAMS, what);
}

static TesseraStatus
stream_of (TesseraCapture *capture, uint64_t handle, uint16_t *out_stream)
{
  import_must (tessera_trace_add_stream (capture->file, handle, out_stream));
  return check_number (capture, *out_stream, "streams");
}

static TesseraStatus
pool_of (TesseraCapture *capture, TesseraPoolId id, uint16_t *out_pool)
{
  import_must (tessera_trace_add_pool (capture->file, id, out_pool));
  return check_number (capture, *out_pool, "memory pools");
}

void
tessera_capture_renumber (TesseraCapture *capture,
                          uint16_t *inout_stream,
                          uint16_t *inout_pool)
{
  uint64_t handle = capture->file->streams[*inout_stream];
  TesseraPoolId id = capture->file->pools[*inout_pool];

  import_must (tessera_trace_add_stream (capture->trace, handle, inout_stream));
  import_must (tessera_trace_add_pool (capture->trace, id, inout_pool));
}

/* False when the field is missing or no pair. */
static bool
pool_id_of (TesseraCapture *capture,
            const TesseraFields *fields,
            TesseraTextId key,
            TesseraPoolId *out_id)
{
  const TesseraHeap *heap = &capture->pickle.heap;
  TesseraValue value;
  const TesseraObject *pair;

  *out_id = (TesseraPoolId){ 0 };
  if (!tessera_fields_have (fields, key))
    return false;
  value = tessera_heap_resolve (heap, fields->values[key]);
  if (tessera_value_kind (value) == TESSERA_VALUE_PAIR)
    {
      out_id->owner_id = value >> (TESSERA_VALUE_TAG_BITS + 30);
      out_id->user_id = value >> TESSERA_VALUE_TAG_BITS & (((uint64_t) 1 << 30) - 1);
      return true;
    }
  pair = tessera_heap_object (&capture->pickle.heap, value, TESSERA_OBJECT_LIST);
  return pair != NULL && pair->n_items == 2 &&
         tessera_heap_u64 (heap, pair->items[0], &out_id->owner_id) &&
         tessera_heap_u64 (heap, pair->items[1], &out_id->user_id);
}

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
  if (!handle_of (capture, fields, addr, &event->addr) && is_memory)
    return addr;
  if (!size_of (capture, fields, TESSERA_TEXT_SIZE, &event->size_bytes))
    {
      if (is_memory || event->action == TESSERA_OOM)
        return TESSERA_TEXT_SIZE;
      event->size_bytes = 0;
    }
  if (is_memory && __builtin_add_overflow (event->addr, event->size_bytes, &end))
    return addr;
  return TESSERA_N_TEXTS;
}

static TesseraStatus
make_entry (TesseraCapture *capture, const TesseraFields *fields, TesseraValue *out_value)
{
  TesseraEvent event = { .stack = TESSERA_NONE };
  TesseraTextId wrong;
  TesseraPoolId pool;
  uint64_t stream = 0;
  uint32_t index = (uint32_t) capture->trace->n_events, unknown = 0;
  TesseraStatus status;

  event.stack = stack_of (capture, fields);
  capture->seen |= fields->present;
  event.action = action_of (fields, &unknown);
  if (event.action == TESSERA_ACTION_UNKNOWN)
    event.stack = unknown;
  wrong = read_entry (capture, fields, &event);
  if (wrong == TESSERA_N_TEXTS && tessera_fields_have (fields, TESSERA_TEXT_STREAM) &&
      !handle_of (capture, fields, TESSERA_TEXT_STREAM, &stream))
    wrong = TESSERA_TEXT_STREAM;
  event.at_ns = get_time_us (capture, fields);
  if (event.at_ns != TESSERA_TIME_MISSING)
    event.at_ns *= 1000;
  event.pool_known = pool_id_of (capture, fields, TESSERA_TEXT_POOL_ID, &pool);
  status = stream_of (capture, stream, &event.stream);
  if (status == TESSERA_OK)
    status = pool_of (capture, pool, &event.pool);
  if (status != TESSERA_OK)
    return status;
  if (wrong != TESSERA_N_TEXTS)
    {
      note_flaw (capture, TESSERA_RECORD_ENTRY, index, wrong, fields);
      event.action = TESSERA_ACTION_FLAWED;
    }
  import_must (tessera_trace_add_event (capture->trace, &event));
  *out_value = tessera_value_record (TESSERA_RECORD_ENTRY, index, 1);
  return TESSERA_OK;
}

/* Frames */

static TesseraStatus
make_frame (TesseraCapture *capture, const TesseraFields *fields, TesseraValue *out_value)
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

static TesseraStatus
make_history (TesseraCapture *capture,
              const TesseraFields *fields,
              TesseraValue *out_value)
{
  TesseraHistoryRecord history = { .stack = stack_of (capture, fields) };

  if (!size_of (capture, fields, TESSERA_TEXT_REAL_SIZE, &history.real_bytes))
    history.real_bytes = 0;
  *out_value = tessera_value_record (TESSERA_RECORD_HISTORY, capture->histories->len, 1);
  g_array_append_val (capture->histories, history);
  return TESSERA_OK;
}

/* Annotations */

static TesseraStatus
make_annotation (TesseraCapture *capture,
                 const TesseraFields *fields,
                 TesseraValue *out_value)
{
  TesseraAnnotationRecord annotation = { .name = TESSERA_NONE };
  TesseraValue name = fields->values[TESSERA_TEXT_NAME];
  uint64_t device = 0;

  annotation.time_us = get_time_us (capture, fields);
  annotation.is_end = says (fields, TESSERA_TEXT_STAGE, TESSERA_TEXT_END);
  annotation.is_flawed =
      tessera_value_kind (name) != TESSERA_VALUE_TEXT ||
      annotation.time_us == TESSERA_TIME_MISSING ||
      (!annotation.is_end && !says (fields, TESSERA_TEXT_STAGE, TESSERA_TEXT_START)) ||
      (tessera_fields_have (fields, TESSERA_TEXT_DEVICE) &&
       (!number_of (capture, fields, TESSERA_TEXT_DEVICE, &device) ||
        device >= TESSERA_MAX_DEVICES));
  annotation.device = (uint32_t) device;
  if (!annotation.is_flawed)
    annotation.name = (uint32_t) (name >> TESSERA_VALUE_TAG_BITS);
  *out_value =
      tessera_value_record (TESSERA_RECORD_ANNOTATION, capture->annotations->len, 1);
  g_array_append_val (capture->annotations, annotation);
  return TESSERA_OK;
}

/* Segments and their blocks */

/* The latest use of a block, which comes first in its list; NULL: none recorded. */
static const TesseraHistoryRecord *
latest_use (TesseraCapture *capture, const TesseraFields *fields)
{
  TesseraValue value;
  const TesseraObject *list =
      tessera_capture_list (capture, fields, TESSERA_TEXT_HISTORY, &value);

  if (list == NULL || list->n_items == 0 ||
      !tessera_value_is_record (list->items[0], TESSERA_RECORD_HISTORY))
    return NULL;
  return &g_array_index (capture->histories, TesseraHistoryRecord,
                         tessera_record_first (list->items[0]));
}

static bool
read_state (const TesseraFields *fields, uint8_t *out_state)
{
  if (says (fields, TESSERA_TEXT_STATE, TESSERA_TEXT_ACTIVE_ALLOCATED))
    *out_state = TESSERA_BLOCK_LIVE;
  else if (says (fields, TESSERA_TEXT_STATE, TESSERA_TEXT_ACTIVE_PENDING_FREE) ||
           says (fields, TESSERA_TEXT_STATE, TESSERA_TEXT_ACTIVE_AWAITING_FREE))
    *out_state = TESSERA_BLOCK_PENDING;
  else if (says (fields, TESSERA_TEXT_STATE, TESSERA_TEXT_INACTIVE))
    *out_state = TESSERA_BLOCK_FREE;
  else
    return false;
  return true;
}

static TesseraStatus
make_block (TesseraCapture *capture, const TesseraFields *fields, TesseraValue *out_value)
{
  TesseraBlockRecord block = { .next = TESSERA_NONE };
  TesseraHeldBlock *held = &block.held;
  const TesseraHistoryRecord *use;
  uint32_t index = capture->blocks->len;
  TesseraTextId wrong = TESSERA_N_TEXTS;

  held->stack = stack_of (capture, fields);
  capture->seen |= fields->present;
  use = latest_use (capture, fields);
  if (use != NULL && held->stack == TESSERA_NONE)
    held->stack = use->stack;
  if (!read_state (fields, &held->state))
    wrong = TESSERA_TEXT_STATE;
  if (!size_of (capture, fields, TESSERA_TEXT_SIZE, &held->block_bytes))
    wrong = TESSERA_TEXT_SIZE;
  if (tessera_fields_have (fields, TESSERA_TEXT_ADDRESS) &&
      !handle_of (capture, fields, TESSERA_TEXT_ADDRESS, &held->addr))
    wrong = TESSERA_TEXT_ADDRESS;
  if (!size_of (capture, fields, TESSERA_TEXT_REQUESTED_SIZE, &held->size_bytes))
    held->size_bytes = use != NULL ? use->real_bytes : held->block_bytes;
  if (held->state == TESSERA_BLOCK_FREE)
    held->size_bytes = 0;
  block.is_flawed = wrong != TESSERA_N_TEXTS;
  if (block.is_flawed)
    note_flaw (capture, TESSERA_RECORD_BLOCK, index, wrong, fields);
  g_array_append_val (capture->blocks, block);
  *out_value = tessera_value_record (TESSERA_RECORD_BLOCK, index, 1);
  return TESSERA_OK;
}

/* Links the blocks of a segment's list; false when it holds anything else, or blocks of
 * another segment. */
static bool
take_blocks (TesseraCapture *capture, const TesseraObject *list, uint32_t *out_first)
{
  TesseraRecords records = { list, TESSERA_RECORD_BLOCK };
  uint32_t *link = out_first;

  while (tessera_records_next (capture, &records))
    {
      TesseraBlockRecord *block =
          &g_array_index (capture->blocks, TesseraBlockRecord, records.index);

      if (block->is_taken)
        return false;
      block->is_taken = true;
      *link = records.index;
      link = &block->next;
    }
  return records.n_others == 0;
}

static TesseraTextId
read_segment (TesseraCapture *capture,
              const TesseraFields *fields,
              TesseraSegmentRecord *segment,
              uint64_t *out_stream)
{
  uint64_t device = 0, end;

  if (!size_of (capture, fields, TESSERA_TEXT_TOTAL_SIZE, &segment->segment.size_bytes))
    return TESSERA_TEXT_TOTAL_SIZE;
  if (!handle_of (capture, fields, TESSERA_TEXT_ADDRESS, &segment->segment.addr) ||
      __builtin_add_overflow (segment->segment.addr, segment->segment.size_bytes, &end))
    return TESSERA_TEXT_ADDRESS;
  if (tessera_fields_have (fields, TESSERA_TEXT_STREAM) &&
      !handle_of (capture, fields, TESSERA_TEXT_STREAM, out_stream))
    return TESSERA_TEXT_STREAM;
  if (tessera_fields_have (fields, TESSERA_TEXT_DEVICE) &&
      (!number_of (capture, fields, TESSERA_TEXT_DEVICE, &device) ||
       device >= TESSERA_MAX_DEVICES))
    return TESSERA_TEXT_DEVICE;
  segment->device = (uint32_t) device;
  return TESSERA_N_TEXTS;
}

/* The pool it serves; a file that does not say has one by the size of small buffers. */
static bool
is_small (const TesseraFields *fields, uint64_t size_bytes)
{
  if (says (fields, TESSERA_TEXT_SEGMENT_TYPE, TESSERA_TEXT_SMALL))
    return true;
  if (says (fields, TESSERA_TEXT_SEGMENT_TYPE, TESSERA_TEXT_LARGE))
    return false;
  return size_bytes == (uint64_t) 2 << 20;
}

static void
read_blocks (TesseraCapture *capture,
             const TesseraFields *fields,
             TesseraSegmentRecord *segment,
             TesseraTextId *wrong)
{
  TesseraValue value;
  const TesseraObject *list =
      tessera_capture_list (capture, fields, TESSERA_TEXT_BLOCKS, &value);

  if (!tessera_fields_have (fields, TESSERA_TEXT_BLOCKS))
    return;
  if (list == NULL || !take_blocks (capture, list, &segment->first_block))
    {
      *wrong = TESSERA_TEXT_BLOCKS;
      return;
    }
  tessera_pickle_become (&capture->pickle, value,
                         tessera_value_make (TESSERA_VALUE_CONST, TESSERA_CONST_NONE));
}

static TesseraStatus
make_segment (TesseraCapture *capture,
              const TesseraFields *fields,
              TesseraValue *out_value)
{
  TesseraSegmentRecord record = { .first_block = TESSERA_NONE };
  TesseraSegment *segment = &record.segment;
  TesseraTextId wrong;
  TesseraPoolId pool;
  uint64_t stream = 0;
  uint32_t index = capture->segments->len;
  TesseraStatus status;

  segment->stack = stack_of (capture, fields);
  capture->seen |= fields->present;
  wrong = read_segment (capture, fields, &record, &stream);
  read_blocks (capture, fields, &record, &wrong);
  segment->is_small = is_small (fields, segment->size_bytes);
  segment->is_expandable = is_true (fields, TESSERA_TEXT_IS_EXPANDABLE);
  pool_id_of (capture, fields, TESSERA_TEXT_SEGMENT_POOL_ID, &pool);
  status = pool_of (capture, pool, &segment->pool);
  if (status == TESSERA_OK)
    status = stream_of (capture, stream, &segment->stream);
  if (status != TESSERA_OK)
    return status;
  record.is_flawed = wrong != TESSERA_N_TEXTS;
  if (record.is_flawed)
    note_flaw (capture, TESSERA_RECORD_SEGMENT, index, wrong, fields);
  g_array_append_val (capture->segments, record);
  *out_value = tessera_value_record (TESSERA_RECORD_SEGMENT, index, 1);
  return TESSERA_OK;
}

/* One more record: refused where the file is too short for so many. */
static TesseraStatus
count_record (TesseraCapture *capture)
{
  capture->n_records++;
  if (capture->n_records > FREE_RECORDS &&
      capture->pickle.op_at / LEAST_RECORD_BYTES < capture->n_records)
    return tessera_fail (
        capture->error, TESSERA_BAD_INPUT,
        "%s holds %zu entries, segments, blocks and stacks in its first %" PRIu64
        " bytes, more than those can describe: the snapshot is damaged",
        capture->pickle.stream->name, capture->n_records, capture->pickle.op_at);
  if (capture->n_records < TESSERA_MAX_EVENTS)
    return TESSERA_OK;
  return tessera_fail (capture->error, TESSERA_BAD_INPUT,
                       "%s holds more than four thousand million trace entries",
                       capture->pickle.stream->name);
}

/* A dict is told by a key that no other kind has; the first that fits counts. */
static const struct
{
  TesseraTextId key, also;
  TesseraStatus (*make) (TesseraCapture *, const TesseraFields *, TesseraValue *);
} makers[] = {
  { TESSERA_TEXT_ACTION, TESSERA_TEXT_ACTION, make_entry },
  { TESSERA_TEXT_FILENAME, TESSERA_TEXT_NAME, make_frame },
  { TESSERA_TEXT_TOTAL_SIZE, TESSERA_TEXT_TOTAL_SIZE, make_segment },
  { TESSERA_TEXT_STATE, TESSERA_TEXT_SIZE, make_block },
  { TESSERA_TEXT_REAL_SIZE, TESSERA_TEXT_REAL_SIZE, make_history },
  { TESSERA_TEXT_STAGE, TESSERA_TEXT_NAME, make_annotation },
};

static TesseraStatus
dict_done (void *user,
           TesseraPickle *pickle,
           const TesseraValue *pairs,
           size_t n_pairs,
           TesseraValue *out_value)
{
  TesseraCapture *capture = user;
  TesseraFields fields;
  TesseraStatus status = TESSERA_OK;

  gather_fields (pairs, n_pairs, &fields);
  for (size_t i = 0; i < G_N_ELEMENTS (makers); i++)
    if (tessera_fields_have (&fields, makers[i].key) &&
        tessera_fields_have (&fields, makers[i].also))
      {
        if (makers[i].make != make_frame) /* counted with their stack */
          status = count_record (capture);
        return status == TESSERA_OK ? makers[i].make (capture, &fields, out_value)
                                    : status;
      }
  return TESSERA_OK;
}

void
tessera_capture_init (TesseraCapture *capture,
                      TesseraStream *stream,
                      TesseraTrace *trace,
                      TesseraError *error)
{
  memset (capture, 0, sizeof *capture);
  capture->trace = trace;
  capture->error = error;
  import_must (tessera_trace_new (&capture->file));
  capture->flaws = g_hash_table_new_full (NULL, NULL, NULL, g_free);
  capture->segments = g_array_new (FALSE, FALSE, sizeof (TesseraSegmentRecord));
  capture->blocks = g_array_new (FALSE, FALSE, sizeof (TesseraBlockRecord));
  capture->histories = g_array_new (FALSE, FALSE, sizeof (TesseraHistoryRecord));
  capture->annotations = g_array_new (FALSE, FALSE, sizeof (TesseraAnnotationRecord));
  tessera_pickle_init (&capture->pickle, stream, error);
  capture->pickle.dict_done = dict_done;
  capture->pickle.user = capture;
  for (uint32_t i = 0; i < TESSERA_N_TEXTS; i++)
    {
      uint32_t id;

      import_must (tessera_strings_intern (capture->pickle.heap.texts, texts[i],
                                           strlen (texts[i]), &id));
    }
}

void
tessera_capture_clear (TesseraCapture *capture)
{
  tessera_pickle_clear (&capture->pickle);
  tessera_trace_free (capture->file);
  g_hash_table_unref (capture->flaws);
  g_array_unref (capture->segments);
  g_array_unref (capture->blocks);
  g_array_unref (capture->histories);
  g_array_unref (capture->annotations);
  free (capture->scratch);
  free (capture->strings);
  memset (capture, 0, sizeof *capture);
}
