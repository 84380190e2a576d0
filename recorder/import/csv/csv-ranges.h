/*
 * Ranges of a table of events: rows of the same iteration, phase or module one after the
 * other. A range ends where an enclosing one does.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "recorder/import/csv/csv-internal.h"

enum
{
  TESSERA_CSV_LEVELS = 3 /* steps, phases, modules: outer before inner */
};

typedef struct
{
  TesseraCsv *csv;
  TesseraTrace *trace;
  int columns[TESSERA_CSV_LEVELS]; /* or -1: the table has none */
  TesseraRange open[TESSERA_CSV_LEVELS];
  bool is_open[TESSERA_CSV_LEVELS];
} TesseraCsvRanges;

/* The header is the row at hand; both are borrowed. */
void
tessera_csv_ranges_init (TesseraCsvRanges *ranges, TesseraCsv *csv, TesseraTrace *trace);

/* Ends and begins ranges as the row at hand says, at the trace's next event. Refuses
 * what tessera_csv_hold() does. */
TESSERA_MUST_USE TesseraStatus tessera_csv_ranges_follow (TesseraCsvRanges *ranges,
                                                          int64_t at_ns);
/* Behind the last row: ends all that are open. */
TESSERA_MUST_USE TesseraStatus tessera_csv_ranges_end (TesseraCsvRanges *ranges,
                                                       int64_t at_ns);
