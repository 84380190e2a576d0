/*
 * The allocator's settings, and which PyTorch wrote the snapshot.
 *
 * Two settings are not exported one by one; the text of PYTORCH_CUDA_ALLOC_CONF has them,
 * as far as it was the last one set.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include <glib.h>

#include "recorder/import/snapshot.h"

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
static TesseraStatus
conf_text (TesseraCapture *capture, const TesseraFields *fields, const char **out_conf)
{
  static const TesseraTextId keys[] = { TESSERA_TEXT_CONF, TESSERA_TEXT_NEW_CONF };

  *out_conf = "";
  for (size_t i = 0; i < G_N_ELEMENTS (keys) && **out_conf == '\0'; i++)
    {
      uint32_t string;
      TesseraStatus status;

      if (!tessera_fields_have (fields, keys[i]))
        continue;
      status = tessera_capture_string (capture, fields->values[keys[i]], &string);
      if (status != TESSERA_OK)
        return status;
      *out_conf = tessera_trace_string (capture->trace, string);
    }
  return TESSERA_OK;
}

static TesseraStatus
take_fields (TesseraCapture *capture, const TesseraFields *fields)
{
  TesseraSettings *settings = &capture->trace->settings;
  const TesseraHeap *heap = &capture->pickle.heap;
  const char *conf;
  int64_t max_split;
  double threshold;
  TesseraStatus status = conf_text (capture, fields, &conf);

  if (status != TESSERA_OK)
    return status;
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
  if (tessera_trace_set_meta (capture->trace, "alloc_conf", conf) != TESSERA_OK)
    return tessera_capture_no_memory (capture);
  return TESSERA_OK;
}

/* By the keys that came with each version; releases between are inferred ("or so"). */
static const char *
era_of (const TesseraCapture *capture,
        const TesseraSnapshotParts *parts,
        const TesseraFields *settings)
{
  const TesseraFields seen = { .present = capture->seen };

  if (parts->is_bare && !tessera_fields_have (&seen, TESSERA_TEXT_IS_EXPANDABLE))
    return "1.13 or 2.0";
  if (tessera_fields_have (&seen, TESSERA_TEXT_POOL_ID) || parts->n_host_entries > 0)
    return "2.12 or later";
  if (tessera_fields_have (settings, TESSERA_TEXT_STREAM_REUSE))
    return "2.9 to 2.11";
  if (tessera_fields_have (&seen, TESSERA_TEXT_COMPILE_CONTEXT))
    return "2.8 or so";
  if (parts->annotations != NULL)
    return "2.5 to 2.7";
  if (parts->has_settings)
    return "2.3 or 2.4";
  if (tessera_fields_have (&seen, TESSERA_TEXT_TIME_US))
    return "2.2 or so";
  if (tessera_fields_have (&seen, TESSERA_TEXT_IS_EXPANDABLE))
    return "2.1 or so";
  return "2.0 or so";
}

TesseraStatus
tessera_snapshot_take_settings (TesseraCapture *capture,
                                const TesseraSnapshotParts *parts)
{
  TesseraFields fields = { 0 };
  TesseraStatus status = TESSERA_OK;

  if (parts->has_settings && tessera_capture_fields (capture, parts->settings, &fields))
    status = take_fields (capture, &fields);
  if (status == TESSERA_OK &&
      (tessera_trace_set_meta (capture->trace, "format", "PyTorch memory snapshot") !=
           TESSERA_OK ||
       tessera_trace_set_meta (capture->trace, "pytorch",
                               era_of (capture, parts, &fields)) != TESSERA_OK))
    status = tessera_capture_no_memory (capture);
  return status;
}
