/*
 * The blocks as a list: sorted and filtered.
 *
 * Text is compared once for each stack, phase and group, not for each block.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/model/document.h"

#include <string.h>

#include "planner/memory.h"

/* What a list is made of while it is. */
typedef struct
{
  const TesseraData *data;
  TesseraBlockFilter by;
  char *text; /* casefolded; "": all */
} Making;

/* --- order ------------------------------------------------------------------------ */

void
tessera_sort_indices (uint32_t *indices,
                      uint32_t n,
                      TesseraKeyFunc key_of,
                      gconstpointer user,
                      gboolean down)
{
  g_autofree TesseraKeyed *keyed = g_new (TesseraKeyed, MAX (n, 1));

  for (uint32_t i = 0; i < n; i++)
    {
      uint64_t key = key_of (user, indices[i]);

      /* Downwards by turning the key round keeps equals in ascending order. */
      keyed[i] = (TesseraKeyed){ down ? ~key : key, indices[i] };
    }
  tessera_sort (keyed, n);
  for (uint32_t i = 0; i < n; i++)
    indices[i] = keyed[i].value;
}

static uint64_t
key_of (gconstpointer user, uint32_t index)
{
  const Making *self = user;
  const TesseraBlock *block = &self->data->blocks->blocks[index];

  switch (self->by.column)
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

/* --- text filter ------------------------------------------------------------------ */

static uint8_t
has_text (const Making *self, const char *where)
{
  g_autofree char *folded = g_utf8_casefold (where, -1);

  return strstr (folded, self->text) != NULL;
}

/* TRUE for each stack with a frame that has the text. */
static uint8_t *
match_stacks (const Making *self)
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
match_phases (const Making *self)
{
  const TesseraStructure *structure = self->data->structure;
  uint8_t *phases = g_new0 (uint8_t, MAX (structure->n_phases, 1));

  for (size_t i = 0; i < structure->n_phases; i++)
    phases[i] =
        has_text (self, tessera_phase_name (self->data->trace, &structure->phases[i]));
  return phases;
}

static uint8_t *
match_groups (const Making *self)
{
  uint8_t *groups = g_new0 (uint8_t, MAX (self->data->n_groups, 1));

  for (size_t i = 0; i < self->data->n_groups; i++)
    groups[i] = has_text (self, self->data->groups[i].name);
  return groups;
}

static void
filter_blocks (const Making *self, GArray *list)
{
  const TesseraBlocks *blocks = self->data->blocks;
  gboolean by_text = *self->text != '\0';
  g_autofree uint8_t *stacks = by_text ? match_stacks (self) : NULL;
  g_autofree uint8_t *phases = by_text ? match_phases (self) : NULL;
  g_autofree uint8_t *groups = by_text ? match_groups (self) : NULL;
  gboolean is_missed = by_text && has_text (self, "missed the plan");
  gboolean is_left = by_text && has_text (self, "left to the dynamic allocator");
  uint8_t classes[8] = { 0 };

  for (uint8_t i = 0; by_text && i < 8; i++)
    classes[i] = has_text (self, tessera_class_name (i));
  for (uint32_t i = 0; i < blocks->n_blocks; i++)
    {
      const TesseraBlock *b = &blocks->blocks[i];

      if (b->size_bytes < self->by.least_bytes || b->size_bytes > self->by.most_bytes)
        continue;
      if (!by_text || (b->stack < self->data->trace->n_stacks && stacks[b->stack]) ||
          (b->born_phase < self->data->structure->n_phases && phases[b->born_phase]) ||
          (b->died_phase < self->data->structure->n_phases && phases[b->died_phase]) ||
          (b->group < self->data->n_groups && groups[b->group]) ||
          classes[b->lifetime_class & 7] ||
          ((is_missed || is_left) && tessera_pool_was_missed (self->data->pool, b) &&
           (tessera_pool_was_left (self->data->trace, self->data->pool, b) ? is_left
                                                                           : is_missed)))
        g_array_append_val (list, i);
    }
}

GArray *
tessera_block_list_new (const TesseraData *data, const TesseraBlockFilter *filter)
{
  GArray *list = g_array_new (FALSE, FALSE, sizeof (uint32_t));
  Making making = { .data = data, .by = *filter };

  making.text = g_utf8_casefold (filter->text != NULL ? filter->text : "", -1);
  filter_blocks (&making, list);
  tessera_sort_indices ((uint32_t *) (void *) list->data, list->len, key_of, &making,
                        filter->down);
  g_free (making.text);
  return list;
}

guint
tessera_block_list_find (const GArray *list, uint32_t block)
{
  for (guint i = 0; i < list->len; i++)
    if (g_array_index (list, uint32_t, i) == block)
      return i;
  return G_MAXUINT;
}
