/*
 * Layouts made up for tests and benchmarks: what an allocator could have done.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "picture/axis.h"
#include "simulator/layout.h"

typedef struct
{
  TesseraTrace trace; /* events without content beside at_ns */
  TesseraBlocks blocks;
  TesseraLayout layout;
} MadeLayout;

/* Room for blocks and spans that a test fills in itself. */
MadeLayout *made_layout_new (uint32_t n_events, size_t n_blocks, size_t n_spans);
/* Sets block @i, in layout and blocks alike. */
void made_layout_set (MadeLayout *made,
                      size_t i,
                      uint64_t addr,
                      uint64_t size_bytes,
                      uint32_t born_index,
                      uint32_t died_index);
/* @n_blocks that never overlap: 80 % short, 15 % medium, 5 % long lives, in segments of
 * 2 MiB and more that come as they are needed. */
MadeLayout *made_layout_random (size_t n_blocks, uint64_t seed);
void made_layout_free (MadeLayout *made);

uint64_t made_random (uint64_t *state);
