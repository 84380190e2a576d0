/*
 * Blocks with lifetimes, from the events of a trace: see blocks.h.
 *
 * One walk over the events with a table from address to the block that holds it. Blocks
 * that were alive before the first event can turn up late (a free without allocation), so
 * they are gathered apart and put in front at the end.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/blocks.h"

#include "planner/memory.h"

typedef struct
{
  const TesseraTrace *trace;
  TesseraBlocks *out;
  GHashTable *holders; /* by address, which comes back: the last block that held it, or
                          TESSERA_NONE once that is freed */
  size_t cap_blocks;
  bool is_mixed;  /* blocks of the start lie behind others: to be put in front */
  bool completes; /* the trace has FREE_COMPLETED events: a lone request is pending */
} Walk;

/* A size close to 2^64 stays what it is, rounded down: nothing wraps to a small block. */
static uint64_t
round_up (uint64_t size_bytes, uint64_t alignment_bytes)
{
  uint64_t rest;

  if (alignment_bytes < 2)
    return size_bytes ? size_bytes : 1;
  if (size_bytes == 0)
    return alignment_bytes;
  rest = size_bytes % alignment_bytes;
  if (rest == 0)
    return size_bytes;
  if (size_bytes > UINT64_MAX - alignment_bytes)
    return size_bytes - rest;
  return size_bytes - rest + alignment_bytes;
}

static uint32_t
add_block (Walk *walk, const TesseraBlock *block)
{
  TesseraBlocks *out = walk->out;
  const TesseraBlock *last;

  TESSERA_GROW (out->blocks, walk->cap_blocks, out->n_blocks + 1);
  last = out->n_blocks > 0 ? &out->blocks[out->n_blocks - 1] : NULL;
  walk->is_mixed |= last != NULL && (block->flags & TESSERA_AT_START) != 0 &&
                    ((last->flags & TESSERA_AT_START) == 0 || last->addr > block->addr);
  out->blocks[out->n_blocks] = *block;
  out->blocks[out->n_blocks].block_bytes =
      round_up (block->size_bytes, walk->trace->alignment_bytes);
  return (uint32_t) out->n_blocks++;
}

static TesseraBlock
new_block (const Walk *walk)
{
  uint32_t never = (uint32_t) walk->trace->n_events;

  return (TesseraBlock){ .freed_index = never,
                         .died_index = never,
                         .stack = TESSERA_NONE,
                         .died_stack = TESSERA_NONE,
                         .step = TESSERA_NONE,
                         .born_phase = TESSERA_NONE,
                         .died_phase = TESSERA_NONE,
                         .group = TESSERA_NONE };
}

static TesseraBlock
block_of (const Walk *walk, const TesseraEvent *event)
{
  TesseraBlock block = new_block (walk);

  block.size_bytes = event->size_bytes;
  block.stack = event->stack;
  block.stream = event->stream;
  block.pool = event->pool;
  return block;
}

/* Multiplication by 2^64 / golden ratio spreads addresses that are multiples of 512. */
static guint
hash_address (gconstpointer addr)
{
  return (guint) (((uint64_t) (uintptr_t) addr * UINT64_C (0x9E3779B97F4A7C15)) >> 32);
}

static void
hold (Walk *walk, uint64_t addr, uint32_t holder)
{
  g_hash_table_insert (walk->holders, (gpointer) (uintptr_t) addr,
                       GUINT_TO_POINTER (holder));
}

/* Whether somebody held the address at some time, and who does now. */
static bool
was_held (const Walk *walk, uint64_t addr, uint32_t *out_holder)
{
  gpointer holder;
  bool was = g_hash_table_lookup_extended (
      walk->holders, (gconstpointer) (uintptr_t) addr, NULL, &holder);

  *out_holder = was ? GPOINTER_TO_UINT (holder) : TESSERA_NONE;
  return was;
}

/* The segment that holds @addr, or NULL. Segments are in ascending order of address. */
static const TesseraSegment *
segment_at (const TesseraHeld *held, uint64_t addr)
{
  size_t low = 0, high = held->n_segments;

  while (low < high)
    {
      size_t middle = low + (high - low) / 2;

      if (held->segments[middle].addr <= addr)
        low = middle + 1;
      else
        high = middle;
    }
  if (low == 0 ||
      addr - held->segments[low - 1].addr >= held->segments[low - 1].size_bytes)
    return NULL;
  return &held->segments[low - 1];
}

static void
hold_start (Walk *walk)
{
  const TesseraHeld *start = &walk->trace->start;

  for (size_t i = 0; i < start->n_blocks; i++)
    {
      const TesseraHeldBlock *held = &start->blocks[i];
      const TesseraSegment *segment = segment_at (start, held->addr);
      TesseraBlock block = new_block (walk);

      if (held->state == TESSERA_BLOCK_FREE)
        continue;
      block.addr = held->addr;
      block.size_bytes = held->size_bytes;
      block.stack = held->stack;
      block.flags = TESSERA_AT_START;
      if (segment)
        {
          block.stream = segment->stream;
          block.pool = segment->pool;
        }
      if (held->state == TESSERA_BLOCK_PENDING)
        block.freed_index = 0;
      hold (walk, held->addr, add_block (walk, &block));
    }
}

