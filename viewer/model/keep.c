/*
 * The session's edits on their way to where they are kept: into the trace, or beside it.
 *
 * One write is at work at a time; where changes came meanwhile, the latest is next. What
 * is on its way gets there, also when the file is closed. Another program may keep edits
 * in the same file: a write that finds others there than were last seen undoes there what
 * was undone here, adds what is new here behind them, and the session then goes on with
 * all of these.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/model/document-private.h"

#include <errno.h>
#include <gio/gio.h>
#include <stdlib.h>

#include "db/store.h"

/* Changed on the main thread, while no write is at work. */
struct TesseraEditsFile
{
  char *path;         /* of the trace */
  TesseraData *data;  /* that the edits are about */
  char *json;         /* the edits as the file had them when it was last looked at */
  struct stat seen;   /* the file itself, then */
  gboolean must_look; /* something happened to it while a write was at work */
  gboolean is_behind; /* the session lacks some of them yet */
  size_t n_same;      /* of the session's edits: as in what was last sent on its way */
};

static void
edits_file_clear (gpointer user)
{
  TesseraEditsFile *file = user;

  g_free (file->path);
  g_free (file->json);
  tessera_data_unref (file->data);
}

void
tessera_edits_file_unref (TesseraEditsFile *file)
{
  if (file != NULL)
    g_atomic_rc_box_release_full (file, edits_file_clear);
}

/* What the file has, as it is read again. */
static TesseraStatus
read_file (TesseraJob *job, TesseraHistory **out_history, TesseraError *error)
{
  if (stat (job->file->path, &job->seen) != 0)
    return tessera_fail (error, TESSERA_IO, "Cannot open %s: %s", job->file->path,
                         g_strerror (errno));
  *out_history = tessera_history_load (job->file->path, error);
  if (*out_history == NULL)
    return error->status;
  g_free (job->json);
  job->json = tessera_history_to_json (*out_history);
  return TESSERA_OK;
}

/* No program takes edits away, only a new file has none: it is no reason to drop them. */
static void
compare (TesseraJob *job, const TesseraHistory *found)
{
  const TesseraEditsFile *file = job->file;
  size_t n_found;

  tessera_history_get (found, &n_found);
  job->met_others =
      file->is_behind || (n_found > 0 && !g_str_equal (job->json, file->json));
  job->is_anew =
      !job->met_others &&
      (job->seen.st_ino != file->seen.st_ino || job->seen.st_dev != file->seen.st_dev ||
       job->seen.st_size != file->seen.st_size ||
       job->seen.st_mtim.tv_sec != file->seen.st_mtim.tv_sec ||
       job->seen.st_mtim.tv_nsec != file->seen.st_mtim.tv_nsec);
}

static void
find_blocks (TesseraJob *job)
{
  const TesseraEditsFile *file = job->file;

  (void) !tessera_history_find_blocks (job->history, file->path, file->data->trace,
                                       file->data->blocks, file->data->structure,
                                       &job->left_aside);
}

static char *
edit_text (const TesseraEdit *edit)
{
  g_autoptr (TesseraHistory) alone = tessera_history_new ();
  TesseraEdit copy;

  tessera_edit_copy (edit, &copy);
  tessera_history_add (alone, &copy);
  return tessera_history_to_json (alone);
}

/* What was undone here since the file was last seen no longer stands in @found either. */
static void
withdraw_undone (const TesseraJob *job, TesseraHistory *found)
{
  const TesseraEditsFile *file = job->file;
  g_autoptr (TesseraHistory) seen =
      tessera_history_from_json (file->json, -1, file->path, NULL);

  if (seen == NULL || file->is_behind)
    return;
  for (size_t i = tessera_history_get_n_standing (seen); i-- > job->n_same;)
    {
      g_autofree char *undone = edit_text (&tessera_history_get (seen, NULL)[i]);

      for (size_t k = tessera_history_get_n_standing (found); k-- > 0;)
        {
          g_autofree char *text = edit_text (&tessera_history_get (found, NULL)[k]);

          if (!g_str_equal (text, undone))
            continue;
          tessera_history_withdraw (found, k);
          break;
        }
    }
}

