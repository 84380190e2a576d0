/*
 * The tables of both files, version by version.
 *
 * db/schema/ holds one .sql file per step. An older file is brought up by those it lacks;
 * a new one is made of all of them at once, with each column that a later step adds in
 * its place (db/schema/embed.py), so both end with the same tables, word by word.
 *
 * Private to db/.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <sqlite3.h>

#include "db/status.h"

typedef struct
{
  uint32_t application_id;
  const char *noun;              /* "trace": for sentences */
  const char *const *migrations; /* [i] leads from version i to version i + 1 */
  unsigned n_migrations;         /* so this is the newest version */
  const char *newest;            /* all of them at once, of nothing */
} TesseraFormat;

extern const TesseraFormat tessera_trace_format;
extern const TesseraFormat tessera_plan_format;

/* Runs the migrations @from_version .. below @to_version and sets user_version.
 * Returns: what SQLite says. The caller holds a transaction, or throws @db away when this
 * fails. */
int tessera_schema_migrate (sqlite3 *db,
                            const TesseraFormat *format,
                            unsigned from_version,
                            unsigned to_version);

/* Are the format's tables in @db word by word what the migrations make? A table that only
 * has the right name could be a view that never ends. Further tables do no harm. */
TESSERA_MUST_USE TesseraStatus tessera_schema_check (sqlite3 *db,
                                                     const TesseraFormat *format,
                                                     const char *path,
                                                     TesseraError *error);
