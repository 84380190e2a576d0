/*
 * A PyTorch memory snapshot of any era, 1.13 to 2.15, as a trace, made by fill(): its
 * parts, the allocator's settings, and the segments and blocks at the end.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/import/private.h"

void
tessera_note (TesseraTrace *trace, const char *key, uint64_t n, const char *text)
{
  g_autofree char *name = g_strconcat ("note.", key, NULL);
  g_autofree char *value = g_strdup_printf ("%" PRIu64 " %s", n, text);

  if (n > 0)
    import_must (tessera_trace_set_meta (trace, name, value));
}

/* Settings
 *
 * Two are not exported one by one; the text of PYTORCH_CUDA_ALLOC_CONF has them, as far
 * as it was the last one set. */

#define MIB ((uint64_t) 1 << 20)
#define MAX_MIB ((uint64_t) 1 << 40)
#define MAX_DIVISIONS ((uint64_t) 1 << 20)

static uint64_t
option_bytes (const char *conf, const char *name, uint64_t otherwise)
{
  const char *at = strstr (conf, name);
  char *end;
  guint64 mib;

  if (at == NULL)
    return otherwise;
  at += strlen (name);
  at += strspn (at, " \t");
  if (*at++ != ':')
    return otherwise;
  mib = g_ascii_strtoull (at, &end, 10);
  return end == at || mib > MAX_MIB ? otherwise : mib * MIB;
}

/* The list of {'1': n, '2': n ... '32768': n}: key is the size in MiB. */
static void
take_divisions (TesseraCapture *capture, TesseraValue value, TesseraSettings *settings)
{
  TesseraHeap *heap = &capture->pickle.heap;
  const TesseraObject *dict =
      tessera_heap_object (heap, tessera_heap_resolve (heap, value), TESSERA_OBJECT_DICT);

  for (size_t i = 0; dict != NULL && i + 1 < dict->n_items; i += 2)
    {
      guint64 mib, n;
      int entry;

      if (tessera_value_kind (dict->items[i]) != TESSERA_VALUE_TEXT ||
          !tessera_heap_u64 (heap, dict->items[i + 1], &n) || n > MAX_DIVISIONS)
        continue;
      mib = g_ascii_strtoull (
          tessera_strings_get (heap->texts,
                               (uint32_t) (dict->items[i] >> TESSERA_VALUE_TAG_BITS)),
          NULL, 10);
      if (mib == 0 || (mib & (mib - 1)) != 0)
        continue;
      entry = __builtin_ctzll (mib);
      if (entry < (int) G_N_ELEMENTS (settings->roundup_divisions))
        settings->roundup_divisions[entry] = (uint32_t) n;
    }
}

/* The text under the older or the newer name; "" when there is none. */
static const char *
conf_text (TesseraCapture *capture, const TesseraFields *fields)
{
  static const TesseraTextId keys[] = { TESSERA_TEXT_CONF, TESSERA_TEXT_NEW_CONF };
  const char *conf = "";

  for (size_t i = 0; i < G_N_ELEMENTS (keys) && *conf == '\0'; i++)
    if (tessera_fields_have (fields, keys[i]))
      conf = tessera_trace_string (
          capture->trace, tessera_capture_string (capture, fields->values[keys[i]]));
  return conf;
}

static void
take_fields (TesseraCapture *capture, const TesseraFields *fields)
{
  TesseraSettings *settings = &capture->trace->settings;
  const TesseraHeap *heap = &capture->pickle.heap;
  const char *conf = conf_text (capture, fields);
  int64_t max_split;
  double threshold;

  if (tessera_fields_have (fields, TESSERA_TEXT_MAX_SPLIT_SIZE) &&
      tessera_heap_i64 (heap, fields->values[TESSERA_TEXT_MAX_SPLIT_SIZE], &max_split))
    settings->max_split_bytes = max_split < 0 ? UINT64_MAX : (uint64_t) max_split;
  if (tessera_fields_have (fields, TESSERA_TEXT_GC_THRESHOLD) &&
      tessera_heap_double (heap, fields->values[TESSERA_TEXT_GC_THRESHOLD], &threshold) &&
      threshold > 0 && threshold <= 1)
    settings->garbage_collection_threshold = threshold;
  settings->is_expandable =
      tessera_fields_have (fields, TESSERA_TEXT_EXPANDABLE_SEGMENTS) &&
      fields->values[TESSERA_TEXT_EXPANDABLE_SEGMENTS] ==
          tessera_value_make (TESSERA_VALUE_CONST, TESSERA_CONST_TRUE);
  if (tessera_fields_have (fields, TESSERA_TEXT_ROUNDUP_DIVISIONS))
    take_divisions (capture, fields->values[TESSERA_TEXT_ROUNDUP_DIVISIONS], settings);
  settings->max_non_split_rounding_bytes = option_bytes (
      conf, "max_non_split_rounding_mb", settings->max_non_split_rounding_bytes);
  settings->large_segment_bytes =
      option_bytes (conf, "large_segment_size_mb", settings->large_segment_bytes);
  if (!tessera_settings_make_sense (settings))
    settings->large_segment_bytes = 20 * MIB;
  import_must (tessera_trace_set_meta (capture->trace, "alloc_conf", conf));
}

