/*
 * Writing pictures, reports and plans, on another thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/model/document-private.h"

#include "cli/picture.h"
#include "db/output.h"
#include "db/store.h"
#include "picture/figure.h"
#include "planner/check.h"

#include <cairo-svg.h>
#include <gio/gio.h>

/* A file is made in memory and takes its place whole: what was there stays until then,
 * and nothing half-written is ever left. What is written outlives what is open: opening
 * another file does not stop it. */

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
                   "planning again makes the full one."
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

/* --- what is on screen as a picture -------------------------------------------------- */

#define WIDTH 1600
#define HEIGHT 1000
#define PNG_SCALE 2 /* pixels a unit: sharp in print and on dense screens */

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

static TesseraFigure
figure_of (const TesseraSaveInput *input, const char *edits)
{
  const TesseraSheet *left = input->sheets[TESSERA_SIDE_LEFT];
  const TesseraSheet *right = input->sheets[TESSERA_SIDE_RIGHT];

  return (TesseraFigure){
    .trace = input->data->trace,
    .blocks = input->data->blocks,
    .structure = input->data->structure,
    .groups = input->data->groups,
    .n_groups = input->data->n_groups,
    .left = left->layout,
    .right = right != NULL ? right->layout : NULL,
    .left_title = left->planned != NULL ? "Plan" : tessera_layout_owner (left->layout),
    .left_subtitle = tessera_layout_kind_name (left->layout->kind),
    .right_title = "Plan",
    .right_subtitle = edits,
    .plan = input->planned != NULL ? input->planned->plan : NULL,
    .verdict = &input->verdict,
    .needs = &input->needs,
    .axis = left->axis->kind,
    .colour = input->colour_key,
    .dark = input->dark,
    .stacked = input->stacked,
  };
}

static cairo_status_t
append (void *closure, const unsigned char *data, unsigned int length)
{
  g_byte_array_append (closure, data, length);
  return CAIRO_STATUS_SUCCESS;
}

static TesseraStatus
draw (const TesseraFigure *figure,
      cairo_surface_t *surface,
      double scale,
      TesseraError *error)
{
  cairo_t *cr = cairo_create (surface);
  TesseraStatus status = tessera_figure_draw (figure, cr, WIDTH, HEIGHT, scale, error);

  cairo_destroy (cr);
  return status;
}

TesseraStatus
tessera_picture_save (const TesseraSaveInput *input,
                      const TesseraProgress *progress,
                      TesseraError *error)
{
  gboolean svg = g_str_has_suffix (input->path, ".svg");
  g_autoptr (GByteArray) bytes = g_byte_array_new ();
  g_autofree char *edits = NULL;
  cairo_surface_t *surface;
  cairo_status_t drawn;
  TesseraFigure figure;
  TesseraStatus status;

  if (input->sheets[TESSERA_SIDE_LEFT] == NULL)
    return tessera_fail (error, TESSERA_INVALID,
                         "There is nothing to save: open a trace first.");
  edits = name_edits (input->planned);
  figure = figure_of (input, edits);
  if (svg)
    surface = cairo_svg_surface_create_for_stream (append, bytes, WIDTH, HEIGHT);
  else
    surface = cairo_image_surface_create (CAIRO_FORMAT_RGB24, WIDTH * PNG_SCALE,
                                          HEIGHT * PNG_SCALE);
  if (!svg)
    cairo_surface_set_device_scale (surface, PNG_SCALE, PNG_SCALE);
  status = draw (&figure, surface, svg ? 1 : PNG_SCALE, error);
  if (status == TESSERA_OK && !progress->report (progress->user, 0.6))
    status = TESSERA_CANCELLED;
  /* An SVG is written as it is finished; of a finished image nothing can be read. */
  if (svg)
    cairo_surface_finish (surface);
  drawn = cairo_surface_status (surface);
  if (status == TESSERA_OK && !svg && drawn == CAIRO_STATUS_SUCCESS)
    drawn = cairo_surface_write_to_png_stream (surface, append, bytes);
  cairo_surface_destroy (surface);
  if (status == TESSERA_OK && drawn != CAIRO_STATUS_SUCCESS)
    status = tessera_fail (error, TESSERA_NO_MEMORY,
                           "The picture could not be drawn (%s): close other programs.",
                           cairo_status_to_string (drawn));
  if (status == TESSERA_OK)
    status = tessera_save_bytes (input->path, bytes->data, bytes->len, progress, error);
  return tessera_explain (status, error, "drawing the picture");
}

/* --- the report of `tessera report` from what is open -------------------------------- */

TesseraStatus
tessera_report_save (const TesseraSaveInput *input,
                     const TesseraProgress *progress,
                     TesseraError *error)
{
  TesseraData *data = input->data != NULL ? tessera_data_origin (input->data) : NULL;
  const TesseraLayout *own = NULL;
  GString *html = NULL;
  TesseraStatus status;
  CliStudy study;

  if (data == NULL || input->planned == NULL)
    return tessera_fail (error, TESSERA_INVALID,
                         "A report compares layouts: open a trace and plan it first.");
  status = tessera_data_get_layout (data, data->own_kind, NULL, error, &own);
  if (status != TESSERA_OK)
    return status;
  /* Everything is borrowed: the study is read, never cleared. */
  study = (CliStudy){
    .path = input->source,
    .trace = data->trace,
    .blocks = data->blocks,
    .structure = data->structure,
    .layout = (TesseraLayout *) own,
    .plan = input->planned->plan,
    .planned = input->planned->layout,
    .needs = input->needs,
    .need = {
      [TESSERA_LAYOUT_NATIVE].smallest_bytes = input->needs.native_bytes,
      [TESSERA_LAYOUT_EXPANDABLE].smallest_bytes = input->needs.expandable_bytes,
      [TESSERA_LAYOUT_PLAN].smallest_bytes = input->needs.plan_bytes,
    },
    .plan_seconds = input->planned->seconds,
  };
  status = cli_report_html (&study, &html, error);
  if (status == TESSERA_OK)
    {
      status = tessera_save_bytes (input->path, html->str, html->len, progress, error);
      g_string_free (html, TRUE);
    }
  return tessera_explain (status, error, "reporting");
}
