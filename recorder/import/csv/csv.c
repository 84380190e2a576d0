/*
 * Comma-separated tables: lines, quotes, columns, numbers.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "recorder/import/csv/csv.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <glib.h>

#include "db/array.h"
#include "recorder/import/csv/csv-internal.h"

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
tessera_csv_no_memory (const TesseraCsv *csv)
{
  return tessera_fail (csv->error, TESSERA_NO_MEMORY,
                       "no memory left to read %s, at line %" PRIu64, csv->stream->name,
                       csv->line);
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
      if (!TESSERA_RESERVE (csv->text, csv->cap_text, n + 2))
        {
          *out_status = tessera_csv_no_memory (csv);
          return false;
        }
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

  if (n > 4096)
    n = 4096;
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

TesseraStatus
tessera_import_csv (TesseraStream *stream, TesseraError *error, TesseraTrace **out_trace)
{
  TesseraCsv csv = { .stream = stream, .error = error };
  TesseraTrace *trace;
  TesseraStatus status;

  *out_trace = NULL;
  if (tessera_trace_new (&trace) != TESSERA_OK)
    return tessera_csv_no_memory (&csv);
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
                 : tessera_csv_read_instance (&csv, trace);
  free (csv.text);
  if (status != TESSERA_OK)
    {
      tessera_trace_free (trace);
      return status;
    }
  *out_trace = trace;
  return TESSERA_OK;
}
