/*
 * Opening a trace, on another thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/model/document-private.h"

#include "cli/study.h"
#include "db/store.h"

typedef struct
{
  TesseraWorkInput base; /* of what is open until then */
  char *path;
  uint32_t device; /* of the file */
  TesseraData *data;
  TesseraSheet *sheet; /* on the left */
  TesseraPaint *paint;
  uint32_t moment; /* event: what the verdict is about, and shown first */
  TesseraMoment described;
  struct stat seen;           /* the file, before it was read */
  TesseraHistory *history;    /* edits that are kept with it; NULL: they can't be read */
  char *kept_json;            /* the same, as the file has them */
  TesseraError history_error; /* why they can't be read */
} Load;

static void
clear_load (gpointer user)
{
  Load *load = user;

  tessera_history_free (load->history);
  g_free (load->kept_json);
  tessera_paint_unref (load->paint);
  tessera_sheet_unref (load->sheet);
  tessera_data_unref (load->data);
  g_free (load->path);
}

/* The last failure, else the peak: what the verdict is about, and shown first. */
static void
tell_verdicts_moment (Load *load)
{
  const TesseraLayout *layout = load->sheet->layout;

  load->moment = layout->n_ooms > 0 ? layout->ooms[layout->n_ooms - 1].event_index
                                    : layout->peak_reserved_index;
  tessera_moment_at (load->data, layout, load->paint, load->moment, &load->described);
}

/* What the left picture does not wait for. */
typedef struct
{
  TesseraData *data;
  TesseraAxisKind axis_kind;
} Analysis;

static gpointer
analyse (gpointer user)
{
  Analysis *analysis = user;

  /* The picture needs it after its layout, so it comes first. */
  tessera_data_get_axis (analysis->data, analysis->axis_kind);
  tessera_data_analyse (analysis->data);
  return NULL;
}

/* The layout and its picture here, the analysis on another thread. */
static TesseraStatus
make_left_sheet (TesseraJob *job, Load *load, TesseraError *error)
{
  Analysis analysis = { .data = load->data, .axis_kind = load->base.axis_kind };
  GThread *thread = g_thread_try_new ("analysis", analyse, &analysis, NULL);
  TesseraStatus status;

  if (thread == NULL)
    analyse (&analysis);
  status =
      tessera_sheet_new (load->data, NULL, load->data->own_kind, load->base.axis_kind,
                         tessera_job_progress (job, 0.7, 1), error, &load->sheet);
  if (thread != NULL)
    g_thread_join (thread);
  return status;
}

/* NULL: they can't be read, or are about blocks that the trace does not have. */
static TesseraHistory *
load_edits (Load *load)
{
  const TesseraData *data = load->data;
  g_autoptr (TesseraHistory) history =
      tessera_history_load (load->path, &load->history_error);

  if (history != NULL)
    load->kept_json = tessera_history_to_json (history);
  if (history != NULL &&
      tessera_history_find_blocks (history, load->path, data->trace, data->blocks,
                                   data->structure, &load->history_error) != TESSERA_OK)
    return NULL;
  return g_steal_pointer (&history);
}

static TesseraStatus
read_trace (TesseraJob *job, gpointer user, TesseraError *error)
{
  Load *load = user;
  TesseraWhose whose;
  TesseraStatus status;

  if (stat (load->path, &load->seen) != 0)
    load->seen = (struct stat){ 0 };
  status = tessera_data_read (load->path, load->device,
                              tessera_job_progress (job, 0, 0.7), error, &load->data);
  if (status == TESSERA_OK)
    status = make_left_sheet (job, load, error);
  if (status != TESSERA_OK)
    return status;
  load->history = load_edits (load);
  if (!load->base.colour_is_chosen)
    load->base.colour_key = tessera_usual_colour_key (load->data->trace);
  load->paint = tessera_paint_new (load->data, load->base.colour_key, load->base.dark);
  tell_verdicts_moment (load);
  whose = load->data->whose;
  whose.layout = load->sheet->layout;
  load->data->filling = tessera_describe_filling (&whose);
  return TESSERA_OK;
}

/* Edits that cannot be read are no reason not to look at the trace. They stay where they
 * are: what is edited now is not kept. */
