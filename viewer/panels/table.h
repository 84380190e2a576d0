/*
 * All blocks in a table: sort by any column, filter by text and size, select both ways.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "viewer/document/document.h"

#include <gtk/gtk.h>

#define TESSERA_TYPE_TABLE (tessera_table_get_type ())
G_DECLARE_FINAL_TYPE (TesseraTable, tessera_table, TESSERA, TABLE, GtkBox)

GtkWidget *tessera_table_new (TesseraDocument *document);
/* Whether all rows are there that are to be seen. */
gboolean tessera_table_is_settled (TesseraTable *self);
