/*
 * The blocks as a list: sorted, filtered, made into objects only where they are seen.
 *
 * Sorting is a radix sort of (key, block) pairs: 10 M blocks would take a comparison sort
 * seconds. Text is compared once for each stack, phase and group, not for each block.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/panels/blocklist.h"

#include "viewer/document/describe.h"

#include <string.h>

/* --- rows ----------------------------------------------------------------------------
 */

struct _TesseraBlockRow
{
  GObject parent_instance;

  uint32_t block;
};

G_DEFINE_TYPE (TesseraBlockRow, tessera_block_row, G_TYPE_OBJECT)

static void
tessera_block_row_class_init (TesseraBlockRowClass *class)
{
}

static void
tessera_block_row_init (TesseraBlockRow *self)
{
}

TesseraBlockRow *
tessera_block_row_new (uint32_t block)
{
  TesseraBlockRow *row = g_object_new (TESSERA_TYPE_BLOCK_ROW, NULL);

  row->block = block;
  return row;
}

uint32_t
tessera_block_row_get_block (TesseraBlockRow *row)
{
  return row->block;
}

/* --- the list --------------------------------------------------------------------------
 */

struct _TesseraBlockList
{
  GObject parent_instance;

  TesseraData *data;
  uint32_t *order; /* blocks as shown */
  uint32_t n_order;
  TesseraColumn column;
  gboolean down;
  char *text; /* casefolded */
  uint64_t least_bytes;
  uint64_t most_bytes;
};

static GType
get_item_type (GListModel *model)
{
  return TESSERA_TYPE_BLOCK_ROW;
}

static guint
get_n_items (GListModel *model)
{
  return TESSERA_BLOCK_LIST (model)->n_order;
}

static gpointer
get_item (GListModel *model, guint position)
{
  TesseraBlockList *self = TESSERA_BLOCK_LIST (model);

  return position < self->n_order ? tessera_block_row_new (self->order[position]) : NULL;
}

static void
init_list_model (GListModelInterface *interface)
{
  interface->get_item_type = get_item_type;
  interface->get_n_items = get_n_items;
  interface->get_item = get_item;
}

G_DEFINE_TYPE_WITH_CODE (TesseraBlockList,
                         tessera_block_list,
                         G_TYPE_OBJECT,
                         G_IMPLEMENT_INTERFACE (G_TYPE_LIST_MODEL, init_list_model))

static uint64_t
key_of (const TesseraBlockList *self, uint32_t index)
{
  const TesseraBlock *block = &self->data->blocks->blocks[index];

  switch (self->column)
    {
    case TESSERA_COLUMN_SIZE:
      return block->size_bytes;
    case TESSERA_COLUMN_LIFE:
      return block->died_index - block->born_index;
    case TESSERA_COLUMN_CLASS:
      return block->lifetime_class;
    case TESSERA_COLUMN_PHASES:
      return (uint64_t) block->born_phase << 32 | block->died_phase;
    case TESSERA_COLUMN_ADDRESS:
      return block->addr;
    case TESSERA_COLUMN_GROUP:
      return block->group;
    case TESSERA_COLUMN_SOURCE:
      return block->stack;
    default:
      return index;
    }
}

typedef struct
{
  uint64_t key;
  uint32_t block;
} Pair;

/* Least significant digit first, 16 bits each; digits in which all agree are skipped. */
static Pair *
radix_sort (Pair *pairs, Pair *spare, uint32_t n)
{
  g_autofree uint32_t *counts = g_new (uint32_t, 65536);

  for (int shift = 0; shift < 64; shift += 16)
    {
      uint32_t sum = 0;
      Pair *swap = pairs;

      memset (counts, 0, 65536 * sizeof *counts);
      for (uint32_t i = 0; i < n; i++)
        counts[pairs[i].key >> shift & 65535]++;
      if (n > 0 && counts[pairs[0].key >> shift & 65535] == n)
        continue;
      for (int digit = 0; digit < 65536; digit++)
        {
          uint32_t count = counts[digit];

          counts[digit] = sum;
          sum += count;
        }
      for (uint32_t i = 0; i < n; i++)
        spare[counts[pairs[i].key >> shift & 65535]++] = pairs[i];
      pairs = spare;
      spare = swap;
    }
  return pairs;
}

