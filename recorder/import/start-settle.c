/*
 * Where the walk backwards arrived: the segments and blocks at the start of a trace.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "recorder/import/start-internal.h"

#include "allocator/caching.h"

/* How large an unknown block was, see the head of start.c. */
static void
settle_size (Rewind *rewind,
             const RewindSegment *segment,
             RewindBlock *block,
             bool *out_open)
{
  const TesseraSettings *settings = &rewind->trace->settings;
  uint64_t rounded = tessera_round_size (settings, block->size_bytes);
  uint64_t room = block->upper - rewind_addr_of (&block->node);

  block->block_bytes = rounded;
  *out_open = false;
  if (rounded > room)
    {
      rewind->n_overlaps++;
      block->block_bytes = room;
    }
  else if (segment != NULL && rounded < room && !segment->is_small &&
           !segment->is_expandable)
    {
      if (room - rounded <= TESSERA_SMALL_BYTES || rounded >= settings->max_split_bytes)
        {
          rewind->n_tails++;
          block->block_bytes = room;
        }
      else
        {
          rewind->n_open++;
          *out_open = true;
        }
    }
}

static TesseraStatus
settle_segments (Rewind *rewind)
{
  uint64_t end = 0;

  for (TesseraTreeNode *node = tessera_tree_first (&rewind->segments); node != NULL;
       node = tessera_tree_next (node))
    {
      const RewindSegment *from = (const RewindSegment *) node;
      TesseraSegment segment = { .addr = rewind_addr_of (node),
                                 .size_bytes = from->size_bytes,
                                 .stack = from->stack,
                                 .stream = from->stream,
                                 .pool = from->pool,
                                 .is_small = from->is_small,
                                 .is_expandable = from->is_expandable };

      if (segment.size_bytes == 0 || segment.addr < end)
        {
          rewind->n_overlaps++;
          continue;
        }
      end = rewind_end_of (from);
      if (tessera_trace_add_segment (&rewind->trace->start, &segment) != TESSERA_OK)
        return TESSERA_NO_MEMORY;
    }
  return TESSERA_OK;
}

/* Blocks in order beside the segments in order; what lies in none, or over its neighbour,
 * is left out: whoever reads the start state may rely on it. */
static TesseraStatus
settle_blocks (Rewind *rewind)
{
  TesseraHeld *start = &rewind->trace->start;
  size_t k = 0;
  uint64_t end = 0;

  for (TesseraTreeNode *node = tessera_tree_first (&rewind->blocks); node != NULL;
       node = tessera_tree_next (node))
    {
      RewindBlock *from = (RewindBlock *) node;
      const TesseraTreeNode *next = tessera_tree_next (node);
      TesseraHeldBlock block = { .addr = rewind_addr_of (node), .stack = from->stack };
      const RewindSegment *segment;
      uint64_t limit = UINT64_MAX;
      bool is_open = false;

      while (k < start->n_segments &&
             start->segments[k].addr + start->segments[k].size_bytes <= block.addr)
        k++;
      if (k < start->n_segments && start->segments[k].addr <= block.addr)
        limit = start->segments[k].addr + start->segments[k].size_bytes;
      else if (rewind->trace->has_segments)
        {
          rewind->n_outside++;
          continue;
        }
      segment = rewind_segment_over (rewind, block.addr);
      if (!from->is_known)
        settle_size (rewind, segment, from, &is_open);
      if (next != NULL && rewind_addr_of (next) < limit)
        limit = rewind_addr_of (next);
      if (from->block_bytes > limit - block.addr)
        {
          rewind->n_overlaps++;
          from->block_bytes = limit - block.addr;
        }
      if (block.addr < end || from->block_bytes == 0)
        continue;
      block.size_bytes = from->size_bytes;
      block.block_bytes = from->block_bytes;
      block.state = from->is_pending ? TESSERA_BLOCK_PENDING : TESSERA_BLOCK_LIVE;
      block.tail_open = is_open;
      end = block.addr + block.block_bytes;
      if (tessera_trace_add_block (start, &block) != TESSERA_OK)
        return TESSERA_NO_MEMORY;
    }
  return TESSERA_OK;
}

static TesseraStatus
note_oddities (const Rewind *rewind)
{
  const struct
  {
    const char *key;
    uint64_t n;
    const char *text;
  } notes[] = {
    { "alloc_not_live", rewind->n_unknown_allocs, "allocations are not live afterwards" },
    { "free_still_live", rewind->n_double_frees, "freed blocks are live afterwards" },
    { "outside_segments", rewind->n_outside, "frees or blocks lie in no segment" },
    { "free_not_completed", rewind->n_unknown_requests, "free requests never complete" },
    { "segment_mismatch", rewind->n_unknown_segments,
      "segment entries contradict the end" },
    { "start_overlaps", rewind->n_overlaps, "ranges of the start state overlap: cut" },
    { "size_differs", rewind->n_size_differs,
      "sizes differ between entries and the end" },
    { "start_tails", rewind->n_tails, "blocks older than the trace own a tail" },
    { "start_tails_open", rewind->n_open, "blocks older than the trace may own a tail" },
  };

  for (size_t i = 0; i < sizeof notes / sizeof *notes; i++)
    if (tessera_note (rewind->trace, notes[i].key, notes[i].n, notes[i].text) !=
        TESSERA_OK)
      return TESSERA_NO_MEMORY;
  return TESSERA_OK;
}

TesseraStatus
tessera_rewind_settle (Rewind *rewind)
{
  TesseraStatus status = settle_segments (rewind);

  if (status == TESSERA_OK)
    status = settle_blocks (rewind);
  return status == TESSERA_OK ? note_oddities (rewind) : status;
}
