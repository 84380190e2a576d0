/*
 * A PyTorch memory snapshot while it is being read: which dict becomes what.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <inttypes.h>
#include <string.h>

#include "recorder/import/private.h"

/* PyTorch refuses such requests itself. */
#define MAX_SIZE_BYTES ((uint64_t) 1 << 60)
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

/* A dict is told by a key that no other kind has; the first that fits counts. */
static const struct
{
  TesseraTextId key, also;
  TesseraRecordMaker make;
} makers[] = {
  { TESSERA_TEXT_ACTION, TESSERA_TEXT_ACTION, tessera_make_entry },
  { TESSERA_TEXT_FILENAME, TESSERA_TEXT_NAME, tessera_make_frame },
  { TESSERA_TEXT_TOTAL_SIZE, TESSERA_TEXT_TOTAL_SIZE, tessera_make_segment },
  { TESSERA_TEXT_STATE, TESSERA_TEXT_SIZE, tessera_make_block },
  { TESSERA_TEXT_REAL_SIZE, TESSERA_TEXT_REAL_SIZE, tessera_make_history },
  { TESSERA_TEXT_STAGE, TESSERA_TEXT_NAME, tessera_make_annotation },
};

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

static TesseraStatus
dict_done (void *user,
           TesseraPickle *pickle,
           const TesseraValue *pairs,
           size_t n_pairs,
           TesseraValue *out_value)
{
  TesseraCapture *capture = user;
  TesseraFields fields;

  gather_fields (pairs, n_pairs, &fields);
  for (size_t i = 0; i < G_N_ELEMENTS (makers); i++)
    if (tessera_fields_have (&fields, makers[i].key) &&
        tessera_fields_have (&fields, makers[i].also))
      return makers[i].make (capture, &fields, out_value);
  return TESSERA_OK;
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

bool
tessera_capture_flaw (TesseraCapture *capture,
                      TesseraRecordKind kind,
                      uint32_t index,
                      TesseraTextId key,
                      const TesseraFields *fields)
{
  bool is_missing = !tessera_fields_have (fields, key);

  if (capture->n_flaws < TESSERA_MAX_FLAWS)
    capture->flaws[capture->n_flaws++] = (TesseraFlaw){
      .kind = kind,
      .index = index,
      .key = key,
      .is_missing = is_missing,
      .found = is_missing
                   ? "nothing"
                   : tessera_heap_describe (&capture->pickle.heap, fields->values[key]),
      .at = tessera_stream_position (capture->pickle.stream),
    };
  return true;
}

TesseraStatus
tessera_capture_refuse (TesseraCapture *capture,
                        TesseraRecordKind kind,
                        uint32_t index,
                        const char *where)
{
  const char *file = capture->pickle.stream->name;

  for (size_t i = 0; i < capture->n_flaws; i++)
    {
      const TesseraFlaw *flaw = &capture->flaws[i];

      if (flaw->kind != kind || flaw->index != index)
        continue;
      if (flaw->is_missing)
        return tessera_fail (capture->error, TESSERA_BAD_INPUT,
                             "%s: %s (ends at byte %" PRIu64
                             ") has no `%s`: the snapshot is damaged",
                             file, where, flaw->at, texts[flaw->key]);
      return tessera_fail (
          capture->error, TESSERA_BAD_INPUT,
          "%s: %s (ends at byte %" PRIu64
          ") has %s as `%s`, which makes no sense there: the snapshot is "
          "damaged",
          file, where, flaw->at, flaw->found, texts[flaw->key]);
    }
  return tessera_fail (capture->error, TESSERA_BAD_INPUT,
                       "%s: %s makes no sense: the snapshot is damaged", file, where);
}

bool
tessera_capture_u64 (const TesseraCapture *capture,
                     const TesseraFields *fields,
                     TesseraTextId key,
                     uint64_t *out_number)
{
  *out_number = 0;
  return tessera_fields_have (fields, key) &&
         tessera_heap_u64 (&capture->pickle.heap, fields->values[key], out_number);
}

bool
tessera_capture_handle (TesseraCapture *capture,
                        const TesseraFields *fields,
                        TesseraTextId key,
                        uint64_t *out_handle)
{
  int64_t number;

  if (tessera_capture_u64 (capture, fields, key, out_handle))
    return true;
  if (!tessera_fields_have (fields, key) ||
      !tessera_heap_i64 (&capture->pickle.heap, fields->values[key], &number))
    return false;
  *out_handle = (uint64_t) number;
  return true;
}

bool
tessera_capture_size (TesseraCapture *capture,
                      const TesseraFields *fields,
                      TesseraTextId key,
                      uint64_t *out_size_bytes)
{
  return tessera_capture_u64 (capture, fields, key, out_size_bytes) &&
         *out_size_bytes <= MAX_SIZE_BYTES;
}

TesseraStatus
tessera_capture_number (TesseraCapture *capture, size_t n, uint32_t *out_index)
{
  *out_index = (uint32_t) n;
  capture->n_records++;
  if (capture->n_records > FREE_RECORDS &&
      capture->pickle.op_at / LEAST_RECORD_BYTES < capture->n_records)
    return tessera_fail (
        capture->error, TESSERA_BAD_INPUT,
        "%s holds %zu entries, segments, blocks and stacks in its first %" PRIu64
        " bytes, more than those can describe: the snapshot is damaged",
        capture->pickle.stream->name, capture->n_records, capture->pickle.op_at);
  if (n < TESSERA_MAX_EVENTS)
    return TESSERA_OK;
  return tessera_fail (capture->error, TESSERA_BAD_INPUT,
                       "%s holds more than four thousand million trace entries",
                       capture->pickle.stream->name);
}

/* Turns a list of frames into a stack of the trace, once: the list stands for it then. */
uint32_t
tessera_capture_stack (TesseraCapture *capture, const TesseraFields *fields)
{
  TesseraValue value;
  const TesseraObject *list;
  size_t n_frames = 0;
  uint32_t stack = TESSERA_NONE;

  if (!tessera_fields_have (fields, TESSERA_TEXT_FRAMES))
    return TESSERA_NONE;
  value =
      tessera_heap_resolve (&capture->pickle.heap, fields->values[TESSERA_TEXT_FRAMES]);
  if (tessera_value_is_record (value, TESSERA_RECORD_STACK))
    return tessera_record_first (value);
  list = tessera_heap_object (&capture->pickle.heap, value, TESSERA_OBJECT_LIST);
  if (list == NULL)
    return TESSERA_NONE;
  for (size_t i = 0; i < list->n_items; i++)
    {
      TesseraValue item = tessera_heap_resolve (&capture->pickle.heap, list->items[i]);
      uint32_t count = tessera_record_count (item);

      if (!tessera_value_is_record (item, TESSERA_RECORD_FRAME))
        continue;
      IMPORT_RESERVE (capture->scratch, capture->cap_scratch, n_frames + count);
      for (uint32_t frame = 0; frame < count; frame++)
        capture->scratch[n_frames++] = tessera_record_first (item) + frame;
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

TesseraStatus
tessera_capture_stream (TesseraCapture *capture, uint64_t handle, uint16_t *out_stream)
{
  import_must (tessera_trace_add_stream (capture->file, handle, out_stream));
  return check_number (capture, *out_stream, "streams");
}

TesseraStatus
tessera_capture_pool (TesseraCapture *capture, TesseraPoolId id, uint16_t *out_pool)
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

bool
tessera_capture_pool_id (TesseraCapture *capture,
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
  free (capture->segments);
  free (capture->blocks);
  free (capture->histories);
  free (capture->annotations);
  free (capture->scratch);
  free (capture->strings);
  memset (capture, 0, sizeof *capture);
}
