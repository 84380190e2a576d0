/*
 * Following a plan in its pool.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/policy/planned.h"

#include <inttypes.h>
#include <stdlib.h>

#include "allocator/policy/judge.h"
#include "allocator/policy/pages.h"

struct TesseraPlanned
{
  const TesseraPlan *plan;
  TesseraFollower *follower;     /* NULL: the plan was declined */
  TesseraFollowerStats followed; /* ... up to then */
  TesseraGuard *guard;
  TesseraPages pages; /* of the pool */
  TesseraJudge judge;
  TesseraDecline decline;
  uint64_t large_page_bytes; /* that expandable rules map at once for a large request */
  bool never_declines;
  bool is_routed;              /* nothing may be given back */
  bool has_freed;              /* blocks of the pool since it was trimmed */
  bool has_news;               /* nobody took */
  TesseraGuardRequest request; /* that is being served */
  bool is_unordered;           /* ... and some range was refused to it for that */
  uint64_t misses_unordered;
  uint64_t n_rescued;
  uint64_t n_relieved; /* requests that found memory once pages were given back */
};

static bool
take (void *user, uint64_t offset_bytes, uint64_t *out_end_bytes)
{
  TesseraPlanned *planned = user;

  switch (
      tessera_guard_take (planned->guard, offset_bytes, &planned->request, out_end_bytes))
    {
    case TESSERA_GUARD_GRANTED:
      return true;
    case TESSERA_GUARD_UNORDERED:
      planned->is_unordered = true;
      return false;
    default:
      return false;
    }
}

/* Tensors may lie only at multiples of what PyTorch's allocator promises. */
static bool
is_aligned (const TesseraPlan *plan)
{
  if (plan->alignment_bytes == 0 || plan->alignment_bytes % TESSERA_MIN_BLOCK_BYTES != 0)
    return false;
  for (size_t i = 0; i < plan->n_slots; i++)
    if (plan->slots[i].offset_bytes % TESSERA_MIN_BLOCK_BYTES != 0)
      return false;
  return true;
}

static TesseraStatus
accept_plan (const TesseraPolicyOptions *options, TesseraError *error)
{
  const TesseraPlan *plan = options->plan;

  if (plan == NULL)
    return tessera_fail (error, TESSERA_INVALID, "there is no plan to follow");
  if (options->is_simulation)
    return TESSERA_OK;
  if (plan->across_streams)
    return tessera_fail (error, TESSERA_REFUSED,
                         "the plan hands memory from stream to stream, which needs "
                         "events on the device: plan again without --across-streams");
  if (plan->followable == TESSERA_FOLLOWABLE_NO)
    return tessera_fail (error, TESSERA_REFUSED, "the plan cannot be followed: %s",
                         plan->follow_reason != NULL ? plan->follow_reason : "unknown");
  if (!is_aligned (plan))
    return tessera_fail (error, TESSERA_REFUSED,
                         "the plan places blocks at other addresses than multiples of "
                         "%" PRIu64 " bytes, where tensors cannot lie",
                         TESSERA_MIN_BLOCK_BYTES);
  return TESSERA_OK;
}

static TesseraStatus
say (TesseraError *error, TesseraStatus status)
{
  return tessera_fail (error, status == TESSERA_INVALID ? TESSERA_REFUSED : status,
                       status == TESSERA_INVALID
                           ? "the plan is damaged: its slots, sections and height do not "
                             "fit together"
                           : "there is no memory left to follow a plan");
}

TesseraStatus
tessera_planned_new (const TesseraPolicyOptions *options,
                     TesseraDevice *device,
                     const TesseraObserver *observer,
                     TesseraError *error,
                     TesseraPlanned **out_planned)
{
  TesseraStatus status = accept_plan (options, error);
  TesseraGuardLaws laws = tessera_guard_laws;
  TesseraPlanned *planned;

  *out_planned = NULL;
  if (status != TESSERA_OK)
    return status;
  /* Accepted for a simulation only, where its hand-overs count as ordered. */
  if (options->plan->across_streams)
    laws.streams = laws.sizes = false;
  planned = calloc (1, sizeof *planned);
  if (planned == NULL)
    return say (error, TESSERA_NO_MEMORY);
  planned->plan = options->plan;
  planned->never_declines = options->never_declines;
  planned->large_page_bytes = options->caching.settings.large_segment_bytes;
  tessera_judge_init (&planned->judge, options->plan);
  status = tessera_follower_new (options->plan, &planned->follower);
  if (status == TESSERA_OK)
    status = tessera_guard_new (options->plan->height_bytes, &laws, &planned->guard);
  if (status != TESSERA_OK)
    status = say (error, status);
  else
    /* Last: nothing can fail any more once the device gave it. */
    status = tessera_pages_take (&planned->pages, options->plan->height_bytes,
                                 options->caching.limit_bytes, device, observer, error);
  if (status != TESSERA_OK)
    {
      tessera_planned_free (planned);
      return status;
    }
  tessera_follower_set_guard (planned->follower,
                              &(TesseraFollowerGuard){ take, planned });
  if (options->plan->n_streams > 1 || options->caching.n_streams > 1)
    tessera_guard_see_streams (planned->guard);
  *out_planned = planned;
  return TESSERA_OK;
}

