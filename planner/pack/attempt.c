/*
 * Attempts at a packing problem: orders, fits among what lies already. See private.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/private.h"

#include <stdlib.h>
#include <string.h>

/* ---- orders ---- */

/* Larger comes first. Doubles: area needs the range; what two sizes of more than 2^53
 * bytes lose in precision only makes them a tie. */
static double
measure (const TesseraPackItem *item, TesseraOrderKey key)
{
  double size = (double) item->size_bytes, life = (double) item->life_events;
  switch (key)
    {
    case TESSERA_BY_PREFERENCE:
      return item->prefer_low;
    case TESSERA_BY_CONTENTION:
      return item->contention;
    case TESSERA_BY_LOAD:
      return (double) item->load_bytes;
    case TESSERA_BY_LIFE:
      return life;
    case TESSERA_BY_AREA:
      return size * life;
    case TESSERA_BY_SIZE:
      return size;
    case TESSERA_BY_END_OF_LIST:
      break;
    }
  return 0;
}

typedef struct
{
  double keys[TESSERA_ORDER_MAX_KEYS]; /* descending */
  uint32_t item;
  uint32_t source; /* settles ties: as the caller had them */
} Entry;

static int
compare_entries (const void *a, const void *b)
{
  const Entry *x = a, *y = b;
  for (int k = 0; k < TESSERA_ORDER_MAX_KEYS; k++)
    {
      if (x->keys[k] > y->keys[k])
        return -1;
      if (x->keys[k] < y->keys[k])
        return 1;
    }
  return x->source < y->source ? -1 : x->source > y->source;
}

void
tessera_order_items (const TesseraPackProblem *problem,
                     const TesseraOrderKey keys[TESSERA_ORDER_MAX_KEYS],
                     uint32_t *order)
{
  g_autofree Entry *entries = g_new (Entry, problem->n_items + 1);
  for (size_t i = 0; i < problem->n_items; i++)
    {
      entries[i].item = (uint32_t) i;
      entries[i].source = problem->items[i].source;
      for (int k = 0; k < TESSERA_ORDER_MAX_KEYS; k++)
        entries[i].keys[k] = measure (&problem->items[i], keys[k]);
    }
  qsort (entries, problem->n_items, sizeof *entries, compare_entries);
  for (size_t i = 0; i < problem->n_items; i++)
    order[i] = entries[i].item;
}

/* ---- placed items ---- */

void
tessera_placed_init (TesseraPlaced *placed,
                     const TesseraPackProblem *problem,
                     size_t n_items)
{
  /* A chunk is split when full: all but the first are at least half full. */
  size_t n_chunks = (n_items + problem->room->len) / (TESSERA_PLACED_CHUNK / 2) + 2;
  placed->problem = problem;
  placed->chunks = g_new (TesseraPlacedChunk, n_chunks);
  placed->entries = g_new (TesseraPlacedEntry, n_chunks * TESSERA_PLACED_CHUNK);
  tessera_placed_empty (placed);
}

void
tessera_placed_clear (TesseraPlaced *placed)
{
  g_free (placed->chunks);
  g_free (placed->entries);
}

static TesseraPlacedEntry *
entries_of (const TesseraPlaced *placed, const TesseraPlacedChunk *chunk)
{
  return &placed->entries[(size_t) chunk->place * TESSERA_PLACED_CHUNK];
}

/* As if it had no entries. */
static void
narrow_chunk (TesseraPlacedChunk *chunk)
{
  chunk->begin = UINT32_MAX;
  chunk->end = 0;
  chunk->in = chunk->apart = chunk->top = 0;
}

/* Where a walk over the neighbours of an item stands. */
typedef struct
{
  const TesseraPackItem *item;
  uint64_t top; /* of the neighbours met so far */
} Walk;

/* Whether limits keep the item from the address of one of another time. */
static bool
is_kept_apart (const TesseraPackProblem *problem,
               const TesseraPackItem *item,
               const TesseraPlacedEntry *entry)
{
  return problem->limits != NULL && entry->item != TESSERA_PLACED_BLOCKED &&
         tessera_pack_limits_meet (&problem->limits[item - problem->items],
                                   &problem->limits[entry->item]);
}

