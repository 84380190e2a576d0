/*
 * The session's work on other threads: opening, simulating, laying out.
 *
 * Each kind of work runs at most once at a time; a newer request drops the older one.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/model/document-private.h"

#include "cli/study.h"
#include "db/store.h"

static void
on_load_progress (gpointer owner, double fraction)
{
  tessera_work_progressed (owner, TESSERA_WORK_LOAD, fraction);
}

static void
on_sheets_progress (gpointer owner, double fraction)
{
  tessera_work_progressed (owner, TESSERA_WORK_SHEETS, fraction);
}

/* --- opening ------------------------------------------------------------------- */

/* The last failure, else the peak: what the verdict is about, and shown first. */
static TesseraStatus
tell_verdicts_moment (TesseraWorkInput *input, TesseraError *error)
{
  const TesseraLayout *layout = input->sheets[TESSERA_SIDE_LEFT]->layout;

  input->moment = layout->n_ooms > 0 ? layout->ooms[layout->n_ooms - 1].event_index
                                     : layout->peak_reserved_index;
  return tessera_explain (
      tessera_moment_at (input->data, layout, input->paint, input->moment, &input->told),
      error, "looking at the moment");
}

/* What the left picture does not wait for. */
typedef struct
{
  TesseraData *data;
  TesseraAxisKind axis_kind;
  TesseraStatus status;
  TesseraError error;
} Analysis;

static gpointer
analyse (gpointer user)
{
  Analysis *analysis = user;
  const TesseraAxis *axis;

  /* The picture needs it after its layout, so it comes first. */
  analysis->status = tessera_data_get_axis (analysis->data, analysis->axis_kind,
                                            &analysis->error, &axis);
  if (analysis->status == TESSERA_OK)
    analysis->status = tessera_data_analyse (analysis->data, &analysis->error);
  return NULL;
}

/* The layout and its picture here, the analysis on another thread. */
static TesseraStatus
make_left_sheet (TesseraJob *job, TesseraWorkInput *input, TesseraError *error)
{
  Analysis analysis = { .data = input->data, .axis_kind = input->axis_kind };
  GThread *thread = g_thread_try_new ("analysis", analyse, &analysis, NULL);
  TesseraStatus status;

  if (thread == NULL)
    analyse (&analysis);
  input->left_kind = input->data->own_kind;
  status = tessera_sheet_new (input->data, NULL, input->left_kind, input->axis_kind,
                              tessera_job_progress (job, 0.7, 1), error,
                              &input->sheets[TESSERA_SIDE_LEFT]);
  if (thread != NULL)
    g_thread_join (thread);
  if (status == TESSERA_OK && analysis.status != TESSERA_OK)
    return tessera_fail (error, analysis.status, "%s", analysis.error.text);
  return status;
}

/* NULL: they can't be read, or are about blocks that the trace does not have. */
static TesseraHistory *
load_edits (TesseraWorkInput *input)
{
  const TesseraData *data = input->data;
  g_autoptr (TesseraHistory) history =
      tessera_history_load (input->path, &input->history_error);

  if (history != NULL)
    input->kept_json = tessera_history_to_json (history);
  if (history != NULL &&
      tessera_history_find_blocks (history, input->path, data->trace, data->blocks,
                                   data->structure, &input->history_error) != TESSERA_OK)
    return NULL;
  return g_steal_pointer (&history);
}

static TesseraStatus
load_work (TesseraJob *job, gpointer user, TesseraError *error)
{
  TesseraWorkInput *input = user;
  TesseraStatus status;

  if (stat (input->path, &input->seen) != 0)
    input->seen = (struct stat){ 0 };
  status = tessera_data_read (input->path, input->device,
                              tessera_job_progress (job, 0, 0.7), error, &input->data);
  if (status == TESSERA_OK)
    status = make_left_sheet (job, input, error);
  if (status != TESSERA_OK)
    return status;
  input->history = load_edits (input);
  input->paint = tessera_paint_new (input->data, input->colour_key, input->dark);
  return input->paint != NULL ? tell_verdicts_moment (input, error)
                              : tessera_explain (TESSERA_NO_MEMORY, error, "colouring");
}

/* Edits that cannot be read are no reason not to look at the trace. They stay where they
 * are: what is edited now is not kept. */
static void
take_edits (TesseraDocument *self, TesseraWorkInput *input)
{
  gboolean is_readable = input->history != NULL;

  if (!is_readable)
    self->error = g_strdup_printf ("The edits of this trace are left aside, and new ones "
                                   "not kept: %s",
                                   input->history_error.text);
  tessera_document_take_history (self, input->history != NULL
                                           ? g_steal_pointer (&input->history)
                                           : tessera_history_new ());
  if (is_readable)
    self->edits_file = tessera_edits_file_new (self, input->kept_json, &input->seen);
}

static void
take_leak (TesseraDocument *self)
{
  self->needs.leak = self->data->leak;
  if (self->needs.leak.stack != TESSERA_NONE)
    {
      g_autofree char *line = cli_own_line (self->data->trace, self->needs.leak.stack);
      tessera_show_text (line, self->needs.leak_line, sizeof self->needs.leak_line);
    }
}

