/*
 * The list of edits and how far it is undone: history.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "edits/history.h"

#include <string.h>

#include "edits/texts.h"

struct TesseraHistory
{
  GArray *edits;    /* TesseraEdit */
  gsize n_standing; /* the first of them; the others are undone */
};

static void
clear_edit (gpointer edit)
{
  tessera_edit_clear (edit);
}

TesseraHistory *
tessera_history_new (void)
{
  TesseraHistory *history = g_new0 (TesseraHistory, 1);

  history->edits = g_array_new (FALSE, FALSE, sizeof (TesseraEdit));
  g_array_set_clear_func (history->edits, clear_edit);
  return history;
}

TesseraHistory *
tessera_history_copy (const TesseraHistory *history)
{
  TesseraHistory *copy = tessera_history_new ();

  for (guint i = 0; i < history->edits->len; i++)
    {
      TesseraEdit edit;

      if (tessera_edit_copy (&g_array_index (history->edits, TesseraEdit, i), &edit) !=
          TESSERA_OK)
        g_error ("there is no memory left for %u edits", history->edits->len);
      g_array_append_val (copy->edits, edit);
    }
  copy->n_standing = history->n_standing;
  return copy;
}

void
tessera_history_free (TesseraHistory *history)
{
  if (!history)
    return;
  g_array_unref (history->edits);
  g_free (history);
}

void
tessera_history_add (TesseraHistory *history, TesseraEdit *edit)
{
  TesseraEdit taken = *edit;

  g_array_set_size (history->edits, (guint) history->n_standing);
  taken.name = edits_dup_label (edit->name);
  g_free (edit->name);
  taken.is_undone = false;
  g_array_append_val (history->edits, taken);
  history->n_standing++;
  *edit = (TesseraEdit){ 0 };
  tessera_selector_init (&edit->what);
  tessera_selector_init (&edit->with);
}

TesseraStatus
tessera_history_find_blocks (TesseraHistory *history,
                             const char *name,
                             const TesseraTrace *trace,
                             const TesseraBlocks *blocks,
                             const TesseraStructure *structure,
                             TesseraError *error)
{
  TesseraError why = { 0 };
  TesseraStatus status = tessera_edits_find_blocks (
      trace, blocks, structure, (TesseraEdit *) (void *) history->edits->data,
      history->edits->len, &why);

  if (status == TESSERA_REFUSED)
    return tessera_fail (error, status, "%s: %s", name, why.text);
  return status == TESSERA_OK
             ? status
             : tessera_fail (error, status, "%s: this machine has no memory left", name);
}

gboolean
tessera_history_undo (TesseraHistory *history)
{
  if (history->n_standing == 0)
    return FALSE;
  tessera_history_go (history, history->n_standing - 1);
  return TRUE;
}

gboolean
tessera_history_redo (TesseraHistory *history)
{
  if (history->n_standing == history->edits->len)
    return FALSE;
  tessera_history_go (history, history->n_standing + 1);
  return TRUE;
}

void
tessera_history_go (TesseraHistory *history, size_t n_standing)
{
  history->n_standing = MIN (n_standing, history->edits->len);
  for (guint i = 0; i < history->edits->len; i++)
    g_array_index (history->edits, TesseraEdit, i).is_undone = i >= history->n_standing;
}

void
tessera_history_withdraw (TesseraHistory *history, size_t index)
{
  TesseraEdit *edits = (TesseraEdit *) (void *) history->edits->data;
  TesseraEdit undone = edits[index];

  memmove (&edits[index], &edits[index + 1],
           (history->n_standing - index - 1) * sizeof *edits);
  edits[history->n_standing - 1] = undone;
  tessera_history_undo (history);
}

void
tessera_history_rename (TesseraHistory *history, size_t index, const char *name)
{
  TesseraEdit *edit;

  g_return_if_fail (index < history->edits->len && name != NULL);
  edit = &g_array_index (history->edits, TesseraEdit, index);
  g_free (edit->name);
  edit->name = edits_dup_label (name);
}

const TesseraEdit *
tessera_history_get (const TesseraHistory *history, size_t *out_n_edits)
{
  if (out_n_edits != NULL)
    *out_n_edits = history->edits->len;
  return (const TesseraEdit *) history->edits->data;
}

size_t
tessera_history_get_n_standing (const TesseraHistory *history)
{
  return history->n_standing;
}
