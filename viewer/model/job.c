/*
 * Work on another thread that shows its progress and can be stopped.
 *
 * A job is started from the main thread, works on a thread of its own, and ends on the main
 * thread. The document lives until then. A job that was dropped (because a newer one took
 * its place) never ends there.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/model/document-private.h"

/* Each time the window draws what is told: more often nobody could read it, and a plan
 * that takes minutes would keep the main thread busy all along. */
#define TELL_EVERY_MS 66

/* Who asked for the end. */
enum
{
  STOP_ASKED = 1,
  STOP_DROPPED = 2
};

static void
clear_job (gpointer user)
{
  TesseraJob *job = user;

  for (int i = 0; i < TESSERA_N_SIDES; i++)
    {
      tessera_sheet_unref (job->sheets[i]);
      tessera_sheet_unref (job->new_sheets[i]);
    }
  for (size_t i = 0; i < G_N_ELEMENTS (job->selectors); i++)
    tessera_selector_clear (&job->selectors[i]);
  g_clear_pointer (&job->suggestions, g_array_unref);
  g_clear_pointer (&job->list, g_array_unref);
  tessera_comparison_free (job->comparison);
  tessera_landings_free (job->landings);
  tessera_rule_free (job->rule);
  tessera_selection_facts_clear (&job->facts);
  tessera_grouping_unref (job->grouping);
  g_clear_pointer (&job->moves, g_array_unref);
  tessera_paint_unref (job->new_paint);
  tessera_followed_unref (job->made);
  tessera_data_unref (job->new_data);
  g_free (job->is_in);
  tessera_edits_file_unref (job->file);
  tessera_history_free (job->history);
  g_free (job->json);
  tessera_edit_clear (&job->edit);
  tessera_followed_unref (job->shown);
  g_free (job->text);
  g_free (job->path);
  tessera_selection_unref (job->selection);
  tessera_paint_unref (job->paint);
  tessera_followed_unref (job->left_planned);
  tessera_followed_unref (job->planned);
  tessera_data_unref (job->data);
  g_clear_object (&job->document);
  g_mutex_clear (&job->lock);
  if (job->holds_program)
    g_application_release (g_application_get_default ());
}

void
tessera_job_unref (TesseraJob *job)
{
  g_atomic_rc_box_release_full (job, clear_job);
}

/* --- on the worker ------------------------------------------------------------------ */

static gboolean
tell_progress (gpointer user)
{
  TesseraJob *job = user;

  g_atomic_int_set (&job->reported, 0);
  if (!job->dropped)
    {
      job->document->fractions[job->kind->work] =
          g_atomic_int_get (&job->permille) / 1000.0;
      tessera_document_changed (job->document, TESSERA_CHANGED_WORK);
    }
  return G_SOURCE_REMOVE;
}

static void
move_on (TesseraJob *job, double fraction)
{
  double whole = job->begin + CLAMP (fraction, 0, 1) * (job->end - job->begin);

  g_atomic_int_set (&job->permille, (int) (whole * 1000));
  if (g_atomic_int_compare_and_exchange (&job->reported, 0, 1))
    g_timeout_add_full (G_PRIORITY_DEFAULT, TELL_EVERY_MS, tell_progress,
                        g_atomic_rc_box_acquire (job),
                        (GDestroyNotify) tessera_job_unref);
}

static bool
report (void *user, double fraction)
{
  TesseraJob *job = user;

  move_on (job, fraction);
  return (g_atomic_int_get (&job->stop) & (job->keeps ? STOP_DROPPED : ~0)) == 0;
}

static void
take_news (void *user, const TesseraNews *news)
{
  TesseraJob *job = user;

  g_mutex_lock (&job->lock);
  job->news = *news;
  g_mutex_unlock (&job->lock);
}

TesseraNews
tessera_job_news (TesseraJob *job)
{
  TesseraNews news;

  g_mutex_lock (&job->lock);
  news = job->news;
  g_mutex_unlock (&job->lock);
  return news;
}

