/*
 * All tiles of one layout at one scale and in one colouring, drawn by workers.
 *
 * Main thread only; what workers touch is immutable or atomic.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <gtk/gtk.h>

#include "viewer/model/data.h"

#define TESSERA_TILE_PIXELS 256

/* A tile's place: columns from the beginning of time, rows from the bottom of the
 * world. */
typedef struct
{
  int64_t column;
  int64_t row;
} TesseraTilePlace;

typedef struct
{
  gatomicrefcount references; /* the owner's and one per tile on its way */
  double sx;                  /* device pixels per unit of time: of the whole axis */
  double sy;                  /* device pixels per byte */
  gboolean whole;             /* made for a view of everything; the owner's to set */
  gboolean complete;          /* nothing that was wanted is missing; the owner's to set */
  TesseraView view;           /* that was wanted last; the owner's to set */
  TesseraSheet *sheet;
  TesseraPaint *paint;

  /* private */
  GHashTable *nodes; /* TesseraTilePlace -> GskRenderNode, or NULL while it is drawn */
  int dropped;       /* atomic: nobody waits for its tiles any more */
  void (*ready) (gpointer user);
  gpointer user;
} TesseraTileLevel;

/* @ready: called on the main thread for each tile that arrives, until the level is
 * dropped. */
TesseraTileLevel *tessera_tile_level_new (TesseraSheet *sheet,
                                          TesseraPaint *paint,
                                          double sx,
                                          double sy,
                                          void (*ready) (gpointer user),
                                          gpointer user);
/* Gives the owner's reference up; tiles that are still waiting are not drawn. */
void tessera_tile_level_drop (TesseraTileLevel *level);

/* Returns: whether the tile was ever asked for. *out_node: (transfer none) (nullable):
 * NULL while it is drawn. */
gboolean tessera_tile_level_find (const TesseraTileLevel *level,
                                  TesseraTilePlace place,
                                  GskRenderNode **out_node);
/* Small @distance first. */
void tessera_tile_level_request (TesseraTileLevel *level,
                                 TesseraTilePlace place,
                                 double distance);
size_t tessera_tile_level_count (const TesseraTileLevel *level);
/* Calls @each for all tiles that were drawn. */
void tessera_tile_level_for_each (const TesseraTileLevel *level,
                                  void (*each) (TesseraTilePlace place,
                                                GskRenderNode *node,
                                                gpointer user),
                                  gpointer user);
/* Forgets the drawn tiles for which @is_far says so. */
void tessera_tile_level_forget (TesseraTileLevel *level,
                                gboolean (*is_far) (TesseraTilePlace place,
                                                    gpointer user),
                                gpointer user);
