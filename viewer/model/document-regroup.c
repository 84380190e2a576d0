/*
 * The session's groups and classes, as the edits that stand make them: found by a worker.
 *
 * What is told of the groups comes with them, so that no view ever sees one without the
 * other. An edit that can't be applied leaves all as it was: planning says why.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/model/document-private.h"

typedef struct
{
  TesseraData *data; /* that was, then that is */
  TesseraHistory *history;
  gboolean is_grouping_wanted;
  char *query; /* of the grouping; NULL: all blocks */
  TesseraGrouping *grouping;
} Regrouping;

static void
regrouping_free (gpointer user)
{
  Regrouping *regrouping = user;

  tessera_grouping_unref (regrouping->grouping);
  tessera_history_free (regrouping->history);
  tessera_data_unref (regrouping->data);
  g_free (regrouping->query);
  g_free (regrouping);
}

static TesseraStatus
regroup_work (TesseraJob *job, gpointer user, TesseraError *error)
{
  Regrouping *regrouping = user;
  TesseraData *before = regrouping->data;
  size_t n_edits = 0;
  const TesseraEdit *edits = tessera_history_get (regrouping->history, &n_edits);
  gboolean is_new;
  TesseraStatus status = tessera_data_regroup (
      before, edits, tessera_history_get_n_standing (regrouping->history), error,
      &regrouping->data);

  if (status != TESSERA_OK)
    {
      regrouping->data = before;
      return status;
    }
  is_new = regrouping->data != before;
  tessera_data_unref (before);
  return regrouping->is_grouping_wanted && is_new
             ? tessera_query_groups (regrouping->data, regrouping->query, error,
                                     &regrouping->grouping)
             : TESSERA_OK;
}

/* The query may have changed meanwhile. */
static void
take_grouping (TesseraDocument *self, Regrouping *regrouping)
{
  gboolean is_same =
      regrouping->grouping != NULL && g_strcmp0 (self->query, regrouping->query) == 0;

  if (is_same)
    {
      tessera_grouping_unref (self->grouping);
      self->grouping = g_steal_pointer (&regrouping->grouping);
    }
  else if (self->grouping != NULL && self->jobs[TESSERA_WORK_GROUPS] == NULL)
    tessera_document_set_query (self, self->query != NULL ? self->query : "");
}

static gboolean
is_colour_of_groups (TesseraColourKey key)
{
  return key == TESSERA_COLOUR_CLASS || key == TESSERA_COLOUR_GROUP;
}

static void
regroup_done (gpointer owner,
              gpointer user,
              TesseraStatus status,
              const TesseraError *error)
{
  TesseraDocument *self = owner;
  Regrouping *regrouping = user;

  if (status == TESSERA_REFUSED)
    status = TESSERA_CANCELLED;
  if (!tessera_work_finished (self, TESSERA_WORK_REGROUP, status, error) ||
      regrouping->data == self->data)
    return;
  tessera_data_unref (self->data);
  self->data = tessera_data_ref (regrouping->data);
  take_grouping (self, regrouping);
  tessera_selection_facts_clear (&self->facts); /* they number groups */
  tessera_document_refresh_facts (self);
  if (is_colour_of_groups (self->colour_key) && self->jobs[TESSERA_WORK_PAINT] == NULL)
    tessera_document_refresh_paint (self);
  tessera_document_changed (self, TESSERA_CHANGED_GROUPS);
}

static const TesseraJobKind regroup_kind = { regroup_work, regroup_done, NULL,
                                             regrouping_free, "groups" };

void
tessera_document_refresh_groups (TesseraDocument *self)
{
  Regrouping *regrouping;
  size_t n_edits = 0;
  const TesseraEdit *edits;

  g_clear_pointer (&self->jobs[TESSERA_WORK_REGROUP], tessera_job_drop);
  if (self->data == NULL || self->history == NULL)
    return;
  edits = tessera_history_get (self->history, &n_edits);
  if (self->data == tessera_data_origin (self->data) &&
      !tessera_edits_are_of_groups (edits, tessera_document_n_standing (self)))
    return;
  regrouping = g_new0 (Regrouping, 1);
  regrouping->data = tessera_data_ref (self->data);
  regrouping->history = tessera_history_copy (self->history);
  regrouping->is_grouping_wanted = self->grouping != NULL;
  regrouping->query = g_strdup (self->query);
  tessera_work_start (self, TESSERA_WORK_REGROUP, &regroup_kind, regrouping);
}
