/*
 * The trace (.tsr) and plan (.tsp) files: SQLite databases that anyone can query.
 * docs/FORMAT.md describes the tables; db/schema/ holds them.
 *
 * Saving writes a temporary file beside the target and renames it, so that a failure, a
 * full disk or a cancel leaves neither half a file nor a damaged older one. It checks
 * what loading checks (indexes exist, sizes are below 2^63) and refuses with
 * TESSERA_INVALID. Loading refuses files of other programs and of other versions in one
 * sentence and believes nothing unchecked: what it returns is sound, whoever made the
 * file. Calls for different files may run in parallel.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/plan.h"
#include "db/trace.h"

#define TESSERA_TRACE_APPLICATION_ID 0x54535254 /* "TSRT" */
#define TESSERA_PLAN_APPLICATION_ID 0x54535250  /* "TSRP" */

TESSERA_MUST_USE TesseraStatus tessera_trace_save (const TesseraTrace *trace,
                                                   const char *path,
                                                   const TesseraProgress *progress,
                                                   TesseraError *error);
/* @device: which device's events (files of several), or TESSERA_NONE: the one with most.
 */
TESSERA_MUST_USE TesseraStatus tessera_trace_load (const char *path,
                                                   uint32_t device,
                                                   const TesseraProgress *progress,
                                                   TesseraError *error,
                                                   TesseraTrace **out_trace);
TESSERA_MUST_USE TesseraStatus tessera_plan_save (const TesseraPlan *plan,
                                                  const char *path,
                                                  TesseraError *error);
TESSERA_MUST_USE TesseraStatus tessera_plan_load (const char *path,
                                                  TesseraError *error,
                                                  TesseraPlan **out_plan);

/* Who reads a file in order to write it anew holds its lock from before the reading until
 * after the writing: others that do so wait. Nothing lies beside the file for it, and who
 * only reads need not wait. Where the file system knows no locks there is none. */
TESSERA_MUST_USE TesseraStatus tessera_file_lock (const char *path,
                                                  TesseraError *error,
                                                  int *out_lock);
void tessera_file_unlock (int lock);

/* A row of a trace's table `edit`. What the rule says is edits/edits.h's business. */
typedef struct
{
  char *name;
  char *rule; /* one JSON object */
  int64_t created_s;
  uint8_t is_undone;
} TesseraStoredEdit;

/* All edits of the file, in their order. Ownership passes to the caller. */
TESSERA_MUST_USE TesseraStatus tessera_trace_load_edits (const char *trace_path,
                                                         TesseraError *error,
                                                         TesseraStoredEdit **out_edits,
                                                         size_t *out_n_edits);
/* Replaces them; the rest of the file stays as it is. The caller holds the lock. */
TESSERA_MUST_USE TesseraStatus tessera_trace_save_edits (const char *trace_path,
                                                         const TesseraStoredEdit *edits,
                                                         size_t n_edits,
                                                         TesseraError *error);
/* Replaces what the file's table `meta` says by what @trace does; the rest of the file stays as
 * it is. The caller holds the lock. */
TESSERA_MUST_USE TesseraStatus tessera_trace_save_meta (const TesseraTrace *trace,
                                                        const char *trace_path,
                                                        TesseraError *error);
void tessera_stored_edits_free (TesseraStoredEdit *edits, size_t n_edits);

typedef enum
{
  TESSERA_FILE_OTHER,
  TESSERA_FILE_TRACE,
  TESSERA_FILE_PLAN
} TesseraFileKind;

/* Looks at the first 100 bytes only. Unreadable files are TESSERA_FILE_OTHER. */
TesseraFileKind tessera_file_kind (const char *path);
