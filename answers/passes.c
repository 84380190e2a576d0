/* See suggestions.h. SPDX-License-Identifier: Apache-2.0 */
#include "answers/suggestions.h"

#include <string.h>

#include "planner/modules.h"
#include "simulator/verdict.h"

/* What a module gives to the next one is no smaller a part of its largest block. */
#define LEAST_OUTPUT_SHARE 64

/* "model.blocks.3" of "model.blocks.3.mlp.up", where @family is "model.blocks.*"; NULL: it is of
 * no such module. */
static char *
name_instance (const char *module, const char *family)
{
  const size_t n_before = family != NULL ? strlen (family) - 1 : 0;
  size_t n;

  return family != NULL && strncmp (module, family, n_before) == 0 &&
                 tessera_find_instance (module + n_before, &n) == module + n_before
             ? g_strndup (module, n_before + n)
             : NULL;
}

/* Of modules that differ in one number: the sum, and the one that has most. */
typedef struct
{
  uint64_t bytes, most_bytes;
} Members;

static Members *
find_members (GHashTable *table, const char *name, size_t n)
{
  g_autofree char *key = g_strndup (name, n);
  Members *members = g_hash_table_lookup (table, key);

  if (members == NULL)
    {
      members = g_new0 (Members, 1);
      g_hash_table_insert (table, g_steal_pointer (&key), members);
    }
  return members;
}

/* Each module whose path ends in a number, "model.blocks.3", with what lies in it. */
static GHashTable *
find_instances (const TesseraWhose *whose)
{
  const TesseraCategory category = TESSERA_ACTIVATION;
  const uint32_t at = tessera_fullest (whose->layout, 0, whose->blocks->n_events);
  g_autoptr (GArray) owners = tessera_owners (whose, TESSERA_BY_MODULE, &category, at);
  GHashTable *instances = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);

  for (guint i = 0; i < owners->len; i++)
    {
      const TesseraOwner *owner = &g_array_index (owners, TesseraOwner, i);
      size_t n;

      for (const char *part = tessera_find_instance (owner->name, &n); part != NULL;
           part = tessera_find_instance (part + n, &n))
        find_members (instances, owner->name, (size_t) (part - owner->name) + n)->bytes +=
            owner->bytes;
    }
  return instances;
}

/* The repeated module of which all but the largest have most bytes of activations at the
 * peak; NULL: there is none. What is there once repeats nothing. */
static char *
find_family (const TesseraWhose *whose)
{
  g_autoptr (GHashTable) instances = find_instances (whose);
  g_autoptr (GHashTable) families =
      g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  GHashTableIter iter;
  gpointer name, value;
  const char *best = NULL;
  uint64_t best_bytes = 0;

  g_hash_table_iter_init (&iter, instances);
  while (g_hash_table_iter_next (&iter, &name, &value))
    {
      const char *dot = strrchr (name, '.');
      const uint64_t bytes = ((Members *) value)->bytes;
      Members *family = find_members (families, name, dot ? dot + 1 - (char *) name : 0);

      family->bytes += bytes;
      family->most_bytes = MAX (family->most_bytes, bytes);
    }
  g_hash_table_iter_init (&iter, families);
  while (g_hash_table_iter_next (&iter, &name, &value))
    {
      const Members *family = value;

      if (family->bytes - family->most_bytes <= best_bytes)
        continue;
      best_bytes = family->bytes - family->most_bytes;
      best = name;
    }
  return best != NULL ? g_strconcat (best, "*", NULL) : NULL;
}

/* The phase that a block is born in, or dies in, whatever is nested in that. */
static uint32_t
main_phase (const TesseraStructure *structure, uint32_t phase)
{
  return phase < structure->n_phases ? structure->phases[phase].main : TESSERA_NONE;
}

uint32_t
tessera_last_backward (const TesseraWhose *whose, const TesseraBlock *block)
{
  const uint32_t phase = main_phase (whose->structure, block->died_phase);

  return phase != TESSERA_NONE &&
                 strcasestr (
                     tessera_phase_name (whose->trace, &whose->structure->phases[phase]),
                     "backward") != NULL
             ? phase
             : TESSERA_NONE;
}

