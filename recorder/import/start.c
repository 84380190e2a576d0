/*
 * The state at the start of a trace, found by walking from its end backwards.
 *
 * alloc takes its block away; free_completed puts a pending block back, free_requested
 * makes it live; segment_alloc takes the segment away, segment_free puts it back; map and
 * unmap likewise with ranges. What is left before the first event is the start.
 *
 * One thing is not recorded: how large a block was that is older than the trace and freed
 * in it. In small pools and expandable ranges it is the request rounded up. In a large
 * segment it may also own a tail of at most 1 MiB, because such a rest is never split
 * off. While walking, each such block remembers the lowest address at which anything
 * begins behind it; a gap of at most 1 MiB to there is the tail. A larger gap leaves it
 * open: no tail is nearly always right, and a replay finds out (tail_open).
 *
 * Example: request 5 MiB + 100, next block begins 300 KiB behind its rounded end: the
 * block has a tail of 300 KiB. Cost: O(n log n) for n events, memory for what is live at
 * once.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdlib.h>
#include <string.h>

#include "allocator/caching.h"
#include "allocator/tree.h"
#include "recorder/import/snapshot.h"

#define SMALL_SEGMENT_BYTES ((uint64_t) 2 << 20)

typedef struct
{
  TesseraTreeNode node; /* first: a node is its item */
  uint64_t size_bytes;
  uint32_t stack;
  uint16_t stream;
  uint16_t pool;
  bool is_small;
  bool is_expandable;
} Segment;

typedef struct
{
  TesseraTreeNode node;
  uint64_t size_bytes;  /* as asked for */
  uint64_t block_bytes; /* known ones */
  uint64_t upper;       /* unknown ones: nothing of theirs lies at or above */
  uint32_t stack;
  bool is_known;
  bool is_pending;
} Block;

/* Which pool an address of an expandable range was ever seen to serve. */
typedef struct
{
  TesseraTreeNode node;
  uint16_t pool;
  bool is_small;
} Known;

typedef struct
{
  TesseraTrace *trace;
  TesseraTree segments, blocks, known;
  bool needs_pools; /* some event does not say its pool, and there is more than one */
  uint64_t n_unknown_allocs, n_double_frees, n_outside, n_unknown_requests,
      n_unknown_segments, n_overlaps, n_size_differs, n_tails, n_open;
} Rewind;

static uint64_t
addr_of (const TesseraTreeNode *node)
{
  return node->key.major;
}

static TesseraTreeKey
key_of (uint64_t addr)
{
  return (TesseraTreeKey){ .major = addr };
}

static TesseraTreeNode *
at (const TesseraTree *tree, uint64_t addr)
{
  TesseraTreeNode *node = tessera_tree_at_least (tree, key_of (addr));

  return node != NULL && addr_of (node) == addr ? node : NULL;
}

/* The last node at or below @addr. */
static TesseraTreeNode *
floor_of (const TesseraTree *tree, uint64_t addr)
{
  return tessera_tree_below (tree, (TesseraTreeKey){ .major = addr, .middle = 1 });
}

static uint64_t
end_of (const Segment *segment)
{
  return addr_of (&segment->node) + segment->size_bytes;
}

static Segment *
segment_over (const Rewind *rewind, uint64_t addr)
{
  Segment *segment = (Segment *) floor_of (&rewind->segments, addr);

  return segment != NULL && addr < end_of (segment) ? segment : NULL;
}

static void
drop (TesseraTree *tree, TesseraTreeNode *node)
{
  tessera_tree_remove (tree, node);
  free (node);
}

/* Nothing may begin there yet. */
static TesseraStatus
add_segment (Rewind *rewind, uint64_t addr, const Segment *like, uint64_t size_bytes)
{
  Segment *segment = malloc (sizeof *segment);

  if (segment == NULL)
    return TESSERA_NO_MEMORY;
  *segment = *like;
  segment->size_bytes = size_bytes;
  tessera_tree_insert (&rewind->segments, &segment->node, key_of (addr));
  return TESSERA_OK;
}

static TesseraStatus
remember (Rewind *rewind, uint64_t addr, bool is_small, uint16_t pool)
{
  Known *known = (Known *) at (&rewind->known, addr);

  if (known == NULL)
    {
      known = malloc (sizeof *known);
      if (known == NULL)
        return TESSERA_NO_MEMORY;
      tessera_tree_insert (&rewind->known, &known->node, key_of (addr));
    }
  known->is_small = is_small;
  known->pool = pool;
  return TESSERA_OK;
}

