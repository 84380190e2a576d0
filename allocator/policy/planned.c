/*
 * The policy that follows a plan: its pool, the matching, what becomes of the rest.
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
  MAX_SOUGHT = 64, /* requests of a step that places are looked for in its own slots */
  MAX_PIECES = 256 /* of a declined plan's pool that each large request looks at */
};

/* Not declined yet. */
static bool
is_followed (const TesseraPlanned *planned)
{
  return planned->follower != NULL || planned->by_length != NULL;
}

/* ---- The pool beside the rest ---- */

static void
raise_peaks (TesseraPlanned *planned)
{
  const TesseraCachingStats *beside = tessera_caching_stats (planned->policy.caching);
  const TesseraOccupancyStats *inside = tessera_occupancy_stats (planned->pool.map);
  TesseraCachingStats *peaks = &planned->peaks.caching;

  tessera_raise_to (&peaks->peak_allocated_bytes,
                    beside->allocated_bytes + inside->allocated_bytes);
  tessera_raise_to (&peaks->peak_active_bytes,
                    beside->active_bytes + inside->active_bytes);
  tessera_raise_to (&peaks->peak_requested_bytes,
                    beside->requested_bytes + inside->requested_bytes);
  tessera_raise_to (&peaks->peak_reserved_bytes,
                    beside->reserved_bytes + planned->pool.held_bytes);
  tessera_raise_to (&planned->peaks.peak_extra_bytes, beside->reserved_bytes);
}

void
tessera_planned_limit_beside (TesseraPlanned *planned)
{
  uint64_t claimed_bytes = planned->pool.held_bytes + planned->pool.promised_bytes;
  uint64_t limit_bytes = planned->limit_bytes;

  if (limit_bytes != 0)
    limit_bytes = limit_bytes > claimed_bytes ? limit_bytes - claimed_bytes : 1;
  tessera_caching_set_limit (planned->policy.caching, limit_bytes);
  tessera_caching_set_kept (planned->policy.caching, planned->pool.promised_bytes);
}

/* After whatever may have changed the pool. */
static void
see_pool (TesseraPlanned *planned)
{
  const TesseraPool *pool = &planned->pool;

  if (pool->held_bytes == planned->seen_held_bytes &&
      pool->promised_bytes == planned->seen_promised_bytes)
    return;
  planned->seen_held_bytes = pool->held_bytes;
  planned->seen_promised_bytes = pool->promised_bytes;
  tessera_planned_limit_beside (planned);
  if (planned->observer.pool_sized != NULL)
    planned->observer.pool_sized (planned->observer.user);
}

static uint64_t
trim (TesseraPlanned *planned)
{
  uint64_t returned_bytes;

  if (planned->is_routed)
    return 0;
  planned->has_freed = false;
  returned_bytes = tessera_pool_trim (&planned->pool);
  see_pool (planned);
  return returned_bytes;
}

/* Up to now, or to when it was declined. */
static void
get_followed (const TesseraPlanned *planned, TesseraFollowerStats *out_stats)
{
  *out_stats = planned->followed;
  if (planned->follower != NULL)
    tessera_follower_get_stats (planned->follower, out_stats);
  else if (planned->by_length != NULL)
    tessera_lengths_follower_get_stats (planned->by_length, out_stats);
}

static void
decline (TesseraPlanned *planned)
{
  bool lacks_barriers = false;

  get_followed (planned, &planned->followed);
  if (planned->handover != NULL)
    {
      planned->n_barriers = tessera_handover_count (planned->handover);
      lacks_barriers = tessera_handover_has_ended (planned->handover);
    }
  tessera_follower_free (planned->follower);
  tessera_lengths_follower_free (planned->by_length);
  planned->follower = NULL;
  planned->by_length = NULL;
  tessera_handover_free (planned->handover);
  planned->handover = NULL;
  planned->decline = (TesseraDecline){
    .is_declined = true,
    .misfit = planned->monitor.misfit,
    .lacks_barriers = lacks_barriers,
    .pool_bytes = planned->pool.held_bytes,
  };
  tessera_pool_end (&planned->pool);
  planned->decline.returned_bytes = trim (planned);
  see_pool (planned);
  if (planned->observer.plan_declined != NULL)
    planned->observer.plan_declined (planned->observer.user);
}

