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
#include "recorder/import/start-internal.h"

#include <stdlib.h>

#include "allocator/caching.h"

#define SMALL_SEGMENT_BYTES ((uint64_t) 2 << 20)

static void
drop (TesseraTree *tree, TesseraTreeNode *node)
{
  tessera_tree_remove (tree, node);
  free (node);
}

/* Nothing may begin there yet. */
static TesseraStatus
add_segment (Rewind *rewind,
             uint64_t addr,
             const RewindSegment *like,
             uint64_t size_bytes)
{
  RewindSegment *segment = malloc (sizeof *segment);

  if (segment == NULL)
    return TESSERA_NO_MEMORY;
  *segment = *like;
  segment->size_bytes = size_bytes;
  tessera_tree_insert (&rewind->segments, &segment->node, rewind_key_of (addr));
  return TESSERA_OK;
}

static TesseraStatus
remember (Rewind *rewind, uint64_t addr, bool is_small, uint16_t pool)
{
  RewindKnown *known = (RewindKnown *) rewind_at (&rewind->known, addr);

  if (known == NULL)
    {
      known = malloc (sizeof *known);
      if (known == NULL)
        return TESSERA_NO_MEMORY;
      tessera_tree_insert (&rewind->known, &known->node, rewind_key_of (addr));
    }
  known->is_small = is_small;
  known->pool = pool;
  return TESSERA_OK;
}

