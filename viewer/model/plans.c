/*
 * Planning, what the policies need, and several plans side by side.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/model/document-private.h"

#include "cli/command.h"
#include "db/plan.h"

static void
on_plan_progress (gpointer owner, double fraction)
{
  tessera_work_progressed (owner, TESSERA_WORK_PLAN, fraction);
}

static void
on_needs_progress (gpointer owner, double fraction)
{
  tessera_work_progressed (owner, TESSERA_WORK_NEEDS, fraction);
}

/* --- planning --------------------------------------------------------------------- */

static void plan_done (gpointer owner,
                       gpointer user,
                       TesseraStatus status,
                       const TesseraError *error);

/* Stopped, it ends with what it has; a preview, and what is only looked at, does not. */
static gboolean
keeps_best (const TesseraWorkInput *input)
{
  return !input->request.is_preview && input->path == NULL && input->shown == NULL;
}

static TesseraStatus
make_plan (TesseraJob *job,
           TesseraWorkInput *input,
           const TesseraFollowed *former,
           TesseraError *error)
{
  TesseraPlanWatch watch = { .planning = tessera_job_progress (job, 0, 0.9) };

  watch.following = watch.planning;
  if (keeps_best (input))
    {
      watch.following = tessera_job_progress_to_keep (job, 0, 0.9);
      watch.listener = tessera_job_listener (job);
    }
  return tessera_followed_new (input->data, &input->request, input->history, former,
                               &watch, error, &input->conflict, &input->planned);
}

static TesseraStatus
plan_work (TesseraJob *job, gpointer user, TesseraError *error)
{
  TesseraWorkInput *input = user;
  TesseraSheet *was = g_steal_pointer (&input->sheets[TESSERA_SIDE_RIGHT]);
  TesseraFollowed *former = g_steal_pointer (&input->planned);
  TesseraStatus status = TESSERA_OK;

  if (input->shown != NULL)
    input->planned = tessera_followed_ref (input->shown);
  else if (input->path != NULL)
    status = tessera_followed_load (input->data, input->path,
                                    tessera_job_progress (job, 0, 0.9), error,
                                    &input->planned);
  else
    status = make_plan (job, input, former, error);
  input->is_of_edits = status == TESSERA_OK &&
                       (keeps_best (input) || input->request.is_preview ||
                        tessera_history_made_plan (input->history, input->planned->plan));
  if (status == TESSERA_OK)
    status = tessera_sheet_new (
        input->data, input->planned, TESSERA_LAYOUT_PLAN, input->axis_kind,
        keeps_best (input) ? tessera_job_progress_to_keep (job, 0.9, 1)
                           : tessera_job_progress (job, 0.9, 1),
        error, &input->sheets[TESSERA_SIDE_RIGHT]);
  if (status == TESSERA_OK && was != NULL)
    input->moves = tessera_moves_new (was, input->sheets[TESSERA_SIDE_RIGHT]);
  tessera_sheet_unref (was);
  tessera_followed_unref (former);
  return status;
}

static const TesseraJobKind plan_kind = { plan_work, plan_done, on_plan_progress,
                                          tessera_work_input_free, "plan" };

/* The plan that was stays unless there is a new one. */
static void
take_plan (TesseraDocument *self, TesseraWorkInput *input)
{
  tessera_document_drop_proposal (self);
  tessera_moves_unref (self->moves);
  /* Heights of two axes cannot be compared, nor times. */
  self->moves =
      input->axis_kind == self->axis_kind ? g_steal_pointer (&input->moves) : NULL;
  tessera_followed_unref (self->planned);
  self->planned = g_steal_pointer (&input->planned);
  /* One that was there before is what was asked for, whatever stands. */
  self->planned->request.generation = input->path != NULL || input->shown != NULL
                                          ? self->request.generation
                                          : input->request.generation;
  self->is_plan_of_edits = input->is_of_edits;
  tessera_sheet_unref (self->sheets[TESSERA_SIDE_RIGHT]);
  self->sheets[TESSERA_SIDE_RIGHT] = g_steal_pointer (&input->sheets[TESSERA_SIDE_RIGHT]);
  self->needs.plan_bytes = 0;
  tessera_document_refresh_world (self);
  tessera_document_note_plan (self, input->path);
  tessera_document_changed (self, TESSERA_CHANGED_SHEETS);
  tessera_document_refresh_comparison (self);
  if (input->axis_kind != self->axis_kind)
    tessera_document_refresh_sheets (self);
}