static const Known *
nearest (const Rewind *rewind, uint64_t addr)
{
  const TesseraTreeNode *below = floor_of (&rewind->known, addr);
  const TesseraTreeNode *above = tessera_tree_at_least (&rewind->known, key_of (addr));

  if (below == NULL || above == NULL)
    return (const Known *) (below != NULL ? below : above);
  return (const Known *) (addr - addr_of (below) <= addr_of (above) - addr ? below
                                                                           : above);
}

/* A range that is not whole large pages serves small requests: they map 2 MiB at a time.
 */
static bool
maps_small_pages (const Rewind *rewind, const TesseraEvent *event)
{
  return event->size_bytes % rewind->trace->settings.large_segment_bytes != 0;
}

static TesseraStatus
learn_map (Rewind *rewind, const TesseraEvent *event)
{
  bool is_small = maps_small_pages (rewind, event);
  const Known *near = nearest (rewind, event->addr);
  uint16_t pool = near != NULL && near->is_small == is_small ? near->pool : 0;

  return remember (rewind, event->addr, is_small, event->pool_known ? event->pool : pool);
}

/* The end of the trace, and what its map entries say about expandable ranges. */
static TesseraStatus
begin_at_end (Rewind *rewind)
{
  const TesseraTrace *trace = rewind->trace;
  TesseraStatus status = TESSERA_OK;

  for (size_t i = 0; i < trace->end.n_segments && status == TESSERA_OK; i++)
    {
      const TesseraSegment *from = &trace->end.segments[i];
      Segment segment = { .stack = from->stack,
                          .stream = from->stream,
                          .pool = from->pool,
                          .is_small = from->is_small,
                          .is_expandable = from->is_expandable };

      if (at (&rewind->segments, from->addr) != NULL)
        continue; /* counted by the importer */
      status = add_segment (rewind, from->addr, &segment, from->size_bytes);
      if (status == TESSERA_OK && from->is_expandable)
        status = remember (rewind, from->addr, from->is_small, from->pool);
    }
  for (size_t i = 0; i < trace->end.n_blocks && status == TESSERA_OK; i++)
    {
      const TesseraHeldBlock *from = &trace->end.blocks[i];
      Block *block;

      if (from->state == TESSERA_BLOCK_FREE || at (&rewind->blocks, from->addr) != NULL)
        continue;
      block = calloc (1, sizeof *block);
      if (block == NULL)
        return TESSERA_NO_MEMORY;
      block->size_bytes = from->size_bytes;
      block->block_bytes = from->block_bytes;
      block->stack = from->stack;
      block->is_known = true;
      block->is_pending = from->state == TESSERA_BLOCK_PENDING;
      tessera_tree_insert (&rewind->blocks, &block->node, key_of (from->addr));
    }
  for (size_t i = 0; i < trace->n_events && status == TESSERA_OK; i++)
    if (trace->events[i].action == TESSERA_SEGMENT_MAP)
      status = learn_map (rewind, &trace->events[i]);
  return status;
}

/* Blocks */

/* The least a block can take, whatever the settings were when it was made. */
static uint64_t
least_end (uint64_t addr, uint64_t size_bytes)
{
  return addr + (size_bytes + TESSERA_MIN_BLOCK_BYTES - 1) / TESSERA_MIN_BLOCK_BYTES *
                    TESSERA_MIN_BLOCK_BYTES;
}

/* What an allocation got was free before it: other blocks there are older only because
 * their own allocation is missing or wrong. */
static void
drop_overlapped (Rewind *rewind, const TesseraEvent *event)
{
  uint64_t end = least_end (event->addr, event->size_bytes);
  TesseraTreeNode *node = tessera_tree_below (&rewind->blocks, key_of (event->addr));

  if (node != NULL &&
      least_end (addr_of (node), ((Block *) node)->size_bytes) > event->addr)
    {
      rewind->n_overlaps++;
      drop (&rewind->blocks, node);
    }
  while ((node = tessera_tree_at_least (&rewind->blocks, key_of (event->addr))) != NULL &&
         addr_of (node) < end)
    {
      rewind->n_overlaps++;
      drop (&rewind->blocks, node);
    }
}

static void
undo_alloc (Rewind *rewind, const TesseraEvent *event)
{
  Block *block = (Block *) at (&rewind->blocks, event->addr);

  if (block == NULL)
    rewind->n_unknown_allocs++;
  else
    {
      rewind->n_size_differs += block->size_bytes != event->size_bytes;
      drop (&rewind->blocks, &block->node);
    }
  drop_overlapped (rewind, event);
}

