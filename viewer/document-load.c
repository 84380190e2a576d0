/*
 * The session's work on other threads: opening, simulating, planning, measuring needs.
 *
 * Each kind of work runs at most once at a time; a newer request drops the older one.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/document-view.h"
#include "viewer/document.h"

#include "db/store.h"

/* What a worker is given, and what it gives back. */
typedef struct
{
  char *path;
  TesseraData *data;
  TesseraPlanned *planned;
  TesseraLayoutKind left_kind;
  TesseraAxisKind axis_kind;
  TesseraColourKey colour_key;
  gboolean dark;
  gboolean across_streams;
  TesseraSheet *sheets[TESSERA_N_SIDES];
  TesseraPaint *paint;
  TesseraLayoutKind fit_kind;
  uint64_t fit_bytes;
} Input;

static void
input_free (gpointer user)
{
  Input *input = user;

  for (int i = 0; i < TESSERA_N_SIDES; i++)
    tessera_sheet_unref (input->sheets[i]);
  tessera_paint_unref (input->paint);
  tessera_planned_unref (input->planned);
  tessera_data_unref (input->data);
  g_free (input->path);
  g_free (input);
}

static Input *
input_new (TesseraDocument *self)
{
  Input *input = g_new0 (Input, 1);

  input->data = self->data != NULL ? tessera_data_ref (self->data) : NULL;
  input->planned = self->planned != NULL ? tessera_planned_ref (self->planned) : NULL;
  input->left_kind = self->left_kind;
  input->axis_kind = self->axis_kind;
  input->colour_key = self->colour_key;
  input->dark = self->dark;
  input->across_streams = self->across_streams;
  return input;
}

static void
start (TesseraDocument *self, TesseraWork work, const TesseraJobKind *kind, Input *input)
{
  g_clear_pointer (&self->jobs[work], tessera_job_drop);
  self->fractions[work] = 0;
  self->jobs[work] = tessera_job_start (kind, G_OBJECT (self), input);
  tessera_document_changed (self, TESSERA_CHANGED_WORK);
}