/* Returns: true where the item fits below an entry of the chunk: the walk is over. */
static bool
walk_chunk (const TesseraPlaced *placed, const TesseraPlacedChunk *chunk, Walk *walk)
{
  const TesseraPackLives lives = walk->item->lives;
  const TesseraPlacedEntry *entries = entries_of (placed, chunk);
  for (uint32_t i = 0; i < chunk->n_entries; i++)
    {
      const TesseraPlacedEntry *entry = &entries[i];
      if (!tessera_pack_lives_meet (&entry->lives, &lives) &&
          !is_kept_apart (placed->problem, walk->item, entry))
        continue;
      if (entry->offset > walk->top &&
          entry->offset - walk->top >= walk->item->size_bytes)
        return true;
      walk->top = MAX (walk->top, entry->top);
    }
  return false;
}

/* Whether some entry of the chunk may be in the way. */
static bool
matters (const TesseraPlaced *placed,
         const TesseraPlacedChunk *chunk,
         const Walk *walk,
         const uint32_t life[2])
{
  const TesseraPackItem *item = walk->item;
  if (chunk->top <= walk->top)
    return false;
  if (chunk->begin < life[1] && life[0] < chunk->end)
    return true;
  if (placed->problem->limits == NULL)
    return false;
  const TesseraItem *limit = &placed->problem->limits[item - placed->problem->items];
  return placed->problem->has_zones ||
         ((limit->in & chunk->apart) | (limit->apart & chunk->in)) != 0;
}

uint64_t
tessera_placed_fit (const TesseraPlaced *placed, uint32_t item_index, uint64_t from_bytes)
{
  const TesseraPackItem *item = &placed->problem->items[item_index];
  Walk walk = { .item = item, .top = from_bytes };
  const uint32_t life[2] = { tessera_pack_first_section (item),
                             tessera_pack_last_section (item) };
  for (uint32_t c = 0; c < placed->n_chunks; c++)
    if (matters (placed, &placed->chunks[c], &walk, life) &&
        walk_chunk (placed, &placed->chunks[c], &walk))
      break;
  return walk.top;
}

static void
widen_chunk (const TesseraPlaced *placed,
             TesseraPlacedChunk *chunk,
             const TesseraPlacedEntry *entry)
{
  const uint32_t item_index = entry->item;
  chunk->top = MAX (chunk->top, entry->top);
  if (item_index == TESSERA_PLACED_BLOCKED)
    {
      chunk->begin = 0;
      chunk->end = UINT32_MAX;
      return;
    }
  const TesseraPackItem *item = &placed->problem->items[item_index];
  chunk->begin = MIN (chunk->begin, tessera_pack_first_section (item));
  chunk->end = MAX (chunk->end, tessera_pack_last_section (item));
  if (placed->problem->limits == NULL)
    return;
  chunk->in |= placed->problem->limits[item_index].in;
  chunk->apart |= placed->problem->limits[item_index].apart;
}

/* The upper half goes into a chunk of its own, the next one. */
static void
split_chunk (TesseraPlaced *placed, uint32_t c)
{
  TesseraPlacedChunk *low = &placed->chunks[c], *high = low + 1;
  const uint32_t half = TESSERA_PLACED_CHUNK / 2;
  memmove (high + 1, high, (placed->n_chunks - c - 1) * sizeof *high);
  placed->n_chunks++;
  *high = (TesseraPlacedChunk){ .place = placed->n_places++,
                                .n_entries = low->n_entries - half };
  low->n_entries = half;
  memcpy (entries_of (placed, high), entries_of (placed, low) + half,
          high->n_entries * sizeof *placed->entries);
  high->lowest = entries_of (placed, high)->offset;
  for (TesseraPlacedChunk *chunk = low; chunk <= high; chunk++)
    {
      narrow_chunk (chunk);
      for (uint32_t i = 0; i < chunk->n_entries; i++)
        widen_chunk (placed, chunk, &entries_of (placed, chunk)[i]);
    }
}

/* The chunk that an entry at @offset belongs into: the last that begins no higher. */
static uint32_t
find_chunk (const TesseraPlaced *placed, uint64_t offset)
{
  uint32_t low = 1, high = placed->n_chunks;
  while (low < high)
    {
      uint32_t middle = low + (high - low) / 2;
      if (placed->chunks[middle].lowest <= offset)
        low = middle + 1;
      else
        high = middle;
    }
  return low - 1;
}

