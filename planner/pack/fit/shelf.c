/*
 * The placed items of one attempt in the order of their addresses. See shelf.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/fit/shelf.h"

#include <stdlib.h>
#include <string.h>

/* Sets and zones have to be asked for one by one. */
static bool
is_by_life (const TesseraPackProblem *problem)
{
  return !problem->has_second && !problem->has_zones && !problem->has_sets;
}

TesseraStatus
tessera_shelf_init (TesseraShelf *shelf,
                    const TesseraPackProblem *problem,
                    size_t n_items)
{
  /* A chunk is split when full: all but the first are at least half full. */
  size_t n_chunks = (n_items + problem->n_blocked) / (TESSERA_SHELF_CHUNK / 2) + 2;
  shelf->problem = problem;
  shelf->is_by_life = is_by_life (problem);
  shelf->chunks = malloc (n_chunks * sizeof *shelf->chunks);
  shelf->entries = malloc (n_chunks * TESSERA_SHELF_CHUNK * sizeof *shelf->entries);
  if (shelf->chunks == NULL || shelf->entries == NULL)
    return TESSERA_NO_MEMORY;
  tessera_shelf_empty (shelf);
  return TESSERA_OK;
}

void
tessera_shelf_clear (TesseraShelf *shelf)
{
  free (shelf->chunks);
  free (shelf->entries);
  memset (shelf, 0, sizeof *shelf);
}

static TesseraShelfEntry *
entries_of (const TesseraShelf *shelf, const TesseraShelfChunk *chunk)
{
  return &shelf->entries[(size_t) chunk->place * TESSERA_SHELF_CHUNK];
}

/* As if it had no entries. */
static void
narrow_chunk (TesseraShelfChunk *chunk)
{
  chunk->begin = UINT32_MAX;
  chunk->end = 0;
  chunk->in = chunk->apart = 0;
}

void
tessera_shelf_empty (TesseraShelf *shelf)
{
  shelf->n_chunks = shelf->n_places = 1;
  shelf->chunks[0] = (TesseraShelfChunk){ .place = 0 };
  narrow_chunk (&shelf->chunks[0]);
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
  uint64_t top; /* of the neighbours met so far */
} Walk;

/* Returns: true where the item fits below @entry: the walk is over. */
static bool
meet_entry (Walk *walk, const TesseraShelfEntry *entry)
{
  if (entry->offset > walk->top && entry->offset - walk->top >= walk->item->size_bytes)
    return true;
  if (entry->top > walk->top)
    walk->top = entry->top;
  return false;
}

/* The same where it takes more than first lives to tell who meets whom. */
static bool
walk_chunk_one_by_one (const TesseraShelf *shelf,
                       const TesseraShelfChunk *chunk,
                       Walk *walk)
{
  const TesseraPackProblem *problem = shelf->problem;
  const TesseraShelfEntry *entries = entries_of (shelf, chunk);
  uint32_t item_index = (uint32_t) (walk->item - problem->items);
  for (uint32_t i = 0; i < chunk->n_entries; i++)
    {
      bool meets = entries[i].item == TESSERA_SHELF_BLOCKED ||
                   tessera_pack_meet (problem, item_index, entries[i].item);
      if (meets && meet_entry (walk, &entries[i]))
        return true;
    }
  return false;
}

