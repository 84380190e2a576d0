/*
 * The policy's face: which part of it serves a request, and figures over all parts.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/policy.h"

#include <stdlib.h>

#include "allocator/follow/lengths/lengths.h"
#include "allocator/policy/direct.h"
#include "allocator/policy/pages/beside.h"
#include "allocator/policy/planned/planned.h"

typedef struct
{
  uint64_t allocated_bytes, active_bytes, requested_bytes;
  uint64_t reserved_bytes; /* while the pool had another size than it has */
  uint64_t extra_bytes;    /* ... beside it */
} Peaks;

struct TesseraPolicy
{
  TesseraPolicyKind kind;
  TesseraBeside beside;    /* plan: the device that @caching has */
  TesseraCaching *caching; /* plan: serves what the plan does not; direct: its slabs */
  TesseraPlanned *planned; /* plan only */
  TesseraDirect *direct;   /* direct only */
  uint64_t pool_bytes;     /* of the plan: that are held */
  uint64_t claimed_bytes;  /* ... or promised to it */
  uint64_t limit_bytes;    /* for all parts together; 0: none */
  Peaks peaks;             /* plan: of all parts together */
  TesseraObserver observer;
  bool is_declined; /* the plan, and the observer knows */
};

/* What the pool leaves of a limit, of which 0 would be none. */
static uint64_t
limit_beside_pool (const TesseraPolicy *policy, uint64_t limit_bytes)
{
  if (limit_bytes == 0 || limit_bytes > policy->claimed_bytes)
    return limit_bytes - (limit_bytes != 0 ? policy->claimed_bytes : 0);
  return 1;
}

/* What lies beside a plan's pool comes in pages as fine as the pool's own: what that
 * lends is not to be lost in pages that are used in part. */
static void
set_page_beside (TesseraPolicyOptions *options)
{
  const TesseraPlan *plan = options->plan;
  uint64_t *large_bytes = &options->caching.settings.large_segment_bytes;
  uint64_t pool_bytes, page_bytes;

  if (options->kind != TESSERA_POLICY_PLAN || !options->has_fine_pages || plan == NULL)
    return;
  if (!options->by_length)
    pool_bytes = tessera_plan_pool_bytes (plan);
  else if (plan->lengths == NULL ||
           tessera_lengths_height (plan->lengths, &pool_bytes) != TESSERA_OK)
    return;
  page_bytes = tessera_pages_page_bytes (pool_bytes);
  if (page_bytes < *large_bytes)
    *large_bytes = page_bytes;
}

static TesseraStatus
open_parts (TesseraPolicy *policy,
            const TesseraPolicyOptions *options,
            TesseraDevice *device,
            const TesseraObserver *observer,
            TesseraError *error)
{
  TesseraPolicyOptions fine = *options;
  TesseraCachingOptions caching;
  TesseraDevice *beside = device;
  TesseraStatus status;

  if (options->kind == TESSERA_POLICY_PLAN && options->plan != NULL &&
      !options->by_length)
    policy->claimed_bytes = tessera_plan_pool_bytes (options->plan);
  set_page_beside (&fine);
  caching = fine.caching;
  caching.settings.is_expandable = options->kind != TESSERA_POLICY_NATIVE;
  policy->limit_bytes = caching.limit_bytes;
  caching.limit_bytes = limit_beside_pool (policy, caching.limit_bytes);
  if (options->kind == TESSERA_POLICY_DIRECT)
    {
      status = tessera_direct_new (options, device, observer, &policy->direct);
      if (status == TESSERA_OK)
        policy->caching = tessera_direct_slabs (policy->direct);
    }
  else
    {
      tessera_beside_init (&policy->beside, device);
      if (options->kind == TESSERA_POLICY_PLAN)
        beside = &policy->beside.device;
      status = tessera_caching_new (&caching, beside, observer, &policy->caching);
    }
  if (status == TESSERA_INVALID)
    return tessera_fail (error, status,
                         "the allocator's settings make no sense together");
  /* Last: what it takes from the device stays there. */
  if (status == TESSERA_OK && options->kind == TESSERA_POLICY_PLAN)
    status = tessera_planned_new (&fine, device, policy->caching, observer, error,
                                  &policy->planned);
  if (policy->planned != NULL)
    policy->beside.pages = tessera_planned_pages (policy->planned);
  if (status == TESSERA_NO_MEMORY)
    tessera_fail (error, status, "there is no memory left for the allocation policy");
  return status;
}

