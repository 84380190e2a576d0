/*
 * What the texts of an edit may be, whether they are read or about to be written: what is
 * kept can always be read again.
 *
 * Private to edits/.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <glib.h>

#include "planner/edit.h"

/* Why a text is none of an edit's (one line of at most 1,024 bytes): a phrase, or NULL.
 */
const char *edits_find_fault_of_text (const char *text);

/* Whether all texts but the name, which is a label, can be read again. @where: for the
 * sentence. */
TesseraStatus
edits_check_texts (const TesseraEdit *edit, const char *where, TesseraError *error);

/* @name as a label: cut, and on one line. NULL: an empty one. */
char *edits_dup_label (const char *name);