/* Stopped early, a plan can be higher than the preview of it: then the preview, which is
 * checked as well, is the best there is. */
static gboolean
keep_preview (TesseraDocument *self, const TesseraWorkInput *input)
{
  TesseraFollowed *shown = self->planned;
  const TesseraPlan *cut = input->planned->plan;

  if (cut->cut_short == TESSERA_CUT_NOT || !keeps_best (input) || shown == NULL ||
      !shown->request.is_preview ||
      shown->request.generation != input->request.generation ||
      shown->plan->height_bytes >= cut->height_bytes)
    return FALSE;
  shown->request.is_preview = FALSE;
  shown->plan->cut_short = cut->cut_short;
  shown->plan->proven_bound_bytes =
      MAX (shown->plan->proven_bound_bytes, cut->proven_bound_bytes);
  tessera_document_note_plan (self, NULL);
  tessera_document_changed (self, TESSERA_CHANGED_SHEETS);
  return TRUE;
}

/* What PyTorch needs does not depend on the plan: it is looked for once. */
static void
seek_needs (TesseraDocument *self)
{
  if (self->needs.expandable_bytes != 0)
    tessera_document_start_needs (self, TESSERA_LAYOUT_PLAN);
  else if (self->jobs[TESSERA_WORK_NEEDS] == NULL)
    tessera_document_start_needs (self, self->needs.native_bytes == 0
                                            ? TESSERA_LAYOUT_NATIVE
                                            : TESSERA_LAYOUT_EXPANDABLE);
}

static void
start_plan (TesseraDocument *self, gboolean is_preview)
{
  TesseraWorkInput *input;

  if (self->data == NULL)
    return;
  input = tessera_work_input_new (self);
  input->request.is_preview = is_preview;
  input->history = tessera_history_copy (self->history);
  input->conflict = (TesseraEditConflict){ TESSERA_NONE, TESSERA_NONE };
  if (self->sheets[TESSERA_SIDE_RIGHT] != NULL)
    input->sheets[TESSERA_SIDE_RIGHT] =
        tessera_sheet_ref (self->sheets[TESSERA_SIDE_RIGHT]);
  tessera_work_start (self, TESSERA_WORK_PLAN, &plan_kind, input);
}

static void
plan_done (gpointer owner, gpointer user, TesseraStatus status, const TesseraError *error)
{
  TesseraDocument *self = owner;
  TesseraWorkInput *input = user;

  if (status == TESSERA_REFUSED)
    self->conflict = input->conflict;
  if (tessera_work_finished (self, TESSERA_WORK_PLAN, status, error) &&
      !keep_preview (self, input))
    take_plan (self, input);
  if (status == TESSERA_REFUSED)
    tessera_document_changed (self, TESSERA_CHANGED_EDITS);
  if (status == TESSERA_OK && input->request.is_preview && input->path == NULL &&
      input->shown == NULL)
    start_plan (self, FALSE);
  else
    seek_needs (self);
}

void
tessera_document_plan (TesseraDocument *self)
{
  start_plan (self, FALSE);
}

void
tessera_document_plan_at_once (TesseraDocument *self)
{
  start_plan (self, TRUE);
}

void
tessera_document_show_plan (TesseraDocument *self, TesseraFollowed *planned)
{
  TesseraWorkInput *input;

  if (self->planned == planned || self->data == NULL)
    return;
  input = tessera_work_input_new (self);
  input->shown = tessera_followed_ref (planned);
  input->history = tessera_history_copy (self->history);
  tessera_work_start (self, TESSERA_WORK_PLAN, &plan_kind, input);
}

