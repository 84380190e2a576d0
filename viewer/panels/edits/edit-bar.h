/*
 * Asks for the value of an edit, above the canvases, where the plan stays in sight: what
 * the edit is about, as a rule where there is one, and a name, a size, an offset ...
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "viewer/model/document.h"

#include <gtk/gtk.h>

#define TESSERA_TYPE_EDIT_BAR (tessera_edit_bar_get_type ())
G_DECLARE_FINAL_TYPE (TesseraEditBar, tessera_edit_bar, TESSERA, EDIT_BAR, GtkBox)

GtkWidget *tessera_edit_bar_new (TesseraDocument *document);
/* Shows itself and takes the focus. */
void tessera_edit_bar_ask (TesseraEditBar *self, const TesseraEditCommand *command);
