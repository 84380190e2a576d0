/*
 * The session's edits on their way to where they are kept: into the trace, or beside it.
 *
 * One write is at work at a time; where changes came meanwhile, the latest is next. What
 * is on its way gets there, also when the file is closed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/document/edits/document-edit.h"

#include <gio/gio.h>

typedef struct
{
  char *path; /* of the trace */
  TesseraHistory *history;
} Kept;

static void
kept_free (gpointer user)
{
  Kept *kept = user;

  if (kept == NULL)
    return;
  tessera_history_free (kept->history);
  g_free (kept->path);
  g_free (kept);
}

static TesseraStatus
keep_work (TesseraJob *job, gpointer user, TesseraError *error)
{
  const Kept *kept = user;

  return tessera_explain (tessera_history_save (kept->history, kept->path, error), error,
                          "keeping the edits");
}

static void start (TesseraDocument *self, Kept *kept);

static void
keep_done (gpointer owner, gpointer user, TesseraStatus status, const TesseraError *error)
{
  TesseraDocument *self = owner;
  Kept *next = g_queue_pop_head (&self->next_kept);

  g_clear_pointer (&self->jobs[TESSERA_WORK_KEEP], tessera_job_unref);
  if (next != NULL)
    start (self, next);
  if (status != TESSERA_OK)
    tessera_document_take_error (
        self,
        g_strdup_printf ("The edits are not kept for the next time: %s", error->text));
  else
    tessera_document_changed (self, TESSERA_CHANGED_WORK);
  if (g_application_get_default () != NULL)
    g_application_release (g_application_get_default ());
}

static const TesseraJobKind keep_kind = { keep_work, keep_done, NULL, kept_free,
                                          "kept edits" };

static void
start (TesseraDocument *self, Kept *kept)
{
  /* The program stays until the edits are there. */
  if (g_application_get_default () != NULL)
    g_application_hold (g_application_get_default ());
  self->jobs[TESSERA_WORK_KEEP] = tessera_job_start (&keep_kind, G_OBJECT (self), kept);
}

void
tessera_document_keep_edits (TesseraDocument *self)
{
  Kept *kept, *waiting;

  if (self->history == NULL || self->path == NULL || self->edits_unreadable)
    return;
  kept = g_new0 (Kept, 1);
  kept->path = g_strdup (self->path);
  kept->history = tessera_history_copy (self->history);
  if (self->jobs[TESSERA_WORK_KEEP] == NULL)
    {
      start (self, kept);
      return;
    }
  waiting = g_queue_peek_tail (&self->next_kept);
  if (waiting != NULL && g_str_equal (waiting->path, kept->path))
    kept_free (g_queue_pop_tail (&self->next_kept));
  g_queue_push_tail (&self->next_kept, kept);
}
