/*
 * Several plans side by side: which are kept, which stands where, how two differ.
 *
 * Each plan that was made or read is kept under the name of what it is; a newer one of
 * the same name takes its place, unless it was kept by hand. Any of them can stand on
 * either side; on the right it is the plan that is edited and exported.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "viewer/document/document.h"

/* One that is kept. */
typedef struct
{
  char *name; /* "free", "stalloc, 2 edits", "night.tsp", "kept 1" */
  TesseraFollowed *followed;
  gint64 made_s;    /* since 1970, UTC */
  gboolean by_hand; /* stays whatever is planned */
} TesseraKept;

/* Of all that are kept, oldest first. Borrowed until the next change. */
const TesseraKept *tessera_document_get_kept (TesseraDocument *self, guint index);
guint tessera_document_n_kept (TesseraDocument *self);
/* What a plan is called; NULL: it is not kept. Borrowed. */
const char *tessera_document_plan_name (TesseraDocument *self,
                                        const TesseraFollowed *followed);
/* Keeps the plan on the right under a name of its own. */
void tessera_document_keep_plan (TesseraDocument *self);
/* Shows one on a side, a moment later. */
void tessera_document_show_kept (TesseraDocument *self, TesseraSide side, guint index);
/* One that stands on a side goes on standing there. */
void tessera_document_forget_kept (TesseraDocument *self, guint index);
/* Lights up the blocks that lie elsewhere on the other side, unless several blocks are
 * selected. */
void tessera_document_set_show_difference (TesseraDocument *self, gboolean show);
/* Selects them. */
void tessera_document_select_difference (TesseraDocument *self);

/* For document-*.c. @path: (nullable): of the file it was read from. */
void tessera_document_note_plan (TesseraDocument *self, const char *path);
void tessera_document_refresh_comparison (TesseraDocument *self);
void tessera_kept_free (gpointer kept);
