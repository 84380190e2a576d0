/*
 * Named ranges from a snapshot's annotations.
 *
 * Annotations have a time only, so they are put between entries by time. Entries that
 * have the very time of an annotation are inside: a range begins before the first entry
 * whose time is not below its START, and ends after the last whose time is not above its
 * END. Entries of equal times are mostly one call (its segment_alloc and alloc, its
 * free_requested and free_completed), which a boundary must not cut. Where one range ends
 * and the next begins in the same microsecond, the entries of that microsecond stay with
 * the first: neighbours never overlap.
 *
 * An END belongs to the latest open START of its name. A ring may have lost the START
 * (the range then begins with the trace) or never seen the END (it ends with it).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "recorder/import/private.h"

typedef struct Mark
{
  int64_t at_ns;
  uint32_t name; /* string of the trace */
  uint32_t at_index;
  struct Mark *open_before; /* START: (nullable): the open one of this name before it */
  uint32_t order;           /* in the file */
  bool is_end;
  bool is_closed;
} Mark;

typedef struct
{
  TesseraCapture *capture;
  GArray *marks;
  GHashTable *open; /* string of the trace: latest open START, if any */
  uint64_t n_flawed;
  uint64_t n_begun_before;
  uint64_t n_unfinished;
} Marks;

TesseraRangeKind
tessera_range_kind_of (const char *name)
{
  static const char *const words[] = { "step", "iteration", "iter", "ProfilerStep" };

  for (size_t i = 0; i < G_N_ELEMENTS (words); i++)
    {
      size_t n = strlen (words[i]);
      const char *digits = name + n + 1;

      if (g_ascii_strncasecmp (name, words[i], n) != 0 || name[n] == '\0' ||
          strchr (" #_:", name[n]) == NULL || *digits == '\0')
        continue;
      if (digits[strspn (digits, "0123456789")] == '\0')
        return TESSERA_RANGE_STEP;
    }
  return TESSERA_RANGE_PHASE;
}

static const TesseraAnnotationRecord *
record_at (const TesseraCapture *capture, const TesseraRecords *records)
{
  return &g_array_index (capture->annotations, TesseraAnnotationRecord, records->index);
}

static void
add_mark (Marks *marks, const TesseraAnnotationRecord *record, int64_t zero_us)
{
  Mark mark = { .at_ns = (record->time_us - zero_us) * 1000,
                .order = marks->marks->len,
                .is_end = record->is_end };

  mark.name = tessera_capture_string (
      marks->capture, tessera_value_make (TESSERA_VALUE_TEXT, record->name));
  g_array_append_val (marks->marks, mark);
}

/* Those made while the chosen device was current; when none was, those of all devices:
 * the time still says where they belong. */
static void
gather_marks (Marks *marks, const TesseraObject *list, int64_t zero_us)
{
  TesseraCapture *capture = marks->capture;
  TesseraRecords records = { list, TESSERA_RECORD_ANNOTATION };
  bool is_narrow = false;

  while (tessera_records_next (capture, &records))
    is_narrow |= record_at (capture, &records)->device == capture->trace->device;
  records = (TesseraRecords){ list, TESSERA_RECORD_ANNOTATION };
  while (tessera_records_next (capture, &records))
    {
      const TesseraAnnotationRecord *record = record_at (capture, &records);

      marks->n_flawed += record->is_flawed;
      if (!record->is_flawed && (!is_narrow || record->device == capture->trace->device))
        add_mark (marks, record, zero_us);
    }
  marks->n_flawed += records.n_others;
}

static int
compare_marks (const void *left, const void *right)
{
  const Mark *a = left, *b = right;

  if (a->at_ns != b->at_ns)
    return a->at_ns < b->at_ns ? -1 : 1;
  return a->order < b->order ? -1 : a->order > b->order;
}

