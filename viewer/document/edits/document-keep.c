/*
 * The session's edits on their way to where they are kept: into the trace, or beside it.
 *
 * One write is at work at a time; where changes came meanwhile, the latest is next. What
 * is on its way gets there, also when the file is closed. Another program may keep edits
 * in the same file: a write that finds others there than were last seen adds what is new
 * here behind them, and the session then goes on with all of these.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/document/edits/document-edit.h"

#include <gio/gio.h>

#include "db/store.h"

/* Changed on the main thread, while no write is at work. */
struct TesseraEditsFile
{
  char *path;         /* of the trace */
  TesseraData *data;  /* that the edits are about */
  char *json;         /* the edits as the file had them when it was last looked at */
  gboolean is_behind; /* the session lacks some of them yet */
  size_t n_same;      /* of the session's edits: as in what was last sent on its way */
};

typedef struct
{
  TesseraEditsFile *file;
  TesseraHistory *history; /* then: what the file has */
  size_t n_same;           /* those before are not new here */
  char *json;
  gboolean met_others;
  TesseraError cannot_show; /* why those of others can't be shown */
} Kept;

static void
edits_file_clear (gpointer user)
{
  TesseraEditsFile *file = user;

  g_free (file->path);
  g_free (file->json);
  tessera_data_unref (file->data);
}

TesseraEditsFile *
tessera_edits_file_new (TesseraDocument *self, const char *json)
{
  TesseraEditsFile *file = g_atomic_rc_box_new0 (TesseraEditsFile);

  file->path = g_strdup (self->path);
  file->data = tessera_data_ref (self->data);
  file->json = g_strdup (json);
  file->n_same = tessera_document_n_standing (self);
  return file;
}

void
tessera_edits_file_unref (TesseraEditsFile *file)
{
  g_atomic_rc_box_release_full (file, edits_file_clear);
}

static void
kept_free (gpointer user)
{
  Kept *kept = user;

  if (kept == NULL)
    return;
  tessera_history_free (kept->history);
  g_free (kept->json);
  tessera_edits_file_unref (kept->file);
  g_free (kept);
}

/* What the file has, as it is read again. */
static TesseraStatus
read_file (Kept *kept, TesseraHistory **out_history, TesseraError *error)
{
  *out_history = tessera_history_load (kept->file->path, error);
  if (*out_history == NULL)
    return error->status;
  g_free (kept->json);
  kept->json = tessera_history_to_json (*out_history);
  return TESSERA_OK;
}

/* Those of others are in @found: what is new here goes behind them. */
static void
join_others (Kept *kept, TesseraHistory *found)
{
  const TesseraEdit *edits = tessera_history_get (kept->history, NULL);
  size_t n_standing = tessera_history_get_n_standing (kept->history);

  for (size_t i = kept->n_same; i < n_standing; i++)
    {
      TesseraEdit edit;

      if (tessera_edit_copy (&edits[i], &edit) != TESSERA_OK)
        g_error ("out of memory");
      tessera_history_add (found, &edit);
    }
  tessera_history_free (kept->history);
  kept->history = found;
}

static TesseraStatus
keep_locked (Kept *kept, TesseraError *error)
{
  const TesseraEditsFile *file = kept->file;
  g_autoptr (TesseraHistory) found = NULL;
  g_autoptr (TesseraHistory) written = NULL;
  TesseraStatus status = read_file (kept, &found, error);

  if (status != TESSERA_OK)
    return status;
  kept->met_others = file->is_behind || !g_str_equal (kept->json, file->json);
  if (kept->met_others)
    join_others (kept, g_steal_pointer (&found));
  status = tessera_history_save (kept->history, file->path, error);
  if (status == TESSERA_OK)
    status = read_file (kept, &written, error);
  if (status == TESSERA_OK && kept->met_others)
    (void) !tessera_history_find_blocks (kept->history, file->path, file->data->trace,
                                         file->data->blocks, file->data->structure,
                                         &kept->cannot_show);
  return status;
}

static TesseraStatus
keep_work (TesseraJob *job, gpointer user, TesseraError *error)
{
  Kept *kept = user;
  int lock;
  TesseraStatus status = tessera_file_lock (kept->file->path, error, &lock);

  if (status == TESSERA_OK)
    status = keep_locked (kept, error);
  tessera_file_unlock (lock);
  return tessera_explain (status, error, "keeping the edits");
}

static void start (TesseraDocument *self, Kept *kept);

/* The session goes on with what the file has, planned again. */
static void
take_over (TesseraDocument *self, Kept *kept)
{
  TesseraEditsFile *file = kept->file;

  file->is_behind = FALSE;
  tessera_document_remember_height (self);
  tessera_document_take_history (self, g_steal_pointer (&kept->history));
  file->n_same = tessera_document_n_standing (self);
  g_free (self->notice);
  self->notice = g_strdup_printf ("Another program changed the edits of %s: they are "
                                  "here now, with yours behind them.",
                                  file->path);
  tessera_document_changed (self, TESSERA_CHANGED_EDITS | TESSERA_CHANGED_WORK);
  tessera_document_refresh_groups (self);
  tessera_document_plan_at_once (self);
}

/* A newer state of the session may be @next: it is joined with what the file has now. */
static void
settle (TesseraDocument *self, Kept *kept, Kept *next)
{
  TesseraEditsFile *file = kept->file;

  g_free (file->json);
  file->json = g_steal_pointer (&kept->json);
  if (!kept->met_others)
    return;
  file->is_behind = TRUE;
  if (kept->cannot_show.status != TESSERA_OK)
    tessera_document_take_error (
        self, g_strdup_printf ("Another program keeps edits with this trace that cannot "
                               "be shown: %s",
                               kept->cannot_show.text));
  else if (self->edits_file == file && (next == NULL || next->file != file))
    take_over (self, kept);
}

static void
keep_done (gpointer owner, gpointer user, TesseraStatus status, const TesseraError *error)
{
  TesseraDocument *self = owner;
  Kept *kept = user;
  Kept *next = g_queue_pop_head (&self->next_kept);
  size_t *n_same =
      next != NULL && next->file == kept->file ? &next->n_same : &kept->file->n_same;

  g_clear_pointer (&self->jobs[TESSERA_WORK_KEEP], tessera_job_unref);
  if (status == TESSERA_OK)
    settle (self, kept, next);
  else
    *n_same = MIN (*n_same, kept->n_same); /* it did not get there */
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
  TesseraEditsFile *file = self->edits_file;
  size_t n_standing = tessera_document_n_standing (self);
  Kept *kept, *waiting;

  if (self->history == NULL || file == NULL)
    return;
  kept = g_new0 (Kept, 1);
  kept->file = g_atomic_rc_box_acquire (file);
  kept->history = tessera_history_copy (self->history);
  kept->n_same = MIN (file->n_same, n_standing);
  file->n_same = n_standing;
  if (self->jobs[TESSERA_WORK_KEEP] == NULL)
    {
      start (self, kept);
      return;
    }
  waiting = g_queue_peek_tail (&self->next_kept);
  if (waiting != NULL && waiting->file == file)
    {
      kept->n_same = MIN (kept->n_same, waiting->n_same);
      kept_free (g_queue_pop_tail (&self->next_kept));
    }
  g_queue_push_tail (&self->next_kept, kept);
}
