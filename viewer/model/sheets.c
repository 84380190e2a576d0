/*
 * What is looked at: layouts and axes, colours, the chosen moment. Workers make all of it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/model/document-private.h"

#include <string.h>

/* --- the chosen moment --------------------------------------------------------------- */

/* One request is at work at a time; where others came meanwhile, the latest is next. */

static TesseraStatus
find_moment (TesseraJob *job, TesseraError *error)
{
  tessera_moment_at (tessera_data_origin (job->data),
                     job->sheets[TESSERA_SIDE_LEFT]->layout, job->paint, job->moment,
                     &job->described);
  return TESSERA_OK;
}

static void refresh_moment (TesseraDocument *self);

static void
take_moment (TesseraDocument *self, TesseraJob *job)
{
  gboolean is_of_this =
      job->sheets[TESSERA_SIDE_LEFT]->layout == self->sheets[TESSERA_SIDE_LEFT]->layout;

  if (is_of_this)
    {
      self->described = job->described;
      tessera_document_changed (self, TESSERA_CHANGED_MOMENT);
    }
  if (!is_of_this || job->moment != self->moment ||
      job->paint->colouring != self->paint->colouring)
    refresh_moment (self);
}

static const TesseraWorkKind moment_kind = { TESSERA_WORK_MOMENT, "moment", find_moment,
                                             take_moment };

static void
refresh_moment (TesseraDocument *self)
{
  if (self->sheets[TESSERA_SIDE_LEFT] != NULL && self->jobs[TESSERA_WORK_MOMENT] == NULL)
    tessera_job_start (self, tessera_job_new (self, &moment_kind));
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
  refresh_moment (self);
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
  const TesseraParts *parts = &self->described.parts;
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
  if (self->described.colouring != paint->colouring)
    refresh_moment (self);
}

static TesseraStatus
make_paint (TesseraJob *job, TesseraError *error)
{
  job->new_paint = tessera_paint_new (job->data, job->colour_key, job->dark);
  return TESSERA_OK;
}

static void
take_new_paint (TesseraDocument *self, TesseraJob *job)
{
  if (job->data == self->data)
    take_paint (self, g_steal_pointer (&job->new_paint));
  else
    tessera_document_refresh_paint (self); /* groups changed meanwhile */
}

static const TesseraWorkKind paint_kind = { TESSERA_WORK_PAINT, "colours", make_paint,
                                            take_new_paint };

void
tessera_document_refresh_paint (TesseraDocument *self)
{
  if (self->data != NULL)
    tessera_job_start (self, tessera_job_new (self, &paint_kind));
}

void
tessera_document_set_colour_key (TesseraDocument *self, TesseraColourKey key)
{
  self->colour_is_chosen = TRUE;
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
      memset (shown, n_shown == 1 && shown[entry], n);
      shown[entry] = TRUE;
    }
  take_paint (self, tessera_paint_filter (self->paint, shown));
}

void
tessera_document_show_all (TesseraDocument *self)
{
  if (self->paint != NULL && self->paint->whole != NULL)
    take_paint (self, tessera_paint_ref (self->paint->whole));
}

/* --- other layouts, other axes --------------------------------------------------- */

static TesseraStatus
make_sheets (TesseraJob *job, TesseraError *error)
{
  TesseraData *data = tessera_data_origin (job->data);
  TesseraStatus status =
      tessera_sheet_new (data, job->left_planned, job->left_kind, job->axis_kind,
                         tessera_job_progress (job, 0, 0.8, FALSE), error,
                         &job->new_sheets[TESSERA_SIDE_LEFT]);

  if (status == TESSERA_OK && job->planned != NULL)
    status = tessera_sheet_new (data, job->planned, TESSERA_LAYOUT_PLAN, job->axis_kind,
                                tessera_job_progress (job, 0.8, 1, FALSE), error,
                                &job->new_sheets[TESSERA_SIDE_RIGHT]);
  return status;
}

/* The same events stay in sight when the axis changes. */
static void
keep_events_in_view (TesseraDocument *self,
                     const TesseraAxis *old,
                     const TesseraAxis *new)
{
  TesseraView next = self->view;

  if (old == new)
    return;
  if (next.t0 > 0)
    next.t0 = new->at[tessera_axis_event_at (old, next.t0)];
  if (next.t1 < 1)
    next.t1 = new->at[MIN (tessera_axis_event_at (old, next.t1) + 1, new->n_events)];
  tessera_document_set_view (self, &next);
}

/* The picture stays as it was, so the menus must say so. */
static void
go_back (TesseraDocument *self, TesseraJob *job)
{
  const TesseraSheet *old = self->sheets[TESSERA_SIDE_LEFT];
  gboolean was_plan = old != NULL && old->planned != NULL;

  g_clear_pointer (&self->moves, g_array_unref);
  if (!was_plan)
    self->left_kind = old != NULL ? old->layout->kind : TESSERA_LAYOUT_RECORDED;
  tessera_followed_unref (self->left_planned);
  self->left_planned = was_plan ? tessera_followed_ref (old->planned) : NULL;
  self->axis_kind = old != NULL ? old->axis->kind : self->axis_kind;
  tessera_document_changed (self, TESSERA_CHANGED_SHEETS);
}

static void
take_sheets (TesseraDocument *self, TesseraJob *job)
{
  g_clear_pointer (&self->moves, g_array_unref);
  keep_events_in_view (self, self->sheets[TESSERA_SIDE_LEFT]->axis,
                       job->new_sheets[TESSERA_SIDE_LEFT]->axis);
  for (int i = 0; i < TESSERA_N_SIDES; i++)
    if (job->new_sheets[i] != NULL)
      {
        tessera_sheet_unref (self->sheets[i]);
        self->sheets[i] = g_steal_pointer (&job->new_sheets[i]);
      }
  tessera_document_refresh_world (self);
  /* The hole lies in the layout that was. */
  self->described.parts.largest_hole_bytes = 0;
  tessera_document_changed (self, TESSERA_CHANGED_SHEETS);
  refresh_moment (self);
  tessera_document_refresh_comparison (self);
}

static const TesseraWorkKind sheets_kind = { TESSERA_WORK_SHEETS, "sheets", make_sheets,
                                             take_sheets, go_back };

void
tessera_document_refresh_sheets (TesseraDocument *self)
{
  if (self->data != NULL)
    tessera_job_start (self, tessera_job_new (self, &sheets_kind));
}

void
tessera_document_set_left_plan (TesseraDocument *self, TesseraFollowed *planned)
{
  if (self->data == NULL || self->left_planned == planned)
    return;
  tessera_followed_unref (self->left_planned);
  self->left_planned = tessera_followed_ref (planned);
  tessera_document_refresh_sheets (self);
}

void
tessera_document_set_left_kind (TesseraDocument *self, TesseraLayoutKind kind)
{
  self->left_kind = kind;
  g_clear_pointer (&self->left_planned, tessera_followed_unref);
  tessera_document_refresh_sheets (self);
}

void
tessera_document_set_axis_kind (TesseraDocument *self, TesseraAxisKind kind)
{
  if (self->axis_kind == kind)
    return;
  self->axis_kind = kind;
  tessera_document_refresh_sheets (self);
}
