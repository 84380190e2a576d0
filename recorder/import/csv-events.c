/*
 * A table of events: seq,time_us,action,id,size_bytes,stream,iteration,phase,module.
 *
 * Each use of an id gets an address of its own, so that the table is a trace like any
 * other. Rows of the same iteration, phase or module form ranges.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "recorder/import/private.h"

/* Ranges of a table: rows of the same iteration, phase or module one after the other. A
 * range ends where an enclosing one does. */

enum
{
  N_LEVELS = 3 /* steps, phases, modules: outer before inner */
};

typedef struct
{
  TesseraCsv *csv;
  TesseraTrace *trace;
  int columns[N_LEVELS]; /* or -1: the table has none */
  TesseraRange open[N_LEVELS];
  bool is_open[N_LEVELS];
} Ranges;

static const struct
{
  const char *column;
  uint8_t kind;
} levels[N_LEVELS] = { { "iteration", TESSERA_RANGE_STEP },
                       { "phase", TESSERA_RANGE_PHASE },
                       { "module", TESSERA_RANGE_MODULE } };

static void
close_from (Ranges *ranges, size_t from_level, int64_t at_ns)
{
  for (size_t level = N_LEVELS; level-- > from_level;)
    {
      TesseraRange *range = &ranges->open[level];

      if (!ranges->is_open[level])
        continue;
      ranges->is_open[level] = false;
      range->end_index = (uint32_t) ranges->trace->n_events;
      range->end_ns = at_ns;
      import_must (tessera_trace_add_range (ranges->trace, range));
    }
}

/* A bare number of an iteration is called "step N", like PyTorch's own. */
static void
open_range (Ranges *ranges, size_t level, const char *text, int64_t at_ns)
{
  TesseraRange *range = &ranges->open[level];
  g_autofree char *valid = g_utf8_make_valid (text, -1);
  g_autofree char *name = level == 0 && valid[strspn (valid, "0123456789")] == '\0'
                              ? g_strdup_printf ("step %s", valid)
                              : g_strdup (valid);

  *range = (TesseraRange){ .begin_index = (uint32_t) ranges->trace->n_events,
                           .begin_ns = at_ns,
                           .parent = TESSERA_NONE,
                           .kind = levels[level].kind };
  import_must (tessera_trace_intern (ranges->trace, name, strlen (name), &range->name));
  ranges->is_open[level] = true;
}

/* Compares what is open with the row: from the first difference inwards, all is new. The
 * texts of the row before are gone, so the names are compared. */
static void
follow_ranges (Ranges *ranges, int64_t at_ns)
{
  bool is_new = false;

  for (size_t level = 0; level < N_LEVELS; level++)
    {
      const char *text = tessera_csv_text (ranges->csv, ranges->columns[level]);
      const char *open =
          ranges->is_open[level]
              ? tessera_trace_string (ranges->trace, ranges->open[level].name)
              : "";

      if (level == 0 && g_str_has_prefix (open, "step ") &&
          !g_str_has_prefix (text, "step "))
        open += strlen ("step ");
      if (!is_new && strcmp (open, text) != 0)
        {
          is_new = true;
          close_from (ranges, level, at_ns);
        }
      if (is_new && *text != '\0')
        open_range (ranges, level, text, at_ns);
    }
}

#define MAX_TIME_US 4.5e15 /* the year 2112 */

enum
{
  SEQ,
  TIME_US,
  ACTION,
  ID,
  SIZE_BYTES,
  STREAM,
  N_COLUMNS
};

static const char *const names[N_COLUMNS] = { "seq", "time_us",    "action",
                                              "id",  "size_bytes", "stream" };

/* What became of an id. */
typedef struct
{
  TesseraEvent event; /* its addr 0: not live */
  uint64_t line;      /* of its allocation */
  bool is_empty;      /* live with 0 bytes: no block */
} Id;

typedef struct
{
  TesseraCsv *csv;
  TesseraMade made;
  int columns[N_COLUMNS];
  GHashTable *ids; /* name: Id */
  uint64_t last_seq;
  int64_t at_ns; /* of the row at hand, before the first is taken off */
  int64_t zero_ns;
  bool has_row;
  bool has_time;
  uint64_t n_size_differs;
  Ranges ranges;
} Reader;

static const char *
text_in (const Reader *reader, int column)
{
  return tessera_csv_text (reader->csv, reader->columns[column]);
}

