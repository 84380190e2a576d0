/*
 * The life of selectors and edits: planner/edit.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/edits/block-names.h"

#include <stdlib.h>
#include <string.h>

#include "db/array.h"

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
static bool
copy_text (const char *from, char **out_copy)
{
  *out_copy = from ? strdup (from) : NULL;
  return *out_copy || !from;
}

static bool
copy_bytes (const void *from, size_t n_bytes, void **out_copy)
{
  *out_copy = from ? malloc (n_bytes + 1) : NULL;
  if (*out_copy)
    memcpy (*out_copy, from, n_bytes);
  return *out_copy || !from;
}

TesseraStatus
tessera_selector_copy (const TesseraSelector *from, TesseraSelector *out_copy)
{
  TesseraSelector copy = *from;
  void *blocks;
  bool is_whole =
      copy_bytes (from->blocks, from->n_blocks * sizeof *from->blocks, &blocks);

  copy.blocks = blocks;
  copy.names = tessera_block_names_ref (from->names);
  is_whole = copy_text (from->phase, &copy.phase) && is_whole;
  is_whole = copy_text (from->died_phase, &copy.died_phase) && is_whole;
  is_whole = copy_text (from->module, &copy.module) && is_whole;
  is_whole = copy_text (from->source, &copy.source) && is_whole;
  is_whole = copy_text (from->group, &copy.group) && is_whole;
  if (!is_whole)
    tessera_selector_clear (&copy);
  *out_copy = copy;
  return is_whole ? TESSERA_OK : TESSERA_NO_MEMORY;
}

TesseraStatus
tessera_edit_copy (const TesseraEdit *from, TesseraEdit *out_copy)
{
  TesseraEdit copy = *from;
  TesseraStatus status;
  void *shape;
  bool is_whole =
      copy_bytes (from->shape, from->what.n_blocks * sizeof *from->shape, &shape);

  copy.shape = shape;
  is_whole = copy_text (from->name, &copy.name) && is_whole;
  is_whole = copy_text (from->group, &copy.group) && is_whole;
  status = tessera_selector_copy (&from->what, &copy.what);
  is_whole = status == TESSERA_OK && is_whole;
  status = tessera_selector_copy (&from->with, &copy.with);
  is_whole = status == TESSERA_OK && is_whole;
  if (!is_whole)
    tessera_edit_clear (&copy);
  *out_copy = copy;
  return is_whole ? TESSERA_OK : TESSERA_NO_MEMORY;
}

TesseraBlockNames *
tessera_block_names_new (size_t n_names)
{
  TesseraBlockNames *names = calloc (1, sizeof *names);

  if (!names)
    return NULL;
  atomic_init (&names->n_owners, 1);
  names->n_names = n_names;
  names->names = calloc (n_names + 1, sizeof *names->names);
  if (names->names)
    return names;
  free (names);
  return NULL;
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

/* Neighbours mostly are of one phase: the last that came is looked at first. */
static TesseraStatus
find_phase (TesseraBlockNames *names, const char *phase, uint32_t *out_phase)
{
  size_t at = names->n_phases;

  while (at > 0 && strcmp (names->phases[at - 1], phase) != 0)
    at--;
  if (at == 0)
    {
      if (names->n_phases == TESSERA_MOST_NAME_PHASES)
        return TESSERA_INVALID;
      if (!TESSERA_RESERVE (names->phases, names->cap_phases, names->n_phases + 1))
        return TESSERA_NO_MEMORY;
      names->phases[names->n_phases] = strdup (phase);
      if (!names->phases[names->n_phases])
        return TESSERA_NO_MEMORY;
      at = ++names->n_phases;
    }
  *out_phase = (uint32_t) at - 1;
  return TESSERA_OK;
}

TesseraStatus
tessera_block_names_set (TesseraBlockNames *names,
                         size_t index,
                         uint64_t size_bytes,
                         const char *phase,
                         uint32_t step,
                         uint32_t ordinal)
{
  TesseraBlockName *name = &names->names[index];

  *name = (TesseraBlockName){ size_bytes, step, TESSERA_NONE, ordinal };
  return phase ? find_phase (names, phase, &name->phase) : TESSERA_OK;
}
