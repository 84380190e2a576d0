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
#include "simulator/verify/verify-internal.h"

#include <glib.h>
#include <inttypes.h>

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

/* By address, the numbers of which are the keys: no entry lies at 0. */
typedef struct
{
  const TesseraTrace *trace;
  GHashTable *blocks;   /* to Held */
  GHashTable *segments; /* to Held */
  GHashTable *pages;
} Back;

static Held *
find (GHashTable *table, uint64_t addr)
{
  return g_hash_table_lookup (table, GSIZE_TO_POINTER (addr));
}

static void
bring (GHashTable *table, uint64_t addr, uint64_t size_bytes, bool is_pending)
{
  Held *held = g_new (Held, 1);

  *held = (Held){ size_bytes, is_pending };
  g_hash_table_insert (table, GSIZE_TO_POINTER (addr), held);
}

/* Whether what is brought is there already, and what is taken is not. */
static bool
is_wrong (GHashTable *table, const TesseraEvent *event, bool is_brought)
{
  const Held *held = find (table, event->addr);

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
    if (g_hash_table_contains (
            back->pages, GSIZE_TO_POINTER (event->addr + i * PAGE_BYTES)) == are_brought)
      return true;
  return false;
}

static void
bring_pages (Back *back, uint64_t addr, uint64_t size_bytes)
{
  if (addr == 0 || size_bytes / PAGE_BYTES > MAX_PAGES)
    return;
  for (uint64_t at = 0; at + PAGE_BYTES <= size_bytes; at += PAGE_BYTES)
    g_hash_table_add (back->pages, GSIZE_TO_POINTER (addr + at));
}

static void
begin_at_end (Back *back)
{
  const TesseraHeld *end = &back->trace->end;

  for (size_t i = 0; i < end->n_blocks; i++)
    if (end->blocks[i].state != TESSERA_BLOCK_FREE && end->blocks[i].addr != 0 &&
        find (back->blocks, end->blocks[i].addr) == NULL)
      bring (back->blocks, end->blocks[i].addr, end->blocks[i].size_bytes,
             end->blocks[i].state == TESSERA_BLOCK_PENDING);
  for (size_t i = 0; i < end->n_segments; i++)
    if (end->segments[i].is_expandable)
      bring_pages (back, end->segments[i].addr, end->segments[i].size_bytes);
    else if (end->segments[i].addr != 0 &&
             find (back->segments, end->segments[i].addr) == NULL)
      bring (back->segments, end->segments[i].addr, end->segments[i].size_bytes, false);
}

/* Undoes one entry that fits. */
static void
undo (Back *back, const TesseraEvent *event)
{
  uint64_t addr = event->addr, size_bytes = event->size_bytes;

  switch (event->action)
    {
    case TESSERA_ALLOC:
      g_hash_table_remove (back->blocks, GSIZE_TO_POINTER (addr));
      break;
    case TESSERA_FREE_COMPLETED:
      bring (back->blocks, addr, size_bytes, true);
      break;
    case TESSERA_FREE_REQUESTED:
      find (back->blocks, addr)->is_pending = false;
      break;
    case TESSERA_SEGMENT_ALLOC:
      g_hash_table_remove (back->segments, GSIZE_TO_POINTER (addr));
      break;
    case TESSERA_SEGMENT_FREE:
      bring (back->segments, addr, size_bytes, false);
      break;
    case TESSERA_SEGMENT_MAP:
      for (uint64_t at = 0; at < size_bytes; at += PAGE_BYTES)
        g_hash_table_remove (back->pages, GSIZE_TO_POINTER (addr + at));
      break;
    case TESSERA_SEGMENT_UNMAP:
      bring_pages (back, addr, size_bytes);
      break;
    default:
      break;
    }
}

static bool
does_not_fit (const Back *back, const TesseraEvent *event)
{
  const Held *held;

  switch (event->action)
    {
    case TESSERA_ALLOC:
      held = find (back->blocks, event->addr);
      return is_wrong (back->blocks, event, false) || held->is_pending;
    case TESSERA_FREE_COMPLETED:
      return is_wrong (back->blocks, event, true);
    case TESSERA_FREE_REQUESTED:
      held = find (back->blocks, event->addr);
      return is_wrong (back->blocks, event, false) || !held->is_pending;
    case TESSERA_SEGMENT_ALLOC:
      return is_wrong (back->segments, event, false);
    case TESSERA_SEGMENT_FREE:
      return is_wrong (back->segments, event, true);
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

static void
walk_back (TesseraReplay *replay)
{
  const TesseraTrace *trace = replay->trace;
  g_autoptr (GHashTable) blocks = g_hash_table_new_full (NULL, NULL, NULL, g_free);
  g_autoptr (GHashTable) segments = g_hash_table_new_full (NULL, NULL, NULL, g_free);
  g_autoptr (GHashTable) pages = g_hash_table_new (NULL, NULL);
  Back back = { trace, blocks, segments, pages };

  begin_at_end (&back);
  for (uint32_t i = (uint32_t) trace->n_events; i-- > 0;)
    {
      if (does_not_fit (&back, &trace->events[i]))
        {
          uint32_t culprit = find_culprit (trace, i);

          if (culprit > replay->difference_index)
            name (replay, culprit);
          break;
        }
      undo (&back, &trace->events[i]);
    }
}

void
tessera_verify_back (TesseraReplay *replay)
{
  uint32_t misaligned = find_misaligned (replay->trace);

  if (misaligned == replay->trace->n_events)
    {
      if (replay->difference_index < replay->trace->n_events)
        walk_back (replay);
    }
  else if (misaligned != replay->difference_index)
    name (replay, misaligned);
}
