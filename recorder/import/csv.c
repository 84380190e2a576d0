/*
 * Comma-separated tables: lines, quotes, columns, numbers; and planning instances. Blocks
 * without addresses, whose files are these and a profiler's.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "recorder/import/private.h"

#define BYTE_ORDER_MARK "\xef\xbb\xbf"
#define MOST_OF_PLAIN_BYTES 12
#define FREE_HELD_BYTES ((uint64_t) 224 << 20) /* the program itself takes 16 to 32 MiB */

void
tessera_csv_refuse (TesseraCsv *csv, const char *format, ...)
{
  char what[400];
  va_list arguments;

  va_start (arguments, format);
  vsnprintf (what, sizeof what, format, arguments);
  va_end (arguments);
  if (csv->status == TESSERA_OK)
    csv->status = tessera_fail (csv->error, TESSERA_BAD_INPUT, "%s line %" PRIu64 ": %s",
                                csv->stream->name, csv->line, what);
}

void
tessera_csv_weigh (TesseraCsv *csv, uint64_t held_bytes)
{
  uint64_t n_read = tessera_stream_position (csv->stream);

  if (held_bytes > FREE_HELD_BYTES + MOST_OF_PLAIN_BYTES * n_read)
    tessera_csv_refuse (csv, "rows as short as these take more memory than 256 MiB "
                             "and twelve times their bytes: import a part of the "
                             "table");
}

/* One logical line into csv->text, without its end; a quoted field may hold line ends.
 * Returns: whether there was one. */
static bool
read_line (TesseraCsv *csv)
{
  TesseraStream *stream = csv->stream;
  uint64_t n_lines = 1;
  bool is_quoted = false, is_whole = false;

  g_string_truncate (csv->text, 0);
  while (!is_whole && tessera_stream_has (stream, 1))
    {
      char byte = (char) *stream->at++;

      is_quoted ^= byte == '"';
      is_whole = byte == '\n' && !is_quoted;
      n_lines += byte == '\n' && is_quoted;
      if (csv->text->len >= TESSERA_CSV_MAX_LINE_BYTES)
        {
          csv->line++;
          tessera_csv_refuse (csv, is_quoted ? "a quote does not end"
                                             : "the line is longer than 1 MiB");
          return false;
        }
      if (!is_whole)
        g_string_append_c (csv->text, byte);
    }
  if (stream->status != TESSERA_OK)
    csv->status = tessera_stream_cut (stream, csv->error);
  csv->line += is_whole ? n_lines : csv->text->len > 0;
  if (is_quoted)
    tessera_csv_refuse (csv, "a quote does not end");
  return csv->status == TESSERA_OK && (is_whole || csv->text->len > 0);
}

/* Cuts the line into fields in place: "" inside quotes is one quote. */
static void
split (TesseraCsv *csv)
{
  char *from = csv->text->str, *end = from + csv->text->len, *to = from;
  bool is_quoted = false;

  csv->n_fields = 0;
  csv->fields[csv->n_fields++] = to;
  for (; from < end; from++)
    {
      if (*from == '"' && is_quoted && from + 1 < end && from[1] == '"')
        *to++ = *from++;
      else if (*from == '"')
        is_quoted = !is_quoted;
      else if (*from != ',' || is_quoted)
        *to++ = *from != '\0' ? *from : '?';
      else if (csv->n_fields == TESSERA_CSV_MAX_COLUMNS)
        {
          tessera_csv_refuse (csv, "more than %d columns", TESSERA_CSV_MAX_COLUMNS);
          break;
        }
      else
        {
          *to++ = '\0';
          csv->fields[csv->n_fields++] = to;
        }
    }
  *to = '\0';
  for (size_t i = 0; i < csv->n_fields; i++)
    g_strstrip (csv->fields[i]);
}

bool
tessera_csv_next (TesseraCsv *csv)
{
  while (csv->status == TESSERA_OK && read_line (csv))
    {
      split (csv);
      if (csv->n_fields > 1 || csv->fields[0][0] != '\0')
        break;
      csv->n_fields = 0;
    }
  return csv->status == TESSERA_OK && csv->n_fields > 0 && csv->text->len > 0;
}

int
tessera_csv_column (const TesseraCsv *csv, const char *name)
{
  for (size_t i = 0; i < csv->n_fields; i++)
    if (g_ascii_strcasecmp (csv->fields[i], name) == 0)
      return (int) i;
  return -1;
}

