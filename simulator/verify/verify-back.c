/*
 * Backwards, an allocation takes a block away that must be there, the end of a free
 * brings one that must not; likewise segments, and the pages of expandable ones.
 *
 * Where something that a later entry should have brought is missing, either the entry at
 * hand has a wrong address or that later one. The end of a free follows its request, and
 * the first block in a new segment lies at its start: that decides.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "simulator/verify/verify-back.h"

#include "allocator/table.h"

#include <inttypes.h>
#include <stdlib.h>

/* Pages of small pools; those of large ones are multiples of it. */
#define PAGE_BYTES (2 * TESSERA_MIB)

enum
{
  /* More than any device has: a range that says so is not looked into. */
  MAX_PAGES = 1 << 20,
  /* Each costs a walk over the trace: a file made for it could ask for millions. */
  MAX_STRAYS = 256,
  /* So many entries about segments make a habit. */
  MIN_ALIGNED = 8
};

typedef struct
{
  uint64_t size_bytes;
  bool is_pending;
} Held;

typedef struct
{
  const TesseraTrace *trace;
  TesseraTable blocks;   /* of Held */
  TesseraTable segments; /* of Held */
  TesseraTable pages;
  Held *held; /* [n_held], handed out one by one */
  size_t n_held;
} Back;

static TesseraStatus
bring (Back *back, TesseraTable *table, uint64_t addr, uint64_t size_bytes, bool pending)
{
  TesseraStatus status = tessera_table_reserve (table);

  if (status != TESSERA_OK)
    return status;
  back->held[back->n_held] = (Held){ size_bytes, pending };
  tessera_table_add (table, addr, &back->held[back->n_held++]);
  return TESSERA_OK;
}

/* Whether what is brought is there already, and what is taken is not. */
static bool
is_wrong (const TesseraTable *table, const TesseraEvent *event, bool is_brought)
{
  const Held *held = event->addr != 0 ? tessera_table_get (table, event->addr) : NULL;

  if (is_brought)
    return held != NULL || event->addr == 0;
  return held == NULL || held->size_bytes != event->size_bytes;
}

static bool
are_pages_wrong (const Back *back, const TesseraEvent *event, bool are_brought)
{
  uint64_t n_pages = event->size_bytes / PAGE_BYTES;

  if (n_pages > MAX_PAGES || event->addr == 0)
    return true;
  for (uint64_t i = 0; i < n_pages; i++)
    if ((tessera_table_get (&back->pages, event->addr + i * PAGE_BYTES) != NULL) ==
        are_brought)
      return true;
  return false;
}

static TesseraStatus
bring_pages (Back *back, uint64_t addr, uint64_t size_bytes)
{
  TesseraStatus status = TESSERA_OK;

  if (addr == 0 || size_bytes / PAGE_BYTES > MAX_PAGES)
    return TESSERA_OK;
  for (uint64_t at = 0; at + PAGE_BYTES <= size_bytes && status == TESSERA_OK;
       at += PAGE_BYTES)
    {
      status = tessera_table_reserve (&back->pages);
      if (status == TESSERA_OK && tessera_table_get (&back->pages, addr + at) == NULL)
        tessera_table_add (&back->pages, addr + at, back);
    }
  return status;
}

static TesseraStatus
begin_at_end (Back *back)
{
  const TesseraHeld *end = &back->trace->end;
  TesseraStatus status = TESSERA_OK;

  back->held =
      calloc (back->trace->n_events + end->n_blocks + end->n_segments + 1, sizeof (Held));
  if (back->held == NULL)
    return TESSERA_NO_MEMORY;
  for (size_t i = 0; i < end->n_blocks && status == TESSERA_OK; i++)
    if (end->blocks[i].state != TESSERA_BLOCK_FREE && end->blocks[i].addr != 0 &&
        tessera_table_get (&back->blocks, end->blocks[i].addr) == NULL)
      status = bring (back, &back->blocks, end->blocks[i].addr, end->blocks[i].size_bytes,
                      end->blocks[i].state == TESSERA_BLOCK_PENDING);
  for (size_t i = 0; i < end->n_segments && status == TESSERA_OK; i++)
    if (end->segments[i].is_expandable)
      status = bring_pages (back, end->segments[i].addr, end->segments[i].size_bytes);
    else if (end->segments[i].addr != 0 &&
             tessera_table_get (&back->segments, end->segments[i].addr) == NULL)
      status = bring (back, &back->segments, end->segments[i].addr,
                      end->segments[i].size_bytes, false);
  return status;
}

