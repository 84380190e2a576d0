/* See print.h. SPDX-License-Identifier: Apache-2.0 */
#include "cli/print.h"

#include <json-glib/json-glib.h>
#include <math.h>
#include <string.h>

#include "cli/command.h"
#include "cli/process.h"
#include "db/output.h"

static JsonBuilder *answer; /* NULL: nothing was said for programs yet */
/* A 1, then a bit for each object and array that is open, the innermost the lowest. */
static guint64 open_arrays = 1;

static void
forget (void)
{
  g_clear_object (&answer);
  open_arrays = 1;
}

void
cli_answer_end (void)
{
  if (answer == NULL)
    return;
  if (open_arrays != 1)
    cli_close ();
  g_autoptr (JsonGenerator) generator = json_generator_new ();
  g_autoptr (JsonNode) root = json_builder_get_root (answer);
  json_generator_set_pretty (generator, TRUE);
  json_generator_set_root (generator, root);
  g_autofree char *text = json_generator_to_data (generator, NULL);
  cli_process_print (text);
  cli_process_print ("\n");
  forget ();
}

void
cli_say (const char *format, ...)
{
  va_list arguments;

  if (cli_given.json)
    return;
  va_start (arguments, format);
  g_autofree char *text = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  cli_process_print (text);
}

/* Returns: whether its value is wanted */
static gboolean
begin_member (const char *key)
{
  if (!cli_given.json)
    return FALSE;
  if (answer == NULL)
    {
      answer = json_builder_new ();
      if (key != NULL)
        cli_object (NULL);
    }
  if (key != NULL)
    json_builder_set_member_name (answer, key);
  return TRUE;
}

void
cli_object (const char *key)
{
  if (begin_member (key))
    json_builder_begin_object (answer);
  open_arrays <<= 1;
}

gboolean
cli_object_if (const char *key, gboolean is_there)
{
  if (is_there)
    cli_object (key);
  else
    cli_member_null (key);
  return is_there;
}

void
cli_array (const char *key)
{
  if (begin_member (key))
    json_builder_begin_array (answer);
  open_arrays = open_arrays << 1 | 1;
}

void
cli_close (void)
{
  if (cli_given.json && (open_arrays & 1) != 0)
    json_builder_end_array (answer);
  else if (cli_given.json)
    json_builder_end_object (answer);
  open_arrays >>= 1;
}

void
cli_member_null (const char *key)
{
  if (begin_member (key))
    json_builder_add_null_value (answer);
}

void
cli_member_integer (const char *key, guint64 value)
{
  if (value == G_MAXUINT64)
    cli_member_null (key);
  else if (begin_member (key))
    json_builder_add_int_value (answer, (gint64) value);
}

void
cli_member_text (const char *key, const char *value)
{
  g_autofree char *valid = value != NULL ? g_utf8_make_valid (value, -1) : NULL;

  if (valid == NULL)
    cli_member_null (key);
  else if (begin_member (key))
    json_builder_add_string_value (answer, valid);
}

void
cli_member_bool (const char *key, gboolean value)
{
  if (begin_member (key))
    json_builder_add_boolean_value (answer, value);
}

void
cli_member_number (const char *key, double value)
{
  if (isnan (value))
    cli_member_null (key);
  else if (begin_member (key))
    json_builder_add_double_value (answer, value);
}

void
cli_member_digest (const char *key, guint64 value)
{
  g_autofree char *text = g_strdup_printf ("%016" G_GINT64_MODIFIER "x", value);

  cli_member (key, text);
}

typedef enum
{
  AS_TEXT, /* on standard output, columns aligned */
  AS_JSON,
  AS_CSV
} Form;

