/* See print.h. SPDX-License-Identifier: Apache-2.0 */
#include "cli/print.h"

#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/process.h"
#include "db/output.h"

JsonBuilder *
cli_json_new (void)
{
  return json_builder_begin_object (json_builder_new ());
}

JsonBuilder *
cli_json_new_array (void)
{
  return json_builder_begin_array (json_builder_new ());
}

static void
print_and_free (JsonBuilder *json)
{
  g_autoptr (JsonGenerator) generator = json_generator_new ();
  g_autoptr (JsonNode) root = json_builder_get_root (json);

  json_generator_set_pretty (generator, TRUE);
  json_generator_set_root (generator, root);
  g_autofree char *text = json_generator_to_data (generator, NULL);
  puts (text);
  g_object_unref (json);
}

void
cli_json_print (JsonBuilder *json)
{
  print_and_free (json_builder_end_object (json));
}

void
cli_json_print_array (JsonBuilder *json)
{
  print_and_free (json_builder_end_array (json));
}

void
cli_json_object (JsonBuilder *json, const char *key)
{
  json_builder_begin_object (json_builder_set_member_name (json, key));
}

void
cli_json_array (JsonBuilder *json, const char *key)
{
  json_builder_begin_array (json_builder_set_member_name (json, key));
}

void
cli_json_null (JsonBuilder *json, const char *key)
{
  json_builder_add_null_value (json_builder_set_member_name (json, key));
}

void
cli_json_integer (JsonBuilder *json, const char *key, guint64 value)
{
  if (value == G_MAXUINT64)
    cli_json_null (json, key);
  else
    json_builder_add_int_value (json_builder_set_member_name (json, key), (gint64) value);
}

void
cli_json_text (JsonBuilder *json, const char *key, const char *text)
{
  g_autofree char *valid = text != NULL ? g_utf8_make_valid (text, -1) : NULL;

  json_builder_set_member_name (json, key);
  if (valid != NULL)
    json_builder_add_string_value (json, valid);
  else
    json_builder_add_null_value (json);
}

void
cli_json_bool (JsonBuilder *json, const char *key, gboolean value)
{
  json_builder_add_boolean_value (json_builder_set_member_name (json, key), value);
}

void
cli_json_number (JsonBuilder *json, const char *key, double value)
{
  json_builder_add_double_value (json_builder_set_member_name (json, key), value);
}

void
cli_json_digest (JsonBuilder *json, const char *key, guint64 value)
{
  g_autofree char *text = g_strdup_printf ("%016" G_GINT64_MODIFIER "x", value);

  cli_json_text (json, key, text);
}

struct CliTable
{
  CliTableFormat format;
  JsonBuilder *json;  /* NULL: no JSON */
  gboolean is_member; /* of an object that is being built; else each row is written */
  const char *const *columns;
  size_t n_columns, column, n_rows;
  GString *written;  /* CSV and JSON */
  GPtrArray *cells;  /* text: of all rows */
  guint64 is_number; /* text: a bit for each column */
};

static gboolean
is_size (const char *column)
{
  return g_str_has_suffix (column, "_bytes") || g_str_equal (column, "bytes");
}

/* "height_bytes" is read as "height". */
static char *
title_of (const char *column)
{
  size_t n = strlen (column) - (g_str_has_suffix (column, "_bytes") ? 6 : 0);
  char *title = g_strndup (column, n);

  return g_strdelimit (title, "_", ' ');
}

CliTable *
cli_table_new (CliTableFormat format, const char *const *columns)
{
  CliTable *table = g_new0 (CliTable, 1);

  table->format = format;
  table->columns = columns;
  table->n_columns = g_strv_length ((char **) columns);
  table->written = g_string_new (NULL);
  table->cells = g_ptr_array_new_with_free_func (g_free);
  if (format == CLI_TABLE_JSON)
    table->json = json_builder_new ();
  if (format == CLI_TABLE_CSV)
    {
      g_autofree char *header = g_strjoinv (",", (char **) columns);
      g_string_append_printf (table->written, "%s\n", header);
    }
  return table;
}

CliTable *
cli_table_new_member (JsonBuilder *json, const char *key, const char *const *columns)
{
  CliTable *table = cli_table_new (CLI_TABLE_TEXT, columns);

  table->is_member = json != NULL;
  if (json != NULL)
    {
      table->format = CLI_TABLE_JSON;
      table->json = g_object_ref (json);
      cli_json_array (json, key);
    }
  return table;
}

/* Returns: the name of the cell's column. */
static const char *
begin_cell (CliTable *table)
{
  const char *name = table->columns[table->column];

  if (table->json != NULL && table->column == 0)
    json_builder_begin_object (table->json);
  else if (table->format == CLI_TABLE_CSV && table->column > 0)
    g_string_append_c (table->written, ',');
  table->column++;
  return name;
}

