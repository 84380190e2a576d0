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
/* Whether all rows are there that are to be seen. */
gboolean tessera_table_is_settled (GtkWidget *table);

/* Which device of the file: a list in the header, named "devices", there only where the
 * file has several. Choosing opens the file again. */
GtkWidget *tessera_devices_new (TesseraDocument *document);

/* Everything about the selected block: exact bytes, both places, what it rests on,
 * its neighbours and its stack. */
GtkWidget *tessera_inspector_new (TesseraDocument *document);

/* The largest blocks alive at the chosen moment: what the memory is made of. */
GtkWidget *tessera_largest_new (TesseraDocument *document);

/* What lies around the selected block: before and after it in time, below and above
 * it in address. Each is a button that selects it. */
GtkWidget *tessera_neighbours_new (TesseraDocument *document);

/* A stack, folded to the program's own lines; a switch shows all of it. */
GtkWidget *tessera_stack_view_new (void);
/* @trace: (nullable) must outlive what is shown. */
void
tessera_stack_view_set_stack (GtkWidget *view, const TesseraTrace *trace, uint32_t stack);

/* Several plans: those that are kept, which of them stands on which side, and how the
 * two that are shown differ. */
GtkWidget *tessera_plans_view_new (TesseraDocument *document);

/* How what stands on the left and on the right differ: heights, hits, what moved. Of
 * two plans these are the numbers of `tessera compare`: both come from
 * tessera_compare_plans(). */
GtkWidget *tessera_compare_view_new (TesseraDocument *document);
