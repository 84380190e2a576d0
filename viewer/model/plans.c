/*
 * Planning, what the policies need, and several plans side by side.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/model/document-private.h"

#include "cli/study.h"
#include "db/plan.h"

/* --- planning --------------------------------------------------------------------- */

/* Stopped, it ends with what it has; a preview, and what is only looked at, does not. */
static gboolean
keeps_best (const TesseraJob *job)
{
  return !job->request.is_preview && job->path == NULL && job->shown == NULL;
}

/* Where it is stopped the best plan so far is the result, cut short, and followed all the
 * same; a preview is none. The plan that stands is a hint for a preview. */
static TesseraStatus
make_plan (TesseraJob *job, TesseraError *error)
{
  TesseraData *data = tessera_data_origin (job->data);
  TesseraFollowed *planned = job->made = tessera_followed_new (data);
  const gboolean is_preview = job->request.is_preview;
  TesseraPlanOptions options = {
    .strategy = job->request.strategy,
    .streams = job->request.streams,
    .is_preview = is_preview,
    .former = job->planned != NULL ? job->planned->plan : NULL,
    .out_conflict = &job->conflict,
    .first_step = -1,
    .last_step = -1,
    .progress = tessera_job_progress (job, 0, 0.9, FALSE),
    .keeps_best = !is_preview,
    .listener = keeps_best (job) ? &job->listener : NULL,
  };
  gint64 begin_us = g_get_monotonic_time ();
  TesseraStatus status;

  planned->request = job->request;
  if (job->history != NULL)
    {
      options.edits = tessera_history_get (job->history, &options.n_edits);
      options.n_edits = tessera_history_get_n_standing (job->history);
    }
  status =
      tessera_explain (tessera_plan_trace (data->trace, data->blocks, data->structure,
                                           &options, error, &planned->plan),
                       error, "planning");
  if (status != TESSERA_OK)
    tessera_make_sentence (error);
  if (status == TESSERA_OK && job->history != NULL && planned->plan->n_edits == 0)
    tessera_history_into_plan (job->history, planned->plan);
  if (status == TESSERA_OK)
    {
      const TesseraFollowOptions follow = {
        .laws = tessera_data_get_laws (data),
        .lengths = { .edits = options.edits, .n_edits = options.n_edits },
        .without_advice = is_preview,
        .progress = tessera_job_progress (job, 0, 0.9, keeps_best (job)),
      };

      status = tessera_followed_run (planned, &follow, error);
    }
  planned->seconds = (double) (g_get_monotonic_time () - begin_us) / 1e6;
  return status;
}

static TesseraStatus
find_plan (TesseraJob *job, TesseraError *error)
{
  const TesseraSheet *was = job->sheets[TESSERA_SIDE_RIGHT];
  TesseraData *data = tessera_data_origin (job->data);
  TesseraStatus status = TESSERA_OK;

  if (job->shown != NULL)
    job->made = tessera_followed_ref (job->shown);
  else if (job->path != NULL)
    status = tessera_followed_load (
        data, job->path, tessera_job_progress (job, 0, 0.9, FALSE), error, &job->made);
  else
    status = make_plan (job, error);
  if (status != TESSERA_OK)
    return status;
  status = tessera_sheet_new (data, job->made, TESSERA_LAYOUT_PLAN, job->axis_kind,
                              tessera_job_progress (job, 0.9, 1, keeps_best (job)), error,
                              &job->new_sheets[TESSERA_SIDE_RIGHT]);
  if (status == TESSERA_OK && was != NULL)
    job->moves = tessera_moves_new (was, job->new_sheets[TESSERA_SIDE_RIGHT]);
  return status;
}

/* @path: (nullable): of the file it was read from. */
static void note_plan (TesseraDocument *self, const char *path);

/* The plan that was stays unless there is a new one. */
static void
take_plan (TesseraDocument *self, TesseraJob *job)
{
  tessera_document_drop_proposal (self);
  g_clear_pointer (&self->moves, g_array_unref);
  /* Heights of two axes cannot be compared, nor times. */
  self->moves = job->axis_kind == self->axis_kind ? g_steal_pointer (&job->moves) : NULL;
  tessera_followed_unref (self->planned);
  self->planned = g_steal_pointer (&job->made);
  /* One that was there before is what was asked for, whatever stands. */
  self->planned->request.generation = job->path != NULL || job->shown != NULL
                                          ? self->request.generation
                                          : job->request.generation;
  tessera_sheet_unref (self->sheets[TESSERA_SIDE_RIGHT]);
  self->sheets[TESSERA_SIDE_RIGHT] =
      g_steal_pointer (&job->new_sheets[TESSERA_SIDE_RIGHT]);
  self->needs.plan_bytes = 0;
  tessera_document_refresh_world (self);
  note_plan (self, job->path);
  tessera_document_changed (self, TESSERA_CHANGED_SHEETS);
  tessera_document_refresh_comparison (self);
  if (job->axis_kind != self->axis_kind)
    tessera_document_refresh_sheets (self);
}