/* Those of others are in @found: what is new here goes behind them. */
static void
join_others (TesseraJob *job, TesseraHistory *found)
{
  withdraw_undone (job, found);
  tessera_history_add_standing (found, job->history, job->n_same);
  tessera_history_free (job->history);
  job->history = found;
}

static TesseraStatus
keep_locked (TesseraJob *job, TesseraError *error)
{
  const TesseraEditsFile *file = job->file;
  g_autoptr (TesseraHistory) found = NULL;
  g_autoptr (TesseraHistory) written = NULL;
  TesseraStatus status = read_file (job, &found, error);

  if (status != TESSERA_OK)
    return status;
  compare (job, found);
  if (job->met_others)
    join_others (job, g_steal_pointer (&found));
  status = tessera_history_save (job->history, file->path, error);
  if (status == TESSERA_OK)
    status = read_file (job, &written, error);
  if (status == TESSERA_OK && job->met_others)
    find_blocks (job);
  return status;
}

/* Writes nothing, and so needs no lock: files are replaced whole. */
static TesseraStatus
look (TesseraJob *job, TesseraError *error)
{
  TesseraStatus status = read_file (job, &job->history, error);

  if (status != TESSERA_OK)
    return status;
  compare (job, job->history);
  if (job->met_others)
    find_blocks (job);
  return TESSERA_OK;
}

static TesseraStatus
keep (TesseraJob *job, TesseraError *error)
{
  TesseraError found = { 0 };
  int lock;
  TesseraStatus status;

  /* A file that is written just now is looked at again then. */
  if (job->is_look)
    return look (job, error) == TESSERA_OK ? TESSERA_OK : TESSERA_CANCELLED;
  status = tessera_file_lock (job->file->path, &found, &lock);
  if (status == TESSERA_OK)
    status = keep_locked (job, &found);
  tessera_file_unlock (lock);
  if (tessera_explain (status, &found, "keeping the edits") != TESSERA_OK)
    tessera_fail (error, status, "The edits are not kept for the next time: %s",
                  found.text);
  return status;
}

/* The session goes on with what the file has, planned again. */
static void
take_over (TesseraDocument *self, TesseraJob *job)
{
  TesseraEditsFile *file = job->file;

  file->is_behind = FALSE;
  tessera_document_remember_height (self);
  tessera_document_take_history (self, g_steal_pointer (&job->history));
  file->n_same = tessera_document_n_standing (self);
  tessera_document_take_notice (
      self, g_strdup_printf ("Another program changed the edits of %s: they are "
                             "here now%s.",
                             file->path, job->is_look ? "" : ", with what you changed"));
  tessera_document_changed (self, TESSERA_CHANGED_EDITS);
  tessera_document_refresh_groups (self);
  tessera_document_plan (self, TRUE);
}

static void start_look (TesseraDocument *self);

static void
go_on (TesseraDocument *self, const TesseraEditsFile *file, TesseraJob *next)
{
  if (next != NULL)
    tessera_job_start (self, next);
  else if (file->must_look && self->edits_file == file)
    start_look (self);
}

/* A newer state of the session may be next: it is joined with what the file has now. */
static void
take_kept (TesseraDocument *self, TesseraJob *job)
{
  TesseraEditsFile *file = job->file;
  TesseraJob *next = g_queue_pop_head (&self->next_kept);

  g_free (file->json);
  file->json = g_steal_pointer (&job->json);
  file->seen = job->seen;
  file->is_behind |= job->met_others;
  if (job->is_anew && self->edits_file == file)
    tessera_document_take_error (
        self, g_strdup_printf ("Another program has written %s since it was opened: open "
                               "it again to see what is there now.",
                               file->path));
  if (job->met_others && job->left_aside.status != TESSERA_OK)
    tessera_document_take_error (
        self, g_strdup_printf ("Another program keeps edits with this trace that cannot "
                               "be shown: %s",
                               job->left_aside.text));
  else if (job->met_others && self->edits_file == file &&
           (next == NULL || next->file != file))
    take_over (self, job);
  go_on (self, file, next);
}

