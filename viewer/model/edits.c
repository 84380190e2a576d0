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
  tessera_document_plan_at_once (self);
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
  if (self->history != NULL && tessera_history_undo (self->history))
    edits_changed (self);
}

void
tessera_document_redo (TesseraDocument *self)
{
  if (self->history != NULL && tessera_history_redo (self->history))
    edits_changed (self);
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
  g_free (self->notice);
  self->notice =
      g_strdup_printf ("%zu edit%s written to %s.", tessera_document_n_edits (self),
                       tessera_document_n_edits (self) == 1 ? " was" : "s were", path);
  tessera_document_changed (self, TESSERA_CHANGED_WORK);
}

/* --- reading ---------------------------------------------------------------------- */

typedef struct
{
  TesseraWorkInput base;
  char *path;
  TesseraHistory *history;
} Reading;

static void
clear_reading (gpointer user)
{
  Reading *reading = user;

  g_free (reading->path);
  tessera_history_free (reading->history);
}

static TesseraStatus
read_edits (TesseraJob *job, gpointer user, TesseraError *error)
{
  Reading *reading = user;
  const TesseraData *data = reading->base.data;

  reading->history = tessera_history_read (reading->path, error);
  if (reading->history == NULL)
    return error->status;
  return tessera_history_find_blocks (reading->history, reading->path, data->trace,
                                      data->blocks, data->structure, error);
}

static void
add_read_edits (TesseraDocument *self, gpointer user)
{
  Reading *reading = user;
  size_t n_standing;

  if (self->data == NULL || self->history == NULL ||
      tessera_data_origin (reading->base.data) != tessera_data_origin (self->data))
    return;
  n_standing = tessera_history_get_n_standing (reading->history);
  tessera_history_add_standing (self->history, reading->history, 0);
  g_free (self->notice);
  self->notice = g_strdup_printf ("%zu edit%s read from %s.", n_standing,
                                  n_standing == 1 ? " was" : "s were", reading->path);
  tessera_document_changed (self, TESSERA_CHANGED_WORK);
  if (n_standing > 0)
    edits_changed (self);
}

static const TesseraWorkKind read_kind = { TESSERA_WORK_EDIT, "edits",
                                           sizeof (Reading),  read_edits,
                                           add_read_edits,    clear_reading };

void
tessera_document_load_edits (TesseraDocument *self, const char *path)
{
  Reading *reading;

  if (self->history == NULL || self->data == NULL)
    return;
  reading = tessera_work_new (self, &read_kind);
  reading->path = g_strdup (path);
  tessera_work_start (self, reading);
}

/* --- edits of what is selected ------------------------------------------------------- */

typedef struct
{
  TesseraWorkInput base;
  gboolean has_edit; /* else the rule alone is asked for */
  gboolean by_rule;
  gboolean is_listed; /* the edit says its blocks, and has them named only */
  TesseraEdit edit;
  TesseraRule *rule;
} Question;

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
clear_question (gpointer user)
{
  Question *question = user;

  if (question->has_edit)
    tessera_edit_clear (&question->edit);
  tessera_rule_free (question->rule);
}

static void
list_blocks (const Question *question, TesseraSelector *selector)
{
  tessera_selector_clear (selector);
  selector->n_blocks = question->base.selection->n_blocks;
  selector->blocks = g_memdup2 (question->base.selection->blocks,
                                selector->n_blocks * sizeof *selector->blocks);
}

/* What is listed is found in other traces by its names. */
static void
name_blocks (const Question *question, TesseraSelector *selector)
{
  const TesseraData *data = question->base.data;
  TesseraEdit edit = { .what = *selector };

  tessera_edits_name_blocks (data->trace, data->blocks, data->structure, &edit, 1);
  selector->names = edit.what.names;
}

static TesseraStatus
find_rule (TesseraJob *job, gpointer user, TesseraError *error)
{
  Question *question = user;
  const TesseraData *data = question->base.data;
  TesseraRule *rule;

  if (question->is_listed)
    {
      name_blocks (question, &question->edit.what);
      return TESSERA_OK;
    }
  rule = g_new0 (TesseraRule, 1);
  tessera_selector_init (&rule->selector);
  question->rule = rule;
  if (question->has_edit && !question->by_rule)
    list_blocks (question, &rule->selector);
  else
    rule->is_rule =
        tessera_query_rule_for (data->trace, data->blocks, data->structure, data->groups,
                                data->n_groups, question->base.selection->blocks,
                                question->base.selection->n_blocks, &rule->selector);
  rule->text = tessera_query_format (&rule->selector);
  if (question->has_edit)
    name_blocks (question, &rule->selector);
  return TESSERA_OK;
}

/* A pin of several by a rule is at one place; by a list each keeps its distance. */
static void
fill_what (Question *question)
{
  TesseraEdit *edit = &question->edit;

  if (question->is_listed)
    return;
  if (question->rule->is_rule && edit->shape != NULL)
    {
      free (edit->shape);
      edit->shape = NULL;
    }
  tessera_selector_clear (&edit->what);
  edit->what = question->rule->selector;
  tessera_selector_init (&question->rule->selector);
}

