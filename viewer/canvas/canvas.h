/*
 * Time x address: one layout, drawn, under the hand.
 *
 * Shows one side of a document. Everything that can be done here can be done with the
 * keyboard as well, through the window's actions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "viewer/model/document.h"

#include <gtk/gtk.h>

#define TESSERA_TYPE_CANVAS (tessera_canvas_get_type ())
G_DECLARE_FINAL_TYPE (TesseraCanvas, tessera_canvas, TESSERA, CANVAS, GtkWidget)

GtkWidget *tessera_canvas_new (TesseraDocument *document, TesseraSide side);
/* What can be done with the selection, at the block that leads it: for the keyboard. */
void tessera_canvas_ask (TesseraCanvas *self);
/* All that is in sight has been drawn exactly. */
gboolean tessera_canvas_is_complete (TesseraCanvas *self);
