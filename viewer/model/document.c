/*
 * The session: what is open, what was made of it, and what the person looks at.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/model/document-private.h"

G_DEFINE_TYPE (TesseraDocument, tessera_document, G_TYPE_OBJECT)

static guint changed_signal;

void
tessera_document_changed (TesseraDocument *self, guint what)
{
  g_signal_emit (self, changed_signal, 0, what);
}

static void
clear_contents (TesseraDocument *self)
{
  for (int i = 0; i < TESSERA_N_SIDES; i++)
    g_clear_pointer (&self->sheets[i], tessera_sheet_unref);
  g_clear_pointer (&self->paint, tessera_paint_unref);
  g_clear_pointer (&self->planned, tessera_followed_unref);
  g_clear_pointer (&self->data, tessera_data_unref);
  g_clear_pointer (&self->history, tessera_history_free);
  g_clear_pointer (&self->edits_file, tessera_edits_file_unref);
  for (size_t i = 0; i < G_N_ELEMENTS (self->watched); i++)
    {
      if (self->watched[i] != NULL)
        g_file_monitor_cancel (self->watched[i]);
      g_clear_object (&self->watched[i]);
    }
  g_clear_pointer (&self->rule, tessera_rule_free);
  g_clear_pointer (&self->moves, tessera_moves_unref);
  g_clear_pointer (&self->proposal.landings, tessera_landings_unref);
  g_clear_pointer (&self->proposal.pushed, g_array_unref);
  self->conflict = (TesseraEditConflict){ TESSERA_NONE, TESSERA_NONE };
  self->former_bytes = 0;
  self->needs = (TesseraNeeds){ 0 };
  self->verdict = (TesseraVerdict){ 0 };
  self->told = (TesseraMoment){ 0 };
  self->selected = TESSERA_NONE;
  g_clear_pointer (&self->selection, tessera_selection_unref);
  g_clear_pointer (&self->grouping, tessera_grouping_unref);
  g_clear_pointer (&self->left_planned, tessera_followed_unref);
  g_clear_pointer (&self->comparison, tessera_comparison_free);
  g_clear_pointer (&self->difference, tessera_selection_unref);
  g_ptr_array_set_size (self->kept, 0);
  self->n_named = 0;
  g_clear_pointer (&self->query, g_free);
  g_clear_pointer (&self->query_error, g_free);
  tessera_selection_facts_clear (&self->facts);
  self->hovered = TESSERA_NONE;
  self->moment = 0;
}

static void
tessera_document_finalize (GObject *object)
{
  TesseraDocument *self = TESSERA_DOCUMENT (object);

  clear_contents (self);
  g_ptr_array_unref (self->kept);
  g_free (self->path);
  g_free (self->error);
  g_free (self->notice);
  G_OBJECT_CLASS (tessera_document_parent_class)->finalize (object);
}

static void
tessera_document_class_init (TesseraDocumentClass *class)
{
  G_OBJECT_CLASS (class)->finalize = tessera_document_finalize;
  changed_signal = g_signal_new ("changed", TESSERA_TYPE_DOCUMENT, G_SIGNAL_RUN_LAST, 0,
                                 NULL, NULL, NULL, G_TYPE_NONE, 1, G_TYPE_UINT);
}

static void
tessera_document_init (TesseraDocument *self)
{
  self->kept = g_ptr_array_new_with_free_func (tessera_kept_free);
  clear_contents (self);
  g_queue_init (&self->next_kept);
  self->plan_automatically = TRUE;
  self->view = (TesseraView){ 0, 1, 0, 1 };
  self->world_bytes = 1;
}

TesseraDocument *
tessera_document_new (void)
{
  return g_object_new (TESSERA_TYPE_DOCUMENT, NULL);
}

void
tessera_document_close (TesseraDocument *self)
{
  /* What is being written has all it needs and comes to its end. */
  for (int i = 0; i < TESSERA_N_WORKS; i++)
    if (i != TESSERA_WORK_SAVE && i != TESSERA_WORK_KEEP)
      g_clear_pointer (&self->jobs[i], tessera_job_drop);
  clear_contents (self);
  g_clear_pointer (&self->path, g_free);
  g_clear_pointer (&self->error, g_free);
  tessera_document_changed (self, TESSERA_CHANGED_ALL);
}

void
tessera_document_cancel (TesseraDocument *self)
{
  static const TesseraWork order[] = { TESSERA_WORK_LOAD, TESSERA_WORK_PLAN,
                                       TESSERA_WORK_SHEETS, TESSERA_WORK_SAVE,
                                       TESSERA_WORK_NEEDS };

  for (size_t i = 0; i < G_N_ELEMENTS (order); i++)
    if (self->jobs[order[i]] != NULL)
      {
        tessera_job_cancel (self->jobs[order[i]]);
        return;
      }
}

gboolean
tessera_document_is_busy (TesseraDocument *self)
{
  for (int i = 0; i < TESSERA_N_WORKS; i++)
    if (self->jobs[i] != NULL)
      return TRUE;
  return FALSE;
}

void
tessera_document_take_error (TesseraDocument *self, char *sentence)
{
  g_free (self->error);
  self->error = sentence;
  tessera_document_changed (self, TESSERA_CHANGED_WORK);
}

void
tessera_document_hover (TesseraDocument *self, TesseraSide side, uint32_t block)
{
  if (self->hovered == block && self->hovered_side == side)
    return;
  self->hovered = block;
  self->hovered_side = side;
  tessera_document_changed (self, TESSERA_CHANGED_HOVER);
}

void
tessera_document_refresh_verdict (TesseraDocument *self)
{
  const TesseraParts parts = self->verdict.parts;
  const TesseraLayout *layout;

  if (self->data == NULL)
    return;
  if (tessera_data_get_layout (self->data, self->data->own_kind, NULL, NULL, &layout) !=
      TESSERA_OK)
    return;
  tessera_verdict (self->data->trace, layout, &parts, &self->needs, &self->verdict);
  tessera_document_changed (self, TESSERA_CHANGED_VERDICT);
}