/* It did not get there. */
static void
go_without (TesseraDocument *self, TesseraJob *job)
{
  TesseraJob *next = g_queue_pop_head (&self->next_kept);
  size_t *n_same =
      next != NULL && next->file == job->file ? &next->n_same : &job->file->n_same;

  *n_same = MIN (*n_same, job->n_same);
  go_on (self, job->file, next);
}

static const TesseraWorkKind keep_kind = {
  TESSERA_WORK_KEEP, "kept edits", keep, take_kept, go_without, .is_of_file = TRUE
};

static TesseraJob *
keep_new (TesseraDocument *self)
{
  TesseraJob *job = tessera_job_new (self, &keep_kind);

  job->file = g_atomic_rc_box_acquire (self->edits_file);
  job->n_same = self->edits_file->n_same;
  return job;
}

static void
start_look (TesseraDocument *self)
{
  TesseraJob *job = keep_new (self);

  self->edits_file->must_look = FALSE;
  job->is_look = TRUE;
  tessera_job_start (self, job);
}

static void
on_file_changed (GFileMonitor *monitor,
                 GFile *file,
                 GFile *other,
                 GFileMonitorEvent event,
                 gpointer user)
{
  TesseraDocument *self = user;

  if (self->edits_file == NULL)
    return;
  if (self->jobs[TESSERA_WORK_KEEP] == NULL)
    start_look (self);
  else
    self->edits_file->must_look = TRUE;
}

/* Where a link leads to is what changes. */
static void
watch (TesseraDocument *self, const char *path)
{
  g_autofree char *real = realpath (path, NULL);
  const char *of = real != NULL ? real : path;
  g_autofree char *beside = g_strconcat (path, ".edits.json", NULL);
  const char *paths[] = { of, beside };

  for (size_t i = 0; i < G_N_ELEMENTS (paths); i++)
    {
      g_autoptr (GFile) file = g_file_new_for_path (paths[i]);

      self->watched[i] = g_file_monitor_file (file, G_FILE_MONITOR_NONE, NULL, NULL);
      if (self->watched[i] != NULL)
        g_signal_connect (self->watched[i], "changed", G_CALLBACK (on_file_changed),
                          self);
    }
}

TesseraEditsFile *
tessera_edits_file_new (TesseraDocument *self, TesseraJob *read)
{
  TesseraEditsFile *file = g_atomic_rc_box_new0 (TesseraEditsFile);

  file->path = g_strdup (self->path);
  file->data = tessera_data_ref (self->data);
  file->json = g_steal_pointer (&read->json);
  file->n_same = tessera_document_n_standing (self);
  file->seen = read->seen;
  watch (self, file->path);
  return file;
}

void
tessera_document_keep_edits (TesseraDocument *self)
{
  size_t n_standing = tessera_document_n_standing (self);
  TesseraJob *job, *waiting;

  if (self->history == NULL || self->edits_file == NULL)
    return;
  job = keep_new (self);
  job->history = tessera_history_copy (self->history);
  job->n_same = MIN (job->n_same, n_standing);
  self->edits_file->n_same = n_standing;
  if (self->jobs[TESSERA_WORK_KEEP] == NULL)
    {
      tessera_job_start (self, job);
      return;
    }
  waiting = g_queue_peek_tail (&self->next_kept);
  if (waiting != NULL && waiting->file == job->file)
    {
      job->n_same = MIN (job->n_same, waiting->n_same);
      tessera_job_unref (g_queue_pop_tail (&self->next_kept));
    }
  g_queue_push_tail (&self->next_kept, job);
}
