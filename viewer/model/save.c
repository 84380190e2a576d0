/*
 * Writing pictures, reports and plans, on another thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/model/document-private.h"

#include "cli/out/picture.h"
#include "cli/study.h"
#include "db/output.h"
#include "db/store.h"
#include "picture/figure.h"

#include <gio/gio.h>

/* A file is made in memory and takes its place whole: what was there stays until then,
 * and nothing half-written is ever left. What is written outlives what is open: opening
 * another file does not stop it. */

static TesseraStatus
write_bytes (const char *path,
             const void *bytes,
             size_t n_bytes,
             const TesseraProgress *progress,
             TesseraError *error)
{
  TesseraError found = { 0 };

  /* The last moment at which it can be stopped. */
  if (!progress->report (progress->user, 0.9))
    return TESSERA_CANCELLED;
  if (tessera_write_file (path, bytes, n_bytes, &found) == TESSERA_OK)
    return TESSERA_OK;
  return tessera_fail (error, found.status, "%s: choose another place.", found.text);
}

static TesseraStatus
save_plan (const TesseraJob *job, const TesseraProgress *progress, TesseraError *error)
{
  TesseraLaw law;
  TesseraStatus status;

  if (job->planned == NULL)
    return tessera_fail (error, TESSERA_INVALID,
                         "There is no plan yet: make one before exporting it.");
  status = cli_check_plan (job->planned->plan, job->data->trace, &law, error);
  if (status == TESSERA_OK && !progress->report (progress->user, 0.5))
    status = TESSERA_CANCELLED;
  if (status == TESSERA_OK)
    status = tessera_plan_save (job->planned->plan, job->path, error);
  return tessera_explain (status, error, "writing the plan");
}

/* --- what is on screen as a picture -------------------------------------------------- */

/* "edited: Pin ... ; Keep ...", or "". */
static char *
name_edits (const TesseraFollowed *planned)
{
  GString *text = g_string_new (NULL);

  for (size_t i = 0; planned != NULL && i < planned->plan->n_edits; i++)
    g_string_append_printf (text, "%s%s", i == 0 ? "edited: " : "; ",
                            planned->plan->edits[i].name);
  return g_string_free (text, FALSE);
}

static TesseraStatus
draw (cairo_t *cr, const CliSheet *sheet, gconstpointer user, TesseraError *error)
{
  const TesseraJob *job = user;
  const TesseraSheet *left = job->sheets[TESSERA_SIDE_LEFT];
  const TesseraSheet *right = job->sheets[TESSERA_SIDE_RIGHT];
  g_autofree char *edits = name_edits (job->planned);
  const TesseraFigure figure = {
    .blocks = job->data->blocks,
    .groups = job->data->groups,
    .n_groups = job->data->n_groups,
    .whose = &job->data->whose,
    .filling = job->data->filling,
    .left = left->layout,
    .right = right != NULL ? right->layout : NULL,
    .left_title = left->planned != NULL ? "Plan" : tessera_layout_owner (left->layout),
    .left_subtitle = tessera_layout_kind_name (left->layout->kind),
    .right_title = "Plan",
    .right_subtitle = edits,
    .plan = job->planned != NULL ? job->planned->plan : NULL,
    .verdict = &job->verdict,
    .needs = &job->needs,
    .axis = left->axis->kind,
    .colour = job->colour_key,
    .dark = job->dark,
    .stacked = job->stacked,
  };

  return tessera_figure_draw (&figure, cr, sheet->width, sheet->height, sheet->scale,
                              error);
}

