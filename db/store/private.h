/*
 * Private to db/: a file as a whole, structs as rows of a table, which struct goes where.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <sqlite3.h>

#include "db/lengths.h"
#include "db/output.h"
#include "db/plan.h"
#include "db/store.h"

#define LENGTH(array) (sizeof (array) / sizeof *(array))

/*
 * A trace or plan file as a whole: its tables, and how it is looked at, opened, made
 * beside its target and renamed.
 *
 * db/schema/ holds the SQL that makes the tables. Until a release there is one version of
 * each format: a file of another version is refused, none is brought up.
 */

#define TESSERA_FORMAT_VERSION 1

typedef struct
{
  uint32_t application_id;
  const char *noun;   /* "trace": for sentences */
  const char *remedy; /* the end of a sentence: which command makes such a file again */
  const char *sql;    /* makes the tables and views */
} TesseraFormat;

extern const TesseraFormat tessera_trace_format;
extern const TesseraFormat tessera_plan_format;

/* Opens @path for reading, refusing in one sentence what is not a whole file of @format.
 */
TESSERA_MUST_USE TesseraStatus tessera_file_open (const char *path,
                                                  const TesseraFormat *format,
                                                  TesseraError *error,
                                                  sqlite3 **out_db);

/* What a file that is being recorded is like. Where it is another one after reading than it
 * was before, what was read may be of two states, and so be wrong or refused. */
typedef struct
{
  uint64_t inode, size_bytes;
  int64_t changed_s, changed_ns;
  unsigned char wal_header[32];
} TesseraFileState;

/* All 0 of what is not there. */
TesseraFileState tessera_file_state (const char *path);

/* TESSERA_IO if another process records into @path right now, as far as locks tell. */
TESSERA_MUST_USE TesseraStatus tessera_file_check_idle (const char *path,
                                                        TesseraError *error);

/* Makes that true for other processes until the descriptor that is returned is closed, or
 * any other one of the file in this process. -1: there is no file, or no lock. */
int tessera_file_claim (const char *path);

typedef struct
{
  sqlite3 *db; /* in a transaction */
  TesseraOutput output;
  const char *path; /* as the caller named it; borrowed */
  TesseraError *error;
} TesseraNewFile;

/* Starts an empty file. @page_bytes: of SQLite. */
TESSERA_MUST_USE TesseraStatus tessera_new_file_create (TesseraNewFile *file,
                                                        const char *path,
                                                        const TesseraFormat *format,
                                                        unsigned page_bytes,
                                                        TesseraError *error);
/* Starts from a copy of @path. */
TESSERA_MUST_USE TesseraStatus tessera_new_file_copy (TesseraNewFile *file,
                                                      const char *path,
                                                      const TesseraFormat *format,
                                                      TesseraError *error);
/* Where @status, of what was written into it, is TESSERA_OK: puts it on disk and in the
 * target's place, where journals of an older file must not be taken for its own: they go
 * first. Else, and where that fails, nothing is left behind. Returns: the first failure.
 */
TESSERA_MUST_USE TesseraStatus tessera_new_file_finish (TesseraNewFile *file,
                                                        TesseraStatus status);

/*
 * C structs as rows of a table: one description serves writing, reading and checking.
 *
 * A TesseraTable names the columns of a table and says for each where in the struct its
 * value lies, how it is stored and which values are in range. Because saving checks the
 * same ranges as loading, no file is written that could not be read again.
 */

typedef enum
{
  TESSERA_COLUMN_U8, /* below the column's limit, as are all plain numbers */
  TESSERA_COLUMN_U16,
  TESSERA_COLUMN_U32,
  TESSERA_COLUMN_U32_OR_NONE,  /* TESSERA_NONE is NULL */
  TESSERA_COLUMN_FLAG,         /* bool or uint8_t, 0 or 1 */
  TESSERA_COLUMN_BYTES,        /* uint64_t, at most INT64_MAX */
  TESSERA_COLUMN_BYTES_OR_ALL, /* ... and UINT64_MAX is NULL */
  TESSERA_COLUMN_BITS,         /* any 64 bits, stored as the int64_t of them */
  TESSERA_COLUMN_REAL,         /* double, finite */
  TESSERA_COLUMN_TEXT,         /* char *, owned by the item */
  TESSERA_COLUMN_TEXT_OR_NULL,
  TESSERA_COLUMN_COUNT /* size_t; written for people, left alone by reading */
} TesseraColumnKind;