static const RewindKnown *
nearest (const Rewind *rewind, uint64_t addr)
{
  const TesseraTreeNode *below = rewind_floor_of (&rewind->known, addr);
  const TesseraTreeNode *above =
      tessera_tree_at_least (&rewind->known, rewind_key_of (addr));

  if (below == NULL || above == NULL)
    return (const RewindKnown *) (below != NULL ? below : above);
  return (const RewindKnown *) (addr - rewind_addr_of (below) <=
                                        rewind_addr_of (above) - addr
                                    ? below
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
  const RewindKnown *near = nearest (rewind, event->addr);
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
      RewindSegment segment = { .stack = from->stack,
                                .stream = from->stream,
                                .pool = from->pool,
                                .is_small = from->is_small,
                                .is_expandable = from->is_expandable };

      if (rewind_at (&rewind->segments, from->addr) != NULL)
        continue; /* counted by the importer */
      status = add_segment (rewind, from->addr, &segment, from->size_bytes);
      if (status == TESSERA_OK && from->is_expandable)
        status = remember (rewind, from->addr, from->is_small, from->pool);
    }
  for (size_t i = 0; i < trace->end.n_blocks && status == TESSERA_OK; i++)
    {
      const TesseraHeldBlock *from = &trace->end.blocks[i];
      RewindBlock *block;

      if (from->state == TESSERA_BLOCK_FREE ||
          rewind_at (&rewind->blocks, from->addr) != NULL)
        continue;
      block = calloc (1, sizeof *block);
      if (block == NULL)
        return TESSERA_NO_MEMORY;
      block->size_bytes = from->size_bytes;
      block->block_bytes = from->block_bytes;
      block->stack = from->stack;
      block->is_known = true;
      block->is_pending = from->state == TESSERA_BLOCK_PENDING;
      tessera_tree_insert (&rewind->blocks, &block->node, rewind_key_of (from->addr));
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
  TesseraTreeNode *node =
      tessera_tree_below (&rewind->blocks, rewind_key_of (event->addr));

  if (node != NULL &&
      least_end (rewind_addr_of (node), ((RewindBlock *) node)->size_bytes) > event->addr)
    {
      rewind->n_overlaps++;
      drop (&rewind->blocks, node);
    }
  while ((node = tessera_tree_at_least (&rewind->blocks, rewind_key_of (event->addr))) !=
             NULL &&
         rewind_addr_of (node) < end)
    {
      rewind->n_overlaps++;
      drop (&rewind->blocks, node);
    }
}

static void
undo_alloc (Rewind *rewind, const TesseraEvent *event)
{
  RewindBlock *block = (RewindBlock *) rewind_at (&rewind->blocks, event->addr);

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
  TesseraTreeNode *above =
      tessera_tree_at_least (&rewind->blocks, rewind_key_of (event->addr));
  const RewindSegment *segment = rewind_segment_over (rewind, event->addr);
  RewindBlock *block, *below;

  if (above != NULL && rewind_addr_of (above) == event->addr)
    {
      rewind->n_double_frees++;
      return TESSERA_OK;
    }
  rewind->n_outside += segment == NULL && rewind->trace->has_segments;
  block = calloc (1, sizeof *block);
  if (block == NULL)
    return TESSERA_NO_MEMORY;
  block->size_bytes = event->size_bytes;
  block->upper = segment != NULL ? rewind_end_of (segment) : UINT64_MAX;
  if (above != NULL && rewind_addr_of (above) < block->upper)
    block->upper = rewind_addr_of (above);
  block->stack = TESSERA_NONE;
  block->is_pending = true;
  tessera_tree_insert (&rewind->blocks, &block->node, rewind_key_of (event->addr));
  below = (RewindBlock *) tessera_tree_previous (&block->node);
  if (below != NULL && !below->is_known && below->upper > event->addr)
    below->upper = event->addr;
  return TESSERA_OK;
}

static void
undo_free_requested (Rewind *rewind, const TesseraEvent *event)
{
  RewindBlock *block = (RewindBlock *) rewind_at (&rewind->blocks, event->addr);

  if (block == NULL)
    rewind->n_unknown_requests++;
  else
    {
      rewind->n_size_differs += block->size_bytes != event->size_bytes;
      block->is_pending = false;
    }
}

/* Segments */

static void
undo_segment_alloc (Rewind *rewind, const TesseraEvent *event)
{
  RewindSegment *segment = (RewindSegment *) rewind_at (&rewind->segments, event->addr);

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
  RewindSegment segment = { .stack = TESSERA_NONE,
                            .stream = event->stream,
                            .pool = event->pool_known ? event->pool : 0,
                            .is_small = event->size_bytes == SMALL_SEGMENT_BYTES };

  if (rewind_at (&rewind->segments, event->addr) != NULL)
    {
      rewind->n_unknown_segments++;
      return TESSERA_OK;
    }
  return add_segment (rewind, event->addr, &segment, event->size_bytes);
}

static TesseraStatus
undo_segment_map (Rewind *rewind, const TesseraEvent *event)
{
  RewindSegment *segment = rewind_segment_over (rewind, event->addr);
  RewindSegment like;
  uint64_t begin, end, cut = event->addr + event->size_bytes;
  TesseraStatus status = TESSERA_OK;

  if (segment == NULL)
    {
      rewind->n_unknown_segments++;
      return TESSERA_OK;
    }
  like = *segment;
  begin = rewind_addr_of (&segment->node);
  end = rewind_end_of (segment);
  drop (&rewind->segments, &segment->node);
  if (event->addr > begin)
    status = add_segment (rewind, begin, &like, event->addr - begin);
  if (status == TESSERA_OK && cut < end && rewind_at (&rewind->segments, cut) == NULL)
    status = add_segment (rewind, cut, &like, end - cut);
  return status;
}

static bool
can_join (const RewindSegment *segment, const RewindSegment *like)
{
  return segment != NULL && segment->is_expandable && segment->stream == like->stream &&
         segment->is_small == like->is_small && segment->pool == like->pool;
}

static TesseraStatus
undo_segment_unmap (Rewind *rewind, const TesseraEvent *event)
{
  const RewindKnown *near = nearest (rewind, event->addr);
  RewindSegment like = { .stack = TESSERA_NONE,
                         .stream = event->stream,
                         .is_expandable = true };
  uint64_t begin = event->addr, end = event->addr + event->size_bytes;
  RewindSegment *joined;
  TesseraStatus status;

  like.is_small = near != NULL ? near->is_small : maps_small_pages (rewind, event);
  like.pool = event->pool_known ? event->pool : near != NULL ? near->pool : 0;
  status = remember (rewind, event->addr, like.is_small, like.pool);
  if (status != TESSERA_OK)
    return status;
  joined = begin > 0 ? rewind_segment_over (rewind, begin - 1) : NULL;
  if (can_join (joined, &like))
    {
      begin = rewind_addr_of (&joined->node);
      end = rewind_end_of (joined) > end ? rewind_end_of (joined) : end;
      drop (&rewind->segments, &joined->node);
    }
  joined = (RewindSegment *) rewind_at (&rewind->segments, end);
  if (can_join (joined, &like))
    {
      end = rewind_end_of (joined);
      drop (&rewind->segments, &joined->node);
    }
  if (rewind_at (&rewind->segments, begin) != NULL)
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
  const RewindSegment *segment;

  if (event->pool_known || event->action > TESSERA_SEGMENT_UNMAP)
    return;
  segment = rewind_segment_over (rewind, event->addr);
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
    status = tessera_rewind_settle (&rewind);
  clear_tree (&rewind.segments);
  clear_tree (&rewind.blocks);
  clear_tree (&rewind.known);
  trace->starts_empty = trace->start.n_segments == 0 && trace->start.n_blocks == 0;
  return status;
}
