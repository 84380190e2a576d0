/*
 * Where the edits of a trace are kept: history.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "edits/history.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <string.h>

#include "db/output.h"
#include "db/store.h"
#include "edits/json.h"
#include "edits/texts.h"

static char *
path_beside (const char *trace_path)
{
  return g_strconcat (trace_path, ".edits.json", NULL);
}

static TesseraHistory *
load_rows (const char *trace_path, TesseraError *error)
{
  g_autoptr (TesseraHistory) history = tessera_history_new ();
  TesseraStoredEdit *rows;
  size_t n_rows, n_standing = 0;
  TesseraStatus status = tessera_trace_load_edits (trace_path, error, &rows, &n_rows);

  for (size_t i = 0; status == TESSERA_OK && i < n_rows; i++)
    {
      g_autofree char *where =
          g_strdup_printf ("%s: in table edit, row %zu", trace_path, i);
      TesseraEdit edit;

      status = edits_json_read_row (rows[i].name, rows[i].rule, where, &edit, error);
      if (status != TESSERA_OK)
        break;
      edit.created_s = rows[i].created_s;
      tessera_history_add (history, &edit);
      if (!rows[i].is_undone && n_standing < i)
        status = tessera_fail (error, TESSERA_BAD_INPUT,
                               "%s, an edit stands behind one that is undone", where);
      n_standing += !rows[i].is_undone;
    }
  tessera_stored_edits_free (rows, n_rows);
  if (status != TESSERA_OK)
    return NULL;
  tessera_history_go (history, n_standing);
  return g_steal_pointer (&history);
}

/* Whether the file is too large for edits: then it is not read at all. */
static gboolean
is_too_large (const char *path, TesseraError *error)
{
  GStatBuf info;

  if (g_stat (path, &info) != 0 || info.st_size <= EDITS_JSON_MOST_BYTES)
    return FALSE;
  tessera_fail (error, TESSERA_BAD_INPUT,
                "%s is larger than 256 MiB, which no file of edits is", path);
  return TRUE;
}

static TesseraHistory *
load_beside (const char *trace_path, TesseraError *error)
{
  g_autofree char *path = path_beside (trace_path);
  g_autofree char *text = NULL;
  g_autoptr (GError) failure = NULL;
  gsize n_bytes;

  if (is_too_large (path, error))
    return NULL;
  if (g_file_get_contents (path, &text, &n_bytes, &failure))
    return tessera_history_from_json (text, (gssize) n_bytes, path, error);
  if (g_error_matches (failure, G_FILE_ERROR, G_FILE_ERROR_NOENT) ||
      g_error_matches (failure, G_FILE_ERROR, G_FILE_ERROR_NOTDIR))
    return tessera_history_new ();
  tessera_fail (error, TESSERA_IO, "Cannot read %s: %s", path, failure->message);
  return NULL;
}

TesseraHistory *
tessera_history_load (const char *trace_path, TesseraError *error)
{
  return tessera_file_kind (trace_path) == TESSERA_FILE_TRACE
             ? load_rows (trace_path, error)
             : load_beside (trace_path, error);
}

/* What could not be read again is not written: it would take all other edits along. */
static TesseraStatus
check_edits (const TesseraHistory *history, const char *trace_path, TesseraError *error)
{
  size_t n_edits;
  const TesseraEdit *edits = tessera_history_get (history, &n_edits);
  TesseraStatus status = TESSERA_OK;

  for (size_t i = 0; status == TESSERA_OK && i < n_edits; i++)
    {
      g_autofree char *where = g_strdup_printf (
          "the edits of %s cannot be kept: of edit %zu", trace_path, i + 1);

      status = edits_check_texts (&edits[i], where, error);
    }
  return status;
}

static TesseraStatus
save_rows (const TesseraHistory *history, const char *trace_path, TesseraError *error)
{
  size_t n_edits;
  const TesseraEdit *edits = tessera_history_get (history, &n_edits);
  TesseraStoredEdit *rows = g_new0 (TesseraStoredEdit, n_edits + 1);
  TesseraStatus status;

  for (size_t i = 0; i < n_edits; i++)
    rows[i] = (TesseraStoredEdit){ .name = g_strdup (edits[i].name),
                                   .rule = edits_json_write_row (&edits[i]),
                                   .created_s = edits[i].created_s,
                                   .is_undone = edits[i].is_undone };
  status = tessera_trace_save_edits (trace_path, rows, n_edits, error);
  tessera_stored_edits_free (rows, n_edits);
  return status;
}

/* Without edits there is no file. */
static TesseraStatus
save_beside (const TesseraHistory *history, const char *trace_path, TesseraError *error)
{
  g_autofree char *path = path_beside (trace_path);
  g_autofree char *text = tessera_history_to_json (history);
  const char *fault = edits_json_find_fault (text, strlen (text));
  size_t n_edits;

  tessera_history_get (history, &n_edits);
  if (n_edits == 0)
    return g_unlink (path) == 0 || errno == ENOENT
               ? TESSERA_OK
               : tessera_fail (error, TESSERA_IO, "Cannot remove %s: %s", path,
                               g_strerror (errno));
  if (fault != NULL) /* it could not be read again */
    return tessera_fail (error, TESSERA_INVALID, "Cannot write %s: it %s", path, fault);
  return tessera_write_file (path, text, strlen (text), error);
}

