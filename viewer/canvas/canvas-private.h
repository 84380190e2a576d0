/*
 * What the files of the canvas share.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "viewer/canvas/canvas.h"
#include "viewer/canvas/tiles.h"

/* What a rubber band that is being drawn is for. */
typedef enum
{
  TESSERA_BAND_NONE,
  TESSERA_BAND_ZOOM,
  TESSERA_BAND_SELECT,
  TESSERA_BAND_SELECT_MORE
} TesseraBand;

struct _TesseraCanvas
{
  GtkWidget parent_instance;

  TesseraDocument *document; /* owned */
  gulong changed_handler;
  TesseraSide side;
  TesseraTiles *tiles;

  double pointer_x, pointer_y; /* last seen; < 0: not here */
  TesseraBand band;
  double band_x, band_y; /* where it began */
  double band_end_x, band_end_y;
  TesseraView drag_view; /* the view when a drag began */
  double pinch;          /* scale of the pinch so far */
  GtkWidget *menu;       /* of a block; NULL: was never asked for */

  gboolean pinning;    /* what is selected is in the hand */
  double pin_dy;       /* pixels it was moved by */
  TesseraMoves *moves; /* on their way; or NULL */
  guint moves_tick;
  int64_t moves_begin_us, moves_now_us;
};

/* Between logical pixels and the world. */
double tessera_canvas_x_of (const TesseraCanvas *self, double t);
double tessera_canvas_y_of (const TesseraCanvas *self, double bytes);
double tessera_canvas_t_at (const TesseraCanvas *self, double x);
double tessera_canvas_bytes_at (const TesseraCanvas *self, double y);
/* What the band covers. */
TesseraView tessera_canvas_band_view (const TesseraCanvas *self);
const TesseraSheet *tessera_canvas_sheet (const TesseraCanvas *self); /* or NULL */

/* canvas-draw.c: what lies on top of the tiles. */
void tessera_canvas_draw_marks (TesseraCanvas *self, GtkSnapshot *snapshot);
/* Places cut to what can be seen: a box of a million pixels is slow, and one of a billion
 * more than the renderer can count. */
double tessera_canvas_visible_x (const TesseraCanvas *self, double t);
double tessera_canvas_visible_y (const TesseraCanvas *self, double bytes);
double tessera_canvas_grid_step_bytes (const TesseraCanvas *self);
/* Of the largest hole of the chosen moment. Returns: whether it can be seen. */
gboolean tessera_canvas_hole_box (TesseraCanvas *self, graphene_rect_t *out_box);
/* Of the pool of the plan that the recorded run followed, for as long as it did. Returns:
 * whether there is one, and it has a place. */
gboolean tessera_canvas_pool_box (TesseraCanvas *self, graphene_rect_t *out_box);
/* canvas-words.c: what the lines and marks are, where there is room to say it. */
void tessera_canvas_draw_words (TesseraCanvas *self, GtkSnapshot *snapshot);
/* canvas-card.c: what the pointer is on. */
void tessera_canvas_draw_card (TesseraCanvas *self, GtkSnapshot *snapshot);
/* canvas-input.c */
void tessera_canvas_add_controllers (TesseraCanvas *self);
/* canvas-menu.c: what can be done with blocks, at a place of the canvas. */
void tessera_canvas_pop_menu_up (TesseraCanvas *self, double x, double y);
