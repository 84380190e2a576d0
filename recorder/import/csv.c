/*
 * Comma-separated tables: lines, quotes, columns, numbers; and planning instances.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/import/private.h"

#define BYTE_ORDER_MARK "\xef\xbb\xbf"
#define MOST_OF_PLAIN_BYTES 12
#define FREE_HELD_BYTES ((uint64_t) 224 << 20) /* the program itself takes 16 to 32 MiB */

TesseraStatus
tessera_csv_refuse (const TesseraCsv *csv, const char *format, ...)
{
  char what[400];
  va_list arguments;

  va_start (arguments, format);
  vsnprintf (what, sizeof what, format, arguments);
  va_end (arguments);
  return tessera_fail (csv->error, TESSERA_BAD_INPUT, "%s line %" PRIu64 ": %s",
                       csv->stream->name, csv->line, what);
}

TesseraStatus
tessera_csv_hold (TesseraCsv *csv, uint64_t n_bytes)
{
  uint64_t n_read = tessera_stream_position (csv->stream);

  csv->held_bytes += n_bytes;
  if (csv->held_bytes <= FREE_HELD_BYTES + MOST_OF_PLAIN_BYTES * n_read)
    return TESSERA_OK;
  return tessera_csv_refuse (csv, "rows as short as these take more memory than 256 MiB "
                                  "and twelve times their bytes: import a part of the "
                                  "table");
}

/* One logical line into csv->text, without its end; a quoted field may hold line ends. */
static bool
read_line (TesseraCsv *csv, size_t *out_n_bytes, TesseraStatus *out_status)
{
  TesseraStream *stream = csv->stream;
  size_t n = 0;
  uint64_t n_lines = 1;
  bool is_quoted = false;

  while (tessera_stream_has (stream, 1))
    {
      char byte = (char) *stream->at++;

      is_quoted ^= byte == '"';
      if (byte == '\n' && !is_quoted)
        {
          csv->line += n_lines;
          *out_n_bytes = n;
          return true;
        }
      n_lines += byte == '\n';
      if (n >= TESSERA_CSV_MAX_LINE_BYTES)
        {
          csv->line++;
          *out_status = tessera_csv_refuse (
              csv, is_quoted ? "a quote does not end" : "the line is longer than 1 MiB");
          return false;
        }
      IMPORT_RESERVE (csv->text, csv->cap_text, n + 2);
      csv->text[n++] = byte;
    }
  if (stream->status != TESSERA_OK)
    {
      *out_status = tessera_stream_cut (stream, csv->error);
      return false;
    }
  csv->line += n > 0;
  if (is_quoted)
    *out_status = tessera_csv_refuse (csv, "a quote does not end");
  *out_n_bytes = n;
  return n > 0 && !is_quoted;
}

/* Cuts the line into fields in place: "" inside quotes is one quote. */
static TesseraStatus
split (TesseraCsv *csv, size_t n_bytes)
{
  char *from = csv->text, *end = csv->text + n_bytes, *to = csv->text;
  bool is_quoted = false;

  csv->n_fields = 0;
  csv->fields[csv->n_fields++] = to;
  for (; from < end; from++)
    {
      if (*from == '"' && is_quoted && from + 1 < end && from[1] == '"')
        *to++ = *from++;
      else if (*from == '"')
        is_quoted = !is_quoted;
      else if (*from == ',' && !is_quoted)
        {
          if (csv->n_fields == TESSERA_CSV_MAX_COLUMNS)
            return tessera_csv_refuse (csv, "more than %d columns",
                                       TESSERA_CSV_MAX_COLUMNS);
          *to++ = '\0';
          csv->fields[csv->n_fields++] = to;
        }
      else
        *to++ = *from != '\0' ? *from : '?';
    }
  *to = '\0';
  for (size_t i = 0; i < csv->n_fields; i++)
    g_strstrip (csv->fields[i]);
  return TESSERA_OK;
}