TesseraStatus
tessera_history_save (const TesseraHistory *history,
                      const char *trace_path,
                      TesseraError *error)
{
  TesseraStatus status = check_edits (history, trace_path, error);

  if (status != TESSERA_OK)
    return status;
  return tessera_file_kind (trace_path) == TESSERA_FILE_TRACE
             ? save_rows (history, trace_path, error)
             : save_beside (history, trace_path, error);
}

TesseraStatus
tessera_history_change (const char *trace_path,
                        TesseraHistoryChange change,
                        void *user,
                        TesseraError *error,
                        TesseraHistory **out_history)
{
  g_autoptr (TesseraHistory) history = NULL;
  int lock;
  TesseraStatus status = tessera_file_lock (trace_path, error, &lock);

  if (status == TESSERA_OK &&
      (history = tessera_history_load (trace_path, error)) == NULL)
    status = error->status;
  if (status == TESSERA_OK)
    status = change (history, user, error);
  if (status == TESSERA_OK)
    status = tessera_history_save (history, trace_path, error);
  tessera_file_unlock (lock);
  if (status == TESSERA_OK && out_history != NULL)
    *out_history = g_steal_pointer (&history);
  return status;
}

void
tessera_history_into_plan (const TesseraHistory *history, TesseraPlan *plan)
{
  size_t n_edits = tessera_history_get_n_standing (history);
  const TesseraEdit *edits = tessera_history_get (history, NULL);

  g_return_if_fail (plan->n_edits == 0);
  if (n_edits == 0)
    return;
  plan->edits = g_new0 (TesseraPlanEdit, n_edits);
  plan->n_edits = n_edits;
  for (size_t i = 0; i < n_edits; i++)
    plan->edits[i] =
        (TesseraPlanEdit){ g_strdup (edits[i].name), edits_json_write_row (&edits[i]) };
}

bool
tessera_history_goes_on (const TesseraHistory *history, const TesseraPlan *plan)
{
  const TesseraEdit *edits = tessera_history_get (history, NULL);

  if (plan->n_edits > tessera_history_get_n_standing (history))
    return false;
  for (size_t i = 0; i < plan->n_edits; i++)
    {
      g_autofree char *rule = edits_json_write_row (&edits[i]);

      if (g_strcmp0 (rule, plan->edits[i].rule) != 0)
        return false;
    }
  return true;
}

bool
tessera_history_made_plan (const TesseraHistory *history, const TesseraPlan *plan)
{
  return plan->n_edits == tessera_history_get_n_standing (history) &&
         tessera_history_goes_on (history, plan);
}

TesseraHistory *
tessera_history_from_plan (const TesseraPlan *plan, const char *name, TesseraError *error)
{
  g_autoptr (TesseraHistory) history = tessera_history_new ();

  for (size_t i = 0; i < plan->n_edits; i++)
    {
      g_autofree char *where = g_strdup_printf ("%s: edit %zu", name, i + 1);
      TesseraEdit edit;

      if (edits_json_read_row (plan->edits[i].name, plan->edits[i].rule, where, &edit,
                               error) != TESSERA_OK)
        return NULL;
      tessera_history_add (history, &edit);
    }
  return g_steal_pointer (&history);
}

static TesseraHistory *
read_plan (const char *path, TesseraError *error)
{
  TesseraPlan *plan;
  TesseraHistory *history;

  if (tessera_plan_load (path, error, &plan) != TESSERA_OK)
    return NULL;
  history = tessera_history_from_plan (plan, path, error);
  tessera_plan_free (plan);
  return history;
}

static TesseraHistory *
read_json (const char *path, TesseraError *error)
{
  g_autofree char *text = NULL;
  g_autoptr (GError) failure = NULL;
  const char *why;
  gsize n_bytes;

  if (is_too_large (path, error))
    return NULL;
  if (g_file_get_contents (path, &text, &n_bytes, &failure))
    return tessera_history_from_json (text, (gssize) n_bytes, path, error);
  /* GLib's sentence names the file before it says why. */
  why = strrchr (failure->message, ':');
  tessera_fail (error, TESSERA_IO, "Cannot read %s%s", path, why != NULL ? why : "");
  return NULL;
}

TesseraHistory *
tessera_history_read (const char *path, TesseraError *error)
{
  /* Neither waited for nor read without end. */
  if (g_file_test (path, G_FILE_TEST_EXISTS) &&
      !g_file_test (path, G_FILE_TEST_IS_REGULAR | G_FILE_TEST_IS_DIR))
    {
      tessera_fail (error, TESSERA_IO,
                    "Cannot read %s: it is not a file but a device or pipe", path);
      return NULL;
    }
  switch (tessera_file_kind (path))
    {
    case TESSERA_FILE_PLAN:
      return read_plan (path, error);
    case TESSERA_FILE_TRACE:
      return load_rows (path, error);
    default:
      return read_json (path, error);
    }
}
