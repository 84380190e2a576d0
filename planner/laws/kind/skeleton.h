/*
 * What a step does, without sizes: the sequence of its requests.
 *
 * A request is told from others by its stream, pool and phase and by how long its block
 * lives, in requests: exactly where that is short, else by its magnitude. Two batches of
 * different length give the same sequence, or nearly so.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/structure.h"

typedef struct
{
  uint64_t token; /* equal: the same request, as far as one can tell */
  uint64_t phase; /* hash of the innermost one's name */
  uint64_t place; /* equal: the same stream, pool and phase, and both cross or none */
  uint32_t block;
  uint32_t end; /* requests of the step before the block's end: the number of them when it
                   lives to the step's end */
  bool crosses; /* ... and beyond the next one's first request */
} TesseraSkeletonRequest;

typedef struct
{
  TesseraSkeletonRequest *requests;
  uint32_t n_requests;
  uint64_t hash;                   /* of the tokens */
  uint32_t begin_index, end_index; /* what lies between two steps belongs to the first */
} TesseraSkeleton;

/* Of step @step of the structure. TESSERA_OK or TESSERA_NO_MEMORY. */
TESSERA_MUST_USE TesseraStatus tessera_skeleton_init (TesseraSkeleton *skeleton,
                                                      const TesseraTrace *trace,
                                                      const TesseraBlocks *blocks,
                                                      const TesseraStructure *structure,
                                                      uint32_t step);
void tessera_skeleton_clear (TesseraSkeleton *skeleton);

/* The first block born at or after event @index; n_blocks: none. */
uint32_t tessera_first_born (const TesseraBlocks *blocks, uint32_t index);
