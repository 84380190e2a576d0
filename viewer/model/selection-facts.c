/*
 * What a selection is, told in numbers.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/model/data.h"

#include <stdlib.h>

#include "cli/command.h"
typedef struct
{
  uint64_t value;
  uint32_t block; /* one that has it */
} Valued;

static int
compare_values (const void *a, const void *b)
{
  const Valued *x = a, *y = b;

  if (x->value != y->value)
    return (x->value > y->value) - (x->value < y->value);
  return (x->block > y->block) - (x->block < y->block);
}

/* Keeps the most common; of equals the one that came first. */
static void
note_common (TesseraCommon *most, TesseraCommon common)
{
  size_t at = TESSERA_N_COMMON;

  while (at > 0 && most[at - 1].n_blocks < common.n_blocks)
    at--;
  if (at == TESSERA_N_COMMON)
    return;
  for (size_t i = TESSERA_N_COMMON - 1; i > at; i--)
    most[i] = most[i - 1];
  most[at] = common;
}

/* @by_block: the value that is kept is a block that has it. Returns: how many differ. */
static size_t
count_values (Valued *values, size_t n, gboolean by_block, TesseraCommon *most)
{
  size_t n_different = 0;

  qsort (values, n, sizeof *values, compare_values);
  for (size_t i = 0, end; i < n; i = end)
    {
      for (end = i + 1; end < n && values[end].value == values[i].value; end++)
        ;
      note_common (
          most, (TesseraCommon){ by_block ? values[i].block : values[i].value, end - i });
      n_different++;
    }
  return n_different;
}

/* For each phase the first of its name: a phase of every step is one. */
static uint32_t *
name_phases (const TesseraData *data)
{
  size_t n = data->structure->n_phases;
  uint32_t *first = g_new (uint32_t, MAX (n, 1));
  g_autoptr (GHashTable) seen = g_hash_table_new (g_str_hash, g_str_equal);

  for (size_t i = 0; i < n; i++)
    {
      char *name = (char *) tessera_phase_name (data->trace, &data->structure->phases[i]);
      gpointer known;

      if (!g_hash_table_lookup_extended (seen, name, NULL, &known))
        g_hash_table_insert (seen, name, known = GUINT_TO_POINTER (i));
      first[i] = GPOINTER_TO_UINT (known);
    }
  return first;
}

typedef uint64_t (*ValueOf) (const TesseraBlock *block, const uint32_t *phases);

static uint64_t
size_of (const TesseraBlock *block, const uint32_t *phases)
{
  return block->size_bytes;
}

static uint64_t
group_of (const TesseraBlock *block, const uint32_t *phases)
{
  return block->group;
}

/* Blocks that live on are others than those that die in no phase. */
static uint64_t
phases_of (const TesseraBlock *block, const uint32_t *phases)
{
  uint64_t born = block->born_phase != TESSERA_NONE ? phases[block->born_phase] + 1 : 0;
  uint64_t died = block->died_phase != TESSERA_NONE ? phases[block->died_phase] + 1
                  : block->flags & TESSERA_AT_END   ? UINT32_MAX
                                                    : 0;

  return born << 32 | died;
}

static const char *
name_of_phase (const TesseraData *data, uint32_t phase)
{
  return phase != TESSERA_NONE ? cli_shown (tessera_phase_name (
                                     data->trace, &data->structure->phases[phase]))
                               : "no phase";
}

char *
tessera_selection_facts_describe_phases (const TesseraData *data, uint32_t block)
{
  const TesseraBlock *b = &data->blocks->blocks[block];
  const char *born = name_of_phase (data, b->born_phase);
  const char *died = name_of_phase (data, b->died_phase);

  if (b->died_phase == TESSERA_NONE && b->flags & TESSERA_AT_END)
    return g_strdup_printf ("%s, lives on", born);
  return g_str_equal (born, died) ? g_strdup (born)
                                  : g_strdup_printf ("%s → %s", born, died);
}

