/*
 * Plans that were made and followed, and layouts ready to be drawn.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/document/sheet.h"

#include "db/store.h"
#include "planner/check.h"
#include "planner/planner.h"

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

TesseraStatus
tessera_followed_new (TesseraData *data,
                      gboolean across_streams,
                      const TesseraProgress *progress,
                      TesseraError *error,
                      TesseraFollowed **out_planned)
{
  TesseraFollowed *planned = g_atomic_rc_box_new0 (TesseraFollowed);
  TesseraPlanOptions options = { .across_streams = across_streams,
                                 .first_step = -1,
                                 .last_step = -1,
                                 .progress = progress };
  gint64 begin_us = g_get_monotonic_time ();
  TesseraStatus status;

  *out_planned = NULL;
  planned->data = tessera_data_ref (data);
  status =
      tessera_explain (tessera_plan_trace (data->trace, data->blocks, data->structure,
                                           &options, error, &planned->plan),
                       error, "planning");
  planned->seconds = (double) (g_get_monotonic_time () - begin_us) / 1e6;
  if (status == TESSERA_OK)
    status = tessera_data_simulate (data, TESSERA_LAYOUT_PLAN, planned->plan, progress,
                                    error, &planned->layout);
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

static void
sheet_clear (gpointer user)
{
  TesseraSheet *sheet = user;

  tessera_scene_free (sheet->scene);
  tessera_followed_unref (sheet->planned);
  tessera_data_unref (sheet->data);
}

TesseraSheet *
tessera_sheet_ref (TesseraSheet *sheet)
{
  return g_atomic_rc_box_acquire (sheet);
}

void
tessera_sheet_unref (TesseraSheet *sheet)
{
  if (sheet != NULL)
    g_atomic_rc_box_release_full (sheet, sheet_clear);
}

TesseraStatus
tessera_sheet_new (TesseraData *data,
                   TesseraFollowed *planned,
                   TesseraLayoutKind kind,
                   TesseraAxisKind axis_kind,
                   const TesseraProgress *progress,
                   TesseraError *error,
                   TesseraSheet **out_sheet)
{
  TesseraSheet *sheet = g_atomic_rc_box_new0 (TesseraSheet);
  TesseraStatus status = TESSERA_OK;

  *out_sheet = NULL;
  sheet->data = tessera_data_ref (data);
  sheet->planned = planned != NULL ? tessera_followed_ref (planned) : NULL;
  if (planned != NULL)
    sheet->layout = planned->layout;
  else
    status = tessera_data_get_layout (data, kind, progress, error, &sheet->layout);
  if (status == TESSERA_OK)
    status = tessera_data_get_axis (data, axis_kind, error, &sheet->axis);
  if (status == TESSERA_OK)
    status = tessera_explain (
        tessera_scene_new (data->blocks, sheet->layout, sheet->axis, &sheet->scene),
        error, "making the picture");
  if (status == TESSERA_OK)
    *out_sheet = g_steal_pointer (&sheet);
  tessera_sheet_unref (sheet);
  return status;
}

double
tessera_sheet_t_of (const TesseraSheet *sheet, uint32_t event_index)
{
  return sheet->axis->at[MIN (event_index, sheet->axis->n_events)];
}
