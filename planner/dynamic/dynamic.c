/*
 * Dynamic requests: see dynamic.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/dynamic/dynamic.h"

#include <stdlib.h>
#include <string.h>

#include "db/plan.h"
#include "planner/dynamic/share.h"

/* Of what the steps ask for, in bytes, so much has to be common; of the largest load so
 * much may be dynamic. */
#define COMMON_SHARE 0.5
#define DYNAMIC_SHARE 0.5

typedef struct
{
  const TesseraTrace *trace;
  const TesseraBlocks *blocks;
  const TesseraStructure *structure;
  uint32_t bounds[TESSERA_SHARE_STEPS + 1];
  uint32_t n_steps;
  bool *is_shared; /* [events of the steps] */
  uint32_t n_shared;
} Fold;

static bool
is_common (const Fold *fold, uint32_t event)
{
  return fold->is_shared[event - fold->bounds[0]];
}

static bool
is_inside (const Fold *fold, uint32_t event)
{
  return event >= fold->bounds[0] && event < fold->bounds[fold->n_steps];
}

/* Of the blocks alive in the steps: the largest load, of all and of the dynamic ones. */
static TesseraStatus
measure_loads (const Fold *fold, uint64_t *out_all, uint64_t *out_dynamic)
{
  uint32_t begin = fold->bounds[0], end = fold->bounds[fold->n_steps];
  uint64_t *changes = calloc (2 * ((size_t) end - begin + 1), sizeof *changes);
  uint64_t all = 0, dynamic = 0;

  *out_all = *out_dynamic = 0;
  if (!changes)
    return TESSERA_NO_MEMORY;
  for (size_t i = 0; i < fold->blocks->n_blocks; i++)
    {
      const TesseraBlock *block = &fold->blocks->blocks[i];
      bool is_early = block->flags & TESSERA_AT_START || block->born_index < begin;
      uint32_t from = is_early ? begin : block->born_index;
      uint32_t to = block->died_index < end ? block->died_index : end;
      bool is_dynamic = !is_early && from < end && !is_common (fold, from);

      if (from >= end || to <= from)
        continue;
      changes[2 * (from - begin)] += block->block_bytes;
      changes[2 * (to - begin)] -= block->block_bytes;
      changes[2 * (from - begin) + 1] += is_dynamic ? block->block_bytes : 0;
      changes[2 * (to - begin) + 1] -= is_dynamic ? block->block_bytes : 0;
    }
  for (uint32_t i = 0; i < end - begin; i++)
    {
      all += changes[2 * i];
      dynamic += changes[2 * i + 1];
      *out_all = all > *out_all ? all : *out_all;
      *out_dynamic = dynamic > *out_dynamic ? dynamic : *out_dynamic;
    }
  free (changes);
  return TESSERA_OK;
}

/* Is following the common part worth it? */
static TesseraStatus
is_worth_it (const Fold *fold, bool *out_is_worth, TesseraDynamicLoad *out_load)
{
  uint64_t asked = 0, common = 0, all, dynamic, n_dynamic = 0;
  TesseraStatus status = measure_loads (fold, &all, &dynamic);

  for (size_t i = 0; i < fold->blocks->n_blocks; i++)
    {
      const TesseraBlock *block = &fold->blocks->blocks[i];

      if (block->flags & TESSERA_AT_START || !is_inside (fold, block->born_index))
        continue;
      asked += block->block_bytes;
      n_dynamic += !is_common (fold, block->born_index);
      common += is_common (fold, block->born_index) ? block->block_bytes : 0;
    }
  *out_is_worth = fold->n_shared > 0 &&
                  (double) common >= COMMON_SHARE * (double) asked &&
                  (double) dynamic <= DYNAMIC_SHARE * (double) all;
  *out_load = (TesseraDynamicLoad){ (uint32_t) (n_dynamic / fold->n_steps), dynamic };
  return status;
}

/* Blocks of the steps that fold. */
static void
mark_inside (const Fold *fold, uint8_t *is_dynamic)
{
  for (size_t i = 0; i < fold->blocks->n_blocks; i++)
    {
      const TesseraBlock *block = &fold->blocks->blocks[i];

      if (!(block->flags & TESSERA_AT_START) && is_inside (fold, block->born_index))
        is_dynamic[i] = !is_common (fold, block->born_index);
    }
}

/* For each common request of a step whether any step makes dynamic ones before it, and
 * after the one before it; one more for the end. */
static bool *
list_gaps (const Fold *fold)
{
  bool *has_dynamic = calloc ((size_t) fold->n_shared + 1, sizeof *has_dynamic);
  uint32_t n = 0, k = 0;

  for (uint32_t i = fold->bounds[0]; has_dynamic && i < fold->bounds[fold->n_steps]; i++)
    {
      if (i == fold->bounds[k + 1])
        {
          k++;
          n = 0;
        }
      if (fold->trace->events[i].action != TESSERA_ALLOC)
        continue;
      if (is_common (fold, i))
        n++;
      else
        has_dynamic[n] = true;
    }
  return has_dynamic;
}

/* A step that does not fold, beside the last one that does. */
typedef struct
{
  const Fold *fold;
  const bool *has_dynamic; /* gaps */
  uint32_t bounds[3];      /* of both: the step's events, the other's */
  bool *is_shared;         /* by these two */
  uint32_t n_shared;
} Beside;

/* The last folded step's requests up to the @n-th that both share: how many of them all
 * folded steps make. @at goes on from event to event. Returns: whether the @n-th is one.
 */
