/*
 * Requests, frees and marks of all policies; of one with a plan: pool, matching, misses.
 *
 * A step that a plan for every length is not for gets the lowest places that are free. A
 * plan that does not fit the run is declined, for good: nothing more is placed by it,
 * what lies in the pool stays until it is freed, and whole pages that nobody needs are
 * given back, at once and later at marks, when memory is short, and at the first request
 * after the last block was freed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdlib.h>

#include "allocator/policy/planned.h"

enum
{
  /* Misses of a step, and their share of its bytes, from which on nobody planned it; and
     parts of the run, what comes before the first step is one, that were planned by then:
     else the plan is another run's, and will be declined. */
  STRANGE_REQUESTS = 4,
  STRANGE_SHARE = 4,
  FAMILIAR_PARTS = 2,
  MAX_SOUGHT = 64, /* requests of a step that places are looked for in its own slots */
  MAX_PIECES = 256 /* of a declined plan's pool that each large request looks at */
};

static bool
has_plan (const TesseraPolicy *policy)
{
  return policy->kind == TESSERA_POLICY_PLAN;
}

/* Not declined yet. */
static bool
is_followed (const TesseraPolicy *policy)
{
  return policy->follower != NULL || policy->by_length != NULL;
}

/* ---- The pool beside the rest ---- */

static void
raise_peaks (TesseraPolicy *policy)
{
  const TesseraCachingStats *beside = tessera_caching_stats (policy->caching);
  const TesseraOccupancyStats *inside = tessera_occupancy_stats (policy->pool.map);
  TesseraCachingStats *peaks = &policy->peaks.caching;

  tessera_raise_to (&peaks->peak_allocated_bytes,
                    beside->allocated_bytes + inside->allocated_bytes);
  tessera_raise_to (&peaks->peak_active_bytes,
                    beside->active_bytes + inside->active_bytes);
  tessera_raise_to (&peaks->peak_requested_bytes,
                    beside->requested_bytes + inside->requested_bytes);
  tessera_raise_to (&peaks->peak_reserved_bytes,
                    beside->reserved_bytes + policy->pool.held_bytes);
  tessera_raise_to (&policy->peaks.peak_extra_bytes, beside->reserved_bytes);
  tessera_raise_to (&policy->peaks.peak_kept_bytes,
                    beside->reserved_bytes + policy->pool.height_bytes);
}

void
tessera_planned_limit_beside (TesseraPolicy *policy)
{
  uint64_t claimed_bytes = policy->pool.held_bytes + policy->pool.promised_bytes;
  uint64_t limit_bytes = policy->limit_bytes;

  if (limit_bytes != 0)
    limit_bytes = limit_bytes > claimed_bytes ? limit_bytes - claimed_bytes : 1;
  tessera_caching_set_limit (policy->caching, limit_bytes);
  tessera_caching_set_kept (policy->caching, policy->pool.promised_bytes);
}

/* After whatever may have changed the pool. */
static void
see_pool (TesseraPolicy *policy)
{
  const TesseraPool *pool = &policy->pool;

  if (pool->held_bytes == policy->seen_held_bytes &&
      pool->promised_bytes == policy->seen_promised_bytes)
    return;
  policy->seen_held_bytes = pool->held_bytes;
  policy->seen_promised_bytes = pool->promised_bytes;
  tessera_planned_limit_beside (policy);
  if (policy->observer.pool_sized != NULL)
    policy->observer.pool_sized (policy->observer.user);
}

static uint64_t
trim (TesseraPolicy *policy)
{
  uint64_t returned_bytes;

  if (policy->is_routed)
    return 0;
  policy->has_freed = false;
  returned_bytes = tessera_pool_trim (&policy->pool);
  see_pool (policy);
  return returned_bytes;
}

