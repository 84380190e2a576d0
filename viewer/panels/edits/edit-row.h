/*
 * An edit in the list of edits: its number, its name, which can be changed in place.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "viewer/model/document.h"

#include <gtk/gtk.h>

/* Of what wraps: else the panel would be as wide as its longest line. */
#define TESSERA_EDITS_WIDTH_CHARS 24

#define TESSERA_TYPE_EDIT_ROW (tessera_edit_row_get_type ())
G_DECLARE_FINAL_TYPE (TesseraEditRow, tessera_edit_row, TESSERA, EDIT_ROW, GtkListBoxRow)

GtkWidget *tessera_edit_row_new (TesseraDocument *document);
/* From now on it is the row of the edit @index, which the document has. */
void tessera_edit_row_show (TesseraEditRow *self, size_t index);
