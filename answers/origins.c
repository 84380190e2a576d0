/* Whose request a block is: see categories.h. SPDX-License-Identifier: Apache-2.0 */
#include "answers/categories.h"
#include "db/hash.h"
#include "planner/modules.h"

/* Whether @step has a line or a module of any block in it. */
static bool
is_described (const TesseraTrace *trace, const uint32_t *modules, const TesseraStep *step)
{
  for (uint32_t i = step->begin_index; i < step->end_index && i < trace->n_events; i++)
    if (trace->events[i].action == TESSERA_ALLOC &&
        (trace->events[i].stack != TESSERA_NONE ||
         (modules != NULL && modules[i] != TESSERA_NONE)))
      return true;
  return false;
}

/* Equal keys in two steps: the same request. @counts: of the alike in this step so far. Both
 * kinds of key are spread over 64 bits, so that a pointer can be one. */
static uint64_t
key_of (const TesseraTrace *trace,
        const TesseraStructure *structure,
        const TesseraBlock *block,
        GHashTable *counts)
{
  const uint64_t numbers[] = { block->size_bytes, block->stream, block->pool,
                               tessera_phase_hash (trace, structure, block->born_phase) };
  const uint64_t alike =
      tessera_hash_numbers (TESSERA_HASH_START, numbers, G_N_ELEMENTS (numbers));
  const guint ordinal =
      GPOINTER_TO_UINT (g_hash_table_lookup (counts, GSIZE_TO_POINTER (alike)));

  g_hash_table_insert (counts, GSIZE_TO_POINTER (alike), GUINT_TO_POINTER (ordinal + 1));
  return tessera_hash_number (alike, ordinal);
}

TesseraOrigins
tessera_origins_new (const TesseraTrace *trace,
                     const TesseraBlocks *blocks,
                     const TesseraStructure *structure)
{
  g_autofree uint32_t *at = tessera_find_modules (trace);
  g_autofree uint8_t *described = g_new0 (uint8_t, structure->n_steps + 1);
  g_autoptr (GHashTable) known = g_hash_table_new (NULL, NULL);
  g_autoptr (GHashTable) counts = g_hash_table_new (NULL, NULL);
  TesseraOrigins origins = {
    .stacks = g_new (uint32_t, blocks->n_blocks + 1),
    .modules = at != NULL ? g_new (uint32_t, blocks->n_blocks + 1) : NULL,
  };
  uint32_t step = TESSERA_NONE;

  for (size_t i = 0; i < structure->n_steps; i++)
    described[i] = is_described (trace, at, &structure->steps[i]);
  for (uint32_t i = 0; i < blocks->n_blocks; i++)
    {
      const TesseraBlock *block = &blocks->blocks[i];
      gpointer same;

      origins.stacks[i] = block->stack;
      if (at != NULL)
        origins.modules[i] =
            (block->flags & TESSERA_AT_START) == 0 && block->born_index < trace->n_events
                ? at[block->born_index]
                : TESSERA_NONE;
      if (block->step >= structure->n_steps)
        continue;
      if (block->step != step)
        g_hash_table_remove_all (counts);
      step = block->step;
      const uint64_t key = key_of (trace, structure, block, counts);
      if (described[step])
        g_hash_table_insert (known, GSIZE_TO_POINTER (key), GUINT_TO_POINTER (i));
      else if (g_hash_table_lookup_extended (known, GSIZE_TO_POINTER (key), NULL, &same))
        {
          origins.stacks[i] = origins.stacks[GPOINTER_TO_UINT (same)];
          if (at != NULL)
            origins.modules[i] = origins.modules[GPOINTER_TO_UINT (same)];
        }
    }
  return origins;
}

void
tessera_origins_clear (TesseraOrigins *origins)
{
  g_free (origins->stacks);
  g_free (origins->modules);
}