static void
decline (TesseraPolicy *policy)
{
  bool lacks_barriers = false;

  if (policy->handover != NULL)
    {
      policy->n_barriers = tessera_handover_count (policy->handover);
      lacks_barriers = tessera_handover_has_ended (policy->handover);
    }
  tessera_follower_free (policy->follower);
  tessera_lengths_follower_free (policy->by_length);
  policy->follower = NULL;
  policy->by_length = NULL;
  tessera_handover_free (policy->handover);
  policy->handover = NULL;
  policy->decline = (TesseraDecline){
    .is_declined = true,
    .misfit = policy->monitor.misfit,
    .lacks_barriers = lacks_barriers,
    .pool_bytes = policy->pool.held_bytes,
  };
  tessera_pool_end (&policy->pool);
  policy->decline.returned_bytes = trim (policy);
  see_pool (policy);
  if (policy->observer.plan_declined != NULL)
    policy->observer.plan_declined (policy->observer.user);
}

/* ---- Requests ---- */

/* The range passes to the request's stream behind a barrier, if it can: blocks there whose
 * ends are pending end. */
static bool
pass_range (TesseraPolicy *policy, uint64_t offset_bytes)
{
  const TesseraOccupancyRequest *request = &policy->request;
  uint64_t passed_bytes;

  if (policy->is_routed ||
      !tessera_handover_order (policy->handover, offset_bytes, request))
    return false;
  while (tessera_occupancy_pass (policy->pool.map, offset_bytes,
                                 offset_bytes + request->block_bytes, &passed_bytes))
    if (policy->observer.block_passed != NULL)
      policy->observer.block_passed (policy->observer.user,
                                     policy->pool.addr + passed_bytes);
  return true;
}

/* Orders a range that the map did not grant, and brings pages back for it. */
static TesseraOccupancyVerdict
take_range (TesseraPolicy *policy, uint64_t offset_bytes, uint64_t *out_end_bytes)
{
  const TesseraOccupancyRequest *request = &policy->request;
  bool is_passed, is_back;
  TesseraOccupancyVerdict verdict =
      tessera_occupancy_take (policy->pool.map, offset_bytes, request, out_end_bytes);

  if (verdict == TESSERA_OCCUPANCY_GRANTED)
    return verdict;
  /* First, since no page comes back for a range of which anything is pending. */
  is_passed = policy->handover != NULL && pass_range (policy, offset_bytes);
  is_back = (verdict == TESSERA_OCCUPANCY_TAKEN || is_passed) &&
            tessera_pool_bring_back (&policy->pool, offset_bytes,
                                     offset_bytes + request->block_bytes);
  return is_passed || is_back ? tessera_occupancy_take (policy->pool.map, offset_bytes,
                                                        request, out_end_bytes)
                              : verdict;
}

bool
tessera_planned_take (void *user, uint64_t offset_bytes, uint64_t *out_end_bytes)
{
  TesseraPolicy *policy = user;
  TesseraOccupancyVerdict verdict = take_range (policy, offset_bytes, out_end_bytes);

  policy->is_unordered |= verdict == TESSERA_OCCUPANCY_UNORDERED;
  return verdict == TESSERA_OCCUPANCY_GRANTED;
}

static uint64_t
round_size (const TesseraPolicy *policy, uint64_t size_bytes)
{
  uint64_t step = policy->align_bytes;

  if ((step & (step - 1)) == 0) /* as a rule */
    return (size_bytes + step - 1) & ~(step - 1);
  return (size_bytes / step + (size_bytes % step != 0)) * step;
}

/* Returns: whether the plan has a place for the request. */
static bool
follow (TesseraPolicy *policy, TesseraPolicyGrant *out_grant)
{
  const TesseraOccupancyRequest *request = &policy->request;
  uint64_t offset_bytes;
  TesseraFollowed followed =
      policy->by_length != NULL
          ? tessera_lengths_follower_malloc (policy->by_length, request->size_bytes,
                                             request->stream, request->pool,
                                             &offset_bytes)
          : tessera_follower_malloc (policy->follower, request->size_bytes,
                                     request->stream, request->pool, &offset_bytes,
                                     &out_grant->slot);
  bool is_hit = tessera_followed_is_hit (followed);

  tessera_follower_count (&policy->followed, followed, request->size_bytes);
  policy->is_unplanned = followed == TESSERA_MISS_PLANNED;
  if (is_hit)
    out_grant->grant =
        (TesseraGrant){ policy->pool.addr + offset_bytes, request->block_bytes };
  else
    out_grant->slot = TESSERA_NONE;
  policy->misses_unordered += !is_hit && policy->is_unordered;
  if (is_hit && policy->handover != NULL && out_grant->slot != TESSERA_NONE &&
      !policy->is_routed)
    tessera_handover_serve (policy->handover, out_grant->slot, request->stream);
  out_grant->is_hit = is_hit;
  out_grant->is_unplanned = policy->is_unplanned;
  return is_hit;
}