static TesseraStatus
save_picture (const TesseraJob *job, const TesseraProgress *progress, TesseraError *error)
{
  gboolean is_svg = g_str_has_suffix (job->path, ".svg");
  /* A PNG has two pixels a unit: sharp in print and on dense screens. */
  const CliSheet sheet = {
    .width = 1600, .height = 1000, .scale = is_svg ? 1 : 2, .is_svg = is_svg
  };
  g_autoptr (GBytes) bytes = NULL;
  TesseraStatus status;

  if (job->sheets[TESSERA_SIDE_LEFT] == NULL)
    return tessera_fail (error, TESSERA_INVALID,
                         "There is nothing to save: open a trace first.");
  status = cli_draw_picture (&sheet, draw, job, error, &bytes);
  if (status == TESSERA_OK)
    status = write_bytes (job->path, g_bytes_get_data (bytes, NULL),
                          g_bytes_get_size (bytes), progress, error);
  else
    tessera_make_sentence (error);
  return tessera_explain (status, error, "drawing the picture");
}

/* --- the report of `tessera report` from what is open -------------------------------- */

static TesseraStatus
save_report (const TesseraJob *job, const TesseraProgress *progress, TesseraError *error)
{
  TesseraData *data = job->data != NULL ? tessera_data_origin (job->data) : NULL;
  GString *html = NULL;
  TesseraWhose whose;
  TesseraStatus status;
  CliStudy study;

  if (data == NULL || job->planned == NULL)
    return tessera_fail (error, TESSERA_INVALID,
                         "A report compares layouts: open a trace and plan it first.");
  /* Everything is borrowed: the study is read, never cleared. */
  study = (CliStudy){
    .path = job->text,
    .trace = data->trace,
    .blocks = data->blocks,
    .structure = data->structure,
    .layout = (TesseraLayout *) tessera_data_own_layout (data),
    .plan = job->planned->plan,
    .planned = job->planned->layout,
    .needs = job->needs,
    .need = {
      [TESSERA_LAYOUT_NATIVE].smallest_bytes = job->needs.native_bytes,
      [TESSERA_LAYOUT_EXPANDABLE].smallest_bytes = job->needs.expandable_bytes,
      [TESSERA_LAYOUT_PLAN].smallest_bytes = job->needs.plan_bytes,
    },
    .plan_seconds = job->planned->seconds,
  };
  whose = data->whose;
  whose.layout = study.layout;
  status = cli_report_html (&study, &whose, &html, error);
  if (status == TESSERA_OK)
    {
      status = write_bytes (job->path, html->str, html->len, progress, error);
      g_string_free (html, TRUE);
    }
  return tessera_explain (status, error, "reporting");
}

/* --- all of them ----------------------------------------------------------------------- */

static TesseraStatus
write_file (TesseraJob *job, TesseraError *error)
{
  const TesseraProgress *progress = tessera_job_progress (job, 0, 1, FALSE);

  if (job->save == TESSERA_SAVE_PLAN)
    return save_plan (job, progress, error);
  if (job->save == TESSERA_SAVE_REPORT)
    return save_report (job, progress, error);
  return save_picture (job, progress, error);
}

static void
tell_written (TesseraDocument *self, TesseraJob *job)
{
  gboolean is_cut = job->save == TESSERA_SAVE_PLAN && job->planned->plan->cut_short;

  tessera_document_take_notice (
      self,
      g_strdup_printf (is_cut ? "The plan was checked and written to %s: cut short, "
                                "planning again makes the full one."
                       : job->save == TESSERA_SAVE_PLAN
                           ? "The plan was checked and written to %s."
                           : "%s was written.",
                       job->path));
}

static const TesseraWorkKind save_kind = { TESSERA_WORK_SAVE, "file", write_file,
                                           tell_written, .is_of_file = TRUE };

void
tessera_document_save (TesseraDocument *self,
                       TesseraSave what,
                       gboolean stacked,
                       const char *path)
{
  TesseraJob *job;

  if (self->jobs[TESSERA_WORK_SAVE] != NULL)
    {
      tessera_document_take_error (
          self,
          g_strdup_printf ("%s was not written: another file is being written, wait "
                           "for it or stop it.",
                           path));
      return;
    }
  job = tessera_job_new (self, &save_kind);
  job->save = what;
  job->stacked = stacked;
  job->path = g_strdup (path);
  job->text = g_strdup (self->path);
  tessera_job_start (self, job);
}
