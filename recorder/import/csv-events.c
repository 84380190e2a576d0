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
#include <stdlib.h>
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
init_ranges (Ranges *ranges, TesseraCsv *csv, TesseraTrace *trace)
{
  *ranges = (Ranges){ .csv = csv, .trace = trace };
  for (size_t level = 0; level < N_LEVELS; level++)
    ranges->columns[level] = tessera_csv_column (csv, levels[level].column);
}

static TesseraStatus
close_from (Ranges *ranges, size_t from_level, int64_t at_ns)
{
  TesseraStatus status = TESSERA_OK;

  for (size_t level = N_LEVELS; level-- > from_level && status == TESSERA_OK;)
    {
      TesseraRange *range = &ranges->open[level];

      if (!ranges->is_open[level])
        continue;
      ranges->is_open[level] = false;
      range->end_index = (uint32_t) ranges->trace->n_events;
      range->end_ns = at_ns;
      import_must (tessera_trace_add_range (ranges->trace, range));
      status = tessera_csv_hold (ranges->csv, TESSERA_CSV_RANGE_BYTES);
    }
  return status;
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
static TesseraStatus
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
      TesseraStatus status = TESSERA_OK;

      if (level == 0 && g_str_has_prefix (open, "step ") &&
          !g_str_has_prefix (text, "step "))
        open += strlen ("step ");
      if (!is_new && strcmp (open, text) != 0)
        {
          is_new = true;
          status = close_from (ranges, level, at_ns);
        }
      if (status != TESSERA_OK)
        return status;
      if (is_new && *text != '\0')
        open_range (ranges, level, text, at_ns);
    }
  return TESSERA_OK;
}

#define FIRST_ADDR ((uint64_t) 1 << 32)
#define ADDR_STEP ((uint64_t) 512)
#define MAX_SIZE_BYTES ((uint64_t) 1 << 60)
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
  uint64_t addr; /* 0: not live */
  uint64_t size_bytes;
  uint64_t line; /* of its allocation */
  uint16_t stream;
  bool is_empty; /* live with 0 bytes: no block */
} Id;

typedef struct
{
  TesseraCsv *csv;
  TesseraTrace *trace;
  int columns[N_COLUMNS];
  TesseraStrings *id_names;
  Id *ids;
  size_t n_ids, cap_ids;
  uint64_t next_addr;
  uint64_t last_seq;
  int64_t at_ns; /* of the row at hand, before the first is taken off */
  int64_t zero_ns;
  bool has_row;
  bool has_time;
  uint64_t n_empty, n_size_differs;
  Ranges ranges;
} Reader;

static int64_t
now_ns (const Reader *reader)
{
  return reader->at_ns - reader->zero_ns;
}

static TesseraStatus
find_id (Reader *reader, Id **out_id)
{
  const char *name = tessera_csv_text (reader->csv, reader->columns[ID]);
  uint32_t index;

  if (*name == '\0')
    return tessera_csv_refuse (reader->csv, "id is empty: every block needs one");
  import_must (tessera_strings_intern (reader->id_names, name, strlen (name), &index));
  IMPORT_RESERVE (reader->ids, reader->cap_ids, (size_t) index + 1);
  while (reader->n_ids <= index)
    reader->ids[reader->n_ids++] = (Id){ 0 };
  *out_id = &reader->ids[index];
  return TESSERA_OK;
}

static TesseraStatus
give_addr (Reader *reader, uint64_t size_bytes, uint64_t *out_addr)
{
  uint64_t taken = (size_bytes + ADDR_STEP - 1) / ADDR_STEP * ADDR_STEP;

  *out_addr = reader->next_addr;
  if (reader->next_addr > UINT64_MAX - 2 * MAX_SIZE_BYTES)
    return tessera_csv_refuse (reader->csv, "the sizes add up to more than 2^63 bytes");
  reader->next_addr += taken;
  return TESSERA_OK;
}

static TesseraStatus
add_event (Reader *reader, TesseraAction action, const Id *id)
{
  TesseraEvent event = { .action = (uint8_t) action,
                         .stack = TESSERA_NONE,
                         .at_ns = now_ns (reader) };

  if (id != NULL)
    {
      event.addr = id->addr;
      event.size_bytes = id->size_bytes;
      event.stream = id->stream;
    }
  import_must (tessera_trace_add_event (reader->trace, &event));
  return tessera_csv_hold (reader->csv, TESSERA_CSV_EVENT_BYTES);
}

