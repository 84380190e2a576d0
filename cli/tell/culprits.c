/* See culprits.h. SPDX-License-Identifier: Apache-2.0 */
#include "cli/tell/culprits.h"

#include "picture/keys.h"

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

char *
cli_own_line (const TesseraTrace *trace, uint32_t stack)
{
  if (stack == TESSERA_NONE)
    return g_strdup ("(no stack)");
  uint32_t begin = trace->stack_begin[stack], end = trace->stack_begin[stack + 1];
  if (begin == end)
    return g_strdup ("(no stack)");
  uint32_t chosen = begin;
  for (uint32_t i = begin; i < end; i++)
    if (tessera_frame_is_own (trace, trace->stack_frames[i]))
      {
        chosen = i;
        break;
      }
  const TesseraFrame *frame = &trace->frames[trace->stack_frames[chosen]];
  g_autofree char *file = g_path_get_basename (tessera_trace_string (trace, frame->file));
  return g_strdup_printf ("%s:%" G_GINT64_FORMAT " %s", file, frame->line,
                          tessera_trace_string (trace, frame->name));
}

static gint
by_bytes (gconstpointer a, gconstpointer b)
{
  const CliCulprit *left = a, *right = b;
  if (left->bytes != right->bytes)
    return left->bytes > right->bytes ? -1 : 1;
  return strcmp (left->line, right->line);
}

static void
clear_culprit (gpointer data)
{
  g_free (((CliCulprit *) data)->line);
}

GArray *
cli_culprits (const CliStudy *study, uint32_t event_index)
{
  g_autoptr (GArray) live = cli_live_blocks (study, event_index);
  g_autoptr (GHashTable) rows = g_hash_table_new (g_str_hash, g_str_equal);
  GArray *culprits = g_array_new (FALSE, FALSE, sizeof (CliCulprit));

  g_array_set_clear_func (culprits, clear_culprit);
  for (guint i = 0; i < live->len; i++)
    {
      const TesseraBlock *block =
          &study->blocks->blocks[g_array_index (live, guint32, i)];
      g_autofree char *line = cli_own_line (study->trace, block->stack);
      gpointer found = g_hash_table_lookup (rows, line);
      guint row = found != NULL ? GPOINTER_TO_UINT (found) - 1 : culprits->len;
      if (found == NULL)
        {
          CliCulprit fresh = { g_steal_pointer (&line), 0, 0 };
          g_array_append_val (culprits, fresh);
          g_hash_table_insert (rows, fresh.line, GUINT_TO_POINTER (row + 1));
        }
      CliCulprit *culprit = &g_array_index (culprits, CliCulprit, row);
      culprit->bytes += block->size_bytes;
      culprit->n_blocks++;
    }
  g_array_sort (culprits, by_bytes);
  return culprits;
}
