/*
 * The panels of the window, each of them a widget that follows its document.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "viewer/model/document.h"

#include <gtk/gtk.h>

/* The verdict on top of the window: one sentence, four numbers. Its words are those
 * of `tessera info`: both come from tessera_verdict(). */
GtkWidget *tessera_headline_new (TesseraDocument *document);

/* What the colours mean, and a filter: a click on an entry shows it alone, a click
 * with Control takes it out or in. */
GtkWidget *tessera_legend_new (TesseraDocument *document);

/* What reserved memory is made of at the chosen moment, to the byte. */
GtkWidget *tessera_parts_view_new (TesseraDocument *document);

/* The line at the bottom: the chosen moment in words, and what is being worked on. */
GtkWidget *tessera_status_bar_new (TesseraDocument *document);

/* All blocks in a table: sort by any column, filter by text and size, select both
 * ways. */
GtkWidget *tessera_table_new (TesseraDocument *document);

/* Everything about the selected blocks: of several what they have in common, of the one
 * that leads its exact bytes, both places, its stack and what lies around it. Below, the
 * largest blocks alive at the chosen moment. */
GtkWidget *tessera_inspector_new (TesseraDocument *document);

/* What to do, each with what it wins and a button that copies the text to type: rows of
 * tessera_suggest(). Not seen where nothing is to be won. */
GtkWidget *tessera_answers_view_new (TesseraDocument *document);

/* Several plans: those that are kept, which of them stands on which side, and how the
 * two that are shown differ, in the numbers of `tessera compare`: both come from
 * tessera_compare_plans(). */
GtkWidget *tessera_plans_view_new (TesseraDocument *document);

/* Lifetime classes, the groups that the planner keeps together, and their blocks, as a
 * tree: sort by any column, filter by a query, select both ways. */
GtkWidget *tessera_groups_view_new (TesseraDocument *document);
/* Of the groups, of the table: whether the rows that are to be seen are. */
gboolean tessera_list_is_settled (GtkWidget *list);

/* The history: what was edited, in words; how far it is undone. */
GtkWidget *tessera_edits_view_new (TesseraDocument *document);
/* Takes the focus to an edit. */
void tessera_edits_view_show (GtkWidget *view, size_t index);
/* "Peak 2.30 GiB → 2.31 GiB, 10.00 MiB more by the last change; bound 2.29 GiB":
 * (transfer full); NULL: nothing is known. */
char *tessera_describe_change (TesseraDocument *document);

/* Asks for the value of an edit, above the canvases, where the plan stays in sight: what
 * the edit is about, as a rule where there is one, and a name, a size, an offset ... */
GtkWidget *tessera_edit_bar_new (TesseraDocument *document);
/* Shows itself and takes the focus. */
void tessera_edit_bar_ask (GtkWidget *bar, const TesseraEditCommand *command);
