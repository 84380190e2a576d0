/* See table.h. SPDX-License-Identifier: Apache-2.0 */
#include "cli/table.h"

#include <string.h>

#include "cli/process.h"
#include "db/output.h"

struct CliTable
{
  char *path;
  CliTableFormat format;
  const char *const *columns;
  size_t column;
  size_t n_rows;
  GString *text;
};

CliTable *
cli_table_new (const char *path, CliTableFormat format, const char *const *columns)
{
  CliTable *table = g_new0 (CliTable, 1);
  table->path = g_strdup (path);
  table->format = format;
  table->columns = columns;
  table->text = g_string_new (format == CLI_JSON ? "[" : NULL);
  if (format == CLI_CSV)
    {
      g_autofree char *header = g_strjoinv (",", (char **) columns);
      g_string_append_printf (table->text, "%s\n", header);
    }
  return table;
}

static void
begin_cell (CliTable *table)
{
  if (table->format == CLI_JSON)
    g_string_append_printf (
        table->text, "%s\"%s\": ",
        table->column == 0 ? (table->n_rows == 0 ? "\n  { " : ",\n  { ") : ", ",
        table->columns[table->column]);
  else if (table->column > 0)
    g_string_append_c (table->text, ',');
  table->column++;
}

static void
append_json_string (GString *text, const char *value)
{
  g_autofree char *valid = g_utf8_make_valid (value, -1);
  g_string_append_c (text, '"');
  for (const char *c = valid; *c != '\0'; c++)
    if (*c == '"' || *c == '\\')
      g_string_append_printf (text, "\\%c", *c);
    else if ((unsigned char) *c < 0x20)
      g_string_append_printf (text, "\\u%04x", (unsigned) *c);
    else
      g_string_append_c (text, *c);
  g_string_append_c (text, '"');
}

static void
append_csv_string (GString *text, const char *value)
{
  if (strpbrk (value, ",\"\r\n") == NULL)
    {
      g_string_append (text, value);
      return;
    }
  g_string_append_c (text, '"');
  for (const char *c = value; *c != '\0'; c++)
    {
      if (*c == '"')
        g_string_append_c (text, '"');
      g_string_append_c (text, *c);
    }
  g_string_append_c (text, '"');
}

void
cli_table_text (CliTable *table, const char *value)
{
  begin_cell (table);
  if (table->format == CLI_JSON)
    {
      if (value == NULL)
        g_string_append (table->text, "null");
      else
        append_json_string (table->text, value);
    }
  else if (value != NULL)
    append_csv_string (table->text, value);
}

void
cli_table_integer (CliTable *table, guint64 value)
{
  begin_cell (table);
  if (value != G_MAXUINT64)
    g_string_append_printf (table->text, "%" G_GUINT64_FORMAT, value);
  else if (table->format == CLI_JSON)
    g_string_append (table->text, "null");
}

void
cli_table_end_row (CliTable *table)
{
  g_string_append (table->text, table->format == CLI_JSON ? " }" : "\n");
  table->column = 0;
  table->n_rows++;
}

TesseraStatus
cli_table_close (CliTable *table, TesseraError *error)
{
  TesseraStatus status = TESSERA_OK;

  if (table->format == CLI_JSON)
    g_string_append (table->text, "\n]\n");
  if (table->path == NULL)
    cli_process_print_data (table->text->str, table->text->len);
  else
    status = tessera_write_file (table->path, table->text->str, table->text->len, error);
  g_string_free (table->text, TRUE);
  g_free (table->path);
  g_free (table);
  return status;
}