static void
count_common (const TesseraData *data, TesseraSelectionFacts *facts)
{
  const TesseraSelection *selection = facts->selection;
  g_autofree Valued *values = g_new (Valued, selection->n_blocks);
  g_autofree uint32_t *phases = name_phases (data);
  const struct
  {
    ValueOf value_of;
    gboolean by_block;
    TesseraCommon *most;
    size_t *n_different;
  } counts[] = { { size_of, FALSE, facts->sizes, &facts->n_sizes },
                 { group_of, FALSE, facts->groups, &facts->n_groups },
                 { phases_of, TRUE, facts->phases, &facts->n_phases } };

  for (size_t c = 0; c < G_N_ELEMENTS (counts); c++)
    {
      for (size_t i = 0; i < selection->n_blocks; i++)
        {
          uint32_t b = selection->blocks[i];

          values[i] =
              (Valued){ counts[c].value_of (&data->blocks->blocks[b], phases), b };
        }
      *counts[c].n_different =
          count_values (values, selection->n_blocks, counts[c].by_block, counts[c].most);
    }
}

static int
compare_indices (const void *a, const void *b)
{
  const Valued *x = a, *y = b;

  return (x->block > y->block) - (x->block < y->block);
}

/* Sweep over births, which the list has in order, and deaths. */
static void
find_most (const TesseraData *data, TesseraSelectionFacts *facts)
{
  const TesseraBlock *blocks = data->blocks->blocks;
  const TesseraSelection *selection = facts->selection;
  size_t n = selection->n_blocks, gone = 0;
  g_autofree Valued *deaths = g_new (Valued, n); /* bytes, and the event */
  uint64_t alive = 0;

  for (size_t i = 0; i < n; i++)
    {
      const TesseraBlock *b = &blocks[selection->blocks[i]];

      deaths[i] = (Valued){ b->block_bytes, b->died_index };
    }
  qsort (deaths, n, sizeof *deaths, compare_indices);
  for (size_t i = 0; i < n; i++)
    {
      const TesseraBlock *b = &blocks[selection->blocks[i]];

      while (deaths[gone].block <= b->born_index)
        alive -= deaths[gone++].value;
      alive += b->block_bytes;
      if (alive > facts->most_bytes)
        {
          facts->most_bytes = alive;
          facts->most_index = b->born_index;
        }
    }
}

static void
sum_up (const TesseraData *data, TesseraSelectionFacts *facts)
{
  const TesseraBlock *blocks = data->blocks->blocks;
  g_autofree uint8_t *streams = g_malloc0 (UINT16_MAX + 1);

  facts->largest = facts->selection->blocks[0];
  facts->first_step = facts->last_step = TESSERA_NONE;
  facts->least_life = UINT32_MAX;
  for (size_t i = 0; i < facts->selection->n_blocks; i++)
    {
      const TesseraBlock *b = &blocks[facts->selection->blocks[i]];
      uint32_t life = b->died_index - b->born_index;

      facts->size_bytes += b->size_bytes;
      if (b->born_index <= data->bound_index && b->died_index > data->bound_index)
        facts->peak_bytes += b->block_bytes;
      if (b->size_bytes > blocks[facts->largest].size_bytes)
        facts->largest = facts->selection->blocks[i];
      facts->least_life = MIN (facts->least_life, life);
      facts->most_life = MAX (facts->most_life, life);
      if (b->lifetime_class < G_N_ELEMENTS (facts->n_of_class))
        facts->n_of_class[b->lifetime_class]++;
      if (b->step != TESSERA_NONE)
        {
          if (facts->first_step == TESSERA_NONE)
            facts->first_step = facts->last_step = b->step;
          facts->first_step = MIN (facts->first_step, b->step);
          facts->last_step = MAX (facts->last_step, b->step);
        }
      facts->n_streams += !streams[b->stream];
      streams[b->stream] = 1;
    }
}

void
tessera_selection_facts (const TesseraData *data,
                         TesseraSelection *selection,
                         TesseraSelectionFacts *out_facts)
{
  out_facts->selection = tessera_selection_ref (selection);
  sum_up (data, out_facts);
  count_common (data, out_facts);
  find_most (data, out_facts);
}

void
tessera_selection_facts_clear (TesseraSelectionFacts *facts)
{
  tessera_selection_unref (facts->selection);
  *facts = (TesseraSelectionFacts){ 0 };
}