static void
append_csv_string (GString *text, const char *value)
{
  g_autoptr (GString) quoted = g_string_new (value);

  if (strpbrk (value, ",\"\r\n") == NULL)
    g_string_append (text, value);
  else
    {
      g_string_replace (quoted, "\"", "\"\"", 0);
      g_string_append_printf (text, "\"%s\"", quoted->str);
    }
}

void
cli_table_text (CliTable *table, const char *value)
{
  const char *name = begin_cell (table);

  if (table->json != NULL)
    cli_json_text (table->json, name, value);
  else if (table->format == CLI_TABLE_TEXT)
    g_ptr_array_add (table->cells, g_strdup (value != NULL ? cli_shown (value) : ""));
  else if (value != NULL)
    append_csv_string (table->written, value);
}

void
cli_table_integer (CliTable *table, guint64 value)
{
  const char *name = begin_cell (table);

  if (table->json != NULL)
    cli_json_integer (table->json, name, value);
  else if (table->format == CLI_TABLE_TEXT)
    {
      table->is_number |= (guint64) 1 << (table->column - 1);
      g_ptr_array_add (table->cells, value == G_MAXUINT64 ? g_strdup ("")
                                     : is_size (name)
                                         ? g_strdup (TESSERA_SIZE (value))
                                         : g_strdup_printf ("%" G_GUINT64_FORMAT, value));
    }
  else if (value != G_MAXUINT64)
    g_string_append_printf (table->written, "%" G_GUINT64_FORMAT, value);
}

void
cli_table_integers (CliTable *table, const guint64 *values, size_t n)
{
  for (size_t i = 0; i < n; i++)
    cli_table_integer (table, values[i]);
}

/* The row alone, which is forgotten: a table may have millions. */
static void
write_json_row (CliTable *table)
{
  g_autoptr (JsonGenerator) generator = json_generator_new ();
  g_autoptr (JsonNode) row = json_builder_get_root (table->json);

  json_generator_set_root (generator, row);
  g_string_append (table->written, table->n_rows == 0 ? "[\n  " : ",\n  ");
  json_generator_to_gstring (generator, table->written);
  json_builder_reset (table->json);
}

void
cli_table_end_row (CliTable *table)
{
  if (table->json != NULL)
    json_builder_end_object (table->json);
  if (table->json != NULL && !table->is_member)
    write_json_row (table);
  else if (table->format == CLI_TABLE_CSV)
    g_string_append_c (table->written, '\n');
  table->column = 0;
  table->n_rows++;
}

static void
print_aligned (const CliTable *table)
{
  g_autoptr (GPtrArray) rows = g_ptr_array_new ();
  g_autofree int *widths = g_new0 (int, table->n_columns);
  g_autoptr (GString) line = g_string_new (NULL);
  g_auto (GStrv) titles = g_new0 (char *, table->n_columns + 1);

  for (size_t i = 0; i < table->n_columns; i++)
    g_ptr_array_add (rows, titles[i] = title_of (table->columns[i]));
  g_ptr_array_extend (rows, table->cells, NULL, NULL);
  for (guint i = 0; i < rows->len; i++)
    widths[i % table->n_columns] =
        MAX (widths[i % table->n_columns], (int) g_utf8_strlen (rows->pdata[i], -1));
  for (guint i = 0; i < rows->len; i++)
    {
      size_t column = i % table->n_columns;
      const char *cell = rows->pdata[i];
      int n_blanks = widths[column] - (int) g_utf8_strlen (cell, -1);
      gboolean is_number = (table->is_number >> column & 1) != 0;

      g_string_append_printf (line, "  %*s%s%*s", is_number ? n_blanks : 0, "", cell,
                              is_number ? 0 : n_blanks, "");
      if (column + 1 < table->n_columns)
        continue;
      puts (g_strchomp (line->str));
      g_string_truncate (line, 0);
    }
}

static void
table_free (CliTable *table)
{
  g_clear_object (&table->json);
  g_string_free (table->written, TRUE);
  g_ptr_array_unref (table->cells);
  g_free (table);
}

void
cli_table_print (CliTable *table)
{
  if (table->json != NULL)
    json_builder_end_array (table->json);
  else if (table->format == CLI_TABLE_TEXT && table->n_rows > 0)
    print_aligned (table);
  table_free (table);
}

void
cli_table_write (CliTable *table, const char *path)
{
  GString *text = table->written;

  if (table->format == CLI_TABLE_JSON)
    g_string_append (text, table->n_rows == 0 ? "[\n]\n" : "\n]\n");
  if (path == NULL)
    cli_process_print_data (text->str, text->len);
  else
    cli_must (tessera_write_file (path, text->str, text->len, cli_error ()));
  table_free (table);
}
