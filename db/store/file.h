/*
 * A trace or plan file as a whole: looked at, opened, made beside its target and renamed.
 *
 * Private to db/.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <sqlite3.h>

#include "db/output.h"
#include "db/store/schema.h"

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