/* Stopped early, a plan can be higher than the preview of it: then the preview, which is
 * checked as well, is the best there is. */
static gboolean
keep_preview (TesseraDocument *self, const TesseraJob *job)
{
  TesseraFollowed *shown = self->planned;
  const TesseraPlan *cut = job->made->plan;

  if (!cut->cut_short || !keeps_best (job) || shown == NULL ||
      !shown->request.is_preview ||
      shown->request.generation != job->request.generation ||
      shown->height_bytes >= job->made->height_bytes)
    return FALSE;
  shown->request.is_preview = FALSE;
  shown->plan->cut_short = cut->cut_short;
  shown->plan->proven_bound_bytes =
      MAX (shown->plan->proven_bound_bytes, cut->proven_bound_bytes);
  if (shown->length == 0)
    shown->bound_bytes = tessera_plan_proven_bound (shown->plan);
  note_plan (self, NULL);
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
end_plan (TesseraDocument *self, TesseraJob *job)
{
  if (!keep_preview (self, job))
    take_plan (self, job);
  if (job->request.is_preview && job->path == NULL && job->shown == NULL)
    tessera_document_plan (self, FALSE);
  else
    seek_needs (self);
}

static void
go_without_plan (TesseraDocument *self, TesseraJob *job)
{
  if (job->status == TESSERA_REFUSED)
    {
      self->conflict = job->conflict;
      tessera_document_changed (self, TESSERA_CHANGED_EDITS);
    }
  seek_needs (self);
}

static const TesseraWorkKind plan_kind = { TESSERA_WORK_PLAN, "plan", find_plan, end_plan,
                                           go_without_plan };

static TesseraJob *
planning_new (TesseraDocument *self)
{
  TesseraJob *job = tessera_job_new (self, &plan_kind);

  job->history = tessera_history_copy (self->history);
  job->conflict = (TesseraEditConflict){ TESSERA_NONE, TESSERA_NONE };
  return job;
}

void
tessera_document_plan (TesseraDocument *self, gboolean is_preview)
{
  TesseraJob *job;

  if (self->data == NULL)
    return;
  job = planning_new (self);
  job->request.is_preview = is_preview;
  tessera_job_start (self, job);
}

static void
show_plan (TesseraDocument *self, TesseraFollowed *planned)
{
  TesseraJob *job;

  if (self->planned == planned || self->data == NULL)
    return;
  job = planning_new (self);
  job->shown = tessera_followed_ref (planned);
  tessera_job_start (self, job);
}

void
tessera_document_open_plan (TesseraDocument *self, const char *path)
{
  TesseraJob *job;

  if (self->data == NULL)
    {
      tessera_document_take_error (
          self,
          g_strdup_printf ("%s is a plan: open the trace it was made from first.", path));
      return;
    }
  job = planning_new (self);
  job->path = g_strdup (path);
  tessera_job_start (self, job);
}

/* What is asked for changed. */
static void
plan_otherwise (TesseraDocument *self)
{
  self->request.generation++;
  tessera_document_remember_height (self);
  tessera_document_changed (self, TESSERA_CHANGED_EDITS);
  tessera_document_plan (self, TRUE);
}

void
tessera_document_set_strategy (TesseraDocument *self, TesseraStrategy strategy)
{
  if (self->request.strategy == strategy)
    return;
  self->request.strategy = strategy;
  plan_otherwise (self);
}

gboolean
tessera_document_has_streams (const TesseraDocument *self)
{
  return self->data != NULL && self->data->trace->n_streams > 1;
}

void
tessera_document_set_streams (TesseraDocument *self, TesseraStreams streams)
{
  if (self->request.streams == streams || !tessera_document_has_streams (self))
    return;
  self->request.streams = streams;
  plan_otherwise (self);
}

/* --- needs ------------------------------------------------------------------------ */

static TesseraStatus
find_need (TesseraJob *job, TesseraError *error)
{
  const TesseraData *data = tessera_data_origin (job->data);
  const gboolean is_plan = job->policy == TESSERA_LAYOUT_PLAN;
  const TesseraSimulateOptions options = {
    .kind = job->policy,
    .plan = is_plan ? job->planned->plan : NULL,
    .by_length = is_plan && job->planned->length > 0,
    .progress = tessera_job_progress (job, 0, 1, FALSE),
  };
  TesseraNeed need;
  TesseraStatus status;

  status = tessera_explain (
      tessera_fit (data->trace, data->blocks, data->structure, &options, error, &need),
      error, "looking for the smallest device");
  job->bytes = need.smallest_bytes;
  return status;
}

static void
take_need (TesseraDocument *self, TesseraJob *job)
{
  uint64_t *const needs[] = {
    [TESSERA_LAYOUT_NATIVE] = &self->needs.native_bytes,
    [TESSERA_LAYOUT_EXPANDABLE] = &self->needs.expandable_bytes,
    [TESSERA_LAYOUT_PLAN] = &self->needs.plan_bytes,
  };

  *needs[job->policy] = job->bytes;
  tessera_document_refresh_verdict (self);
  if (job->policy != TESSERA_LAYOUT_PLAN)
    tessera_document_start_needs (self, job->policy + 1);
}

static const TesseraWorkKind needs_kind = { TESSERA_WORK_NEEDS, "needs", find_need,
                                            take_need };

void
tessera_document_start_needs (TesseraDocument *self, TesseraLayoutKind policy)
{
  TesseraJob *job;

  if (self->data == NULL || (policy == TESSERA_LAYOUT_PLAN && self->planned == NULL))
    return;
  job = tessera_job_new (self, &needs_kind);
  job->policy = policy;
  tessera_job_start (self, job);
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
  if (followed->plan->crosses_streams)
    g_string_append (name, ", across streams");
  if (n_edits > 0)
    g_string_append_printf (name, ", %s", TESSERA_COUNTED (n_edits, "edit"));
  if (followed->plan->cut_short)
    g_string_append (name, ", cut short");
  return g_string_free (name, FALSE);
}

static void
note_plan (TesseraDocument *self, const char *path)
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
    show_plan (self, followed);
  else
    tessera_document_set_left_plan (self, followed);
}

