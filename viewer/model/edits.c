/*
 * Edits: what the person changed about the plan, and the planning that follows.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/model/document-private.h"

#include "db/output.h"
#include "edits/edits.h"

#include <gio/gio.h>
#include <string.h>

TesseraEdit
tessera_edit_of (TesseraEditKind kind)
{
  TesseraEdit edit = { .kind = kind };

  tessera_selector_init (&edit.what);
  tessera_selector_init (&edit.with);
  return edit;
}

size_t
tessera_document_n_standing (TesseraDocument *self)
{
  return self->history != NULL ? tessera_history_get_n_standing (self->history) : 0;
}

size_t
tessera_document_n_edits (TesseraDocument *self)
{
  size_t n = 0;

  if (self->history != NULL)
    tessera_history_get (self->history, &n);
  return n;
}

gboolean
tessera_document_is_plan_current (TesseraDocument *self)
{
  return self->planned != NULL && !self->planned->request.is_preview &&
         self->planned->request.generation == self->request.generation;
}

const char *
tessera_document_why_no_export (TesseraDocument *self)
{
  if (self->data == NULL)
    return "Open a trace first";
  if (self->jobs[TESSERA_WORK_SAVE] != NULL)
    return "Another file is being written";
  if (self->planned == NULL)
    return self->jobs[TESSERA_WORK_PLAN] != NULL ? "The plan is still being made"
                                                 : "There is no plan yet: make one first";
  if (self->conflict.first != TESSERA_NONE)
    return "Two edits conflict: undo one of them first";
  if (!tessera_document_is_plan_current (self))
    return self->jobs[TESSERA_WORK_PLAN] != NULL
               ? "The full plan is still being made"
               : "The plan is not of the edits that stand: plan again first";
  return NULL;
}

/* What was planned last is what the next plan is compared with. */
void
tessera_document_remember_height (TesseraDocument *self)
{
  uint64_t beside_bytes;

  if (self->planned != NULL && !self->planned->request.is_preview)
    self->former_bytes = tessera_followed_peak_bytes (self->planned, &beside_bytes);
}

/* What follows any change of the edits: kept, shown, planned again. */
static void
edits_changed (TesseraDocument *self)
{
  tessera_document_remember_height (self);
  self->request.generation++;
  self->conflict = (TesseraEditConflict){ TESSERA_NONE, TESSERA_NONE };
  tessera_document_keep_edits (self);
  tessera_document_changed (self, TESSERA_CHANGED_EDITS);
  tessera_document_refresh_groups (self);
  tessera_document_plan (self, TRUE);
}

void
tessera_document_take_history (TesseraDocument *self, TesseraHistory *history)
{
  tessera_history_free (self->history);
  self->history = history;
  self->conflict = (TesseraEditConflict){ TESSERA_NONE, TESSERA_NONE };
  self->former_bytes = 0;
  self->request.generation++;
}

void
tessera_document_add_edit (TesseraDocument *self, TesseraEdit *edit)
{
  if (self->history == NULL)
    {
      tessera_edit_clear (edit);
      return;
    }
  if (edit->name == NULL)
    edit->name = tessera_edit_describe (edit);
  if (edit->created_s == 0)
    edit->created_s = g_get_real_time () / G_USEC_PER_SEC;
  tessera_history_add (self->history, edit);
  edits_changed (self);
}

void
tessera_document_undo (TesseraDocument *self)
{
  tessera_document_go_to_edits (self, tessera_document_n_standing (self) - 1);
}

void
tessera_document_redo (TesseraDocument *self)
{
  tessera_document_go_to_edits (self, tessera_document_n_standing (self) + 1);
}

void
tessera_document_go_to_edits (TesseraDocument *self, size_t n_standing)
{
  if (self->history == NULL || n_standing > tessera_document_n_edits (self) ||
      n_standing == tessera_document_n_standing (self))
    return;
  tessera_history_go (self->history, n_standing);
  edits_changed (self);
}

/* A name is no reason to plan again, but the exported plan bears it. */
void
tessera_document_rename_edit (TesseraDocument *self, size_t index, const char *name)
{
  size_t n_edits = tessera_document_n_edits (self);
  g_autofree char *stripped = g_strstrip (g_strdup (name));

  if (index >= n_edits || *stripped == '\0' ||
      g_str_equal (tessera_history_get (self->history, &n_edits)[index].name, stripped))
    return;
  tessera_history_rename (self->history, index, stripped);
  if (index < tessera_document_n_standing (self))
    edits_changed (self);
  else
    {
      tessera_document_keep_edits (self);
      tessera_document_changed (self, TESSERA_CHANGED_EDITS);
    }
}

