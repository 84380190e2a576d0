/*
 * Work on another thread that shows its progress and can be stopped.
 *
 * A job is started from the main thread, does its work on a worker, and reports back on
 * the main thread. Its owner lives until it is done. A job that was dropped
 * (because a newer one took its place) never reports.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <glib-object.h>

#include "planner/pack.h"

typedef struct TesseraJob TesseraJob;

/* On the worker. @input is the job's own: results go there too. */
typedef TesseraStatus (*TesseraJobWork) (TesseraJob *job,
                                         gpointer input,
                                         TesseraError *error);
/* On the main thread, once, unless the job was dropped. */
typedef void (*TesseraJobDone) (gpointer owner,
                                gpointer input,
                                TesseraStatus status,
                                const TesseraError *error);
/* On the main thread where the fraction or the news changed, fifteen times a second at
 * most; never after @done. */
typedef void (*TesseraJobProgress) (gpointer owner, gpointer input, double fraction);

typedef struct
{
  TesseraJobWork work;
  TesseraJobDone done;
  TesseraJobProgress progress; /* (nullable) */
  GDestroyNotify free_input;
} TesseraJobKind;

/* @name: static: of what it makes, for who measures. @input passes to the job. Returns:
 * (transfer full). */
TesseraJob *tessera_job_start (const TesseraJobKind *kind,
                               const char *name,
                               GObject *owner,
                               gpointer input);
/* Asks the worker to stop; it reports soon: TESSERA_CANCELLED, or what it has by then. */
void tessera_job_cancel (TesseraJob *job);
/* Asks the worker to stop, hears nothing of it any more, and gives the reference up. */
void tessera_job_drop (TesseraJob *job);
void tessera_job_unref (TesseraJob *job);

/* For the worker: what to hand to long calls. @begin and @end: the part of the whole job
 * that the call is. Valid until the next call of this on the same job. */
const TesseraProgress *tessera_job_progress (TesseraJob *job, double begin, double end);
/* The same, for what follows work that keeps the best it has: only a drop stops it, so
 * that what was found is not lost to the stop that was for the search. */
const TesseraProgress *
tessera_job_progress_to_keep (TesseraJob *job, double begin, double end);
/* For the worker: takes the planner's news. Valid as long as the job. */
const TesseraListener *tessera_job_listener (TesseraJob *job);
/* On the main thread: the last news; all 0: none. */
TesseraNews tessera_job_news (TesseraJob *job);
