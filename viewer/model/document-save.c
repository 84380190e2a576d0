/*
 * The session's work on other threads: writing pictures, reports and plans.
 *
 * A file is made in memory and takes its place whole: what was there stays until then,
 * and nothing half-written is ever left. What is written outlives what is open: opening
 * another file does not stop it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/model/document-private.h"

#include <gio/gio.h>

#include "db/output.h"
#include "db/store.h"
#include "planner/check.h"

static void
input_free (gpointer user)
{
  TesseraSaveInput *input = user;

  for (int i = 0; i < TESSERA_N_SIDES; i++)
    tessera_sheet_unref (input->sheets[i]);
  tessera_followed_unref (input->planned);
  tessera_data_unref (input->data);
  g_free (input->source);
  g_free (input->path);
  g_free (input);
}

static TesseraSaveInput *
input_new (TesseraDocument *self, const char *path)
{
  TesseraSaveInput *input = g_new0 (TesseraSaveInput, 1);

  input->path = g_strdup (path);
  input->source = g_strdup (self->path);
  input->data = self->data != NULL ? tessera_data_ref (self->data) : NULL;
  input->planned = self->planned != NULL ? tessera_followed_ref (self->planned) : NULL;
  for (int i = 0; i < TESSERA_N_SIDES; i++)
    if (self->sheets[i] != NULL)
      input->sheets[i] = tessera_sheet_ref (self->sheets[i]);
  input->needs = self->needs;
  input->verdict = self->verdict;
  input->colour_key = self->colour_key;
  input->dark = self->dark;
  return input;
}

TesseraStatus
tessera_save_bytes (const char *path,
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
plan_save (const TesseraSaveInput *input,
           const TesseraProgress *progress,
           TesseraError *error)
{
  TesseraLaw law;
  TesseraStatus status;

  if (input->planned == NULL)
    return tessera_fail (error, TESSERA_INVALID,
                         "There is no plan yet: make one before exporting it.");
  status = tessera_check_plan (input->planned->plan, input->data->trace, &law, error);
  if (status == TESSERA_OK && !progress->report (progress->user, 0.5))
    status = TESSERA_CANCELLED;
  if (status == TESSERA_OK)
    status = tessera_plan_save (input->planned->plan, input->path, error);
  return tessera_explain (status, error, "writing the plan");
}

static TesseraStatus
save_work (TesseraJob *job, gpointer user, TesseraError *error)
{
  TesseraSaveInput *input = user;
  const TesseraProgress *progress = tessera_job_progress (job, 0, 1);

  if (input->what == TESSERA_SAVE_PLAN)
    return plan_save (input, progress, error);
  if (input->what == TESSERA_SAVE_REPORT)
    return tessera_report_save (input, progress, error);
  return tessera_picture_save (input, progress, error);
}

static void
on_save_progress (gpointer owner, double fraction)
{
  tessera_work_progressed (owner, TESSERA_WORK_SAVE, fraction);
}

static void
save_done (gpointer owner, gpointer user, TesseraStatus status, const TesseraError *error)
{
  TesseraDocument *self = owner;
  TesseraSaveInput *input = user;

  if (status == TESSERA_OK)
    {
      gboolean is_cut = input->what == TESSERA_SAVE_PLAN &&
                        input->planned->plan->cut_short != TESSERA_CUT_NOT;

      g_free (self->notice);
      self->notice = g_strdup_printf (
          is_cut ? "The plan was checked and written to %s: cut short, "
                   "planning again makes the full one, planning on goes on from it."
          : input->what == TESSERA_SAVE_PLAN ? "The plan was checked and written to %s."
                                             : "%s was written.",
          input->path);
    }
  (void) tessera_work_finished (self, TESSERA_WORK_SAVE, status, error);
  if (g_application_get_default () != NULL)
    g_application_release (g_application_get_default ());
}

static const TesseraJobKind save_kind = { save_work, save_done, on_save_progress,
                                          input_free, "file" };

void
tessera_document_save (TesseraDocument *self,
                       TesseraSave what,
                       gboolean stacked,
                       const char *path)
{
  TesseraSaveInput *input;

  if (self->jobs[TESSERA_WORK_SAVE] != NULL)
    {
      tessera_document_take_error (
          self,
          g_strdup_printf ("%s was not written: another file is being written, wait "
                           "for it or stop it.",
                           path));
      return;
    }
  input = input_new (self, path);
  input->what = what;
  input->stacked = stacked;
  /* The program stays until the file is there, also when its window is closed. */
  if (g_application_get_default () != NULL)
    g_application_hold (g_application_get_default ());
  tessera_work_start (self, TESSERA_WORK_SAVE, &save_kind, input);
}
