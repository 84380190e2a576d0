/*
 * For benchmarks: a window of plain widgets, to compare turns of the main loop with.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <gtk/gtk.h>

/* As large as @like, with a box for each of its widgets that is seen and has others in it,
 * and a label for each that has none: no code of ours is called while it is laid out and
 * drawn. It is presented. */
GtkWindow *test_plain_new (GtkWindow *like, guint *out_n_widgets);
/* Every label says something else, as long as before. */
void test_plain_change (GtkWindow *plain);
/* A list of so many rows of labels in a window of its own. */
GtkWindow *test_plain_list_new (guint n_rows, guint n_columns);
/* The last row goes. */
void test_plain_list_shorten (GtkWindow *plain);
void test_plain_list_scroll (GtkWindow *plain, double share);
