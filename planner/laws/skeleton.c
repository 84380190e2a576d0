/*
 * What a step does, without sizes: see skeleton.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/laws/skeleton.h"

#include <stdlib.h>
#include <string.h>

#include "db/hash.h"

enum
{
  EXACT_LIFE = 8,   /* requests */
  LIFE_CROSSES = 64 /* no magnitude is as large */
};

/* They are in order of birth, after those of the start. */
uint32_t
tessera_first_born (const TesseraBlocks *blocks, uint32_t index)
{
  size_t low = 0, high = blocks->n_blocks;

  while (low < high)
    {
      size_t middle = low + (high - low) / 2;
      const TesseraBlock *block = &blocks->blocks[middle];

      if (block->flags & TESSERA_AT_START || block->born_index < index)
        low = middle + 1;
      else
        high = middle;
    }
  return (uint32_t) low;
}

static uint64_t
hash_phase (const TesseraTrace *trace, const TesseraStructure *structure, uint32_t phase)
{
  const char *name;

  if (phase == TESSERA_NONE)
    return TESSERA_HASH_START;
  name = tessera_phase_name (trace, &structure->phases[phase]);
  return tessera_hash_bytes (TESSERA_HASH_START, name, strlen (name));
}

static uint64_t
life_class (const TesseraSkeletonRequest *request, uint32_t index)
{
  uint32_t life = request->end - index, bits = 0;

  if (request->crosses)
    return LIFE_CROSSES;
  if (life <= EXACT_LIFE)
    return life;
  while (life >> bits)
    bits++;
  return EXACT_LIFE + bits;
}

static void
fill (TesseraSkeleton *skeleton,
      const TesseraTrace *trace,
      const TesseraBlocks *blocks,
      const TesseraStructure *structure,
      uint32_t first,
      uint32_t n)
{
  /* What is freed between the mark of a step and its first request is in nobody's way. */
  uint32_t next_born = first + n < blocks->n_blocks ? blocks->blocks[first + n].born_index
                                                    : skeleton->end_index;
  uint32_t phase = TESSERA_NONE;
  uint64_t of_phase = hash_phase (trace, structure, phase);

  skeleton->hash = TESSERA_HASH_START;
  for (uint32_t i = 0; i < n; i++)
    {
      const TesseraBlock *block = &blocks->blocks[first + i];
      TesseraSkeletonRequest *request = &skeleton->requests[i];

      if (block->born_phase != phase)
        {
          phase = block->born_phase;
          of_phase = hash_phase (trace, structure, phase);
        }
      request->block = first + i;
      request->crosses = block->died_index >= next_born;
      request->end =
          request->crosses ? n : tessera_first_born (blocks, block->died_index) - first;
      if (request->end <= i)
        request->end = i + 1;
      request->place = tessera_hash_number (of_phase, (uint64_t) request->crosses << 32 |
                                                          (uint64_t) block->stream << 16 |
                                                          block->pool);
      request->token = tessera_hash_number (request->place, life_class (request, i));
      skeleton->hash = tessera_hash_number (skeleton->hash, request->token);
    }
  skeleton->n_requests = n;
}

TesseraStatus
tessera_skeleton_init (TesseraSkeleton *skeleton,
                       const TesseraTrace *trace,
                       const TesseraBlocks *blocks,
                       const TesseraStructure *structure,
                       uint32_t step)
{
  const TesseraStep *of = &structure->steps[step];
  uint32_t first, n;

  *skeleton =
      (TesseraSkeleton){ .begin_index = of->begin_index,
                         .end_index = step + 1 < structure->n_steps ? of[1].begin_index
                                                                    : blocks->n_events };
  first = tessera_first_born (blocks, skeleton->begin_index);
  n = tessera_first_born (blocks, skeleton->end_index) - first;
  skeleton->requests = malloc ((n + 1) * sizeof *skeleton->requests);
  if (!skeleton->requests)
    return TESSERA_NO_MEMORY;
  fill (skeleton, trace, blocks, structure, first, n);
  return TESSERA_OK;
}

void
tessera_skeleton_clear (TesseraSkeleton *skeleton)
{
  free (skeleton->requests);
  memset (skeleton, 0, sizeof *skeleton);
}
