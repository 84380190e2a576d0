/*
 * See what-if.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/what-if.h"

#include "planner/memory.h"

void
tessera_moments_of_peaks (const TesseraBlocks *blocks,
                          const TesseraStructure *structure,
                          TesseraMoments *out_moments)
{
  size_t n = structure->n_steps;

  out_moments->n_events = 0;
  out_moments->events = g_new (uint32_t, n + 1);
  for (size_t i = 0; i < n; i++)
    {
      const TesseraStep *step = &structure->steps[i];

      if (step->begin_index < step->end_index)
        (void) tessera_blocks_bound (blocks, step->begin_index, step->end_index,
                                     &out_moments->events[out_moments->n_events++]);
    }
  if (out_moments->n_events == 0 && blocks->n_events > 0)
    {
      (void) tessera_blocks_bound (blocks, 0, blocks->n_events, &out_moments->events[0]);
      out_moments->n_events = 1;
    }
}

/* The first of @moments at which the block is alive and older, or its end; without
 * moments it is gone as soon as it was there. */
static uint32_t
end_of (const TesseraBlock *block, const TesseraMoments *moments)
{
  size_t low = 0, high = moments != NULL ? moments->n_events : 0;

  if (moments == NULL)
    return block->born_index + 1;
  while (low < high)
    {
      size_t middle = low + (high - low) / 2;

      if (moments->events[middle] <= block->born_index)
        low = middle + 1;
      else
        high = middle;
    }
  return low < moments->n_events && moments->events[low] < block->died_index
             ? moments->events[low]
             : block->died_index;
}

static void
copy_blocks (const TesseraBlocks *blocks, TesseraBlocks *out_copy)
{
  *out_copy = *blocks;
  out_copy->blocks = g_new (TesseraBlock, blocks->n_blocks + 1);
  if (blocks->n_blocks > 0)
    memcpy (out_copy->blocks, blocks->blocks,
            blocks->n_blocks * sizeof *out_copy->blocks);
}

void
tessera_blocks_ended_at_free (const TesseraBlocks *blocks, TesseraBlocks *out_copy)
{
  copy_blocks (blocks, out_copy);
  for (size_t i = 0; i < blocks->n_blocks; i++)
    {
      TesseraBlock *block = &out_copy->blocks[i];

      block->died_index =
          MIN (block->died_index, MAX (block->freed_index, block->born_index + 1));
    }
  tessera_blocks_order_deaths (out_copy);
}

static void
free_early (TesseraBlock *block, uint32_t end)
{
  block->died_index = end;
  if (block->freed_index > end)
    block->freed_index = end;
  block->flags &= (uint16_t) ~TESSERA_AT_END;
}

void
tessera_blocks_freed_before (const TesseraBlocks *blocks,
                             const uint8_t *chosen,
                             const TesseraMoments *moments,
                             size_t *out_n_changed,
                             uint64_t *out_changed_bytes,
                             TesseraBlocks *out_copy)
{
  *out_n_changed = 0;
  *out_changed_bytes = 0;
  copy_blocks (blocks, out_copy);
  for (size_t i = 0; i < blocks->n_blocks; i++)
    {
      uint32_t end = chosen[i] ? end_of (&blocks->blocks[i], moments) : 0;

      if (!chosen[i] || end == blocks->blocks[i].died_index)
        continue;
      free_early (&out_copy->blocks[i], end);
      ++*out_n_changed;
      *out_changed_bytes += blocks->blocks[i].block_bytes;
    }
  tessera_blocks_order_deaths (out_copy);
}

void
tessera_blocks_freed_before_clear (TesseraBlocks *copy)
{
  free (copy->blocks);
  free (copy->by_death);
  copy->blocks = NULL;
  copy->by_death = NULL;
}
