/*
 * The chosen moment: what is told of it is found by a worker.
 *
 * One request is at work at a time; where others came meanwhile, the latest is next.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/document/document-work.h"

static TesseraStatus
moment_work (TesseraJob *job, gpointer user, TesseraError *error)
{
  TesseraWorkInput *input = user;

  return tessera_explain (tessera_moment_at (input->data,
                                             input->sheets[TESSERA_SIDE_LEFT]->layout,
                                             input->moment, &input->told),
                          error, "looking at the moment");
}

static void
moment_done (gpointer owner,
             gpointer user,
             TesseraStatus status,
             const TesseraError *error)
{
  TesseraDocument *self = owner;
  TesseraWorkInput *input = user;
  gboolean is_of_this =
      input->sheets[TESSERA_SIDE_LEFT]->layout == self->sheets[TESSERA_SIDE_LEFT]->layout;

  if (!tessera_work_finished (self, TESSERA_WORK_MOMENT, status, error))
    return;
  if (is_of_this)
    {
      self->told = input->told;
      tessera_document_changed (self, TESSERA_CHANGED_MOMENT);
    }
  if (!is_of_this || input->moment != self->moment)
    tessera_document_refresh_moment (self);
}

static const TesseraJobKind moment_kind = { moment_work, moment_done, NULL,
                                            tessera_work_input_free };

void
tessera_document_refresh_moment (TesseraDocument *self)
{
  TesseraWorkInput *input;

  if (self->sheets[TESSERA_SIDE_LEFT] == NULL || self->jobs[TESSERA_WORK_MOMENT] != NULL)
    return;
  input = tessera_work_input_new (self);
  input->sheets[TESSERA_SIDE_LEFT] = tessera_sheet_ref (self->sheets[TESSERA_SIDE_LEFT]);
  input->moment = self->moment;
  tessera_work_start (self, TESSERA_WORK_MOMENT, &moment_kind, input);
}

void
tessera_document_set_moment (TesseraDocument *self, uint32_t event_index)
{
  if (self->data == NULL || self->data->blocks->n_events == 0)
    return;
  event_index = MIN (event_index, self->data->blocks->n_events - 1);
  if (self->moment == event_index)
    return;
  self->moment = event_index;
  tessera_document_changed (self, TESSERA_CHANGED_MOMENT);
  tessera_document_refresh_moment (self);
}

void
tessera_document_reset_moment (TesseraDocument *self)
{
  tessera_document_set_moment (self, self->verdict.parts.event_index);
}