/* Anywhere in the pool, where no slot stands for the request. Returns: whether the place
 * is granted. */
static bool
place_at (TesseraPolicy *policy, uint64_t offset_bytes, TesseraPolicyGrant *out_grant)
{
  uint64_t end_bytes;

  if (take_range (policy, offset_bytes, &end_bytes) != TESSERA_OCCUPANCY_GRANTED)
    return false;
  out_grant->grant =
      (TesseraGrant){ policy->pool.addr + offset_bytes, policy->request.block_bytes };
  return true;
}

/* The lowest place of a range of the pool, perhaps one that has no memory yet. */
static bool
place_in (TesseraPolicy *policy,
          const TesseraOccupancySearch *search,
          TesseraPolicyGrant *out_grant)
{
  uint64_t offset_bytes;

  return tessera_occupancy_find (policy->pool.map, &policy->request, search,
                                 &offset_bytes) &&
         place_at (policy, offset_bytes, out_grant);
}

/* From @begin_bytes on; in pages that have no memory only where no others do. */
static bool
place_from (TesseraPolicy *policy, uint64_t begin_bytes, TesseraPolicyGrant *out_grant)
{
  TesseraOccupancySearch search = { begin_bytes, policy->pool.n_bytes, UINT32_MAX,
                                    false };

  if (place_in (policy, &search, out_grant))
    return true;
  search.with_closed = true;
  return place_in (policy, &search, out_grant);
}

/* The highest place above the fixed ones that no slot of the step needs any more. A block
 * that outlives the step may lie in the next one's way. */
static bool
place_behind_step (TesseraPolicy *policy, TesseraPolicyGrant *out_grant)
{
  const TesseraPool *pool = &policy->pool;
  uint64_t page_bytes = pool->page_bytes;
  uint64_t fixed_bytes = tessera_lengths_base (policy->plan->lengths);
  uint64_t end_bytes =
      policy->step_bytes < pool->height_bytes ? policy->step_bytes : pool->height_bytes;
  uint32_t first = (uint32_t) ((fixed_bytes + page_bytes - 1) / page_bytes);
  uint32_t end = (uint32_t) (end_bytes / page_bytes);
  bool *is_needed = malloc (((size_t) end + 1) * sizeof *is_needed);
  bool is_found = false;

  if (is_needed == NULL)
    return false;
  tessera_lengths_follower_forecast (policy->by_length, page_bytes, end, is_needed);
  while (end > first && !is_found)
    {
      uint32_t begin = end;

      while (begin > first && !is_needed[begin - 1])
        begin--;
      is_found = place_in (policy,
                           &(TesseraOccupancySearch){
                               begin * page_bytes, end * page_bytes, UINT32_MAX, false },
                           out_grant);
      end = begin < end ? begin : end - 1;
    }
  free (is_needed);
  return is_found;
}

/* Small blocks would lie in the way of large ones; what another stream or a graph used
 * once is lost to the plan's. */
static bool
is_for_pool (const TesseraPolicy *policy)
{
  const TesseraOccupancyRequest *request = &policy->request;

  return !policy->is_unplanned && request->block_bytes > TESSERA_SMALL_BYTES &&
         request->pool == 0 && request->stream == policy->main_stream;
}

static bool
is_strange (const TesseraPolicy *policy)
{
  return policy->n_strange > STRANGE_REQUESTS &&
         policy->strange_bytes > policy->asked_bytes / STRANGE_SHARE;
}