static void
raise_to (uint64_t *peak_bytes, uint64_t bytes)
{
  if (bytes > *peak_bytes)
    *peak_bytes = bytes;
}

/* What is held now, over all parts. */
static void
sum_parts (const TesseraPolicy *policy, TesseraPolicyStats *out_stats)
{
  *out_stats = (TesseraPolicyStats){ 0 };
  if (policy->direct != NULL)
    tessera_direct_get_stats (policy->direct, &out_stats->caching);
  else
    tessera_caching_get_stats (policy->caching, &out_stats->caching);
  out_stats->extra_bytes = out_stats->caching.reserved_bytes;
  out_stats->peak_extra_bytes = out_stats->caching.peak_reserved_bytes;
  if (policy->planned != NULL)
    tessera_planned_add_stats (policy->planned, out_stats);
  out_stats->caching.peak_reserved_bytes += policy->pool_bytes;
}

/* After whatever may have declined the plan, or changed the size of its pool. */
static void
see_pool (TesseraPolicy *policy)
{
  TesseraPolicyStats stats;

  if (!tessera_planned_take_news (policy->planned))
    return;
  sum_parts (policy, &stats);
  raise_to (&policy->peaks.reserved_bytes, stats.caching.peak_reserved_bytes);
  raise_to (&policy->peaks.extra_bytes, stats.peak_extra_bytes);
  tessera_caching_reset_peaks (policy->caching);
  policy->pool_bytes = stats.pool_bytes;
  policy->claimed_bytes = stats.pool_bytes + stats.promised_bytes;
  tessera_caching_set_limit (policy->caching,
                             limit_beside_pool (policy, policy->limit_bytes));
  if (policy->observer.pool_sized != NULL)
    policy->observer.pool_sized (policy->observer.user);
  if (policy->is_declined || stats.decline.reason == TESSERA_NOT_DECLINED)
    return;
  policy->is_declined = true;
  if (policy->observer.plan_declined != NULL)
    policy->observer.plan_declined (policy->observer.user);
}

TesseraStatus
tessera_policy_new (const TesseraPolicyOptions *options,
                    TesseraDevice *device,
                    const TesseraObserver *observer,
                    TesseraError *error,
                    TesseraPolicy **out_policy)
{
  TesseraPolicy *policy;
  TesseraStatus status = TESSERA_NO_MEMORY;

  *out_policy = NULL;
  policy = calloc (1, sizeof *policy);
  if (policy == NULL)
    return tessera_fail (error, status,
                         "there is no memory left for the allocation policy");
  policy->kind = options->kind;
  if (observer != NULL)
    policy->observer = *observer;
  status = open_parts (policy, options, device, observer, error);
  if (status != TESSERA_OK)
    {
      tessera_policy_free (policy);
      return status;
    }
  if (policy->planned != NULL)
    see_pool (policy);
  *out_policy = policy;
  return TESSERA_OK;
}

void
tessera_policy_free (TesseraPolicy *policy)
{
  if (policy == NULL)
    return;
  if (policy->direct == NULL)
    tessera_caching_free (policy->caching);
  tessera_direct_free (policy->direct);
  tessera_planned_free (policy->planned);
  free (policy);
}

/* Peaks of a sum are no sum of peaks: after each request that can raise them. */
static void
raise_peaks (TesseraPolicy *policy)
{
  TesseraPolicyStats stats;

  if (policy->planned == NULL)
    return;
  sum_parts (policy, &stats);
  raise_to (&policy->peaks.allocated_bytes, stats.caching.allocated_bytes);
  raise_to (&policy->peaks.active_bytes, stats.caching.active_bytes);
  raise_to (&policy->peaks.requested_bytes, stats.caching.requested_bytes);
}

