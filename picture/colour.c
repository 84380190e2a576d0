/*
 * Legend and colours of all blocks.
 *
 * Keys are counted, joined by name, put in order (sizes, ages, streams and classes in
 * their own, open sets by what they hold at the peak of live), cut to TESSERA_MAX_LEGEND_ENTRIES with
 * the rest as "other", and coloured. A name of an open set gets the palette slot that its
 * hash prefers; where a larger entry has taken it, the next free one.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "db/array.h"
#include "picture/keys.h"
#include "picture/palette.h"
#include "simulator/verdict.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct
{
  TesseraLegendEntry entry;
  size_t first_key;   /* the lowest key of this name: its place in ordered sets */
  uint64_t all_bytes; /* of all its blocks */
} Named;

typedef struct
{
  TesseraKeys keys;
  uint64_t *blocks_of_key, *bytes_of_key, *peak_of_key; /* [n_keys] */
  uint32_t *named_of_key;                               /* [n_keys] */
  Named *named;
  size_t n_named, cap_named;
  uint32_t *slots; /* hash table: number of a name + 1 */
  size_t n_slots;  /* a power of two */
  bool dark;
} Legend;

static const char *const key_names[TESSERA_N_COLOUR_KEYS] = { "class",  "group", "size",
                                                              "stream", "phase", "module",
                                                              "age" };

const char *
tessera_colour_key_name (TesseraColourKey key)
{
  return (unsigned) key < TESSERA_N_COLOUR_KEYS ? key_names[key] : "";
}

/* The first event after which most is live, or TESSERA_NONE when nothing ever is. */
static TesseraStatus
find_peak (const TesseraBlocks *blocks, uint32_t *out_peak)
{
  int64_t *change = calloc ((size_t) blocks->n_events + 1, sizeof *change);
  if (change == NULL)
    return TESSERA_NO_MEMORY;
  for (size_t i = 0; i < blocks->n_blocks; i++)
    {
      const TesseraBlock *b = &blocks->blocks[i];
      if ((b->flags & TESSERA_FAILED) != 0 || b->born_index >= blocks->n_events)
        continue;
      change[b->born_index] += (int64_t) b->size_bytes;
      if (b->freed_index < blocks->n_events)
        change[b->freed_index] -= (int64_t) b->size_bytes;
    }
  int64_t live = 0, most = 0;
  *out_peak = TESSERA_NONE;
  for (uint32_t i = 0; i < blocks->n_events; i++)
    {
      live += change[i];
      if (live > most)
        {
          most = live;
          *out_peak = i;
        }
    }
  free (change);
  return TESSERA_OK;
}

static TesseraStatus
count_keys (Legend *legend)
{
  const TesseraBlocks *blocks = legend->keys.blocks;
  uint32_t peak;
  TesseraStatus status = find_peak (blocks, &peak);
  if (status != TESSERA_OK)
    return status;
  for (size_t i = 0; i < blocks->n_blocks; i++)
    {
      const TesseraBlock *b = &blocks->blocks[i];
      size_t key = tessera_key_of (&legend->keys, b);
      legend->blocks_of_key[key]++;
      legend->bytes_of_key[key] += b->size_bytes;
      if ((b->flags & TESSERA_FAILED) == 0 && b->born_index <= peak &&
          peak < b->freed_index && peak != TESSERA_NONE)
        legend->peak_of_key[key] += b->size_bytes;
    }
  return TESSERA_OK;
}

static size_t
slot_of (const Legend *legend, const char *name)
{
  uint64_t hash = UINT64_C (14695981039346656037); /* FNV-1a */
  for (const char *c = name; *c != '\0'; c++)
    hash = (hash ^ (unsigned char) *c) * UINT64_C (1099511628211);
  size_t slot = (size_t) hash & (legend->n_slots - 1);
  while (legend->slots[slot] != 0 &&
         strcmp (legend->named[legend->slots[slot] - 1].entry.name, name) != 0)
    slot = (slot + 1) & (legend->n_slots - 1);
  return slot;
}

static TesseraStatus
add_named (Legend *legend, const char *name, size_t key)
{
  if (!TESSERA_RESERVE (legend->named, legend->cap_named, legend->n_named + 1))
    return TESSERA_NO_MEMORY;
  Named *named = &legend->named[legend->n_named++];
  memset (named, 0, sizeof *named);
  snprintf (named->entry.name, sizeof named->entry.name, "%s", name);
  named->first_key = key;
  return TESSERA_OK;
}

