/*
 * The placed items of one attempt in the order of their addresses. See shelf.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/fit/shelf.h"

#include <stdlib.h>
#include <string.h>

#define NO_CHUNK UINT32_MAX

TesseraStatus
tessera_shelf_init (TesseraShelf *shelf,
                    const TesseraPackProblem *problem,
                    size_t n_items)
{
  /* A chunk is split when full: all but the first are at least half full. */
  size_t n_chunks = (n_items + problem->n_blocked) / (TESSERA_SHELF_CHUNK / 2) + 2;
  shelf->problem = problem;
  shelf->chunks = calloc (n_chunks, sizeof *shelf->chunks);
  if (shelf->chunks == NULL)
    return TESSERA_NO_MEMORY;
  tessera_shelf_empty (shelf);
  return TESSERA_OK;
}

void
tessera_shelf_clear (TesseraShelf *shelf)
{
  free (shelf->chunks);
  memset (shelf, 0, sizeof *shelf);
}

static void
clear_chunk (TesseraShelfChunk *chunk)
{
  chunk->n_entries = 0;
  chunk->next = NO_CHUNK;
  chunk->begin = UINT32_MAX;
  chunk->end = 0;
  chunk->in = chunk->apart = 0;
}

void
tessera_shelf_empty (TesseraShelf *shelf)
{
  shelf->n_chunks = 1;
  clear_chunk (&shelf->chunks[0]);
}

static uint32_t
lower (uint32_t a, uint32_t b)
{
  return a < b ? a : b;
}

static uint32_t
higher (uint32_t a, uint32_t b)
{
  return a > b ? a : b;
}

/* Where a walk over the neighbours of an item stands. */
typedef struct
{
  const TesseraPackItem *item;
  uint64_t top;      /* of the neighbours met so far */
  uint64_t best_gap; /* UINT64_MAX: none */
  uint64_t best_at;
  bool stops_at_first;
} Walk;

/* Notes the gap below @entry; returns true when the walk is over. */
static bool
meet_entry (Walk *walk, const TesseraShelfEntry *entry)
{
  if (entry->offset > walk->top)
    {
      uint64_t gap = entry->offset - walk->top;
      if (gap >= walk->item->size_bytes && gap < walk->best_gap)
        {
          walk->best_gap = gap;
          walk->best_at = walk->top;
          if (walk->stops_at_first || gap == walk->item->size_bytes)
            return true;
        }
    }
  if (entry->top > walk->top)
    walk->top = entry->top;
  return false;
}

/* The same of items that are held to something. */
static bool
walk_chunk_of_limits (const TesseraShelf *shelf,
                      const TesseraShelfChunk *chunk,
                      Walk *walk)
{
  const TesseraPackProblem *problem = shelf->problem;
  uint32_t item_index = (uint32_t) (walk->item - problem->items);
  for (uint32_t i = 0; i < chunk->n_entries; i++)
    {
      const TesseraShelfEntry *entry = &chunk->entries[i];
      bool meets = entry->item == TESSERA_SHELF_BLOCKED ||
                   tessera_pack_meet (problem, item_index, entry->item);
      if (meets && meet_entry (walk, entry))
        return true;
    }
  return false;
}

static bool
walk_chunk (const TesseraShelf *shelf, const TesseraShelfChunk *chunk, Walk *walk)
{
  const TesseraPackItem *item = walk->item;
  if (shelf->problem->limits != NULL)
    return walk_chunk_of_limits (shelf, chunk, walk);
  bool has_one_life = !shelf->problem->has_second && shelf->problem->n_owners == 1;
  for (uint32_t i = 0; i < chunk->n_entries; i++)
    {
      const TesseraShelfEntry *entry = &chunk->entries[i];
      bool meets =
          has_one_life
              ? entry->begin < item->lives.end && item->lives.begin < entry->end
              : tessera_pack_items_meet (item, &shelf->problem->items[entry->item]);
      if (meets && meet_entry (walk, entry))
        return true;
    }
  return false;
}

/* Whether some entry of the chunk may be in the way. */
static bool
matters (const TesseraShelf *shelf,
         const TesseraShelfChunk *chunk,
         const TesseraPackItem *item,
         const uint32_t life[2])
{
  if (chunk->begin < life[1] && life[0] < chunk->end)
    return true;
  if (shelf->problem->limits == NULL)
    return false;
  const TesseraPackLimit *limit = &shelf->problem->limits[item - shelf->problem->items];
  return shelf->problem->has_zones ||
         ((limit->in & chunk->apart) | (limit->apart & chunk->in)) != 0;
}

static uint64_t
fit (const TesseraShelf *shelf,
     const TesseraPackItem *item,
     uint64_t from_bytes,
     bool stops_at_first)
{
  Walk walk = { .item = item,
                .top = from_bytes,
                .best_gap = UINT64_MAX,
                .stops_at_first = stops_at_first };
  const uint32_t life[2] = { tessera_pack_first_section (item),
                             tessera_pack_last_section (item) };
  for (uint32_t c = 0; c != NO_CHUNK; c = shelf->chunks[c].next)
    {
      const TesseraShelfChunk *chunk = &shelf->chunks[c];
      if (matters (shelf, chunk, item, life) && walk_chunk (shelf, chunk, &walk))
        break;
    }
  return walk.best_gap != UINT64_MAX ? walk.best_at : walk.top;
}

uint64_t
tessera_shelf_first_fit (const TesseraShelf *shelf, const TesseraPackItem *item)
{
  return fit (shelf, item, 0, true);
}

uint64_t
tessera_shelf_best_fit (const TesseraShelf *shelf, const TesseraPackItem *item)
{
  return fit (shelf, item, 0, false);
}