void
tessera_document_open_plan (TesseraDocument *self, const char *path)
{
  TesseraWorkInput *input;

  if (self->data == NULL)
    {
      tessera_document_take_error (
          self,
          g_strdup_printf ("%s is a plan: open the trace it was made from first.", path));
      return;
    }
  input = tessera_work_input_new (self);
  input->path = g_strdup (path);
  input->history = tessera_history_copy (self->history);
  tessera_work_start (self, TESSERA_WORK_PLAN, &plan_kind, input);
}

void
tessera_document_set_strategy (TesseraDocument *self, TesseraStrategy strategy)
{
  if (self->request.strategy == strategy)
    return;
  self->request.strategy = strategy;
  self->request.generation++;
  tessera_document_remember_height (self);
  tessera_document_changed (self, TESSERA_CHANGED_EDITS);
  tessera_document_plan_at_once (self);
}

/* --- needs ------------------------------------------------------------------------ */

static TesseraStatus
needs_work (TesseraJob *job, gpointer user, TesseraError *error)
{
  TesseraWorkInput *input = user;
  TesseraSimulateOptions options = {
    .kind = input->fit_kind,
    .plan = input->fit_kind == TESSERA_LAYOUT_PLAN ? input->planned->plan : NULL,
    .first_step = -1,
    .last_step = -1,
    .without_curves = true,
    .progress = tessera_job_progress (job, 0, 1),
  };

  return tessera_explain (tessera_fit (input->data->trace, input->data->blocks,
                                       input->data->structure, &options, error,
                                       &input->fit_bytes),
                          error, "looking for the smallest device");
}

static void
needs_done (gpointer owner,
            gpointer user,
            TesseraStatus status,
            const TesseraError *error)
{
  TesseraDocument *self = owner;
  TesseraWorkInput *input = user;

  if (!tessera_work_finished (self, TESSERA_WORK_NEEDS, status, error))
    return;
  if (input->fit_kind == TESSERA_LAYOUT_NATIVE)
    self->needs.native_bytes = input->fit_bytes;
  else if (input->fit_kind == TESSERA_LAYOUT_EXPANDABLE)
    self->needs.expandable_bytes = input->fit_bytes;
  else
    self->needs.plan_bytes = input->fit_bytes;
  tessera_document_refresh_verdict (self);
  if (input->fit_kind == TESSERA_LAYOUT_NATIVE)
    tessera_document_start_needs (self, TESSERA_LAYOUT_EXPANDABLE);
  else if (input->fit_kind == TESSERA_LAYOUT_EXPANDABLE && self->planned != NULL)
    tessera_document_start_needs (self, TESSERA_LAYOUT_PLAN);
}

static const TesseraJobKind needs_kind = { needs_work, needs_done, on_needs_progress,
                                           tessera_work_input_free, "needs" };

void
tessera_document_start_needs (TesseraDocument *self, TesseraLayoutKind kind)
{
  TesseraWorkInput *input;

  if (self->data == NULL || (kind == TESSERA_LAYOUT_PLAN && self->planned == NULL))
    return;
  input = tessera_work_input_new (self);
  input->fit_kind = kind;
  tessera_work_start (self, TESSERA_WORK_NEEDS, &needs_kind, input);
}

/* --- several plans side by side ------------------------------------------------------ */

/* Each holds a layout of all blocks and its curves. Those kept by hand do not count. */
#define MOST_KEPT 8

void
tessera_kept_free (gpointer user)
{
  TesseraKept *kept = user;

  g_free (kept->name);
  tessera_followed_unref (kept->followed);
  g_free (kept);
}

guint
tessera_document_n_kept (TesseraDocument *self)
{
  return self->kept->len;
}

const TesseraKept *
tessera_document_get_kept (TesseraDocument *self, guint index)
{
  return g_ptr_array_index (self->kept, index);
}

const char *
tessera_document_plan_name (TesseraDocument *self, const TesseraFollowed *followed)
{
  for (guint i = 0; i < self->kept->len; i++)
    if (tessera_document_get_kept (self, i)->followed == followed)
      return tessera_document_get_kept (self, i)->name;
  return NULL;
}

