/*
 * The face of all policies, and what they have in common: an allocator by PyTorch's
 * rules. Direct is that, with other sizes of segments, each of which goes back with its
 * last block.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/policy.h"

#include <stdlib.h>

#include "allocator/caching-replay.h"
#include "allocator/policy/planned.h"

/* Requests of 1 MiB and more have segments as large as they are. */
static TesseraRules
direct_rules (void)
{
  TesseraRules rules = tessera_rules_pytorch;

  rules.small_bytes = TESSERA_MIB - TESSERA_MIN_BLOCK_BYTES;
  rules.made_to_measure_bytes = 0;
  rules.segment_step_bytes = TESSERA_MIN_BLOCK_BYTES;
  return rules;
}

static TesseraStatus
new_without_plan (const TesseraPolicyOptions *options,
                  TesseraDevice *device,
                  const TesseraObserver *observer,
                  TesseraPolicy **out_policy)
{
  TesseraCachingOptions caching = options->caching;
  TesseraPolicy *policy = calloc (1, sizeof *policy);
  const TesseraRules rules = direct_rules ();
  TesseraStatus status;

  if (policy == NULL)
    return TESSERA_NO_MEMORY;
  policy->kind = options->kind;
  caching.settings.is_expandable = options->kind == TESSERA_POLICY_EXPANDABLE;
  if (options->kind == TESSERA_POLICY_DIRECT)
    caching.settings = (TesseraSettings){
      .max_split_bytes = UINT64_MAX,
      .large_segment_bytes = options->caching.settings.large_segment_bytes,
    };
  status = tessera_caching_new (&caching, device, observer, &policy->caching);
  if (status != TESSERA_OK)
    {
      free (policy);
      return status;
    }
  if (options->kind == TESSERA_POLICY_DIRECT)
    tessera_caching_set_rules (policy->caching, &rules);
  *out_policy = policy;
  return TESSERA_OK;
}

/* NULL: it follows no plan. */
static TesseraPlanned *
planned_of (const TesseraPolicy *policy)
{
  return policy->kind == TESSERA_POLICY_PLAN ? (TesseraPlanned *) policy : NULL;
}

TesseraStatus
tessera_policy_new (const TesseraPolicyOptions *options,
                    TesseraDevice *device,
                    const TesseraObserver *observer,
                    TesseraError *error,
                    TesseraPolicy **out_policy)
{
  const TesseraObserver nobody = { 0 };
  TesseraError reason = { 0 };
  TesseraStatus status;

  *out_policy = NULL;
  if (observer == NULL)
    observer = &nobody;
  if (options->kind == TESSERA_POLICY_PLAN)
    status = tessera_planned_new (options, device, observer, &reason, out_policy);
  else
    status = new_without_plan (options, device, observer, out_policy);
  if (status != TESSERA_OK && reason.text[0] != '\0')
    tessera_fail (error, status, "%s", reason.text);
  else if (status == TESSERA_INVALID)
    tessera_fail (error, status, "the allocator's settings make no sense together");
  else if (status != TESSERA_OK)
    tessera_fail (error, status, "there is no memory left for the allocation policy");
  return status;
}

void
tessera_policy_free (TesseraPolicy *policy)
{
  if (policy == NULL)
    return;
  tessera_caching_free (policy->caching);
  if (policy->kind == TESSERA_POLICY_PLAN)
    tessera_planned_clear (planned_of (policy));
  free (policy);
}

TesseraStatus
tessera_policy_malloc (TesseraPolicy *policy,
                       uint64_t size_bytes,
                       uint32_t stream,
                       uint32_t pool,
                       TesseraPolicyGrant *out_grant)
{
  *out_grant = (TesseraPolicyGrant){ .slot = TESSERA_NONE };
  if (size_bytes == 0 || pool > UINT16_MAX)
    return TESSERA_INVALID;
  /* No other rules ever see a size beyond reason: PyTorch's refuse it. */
  if (policy->kind == TESSERA_POLICY_PLAN && size_bytes < TESSERA_REFUSED_FROM_BYTES)
    return tessera_planned_malloc (planned_of (policy), size_bytes, stream, pool,
                                   out_grant);
  return tessera_caching_malloc (policy->caching, size_bytes, stream, pool,
                                 &out_grant->grant);
}

TesseraStatus
tessera_policy_free_requested (TesseraPolicy *policy, uint64_t addr)
{
  return tessera_policy_is_in_pool (policy, addr)
             ? tessera_planned_free_requested (planned_of (policy), addr)
             : tessera_caching_free_requested (policy->caching, addr);
}