static TesseraStatus
undo_free_completed (Rewind *rewind, const TesseraEvent *event)
{
  TesseraTreeNode *above = tessera_tree_at_least (&rewind->blocks, key_of (event->addr));
  const Segment *segment = segment_over (rewind, event->addr);
  Block *block, *below;

  if (above != NULL && addr_of (above) == event->addr)
    {
      rewind->n_double_frees++;
      return TESSERA_OK;
    }
  if (segment == NULL && rewind->trace->has_segments)
    {
      rewind->n_outside++;
      return TESSERA_OK;
    }
  block = calloc (1, sizeof *block);
  if (block == NULL)
    return TESSERA_NO_MEMORY;
  block->size_bytes = event->size_bytes;
  block->upper = segment != NULL ? end_of (segment) : UINT64_MAX;
  if (above != NULL && addr_of (above) < block->upper)
    block->upper = addr_of (above);
  block->stack = TESSERA_NONE;
  block->is_pending = true;
  tessera_tree_insert (&rewind->blocks, &block->node, key_of (event->addr));
  below = (Block *) tessera_tree_previous (&block->node);
  if (below != NULL && !below->is_known && below->upper > event->addr)
    below->upper = event->addr;
  return TESSERA_OK;
}

static void
undo_free_requested (Rewind *rewind, const TesseraEvent *event)
{
  Block *block = (Block *) at (&rewind->blocks, event->addr);

  if (block == NULL)
    rewind->n_unknown_requests++;
  else
    block->is_pending = false;
}

/* Segments */

static void
undo_segment_alloc (Rewind *rewind, const TesseraEvent *event)
{
  Segment *segment = (Segment *) at (&rewind->segments, event->addr);

  if (segment == NULL)
    {
      rewind->n_unknown_segments++;
      return;
    }
  rewind->n_size_differs += segment->size_bytes != event->size_bytes;
  drop (&rewind->segments, &segment->node);
}

static TesseraStatus
undo_segment_free (Rewind *rewind, const TesseraEvent *event)
{
  Segment segment = { .stack = TESSERA_NONE,
                      .stream = event->stream,
                      .pool = event->pool_known ? event->pool : 0,
                      .is_small = event->size_bytes == SMALL_SEGMENT_BYTES };

  if (at (&rewind->segments, event->addr) != NULL)
    {
      rewind->n_unknown_segments++;
      return TESSERA_OK;
    }
  return add_segment (rewind, event->addr, &segment, event->size_bytes);
}

static TesseraStatus
undo_segment_map (Rewind *rewind, const TesseraEvent *event)
{
  Segment *segment = segment_over (rewind, event->addr);
  Segment like;
  uint64_t begin, end, cut = event->addr + event->size_bytes;
  TesseraStatus status = TESSERA_OK;

  if (segment == NULL)
    {
      rewind->n_unknown_segments++;
      return TESSERA_OK;
    }
  like = *segment;
  begin = addr_of (&segment->node);
  end = end_of (segment);
  drop (&rewind->segments, &segment->node);
  if (event->addr > begin)
    status = add_segment (rewind, begin, &like, event->addr - begin);
  if (status == TESSERA_OK && cut < end && at (&rewind->segments, cut) == NULL)
    status = add_segment (rewind, cut, &like, end - cut);
  return status;
}

static bool
can_join (const Segment *segment, const Segment *like)
{
  return segment != NULL && segment->is_expandable && segment->stream == like->stream &&
         segment->is_small == like->is_small && segment->pool == like->pool;
}

static TesseraStatus
undo_segment_unmap (Rewind *rewind, const TesseraEvent *event)
{
  const Known *near = nearest (rewind, event->addr);
  Segment like = { .stack = TESSERA_NONE,
                   .stream = event->stream,
                   .is_expandable = true };
  uint64_t begin = event->addr, end = event->addr + event->size_bytes;
  Segment *joined;
  TesseraStatus status;

  like.is_small = near != NULL ? near->is_small : maps_small_pages (rewind, event);
  like.pool = event->pool_known ? event->pool : near != NULL ? near->pool : 0;
  status = remember (rewind, event->addr, like.is_small, like.pool);
  if (status != TESSERA_OK)
    return status;
  joined = begin > 0 ? segment_over (rewind, begin - 1) : NULL;
  if (can_join (joined, &like))
    {
      begin = addr_of (&joined->node);
      end = end_of (joined) > end ? end_of (joined) : end;
      drop (&rewind->segments, &joined->node);
    }
  joined = (Segment *) at (&rewind->segments, end);
  if (can_join (joined, &like))
    {
      end = end_of (joined);
      drop (&rewind->segments, &joined->node);
    }
  if (at (&rewind->segments, begin) != NULL)
    {
      rewind->n_unknown_segments++;
      return TESSERA_OK;
    }
  return add_segment (rewind, begin, &like, end - begin);
}