static void
sort_order (TesseraBlockList *self)
{
  uint32_t n = self->n_order;
  g_autofree Pair *first = g_new (Pair, MAX (n, 1));
  g_autofree Pair *second = g_new (Pair, MAX (n, 1));
  const Pair *sorted;

  for (uint32_t i = 0; i < n; i++)
    {
      uint64_t key = key_of (self, self->order[i]);

      /* Downwards by turning the key round keeps equal blocks in order of birth. */
      first[i] = (Pair){ self->down ? ~key : key, self->order[i] };
    }
  sorted = radix_sort (first, second, n);
  for (uint32_t i = 0; i < n; i++)
    self->order[i] = sorted[i].block;
}

/* --- text filter
 * ------------------------------------------------------------------------ */

static uint8_t
has_text (const TesseraBlockList *self, const char *where)
{
  g_autofree char *folded = g_utf8_casefold (where, -1);

  return strstr (folded, self->text) != NULL;
}

/* TRUE for each stack with a frame that has the text. */
static uint8_t *
match_stacks (const TesseraBlockList *self)
{
  const TesseraTrace *trace = self->data->trace;
  g_autofree uint8_t *frames = g_new0 (uint8_t, MAX (trace->n_frames, 1));
  uint8_t *stacks = g_new0 (uint8_t, MAX (trace->n_stacks, 1));

  for (size_t i = 0; i < trace->n_frames; i++)
    frames[i] = has_text (self, tessera_trace_string (trace, trace->frames[i].name)) ||
                has_text (self, tessera_trace_string (trace, trace->frames[i].file));
  for (size_t i = 0; i < trace->n_stacks; i++)
    for (uint32_t f = trace->stack_begin[i]; !stacks[i] && f < trace->stack_begin[i + 1];
         f++)
      stacks[i] = frames[trace->stack_frames[f]];
  return stacks;
}

static uint8_t *
match_phases (const TesseraBlockList *self)
{
  const TesseraStructure *structure = self->data->structure;
  uint8_t *phases = g_new0 (uint8_t, MAX (structure->n_phases, 1));

  for (size_t i = 0; i < structure->n_phases; i++)
    phases[i] =
        has_text (self, tessera_phase_name (self->data->trace, &structure->phases[i]));
  return phases;
}

static uint8_t *
match_groups (const TesseraBlockList *self)
{
  uint8_t *groups = g_new0 (uint8_t, MAX (self->data->n_groups, 1));

  for (size_t i = 0; i < self->data->n_groups; i++)
    groups[i] = has_text (self, self->data->groups[i].name);
  return groups;
}

static void
filter_order (TesseraBlockList *self)
{
  const TesseraBlocks *blocks = self->data->blocks;
  gboolean by_text = self->text != NULL && *self->text != '\0';
  g_autofree uint8_t *stacks = by_text ? match_stacks (self) : NULL;
  g_autofree uint8_t *phases = by_text ? match_phases (self) : NULL;
  g_autofree uint8_t *groups = by_text ? match_groups (self) : NULL;
  gboolean is_missed = by_text && has_text (self, "missed the plan");
  uint8_t classes[8] = { 0 };

  for (uint8_t i = 0; by_text && i < 8; i++)
    classes[i] = has_text (self, tessera_class_name (i));
  self->n_order = 0;
  for (uint32_t i = 0; i < blocks->n_blocks; i++)
    {
      const TesseraBlock *b = &blocks->blocks[i];

      if (b->size_bytes < self->least_bytes || b->size_bytes > self->most_bytes)
        continue;
      if (!by_text || (b->stack < self->data->trace->n_stacks && stacks[b->stack]) ||
          (b->born_phase < self->data->structure->n_phases && phases[b->born_phase]) ||
          (b->died_phase < self->data->structure->n_phases && phases[b->died_phase]) ||
          (b->group < self->data->n_groups && groups[b->group]) ||
          classes[b->lifetime_class & 7] ||
          (is_missed && tessera_pool_was_missed (self->data->pool, b)))
        self->order[self->n_order++] = i;
    }
}