/* By the keys that came with each version; releases between are inferred ("or so"). */
static const char *
era_of (const TesseraCapture *capture, const TesseraSnapshotParts *parts)
{
  static const struct
  {
    TesseraTextId key;
    const char *era;
  } eras[] = {
    { TESSERA_TEXT_MAX_CACHED_SIZE, TESSERA_PYTORCH_2_13 },
    { TESSERA_TEXT_POOL_ID, "2.12 or so" },
    { TESSERA_TEXT_HOST_TRACES, "2.12 or so" },
    { TESSERA_TEXT_STREAM_REUSE, "2.9 to 2.11" },
    { TESSERA_TEXT_COMPILE_CONTEXT, "2.8 or so" },
    { TESSERA_TEXT_EXTERNAL_ANNOTATIONS, "2.5 to 2.7" },
    { TESSERA_TEXT_ALLOCATOR_SETTINGS, "2.3 or 2.4" },
    { TESSERA_TEXT_TIME_US, "2.2 or so" },
    { TESSERA_TEXT_IS_EXPANDABLE, "2.1 or so" },
  };
  const TesseraFields seen = { .present = capture->seen };

  if (parts->is_bare && !tessera_fields_have (&seen, TESSERA_TEXT_IS_EXPANDABLE))
    return "1.13 or 2.0";
  for (size_t i = 0; i < G_N_ELEMENTS (eras); i++)
    if (tessera_fields_have (&seen, eras[i].key))
      return eras[i].era;
  return "2.0 or so";
}

static void
take_settings (TesseraCapture *capture, const TesseraSnapshotParts *parts)
{
  TesseraFields fields;

  if (tessera_capture_fields (capture, parts->settings, &fields))
    take_fields (capture, &fields);
  capture->seen |= fields.present;
  import_must (
      tessera_trace_set_meta (capture->trace, "format", "PyTorch memory snapshot"));
  import_must (
      tessera_trace_set_meta (capture->trace, "pytorch", era_of (capture, parts)));
}

/* The end
 *
 * Kept as recorded, even where it contradicts itself: a check against a replay has to see
 * what the file says. What contradicts is counted in notes. */

typedef struct
{
  TesseraCapture *capture;
  uint64_t n_elsewhere; /* blocks not where the one before ends */
  uint64_t n_uneven;    /* segments whose blocks do not fill them */
  uint64_t n_overlaps;
} End;

static TesseraStatus
add_block (End *end, TesseraHeldBlock block, uint64_t *at)
{
  if (block.addr == 0)
    block.addr = *at;
  end->n_elsewhere += block.addr != *at;
  if (__builtin_add_overflow (block.addr, block.block_bytes, at))
    return tessera_fail (end->capture->error, TESSERA_BAD_INPUT,
                         "%s: a block at 0x%" PRIx64 " of %" PRIu64
                         " bytes ends past all addresses: the snapshot is damaged",
                         end->capture->pickle.stream->name, block.addr,
                         block.block_bytes);
  import_must (tessera_trace_add_block (&end->capture->trace->end, &block));
  return TESSERA_OK;
}

static TesseraStatus
add_blocks (End *end, const TesseraSegmentRecord *record)
{
  TesseraCapture *capture = end->capture;
  const TesseraSegment *segment = &record->segment;
  const TesseraBlockRecord *block;
  uint64_t at = segment->addr;

  for (uint32_t k = record->first_block; k != TESSERA_NONE; k = block->next)
    {
      char where[64];
      TesseraStatus status;

      block = &g_array_index (capture->blocks, TesseraBlockRecord, k);
      snprintf (where, sizeof where, "a block of the segment at 0x%" PRIx64,
                segment->addr);
      status = block->is_flawed
                   ? tessera_capture_refuse (capture, TESSERA_RECORD_BLOCK, k, where)
                   : add_block (end, block->held, &at);
      if (status != TESSERA_OK)
        return status;
    }
  end->n_uneven += at != segment->addr + segment->size_bytes;
  return TESSERA_OK;
}

static TesseraStatus
add_segment (End *end, uint32_t index)
{
  TesseraCapture *capture = end->capture;
  const TesseraSegmentRecord *record =
      &g_array_index (capture->segments, TesseraSegmentRecord, index);
  TesseraSegment segment = record->segment;

  if (record->device != capture->trace->device)
    return TESSERA_OK;
  if (record->is_flawed)
    {
      char where[64];

      snprintf (where, sizeof where, "segment %" PRIu32, index);
      return tessera_capture_refuse (capture, TESSERA_RECORD_SEGMENT, index, where);
    }
  tessera_capture_renumber (capture, &segment.stream, &segment.pool);
  import_must (tessera_trace_add_segment (&capture->trace->end, &segment));
  return add_blocks (end, record);
}

