/*
 * The inside of a scene, shared by scene.c (building, asking) and render.c (drawing).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "picture/scene/box-index.h"
#include "picture/scene/rows.h"
#include "picture/scene.h"

struct TesseraScene
{
  const TesseraBlocks *blocks;
  const TesseraLayout *layout;
  const TesseraAxis *axis;
  TesseraRows *rows;
  int y_shift; /* a unit of height in the indices is 1 << y_shift bytes */
  TesseraBoxIndex block_index;
  TesseraBoxIndex span_index;
  TesseraBoxIndex pending_index; /* the last part of blocks: freed, not free yet */
};

/* All units that a view touches; an edge that lies between units takes both in. */
TesseraBox tessera_scene_box_of_view (const TesseraScene *scene, const TesseraView *view);
