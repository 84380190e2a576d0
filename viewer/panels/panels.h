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

/* Everything about the selected blocks: of several what they have in common, of the one
 * that leads its exact bytes, both places, its stack and what lies around it. Below, the
 * largest blocks alive at the chosen moment. */
GtkWidget *tessera_inspector_new (TesseraDocument *document);

/* Several plans: those that are kept, which of them stands on which side, and how the
 * two that are shown differ, in the numbers of `tessera compare`: both come from
 * tessera_compare_plans(). */
GtkWidget *tessera_plans_view_new (TesseraDocument *document);
