/*
 * A PyTorch memory snapshot of any era, 1.13 to 2.15, as a trace.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "recorder/import/snapshot.h"

/* The list under @key; NULL when there is none. A part of another type is an error. */
static TesseraStatus
find_list (TesseraCapture *capture,
           const TesseraFields *fields,
           TesseraTextId key,
           const char *name,
           const TesseraObject **out_list)
{
  TesseraHeap *heap = &capture->pickle.heap;

  *out_list = NULL;
  if (!tessera_fields_have (fields, key))
    return TESSERA_OK;
  *out_list = tessera_heap_object (heap, tessera_heap_resolve (heap, fields->values[key]),
                                   TESSERA_OBJECT_LIST);
  if (*out_list != NULL)
    return TESSERA_OK;
  return tessera_fail (capture->error, TESSERA_BAD_INPUT,
                       "%s: `%s` is %s where a list belongs: the snapshot is damaged",
                       capture->pickle.stream->name, name,
                       tessera_heap_describe (heap, fields->values[key]));
}

static TesseraStatus
check_device_lists (TesseraCapture *capture, const TesseraObject *device_traces)
{
  TesseraHeap *heap = &capture->pickle.heap;

  if (device_traces->n_items > TESSERA_MAX_DEVICES)
    return tessera_fail (
        capture->error, TESSERA_BAD_INPUT,
        "%s names %zu devices, more than any machine has: the snapshot is "
        "damaged",
        capture->pickle.stream->name, device_traces->n_items);
  for (size_t i = 0; i < device_traces->n_items; i++)
    if (tessera_heap_object (heap, device_traces->items[i], TESSERA_OBJECT_LIST) == NULL)
      return tessera_fail (
          capture->error, TESSERA_BAD_INPUT,
          "%s: `device_traces` holds %s where a list of entries belongs: "
          "the snapshot is damaged",
          capture->pickle.stream->name,
          tessera_heap_describe (heap, device_traces->items[i]));
  return TESSERA_OK;
}

/* Entries of host memory are counted and left aside: a list, or a list of lists. */
static uint64_t
count_things (TesseraCapture *capture, const TesseraFields *fields, TesseraTextId key)
{
  TesseraHeap *heap = &capture->pickle.heap;
  const TesseraObject *list;
  uint64_t n = 0;

  if (!tessera_fields_have (fields, key))
    return 0;
  list = tessera_heap_object (heap, tessera_heap_resolve (heap, fields->values[key]),
                              TESSERA_OBJECT_LIST);
  if (list == NULL)
    return 0;
  for (size_t i = 0; i < list->n_items; i++)
    {
      const TesseraObject *inner =
          tessera_heap_object (heap, list->items[i], TESSERA_OBJECT_LIST);

      if (inner != NULL)
        n += tessera_heap_length (inner);
      else
        n += tessera_value_kind (list->items[i]) == TESSERA_VALUE_RECORD
                 ? tessera_record_count (list->items[i])
                 : 1;
    }
  return n;
}

static TesseraStatus
find_parts (TesseraCapture *capture, TesseraValue top, TesseraSnapshotParts *parts)
{
  const TesseraObject *list =
      tessera_heap_object (&capture->pickle.heap, top, TESSERA_OBJECT_LIST);
  TesseraFields fields;
  TesseraStatus status;

  if (list != NULL && list->n_items > 0 &&
      tessera_value_is_record (list->items[0], TESSERA_RECORD_SEGMENT))
    {
      parts->segments = list;
      parts->is_bare = true;
      return TESSERA_OK;
    }
  if (!tessera_capture_fields (capture, top, &fields))
    return tessera_pickle_refuse_top (&capture->pickle,
                                      tessera_heap_describe (&capture->pickle.heap, top));
  if (!tessera_fields_have (&fields, TESSERA_TEXT_SEGMENTS) &&
      !tessera_fields_have (&fields, TESSERA_TEXT_DEVICE_TRACES))
    return tessera_pickle_refuse_top (&capture->pickle, "another dict");
  status =
      find_list (capture, &fields, TESSERA_TEXT_SEGMENTS, "segments", &parts->segments);
  if (status == TESSERA_OK)
    status = find_list (capture, &fields, TESSERA_TEXT_DEVICE_TRACES, "device_traces",
                        &parts->device_traces);
  if (status == TESSERA_OK)
    status = find_list (capture, &fields, TESSERA_TEXT_EXTERNAL_ANNOTATIONS,
                        "external_annotations", &parts->annotations);
  if (status == TESSERA_OK && parts->device_traces != NULL)
    status = check_device_lists (capture, parts->device_traces);
  parts->has_settings = tessera_fields_have (&fields, TESSERA_TEXT_ALLOCATOR_SETTINGS);
  if (parts->has_settings)
    parts->settings = fields.values[TESSERA_TEXT_ALLOCATOR_SETTINGS];
  parts->n_host_entries = count_things (capture, &fields, TESSERA_TEXT_HOST_TRACES);
  parts->n_host_segments = count_things (capture, &fields, TESSERA_TEXT_HOST_SEGMENTS);
  return status;
}

