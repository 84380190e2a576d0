/*
 * The rows of the table as a selection model that keeps nothing: what is selected is the
 * document's selection, asked block by block for the rows that are seen.
 *
 * GtkMultiSelection makes and keeps an object of every row that is selected, which for a
 * million takes longer than many frames.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "viewer/document/document.h"
#include "viewer/panels/blocklist.h"

#include <gtk/gtk.h>

#define TESSERA_TYPE_BLOCK_ROWS (tessera_block_rows_get_type ())
G_DECLARE_FINAL_TYPE (TesseraBlockRows, tessera_block_rows, TESSERA, BLOCK_ROWS, GObject)

/* @changed: called when a person selected rows, after the document's selection followed.
 */
TesseraBlockRows *tessera_block_rows_new (TesseraDocument *document,
                                          TesseraBlockList *list,
                                          void (*changed) (gpointer user),
                                          gpointer user);
