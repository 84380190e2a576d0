/*
 * What the session's works share.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/model/document-private.h"

void
tessera_work_input_free (gpointer user)
{
  TesseraWorkInput *input = user;

  for (int i = 0; i < TESSERA_N_SIDES; i++)
    tessera_sheet_unref (input->sheets[i]);
  tessera_paint_unref (input->paint);
  tessera_history_free (input->history);
  g_free (input->kept_json);
  tessera_moves_unref (input->moves);
  tessera_followed_unref (input->planned);
  tessera_followed_unref (input->shown);
  tessera_followed_unref (input->left_planned);
  tessera_data_unref (input->data);
  g_free (input->path);
  g_free (input);
}

TesseraWorkInput *
tessera_work_input_new (TesseraDocument *self)
{
  TesseraWorkInput *input = g_new0 (TesseraWorkInput, 1);

  input->data =
      self->data != NULL ? tessera_data_ref (tessera_data_origin (self->data)) : NULL;
  input->planned = self->planned != NULL ? tessera_followed_ref (self->planned) : NULL;
  input->left_kind = self->left_kind;
  input->left_planned =
      self->left_planned != NULL ? tessera_followed_ref (self->left_planned) : NULL;
  input->axis_kind = self->axis_kind;
  input->colour_key = self->colour_key;
  input->dark = self->dark;
  input->request = self->request;
  return input;
}

void
tessera_work_start (TesseraDocument *self,
                    TesseraWork work,
                    const TesseraJobKind *kind,
                    gpointer input)
{
  g_clear_pointer (&self->jobs[work], tessera_job_drop);
  self->fractions[work] = 0;
  self->jobs[work] = tessera_job_start (kind, G_OBJECT (self), input);
  tessera_document_changed (self, TESSERA_CHANGED_WORK);
}

gboolean
tessera_work_finished (TesseraDocument *self,
                       TesseraWork work,
                       TesseraStatus status,
                       const TesseraError *error)
{
  g_clear_pointer (&self->jobs[work], tessera_job_unref);
  if (status != TESSERA_OK && status != TESSERA_CANCELLED)
    tessera_document_take_error (self, g_strdup (error->text));
  else
    tessera_document_changed (self, TESSERA_CHANGED_WORK);
  return status == TESSERA_OK;
}

void
tessera_work_progressed (TesseraDocument *self, TesseraWork work, double fraction)
{
  self->fractions[work] = fraction;
  tessera_document_changed (self, TESSERA_CHANGED_WORK);
}
