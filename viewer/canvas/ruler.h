/*
 * The time axis below a canvas: event numbers where they fall, or clock time.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "viewer/canvas/drawing.h"

#define TESSERA_TYPE_RULER (tessera_ruler_get_type ())
G_DECLARE_FINAL_TYPE (TesseraRuler, tessera_ruler, TESSERA, RULER, TesseraDrawing)

GtkWidget *tessera_ruler_new (TesseraDocument *document);