void
tessera_planned_free (TesseraPlanned *planned)
{
  if (planned == NULL)
    return;
  tessera_follower_free (planned->follower);
  tessera_guard_free (planned->guard);
  free (planned);
}

/* In whole steps of the plan's alignment, as the matching counts. */
static uint64_t
round_size (const TesseraPlan *plan, uint64_t size_bytes)
{
  uint64_t step = plan->alignment_bytes > 0 ? plan->alignment_bytes : 1;

  return (size_bytes / step + (size_bytes % step != 0)) * step;
}

static bool
is_empty (const TesseraPlanned *planned)
{
  TesseraGuardStats stats;

  tessera_guard_get_stats (planned->guard, &stats);
  return stats.active_bytes == 0;
}

/* What nobody needs of a declined plan's pool. Returns: bytes given back. */
static uint64_t
trim (TesseraPlanned *planned)
{
  uint64_t returned_bytes;

  if (planned->is_routed)
    return 0;
  planned->has_freed = false;
  returned_bytes = tessera_pages_trim (&planned->pages, planned->guard);
  planned->has_news |= returned_bytes > 0;
  return returned_bytes;
}

static void
decline (TesseraPlanned *planned, TesseraDeclineReason reason)
{
  tessera_follower_get_stats (planned->follower, &planned->followed);
  tessera_follower_free (planned->follower);
  planned->follower = NULL;
  planned->has_news = true;
  planned->decline = (TesseraDecline){
    .reason = reason,
    .misfit = planned->judge.misfit,
    .pool_bytes = planned->pages.n_bytes,
  };
  planned->decline.returned_bytes = trim (planned);
}

/* Returns: whether the plan has a place for the request. */
static bool
follow (TesseraPlanned *planned, TesseraPolicyGrant *out_grant)
{
  const TesseraGuardRequest *request = &planned->request;
  uint64_t offset_bytes;
  uint32_t slot;
  bool is_hit =
      tessera_follower_malloc (planned->follower, request->size_bytes, request->stream,
                               request->pool, &offset_bytes, &slot);

  if (is_hit)
    *out_grant = (TesseraPolicyGrant){
      .grant = { planned->pages.addr + offset_bytes, request->block_bytes },
      .is_hit = true,
      .slot = slot,
    };
  else
    planned->misses_unordered += planned->is_unordered;
  return is_hit;
}

TesseraStatus
tessera_planned_malloc (TesseraPlanned *planned,
                        uint64_t size_bytes,
                        uint32_t stream,
                        uint32_t pool,
                        TesseraPolicyGrant *out_grant)
{
  TesseraStatus status;

  planned->request =
      (TesseraGuardRequest){ .size_bytes = size_bytes,
                             .block_bytes = round_size (planned->plan, size_bytes),
                             .stream = stream,
                             .pool = pool };
  planned->is_unordered = false;
  if (planned->pages.n_bytes == 0 && planned->follower == NULL)
    return TESSERA_OK;
  status = tessera_guard_see_request (planned->guard, &planned->request);
  if (status != TESSERA_OK || planned->follower == NULL)
    return status;
  if (tessera_judge_request (&planned->judge, size_bytes, follow (planned, out_grant)) &&
      !planned->never_declines)
    decline (planned, TESSERA_DECLINED_FOR_MISSES);
  return TESSERA_OK;
}

bool
tessera_planned_rescue (TesseraPlanned *planned, TesseraPolicyGrant *out_grant)
{
  uint64_t offset_bytes;
  uint64_t end_bytes;

  if (planned->pages.n_bytes == 0 ||
      !tessera_guard_find (planned->guard, &planned->request, &offset_bytes) ||
      tessera_guard_take (planned->guard, offset_bytes, &planned->request, &end_bytes) !=
          TESSERA_GUARD_GRANTED)
    return false;
  planned->n_rescued++;
  *out_grant = (TesseraPolicyGrant){
    .grant = { planned->pages.addr + offset_bytes, planned->request.block_bytes },
    .slot = TESSERA_NONE,
  };
  return true;
}

