/*
 * What kinds, classes and ways to split are called in JSON and in queries.
 *
 * Private to edits/.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <glib.h>

#include "planner/edit.h"

/* NULL for what is none. */
const char *edits_kind_name (TesseraEditKind kind);
const char *edits_split_name (TesseraSplitBy by);
const char *edits_class_name (guint lifetime_class);
/* 0: there is none of that name. */
TesseraEditKind edits_kind_of (const char *name);
TesseraSplitBy edits_split_of (const char *name);
guint8 edits_class_of (const char *name);
/* UTF-8 without control characters: what every list and dialog can show. */
gboolean edits_is_one_line (const char *text);
