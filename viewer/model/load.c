/*
 * Opening a trace, on another thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/model/document-private.h"

#include "cli/study.h"
#include "db/store.h"

/* What the left picture does not wait for. */
static gpointer
analyse (gpointer user)
{
  TesseraJob *job = user;

  /* The picture needs it after its layout, so it comes first. */
  tessera_data_get_axis (job->new_data, job->axis_kind);
  tessera_data_analyse (job->new_data);
  return NULL;
}

/* The layout and its picture here, the analysis on another thread. */
static TesseraStatus
make_left_sheet (TesseraJob *job, TesseraError *error)
{
  GThread *thread = g_thread_new ("analysis", analyse, job);
  TesseraStatus status =
      tessera_sheet_new (job->new_data, NULL, job->new_data->own_kind, job->axis_kind,
                         tessera_job_progress (job, 0.7, 1, FALSE), error,
                         &job->new_sheets[TESSERA_SIDE_LEFT]);

  g_thread_join (thread);
  return status;
}

/* NULL: they can't be read, or are about blocks that the trace does not have. */
static TesseraHistory *
load_edits (TesseraJob *job)
{
  const TesseraData *data = job->new_data;
  g_autoptr (TesseraHistory) history = tessera_history_load (job->path, &job->left_aside);

  if (history != NULL)
    job->json = tessera_history_to_json (history);
  if (history != NULL &&
      tessera_history_find_blocks (history, job->path, data->trace, data->blocks,
                                   data->structure, &job->left_aside) != TESSERA_OK)
    return NULL;
  return g_steal_pointer (&history);
}

static TesseraStatus
read_trace (TesseraJob *job, TesseraError *error)
{
  TesseraWhose whose;
  TesseraStatus status;

  if (stat (job->path, &job->seen) != 0)
    job->seen = (struct stat){ 0 };
  status = tessera_data_read (job->path, job->device,
                              tessera_job_progress (job, 0, 0.7, FALSE), error,
                              &job->new_data);
  if (status == TESSERA_OK)
    status = make_left_sheet (job, error);
  if (status != TESSERA_OK)
    return status;
  job->history = load_edits (job);
  if (!job->colour_is_chosen)
    job->colour_key = tessera_usual_colour_key (job->new_data->trace);
  job->new_paint = tessera_paint_new (job->new_data, job->colour_key, job->dark);
  whose = job->new_data->whose;
  whose.layout = job->new_sheets[TESSERA_SIDE_LEFT]->layout;
  job->moment = tessera_verdict_moment (whose.layout);
  tessera_moment_at (job->new_data, whose.layout, job->new_paint, job->moment,
                     &job->described);
  job->new_data->filling = tessera_describe_filling (&whose);
  return TESSERA_OK;
}

/* Edits that cannot be read are no reason not to look at the trace. They stay where they
 * are: what is edited now is not kept. */
static void
take_edits (TesseraDocument *self, TesseraJob *job)
{
  gboolean is_readable = job->history != NULL;

  if (!is_readable)
    self->error = g_strdup_printf ("The edits of this trace are left aside, and new ones "
                                   "not kept: %s",
                                   job->left_aside.text);
  else if (self->data->rules_error.text[0] != '\0')
    self->error =
        g_strdup_printf ("The rules for categories that the trace carries are left "
                         "aside: %s.",
                         self->data->rules_error.text);
  tessera_document_take_history (self, is_readable ? g_steal_pointer (&job->history)
                                                   : tessera_history_new ());
  if (is_readable)
    self->edits_file = tessera_edits_file_new (self, job);
}

/* --- what to do, which no picture waits for ----------------------------------------- */

static TesseraStatus
find_suggestions (TesseraJob *job, TesseraError *error)
{
  TesseraData *data = tessera_data_origin (job->data);
  TesseraWhose whose = data->whose;

  whose.layout = tessera_data_own_layout (data);
  job->suggestions = tessera_suggest (&whose);
  return TESSERA_OK;
}

static void
take_suggestions (TesseraDocument *self, TesseraJob *job)
{
  self->suggestions = g_steal_pointer (&job->suggestions);
  tessera_document_changed (self, TESSERA_CHANGED_VERDICT);
}

static const TesseraWorkKind suggest_kind = { TESSERA_WORK_SUGGEST, "suggestions",
                                              find_suggestions, take_suggestions };

/* --- all of it ---------------------------------------------------------------------- */

static void
take_trace (TesseraDocument *self, TesseraJob *job)
{
  tessera_document_close (self);
  self->path = g_steal_pointer (&job->path);
  self->data = g_steal_pointer (&job->new_data);
  take_edits (self, job);
  self->left_kind = self->data->own_kind;
  self->sheets[TESSERA_SIDE_LEFT] = g_steal_pointer (&job->new_sheets[TESSERA_SIDE_LEFT]);
  self->paint = g_steal_pointer (&job->new_paint);
  self->needs.bound_bytes = self->data->bound_bytes;
  self->needs.leak = self->data->leak;
  if (!self->colour_is_chosen)
    self->colour_key = job->colour_key;
  self->world_bytes = 1;
  self->view = (TesseraView){ 0, 1, 0, 1 };
  if (job->colour_key != self->colour_key || job->dark != self->dark)
    tessera_document_refresh_paint (self);
  tessera_document_refresh_world (self);
  self->moment = job->moment;
  self->described = job->described;
  self->verdict.parts = job->described.parts;
  tessera_document_refresh_verdict (self);
  if (self->verdict.died)
    tessera_document_show_step (self, self->moment);
  tessera_document_changed (self, TESSERA_CHANGED_ALL);
  tessera_document_refresh_groups (self);
  if (job->axis_kind != self->axis_kind)
    tessera_document_set_left_kind (self, self->left_kind);
  tessera_job_start (self, tessera_job_new (self, &suggest_kind));
  if (self->plan_automatically)
    tessera_document_plan (self, FALSE);
  else
    tessera_document_start_needs (self, TESSERA_LAYOUT_NATIVE);
}

static const TesseraWorkKind load_kind = { TESSERA_WORK_LOAD, "trace", read_trace,
                                           take_trace };

static void
start_load (TesseraDocument *self, const char *path, uint32_t device)
{
  TesseraJob *job = tessera_job_new (self, &load_kind);

  job->path = g_strdup (path);
  job->device = device;
  g_clear_pointer (&self->error, g_free);
  tessera_job_start (self, job);
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
  start_load (self, path, TESSERA_NONE);
}

void
tessera_document_set_device (TesseraDocument *self, uint32_t device)
{
  if (self->data != NULL && self->data->trace->device != device)
    start_load (self, self->path, device);
}
