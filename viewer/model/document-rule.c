/*
 * Edits of what is selected: a worker says what that is, as a rule where it can.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/model/document-private.h"

#include <string.h>

#include "edits/edits.h"

typedef struct
{
  TesseraData *data;
  TesseraSelection *chosen;
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
question_free (gpointer user)
{
  Question *question = user;

  if (question->has_edit)
    tessera_edit_clear (&question->edit);
  tessera_rule_free (question->rule);
  tessera_data_unref (question->data);
  tessera_selection_unref (question->chosen);
  g_free (question);
}

static void
list_blocks (const Question *question, TesseraSelector *selector)
{
  tessera_selector_clear (selector);
  selector->n_blocks = question->chosen->n_blocks;
  selector->blocks = malloc (selector->n_blocks * sizeof *selector->blocks);
  if (selector->blocks == NULL)
    g_error ("out of memory");
  memcpy (selector->blocks, question->chosen->blocks,
          selector->n_blocks * sizeof *selector->blocks);
}

/* What is listed is found in other traces by its names. */
static TesseraStatus
name_blocks (const Question *question, TesseraSelector *selector)
{
  const TesseraData *data = question->data;
  TesseraEdit edit = { .what = *selector };
  TesseraStatus status =
      tessera_edits_name_blocks (data->trace, data->blocks, data->structure, &edit, 1);

  selector->names = edit.what.names;
  return status;
}

static TesseraStatus
rule_work (TesseraJob *job, gpointer user, TesseraError *error)
{
  Question *question = user;
  const TesseraData *data = question->data;
  TesseraRule *rule;

  if (question->is_listed)
    return name_blocks (question, &question->edit.what);
  rule = g_new0 (TesseraRule, 1);
  tessera_selector_init (&rule->selector);
  question->rule = rule;
  if (question->has_edit && !question->by_rule)
    list_blocks (question, &rule->selector);
  else
    rule->is_rule = tessera_query_rule_for (
        data->trace, data->blocks, data->structure, data->groups, data->n_groups,
        question->chosen->blocks, question->chosen->n_blocks, &rule->selector);
  rule->text = tessera_query_format (&rule->selector);
  return question->has_edit ? name_blocks (question, &rule->selector) : TESSERA_OK;
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
  return question->data != self->data || self->jobs[TESSERA_WORK_REGROUP] != NULL;
}

static void ask_again (TesseraDocument *self, Question *question);

static void
rule_done (gpointer owner, gpointer user, TesseraStatus status, const TesseraError *error)
{
  TesseraDocument *self = owner;
  Question *question = user;
  TesseraWork work = question->has_edit ? TESSERA_WORK_EDIT : TESSERA_WORK_RULE;

  if (!tessera_work_finished (self, work, status, error) || self->data == NULL ||
      tessera_data_origin (question->data) != tessera_data_origin (self->data))
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

static const TesseraJobKind rule_kind = { rule_work, rule_done, NULL, question_free,
                                          "rule" };

static Question *
question_new (TesseraDocument *self)
{
  Question *question = g_new0 (Question, 1);

  question->data = tessera_data_ref (self->data);
  question->chosen = tessera_selection_ref (self->selection);
  return question;
}

static void
ask_again (TesseraDocument *self, Question *question)
{
  Question *again = g_new0 (Question, 1);

  again->data = tessera_data_ref (self->data);
  again->chosen = tessera_selection_ref (question->chosen);
  again->has_edit = question->has_edit;
  again->by_rule = question->by_rule;
  again->edit = question->edit;
  question->has_edit = FALSE;
  tessera_work_start (self, again->has_edit ? TESSERA_WORK_EDIT : TESSERA_WORK_RULE,
                      &rule_kind, again);
}

void
tessera_document_seek_rule (TesseraDocument *self)
{
  g_clear_pointer (&self->rule, tessera_rule_free);
  if (self->selection != NULL)
    tessera_work_start (self, TESSERA_WORK_RULE, &rule_kind, question_new (self));
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
  question = question_new (self);
  question->has_edit = TRUE;
  question->by_rule = by_rule;
  question->edit = *edit;
  *edit = tessera_edit_of (edit->kind);
  tessera_work_start (self, TESSERA_WORK_EDIT, &rule_kind, question);
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
  question = g_new0 (Question, 1);
  question->data = tessera_data_ref (self->data);
  question->has_edit = question->is_listed = TRUE;
  question->edit = *edit;
  *edit = tessera_edit_of (edit->kind);
  tessera_work_start (self, TESSERA_WORK_EDIT, &rule_kind, question);
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