/* The device is full: the pool may have room, or memory to give back. What it gives back
 * serves whoever asks, so that comes first where no plan is followed any more. */
static TesseraStatus
serve_short (TesseraPolicy *policy,
             uint64_t size_bytes,
             uint32_t stream,
             uint32_t pool,
             TesseraPolicyGrant *out_grant)
{
  bool was_declined = policy->is_declined;
  TesseraStatus status = TESSERA_OUT_OF_DEVICE;

  if (!was_declined && tessera_planned_rescue (policy->planned, out_grant))
    {
      see_pool (policy);
      return TESSERA_OK;
    }
  /* The pool's end first, then the plan. */
  while (status == TESSERA_OUT_OF_DEVICE && tessera_planned_relieve (policy->planned))
    {
      see_pool (policy);
      status = tessera_caching_malloc (policy->caching, size_bytes, stream, pool,
                                       &out_grant->grant);
      tessera_planned_count_relieved (policy->planned);
    }
  if (status == TESSERA_OUT_OF_DEVICE && was_declined &&
      tessera_planned_rescue (policy->planned, out_grant))
    status = TESSERA_OK;
  return status;
}

static TesseraStatus
serve_beside (TesseraPolicy *policy,
              uint64_t size_bytes,
              uint32_t stream,
              uint32_t pool,
              TesseraPolicyGrant *out_grant)
{
  uint64_t growth_bytes;
  TesseraStatus status;

  if (tessera_planned_fill (policy->planned, out_grant))
    return TESSERA_OK;
  growth_bytes = tessera_caching_growth (policy->caching, size_bytes, stream, pool);
  tessera_planned_make_room (policy->planned, growth_bytes);
  see_pool (policy);
  status = tessera_caching_malloc (policy->caching, size_bytes, stream, pool,
                                   &out_grant->grant);
  if (status == TESSERA_OUT_OF_DEVICE)
    tessera_planned_see_refused (policy->planned, growth_bytes);
  return status;
}

/* By the plan, else by expandable rules. */
static TesseraStatus
serve_planned (TesseraPolicy *policy,
               uint64_t size_bytes,
               uint32_t stream,
               uint32_t pool,
               TesseraPolicyGrant *out_grant)
{
  TesseraStatus status =
      tessera_planned_malloc (policy->planned, size_bytes, stream, pool, out_grant);

  see_pool (policy);
  if (status == TESSERA_OK && out_grant->grant.addr == 0)
    status = serve_beside (policy, size_bytes, stream, pool, out_grant);
  if (status == TESSERA_OUT_OF_DEVICE)
    status = serve_short (policy, size_bytes, stream, pool, out_grant);
  tessera_planned_see_held (policy->planned);
  if (status == TESSERA_OK)
    raise_peaks (policy);
  return status;
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
  if (policy->direct != NULL)
    return tessera_direct_malloc (policy->direct, size_bytes, stream, pool,
                                  &out_grant->grant);
  /* No plan, judge or guard ever sees a size beyond reason. */
  if (policy->planned != NULL && size_bytes < TESSERA_REFUSED_FROM_BYTES)
    return serve_planned (policy, size_bytes, stream, pool, out_grant);
  return tessera_caching_malloc (policy->caching, size_bytes, stream, pool,
                                 &out_grant->grant);
}

TesseraStatus
tessera_policy_free_requested (TesseraPolicy *policy, uint64_t addr)
{
  if (policy->planned != NULL && tessera_planned_holds (policy->planned, addr))
    return tessera_planned_free_requested (policy->planned, addr);
  if (policy->direct != NULL)
    return tessera_direct_free_requested (policy->direct, addr);
  return tessera_caching_free_requested (policy->caching, addr);
}

