/*
 * Listed blocks, named in one trace and found in another: planner/edit.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/edits/block-names.h"

#include <inttypes.h>

#include "db/hash.h"
#include "planner/memory.h"

/* Labels that inferred phases can have are fewer. */
#define N_LABELS 16

static guint
hash_name (gconstpointer key)
{
  const TesseraBlockName *name = key;
  uint64_t hash = tessera_hash_number (TESSERA_HASH_START, name->size_bytes);

  hash = tessera_hash_number (hash, (uint64_t) name->step << 32 | name->phase);
  return (guint) (tessera_hash_number (hash, name->ordinal) >> 16);
}

static gboolean
is_same (gconstpointer a, gconstpointer b)
{
  const TesseraBlockName *x = a, *y = b;

  return x->size_bytes == y->size_bytes && x->step == y->step && x->phase == y->phase &&
         x->ordinal == y->ordinal;
}

/* The string that says what the label says, else a number beyond all strings. */
static uint32_t
name_of_label (const TesseraTrace *trace, const char *label, uint32_t number)
{
  uint32_t n_strings = (uint32_t) tessera_trace_n_strings (trace);

  for (uint32_t i = 0; i < n_strings; i++)
    if (strcmp (tessera_trace_string (trace, i), label) == 0)
      return i;
  return n_strings + number;
}

/* One number for each phase: equal names, equal numbers. Names are interned, labels a
 * handful of static texts. */
static void
number_phases (const TesseraTrace *trace,
               const TesseraStructure *structure,
               uint32_t *names)
{
  const TesseraPhase *phases = structure->phases;
  const char *labels[N_LABELS] = { NULL };
  uint32_t of_label[N_LABELS], n_labels = 0, k;

  for (uint32_t i = 0; i < structure->n_phases; i++)
    {
      names[i] = phases[i].name;
      if (!phases[i].label)
        continue;
      for (k = 0; k < n_labels && labels[k] != phases[i].label;)
        k++;
      if (k == n_labels && n_labels < N_LABELS)
        {
          labels[k] = phases[i].label;
          of_label[n_labels++] = name_of_label (trace, labels[k], k);
        }
      names[i] = k < N_LABELS ? of_label[k] : name_of_label (trace, phases[i].label, k);
    }
}

void
tessera_block_ordinals (const TesseraTrace *trace,
                        const TesseraBlocks *blocks,
                        const TesseraStructure *structure,
                        uint32_t *ordinals)
{
  g_autofree uint32_t *numbers = g_new (uint32_t, structure->n_phases + 1);
  g_autofree TesseraBlockName *likes = g_new (TesseraBlockName, blocks->n_blocks + 1);
  g_autoptr (GHashTable) counts = g_hash_table_new (hash_name, is_same);

  number_phases (trace, structure, numbers);
  for (size_t i = 0; i < blocks->n_blocks; i++)
    {
      const TesseraBlock *block = &blocks->blocks[i];

      likes[i] = (TesseraBlockName){ block->size_bytes, block->step, TESSERA_NONE, 0 };
      if (block->born_phase != TESSERA_NONE)
        likes[i].phase = numbers[block->born_phase];
      ordinals[i] = GPOINTER_TO_UINT (g_hash_table_lookup (counts, &likes[i]));
      g_hash_table_insert (counts, &likes[i], GUINT_TO_POINTER (ordinals[i] + 1));
    }
}

/* A phase that the trace does not have. */
#define NO_PHASE (TESSERA_NONE - 1)

typedef struct
{
  const TesseraTrace *trace;
  const TesseraBlocks *blocks;
  const TesseraStructure *structure;
  uint32_t *numbers;       /* of phases */
  TesseraBlockName *names; /* of blocks; their phases are the trace's numbers of them */
  GHashTable *by_name;     /* 1 + the block */
} View;

/* A block that a list means here, and its distance where the list has a shape. */
typedef struct
{
  uint32_t block;
  uint64_t distance;
} Found;

static void
view_clear (View *view)
{
  free (view->numbers);
  free (view->names);
  g_hash_table_unref (view->by_name);
}

static void
view_open (View *view,
           const TesseraTrace *trace,
           const TesseraBlocks *blocks,
           const TesseraStructure *structure)
{
  g_autofree uint32_t *ordinals = g_new (uint32_t, blocks->n_blocks + 1);

  *view = (View){ trace,
                  blocks,
                  structure,
                  g_new (uint32_t, structure->n_phases + 1),
                  g_new (TesseraBlockName, blocks->n_blocks + 1),
                  g_hash_table_new (hash_name, is_same) };
  number_phases (trace, structure, view->numbers);
  tessera_block_ordinals (trace, blocks, structure, ordinals);
  for (uint32_t i = 0; i < blocks->n_blocks; i++)
    {
      const TesseraBlock *block = &blocks->blocks[i];
      uint32_t phase = block->born_phase == TESSERA_NONE
                           ? TESSERA_NONE
                           : view->numbers[block->born_phase];

      view->names[i] =
          (TesseraBlockName){ block->size_bytes, block->step, phase, ordinals[i] };
      g_hash_table_insert (view->by_name, &view->names[i], GUINT_TO_POINTER (i + 1));
    }
}

/* --- naming ----------------------------------------------------------------------- */