TesseraStatus
tessera_policy_free_completed (TesseraPolicy *policy, uint64_t addr)
{
  if (tessera_policy_is_in_pool (policy, addr))
    return tessera_planned_free_completed (planned_of (policy), addr);
  return policy->kind == TESSERA_POLICY_DIRECT
             ? tessera_caching_free_to_device (policy->caching, addr)
             : tessera_caching_free_completed (policy->caching, addr);
}

void
tessera_policy_empty_cache (TesseraPolicy *policy)
{
  tessera_caching_empty_cache (policy->caching);
  if (policy->kind == TESSERA_POLICY_PLAN)
    tessera_planned_empty_cache (planned_of (policy));
}

void
tessera_policy_see_streams (TesseraPolicy *policy)
{
  if (policy->kind == TESSERA_POLICY_PLAN)
    tessera_occupancy_see_streams (planned_of (policy)->pool.map);
}

void
tessera_policy_forget_stream (TesseraPolicy *policy, uint32_t stream)
{
  if (policy->kind == TESSERA_POLICY_PLAN)
    tessera_occupancy_set_ordered (planned_of (policy)->pool.map, stream, 0);
}

TesseraStatus
tessera_policy_set_stream_handle (TesseraPolicy *policy, uint32_t stream, uint64_t handle)
{
  if (stream > 0)
    tessera_policy_see_streams (policy);
  return tessera_caching_set_stream_handle (policy->caching, stream, handle);
}

TesseraStatus
tessera_policy_release_pool (TesseraPolicy *policy, uint32_t pool)
{
  if (policy->kind == TESSERA_POLICY_PLAN)
    tessera_planned_release_pool (planned_of (policy), pool);
  return tessera_caching_release_pool (policy->caching, pool);
}

void
tessera_policy_set_routed (TesseraPolicy *policy, bool is_routed)
{
  tessera_caching_set_routed (policy->caching, is_routed);
  if (policy->kind == TESSERA_POLICY_PLAN)
    tessera_planned_set_routed (planned_of (policy), is_routed);
}

void
tessera_policy_set_limit (TesseraPolicy *policy, uint64_t limit_bytes)
{
  if (policy->kind == TESSERA_POLICY_PLAN)
    tessera_planned_set_limit (planned_of (policy), limit_bytes);
  else
    tessera_caching_set_limit (policy->caching, limit_bytes);
}

bool
tessera_policy_is_in_pool (const TesseraPolicy *policy, uint64_t addr)
{
  const TesseraPlanned *planned = planned_of (policy);

  return planned != NULL && addr - planned->pool.addr < planned->pool.n_bytes;
}

void
tessera_policy_step (TesseraPolicy *policy)
{
  if (policy->kind == TESSERA_POLICY_PLAN)
    tessera_planned_step (planned_of (policy));
}

void
tessera_policy_phase (TesseraPolicy *policy, const char *name)
{
  if (policy->kind == TESSERA_POLICY_PLAN)
    tessera_planned_phase (planned_of (policy), name);
}

void
tessera_policy_get_stats (const TesseraPolicy *policy, TesseraPolicyStats *out_stats)
{
  const TesseraCachingStats *caching = tessera_caching_stats (policy->caching);

  *out_stats = (TesseraPolicyStats){ .caching = *caching,
                                     .extra_bytes = caching->reserved_bytes,
                                     .peak_extra_bytes = caching->peak_reserved_bytes };
  if (policy->kind == TESSERA_POLICY_PLAN)
    tessera_planned_add_stats (planned_of (policy), out_stats);
}

void
tessera_policy_reset_peaks (TesseraPolicy *policy)
{
  tessera_caching_reset_peaks (policy->caching);
  if (policy->kind == TESSERA_POLICY_PLAN)
    tessera_planned_reset_peaks (planned_of (policy));
}

void
tessera_policy_each (const TesseraPolicy *policy,
                     void (*visit) (void *user, const TesseraBlockInfo *info),
                     void *user)
{
  const TesseraPlanned *planned = planned_of (policy);

  if (planned != NULL)
    tessera_occupancy_each (planned->pool.map, planned->pool.addr, visit, user);
  tessera_caching_each (policy->caching, visit, user);
}

TesseraCaching *
tessera_policy_caching (TesseraPolicy *policy)
{
  return policy->kind == TESSERA_POLICY_NATIVE ||
                 policy->kind == TESSERA_POLICY_EXPANDABLE
             ? policy->caching
             : NULL;
}
