/*
 * The session's work on other threads: planning, and what the policies need.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "db/plan.h"
#include "viewer/model/document-private.h"

static void
on_plan_progress (gpointer owner, double fraction)
{
  tessera_work_progressed (owner, TESSERA_WORK_PLAN, fraction);
}

static void
on_needs_progress (gpointer owner, double fraction)
{
  tessera_work_progressed (owner, TESSERA_WORK_NEEDS, fraction);
}

/* --- planning --------------------------------------------------------------------- */

static void plan_done (gpointer owner,
                       gpointer user,
                       TesseraStatus status,
                       const TesseraError *error);

/* Stopped, it ends with what it has; a preview, and what is only looked at, does not. */
static gboolean
keeps_best (const TesseraWorkInput *input)
{
  return !input->request.is_preview && input->path == NULL && input->shown == NULL;
}

static TesseraStatus
make_plan (TesseraJob *job,
           TesseraWorkInput *input,
           const TesseraFollowed *former,
           TesseraError *error)
{
  TesseraPlanWatch watch = { .planning = tessera_job_progress (job, 0, 0.9) };

  watch.following = watch.planning;
  if (keeps_best (input))
    {
      watch.following = tessera_job_progress_to_keep (job, 0, 0.9);
      watch.listener = tessera_job_listener (job);
    }
  return tessera_followed_new (input->data, &input->request, input->history, former,
                               &watch, error, &input->conflict, &input->planned);
}

static TesseraStatus
plan_work (TesseraJob *job, gpointer user, TesseraError *error)
{
  TesseraWorkInput *input = user;
  TesseraSheet *was = g_steal_pointer (&input->sheets[TESSERA_SIDE_RIGHT]);
  TesseraFollowed *former = g_steal_pointer (&input->planned);
  TesseraStatus status = TESSERA_OK;

  if (input->shown != NULL)
    input->planned = tessera_followed_ref (input->shown);
  else if (input->path != NULL)
    status = tessera_followed_load (input->data, input->path,
                                    tessera_job_progress (job, 0, 0.9), error,
                                    &input->planned);
  else
    status = make_plan (job, input, former, error);
  input->is_of_edits = status == TESSERA_OK &&
                       (keeps_best (input) || input->request.is_preview ||
                        tessera_history_made_plan (input->history, input->planned->plan));
  if (status == TESSERA_OK)
    status = tessera_sheet_new (
        input->data, input->planned, TESSERA_LAYOUT_PLAN, input->axis_kind,
        keeps_best (input) ? tessera_job_progress_to_keep (job, 0.9, 1)
                           : tessera_job_progress (job, 0.9, 1),
        error, &input->sheets[TESSERA_SIDE_RIGHT]);
  if (status == TESSERA_OK && was != NULL)
    input->moves = tessera_moves_new (was, input->sheets[TESSERA_SIDE_RIGHT]);
  tessera_sheet_unref (was);
  tessera_followed_unref (former);
  return status;
}

static const TesseraJobKind plan_kind = { plan_work, plan_done, on_plan_progress,
                                          tessera_work_input_free, "plan" };

/* The plan that was stays unless there is a new one. */
static void
take_plan (TesseraDocument *self, TesseraWorkInput *input)
{
  tessera_document_drop_proposal (self);
  tessera_moves_unref (self->moves);
  /* Heights of two axes cannot be compared, nor times. */
  self->moves =
      input->axis_kind == self->axis_kind ? g_steal_pointer (&input->moves) : NULL;
  tessera_followed_unref (self->planned);
  self->planned = g_steal_pointer (&input->planned);
  /* One that was there before is what was asked for, whatever stands. */
  self->planned->request.generation = input->path != NULL || input->shown != NULL
                                          ? self->request.generation
                                          : input->request.generation;
  self->is_plan_of_edits = input->is_of_edits;
  tessera_sheet_unref (self->sheets[TESSERA_SIDE_RIGHT]);
  self->sheets[TESSERA_SIDE_RIGHT] = g_steal_pointer (&input->sheets[TESSERA_SIDE_RIGHT]);
  self->needs.plan_bytes = 0;
  tessera_document_refresh_world (self);
  tessera_document_note_plan (self, input->path);
  tessera_document_changed (self, TESSERA_CHANGED_SHEETS);
  tessera_document_refresh_comparison (self);
  if (input->axis_kind != self->axis_kind)
    tessera_document_refresh_sheets (self);
}

