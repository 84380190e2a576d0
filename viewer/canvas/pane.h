/*
 * One side of the picture: title, lanes, canvas; or what is to be done until there is
 * something to show.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "viewer/canvas/canvas.h"

#define TESSERA_TYPE_PANE (tessera_pane_get_type ())
G_DECLARE_FINAL_TYPE (TesseraPane, tessera_pane, TESSERA, PANE, GtkBox)

GtkWidget *tessera_pane_new (TesseraDocument *document, TesseraSide side);
TesseraCanvas *tessera_pane_get_canvas (TesseraPane *self); /* borrowed */
