/*
 * Blocks on their way over a canvas: from the former plan to this, and where one is being
 * put by hand.
 *
 * For canvas*.c only.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "viewer/canvas/canvas-private.h"

/* Blocks set out from where they were, unless the person wants no motion. */
void tessera_canvas_start_moves (TesseraCanvas *self);
void tessera_canvas_stop_moves (TesseraCanvas *self);
void tessera_canvas_draw_moves (TesseraCanvas *self, GtkSnapshot *snapshot);

/* A press on what is selected takes it in hand. Returns: whether it did. */
gboolean tessera_canvas_begin_pin (TesseraCanvas *self, double x, double y);
void tessera_canvas_update_pin (TesseraCanvas *self, double dy);
/* @is_drop: the hand has moved; else it was a click. */
void tessera_canvas_end_pin (TesseraCanvas *self, gboolean is_drop);
void tessera_canvas_draw_proposal (TesseraCanvas *self, GtkSnapshot *snapshot);