static TesseraStatus
read_size (Reader *reader, uint64_t *out_size_bytes)
{
  TesseraStatus status = tessera_csv_u64 (reader->csv, reader->columns[SIZE_BYTES],
                                          names[SIZE_BYTES], NULL, out_size_bytes);

  if (status == TESSERA_OK && *out_size_bytes > MAX_SIZE_BYTES)
    return tessera_csv_refuse (reader->csv,
                               "size_bytes is %" PRIu64 ": no device has 2^60 bytes",
                               *out_size_bytes);
  return status;
}

static TesseraStatus
read_stream (Reader *reader, uint16_t *out_stream)
{
  const uint64_t otherwise = 0;
  uint64_t handle;
  TesseraStatus status = tessera_csv_u64 (reader->csv, reader->columns[STREAM],
                                          names[STREAM], &otherwise, &handle);

  if (status != TESSERA_OK)
    return status;
  status = tessera_trace_add_stream (reader->trace, handle, out_stream);
  import_need (status != TESSERA_NO_MEMORY);
  if (status != TESSERA_OK || *out_stream >= TESSERA_MAX_STREAMS)
    return tessera_csv_refuse (reader->csv, "more than %d streams", TESSERA_MAX_STREAMS);
  return TESSERA_OK;
}

static TesseraStatus
run_alloc (Reader *reader)
{
  Id *id;
  TesseraStatus status = find_id (reader, &id);

  if (status != TESSERA_OK)
    return status;
  if (id->addr != 0 || id->is_empty)
    return tessera_csv_refuse (reader->csv,
                               "id \"%.80s\" is allocated again, and was not freed since "
                               "line %" PRIu64,
                               tessera_csv_text (reader->csv, reader->columns[ID]),
                               id->line);
  status = read_size (reader, &id->size_bytes);
  if (status == TESSERA_OK)
    status = read_stream (reader, &id->stream);
  if (status != TESSERA_OK)
    return status;
  id->line = reader->csv->line;
  id->is_empty = id->size_bytes == 0;
  reader->n_empty += id->is_empty;
  if (id->is_empty)
    return TESSERA_OK;
  status = give_addr (reader, id->size_bytes, &id->addr);
  if (status == TESSERA_OK)
    status = tessera_csv_hold (reader->csv, TESSERA_CSV_BLOCK_BYTES);
  return status == TESSERA_OK ? add_event (reader, TESSERA_ALLOC, id) : status;
}

/* A block freed that was never allocated here is older than the table. */
static TesseraStatus
add_older (Reader *reader, Id *id)
{
  TesseraHeldBlock block = { .state = TESSERA_BLOCK_LIVE, .stack = TESSERA_NONE };
  TesseraStatus status = read_size (reader, &id->size_bytes);

  if (status == TESSERA_OK)
    status = read_stream (reader, &id->stream);
  id->is_empty = id->size_bytes == 0;
  if (status == TESSERA_OK && !id->is_empty)
    status = give_addr (reader, id->size_bytes, &id->addr);
  if (status != TESSERA_OK || id->is_empty)
    return status;
  block.addr = id->addr;
  block.size_bytes = id->size_bytes;
  block.block_bytes = (id->size_bytes + ADDR_STEP - 1) / ADDR_STEP * ADDR_STEP;
  import_must (tessera_trace_add_block (&reader->trace->start, &block));
  return tessera_csv_hold (reader->csv, TESSERA_CSV_OLDER_BYTES);
}

/* What a free says of its size need not be there; it counts where it is another. */
static TesseraStatus
compare_size (Reader *reader, const Id *id)
{
  uint64_t size_bytes = id->size_bytes;
  TesseraStatus status = TESSERA_OK;

  if (*tessera_csv_text (reader->csv, reader->columns[SIZE_BYTES]) != '\0')
    status = read_size (reader, &size_bytes);
  reader->n_size_differs += size_bytes != id->size_bytes;
  return status;
}

static TesseraStatus
run_free (Reader *reader)
{
  Id *id;
  TesseraStatus status = find_id (reader, &id);

  if (status != TESSERA_OK)
    return status;
  if (id->addr != 0 || id->is_empty)
    status = compare_size (reader, id);
  else
    {
      if (id->line != 0)
        return tessera_csv_refuse (reader->csv, "id \"%.80s\" is freed twice",
                                   tessera_csv_text (reader->csv, reader->columns[ID]));
      status = add_older (reader, id);
      id->line = reader->csv->line;
    }
  if (status == TESSERA_OK && !id->is_empty)
    status = add_event (reader, TESSERA_FREE_REQUESTED, id);
  if (status == TESSERA_OK && !id->is_empty)
    status = add_event (reader, TESSERA_FREE_COMPLETED, id);
  id->addr = 0;
  id->is_empty = false;
  return status;
}

