/*
 * C structs as rows of a table: one description serves writing, reading and checking.
 *
 * A TesseraTable names the columns of a table and says for each where in the struct its
 * value lies, how it is stored and which values are in range. Because saving checks the
 * same ranges as loading, no file is written that could not be read again.
 *
 * Private to db/.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <sqlite3.h>

#include "db/trace.h"

typedef enum
{
  TESSERA_COLUMN_U8, /* below the column's limit, as are all plain numbers */
  TESSERA_COLUMN_U16,
  TESSERA_COLUMN_U32,
  TESSERA_COLUMN_U32_OR_NONE,  /* TESSERA_NONE is NULL */
  TESSERA_COLUMN_BOOL,         /* bool */
  TESSERA_COLUMN_FLAG,         /* uint8_t, 0 or 1 */
  TESSERA_COLUMN_BYTES,        /* uint64_t, at most INT64_MAX */
  TESSERA_COLUMN_BYTES_OR_ALL, /* ... and UINT64_MAX is NULL */
  TESSERA_COLUMN_BITS,         /* uint64_t, stored as the int64_t of the same bits */
  TESSERA_COLUMN_NUMBER,       /* int64_t */
  TESSERA_COLUMN_REAL,         /* double, finite */
  TESSERA_COLUMN_TEXT,         /* char *, owned by the item */
  TESSERA_COLUMN_TEXT_OR_NULL,
  TESSERA_COLUMN_COUNT /* size_t; written for people, left alone by reading */
} TesseraColumnKind;

/* What a number must stay below; see TesseraLimits. */
typedef enum
{
  TESSERA_LIMIT_NONE, /* whatever fits the struct */
  TESSERA_LIMIT_ACTIONS,
  TESSERA_LIMIT_STATES,
  TESSERA_LIMIT_RANGE_KINDS,
  TESSERA_LIMIT_CLASSES,
  TESSERA_LIMIT_GROUP_KINDS,
  TESSERA_LIMIT_FOLLOWABLES,
  TESSERA_LIMIT_CUTS,
  TESSERA_LIMIT_STRINGS,
  TESSERA_LIMIT_FRAMES,
  TESSERA_LIMIT_NODES,
  TESSERA_LIMIT_STACKS,
  TESSERA_LIMIT_STREAMS,
  TESSERA_LIMIT_POOLS,
  TESSERA_LIMIT_MOMENTS,   /* events + 1: a range may end after the last */
  TESSERA_LIMIT_POSITIONS, /* of a plan, + 1 */
  TESSERA_LIMIT_SECTIONS,
  TESSERA_LIMIT_SLOTS,
  TESSERA_LIMIT_GROUPS,
  TESSERA_LIMIT_LAWS,
  TESSERA_LIMIT_PLACES,
  TESSERA_N_LIMITS
} TesseraLimit;

typedef struct
{
  uint64_t below[TESSERA_N_LIMITS];
} TesseraLimits;

/* Sets the limits that depend on no file. */
void tessera_limits_init (TesseraLimits *limits);

typedef struct
{
  const char *name;
  uint16_t offset; /* in the item */
  uint8_t kind;    /* TesseraColumnKind */
  uint8_t limit;   /* TesseraLimit */
  uint8_t minimum;
} TesseraColumn;

#define TESSERA_MAX_COLUMNS 28

typedef struct
{
  const char *name;
  const char *key; /* the item's index: 0, 1, 2 ... */
  const TesseraColumn *columns;
  size_t n_columns;
  size_t item_bytes;
  uint8_t n_scopes; /* columns in front that select the rows: 1: device, 2: + at_end */
  bool has_gaps;    /* the key goes up, but other scopes have rows in between */
  /* (nullable): what columns cannot say one by one. Returns: the law it breaks or NULL */
  const char *(*check) (const void *item, uint64_t index, const TesseraLimits *limits);
} TesseraTable;

/* Which rows of a table are meant; fields beyond the table's n_scopes are not looked at.
 */
typedef struct
{
  uint32_t device;
  bool at_end;
} TesseraScope;

/* Rows to be written: items in an array, or handed out one by one by @get. */
typedef struct
{
  const void *items;
  size_t n_items;
  /* (nullable): fills @scratch, which has item_bytes, with item @index */
  void (*get) (const void *items, size_t index, void *scratch);
  uint64_t first_key;   /* of the first item; the others follow without gaps, ... */
  const uint32_t *keys; /* (nullable): ... or the key of each item */
  bool replaces;        /* rows that have the same key give way */
} TesseraRows;

typedef struct TesseraRowWriter TesseraRowWriter;

/* @n_rows: of all tables together, for progress. */
TESSERA_MUST_USE TesseraStatus tessera_row_writer_new (sqlite3 *db,
                                                       const char *path,
                                                       const TesseraLimits *limits,
                                                       uint64_t n_rows,
                                                       const TesseraProgress *progress,
                                                       TesseraError *error,
                                                       TesseraRowWriter **out_writer);
void tessera_row_writer_free (TesseraRowWriter *writer);
TESSERA_MUST_USE TesseraStatus tessera_write_rows (TesseraRowWriter *writer,
                                                   const TesseraTable *table,
                                                   TesseraScope scope,
                                                   TesseraRows rows);

typedef struct
{
  sqlite3 *db;
  const char *path;
  TesseraLimits limits;
  const TesseraProgress *progress;
  uint64_t n_rows; /* expected in all, for progress */
  uint64_t n_read, n_next_report;
  TesseraError *error;
} TesseraRowReader;

/*
 * TesseraTakeRow:
 * @item: a checked item; its texts are owned by whoever takes it, also on failure
 * @index: 0, 1, 2 ... @key: what the file says (another number only where it has gaps)
 *
 * Returns: TESSERA_BAD_INPUT for an item that may not come after those before it; the
 * reader finds the words.
 */
typedef TesseraStatus (*TesseraTakeRow) (void *user,
                                         void *item,
                                         uint64_t index,
                                         uint64_t key);

TESSERA_MUST_USE TesseraStatus tessera_read_rows (TesseraRowReader *reader,
                                                  const TesseraTable *table,
                                                  TesseraScope scope,
                                                  TesseraTakeRow take,
                                                  void *user);

/* Frees the texts of an item and sets them to NULL. */
void tessera_item_clear (const TesseraTable *table, void *item);

/*
 * tessera_item_check:
 * @reason: where the law that it breaks goes, one phrase
 *
 * Returns: whether the item's values are in range.
 */
bool tessera_item_check (const TesseraTable *table,
                         const void *item,
                         uint64_t index,
                         const TesseraLimits *limits,
                         char *reason,
                         size_t reason_bytes);

/* One sentence about what SQLite said, with the status that fits. @verb: "read" ... */
TesseraStatus tessera_fail_sqlite (
    TesseraError *error, sqlite3 *db, int rc, const char *path, const char *verb);
