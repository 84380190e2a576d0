/*
 * Lifetime classes: see structure.h for what they mean.
 *
 * Dynamic blocks are found by comparing each step with the next. Steps with as many
 * allocations (or cut off by the end of the trace) are compared place by place: a loop
 * over batches of other lengths makes the same requests in other sizes. Others are
 * aligned greedily: after a difference, the nearest place where RUN allocations agree
 * again.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/structure/private.h"

#include <glib.h>

#include "db/plan.h"

enum
{
  REACH = 16,   /* allocations more and fewer that alignment looks past */
  RUN = 4,      /* allocations that have to agree for steps to be in step again */
  FAR = 2048,   /* allocations more or fewer, when nothing agrees within reach */
  FAR_RUN = 16, /* ... that have to agree then */
  PATIENCE = 20 * 1000 * 1000 /* comparisons that looking far may cost in a trace */
};

typedef struct
{
  TesseraBlocks *blocks;
  const TesseraStructure *structure;
  uint32_t patience; /* comparisons that looking far may still cost */
} Classes;

/* Blocks born in step @step are [*out_begin, *out_end): they are in order of birth. */
static void
blocks_of_step (const Classes *classes,
                size_t step,
                uint32_t *out_begin,
                uint32_t *out_end)
{
  const TesseraStep *of = &classes->structure->steps[step];

  *out_begin = tessera_blocks_first_born (classes->blocks, of->begin_index);
  *out_end = tessera_blocks_first_born (classes->blocks, of->end_index);
}

static void
set_places (Classes *classes)
{
  const TesseraStructure *structure = classes->structure;
  TesseraBlocks *blocks = classes->blocks;
  size_t step = 0;

  for (size_t i = 0; i < blocks->n_blocks; i++)
    {
      TesseraBlock *block = &blocks->blocks[i];

      block->step = block->born_phase = block->died_phase = TESSERA_NONE;
      if (block->died_index < blocks->n_events)
        block->died_phase = structure->phase_of_event[block->died_index];
      if (block->flags & TESSERA_AT_START)
        continue;
      block->born_phase = structure->phase_of_event[block->born_index];
      while (step < structure->n_steps &&
             structure->steps[step].begin_index <= block->born_index)
        step++;
      if (step && block->born_index < structure->steps[step - 1].end_index)
        block->step = (uint32_t) step - 1;
    }
}

static bool
is_equal (const TesseraBlock *a, const TesseraBlock *b)
{
  return a->size_bytes == b->size_bytes && a->stream == b->stream && a->pool == b->pool;
}

/* Differences between two steps are counted first, and marked when the way is chosen. */
static uint32_t
differ (TesseraBlock *blocks, uint32_t n, bool mark)
{
  for (uint32_t i = 0; i < n && mark; i++)
    blocks[i].lifetime_class = TESSERA_CLASS_DYNAMIC;
  return n;
}

static bool
runs_agree (const TesseraBlock *a,
            uint32_t n_a,
            const TesseraBlock *b,
            uint32_t n_b,
            uint32_t n_run)
{
  if (n_a < n_run || n_b < n_run)
    return n_a == n_b && n_a == 0;
  for (uint32_t i = 0; i < n_run; i++)
    if (!is_equal (&a[i], &b[i]))
      return false;
  return true;
}

/* How far to go in both until they agree again: the nearest place; else one each. */
static void
find_agreement (const TesseraBlock *a,
                uint32_t n_a,
                const TesseraBlock *b,
                uint32_t n_b,
                uint32_t *patience,
                uint32_t *out_a,
                uint32_t *out_b)
{
  for (uint32_t sum = 1; sum <= REACH; sum++)
    for (uint32_t i = 0; i <= sum; i++)
      if (i <= n_a && sum - i <= n_b &&
          runs_agree (a + i, n_a - i, b + (sum - i), n_b - (sum - i), RUN))
        {
          *out_a = i;
          *out_b = sum - i;
          return;
        }
  *out_a = *out_b = 1;
  for (uint32_t i = REACH + 1; i <= FAR && *patience; i++, --*patience)
    if (i <= n_a && runs_agree (a + i, n_a - i, b, n_b, FAR_RUN))
      {
        *out_a = i;
        *out_b = 0;
        return;
      }
    else if (i <= n_b && runs_agree (a, n_a, b + i, n_b - i, FAR_RUN))
      {
        *out_a = 0;
        *out_b = i;
        return;
      }
}

