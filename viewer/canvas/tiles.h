/*
 * The picture of one layout in pieces that workers draw and the main thread only shows.
 *
 * Tiles of 256 x 256 device pixels at the scale in force. While new ones are drawn, old
 * ones are stretched into their place, so that a view changes at once. The latest request
 * wins: what an older scale still had in the queue is thrown away.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <gtk/gtk.h>

#include "viewer/model/data.h"

#define TESSERA_TILE_PIXELS 256

typedef struct TesseraTiles TesseraTiles;

/* @ready: called on the main thread whenever a tile arrived. */
TesseraTiles *tessera_tiles_new (void (*ready) (gpointer user), gpointer user);
/* @ready is not called any more; tiles that are being drawn are forgotten. */
void tessera_tiles_free (TesseraTiles *tiles);

/* NULL: nothing to draw. */
void tessera_tiles_set_sheet (TesseraTiles *tiles, TesseraSheet *sheet);
void tessera_tiles_set_paint (TesseraTiles *tiles, TesseraPaint *paint);

/* Shows @view on @width x @height logical pixels; asks for what is missing, nearest to
 * (@focus_x, @focus_y) first. */
void tessera_tiles_snapshot (TesseraTiles *tiles,
                             GtkSnapshot *snapshot,
                             const TesseraView *view,
                             int width,
                             int height,
                             int scale,
                             double focus_x,
                             double focus_y);
/* Everything that the last snapshot asked for is there. */
gboolean tessera_tiles_is_complete (const TesseraTiles *tiles);