/* How many there are of what a number names, which it must stay below. */
typedef enum
{
  TESSERA_LIMIT_NONE, /* what the column itself says */
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
  TESSERA_N_LIMITS
} TesseraLimit;

typedef struct
{
  uint64_t below[TESSERA_N_LIMITS];
} TesseraLimits;

typedef struct
{
  const char *name;
  uint16_t offset; /* in the item */
  uint8_t kind;    /* TesseraColumnKind */
  uint8_t limit;   /* TesseraLimit */
  uint8_t minimum;
  uint8_t below; /* 0: whatever fits the struct */
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

/* Rows of one table to be written: items in an array. */
typedef struct
{
  const TesseraTable *table;
  const void *items;
  size_t n_items;
  uint64_t first_key;   /* of the first item; the others follow without gaps, ... */
  const uint32_t *keys; /* (nullable): ... or the key of each item */
  bool replaces;        /* rows that have the same key give way */
  bool at_end;          /* of tables with two scopes */
} TesseraRows;

typedef struct
{
  sqlite3 *db;
  const char *path;
  const TesseraLimits *limits;
  const TesseraProgress *progress;
  TesseraError *error;
  uint64_t n_rows; /* of all tables together, for progress */
  uint64_t n_written, n_next_report;
} TesseraRowWriter;

/* @parts: in this order, of one device; items out of range are TESSERA_INVALID. */
TESSERA_MUST_USE TesseraStatus tessera_write_rows (TesseraRowWriter *writer,
                                                   uint32_t device,
                                                   const TesseraRows *parts,
                                                   size_t n_parts);

/* An array of a trace, a plan ... whose items are the rows of a table: where it lies in the
 * struct that has it, and where its count does. */
typedef struct
{
  const TesseraTable *table;
  uint16_t array_at, count_at;
  uint8_t count_bytes; /* of a uint32_t or a size_t */
  bool at_end;
} TesseraPart;

#define TESSERA_PART(Owner, name, array, count, ...)                                     \
  {                                                                                      \
    .table = &tessera_##name##_table, .array_at = offsetof (Owner, array),               \
    .count_at = offsetof (Owner, count), .count_bytes = sizeof ((Owner *) NULL)->count,  \
    __VA_ARGS__                                                                          \
  }

/* As tessera_write_rows(): all parts of @owner. */
TESSERA_MUST_USE TesseraStatus tessera_write_parts (TesseraRowWriter *writer,
                                                    uint32_t device,
                                                    const void *owner,
                                                    const TesseraPart *parts,
                                                    size_t n_parts);

typedef struct
{
  sqlite3 *db;
  const char *path;
  TesseraLimits limits;
  const TesseraProgress *progress;
  uint32_t device;
  bool allows_gaps; /* in tables that may have them */
  uint64_t n_rows;  /* expected in all, for progress */
  uint64_t n_read, n_next_report;
  TesseraError *error;
} TesseraRowReader;

/* Rows in an array that grows as they come. */
typedef struct
{
  void *items;
  uint32_t *keys; /* of each row, where the reader allows gaps */
  size_t n, cap, cap_keys;
  size_t most;    /* rows beyond are refused */
  bool is_filled; /* @items has what no column says: it stays */
} TesseraItems;

/* @items: zeroed but for @most, or room for @most rows that somebody has; what was read is
 * the caller's, also after a failure. */
TESSERA_MUST_USE TesseraStatus tessera_read_items (TesseraRowReader *reader,
                                                   const TesseraTable *table,
                                                   bool at_end,
                                                   TesseraItems *items);

/* Reads an array of @owner, which has none yet. Arrays have no room to spare afterwards. */
TESSERA_MUST_USE TesseraStatus tessera_read_part (TesseraRowReader *reader,
                                                  const TesseraPart *part,
                                                  size_t most,
                                                  void *owner);

/* The one row of a table into @item, whose texts are NULL; none is TESSERA_OK as well. */
TESSERA_MUST_USE TesseraStatus tessera_read_row (TesseraRowReader *reader,
                                                 const TesseraTable *table,
                                                 void *item,
                                                 bool *out_is_there);

/* "FILE is damaged: in table NAME, row @index, @reason; make it again" */
TesseraStatus tessera_fail_row (TesseraRowReader *reader,
                                const TesseraTable *table,
                                uint64_t index,
                                const char *reason);
#define TESSERA_REPEATS "it repeats an earlier row, comes before it or is one too many"

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

/* Which struct goes into which table. */

typedef struct
{
  char *text;
} TesseraTextItem;

/* Places counted over all orders. */
typedef struct
{
  uint32_t above, below;
} TesseraOrderEdge;

/* of a trace file */
extern const TesseraTable tessera_recording_table;  /* TesseraTrace */
extern const TesseraTable tessera_rounding_table;   /* uint32_t */
extern const TesseraTable tessera_meta_table;       /* TesseraMeta */
extern const TesseraTable tessera_string_table;     /* TesseraTextItem */
extern const TesseraTable tessera_frame_table;      /* TesseraFrame */
extern const TesseraTable tessera_stack_node_table; /* TesseraStackNode */
extern const TesseraTable tessera_stack_table;      /* uint32_t: node */
extern const TesseraTable tessera_device_table;     /* TesseraDeviceInfo */
extern const TesseraTable tessera_stream_table;     /* uint64_t */
extern const TesseraTable tessera_pool_table;       /* TesseraPoolId */
extern const TesseraTable tessera_event_table;      /* TesseraEvent */
extern const TesseraTable tessera_segment_table;    /* TesseraSegment */
extern const TesseraTable tessera_held_block_table; /* TesseraHeldBlock */
extern const TesseraTable tessera_range_table;      /* TesseraRange */
extern const TesseraTable tessera_tensor_table;     /* TesseraTensor */

extern const TesseraTable tessera_edit_table; /* TesseraStoredEdit */

/* of both files */
extern const TesseraTable tessera_plan_table;              /* TesseraPlan */
extern const TesseraTable tessera_phase_name_table;        /* TesseraTextItem */
extern const TesseraTable tessera_section_table;           /* TesseraSection */
extern const TesseraTable tessera_group_table;             /* TesseraGroup */
extern const TesseraTable tessera_slot_table;              /* TesseraSlot */
extern const TesseraTable tessera_crossing_table;          /* TesseraCrossing */
extern const TesseraTable tessera_room_table;              /* TesseraRoom */
extern const TesseraTable tessera_region_table;            /* TesseraRegion */
extern const TesseraTable tessera_unplanned_table;         /* TesseraUnplanned */
extern const TesseraTable tessera_plan_edit_table;         /* TesseraPlanEdit */
extern const TesseraTable tessera_length_plan_table;       /* TesseraLengths */
extern const TesseraTable tessera_length_step_table;       /* TesseraParameters */
extern const TesseraTable tessera_length_phase_table;      /* TesseraTextItem */
extern const TesseraTable tessera_length_law_table;        /* TesseraSizeLaw */
extern const TesseraTable tessera_length_slot_table;       /* TesseraLengthsSlot */
extern const TesseraTable tessera_start_slot_table;        /* TesseraStartSlot */
extern const TesseraTable tessera_length_order_table;      /* TesseraOrder */
extern const TesseraTable tessera_length_order_slot_table; /* uint32_t */
extern const TesseraTable tessera_length_order_edge_table; /* TesseraOrderEdge */
