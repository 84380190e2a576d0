/*
 * What the files of edits/ share: the fields of a selector, texts, and one edit as
 * JSON.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/store.h"
#include "edits/edits.h"

typedef enum
{
  EDITS_TEXT,
  EDITS_NUMBER,
  EDITS_NAME, /* a number that is written as its name */
  EDITS_BOOLEAN,
  EDITS_SELECTOR,
  EDITS_BLOCKS, /* the lists of a selector and of a pin */
  EDITS_BLOCK_NAMES,
  EDITS_SHAPE
} EditsFieldType;

/* A field of a selector, which is a condition, or of an edit: a member of its JSON. */
typedef struct
{
  const char *key;       /* in JSON */
  const char *condition; /* in a query; NULL: none, or part of "size" or "life" */
  EditsFieldType type;
  gsize offset, n_bytes; /* in the struct */
  guint64 most;          /* of a number */
  guint64 none;          /* the number that says: there is no such condition */
  EditsNames names;      /* of a name */
  guint kinds;           /* of edits that have the field: 1 << TesseraEditKind */
  gboolean is_needed;    /* to be read */
} EditsField;

#define EDITS_N_FIELDS 16
/* A selector's, in the order in which JSON and queries are written. */
extern const EditsField edits_fields[EDITS_N_FIELDS];

/* @owner: the selector or edit. Pointers are numbers, too. */
guint64 edits_get_number (const EditsField *field, gconstpointer owner);
void edits_set_number (const EditsField *field, gpointer owner, guint64 number);
char **edits_get_text (const EditsField *field, gconstpointer owner);
gboolean edits_is_set (const EditsField *field, gconstpointer owner);

/*
 * What the texts of an edit may be, whether they are read or about to be written: what is
 * kept can always be read again.
 */

/* UTF-8 without control characters: what every list and dialog can show. */
gboolean edits_is_one_line (const char *text);
/* Why a text is none of an edit's (one line of at most 1,024 bytes): a phrase, or NULL. */
const char *edits_find_fault_of_text (const char *text);
/* Whether all texts but the name, which is a label, can be read again. @where: for the
 * sentence. */
TesseraStatus
edits_check_texts (const TesseraEdit *edit, const char *where, TesseraError *error);
/* @name as a label: cut, and on one line. NULL: an empty one. */
char *edits_dup_label (const char *name);

#define EDITS_JSON_MOST_BYTES (256 << 20)

/* Why a text is larger, or nested deeper, than edits are, or no JSON by its letters: a
 * phrase, or NULL. */
const char *edits_json_find_fault (const char *text, gsize n_bytes);
/* An edit without what a table has columns for (name, created_s, is_undone), on one
 * line. */
char *edits_json_write_rule (const TesseraEdit *edit);
/* Reads such a rule behind the edits of @history, as edits_append() does. @where: for
 * sentences: "file: edit 3". */
TesseraStatus edits_json_read_rule (const TesseraStoredEdit *row,
                                    const char *where,
                                    TesseraHistory *history,
                                    TesseraError *error);

/* Takes what is in *@edit over, as it was kept. An edit that stands can't come behind one
 * that is undone. */
TesseraStatus edits_append (TesseraHistory *history,
                            TesseraEdit *edit,
                            const char *where,
                            TesseraError *error);