static bool
walk_chunk (const TesseraShelf *shelf, const TesseraShelfChunk *chunk, Walk *walk)
{
  const TesseraPackLives lives = walk->item->lives;
  const TesseraShelfEntry *entries = entries_of (shelf, chunk);
  if (!shelf->is_by_life)
    return walk_chunk_one_by_one (shelf, chunk, walk);
  for (uint32_t i = 0; i < chunk->n_entries; i++)
    if (entries[i].begin < lives.end && lives.begin < entries[i].end &&
        meet_entry (walk, &entries[i]))
      return true;
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

uint64_t
tessera_shelf_fit_from (const TesseraShelf *shelf,
                        const TesseraPackItem *item,
                        uint64_t from_bytes)
{
  Walk walk = { .item = item, .top = from_bytes };
  const uint32_t life[2] = { tessera_pack_first_section (item),
                             tessera_pack_last_section (item) };
  for (uint32_t c = 0; c < shelf->n_chunks; c++)
    if (matters (shelf, &shelf->chunks[c], item, life) &&
        walk_chunk (shelf, &shelf->chunks[c], &walk))
      break;
  return walk.top;
}

uint64_t
tessera_shelf_first_fit (const TesseraShelf *shelf, const TesseraPackItem *item)
{
  return tessera_shelf_fit_from (shelf, item, 0);
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

/* The upper half goes into a chunk of its own, the next one. */
static void
split_chunk (TesseraShelf *shelf, uint32_t c)
{
  TesseraShelfChunk *low = &shelf->chunks[c], *high = low + 1;
  const uint32_t half = TESSERA_SHELF_CHUNK / 2;
  memmove (high + 1, high, (shelf->n_chunks - c - 1) * sizeof *high);
  shelf->n_chunks++;
  *high = (TesseraShelfChunk){ .place = shelf->n_places++,
                               .n_entries = low->n_entries - half };
  low->n_entries = half;
  memcpy (entries_of (shelf, high), entries_of (shelf, low) + half,
          high->n_entries * sizeof *shelf->entries);
  high->lowest = entries_of (shelf, high)->offset;
  for (TesseraShelfChunk *chunk = low; chunk <= high; chunk++)
    {
      narrow_chunk (chunk);
      for (uint32_t i = 0; i < chunk->n_entries; i++)
        widen_chunk (shelf, chunk, entries_of (shelf, chunk)[i].item);
    }
}

/* The chunk that an entry at @offset belongs into: the last that begins no higher. */
static uint32_t
find_chunk (const TesseraShelf *shelf, uint64_t offset)
{
  uint32_t low = 1, high = shelf->n_chunks;
  while (low < high)
    {
      uint32_t middle = low + (high - low) / 2;
      if (shelf->chunks[middle].lowest <= offset)
        low = middle + 1;
      else
        high = middle;
    }
  return low - 1;
}

static void
put_entry (TesseraShelf *shelf, const TesseraShelfEntry *entry)
{
  uint32_t c = find_chunk (shelf, entry->offset);
  if (shelf->chunks[c].n_entries == TESSERA_SHELF_CHUNK)
    {
      split_chunk (shelf, c);
      if (shelf->chunks[c + 1].lowest <= entry->offset)
        c++;
    }
  TesseraShelfChunk *chunk = &shelf->chunks[c];
  TesseraShelfEntry *entries = entries_of (shelf, chunk);
  uint32_t at = chunk->n_entries;
  for (; at > 0 && entries[at - 1].offset > entry->offset; at--)
    entries[at] = entries[at - 1];
  entries[at] = *entry;
  chunk->n_entries++;
  chunk->lowest = entries[0].offset;
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
  TesseraShelfEntry *entries = entries_of (shelf, chunk);
  uint32_t n_kept = 0;
  chunk->begin = UINT32_MAX;
  chunk->end = 0;
  for (uint32_t i = 0; i < chunk->n_entries; i++)
    {
      const TesseraPackItem *item = &shelf->problem->items[entries[i].item];
      if (tessera_pack_last_section (item) <= section)
        continue;
      entries[n_kept++] = entries[i];
      widen_chunk (shelf, chunk, entries[n_kept - 1].item);
    }
  chunk->n_entries = n_kept;
  if (n_kept > 0)
    chunk->lowest = entries[0].offset;
}

/* Empty ones go always, others where both together are at most half full: between two
 * splits of a chunk there are as many puts as ever. */
static bool
fits_in (const TesseraShelfChunk *chunk, const TesseraShelfChunk *next)
{
  return next->n_entries == 0 ||
         chunk->n_entries + next->n_entries <= TESSERA_SHELF_CHUNK / 2;
}

/* Takes over all of @next, whose place is never used again. */
static void
join_next (TesseraShelf *shelf, TesseraShelfChunk *chunk, const TesseraShelfChunk *next)
{
  if (chunk->n_entries == 0)
    chunk->lowest = next->lowest;
  memcpy (entries_of (shelf, chunk) + chunk->n_entries, entries_of (shelf, next),
          next->n_entries * sizeof *shelf->entries);
  chunk->n_entries += next->n_entries;
  chunk->begin = lower (chunk->begin, next->begin);
  chunk->end = higher (chunk->end, next->end);
}

void
tessera_shelf_forget (TesseraShelf *shelf, uint32_t section)
{
  uint32_t n_kept = 1;
  for (uint32_t c = 0; c < shelf->n_chunks; c++)
    forget_in_chunk (shelf, &shelf->chunks[c], section);
  for (uint32_t c = 1; c < shelf->n_chunks; c++)
    if (fits_in (&shelf->chunks[n_kept - 1], &shelf->chunks[c]))
      join_next (shelf, &shelf->chunks[n_kept - 1], &shelf->chunks[c]);
    else
      shelf->chunks[n_kept++] = shelf->chunks[c];
  shelf->n_chunks = n_kept;
}
