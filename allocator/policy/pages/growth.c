/*
 * A plan's pool that grows: see growth.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/policy/pages/growth.h"

static uint64_t
beside_bytes (const TesseraGrowth *growth)
{
  return growth->beside != NULL ? tessera_caching_stats (growth->beside)->reserved_bytes
                                : 0;
}

/* By this process. */
static uint64_t
held (const TesseraGrowth *growth)
{
  return growth->pages->held_bytes + beside_bytes (growth);
}

static bool
flush (TesseraGrowth *growth)
{
  if (growth->beside == NULL || !growth->may_flush)
    return false;
  tessera_caching_empty_cache (growth->beside);
  return true;
}

static bool
grow (TesseraGrowth *growth, uint64_t height_bytes)
{
  uint64_t limit_bytes = growth->limit_bytes;

  if (limit_bytes != 0)
    limit_bytes =
        limit_bytes > beside_bytes (growth) ? limit_bytes - beside_bytes (growth) : 1;
  /* Room first: once there are pages nothing may fail. */
  return tessera_guard_grow (growth->guard, growth->pages->held_bytes) == TESSERA_OK &&
         tessera_pages_grow (growth->pages, height_bytes, limit_bytes) &&
         tessera_guard_grow (growth->guard, growth->pages->held_bytes) == TESSERA_OK;
}

bool
tessera_growth_reach (TesseraGrowth *growth, uint64_t height_bytes)
{
  uint64_t held_bytes = growth->pages->held_bytes;

  if (height_bytes <= held_bytes)
    return true;
  if (height_bytes > growth->pages->n_bytes ||
      tessera_refusal_stands (growth->refusal, height_bytes - held_bytes, held (growth)))
    return false;
  if (grow (growth, height_bytes) || (flush (growth) && grow (growth, height_bytes)))
    {
      tessera_refusal_end (growth->refusal);
      return true;
    }
  tessera_refusal_note (growth->refusal, height_bytes - held_bytes, held (growth));
  return false;
}

uint64_t
tessera_growth_give_back (TesseraGrowth *growth)
{
  uint64_t kept_bytes = tessera_guard_needed (growth->guard);
  uint64_t returned_bytes;

  if (kept_bytes < growth->step_bytes)
    kept_bytes = growth->step_bytes;
  returned_bytes = tessera_pages_shrink (growth->pages, kept_bytes);
  if (returned_bytes > 0)
    tessera_guard_shrink (growth->guard, growth->pages->held_bytes);
  return returned_bytes;
}

bool
tessera_growth_find (TesseraGrowth *growth,
                     const TesseraGuardRequest *request,
                     uint64_t *out_offset_bytes)
{
  uint64_t needed_bytes;

  if (tessera_guard_find (growth->guard, request, false, UINT32_MAX, out_offset_bytes))
    return true;
  needed_bytes = tessera_guard_needed (growth->guard);
  return request->block_bytes <= growth->pages->n_bytes - needed_bytes &&
         tessera_growth_reach (growth, needed_bytes + request->block_bytes) &&
         tessera_guard_find (growth->guard, request, false, UINT32_MAX, out_offset_bytes);
}

bool
tessera_growth_find_above (TesseraGrowth *growth,
                           const TesseraGuardRequest *request,
                           uint64_t *out_offset_bytes)
{
  uint64_t offset_bytes = growth->step_bytes;

  while (offset_bytes <= growth->pages->n_bytes &&
         request->block_bytes <= growth->pages->n_bytes - offset_bytes)
    {
      uint64_t end_bytes;

      if (!tessera_growth_reach (growth, offset_bytes + request->block_bytes))
        return false;
      if (tessera_guard_ask (growth->guard, offset_bytes, request, &end_bytes) ==
          TESSERA_GUARD_GRANTED)
        {
          *out_offset_bytes = offset_bytes;
          return true;
        }
      if (end_bytes <= offset_bytes)
        return false;
      offset_bytes = end_bytes;
    }
  return false;
}