/* One pass over marks and events, both by time. */
static void
place_marks (Marks *marks)
{
  const TesseraTrace *trace = marks->capture->trace;
  uint32_t not_before = 0, after = 0; /* first event with time >= t, > t */
  const Mark *last_end = NULL;

  for (guint i = 0; i < marks->marks->len; i++)
    {
      Mark *mark = &g_array_index (marks->marks, Mark, i);

      while (not_before < trace->n_events &&
             trace->events[not_before].at_ns < mark->at_ns)
        not_before++;
      if (after < not_before)
        after = not_before;
      while (after < trace->n_events && trace->events[after].at_ns <= mark->at_ns)
        after++;
      mark->at_index = not_before;
      if (mark->is_end || (last_end != NULL && last_end->at_ns == mark->at_ns))
        mark->at_index = after;
      if (mark->is_end)
        last_end = mark;
    }
}

static void
add_range (Marks *marks, const Mark *begin, const Mark *end, uint32_t name)
{
  TesseraTrace *trace = marks->capture->trace;
  int64_t last_ns = trace->n_events > 0 ? trace->events[trace->n_events - 1].at_ns : 0;
  TesseraRange range = { .name = name,
                         .begin_index = begin != NULL ? begin->at_index : 0,
                         .end_index =
                             end != NULL ? end->at_index : (uint32_t) trace->n_events,
                         .begin_ns = begin != NULL ? begin->at_ns : 0,
                         .end_ns = end != NULL ? end->at_ns : last_ns,
                         .parent = TESSERA_NONE };

  if (range.begin_ns > range.end_ns)
    {
      /* Only a range that the trace cuts: its known end lies outside the events. */
      if (begin == NULL)
        range.begin_ns = range.end_ns;
      else
        range.end_ns = range.begin_ns;
    }
  range.kind = (uint8_t) tessera_range_kind_of (tessera_trace_string (trace, name));
  import_must (tessera_trace_add_range (trace, &range));
}

static void
pair_marks (Marks *marks)
{
  for (guint i = 0; i < marks->marks->len; i++)
    {
      Mark *mark = &g_array_index (marks->marks, Mark, i);
      gpointer name = GUINT_TO_POINTER (mark->name);
      Mark *begin = g_hash_table_lookup (marks->open, name);

      if (!mark->is_end)
        mark->open_before = begin;
      g_hash_table_insert (marks->open, name,
                           !mark->is_end   ? mark
                           : begin != NULL ? begin->open_before
                                           : NULL);
      if (!mark->is_end)
        continue;
      marks->n_begun_before += begin == NULL;
      if (begin != NULL)
        begin->is_closed = true;
      add_range (marks, begin, mark, mark->name);
    }
  for (guint i = 0; i < marks->marks->len; i++)
    {
      const Mark *mark = &g_array_index (marks->marks, Mark, i);

      if (mark->is_end || mark->is_closed)
        continue;
      marks->n_unfinished++;
      add_range (marks, mark, NULL, mark->name);
    }
}

static void
note_marks (const Marks *marks)
{
  TesseraTrace *trace = marks->capture->trace;

  tessera_note (trace, "annotations_flawed", marks->n_flawed,
                "annotations make no sense: left out");
  tessera_note (trace, "annotations_begun_before", marks->n_begun_before,
                "annotations begin before the recording");
  tessera_note (trace, "annotations_unfinished", marks->n_unfinished,
                "annotations do not end");
}

void
tessera_snapshot_take_annotations (TesseraCapture *capture,
                                   const TesseraSnapshotParts *parts,
                                   int64_t zero_us)
{
  g_autoptr (GArray) all = g_array_new (FALSE, FALSE, sizeof (Mark));
  g_autoptr (GHashTable) open = g_hash_table_new (NULL, NULL);
  Marks marks = { .capture = capture, .marks = all, .open = open };

  if (parts->annotations == NULL || zero_us == TESSERA_TIME_MISSING)
    return;
  gather_marks (&marks, parts->annotations, zero_us);
  g_array_sort (all, compare_marks);
  place_marks (&marks);
  pair_marks (&marks);
  note_marks (&marks);
  tessera_trace_settle_ranges (capture->trace);
}
