/*
 * The placed items of one attempt in the order of their addresses. See shelf.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/shelf.h"

#include <stdlib.h>
#include <string.h>

#define NO_CHUNK UINT32_MAX

TesseraStatus
tessera_shelf_init (TesseraShelf *shelf, const TesseraPackProblem *problem)
{
  /* A chunk is split when full: all but the first are at least half full. */
  size_t n_chunks = problem->n_items / (TESSERA_SHELF_CHUNK / 2) + 2;
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

static bool
walk_chunk (const TesseraShelf *shelf, const TesseraShelfChunk *chunk, Walk *walk)
{
  const TesseraPackItem *item = walk->item;
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

static uint64_t
fit (const TesseraShelf *shelf, const TesseraPackItem *item, bool stops_at_first)
{
  Walk walk = { .item = item, .best_gap = UINT64_MAX, .stops_at_first = stops_at_first };
  uint32_t begin = tessera_pack_first_section (item),
           end = tessera_pack_last_section (item);
  for (uint32_t c = 0; c != NO_CHUNK; c = shelf->chunks[c].next)
    {
      const TesseraShelfChunk *chunk = &shelf->chunks[c];
      if (chunk->begin < end && begin < chunk->end && walk_chunk (shelf, chunk, &walk))
        break;
    }
  return walk.best_gap != UINT64_MAX ? walk.best_at : walk.top;
}

uint64_t
tessera_shelf_first_fit (const TesseraShelf *shelf, const TesseraPackItem *item)
{
  return fit (shelf, item, true);
}

uint64_t
tessera_shelf_best_fit (const TesseraShelf *shelf, const TesseraPackItem *item)
{
  return fit (shelf, item, false);
}

static void
widen_chunk (TesseraShelfChunk *chunk, const TesseraPackItem *item)
{
  if (tessera_pack_first_section (item) < chunk->begin)
    chunk->begin = tessera_pack_first_section (item);
  if (tessera_pack_last_section (item) > chunk->end)
    chunk->end = tessera_pack_last_section (item);
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
  for (uint32_t i = 0; i < low->n_entries; i++)
    widen_chunk (low, &shelf->problem->items[low->entries[i].item]);
  for (uint32_t i = 0; i < high->n_entries; i++)
    widen_chunk (high, &shelf->problem->items[high->entries[i].item]);
}

void
tessera_shelf_put (TesseraShelf *shelf, uint32_t item_index, uint64_t offset)
{
  uint32_t c = 0;
  for (;;)
    {
      uint32_t next = shelf->chunks[c].next;
      if (next == NO_CHUNK || shelf->chunks[next].entries[0].offset > offset)
        break;
      c = next;
    }
  if (shelf->chunks[c].n_entries == TESSERA_SHELF_CHUNK)
    {
      split_chunk (shelf, c);
      uint32_t next = shelf->chunks[c].next;
      if (shelf->chunks[next].entries[0].offset <= offset)
        c = next;
    }
  TesseraShelfChunk *chunk = &shelf->chunks[c];
  uint32_t at = chunk->n_entries;
  for (; at > 0 && chunk->entries[at - 1].offset > offset; at--)
    chunk->entries[at] = chunk->entries[at - 1];
  const TesseraPackItem *item = &shelf->problem->items[item_index];
  chunk->entries[at] =
      (TesseraShelfEntry){ offset, offset + item->size_bytes, item->lives.begin,
                           item->lives.end, item_index };
  chunk->n_entries++;
  widen_chunk (chunk, item);
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
      widen_chunk (chunk, item);
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
