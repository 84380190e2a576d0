/*
 * Ends of blocks that other streams use as well. See ordered.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/plan/ordered.h"

#include <stdlib.h>

/* Where nobody else uses a block its completion is the event after its free. */
static bool
is_held_back (const TesseraBlock *block)
{
  return block->pool == 0 && block->freed_index > block->born_index &&
         block->died_index - block->freed_index > 1 &&
         block->freed_index < block->died_index && !(block->flags & TESSERA_FAILED);
}

TesseraStatus
tessera_order_ends (TesseraBlocks *blocks, uint64_t from_bytes, uint32_t **out_noticed)
{
  uint32_t *noticed = malloc ((blocks->n_blocks + 1) * sizeof *noticed);
  bool is_any = false;

  *out_noticed = NULL;
  if (!noticed)
    return TESSERA_NO_MEMORY;
  for (size_t i = 0; i < blocks->n_blocks; i++)
    {
      TesseraBlock *block = &blocks->blocks[i];

      noticed[i] = block->died_index;
      if (block->block_bytes < from_bytes || !is_held_back (block))
        continue;
      block->died_index = block->freed_index;
      is_any = true;
    }
  if (is_any)
    *out_noticed = noticed;
  else
    free (noticed);
  return TESSERA_OK;
}

static bool
add_lag (const TesseraRun *run, const uint32_t *noticed, uint32_t block, TesseraLag *lag)
{
  const TesseraEvent *events = run->trace->events;
  uint32_t died = run->blocks->blocks[block].died_index, at = noticed[block];
  int64_t ns;

  if (at == died)
    return false;
  if (at - died > lag->n_events)
    lag->n_events = at - died;
  if (at >= run->trace->n_events)
    at = (uint32_t) run->trace->n_events - 1;
  if (run->trace->has_time &&
      !__builtin_sub_overflow (events[at].at_ns, events[died].at_ns, &ns) && ns > lag->ns)
    lag->ns = ns;
  return true;
}

bool
tessera_has_lag (const TesseraRun *run,
                 const uint32_t *noticed,
                 uint32_t block,
                 TesseraLag *out_lag)
{
  const TesseraBlock *of = &run->blocks->blocks[block];
  bool has_lag = false;

  *out_lag = (TesseraLag){ .ns = run->trace->has_time ? 0 : TESSERA_NO_SLACK };
  if (!noticed)
    return false;
  if (!run->repeats || of->flags & TESSERA_AT_START || of->born_index < run->step_begin ||
      of->born_index >= run->step_end)
    return add_lag (run, noticed, block, out_lag);
  for (uint32_t k = 0; k <= run->last_step - run->first_step; k++)
    {
      uint32_t ordinal = run->ordinal_of[of->born_index - run->step_begin];
      uint32_t event = run->requests[(size_t) k * run->n_requests + ordinal];

      has_lag |= add_lag (run, noticed, run->blocks->block_of_event[event], out_lag);
    }
  return has_lag;
}
