/*
 * Edits that are drawn, of each kind some, against the slots of a plan without any.
 *
 * For benchmarks: GLib's manners.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <glib.h>

#include "planner/planner.h"

typedef enum
{
  TESSERA_DRAWN_NOTHING,
  TESSERA_DRAWN_PIN,      /* of a block anywhere */
  TESSERA_DRAWN_PIN_STOP, /* where another block lies, as it does when dragged */
  TESSERA_DRAWN_PINS,     /* four blocks, anywhere */
  TESSERA_DRAWN_MOVE,     /* several, keeping their distances */
  TESSERA_DRAWN_TOGETHER,
  TESSERA_DRAWN_APART,
  TESSERA_DRAWN_DYNAMIC,
  TESSERA_DRAWN_CAP,
  TESSERA_DRAWN_STALLOC, /* a group made by hand, under the strategy stalloc */
  TESSERA_N_DRAWN
} TesseraDrawn;

/* Those of @kind become what is in @edits (of TesseraEdit). @n_blocks: of the trace. */
void drawn_edits (const TesseraPlan *plan,
                  size_t n_blocks,
                  GRand *random,
                  TesseraDrawn kind,
                  GArray *edits);
void drawn_edits_clear (GArray *edits);