static uint32_t
align (TesseraBlock *a,
       uint32_t n_a,
       TesseraBlock *b,
       uint32_t n_b,
       uint32_t *patience,
       bool mark)
{
  uint32_t n_differ = 0;

  while (n_a && n_b)
    {
      uint32_t skip_a = 1, skip_b = 1;

      if (!is_equal (a, b))
        {
          find_agreement (a, n_a, b, n_b, patience, &skip_a, &skip_b);
          n_differ += differ (a, skip_a, mark) + differ (b, skip_b, mark);
        }
      a += skip_a;
      b += skip_b;
      n_a -= skip_a;
      n_b -= skip_b;
    }
  return n_differ + differ (a, n_a, mark) + differ (b, n_b, mark);
}

static uint32_t
pair_up (TesseraBlock *a, TesseraBlock *b, uint32_t n, bool mark)
{
  uint32_t n_differ = 0;

  for (uint32_t i = 0; i < n; i++)
    if (!is_equal (&a[i], &b[i]))
      n_differ += differ (&a[i], 1, mark) + differ (&b[i], 1, mark);
  return n_differ;
}

static void
compare_steps (Classes *classes, size_t earlier)
{
  const TesseraStructure *structure = classes->structure;
  const TesseraStep *later = &structure->steps[earlier + 1];
  TesseraBlock *a = classes->blocks->blocks, *b = a;
  uint32_t begin_a, end_a, begin_b, end_b, n_a, n_b;
  bool is_pairwise;
  uint32_t for_count = classes->patience;

  if (structure->steps[earlier].kind == later->kind)
    return;
  blocks_of_step (classes, earlier, &begin_a, &end_a);
  blocks_of_step (classes, earlier + 1, &begin_b, &end_b);
  a += begin_a;
  b += begin_b;
  n_a = end_a - begin_a;
  n_b = end_b - begin_b;
  is_pairwise = n_a == n_b;
  if (n_b < n_a && later->end_index == classes->blocks->n_events)
    is_pairwise = pair_up (a, b, n_b, false) <= align (a, n_a, b, n_b, &for_count, false);
  if (is_pairwise)
    pair_up (a, b, n_b, true);
  else
    align (a, n_a, b, n_b, &classes->patience, true);
}

/* A block of the last step that is alive at the end: nobody sees when it dies. The block
 * at its place in the step before tells. */
static bool
outlives_last (const Classes *classes, uint32_t index)
{
  size_t last = classes->structure->n_steps - 1;
  const TesseraBlock *all = classes->blocks->blocks;
  uint32_t begin, end, before, before_end;

  if (last == 0)
    return true;
  blocks_of_step (classes, last, &begin, &end);
  blocks_of_step (classes, last - 1, &before, &before_end);
  before += index - begin;
  return before < before_end && all[before].lifetime_class == TESSERA_CLASS_PERSISTENT;
}

/* @step: the first that begins after the block's birth. */
static bool
is_persistent (const Classes *classes, uint32_t index, size_t step)
{
  const TesseraStructure *structure = classes->structure;
  const TesseraBlock *block = &classes->blocks->blocks[index];

  if (step < structure->n_steps)
    return block->died_index >= structure->steps[step].end_index;
  if (!(block->flags & TESSERA_AT_END))
    return false;
  return structure->n_steps && block->step == structure->n_steps - 1
             ? outlives_last (classes, index)
             : true;
}

static bool
is_in_one_phase (const TesseraStructure *structure, const TesseraBlock *block)
{
  const TesseraPhase *phases = structure->phases;

  if (block->born_phase == TESSERA_NONE || block->died_phase == TESSERA_NONE)
    return block->born_phase == block->died_phase && !(block->flags & TESSERA_AT_END);
  return phases[block->born_phase].main == phases[block->died_phase].main;
}

void
tessera_classify (TesseraBlocks *blocks, const TesseraStructure *structure)
{
  Classes classes = { blocks, structure, PATIENCE };
  size_t next = 0;

  set_places (&classes);
  for (size_t i = 0; i < blocks->n_blocks; i++)
    blocks->blocks[i].lifetime_class = 0;
  for (size_t step = 0; step + 1 < structure->n_steps; step++)
    compare_steps (&classes, step);
  for (uint32_t i = 0; i < blocks->n_blocks; i++)
    {
      TesseraBlock *block = &blocks->blocks[i];

      while (!(block->flags & TESSERA_AT_START) && next < structure->n_steps &&
             structure->steps[next].begin_index <= block->born_index)
        next++;
      if (is_persistent (&classes, i, next))
        block->lifetime_class = TESSERA_CLASS_PERSISTENT;
      else if (!block->lifetime_class)
        block->lifetime_class = is_in_one_phase (structure, block)
                                    ? TESSERA_CLASS_TRANSIENT
                                    : TESSERA_CLASS_SCOPED;
    }
}
