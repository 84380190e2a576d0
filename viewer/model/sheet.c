/*
 * Layouts ready to be drawn.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/model/data.h"

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
