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
#include "allocator/caching.h"
#include "allocator/tree.h"
#include "recorder/import/private.h"

#define SMALL_SEGMENT_BYTES ((uint64_t) 2 << 20)

typedef struct
{
  TesseraTreeNode node; /* first: a node is its item */
  TesseraSegment segment;
} RewindSegment;

typedef struct
{
  TesseraTreeNode node;
  TesseraHeldBlock held; /* live or pending */
  uint64_t upper; /* of unknown size: nothing of its own lies at or above; else 0 */
} RewindBlock;

/* Which pool an address of an expandable range was ever seen to serve. */
typedef struct
{
  TesseraTreeNode node;
  uint16_t pool;
  bool is_small;
} RewindKnown;

typedef struct
{
  TesseraTrace *trace;
  TesseraTree segments, blocks, known;
  bool needs_pools; /* some event does not say its pool, and there is more than one */
  uint64_t n_unknown_allocs, n_double_frees, n_outside, n_unknown_requests,
      n_unknown_segments, n_overlaps, n_size_differs, n_tails, n_open;
} Rewind;

static uint64_t
rewind_addr_of (const TesseraTreeNode *node)
{
  return node->key.major;
}

static TesseraTreeKey
rewind_key_of (uint64_t addr)
{
  return (TesseraTreeKey){ .major = addr };
}

static TesseraTreeNode *
rewind_at (const TesseraTree *tree, uint64_t addr)
{
  TesseraTreeNode *node = tessera_tree_at_least (tree, rewind_key_of (addr));

  return node != NULL && rewind_addr_of (node) == addr ? node : NULL;
}

/* The last node at or below @addr. */
static TesseraTreeNode *
rewind_floor_of (const TesseraTree *tree, uint64_t addr)
{
  return tessera_tree_below (tree, (TesseraTreeKey){ .major = addr, .middle = 1 });
}

static uint64_t
rewind_end_of (const RewindSegment *segment)
{
  return segment->segment.addr + segment->segment.size_bytes;
}

static RewindSegment *
rewind_segment_over (const Rewind *rewind, uint64_t addr)
{
  RewindSegment *segment = (RewindSegment *) rewind_floor_of (&rewind->segments, addr);

  return segment != NULL && addr < rewind_end_of (segment) ? segment : NULL;
}

static void
drop (TesseraTree *tree, TesseraTreeNode *node)
{
  tessera_tree_remove (tree, node);
  g_free (node);
}

/* Nothing may begin there yet. */
static void
add_segment (Rewind *rewind,
             uint64_t addr,
             const TesseraSegment *like,
             uint64_t size_bytes)
{
  RewindSegment *segment = g_new (RewindSegment, 1);

  segment->segment = *like;
  segment->segment.addr = addr;
  segment->segment.size_bytes = size_bytes;
  tessera_tree_insert (&rewind->segments, &segment->node, rewind_key_of (addr));
}

static void
remember (Rewind *rewind, uint64_t addr, bool is_small, uint16_t pool)
{
  RewindKnown *known = (RewindKnown *) rewind_at (&rewind->known, addr);

  if (known == NULL)
    {
      known = g_new (RewindKnown, 1);
      tessera_tree_insert (&rewind->known, &known->node, rewind_key_of (addr));
    }
  known->is_small = is_small;
  known->pool = pool;
}

static RewindBlock *
add_block (Rewind *rewind, const TesseraHeldBlock *held)
{
  RewindBlock *block = g_new0 (RewindBlock, 1);

  block->held = *held;
  tessera_tree_insert (&rewind->blocks, &block->node, rewind_key_of (held->addr));
  return block;
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

static void
learn_map (Rewind *rewind, const TesseraEvent *event)
{
  bool is_small = maps_small_pages (rewind, event);
  const RewindKnown *near = nearest (rewind, event->addr);
  uint16_t pool = near != NULL && near->is_small == is_small ? near->pool : 0;
  remember (rewind, event->addr, is_small, event->pool_known ? event->pool : pool);
}

/* The end of the trace, and what its map entries say about expandable ranges. */
static void
begin_at_end (Rewind *rewind)
{
  const TesseraTrace *trace = rewind->trace;

  for (size_t i = 0; i < trace->end.n_segments; i++)
    {
      const TesseraSegment *segment = &trace->end.segments[i];

      if (rewind_at (&rewind->segments, segment->addr) != NULL)
        continue; /* counted by the importer */
      add_segment (rewind, segment->addr, segment, segment->size_bytes);
      if (segment->is_expandable)
        remember (rewind, segment->addr, segment->is_small, segment->pool);
    }
  for (size_t i = 0; i < trace->end.n_blocks; i++)
    {
      const TesseraHeldBlock *held = &trace->end.blocks[i];

      if (held->state != TESSERA_BLOCK_FREE &&
          rewind_at (&rewind->blocks, held->addr) == NULL)
        add_block (rewind, held);
    }
  for (size_t i = 0; i < trace->n_events; i++)
    if (trace->events[i].action == TESSERA_SEGMENT_MAP)
      learn_map (rewind, &trace->events[i]);
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

  if (node != NULL && least_end (rewind_addr_of (node),
                                 ((RewindBlock *) node)->held.size_bytes) > event->addr)
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
      rewind->n_size_differs += block->held.size_bytes != event->size_bytes;
      drop (&rewind->blocks, &block->node);
    }
  drop_overlapped (rewind, event);
}

