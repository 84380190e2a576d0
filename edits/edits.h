/*
 * What a person changed about a trace: a history of edits, as text, as JSON, and kept
 * beside the trace.
 *
 * GLib's manners: out of memory ends our own process. What an edit is and does:
 * planner/edit.h. Its form in files: docs/FORMAT.md.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <glib.h>

#include "planner/edit.h"

/*
 * TesseraHistory: a list of edits, and how far it is undone.
 *
 * Undo and redo are without limit. An edit that is added behind undone ones replaces
 * them. The planner is given the edits that stand. Not thread-safe; take a copy for a
 * worker (tessera_history_copy).
 */
typedef struct TesseraHistory TesseraHistory;

TesseraHistory *tessera_history_new (void);
TesseraHistory *tessera_history_copy (const TesseraHistory *history);
void tessera_history_free (TesseraHistory *history); /* NULL is fine */
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TesseraHistory, tessera_history_free)

/* Takes what is in *@edit over and leaves it cleared. Undone edits are dropped. */
void tessera_history_add (TesseraHistory *history, TesseraEdit *edit);
/* Copies of those that stand in @more, from number @first on. */
void tessera_history_add_standing (TesseraHistory *history,
                                   const TesseraHistory *more,
                                   size_t first);
/* FALSE: there was nothing to undo or redo. */
gboolean tessera_history_undo (TesseraHistory *history);
gboolean tessera_history_redo (TesseraHistory *history);
/* Undoes or redoes until @n_standing edits stand: a click into the list. */
void tessera_history_go (TesseraHistory *history, size_t n_standing);
/* Undoes the standing edit at @index alone: those behind it stand on. */
void tessera_history_withdraw (TesseraHistory *history, size_t index);
void tessera_history_rename (TesseraHistory *history, size_t index, const char *name);

/*
 * tessera_history_find_blocks:
 * @name: where the edits come from, for the sentence
 *
 * What edits list by hand becomes the blocks that are called so in this trace
 * (tessera_edits_find_blocks): for each history that was read, before it is used.
 * Returns: TESSERA_OK; TESSERA_NO_MEMORY; TESSERA_REFUSED: some are not there
 */
TesseraStatus tessera_history_find_blocks (TesseraHistory *history,
                                           const char *name,
                                           const TesseraTrace *trace,
                                           const TesseraBlocks *blocks,
                                           const TesseraStructure *structure,
                                           TesseraError *error);
/* All, those that stand first. Borrowed until the next change. */
const TesseraEdit *tessera_history_get (const TesseraHistory *history,
                                        size_t *out_n_edits);
size_t tessera_history_get_n_standing (const TesseraHistory *history);

/*
 * JSON in and out: an array of objects, one an edit. Reading refuses what is not
 * understood in one sentence: unknown kinds and members, and members that come twice, too
 * (a misspelt or repeated rule must not select everything). @name: the file, for
 * sentences.
 */
char *tessera_history_to_json (const TesseraHistory *history);
TesseraHistory *tessera_history_from_json (const char *text,
                                           gssize length,
                                           const char *name,
                                           TesseraError *error);

/* Of a .tsr the table `edit`; of any other file PATH.edits.json beside it, where that is.
 * A trace without edits gives an empty history. NULL: failed. Saving writes the whole
 * file or none; an empty history leaves no PATH.edits.json. */
TesseraHistory *tessera_history_load (const char *trace_path, TesseraError *error);
TesseraStatus tessera_history_save (const TesseraHistory *history,
                                    const char *trace_path,
                                    TesseraError *error);

/*
 * tessera_history_change:
 * @change: alters what it is given; may fail with a sentence
 * @out_history: (nullable): what is kept now
 *
 * Loads, changes and saves under one lock: of any number of programs that change the
 * edits of one trace at once, none loses what another one kept.
 *
 * Returns: TESSERA_OK, or why nothing was changed
 */
typedef TesseraStatus (*TesseraHistoryChange) (TesseraHistory *history,
                                               void *user,
                                               TesseraError *error);
TESSERA_MUST_USE TesseraStatus tessera_history_change (const char *trace_path,
                                                       TesseraHistoryChange change,
                                                       void *user,
                                                       TesseraError *error,
                                                       TesseraHistory **out_history);

/* Edits that somebody has written down: JSON, or those of a plan or of another .tsr.
 * NULL: failed. */
TesseraHistory *tessera_history_read (const char *path, TesseraError *error);

/* The edits that stand, into a plan that was made with them and has none yet: it carries
 * them into its file. */
void tessera_history_into_plan (const TesseraHistory *history, TesseraPlan *plan);
/* The edits that made a plan. @name: its file, for sentences. NULL: failed. */
TesseraHistory *tessera_history_from_plan (const TesseraPlan *plan,
                                           const char *name,
                                           TesseraError *error);

/*
 * Selectors as text: what the search field, the command line and lists of edits show.
 *
 *   size>=1MiB phase=backward died=optimizer module=*mlp* class=transient life<100 step=3
 *   stream=1 ordinal=0 source=train.py:12 group="forward -> backward" alive=12345
 *   blocks=3,7-9
 *
 * Conditions are joined by blanks: all have to hold. size and life take < <= = >= >, the
 * others = only. Sizes are those of db/size-text.h, also with blanks, as in
 * size >= 1.5 GiB; texts with blanks are quoted, and inside quotes a backslash stands
 * before a quote or a backslash.
 */

/* @selector: initialised and filled. FALSE: *out_error is one sentence that names the
 * condition (g_free()). An empty text selects every block. */
gboolean
tessera_query_parse (const char *text, TesseraSelector *selector, char **out_error);
/* The text of @selector, which reads back as the same; but blocks by hand are told as "12
 * blocks", since there may be thousands. */
char *tessera_query_format (const TesseraSelector *selector);
/* One sentence for a list: "Pin size>=1MiB phase=backward at 3.25 GiB". */
char *tessera_edit_describe (const TesseraEdit *edit);
/* The rule that selects exactly the chosen (by module, phase, size, ordinal ...), so that
 * it holds for tomorrow's trace, without conditions that are not needed for that; FALSE:
 * there is none, and @selector lists the blocks. */
gboolean tessera_query_rule_for (const TesseraTrace *trace,
                                 const TesseraBlocks *blocks,
                                 const TesseraStructure *structure,
                                 const TesseraGroup *groups,
                                 size_t n_groups,
                                 const uint32_t *chosen,
                                 size_t n_chosen,
                                 TesseraSelector *selector);
/* "Similar to this": same size, phases of birth and death, module, stream; any step. */
void tessera_query_similar (const TesseraTrace *trace,
                            const TesseraBlocks *blocks,
                            const TesseraStructure *structure,
                            uint32_t block,
                            TesseraSelector *selector);

/* What kinds, ways to split and lifetime classes are called in JSON and in queries. */
typedef enum
{
  EDITS_KINDS,
  EDITS_SPLITS,
  EDITS_CLASSES
} EditsNames;

/* NULL: @number is none of them. */
const char *edits_get_name (EditsNames names, guint number);
/* 0: there is none of that name. */
guint edits_find_number (EditsNames names, const char *name);
