/*
 * What is to be told of one moment of a layout: its parts, and its largest blocks.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "viewer/document/data.h"

#define TESSERA_N_LARGEST 12

typedef struct
{
  TesseraParts parts; /* with the event it is about */
  uint32_t largest[TESSERA_N_LARGEST];
  size_t n_largest;
} TesseraMoment;

/* Looks at every block born so far: for workers. */
TesseraStatus tessera_moment_at (const TesseraData *data,
                                 const TesseraLayout *layout,
                                 uint32_t event_index,
                                 TesseraMoment *out_moment);

/* The @n largest blocks alive at an event, largest first, of equals the oldest first.
 * Returns: how many there are. */
size_t tessera_largest_blocks (const TesseraBlocks *blocks,
                               uint32_t event_index,
                               size_t n,
                               uint32_t *out_blocks);