static void
undo_free_completed (Rewind *rewind, const TesseraEvent *event)
{
  TesseraTreeNode *above =
      tessera_tree_at_least (&rewind->blocks, rewind_key_of (event->addr));
  const RewindSegment *segment = rewind_segment_over (rewind, event->addr);
  RewindBlock *block, *below;

  if (above != NULL && rewind_addr_of (above) == event->addr)
    {
      rewind->n_double_frees++;
      return;
    }
  rewind->n_outside += segment == NULL && rewind->trace->has_segments;
  block = add_block (rewind, &(TesseraHeldBlock){ .addr = event->addr,
                                                  .size_bytes = event->size_bytes,
                                                  .stack = TESSERA_NONE,
                                                  .state = TESSERA_BLOCK_PENDING });
  block->upper = segment != NULL ? rewind_end_of (segment) : UINT64_MAX;
  if (above != NULL && rewind_addr_of (above) < block->upper)
    block->upper = rewind_addr_of (above);
  below = (RewindBlock *) tessera_tree_previous (&block->node);
  if (below != NULL && below->upper > event->addr)
    below->upper = event->addr;
}

static void
undo_free_requested (Rewind *rewind, const TesseraEvent *event)
{
  RewindBlock *block = (RewindBlock *) rewind_at (&rewind->blocks, event->addr);

  if (block == NULL)
    rewind->n_unknown_requests++;
  else
    {
      rewind->n_size_differs += block->held.size_bytes != event->size_bytes;
      block->held.state = TESSERA_BLOCK_LIVE;
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
  rewind->n_size_differs += segment->segment.size_bytes != event->size_bytes;
  drop (&rewind->segments, &segment->node);
}

static void
undo_segment_free (Rewind *rewind, const TesseraEvent *event)
{
  TesseraSegment segment = { .stack = TESSERA_NONE,
                             .stream = event->stream,
                             .pool = event->pool_known ? event->pool : 0,
                             .is_small = event->size_bytes == SMALL_SEGMENT_BYTES };

  if (rewind_at (&rewind->segments, event->addr) != NULL)
    {
      rewind->n_unknown_segments++;
      return;
    }
  add_segment (rewind, event->addr, &segment, event->size_bytes);
}

static void
undo_segment_map (Rewind *rewind, const TesseraEvent *event)
{
  RewindSegment *segment = rewind_segment_over (rewind, event->addr);
  TesseraSegment like;
  uint64_t end, cut = event->addr + event->size_bytes;

  if (segment == NULL)
    {
      rewind->n_unknown_segments++;
      return;
    }
  like = segment->segment;
  end = rewind_end_of (segment);
  drop (&rewind->segments, &segment->node);
  if (event->addr > like.addr)
    add_segment (rewind, like.addr, &like, event->addr - like.addr);
  if (cut < end && rewind_at (&rewind->segments, cut) == NULL)
    add_segment (rewind, cut, &like, end - cut);
}

static bool
can_join (const RewindSegment *joined, const TesseraSegment *like)
{
  const TesseraSegment *segment = joined != NULL ? &joined->segment : NULL;

  return segment != NULL && segment->is_expandable && segment->stream == like->stream &&
         segment->is_small == like->is_small && segment->pool == like->pool;
}

static void
undo_segment_unmap (Rewind *rewind, const TesseraEvent *event)
{
  const RewindKnown *near = nearest (rewind, event->addr);
  TesseraSegment like = { .stack = TESSERA_NONE,
                          .stream = event->stream,
                          .is_expandable = true };
  uint64_t begin = event->addr, end = event->addr + event->size_bytes;
  RewindSegment *joined;

  like.is_small = near != NULL ? near->is_small : maps_small_pages (rewind, event);
  like.pool = event->pool_known ? event->pool : near != NULL ? near->pool : 0;
  remember (rewind, event->addr, like.is_small, like.pool);
  joined = begin > 0 ? rewind_segment_over (rewind, begin - 1) : NULL;
  if (can_join (joined, &like))
    {
      begin = joined->segment.addr;
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
      return;
    }
  add_segment (rewind, begin, &like, end - begin);
}

static void
undo (Rewind *rewind, const TesseraEvent *event)
{
  switch ((TesseraAction) event->action)
    {
    case TESSERA_ALLOC:
      undo_alloc (rewind, event);
      break;
    case TESSERA_FREE_REQUESTED:
      undo_free_requested (rewind, event);
      break;
    case TESSERA_FREE_COMPLETED:
      undo_free_completed (rewind, event);
      break;
    case TESSERA_SEGMENT_ALLOC:
      undo_segment_alloc (rewind, event);
      break;
    case TESSERA_SEGMENT_FREE:
      undo_segment_free (rewind, event);
      break;
    case TESSERA_SEGMENT_MAP:
      undo_segment_map (rewind, event);
      break;
    case TESSERA_SEGMENT_UNMAP:
      undo_segment_unmap (rewind, event);
      break;
    case TESSERA_OOM:
    case TESSERA_SNAPSHOT:
    case TESSERA_MARK:
      break;
    }
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
    event->pool = segment->segment.pool;
}

static void
walk_back (Rewind *rewind)
{
  TesseraTrace *trace = rewind->trace;

  for (size_t i = trace->n_events; i-- > 0;)
    {
      TesseraEvent *event = &trace->events[i];
      bool is_back_after =
          event->action == TESSERA_SEGMENT_FREE || event->action == TESSERA_SEGMENT_UNMAP;

      if (rewind->needs_pools && !is_back_after)
        find_pool (rewind, event);
      undo (rewind, event);
      if (rewind->needs_pools && is_back_after)
        find_pool (rewind, event);
    }
}

/* Where the walk arrived */

/* How large an unknown block was, see the head of this file. */
static void
settle_size (Rewind *rewind, const TesseraSegment *segment, RewindBlock *block)
{
  TesseraHeldBlock *held = &block->held;
  const TesseraSettings *settings = &rewind->trace->settings;
  uint64_t rounded = tessera_round_size (settings, held->size_bytes);
  uint64_t room = block->upper - held->addr;

  held->block_bytes = rounded;
  if (rounded > room)
    {
      rewind->n_overlaps++;
      held->block_bytes = room;
    }
  else if (segment != NULL && rounded < room && !segment->is_small &&
           !segment->is_expandable)
    {
      if (room - rounded <= TESSERA_SMALL_BYTES || rounded >= settings->max_split_bytes)
        {
          rewind->n_tails++;
          held->block_bytes = room;
        }
      else
        {
          rewind->n_open++;
          held->tail_open = true;
        }
    }
}

static void
settle_segments (Rewind *rewind)
{
  uint64_t end = 0;

  for (TesseraTreeNode *node = tessera_tree_first (&rewind->segments); node != NULL;
       node = tessera_tree_next (node))
    {
      const RewindSegment *from = (const RewindSegment *) node;

      if (from->segment.size_bytes == 0 || from->segment.addr < end)
        {
          rewind->n_overlaps++;
          continue;
        }
      end = rewind_end_of (from);
      import_must (tessera_trace_add_segment (&rewind->trace->start, &from->segment));
    }
}

/* Blocks in order beside the segments in order; what lies in none, or over its neighbour,
 * is left out: whoever reads the start state may rely on it. */
static void
settle_blocks (Rewind *rewind)
{
  TesseraHeld *start = &rewind->trace->start;
  size_t k = 0;
  uint64_t end = 0;

  for (TesseraTreeNode *node = tessera_tree_first (&rewind->blocks); node != NULL;
       node = tessera_tree_next (node))
    {
      RewindBlock *from = (RewindBlock *) node;
      TesseraHeldBlock *block = &from->held;
      const TesseraTreeNode *next = tessera_tree_next (node);
      const RewindSegment *segment = rewind_segment_over (rewind, block->addr);
      uint64_t limit = UINT64_MAX;

      while (k < start->n_segments &&
             start->segments[k].addr + start->segments[k].size_bytes <= block->addr)
        k++;
      if (k < start->n_segments && start->segments[k].addr <= block->addr)
        limit = start->segments[k].addr + start->segments[k].size_bytes;
      else if (rewind->trace->has_segments)
        {
          rewind->n_outside++;
          continue;
        }
      if (from->upper != 0)
        settle_size (rewind, segment != NULL ? &segment->segment : NULL, from);
      if (next != NULL && rewind_addr_of (next) < limit)
        limit = rewind_addr_of (next);
      if (block->block_bytes > limit - block->addr)
        {
          rewind->n_overlaps++;
          block->block_bytes = limit - block->addr;
        }
      if (block->addr < end || block->block_bytes == 0)
        continue;
      end = block->addr + block->block_bytes;
      import_must (tessera_trace_add_block (start, block));
    }
}

static void
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
    tessera_note (rewind->trace, notes[i].key, notes[i].n, notes[i].text);
}

static void
settle (Rewind *rewind)
{
  settle_segments (rewind);
  settle_blocks (rewind);
  note_oddities (rewind);
}

static void
clear_tree (TesseraTree *tree)
{
  while (tree->root != NULL)
    drop (tree, tree->root);
}

void
tessera_rewind (TesseraTrace *trace)
{
  Rewind rewind = { .trace = trace, .needs_pools = trace->n_pools > 1 };

  begin_at_end (&rewind);
  walk_back (&rewind);
  settle (&rewind);
  clear_tree (&rewind.segments);
  clear_tree (&rewind.blocks);
  clear_tree (&rewind.known);
  trace->starts_empty = trace->start.n_segments == 0 && trace->start.n_blocks == 0;
}
