/*
 * The tables of both files: db/schema/ holds the SQL that makes them.
 *
 * Until a release there is one version of each. A file of another version is refused; none
 * is brought up.
 *
 * Private to db/.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <sqlite3.h>

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
