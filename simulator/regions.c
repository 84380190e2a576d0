/* See regions.h. SPDX-License-Identifier: Apache-2.0 */
#include "simulator/regions.h"

#include <string.h>

typedef struct
{
  const TesseraTrace *trace;
  const TesseraBlocks *blocks;
  const TesseraStructure *structure;
  const TesseraProgress *progress;
  TesseraError *error;
} Trial;

/* @plan: (nullable): NULL: under the rules of expandable segments */
static TesseraStatus
simulate (const Trial *trial, const TesseraPlan *plan, TesseraRegionRow *out_row)
{
  const TesseraSimulateOptions options = {
    .kind = plan != NULL ? TESSERA_LAYOUT_PLAN : TESSERA_LAYOUT_EXPANDABLE,
    .plan = plan,
    .first_step = -1,
    .last_step = -1,
    .without_curves = true,
    .progress = trial->progress,
  };
  TesseraLayout *layout = NULL;
  TesseraStatus status = tessera_simulate (trial->trace, trial->blocks, trial->structure,
                                           &options, trial->error, &layout);

  if (status != TESSERA_OK)
    return status;
  *out_row = (TesseraRegionRow){ .reserved_bytes = layout->peak_reserved_bytes,
                                 .n_misses = layout->n_misses,
                                 .miss_bytes = layout->miss_bytes,
                                 .is_declined = layout->declined_index != 0 };
  tessera_layout_free (layout);
  return TESSERA_OK;
}

static TesseraStatus
try_size (const Trial *trial,
          TesseraPlan *plan,
          const TesseraRegionNeeds *needs,
          uint64_t size_bytes,
          TesseraRegionRow *out_row)
{
  TesseraStatus status =
      tessera_regions_set (plan, trial->trace, needs, size_bytes, trial->error);

  if (status == TESSERA_OK)
    status = simulate (trial, plan, out_row);
  out_row->pool_bytes = tessera_plan_pool_bytes (plan);
  out_row->region_bytes = out_row->pool_bytes - plan->height_bytes;
  return status;
}

TesseraStatus
tessera_region_curve (const TesseraTrace *trace,
                      const TesseraBlocks *blocks,
                      const TesseraStructure *structure,
                      TesseraPlan *plan,
                      const TesseraRegionNeeds *needs,
                      const TesseraProgress *progress,
                      TesseraError *error,
                      TesseraRegionCurve *out_curve)
{
  const Trial trial = { trace, blocks, structure, progress, error };
  const uint64_t before_bytes = tessera_plan_pool_bytes (plan) - plan->height_bytes;
  uint64_t sizes[TESSERA_MAX_REGION_SIZES];
  size_t n_sizes = tessera_region_sizes (needs, sizes);
  TesseraRegionRow expandable;
  TesseraStatus status = simulate (&trial, NULL, &expandable);

  memset (out_curve, 0, sizeof *out_curve);
  if (status == TESSERA_OK)
    out_curve->expandable_bytes = expandable.reserved_bytes;
  for (size_t i = 0; i < n_sizes && status == TESSERA_OK; i++)
    status =
        try_size (&trial, plan, needs, sizes[i], &out_curve->rows[out_curve->n_rows++]);
  return status == TESSERA_OK
             ? tessera_regions_set (plan, trace, needs, before_bytes, error)
             : status;
}

static bool
is_better (const TesseraRegionRow *a, const TesseraRegionRow *b)
{
  if (a->reserved_bytes != b->reserved_bytes)
    return a->reserved_bytes < b->reserved_bytes;
  if (a->is_declined != b->is_declined)
    return b->is_declined;
  return a->n_misses < b->n_misses;
}

size_t
tessera_region_curve_best (const TesseraRegionCurve *curve)
{
  size_t best = 0;

  for (size_t i = 1; i < curve->n_rows; i++)
    if (is_better (&curve->rows[i], &curve->rows[best]))
      best = i;
  return best;
}
