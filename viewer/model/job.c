/*
 * Work on another thread that shows its progress and can be stopped.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/model/job.h"

/* Each time the window draws what is told: more often nobody could read it, and a plan
 * that takes minutes would keep the main thread busy all along. */
#define TELL_EVERY_MS 66

/* Who asked for the end. */
enum
{
  STOP_ASKED = 1,
  STOP_DROPPED = 2
};

struct TesseraJob
{
  gatomicrefcount references;
  const TesseraJobKind *kind;
  const char *name;
  GObject *owner; /* NULL: done */
  gpointer input;
  gboolean dropped; /* or done; main thread only, as is the owner */
  int stop;         /* atomic: STOP_* */
  int permille;     /* atomic: where the work is */
  int reported;     /* atomic: the main thread will soon be told */
  TesseraStatus status;
  TesseraError error;
  TesseraProgress progress; /* worker only, as are the next two */
  double begin;
  double end;
  TesseraProgress to_keep; /* likewise; not stopped but by a drop */
  TesseraListener listener;
  GMutex lock;
  TesseraNews news; /* under the lock */
};

static TesseraJob *
job_ref (TesseraJob *job)
{
  g_atomic_ref_count_inc (&job->references);
  return job;
}

void
tessera_job_unref (TesseraJob *job)
{
  if (!g_atomic_ref_count_dec (&job->references))
    return;
  if (job->input != NULL)
    job->kind->free_input (job->input);
  g_clear_object (&job->owner);
  g_mutex_clear (&job->lock);
  g_free (job);
}

static gboolean
tell_progress (gpointer user)
{
  TesseraJob *job = user;

  g_atomic_int_set (&job->reported, 0);
  if (!job->dropped && job->kind->progress != NULL)
    job->kind->progress (job->owner, job->input,
                         g_atomic_int_get (&job->permille) / 1000.0);
  return G_SOURCE_REMOVE;
}

static void
move_on (TesseraJob *job, double fraction)
{
  double whole = job->begin + CLAMP (fraction, 0, 1) * (job->end - job->begin);

  g_atomic_int_set (&job->permille, (int) (whole * 1000));
  if (g_atomic_int_compare_and_exchange (&job->reported, 0, 1))
    g_timeout_add_full (G_PRIORITY_DEFAULT, TELL_EVERY_MS, tell_progress, job_ref (job),
                        (GDestroyNotify) tessera_job_unref);
}

static bool
report (void *user, double fraction)
{
  TesseraJob *job = user;

  move_on (job, fraction);
  return g_atomic_int_get (&job->stop) == 0;
}

static bool
report_to_keep (void *user, double fraction)
{
  TesseraJob *job = user;

  move_on (job, fraction);
  return (g_atomic_int_get (&job->stop) & STOP_DROPPED) == 0;
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

const TesseraListener *
tessera_job_listener (TesseraJob *job)
{
  return &job->listener;
}

const TesseraProgress *
tessera_job_progress (TesseraJob *job, double begin, double end)
{
  job->begin = begin;
  job->end = end;
  return &job->progress;
}

const TesseraProgress *
tessera_job_progress_to_keep (TesseraJob *job, double begin, double end)
{
  job->begin = begin;
  job->end = end;
  return &job->to_keep;
}

static gboolean
finish (gpointer user)
{
  TesseraJob *job = user;

  if (!job->dropped)
    job->kind->done (job->owner, job->input, job->status, &job->error);
  /* What is still to be told comes too late, and must not keep the owner. */
  job->dropped = TRUE;
  g_clear_object (&job->owner);
  return G_SOURCE_REMOVE;
}

static gpointer
run (gpointer user)
{
  TesseraJob *job = user;
  g_autoptr (GSource) source = g_idle_source_new ();

  job->status = job->kind->work (job, job->input, &job->error);
  if (job->status != TESSERA_OK && g_atomic_int_get (&job->stop))
    job->status = TESSERA_CANCELLED;
  /* The worker's reference passes on: the job ends where it began, on the main thread. */
  g_source_set_priority (source, G_PRIORITY_DEFAULT);
  g_source_set_static_name (source, job->name);
  g_source_set_callback (source, finish, job, (GDestroyNotify) tessera_job_unref);
  g_source_attach (source, NULL);
  return NULL;
}

TesseraJob *
tessera_job_start (const TesseraJobKind *kind,
                   const char *name,
                   GObject *owner,
                   gpointer input)
{
  TesseraJob *job = g_new0 (TesseraJob, 1);

  g_atomic_ref_count_init (&job->references);
  job->kind = kind;
  job->name = name;
  job->owner = g_object_ref (owner);
  job->input = input;
  job->progress = (TesseraProgress){ .report = report, .user = job };
  job->to_keep = (TesseraProgress){ .report = report_to_keep, .user = job };
  job->listener = (TesseraListener){ .tell = take_news, .user = job };
  g_mutex_init (&job->lock);
  job->end = 1;
  g_thread_unref (g_thread_new (name, run, job_ref (job)));
  return job;
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