/* Would giving back what nobody needs let the request be served elsewhere? */
static bool
would_help (const TesseraPlanned *planned)
{
  uint64_t block_bytes = planned->request.block_bytes;
  uint64_t page_bytes = block_bytes > TESSERA_SMALL_BYTES ? planned->large_page_bytes
                                                          : 2 * TESSERA_SMALL_BYTES;

  return tessera_pages_unneeded (&planned->pages, planned->guard) / page_bytes >=
         block_bytes / page_bytes + (block_bytes % page_bytes != 0);
}

bool
tessera_planned_relieve (TesseraPlanned *planned)
{
  if (planned->follower == NULL)
    return trim (planned) > 0;
  if (planned->is_routed || planned->never_declines || !would_help (planned))
    return false;
  decline (planned, TESSERA_DECLINED_FOR_SHORTAGE);
  return true;
}

void
tessera_planned_count_relieved (TesseraPlanned *planned)
{
  planned->n_relieved++;
}

bool
tessera_planned_holds (const TesseraPlanned *planned, uint64_t addr)
{
  return addr >= planned->pages.addr &&
         addr - planned->pages.addr < planned->pages.n_bytes;
}

TesseraStatus
tessera_planned_free_requested (TesseraPlanned *planned, uint64_t addr)
{
  return tessera_guard_free_requested (planned->guard, addr - planned->pages.addr);
}

TesseraStatus
tessera_planned_free_completed (TesseraPlanned *planned, uint64_t addr)
{
  uint64_t offset_bytes = addr - planned->pages.addr;
  TesseraStatus status = tessera_guard_free_completed (planned->guard, offset_bytes);

  if (status != TESSERA_OK)
    return status;
  if (planned->follower != NULL)
    {
      tessera_follower_free_at (planned->follower, offset_bytes); /* if it placed it */
      return TESSERA_OK;
    }
  planned->has_freed = true;
  if (is_empty (planned))
    trim (planned);
  return TESSERA_OK;
}

bool
tessera_planned_take_news (TesseraPlanned *planned)
{
  bool has_news = planned->has_news;

  planned->has_news = false;
  return has_news;
}

void
tessera_planned_empty_cache (TesseraPlanned *planned)
{
  if (planned->follower == NULL)
    trim (planned);
}

void
tessera_planned_release_pool (TesseraPlanned *planned, uint32_t pool)
{
  tessera_guard_release_pool (planned->guard, pool);
  planned->has_freed = true;
}

void
tessera_planned_set_routed (TesseraPlanned *planned, bool is_routed)
{
  planned->is_routed = is_routed;
}

void
tessera_planned_see_stream (TesseraPlanned *planned, uint32_t stream)
{
  if (stream > 0)
    tessera_guard_see_streams (planned->guard);
}

void
tessera_planned_step (TesseraPlanned *planned)
{
  if (planned->follower == NULL)
    {
      if (planned->has_freed)
        trim (planned);
      return;
    }
  tessera_follower_step (planned->follower);
  if (tessera_judge_mark (&planned->judge) && !planned->never_declines)
    decline (planned, TESSERA_DECLINED_FOR_MISSES);
}

void
tessera_planned_phase (TesseraPlanned *planned, const char *name)
{
  if (planned->follower != NULL)
    tessera_follower_phase (planned->follower, name);
}

void
tessera_planned_add_stats (const TesseraPlanned *planned, TesseraPolicyStats *stats)
{
  TesseraGuardStats guard;

  tessera_guard_get_stats (planned->guard, &guard);
  stats->follower = planned->followed;
  if (planned->follower != NULL)
    tessera_follower_get_stats (planned->follower, &stats->follower);
  stats->caching.allocated_bytes += guard.allocated_bytes;
  stats->caching.active_bytes += guard.active_bytes;
  stats->caching.requested_bytes += guard.requested_bytes;
  stats->caching.reserved_bytes += planned->pages.held_bytes;
  stats->pool_addr = planned->pages.addr;
  stats->pool_bytes = planned->pages.held_bytes;
  stats->decline = planned->decline;
  stats->misses_unordered = planned->misses_unordered;
  stats->misses_rescued = planned->n_rescued;
  /* The caching allocator gave up on them, the program did not notice. */
  stats->caching.n_ooms -= planned->n_rescued + planned->n_relieved;
}

void
tessera_planned_each (const TesseraPlanned *planned,
                      void (*visit) (void *user, const TesseraBlockInfo *info),
                      void *user)
{
  tessera_guard_each (planned->guard, planned->pages.addr, visit, user);
}

TesseraStatus
tessera_planned_check (const TesseraPlanned *planned, TesseraError *error)
{
  return tessera_guard_check (planned->guard, error);
}