static TesseraStatus
run_row (Reader *reader)
{
  const char *action = tessera_csv_text (reader->csv, reader->columns[ACTION]);

  if (g_ascii_strcasecmp (action, "alloc") == 0)
    return run_alloc (reader);
  if (g_ascii_strcasecmp (action, "free") == 0)
    return run_free (reader);
  if (g_ascii_strcasecmp (action, "mark") == 0)
    return add_event (reader, TESSERA_MARK, NULL);
  return tessera_csv_refuse (reader->csv,
                             "action is \"%.80s\": expected alloc, free or mark", action);
}

/* Microseconds, fractions allowed. A table has times in each row or in none. */
static TesseraStatus
read_time (Reader *reader)
{
  const char *text = tessera_csv_text (reader->csv, reader->columns[TIME_US]);
  char *end;
  double time_us;

  if (*text == '\0')
    {
      reader->has_time = false;
      return TESSERA_OK;
    }
  time_us = g_ascii_strtod (text, &end);
  if (*end != '\0' || !isfinite (time_us) || fabs (time_us) > MAX_TIME_US)
    return tessera_csv_refuse (
        reader->csv, "time_us is \"%.80s\": expected a number of microseconds", text);
  reader->at_ns = (int64_t) (time_us * 1000);
  if (!reader->has_row)
    reader->zero_ns = reader->at_ns;
  return TESSERA_OK;
}

static TesseraStatus
read_seq (Reader *reader)
{
  uint64_t seq;
  TesseraStatus status;

  if (*tessera_csv_text (reader->csv, reader->columns[SEQ]) == '\0')
    return TESSERA_OK;
  status = tessera_csv_u64 (reader->csv, reader->columns[SEQ], names[SEQ], NULL, &seq);
  if (status == TESSERA_OK && reader->has_row && seq <= reader->last_seq)
    return tessera_csv_refuse (reader->csv,
                               "seq is %" PRIu64 " after %" PRIu64
                               ": sort the rows by seq, each once",
                               seq, reader->last_seq);
  reader->last_seq = seq;
  return status;
}

static TesseraStatus
read_rows (Reader *reader)
{
  TesseraStatus status;

  while (tessera_csv_next (reader->csv, &status))
    {
      status = read_seq (reader);
      if (status == TESSERA_OK)
        status = read_time (reader);
      if (status == TESSERA_OK)
        status = follow_ranges (&reader->ranges, now_ns (reader));
      if (status == TESSERA_OK)
        status = run_row (reader);
      if (status != TESSERA_OK)
        return status;
      reader->has_row = true;
    }
  return status == TESSERA_OK ? close_from (&reader->ranges, 0, now_ns (reader)) : status;
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

/* Blocks still live at the end, in the order of their addresses, which is that of birth:
 * ids are numbered by first use, so a table that uses an id again needs the sort. */
static void
finish (Reader *reader)
{
  TesseraTrace *trace = reader->trace;

  for (size_t i = 0; i < reader->n_ids; i++)
    {
      const Id *id = &reader->ids[i];
      TesseraHeldBlock block = { .addr = id->addr,
                                 .size_bytes = id->size_bytes,
                                 .block_bytes = (id->size_bytes + ADDR_STEP - 1) /
                                                ADDR_STEP * ADDR_STEP,
                                 .stack = TESSERA_NONE,
                                 .state = TESSERA_BLOCK_LIVE };

      if (id->addr != 0)
        import_must (tessera_trace_add_block (&trace->end, &block));
    }
  tessera_held_sort (&trace->end);
  trace->has_time = reader->has_time && trace->n_events > 0;
  if (!trace->has_time)
    forget_times (trace);
  trace->starts_empty = trace->start.n_blocks == 0;
  tessera_trace_settle_ranges (trace);
  import_must (tessera_trace_set_meta (trace, "format", "CSV table of events"));
  tessera_note (trace, "empty_blocks", reader->n_empty, "blocks of 0 bytes left out");
  tessera_note (trace, "size_differs", reader->n_size_differs,
                "frees of another size than their allocation, which was taken");
}

TesseraStatus
tessera_csv_read_events (TesseraCsv *csv, TesseraTrace *trace)
{
  Reader reader = {
    .csv = csv, .trace = trace, .next_addr = FIRST_ADDR, .has_time = true
  };
  TesseraStatus status;

  for (int i = 0; i < N_COLUMNS; i++)
    reader.columns[i] = tessera_csv_column (csv, names[i]);
  init_ranges (&reader.ranges, csv, trace);
  import_must (tessera_strings_new (&reader.id_names));
  status = read_rows (&reader);
  if (status == TESSERA_OK)
    finish (&reader);
  tessera_strings_free (reader.id_names);
  free (reader.ids);
  return status;
}
