/*
 * A group's local layout: each block, in order of birth, in the lowest gap that holds it.
 * Simple, in one sweep, and what a person would draw; the plan's own packing is better.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/groups/private.h"
#include "db/array.h"

#include <stdlib.h>
#include <string.h>

typedef struct
{
  uint64_t low, high;
} Gap;

/* Gaps below @top, ascending, never adjacent to each other. */
typedef struct
{
  Gap *gaps;
  size_t n_gaps, cap_gaps;
  uint64_t top, height;
} Space;

static uint64_t
take (Space *space, uint64_t size_bytes)
{
  uint64_t at = space->top;

  for (size_t i = 0; i < space->n_gaps; i++)
    {
      Gap *gap = &space->gaps[i];

      if (gap->high - gap->low < size_bytes)
        continue;
      at = gap->low;
      gap->low += size_bytes;
      if (gap->low == gap->high)
        {
          memmove (gap, gap + 1, (space->n_gaps - i - 1) * sizeof *gap);
          space->n_gaps--;
        }
      return at;
    }
  space->top += size_bytes;
  if (space->top > space->height)
    space->height = space->top;
  return at;
}

static TesseraStatus
give_back (Space *space, uint64_t at, uint64_t size_bytes)
{
  size_t low = 0, high = space->n_gaps;
  uint64_t end = at + size_bytes;

  while (low < high)
    {
      size_t middle = low + (high - low) / 2;

      if (space->gaps[middle].low < at)
        low = middle + 1;
      else
        high = middle;
    }
  if (low && space->gaps[low - 1].high == at)
    {
      at = space->gaps[--low].low;
      memmove (&space->gaps[low], &space->gaps[low + 1],
               (space->n_gaps - low - 1) * sizeof (Gap));
      space->n_gaps--;
    }
  if (low < space->n_gaps && space->gaps[low].low == end)
    {
      space->gaps[low].low = at;
      return TESSERA_OK;
    }
  if (end == space->top)
    {
      space->top = at;
      return TESSERA_OK;
    }
  if (!TESSERA_RESERVE (space->gaps, space->cap_gaps, space->n_gaps + 1))
    return TESSERA_NO_MEMORY;
  memmove (&space->gaps[low + 1], &space->gaps[low],
           (space->n_gaps - low) * sizeof (Gap));
  space->gaps[low] = (Gap){ at, end };
  space->n_gaps++;
  return TESSERA_OK;
}

/* What was pending when the trace began may end before its first event. */
static bool
lives (const TesseraBlock *block)
{
  return block->died_index > block->born_index;
}

TesseraStatus
tessera_group_measure (const TesseraBlocks *blocks,
                       const uint32_t *births,
                       const uint32_t *deaths,
                       size_t n_members,
                       uint64_t *offsets,
                       TesseraGroup *group)
{
  const TesseraBlock *all = blocks->blocks;
  Space space = { 0 };
  TesseraStatus status = TESSERA_OK;
  double used = 0, reserved;
  size_t death = 0;

  for (size_t i = 0; i < n_members && status == TESSERA_OK; i++)
    {
      const TesseraBlock *block = &all[births[i]];

      if (!lives (block))
        continue;
      for (; all[deaths[death]].died_index <= block->born_index && status == TESSERA_OK;
           death++)
        if (lives (&all[deaths[death]]))
          status =
              give_back (&space, offsets[deaths[death]], all[deaths[death]].block_bytes);
      offsets[births[i]] = take (&space, block->block_bytes);
      used += (double) block->block_bytes * (block->died_index - block->born_index);
    }
  free (space.gaps);
  if (status != TESSERA_OK || !n_members)
    return status;
  reserved = (double) space.height *
             (all[deaths[n_members - 1]].died_index - all[births[0]].born_index);
  group->n_blocks = (uint32_t) n_members;
  group->height_bytes = space.height;
  group->bytes_x_events = used < 1.8e19 ? (uint64_t) used : UINT64_MAX;
  group->time_memory_product = reserved > 0 ? used / reserved : 1;
  return TESSERA_OK;
}

static int
by_begin (const void *a, const void *b)
{
  const TesseraDecision *x = a, *y = b;

  if (x->begin != y->begin)
    return x->begin < y->begin ? -1 : 1;
  return (x->source > y->source) - (x->source < y->source);
}

static int
by_end (const void *a, const void *b)
{
  const TesseraDecision *x = *(const TesseraDecision *const *) a,
                        *y = *(const TesseraDecision *const *) b;

  if (x->end != y->end)
    return x->end < y->end ? -1 : 1;
  return (x > y) - (x < y);
}

TesseraStatus
tessera_lay_lowest (TesseraDecision *decisions,
                    size_t n_decisions,
                    uint64_t *out_height_bytes)
{
  TesseraDecision **ends = malloc ((n_decisions + 1) * sizeof (TesseraDecision *));
  Space space = { 0 };
  TesseraStatus status = ends ? TESSERA_OK : TESSERA_NO_MEMORY;
  size_t n_ended = 0;

  *out_height_bytes = 0;
  if (status != TESSERA_OK || n_decisions == 0)
    goto out;
  qsort (decisions, n_decisions, sizeof *decisions, by_begin);
  for (size_t i = 0; i < n_decisions; i++)
    ends[i] = &decisions[i];
  qsort (ends, n_decisions, sizeof (TesseraDecision *), by_end);
  for (size_t i = 0; i < n_decisions && status == TESSERA_OK; i++)
    {
      /* What ends by now began before it: it has a place. */
      for (; ends[n_ended]->end <= decisions[i].begin && status == TESSERA_OK; n_ended++)
        status =
            give_back (&space, ends[n_ended]->offset_bytes, ends[n_ended]->size_bytes);
      decisions[i].offset_bytes = take (&space, decisions[i].size_bytes);
    }
  *out_height_bytes = space.height;
out:
  free (space.gaps);
  free (ends);
  return status;
}