/* Common end of all works. Returns: TRUE when there is a result. */
static gboolean
finished (TesseraDocument *self,
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

#define DEFINE_PROGRESS(name, work)                                                      \
  static void name##_progress (gpointer owner, double fraction)                          \
  {                                                                                      \
    TesseraDocument *self = owner;                                                       \
    self->fractions[work] = fraction;                                                    \
    tessera_document_changed (self, TESSERA_CHANGED_WORK);                               \
  }
DEFINE_PROGRESS (load, TESSERA_WORK_LOAD)
DEFINE_PROGRESS (sheets, TESSERA_WORK_SHEETS)
DEFINE_PROGRESS (plan, TESSERA_WORK_PLAN)
DEFINE_PROGRESS (needs, TESSERA_WORK_NEEDS)

static void start_needs (TesseraDocument *self, TesseraLayoutKind kind);

/* --- opening ------------------------------------------------------------------- */

static TesseraStatus
load_work (TesseraJob *job, gpointer user, TesseraError *error)
{
  Input *input = user;
  TesseraStatus status;

  status = tessera_data_open (input->path, tessera_job_progress (job, 0, 0.7), error,
                              &input->data);
  if (status == TESSERA_OK)
    input->left_kind = input->data->own_kind;
  if (status == TESSERA_OK)
    status = tessera_sheet_new (input->data, NULL, input->left_kind, input->axis_kind,
                                tessera_job_progress (job, 0.7, 1), error,
                                &input->sheets[TESSERA_SIDE_LEFT]);
  if (status != TESSERA_OK)
    return status;
  input->paint = tessera_paint_new (input->data, input->colour_key, input->dark);
  return input->paint != NULL ? TESSERA_OK
                              : tessera_explain (TESSERA_NO_MEMORY, error, "colouring");
}

static void
load_done (gpointer owner, gpointer user, TesseraStatus status, const TesseraError *error)
{
  TesseraDocument *self = owner;
  Input *input = user;
  g_autofree char *path = NULL;

  if (!finished (self, TESSERA_WORK_LOAD, status, error))
    return;
  path = g_strdup (input->path);
  tessera_document_close (self);
  self->path = g_steal_pointer (&path);
  self->data = g_steal_pointer (&input->data);
  self->left_kind = input->left_kind;
  self->sheets[TESSERA_SIDE_LEFT] = g_steal_pointer (&input->sheets[TESSERA_SIDE_LEFT]);
  self->paint = g_steal_pointer (&input->paint);
  self->needs.bound_bytes = self->data->bound_bytes;
  self->world_bytes = 1;
  self->view = (TesseraView){ 0, 1, 0, 1 };
  if (input->colour_key != self->colour_key || input->dark != self->dark)
    tessera_document_refresh_paint (self);
  tessera_document_refresh_world (self);
  tessera_document_refresh_verdict (self);
  self->moment = self->verdict.parts.event_index;
  tessera_document_refresh_parts (self);
  tessera_document_changed (self, TESSERA_CHANGED_ALL);
  if (input->axis_kind != self->axis_kind)
    tessera_document_set_left_kind (self, self->left_kind);
  if (self->plan_automatically)
    tessera_document_plan (self);
  else
    start_needs (self, TESSERA_LAYOUT_NATIVE);
}

static const TesseraJobKind load_kind = { load_work, load_done, load_progress,
                                          input_free };

void
tessera_document_open (TesseraDocument *self, const char *path)
{
  Input *input;

  if (tessera_file_kind (path) == TESSERA_FILE_PLAN)
    {
      tessera_document_open_plan (self, path);
      return;
    }
  input = input_new (self);
  g_clear_pointer (&input->data, tessera_data_unref);
  g_clear_pointer (&input->planned, tessera_planned_unref);
  input->path = g_strdup (path);
  if (self->data == NULL)
    {
      g_free (self->path);
      self->path = g_strdup (path);
    }
  g_clear_pointer (&self->error, g_free);
  start (self, TESSERA_WORK_LOAD, &load_kind, input);
}

/* --- other layouts, other axes --------------------------------------------------- */

static TesseraStatus
sheets_work (TesseraJob *job, gpointer user, TesseraError *error)
{
  Input *input = user;
  TesseraStatus status = tessera_sheet_new (
      input->data, NULL, input->left_kind, input->axis_kind,
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
  Input *input = user;
  TesseraSheet *old = self->sheets[TESSERA_SIDE_LEFT];

  if (!finished (self, TESSERA_WORK_SHEETS, status, error))
    {
      /* The picture stays as it was, so the menus must say so. */
      self->left_kind = old != NULL ? old->layout->kind : TESSERA_LAYOUT_RECORDED;
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
  tessera_document_changed (self, TESSERA_CHANGED_SHEETS);
  tessera_document_refresh_parts (self);
}

static const TesseraJobKind sheets_kind = { sheets_work, sheets_done, sheets_progress,
                                            input_free };

void
tessera_document_set_left_kind (TesseraDocument *self, TesseraLayoutKind kind)
{
  self->left_kind = kind;
  if (self->data != NULL)
    start (self, TESSERA_WORK_SHEETS, &sheets_kind, input_new (self));
}

void
tessera_document_set_axis_kind (TesseraDocument *self, TesseraAxisKind kind)
{
  if (self->axis_kind == kind)
    return;
  self->axis_kind = kind;
  if (self->data != NULL)
    start (self, TESSERA_WORK_SHEETS, &sheets_kind, input_new (self));
}

/* --- planning --------------------------------------------------------------------- */

static TesseraStatus
plan_work (TesseraJob *job, gpointer user, TesseraError *error)
{
  Input *input = user;
  TesseraStatus status;

  g_clear_pointer (&input->planned, tessera_planned_unref);
  if (input->path != NULL)
    status =
        tessera_planned_load (input->data, input->path,
                              tessera_job_progress (job, 0, 0.9), error, &input->planned);
  else
    status =
        tessera_planned_new (input->data, input->across_streams,
                             tessera_job_progress (job, 0, 0.9), error, &input->planned);
  if (status == TESSERA_OK)
    status = tessera_sheet_new (input->data, input->planned, TESSERA_LAYOUT_PLAN,
                                input->axis_kind, tessera_job_progress (job, 0.9, 1),
                                error, &input->sheets[TESSERA_SIDE_RIGHT]);
  return status;
}

static void
plan_done (gpointer owner, gpointer user, TesseraStatus status, const TesseraError *error)
{
  TesseraDocument *self = owner;
  Input *input = user;

  if (finished (self, TESSERA_WORK_PLAN, status, error))
    {
      tessera_planned_unref (self->planned);
      self->planned = g_steal_pointer (&input->planned);
      tessera_sheet_unref (self->sheets[TESSERA_SIDE_RIGHT]);
      self->sheets[TESSERA_SIDE_RIGHT] =
          g_steal_pointer (&input->sheets[TESSERA_SIDE_RIGHT]);
      self->needs.plan_bytes = 0;
      tessera_document_refresh_world (self);
      tessera_document_changed (self, TESSERA_CHANGED_SHEETS);
      if (input->axis_kind != self->axis_kind)
        tessera_document_set_left_kind (self, self->left_kind);
    }
  if (self->needs.native_bytes == 0)
    start_needs (self, TESSERA_LAYOUT_NATIVE);
  else
    start_needs (self, TESSERA_LAYOUT_PLAN);
}

static const TesseraJobKind plan_kind = { plan_work, plan_done, plan_progress,
                                          input_free };

void
tessera_document_plan (TesseraDocument *self)
{
  if (self->data != NULL)
    start (self, TESSERA_WORK_PLAN, &plan_kind, input_new (self));
}

void
tessera_document_open_plan (TesseraDocument *self, const char *path)
{
  Input *input;

  if (self->data == NULL)
    {
      tessera_document_take_error (
          self,
          g_strdup_printf ("%s is a plan: open the trace it was made from first.", path));
      return;
    }
  input = input_new (self);
  input->path = g_strdup (path);
  start (self, TESSERA_WORK_PLAN, &plan_kind, input);
}

void
tessera_document_set_across_streams (TesseraDocument *self, gboolean across)
{
  self->across_streams = across;
  tessera_document_plan (self);
}

/* --- needs ------------------------------------------------------------------------ */

static TesseraStatus
needs_work (TesseraJob *job, gpointer user, TesseraError *error)
{
  Input *input = user;
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
  Input *input = user;

  if (!finished (self, TESSERA_WORK_NEEDS, status, error))
    return;
  if (input->fit_kind == TESSERA_LAYOUT_NATIVE)
    self->needs.native_bytes = input->fit_bytes;
  else if (input->fit_kind == TESSERA_LAYOUT_EXPANDABLE)
    self->needs.expandable_bytes = input->fit_bytes;
  else
    self->needs.plan_bytes = input->fit_bytes;
  tessera_document_refresh_verdict (self);
  if (input->fit_kind == TESSERA_LAYOUT_NATIVE)
    start_needs (self, TESSERA_LAYOUT_EXPANDABLE);
  else if (input->fit_kind == TESSERA_LAYOUT_EXPANDABLE && self->planned != NULL)
    start_needs (self, TESSERA_LAYOUT_PLAN);
}

static const TesseraJobKind needs_kind = { needs_work, needs_done, needs_progress,
                                           input_free };

static void
start_needs (TesseraDocument *self, TesseraLayoutKind kind)
{
  Input *input;

  if (self->data == NULL || (kind == TESSERA_LAYOUT_PLAN && self->planned == NULL))
    return;
  input = input_new (self);
  input->fit_kind = kind;
  start (self, TESSERA_WORK_NEEDS, &needs_kind, input);
}
