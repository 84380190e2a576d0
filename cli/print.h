/*
 * The answer of a subcommand, written once: text for a person, with --json one JSON value.
 *
 * What is said is text alone, members are JSON alone, a table is either: each call does
 * nothing where the other is wanted. The first member makes the value: an object, or what
 * has no key. It is printed once the command is done.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <glib.h>

/* Prints the JSON now: what follows may end the command. */
void cli_answer_end (void);

void cli_say (const char *format, ...) G_GNUC_PRINTF (1, 2);

/* A member of the object that is open; @key NULL: an item of the array that is. UINT64_MAX,
 * NAN and NULL are null. cli_close() ends what cli_object() or cli_array() began. */
#define cli_member(key, value)                                                           \
  _Generic ((value), char *: cli_member_text, const char *: cli_member_text,             \
            double: cli_member_number, default: cli_member_integer) (key, value)
void cli_member_integer (const char *key, guint64 value);
void cli_member_text (const char *key, const char *value);
void cli_member_number (const char *key, double value);
void cli_member_bool (const char *key, gboolean value);
void cli_member_null (const char *key);
void cli_member_digest (const char *key, guint64 value);
void cli_object (const char *key);
/* Where it is not there, null. Returns: @is_there */
gboolean cli_object_if (const char *key, gboolean is_there);
void cli_array (const char *key);
void cli_close (void);

/*
 * A table of rows, filled cell by cell. Its columns are named once, as members are
 * ("height_bytes"): of what a person reads, the title is "height", and its cells are
 * sizes. A column "-depth" is for programs alone, "+ranks" for people alone: what goes
 * into it is told to these.
 */
typedef struct CliTable CliTable;

/* A member of the answer, an array of objects (@key NULL: the answer itself), or text. A row
 * ends with its last column: members until the next one are the row's as well. @columns ends
 * with NULL and must outlive the table. */
CliTable *cli_table_new (const char *key, const char *const *columns);
/* For a file, whose rows may be millions. */
CliTable *cli_table_new_file (const char *const *columns);
void cli_table_text (CliTable *table, const char *value); /* NULL: empty */
void cli_table_integer (CliTable *table, guint64 value);  /* UINT64_MAX: empty */
void cli_table_integers (CliTable *table, const guint64 *values, size_t n);
#define CLI_INTEGERS(table, ...)                                                         \
  cli_table_integers (table, (const guint64[]){ __VA_ARGS__ },                           \
                      sizeof (guint64[]){ __VA_ARGS__ } / sizeof (guint64))
/* Prints what is not printed yet, and frees the table. Text without a row is nothing. */
void cli_table_print (CliTable *table);
/* Of a file: into that at @path, which appears only when whole; NULL: standard output.
 * What fails ends the command. */
void cli_table_write (CliTable *table, const char *path);