/* --- edits in files ------------------------------------------------------------------ */

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
  tessera_document_take_notice (
      self,
      g_strdup_printf ("%zu edit%s written to %s.", tessera_document_n_edits (self),
                       tessera_document_n_edits (self) == 1 ? " was" : "s were", path));
}

static TesseraStatus
read_edits (TesseraJob *job, TesseraError *error)
{
  const TesseraData *data = job->data;

  job->history = tessera_history_read (job->path, error);
  if (job->history == NULL)
    return error->status;
  return tessera_history_find_blocks (job->history, job->path, data->trace, data->blocks,
                                      data->structure, error);
}

static void
add_read_edits (TesseraDocument *self, TesseraJob *job)
{
  size_t n_standing = tessera_history_get_n_standing (job->history);

  tessera_history_add_standing (self->history, job->history, 0);
  tessera_document_take_notice (
      self, g_strdup_printf ("%zu edit%s read from %s.", n_standing,
                             n_standing == 1 ? " was" : "s were", job->path));
  if (n_standing > 0)
    edits_changed (self);
}

static const TesseraWorkKind read_kind = { TESSERA_WORK_EDIT, "edits", read_edits,
                                           add_read_edits };

void
tessera_document_load_edits (TesseraDocument *self, const char *path)
{
  TesseraJob *job;

  if (self->history == NULL)
    return;
  job = tessera_job_new (self, &read_kind);
  job->path = g_strdup (path);
  tessera_job_start (self, job);
}

/* --- edits of what is selected ------------------------------------------------------- */

void
tessera_rule_free (TesseraRule *rule)
{
  if (rule == NULL)
    return;
  tessera_selector_clear (&rule->selector);
  g_free (rule->text);
  g_free (rule);
}

static void
list_blocks (const TesseraJob *job, TesseraSelector *selector)
{
  tessera_selector_clear (selector);
  selector->n_blocks = job->selection->n_blocks;
  selector->blocks =
      g_memdup2 (job->selection->blocks, selector->n_blocks * sizeof *selector->blocks);
}

/* What is listed is found in other traces by its names. */
static void
name_blocks (const TesseraJob *job, TesseraSelector *selector)
{
  const TesseraData *data = job->data;
  TesseraEdit edit = { .what = *selector };

  tessera_edits_name_blocks (data->trace, data->blocks, data->structure, &edit, 1);
  selector->names = edit.what.names;
}

/* Else the rule alone is asked for. */
static gboolean
is_of_edit (const TesseraJob *job)
{
  return job->kind->work == TESSERA_WORK_EDIT;
}

static TesseraStatus
find_rule (TesseraJob *job, TesseraError *error)
{
  const TesseraData *data = job->data;
  TesseraRule *rule;

  rule = job->rule = g_new0 (TesseraRule, 1);
  tessera_selector_init (&rule->selector);
  if (is_of_edit (job) && !job->by_rule)
    list_blocks (job, &rule->selector);
  else
    rule->is_rule = tessera_query_rule_for (
        data->trace, data->blocks, data->structure, data->groups, data->n_groups,
        job->selection->blocks, job->selection->n_blocks, &rule->selector);
  rule->text = tessera_query_format (&rule->selector);
  if (is_of_edit (job))
    name_blocks (job, &rule->selector);
  return TESSERA_OK;
}

/* Takes @blocks and what is in *@edit over. */
static void
start_rule (TesseraDocument *self,
            const TesseraWorkKind *kind,
            TesseraSelection *blocks,
            TesseraEdit *edit,
            gboolean by_rule)
{
  TesseraJob *job = tessera_job_new (self, kind);

  tessera_selection_unref (job->selection);
  job->selection = blocks;
  job->edit = *edit;
  *edit = (TesseraEdit){ 0 };
  job->by_rule = by_rule;
  tessera_job_start (self, job);
}

static void
take_rule (TesseraDocument *self, TesseraJob *job)
{
  /* Groups that it may speak of are others by now, or about to be. */
  if (job->data != self->data || self->jobs[TESSERA_WORK_REGROUP] != NULL)
    {
      start_rule (self, job->kind, g_steal_pointer (&job->selection), &job->edit,
                  job->by_rule);
      return;
    }
  if (is_of_edit (job))
    {
      tessera_selector_clear (&job->edit.what);
      job->edit.what = job->rule->selector;
      tessera_selector_init (&job->rule->selector);
      tessera_document_add_edit (self, &job->edit);
      return;
    }
  tessera_rule_free (self->rule);
  self->rule = g_steal_pointer (&job->rule);
  tessera_document_changed (self, TESSERA_CHANGED_PROPOSAL);
}