/* Whether nobody planned the step under way. */
static bool
is_lost (const TesseraPolicy *policy)
{
  return policy->by_length != NULL
             ? tessera_lengths_follower_is_lost (policy->by_length)
             : policy->n_familiar >= FAMILIAR_PARTS && is_strange (policy);
}

/* In the pool, though the plan has no place for it: beside a pool that other steps made
 * it would be paid twice. Where nobody planned the step nobody needs the pool for
 * another; else, by length, where the step's plan needs nothing any more, or above it. */
static bool
place_unplanned (TesseraPolicy *policy, TesseraPolicyGrant *out_grant)
{
  if (!is_for_pool (policy))
    return false;
  if (is_lost (policy))
    return place_from (policy, 0, out_grant);
  if (policy->step_bytes == 0)
    return false;
  return (policy->n_sought++ < MAX_SOUGHT && place_behind_step (policy, out_grant)) ||
         place_from (policy, policy->step_bytes, out_grant);
}

/* A declined plan's pool, for large requests: what lies between the blocks that are left
 * can't be given back. */
static bool
fill (TesseraPolicy *policy, TesseraPolicyGrant *out_grant)
{
  const TesseraOccupancySearch search = { 0, policy->pool.n_bytes, MAX_PIECES, false };

  return policy->pool.n_bytes != 0 && !is_followed (policy) &&
         policy->request.block_bytes > TESSERA_SMALL_BYTES && policy->request.pool == 0 &&
         place_in (policy, &search, out_grant);
}

/* What the plan leaves to others says nothing of whether it suits. Without barriers a plan
 * that passes memory between streams is of no use, and costs more than none. */
static bool
is_misfit (TesseraPolicy *policy, bool is_hit)
{
  bool is_useless =
      policy->handover != NULL && tessera_handover_has_ended (policy->handover);

  return (is_useless || (!policy->is_unplanned &&
                         tessera_monitor_request (&policy->monitor,
                                                  policy->request.size_bytes, is_hit))) &&
         !policy->never_declines;
}

/* A miss that found memory nowhere else: the lowest place that would be granted with
 * pages that have no memory; where the device refuses that, one that has; where streams
 * share the pool, one behind a barrier. */
static bool
rescue (TesseraPolicy *policy, TesseraPolicyGrant *out_grant)
{
  TesseraOccupancySearch search = { 0, policy->pool.n_bytes, UINT32_MAX,
                                    is_followed (policy) };
  bool is_found;

  if (policy->pool.n_bytes == 0)
    return false;
  tessera_pool_forget_refusal (&policy->pool);
  is_found = place_in (policy, &search, out_grant);
  if (!is_found && search.with_closed)
    {
      search.with_closed = false;
      is_found = place_in (policy, &search, out_grant);
    }
  search.with_order = policy->handover != NULL;
  if (!is_found && search.with_order)
    is_found = place_in (policy, &search, out_grant);
  policy->n_rescued += is_found;
  policy->n_relieved += is_found;
  return is_found;
}

/* What expandable rules map for the request at most; without end counts as that. */
static uint64_t
count_beside (const TesseraPolicy *policy)
{
  uint64_t block_bytes = policy->request.block_bytes;
  uint64_t page_bytes = block_bytes > TESSERA_SMALL_BYTES ? policy->large_page_bytes
                                                          : 2 * TESSERA_SMALL_BYTES;
  uint64_t n_pages = block_bytes / page_bytes + (block_bytes % page_bytes != 0);

  return n_pages > UINT64_MAX / page_bytes ? UINT64_MAX : n_pages * page_bytes;
}

/* What the device, or the limit, has besides what is promised to the pool. */
static uint64_t
count_free (const TesseraPolicy *policy)
{
  const TesseraPool *pool = &policy->pool;
  uint64_t held_bytes =
      tessera_caching_stats (policy->caching)->reserved_bytes + pool->held_bytes;
  uint64_t free_bytes = policy->device->free_bytes (policy->device);

  if (policy->limit_bytes != 0 && policy->limit_bytes <= held_bytes)
    return 0;
  if (policy->limit_bytes != 0 && policy->limit_bytes - held_bytes < free_bytes)
    free_bytes = policy->limit_bytes - held_bytes;
  return free_bytes > pool->promised_bytes ? free_bytes - pool->promised_bytes : 0;
}