/* ---- Requests ---- */

/* The range passes to the request's stream behind a barrier, if it can: blocks there whose
 * ends are pending end. */
static bool
pass_range (TesseraPlanned *planned, uint64_t offset_bytes)
{
  const TesseraOccupancyRequest *request = &planned->request;
  uint64_t passed_bytes;

  if (planned->is_routed ||
      !tessera_handover_order (planned->handover, offset_bytes, request))
    return false;
  while (tessera_occupancy_pass (planned->pool.map, offset_bytes,
                                 offset_bytes + request->block_bytes, &passed_bytes))
    if (planned->observer.block_passed != NULL)
      planned->observer.block_passed (planned->observer.user,
                                      planned->pool.addr + passed_bytes);
  return true;
}

/* Orders a range that the map did not grant, and brings pages back for it. */
static TesseraOccupancyVerdict
take_range (TesseraPlanned *planned, uint64_t offset_bytes, uint64_t *out_end_bytes)
{
  const TesseraOccupancyRequest *request = &planned->request;
  bool is_passed, is_back;
  TesseraOccupancyVerdict verdict =
      tessera_occupancy_take (planned->pool.map, offset_bytes, request, out_end_bytes);

  if (verdict == TESSERA_OCCUPANCY_GRANTED)
    return verdict;
  /* First, since no page comes back for a range of which anything is pending. */
  is_passed = planned->handover != NULL && pass_range (planned, offset_bytes);
  is_back = (verdict == TESSERA_OCCUPANCY_TAKEN || is_passed) &&
            tessera_pool_bring_back (&planned->pool, offset_bytes,
                                     offset_bytes + request->block_bytes);
  return is_passed || is_back ? tessera_occupancy_take (planned->pool.map, offset_bytes,
                                                        request, out_end_bytes)
                              : verdict;
}

bool
tessera_planned_take (void *user, uint64_t offset_bytes, uint64_t *out_end_bytes)
{
  TesseraPlanned *planned = user;
  TesseraOccupancyVerdict verdict = take_range (planned, offset_bytes, out_end_bytes);

  planned->is_unordered |= verdict == TESSERA_OCCUPANCY_UNORDERED;
  return verdict == TESSERA_OCCUPANCY_GRANTED;
}

static uint64_t
round_size (const TesseraPlanned *planned, uint64_t size_bytes)
{
  uint64_t step = planned->align_bytes;

  if ((step & (step - 1)) == 0) /* as a rule */
    return (size_bytes + step - 1) & ~(step - 1);
  return (size_bytes / step + (size_bytes % step != 0)) * step;
}

/* Returns: whether the plan has a place for the request. */
static bool
follow (TesseraPlanned *planned, TesseraPolicyGrant *out_grant)
{
  const TesseraOccupancyRequest *request = &planned->request;
  uint64_t offset_bytes;
  bool is_hit;

  if (planned->by_length != NULL)
    {
      is_hit =
          tessera_lengths_follower_malloc (planned->by_length, request->size_bytes,
                                           request->stream, request->pool, &offset_bytes);
      planned->is_unplanned =
          !is_hit && tessera_lengths_follower_was_unplanned (planned->by_length);
    }
  else
    {
      is_hit = tessera_follower_malloc (planned->follower, request->size_bytes,
                                        request->stream, request->pool, &offset_bytes,
                                        &out_grant->slot);
      planned->is_unplanned =
          !is_hit && tessera_follower_was_unplanned (planned->follower);
    }
  if (is_hit)
    out_grant->grant =
        (TesseraGrant){ planned->pool.addr + offset_bytes, request->block_bytes };
  else
    out_grant->slot = TESSERA_NONE;
  planned->misses_unordered += !is_hit && planned->is_unordered;
  if (is_hit && planned->handover != NULL && out_grant->slot != TESSERA_NONE &&
      !planned->is_routed)
    tessera_handover_serve (planned->handover, out_grant->slot, request->stream);
  out_grant->is_hit = is_hit;
  out_grant->is_unplanned = planned->is_unplanned;
  return is_hit;
}