static void
note_oddities (End *end)
{
  TesseraTrace *trace = end->capture->trace;

  for (size_t i = 1; i < trace->end.n_segments; i++)
    end->n_overlaps +=
        trace->end.segments[i].addr <
        trace->end.segments[i - 1].addr + trace->end.segments[i - 1].size_bytes;
  tessera_note (trace, "end_blocks_elsewhere", end->n_elsewhere,
                "final blocks leave a gap or overlap");
  tessera_note (trace, "end_segments_uneven", end->n_uneven,
                "final segments are not the sum of their blocks");
  tessera_note (trace, "end_segments_overlap", end->n_overlaps, "final segments overlap");
}

static TesseraStatus
take_end (TesseraCapture *capture, const TesseraSnapshotParts *parts)
{
  End end = { .capture = capture };
  TesseraRecords records = { parts->segments, TESSERA_RECORD_SEGMENT };

  while (tessera_records_next (capture, &records))
    {
      TesseraStatus status = add_segment (&end, records.index);

      if (status != TESSERA_OK)
        return status;
    }
  if (records.n_others > 0)
    return tessera_fail (
        capture->error, TESSERA_BAD_INPUT,
        "%s: `segments` holds %s where a segment belongs: the snapshot is damaged",
        capture->pickle.stream->name,
        tessera_heap_describe (&capture->pickle.heap, records.other));
  tessera_held_sort (&capture->trace->end);
  note_oddities (&end);
  return TESSERA_OK;
}

/* The parts */

/* The list under @key; NULL when there is none. A part of another type is an error. */
static TesseraStatus
find_list (TesseraCapture *capture,
           const TesseraFields *fields,
           TesseraTextId key,
           const char *name,
           const TesseraObject **out_list)
{
  TesseraValue value;

  *out_list = tessera_capture_list (capture, fields, key, &value);
  if (*out_list != NULL || !tessera_fields_have (fields, key))
    return TESSERA_OK;
  return tessera_fail (capture->error, TESSERA_BAD_INPUT,
                       "%s: `%s` is %s where a list belongs: the snapshot is damaged",
                       capture->pickle.stream->name, name,
                       tessera_heap_describe (&capture->pickle.heap, value));
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
  TesseraValue value;
  const TesseraObject *list = tessera_capture_list (capture, fields, key, &value);
  uint64_t n = 0;

  for (size_t i = 0; list != NULL && i < list->n_items; i++)
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
  if (tessera_fields_have (&fields, TESSERA_TEXT_ALLOCATOR_SETTINGS))
    parts->settings = fields.values[TESSERA_TEXT_ALLOCATOR_SETTINGS];
  parts->n_host_entries = count_things (capture, &fields, TESSERA_TEXT_HOST_TRACES);
  parts->n_host_segments = count_things (capture, &fields, TESSERA_TEXT_HOST_SEGMENTS);
  if (parts->n_host_entries == 0)
    fields.present &= ~((uint64_t) 1 << TESSERA_TEXT_HOST_TRACES);
  capture->seen |= fields.present;
  return status;
}

/* What there is: a history, one entry of state mode, or a moment without history. */
static void
note_history (TesseraCapture *capture, const TesseraSnapshotParts *parts)
{
  TesseraTrace *trace = capture->trace;

  if (trace->n_events == 0)
    import_must (
        tessera_trace_set_meta (trace, "history",
                                "none: the snapshot shows one moment; record with "
                                "torch.cuda.memory._record_memory_history()"));
  else if (trace->n_events == 1)
    import_must (
        tessera_trace_set_meta (trace, "history",
                                "none: one entry, as recorded with enabled='state'; "
                                "record with enabled='all'"));
  tessera_note (trace, "host_entries", parts->n_host_entries,
                "entries of host memory left aside");
  tessera_note (trace, "host_segments", parts->n_host_segments,
                "segments of host memory left aside");
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
    status = take_end (capture, &parts);
  if (status != TESSERA_OK)
    return status;
  take_settings (capture, &parts);
  tessera_snapshot_take_annotations (capture, &parts, zero_us);
  note_history (capture, &parts);
  tessera_rewind (trace);
  return TESSERA_OK;
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

  import_must (tessera_trace_new (&trace));
  tessera_capture_init (&capture, stream, trace, error);
  status = fill (&capture, options);
  tessera_capture_clear (&capture);
  if (status != TESSERA_OK)
    g_clear_pointer (&trace, tessera_trace_free);
  *out_trace = trace;
  return status;
}