/* --- comparing -------------------------------------------------------------------- */

/* Of every step, not only of the one that the plan repeats: as the run goes. */
static uint8_t *
find_difference (const TesseraFollowed *left, const TesseraFollowed *right)
{
  const TesseraLayout *a = left->layout, *b = right->layout;
  size_t n = left->data->blocks->n_blocks;
  uint8_t *is_in = g_malloc0 (MAX (n, 1));

  for (size_t i = 0; i < n; i++)
    {
      gboolean hit_a = a->is_hit[i] && a->addr[i] != TESSERA_NOWHERE;
      gboolean hit_b = b->is_hit[i] && b->addr[i] != TESSERA_NOWHERE;

      is_in[i] = hit_a != hit_b ||
                 (hit_a && a->addr[i] - a->pool_addr != b->addr[i] - b->pool_addr);
    }
  return is_in;
}

static TesseraStatus
compare_plans (TesseraJob *job, TesseraError *error)
{
  TesseraStatus status = tessera_compare_plans (
      job->left_planned->plan, job->planned->plan, error, &job->comparison);

  if (status == TESSERA_OK)
    job->is_in = find_difference (job->left_planned, job->planned);
  return tessera_explain (status, error, "comparing the plans");
}

static void
drop_comparison (TesseraDocument *self)
{
  g_clear_pointer (&self->comparison, tessera_comparison_free);
  g_clear_pointer (&self->difference, tessera_selection_unref);
}

static void
take_comparison (TesseraDocument *self, TesseraJob *job)
{
  drop_comparison (self);
  self->comparison = g_steal_pointer (&job->comparison);
  self->difference =
      tessera_selection_new (job->data->blocks->n_blocks, g_steal_pointer (&job->is_in));
  tessera_document_relight (self);
  tessera_document_changed (self, TESSERA_CHANGED_PLANS | TESSERA_CHANGED_SELECTION);
}

static const TesseraWorkKind compare_kind = { TESSERA_WORK_COMPARE, "comparison",
                                              compare_plans, take_comparison };

void
tessera_document_refresh_comparison (TesseraDocument *self)
{
  gboolean was_reported = self->comparison != NULL || self->difference != NULL;

  g_clear_pointer (&self->jobs[TESSERA_WORK_COMPARE], tessera_job_drop);
  drop_comparison (self);
  if (was_reported)
    {
      tessera_document_relight (self);
      tessera_document_changed (self, TESSERA_CHANGED_PLANS | TESSERA_CHANGED_SELECTION);
    }
  if (self->left_planned != NULL && self->planned != NULL)
    tessera_job_start (self, tessera_job_new (self, &compare_kind));
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
