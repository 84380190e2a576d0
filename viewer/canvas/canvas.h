/*
 * One layout drawn, time x address, under the hand; and what is drawn beside it.
 *
 * Everything that can be done here can be done with the keyboard as well, through the
 * window's actions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "viewer/kit/kit.h"

/* One side of a document, drawn. */
GtkWidget *tessera_canvas_new (TesseraDocument *document, TesseraSide side);
/* What can be done with the selection, at the block that leads it: for the keyboard. */
void tessera_canvas_ask (GtkWidget *canvas);
/* All that is in sight has been drawn exactly. */
gboolean tessera_canvas_is_complete (GtkWidget *canvas);

/* A canvas with its title, lanes and ruler; or what is to be done until there is
 * something to show. */
GtkWidget *tessera_pane_new (TesseraDocument *document, TesseraSide side);
GtkWidget *tessera_pane_get_canvas (GtkWidget *pane); /* (transfer none) */

/* Memory over time: reserved, allocated and live of the left layout, the bound, and the
 * window on them that the canvases show. Always the whole trace, so it is the map as
 * well: drag the window, click to move it. */
GtkWidget *tessera_curves_view_new (TesseraDocument *document);
