/*
 * What a trace file became: events, blocks, structure, and the layouts made from them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/model/data.h"

#include <stdlib.h>

#include "planner/planner.h"
#include "recorder/import/import.h"

static void
folds_clear (TesseraFolds *folds)
{
  tessera_fold_free (folds->live);
  tessera_fold_free (folds->allocated);
  tessera_fold_free (folds->reserved);
}

static void
data_clear (gpointer user)
{
  TesseraData *data = user;

  tessera_groups_free (data->groups, data->n_groups);
  g_mutex_clear (&data->lock);
  if (data->origin != NULL)
    {
      free (data->blocks->blocks);
      g_free (data->blocks);
      tessera_data_unref (data->origin);
      return;
    }
  for (int i = 0; i < TESSERA_N_LAYOUTS; i++)
    {
      folds_clear (&data->folds[i]);
      tessera_layout_free (data->layouts[i]);
    }
  for (int i = 0; i < TESSERA_N_AXES; i++)
    tessera_axis_free (data->axes[i]);
  tessera_structure_free (data->structure);
  tessera_blocks_free (data->blocks);
  tessera_trace_free (data->trace);
}

TesseraData *
tessera_data_ref (TesseraData *data)
{
  return g_atomic_rc_box_acquire (data);
}

void
tessera_data_unref (TesseraData *data)
{
  if (data != NULL)
    g_atomic_rc_box_release_full (data, data_clear);
}

TesseraStatus
tessera_explain (TesseraStatus status, TesseraError *error, const char *doing)
{
  if (status == TESSERA_OK)
    return status;
  if (status == TESSERA_NO_MEMORY)
    return tessera_fail (
        error, status, "This computer ran out of memory while %s: close other programs.",
        doing);
  if (status == TESSERA_CANCELLED)
    return tessera_fail (error, status, "Stopped while %s.", doing);
  return tessera_fail (error, status, "Something went wrong while %s.", doing);
}

TesseraStatus
tessera_data_read (const char *path,
                   uint32_t device,
                   const TesseraProgress *progress,
                   TesseraError *error,
                   TesseraData **out_data)
{
  TesseraData *data = g_atomic_rc_box_new0 (TesseraData);
  TesseraOpenOptions options = { .device = device, .progress = progress };
  TesseraError found = { 0 };
  TesseraStatus status;

  *out_data = NULL;
  g_mutex_init (&data->lock);
  status = tessera_explain (tessera_open (path, &options, error, &data->trace), error,
                            "reading");
  if (status == TESSERA_OK)
    status = tessera_explain (tessera_blocks_new (data->trace, &data->blocks), error,
                              "looking for blocks");
  if (status == TESSERA_OK)
    {
      status = tessera_check_blocks (data->blocks, &found);
      if (status != TESSERA_OK)
        tessera_fail (error, status, "%s: %s", path, found.text);
    }
  if (status == TESSERA_OK)
    {
      data->pool = tessera_recorded_pool (data->trace);
      data->own_kind =
          data->trace->has_addresses ? TESSERA_LAYOUT_RECORDED : TESSERA_LAYOUT_NATIVE;
      *out_data = g_steal_pointer (&data);
    }
  tessera_data_unref (data);
  return status;
}

TesseraStatus
tessera_data_analyse (TesseraData *data, TesseraError *error)
{
  TesseraStatus status =
      tessera_structure_new (data->trace, data->blocks, &data->structure);

  if (status == TESSERA_OK)
    status = tessera_group_blocks (data->trace, data->blocks, data->structure,
                                   &data->groups, &data->n_groups);
  if (status == TESSERA_OK)
    data->bound_bytes = tessera_blocks_bound (data->blocks, 0, data->blocks->n_events,
                                              &data->bound_index);
  if (status == TESSERA_OK)
    status = tessera_leak_find (data->blocks, data->structure, &data->leak);
  return tessera_explain (status, error, "looking for steps and groups");
}

TesseraData *
tessera_data_origin (TesseraData *data)
{
  return data->origin != NULL ? data->origin : data;
}

gboolean
tessera_edits_are_of_groups (const TesseraEdit *edits, size_t n_edits)
{
  for (size_t i = 0; i < n_edits; i++)
    switch (edits[i].kind)
      {
      case TESSERA_EDIT_MERGE:
      case TESSERA_EDIT_SPLIT:
      case TESSERA_EDIT_GROUP:
      case TESSERA_EDIT_MOVE:
      case TESSERA_EDIT_CLASS:
        return TRUE;
      default:
        break;
      }
  return FALSE;
}

/* Shares all that edits of groups leave as it is. */
static TesseraData *
derive (TesseraData *origin)
{
  TesseraData *data = g_atomic_rc_box_new0 (TesseraData);

  g_mutex_init (&data->lock);
  data->origin = tessera_data_ref (origin);
  data->trace = origin->trace;
  data->structure = origin->structure;
  data->pool = origin->pool;
  data->own_kind = origin->own_kind;
  data->bound_bytes = origin->bound_bytes;
  data->bound_index = origin->bound_index;
  data->blocks = g_memdup2 (origin->blocks, sizeof *origin->blocks);
  data->blocks->blocks = NULL;
  return data;
}

/* Of one origin: every block is in the same group and class as in the other, and groups
 * are named and told of alike. */