static void
put_entry (TesseraPlaced *placed, const TesseraPlacedEntry *entry)
{
  uint32_t c = find_chunk (placed, entry->offset);
  if (placed->chunks[c].n_entries == TESSERA_PLACED_CHUNK)
    {
      split_chunk (placed, c);
      if (placed->chunks[c + 1].lowest <= entry->offset)
        c++;
    }
  TesseraPlacedChunk *chunk = &placed->chunks[c];
  TesseraPlacedEntry *entries = entries_of (placed, chunk);
  uint32_t at = chunk->n_entries;
  for (; at > 0 && entries[at - 1].offset > entry->offset; at--)
    entries[at] = entries[at - 1];
  entries[at] = *entry;
  chunk->n_entries++;
  chunk->lowest = entries[0].offset;
  widen_chunk (placed, chunk, entry);
}

void
tessera_placed_put (TesseraPlaced *placed, uint32_t item_index, uint64_t offset)
{
  const TesseraPackItem *item = &placed->problem->items[item_index];
  const TesseraPlacedEntry entry = { offset, offset + item->size_bytes, item->lives,
                                     item_index };
  put_entry (placed, &entry);
}

void
tessera_placed_empty (TesseraPlaced *placed)
{
  placed->n_chunks = placed->n_places = 1;
  placed->chunks[0] = (TesseraPlacedChunk){ .place = 0 };
  narrow_chunk (&placed->chunks[0]);
  for (guint k = 0; k < placed->problem->room->len; k++)
    {
      const TesseraGap range = tessera_pack_blocked (placed->problem, k);
      const TesseraPlacedEntry entry = {
        range.begin, range.end, { 0, UINT32_MAX, UINT32_MAX, 0 }, TESSERA_PLACED_BLOCKED
      };
      if (range.begin < range.end)
        put_entry (placed, &entry);
    }
}

/* ---- workspaces ---- */

void
tessera_workspace_init (TesseraWorkspace *workspace, const TesseraPackProblem *problem)
{
  *workspace = (TesseraWorkspace){
    .problem = problem,
    .order = g_new (uint32_t, problem->n_items),
    .offsets = g_new (uint64_t, problem->n_items),
    .bodies_put = g_new (uint8_t, (size_t) problem->n_bodies + 1),
    .lowest = tessera_lowest_new (problem),
  };
  tessera_placed_init (&workspace->placed, problem, problem->n_items);
}

void
tessera_workspace_clear (TesseraWorkspace *workspace)
{
  g_free (workspace->order);
  g_free (workspace->offsets);
  g_free (workspace->bodies_put);
  tessera_placed_clear (&workspace->placed);
  tessera_lowest_free (workspace->lowest);
  tessera_sweep_free (workspace->sweep);
}

/* ---- attempts ---- */

static void
put (TesseraWorkspace *workspace, uint32_t item, uint64_t offset, uint64_t *height_bytes)
{
  const TesseraPackProblem *problem = workspace->problem;
  tessera_placed_put (&workspace->placed, item, offset);
  workspace->offsets[item] = offset;
  if (!tessera_pack_is_pinned (problem, item))
    *height_bytes = MAX (*height_bytes, offset + problem->items[item].size_bytes);
}

/* Returns: the lowest base at which each item of the body fits at its distance. */
static uint64_t
find_base (const TesseraWorkspace *workspace, uint32_t body)
{
  const TesseraPackProblem *problem = workspace->problem;
  const uint32_t *first = &problem->body_items[problem->body_ends[body - 1]];
  const uint32_t *last = &problem->body_items[problem->body_ends[body]];
  uint64_t base = 0;
  for (const uint32_t *at = first, *settled = first; at < last;)
    {
      uint64_t distance = problem->limits[*at].body_offset_bytes;
      uint64_t place =
          tessera_placed_fit (&workspace->placed, *at, base + distance) - distance;
      if (place > base)
        settled = at;
      base = place;
      /* Round and round, until all fit that came since the base was lifted. */
      if (++at == last)
        at = first;
      if (at == settled)
        break;
    }
  return base;
}

static void
put_body (TesseraWorkspace *workspace, uint32_t body, uint64_t *height_bytes)
{
  const TesseraPackProblem *problem = workspace->problem;
  if (workspace->bodies_put[body])
    return;
  workspace->bodies_put[body] = 1;
  uint64_t base = find_base (workspace, body);
  for (uint32_t i = problem->body_ends[body - 1]; i < problem->body_ends[body]; i++)
    put (workspace, problem->body_items[i],
         base + problem->limits[problem->body_items[i]].body_offset_bytes, height_bytes);
}

