/*
 * Memory that each step keeps more of, until no device is large enough: a leak.
 *
 * A block is kept when it is alive at the end of the last step although a whole other
 * step began after it was asked for. What one step keeps is no leak (the state that an
 * optimizer makes, a cache that fills); a leak is what step after step keeps as much of
 * again. With fewer than eight steps only blocks of one stack (where some have none: of
 * one size and stream) are compared, so that the optimizer's state of the first step is not
 * taken for a habit; with more, all that the later half of the steps keeps.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/structure.h"

/* Steps of a long training run: what takes more of them to fill a device is no verdict.
 */
#define TESSERA_LEAK_STEPS 100000

typedef struct
{
  uint64_t step_bytes; /* a step keeps so much more; 0: no leak was seen */
  uint64_t kept_bytes; /* by all steps that were seen */
  uint32_t n_steps;    /* that were seen */
  uint32_t stack;      /* of most of it, or TESSERA_NONE */
} TesseraLeak;

/* @blocks: with their steps, see tessera_structure_new(). O(n log n) in what is kept. */
TesseraLeak tessera_leak_find (const TesseraBlocks *blocks,
                               const TesseraStructure *structure);

/* About the step in which @device_bytes are full, where the steps seen needed
 * @needed_bytes of them (0: not known, as much as was kept); 0 where @device_bytes is 0
 * (not known), or a long training run ends before. */
uint32_t tessera_leak_last_step (const TesseraLeak *leak,
                                 uint64_t needed_bytes,
                                 uint64_t device_bytes);

/* Writes "Keeps 64.00 MiB more each step (train.py:6 main): dies at about step 43 of this
 * device." @line: where @leak's stack is from, "" where nobody knows. Returns: whether the
 * leak matters; else @out_text is "". */
bool tessera_leak_describe (const TesseraLeak *leak,
                            const char *line,
                            uint64_t needed_bytes,
                            uint64_t device_bytes,
                            char *out_text,
                            size_t n_text);