/* What there is: a history, one entry of state mode, or a moment without history. */
static TesseraStatus
note_history (TesseraCapture *capture, const TesseraSnapshotParts *parts)
{
  TesseraTrace *trace = capture->trace;
  TesseraStatus status = TESSERA_OK;

  if (trace->n_events == 0)
    status = tessera_trace_set_meta (trace, "history",
                                     "none: the snapshot shows one moment; record with "
                                     "torch.cuda.memory._record_memory_history()");
  else if (trace->n_events == 1)
    status = tessera_trace_set_meta (trace, "history",
                                     "none: one entry, as recorded with enabled='state'; "
                                     "record with enabled='all'");
  if (status == TESSERA_OK)
    status = tessera_note (trace, "host_entries", parts->n_host_entries,
                           "entries of host memory left aside");
  if (status == TESSERA_OK)
    status = tessera_note (trace, "host_segments", parts->n_host_segments,
                           "segments of host memory left aside");
  return status == TESSERA_OK ? TESSERA_OK : tessera_capture_no_memory (capture);
}

/* torch.profiler's timeline in this format has one made-up segment around everything. */
static bool
has_real_segments (const TesseraCapture *capture, const TesseraSnapshotParts *parts)
{
  const TesseraFields seen = { .present = capture->seen };

  return parts->segments != NULL && !tessera_fields_have (&seen, TESSERA_TEXT_CATEGORY);
}

static TesseraStatus
fill (TesseraCapture *capture, const TesseraOpenOptions *options)
{
  TesseraTrace *trace = capture->trace;
  TesseraSnapshotParts parts = { 0 };
  int64_t zero_us;
  TesseraValue top;
  TesseraStatus status = tessera_pickle_read (&capture->pickle, &top);

  if (status == TESSERA_OK)
    status = find_parts (capture, top, &parts);
  if (status != TESSERA_OK)
    return status;
  tessera_pickle_forget_memo (&capture->pickle);
  trace->has_addresses = true;
  trace->has_segments = has_real_segments (capture, &parts);
  if (!trace->has_segments)
    parts.segments = NULL;
  status = tessera_snapshot_choose_device (capture, &parts, options->device);
  if (status == TESSERA_OK)
    status = tessera_snapshot_take_events (capture, &parts, &zero_us);
  if (status == TESSERA_OK)
    status = tessera_snapshot_take_end (capture, &parts);
  if (status == TESSERA_OK)
    status = tessera_snapshot_take_settings (capture, &parts);
  if (status == TESSERA_OK)
    status = tessera_snapshot_take_annotations (capture, &parts, zero_us);
  if (status == TESSERA_OK)
    status = note_history (capture, &parts);
  if (status == TESSERA_OK && tessera_rewind (trace) != TESSERA_OK)
    status = tessera_capture_no_memory (capture);
  return status;
}

TesseraStatus
tessera_import_snapshot (TesseraStream *stream,
                         const TesseraOpenOptions *options,
                         TesseraError *error,
                         TesseraTrace **out_trace)
{
  TesseraTrace *trace;
  TesseraCapture capture;
  TesseraStatus status;

  *out_trace = NULL;
  if (tessera_trace_new (&trace) != TESSERA_OK)
    return tessera_fail (error, TESSERA_NO_MEMORY, "no memory left to read %s",
                         stream->name);
  status = tessera_capture_init (&capture, stream, trace, error);
  if (status == TESSERA_OK)
    status = fill (&capture, options);
  tessera_capture_clear (&capture);
  if (status != TESSERA_OK)
    {
      tessera_trace_free (trace);
      return status;
    }
  *out_trace = trace;
  return TESSERA_OK;
}
