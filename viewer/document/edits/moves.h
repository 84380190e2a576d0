/*
 * What lies elsewhere in the next picture: blocks that the eye can follow on their way.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "viewer/document/sheet.h"

/* The most that are drawn on their way: more than an eye follows, and a frame's time. */
#define TESSERA_MOST_MOVES 3000

typedef struct
{
  uint32_t block;
  TesseraView to;
  double from_y0; /* bytes: where its bottom was */
} TesseraMove;

/* Shared like TesseraData, never changed. */
typedef struct
{
  TesseraMove *moves; /* largest area first */
  size_t n_moves;
  size_t n_moved; /* all, also those that are too small to be listed */
} TesseraMoves;

/* Looks at every block: for workers. */
TesseraMoves *tessera_moves_new (const TesseraSheet *from, const TesseraSheet *to);
TesseraMoves *tessera_moves_ref (TesseraMoves *moves);
void tessera_moves_unref (TesseraMoves *moves); /* NULL is fine */