static bool
next_pair (const Beside *beside, uint32_t *at, uint32_t *n_common)
{
  uint32_t begin = beside->fold->bounds[beside->fold->n_steps - 1];

  for (;; ++*at)
    {
      bool is_pair =
          beside->is_shared[beside->bounds[1] - beside->bounds[0] + *at - begin];

      if (is_common (beside->fold, *at))
        ++*n_common;
      if (is_pair)
        return is_common (beside->fold, (*at)++);
    }
}

/* Of the step's requests @from to @to, between two common ones: dynamic where any folded
 * step makes such there, and gone by the end of the step after. */
static void
mark_gap (const Beside *beside,
          uint32_t from,
          uint32_t to,
          uint32_t gap,
          uint32_t last_gap,
          uint8_t *is_dynamic)
{
  const Fold *fold = beside->fold;
  bool is_gap = false;

  for (; gap <= last_gap; gap++)
    is_gap = is_gap || beside->has_dynamic[gap];
  for (uint32_t i = from; i < to && is_gap; i++)
    {
      uint32_t index = fold->blocks->block_of_event[i];

      if (fold->trace->events[i].action == TESSERA_ALLOC &&
          fold->blocks->blocks[index].lifetime_class != TESSERA_CLASS_PERSISTENT)
        is_dynamic[index] = 1;
    }
}

static void
mark_beside (const Beside *beside, uint8_t *is_dynamic)
{
  uint32_t at = beside->fold->bounds[beside->fold->n_steps - 1];
  uint32_t from = beside->bounds[0], gap = 0, n_common = 0;

  for (uint32_t i = beside->bounds[0]; i < beside->bounds[1]; i++)
    if (beside->is_shared[i - beside->bounds[0]] && next_pair (beside, &at, &n_common))
      {
        mark_gap (beside, from, i, gap, n_common - 1, is_dynamic);
        from = i + 1;
        gap = n_common;
      }
  mark_gap (beside, from, beside->bounds[1], gap, beside->fold->n_shared, is_dynamic);
}

static TesseraStatus
look_beside (Beside *beside, uint32_t step, uint8_t *is_dynamic)
{
  const Fold *fold = beside->fold;
  const TesseraStep *steps = fold->structure->steps;
  uint32_t begin = steps[step].begin_index;
  uint32_t end = step + 1 < fold->structure->n_steps ? steps[step + 1].begin_index
                                                     : steps[step].end_index;
  uint32_t other = fold->bounds[fold->n_steps - 1],
           other_end = fold->bounds[fold->n_steps];
  TesseraStatus status = TESSERA_NO_MEMORY;

  beside->is_shared =
      calloc ((size_t) end - begin + other_end - other + 1, sizeof (bool));
  if (beside->is_shared)
    status = tessera_share_two (fold->trace, fold->blocks, fold->structure,
                                (const uint32_t[]){ begin, end, other, other_end },
                                beside->is_shared, &beside->n_shared);
  beside->bounds[0] = begin;
  beside->bounds[1] = end;
  if (status == TESSERA_OK && beside->n_shared >= fold->n_shared / 2)
    mark_beside (beside, is_dynamic);
  free (beside->is_shared);
  return status;
}

/* Blocks of the other steps. */
static TesseraStatus
mark_outside (
    const Fold *fold, uint32_t first, uint32_t last, uint32_t limit, uint8_t *is_dynamic)
{
  bool *has_dynamic = list_gaps (fold);
  Beside beside = { .fold = fold, .has_dynamic = has_dynamic };
  TesseraStatus status = has_dynamic ? TESSERA_OK : TESSERA_NO_MEMORY;
  uint32_t begin = first > TESSERA_SHARE_STEPS ? first - TESSERA_SHARE_STEPS : 0;

  for (uint32_t k = begin; k < fold->structure->n_steps && status == TESSERA_OK; k++)
    if ((k < first || k > last) && fold->structure->steps[k].begin_index < limit)
      status = look_beside (&beside, k, is_dynamic);
  free (has_dynamic);
  return status;
}

TesseraStatus
tessera_dynamic_find (const TesseraTrace *trace,
                      const TesseraBlocks *blocks,
                      const TesseraStructure *structure,
                      uint32_t first,
                      uint32_t last,
                      uint32_t last_end,
                      uint32_t limit,
                      uint8_t **out_is_dynamic,
                      TesseraDynamicLoad *out_load)
{
  Fold fold = {
    .trace = trace, .blocks = blocks, .structure = structure, .n_steps = last - first + 1
  };
  uint8_t *is_dynamic = NULL;
  bool is_worth = false;
  TesseraStatus status = TESSERA_NO_MEMORY;

  *out_is_dynamic = NULL;
  if (fold.n_steps < 2 || fold.n_steps > TESSERA_SHARE_STEPS)
    return TESSERA_OK;
  for (uint32_t k = 0; k < fold.n_steps; k++)
    fold.bounds[k] = structure->steps[first + k].begin_index;
  fold.bounds[fold.n_steps] = last_end;
  fold.is_shared =
      malloc (((size_t) last_end - fold.bounds[0] + 1) * sizeof *fold.is_shared);
  is_dynamic = calloc (blocks->n_blocks + 1, sizeof *is_dynamic);
  if (fold.is_shared && is_dynamic)
    status = tessera_share_steps (trace, blocks, structure, fold.bounds, fold.n_steps,
                                  fold.is_shared, &fold.n_shared);
  if (status == TESSERA_OK)
    status = is_worth_it (&fold, &is_worth, out_load);
  if (status == TESSERA_OK && is_worth)
    {
      mark_inside (&fold, is_dynamic);
      status = mark_outside (&fold, first, last, limit, is_dynamic);
    }
  if (status == TESSERA_OK && is_worth)
    {
      *out_is_dynamic = is_dynamic;
      is_dynamic = NULL;
    }
  free (fold.is_shared);
  free (is_dynamic);
  return status;
}
