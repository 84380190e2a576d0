/*
 * Names of blocks as an object: block-names.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/edits/block-names.h"

#include "db/array.h"

#include <stdlib.h>
#include <string.h>

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