static gboolean
are_alike (const TesseraData *a, const TesseraData *b)
{
  if (a->n_groups != b->n_groups)
    return FALSE;
  for (size_t i = 0; i < a->n_groups; i++)
    if (!g_str_equal (a->groups[i].name, b->groups[i].name) ||
        a->groups[i].kind != b->groups[i].kind ||
        a->groups[i].lifetime_class != b->groups[i].lifetime_class ||
        a->groups[i].height_bytes != b->groups[i].height_bytes)
      return FALSE;
  for (size_t i = 0; i < a->blocks->n_blocks; i++)
    if (a->blocks->blocks[i].group != b->blocks->blocks[i].group ||
        a->blocks->blocks[i].lifetime_class != b->blocks->blocks[i].lifetime_class)
      return FALSE;
  return TRUE;
}

TesseraStatus
tessera_data_regroup (TesseraData *data,
                      const TesseraEdit *edits,
                      size_t n_edits,
                      TesseraError *error,
                      TesseraData **out_data)
{
  TesseraData *origin = tessera_data_origin (data), *edited;
  TesseraStatus status;

  *out_data = NULL;
  if (!tessera_edits_are_of_groups (edits, n_edits))
    {
      *out_data = tessera_data_ref (origin);
      return TESSERA_OK;
    }
  edited = derive (origin);
  status = tessera_edits_regroup (origin->trace, origin->blocks, origin->structure, edits,
                                  n_edits, error, NULL, &edited->blocks->blocks,
                                  &edited->groups, &edited->n_groups);
  if (status == TESSERA_OK)
    *out_data =
        are_alike (edited, data) ? tessera_data_ref (data) : g_steal_pointer (&edited);
  tessera_data_unref (edited);
  return status == TESSERA_REFUSED
             ? status
             : tessera_explain (status, error, "putting blocks into their groups");
}

TesseraStatus
tessera_data_get_axis (TesseraData *data,
                       TesseraAxisKind kind,
                       TesseraError *error,
                       const TesseraAxis **out_axis)
{
  TesseraAxis *axis = NULL;
  TesseraStatus status = TESSERA_OK;

  data = tessera_data_origin (data);
  g_mutex_lock (&data->lock);
  *out_axis = data->axes[kind];
  g_mutex_unlock (&data->lock);
  if (*out_axis != NULL)
    return TESSERA_OK;
  status = tessera_explain (tessera_axis_new (data->trace, data->blocks, kind, &axis),
                            error, "laying out the time axis");
  g_mutex_lock (&data->lock);
  if (status == TESSERA_OK && data->axes[kind] == NULL)
    data->axes[kind] = g_steal_pointer (&axis);
  *out_axis = data->axes[kind];
  g_mutex_unlock (&data->lock);
  tessera_axis_free (axis);
  return status;
}

static TesseraStatus
folds_new (const TesseraLayout *layout, TesseraFolds *folds)
{
  TesseraStatus status;
  uint32_t n = layout->n_events;

  status = tessera_fold_new (layout->curves.live_bytes, n, &folds->live);
  if (status == TESSERA_OK)
    status = tessera_fold_new (layout->curves.allocated_bytes, n, &folds->allocated);
  if (status == TESSERA_OK)
    status = tessera_fold_new (layout->curves.reserved_bytes, n, &folds->reserved);
  return status;
}

TesseraStatus
tessera_data_simulate (TesseraData *data,
                       TesseraLayoutKind kind,
                       const TesseraPlan *plan,
                       const TesseraProgress *progress,
                       TesseraError *error,
                       TesseraLayout **out_layout)
{
  TesseraSimulateOptions options = {
    .kind = kind,
    .plan = plan,
    .device_bytes = kind == TESSERA_LAYOUT_RECORDED ? 0 : data->trace->device_bytes,
    .first_step = -1,
    .last_step = -1,
    .progress = progress,
  };

  return tessera_explain (tessera_simulate (data->trace, data->blocks,
                                            plan != NULL ? data->structure : NULL,
                                            &options, error, out_layout),
                          error, "simulating the allocator");
}

TesseraStatus
tessera_data_get_layout (TesseraData *data,
                         TesseraLayoutKind kind,
                         const TesseraProgress *progress,
                         TesseraError *error,
                         const TesseraLayout **out_layout)
{
  TesseraLayout *layout = NULL;
  TesseraFolds folds = { NULL };
  TesseraStatus status;

  data = tessera_data_origin (data);
  g_mutex_lock (&data->lock);
  *out_layout = data->layouts[kind];
  g_mutex_unlock (&data->lock);
  if (*out_layout != NULL)
    return TESSERA_OK;
  status = tessera_data_simulate (data, kind, NULL, progress, error, &layout);
  if (status == TESSERA_OK)
    status = tessera_explain (folds_new (layout, &folds), error, "folding the curves");
  g_mutex_lock (&data->lock);
  if (status == TESSERA_OK && data->layouts[kind] == NULL)
    {
      data->layouts[kind] = g_steal_pointer (&layout);
      data->folds[kind] = folds;
      folds = (TesseraFolds){ NULL };
    }
  *out_layout = data->layouts[kind];
  g_mutex_unlock (&data->lock);
  folds_clear (&folds);
  tessera_layout_free (layout);
  return status;
}

const TesseraFolds *
tessera_data_get_folds (TesseraData *data, TesseraLayoutKind kind)
{
  return &tessera_data_origin (data)->folds[kind];
}
