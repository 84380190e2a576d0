/*
 * Sorting by a click on a column's head, for lists that sort themselves.
 *
 * GTK's own sorting would make an object of every item. So each column has a sorter that
 * only tells which column it is; asking the view's sorter to compare two objects reveals
 * the column and the direction that the person chose.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <gtk/gtk.h>

typedef void (*TesseraSortFunc) (gpointer user, int column, gboolean down);

/* @column can be sorted by, and is called @index. */
void tessera_sorting_add (GtkColumnViewColumn *column, int index);
/* @sort hears of every choice, while the view lives. */
void tessera_sorting_watch (GtkColumnView *view, TesseraSortFunc sort, gpointer user);