static void
take_edits (TesseraDocument *self, Load *load)
{
  gboolean is_readable = load->history != NULL;

  if (!is_readable)
    self->error = g_strdup_printf ("The edits of this trace are left aside, and new ones "
                                   "not kept: %s",
                                   load->history_error.text);
  else if (self->data->rules_error.text[0] != '\0')
    self->error =
        g_strdup_printf ("The rules for categories that the trace carries are left "
                         "aside: %s.",
                         self->data->rules_error.text);
  tessera_document_take_history (self, load->history != NULL
                                           ? g_steal_pointer (&load->history)
                                           : tessera_history_new ());
  if (is_readable)
    self->edits_file = tessera_edits_file_new (self, load->kept_json, &load->seen);
}

/* --- what to do, which no picture waits for ----------------------------------------- */

typedef struct
{
  TesseraWorkInput base;
  GArray *suggestions;
} Suggesting;

static void
clear_suggesting (gpointer user)
{
  g_clear_pointer (&((Suggesting *) user)->suggestions, g_array_unref);
}

static TesseraStatus
find_suggestions (TesseraJob *job, gpointer user, TesseraError *error)
{
  Suggesting *suggesting = user;
  TesseraData *data = tessera_data_origin (suggesting->base.data);
  TesseraWhose whose = data->whose;
  TesseraStatus status =
      tessera_data_get_layout (data, data->own_kind, NULL, error, &whose.layout);

  if (status == TESSERA_OK)
    suggesting->suggestions = tessera_suggest (&whose);
  return status;
}

static void
take_suggestions (TesseraDocument *self, gpointer user)
{
  Suggesting *suggesting = user;

  self->suggestions = g_steal_pointer (&suggesting->suggestions);
  tessera_document_changed (self, TESSERA_CHANGED_VERDICT);
}

static const TesseraWorkKind suggest_kind = { TESSERA_WORK_SUGGEST, "suggestions",
                                              sizeof (Suggesting),  find_suggestions,
                                              take_suggestions,     clear_suggesting };

/* --- all of it ---------------------------------------------------------------------- */

static void
take_leak (TesseraDocument *self)
{
  self->needs.leak = self->data->leak;
  if (self->needs.leak.stack != TESSERA_NONE)
    {
      g_autofree char *line =
          tessera_name_line (self->data->trace, self->needs.leak.stack);
      tessera_show_text (line, self->needs.leak_line, sizeof self->needs.leak_line);
    }
}

static void
take_trace (TesseraDocument *self, gpointer user)
{
  Load *load = user;

  tessera_document_close (self);
  self->path = g_steal_pointer (&load->path);
  self->data = g_steal_pointer (&load->data);
  take_edits (self, load);
  self->left_kind = self->data->own_kind;
  self->sheets[TESSERA_SIDE_LEFT] = g_steal_pointer (&load->sheet);
  self->paint = g_steal_pointer (&load->paint);
  self->needs.bound_bytes = self->data->bound_bytes;
  take_leak (self);
  if (!self->colour_is_chosen)
    self->colour_key = load->base.colour_key;
  self->world_bytes = 1;
  self->view = (TesseraView){ 0, 1, 0, 1 };
  if (load->base.colour_key != self->colour_key || load->base.dark != self->dark)
    tessera_document_refresh_paint (self);
  tessera_document_refresh_world (self);
  self->moment = load->moment;
  self->described = load->described;
  self->verdict.parts = load->described.parts;
  tessera_document_refresh_verdict (self);
  if (self->verdict.died)
    tessera_document_show_step (self, self->moment);
  tessera_document_changed (self, TESSERA_CHANGED_ALL);
  tessera_document_refresh_groups (self);
  if (load->base.axis_kind != self->axis_kind)
    tessera_document_set_left_kind (self, self->left_kind);
  tessera_work_start (self, tessera_work_new (self, &suggest_kind));
  if (self->plan_automatically)
    tessera_document_plan (self);
  else
    tessera_document_start_needs (self, TESSERA_LAYOUT_NATIVE);
}

static const TesseraWorkKind load_kind = { TESSERA_WORK_LOAD, "trace",    sizeof (Load),
                                           read_trace,        take_trace, clear_load };

static void
start_load (TesseraDocument *self, const char *path, uint32_t device)
{
  Load *load = tessera_work_new (self, &load_kind);

  load->path = g_strdup (path);
  load->device = device;
  g_clear_pointer (&self->error, g_free);
  tessera_work_start (self, load);
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
