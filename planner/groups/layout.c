/*
 * A group's local layout: each block, in order of birth, in the lowest gap that holds it.
 * Simple, in one sweep, and what a person would draw; the plan's own packing is better.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/groups/private.h"

#include "planner/memory.h"

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

static void
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
      return;
    }
  if (end == space->top)
    {
      space->top = at;
      return;
    }
  TESSERA_GROW (space->gaps, space->cap_gaps, space->n_gaps + 1);
  memmove (&space->gaps[low + 1], &space->gaps[low],
           (space->n_gaps - low) * sizeof (Gap));
  space->gaps[low] = (Gap){ at, end };
  space->n_gaps++;
}

uint64_t
tessera_lay_lowest (TesseraDecision *decisions, size_t n_decisions)
{
  g_autofree TesseraKeyed *ends = g_new (TesseraKeyed, n_decisions + 1);
  Space space = { 0 };

  for (uint32_t i = 0; i < n_decisions; i++)
    ends[i] = (TesseraKeyed){ decisions[i].end, i };
  tessera_demand_memory (tessera_sort_keyed (ends, n_decisions));
  for (size_t i = 0, n_ended = 0; i < n_decisions; i++)
    {
      /* What ends by now began before it: it has a place. */
      for (; ends[n_ended].key <= decisions[i].begin; n_ended++)
        {
          const TesseraDecision *ended = &decisions[ends[n_ended].value];

          give_back (&space, ended->offset_bytes, ended->size_bytes);
        }
      decisions[i].offset_bytes = take (&space, decisions[i].size_bytes);
    }
  free (space.gaps);
  return space.height;
}

void
tessera_group_measure (const TesseraBlocks *blocks,
                       const TesseraKeyed *members,
                       size_t n_members,
                       TesseraDecision *room,
                       TesseraGroup *group)
{
  uint32_t end = 0;
  size_t n = 0;
  double used = 0, reserved;

  for (size_t i = 0; i < n_members; i++)
    {
      const TesseraBlock *block = &blocks->blocks[members[i].value];

      end = MAX (block->died_index, end);
      /* What was pending when the trace began may end before its first event. */
      if (block->died_index <= block->born_index)
        continue;
      room[n++] = (TesseraDecision){ .size_bytes = block->block_bytes,
                                     .begin = block->born_index,
                                     .end = block->died_index };
      used += (double) block->block_bytes * (block->died_index - block->born_index);
    }
  group->height_bytes = tessera_lay_lowest (room, n);
  if (!n_members)
    return;
  reserved =
      (double) group->height_bytes * (end - blocks->blocks[members[0].value].born_index);
  group->n_blocks = (uint32_t) n_members;
  group->bytes_x_events = used < 1.8e19 ? (uint64_t) used : UINT64_MAX;
  group->time_memory_product = reserved > 0 ? used / reserved : 1;
}
