/*
 * Colours of the drawing: of every block by the chosen key, and of all that is not a
 * block.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "viewer/document/data.h"
#include "viewer/document/select/selection.h"

/* 0xRRGGBB each. */
typedef struct
{
  uint32_t background;
  uint32_t reserved; /* fill of what is reserved and free */
  uint32_t hatch;
  uint32_t edge;   /* of segments */
  uint32_t missed; /* stripes over blocks that missed the plan */
  uint32_t frame;
  uint32_t grid;
  uint32_t text;
  uint32_t dim; /* less important text */
  uint32_t bad; /* verdicts only, as is good */
  uint32_t good;
  uint32_t select;
  uint32_t select_text; /* as words: what is selected */
  uint32_t accent;
  uint32_t lane;
  uint32_t curve_reserved;
  uint32_t curve_allocated;
  uint32_t curve_live;
} TesseraPalette;

const TesseraPalette *tessera_palette (gboolean dark);

/* Colours of all blocks. Shared between threads by reference counting, never changed. */
typedef struct TesseraPaint
{
  TesseraData *data;
  struct TesseraPaint *whole; /* NULL, or the one that owns the colouring and shows all */
  TesseraColouring *colouring;
  uint8_t *shown;         /* [n_blocks], or NULL: all; shared */
  uint8_t *shown_entries; /* [n_entries] */
  TesseraSelection *lit;  /* the others are dimmed; NULL: all are lit */
  gboolean dark;
  TesseraInk ink;
} TesseraPaint;

/* Everything shown and lit. NULL is returned when memory ran out. */
TesseraPaint *tessera_paint_new (TesseraData *data, TesseraColourKey key, gboolean dark);
/* The same with some legend entries left out.
 * @shown_entries: (array): for each entry, whether it is shown. */
TesseraPaint *tessera_paint_filter (TesseraPaint *paint, const uint8_t *shown_entries);
/* The same with but @selection lit; of one block or NULL: all are. Costs nothing that
 * grows with the blocks. */
TesseraPaint *tessera_paint_light (TesseraPaint *paint, TesseraSelection *selection);
TesseraPaint *tessera_paint_ref (TesseraPaint *paint);
void tessera_paint_unref (TesseraPaint *paint); /* NULL is fine */
