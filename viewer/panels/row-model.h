/*
 * What a column view shows, row by row: how many rows there are, what their cells say,
 * which are selected, and by which column they are sorted.
 *
 * Nothing is kept of them: a row's item is made when the view wants one, and whoever
 * made the list is asked, row by row, what is selected. GtkMultiSelection would make and
 * keep an object of each row that is selected, which for a million takes longer than many
 * frames.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <gtk/gtk.h>

#include "viewer/model/document.h"

typedef struct
{
  /* A cell's widget. */
  GtkWidget *(*make) (gpointer user, int column);
  /* Writes a row into it. */
  void (*show) (gpointer user, GtkWidget *cell, guint position, int column);
  gboolean (*is_selected) (gpointer user, guint position);
  /* A person did so. */
  void (*choose) (gpointer user, const GtkBitset *rows, TesseraSelectHow how);
  void (*sort) (gpointer user, int column, gboolean down);
} TesseraRowModelKind;

#define TESSERA_TYPE_ROW_MODEL (tessera_row_model_get_type ())
G_DECLARE_FINAL_TYPE (TesseraRowModel, tessera_row_model, TESSERA, ROW_MODEL, GObject)

/* Becomes the model of @view. @user: until it is closed. */
TesseraRowModel *tessera_row_model_new (const TesseraRowModelKind *kind,
                                        gpointer user,
                                        GtkColumnView *view);
/* Another column of the view, called @column from now on, that can be sorted by. (transfer
 * none) */
GtkColumnViewColumn *
tessera_row_model_add_column (TesseraRowModel *self, const char *title, int column);
/* So many rows from now on, and all may say something else than before. */
void tessera_row_model_set_length (TesseraRowModel *self, guint n_rows);
/* What is selected became other, or what the rows say: all that are there are written
 * anew. */
void tessera_row_model_refresh (TesseraRowModel *self);
/* Scrolls there, as soon as the view has its size; GTK_INVALID_LIST_POSITION: stays. */
void tessera_row_model_scroll_to (TesseraRowModel *self, guint position);
/* Whether the view is where it was told to go. */
gboolean tessera_row_model_is_settled (TesseraRowModel *self);
/* Asks nobody any more: whoever made it goes. */
void tessera_row_model_close (TesseraRowModel *self);
