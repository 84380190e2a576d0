/*
 * One edit as a JSON object: docs/FORMAT.md.
 *
 * Private to edits/.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <json-glib/json-glib.h>

#include "edits/history.h"

#define EDITS_JSON_MOST_BYTES (256 << 20)

/* Why a text is larger, or nested deeper, than edits are, or no JSON by its letters: a
 * phrase, or NULL. */
const char *edits_json_find_fault (const char *text, gsize n_bytes);

/* One line. */
char *edits_json_write_row (const TesseraEdit *edit);

/* @is_row: without what a table has columns for (name, created_s, is_undone). @edit:
 * filled on success, else cleared. @where: for sentences: "file: edit 3". */
TesseraStatus edits_json_read (JsonNode *node,
                               gboolean is_row,
                               const char *where,
                               TesseraEdit *edit,
                               TesseraError *error);
/* A row of a table: @name as in JSON. */
TesseraStatus edits_json_read_row (const char *name,
                                   const char *rule,
                                   const char *where,
                                   TesseraEdit *edit,
                                   TesseraError *error);
