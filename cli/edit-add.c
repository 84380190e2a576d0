/*
 * Edits as the command line tells them: see edit-add.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/edit-add.h"

#include <string.h>

#include "cli/study.h"
#include "db/store.h"
#include "edits/edits.h"
#include "planner/groups.h"

void
cli_edit_words_clear (CliEditWords *words)
{
  g_free (words->kind);
  g_free (words->what);
  g_free (words->with);
  g_free (words->group);
  g_free (words->at);
  g_free (words->by);
  g_free (words->lifetime_class);
  g_free (words->shape);
  g_free (words->name);
  *words = (CliEditWords){ 0 };
}

static TesseraStatus
parse_query (const char *text,
             const char *option,
             TesseraSelector *selector,
             TesseraError *error)
{
  g_autofree char *finding = NULL;

  if (tessera_query_parse (text != NULL ? text : "", selector, &finding))
    return TESSERA_OK;
  return tessera_fail (error, TESSERA_INVALID, "--%s: %s", option, finding);
}

/* An option that a kind needs, or does not take. */
static TesseraStatus
expect (const TesseraEdit *edit,
        const char *option,
        const char *value,
        gboolean is_wanted,
        TesseraError *error)
{
  if (is_wanted == (value != NULL))
    return TESSERA_OK;
  return tessera_fail (error, TESSERA_INVALID, "an edit of kind %s %s --%s",
                       edits_get_name (EDITS_KINDS, edit->kind),
                       is_wanted ? "needs" : "does not take", option);
}

static TesseraStatus
read_kind (const CliEditWords *words, TesseraEdit *edit, TesseraError *error)
{
  TesseraEditKind kind =
      words->kind != NULL ? (TesseraEditKind) edits_find_number (EDITS_KINDS, words->kind)
                          : 0;
  gboolean has_group = kind == TESSERA_EDIT_MERGE || kind == TESSERA_EDIT_GROUP ||
                       kind == TESSERA_EDIT_MOVE;
  gboolean has_at = kind == TESSERA_EDIT_PIN || kind == TESSERA_EDIT_CAP;
  TesseraStatus status;

  if (kind == 0)
    return tessera_fail (error, TESSERA_INVALID,
                         "--kind takes merge, split, group, move, pin, together, apart, "
                         "dynamic, class or cap%s%s",
                         words->kind != NULL ? ", not " : "",
                         words->kind != NULL ? words->kind : "");
  edit->kind = kind;
  if (kind == TESSERA_EDIT_SPLIT)
    has_at = words->by != NULL && strcmp (words->by, "at") == 0;
  status = expect (edit, "group", words->group, has_group, error);
  if (status == TESSERA_OK)
    status = expect (edit, "at", words->at, has_at, error);
  if (status == TESSERA_OK)
    status = expect (edit, "by", words->by, kind == TESSERA_EDIT_SPLIT, error);
  if (status == TESSERA_OK)
    status =
        expect (edit, "class", words->lifetime_class, kind == TESSERA_EDIT_CLASS, error);
  if (status == TESSERA_OK && words->with != NULL && kind != TESSERA_EDIT_APART)
    status = expect (edit, "with", words->with, FALSE, error);
  if (status == TESSERA_OK && words->shape != NULL && kind != TESSERA_EDIT_PIN)
    status = expect (edit, "shape", words->shape, FALSE, error);
  if (status == TESSERA_OK && words->what != NULL && kind == TESSERA_EDIT_CAP)
    status = expect (edit, "what", words->what, FALSE, error);
  return status;
}

static TesseraStatus
read_rest (const CliEditWords *words, TesseraEdit *edit, TesseraError *error)
{
  guint64 at = 0;

  if (words->at != NULL && !tessera_parse_bytes (words->at, &at))
    return tessera_fail (error, TESSERA_INVALID, "--at takes a size or a number, not %s",
                         words->at);
  edit->at = at;
  if (words->by != NULL &&
      (edit->by = (TesseraSplitBy) edits_find_number (EDITS_SPLITS, words->by)) == 0)
    return tessera_fail (error, TESSERA_INVALID,
                         "--by takes phase, size, module, step or at, not %s", words->by);
  if (words->lifetime_class != NULL &&
      (edit->lifetime_class =
           (guint8) edits_find_number (EDITS_CLASSES, words->lifetime_class)) == 0)
    return tessera_fail (error, TESSERA_INVALID,
                         "--class takes persistent, scoped, transient or dynamic, not %s",
                         words->lifetime_class);
  edit->group = g_strdup (words->group);
  edit->has_with = words->with != NULL;
  edit->created_s = g_get_real_time () / G_USEC_PER_SEC;
  return TESSERA_OK;
}

static TesseraStatus
select_blocks (const CliStudy *study, const TesseraSelector *selector, guint8 *selected)
{
  TesseraBlocks *blocks = study->blocks;
  TesseraGroup *groups = NULL;
  size_t n_groups = 0;
  TesseraStatus status =
      tessera_group_blocks (study->trace, blocks, study->structure, &groups, &n_groups);

  if (status == TESSERA_OK)
    status = tessera_select (selector, study->trace, blocks, study->structure, groups,
                             n_groups, selected);
  tessera_groups_free (groups, n_groups);
  return status;
}

/* The blocks that are selected and have a slot in the plan, with their distances there.
 */
