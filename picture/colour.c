/*
 * Legend and colours of all blocks.
 *
 * Keys are counted, joined by name, put in order (categories, sizes, ages, streams and classes
 * in their own, open sets by what they hold at the peak of live), cut to TESSERA_MAX_LEGEND_ENTRIES with
 * the rest as "other", and coloured. A name of an open set gets the palette slot that its
 * hash prefers; where a larger entry has taken it, the next free one.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "db/size-text.h"
#include "picture/colour.h"
#include "picture/palette.h"
#include "simulator/verdict.h"

#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the key of a block, and its name ------------------------------------------ */

/* What a block is coloured by: a small number. Different keys may have the same name (the
 * phase "forward" of every step); the legend joins them. */

typedef struct
{
  TesseraLegendEntry entry;
  size_t key; /* of this name, the first that a block had: its place in ordered sets */
  uint64_t all_bytes; /* of all its blocks */
} Named;

typedef struct
{
  TesseraColourKey kind;
  const TesseraWhose *whose;
  const TesseraBlocks *blocks;
  const TesseraGroup *groups;
  size_t n_groups;
  bool dark;
  size_t n_keys;
  uint32_t *rows;          /* phases and modules: [n_blocks] into ... */
  GPtrArray *names;        /* ... these */
  GArray *named;           /* Named */
  GHashTable *number_of;   /* of a name in named, and one more */
  uint32_t *number_of_key; /* [n_keys] likewise; 0: no block had it yet */
} Legend;

#define LEAST_SIZE_BITS 12 /* up to 4 KiB is one bucket */
#define N_SIZES 24         /* the last is everything above 16 GiB */
#define N_AGES 9           /* up to 10, 100 ... 10^8 events; the last: to the end */

static void
find_keys (Legend *legend)
{
  const size_t numbers[TESSERA_N_COLOUR_KEYS] = {
    [TESSERA_COLOUR_CATEGORY] = TESSERA_N_CATEGORIES,
    [TESSERA_COLOUR_CLASS] = TESSERA_CLASS_DYNAMIC + 1,
    [TESSERA_COLOUR_GROUP] = legend->n_groups + 1,
    [TESSERA_COLOUR_SIZE] = N_SIZES,
    [TESSERA_COLOUR_STREAM] = UINT16_MAX + 1,
    [TESSERA_COLOUR_AGE] = N_AGES,
  };

  legend->names = g_ptr_array_new_with_free_func (g_free);
  if (legend->kind == TESSERA_COLOUR_PHASE || legend->kind == TESSERA_COLOUR_MODULE)
    legend->rows = tessera_owner_rows (
        legend->whose,
        legend->kind == TESSERA_COLOUR_PHASE ? TESSERA_BY_PHASE : TESSERA_BY_MODULE,
        TESSERA_NONE, legend->names);
  legend->n_keys = MAX (numbers[legend->kind], legend->names->len);
}

static size_t
size_key (uint64_t size_bytes)
{
  size_t key = 0;
  while (key < N_SIZES - 1 && size_bytes > UINT64_C (1) << (LEAST_SIZE_BITS + key))
    key++;
  return key;
}

static size_t
age_key (const TesseraBlocks *blocks, const TesseraBlock *block)
{
  if (block->died_index >= blocks->n_events)
    return N_AGES - 1;
  uint32_t age = block->died_index - block->born_index;
  size_t key = 0;
  for (uint32_t limit = 10; age > limit && key < N_AGES - 2; limit *= 10)
    key++;
  return key;
}

static size_t
key_of (const Legend *legend, const TesseraBlock *block)
{
  switch (legend->kind)
    {
    case TESSERA_COLOUR_CATEGORY:
      return legend->whose->categories != NULL
                 ? legend->whose->categories[block - legend->blocks->blocks]
                 : TESSERA_UNKNOWN;
    case TESSERA_COLOUR_GROUP:
      return block->group < legend->n_groups ? block->group : legend->n_groups;
    case TESSERA_COLOUR_SIZE:
      return size_key (block->size_bytes);
    case TESSERA_COLOUR_STREAM:
      return block->stream;
    case TESSERA_COLOUR_PHASE:
    case TESSERA_COLOUR_MODULE:
      return legend->rows[block - legend->blocks->blocks];
    case TESSERA_COLOUR_AGE:
      return age_key (legend->blocks, block);
    default:
      return block->lifetime_class < legend->n_keys ? block->lifetime_class : 0;
    }
}

/* ---- names ------------------------------------------------------------------------ */

static char *
name_size (size_t key)
{
  bool is_last = key == N_SIZES - 1;
  unsigned bits = LEAST_SIZE_BITS + (unsigned) key - is_last;
  return g_strdup_printf ("%s %u %s", is_last ? "over" : "to", 1u << (bits % 10),
                          tessera_size_units[bits / 10].name);
}

/* A group of one step and the same of the next are one entry: "forward -> backward". */
static char *
name_group (const Legend *legend, size_t key)
{
  bool is_known = key < legend->n_groups && legend->groups[key].name != NULL;
  const char *name = is_known ? legend->groups[key].name : "no group";
  const char *step = strstr (name, ", step ");
  return g_strndup (name, step != NULL ? (size_t) (step - name) : strlen (name));
}

