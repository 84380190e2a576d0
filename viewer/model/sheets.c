/*
 * What is looked at: layouts and axes, colours, the chosen moment. Workers make all of it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/model/document-private.h"

/* --- the chosen moment --------------------------------------------------------------- */

/* One request is at work at a time; where others came meanwhile, the latest is next. */

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

/* --- colours ------------------------------------------------------------------------- */

/* Until they are there the picture keeps those it had. */

/* Lights several selected blocks up, else those that two plans place differently. */
void
tessera_document_relight (TesseraDocument *self)
{
  TesseraPaint *before = self->paint;
  gboolean several = self->selection != NULL && self->selection->n_blocks > 1;

  if (before == NULL)
    return;
  self->paint = tessera_paint_light (before, several || !self->show_difference ||
                                                     self->comparison == NULL
                                                 ? self->selection
                                                 : self->difference);
  tessera_paint_unref (before);
}

/* Takes @paint over. */
static void
take_paint (TesseraDocument *self, TesseraPaint *paint)
{
  tessera_paint_unref (self->paint);
  self->paint = paint;
  tessera_document_relight (self);
  tessera_document_changed (self, TESSERA_CHANGED_COLOUR);
  if (self->told.colouring != paint->colouring)
    tessera_document_refresh_moment (self);
}

static TesseraStatus
paint_work (TesseraJob *job, gpointer user, TesseraError *error)
{
  TesseraWorkInput *input = user;

  input->paint = tessera_paint_new (input->data, input->colour_key, input->dark);
  if (input->paint == NULL)
    return tessera_explain (TESSERA_NO_MEMORY, error, "colouring");
  return TESSERA_OK;
}

static void
paint_done (gpointer owner,
            gpointer user,
            TesseraStatus status,
            const TesseraError *error)
{
  TesseraDocument *self = owner;
  TesseraWorkInput *input = user;

  if (!tessera_work_finished (self, TESSERA_WORK_PAINT, status, error))
    return;
  if (input->data == self->data)
    take_paint (self, g_steal_pointer (&input->paint));
  else
    tessera_document_refresh_paint (self); /* groups changed meanwhile */
}

static const TesseraJobKind paint_kind = { paint_work, paint_done, NULL,
                                           tessera_work_input_free, "colours" };

void
tessera_document_refresh_paint (TesseraDocument *self)
{
  TesseraWorkInput *input;

  if (self->data == NULL)
    return;
  input = tessera_work_input_new (self);
  tessera_data_unref (input->data);
  input->data = tessera_data_ref (self->data);
  tessera_work_start (self, TESSERA_WORK_PAINT, &paint_kind, input);
}

void
tessera_document_set_colour_key (TesseraDocument *self, TesseraColourKey key)
{
  if (self->colour_key == key)
    return;
  self->colour_key = key;
  tessera_document_refresh_paint (self);
}

void
tessera_document_set_dark (TesseraDocument *self, gboolean dark)
{
  if (self->dark == dark)
    return;
  self->dark = dark;
  tessera_document_refresh_paint (self);
}

void
tessera_document_filter (TesseraDocument *self, size_t entry, gboolean alone)
{
  g_autofree uint8_t *shown = NULL;
  size_t n, n_shown = 0;

  if (self->paint == NULL || entry >= self->paint->colouring->n_entries)
    return;
  n = self->paint->colouring->n_entries;
  shown = g_memdup2 (self->paint->shown_entries, n);
  for (size_t i = 0; i < n; i++)
    n_shown += shown[i];
  if (!alone)
    shown[entry] = !shown[entry];
  else
    {
      gboolean was_alone = n_shown == 1 && shown[entry];

      for (size_t i = 0; i < n; i++)
        shown[i] = was_alone || i == entry;
    }
  take_paint (self, tessera_paint_filter (self->paint, shown));
}

void
tessera_document_show_all (TesseraDocument *self)
{
  if (self->paint != NULL && self->paint->whole != NULL)
    take_paint (self, tessera_paint_ref (self->paint->whole));
}
