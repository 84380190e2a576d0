/*
 * A trace or plan file as a whole: its tables, and how it is looked at, opened, made
 * beside its target and renamed.
 *
 * db/schema/ holds the SQL that makes the tables. Until a release there is one version of
 * each format: a file of another version is refused, none is brought up.
 *
 * Private to db/.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <sqlite3.h>

#include "db/output.h"
#include "db/status.h"

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

/* Makes the tables in an empty file. Returns: what SQLite says. The caller holds a
 * transaction, or throws @db away when this fails. */
int tessera_schema_create (sqlite3 *db, const TesseraFormat *format);

/* Are the format's tables in @db word by word what its SQL makes? A table that only
 * has the right name could be a view that never ends. Further tables do no harm. */
TESSERA_MUST_USE TesseraStatus tessera_schema_check (sqlite3 *db,
                                                     const TesseraFormat *format,
                                                     const char *path,
                                                     TesseraError *error);

/* Opens @path for reading, refusing in one sentence what is not a whole file of @format.
 */
TESSERA_MUST_USE TesseraStatus tessera_file_open (const char *path,
                                                  const TesseraFormat *format,
                                                  TesseraError *error,
                                                  sqlite3 **out_db);

/* TESSERA_IO if another process records into @path right now, as far as locks tell. */
TESSERA_MUST_USE TesseraStatus tessera_file_check_idle (const char *path,
                                                        TesseraError *error);

/* Makes that true for other processes until the descriptor that is returned is closed, or
 * any other one of the file in this process. -1: there is no file, or no lock. */
int tessera_file_claim (const char *path);

/* Nobody is changing the file, and nothing beside it belongs to it: it can be opened any
 * number of times and reads the same. */
bool tessera_file_is_at_rest (const char *path);

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
/* Puts it on disk and in the target's place, where journals of an older file must not be
 * taken for its own: they go first. Discards it when that fails. */
TESSERA_MUST_USE TesseraStatus tessera_new_file_commit (TesseraNewFile *file);
/* Leaves nothing behind. */
void tessera_new_file_discard (TesseraNewFile *file);