/* @known: of a module the pass that came last, or a new one. */
static uint32_t
find_pass (const TesseraPasses *passes,
           const TesseraWhose *whose,
           GHashTable *known,
           char *module,
           const TesseraBlock *block)
{
  const uint32_t last = GPOINTER_TO_UINT (g_hash_table_lookup (known, module));
  const uint32_t phase = main_phase (whose->structure, block->born_phase);
  const TesseraPass fresh = { .step = block->step,
                              .forward = phase,
                              .backward = TESSERA_NONE,
                              .last = TESSERA_NONE,
                              .next = TESSERA_NONE,
                              .backward_begin = UINT32_MAX,
                              .output = TESSERA_NONE };

  if (last > 0)
    {
      TesseraPass *pass = &g_array_index (passes->passes, TesseraPass, last - 1);

      if (pass->step == block->step && pass->forward == phase)
        return last - 1;
      pass->next = passes->passes->len;
    }
  g_array_append_val (passes->passes, fresh);
  g_hash_table_insert (known, module, GUINT_TO_POINTER (passes->passes->len));
  return passes->passes->len - 1;
}

/* Micro-batches come back in the order in which they went, where nothing of them says in which
 * backward pass they do. @open: of a module the pass that has
 * come back last, or its first. Returns: NULL: no forward pass of the step is known */
static TesseraPass *
find_way_back (const TesseraPasses *passes,
               const TesseraWhose *whose,
               GHashTable *open,
               char *module,
               const TesseraBlock *block)
{
  const uint32_t phase = main_phase (whose->structure, block->born_phase);
  uint32_t at = GPOINTER_TO_UINT (g_hash_table_lookup (open, module)) - 1;

  for (; at < passes->passes->len;
       at = g_array_index (passes->passes, TesseraPass, at).next)
    {
      TesseraPass *pass = &g_array_index (passes->passes, TesseraPass, at);

      if (pass->step != block->step ||
          (pass->last != TESSERA_NONE && pass->last != phase) ||
          (pass->backward_begin != UINT32_MAX && pass->backward != phase))
        continue;
      pass->backward = phase;
      g_hash_table_insert (open, module, GUINT_TO_POINTER (at + 1));
      return pass;
    }
  return NULL;
}

/* The passes of the family's modules, and which blocks they made. Blocks come in the order
 * in which they were born. */
void
tessera_passes_find (TesseraPasses *passes, const TesseraWhose *whose)
{
  g_autoptr (GHashTable) known = g_hash_table_new (g_str_hash, g_str_equal);
  g_autoptr (GHashTable) open = g_hash_table_new (g_str_hash, g_str_equal);
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  g_autofree uint32_t *rows =
      tessera_owner_rows (whose, TESSERA_BY_MODULE, TESSERA_NONE, names);

  passes->family = find_family (whose);
  for (guint i = 0; i < names->len; i++)
    {
      g_autofree char *module = names->pdata[i];
      names->pdata[i] = name_instance (module, passes->family);
    }
  passes->of_block = g_new (uint32_t, whose->blocks->n_blocks + 1);
  passes->passes = g_array_new (FALSE, FALSE, sizeof (TesseraPass));
  for (size_t i = 0; i < whose->blocks->n_blocks; i++)
    {
      const TesseraBlock *block = &whose->blocks->blocks[i];
      const TesseraCategory category = (TesseraCategory) whose->categories[i];
      const bool is_backward =
          category == TESSERA_TEMPORARY_BACKWARD || category == TESSERA_GRADIENT;
      const bool is_forward =
          category == TESSERA_ACTIVATION || category == TESSERA_TEMPORARY_FORWARD;
      char *module = names->pdata[rows[i]];

      passes->of_block[i] = TESSERA_NONE;
      if (module == NULL || (!is_forward && !is_backward))
        continue;
      if (is_backward)
        {
          TesseraPass *back = find_way_back (passes, whose, open, module, block);

          if (back != NULL)
            back->backward_begin = MIN (back->backward_begin, block->born_index);
          continue;
        }
      const uint32_t pass = find_pass (passes, whose, known, module, block);
      TesseraPass *instance = &g_array_index (passes->passes, TesseraPass, pass);
      if (!g_hash_table_contains (open, module))
        g_hash_table_insert (open, module, GUINT_TO_POINTER (pass + 1));
      passes->of_block[i] = pass;
      instance->forward_end = block->born_index + 1;
      instance->most_bytes = MAX (instance->most_bytes, block->size_bytes);
      if (block->size_bytes >= instance->most_bytes / LEAST_OUTPUT_SHARE)
        {
          instance->output = (uint32_t) i;
          instance->last = tessera_last_backward (whose, block);
        }
    }
}

void
tessera_passes_clear (TesseraPasses *passes)
{
  g_free (passes->family);
  g_free (passes->of_block);
  g_array_unref (passes->passes);
}
