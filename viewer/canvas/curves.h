/*
 * Memory over time: reserved, allocated and live of the left layout, the bound, and the
 * window on them that the canvases show.
 *
 * Always the whole trace, so it is the map as well: drag the window, click to move it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "viewer/canvas/drawing.h"

#define TESSERA_TYPE_CURVES (tessera_curves_view_get_type ())
G_DECLARE_FINAL_TYPE (
    TesseraCurvesView, tessera_curves_view, TESSERA, CURVES_VIEW, TesseraDrawing)

GtkWidget *tessera_curves_view_new (TesseraDocument *document);
