/*
 * Edits: what the person changed about the plan, and the planning that follows.
 *
 * Every change is kept in the background, in the trace or beside it, and planned again: a
 * preview at once, the full plan after it. The plan that was stays until the next is
 * there; where edits conflict it stays altogether. Main thread only.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <sys/stat.h>

#include "viewer/document/document.h"

/* What the selected blocks are, as a rule where one can be said. */
typedef struct TesseraRule
{
  TesseraSelector selector;
  gboolean is_rule; /* else it lists the blocks */
  char *text;       /* of the selector; never NULL */
} TesseraRule;

/* An edit that is about nothing yet. */
TesseraEdit tessera_edit_of (TesseraEditKind kind);
/* Takes what is in *@edit over and leaves it cleared. Without a name it gets the one that
 * describes it. */
void tessera_document_add_edit (TesseraDocument *self, TesseraEdit *edit);
void tessera_document_undo (TesseraDocument *self);
void tessera_document_redo (TesseraDocument *self);
/* Undoes or redoes until @n_standing edits stand. */
void tessera_document_go_to_edits (TesseraDocument *self, size_t n_standing);
void tessera_document_rename_edit (TesseraDocument *self, size_t index, const char *name);
/* Edits that stand, and all there are: 0 where nothing is open. */
size_t tessera_document_n_standing (TesseraDocument *self);
size_t tessera_document_n_edits (TesseraDocument *self);
/* The plan that is shown is the full one, of all edits that stand. */
gboolean tessera_document_is_plan_current (TesseraDocument *self);
/* Why the plan cannot be exported now: one sentence, static; NULL: it can. */
const char *tessera_document_why_no_export (TesseraDocument *self);

/* Edits as JSON. Those read are added behind the ones that stand, once a worker has found
 * the blocks that they list. */
void tessera_document_save_edits (TesseraDocument *self, const char *path);
void tessera_document_load_edits (TesseraDocument *self, const char *path);

/*
 * tessera_document_edit_selection:
 * @edit: what is to be done; @what is not filled in yet
 * @by_rule: whatever else the rule of the selected blocks selects, too; else just them
 *
 * Makes *@edit about what is selected, which a worker finds out, and adds it then.
 * Takes what is in *@edit over and leaves it cleared.
 */
void tessera_document_edit_selection (TesseraDocument *self,
                                      TesseraEdit *edit,
                                      gboolean by_rule);
/* Adds *@edit, which lists the blocks it is about, once a worker has named them
 * (tessera_edits_name_blocks). Takes what is in it over and leaves it cleared. */
void tessera_document_add_listed (TesseraDocument *self, TesseraEdit *edit);
/* Why this cannot be done to what is selected: one sentence, static; NULL: it can. */
const char *tessera_document_why_no_edit (TesseraDocument *self,
                                          TesseraEditKind kind,
                                          TesseraSplitBy by);
/* Looks for the rule of what is selected; document->rule says it a little later. */
void tessera_document_seek_rule (TesseraDocument *self);

/* For document-*.c. What the next plan is compared with. */
void tessera_document_remember_height (TesseraDocument *self);
/* Takes @history over. */
void tessera_document_take_history (TesseraDocument *self, TesseraHistory *history);
/* What follows any change of the edits: kept, shown, planned again. */
void tessera_document_edits_changed (TesseraDocument *self);
/* Writes the edits where they are kept. What others have kept there meanwhile stays, and
 * is taken over. */
void tessera_document_keep_edits (TesseraDocument *self);
/* What is known of the file that the edits of what is open are kept in, which is watched
 * from now on: edits that others keep there are taken over, and where something else is
 * written there a sentence says so. @json: the edits, as they were read. @seen: the file,
 * before it was read. */
typedef struct TesseraEditsFile TesseraEditsFile;
TesseraEditsFile *
tessera_edits_file_new (TesseraDocument *self, const char *json, const struct stat *seen);
void tessera_edits_file_unref (TesseraEditsFile *file);
void tessera_rule_free (TesseraRule *rule); /* NULL is fine */