/* Of these bytes what lacks; 1 at least: in pieces they are there, perhaps. */
static uint64_t
count_short (const TesseraPolicy *policy, uint64_t wanted_bytes)
{
  uint64_t free_bytes = count_free (policy);

  return wanted_bytes > free_bytes ? wanted_bytes - free_bytes : 1;
}

/* Where the device would be asked for more than it has, a place with pages that nobody uses:
 * that costs nothing, and the flush that comes before a refusal waits for the device. */
static bool
spare_flush (TesseraPolicy *policy, uint64_t growth_bytes, TesseraPolicyGrant *out_grant)
{
  const TesseraOccupancySearch search = { 0, policy->pool.n_bytes, UINT32_MAX, false };

  if (!is_followed (policy) || policy->pool.n_bytes == 0 ||
      growth_bytes <= count_free (policy) || !place_in (policy, &search, out_grant))
    return false;
  policy->n_rescued++;
  return true;
}

/* When not even that helped: gives back what nobody needs of the pool, if that is all
 * that lacks. Returns: whether the device is worth another try. */
static bool
relieve (TesseraPolicy *policy)
{
  uint64_t short_bytes;

  if (!is_followed (policy))
    return trim (policy) > 0;
  if (policy->is_routed)
    return false;
  short_bytes = count_short (policy, count_beside (policy));
  return tessera_pool_count_idle (&policy->pool) >= short_bytes &&
         tessera_pool_give_back (&policy->pool, short_bytes) > 0;
}

static TesseraStatus
serve_beside (TesseraPolicy *policy, TesseraPolicyGrant *out_grant)
{
  const TesseraOccupancyRequest *request = &policy->request;

  see_pool (policy);
  return tessera_caching_malloc (policy->caching, request->size_bytes, request->stream,
                                 request->pool, &out_grant->grant);
}

/* The device is full: the pool may have room, or memory to give back. What it gives back
 * serves whoever asks, so that comes first where no plan is followed any more. */
static TesseraStatus
serve_short (TesseraPolicy *policy, TesseraPolicyGrant *out_grant)
{
  bool was_followed = is_followed (policy);
  TesseraStatus status = TESSERA_OUT_OF_DEVICE;

  if (was_followed && rescue (policy, out_grant))
    return TESSERA_OK;
  while (status == TESSERA_OUT_OF_DEVICE && relieve (policy))
    {
      status = serve_beside (policy, out_grant);
      policy->n_relieved++;
    }
  if (status == TESSERA_OUT_OF_DEVICE && !was_followed && rescue (policy, out_grant))
    return TESSERA_OK;
  return status;
}

/* What the plan has no place for. */
static TesseraStatus
serve_miss (TesseraPolicy *policy, TesseraPolicyGrant *out_grant)
{
  const TesseraOccupancyRequest *request = &policy->request;
  uint64_t growth_bytes;
  TesseraStatus status;

  if (fill (policy, out_grant))
    return TESSERA_OK;
  see_pool (policy);
  growth_bytes = tessera_caching_growth (policy->caching, request->size_bytes,
                                         request->stream, request->pool);
  tessera_pool_make_room (&policy->pool, growth_bytes);
  if (growth_bytes > 0 && spare_flush (policy, growth_bytes, out_grant))
    return TESSERA_OK;
  status = serve_beside (policy, out_grant);
  if (status != TESSERA_OUT_OF_DEVICE)
    return status;
  tessera_pool_see_refused (&policy->pool, growth_bytes);
  return serve_short (policy, out_grant);
}

