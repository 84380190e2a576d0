/*
 * Edits in files: written as JSON, and read to be added behind those that stand.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "db/output.h"
#include "viewer/model/document-private.h"

void
tessera_document_save_edits (TesseraDocument *self, const char *path)
{
  TesseraError error = { 0 };
  g_autofree char *json = NULL;

  if (self->history == NULL)
    return;
  json = tessera_history_to_json (self->history);
  if (tessera_write_file (path, json, strlen (json), &error) != TESSERA_OK)
    {
      tessera_document_take_error (
          self, g_strdup_printf ("%s: choose another place.", error.text));
      return;
    }
  g_free (self->notice);
  self->notice =
      g_strdup_printf ("%zu edit%s written to %s.", tessera_document_n_edits (self),
                       tessera_document_n_edits (self) == 1 ? " was" : "s were", path);
  tessera_document_changed (self, TESSERA_CHANGED_WORK);
}

/* --- reading ---------------------------------------------------------------------- */

typedef struct
{
  char *path;
  TesseraData *data;
  TesseraHistory *history;
} Reading;

static void
reading_free (gpointer user)
{
  Reading *reading = user;

  g_free (reading->path);
  tessera_data_unref (reading->data);
  tessera_history_free (reading->history);
  g_free (reading);
}

static TesseraStatus
read_work (TesseraJob *job, gpointer user, TesseraError *error)
{
  Reading *reading = user;
  const TesseraData *data = reading->data;

  reading->history = tessera_history_read (reading->path, error);
  if (reading->history == NULL)
    return error->status;
  return tessera_history_find_blocks (reading->history, reading->path, data->trace,
                                      data->blocks, data->structure, error);
}

static void
read_done (gpointer owner, gpointer user, TesseraStatus status, const TesseraError *error)
{
  TesseraDocument *self = owner;
  Reading *reading = user;
  const TesseraEdit *edits;
  size_t n_standing;

  if (!tessera_work_finished (self, TESSERA_WORK_EDIT, status, error) ||
      self->data == NULL || self->history == NULL ||
      tessera_data_origin (reading->data) != tessera_data_origin (self->data))
    return;
  edits = tessera_history_get (reading->history, NULL);
  n_standing = tessera_history_get_n_standing (reading->history);
  for (size_t i = 0; i < n_standing; i++)
    {
      TesseraEdit copy;

      if (tessera_edit_copy (&edits[i], &copy) != TESSERA_OK)
        g_error ("out of memory");
      tessera_history_add (self->history, &copy);
    }
  g_free (self->notice);
  self->notice = g_strdup_printf ("%zu edit%s read from %s.", n_standing,
                                  n_standing == 1 ? " was" : "s were", reading->path);
  tessera_document_changed (self, TESSERA_CHANGED_WORK);
  if (n_standing > 0)
    tessera_document_edits_changed (self);
}

static const TesseraJobKind read_kind = { read_work, read_done, NULL, reading_free,
                                          "edits" };

void
tessera_document_load_edits (TesseraDocument *self, const char *path)
{
  Reading *reading;

  if (self->history == NULL || self->data == NULL)
    return;
  reading = g_new0 (Reading, 1);
  reading->path = g_strdup (path);
  reading->data = tessera_data_ref (self->data);
  tessera_work_start (self, TESSERA_WORK_EDIT, &read_kind, reading);
}
