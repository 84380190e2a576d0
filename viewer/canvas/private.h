/*
 * What the files of this folder share.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "viewer/canvas/canvas.h"

#include <adwaita.h>

/* --- the picture of one layout ----------------------------------------------------- */

/* Workers draw it, and the main thread only shows it. While a new one is drawn, the old one
 * is stretched into its place, so that a view changes at once. One is drawn at a time: what
 * is seen when it is done is next. */

typedef struct TesseraPicture TesseraPicture;

/* @ready: called on the main thread whenever one arrived. */
TesseraPicture *tessera_picture_new (void (*ready) (gpointer user), gpointer user);
/* @ready is not called any more. */
void tessera_picture_free (TesseraPicture *self);
/* NULL: nothing to draw. */
void tessera_picture_set (TesseraPicture *self, TesseraSheet *sheet, TesseraPaint *paint);
/* Shows @view on @width x @height logical pixels; asks for what is missing. */
void tessera_picture_snapshot (TesseraPicture *self,
                               GtkSnapshot *snapshot,
                               const TesseraView *view,
                               int width,
                               int height,
                               int scale);
/* What the last snapshot showed is exact. */
gboolean tessera_picture_is_complete (const TesseraPicture *self);

/* --- what shares the time of the view: lanes above a canvas, a ruler below it ------ */

/* From logical pixels of a drawing to the world. */
double tessera_view_t_at (const TesseraPanel *drawing, double x);
/* Steps and phases; a click on one shows it whole. */
GtkWidget *tessera_lanes_new (TesseraDocument *document);
/* Event numbers where they fall, or clock time. */
GtkWidget *tessera_ruler_new (TesseraDocument *document);

/* --- the canvas -------------------------------------------------------------------- */

/* What a rubber band that is being drawn is for. */
typedef enum
{
  TESSERA_BAND_NONE,
  TESSERA_BAND_ZOOM,
  TESSERA_BAND_SELECT,
  TESSERA_BAND_SELECT_MORE
} TesseraBand;

typedef struct
{
  TesseraPanel panel;
  TesseraSide side;
  TesseraPicture *picture;

  double pointer_x, pointer_y; /* last seen; < 0: not here */
  TesseraBand band;
  double band_x, band_y; /* where it began */
  double band_end_x, band_end_y;
  TesseraView drag_view; /* the view when a drag began */
  double pinch;          /* scale of the pinch so far */
  GtkWidget *menu;       /* of a block; NULL: was never asked for */

  gboolean pinning;      /* what is selected is in the hand */
  double pin_dy;         /* pixels it was moved by */
  GArray *moves;         /* TesseraMove: on their way; or NULL */
  double moves_progress; /* 0..1 */
  AdwAnimation *animation;
} TesseraCanvas;

/* Between logical pixels and the world. */
double tessera_canvas_t_at (const TesseraCanvas *self, double x);
double tessera_canvas_bytes_at (const TesseraCanvas *self, double y);
/* TESSERA_NONE: none. There is a sheet. */
uint32_t tessera_canvas_block_at (const TesseraCanvas *self, double x, double y);
/* What the band covers. */
TesseraView tessera_canvas_band_view (const TesseraCanvas *self);
const TesseraSheet *tessera_canvas_sheet (const TesseraCanvas *self); /* or NULL */

/* canvas-draw.c: what lies on top of the picture. */
void tessera_canvas_draw_marks (TesseraCanvas *self, TesseraPen *pen);
/* Where a rectangle of the world lies: tessera_view_box_of(). */
gboolean tessera_canvas_box_of (const TesseraCanvas *self,
                                const TesseraView *rect,
                                TesseraArea *out_box);
double tessera_canvas_grid_step_bytes (const TesseraCanvas *self);
/* Words on a ground of their own, just there. */
void tessera_canvas_write (
    TesseraPen *pen, const TesseraWords *words, double x, double y, uint32_t rgb);

/* canvas-input.c: pointer, wheel, pinch, drag. */
void tessera_canvas_add_controllers (TesseraCanvas *self);
/* canvas.c: what can be done with blocks, at a place of the canvas. */
void tessera_canvas_pop_menu_up (TesseraCanvas *self, double x, double y);

/* canvas-moving.c: blocks on their way over a canvas: from the former plan to this, and
 * where one is being put by hand. */
/* Blocks set out from where they were, unless the person wants no motion. */
void tessera_canvas_start_moves (TesseraCanvas *self);
void tessera_canvas_stop_moves (TesseraCanvas *self);
void tessera_canvas_draw_moves (TesseraCanvas *self, TesseraWidgetPen *pen);

/* A press on what is selected takes it in hand. */
void tessera_canvas_begin_pin (TesseraCanvas *self, double x, double y);
void tessera_canvas_update_pin (TesseraCanvas *self, double dy);
/* @is_drop: the hand has moved; else it was a click. */
void tessera_canvas_end_pin (TesseraCanvas *self, gboolean is_drop);
void tessera_canvas_draw_proposal (TesseraCanvas *self, TesseraPen *pen);
