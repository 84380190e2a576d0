/* See live.h. SPDX-License-Identifier: Apache-2.0 */
#include "cli/live.h"

#include <string.h>

static gint
by_size (gconstpointer a, gconstpointer b, gpointer user)
{
  const TesseraBlock *blocks = user;
  const TesseraBlock *left = &blocks[*(const guint32 *) a];
  const TesseraBlock *right = &blocks[*(const guint32 *) b];

  if (left->size_bytes != right->size_bytes)
    return left->size_bytes > right->size_bytes ? -1 : 1;
  return left < right ? -1 : left > right;
}

GArray *
cli_live_blocks (const CliStudy *study, uint32_t event_index)
{
  GArray *live = g_array_new (FALSE, FALSE, sizeof (guint32));

  for (guint32 i = 0; i < study->blocks->n_blocks; i++)
    if (tessera_is_live (study->blocks, study->layout, i, event_index))
      g_array_append_val (live, i);
  g_array_sort_with_data (live, by_size, study->blocks->blocks);
  return live;
}

static const char *
main_phase (const CliStudy *study, uint32_t phase)
{
  const TesseraStructure *structure = study->structure;

  if (phase == TESSERA_NONE)
    return NULL;
  return tessera_phase_name (study->trace,
                             &structure->phases[structure->phases[phase].main]);
}

static gboolean
is_phase (const CliStudy *study, uint32_t phase, const char *prefix)
{
  const char *name = main_phase (study, phase);

  return name != NULL && g_str_has_prefix (name, prefix);
}

static char *
name_by_phases (const CliStudy *study, const TesseraBlock *block)
{
  const char *born = main_phase (study, block->born_phase);
  const char *died = main_phase (study, block->died_phase);

  if (block->flags & TESSERA_FAILED)
    return g_strdup ("the request that failed");
  if (block->flags & TESSERA_AT_START)
    return g_strdup ("there before the trace");
  if (block->lifetime_class == TESSERA_CLASS_PERSISTENT)
    return g_strdup_printf ("%s, kept", born != NULL ? born : "no phase");
  if (block->flags & TESSERA_AT_END)
    died = "not freed";
  return g_strdup_printf ("%s \342\206\222 %s", born != NULL ? born : "no phase",
                          died != NULL ? died : "no phase");
}

char *
cli_row_name (const CliStudy *study, CliBy by, const TesseraBlock *block)
{
  switch (by)
    {
    case CLI_BY_LINE:
      return tessera_name_line (study->trace, block->stack);
    case CLI_BY_SIZE:
      return g_strdup (TESSERA_SIZE (block->block_bytes));
    case CLI_BY_PHASES:
      break;
    }
  return name_by_phases (study, block);
}

static void
clear_row (gpointer data)
{
  g_free (((CliRow *) data)->name);
}

static gint
by_bytes (gconstpointer a, gconstpointer b)
{
  const CliRow *left = a, *right = b;

  if (left->bytes != right->bytes)
    return left->bytes > right->bytes ? -1 : 1;
  return strcmp (left->name, right->name);
}

GArray *
cli_group_blocks (const CliStudy *study, const GArray *indexes, CliBy by)
{
  g_autoptr (GHashTable) found = g_hash_table_new (g_str_hash, g_str_equal);
  GArray *rows = g_array_new (FALSE, TRUE, sizeof (CliRow));

  g_array_set_clear_func (rows, clear_row);
  for (guint i = 0; i < indexes->len; i++)
    {
      const TesseraBlock *block =
          &study->blocks->blocks[g_array_index (indexes, guint32, i)];
      g_autofree char *name = cli_row_name (study, by, block);
      gpointer known = g_hash_table_lookup (found, name);
      guint at = known != NULL ? GPOINTER_TO_UINT (known) - 1 : rows->len;

      if (known == NULL)
        {
          const CliRow fresh = { .name = g_steal_pointer (&name),
                                 .lifetime_class = block->lifetime_class,
                                 .is_recomputable = TRUE };

          g_array_append_val (rows, fresh);
          g_hash_table_insert (found, fresh.name, GUINT_TO_POINTER (at + 1));
        }
      CliRow *row = &g_array_index (rows, CliRow, at);
      row->bytes += block->block_bytes;
      row->n_blocks++;
      if (row->lifetime_class != block->lifetime_class)
        row->lifetime_class = 0;
      row->is_recomputable = row->is_recomputable &&
                             is_phase (study, block->born_phase, "forward") &&
                             is_phase (study, block->died_phase, "backward");
    }
  g_array_sort (rows, by_bytes);
  return rows;
}

/* Alike but for the step. */
static gboolean
is_like (const CliStudy *study, const TesseraBlock *a, const TesseraBlock *b)
{
  return a->size_bytes == b->size_bytes && a->stream == b->stream && a->pool == b->pool &&
         a->stack == b->stack &&
         g_strcmp0 (main_phase (study, a->born_phase),
                    main_phase (study, b->born_phase)) == 0 &&
         g_strcmp0 (main_phase (study, a->died_phase),
                    main_phase (study, b->died_phase)) == 0;
}

guint8 *
cli_find_alike (const CliStudy *study, uint32_t block)
{
  const TesseraBlock *all = study->blocks->blocks;
  guint8 *chosen = g_new0 (guint8, study->blocks->n_blocks + 1);
  uint32_t step = TESSERA_NONE;
  guint ordinal = 0, before = 0;

  for (uint32_t i = 0; i < block; i++)
    ordinal += all[i].step == all[block].step && is_like (study, &all[i], &all[block]);
  for (uint32_t i = 0; i < study->blocks->n_blocks; i++)
    {
      if (all[i].step == TESSERA_NONE || !is_like (study, &all[i], &all[block]))
        continue;
      before = all[i].step == step ? before + 1 : 0;
      step = all[i].step;
      chosen[i] = before == ordinal;
    }
  chosen[block] = 1;
  return chosen;
}