const char *
tessera_csv_text (const TesseraCsv *csv, int column)
{
  return column >= 0 && (size_t) column < csv->n_fields ? csv->fields[column] : "";
}

uint64_t
tessera_csv_u64 (TesseraCsv *csv, int column, const char *name)
{
  const char *text = tessera_csv_text (csv, column);
  guint64 number = 0;

  if (!g_ascii_string_to_unsigned (text, 10, 0, G_MAXUINT64, &number, NULL))
    tessera_csv_refuse (csv, "%s is \"%.80s\": expected a whole number%s", name, text,
                        strstr (name, "size") != NULL ? " of bytes" : "");
  return number;
}

static bool
line_names (const char *line, const char *const *names)
{
  g_auto (GStrv) columns = g_strsplit (line, ",", TESSERA_CSV_MAX_COLUMNS);

  for (; *names != NULL; names++)
    {
      bool found = false;

      for (char **column = columns; *column != NULL && !found; column++)
        {
          g_strdelimit (*column, "\"", ' ');
          found = g_ascii_strcasecmp (g_strstrip (*column), *names) == 0;
        }
      if (!found)
        return false;
    }
  return true;
}

/* The first line of what lies in the window, without a byte order mark. */
bool
tessera_csv_knows (const TesseraStream *stream)
{
  static const char *const events[] = { "action", "id", "size_bytes", NULL };
  static const char *const instance[] = { "id", "lower", "upper", "size", NULL };
  g_autofree char *line =
      g_strndup ((const char *) stream->at, (size_t) (stream->end - stream->at));
  const char *header =
      line + (g_str_has_prefix (line, BYTE_ORDER_MARK) ? strlen (BYTE_ORDER_MARK) : 0);

  line[strcspn (line, "\n")] = '\0';
  return line_names (header, events) || line_names (header, instance);
}

/* Whether the header names a column that is read twice: which one is meant? */
static void
check_header (TesseraCsv *csv)
{
  static const char *const read[] = { "seq",        "time_us", "action",    "id",
                                      "size_bytes", "stream",  "iteration", "phase",
                                      "module",     "lower",   "upper",     "size" };

  for (size_t i = 0; i < G_N_ELEMENTS (read); i++)
    for (int k = tessera_csv_column (csv, read[i]) + 1;
         k > 0 && (size_t) k < csv->n_fields; k++)
      if (g_ascii_strcasecmp (csv->fields[k], read[i]) == 0)
        tessera_csv_refuse (csv, "the column %s is there twice: leave one out", read[i]);
}

/* Blocks without addresses */

uint64_t
tessera_made_addr (TesseraMade *made, uint64_t size_bytes)
{
  uint64_t addr = TESSERA_MADE_FIRST_ADDR + made->n_bytes;

  made->n_bytes +=
      (size_bytes + made->step_bytes - 1) / made->step_bytes * made->step_bytes;
  return addr;
}

bool
tessera_made_event (TesseraMade *made, TesseraAction action, TesseraEvent event)
{
  event.action = (uint8_t) action;
  return tessera_trace_add_event (made->trace, &event) == TESSERA_OK;
}

void
tessera_made_hold (const TesseraMade *made,
                   TesseraHeld *held,
                   uint64_t addr,
                   uint64_t size_bytes)
{
  const TesseraHeldBlock block = { .addr = addr,
                                   .size_bytes = size_bytes,
                                   .block_bytes = (size_bytes + made->step_bytes - 1) /
                                                  made->step_bytes * made->step_bytes,
                                   .stack = TESSERA_NONE,
                                   .state = TESSERA_BLOCK_LIVE };

  import_must (tessera_trace_add_block (held, &block));
}

/* A planning instance: id,lower,upper,size, each row a block alive over [lower, upper).
 *
 * Times become events in order; where one block ends at the time another begins, it ends
 * first. Sizes count in the file's own unit, so nothing is aligned. */

/* A block begins or ends. */
typedef struct
{
  uint64_t at, addr, size_bytes;
  bool is_begin;
} Edge;