/* What can have no names is of this trace only. */
static void
name_list (const View *view, TesseraSelector *selector)
{
  TesseraBlockNames *names = tessera_block_names_new (selector->n_blocks);
  bool have_all = true;

  for (size_t i = 0; i < selector->n_blocks && have_all; i++)
    {
      uint32_t index = selector->blocks[i];
      const TesseraBlock *block;
      const char *phase = NULL;

      have_all = index < view->blocks->n_blocks;
      if (!have_all)
        break;
      block = &view->blocks->blocks[index];
      if (block->born_phase != TESSERA_NONE)
        phase =
            tessera_phase_name (view->trace, &view->structure->phases[block->born_phase]);
      have_all = tessera_block_names_set (names, i, block->size_bytes, phase, block->step,
                                          view->names[index].ordinal);
    }
  if (have_all)
    selector->names = names;
  else
    tessera_block_names_unref (names);
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
  bool is_any = false;
  View view;

  for (size_t i = 0; i < n_edits; i++)
    is_any |= lacks_names (&edits[i].what) || lacks_names (&edits[i].with);
  if (!is_any)
    return;
  view_open (&view, trace, blocks, structure);
  for (size_t i = 0; i < n_edits; i++)
    {
      if (lacks_names (&edits[i].what))
        name_list (&view, &edits[i].what);
      if (lacks_names (&edits[i].with))
        name_list (&view, &edits[i].with);
    }
  view_clear (&view);
}

/* --- finding ---------------------------------------------------------------------- */

/* By phase of @names: what the trace numbers it. */
static uint32_t *
translate_phases (const View *view, const TesseraBlockNames *names)
{
  uint32_t *numbers = g_new (uint32_t, names->n_phases + 1);

  for (size_t k = 0; k < names->n_phases; k++)
    {
      numbers[k] = NO_PHASE;
      for (size_t i = 0; i < view->structure->n_phases && numbers[k] == NO_PHASE; i++)
        if (strcmp (names->phases[k],
                    tessera_phase_name (view->trace, &view->structure->phases[i])) == 0)
          numbers[k] = view->numbers[i];
    }
  return numbers;
}

static TesseraBlockName
translate (const TesseraBlockName *name, const uint32_t *numbers)
{
  TesseraBlockName here = *name;

  if (here.phase != TESSERA_NONE)
    here.phase = numbers[here.phase];
  return here;
}

/* Whether each index means here what it meant where the list was made. */
static bool
is_at_home (const View *view, const TesseraSelector *selector, const uint32_t *numbers)
{
  for (size_t i = 0; i < selector->n_blocks; i++)
    {
      TesseraBlockName name = translate (&selector->names->names[i], numbers);

      if (selector->blocks[i] >= view->blocks->n_blocks ||
          !is_same (&view->names[selector->blocks[i]], &name))
        return false;
    }
  return true;
}

/* Steps of one program ask for the same: a recording of fewer has it in an earlier one.
 */
static uint32_t
find_block (const View *view, TesseraBlockName name)
{
  guint found = GPOINTER_TO_UINT (g_hash_table_lookup (view->by_name, &name));

  if (name.step != TESSERA_NONE && !found)
    name.step = MIN (name.step, (uint32_t) view->structure->n_steps);
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
  tessera_block_names_unref (selector->names);
  selector->names = NULL;
}

static TesseraStatus
complain (const TesseraEdit *edit,
          const TesseraBlockNames *names,
          size_t index,
          TesseraError *error)
{
  const TesseraBlockName *name = &names->names[index];

  return tessera_fail (
      error, TESSERA_REFUSED,
      "the edit \"%s\" lists blocks that this trace does not have, such as the one of "
      "%" PRIu64 " bytes that is number %" PRIu64
      " of its size %s%s: leave the edit out, "
      "or say by a rule what it is about",
      edit->name ? edit->name : "", name->size_bytes, (uint64_t) name->ordinal + 1,
      name->phase == TESSERA_NONE ? "outside of phases" : "in phase ",
      name->phase == TESSERA_NONE ? "" : names->phases[name->phase]);
}

static TesseraStatus
find_list (View *view,
           TesseraEdit *edit,
           TesseraSelector *selector,
           uint64_t *shape,
           TesseraError *error)
{
  const TesseraBlockNames *names = selector->names;
  g_autofree uint32_t *numbers = NULL;
  g_autofree Found *found = NULL;

  if (!names || selector->n_blocks != names->n_names)
    return TESSERA_OK;
  numbers = translate_phases (view, names);
  if (is_at_home (view, selector, numbers))
    return TESSERA_OK;
  found = g_new (Found, names->n_names + 1);
  for (size_t i = 0; i < names->n_names; i++)
    {
      found[i].block = find_block (view, translate (&names->names[i], numbers));
      found[i].distance = shape ? shape[i] : 0;
      if (found[i].block == TESSERA_NONE)
        return complain (edit, names, i, error);
    }
  take_found (selector, found, names->n_names, shape);
  name_list (view, selector);
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
  bool is_any = false;
  View view;
  TesseraStatus status = TESSERA_OK;

  for (size_t i = 0; i < n_edits; i++)
    is_any |= edits[i].what.names || edits[i].with.names;
  if (!is_any)
    return TESSERA_OK;
  view_open (&view, trace, blocks, structure);
  for (size_t i = 0; i < n_edits && status == TESSERA_OK; i++)
    {
      status = find_list (&view, &edits[i], &edits[i].what, edits[i].shape, error);
      if (status == TESSERA_OK)
        status = find_list (&view, &edits[i], &edits[i].with, NULL, error);
    }
  view_clear (&view);
  return status;
}