/* By first fit, unless it is pinned and has its place. */
static void
fit (TesseraWorkspace *workspace, uint32_t item, uint64_t *height_bytes)
{
  const uint32_t body = tessera_pack_body (workspace->problem, item);
  if (tessera_pack_is_pinned (workspace->problem, item))
    return;
  if (body != 0)
    put_body (workspace, body, height_bytes);
  else
    put (workspace, item, tessera_placed_fit (&workspace->placed, item, 0), height_bytes);
}

/* Nobody has a place but what is pinned. Returns: the height, 0. */
static uint64_t
begin (TesseraWorkspace *workspace)
{
  const TesseraPackProblem *problem = workspace->problem;
  uint64_t height_bytes = 0;
  tessera_placed_empty (&workspace->placed);
  memset (workspace->bodies_put, 0, (size_t) problem->n_bodies + 1);
  for (uint32_t i = 0; problem->limits != NULL && i < problem->n_items; i++)
    if (tessera_pack_is_pinned (problem, i))
      put (workspace, i, problem->limits[i].pinned_bytes, &height_bytes);
  return height_bytes;
}

uint64_t
tessera_attempt_first (TesseraWorkspace *workspace)
{
  const TesseraPackProblem *problem = workspace->problem;
  uint64_t height_bytes = 0;
  if (problem->limits == NULL && !problem->has_second)
    return 0;
  height_bytes = begin (workspace);
  for (size_t i = 0; i < problem->n_items; i++)
    if (tessera_pack_is_first (problem, workspace->order[i]))
      fit (workspace, workspace->order[i], &height_bytes);
  return height_bytes;
}

bool
tessera_attempt_first_fit (TesseraWorkspace *workspace,
                           uint64_t below_bytes,
                           uint64_t *out_height_bytes)
{
  *out_height_bytes = begin (workspace);
  for (size_t i = 0; i < workspace->problem->n_items; i++)
    {
      if (i % TESSERA_LOOK_EVERY == 0 && *out_height_bytes >= below_bytes)
        return false;
      fit (workspace, workspace->order[i], out_height_bytes);
    }
  return true;
}

bool
tessera_attempt_lowest (TesseraWorkspace *workspace,
                        uint64_t below_bytes,
                        uint64_t *out_height_bytes)
{
  const uint64_t first_bytes = tessera_attempt_first (workspace);
  if (!tessera_lowest_place (workspace->lowest, workspace->order, below_bytes,
                             workspace->offsets, out_height_bytes))
    return false;
  *out_height_bytes = MAX (*out_height_bytes, first_bytes);
  return true;
}

/* Those that are not held lie where they lay, the lower ones first, where that is free.
 * @lies: (array): set by item. */
static void
settle (TesseraWorkspace *workspace, uint8_t *lies, uint64_t *height_bytes)
{
  const TesseraPackProblem *problem = workspace->problem;
  TesseraKeyed *places = g_new (TesseraKeyed, problem->n_items);
  size_t n_places = 0;
  for (uint32_t i = 0; i < problem->n_items; i++)
    if (!tessera_pack_is_held (problem, i) && problem->hints[i] != TESSERA_NOWHERE)
      places[n_places++] = (TesseraKeyed){ problem->hints[i], i };
  tessera_sort (places, n_places);
  for (size_t k = 0; k < n_places; k++)
    {
      const uint32_t item = places[k].value;
      lies[item] =
          tessera_placed_fit (&workspace->placed, item, places[k].key) == places[k].key;
      if (lies[item])
        put (workspace, item, places[k].key, height_bytes);
    }
  g_free (places);
}

void
tessera_attempt_former (TesseraWorkspace *workspace,
                        bool held_first,
                        uint64_t *out_height_bytes)
{
  const TesseraPackProblem *problem = workspace->problem;
  uint8_t *lies = g_new0 (uint8_t, problem->n_items);
  *out_height_bytes = begin (workspace);
  for (size_t i = 0; held_first && i < problem->n_items; i++)
    {
      const uint32_t item = workspace->order[i];
      lies[item] = tessera_pack_is_held (problem, item);
      if (lies[item])
        fit (workspace, item, out_height_bytes);
    }
  settle (workspace, lies, out_height_bytes);
  for (size_t i = 0; i < problem->n_items; i++)
    if (!lies[workspace->order[i]])
      fit (workspace, workspace->order[i], out_height_bytes);
  g_free (lies);
}
