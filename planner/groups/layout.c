/*
 * A group's local layout: each block, in order of birth, in the lowest gap that holds it.
 * Simple, in one sweep, and what a person would draw; the plan's own packing is better.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/groups/private.h"

#include "planner/gaps.h"
#include "planner/memory.h"

uint64_t
tessera_lay_lowest (TesseraDecision *decisions, size_t n_decisions)
{
  g_autofree TesseraKeyed *ends = g_new (TesseraKeyed, n_decisions + 1);
  g_autoptr (GArray) gaps = tessera_gaps_new ();
  uint64_t height = 0;

  for (uint32_t i = 0; i < n_decisions; i++)
    ends[i] = (TesseraKeyed){ decisions[i].end, i };
  tessera_demand_memory (tessera_sort_keyed (ends, n_decisions));
  for (size_t i = 0, n_ended = 0; i < n_decisions; i++)
    {
      TesseraDecision *decision = &decisions[i];

      /* What ends by now began before it: it has a place. */
      for (; ends[n_ended].key <= decision->begin; n_ended++)
        {
          const TesseraDecision *ended = &decisions[ends[n_ended].value];

          tessera_gaps_give (gaps, ended->offset_bytes,
                             ended->offset_bytes + ended->size_bytes);
        }
      decision->offset_bytes = tessera_gaps_find (gaps, decision->size_bytes, false);
      tessera_gaps_take (gaps, decision->offset_bytes,
                         decision->offset_bytes + decision->size_bytes);
      height = MAX (height, decision->offset_bytes + decision->size_bytes);
    }
  return height;
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
