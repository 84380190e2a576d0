/*
 * Edits: what the person changed about the plan, and the planning that follows.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/model/document-private.h"

#include <gio/gio.h>
#include <string.h>

#include "edits/edits.h"

TesseraEdit
tessera_edit_of (TesseraEditKind kind)
{
  TesseraEdit edit = { .kind = kind };

  tessera_selector_init (&edit.what);
  tessera_selector_init (&edit.with);
  return edit;
}

size_t
tessera_document_n_standing (TesseraDocument *self)
{
  return self->history != NULL ? tessera_history_get_n_standing (self->history) : 0;
}

size_t
tessera_document_n_edits (TesseraDocument *self)
{
  size_t n = 0;

  if (self->history != NULL)
    tessera_history_get (self->history, &n);
  return n;
}

gboolean
tessera_document_is_plan_current (TesseraDocument *self)
{
  return self->planned != NULL && !self->planned->request.is_preview &&
         self->planned->request.generation == self->request.generation;
}

const char *
tessera_document_why_no_export (TesseraDocument *self)
{
  if (self->data == NULL)
    return "Open a trace first";
  if (self->jobs[TESSERA_WORK_SAVE] != NULL)
    return "Another file is being written";
  if (self->planned == NULL)
    return self->jobs[TESSERA_WORK_PLAN] != NULL ? "The plan is still being made"
                                                 : "There is no plan yet: make one first";
  if (self->conflict.first != TESSERA_NONE)
    return "Two edits conflict: undo one of them first";
  if (!tessera_document_is_plan_current (self))
    return self->jobs[TESSERA_WORK_PLAN] != NULL
               ? "The full plan is still being made"
               : "The plan is not of the edits that stand: plan again first";
  return NULL;
}

/* What was planned last is what the next plan is compared with. */
void
tessera_document_remember_height (TesseraDocument *self)
{
  uint64_t beside_bytes;

  if (self->planned != NULL && !self->planned->request.is_preview)
    self->former_bytes = tessera_followed_peak_bytes (self->planned, &beside_bytes);
}

void
tessera_document_edits_changed (TesseraDocument *self)
{
  tessera_document_remember_height (self);
  self->request.generation++;
  self->conflict = (TesseraEditConflict){ TESSERA_NONE, TESSERA_NONE };
  tessera_document_keep_edits (self);
  tessera_document_changed (self, TESSERA_CHANGED_EDITS);
  tessera_document_refresh_groups (self);
  tessera_document_plan_at_once (self);
}

void
tessera_document_take_history (TesseraDocument *self, TesseraHistory *history)
{
  tessera_history_free (self->history);
  self->history = history;
  self->conflict = (TesseraEditConflict){ TESSERA_NONE, TESSERA_NONE };
  self->former_bytes = 0;
  self->request.generation++;
}

void
tessera_document_add_edit (TesseraDocument *self, TesseraEdit *edit)
{
  if (self->history == NULL)
    {
      tessera_edit_clear (edit);
      return;
    }
  if (edit->name == NULL)
    edit->name = tessera_edit_describe (edit);
  if (edit->created_s == 0)
    edit->created_s = g_get_real_time () / G_USEC_PER_SEC;
  tessera_history_add (self->history, edit);
  tessera_document_edits_changed (self);
}

void
tessera_document_undo (TesseraDocument *self)
{
  if (self->history != NULL && tessera_history_undo (self->history))
    tessera_document_edits_changed (self);
}

void
tessera_document_redo (TesseraDocument *self)
{
  if (self->history != NULL && tessera_history_redo (self->history))
    tessera_document_edits_changed (self);
}

void
tessera_document_go_to_edits (TesseraDocument *self, size_t n_standing)
{
  if (self->history == NULL || n_standing > tessera_document_n_edits (self) ||
      n_standing == tessera_document_n_standing (self))
    return;
  tessera_history_go (self->history, n_standing);
  tessera_document_edits_changed (self);
}

/* A name is no reason to plan again, but the exported plan bears it. */
void
tessera_document_rename_edit (TesseraDocument *self, size_t index, const char *name)
{
  size_t n_edits = tessera_document_n_edits (self);
  g_autofree char *stripped = g_strstrip (g_strdup (name));

  if (index >= n_edits || *stripped == '\0' ||
      g_str_equal (tessera_history_get (self->history, &n_edits)[index].name, stripped))
    return;
  tessera_history_rename (self->history, index, stripped);
  if (index < tessera_document_n_standing (self))
    tessera_document_edits_changed (self);
  else
    {
      tessera_document_keep_edits (self);
      tessera_document_changed (self, TESSERA_CHANGED_EDITS);
    }
}