/* --- keeping ---------------------------------------------------------------------- */

static gboolean
is_shown (TesseraDocument *self, const TesseraKept *kept)
{
  return kept->followed == self->planned || kept->followed == self->left_planned;
}

/* What is oldest and nowhere to be seen goes; what was kept by hand never does. */
static void
make_room (TesseraDocument *self)
{
  guint n = 0;

  for (guint i = 0; i < self->kept->len; i++)
    n += !tessera_document_get_kept (self, i)->by_hand;
  for (guint i = 0; n >= MOST_KEPT && i < self->kept->len; i++)
    {
      const TesseraKept *kept = tessera_document_get_kept (self, i);

      if (kept->by_hand || is_shown (self, kept))
        continue;
      g_ptr_array_remove_index (self->kept, i--);
      n--;
    }
}

/* Takes @name over. */
static void
keep (TesseraDocument *self, char *name, TesseraFollowed *followed, gboolean by_hand)
{
  TesseraKept *kept = g_new0 (TesseraKept, 1);

  kept->name = name;
  kept->followed = tessera_followed_ref (followed);
  kept->made_s = g_get_real_time () / G_USEC_PER_SEC;
  kept->by_hand = by_hand;
  for (guint i = 0; i < self->kept->len; i++)
    {
      const TesseraKept *other = tessera_document_get_kept (self, i);

      if (!by_hand && !other->by_hand && g_str_equal (other->name, name))
        {
          g_ptr_array_remove_index (self->kept, i);
          break;
        }
    }
  if (!by_hand)
    make_room (self);
  g_ptr_array_add (self->kept, kept);
  tessera_document_changed (self, TESSERA_CHANGED_PLANS);
}

static char *
name_of (const TesseraFollowed *followed, const char *path)
{
  static const char *const strategies[] = {
    [TESSERA_STRATEGY_FREE] = "free",
    [TESSERA_STRATEGY_STALLOC] = "stalloc",
  };
  size_t n_edits = followed->plan->n_edits;
  GString *name;

  if (path != NULL)
    {
      g_autofree char *base = g_path_get_basename (path);

      return g_strdup (cli_shown (base));
    }
  name = g_string_new (strategies[followed->request.strategy]);
  if (n_edits > 0)
    g_string_append_printf (name, ", %zu edit%s", n_edits, n_edits == 1 ? "" : "s");
  if (followed->plan->cut_short != TESSERA_CUT_NOT)
    g_string_append (name, ", cut short");
  return g_string_free (name, FALSE);
}

void
tessera_document_note_plan (TesseraDocument *self, const char *path)
{
  if (!self->planned->request.is_preview &&
      tessera_document_plan_name (self, self->planned) == NULL)
    keep (self, name_of (self->planned, path), self->planned, FALSE);
}

void
tessera_document_keep_plan (TesseraDocument *self)
{
  if (self->planned == NULL)
    return;
  self->n_named++;
  keep (self, g_strdup_printf ("kept %u", self->n_named), self->planned, TRUE);
}

void
tessera_document_forget_kept (TesseraDocument *self, guint index)
{
  if (index >= self->kept->len)
    return;
  g_ptr_array_remove_index (self->kept, index);
  tessera_document_changed (self, TESSERA_CHANGED_PLANS);
}

void
tessera_document_show_kept (TesseraDocument *self, TesseraSide side, guint index)
{
  TesseraFollowed *followed;

  if (index >= self->kept->len)
    return;
  followed = tessera_document_get_kept (self, index)->followed;
  if (side == TESSERA_SIDE_RIGHT)
    tessera_document_show_plan (self, followed);
  else
    tessera_document_set_left_plan (self, followed);
}

/* --- comparing -------------------------------------------------------------------- */

typedef struct
{
  TesseraFollowed *left, *right;
  TesseraComparison *comparison;
  TesseraSelection *difference;
} Compare;

