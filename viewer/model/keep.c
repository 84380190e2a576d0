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

typedef struct
{
  TesseraEditsFile *file;
  TesseraHistory *history; /* NULL: only to look. Then: what the file has */
  gboolean is_look;
  struct stat seen;
  gboolean is_anew; /* something else than edits was written there */
  size_t n_same;    /* those before are not new here */
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
  if (stat (kept->file->path, &kept->seen) != 0)
    return tessera_fail (error, TESSERA_IO, "Cannot open %s: %s", kept->file->path,
                         g_strerror (errno));
  *out_history = tessera_history_load (kept->file->path, error);
  if (*out_history == NULL)
    return error->status;
  g_free (kept->json);
  kept->json = tessera_history_to_json (*out_history);
  return TESSERA_OK;
}

/* No program takes edits away, only a new file has none: it is no reason to drop them. */
static void
compare (Kept *kept, const TesseraHistory *found)
{
  const TesseraEditsFile *file = kept->file;
  size_t n_found;

  tessera_history_get (found, &n_found);
  kept->met_others =
      file->is_behind || (n_found > 0 && !g_str_equal (kept->json, file->json));
  kept->is_anew =
      !kept->met_others &&
      (kept->seen.st_ino != file->seen.st_ino || kept->seen.st_dev != file->seen.st_dev ||
       kept->seen.st_size != file->seen.st_size ||
       kept->seen.st_mtim.tv_sec != file->seen.st_mtim.tv_sec ||
       kept->seen.st_mtim.tv_nsec != file->seen.st_mtim.tv_nsec);
}

static void
find_blocks (Kept *kept)
{
  const TesseraEditsFile *file = kept->file;

  (void) !tessera_history_find_blocks (kept->history, file->path, file->data->trace,
                                       file->data->blocks, file->data->structure,
                                       &kept->cannot_show);
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
withdraw_undone (const Kept *kept, TesseraHistory *found)
{
  const TesseraEditsFile *file = kept->file;
  g_autoptr (TesseraHistory) seen =
      tessera_history_from_json (file->json, -1, file->path, NULL);

  if (seen == NULL || file->is_behind)
    return;
  for (size_t i = tessera_history_get_n_standing (seen); i-- > kept->n_same;)
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
join_others (Kept *kept, TesseraHistory *found)
{
  withdraw_undone (kept, found);
  tessera_history_add_standing (found, kept->history, kept->n_same);
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
  compare (kept, found);
  if (kept->met_others)
    join_others (kept, g_steal_pointer (&found));
  status = tessera_history_save (kept->history, file->path, error);
  if (status == TESSERA_OK)
    status = read_file (kept, &written, error);
  if (status == TESSERA_OK && kept->met_others)
    find_blocks (kept);
  return status;
}

/* Writes nothing, and so needs no lock: files are replaced whole. */
static TesseraStatus
look (Kept *kept, TesseraError *error)
{
  TesseraStatus status = read_file (kept, &kept->history, error);

  if (status != TESSERA_OK)
    return status;
  compare (kept, kept->history);
  if (kept->met_others)
    find_blocks (kept);
  return TESSERA_OK;
}

static TesseraStatus
keep_work (TesseraJob *job, gpointer user, TesseraError *error)
{
  Kept *kept = user;
  int lock;
  TesseraStatus status;

  if (kept->is_look)
    return look (kept, error);
  status = tessera_file_lock (kept->file->path, error, &lock);

  if (status == TESSERA_OK)
    status = keep_locked (kept, error);
  tessera_file_unlock (lock);
  return tessera_explain (status, error, "keeping the edits");
}

static void start (TesseraDocument *self, Kept *kept);
static void start_look (TesseraDocument *self);

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
  self->notice =
      g_strdup_printf ("Another program changed the edits of %s: they are "
                       "here now%s.",
                       file->path, kept->is_look ? "" : ", with what you changed");
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
  file->seen = kept->seen;
  if (kept->is_anew && self->edits_file == file)
    tessera_document_take_error (
        self, g_strdup_printf ("Another program has written %s since it was opened: open "
                               "it again to see what is there now.",
                               file->path));
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
  else if (kept->file->must_look && self->edits_file == kept->file)
    start_look (self);
  if (status == TESSERA_OK)
    tessera_document_changed (self, TESSERA_CHANGED_WORK);
  else if (!kept->is_look) /* a file that is written just now is looked at again then */
    tessera_document_take_error (
        self,
        g_strdup_printf ("The edits are not kept for the next time: %s", error->text));
  if (g_application_get_default () != NULL)
    g_application_release (g_application_get_default ());
}

static const TesseraJobKind keep_kind = { keep_work, keep_done, NULL, kept_free };

static void
start (TesseraDocument *self, Kept *kept)
{
  /* The program stays until the edits are there. */
  if (g_application_get_default () != NULL)
    g_application_hold (g_application_get_default ());
  self->jobs[TESSERA_WORK_KEEP] =
      tessera_job_start (&keep_kind, "kept edits", G_OBJECT (self), kept);
}

static void
start_look (TesseraDocument *self)
{
  TesseraEditsFile *file = self->edits_file;
  Kept *kept = g_new0 (Kept, 1);

  file->must_look = FALSE;
  kept->file = g_atomic_rc_box_acquire (file);
  kept->is_look = TRUE;
  kept->n_same = file->n_same;
  start (self, kept);
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
tessera_edits_file_new (TesseraDocument *self, const char *json, const struct stat *seen)
{
  TesseraEditsFile *file = g_atomic_rc_box_new0 (TesseraEditsFile);

  file->path = g_strdup (self->path);
  file->data = tessera_data_ref (self->data);
  file->json = g_strdup (json);
  file->n_same = tessera_document_n_standing (self);
  file->seen = *seen;
  watch (self, file->path);
  return file;
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