static void
add_event (Reader *reader, TesseraAction action, TesseraEvent event)
{
  event.at_ns = reader->at_ns - reader->zero_ns;
  import_need (tessera_made_event (&reader->made, action, event));
}

static uint64_t
read_size (Reader *reader)
{
  uint64_t size_bytes =
      tessera_csv_u64 (reader->csv, reader->columns[SIZE_BYTES], names[SIZE_BYTES]);

  if (size_bytes > TESSERA_CSV_MOST_BYTES)
    tessera_csv_refuse (
        reader->csv, "size_bytes is %" PRIu64 ": no device has 2^60 bytes", size_bytes);
  return size_bytes;
}

/* A block of the id begins to live, with the size and stream of the row. */
static void
make_block (Reader *reader, Id *id)
{
  uint64_t handle =
      *text_in (reader, STREAM) != '\0'
          ? tessera_csv_u64 (reader->csv, reader->columns[STREAM], names[STREAM])
          : 0;
  uint16_t stream = 0;
  TesseraStatus status = tessera_trace_add_stream (reader->made.trace, handle, &stream);

  import_need (status != TESSERA_NO_MEMORY);
  if (status != TESSERA_OK || stream >= TESSERA_MAX_STREAMS)
    tessera_csv_refuse (reader->csv, "more than %d streams", TESSERA_MAX_STREAMS);
  id->line = reader->csv->line;
  id->event = (TesseraEvent){ .size_bytes = read_size (reader),
                              .stream = stream,
                              .stack = TESSERA_NONE };
  id->is_empty = id->event.size_bytes == 0;
  if (reader->made.n_bytes > TESSERA_CSV_MOST_SUM_BYTES)
    tessera_csv_refuse (reader->csv, "the sizes add up to more than 2^63 bytes");
  if (!id->is_empty && reader->csv->status == TESSERA_OK)
    id->event.addr = tessera_made_addr (&reader->made, id->event.size_bytes);
}

static void
run_alloc (Reader *reader, const char *name, Id *id)
{
  if (id->event.addr != 0 || id->is_empty)
    tessera_csv_refuse (reader->csv,
                        "id \"%.80s\" is allocated again, and was not freed since "
                        "line %" PRIu64,
                        name, id->line);
  make_block (reader, id);
  reader->made.n_empty += id->is_empty;
  if (!id->is_empty)
    add_event (reader, TESSERA_ALLOC, id->event);
}

/* A block freed that was never allocated here is older than the table. What a free says of
 * its size need not be there; it counts where it is another. */
static void
run_free (Reader *reader, const char *name, Id *id)
{
  if (id->event.addr != 0 || id->is_empty)
    {
      if (*text_in (reader, SIZE_BYTES) != '\0')
        reader->n_size_differs += read_size (reader) != id->event.size_bytes;
    }
  else if (id->line != 0)
    tessera_csv_refuse (reader->csv, "id \"%.80s\" is freed twice", name);
  else
    {
      make_block (reader, id);
      if (!id->is_empty)
        tessera_made_hold (&reader->made, &reader->made.trace->start, id->event.addr,
                           id->event.size_bytes);
    }
  if (!id->is_empty)
    {
      add_event (reader, TESSERA_FREE_REQUESTED, id->event);
      add_event (reader, TESSERA_FREE_COMPLETED, id->event);
    }
  id->event.addr = 0;
  id->is_empty = false;
}

static void
run_row (Reader *reader)
{
  const char *action = text_in (reader, ACTION), *name = text_in (reader, ID);
  bool is_alloc = g_ascii_strcasecmp (action, "alloc") == 0;
  Id *id = g_hash_table_lookup (reader->ids, name);

  if (g_ascii_strcasecmp (action, "mark") == 0)
    {
      add_event (reader, TESSERA_MARK, (TesseraEvent){ .stack = TESSERA_NONE });
      return;
    }
  if (!is_alloc && g_ascii_strcasecmp (action, "free") != 0)
    tessera_csv_refuse (reader->csv, "action is \"%.80s\": expected alloc, free or mark",
                        action);
  if (*name == '\0')
    tessera_csv_refuse (reader->csv, "id is empty: every block needs one");
  if (id == NULL)
    {
      id = g_new0 (Id, 1);
      g_hash_table_insert (reader->ids, g_strdup (name), id);
    }
  (is_alloc ? run_alloc : run_free) (reader, name, id);
}