/* Joins keys of equal name. */
static TesseraStatus
join_names (Legend *legend)
{
  size_t n_used = 0;
  for (size_t key = 0; key < legend->keys.n_keys; key++)
    n_used += legend->blocks_of_key[key] > 0;
  for (legend->n_slots = 64; legend->n_slots < n_used * 2;)
    legend->n_slots *= 2;
  legend->slots = calloc (legend->n_slots, sizeof *legend->slots);
  if (legend->slots == NULL)
    return TESSERA_NO_MEMORY;
  for (size_t key = 0; key < legend->keys.n_keys; key++)
    {
      if (legend->blocks_of_key[key] == 0)
        continue;
      char name[TESSERA_KEY_NAME_BYTES];
      tessera_key_name (&legend->keys, key, name);
      size_t slot = slot_of (legend, name);
      if (legend->slots[slot] == 0)
        {
          TesseraStatus status = add_named (legend, name, key);
          if (status != TESSERA_OK)
            return status;
          legend->slots[slot] = (uint32_t) legend->n_named;
        }
      legend->named_of_key[key] = legend->slots[slot] - 1;
      Named *named = &legend->named[legend->slots[slot] - 1];
      named->all_bytes += legend->bytes_of_key[key];
      named->entry.n_blocks += legend->blocks_of_key[key];
      named->entry.live_bytes += legend->peak_of_key[key];
    }
  return TESSERA_OK;
}

static bool
has_own_order (TesseraColourKey kind)
{
  return kind == TESSERA_COLOUR_CLASS || kind == TESSERA_COLOUR_SIZE ||
         kind == TESSERA_COLOUR_STREAM || kind == TESSERA_COLOUR_AGE;
}

static int
compare_weight (const void *pa, const void *pb, void *user)
{
  const Named *named = user;
  const Named *a = &named[*(const uint32_t *) pa], *b = &named[*(const uint32_t *) pb];
  if (a->entry.live_bytes != b->entry.live_bytes)
    return a->entry.live_bytes < b->entry.live_bytes ? 1 : -1;
  if (a->all_bytes != b->all_bytes)
    return a->all_bytes < b->all_bytes ? 1 : -1;
  return strcmp (a->entry.name, b->entry.name);
}

static int
compare_place (const void *pa, const void *pb, void *user)
{
  const Named *named = user;
  size_t a = named[*(const uint32_t *) pa].first_key;
  size_t b = named[*(const uint32_t *) pb].first_key;
  return (a > b) - (a < b);
}

static uint32_t
fixed_rgb (const Legend *legend, size_t key)
{
  static const uint32_t classes[] = { 0xbbbbbb, 0x4477aa, 0xddcc77, 0x88ccee, 0xaa4499 };
  switch (legend->keys.kind)
    {
    case TESSERA_COLOUR_CLASS:
      return tessera_palette_fit (classes[key], legend->dark);
    case TESSERA_COLOUR_STREAM:
      return tessera_palette_rgb ((uint32_t) key % (2 * TESSERA_N_PALETTE), legend->dark);
    default: /* sizes and ages: along a scale */
      return tessera_palette_scale ((double) key / (double) (legend->keys.n_keys - 1),
                                    legend->dark);
    }
}

/* Gives each of @n entries, largest first, its colour. */
static void
paint (const Legend *legend, const uint32_t *order, size_t n)
{
  bool taken[2 * TESSERA_N_PALETTE] = { false };
  for (size_t i = 0; i < n; i++)
    {
      Named *named = &legend->named[order[i]];
      if (has_own_order (legend->keys.kind))
        {
          named->entry.rgb = fixed_rgb (legend, named->first_key);
          continue;
        }
      uint32_t slot = tessera_palette_slot (named->entry.name);
      while (taken[slot])
        slot = (slot + 1) % (2 * TESSERA_N_PALETTE);
      taken[slot] = true;
      named->entry.rgb = tessera_palette_rgb (slot, legend->dark);
    }
}

/* The legend in its order; entry_of_named says where each name went. */
static TesseraStatus
make_entries (Legend *legend, TesseraColouring *colouring, uint16_t *entry_of_named)
{
  size_t n = legend->n_named,
         n_shown = n <= TESSERA_MAX_LEGEND_ENTRIES ? n : TESSERA_MAX_LEGEND_ENTRIES - 1;
  uint32_t *order = malloc ((n + 1) * sizeof *order);
  colouring->entries = calloc (TESSERA_MAX_LEGEND_ENTRIES, sizeof *colouring->entries);
  if (order == NULL || colouring->entries == NULL)
    {
      free (order);
      return TESSERA_NO_MEMORY;
    }
  for (size_t i = 0; i < n; i++)
    order[i] = (uint32_t) i;
  qsort_r (order, n, sizeof *order, compare_weight, legend->named);
  paint (legend, order, n_shown);
  if (has_own_order (legend->keys.kind))
    qsort_r (order, n_shown, sizeof *order, compare_place, legend->named);
  for (size_t i = 0; i < n; i++)
    {
      const TesseraLegendEntry *from = &legend->named[order[i]].entry;
      TesseraLegendEntry *to = &colouring->entries[i < n_shown ? i : n_shown];
      entry_of_named[order[i]] = (uint16_t) (to - colouring->entries);
      if (i < n_shown)
        *to = *from;
      else
        {
          snprintf (to->name, sizeof to->name, "other (%zu)", n - n_shown);
          to->rgb = tessera_palette_other (legend->dark);
          to->n_blocks += from->n_blocks;
          to->live_bytes += from->live_bytes;
        }
    }
  colouring->n_entries = n_shown < n ? n_shown + 1 : n;
  free (order);
  return TESSERA_OK;
}