/* Anywhere in the pool, where no slot stands for the request. Returns: whether the place
 * is granted. */
static bool
place_at (TesseraPlanned *planned, uint64_t offset_bytes, TesseraPolicyGrant *out_grant)
{
  uint64_t end_bytes;

  if (take_range (planned, offset_bytes, &end_bytes) != TESSERA_OCCUPANCY_GRANTED)
    return false;
  out_grant->grant =
      (TesseraGrant){ planned->pool.addr + offset_bytes, planned->request.block_bytes };
  return true;
}

/* The lowest place of a range of the pool, perhaps one that has no memory yet. */
static bool
place_in (TesseraPlanned *planned,
          const TesseraOccupancySearch *search,
          TesseraPolicyGrant *out_grant)
{
  uint64_t offset_bytes;

  return tessera_occupancy_find (planned->pool.map, &planned->request, search,
                                 &offset_bytes) &&
         place_at (planned, offset_bytes, out_grant);
}

/* From @begin_bytes on; in pages that have no memory only where no others do. */
static bool
place_from (TesseraPlanned *planned, uint64_t begin_bytes, TesseraPolicyGrant *out_grant)
{
  TesseraOccupancySearch search = { begin_bytes, planned->pool.n_bytes, UINT32_MAX,
                                    false };

  if (place_in (planned, &search, out_grant))
    return true;
  search.with_closed = true;
  return place_in (planned, &search, out_grant);
}

/* The highest place above the fixed ones that no slot of the step needs any more. A block
 * that outlives the step may lie in the next one's way. */
