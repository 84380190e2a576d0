/* See regions.h. SPDX-License-Identifier: Apache-2.0 */
#include "planner/regions.h"

#include "planner/check.h"

TesseraRegionNeeds
tessera_region_needs (const TesseraPlan *plan)
{
  TesseraRegionNeeds needs = { .n_regions = 0 };

  for (int is_small = 1; is_small >= 0; is_small--)
    for (size_t i = 0; i < plan->n_regions && needs.n_regions < TESSERA_MAX_REGIONS; i++)
      {
        const TesseraRegion *region = &plan->regions[i];
        uint64_t size_bytes = region->end_bytes - region->begin_bytes;

        if (region->is_small != is_small)
          continue;
        needs.regions[needs.n_regions++] = *region;
        needs.whole_bytes += size_bytes;
        needs.small_bytes += is_small ? size_bytes : 0;
      }
  return needs;
}

TesseraStatus
tessera_regions_set (TesseraPlan *plan,
                     const TesseraTrace *trace,
                     const TesseraRegionNeeds *needs,
                     uint64_t size_bytes,
                     TesseraError *error)
{
  TesseraLaw law;
  TesseraStatus status;
  uint64_t left_bytes = size_bytes - size_bytes % plan->alignment_bytes;

  plan->n_regions = 0;
  for (size_t i = 0; i < needs->n_regions && left_bytes > 0; i++)
    {
      TesseraRegion region = needs->regions[i];
      uint64_t given_bytes = region.end_bytes - region.begin_bytes;

      given_bytes = given_bytes < left_bytes ? given_bytes : left_bytes;
      region.begin_bytes = tessera_plan_pool_bytes (plan);
      region.end_bytes = region.begin_bytes + given_bytes;
      plan->regions[plan->n_regions++] = region;
      left_bytes -= given_bytes;
    }
  plan->slot_digest = tessera_plan_digest (plan);
  status = tessera_check_plan (plan, trace, &law, error);
  plan->checked = status == TESSERA_OK;
  return status;
}

size_t
tessera_region_sizes (const TesseraRegionNeeds *needs,
                      uint64_t out_sizes[TESSERA_MAX_REGION_SIZES])
{
  const uint64_t small_bytes = needs->small_bytes;
  const uint64_t quarter_bytes = (needs->whole_bytes - small_bytes) / 4;
  const uint64_t wanted[TESSERA_MAX_REGION_SIZES] = {
    0,
    small_bytes / 2,
    small_bytes,
    small_bytes + quarter_bytes,
    small_bytes + 2 * quarter_bytes,
    small_bytes + 3 * quarter_bytes,
    needs->whole_bytes,
  };
  size_t n_sizes = 0;

  for (size_t i = 0; i < TESSERA_MAX_REGION_SIZES; i++)
    if (n_sizes == 0 || wanted[i] > out_sizes[n_sizes - 1])
      out_sizes[n_sizes++] = wanted[i];
  return n_sizes;
}
