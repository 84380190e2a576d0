/*
 * The face of all policies, and what they have in common: an allocator by PyTorch's
 * rules.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/policy.h"

#include <stdlib.h>

#include "allocator/policy/functions.h"

static TesseraStatus
new_pytorch (const TesseraPolicyOptions *options,
             TesseraDevice *device,
             const TesseraObserver *observer,
             TesseraPolicy **out_policy)
{
  static const TesseraPolicyFunctions functions = { 0 };
  TesseraCachingOptions caching = options->caching;
  TesseraPolicy *policy = calloc (1, sizeof *policy);
  TesseraStatus status;

  if (policy == NULL)
    return TESSERA_NO_MEMORY;
  policy->functions = &functions;
  caching.settings.is_expandable = options->kind == TESSERA_POLICY_EXPANDABLE;
  status = tessera_caching_new (&caching, device, observer, &policy->caching);
  if (status == TESSERA_OK)
    *out_policy = policy;
  else
    free (policy);
  return status;
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
  if (options->kind == TESSERA_POLICY_DIRECT)
    status = tessera_direct_new (options, device, observer, out_policy);
  else if (options->kind == TESSERA_POLICY_PLAN)
    status = tessera_planned_new (options, device, observer, &reason, out_policy);
  else
    status = new_pytorch (options, device, observer, out_policy);
  if (status == TESSERA_OK)
    (*out_policy)->kind = options->kind;
  else if (reason.text[0] != '\0')
    tessera_fail (error, status, "%s", reason.text);
  else if (status == TESSERA_INVALID)
    tessera_fail (error, status, "the allocator's settings make no sense together");
  else
    tessera_fail (error, status, "there is no memory left for the allocation policy");
  return status;
}

void
tessera_policy_free (TesseraPolicy *policy)
{
  if (policy == NULL)
    return;
  tessera_caching_free (policy->caching);
  if (policy->functions->free != NULL)
    policy->functions->free (policy);
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
  if (policy->functions->malloc != NULL && size_bytes < TESSERA_REFUSED_FROM_BYTES)
    return policy->functions->malloc (policy, size_bytes, stream, pool, out_grant);
  return tessera_caching_malloc (policy->caching, size_bytes, stream, pool,
                                 &out_grant->grant);
}

TesseraStatus
tessera_policy_free_requested (TesseraPolicy *policy, uint64_t addr)
{
  if (policy->functions->free_requested != NULL)
    return policy->functions->free_requested (policy, addr);
  return tessera_caching_free_requested (policy->caching, addr);
}

TesseraStatus
tessera_policy_free_completed (TesseraPolicy *policy, uint64_t addr)
{
  if (policy->functions->free_completed != NULL)
    return policy->functions->free_completed (policy, addr);
  return tessera_caching_free_completed (policy->caching, addr);
}

void
tessera_policy_empty_cache (TesseraPolicy *policy)
{
  tessera_caching_empty_cache (policy->caching);
  if (policy->functions->empty_cache != NULL)
    policy->functions->empty_cache (policy);
}

void
tessera_policy_see_streams (TesseraPolicy *policy)
{
  if (policy->functions->see_streams != NULL)
    policy->functions->see_streams (policy);
}

void
tessera_policy_forget_stream (TesseraPolicy *policy, uint32_t stream)
{
  if (policy->functions->forget_stream != NULL)
    policy->functions->forget_stream (policy, stream);
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
  if (policy->functions->release_pool != NULL)
    policy->functions->release_pool (policy, pool);
  return tessera_caching_release_pool (policy->caching, pool);
}

void
tessera_policy_set_routed (TesseraPolicy *policy, bool is_routed)
{
  tessera_caching_set_routed (policy->caching, is_routed);
  if (policy->functions->set_routed != NULL)
    policy->functions->set_routed (policy, is_routed);
}

void
tessera_policy_set_limit (TesseraPolicy *policy, uint64_t limit_bytes)
{
  if (policy->functions->set_limit != NULL)
    policy->functions->set_limit (policy, limit_bytes);
  else
    tessera_caching_set_limit (policy->caching, limit_bytes);
}

bool
tessera_policy_is_in_pool (const TesseraPolicy *policy, uint64_t addr)
{
  return policy->functions->is_in_pool != NULL &&
         policy->functions->is_in_pool (policy, addr);
}

void
tessera_policy_step (TesseraPolicy *policy)
{
  if (policy->functions->step != NULL)
    policy->functions->step (policy);
}

void
tessera_policy_phase (TesseraPolicy *policy, const char *name)
{
  if (policy->functions->phase != NULL)
    policy->functions->phase (policy, name);
}

void
tessera_policy_get_stats (const TesseraPolicy *policy, TesseraPolicyStats *out_stats)
{
  const TesseraCachingStats *caching = tessera_caching_stats (policy->caching);

  *out_stats = (TesseraPolicyStats){ .caching = *caching,
                                     .extra_bytes = caching->reserved_bytes,
                                     .peak_extra_bytes = caching->peak_reserved_bytes };
  if (policy->functions->add_stats != NULL)
    policy->functions->add_stats (policy, out_stats);
}

void
tessera_policy_reset_peaks (TesseraPolicy *policy)
{
  tessera_caching_reset_peaks (policy->caching);
  if (policy->functions->reset_peaks != NULL)
    policy->functions->reset_peaks (policy);
}

void
tessera_policy_each (const TesseraPolicy *policy,
                     void (*visit) (void *user, const TesseraBlockInfo *info),
                     void *user)
{
  if (policy->functions->each != NULL)
    policy->functions->each (policy, visit, user);
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