static TesseraStatus
undo (Rewind *rewind, const TesseraEvent *event)
{
  switch ((TesseraAction) event->action)
    {
    case TESSERA_ALLOC:
      undo_alloc (rewind, event);
      return TESSERA_OK;
    case TESSERA_FREE_REQUESTED:
      undo_free_requested (rewind, event);
      return TESSERA_OK;
    case TESSERA_FREE_COMPLETED:
      return undo_free_completed (rewind, event);
    case TESSERA_SEGMENT_ALLOC:
      undo_segment_alloc (rewind, event);
      return TESSERA_OK;
    case TESSERA_SEGMENT_FREE:
      return undo_segment_free (rewind, event);
    case TESSERA_SEGMENT_MAP:
      return undo_segment_map (rewind, event);
    case TESSERA_SEGMENT_UNMAP:
      return undo_segment_unmap (rewind, event);
    case TESSERA_OOM:
    case TESSERA_SNAPSHOT:
    case TESSERA_MARK:
      return TESSERA_OK;
    }
  return TESSERA_OK;
}

/* An event that does not say its pool has that of the segment around its address. */
static void
find_pool (Rewind *rewind, TesseraEvent *event)
{
  const Segment *segment;

  if (event->pool_known || event->action > TESSERA_SEGMENT_UNMAP)
    return;
  segment = segment_over (rewind, event->addr);
  if (segment != NULL)
    event->pool = segment->pool;
}

static TesseraStatus
walk_back (Rewind *rewind)
{
  TesseraTrace *trace = rewind->trace;

  for (size_t i = trace->n_events; i-- > 0;)
    {
      TesseraEvent *event = &trace->events[i];
      bool is_back_after =
          event->action == TESSERA_SEGMENT_FREE || event->action == TESSERA_SEGMENT_UNMAP;
      TesseraStatus status;

      if (rewind->needs_pools && !is_back_after)
        find_pool (rewind, event);
      status = undo (rewind, event);
      if (status != TESSERA_OK)
        return status;
      if (rewind->needs_pools && is_back_after)
        find_pool (rewind, event);
    }
  return TESSERA_OK;
}

/* The start */

/* How large an unknown block was, see the head of this file. */
static void
settle_size (Rewind *rewind, const Segment *segment, Block *block, bool *out_open)
{
  const TesseraSettings *settings = &rewind->trace->settings;
  uint64_t rounded = tessera_round_size (settings, block->size_bytes);
  uint64_t room = block->upper - addr_of (&block->node);

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
      const Segment *from = (const Segment *) node;
      TesseraSegment segment = { .addr = addr_of (node),
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
      end = end_of (from);
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
      Block *from = (Block *) node;
      const TesseraTreeNode *next = tessera_tree_next (node);
      TesseraHeldBlock block = { .addr = addr_of (node), .stack = from->stack };
      const Segment *segment;
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
      segment = segment_over (rewind, block.addr);
      if (!from->is_known)
        settle_size (rewind, segment, from, &is_open);
      if (next != NULL && addr_of (next) < limit)
        limit = addr_of (next);
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

static void
clear_tree (TesseraTree *tree)
{
  while (tree->root != NULL)
    drop (tree, tree->root);
}

TesseraStatus
tessera_rewind (TesseraTrace *trace)
{
  Rewind rewind = { .trace = trace, .needs_pools = trace->n_pools > 1 };
  TesseraStatus status = begin_at_end (&rewind);

  if (status == TESSERA_OK)
    status = walk_back (&rewind);
  if (status == TESSERA_OK)
    status = settle_segments (&rewind);
  if (status == TESSERA_OK)
    status = settle_blocks (&rewind);
  if (status == TESSERA_OK)
    status = note_oddities (&rewind);
  clear_tree (&rewind.segments);
  clear_tree (&rewind.blocks);
  clear_tree (&rewind.known);
  trace->starts_empty = trace->start.n_segments == 0 && trace->start.n_blocks == 0;
  return status;
}