static void
rebuild (TesseraBlockList *self)
{
  guint n_before = self->n_order;

  self->n_order = 0;
  if (self->data != NULL)
    {
      filter_order (self);
      sort_order (self);
    }
  g_list_model_items_changed (G_LIST_MODEL (self), 0, n_before, self->n_order);
}

/* Groups and classes may be others then, and nothing else. */
static gboolean
is_of_same_trace (const TesseraBlockList *self, TesseraData *data)
{
  return self->data != NULL && data != NULL &&
         tessera_data_origin (self->data) == tessera_data_origin (data);
}

static gboolean
depends_on_groups (const TesseraBlockList *self)
{
  return self->column == TESSERA_COLUMN_GROUP || self->column == TESSERA_COLUMN_CLASS ||
         (self->text != NULL && *self->text != '\0');
}

void
tessera_block_list_set_data (TesseraBlockList *self, TesseraData *data)
{
  guint n_before = self->n_order;

  if (self->data == data)
    return;
  if (is_of_same_trace (self, data))
    {
      tessera_data_unref (self->data);
      self->data = tessera_data_ref (data);
      if (depends_on_groups (self))
        rebuild (self);
      return;
    }
  self->n_order = 0;
  g_list_model_items_changed (G_LIST_MODEL (self), 0, n_before, 0);
  g_clear_pointer (&self->data, tessera_data_unref);
  g_clear_pointer (&self->order, g_free);
  if (data != NULL)
    {
      self->data = tessera_data_ref (data);
      self->order = g_new (uint32_t, MAX (data->blocks->n_blocks, 1));
      rebuild (self);
    }
}

void
tessera_block_list_sort (TesseraBlockList *self, TesseraColumn column, gboolean down)
{
  if (self->column == column && self->down == down)
    return;
  self->column = column;
  self->down = down;
  rebuild (self);
}

void
tessera_block_list_filter (TesseraBlockList *self,
                           const char *text,
                           uint64_t least_bytes,
                           uint64_t most_bytes)
{
  g_free (self->text);
  self->text = g_utf8_casefold (text, -1);
  self->least_bytes = least_bytes;
  self->most_bytes = most_bytes;
  rebuild (self);
}

uint32_t
tessera_block_list_get (TesseraBlockList *self, guint position)
{
  return self->order[position];
}

guint
tessera_block_list_find (TesseraBlockList *self, uint32_t block)
{
  for (uint32_t i = 0; i < self->n_order; i++)
    if (self->order[i] == block)
      return i;
  return G_MAXUINT;
}

static void
tessera_block_list_finalize (GObject *object)
{
  TesseraBlockList *self = TESSERA_BLOCK_LIST (object);

  tessera_data_unref (self->data);
  g_free (self->order);
  g_free (self->text);
  G_OBJECT_CLASS (tessera_block_list_parent_class)->finalize (object);
}

static void
tessera_block_list_class_init (TesseraBlockListClass *class)
{
  G_OBJECT_CLASS (class)->finalize = tessera_block_list_finalize;
}

static void
tessera_block_list_init (TesseraBlockList *self)
{
  self->column = TESSERA_COLUMN_SIZE;
  self->down = TRUE;
  self->most_bytes = UINT64_MAX;
}

TesseraBlockList *
tessera_block_list_new (void)
{
  return g_object_new (TESSERA_TYPE_BLOCK_LIST, NULL);
}

gboolean
tessera_parse_bytes (const char *text, uint64_t *out_bytes)
{
  static const char units[] = "kmgt";
  char *end;
  double value = g_ascii_strtod (text, &end), unit = 1;
  const char *letter;

  if (end == text || !(value >= 0))
    return FALSE;
  while (g_ascii_isspace (*end))
    end++;
  letter = *end != '\0' ? strchr (units, g_ascii_tolower (*end)) : NULL;
  if (letter != NULL)
    {
      for (const char *u = units; u <= letter; u++)
        unit *= 1024;
      end++;
    }
  if (*end == 'i' || *end == 'I')
    end++;
  if (*end == 'b' || *end == 'B')
    end++;
  if (*end != '\0' || value * unit >= 1.8e19)
    return FALSE;
  *out_bytes = (uint64_t) (value * unit);
  return TRUE;
}
