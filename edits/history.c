/*
 * The list of edits, how far it is undone, and where it is kept: edits.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "edits/private.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <string.h>

#include "db/output.h"

struct TesseraHistory
{
  GArray *edits;    /* TesseraEdit */
  gsize n_standing; /* the first of them; the others are undone */
};

static void
clear_edit (gpointer edit)
{
  tessera_edit_clear (edit);
}

TesseraHistory *
tessera_history_new (void)
{
  TesseraHistory *history = g_new0 (TesseraHistory, 1);

  history->edits = g_array_new (FALSE, FALSE, sizeof (TesseraEdit));
  g_array_set_clear_func (history->edits, clear_edit);
  return history;
}

TesseraHistory *
tessera_history_copy (const TesseraHistory *history)
{
  TesseraHistory *copy = tessera_history_new ();

  for (guint i = 0; i < history->edits->len; i++)
    {
      TesseraEdit edit;

      tessera_edit_copy (&g_array_index (history->edits, TesseraEdit, i), &edit);
      g_array_append_val (copy->edits, edit);
    }
  copy->n_standing = history->n_standing;
  return copy;
}

void
tessera_history_add_standing (TesseraHistory *history,
                              const TesseraHistory *more,
                              size_t first)
{
  for (size_t i = first; i < more->n_standing; i++)
    {
      TesseraEdit edit;

      tessera_edit_copy (&g_array_index (more->edits, TesseraEdit, i), &edit);
      tessera_history_add (history, &edit);
    }
}

void
tessera_history_free (TesseraHistory *history)
{
  if (!history)
    return;
  g_array_unref (history->edits);
  g_free (history);
}

/* The edit's name as a label, and what is in it. */
static void
take_edit (TesseraHistory *history, TesseraEdit *edit)
{
  TesseraEdit taken = *edit;

  taken.name = edits_dup_label (edit->name);
  g_free (edit->name);
  g_array_append_val (history->edits, taken);
  *edit = (TesseraEdit){ 0 };
  tessera_selector_init (&edit->what);
  tessera_selector_init (&edit->with);
}

void
tessera_history_add (TesseraHistory *history, TesseraEdit *edit)
{
  g_array_set_size (history->edits, (guint) history->n_standing++);
  edit->is_undone = false;
  take_edit (history, edit);
}

TesseraStatus
edits_append (TesseraHistory *history,
              TesseraEdit *edit,
              const char *where,
              TesseraError *error)
{
  if (!edit->is_undone && history->n_standing++ < history->edits->len)
    return tessera_fail (error, TESSERA_BAD_INPUT, "%s stands behind one that is undone",
                         where);
  take_edit (history, edit);
  return TESSERA_OK;
}

TesseraStatus
tessera_history_find_blocks (TesseraHistory *history,
                             const char *name,
                             const TesseraTrace *trace,
                             const TesseraBlocks *blocks,
                             const TesseraStructure *structure,
                             TesseraError *error)
{
  TesseraError why = { 0 };
  TesseraStatus status = tessera_edits_find_blocks (
      trace, blocks, structure, (TesseraEdit *) (void *) history->edits->data,
      history->edits->len, &why);

  if (status == TESSERA_REFUSED)
    return tessera_fail (error, status, "%s: %s", name, why.text);
  return status;
}

gboolean
tessera_history_undo (TesseraHistory *history)
{
  if (history->n_standing == 0)
    return FALSE;
  tessera_history_go (history, history->n_standing - 1);
  return TRUE;
}

gboolean
tessera_history_redo (TesseraHistory *history)
{
  if (history->n_standing == history->edits->len)
    return FALSE;
  tessera_history_go (history, history->n_standing + 1);
  return TRUE;
}

void
tessera_history_go (TesseraHistory *history, size_t n_standing)
{
  history->n_standing = MIN (n_standing, history->edits->len);
  for (guint i = 0; i < history->edits->len; i++)
    g_array_index (history->edits, TesseraEdit, i).is_undone = i >= history->n_standing;
}

void
tessera_history_withdraw (TesseraHistory *history, size_t index)
{
  TesseraEdit *edits = (TesseraEdit *) (void *) history->edits->data;
  TesseraEdit undone = edits[index];

  memmove (&edits[index], &edits[index + 1],
           (history->n_standing - index - 1) * sizeof *edits);
  edits[history->n_standing - 1] = undone;
  tessera_history_undo (history);
}

void
tessera_history_rename (TesseraHistory *history, size_t index, const char *name)
{
  TesseraEdit *edit;

  g_return_if_fail (index < history->edits->len && name != NULL);
  edit = &g_array_index (history->edits, TesseraEdit, index);
  g_free (edit->name);
  edit->name = edits_dup_label (name);
}

const TesseraEdit *
tessera_history_get (const TesseraHistory *history, size_t *out_n_edits)
{
  if (out_n_edits != NULL)
    *out_n_edits = history->edits->len;
  return (const TesseraEdit *) history->edits->data;
}

size_t
tessera_history_get_n_standing (const TesseraHistory *history)
{
  return history->n_standing;
}

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
  size_t n_rows;
  TesseraStatus status = tessera_trace_load_edits (trace_path, error, &rows, &n_rows);

  for (size_t i = 0; status == TESSERA_OK && i < n_rows; i++)
    {
      g_autofree char *where =
          g_strdup_printf ("%s: in table edit, row %zu", trace_path, i);

      status = edits_json_read_rule (&rows[i], where, history, error);
    }
  tessera_stored_edits_free (rows, n_rows);
  return status == TESSERA_OK ? g_steal_pointer (&history) : NULL;
}

static TesseraHistory *
read_json (const char *path, TesseraError *error)
{
  g_autofree char *text = NULL;
  g_autoptr (GError) failure = NULL;
  const char *why;
  gsize n_bytes;
  GStatBuf info;

  if (g_stat (path, &info) == 0 && info.st_size > EDITS_JSON_MOST_BYTES)
    tessera_fail (error, TESSERA_BAD_INPUT,
                  "%s is larger than 256 MiB, which no file of edits is", path);
  else if (g_file_get_contents (path, &text, &n_bytes, &failure))
    return tessera_history_from_json (text, (gssize) n_bytes, path, error);
  else
    {
      /* GLib's sentence names the file before it says why. */
      why = strrchr (failure->message, ':');
      tessera_fail (error, TESSERA_IO, "Cannot read %s%s", path, why != NULL ? why : "");
    }
  return NULL;
}

TesseraHistory *
tessera_history_load (const char *trace_path, TesseraError *error)
{
  g_autofree char *path = path_beside (trace_path);

  if (tessera_file_kind (trace_path) == TESSERA_FILE_TRACE)
    return load_rows (trace_path, error);
  return g_file_test (path, G_FILE_TEST_EXISTS) ? read_json (path, error)
                                                : tessera_history_new ();
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
                                   .rule = edits_json_write_rule (&edits[i]),
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
        (TesseraPlanEdit){ g_strdup (edits[i].name), edits_json_write_rule (&edits[i]) };
}

TesseraHistory *
tessera_history_from_plan (const TesseraPlan *plan, const char *name, TesseraError *error)
{
  g_autoptr (TesseraHistory) history = tessera_history_new ();

  for (size_t i = 0; i < plan->n_edits; i++)
    {
      g_autofree char *where = g_strdup_printf ("%s: edit %zu", name, i + 1);
      const TesseraStoredEdit row = { .name = plan->edits[i].name,
                                      .rule = plan->edits[i].rule };

      if (edits_json_read_rule (&row, where, history, error) != TESSERA_OK)
        return NULL;
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
