/*
 * The devices of a snapshot, and the events of the one that was chosen.
 *
 * While reading, entries of all devices lie in the trace's events in the order of the
 * file. Each device's list says which of them are its own; they are moved to the front in
 * place.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <inttypes.h>
#include <stdio.h>

#include "recorder/import/private.h"

#define MAX_UNKNOWN_ACTIONS 8 /* names kept for the note */

static uint64_t
count_entries (const TesseraObject *list)
{
  uint64_t n = 0;

  for (size_t i = 0; i < list->n_items; i++)
    if (tessera_value_is_record (list->items[i], TESSERA_RECORD_ENTRY))
      n += tessera_record_count (list->items[i]);
  return n;
}

static const TesseraObject *
entries_of (TesseraCapture *capture, const TesseraSnapshotParts *parts, size_t device)
{
  if (parts->device_traces == NULL || device >= parts->device_traces->n_items)
    return NULL;
  return tessera_heap_object (&capture->pickle.heap, parts->device_traces->items[device],
                              TESSERA_OBJECT_LIST);
}

/* Devices in use, and device 0 where none is. */
static void
list_devices (TesseraCapture *capture,
              const TesseraSnapshotParts *parts,
              const uint64_t *n_segments)
{
  for (uint32_t device = 0; device < TESSERA_MAX_DEVICES; device++)
    {
      const TesseraObject *entries = entries_of (capture, parts, device);
      TesseraDeviceInfo info = { .device = device,
                                 .n_events =
                                     entries != NULL ? count_entries (entries) : 0,
                                 .n_segments = n_segments[device] };

      if (info.n_events > 0 || info.n_segments > 0)
        import_must (tessera_trace_add_device (capture->trace, &info));
    }
  if (capture->trace->n_devices == 0)
    import_must (tessera_trace_add_device (capture->trace, &(TesseraDeviceInfo){ 0 }));
}

static TesseraStatus
refuse_device (TesseraCapture *capture, uint32_t wanted)
{
  const TesseraTrace *trace = capture->trace;
  char devices[128];
  size_t n = 0;

  for (size_t i = 0; i < trace->n_devices && n < sizeof devices - 16; i++)
    n += (size_t) snprintf (devices + n, sizeof devices - n, "%s%" PRIu32,
                            i > 0 ? ", " : "", trace->devices[i].device);
  return tessera_fail (capture->error, TESSERA_INVALID,
                       "%s holds nothing of device %" PRIu32 ": choose from %s",
                       capture->pickle.stream->name, wanted, devices);
}

TesseraStatus
tessera_snapshot_choose_device (TesseraCapture *capture,
                                const TesseraSnapshotParts *parts,
                                uint32_t wanted)
{
  TesseraTrace *trace = capture->trace;
  g_autofree uint64_t *n_segments = g_new0 (uint64_t, TESSERA_MAX_DEVICES);
  TesseraRecords segments = { parts->segments, TESSERA_RECORD_SEGMENT };
  const TesseraDeviceInfo *chosen = NULL;

  while (tessera_records_next (capture, &segments))
    n_segments[g_array_index (capture->segments, TesseraSegmentRecord, segments.index)
                   .device]++;
  list_devices (capture, parts, n_segments);
  for (size_t i = 0; i < trace->n_devices; i++)
    {
      const TesseraDeviceInfo *info = &trace->devices[i];

      if (wanted != TESSERA_NONE ? info->device != wanted
                                 : chosen != NULL && info->n_events <= chosen->n_events)
        continue;
      chosen = info;
    }
  if (chosen == NULL)
    return refuse_device (capture, wanted);
  trace->device = chosen->device;
  return TESSERA_OK;
}

/* Actions that this version does not know are left out, and named in a note. */
typedef struct
{
  uint32_t names[MAX_UNKNOWN_ACTIONS];
  size_t n_names;
  uint64_t n_entries;
} Unknown;

static void
count_unknown (Unknown *unknown, uint32_t name)
{
  size_t i = 0;

  unknown->n_entries++;
  while (i < unknown->n_names && unknown->names[i] != name)
    i++;
  if (i == unknown->n_names && i < MAX_UNKNOWN_ACTIONS)
    unknown->names[unknown->n_names++] = name;
}

