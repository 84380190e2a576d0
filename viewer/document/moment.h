/*
 * What is to be told of one moment of a layout: its parts, and its largest blocks.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "viewer/canvas/paint.h"

#define TESSERA_N_LARGEST 12

/* Blocks of one size, allocated at one place in one phase, alive at one moment. */
typedef struct
{
  uint32_t block; /* the oldest of them */
  uint32_t n_blocks;
} TesseraAlike;

typedef struct
{
  TesseraParts parts; /* with the event it is about */
  TesseraAlike largest[TESSERA_N_LARGEST];
  size_t n_largest;
  const TesseraColouring *colouring; /* that live_bytes is of; never looked into */
  uint64_t live_bytes[TESSERA_MAX_LEGEND_ENTRIES]; /* by entry of the legend */
} TesseraMoment;

/* Looks at every block born so far: for workers. */
TesseraStatus tessera_moment_at (const TesseraData *data,
                                 const TesseraLayout *layout,
                                 const TesseraPaint *paint,
                                 uint32_t event_index,
                                 TesseraMoment *out_moment);

/* The largest blocks live at an event of @layout in at most @n rows of those that are alike,
 * largest first, of equal sizes the oldest first. Returns: how many rows there are. */
size_t tessera_largest_blocks (const TesseraBlocks *blocks,
                               const TesseraLayout *layout,
                               uint32_t event_index,
                               size_t n,
                               TesseraAlike *out_rows);
