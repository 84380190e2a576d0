/*
 * Listed blocks, named in one trace and found in another: planner/edit.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/edit.h"

#include <inttypes.h>
#include <stdlib.h>

#include "db/hash.h"
#include "planner/memory.h"

/* But for the ordinal. */
static guint
hash_like (gconstpointer key)
{
  const TesseraBlockName *name = key;
  uint64_t hash = tessera_hash_number (TESSERA_HASH_START, name->size_bytes);

  hash = tessera_hash_number (hash, (uintptr_t) name->phase);
  return (guint) (tessera_hash_number (hash, name->step) >> 16);
}

static gboolean
is_like (gconstpointer a, gconstpointer b)
{
  const TesseraBlockName *x = a, *y = b;

  return x->size_bytes == y->size_bytes && x->step == y->step && x->phase == y->phase;
}

static guint
hash_name (gconstpointer key)
{
  const TesseraBlockName *name = key;

  return (guint) (tessera_hash_number (hash_like (key), name->ordinal) >> 16);
}

static gboolean
is_same (gconstpointer a, gconstpointer b)
{
  const TesseraBlockName *x = a, *y = b;

  return is_like (a, b) && x->ordinal == y->ordinal;
}

/* Of each block. */
static TesseraBlockName *
name_all (const TesseraTrace *trace,
          const TesseraBlocks *blocks,
          const TesseraStructure *structure)
{
  g_autofree const char **phases = g_new (const char *, structure->n_phases + 1);
  TesseraBlockName *names = g_new (TesseraBlockName, blocks->n_blocks + 1);
  g_autoptr (GHashTable) counts = g_hash_table_new (hash_like, is_like);

  for (size_t i = 0; i < structure->n_phases; i++)
    phases[i] = g_intern_string (tessera_phase_name (trace, &structure->phases[i]));
  for (size_t i = 0; i < blocks->n_blocks; i++)
    {
      const TesseraBlock *block = &blocks->blocks[i];

      names[i] = (TesseraBlockName){
        block->size_bytes,
        block->born_phase == TESSERA_NONE ? NULL : phases[block->born_phase],
        block->step,
        0,
      };
      names[i].ordinal = GPOINTER_TO_UINT (g_hash_table_lookup (counts, &names[i]));
      g_hash_table_insert (counts, &names[i], GUINT_TO_POINTER (names[i].ordinal + 1));
    }
  return names;
}

void
tessera_block_ordinals (const TesseraTrace *trace,
                        const TesseraBlocks *blocks,
                        const TesseraStructure *structure,
                        uint32_t *ordinals)
{
  g_autofree TesseraBlockName *names = name_all (trace, blocks, structure);

  for (size_t i = 0; i < blocks->n_blocks; i++)
    ordinals[i] = names[i].ordinal;
}

/* --- naming ----------------------------------------------------------------------- */

/* What can have no names is of this trace only. @all: of the trace's blocks. */
static void
name_list (const TesseraBlockName *all, size_t n_all, TesseraSelector *selector)
{
  g_clear_pointer (&selector->names, g_atomic_rc_box_release);
  selector->names = tessera_block_names_new (selector->n_blocks);
  for (size_t i = 0; i < selector->n_blocks && selector->names; i++)
    if (selector->blocks[i] < n_all)
      selector->names->names[i] = all[selector->blocks[i]];
    else
      g_clear_pointer (&selector->names, g_atomic_rc_box_release);
}

static bool
lacks_names (const TesseraSelector *selector)
{
  return selector->blocks && !selector->names;
}

void
tessera_edits_name_blocks (const TesseraTrace *trace,
                           const TesseraBlocks *blocks,
                           const TesseraStructure *structure,
                           TesseraEdit *edits,
                           size_t n_edits)
{
  g_autofree TesseraBlockName *all = NULL;

  for (size_t i = 0; i < n_edits; i++)
    {
      TesseraSelector *sides[] = { &edits[i].what, &edits[i].with };

      for (size_t k = 0; k < G_N_ELEMENTS (sides); k++)
        if (lacks_names (sides[k]))
          {
            if (!all)
              all = name_all (trace, blocks, structure);
            name_list (all, blocks->n_blocks, sides[k]);
          }
    }
}

/* --- finding ---------------------------------------------------------------------- */

typedef struct
{
  TesseraBlockName *names; /* [n_blocks] */
  size_t n_blocks, n_steps;
  GHashTable *by_name; /* 1 + the block */
} View;