const TesseraProgress *
tessera_job_progress (TesseraJob *job, double begin, double end, gboolean to_keep)
{
  job->begin = begin;
  job->end = end;
  job->keeps = to_keep;
  return &job->progress;
}

/* --- from begin to end -------------------------------------------------------------- */

static void
take_over (TesseraJob *job)
{
  TesseraDocument *self = job->document;
  const TesseraWorkKind *kind = job->kind;

  g_clear_pointer (&self->jobs[kind->work], tessera_job_unref);
  if (job->status != TESSERA_OK && kind->fail != NULL)
    kind->fail (self, job);
  if (job->status != TESSERA_OK && job->status != TESSERA_CANCELLED)
    tessera_document_take_error (self, g_strdup (job->error.text));
  else
    tessera_document_changed (self, TESSERA_CHANGED_WORK);
  if (job->status == TESSERA_OK)
    kind->take (self, job);
}

static gboolean
finish (gpointer user)
{
  TesseraJob *job = user;

  if (!job->dropped)
    take_over (job);
  /* What is still to be told comes too late, and must not keep the document. */
  job->dropped = TRUE;
  g_clear_object (&job->document);
  return G_SOURCE_REMOVE;
}

static gpointer
run (gpointer user)
{
  TesseraJob *job = user;
  g_autoptr (GSource) source = g_idle_source_new ();

  job->status = job->kind->run (job, &job->error);
  if (job->status != TESSERA_OK && g_atomic_int_get (&job->stop))
    job->status = TESSERA_CANCELLED;
  /* The worker's reference passes on: the job ends where it began, on the main thread. */
  g_source_set_priority (source, G_PRIORITY_DEFAULT);
  g_source_set_static_name (source, job->kind->name);
  g_source_set_callback (source, finish, job, (GDestroyNotify) tessera_job_unref);
  g_source_attach (source, NULL);
  return NULL;
}

TesseraJob *
tessera_job_new (TesseraDocument *self, const TesseraWorkKind *kind)
{
  TesseraJob *job = g_atomic_rc_box_new0 (TesseraJob);

  job->kind = kind;
  job->data = tessera_data_ref (self->data);
  job->planned = tessera_followed_ref (self->planned);
  job->left_planned = tessera_followed_ref (self->left_planned);
  for (int i = 0; i < TESSERA_N_SIDES; i++)
    job->sheets[i] = tessera_sheet_ref (self->sheets[i]);
  job->paint = tessera_paint_ref (self->paint);
  job->selection = tessera_selection_ref (self->selection);
  job->left_kind = self->left_kind;
  job->axis_kind = self->axis_kind;
  job->colour_key = self->colour_key;
  job->colour_is_chosen = self->colour_is_chosen;
  job->dark = self->dark;
  job->moment = self->moment;
  job->request = self->request;
  job->needs = self->needs;
  job->verdict = self->verdict;
  job->progress = (TesseraProgress){ .report = report, .user = job };
  job->listener = (TesseraListener){ .tell = take_news, .user = job };
  g_mutex_init (&job->lock);
  job->end = 1;
  return job;
}

void
tessera_job_start (TesseraDocument *self, TesseraJob *job)
{
  const TesseraWorkKind *kind = job->kind;

  g_clear_pointer (&self->jobs[kind->work], tessera_job_drop);
  self->fractions[kind->work] = 0;
  self->jobs[kind->work] = job;
  job->document = g_object_ref (self);
  job->holds_program = kind->is_of_file && g_application_get_default () != NULL;
  if (job->holds_program)
    g_application_hold (g_application_get_default ());
  g_thread_unref (g_thread_new (kind->name, run, g_atomic_rc_box_acquire (job)));
  tessera_document_changed (self, TESSERA_CHANGED_WORK);
}

void
tessera_job_cancel (TesseraJob *job)
{
  g_atomic_int_or (&job->stop, STOP_ASKED);
}

void
tessera_job_drop (TesseraJob *job)
{
  job->dropped = TRUE;
  g_atomic_int_or (&job->stop, STOP_DROPPED);
  tessera_job_unref (job);
}