static int
compare_edges (const void *left, const void *right)
{
  const Edge *a = left, *b = right;

  if (a->at != b->at)
    return a->at < b->at ? -1 : 1;
  if (a->is_begin != b->is_begin)
    return a->is_begin ? 1 : -1;
  return a->addr < b->addr ? -1 : a->addr > b->addr;
}

static void
read_block (TesseraCsv *csv, TesseraMade *made, const int *columns, GArray *edges)
{
  uint64_t lower = tessera_csv_u64 (csv, columns[0], "lower");
  uint64_t upper = tessera_csv_u64 (csv, columns[1], "upper");
  uint64_t size_bytes = tessera_csv_u64 (csv, columns[2], "size");
  Edge edge = { .at = lower, .size_bytes = size_bytes, .is_begin = true };

  if (lower >= upper)
    tessera_csv_refuse (csv,
                        "upper is %" PRIu64 " and lower %" PRIu64
                        ": a block has to live for a while",
                        upper, lower);
  if (size_bytes > TESSERA_CSV_MOST_BYTES || made->n_bytes > TESSERA_CSV_MOST_SUM_BYTES)
    tessera_csv_refuse (csv, "sizes of more than 2^60 bytes");
  if (edges->len >= UINT32_MAX / 4)
    tessera_csv_refuse (csv, "more than a thousand million blocks");
  made->n_empty += size_bytes == 0;
  if (size_bytes == 0 || csv->status != TESSERA_OK)
    return;
  edge.addr = tessera_made_addr (made, size_bytes);
  g_array_append_val (edges, edge);
  edge.at = upper;
  edge.is_begin = false;
  g_array_append_val (edges, edge);
  tessera_csv_weigh (csv, edges->len / 2 * TESSERA_CSV_BLOCK_BYTES +
                              edges->len * 3 / 2 * TESSERA_CSV_EVENT_BYTES);
}

static void
read_instance (TesseraCsv *csv, TesseraTrace *trace)
{
  TesseraMade made = { .trace = trace, .step_bytes = 1 };
  g_autoptr (GArray) edges = g_array_new (FALSE, FALSE, sizeof (Edge));
  const int columns[] = { tessera_csv_column (csv, "lower"),
                          tessera_csv_column (csv, "upper"),
                          tessera_csv_column (csv, "size") };

  while (tessera_csv_next (csv))
    read_block (csv, &made, columns, edges);
  g_array_sort (edges, compare_edges);
  for (guint i = 0; i < edges->len && csv->status == TESSERA_OK; i++)
    {
      const Edge *edge = &g_array_index (edges, Edge, i);
      const TesseraEvent event = { .addr = edge->addr,
                                   .size_bytes = edge->size_bytes,
                                   .stack = TESSERA_NONE };

      import_need (edge->is_begin
                       ? tessera_made_event (&made, TESSERA_ALLOC, event)
                       : tessera_made_event (&made, TESSERA_FREE_REQUESTED, event) &&
                             tessera_made_event (&made, TESSERA_FREE_COMPLETED, event));
    }
  trace->alignment_bytes = 1;
  trace->starts_empty = true;
  import_must (tessera_trace_set_meta (trace, "format", "CSV planning instance"));
  tessera_note (trace, "empty_blocks", made.n_empty, "blocks of size 0 left out");
}

TesseraStatus
tessera_import_csv (TesseraStream *stream, TesseraError *error, TesseraTrace **out_trace)
{
  g_autoptr (GString) text = g_string_new (NULL);
  TesseraCsv csv = { .stream = stream, .error = error, .text = text };
  TesseraTrace *trace;

  import_must (tessera_trace_new (&trace));
  if (tessera_stream_has (stream, strlen (BYTE_ORDER_MARK)) &&
      memcmp (stream->at, BYTE_ORDER_MARK, strlen (BYTE_ORDER_MARK)) == 0)
    stream->at += strlen (BYTE_ORDER_MARK);
  if (tessera_csv_next (&csv))
    check_header (&csv);
  else
    tessera_csv_refuse (&csv, "the table is empty");
  if (csv.status == TESSERA_OK && tessera_csv_column (&csv, "action") >= 0)
    tessera_csv_read_events (&csv, trace);
  else if (csv.status == TESSERA_OK)
    read_instance (&csv, trace);
  if (csv.status != TESSERA_OK)
    g_clear_pointer (&trace, tessera_trace_free);
  *out_trace = trace;
  return csv.status;
}