static void
note_unknown (TesseraCapture *capture, const Unknown *unknown)
{
  char text[192];
  size_t n =
      (size_t) snprintf (text, sizeof text, "entries of unknown actions left out:");

  for (size_t i = 0; i < unknown->n_names && n < sizeof text - 1; i++)
    {
      TesseraValue value = tessera_value_make (TESSERA_VALUE_TEXT, unknown->names[i]);

      n += (size_t) snprintf (
          text + n, sizeof text - n, " %.20s",
          tessera_trace_string (capture->trace, tessera_capture_string (capture, value)));
    }
  tessera_note (capture->trace, "unknown_actions", unknown->n_entries, text);
}

static TesseraStatus
refuse_item (TesseraCapture *capture, uint64_t n_before, TesseraValue item)
{
  return tessera_fail (
      capture->error, TESSERA_BAD_INPUT,
      "%s: trace entry %" PRIu64 " of device %" PRIu32
      " is %s where a dict with an `action` belongs: the snapshot is damaged",
      capture->pickle.stream->name, n_before, capture->trace->device,
      tessera_heap_describe (&capture->pickle.heap, item));
}

/* Moves one run of entries down to @at. */
static TesseraStatus
move_run (TesseraCapture *capture, TesseraValue run, uint32_t *at, Unknown *unknown)
{
  TesseraEvent *events = capture->trace->events;
  uint32_t first = tessera_record_first (run);

  for (uint32_t k = first; k < first + tessera_record_count (run); k++)
    {
      if (events[k].action == TESSERA_ACTION_FLAWED)
        {
          char where[64];

          snprintf (where, sizeof where, "trace entry %" PRIu32 " of device %" PRIu32,
                    *at, capture->trace->device);
          return tessera_capture_refuse (capture, TESSERA_RECORD_ENTRY, k, where);
        }
      if (events[k].action == TESSERA_ACTION_UNKNOWN)
        count_unknown (unknown, events[k].stack);
      else
        events[(*at)++] = events[k];
    }
  return TESSERA_OK;
}

static TesseraStatus
gather_events (TesseraCapture *capture, const TesseraObject *entries)
{
  Unknown unknown = { 0 };
  uint32_t n_events = 0, read_to = 0;
  TesseraStatus status;

  for (size_t i = 0; entries != NULL && i < entries->n_items; i++)
    {
      TesseraValue item = tessera_heap_resolve (&capture->pickle.heap, entries->items[i]);

      if (!tessera_value_is_record (item, TESSERA_RECORD_ENTRY))
        return refuse_item (capture, n_events, item);
      if (tessera_record_first (item) < read_to)
        return tessera_fail (capture->error, TESSERA_BAD_INPUT,
                             "%s lists a trace entry twice: the snapshot is damaged",
                             capture->pickle.stream->name);
      read_to = tessera_record_first (item) + tessera_record_count (item);
      status = move_run (capture, item, &n_events, &unknown);
      if (status != TESSERA_OK)
        return status;
    }
  capture->trace->n_events = n_events;
  note_unknown (capture, &unknown);
  return TESSERA_OK;
}

/* Times count from the first event; one entry without makes them all mean nothing. */
static void
settle_times (TesseraTrace *trace, int64_t *out_zero_us)
{
  int64_t zero_ns = trace->n_events > 0 ? trace->events[0].at_ns : TESSERA_TIME_MISSING;
  uint64_t n_back = 0, n_missing = 0;

  for (size_t i = 0; i < trace->n_events; i++)
    n_missing += trace->events[i].at_ns == TESSERA_TIME_MISSING;
  trace->has_time = trace->n_events > 0 && n_missing == 0;
  for (size_t i = 0; i < trace->n_events; i++)
    {
      TesseraEvent *event = &trace->events[i];

      event->at_ns = trace->has_time ? event->at_ns - zero_ns : 0;
      n_back += i > 0 && event->at_ns < event[-1].at_ns;
    }
  *out_zero_us = trace->has_time ? zero_ns / 1000 : TESSERA_TIME_MISSING;
  tessera_note (trace, "time_goes_back", n_back, "entries are older than the one before");
  if (n_missing < trace->n_events)
    tessera_note (trace, "time_missing", n_missing,
                  "entries have no time: no time is shown");
}

TesseraStatus
tessera_snapshot_take_events (TesseraCapture *capture,
                              const TesseraSnapshotParts *parts,
                              int64_t *out_zero_us)
{
  TesseraTrace *trace = capture->trace;
  TesseraStatus status =
      gather_events (capture, entries_of (capture, parts, trace->device));

  if (status != TESSERA_OK)
    return status;
  for (size_t i = 0; i < trace->n_events; i++)
    tessera_capture_renumber (capture, &trace->events[i].stream, &trace->events[i].pool);
  settle_times (trace, out_zero_us);
  return TESSERA_OK;
}