static char *
key_name (const Legend *legend, size_t key)
{
  static const char *const classes[] = { "not classified", "persistent", "scoped",
                                         "transient", "dynamic" };
  static const char *const ages[N_AGES] = {
    "to 10 events",         "to 100 events",          "to 1,000 events",
    "to 10,000 events",     "to 100,000 events",      "to 1 million events",
    "to 10 million events", "over 10 million events", "to the end"
  };
  switch (legend->kind)
    {
    case TESSERA_COLOUR_CATEGORY:
      return g_strdup (tessera_category_name ((TesseraCategory) key));
    case TESSERA_COLOUR_GROUP:
      return name_group (legend, key);
    case TESSERA_COLOUR_SIZE:
      return name_size (key);
    case TESSERA_COLOUR_STREAM:
      return g_strdup_printf ("stream %zu%s", key, key == 0 ? " (default)" : "");
    case TESSERA_COLOUR_PHASE:
    case TESSERA_COLOUR_MODULE:
      return g_strdup (legend->names->pdata[key]);
    case TESSERA_COLOUR_AGE:
      return g_strdup (ages[key]);
    default:
      return g_strdup (classes[key]);
    }
}

/* ---- legend and colours -------------------------------------------------------- */

static const char *const key_names[TESSERA_N_COLOUR_KEYS] = {
  "category", "class", "group", "size", "stream", "phase", "module", "age"
};

const char *
tessera_colour_key_name (TesseraColourKey key)
{
  return (unsigned) key < TESSERA_N_COLOUR_KEYS ? key_names[key] : "";
}

TesseraColourKey
tessera_usual_colour_key (const TesseraTrace *trace)
{
  return trace->n_stacks > 0 || trace->n_tensors > 0 ? TESSERA_COLOUR_CATEGORY
                                                     : TESSERA_COLOUR_CLASS;
}

/* The first event after which most is live, or TESSERA_NONE when nothing ever is. */
static uint32_t
find_peak (const TesseraBlocks *blocks)
{
  g_autofree int64_t *change = g_new0 (int64_t, (size_t) blocks->n_events + 1);
  for (size_t i = 0; i < blocks->n_blocks; i++)
    {
      const TesseraBlock *b = &blocks->blocks[i];
      if ((b->flags & TESSERA_FAILED) != 0 || b->born_index >= blocks->n_events)
        continue;
      change[b->born_index] += (int64_t) b->size_bytes;
      if (b->freed_index < blocks->n_events)
        change[b->freed_index] -= (int64_t) b->size_bytes;
    }
  uint32_t peak;
  tessera_highest_sum (change, blocks->n_events, &peak);
  return peak;
}

static Named *
named_at (const Legend *legend, size_t i)
{
  return &g_array_index (legend->named, Named, i);
}

/* The number of the name that a key has: several may have one. */
static uint32_t
find_named (Legend *legend, size_t key)
{
  guint number = legend->number_of_key[key];
  if (number == 0)
    {
      g_autofree char *text = key_name (legend, key);
      Named added = { .key = key };
      tessera_show_text (text, added.entry.name, sizeof added.entry.name);
      number =
          GPOINTER_TO_UINT (g_hash_table_lookup (legend->number_of, added.entry.name));
      if (number == 0)
        {
          g_array_append_val (legend->named, added);
          number = legend->named->len;
          g_hash_table_insert (legend->number_of, g_strdup (added.entry.name),
                               GUINT_TO_POINTER (number));
        }
      legend->number_of_key[key] = number;
    }
  return number - 1;
}

/* @numbers: of each block the name's. */
static void
count_blocks (Legend *legend, uint32_t *numbers)
{
  const TesseraBlocks *blocks = legend->blocks;
  uint32_t peak = find_peak (blocks);
  for (size_t i = 0; i < blocks->n_blocks; i++)
    {
      const TesseraBlock *b = &blocks->blocks[i];
      numbers[i] = find_named (legend, key_of (legend, b));
      Named *named = named_at (legend, numbers[i]);
      named->all_bytes += b->size_bytes;
      named->entry.n_blocks++;
      if ((b->flags & TESSERA_FAILED) == 0 && b->born_index <= peak &&
          peak < b->freed_index && peak != TESSERA_NONE)
        named->entry.live_bytes += b->size_bytes;
    }
}

static bool
has_own_order (TesseraColourKey kind)
{
  return kind != TESSERA_COLOUR_GROUP && kind != TESSERA_COLOUR_PHASE &&
         kind != TESSERA_COLOUR_MODULE;
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
  size_t a = named[*(const uint32_t *) pa].key;
  size_t b = named[*(const uint32_t *) pb].key;
  return (a > b) - (a < b);
}

/* Told apart as well by who sees no red or no green, each from its neighbours in the legend and
 * the six largest kinds from each other: colour-test.c computes it. What is unknown is grey. */