static void
load_done (gpointer owner, gpointer user, TesseraStatus status, const TesseraError *error)
{
  TesseraDocument *self = owner;
  TesseraWorkInput *input = user;
  g_autofree char *path = NULL;

  if (!tessera_work_finished (self, TESSERA_WORK_LOAD, status, error))
    return;
  path = g_strdup (input->path);
  tessera_document_close (self);
  self->path = g_steal_pointer (&path);
  self->data = g_steal_pointer (&input->data);
  take_edits (self, input);
  self->left_kind = input->left_kind;
  self->sheets[TESSERA_SIDE_LEFT] = g_steal_pointer (&input->sheets[TESSERA_SIDE_LEFT]);
  self->paint = g_steal_pointer (&input->paint);
  self->needs.bound_bytes = self->data->bound_bytes;
  take_leak (self);
  self->world_bytes = 1;
  self->view = (TesseraView){ 0, 1, 0, 1 };
  if (input->colour_key != self->colour_key || input->dark != self->dark)
    tessera_document_refresh_paint (self);
  tessera_document_refresh_world (self);
  self->moment = input->moment;
  self->told = input->told;
  self->verdict.parts = input->told.parts;
  tessera_document_refresh_verdict (self);
  tessera_document_changed (self, TESSERA_CHANGED_ALL);
  tessera_document_refresh_groups (self);
  if (input->axis_kind != self->axis_kind)
    tessera_document_set_left_kind (self, self->left_kind);
  if (self->plan_automatically)
    tessera_document_plan (self);
  else
    tessera_document_start_needs (self, TESSERA_LAYOUT_NATIVE);
}

static const TesseraJobKind load_kind = { load_work, load_done, on_load_progress,
                                          tessera_work_input_free, "trace" };

static void
load (TesseraDocument *self, const char *path, uint32_t device)
{
  TesseraWorkInput *input = tessera_work_input_new (self);

  g_clear_pointer (&input->data, tessera_data_unref);
  g_clear_pointer (&input->planned, tessera_followed_unref);
  input->path = g_strdup (path);
  input->device = device;
  g_clear_pointer (&self->error, g_free);
  tessera_work_start (self, TESSERA_WORK_LOAD, &load_kind, input);
}

void
tessera_document_open (TesseraDocument *self, const char *path)
{
  if (tessera_file_kind (path) == TESSERA_FILE_PLAN)
    {
      tessera_document_open_plan (self, path);
      return;
    }
  if (self->data == NULL)
    {
      g_free (self->path);
      self->path = g_strdup (path);
    }
  load (self, path, TESSERA_NONE);
}

void
tessera_document_set_device (TesseraDocument *self, uint32_t device)
{
  if (self->data != NULL && self->data->trace->device != device)
    load (self, self->path, device);
}

/* --- other layouts, other axes --------------------------------------------------- */

static TesseraStatus
sheets_work (TesseraJob *job, gpointer user, TesseraError *error)
{
  TesseraWorkInput *input = user;
  TesseraStatus status = tessera_sheet_new (
      input->data, input->left_planned, input->left_kind, input->axis_kind,
      tessera_job_progress (job, 0, 0.8), error, &input->sheets[TESSERA_SIDE_LEFT]);

  if (status == TESSERA_OK && input->planned != NULL)
    status = tessera_sheet_new (input->data, input->planned, TESSERA_LAYOUT_PLAN,
                                input->axis_kind, tessera_job_progress (job, 0.8, 1),
                                error, &input->sheets[TESSERA_SIDE_RIGHT]);
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

static void
sheets_done (gpointer owner,
             gpointer user,
             TesseraStatus status,
             const TesseraError *error)
{
  TesseraDocument *self = owner;
  TesseraWorkInput *input = user;
  TesseraSheet *old = self->sheets[TESSERA_SIDE_LEFT];

  g_clear_pointer (&self->moves, tessera_moves_unref);
  if (!tessera_work_finished (self, TESSERA_WORK_SHEETS, status, error))
    {
      /* The picture stays as it was, so the menus must say so. */
      if (old == NULL || old->planned == NULL)
        self->left_kind = old != NULL ? old->layout->kind : TESSERA_LAYOUT_RECORDED;
      tessera_followed_unref (self->left_planned);
      self->left_planned = old != NULL && old->planned != NULL
                               ? tessera_followed_ref (old->planned)
                               : NULL;
      self->axis_kind = old != NULL ? old->axis->kind : self->axis_kind;
      tessera_document_changed (self, TESSERA_CHANGED_SHEETS);
      return;
    }
  keep_events_in_view (self, old->axis, input->sheets[TESSERA_SIDE_LEFT]->axis);
  for (int i = 0; i < TESSERA_N_SIDES; i++)
    if (input->sheets[i] != NULL)
      {
        tessera_sheet_unref (self->sheets[i]);
        self->sheets[i] = g_steal_pointer (&input->sheets[i]);
      }
  tessera_document_refresh_world (self);
  /* The hole lies in the layout that was. */
  self->told.parts.largest_hole_bytes = 0;
  tessera_document_changed (self, TESSERA_CHANGED_SHEETS);
  tessera_document_refresh_moment (self);
  tessera_document_refresh_comparison (self);
}

static const TesseraJobKind sheets_kind = { sheets_work, sheets_done, on_sheets_progress,
                                            tessera_work_input_free, "sheets" };

void
tessera_document_refresh_sheets (TesseraDocument *self)
{
  if (self->data != NULL)
    tessera_work_start (self, TESSERA_WORK_SHEETS, &sheets_kind,
                        tessera_work_input_new (self));
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