uint64_t
tessera_shelf_fit_from (const TesseraShelf *shelf,
                        const TesseraPackItem *item,
                        uint64_t from_bytes)
{
  return fit (shelf, item, from_bytes, true);
}

static void
widen_chunk (const TesseraShelf *shelf, TesseraShelfChunk *chunk, uint32_t item_index)
{
  if (item_index == TESSERA_SHELF_BLOCKED)
    {
      chunk->begin = 0;
      chunk->end = UINT32_MAX;
      return;
    }
  const TesseraPackItem *item = &shelf->problem->items[item_index];
  chunk->begin = lower (chunk->begin, tessera_pack_first_section (item));
  chunk->end = higher (chunk->end, tessera_pack_last_section (item));
  if (shelf->problem->limits == NULL)
    return;
  chunk->in |= shelf->problem->limits[item_index].in;
  chunk->apart |= shelf->problem->limits[item_index].apart;
}

static void
split_chunk (TesseraShelf *shelf, uint32_t c)
{
  TesseraShelfChunk *low = &shelf->chunks[c];
  TesseraShelfChunk *high = &shelf->chunks[shelf->n_chunks];
  const uint32_t half = TESSERA_SHELF_CHUNK / 2;
  clear_chunk (high);
  high->n_entries = low->n_entries - half;
  memcpy (high->entries, &low->entries[half], high->n_entries * sizeof *high->entries);
  high->next = low->next;
  low->next = shelf->n_chunks++;
  low->n_entries = half;
  low->begin = UINT32_MAX;
  low->end = 0;
  low->in = low->apart = 0;
  for (uint32_t i = 0; i < low->n_entries; i++)
    widen_chunk (shelf, low, low->entries[i].item);
  for (uint32_t i = 0; i < high->n_entries; i++)
    widen_chunk (shelf, high, high->entries[i].item);
}

static void
put_entry (TesseraShelf *shelf, const TesseraShelfEntry *entry)
{
  uint32_t c = 0;
  for (;;)
    {
      uint32_t next = shelf->chunks[c].next;
      if (next == NO_CHUNK || shelf->chunks[next].entries[0].offset > entry->offset)
        break;
      c = next;
    }
  if (shelf->chunks[c].n_entries == TESSERA_SHELF_CHUNK)
    {
      split_chunk (shelf, c);
      uint32_t next = shelf->chunks[c].next;
      if (shelf->chunks[next].entries[0].offset <= entry->offset)
        c = next;
    }
  TesseraShelfChunk *chunk = &shelf->chunks[c];
  uint32_t at = chunk->n_entries;
  for (; at > 0 && chunk->entries[at - 1].offset > entry->offset; at--)
    chunk->entries[at] = chunk->entries[at - 1];
  chunk->entries[at] = *entry;
  chunk->n_entries++;
  widen_chunk (shelf, chunk, entry->item);
}

void
tessera_shelf_put (TesseraShelf *shelf, uint32_t item_index, uint64_t offset)
{
  const TesseraPackItem *item = &shelf->problem->items[item_index];
  const TesseraShelfEntry entry = { offset, offset + item->size_bytes, item->lives.begin,
                                    item->lives.end, item_index };
  put_entry (shelf, &entry);
}

void
tessera_shelf_block (TesseraShelf *shelf)
{
  for (size_t i = 0; i < shelf->problem->n_blocked; i++)
    {
      const TesseraPackRange *range = &shelf->problem->blocked[i];
      const TesseraShelfEntry entry = { range->begin_bytes, range->end_bytes, 0,
                                        UINT32_MAX, TESSERA_SHELF_BLOCKED };
      put_entry (shelf, &entry);
    }
}

/* Drops the entries of a chunk that end by @section. */
static void
forget_in_chunk (TesseraShelf *shelf, TesseraShelfChunk *chunk, uint32_t section)
{
  uint32_t n_kept = 0;
  chunk->begin = UINT32_MAX;
  chunk->end = 0;
  for (uint32_t i = 0; i < chunk->n_entries; i++)
    {
      const TesseraPackItem *item = &shelf->problem->items[chunk->entries[i].item];
      if (tessera_pack_last_section (item) <= section)
        continue;
      chunk->entries[n_kept++] = chunk->entries[i];
      widen_chunk (shelf, chunk, chunk->entries[n_kept - 1].item);
    }
  chunk->n_entries = n_kept;
}

/* Empty ones go always, others where both together are at most half full: between two
 * splits of a chunk there are as many puts as ever. */
static bool
fits_in (const TesseraShelfChunk *chunk, const TesseraShelfChunk *next)
{
  return next->n_entries == 0 ||
         chunk->n_entries + next->n_entries <= TESSERA_SHELF_CHUNK / 2;
}

/* Takes over all of the next chunk, which is never used again. */
static void
join_next (TesseraShelf *shelf, TesseraShelfChunk *chunk)
{
  const TesseraShelfChunk *next = &shelf->chunks[chunk->next];
  memcpy (&chunk->entries[chunk->n_entries], next->entries,
          next->n_entries * sizeof *next->entries);
  chunk->n_entries += next->n_entries;
  chunk->begin = lower (chunk->begin, next->begin);
  chunk->end = higher (chunk->end, next->end);
  chunk->next = next->next;
}

void
tessera_shelf_forget (TesseraShelf *shelf, uint32_t section)
{
  for (uint32_t c = 0; c != NO_CHUNK; c = shelf->chunks[c].next)
    forget_in_chunk (shelf, &shelf->chunks[c], section);
  for (uint32_t c = 0; c != NO_CHUNK; c = shelf->chunks[c].next)
    {
      TesseraShelfChunk *chunk = &shelf->chunks[c];
      while (chunk->next != NO_CHUNK && fits_in (chunk, &shelf->chunks[chunk->next]))
        join_next (shelf, chunk);
    }
}
