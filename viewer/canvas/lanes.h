/*
 * Steps and phases above a canvas, on its time axis. A click on one shows it whole.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "viewer/canvas/drawing.h"

#define TESSERA_TYPE_LANES (tessera_lanes_get_type ())
G_DECLARE_FINAL_TYPE (TesseraLanes, tessera_lanes, TESSERA, LANES, TesseraDrawing)

GtkWidget *tessera_lanes_new (TesseraDocument *document);
