/*
 * What the files of the canvas share.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "viewer/canvas/canvas.h"
#include "viewer/canvas/tiles.h"

struct _TesseraCanvas
{
  GtkWidget parent_instance;

  TesseraDocument *document; /* owned */
  gulong changed_handler;
  TesseraSide side;
  TesseraTiles *tiles;

  double pointer_x, pointer_y; /* last seen; < 0: not here */
  gboolean banding;            /* a rubber band is being drawn */
  double band_x, band_y;       /* where it began */
  double band_end_x, band_end_y;
  TesseraView drag_view; /* the view when a drag began */
  double pinch;          /* scale of the pinch so far */
};

/* Between logical pixels and the world. */
double tessera_canvas_x_of (const TesseraCanvas *self, double t);
double tessera_canvas_y_of (const TesseraCanvas *self, double bytes);
double tessera_canvas_t_at (const TesseraCanvas *self, double x);
double tessera_canvas_bytes_at (const TesseraCanvas *self, double y);
const TesseraSheet *tessera_canvas_sheet (const TesseraCanvas *self); /* or NULL */

/* canvas-draw.c: what lies on top of the tiles. */
void tessera_canvas_draw_marks (TesseraCanvas *self, GtkSnapshot *snapshot);
/* canvas-card.c: what the pointer is on. */
void tessera_canvas_draw_card (TesseraCanvas *self, GtkSnapshot *snapshot);
/* canvas-input.c */
void tessera_canvas_add_controllers (TesseraCanvas *self);
