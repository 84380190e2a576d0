/*
 * A table read line by line: what csv.c gives to the two kinds of tables.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "recorder/import/csv/csv.h"

#define TESSERA_CSV_MAX_COLUMNS 64
#define TESSERA_CSV_MAX_LINE_BYTES ((size_t) 1 << 20)

typedef struct
{
  TesseraStream *stream;
  TesseraError *error;
  uint64_t line; /* of the row at hand, from 1 */
  char *text;    /* its fields, unquoted, each NUL-terminated */
  size_t cap_text;
  char *fields[TESSERA_CSV_MAX_COLUMNS];
  size_t n_fields;
  uint64_t held_bytes; /* what the rows so far take in memory, see tessera_csv_hold() */
} TesseraCsv;

/* False at the end of the table and on failure; then @out_status parts the two. Empty
 * lines are passed over. */
bool tessera_csv_next (TesseraCsv *csv, TesseraStatus *out_status);

/* The column of that name in the header row at hand, or -1. */
int tessera_csv_column (const TesseraCsv *csv, const char *name);

/* The text in @column, "" when the table has no such column (-1) or the row ends before.
 */
const char *tessera_csv_text (const TesseraCsv *csv, int column);

/* A whole number; an empty field gives @otherwise, without one it is an error, like any
 * other text. @name is the column's, for the sentence. */
TESSERA_MUST_USE TesseraStatus tessera_csv_u64 (const TesseraCsv *csv,
                                                int column,
                                                const char *name,
                                                const uint64_t *otherwise,
                                                uint64_t *out_number);

/* Bytes of memory that an import takes at most for each event, block and range: measured
 * by tests/bombs.py, where the arrays and hash tables have just grown. */
#define TESSERA_CSV_EVENT_BYTES 48
#define TESSERA_CSV_BLOCK_BYTES 220
#define TESSERA_CSV_OLDER_BYTES 340 /* a block that is there before the first row */
#define TESSERA_CSV_RANGE_BYTES 100

/* Counts @n_bytes as held, and refuses rows too short for what they hold: an import takes
 * at most 256 MiB and twelve times the plain bytes. */
TESSERA_MUST_USE TesseraStatus tessera_csv_hold (TesseraCsv *csv, uint64_t n_bytes);

/* "x.csv line 7: ..." */
TesseraStatus tessera_csv_refuse (const TesseraCsv *csv, const char *format, ...)
    TESSERA_PRINTF (2, 3);
TesseraStatus tessera_csv_no_memory (const TesseraCsv *csv);

/* The header is the row at hand. */
TESSERA_MUST_USE TesseraStatus tessera_csv_read_events (TesseraCsv *csv,
                                                        TesseraTrace *trace);
TESSERA_MUST_USE TesseraStatus tessera_csv_read_instance (TesseraCsv *csv,
                                                          TesseraTrace *trace);