/* Every block lives for at least one event, also one that is freed by the first. */
static void
end_block (TesseraBlock *block, uint32_t at_index)
{
  if (block->freed_index > at_index)
    block->freed_index = at_index;
  block->died_index = at_index > block->born_index ? at_index : block->born_index + 1;
}

static void
see_alloc (Walk *walk, const TesseraEvent *event, uint32_t at_index)
{
  TesseraBlocks *out = walk->out;
  TesseraBlock block = block_of (walk, event);
  uint32_t holder;

  if (was_held (walk, event->addr, &holder) && holder != TESSERA_NONE)
    {
      end_block (&out->blocks[holder], at_index);
      out->n_displaced++;
    }
  block.addr = event->addr;
  block.born_index = at_index;
  out->block_of_event[at_index] = add_block (walk, &block);
  hold (walk, event->addr, out->block_of_event[at_index]);
}

static void
see_failure (Walk *walk, const TesseraEvent *event, uint32_t at_index)
{
  TesseraBlock block = block_of (walk, event);

  block.born_index = at_index;
  block.freed_index = block.died_index = at_index + 1;
  block.flags = TESSERA_FAILED;
  walk->out->block_of_event[at_index] = add_block (walk, &block);
}

/* A free of an address that no event and no state named before: it lived from the start,
 * unless nothing did (a recording may have lost the allocation). Returns: the block, or
 * TESSERA_NONE */
static uint32_t
assume_start (Walk *walk, const TesseraEvent *event)
{
  TesseraBlock block = block_of (walk, event);

  if (event->size_bytes == 0 || walk->trace->starts_empty)
    return TESSERA_NONE;
  block.addr = event->addr;
  block.flags = TESSERA_AT_START | TESSERA_UNKNOWN_START;
  if (event->action == TESSERA_FREE_COMPLETED)
    block.freed_index = 0;
  return add_block (walk, &block);
}

static void
see_free (Walk *walk, const TesseraEvent *event, uint32_t at_index)
{
  TesseraBlock *block;
  uint32_t holder;

  if (!was_held (walk, event->addr, &holder))
    {
      holder = assume_start (walk, event);
      if (holder != TESSERA_NONE)
        hold (walk, event->addr, holder);
    }
  if (holder == TESSERA_NONE)
    {
      walk->out->n_orphans++;
      return;
    }
  walk->out->block_of_event[at_index] = holder;
  block = &walk->out->blocks[holder];
  if (block->died_stack == TESSERA_NONE)
    block->died_stack = event->stack;
  if (event->action == TESSERA_FREE_REQUESTED && walk->completes)
    {
      block->freed_index = MIN (block->freed_index, at_index);
      return;
    }
  end_block (block, at_index);
  hold (walk, event->addr, TESSERA_NONE);
}

static void
walk_events (Walk *walk)
{
  const TesseraTrace *trace = walk->trace;

  for (size_t i = 0; i < trace->n_events && !walk->completes; i++)
    walk->completes = trace->events[i].action == TESSERA_FREE_COMPLETED;
  for (uint32_t i = 0; i < trace->n_events; i++)
    {
      const TesseraEvent *event = &trace->events[i];

      walk->out->block_of_event[i] = TESSERA_NONE;
      if (event->action == TESSERA_ALLOC)
        see_alloc (walk, event, i);
      else if (event->action == TESSERA_OOM)
        see_failure (walk, event, i);
      else if (event->action == TESSERA_FREE_REQUESTED ||
               event->action == TESSERA_FREE_COMPLETED)
        see_free (walk, event, i);
    }
}

static bool
is_held (const TesseraHeld *held, uint64_t addr)
{
  size_t at = tessera_held_find (held, addr);

  return at < held->n_blocks && held->blocks[at].state != TESSERA_BLOCK_FREE;
}

/* A free that was requested and never completed: pending, unless the state at the end
 * says that the block is gone (its completion is missing from the trace). */
static void
settle_end (Walk *walk)
{
  uint32_t n_events = walk->out->n_events;

  for (size_t i = 0; i < walk->out->n_blocks; i++)
    {
      TesseraBlock *block = &walk->out->blocks[i];

      if (block->died_index == n_events && block->freed_index < n_events &&
          walk->trace->end.n_segments > 0 && !is_held (&walk->trace->end, block->addr))
        end_block (block, block->freed_index);
      if (block->died_index == n_events && !(block->flags & TESSERA_FAILED))
        block->flags |= TESSERA_AT_END;
    }
}

static int
by_addr (const void *a, const void *b)
{
  const TesseraBlock *const *x = a;
  const TesseraBlock *const *y = b;

  if ((*x)->addr != (*y)->addr)
    return (*x)->addr < (*y)->addr ? -1 : 1;
  return *x < *y ? -1 : *x > *y;
}

