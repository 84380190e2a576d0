/*
 * The chosen moment: what is told of it is found by a worker.
 *
 * One request is at work at a time; where others came meanwhile, the latest is next.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/model/document-private.h"

static TesseraStatus
moment_work (TesseraJob *job, gpointer user, TesseraError *error)
{
  TesseraWorkInput *input = user;

  return tessera_explain (tessera_moment_at (input->data,
                                             input->sheets[TESSERA_SIDE_LEFT]->layout,
                                             input->paint, input->moment, &input->told),
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
  if (!is_of_this || input->moment != self->moment ||
      input->paint->colouring != self->paint->colouring)
    tessera_document_refresh_moment (self);
}

static const TesseraJobKind moment_kind = { moment_work, moment_done, NULL,
                                            tessera_work_input_free, "moment" };

void
tessera_document_refresh_moment (TesseraDocument *self)
{
  TesseraWorkInput *input;

  if (self->sheets[TESSERA_SIDE_LEFT] == NULL || self->jobs[TESSERA_WORK_MOMENT] != NULL)
    return;
  input = tessera_work_input_new (self);
  input->sheets[TESSERA_SIDE_LEFT] = tessera_sheet_ref (self->sheets[TESSERA_SIDE_LEFT]);
  input->paint = tessera_paint_ref (self->paint);
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

void
tessera_document_select_hole_keeper (TesseraDocument *self)
{
  const TesseraSheet *sheet = self->sheets[TESSERA_SIDE_LEFT];
  const TesseraParts *parts = &self->told.parts;
  uint32_t beside[2], keeper = TESSERA_NONE, died = 0;
  uint64_t bottom;
  double t;

  if (sheet == NULL || parts->largest_hole_bytes == 0)
    return;
  bottom =
      tessera_scene_y_of (sheet->scene, parts->largest_hole_addr, parts->event_index);
  if (bottom == TESSERA_NOWHERE)
    return;
  /* In the middle of the event, half of the smallest block beyond the edges. */
  t = (tessera_sheet_t_of (sheet, parts->event_index) +
       tessera_sheet_t_of (sheet, parts->event_index + 1)) /
      2;
  beside[0] = tessera_scene_block_at (
      sheet->scene, t, (double) (bottom + parts->largest_hole_bytes) + 256);
  beside[1] = tessera_scene_block_at (sheet->scene, t, (double) bottom - 256);
  for (int i = 0; i < 2; i++)
    if (beside[i] != TESSERA_NONE && sheet->layout->died_index[beside[i]] > died)
      {
        keeper = beside[i];
        died = sheet->layout->died_index[keeper];
      }
  if (keeper == TESSERA_NONE)
    return;
  tessera_document_select (self, keeper);
  tessera_document_reveal (self, keeper);
}