/* Groups that it may speak of are others by now, or about to be. */
static gboolean
is_late (TesseraDocument *self, const Question *question)
{
  return question->base.data != self->data || self->jobs[TESSERA_WORK_REGROUP] != NULL;
}

static void ask_again (TesseraDocument *self, Question *question);

static void
take_rule (TesseraDocument *self, gpointer user)
{
  Question *question = user;

  if (self->data == NULL ||
      tessera_data_origin (question->base.data) != tessera_data_origin (self->data))
    return;
  if (!question->is_listed && is_late (self, question))
    {
      ask_again (self, question);
      return;
    }
  if (question->has_edit)
    {
      fill_what (question);
      tessera_document_add_edit (self, &question->edit);
      question->has_edit = FALSE;
      return;
    }
  tessera_rule_free (self->rule);
  self->rule = g_steal_pointer (&question->rule);
  tessera_document_changed (self, TESSERA_CHANGED_PROPOSAL);
}

static const TesseraWorkKind rule_kind = { TESSERA_WORK_RULE, "rule",
                                           sizeof (Question), find_rule,
                                           take_rule,         clear_question };
static const TesseraWorkKind edit_kind = { TESSERA_WORK_EDIT, "rule",
                                           sizeof (Question), find_rule,
                                           take_rule,         clear_question };

/* Takes what is in *@edit over and leaves it cleared. */
static Question *
question_new (TesseraDocument *self, TesseraEdit *edit)
{
  Question *question = tessera_work_new (self, &edit_kind);

  question->has_edit = TRUE;
  question->edit = *edit;
  *edit = tessera_edit_of (edit->kind);
  return question;
}

static void
ask_again (TesseraDocument *self, Question *question)
{
  Question *again = tessera_work_new (self, question->base.kind);

  tessera_selection_unref (again->base.selection);
  again->base.selection = tessera_selection_ref (question->base.selection);
  again->has_edit = question->has_edit;
  again->by_rule = question->by_rule;
  again->edit = question->edit;
  question->has_edit = FALSE;
  tessera_work_start (self, again);
}

void
tessera_document_seek_rule (TesseraDocument *self)
{
  g_clear_pointer (&self->rule, tessera_rule_free);
  if (self->selection != NULL)
    tessera_work_start (self, tessera_work_new (self, &rule_kind));
}

void
tessera_document_edit_selection (TesseraDocument *self,
                                 TesseraEdit *edit,
                                 gboolean by_rule)
{
  Question *question;

  if (self->selection == NULL)
    {
      tessera_edit_clear (edit);
      return;
    }
  question = question_new (self, edit);
  question->by_rule = by_rule;
  tessera_work_start (self, question);
}

void
tessera_document_add_listed (TesseraDocument *self, TesseraEdit *edit)
{
  Question *question;

  if (self->data == NULL)
    {
      tessera_edit_clear (edit);
      return;
    }
  question = question_new (self, edit);
  question->is_listed = TRUE;
  tessera_work_start (self, question);
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

/* What is told of the groups comes with them, so that no view ever sees one without the
 * other. An edit that can't be applied leaves all as it was: planning says why. */

typedef struct
{
  TesseraWorkInput base; /* with the data that was */
  TesseraData *data;     /* that is */
  gboolean is_grouping_wanted;
  char *query; /* of the grouping; NULL: all blocks */
  TesseraGrouping *grouping;
} Regrouping;

static void
clear_regrouping (gpointer user)
{
  Regrouping *regrouping = user;

  tessera_grouping_unref (regrouping->grouping);
  tessera_data_unref (regrouping->data);
  g_free (regrouping->query);
}

static TesseraStatus
regroup_blocks (TesseraJob *job, gpointer user, TesseraError *error)
{
  Regrouping *regrouping = user;
  const TesseraWorkInput *base = &regrouping->base;
  const TesseraEdit *edits = tessera_history_get (base->history, NULL);
  TesseraStatus status = tessera_data_regroup (
      base->data, edits, tessera_history_get_n_standing (base->history), error,
      &regrouping->data);

  /* Planning says why. */
  if (status == TESSERA_REFUSED)
    return TESSERA_CANCELLED;
  if (status != TESSERA_OK || !regrouping->is_grouping_wanted ||
      regrouping->data == base->data)
    return status;
  return tessera_query_groups (regrouping->data, regrouping->query, error,
                               &regrouping->grouping);
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
take_groups (TesseraDocument *self, gpointer user)
{
  Regrouping *regrouping = user;

  if (regrouping->data == self->data)
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

static const TesseraWorkKind regroup_kind = { TESSERA_WORK_REGROUP, "groups",
                                              sizeof (Regrouping),  regroup_blocks,
                                              take_groups,          clear_regrouping };

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
  regrouping = tessera_work_new (self, &regroup_kind);
  regrouping->base.history = tessera_history_copy (self->history);
  regrouping->is_grouping_wanted = self->grouping != NULL;
  regrouping->query = g_strdup (self->query);
  tessera_work_start (self, regrouping);
}
