/*
 * What a trace file became, how it runs under a plan, and layouts ready to be drawn.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/model/data.h"

#include "cli/study.h"
#include "db/store.h"
#include "recorder/import/import.h"

#include <stdlib.h>

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
    tessera_layout_free (data->layouts[i]);
  for (int i = 0; i < TESSERA_N_AXES; i++)
    tessera_axis_free (data->axes[i]);
  g_free (data->filling);
  tessera_whose_clear (&data->whose);
  tessera_laws_free (data->laws);
  tessera_structure_free (data->structure);
  tessera_blocks_free (data->blocks);
  tessera_trace_free (data->trace);
}

TESSERA_DEFINE_SHARED (TesseraData, tessera_data, data_clear)

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
    {
      data->blocks = tessera_blocks_new (data->trace);
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

void
tessera_data_analyse (TesseraData *data)
{
  data->structure = tessera_structure_new (data->trace, data->blocks);
  tessera_group_blocks (data->trace, data->blocks, data->structure, &data->groups,
                        &data->n_groups);
  data->bound_bytes =
      tessera_blocks_bound (data->blocks, 0, data->blocks->n_events, &data->bound_index);
  data->leak = tessera_leak_find (data->trace, data->blocks, data->structure);
  data->whose = (TesseraWhose){ .trace = data->trace,
                                .blocks = data->blocks,
                                .structure = data->structure };
  if (tessera_whose_find (&data->whose, NULL, "the trace", &data->rules_error) !=
      TESSERA_OK)
    g_warn_if_fail (tessera_whose_find (&data->whose, "", "", NULL) == TESSERA_OK);
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
    if (tessera_edit_is_of_groups (&edits[i]))
      return TRUE;
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
  data->whose = origin->whose;
  data->filling = origin->filling;
  data->blocks = g_memdup2 (origin->blocks, sizeof *origin->blocks);
  data->blocks->blocks = NULL;
  return data;
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
    *out_data = g_steal_pointer (&edited);
  tessera_data_unref (edited);
  return status == TESSERA_REFUSED
             ? status
             : tessera_explain (status, error, "putting blocks into their groups");
}

const TesseraAxis *
tessera_data_get_axis (TesseraData *data, TesseraAxisKind kind)
{
  data = tessera_data_origin (data);
  if (g_once_init_enter (&data->axes[kind]))
    g_once_init_leave (&data->axes[kind],
                       tessera_axis_new (data->trace, data->blocks, kind));
  return data->axes[kind];
}

const TesseraLaws *
tessera_data_get_laws (TesseraData *data)
{
  data = tessera_data_origin (data);
  if (g_once_init_enter (&data->laws))
    g_once_init_leave (&data->laws,
                       tessera_laws_new (data->trace, data->blocks, data->structure));
  return data->laws;
}

TesseraStatus
tessera_data_get_layout (TesseraData *data,
                         TesseraLayoutKind kind,
                         const TesseraProgress *progress,
                         TesseraError *error,
                         const TesseraLayout **out_layout)
{
  TesseraSimulateOptions options = { .kind = kind, .progress = progress };
  TesseraLayout *layout = NULL;
  TesseraStatus status;

  data = tessera_data_origin (data);
  if (kind != TESSERA_LAYOUT_RECORDED)
    options.device_bytes = data->trace->device_bytes;
  g_mutex_lock (&data->lock);
  *out_layout = data->layouts[kind];
  g_mutex_unlock (&data->lock);
  if (*out_layout != NULL)
    return TESSERA_OK;
  status = tessera_explain (
      tessera_simulate (data->trace, data->blocks, NULL, &options, error, &layout), error,
      "simulating the allocator");
  g_mutex_lock (&data->lock);
  if (status == TESSERA_OK && data->layouts[kind] == NULL)
    data->layouts[kind] = g_steal_pointer (&layout);
  *out_layout = data->layouts[kind];
  g_mutex_unlock (&data->lock);
  tessera_layout_free (layout);
  return status;
}

const TesseraLayout *
tessera_data_own_layout (TesseraData *data)
{
  return tessera_data_origin (data)->layouts[data->own_kind];
}

/* --- a plan, and how the trace runs under it ----------------------------------------- */

static void
planned_clear (gpointer user)
{
  TesseraFollowed *planned = user;

  g_free (planned->why_no_lengths);
  tessera_layout_free (planned->layout);
  tessera_plan_free (planned->plan);
  tessera_data_unref (planned->data);
}

