/*
 * The rows of a column view, which stay while what they show changes.
 *
 * GTK keeps 200 rows of a list, however few are seen, and where a model says that items
 * went and others came it destroys and makes all their widgets: 50 to 70 ms. Here a row
 * is a place: where what the list shows becomes other, the widgets of the rows that are
 * there are written anew, which takes a tenth of that: those in sight at once, the others
 * some in each frame, or all before somebody scrolls to them. Only where there are more
 * or fewer rows than before are some made or destroyed, a few in each frame; a row that
 * is on its way out is blank.
 *
 * Nothing is kept of what is selected: whoever made the list is asked, row by row.
 * GtkMultiSelection makes and keeps an object of every row that is selected, which for a
 * million takes longer than many frames.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <gtk/gtk.h>

#include "viewer/document/select/document-select.h"

typedef struct
{
  /* A cell's widget. */
  GtkWidget *(*make) (gpointer user, int column);
  /* Writes a row into it; GTK_INVALID_LIST_POSITION: nothing. */
  void (*show) (gpointer user, GtkWidget *cell, guint position, int column);
  gboolean (*is_selected) (gpointer user, guint position);
  /* A person did so. @n is 0 where nothing is to be selected. */
  void (*choose) (gpointer user, guint position, guint n, TesseraSelectHow how);
} TesseraRowListKind;

#define TESSERA_TYPE_ROW_LIST (tessera_row_list_get_type ())
G_DECLARE_FINAL_TYPE (TesseraRowList, tessera_row_list, TESSERA, ROW_LIST, GObject)

/* Becomes the model of @view. @user: until it is closed. */
TesseraRowList *
tessera_row_list_new (const TesseraRowListKind *kind, gpointer user, GtkColumnView *view);
/* Another column of the view, called @column from now on. (transfer none) */
GtkColumnViewColumn *
tessera_row_list_add_column (TesseraRowList *self, const char *title, int column);
/* So many rows from now on; all of them are shown anew from row @from. */
void tessera_row_list_set_rows (TesseraRowList *self, guint n_rows, guint from);
/* What a column shows became other: -1: all. */
void tessera_row_list_show (TesseraRowList *self, int column);
/* What is selected became other. */
void tessera_row_list_reselect (TesseraRowList *self);
/* Scrolls there. Only works once the view has its size, and is a frame's work. FALSE: it
 * is another list's turn, ask again in the next frame. */
gboolean tessera_row_list_scroll_to (TesseraRowList *self, guint position);
/* Asks nobody any more: whoever made it goes. */
void tessera_row_list_close (TesseraRowList *self);
guint tessera_row_list_get_n_rows (TesseraRowList *self);
/* Whether the view has as many rows as there are, each as it should be. */
gboolean tessera_row_list_is_settled (TesseraRowList *self);