bool
tessera_csv_next (TesseraCsv *csv, TesseraStatus *out_status)
{
  size_t n_bytes;

  *out_status = TESSERA_OK;
  while (read_line (csv, &n_bytes, out_status))
    {
      if (n_bytes == 0)
        continue;
      *out_status = split (csv, n_bytes);
      if (*out_status != TESSERA_OK)
        return false;
      if (csv->n_fields > 1 || csv->fields[0][0] != '\0')
        return true;
    }
  return false;
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

TesseraStatus
tessera_csv_u64 (const TesseraCsv *csv,
                 int column,
                 const char *name,
                 const uint64_t *otherwise,
                 uint64_t *out_number)
{
  const char *text = tessera_csv_text (csv, column);
  guint64 number;

  *out_number = 0;
  if (*text == '\0' && otherwise != NULL)
    {
      *out_number = *otherwise;
      return TESSERA_OK;
    }
  if (!g_ascii_string_to_unsigned (text, 10, 0, G_MAXUINT64, &number, NULL))
    return tessera_csv_refuse (csv, "%s is \"%.80s\": expected a whole number%s", name,
                               text, strstr (name, "size") != NULL ? " of bytes" : "");
  *out_number = number;
  return TESSERA_OK;
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
static char *
dup_header (const TesseraStream *stream)
{
  const char *at = (const char *) stream->at;
  size_t n = (size_t) (stream->end - stream->at);
  const char *end;

  end = n > 0 ? memchr (at, '\n', n) : NULL;
  if (end != NULL)
    n = (size_t) (end - at);
  if (n >= strlen (BYTE_ORDER_MARK) &&
      memcmp (at, BYTE_ORDER_MARK, strlen (BYTE_ORDER_MARK)) == 0)
    {
      at += strlen (BYTE_ORDER_MARK);
      n -= strlen (BYTE_ORDER_MARK);
    }
  return g_strndup (at, n);
}

static const char *const event_columns[] = { "action", "id", "size_bytes", NULL };
static const char *const instance_columns[] = { "id", "lower", "upper", "size", NULL };

bool
tessera_csv_knows (const TesseraStream *stream)
{
  g_autofree char *header = dup_header (stream);

  return line_names (header, event_columns) || line_names (header, instance_columns);
}

/* Whether the header names a column that is read twice: which one is meant? */
static TesseraStatus
check_header (const TesseraCsv *csv)
{
  static const char *const read[] = { "seq",        "time_us", "action",    "id",
                                      "size_bytes", "stream",  "iteration", "phase",
                                      "module",     "lower",   "upper",     "size" };

  for (size_t i = 0; i < G_N_ELEMENTS (read); i++)
    for (int k = tessera_csv_column (csv, read[i]) + 1;
         k > 0 && (size_t) k < csv->n_fields; k++)
      if (g_ascii_strcasecmp (csv->fields[k], read[i]) == 0)
        return tessera_csv_refuse (csv, "the column %s is there twice: leave one out",
                                   read[i]);
  return TESSERA_OK;
}

/* A planning instance: id,lower,upper,size, each row a block alive over [lower, upper).
 *
 * Times become events in order; where one block ends at the time another begins, it ends
 * first. Sizes count in the file's own unit, so nothing is aligned. */

#define FIRST_ADDR ((uint64_t) 1 << 32)
#define MAX_SIZE_BYTES ((uint64_t) 1 << 60)

typedef struct
{
  uint64_t addr;
  uint64_t size_bytes;
} InstanceBlock;

/* A block begins or ends. */
typedef struct
{
  uint64_t at;
  uint32_t block;
  bool is_begin;
} Edge;

typedef struct
{
  TesseraCsv *csv;
  InstanceBlock *blocks;
  size_t n_blocks, cap_blocks;
  Edge *edges;
  size_t n_edges, cap_edges;
  uint64_t next_addr;
  uint64_t n_empty;
} Instance;

static TesseraStatus
add_block (Instance *reader, uint64_t lower, uint64_t upper, uint64_t size_bytes)
{
  if (lower >= upper)
    return tessera_csv_refuse (reader->csv,
                               "upper is %" PRIu64 " and lower %" PRIu64
                               ": a block has to live for a while",
                               upper, lower);
  if (size_bytes > MAX_SIZE_BYTES || reader->next_addr > UINT64_MAX - 2 * MAX_SIZE_BYTES)
    return tessera_csv_refuse (reader->csv, "sizes of more than 2^60 bytes");
  if (size_bytes == 0)
    {
      reader->n_empty++;
      return TESSERA_OK;
    }
  if (reader->n_blocks >= UINT32_MAX / 4)
    return tessera_csv_refuse (reader->csv, "more than a thousand million blocks");
  IMPORT_RESERVE (reader->blocks, reader->cap_blocks, reader->n_blocks + 1);
  IMPORT_RESERVE (reader->edges, reader->cap_edges, reader->n_edges + 2);
  for (int i = 0; i < 2; i++)
    reader->edges[reader->n_edges++] = (Edge){ .at = i == 0 ? lower : upper,
                                               .block = (uint32_t) reader->n_blocks,
                                               .is_begin = i == 0 };
  reader->blocks[reader->n_blocks++] =
      (InstanceBlock){ .addr = reader->next_addr, .size_bytes = size_bytes };
  reader->next_addr += size_bytes;
  return tessera_csv_hold (reader->csv,
                           TESSERA_CSV_BLOCK_BYTES + 3 * TESSERA_CSV_EVENT_BYTES);
}

static TesseraStatus
read_blocks (Instance *reader)
{
  static const char *const names[] = { "lower", "upper", "size" };
  TesseraCsv *csv = reader->csv;
  int columns[3];
  TesseraStatus status;

  for (int i = 0; i < 3; i++)
    columns[i] = tessera_csv_column (csv, names[i]);
  while (tessera_csv_next (csv, &status))
    {
      uint64_t numbers[3];

      for (int i = 0; i < 3 && status == TESSERA_OK; i++)
        status = tessera_csv_u64 (csv, columns[i], names[i], NULL, &numbers[i]);
      if (status == TESSERA_OK)
        status = add_block (reader, numbers[0], numbers[1], numbers[2]);
      if (status != TESSERA_OK)
        return status;
    }
  return status;
}

static int
compare_edges (const void *left, const void *right)
{
  const Edge *a = left, *b = right;

  if (a->at != b->at)
    return a->at < b->at ? -1 : 1;
  if (a->is_begin != b->is_begin)
    return a->is_begin ? 1 : -1;
  return a->block < b->block ? -1 : a->block > b->block;
}

static void
add_events (const Instance *reader, TesseraTrace *trace)
{
  static const TesseraAction of_begin[] = { TESSERA_ALLOC };
  static const TesseraAction of_end[] = { TESSERA_FREE_REQUESTED,
                                          TESSERA_FREE_COMPLETED };

  for (size_t i = 0; i < reader->n_edges; i++)
    {
      const Edge *edge = &reader->edges[i];
      const InstanceBlock *block = &reader->blocks[edge->block];
      const TesseraAction *actions = edge->is_begin ? of_begin : of_end;
      size_t n_actions = edge->is_begin ? 1 : 2;

      for (size_t k = 0; k < n_actions; k++)
        {
          TesseraEvent event = { .addr = block->addr,
                                 .size_bytes = block->size_bytes,
                                 .stack = TESSERA_NONE,
                                 .action = (uint8_t) actions[k] };

          import_must (tessera_trace_add_event (trace, &event));
        }
    }
}

static TesseraStatus
read_instance (TesseraCsv *csv, TesseraTrace *trace)
{
  Instance reader = { .csv = csv, .next_addr = FIRST_ADDR };
  TesseraStatus status = read_blocks (&reader);

  if (status == TESSERA_OK && reader.n_edges > 0)
    qsort (reader.edges, reader.n_edges, sizeof *reader.edges, compare_edges);
  if (status == TESSERA_OK)
    add_events (&reader, trace);
  free (reader.blocks);
  free (reader.edges);
  if (status != TESSERA_OK)
    return status;
  trace->alignment_bytes = 1;
  trace->starts_empty = true;
  import_must (tessera_trace_set_meta (trace, "format", "CSV planning instance"));
  tessera_note (trace, "empty_blocks", reader.n_empty, "blocks of size 0 left out");
  return TESSERA_OK;
}

TesseraStatus
tessera_import_csv (TesseraStream *stream, TesseraError *error, TesseraTrace **out_trace)
{
  TesseraCsv csv = { .stream = stream, .error = error };
  TesseraTrace *trace;
  TesseraStatus status;

  import_must (tessera_trace_new (&trace));
  if (tessera_stream_has (stream, strlen (BYTE_ORDER_MARK)) &&
      memcmp (stream->at, BYTE_ORDER_MARK, strlen (BYTE_ORDER_MARK)) == 0)
    stream->at += strlen (BYTE_ORDER_MARK);
  if (!tessera_csv_next (&csv, &status))
    {
      if (status == TESSERA_OK)
        status = tessera_csv_refuse (&csv, "the table is empty");
    }
  else
    status = check_header (&csv);
  if (status == TESSERA_OK)
    status = tessera_csv_column (&csv, "action") >= 0
                 ? tessera_csv_read_events (&csv, trace)
                 : read_instance (&csv, trace);
  free (csv.text);
  if (status != TESSERA_OK)
    g_clear_pointer (&trace, tessera_trace_free);
  *out_trace = trace;
  return status;
}