/* Microseconds, fractions allowed. A table has times in each row or in none. */
static void
read_time (Reader *reader)
{
  const char *text = text_in (reader, TIME_US);
  char *end;
  double time_us = g_ascii_strtod (text, &end);

  if (*text == '\0')
    reader->has_time = false;
  else if (*end != '\0' || !isfinite (time_us) || fabs (time_us) > MAX_TIME_US)
    tessera_csv_refuse (reader->csv,
                        "time_us is \"%.80s\": expected a number of microseconds", text);
  else
    {
      reader->at_ns = (int64_t) (time_us * 1000);
      if (!reader->has_row)
        reader->zero_ns = reader->at_ns;
    }
}

static void
read_seq (Reader *reader)
{
  uint64_t seq;

  if (*text_in (reader, SEQ) == '\0')
    return;
  seq = tessera_csv_u64 (reader->csv, reader->columns[SEQ], names[SEQ]);
  if (reader->has_row && seq <= reader->last_seq)
    tessera_csv_refuse (reader->csv,
                        "seq is %" PRIu64 " after %" PRIu64
                        ": sort the rows by seq, each once",
                        seq, reader->last_seq);
  reader->last_seq = seq;
}

/* After a row that is refused no other one comes. */
static void
read_rows (Reader *reader)
{
  const TesseraTrace *trace = reader->made.trace;

  while (tessera_csv_next (reader->csv))
    {
      read_seq (reader);
      read_time (reader);
      follow_ranges (&reader->ranges, reader->at_ns - reader->zero_ns);
      run_row (reader);
      reader->has_row = true;
      tessera_csv_weigh (reader->csv,
                         trace->n_events * TESSERA_CSV_EVENT_BYTES +
                             g_hash_table_size (reader->ids) * TESSERA_CSV_BLOCK_BYTES +
                             trace->start.n_blocks *
                                 (TESSERA_CSV_OLDER_BYTES - TESSERA_CSV_BLOCK_BYTES) +
                             trace->n_ranges * TESSERA_CSV_RANGE_BYTES);
    }
  close_from (&reader->ranges, 0, reader->at_ns - reader->zero_ns);
}

/* Without a time in every row there is none. */
static void
forget_times (TesseraTrace *trace)
{
  for (size_t i = 0; i < trace->n_events; i++)
    trace->events[i].at_ns = 0;
  for (size_t i = 0; i < trace->n_ranges; i++)
    trace->ranges[i].begin_ns = trace->ranges[i].end_ns = 0;
}

/* Blocks still live at the end, in the order of their addresses. */
static void
finish (Reader *reader)
{
  TesseraTrace *trace = reader->made.trace;
  GHashTableIter iter;
  gpointer value;

  g_hash_table_iter_init (&iter, reader->ids);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    {
      const TesseraEvent *event = &((const Id *) value)->event;

      if (event->addr != 0)
        tessera_made_hold (&reader->made, &trace->end, event->addr, event->size_bytes);
    }
  tessera_held_sort (&trace->end);
  trace->has_time = reader->has_time && trace->n_events > 0;
  if (!trace->has_time)
    forget_times (trace);
  trace->starts_empty = trace->start.n_blocks == 0;
  tessera_trace_settle_ranges (trace);
  import_must (tessera_trace_set_meta (trace, "format", "CSV table of events"));
  tessera_note (trace, "empty_blocks", reader->made.n_empty,
                "blocks of 0 bytes left out");
  tessera_note (trace, "size_differs", reader->n_size_differs,
                "frees of another size than their allocation, which was taken");
}

void
tessera_csv_read_events (TesseraCsv *csv, TesseraTrace *trace)
{
  g_autoptr (GHashTable) ids =
      g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  Reader reader = { .csv = csv,
                    .made = { .trace = trace, .step_bytes = 512 },
                    .ids = ids,
                    .has_time = true,
                    .ranges = { .csv = csv, .trace = trace } };

  for (int i = 0; i < N_COLUMNS; i++)
    reader.columns[i] = tessera_csv_column (csv, names[i]);
  for (size_t level = 0; level < N_LEVELS; level++)
    reader.ranges.columns[level] = tessera_csv_column (csv, levels[level].column);
  read_rows (&reader);
  finish (&reader);
}
