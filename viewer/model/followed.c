/*
 * Plans that were made or read, and how the trace runs when it follows them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/model/data.h"

#include "db/store.h"
#include "planner/check.h"
#include "simulator/advice.h"

static void
planned_clear (gpointer user)
{
  TesseraFollowed *planned = user;

  tessera_layout_free (planned->layout);
  tessera_plan_free (planned->plan);
  tessera_data_unref (planned->data);
}

TesseraFollowed *
tessera_followed_ref (TesseraFollowed *planned)
{
  return g_atomic_rc_box_acquire (planned);
}

void
tessera_followed_unref (TesseraFollowed *planned)
{
  if (planned != NULL)
    g_atomic_rc_box_release_full (planned, planned_clear);
}

/* The planner's sentences are for behind a colon. */
static void
make_whole (TesseraError *error)
{
  error->text[0] = g_ascii_toupper (error->text[0]);
  if (!g_str_has_suffix (error->text, "."))
    g_strlcat (error->text, ".", sizeof error->text);
}

/* Plans made here hold nothing for other lengths, so nothing is dropped. */
static TesseraStatus
advise (TesseraFollowed *planned, const TesseraPlanWatch *watch, TesseraError *error)
{
  const TesseraData *data = planned->data;
  char *no_lengths = NULL;
  TesseraStatus status =
      tessera_advise_plan (data->trace, data->blocks, data->structure, planned->plan,
                           true, planned->layout, watch->following, error, &no_lengths);

  free (no_lengths);
  return tessera_explain (status, error, "following the plan");
}

TesseraStatus
tessera_followed_new (TesseraData *data,
                      const TesseraPlanRequest *request,
                      const TesseraHistory *history,
                      const TesseraFollowed *former,
                      const TesseraPlanWatch *watch,
                      TesseraError *error,
                      TesseraEditConflict *out_conflict,
                      TesseraFollowed **out_planned)
{
  TesseraFollowed *planned = g_atomic_rc_box_new0 (TesseraFollowed);
  TesseraPlanOptions options = { .strategy = request->strategy,
                                 .is_preview = request->is_preview,
                                 .former = former != NULL ? former->plan : NULL,
                                 .resumed = request->goes_on && former != NULL
                                                ? former->plan
                                                : NULL,
                                 .out_conflict = out_conflict,
                                 .first_step = -1,
                                 .last_step = -1,
                                 .progress = watch->planning,
                                 .keeps_best = !request->is_preview,
                                 .listener = watch->listener };
  gint64 begin_us = g_get_monotonic_time ();
  TesseraStatus status;

  *out_planned = NULL;
  planned->data = tessera_data_ref (data);
  planned->request = *request;
  if (history != NULL)
    {
      options.edits = tessera_history_get (history, &options.n_edits);
      options.n_edits = tessera_history_get_n_standing (history);
    }
  status =
      tessera_explain (tessera_plan_trace (data->trace, data->blocks, data->structure,
                                           &options, error, &planned->plan),
                       error, "planning");
  if (status != TESSERA_OK && error != NULL)
    make_whole (error);
  if (status == TESSERA_OK && history != NULL && planned->plan->n_edits == 0)
    tessera_history_into_plan (history, planned->plan);
  if (status == TESSERA_OK)
    status = tessera_data_simulate (data, TESSERA_LAYOUT_PLAN, planned->plan,
                                    watch->following, error, &planned->layout);
  if (status == TESSERA_OK && !request->is_preview)
    status = advise (planned, watch, error);
  planned->seconds = (double) (g_get_monotonic_time () - begin_us) / 1e6;
  if (status == TESSERA_OK)
    *out_planned = g_steal_pointer (&planned);
  tessera_followed_unref (planned);
  return status;
}

TesseraStatus
tessera_followed_load (TesseraData *data,
                       const char *path,
                       const TesseraProgress *progress,
                       TesseraError *error,
                       TesseraFollowed **out_planned)
{
  TesseraFollowed *planned = g_atomic_rc_box_new0 (TesseraFollowed);
  TesseraLaw law;
  TesseraStatus status;

  *out_planned = NULL;
  planned->data = tessera_data_ref (data);
  status = tessera_plan_load (path, error, &planned->plan);
  if (status == TESSERA_OK)
    status = tessera_check_plan (planned->plan, data->trace, &law, error);
  if (status == TESSERA_OK)
    status = tessera_data_simulate (data, TESSERA_LAYOUT_PLAN, planned->plan, progress,
                                    error, &planned->layout);
  if (status == TESSERA_OK)
    *out_planned = g_steal_pointer (&planned);
  tessera_followed_unref (planned);
  return tessera_explain (status, error, "reading the plan");
}

uint64_t
tessera_followed_peak_bytes (const TesseraFollowed *planned, uint64_t *out_beside_bytes)
{
  const TesseraLayout *layout = planned->layout;
  uint64_t pool_bytes = tessera_plan_pool_bytes (planned->plan);

  *out_beside_bytes =
      layout->peak_reserved_bytes - MIN (layout->peak_reserved_bytes, pool_bytes);
  return planned->plan->height_bytes + *out_beside_bytes;
}