/* A block that a list means here, and its distance where the list has a shape. */
typedef struct
{
  uint32_t block;
  uint64_t distance;
} Found;

/* Whether each index means here what it meant where the list was made. */
static bool
is_at_home (const View *view, const TesseraSelector *selector)
{
  for (size_t i = 0; i < selector->n_blocks; i++)
    if (selector->blocks[i] >= view->n_blocks ||
        !is_same (&view->names[selector->blocks[i]], &selector->names->names[i]))
      return false;
  return true;
}

/* Steps of one program ask for the same: a recording of fewer has it in an earlier one.
 */
static uint32_t
find_block (const View *view, TesseraBlockName name)
{
  guint found = GPOINTER_TO_UINT (g_hash_table_lookup (view->by_name, &name));

  if (name.step != TESSERA_NONE && !found)
    name.step = MIN (name.step, (uint32_t) view->n_steps);
  while (!found && name.step != TESSERA_NONE && name.step > 0)
    {
      name.step--;
      found = GPOINTER_TO_UINT (g_hash_table_lookup (view->by_name, &name));
    }
  return found ? found - 1 : TESSERA_NONE;
}

static int
by_block (const void *a, const void *b)
{
  const Found *x = a, *y = b;

  return (x->block > y->block) - (x->block < y->block);
}

/* Each once. @shape: (nullable) (inout) */
static void
take_found (TesseraSelector *selector, Found *found, size_t n, uint64_t *shape)
{
  size_t n_blocks = 0;

  qsort (found, n, sizeof *found, by_block);
  for (size_t i = 0; i < n; i++)
    if (n_blocks == 0 || found[i].block != selector->blocks[n_blocks - 1])
      {
        if (shape)
          shape[n_blocks] = found[i].distance;
        selector->blocks[n_blocks++] = found[i].block;
      }
  selector->n_blocks = n_blocks;
}

static TesseraStatus
complain (const TesseraEdit *edit, const TesseraBlockName *name, TesseraError *error)
{
  return tessera_fail (
      error, TESSERA_REFUSED,
      "the edit \"%s\" lists blocks that this trace does not have, such as the one of "
      "%" PRIu64 " bytes that is number %" PRIu64
      " of its size %s%s: leave the edit out, "
      "or say by a rule what it is about",
      edit->name ? edit->name : "", name->size_bytes, (uint64_t) name->ordinal + 1,
      name->phase ? "in phase " : "outside of phases", name->phase ? name->phase : "");
}

static TesseraStatus
find_list (const View *view,
           TesseraEdit *edit,
           TesseraSelector *selector,
           uint64_t *shape,
           TesseraError *error)
{
  const TesseraBlockNames *names = selector->names;
  g_autofree Found *found = NULL;

  if (!names || selector->n_blocks != names->n_names || is_at_home (view, selector))
    return TESSERA_OK;
  found = g_new (Found, names->n_names + 1);
  for (size_t i = 0; i < names->n_names; i++)
    {
      found[i].block = find_block (view, names->names[i]);
      found[i].distance = shape ? shape[i] : 0;
      if (found[i].block == TESSERA_NONE)
        return complain (edit, &names->names[i], error);
    }
  take_found (selector, found, names->n_names, shape);
  name_list (view->names, view->n_blocks, selector);
  return TESSERA_OK;
}

TesseraStatus
tessera_edits_find_blocks (const TesseraTrace *trace,
                           const TesseraBlocks *blocks,
                           const TesseraStructure *structure,
                           TesseraEdit *edits,
                           size_t n_edits,
                           TesseraError *error)
{
  View view = { .n_blocks = blocks->n_blocks, .n_steps = structure->n_steps };
  bool is_any = false;
  TesseraStatus status = TESSERA_OK;

  for (size_t i = 0; i < n_edits; i++)
    is_any |= edits[i].what.names || edits[i].with.names;
  if (!is_any)
    return TESSERA_OK;
  view.names = name_all (trace, blocks, structure);
  view.by_name = g_hash_table_new (hash_name, is_same);
  for (uint32_t i = 0; i < blocks->n_blocks; i++)
    g_hash_table_insert (view.by_name, &view.names[i], GUINT_TO_POINTER (i + 1));
  for (size_t i = 0; i < n_edits && status == TESSERA_OK; i++)
    {
      status = find_list (&view, &edits[i], &edits[i].what, edits[i].shape, error);
      if (status == TESSERA_OK)
        status = find_list (&view, &edits[i], &edits[i].with, NULL, error);
    }
  g_hash_table_unref (view.by_name);
  g_free (view.names);
  return status;
}