struct CliTable
{
  Form form;
  const char *const *columns;
  size_t n_columns, column, n_rows;
  GString *written;  /* of a file; NULL: the table is a part of the answer */
  GPtrArray *cells;  /* text: of all rows, NULL where a column is not for people */
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

static CliTable *
table_new (Form form, const char *const *columns)
{
  CliTable *table = g_new0 (CliTable, 1);

  table->form = form;
  table->columns = columns;
  table->n_columns = g_strv_length ((char **) columns);
  table->cells = g_ptr_array_new_with_free_func (g_free);
  return table;
}

CliTable *
cli_table_new (const char *key, const char *const *columns)
{
  cli_array (key);
  return table_new (cli_given.json ? AS_JSON : AS_TEXT, columns);
}

CliTable *
cli_table_new_file (const char *const *columns)
{
  CliTable *table = table_new (cli_given.json ? AS_JSON : AS_CSV, columns);
  g_autofree char *header = g_strjoinv (",", (char **) columns);

  table->written = g_string_new (cli_given.json ? "[" : header);
  g_string_append (table->written, cli_given.json ? "" : "\n");
  return table;
}

/* The row alone, which is forgotten. */
static void
write_json_row (CliTable *table)
{
  g_autoptr (JsonGenerator) generator = json_generator_new ();
  g_autoptr (JsonNode) row = json_builder_get_root (answer);

  json_generator_set_root (generator, row);
  g_string_append (table->written, table->n_rows == 0 ? "\n  " : ",\n  ");
  json_generator_to_gstring (generator, table->written);
  json_builder_reset (answer);
}

/* Of the row that is begun, if one is. */
static void
end_row (CliTable *table)
{
  if (table->column == 0)
    return;
  if (table->form == AS_JSON)
    cli_close ();
  if (table->form == AS_JSON && table->written != NULL)
    write_json_row (table);
  else if (table->form == AS_CSV)
    g_string_append_c (table->written, '\n');
  table->column = 0;
  table->n_rows++;
}

/* Returns: the name of the cell's column; NULL: it is not for whom the table is */
static const char *
begin_cell (CliTable *table)
{
  const gboolean is_text = table->form == AS_TEXT;

  if (table->column == table->n_columns)
    end_row (table);
  if (table->form == AS_JSON && table->column == 0)
    cli_object (NULL);
  if (table->form == AS_CSV && table->column > 0)
    g_string_append_c (table->written, ',');
  const char *name = table->columns[table->column++];
  if (*name != '-' && *name != '+')
    return name;
  if (is_text == (*name == '+'))
    return name + 1;
  if (is_text)
    g_ptr_array_add (table->cells, NULL);
  return NULL;
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

  if (name == NULL)
    return;
  if (table->form == AS_JSON)
    cli_member (name, value);
  else if (table->form == AS_TEXT)
    g_ptr_array_add (table->cells, g_strdup (value != NULL ? cli_shown (value) : ""));
  else if (value != NULL)
    append_csv_string (table->written, value);
}

void
cli_table_integer (CliTable *table, guint64 value)
{
  const char *name = begin_cell (table);

  if (name == NULL)
    return;
  if (table->form == AS_JSON)
    cli_member (name, value);
  else if (table->form == AS_TEXT)
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

static void
print_aligned (const CliTable *table)
{
  const size_t n_columns = table->n_columns;
  g_autoptr (GPtrArray) rows = g_ptr_array_new ();
  g_autofree int *widths = g_new0 (int, n_columns);
  g_autoptr (GString) line = g_string_new (NULL);
  g_auto (GStrv) titles = g_new0 (char *, n_columns + 1);

  for (size_t i = 0; i < n_columns; i++)
    {
      const char *name = table->columns[i];

      titles[i] = title_of (name + (*name == '+'));
      g_ptr_array_add (rows, *name != '-' ? titles[i] : NULL);
    }
  g_ptr_array_extend (rows, table->cells, NULL, NULL);
  for (guint i = 0; i < rows->len; i++)
    if (rows->pdata[i] != NULL)
      widths[i % n_columns] =
          MAX (widths[i % n_columns], (int) g_utf8_strlen (rows->pdata[i], -1));
  for (guint i = 0; i < rows->len; i++)
    {
      const char *cell = rows->pdata[i];
      const size_t column = i % n_columns;
      const gboolean is_number = (table->is_number >> column & 1) != 0;

      if (cell != NULL)
        {
          const int n_blanks = widths[column] - (int) g_utf8_strlen (cell, -1);

          g_string_append_printf (line, "  %*s%s%*s", is_number ? n_blanks : 0, "", cell,
                                  is_number ? 0 : n_blanks, "");
        }
      if (column + 1 < n_columns)
        continue;
      cli_say ("%s\n", g_strchomp (line->str));
      g_string_truncate (line, 0);
    }
}

static void
table_free (CliTable *table)
{
  if (table->written != NULL)
    g_string_free (table->written, TRUE);
  g_ptr_array_unref (table->cells);
  g_free (table);
}

void
cli_table_print (CliTable *table)
{
  end_row (table);
  cli_close ();
  if (table->form == AS_TEXT && table->n_rows > 0)
    print_aligned (table);
  table_free (table);
}

void
cli_table_write (CliTable *table, const char *path)
{
  GString *text = table->written;

  end_row (table);
  if (table->form == AS_JSON)
    g_string_append (text, "\n]\n");
  if (path == NULL)
    cli_process_print_data (text->str, text->len);
  else
    cli_must (tessera_write_file (path, text->str, text->len, cli_error ()));
  forget ();
  table_free (table);
}
