/*
 * The two ways in which subcommands answer: JSON, and tables.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <glib.h>
#include <json-glib/json-glib.h>

/* An answer under way: an object that is open. cli_json_print() closes, prints and frees
 * the answer. */
JsonBuilder *cli_json_new (void);
void cli_json_print (JsonBuilder *json);
/* The same of an array. */
JsonBuilder *cli_json_new_array (void);
void cli_json_print_array (JsonBuilder *json);

/* A member of the object that is open, which json_builder_end_object() and
 * json_builder_end_array() close. */
void cli_json_object (JsonBuilder *json, const char *key);
void cli_json_array (JsonBuilder *json, const char *key);
/* Members. UINT64_MAX and NULL are null. */
void cli_json_integer (JsonBuilder *json, const char *key, guint64 value);
void cli_json_text (JsonBuilder *json, const char *key, const char *text);
void cli_json_bool (JsonBuilder *json, const char *key, gboolean value);
void cli_json_number (JsonBuilder *json, const char *key, double value);
void cli_json_null (JsonBuilder *json, const char *key);
void cli_json_digest (JsonBuilder *json, const char *key, guint64 value);

/*
 * A table of rows, filled cell by cell. Its columns are named once, as members are
 * ("height_bytes"): of what a person reads, the title is "height", and its cells are
 * sizes.
 */
typedef struct CliTable CliTable;

typedef enum
{
  CLI_TABLE_TEXT, /* on standard output, columns aligned */
  CLI_TABLE_CSV,
  CLI_TABLE_JSON
} CliTableFormat;

/* @columns ends with NULL and must outlive the table. */
CliTable *cli_table_new (CliTableFormat format, const char *const *columns);
/* An array of objects that becomes member @key of @json, or text where @json is NULL. */
CliTable *
cli_table_new_member (JsonBuilder *json, const char *key, const char *const *columns);
void cli_table_text (CliTable *table, const char *value); /* NULL: empty */
void cli_table_integer (CliTable *table, guint64 value);  /* UINT64_MAX: empty */
void cli_table_integers (CliTable *table, const guint64 *values, size_t n);
#define CLI_INTEGERS(table, ...)                                                         \
  cli_table_integers (table, (const guint64[]){ __VA_ARGS__ },                           \
                      sizeof (guint64[]){ __VA_ARGS__ } / sizeof (guint64))
void cli_table_end_row (CliTable *table);
/* Prints what is not printed yet, and frees the table. Text without a row is nothing. */
void cli_table_print (CliTable *table);
/* CSV and JSON: into the file at @path, which appears only when whole; NULL: standard
 * output. What fails ends the command. */
void cli_table_write (CliTable *table, const char *path);