/* Undoes one entry that fits. */
static TesseraStatus
undo (Back *back, const TesseraEvent *event)
{
  uint64_t addr = event->addr, size_bytes = event->size_bytes;
  Held *held;

  switch (event->action)
    {
    case TESSERA_ALLOC:
      tessera_table_remove (&back->blocks, addr);
      return TESSERA_OK;
    case TESSERA_FREE_COMPLETED:
      return bring (back, &back->blocks, addr, size_bytes, true);
    case TESSERA_FREE_REQUESTED:
      held = tessera_table_get (&back->blocks, addr);
      held->is_pending = false;
      return TESSERA_OK;
    case TESSERA_SEGMENT_ALLOC:
      tessera_table_remove (&back->segments, addr);
      return TESSERA_OK;
    case TESSERA_SEGMENT_FREE:
      return bring (back, &back->segments, addr, size_bytes, false);
    case TESSERA_SEGMENT_MAP:
      for (uint64_t at = 0; at < size_bytes; at += PAGE_BYTES)
        tessera_table_remove (&back->pages, addr + at);
      return TESSERA_OK;
    case TESSERA_SEGMENT_UNMAP:
      return bring_pages (back, addr, size_bytes);
    default:
      return TESSERA_OK;
    }
}

static bool
does_not_fit (const Back *back, const TesseraEvent *event)
{
  const Held *held;

  switch (event->action)
    {
    case TESSERA_ALLOC:
      held = event->addr != 0 ? tessera_table_get (&back->blocks, event->addr) : NULL;
      return is_wrong (&back->blocks, event, false) || held->is_pending;
    case TESSERA_FREE_COMPLETED:
      return is_wrong (&back->blocks, event, true);
    case TESSERA_FREE_REQUESTED:
      held = event->addr != 0 ? tessera_table_get (&back->blocks, event->addr) : NULL;
      return is_wrong (&back->blocks, event, false) || !held->is_pending;
    case TESSERA_SEGMENT_ALLOC:
      return is_wrong (&back->segments, event, false);
    case TESSERA_SEGMENT_FREE:
      return is_wrong (&back->segments, event, true);
    case TESSERA_SEGMENT_MAP:
      return are_pages_wrong (back, event, false);
    case TESSERA_SEGMENT_UNMAP:
      return are_pages_wrong (back, event, true);
    default:
      return false;
    }
}

/* Whether an entry before @index opened what this one closes. */
static bool
has_opening (const TesseraTrace *trace, uint32_t index, uint8_t opening)
{
  const TesseraEvent *event = &trace->events[index];

  for (uint32_t i = index; i-- > 0;)
    if (trace->events[i].addr == event->addr &&
        (trace->events[i].action == opening || trace->events[i].action == event->action))
      return trace->events[i].action == opening;
  return false;
}

/* Whether any block was ever seen in the segment that this entry gives back. */
static bool
had_blocks (const TesseraTrace *trace, uint32_t index)
{
  const TesseraEvent *segment = &trace->events[index];

  for (uint32_t i = 0; i < index; i++)
    if (trace->events[i].action <= TESSERA_FREE_COMPLETED &&
        trace->events[i].addr - segment->addr < segment->size_bytes)
      return true;
  return false;
}

/* The first entry after @index that closes something of this size which nobody opened.
 * Segments older than the trace are such as well: one that overlaps the segment of @index
 * or never held a block is the stray.
 *
 * Returns: @index when there is none. */
static uint32_t
find_stray (const TesseraTrace *trace, uint32_t index, uint8_t closing)
{
  const TesseraEvent *event = &trace->events[index];
  int n_tried = 0;

  for (uint32_t i = index + 1; i < trace->n_events && n_tried < MAX_STRAYS; i++)
    {
      const TesseraEvent *other = &trace->events[i];

      if (other->action != closing || other->size_bytes != event->size_bytes)
        continue;
      n_tried++;
      if (has_opening (trace, i, event->action))
        continue;
      if (closing == TESSERA_FREE_COMPLETED ||
          other->addr - event->addr + event->size_bytes < 2 * event->size_bytes ||
          !had_blocks (trace, i))
        return i;
    }
  return index;
}

/* Whether the next block allocated lies at the start of what this entry says that the
 * driver gave. */
static bool
is_used_next (const TesseraTrace *trace, uint32_t index)
{
  for (uint32_t i = index + 1; i < trace->n_events; i++)
    if (trace->events[i].action == TESSERA_ALLOC)
      return trace->events[i].addr == trace->events[index].addr;
  return false;
}

