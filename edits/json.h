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

/* @is_row: without what a table has columns for (name, created_s, is_undone). */
JsonNode *edits_json_write (const TesseraEdit *edit, gboolean is_row);
/* One line. */
char *edits_json_write_row (const TesseraEdit *edit);

/* @edit: filled on success, else cleared. @where: for sentences: "file: edit 3". */
TesseraStatus edits_json_read (JsonNode *node,
                               gboolean is_row,
                               const char *where,
                               TesseraEdit *edit,
                               TesseraError *error);
TesseraStatus edits_json_read_row (const char *rule,
                                   const char *where,
                                   TesseraEdit *edit,
                                   TesseraError *error);
/* Texts of numbers beyond what JSON readers of other people take (2^53) are read as they
 * are; nesting beyond what edits need is refused before it costs stack. NULL: failed. */
JsonNode *edits_json_parse (const char *text,
                            gssize length,
                            const char *where,
                            TesseraError *error);
