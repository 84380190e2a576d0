/*
 * Several plans side by side.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/model/document-private.h"

#include "cli/command.h"

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
  if (followed->plan->resumed_digest != 0)
    g_string_append (name, ", gone on");
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