/* Blocks of the start in front, by address; the others were made in order of birth. Nearly
 * always they lie so already, and no copy is made. */
static void
put_in_order (TesseraBlocks *out)
{
  TesseraBlock *sorted = g_new (TesseraBlock, out->n_blocks + 1);
  g_autofree const TesseraBlock **starts =
      g_new (const TesseraBlock *, out->n_blocks + 1);
  g_autofree uint32_t *index_of = g_new (uint32_t, out->n_blocks + 1);
  size_t n_starts = 0, n_sorted = 0;

  for (size_t i = 0; i < out->n_blocks; i++)
    if (out->blocks[i].flags & TESSERA_AT_START)
      starts[n_starts++] = &out->blocks[i];
  qsort (starts, n_starts, sizeof (const TesseraBlock *), by_addr);
  for (; n_sorted < n_starts; n_sorted++)
    {
      sorted[n_sorted] = *starts[n_sorted];
      index_of[starts[n_sorted] - out->blocks] = (uint32_t) n_sorted;
    }
  for (size_t i = 0; i < out->n_blocks; i++)
    if (!(out->blocks[i].flags & TESSERA_AT_START))
      {
        sorted[n_sorted] = out->blocks[i];
        index_of[i] = (uint32_t) n_sorted++;
      }
  for (uint32_t i = 0; i < out->n_events; i++)
    if (out->block_of_event[i] != TESSERA_NONE)
      out->block_of_event[i] = index_of[out->block_of_event[i]];
  free (out->blocks);
  out->blocks = sorted;
}

/* A counting sort: deaths are event indices. */
void
tessera_blocks_order_deaths (TesseraBlocks *blocks)
{
  size_t n_counts = (size_t) blocks->n_events + 3;
  g_autofree uint32_t *next = g_new0 (uint32_t, n_counts);

  blocks->by_death = g_new (uint32_t, blocks->n_blocks + 1);
  for (size_t i = 0; i < blocks->n_blocks; i++)
    next[blocks->blocks[i].died_index + 1]++;
  for (size_t i = 1; i < n_counts; i++)
    next[i] += next[i - 1];
  for (size_t i = 0; i < blocks->n_blocks; i++)
    blocks->by_death[next[blocks->blocks[i].died_index]++] = (uint32_t) i;
}

TesseraBlocks *
tessera_blocks_new (const TesseraTrace *trace)
{
  TesseraBlocks *blocks = g_new0 (TesseraBlocks, 1);
  Walk walk = { .trace = trace,
                .out = blocks,
                .holders = g_hash_table_new (hash_address, NULL) };

  blocks->n_events = (uint32_t) trace->n_events;
  blocks->block_of_event = g_new (uint32_t, trace->n_events + 1);
  hold_start (&walk);
  walk_events (&walk);
  settle_end (&walk);
  g_hash_table_unref (walk.holders);
  if (walk.is_mixed)
    put_in_order (blocks);
  tessera_blocks_order_deaths (blocks);
  return blocks;
}

void
tessera_blocks_free (TesseraBlocks *blocks)
{
  if (!blocks)
    return;
  free (blocks->blocks);
  free (blocks->block_of_event);
  free (blocks->by_death);
  free (blocks);
}

/* They are in order of birth, after those of the start. */
uint32_t
tessera_blocks_first_born (const TesseraBlocks *blocks, uint32_t index)
{
  size_t low = 0, high = blocks->n_blocks;

  while (low < high)
    {
      size_t middle = low + (high - low) / 2;
      const TesseraBlock *block = &blocks->blocks[middle];

      if (block->flags & TESSERA_AT_START || block->born_index < index)
        low = middle + 1;
      else
        high = middle;
    }
  return (uint32_t) low;
}

uint64_t
tessera_blocks_bound (const TesseraBlocks *blocks,
                      uint32_t begin_index,
                      uint32_t end_index,
                      uint32_t *out_at_index)
{
  const TesseraBlock *all = blocks->blocks;
  uint64_t load = 0, bound = 0;
  size_t birth = 0, death = 0;

  if (out_at_index)
    *out_at_index = begin_index;
  if (begin_index >= end_index)
    return 0;
  for (; birth < blocks->n_blocks && all[birth].born_index <= begin_index; birth++)
    load += all[birth].block_bytes;
  for (;
       death < blocks->n_blocks && all[blocks->by_death[death]].died_index <= begin_index;
       death++)
    load -= all[blocks->by_death[death]].block_bytes;
  bound = load;
  for (; birth < blocks->n_blocks && all[birth].born_index < end_index; birth++)
    {
      for (; all[blocks->by_death[death]].died_index <= all[birth].born_index; death++)
        load -= all[blocks->by_death[death]].block_bytes;
      load += all[birth].block_bytes;
      if (load > bound)
        {
          bound = load;
          if (out_at_index)
            *out_at_index = all[birth].born_index;
        }
    }
  return bound;
}