uint32_t
tessera_colour_of_category (TesseraCategory category, bool dark)
{
  static const uint32_t categories[TESSERA_N_CATEGORIES] = {
    [TESSERA_PARAMETER] = 0x4477aa,
    [TESSERA_GRADIENT] = 0x88ccee,
    [TESSERA_OPTIMIZER_STATE] = 0xcc6677,
    [TESSERA_ACTIVATION] = 0xbbcc33,
    [TESSERA_LOSS] = 0xee8866,
    [TESSERA_TEMPORARY_FORWARD] = 0x882255,
    [TESSERA_TEMPORARY_BACKWARD] = 0x774411,
    [TESSERA_TEMPORARY_RECOMPUTATION] = 0xffaabb,
    [TESSERA_TEMPORARY_OPTIMIZER] = 0xaa4499,
    [TESSERA_INPUT] = 0xcc99bb,
    [TESSERA_COMMUNICATION] = 0xaa7744,
    [TESSERA_WORKSPACE] = 0x5d4fa8,
    [TESSERA_KV_CACHE] = 0x999933,
    [TESSERA_KEPT] = 0x44aa99,
    [TESSERA_UNKNOWN_BEFORE] = 0x666666,
    [TESSERA_UNKNOWN_NO_STACK] = 0x8c8c8c,
    [TESSERA_UNKNOWN] = 0xb2b2b2,
  };

  return tessera_palette_fit (categories[category], dark);
}

static uint32_t
fixed_rgb (const Legend *legend, size_t key)
{
  static const uint32_t classes[] = { 0xbbbbbb, 0x4477aa, 0xddcc77, 0x88ccee, 0xaa4499 };
  switch (legend->kind)
    {
    case TESSERA_COLOUR_CATEGORY:
      return tessera_colour_of_category ((TesseraCategory) key, legend->dark);
    case TESSERA_COLOUR_CLASS:
      return tessera_palette_fit (classes[key], legend->dark);
    case TESSERA_COLOUR_STREAM:
      return tessera_palette_rgb ((uint32_t) key % (2 * TESSERA_N_PALETTE), legend->dark);
    default: /* sizes and ages: along a scale */
      return tessera_palette_scale ((double) key / (double) (legend->n_keys - 1),
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
      Named *named = named_at (legend, order[i]);
      if (has_own_order (legend->kind))
        {
          named->entry.rgb = fixed_rgb (legend, named->key);
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
static void
make_entries (Legend *legend, TesseraColouring *colouring, uint16_t *entry_of_named)
{
  size_t n = legend->named->len,
         n_shown = n <= TESSERA_MAX_LEGEND_ENTRIES ? n : TESSERA_MAX_LEGEND_ENTRIES - 1;
  g_autofree uint32_t *order = g_new (uint32_t, n + 1);
  colouring->entries = g_new0 (TesseraLegendEntry, TESSERA_MAX_LEGEND_ENTRIES);
  for (size_t i = 0; i < n; i++)
    order[i] = (uint32_t) i;
  qsort_r (order, n, sizeof *order, compare_weight, legend->named->data);
  paint (legend, order, n_shown);
  if (has_own_order (legend->kind))
    qsort_r (order, n_shown, sizeof *order, compare_place, legend->named->data);
  for (size_t i = 0; i < n; i++)
    {
      const TesseraLegendEntry *from = &named_at (legend, order[i])->entry;
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
}

TesseraColouring *
tessera_colouring_new (const TesseraWhose *whose,
                       const TesseraBlocks *blocks,
                       const TesseraGroup *groups,
                       size_t n_groups,
                       TesseraColourKey key,
                       bool dark)
{
  g_autoptr (GArray) named = g_array_new (FALSE, FALSE, sizeof (Named));
  g_autoptr (GHashTable) number_of =
      g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  Legend legend = { .kind = key,
                    .whose = whose,
                    .blocks = blocks,
                    .groups = groups,
                    .n_groups = n_groups,
                    .dark = dark,
                    .named = named,
                    .number_of = number_of };
  TesseraColouring *colouring = g_new0 (TesseraColouring, 1);
  colouring->key = key;
  colouring->block_rgb = g_new (uint32_t, blocks->n_blocks + 1);
  colouring->block_entry = g_new (uint16_t, blocks->n_blocks + 1);
  find_keys (&legend);
  legend.number_of_key = g_new0 (uint32_t, legend.n_keys);
  count_blocks (&legend, colouring->block_rgb);
  g_autofree uint16_t *entry_of_named = g_new (uint16_t, named->len + 1);
  make_entries (&legend, colouring, entry_of_named);
  for (size_t i = 0; i < blocks->n_blocks; i++)
    {
      colouring->block_entry[i] = entry_of_named[colouring->block_rgb[i]];
      colouring->block_rgb[i] = colouring->entries[colouring->block_entry[i]].rgb;
    }
  g_free (legend.number_of_key);
  g_free (legend.rows);
  g_ptr_array_unref (legend.names);
  return colouring;
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
  g_free (colouring->block_rgb);
  g_free (colouring->block_entry);
  g_free (colouring->entries);
  g_free (colouring);
}

uint32_t
tessera_colour_of_name (const char *name, bool dark)
{
  return tessera_palette_rgb (tessera_palette_slot (name), dark);
}
