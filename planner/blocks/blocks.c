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

#include <stdlib.h>
#include <string.h>

#include "db/array.h"
#include "planner/blocks/places.h"

typedef struct
{
  const TesseraTrace *trace;
  TesseraBlocks *out;
  TesseraPlaces places;
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

static TesseraStatus
add_block (Walk *walk, const TesseraBlock *block, uint32_t *out_index)
{
  TesseraBlocks *out = walk->out;
  const TesseraBlock *last;

  if (!TESSERA_RESERVE (out->blocks, walk->cap_blocks, out->n_blocks + 1))
    return TESSERA_NO_MEMORY;
  last = out->n_blocks > 0 ? &out->blocks[out->n_blocks - 1] : NULL;
  walk->is_mixed |= last != NULL && (block->flags & TESSERA_AT_START) != 0 &&
                    ((last->flags & TESSERA_AT_START) == 0 || last->addr > block->addr);
  *out_index = (uint32_t) out->n_blocks;
  out->blocks[out->n_blocks] = *block;
  out->blocks[out->n_blocks].block_bytes =
      round_up (block->size_bytes, walk->trace->alignment_bytes);
  out->n_blocks++;
  return TESSERA_OK;
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

static TesseraStatus
hold_start (Walk *walk)
{
  const TesseraHeld *start = &walk->trace->start;

  for (size_t i = 0; i < start->n_blocks; i++)
    {
      const TesseraHeldBlock *held = &start->blocks[i];
      const TesseraSegment *segment = segment_at (start, held->addr);
      TesseraBlock block = new_block (walk);
      TesseraPlace *place;
      uint32_t index;

      if (held->state == TESSERA_BLOCK_FREE)
        continue;
      place = tessera_places_find (&walk->places, held->addr);
      if (!place)
        return TESSERA_NO_MEMORY;
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
      if (add_block (walk, &block, &index) != TESSERA_OK)
        return TESSERA_NO_MEMORY;
      tessera_places_hold (&walk->places, place, held->addr, index);
    }
  return TESSERA_OK;
}

/* Every block lives for at least one event, also one that is freed by the first. */
static void
end_block (TesseraBlock *block, uint32_t at_index)
{
  if (block->freed_index > at_index)
    block->freed_index = at_index;
  block->died_index = at_index > block->born_index ? at_index : block->born_index + 1;
}

static TesseraStatus
see_alloc (Walk *walk, const TesseraEvent *event, uint32_t at_index)
{
  TesseraBlocks *out = walk->out;
  TesseraBlock block = new_block (walk);
  TesseraPlace *place = tessera_places_find (&walk->places, event->addr);
  uint32_t index;

  if (!place)
    return TESSERA_NO_MEMORY;
  if (place->is_used && place->holder != TESSERA_NONE)
    {
      end_block (&out->blocks[place->holder], at_index);
      out->n_displaced++;
    }
  block.addr = event->addr;
  block.size_bytes = event->size_bytes;
  block.born_index = at_index;
  block.stack = event->stack;
  block.stream = event->stream;
  block.pool = event->pool;
  if (add_block (walk, &block, &index) != TESSERA_OK)
    return TESSERA_NO_MEMORY;
  tessera_places_hold (&walk->places, place, event->addr, index);
  out->block_of_event[at_index] = index;
  return TESSERA_OK;
}

static TesseraStatus
see_failure (Walk *walk, const TesseraEvent *event, uint32_t at_index)
{
  TesseraBlock block = new_block (walk);
  uint32_t index;

  block.size_bytes = event->size_bytes;
  block.born_index = at_index;
  block.freed_index = block.died_index = at_index + 1;
  block.stack = event->stack;
  block.stream = event->stream;
  block.pool = event->pool;
  block.flags = TESSERA_FAILED;
  if (add_block (walk, &block, &index) != TESSERA_OK)
    return TESSERA_NO_MEMORY;
  walk->out->block_of_event[at_index] = index;
  return TESSERA_OK;
}

/* A free of an address that no event and no state named before: it lived from the start,
 * unless nothing did (a recording may have lost the allocation). */
static TesseraStatus
assume_start (Walk *walk, TesseraPlace *place, const TesseraEvent *event)
{
  TesseraBlock block = new_block (walk);
  uint32_t index;

  block.addr = event->addr;
  block.size_bytes = event->size_bytes;
  block.stack = event->stack;
  block.stream = event->stream;
  block.pool = event->pool;
  block.flags = TESSERA_AT_START | TESSERA_UNKNOWN_START;
  if (event->action == TESSERA_FREE_COMPLETED)
    block.freed_index = 0;
  if (add_block (walk, &block, &index) != TESSERA_OK)
    return TESSERA_NO_MEMORY;
  tessera_places_hold (&walk->places, place, event->addr, index);
  return TESSERA_OK;
}

static TesseraStatus
see_free (Walk *walk, const TesseraEvent *event, uint32_t at_index)
{
  TesseraPlace *place = tessera_places_find (&walk->places, event->addr);
  TesseraBlock *block;

  if (!place)
    return TESSERA_NO_MEMORY;
  if (!place->is_used && event->size_bytes > 0 && !walk->trace->starts_empty &&
      assume_start (walk, place, event) != TESSERA_OK)
    return TESSERA_NO_MEMORY;
  if (!place->is_used || place->holder == TESSERA_NONE)
    {
      walk->out->n_orphans++;
      return TESSERA_OK;
    }
  walk->out->block_of_event[at_index] = place->holder;
  block = &walk->out->blocks[place->holder];
  if (block->died_stack == TESSERA_NONE)
    block->died_stack = event->stack;
  if (event->action == TESSERA_FREE_REQUESTED && walk->completes)
    {
      if (block->freed_index > at_index)
        block->freed_index = at_index;
      return TESSERA_OK;
    }
  end_block (block, at_index);
  place->holder = TESSERA_NONE;
  return TESSERA_OK;
}

static TesseraStatus
walk_events (Walk *walk)
{
  const TesseraTrace *trace = walk->trace;
  TesseraStatus status = TESSERA_OK;

  for (size_t i = 0; i < trace->n_events && !walk->completes; i++)
    walk->completes = trace->events[i].action == TESSERA_FREE_COMPLETED;
  for (size_t i = 0; i < trace->n_events && status == TESSERA_OK; i++)
    {
      const TesseraEvent *event = &trace->events[i];

      walk->out->block_of_event[i] = TESSERA_NONE;
      if (event->action == TESSERA_ALLOC)
        status = see_alloc (walk, event, (uint32_t) i);
      else if (event->action == TESSERA_OOM)
        status = see_failure (walk, event, (uint32_t) i);
      else if (event->action == TESSERA_FREE_REQUESTED ||
               event->action == TESSERA_FREE_COMPLETED)
        status = see_free (walk, event, (uint32_t) i);
    }
  return status;
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
static TesseraStatus
put_in_order (TesseraBlocks *out)
{
  TesseraBlock *sorted = malloc ((out->n_blocks + 1) * sizeof *sorted);
  const TesseraBlock **starts = malloc ((out->n_blocks + 1) * sizeof *starts);
  uint32_t *index_of = malloc ((out->n_blocks + 1) * sizeof *index_of);
  size_t n_starts = 0, n_sorted = 0;
  TesseraStatus status = TESSERA_NO_MEMORY;

  if (!sorted || !starts || !index_of)
    goto out;
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
  sorted = NULL;
  status = TESSERA_OK;
out:
  free (sorted);
  free (starts);
  free (index_of);
  return status;
}

/* A counting sort: deaths are event indices. */
static TesseraStatus
order_deaths (TesseraBlocks *out)
{
  size_t n_counts = (size_t) out->n_events + 3;
  uint32_t *next = calloc (n_counts, sizeof *next);

  out->by_death = malloc ((out->n_blocks + 1) * sizeof *out->by_death);
  if (!next || !out->by_death)
    {
      free (next);
      return TESSERA_NO_MEMORY;
    }
  for (size_t i = 0; i < out->n_blocks; i++)
    next[out->blocks[i].died_index + 1]++;
  for (size_t i = 1; i < n_counts; i++)
    next[i] += next[i - 1];
  for (size_t i = 0; i < out->n_blocks; i++)
    out->by_death[next[out->blocks[i].died_index]++] = (uint32_t) i;
  free (next);
  return TESSERA_OK;
}

TesseraStatus
tessera_blocks_new (const TesseraTrace *trace, TesseraBlocks **out_blocks)
{
  Walk walk = { .trace = trace };
  TesseraStatus status = TESSERA_NO_MEMORY;

  *out_blocks = NULL;
  walk.out = calloc (1, sizeof *walk.out);
  if (!walk.out)
    return TESSERA_NO_MEMORY;
  walk.out->n_events = (uint32_t) trace->n_events;
  walk.out->block_of_event =
      malloc ((trace->n_events + 1) * sizeof *walk.out->block_of_event);
  if (!walk.out->block_of_event)
    goto out;
  status = hold_start (&walk);
  if (status == TESSERA_OK)
    status = walk_events (&walk);
  if (status != TESSERA_OK)
    goto out;
  settle_end (&walk);
  tessera_places_clear (&walk.places);
  if (walk.is_mixed)
    status = put_in_order (walk.out);
  if (status == TESSERA_OK)
    status = order_deaths (walk.out);
  if (status != TESSERA_OK)
    goto out;
  *out_blocks = walk.out;
  walk.out = NULL;
out:
  tessera_places_clear (&walk.places);
  tessera_blocks_free (walk.out);
  return status;
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

/*
 * Which block holds an address: see places.h. Open addressing, linear probing.
 */

static size_t
slot_of (const TesseraPlaces *places, uint64_t addr)
{
  /* Multiplication by 2^64 / golden ratio spreads addresses that are multiples of 512. */
  size_t i =
      (size_t) ((addr * UINT64_C (0x9E3779B97F4A7C15)) >> 20) & (places->n_places - 1);

  while (places->places[i].is_used && places->places[i].addr != addr)
    i = (i + 1) & (places->n_places - 1);
  return i;
}

static TesseraStatus
grow (TesseraPlaces *places)
{
  TesseraPlaces larger = { .n_places = places->n_places ? 2 * places->n_places : 1024,
                           .n_used = places->n_used };

  larger.places = calloc (larger.n_places, sizeof *larger.places);
  if (!larger.places)
    return TESSERA_NO_MEMORY;
  for (size_t i = 0; i < places->n_places; i++)
    if (places->places[i].is_used)
      larger.places[slot_of (&larger, places->places[i].addr)] = places->places[i];
  free (places->places);
  *places = larger;
  return TESSERA_OK;
}

TesseraPlace *
tessera_places_find (TesseraPlaces *places, uint64_t addr)
{
  size_t i;

  if (4 * places->n_used >= 3 * places->n_places && grow (places) != TESSERA_OK)
    return NULL;
  i = slot_of (places, addr);
  return &places->places[i];
}

void
tessera_places_hold (TesseraPlaces *places,
                     TesseraPlace *place,
                     uint64_t addr,
                     uint32_t block)
{
  if (!place->is_used)
    places->n_used++;
  place->is_used = 1;
  place->addr = addr;
  place->holder = block;
}

void
tessera_places_clear (TesseraPlaces *places)
{
  free (places->places);
  *places = (TesseraPlaces){ 0 };
}
