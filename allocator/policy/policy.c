/*
 * The policy's face: which part of it serves a request, and figures over all parts.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/policy.h"

#include <stdlib.h>

struct TesseraPolicy
{
  TesseraPolicyKind kind;
  TesseraCaching *caching;
};

static TesseraStatus
open_caching (TesseraPolicy *policy,
              const TesseraPolicyOptions *options,
              TesseraDevice *device,
              const TesseraObserver *observer)
{
  TesseraCachingOptions caching = options->caching;

  caching.settings.is_expandable = policy->kind != TESSERA_POLICY_NATIVE;
  return tessera_caching_new (&caching, device, observer, &policy->caching);
}

TesseraStatus
tessera_policy_new (const TesseraPolicyOptions *options,
                    TesseraDevice *device,
                    const TesseraObserver *observer,
                    TesseraError *error,
                    TesseraPolicy **out_policy)
{
  TesseraPolicy *policy;
  TesseraStatus status;

  *out_policy = NULL;
  if (options->kind != TESSERA_POLICY_NATIVE &&
      options->kind != TESSERA_POLICY_EXPANDABLE)
    return tessera_fail (error, TESSERA_REFUSED,
                         "this version serves the policies native and expandable only");
  policy = calloc (1, sizeof *policy);
  if (policy == NULL)
    return tessera_fail (error, TESSERA_NO_MEMORY,
                         "there is no memory left for the allocation policy");
  policy->kind = options->kind;
  status = open_caching (policy, options, device, observer);
  if (status == TESSERA_OK)
    *out_policy = policy;
  else
    {
      tessera_fail (error, status,
                    status == TESSERA_NO_MEMORY
                        ? "there is no memory left for the allocation policy"
                        : "the allocator's settings make no sense together");
      tessera_policy_free (policy);
    }
  return status;
}

void
tessera_policy_free (TesseraPolicy *policy)
{
  if (policy == NULL)
    return;
  tessera_caching_free (policy->caching);
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
  return tessera_caching_malloc (policy->caching, size_bytes, stream, pool,
                                 &out_grant->grant);
}

TesseraStatus
tessera_policy_free_requested (TesseraPolicy *policy, uint64_t addr)
{
  return tessera_caching_free_requested (policy->caching, addr);
}

TesseraStatus
tessera_policy_free_completed (TesseraPolicy *policy, uint64_t addr)
{
  return tessera_caching_free_completed (policy->caching, addr);
}

void
tessera_policy_empty_cache (TesseraPolicy *policy)
{
  tessera_caching_empty_cache (policy->caching);
}

TesseraStatus
tessera_policy_set_stream_handle (TesseraPolicy *policy, uint32_t stream, uint64_t handle)
{
  return tessera_caching_set_stream_handle (policy->caching, stream, handle);
}

TesseraStatus
tessera_policy_set_pool (TesseraPolicy *policy,
                         uint32_t pool,
                         const TesseraCachingPoolOptions *options)
{
  return tessera_caching_set_pool (policy->caching, pool, options);
}

TesseraStatus
tessera_policy_release_pool (TesseraPolicy *policy, uint32_t pool)
{
  return tessera_caching_release_pool (policy->caching, pool);
}

void
tessera_policy_set_routed (TesseraPolicy *policy, bool is_routed)
{
  tessera_caching_set_routed (policy->caching, is_routed);
}

void
tessera_policy_set_limit (TesseraPolicy *policy, uint64_t limit_bytes)
{
  tessera_caching_set_limit (policy->caching, limit_bytes);
}

void
tessera_policy_step (TesseraPolicy *policy)
{
}

void
tessera_policy_phase (TesseraPolicy *policy, const char *name)
{
}

void
tessera_policy_get_stats (const TesseraPolicy *policy, TesseraPolicyStats *out_stats)
{
  *out_stats = (TesseraPolicyStats){ 0 };
  tessera_caching_get_stats (policy->caching, &out_stats->caching);
  out_stats->extra_bytes = out_stats->caching.reserved_bytes;
  out_stats->peak_extra_bytes = out_stats->caching.peak_reserved_bytes;
}

void
tessera_policy_reset_peaks (TesseraPolicy *policy)
{
  tessera_caching_reset_peaks (policy->caching);
}

void
tessera_policy_each (const TesseraPolicy *policy,
                     void (*visit) (void *user, const TesseraBlockInfo *info),
                     void *user)
{
  tessera_caching_each (policy->caching, visit, user);
}

TesseraCaching *
tessera_policy_caching (TesseraPolicy *policy)
{
  return policy->caching;
}

TesseraStatus
tessera_policy_check (const TesseraPolicy *policy, TesseraError *error)
{
  return tessera_caching_check (policy->caching, error);
}