static const TesseraWorkKind rule_kind = { TESSERA_WORK_RULE, "rule", find_rule,
                                           take_rule };
static const TesseraWorkKind edit_kind = { TESSERA_WORK_EDIT, "rule", find_rule,
                                           take_rule };

void
tessera_document_seek_rule (TesseraDocument *self)
{
  g_clear_pointer (&self->rule, tessera_rule_free);
  if (self->selection != NULL)
    tessera_job_start (self, tessera_job_new (self, &rule_kind));
}

void
tessera_document_edit_blocks (TesseraDocument *self,
                              TesseraSelection *blocks,
                              TesseraEdit *edit,
                              gboolean by_rule)
{
  if (blocks != NULL)
    start_rule (self, &edit_kind, blocks, edit, by_rule);
  else
    tessera_edit_clear (edit);
}

void
tessera_document_edit_selection (TesseraDocument *self,
                                 TesseraEdit *edit,
                                 gboolean by_rule)
{
  tessera_document_edit_blocks (self, tessera_selection_ref (self->selection), edit,
                                by_rule);
}

const char *
tessera_document_why_no_edit (TesseraDocument *self,
                              TesseraEditKind kind,
                              TesseraSplitBy by)
{
  if (self->data == NULL)
    return "Open a trace first";
  if (kind == TESSERA_EDIT_CAP)
    return NULL;
  if (self->selection == NULL)
    return "Select the blocks it is about first";
  if (self->jobs[TESSERA_WORK_EDIT] != NULL || self->jobs[TESSERA_WORK_REGROUP] != NULL)
    return "The last edit is still being made";
  if ((kind == TESSERA_EDIT_MERGE || kind == TESSERA_EDIT_TOGETHER) &&
      self->selection->n_blocks < 2)
    return "Select more than one block first";
  if (kind == TESSERA_EDIT_SPLIT && by == TESSERA_SPLIT_STEP &&
      self->data->structure->n_steps < 2)
    return "The trace has no two steps";
  if (kind == TESSERA_EDIT_SPLIT && by == TESSERA_SPLIT_PHASE &&
      self->data->structure->n_phases < 2)
    return "The trace has no two phases";
  return NULL;
}

/* --- groups and classes, as the edits that stand make them --------------------------- */

/* An edit that can't be applied leaves all as it was: planning says why. */

static TesseraStatus
regroup_blocks (TesseraJob *job, TesseraError *error)
{
  const TesseraEdit *edits = tessera_history_get (job->history, NULL);
  TesseraStatus status = tessera_data_regroup (
      job->data, edits, tessera_history_get_n_standing (job->history), error,
      &job->new_data);

  return status == TESSERA_REFUSED ? TESSERA_CANCELLED : status;
}

static gboolean
is_colour_of_groups (TesseraColourKey key)
{
  return key == TESSERA_COLOUR_CLASS || key == TESSERA_COLOUR_GROUP;
}

static void
take_groups (TesseraDocument *self, TesseraJob *job)
{
  if (job->new_data == self->data)
    return;
  tessera_data_unref (self->data);
  self->data = tessera_data_ref (job->new_data);
  if (self->grouping != NULL && self->jobs[TESSERA_WORK_GROUPS] == NULL)
    tessera_document_refresh_grouping (self);
  tessera_selection_facts_clear (&self->facts); /* they number groups */
  tessera_document_refresh_facts (self);
  if (is_colour_of_groups (self->colour_key) && self->jobs[TESSERA_WORK_PAINT] == NULL)
    tessera_document_refresh_paint (self);
  tessera_document_changed (self, TESSERA_CHANGED_GROUPS);
}

static const TesseraWorkKind regroup_kind = { TESSERA_WORK_REGROUP, "groups",
                                              regroup_blocks, take_groups };

void
tessera_document_refresh_groups (TesseraDocument *self)
{
  TesseraJob *job;
  size_t n_edits = 0;
  const TesseraEdit *edits;

  g_clear_pointer (&self->jobs[TESSERA_WORK_REGROUP], tessera_job_drop);
  if (self->data == NULL || self->history == NULL)
    return;
  edits = tessera_history_get (self->history, &n_edits);
  if (self->data == tessera_data_origin (self->data) &&
      !tessera_edits_are_of_groups (edits, tessera_document_n_standing (self)))
    return;
  job = tessera_job_new (self, &regroup_kind);
  job->history = tessera_history_copy (self->history);
  tessera_job_start (self, job);
}
