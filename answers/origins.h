/*
 * Which line and which module asked for each block, in every step.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/structure.h"

typedef struct
{
  uint32_t *stacks;  /* [n_blocks], or TESSERA_NONE */
  uint32_t *modules; /* [n_blocks] string ids, or TESSERA_NONE; NULL: none is named */
} TesseraOrigins;

/* A recording has stacks and modules of its first steps only: a request of a later step that
 * is the same one (of its size and stream the same in its step, by number) has those of that
 * one. Linear in blocks and events. */
TesseraOrigins tessera_origins_new (const TesseraTrace *trace,
                                    const TesseraBlocks *blocks,
                                    const TesseraStructure *structure);
void tessera_origins_clear (TesseraOrigins *origins);