TesseraStatus
tessera_policy_free_completed (TesseraPolicy *policy, uint64_t addr)
{
  if (policy->planned != NULL && tessera_planned_holds (policy->planned, addr))
    {
      TesseraStatus status = tessera_planned_free_completed (policy->planned, addr);

      see_pool (policy);
      return status;
    }
  if (policy->direct != NULL)
    return tessera_direct_free_completed (policy->direct, addr);
  return tessera_caching_free_completed (policy->caching, addr);
}

void
tessera_policy_empty_cache (TesseraPolicy *policy)
{
  tessera_caching_empty_cache (policy->caching);
  if (policy->planned == NULL)
    return;
  tessera_planned_empty_cache (policy->planned);
  see_pool (policy);
}

void
tessera_policy_see_streams (TesseraPolicy *policy)
{
  if (policy->planned != NULL)
    tessera_planned_see_streams (policy->planned);
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
  if (policy->planned != NULL)
    tessera_planned_release_pool (policy->planned, pool);
  return tessera_caching_release_pool (policy->caching, pool);
}

void
tessera_policy_set_routed (TesseraPolicy *policy, bool is_routed)
{
  tessera_caching_set_routed (policy->caching, is_routed);
  if (policy->planned == NULL)
    return;
  tessera_planned_set_routed (policy->planned, is_routed);
  see_pool (policy);
}

void
tessera_policy_set_limit (TesseraPolicy *policy, uint64_t limit_bytes)
{
  policy->limit_bytes = limit_bytes;
  if (policy->direct != NULL)
    tessera_direct_set_limit (policy->direct, limit_bytes);
  else
    tessera_caching_set_limit (policy->caching, limit_beside_pool (policy, limit_bytes));
  if (policy->planned != NULL)
    tessera_planned_set_limit (policy->planned, limit_bytes);
}

bool
tessera_policy_is_in_pool (const TesseraPolicy *policy, uint64_t addr)
{
  return policy->planned != NULL && tessera_planned_holds (policy->planned, addr);
}

void
tessera_policy_step (TesseraPolicy *policy)
{
  if (policy->planned == NULL)
    return;
  tessera_planned_step (policy->planned);
  see_pool (policy);
}

void
tessera_policy_phase (TesseraPolicy *policy, const char *name)
{
  if (policy->planned != NULL)
    tessera_planned_phase (policy->planned, name);
}

void
tessera_policy_get_stats (const TesseraPolicy *policy, TesseraPolicyStats *out_stats)
{
  sum_parts (policy, out_stats);
  if (policy->planned == NULL)
    return;
  out_stats->caching.peak_allocated_bytes = policy->peaks.allocated_bytes;
  out_stats->caching.peak_active_bytes = policy->peaks.active_bytes;
  out_stats->caching.peak_requested_bytes = policy->peaks.requested_bytes;
  raise_to (&out_stats->caching.peak_reserved_bytes, policy->peaks.reserved_bytes);
  raise_to (&out_stats->peak_extra_bytes, policy->peaks.extra_bytes);
}

void
tessera_policy_reset_peaks (TesseraPolicy *policy)
{
  if (policy->direct != NULL)
    tessera_direct_reset_peaks (policy->direct);
  tessera_caching_reset_peaks (policy->caching);
  policy->peaks = (Peaks){ 0 };
  raise_peaks (policy);
}

void
tessera_policy_each (const TesseraPolicy *policy,
                     void (*visit) (void *user, const TesseraBlockInfo *info),
                     void *user)
{
  if (policy->planned != NULL)
    tessera_planned_each (policy->planned, visit, user);
  if (policy->direct != NULL)
    tessera_direct_each (policy->direct, visit, user);
  else
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

TesseraStatus
tessera_policy_check (const TesseraPolicy *policy, TesseraError *error)
{
  TesseraStatus status = policy->direct != NULL
                             ? tessera_direct_check (policy->direct, error)
                             : tessera_caching_check (policy->caching, error);

  if (status == TESSERA_OK && policy->planned != NULL)
    status = tessera_planned_check (policy->planned, error);
  return status;
}