static void
compare_free (gpointer user)
{
  Compare *compare = user;

  tessera_followed_unref (compare->left);
  tessera_followed_unref (compare->right);
  tessera_comparison_free (compare->comparison);
  tessera_selection_unref (compare->difference);
  g_free (compare);
}

/* Where a plan's pool begins; TESSERA_NOWHERE: there is none. */
static uint64_t
pool_begin (const TesseraLayout *layout)
{
  return layout->pool_addr != 0 ? layout->pool_addr : TESSERA_NOWHERE;
}

/* Of every step, not only of the one that the plan repeats: as the run goes. */
static TesseraSelection *
find_difference (const TesseraFollowed *left, const TesseraFollowed *right)
{
  const TesseraLayout *a = left->layout, *b = right->layout;
  uint64_t begin_a = pool_begin (a), begin_b = pool_begin (b);
  size_t n = left->data->blocks->n_blocks;
  uint8_t *is_in = g_malloc0 (MAX (n, 1));

  for (size_t i = 0; i < n; i++)
    {
      gboolean hit_a = a->is_hit[i] && a->addr[i] != TESSERA_NOWHERE;
      gboolean hit_b = b->is_hit[i] && b->addr[i] != TESSERA_NOWHERE;

      is_in[i] =
          hit_a != hit_b || (hit_a && a->addr[i] - begin_a != b->addr[i] - begin_b);
    }
  return tessera_selection_new (n, is_in);
}

static TesseraStatus
compare_work (TesseraJob *job, gpointer user, TesseraError *error)
{
  Compare *compare = user;
  TesseraStatus status = tessera_compare_plans (compare->left->plan, compare->right->plan,
                                                error, &compare->comparison);

  if (status == TESSERA_OK)
    compare->difference = find_difference (compare->left, compare->right);
  return tessera_explain (status, error, "comparing the plans");
}

static void
drop_comparison (TesseraDocument *self)
{
  g_clear_pointer (&self->comparison, tessera_comparison_free);
  g_clear_pointer (&self->difference, tessera_selection_unref);
}

static void
compare_done (gpointer owner,
              gpointer user,
              TesseraStatus status,
              const TesseraError *error)
{
  TesseraDocument *self = owner;
  Compare *compare = user;

  if (!tessera_work_finished (self, TESSERA_WORK_COMPARE, status, error))
    return;
  drop_comparison (self);
  self->comparison = g_steal_pointer (&compare->comparison);
  self->difference = g_steal_pointer (&compare->difference);
  tessera_document_relight (self);
  tessera_document_changed (self, TESSERA_CHANGED_PLANS | TESSERA_CHANGED_SELECTION);
}

static const TesseraJobKind compare_kind = { compare_work, compare_done, NULL,
                                             compare_free, "comparison" };

void
tessera_document_refresh_comparison (TesseraDocument *self)
{
  Compare *compare;
  gboolean was_told = self->comparison != NULL || self->difference != NULL;

  g_clear_pointer (&self->jobs[TESSERA_WORK_COMPARE], tessera_job_drop);
  drop_comparison (self);
  if (was_told)
    {
      tessera_document_relight (self);
      tessera_document_changed (self, TESSERA_CHANGED_PLANS | TESSERA_CHANGED_SELECTION);
    }
  if (self->left_planned == NULL || self->planned == NULL)
    return;
  compare = g_new0 (Compare, 1);
  compare->left = tessera_followed_ref (self->left_planned);
  compare->right = tessera_followed_ref (self->planned);
  tessera_work_start (self, TESSERA_WORK_COMPARE, &compare_kind, compare);
}

void
tessera_document_set_show_difference (TesseraDocument *self, gboolean show)
{
  if (self->show_difference == show)
    return;
  self->show_difference = show;
  tessera_document_relight (self);
  tessera_document_changed (self, TESSERA_CHANGED_PLANS | TESSERA_CHANGED_SELECTION);
}

void
tessera_document_select_difference (TesseraDocument *self)
{
  if (self->difference != NULL)
    tessera_document_set_selection (self, tessera_selection_ref (self->difference),
                                    TESSERA_NONE);
}
