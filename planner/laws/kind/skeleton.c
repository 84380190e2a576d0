/*
 * What a step does, without sizes: see skeleton.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/laws/kind/skeleton.h"

#include <stdlib.h>
#include <string.h>

#include "db/hash.h"
#include "planner/laws/kind/diff.h"

enum
{
  EXACT_LIFE = 8,      /* requests */
  LIFE_CROSSES = 64,   /* no magnitude is as large */
  MAX_DIFFERENT = 1024 /* requests of the last step and the one before */
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

/* What the request is told by, from where it is born and when it ends. */
static void
name_request (TesseraSkeletonRequest *request, const TesseraBlock *block, uint32_t index)
{
  request->place = tessera_hash_number (request->phase,
                                        (uint64_t) request->crosses << 32 |
                                            (uint64_t) block->stream << 16 | block->pool);
  request->token = tessera_hash_number (request->place, life_class (request, index));
}

static void
hash_all (TesseraSkeleton *skeleton)
{
  skeleton->hash = TESSERA_HASH_START;
  for (uint32_t i = 0; i < skeleton->n_requests; i++)
    skeleton->hash = tessera_hash_number (skeleton->hash, skeleton->requests[i].token);
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
      request->phase = of_phase;
      name_request (request, block, i);
    }
  skeleton->n_requests = n;
  hash_all (skeleton);
}

static TesseraStatus
init_as_recorded (TesseraSkeleton *skeleton,
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

/* What is alive when the trace ends seems to live into a next step. It does where the
 * step before has a request that does, and else has ended soon after: gradients, say,
 * which the next step would have begun by dropping. */
static TesseraStatus
settle_open_ends (TesseraSkeleton *last,
                  const TesseraSkeleton *before,
                  const TesseraBlocks *blocks)
{
  uint32_t n_a = before->n_requests, n_b = last->n_requests, n_common;
  uint64_t *tokens = malloc (((size_t) n_a + n_b + 1) * sizeof *tokens);
  uint32_t *b_of_a = malloc (((size_t) n_a + 1) * sizeof *b_of_a);
  bool *has_like = calloc ((size_t) n_b + 1, sizeof *has_like);
  TesseraStatus status = TESSERA_NO_MEMORY;

  if (!tokens || !b_of_a || !has_like)
    goto out;
  for (uint32_t i = 0; i < n_a; i++)
    tokens[i] = before->requests[i].token;
  for (uint32_t i = 0; i < n_b; i++)
    tokens[n_a + i] = last->requests[i].token;
  status =
      tessera_diff (tokens, n_a, tokens + n_a, n_b, MAX_DIFFERENT, b_of_a, &n_common);
  if (status != TESSERA_OK || n_common == 0)
    goto out;
  for (uint32_t i = 0; i < n_a; i++)
    if (b_of_a[i] != TESSERA_NONE)
      has_like[b_of_a[i]] = true;
  for (uint32_t i = 0; i < n_b; i++)
    if (last->requests[i].crosses && !has_like[i])
      {
        last->requests[i].crosses = false;
        name_request (&last->requests[i], &blocks->blocks[last->requests[i].block], i);
      }
  hash_all (last);
out:
  free (tokens);
  free (b_of_a);
  free (has_like);
  return status;
}

TesseraStatus
tessera_skeleton_init (TesseraSkeleton *skeleton,
                       const TesseraTrace *trace,
                       const TesseraBlocks *blocks,
                       const TesseraStructure *structure,
                       uint32_t step)
{
  TesseraSkeleton before = { 0 };
  TesseraStatus status = init_as_recorded (skeleton, trace, blocks, structure, step);

  if (status != TESSERA_OK || step == 0 || step + 1 < structure->n_steps)
    return status;
  status = init_as_recorded (&before, trace, blocks, structure, step - 1);
  if (status == TESSERA_OK)
    status = settle_open_ends (skeleton, &before, blocks);
  tessera_skeleton_clear (&before);
  if (status != TESSERA_OK)
    tessera_skeleton_clear (skeleton);
  return status;
}

void
tessera_skeleton_clear (TesseraSkeleton *skeleton)
{
  free (skeleton->requests);
  memset (skeleton, 0, sizeof *skeleton);
}
