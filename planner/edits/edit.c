/*
 * The life of selectors and edits: planner/edit.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/edits/block-names.h"

#include "planner/memory.h"

void
tessera_selector_init (TesseraSelector *selector)
{
  *selector = (TesseraSelector){
    .step = -1, .stream = -1, .ordinal = TESSERA_NONE, .alive_at = TESSERA_NONE
  };
}

void
tessera_selector_clear (TesseraSelector *selector)
{
  free (selector->blocks);
  tessera_block_names_unref (selector->names);
  free (selector->phase);
  free (selector->died_phase);
  free (selector->module);
  free (selector->source);
  free (selector->group);
  tessera_selector_init (selector);
}

void
tessera_edit_clear (TesseraEdit *edit)
{
  free (edit->name);
  tessera_selector_clear (&edit->what);
  tessera_selector_clear (&edit->with);
  free (edit->group);
  free (edit->shape);
  *edit = (TesseraEdit){ 0 };
  tessera_selector_init (&edit->what);
  tessera_selector_init (&edit->with);
}

/* NULL stays NULL. */
static void *
copy_bytes (const void *from, size_t n_bytes)
{
  void *copy = from ? g_malloc (n_bytes + 1) : NULL;

  if (copy)
    memcpy (copy, from, n_bytes);
  return copy;
}

void
tessera_selector_copy (const TesseraSelector *from, TesseraSelector *out_copy)
{
  *out_copy = *from;
  out_copy->blocks = copy_bytes (from->blocks, from->n_blocks * sizeof *from->blocks);
  out_copy->names = tessera_block_names_ref (from->names);
  out_copy->phase = g_strdup (from->phase);
  out_copy->died_phase = g_strdup (from->died_phase);
  out_copy->module = g_strdup (from->module);
  out_copy->source = g_strdup (from->source);
  out_copy->group = g_strdup (from->group);
}

void
tessera_edit_copy (const TesseraEdit *from, TesseraEdit *out_copy)
{
  *out_copy = *from;
  out_copy->shape = copy_bytes (from->shape, from->what.n_blocks * sizeof *from->shape);
  out_copy->name = g_strdup (from->name);
  out_copy->group = g_strdup (from->group);
  tessera_selector_copy (&from->what, &out_copy->what);
  tessera_selector_copy (&from->with, &out_copy->with);
}

TesseraBlockNames *
tessera_block_names_new (size_t n_names)
{
  TesseraBlockNames *names = g_new0 (TesseraBlockNames, 1);

  atomic_init (&names->n_owners, 1);
  names->n_names = n_names;
  names->names = g_new0 (TesseraBlockName, n_names + 1);
  return names;
}

TesseraBlockNames *
tessera_block_names_ref (TesseraBlockNames *names)
{
  if (names)
    atomic_fetch_add_explicit (&names->n_owners, 1, memory_order_relaxed);
  return names;
}

void
tessera_block_names_unref (TesseraBlockNames *names)
{
  if (!names || atomic_fetch_sub_explicit (&names->n_owners, 1, memory_order_acq_rel) > 1)
    return;
  for (size_t i = 0; i < names->n_phases; i++)
    free (names->phases[i]);
  free (names->phases);
  free (names->names);
  free (names);
}

/* Neighbours mostly are of one phase: the last that came is looked at first. TESSERA_NONE:
 * there are too many. */
static uint32_t
find_phase (TesseraBlockNames *names, const char *phase)
{
  size_t at = names->n_phases;

  while (at > 0 && strcmp (names->phases[at - 1], phase) != 0)
    at--;
  if (at == 0)
    {
      if (names->n_phases == TESSERA_MOST_NAME_PHASES)
        return TESSERA_NONE;
      TESSERA_GROW (names->phases, names->cap_phases, names->n_phases + 1);
      names->phases[names->n_phases] = g_strdup (phase);
      at = ++names->n_phases;
    }
  return (uint32_t) at - 1;
}

bool
tessera_block_names_set (TesseraBlockNames *names,
                         size_t index,
                         uint64_t size_bytes,
                         const char *phase,
                         uint32_t step,
                         uint32_t ordinal)
{
  uint32_t number = phase ? find_phase (names, phase) : TESSERA_NONE;

  names->names[index] = (TesseraBlockName){ size_bytes, step, number, ordinal };
  return !phase || number != TESSERA_NONE;
}
