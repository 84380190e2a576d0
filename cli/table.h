/*
 * Rows written as CSV or JSON, one at a time, to a file that appears only when whole.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <glib.h>

#include "db/status.h"

typedef struct CliTable CliTable;

typedef enum
{
  CLI_CSV,
  CLI_JSON
} CliTableFormat;

/* @path NULL: stdout. @columns ends with NULL and must outlive the table. */
CliTable *
cli_table_new (const char *path, CliTableFormat format, const char *const *columns);
void cli_table_text (CliTable *table, const char *value); /* NULL: empty */
void cli_table_integer (CliTable *table, guint64 value);  /* UINT64_MAX: empty */
void cli_table_end_row (CliTable *table);
/* Writes everything out and frees the table. */
TESSERA_MUST_USE TesseraStatus cli_table_close (CliTable *table, TesseraError *error);