static TesseraStatus
serve (TesseraPolicy *policy,
       uint64_t size_bytes,
       uint32_t stream,
       uint32_t pool,
       TesseraPolicyGrant *out_grant)
{
  TesseraStatus status = TESSERA_OK;
  bool is_served = false;

  policy->request =
      (TesseraOccupancyRequest){ .size_bytes = size_bytes,
                                 .block_bytes = round_size (policy, size_bytes),
                                 .stream = stream,
                                 .pool = pool };
  policy->is_unordered = policy->is_unplanned = false;
  tessera_pool_count_request (&policy->pool);
  if (policy->pool.n_bytes != 0 || is_followed (policy))
    status = tessera_occupancy_see_request (policy->pool.map, &policy->request);
  if (status != TESSERA_OK)
    return status;
  if (policy->has_freed && !is_followed (policy) &&
      tessera_occupancy_stats (policy->pool.map)->active_bytes == 0)
    trim (policy);
  if (is_followed (policy))
    {
      is_served = follow (policy, out_grant);
      policy->asked_bytes += size_bytes;
      if (!is_served && !policy->is_unplanned)
        {
          policy->n_strange++;
          policy->strange_bytes += size_bytes;
        }
      if (is_misfit (policy, is_served))
        decline (policy);
      else if (!is_served)
        is_served = place_unplanned (policy, out_grant);
    }
  if (!is_served)
    {
      status = serve_miss (policy, out_grant);
      tessera_pool_see_held (&policy->pool);
    }
  see_pool (policy);
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
  /* No other rules ever see a size beyond reason: PyTorch's refuse it. */
  if (has_plan (policy) && size_bytes < TESSERA_REFUSED_FROM_BYTES)
    return serve (policy, size_bytes, stream, pool, out_grant);
  return tessera_caching_malloc (policy->caching, size_bytes, stream, pool,
                                 &out_grant->grant);
}

TesseraStatus
tessera_policy_free_requested (TesseraPolicy *policy, uint64_t addr)
{
  return tessera_policy_is_in_pool (policy, addr)
             ? tessera_occupancy_free_requested (policy->pool.map,
                                                 addr - policy->pool.addr)
             : tessera_caching_free_requested (policy->caching, addr);
}

TesseraStatus
tessera_policy_free_completed (TesseraPolicy *policy, uint64_t addr)
{
  uint64_t offset_bytes = addr - policy->pool.addr;
  TesseraStatus status;

  if (!tessera_policy_is_in_pool (policy, addr))
    return policy->kind == TESSERA_POLICY_DIRECT
               ? tessera_caching_free_to_device (policy->caching, addr)
               : tessera_caching_free_completed (policy->caching, addr);
  status = tessera_occupancy_free_completed (policy->pool.map, offset_bytes);
  if (status != TESSERA_OK)
    return status;
  if (policy->by_length != NULL)
    tessera_lengths_follower_free_at (policy->by_length, offset_bytes);
  else if (policy->follower == NULL)
    policy->has_freed = true; /* what uses it may be launched after this call */
  return TESSERA_OK;
}

/* ---- What the program tells, and is told ---- */

void
tessera_policy_empty_cache (TesseraPolicy *policy)
{
  tessera_caching_empty_cache (policy->caching);
  tessera_pool_forget_refusal (&policy->pool);
  if (has_plan (policy) && !is_followed (policy))
    trim (policy);
}

TesseraStatus
tessera_policy_release_pool (TesseraPolicy *policy, uint32_t pool)
{
  if (has_plan (policy))
    {
      tessera_occupancy_release_pool (policy->pool.map, pool);
      policy->has_freed = true;
    }
  return tessera_caching_release_pool (policy->caching, pool);
}

/* A graph is about to be captured, perhaps: nothing is mapped for the plan meanwhile. */
void
tessera_policy_set_routed (TesseraPolicy *policy, bool is_routed)
{
  tessera_caching_set_routed (policy->caching, is_routed);
  if (!has_plan (policy))
    return;
  policy->is_routed = policy->pool.is_off = is_routed;
  tessera_pool_forget_refusal (&policy->pool);
  if (is_routed)
    tessera_pool_fulfil (&policy->pool);
  see_pool (policy);
  raise_peaks (policy);
}