/* Stopped early, a plan can be higher than the preview of it: then the preview, which is
 * checked as well, is the best there is. */
static gboolean
keep_preview (TesseraDocument *self, const TesseraWorkInput *input)
{
  TesseraFollowed *shown = self->planned;
  const TesseraPlan *cut = input->planned->plan;

  if (cut->cut_short == TESSERA_CUT_NOT || !keeps_best (input) || shown == NULL ||
      !shown->request.is_preview ||
      shown->request.generation != input->request.generation ||
      shown->plan->height_bytes >= cut->height_bytes)
    return FALSE;
  shown->request.is_preview = FALSE;
  shown->plan->cut_short = cut->cut_short;
  shown->plan->proven_bound_bytes =
      MAX (shown->plan->proven_bound_bytes, cut->proven_bound_bytes);
  tessera_document_note_plan (self, NULL);
  tessera_document_changed (self, TESSERA_CHANGED_SHEETS);
  return TRUE;
}

/* What PyTorch needs does not depend on the plan: it is looked for once. */
static void
seek_needs (TesseraDocument *self)
{
  if (self->needs.expandable_bytes != 0)
    tessera_document_start_needs (self, TESSERA_LAYOUT_PLAN);
  else if (self->jobs[TESSERA_WORK_NEEDS] == NULL)
    tessera_document_start_needs (self, self->needs.native_bytes == 0
                                            ? TESSERA_LAYOUT_NATIVE
                                            : TESSERA_LAYOUT_EXPANDABLE);
}

static void
start_plan (TesseraDocument *self, gboolean is_preview, gboolean goes_on)
{
  TesseraWorkInput *input;

  if (self->data == NULL)
    return;
  input = tessera_work_input_new (self);
  input->request.is_preview = is_preview;
  input->request.goes_on = goes_on;
  input->history = tessera_history_copy (self->history);
  input->conflict = (TesseraEditConflict){ TESSERA_NONE, TESSERA_NONE };
  if (self->sheets[TESSERA_SIDE_RIGHT] != NULL)
    input->sheets[TESSERA_SIDE_RIGHT] =
        tessera_sheet_ref (self->sheets[TESSERA_SIDE_RIGHT]);
  tessera_work_start (self, TESSERA_WORK_PLAN, &plan_kind, input);
}

static void
plan_done (gpointer owner, gpointer user, TesseraStatus status, const TesseraError *error)
{
  TesseraDocument *self = owner;
  TesseraWorkInput *input = user;

  if (status == TESSERA_REFUSED)
    self->conflict = input->conflict;
  if (tessera_work_finished (self, TESSERA_WORK_PLAN, status, error) &&
      !keep_preview (self, input))
    take_plan (self, input);
  if (status == TESSERA_REFUSED)
    tessera_document_changed (self, TESSERA_CHANGED_EDITS);
  if (status == TESSERA_OK && input->request.is_preview && input->path == NULL &&
      input->shown == NULL)
    start_plan (self, FALSE, FALSE);
  else
    seek_needs (self);
}

void
tessera_document_plan (TesseraDocument *self)
{
  start_plan (self, FALSE, FALSE);
}

static gboolean
has_cap (TesseraDocument *self)
{
  size_t n;
  const TesseraEdit *edits = tessera_history_get (self->history, &n);

  n = tessera_history_get_n_standing (self->history);
  for (size_t i = 0; i < n; i++)
    if (edits[i].kind == TESSERA_EDIT_CAP)
      return TRUE;
  return FALSE;
}

/* What the planner would refuse, or could not win. It judges the rest. */
const char *
tessera_document_why_no_going_on (TesseraDocument *self)
{
  if (self->data == NULL)
    return "Open a trace first";
  if (self->jobs[TESSERA_WORK_PLAN] != NULL)
    return "The plan is still being made";
  if (self->planned == NULL)
    return "There is no plan yet: make one first";
  if (has_cap (self))
    return "Under a cap it is decided anew which blocks have slots: plan again instead";
  if (!tessera_document_is_plan_current (self) || !self->is_plan_of_edits)
    return "The plan is not of the edits that stand: plan again first";
  if (tessera_plan_is_optimal (self->planned->plan))
    return "It is proven that no plan is lower";
  return NULL;
}