/* What speaks for a block at @addr that is freed between these entries: it was allocated
 * before, and is again later. */
static int
count_witnesses (const TesseraTrace *trace,
                 uint64_t addr,
                 uint32_t before,
                 uint32_t after)
{
  int n_witnesses = 0;
  uint32_t i;

  for (i = before; i-- > 0 && trace->events[i].addr != addr;)
    ;
  n_witnesses += i != UINT32_MAX && trace->events[i].action == TESSERA_ALLOC;
  for (i = after + 1; i < trace->n_events && trace->events[i].addr != addr; i++)
    ;
  n_witnesses += i < trace->n_events && trace->events[i].action == TESSERA_ALLOC;
  return n_witnesses;
}

/* A request to free at one address, the end of that free at another: which is right? */
static uint32_t
choose_of_free (const TesseraTrace *trace, uint32_t request)
{
  uint32_t stray = find_stray (trace, request, TESSERA_FREE_COMPLETED);
  int for_request = count_witnesses (trace, trace->events[request].addr, request, stray);
  int for_stray = count_witnesses (trace, trace->events[stray].addr, request, stray);

  return for_request > for_stray ? stray : request;
}

/* Entry @index does not fit what follows: it, or one of those? */
static uint32_t
find_culprit (const TesseraTrace *trace, uint32_t index)
{
  switch (trace->events[index].action)
    {
    case TESSERA_FREE_REQUESTED:
      return choose_of_free (trace, index);
    case TESSERA_SEGMENT_ALLOC:
      return is_used_next (trace, index) ? find_stray (trace, index, TESSERA_SEGMENT_FREE)
                                         : index;
    default:
      return index;
    }
}

static void
name (TesseraReplay *replay, uint32_t index)
{
  const TesseraEvent *event = &replay->trace->events[index];

  replay->difference_index = TESSERA_NONE;
  tessera_replay_differs (replay, index,
                          "expected an entry that fits those after it and the final "
                          "state, found %s of %" PRIu64 " bytes at 0x%" PRIx64,
                          tessera_action_name (event->action), event->size_bytes,
                          event->addr);
}

/* The one entry about a segment whose address is no multiple of the page, where all
 * others are: drivers give segments so, but nothing says that they must.
 *
 * Returns: its index, or n_events. */
static uint32_t
find_misaligned (const TesseraTrace *trace)
{
  uint32_t n_segments = 0, n_misaligned = 0, found = (uint32_t) trace->n_events;

  for (uint32_t i = 0; i < trace->n_events; i++)
    {
      uint8_t action = trace->events[i].action;

      if (action < TESSERA_SEGMENT_ALLOC || action > TESSERA_SEGMENT_UNMAP)
        continue;
      n_segments++;
      if (trace->events[i].addr % PAGE_BYTES != 0)
        {
          n_misaligned++;
          found = i;
        }
    }
  for (size_t i = 0; i < trace->end.n_segments; i++)
    {
      n_segments++;
      n_misaligned += trace->end.segments[i].addr % PAGE_BYTES != 0;
    }
  return n_misaligned == 1 && n_segments >= MIN_ALIGNED ? found
                                                        : (uint32_t) trace->n_events;
}

static TesseraStatus
walk_back (TesseraReplay *replay)
{
  const TesseraTrace *trace = replay->trace;
  Back back = { .trace = trace };
  TesseraStatus status = begin_at_end (&back);

  for (uint32_t i = (uint32_t) trace->n_events; i-- > 0 && status == TESSERA_OK;)
    {
      if (does_not_fit (&back, &trace->events[i]))
        {
          uint32_t culprit = find_culprit (trace, i);

          if (culprit > replay->difference_index)
            name (replay, culprit);
          break;
        }
      status = undo (&back, &trace->events[i]);
    }
  free (back.held);
  tessera_table_clear (&back.blocks);
  tessera_table_clear (&back.segments);
  tessera_table_clear (&back.pages);
  return status;
}

TesseraStatus
tessera_verify_back (TesseraReplay *replay)
{
  uint32_t misaligned = find_misaligned (replay->trace);

  if (misaligned < replay->trace->n_events)
    {
      if (misaligned != replay->difference_index)
        name (replay, misaligned);
      return TESSERA_OK;
    }
  return replay->difference_index < replay->trace->n_events ? walk_back (replay)
                                                            : TESSERA_OK;
}