void
tessera_policy_set_limit (TesseraPolicy *policy, uint64_t limit_bytes)
{
  if (!has_plan (policy))
    {
      tessera_caching_set_limit (policy->caching, limit_bytes);
      return;
    }
  policy->limit_bytes = limit_bytes;
  tessera_pool_forget_refusal (&policy->pool);
  tessera_planned_limit_beside (policy);
}

void
tessera_policy_step (TesseraPolicy *policy)
{
  if (!has_plan (policy))
    return;
  policy->n_familiar += policy->asked_bytes > 0 && !is_strange (policy);
  policy->step_bytes = policy->asked_bytes = policy->strange_bytes = 0;
  policy->n_sought = policy->n_strange = 0;
  if (policy->handover != NULL)
    {
      tessera_occupancy_see_mark (policy->pool.map);
      tessera_handover_step (policy->handover);
    }
  if (policy->by_length != NULL)
    tessera_lengths_follower_step (policy->by_length);
  else if (policy->follower != NULL)
    tessera_follower_step (policy->follower);
  else if (policy->has_freed)
    trim (policy);
  tessera_pool_step (&policy->pool);
  if (is_followed (policy) && tessera_monitor_mark (&policy->monitor) &&
      !policy->never_declines)
    decline (policy);
  see_pool (policy);
}

void
tessera_policy_end_step (TesseraPolicy *policy)
{
  tessera_policy_step (policy);
  if (policy->by_length != NULL)
    tessera_lengths_follower_end_step (policy->by_length);
}

void
tessera_policy_phase (TesseraPolicy *policy, const char *name)
{
  if (policy->handover != NULL)
    tessera_occupancy_see_mark (policy->pool.map);
  if (policy->by_length != NULL)
    tessera_lengths_follower_phase (policy->by_length, name);
  else if (policy->follower != NULL)
    tessera_follower_phase (policy->follower, name);
}

void
tessera_policy_get_stats (const TesseraPolicy *policy, TesseraPolicyStats *out_stats)
{
  const TesseraCachingStats *caching = tessera_caching_stats (policy->caching);
  const TesseraPool *pool = &policy->pool;
  TesseraCachingStats *sum = &out_stats->caching;
  const TesseraOccupancyStats *inside;

  *out_stats = policy->peaks;
  *sum = *caching;
  out_stats->extra_bytes = caching->reserved_bytes;
  if (!has_plan (policy))
    {
      out_stats->peak_extra_bytes = caching->peak_reserved_bytes;
      return;
    }
  inside = tessera_occupancy_stats (pool->map);
  sum->allocated_bytes += inside->allocated_bytes;
  sum->active_bytes += inside->active_bytes;
  sum->requested_bytes += inside->requested_bytes;
  sum->reserved_bytes += pool->held_bytes;
  sum->peak_allocated_bytes = policy->peaks.caching.peak_allocated_bytes;
  sum->peak_active_bytes = policy->peaks.caching.peak_active_bytes;
  sum->peak_requested_bytes = policy->peaks.caching.peak_requested_bytes;
  sum->peak_reserved_bytes = policy->peaks.caching.peak_reserved_bytes;
  /* The caching allocator gave up on them, the program did not notice. */
  sum->n_ooms -= policy->n_relieved;
  out_stats->follower = policy->followed;
  out_stats->pool_addr = pool->addr;
  out_stats->pool_bytes = pool->held_bytes;
  out_stats->promised_bytes = pool->promised_bytes;
  out_stats->pool_height_bytes = pool->height_bytes;
  out_stats->decline = policy->decline;
  out_stats->misses_unordered = policy->misses_unordered;
  out_stats->misses_rescued = policy->n_rescued;
  out_stats->n_barriers =
      policy->n_barriers +
      (policy->handover != NULL ? tessera_handover_count (policy->handover) : 0);
}

void
tessera_policy_reset_peaks (TesseraPolicy *policy)
{
  tessera_caching_reset_peaks (policy->caching);
  policy->peaks = (TesseraPolicyStats){ 0 };
  if (has_plan (policy))
    raise_peaks (policy);
}