static TesseraStatus
colour_blocks (Legend *legend, TesseraColouring *colouring)
{
  const TesseraBlocks *blocks = legend->keys.blocks;
  uint16_t *entry_of_named = malloc ((legend->n_named + 1) * sizeof *entry_of_named);
  colouring->block_rgb = malloc ((blocks->n_blocks + 1) * sizeof *colouring->block_rgb);
  colouring->block_entry =
      malloc ((blocks->n_blocks + 1) * sizeof *colouring->block_entry);
  TesseraStatus status = TESSERA_NO_MEMORY;
  if (entry_of_named != NULL && colouring->block_rgb != NULL &&
      colouring->block_entry != NULL)
    status = make_entries (legend, colouring, entry_of_named);
  for (size_t i = 0; status == TESSERA_OK && i < blocks->n_blocks; i++)
    {
      size_t key = tessera_key_of (&legend->keys, &blocks->blocks[i]);
      uint16_t entry = entry_of_named[legend->named_of_key[key]];
      colouring->block_entry[i] = entry;
      colouring->block_rgb[i] = colouring->entries[entry].rgb;
    }
  free (entry_of_named);
  return status;
}

TesseraStatus
tessera_colouring_new (const TesseraTrace *trace,
                       const TesseraBlocks *blocks,
                       const TesseraStructure *structure,
                       const TesseraGroup *groups,
                       size_t n_groups,
                       TesseraColourKey key,
                       bool dark,
                       TesseraColouring **out_colouring)
{
  *out_colouring = NULL;
  Legend legend = { .keys = { key, trace, blocks, structure, groups, n_groups, 0, NULL },
                    .dark = dark };
  TesseraColouring *colouring = calloc (1, sizeof *colouring);
  TesseraStatus status =
      colouring != NULL ? tessera_keys_init (&legend.keys) : TESSERA_NO_MEMORY;
  if (status == TESSERA_OK)
    {
      size_t n_keys = legend.keys.n_keys;
      colouring->key = key;
      legend.blocks_of_key = calloc (n_keys, sizeof *legend.blocks_of_key);
      legend.bytes_of_key = calloc (n_keys, sizeof *legend.bytes_of_key);
      legend.peak_of_key = calloc (n_keys, sizeof *legend.peak_of_key);
      legend.named_of_key = calloc (n_keys, sizeof *legend.named_of_key);
      if (legend.blocks_of_key == NULL || legend.bytes_of_key == NULL ||
          legend.peak_of_key == NULL || legend.named_of_key == NULL)
        status = TESSERA_NO_MEMORY;
    }
  if (status == TESSERA_OK)
    status = count_keys (&legend);
  if (status == TESSERA_OK)
    status = join_names (&legend);
  if (status == TESSERA_OK)
    status = colour_blocks (&legend, colouring);
  tessera_keys_clear (&legend.keys);
  free (legend.blocks_of_key);
  free (legend.bytes_of_key);
  free (legend.peak_of_key);
  free (legend.named_of_key);
  free (legend.named);
  free (legend.slots);
  if (status != TESSERA_OK)
    tessera_colouring_free (colouring);
  else
    *out_colouring = colouring;
  return status;
}

void
tessera_colouring_live_at (const TesseraColouring *colouring,
                           const TesseraBlocks *blocks,
                           const TesseraLayout *layout,
                           uint32_t event_index,
                           uint64_t out_bytes[TESSERA_MAX_LEGEND_ENTRIES])
{
  memset (out_bytes, 0, TESSERA_MAX_LEGEND_ENTRIES * sizeof *out_bytes);
  for (size_t i = 0; i < blocks->n_blocks; i++)
    if (tessera_is_live (blocks, layout, i, event_index))
      out_bytes[colouring->block_entry[i]] += blocks->blocks[i].size_bytes;
}

void
tessera_colouring_free (TesseraColouring *colouring)
{
  if (colouring == NULL)
    return;
  free (colouring->block_rgb);
  free (colouring->block_entry);
  free (colouring->entries);
  free (colouring);
}

uint32_t
tessera_colour_of_name (const char *name, bool dark)
{
  return tessera_palette_rgb (tessera_palette_slot (name), dark);
}