static bool
place_behind_step (TesseraPlanned *planned, TesseraPolicyGrant *out_grant)
{
  const TesseraPool *pool = &planned->pool;
  uint64_t page_bytes = pool->page_bytes;
  uint64_t fixed_bytes = planned->plan->lengths->fixed_bytes;
  uint64_t end_bytes =
      planned->step_bytes < pool->height_bytes ? planned->step_bytes : pool->height_bytes;
  uint32_t first = (uint32_t) ((fixed_bytes + page_bytes - 1) / page_bytes);
  uint32_t end = (uint32_t) (end_bytes / page_bytes);
  bool *is_needed = malloc (((size_t) end + 1) * sizeof *is_needed);
  bool is_found = false;

  if (is_needed == NULL)
    return false;
  tessera_lengths_follower_forecast (planned->by_length, page_bytes, end, is_needed);
  while (end > first && !is_found)
    {
      uint32_t begin = end;

      while (begin > first && !is_needed[begin - 1])
        begin--;
      is_found = place_in (planned,
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
is_for_pool (const TesseraPlanned *planned)
{
  const TesseraOccupancyRequest *request = &planned->request;

  return planned->by_length != NULL && !planned->is_unplanned &&
         request->block_bytes > TESSERA_SMALL_BYTES && request->pool == 0 &&
         request->stream == planned->main_stream;
}

/* In the pool, though the plan has no place for it: beside a pool that longer steps made
 * it would be paid twice. Where nobody planned the step nobody needs the pool for
 * another; else where the step's plan needs nothing any more, or above it. */
static bool
place_unplanned (TesseraPlanned *planned, TesseraPolicyGrant *out_grant)
{
  if (!is_for_pool (planned))
    return false;
  if (tessera_lengths_follower_is_lost (planned->by_length))
    return place_from (planned, 0, out_grant);
  if (planned->step_bytes == 0)
    return false;
  return (planned->n_sought++ < MAX_SOUGHT && place_behind_step (planned, out_grant)) ||
         place_from (planned, planned->step_bytes, out_grant);
}

/* A declined plan's pool, for large requests: what lies between the blocks that are left
 * can't be given back. */
static bool
fill (TesseraPlanned *planned, TesseraPolicyGrant *out_grant)
{
  const TesseraOccupancySearch search = { 0, planned->pool.n_bytes, MAX_PIECES, false };

  return planned->pool.n_bytes != 0 && !is_followed (planned) &&
         planned->request.block_bytes > TESSERA_SMALL_BYTES &&
         planned->request.pool == 0 && place_in (planned, &search, out_grant);
}

/* What the plan leaves to others says nothing of whether it suits. Without barriers a plan
 * that passes memory between streams is of no use, and costs more than none. */
static bool
is_misfit (TesseraPlanned *planned, bool is_hit)
{
  bool is_useless =
      planned->handover != NULL && tessera_handover_has_ended (planned->handover);

  return (is_useless || (!planned->is_unplanned &&
                         tessera_monitor_request (
                             &planned->monitor, planned->request.size_bytes, is_hit))) &&
         !planned->never_declines;
}

/* A miss that found memory nowhere else: the lowest place that would be granted with
 * pages that have no memory; where the device refuses that, one that has; where streams
 * share the pool, one behind a barrier. */
static bool
rescue (TesseraPlanned *planned, TesseraPolicyGrant *out_grant)
{
  TesseraOccupancySearch search = { 0, planned->pool.n_bytes, UINT32_MAX,
                                    is_followed (planned) };
  bool is_found;

  if (planned->pool.n_bytes == 0)
    return false;
  tessera_pool_forget_refusal (&planned->pool);
  is_found = place_in (planned, &search, out_grant);
  if (!is_found && search.with_closed)
    {
      search.with_closed = false;
      is_found = place_in (planned, &search, out_grant);
    }
  search.with_order = planned->handover != NULL;
  if (!is_found && search.with_order)
    is_found = place_in (planned, &search, out_grant);
  planned->n_rescued += is_found;
  return is_found;
}

/* What expandable rules map for the request at most; without end counts as that. */
static uint64_t
count_beside (const TesseraPlanned *planned)
{
  uint64_t block_bytes = planned->request.block_bytes;
  uint64_t page_bytes = block_bytes > TESSERA_SMALL_BYTES
                            ? planned->pool.users.large_page_bytes
                            : 2 * TESSERA_SMALL_BYTES;
  uint64_t n_pages = block_bytes / page_bytes + (block_bytes % page_bytes != 0);

  return n_pages > UINT64_MAX / page_bytes ? UINT64_MAX : n_pages * page_bytes;
}

/* Of these bytes what the device, or the limit, lacks besides what is promised to the
 * pool; 1 at least: in pieces it has them, perhaps. */
static uint64_t
count_short (const TesseraPlanned *planned, uint64_t wanted_bytes)
{
  const TesseraPool *pool = &planned->pool;
  uint64_t held_bytes =
      tessera_caching_stats (planned->policy.caching)->reserved_bytes + pool->held_bytes;
  uint64_t free_bytes = pool->users.device->free_bytes (pool->users.device);

  if (planned->limit_bytes != 0 && planned->limit_bytes < held_bytes + free_bytes)
    free_bytes =
        planned->limit_bytes > held_bytes ? planned->limit_bytes - held_bytes : 0;
  free_bytes = free_bytes > pool->promised_bytes ? free_bytes - pool->promised_bytes : 0;
  return wanted_bytes > free_bytes ? wanted_bytes - free_bytes : 1;
}

/* When not even that helped: gives back what nobody needs of the pool, if that is all
 * that lacks. Returns: whether the device is worth another try. */
static bool
relieve (TesseraPlanned *planned)
{
  uint64_t short_bytes;

  if (!is_followed (planned))
    return trim (planned) > 0;
  if (planned->is_routed)
    return false;
  short_bytes = count_short (planned, count_beside (planned));
  return tessera_pool_count_idle (&planned->pool) >= short_bytes &&
         tessera_pool_give_back (&planned->pool, short_bytes) > 0;
}

static TesseraStatus
serve_beside (TesseraPlanned *planned, TesseraPolicyGrant *out_grant)
{
  const TesseraOccupancyRequest *request = &planned->request;

  see_pool (planned);
  return tessera_caching_malloc (planned->policy.caching, request->size_bytes,
                                 request->stream, request->pool, &out_grant->grant);
}

/* The device is full: the pool may have room, or memory to give back. What it gives back
 * serves whoever asks, so that comes first where no plan is followed any more. */
static TesseraStatus
serve_short (TesseraPlanned *planned, TesseraPolicyGrant *out_grant)
{
  bool was_followed = is_followed (planned);
  TesseraStatus status = TESSERA_OUT_OF_DEVICE;

  if (was_followed && rescue (planned, out_grant))
    return TESSERA_OK;
  while (status == TESSERA_OUT_OF_DEVICE && relieve (planned))
    {
      status = serve_beside (planned, out_grant);
      planned->n_relieved++;
    }
  if (status == TESSERA_OUT_OF_DEVICE && !was_followed && rescue (planned, out_grant))
    return TESSERA_OK;
  return status;
}

/* What the plan has no place for. */
static TesseraStatus
serve_miss (TesseraPlanned *planned, TesseraPolicyGrant *out_grant)
{
  const TesseraOccupancyRequest *request = &planned->request;
  uint64_t growth_bytes;
  TesseraStatus status;

  if (fill (planned, out_grant))
    return TESSERA_OK;
  see_pool (planned);
  growth_bytes = tessera_caching_growth (planned->policy.caching, request->size_bytes,
                                         request->stream, request->pool);
  tessera_pool_make_room (&planned->pool, growth_bytes);
  status = serve_beside (planned, out_grant);
  if (status != TESSERA_OUT_OF_DEVICE)
    return status;
  tessera_pool_see_refused (&planned->pool, growth_bytes);
  return serve_short (planned, out_grant);
}

TesseraStatus
tessera_planned_malloc (TesseraPlanned *planned,
                        uint64_t size_bytes,
                        uint32_t stream,
                        uint32_t pool,
                        TesseraPolicyGrant *out_grant)
{
  TesseraStatus status = TESSERA_OK;
  bool is_served = false;

  planned->request =
      (TesseraOccupancyRequest){ .size_bytes = size_bytes,
                                 .block_bytes = round_size (planned, size_bytes),
                                 .stream = stream,
                                 .pool = pool };
  planned->is_unordered = planned->is_unplanned = false;
  tessera_pool_count_request (&planned->pool);
  if (planned->pool.n_bytes != 0 || is_followed (planned))
    status = tessera_occupancy_see_request (planned->pool.map, &planned->request);
  if (status != TESSERA_OK)
    return status;
  if (planned->has_freed && !is_followed (planned) &&
      tessera_occupancy_stats (planned->pool.map)->active_bytes == 0)
    trim (planned);
  if (is_followed (planned))
    {
      is_served = follow (planned, out_grant);
      if (is_misfit (planned, is_served))
        decline (planned);
      else if (!is_served)
        is_served = place_unplanned (planned, out_grant);
    }
  if (!is_served)
    {
      status = serve_miss (planned, out_grant);
      tessera_pool_see_held (&planned->pool);
    }
  see_pool (planned);
  if (status == TESSERA_OK)
    raise_peaks (planned);
  return status;
}

TesseraStatus
tessera_planned_free_requested (TesseraPlanned *planned, uint64_t addr)
{
  uint64_t offset_bytes = addr - planned->pool.addr;
  TesseraStatus status =
      tessera_occupancy_free_requested (planned->pool.map, offset_bytes);

  if (status == TESSERA_OK && planned->handover != NULL)
    tessera_follower_free_at (planned->follower, offset_bytes);
  return status;
}

TesseraStatus
tessera_planned_free_completed (TesseraPlanned *planned, uint64_t addr)
{
  uint64_t offset_bytes = addr - planned->pool.addr;
  TesseraStatus status =
      tessera_occupancy_free_completed (planned->pool.map, offset_bytes);

  if (status != TESSERA_OK)
    return status;
  if (planned->by_length != NULL)
    tessera_lengths_follower_free_at (planned->by_length, offset_bytes);
  else if (planned->follower != NULL && planned->handover == NULL)
    tessera_follower_free_at (planned->follower, offset_bytes); /* if it placed it */
  else if (planned->follower == NULL)
    planned->has_freed = true; /* what uses it may be launched after this call */
  return TESSERA_OK;
}

/* ---- What the program tells, and is told ---- */

void
tessera_planned_empty_cache (TesseraPlanned *planned)
{
  tessera_pool_forget_refusal (&planned->pool);
  if (!is_followed (planned))
    trim (planned);
}

void
tessera_planned_release_pool (TesseraPlanned *planned, uint32_t pool)
{
  tessera_occupancy_release_pool (planned->pool.map, pool);
  planned->has_freed = true;
}

/* A graph is about to be captured, perhaps: nothing is mapped for the plan meanwhile. */
void
tessera_planned_set_routed (TesseraPlanned *planned, bool is_routed)
{
  planned->is_routed = planned->pool.is_off = is_routed;
  tessera_pool_forget_refusal (&planned->pool);
  if (is_routed)
    tessera_pool_fulfil (&planned->pool);
  see_pool (planned);
  raise_peaks (planned);
}

void
tessera_planned_set_limit (TesseraPlanned *planned, uint64_t limit_bytes)
{
  planned->limit_bytes = planned->pool.users.limit_bytes = limit_bytes;
  tessera_pool_forget_refusal (&planned->pool);
  tessera_planned_limit_beside (planned);
}

void
tessera_planned_step (TesseraPlanned *planned)
{
  planned->step_bytes = 0;
  planned->n_sought = 0;
  if (planned->handover != NULL)
    {
      tessera_occupancy_see_mark (planned->pool.map);
      tessera_handover_step (planned->handover);
    }
  if (planned->by_length != NULL)
    tessera_lengths_follower_step (planned->by_length);
  else if (planned->follower != NULL)
    tessera_follower_step (planned->follower);
  else if (planned->has_freed)
    trim (planned);
  tessera_pool_step (&planned->pool);
  if (is_followed (planned) && tessera_monitor_mark (&planned->monitor) &&
      !planned->never_declines)
    decline (planned);
  see_pool (planned);
}

void
tessera_planned_phase (TesseraPlanned *planned, const char *name)
{
  if (planned->handover != NULL)
    tessera_occupancy_see_mark (planned->pool.map);
  if (planned->by_length != NULL)
    tessera_lengths_follower_phase (planned->by_length, name);
  else if (planned->follower != NULL)
    tessera_follower_phase (planned->follower, name);
}

void
tessera_planned_add_stats (const TesseraPlanned *planned, TesseraPolicyStats *stats)
{
  const TesseraOccupancyStats *inside = tessera_occupancy_stats (planned->pool.map);
  const TesseraCachingStats *peaks = &planned->peaks.caching;
  TesseraCachingStats *sum = &stats->caching;

  stats->peak_extra_bytes = planned->peaks.peak_extra_bytes;
  sum->allocated_bytes += inside->allocated_bytes;
  sum->active_bytes += inside->active_bytes;
  sum->requested_bytes += inside->requested_bytes;
  sum->reserved_bytes += planned->pool.held_bytes;
  sum->peak_allocated_bytes = peaks->peak_allocated_bytes;
  sum->peak_active_bytes = peaks->peak_active_bytes;
  sum->peak_requested_bytes = peaks->peak_requested_bytes;
  sum->peak_reserved_bytes = peaks->peak_reserved_bytes;
  /* The caching allocator gave up on them, the program did not notice. */
  sum->n_ooms -= planned->n_rescued + planned->n_relieved;
  get_followed (planned, &stats->follower);
  stats->pool_addr = planned->pool.addr;
  stats->pool_bytes = planned->pool.held_bytes;
  stats->promised_bytes = planned->pool.promised_bytes;
  stats->pool_height_bytes = planned->pool.height_bytes;
  stats->decline = planned->decline;
  stats->misses_unordered = planned->misses_unordered;
  stats->misses_rescued = planned->n_rescued;
  stats->n_barriers =
      planned->n_barriers +
      (planned->handover != NULL ? tessera_handover_count (planned->handover) : 0);
}

void
tessera_planned_reset_peaks (TesseraPlanned *planned)
{
  planned->peaks = (TesseraPolicyStats){ 0 };
  raise_peaks (planned);
}

void
tessera_planned_clear (TesseraPlanned *planned)
{
  tessera_follower_free (planned->follower);
  tessera_lengths_follower_free (planned->by_length);
  tessera_handover_free (planned->handover);
  tessera_pool_clear (&planned->pool);
}