TESSERA_DEFINE_SHARED (TesseraFollowed, tessera_followed, planned_clear)

void
tessera_make_sentence (TesseraError *error)
{
  error->text[0] = g_ascii_toupper (error->text[0]);
  if (!g_str_has_suffix (error->text, "."))
    g_strlcat (error->text, ".", sizeof error->text);
}

TesseraFollowed *
tessera_followed_new (TesseraData *data)
{
  TesseraFollowed *planned = g_atomic_rc_box_new0 (TesseraFollowed);

  planned->data = tessera_data_ref (data);
  return planned;
}

static void
measure (TesseraFollowed *planned)
{
  const TesseraPlan *plan = planned->plan;
  TesseraLengthsNeed need;

  planned->height_bytes = plan->height_bytes;
  planned->bound_bytes = tessera_plan_proven_bound (plan);
  if (plan->lengths == NULL)
    return;
  planned->length = tessera_lengths_fullest (plan->lengths, &need).length;
  planned->height_bytes = need.height_bytes;
  planned->bound_bytes = need.bound_bytes;
  /* The one that is shown, unless some of what is alive then lies beside the pool. */
  if (planned->height_bytes >= planned->data->bound_bytes)
    planned->bound_bytes = MAX (need.bound_bytes, planned->data->bound_bytes);
}

TesseraStatus
tessera_followed_run (TesseraFollowed *planned,
                      const TesseraFollowOptions *options,
                      TesseraError *error)
{
  const TesseraData *data = planned->data;
  TesseraStatus status = tessera_follow_plan (data->trace, data->blocks, data->structure,
                                              options, planned->plan, error,
                                              &planned->layout, &planned->why_no_lengths);

  measure (planned);
  return tessera_explain (status, error, "following the plan");
}

TesseraStatus
tessera_followed_load (TesseraData *data,
                       const char *path,
                       const TesseraProgress *progress,
                       TesseraError *error,
                       TesseraFollowed **out_planned)
{
  const TesseraFollowOptions follow = { .without_advice = true, .progress = progress };
  TesseraFollowed *planned = tessera_followed_new (data);
  TesseraLaw law;
  TesseraStatus status;

  *out_planned = NULL;
  status = tessera_plan_load (path, error, &planned->plan);
  if (status == TESSERA_OK)
    status = cli_check_plan (planned->plan, data->trace, &law, error);
  if (status == TESSERA_OK)
    status = tessera_followed_run (planned, &follow, error);
  if (status == TESSERA_OK)
    *out_planned = g_steal_pointer (&planned);
  tessera_followed_unref (planned);
  return tessera_explain (status, error, "reading the plan");
}

uint64_t
tessera_followed_peak_bytes (const TesseraFollowed *planned, uint64_t *out_beside_bytes)
{
  const TesseraLayout *layout = planned->layout;
  uint64_t pool_bytes = planned->length > 0 ? planned->height_bytes
                                            : tessera_plan_pool_bytes (planned->plan);

  *out_beside_bytes =
      layout->peak_reserved_bytes - MIN (layout->peak_reserved_bytes, pool_bytes);
  return planned->height_bytes + *out_beside_bytes;
}

/* --- a layout ready to be drawn ------------------------------------------------------ */

static void
sheet_clear (gpointer user)
{
  TesseraSheet *sheet = user;

  tessera_scene_free (sheet->scene);
  tessera_followed_unref (sheet->planned);
  tessera_data_unref (sheet->data);
}

TESSERA_DEFINE_SHARED (TesseraSheet, tessera_sheet, sheet_clear)

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
  sheet->planned = tessera_followed_ref (planned);
  if (planned != NULL)
    sheet->layout = planned->layout;
  else
    status = tessera_data_get_layout (data, kind, progress, error, &sheet->layout);
  if (status == TESSERA_OK)
    {
      sheet->axis = tessera_data_get_axis (data, axis_kind);
      sheet->scene = tessera_scene_new (data->blocks, sheet->layout, sheet->axis);
      *out_sheet = g_steal_pointer (&sheet);
    }
  tessera_sheet_unref (sheet);
  return status;
}

double
tessera_sheet_t_of (const TesseraSheet *sheet, uint32_t event_index)
{
  return sheet->axis->at[MIN (event_index, sheet->axis->n_events)];
}