void
tessera_document_go_on (TesseraDocument *self)
{
  if (tessera_document_why_no_going_on (self) == NULL)
    start_plan (self, FALSE, TRUE);
}

void
tessera_document_plan_at_once (TesseraDocument *self)
{
  start_plan (self, TRUE, FALSE);
}

void
tessera_document_show_plan (TesseraDocument *self, TesseraFollowed *planned)
{
  TesseraWorkInput *input;

  if (self->planned == planned || self->data == NULL)
    return;
  input = tessera_work_input_new (self);
  input->shown = tessera_followed_ref (planned);
  input->history = tessera_history_copy (self->history);
  tessera_work_start (self, TESSERA_WORK_PLAN, &plan_kind, input);
}

void
tessera_document_open_plan (TesseraDocument *self, const char *path)
{
  TesseraWorkInput *input;

  if (self->data == NULL)
    {
      tessera_document_take_error (
          self,
          g_strdup_printf ("%s is a plan: open the trace it was made from first.", path));
      return;
    }
  input = tessera_work_input_new (self);
  input->path = g_strdup (path);
  input->history = tessera_history_copy (self->history);
  tessera_work_start (self, TESSERA_WORK_PLAN, &plan_kind, input);
}

void
tessera_document_set_strategy (TesseraDocument *self, TesseraStrategy strategy)
{
  if (self->request.strategy == strategy)
    return;
  self->request.strategy = strategy;
  self->request.generation++;
  tessera_document_remember_height (self);
  tessera_document_changed (self, TESSERA_CHANGED_EDITS);
  tessera_document_plan_at_once (self);
}

/* --- needs ------------------------------------------------------------------------ */

static TesseraStatus
needs_work (TesseraJob *job, gpointer user, TesseraError *error)
{
  TesseraWorkInput *input = user;
  TesseraSimulateOptions options = {
    .kind = input->fit_kind,
    .plan = input->fit_kind == TESSERA_LAYOUT_PLAN ? input->planned->plan : NULL,
    .first_step = -1,
    .last_step = -1,
    .without_curves = true,
    .progress = tessera_job_progress (job, 0, 1),
  };

  return tessera_explain (tessera_fit (input->data->trace, input->data->blocks,
                                       input->data->structure, &options, error,
                                       &input->fit_bytes),
                          error, "looking for the smallest device");
}

static void
needs_done (gpointer owner,
            gpointer user,
            TesseraStatus status,
            const TesseraError *error)
{
  TesseraDocument *self = owner;
  TesseraWorkInput *input = user;

  if (!tessera_work_finished (self, TESSERA_WORK_NEEDS, status, error))
    return;
  if (input->fit_kind == TESSERA_LAYOUT_NATIVE)
    self->needs.native_bytes = input->fit_bytes;
  else if (input->fit_kind == TESSERA_LAYOUT_EXPANDABLE)
    self->needs.expandable_bytes = input->fit_bytes;
  else
    self->needs.plan_bytes = input->fit_bytes;
  tessera_document_refresh_verdict (self);
  if (input->fit_kind == TESSERA_LAYOUT_NATIVE)
    tessera_document_start_needs (self, TESSERA_LAYOUT_EXPANDABLE);
  else if (input->fit_kind == TESSERA_LAYOUT_EXPANDABLE && self->planned != NULL)
    tessera_document_start_needs (self, TESSERA_LAYOUT_PLAN);
}

static const TesseraJobKind needs_kind = { needs_work, needs_done, on_needs_progress,
                                           tessera_work_input_free, "needs" };

void
tessera_document_start_needs (TesseraDocument *self, TesseraLayoutKind kind)
{
  TesseraWorkInput *input;

  if (self->data == NULL || (kind == TESSERA_LAYOUT_PLAN && self->planned == NULL))
    return;
  input = tessera_work_input_new (self);
  input->fit_kind = kind;
  tessera_work_start (self, TESSERA_WORK_NEEDS, &needs_kind, input);
}