static TesseraStatus
take_shape (const CliEditWords *words,
            const CliStudy *study,
            const guint8 *selected,
            TesseraEdit *edit,
            TesseraError *error)
{
  size_t n_blocks = study->blocks->n_blocks, n = 0;
  g_autofree guint64 *offsets = g_new0 (guint64, n_blocks + 1);
  guint64 lowest = G_MAXUINT64;
  TesseraPlan *plan = NULL;
  TesseraStatus status = tessera_plan_load (words->shape, error, &plan);

  if (status != TESSERA_OK)
    return status;
  if (plan->trace_fingerprint != tessera_trace_fingerprint (study->trace))
    {
      tessera_plan_free (plan);
      return tessera_fail (error, TESSERA_INVALID,
                           "%s was made from another trace: take a plan of %s",
                           words->shape, study->path);
    }
  for (size_t i = 0; i < plan->n_slots; i++)
    if (plan->slots[i].ordinal != TESSERA_NONE || plan->slots[i].born == 0)
      if (plan->slots[i].block < n_blocks && selected[plan->slots[i].block])
        {
          offsets[plan->slots[i].block] = plan->slots[i].offset_bytes + 1; /* 0: none */
          lowest = MIN (lowest, plan->slots[i].offset_bytes);
        }
  tessera_plan_free (plan);
  tessera_selector_clear (&edit->what);
  edit->what.blocks = g_new0 (guint32, n_blocks + 1);
  edit->shape = g_new0 (guint64, n_blocks + 1);
  for (guint32 i = 0; i < n_blocks; i++)
    if (offsets[i] > 0)
      {
        edit->what.blocks[n] = i;
        edit->shape[n++] = offsets[i] - 1 - lowest;
      }
  edit->what.n_blocks = n;
  return n > 0
             ? TESSERA_OK
             : tessera_fail (error, TESSERA_INVALID,
                             "%s has no slot of these blocks: --shape takes a plan that "
                             "places them",
                             words->shape);
}

static gboolean
is_of_places (const TesseraEdit *edit)
{
  return edit->kind == TESSERA_EDIT_PIN || edit->kind == TESSERA_EDIT_TOGETHER ||
         edit->kind == TESSERA_EDIT_APART || edit->kind == TESSERA_EDIT_DYNAMIC;
}

/* What has no slot can neither be held nor left out. */
static TesseraStatus
check_reach (const CliStudy *study,
             const guint8 *selected,
             const TesseraEdit *edit,
             char **out_remark,
             TesseraError *error)
{
  TesseraEditReach reach;
  TesseraStatus status = tessera_edit_reach (study->trace, study->blocks,
                                             study->structure, selected, &reach);

  if (status != TESSERA_OK)
    return tessera_fail (error, status, "%s: not enough memory", study->path);
  if (reach.n_dynamic > 0 && reach.n_placed == 0)
    return tessera_fail (error, TESSERA_INVALID, "an edit of kind %s can't hold here: %s",
                         edits_get_name (EDITS_KINDS, edit->kind), TESSERA_ALL_DYNAMIC);
  if (reach.n_dynamic > 0)
    *out_remark = g_strdup_printf (
        "%zu of the %zu blocks that this is about differ from step to step: they have no "
        "slot, and go to rooms as before",
        reach.n_dynamic, reach.n_dynamic + reach.n_placed);
  return TESSERA_OK;
}

/* Looks at the trace: that the edit is about some block, and which. */
static TesseraStatus
look_at_trace (const CliEditWords *words,
               const char *path,
               const CliCommon *common,
               TesseraEdit *edit,
               char **out_remark,
               TesseraError *error)
{
  CliStudy study;
  TesseraStatus status = cli_study_open (&study, path, common, error);
  guint8 *selected = NULL;
  gsize n_selected = 0;

  if (status == TESSERA_OK)
    {
      selected = g_new0 (guint8, study.blocks->n_blocks + 1);
      status = select_blocks (&study, &edit->what, selected);
      for (gsize i = 0; i < study.blocks->n_blocks; i++)
        n_selected += selected[i];
      if (status == TESSERA_OK && n_selected == 0)
        status = tessera_fail (error, TESSERA_INVALID, "no block of %s is \"%s\"", path,
                               words->what != NULL ? words->what : "");
    }
  if (status == TESSERA_OK && is_of_places (edit))
    status = check_reach (&study, selected, edit, out_remark, error);
  if (status == TESSERA_OK && words->shape != NULL)
    status = take_shape (words, &study, selected, edit, error);
  if (status == TESSERA_OK &&
      tessera_edits_name_blocks (study.trace, study.blocks, study.structure, edit, 1) !=
          TESSERA_OK)
    status = tessera_fail (error, TESSERA_NO_MEMORY, "%s: not enough memory", path);
  g_free (selected);
  cli_study_clear (&study);
  return status;
}

TesseraStatus
cli_edit_make (const CliEditWords *words,
               const char *path,
               const CliCommon *common,
               TesseraEdit *out_edit,
               char **out_remark,
               TesseraError *error)
{
  TesseraEdit edit = { 0 };
  TesseraStatus status;

  *out_remark = NULL;
  tessera_selector_init (&edit.what);
  tessera_selector_init (&edit.with);
  status = read_kind (words, &edit, error);
  if (status == TESSERA_OK)
    status = parse_query (words->what, "what", &edit.what, error);
  if (status == TESSERA_OK)
    status = parse_query (words->with, "with", &edit.with, error);
  if (status == TESSERA_OK)
    status = read_rest (words, &edit, error);
  if (status == TESSERA_OK && edit.kind != TESSERA_EDIT_CAP &&
      (edit.what.group == NULL || words->shape != NULL))
    status = look_at_trace (words, path, common, &edit, out_remark, error);
  if (status == TESSERA_OK)
    edit.name =
        words->name != NULL ? g_strdup (words->name) : tessera_edit_describe (&edit);
  if (status == TESSERA_OK)
    *out_edit = edit;
  else
    tessera_edit_clear (&edit);
  return status;
}
