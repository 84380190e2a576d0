/*
 * Following a plan in its pool.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/policy/planned.h"

#include <inttypes.h>
#include <stdlib.h>

#include "allocator/follow/lengths.h"
#include "allocator/policy/growth.h"
#include "allocator/policy/judge.h"

struct TesseraPlanned
{
  const TesseraPlan *plan;
  TesseraFollower *follower;     /* NULL: the plan was declined */
  TesseraFollowerStats followed; /* ... up to then */
  TesseraLengthsFollower
      *by_length; /* in its place, where the plan is for every length */
  TesseraGuard *guard;
  TesseraPages pages;   /* of the pool */
  TesseraGrowth growth; /* ... by length */
  TesseraJudge judge;
  TesseraDecline decline;
  uint32_t main_stream;      /* by length: of what is planned */
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

/* Not declined yet. */
static bool
is_followed (const TesseraPlanned *planned)
{
  return planned->follower != NULL || planned->by_length != NULL;
}

/* By length: the pool grows as far as it is handed out. */
static void
grow (TesseraPlanned *planned, uint64_t height_bytes)
{
  uint64_t held_bytes = planned->pages.held_bytes;

  tessera_growth_reach (&planned->growth, height_bytes);
  planned->has_news |= planned->pages.held_bytes != held_bytes;
}

static bool
take (void *user, uint64_t offset_bytes, uint64_t *out_end_bytes)
{
  TesseraPlanned *planned = user;

  if (planned->growth.pages != NULL)
    grow (planned, offset_bytes + planned->request.block_bytes);
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
static TesseraStatus
accept_alignment (uint64_t alignment_bytes, TesseraError *error)
{
  if (alignment_bytes != 0 && alignment_bytes % TESSERA_MIN_BLOCK_BYTES == 0)
    return TESSERA_OK;
  return tessera_fail (error, TESSERA_REFUSED,
                       "the plan places blocks at other addresses than multiples of "
                       "%" PRIu64 " bytes, where tensors cannot lie",
                       TESSERA_MIN_BLOCK_BYTES);
}

static TesseraStatus
accept_plan (const TesseraPolicyOptions *options, TesseraError *error)
{
  const TesseraPlan *plan = options->plan;

  if (plan == NULL)
    return tessera_fail (error, TESSERA_INVALID, "there is no plan to follow");
  if (options->by_length && plan->lengths == NULL)
    return tessera_fail (error, TESSERA_REFUSED,
                         "the plan has nothing for steps of other lengths");
  if (options->is_simulation)
    return TESSERA_OK;
  if (options->by_length)
    return accept_alignment (plan->lengths->alignment_bytes, error);
  if (plan->across_streams)
    return tessera_fail (error, TESSERA_REFUSED,
                         "the plan hands memory from stream to stream, which needs "
                         "events on the device: plan again without --across-streams");
  if (plan->followable == TESSERA_FOLLOWABLE_NO)
    return tessera_fail (error, TESSERA_REFUSED, "the plan cannot be followed: %s",
                         plan->follow_reason != NULL ? plan->follow_reason : "unknown");
  for (size_t i = 0; i < plan->n_slots; i++)
    if (plan->slots[i].offset_bytes % TESSERA_MIN_BLOCK_BYTES != 0)
      return accept_alignment (1, error);
  return accept_alignment (plan->alignment_bytes, error);
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

/* That much of the pool is this step's. */
static void
expect (void *user, uint64_t height_bytes)
{
  TesseraPlanned *planned = user;

  planned->growth.step_bytes = height_bytes;
}

static bool
is_free (void *user, uint64_t begin_bytes, uint64_t end_bytes)
{
  TesseraPlanned *planned = user;

  /* Where several streams work it would be small blocks for large ones, and the reverse:
     the places of what one step makes lie beside each other, whatever their size. */
  return !tessera_guard_has_several (planned->guard) &&
         tessera_guard_is_free (planned->guard, begin_bytes, end_bytes);
}

/* The pool, and who follows the plan in it. */
static TesseraStatus
open_by_length (TesseraPlanned *planned,
                const TesseraGuardLaws *laws,
                TesseraDevice *device,
                const TesseraObserver *observer,
                TesseraError *error)
{
  const TesseraLengths *lengths = planned->plan->lengths;
  const TesseraLengthsHooks hooks = { { take, planned }, expect, is_free };
  uint64_t height_bytes;
  TesseraStatus status = tessera_lengths_height (lengths, &height_bytes);

  if (status == TESSERA_OK)
    status = tessera_guard_new (0, laws, &planned->guard);
  if (status != TESSERA_OK)
    return say (error, status);
  status = tessera_pages_reserve (&planned->pages, height_bytes, device, observer, error);
  if (status != TESSERA_OK)
    return status;
  planned->growth.pages = &planned->pages;
  planned->growth.guard = planned->guard;
  for (uint32_t i = 0; i < lengths->n_slots; i++)
    if (lengths->slots[i].place != TESSERA_PLACE_NONE)
      planned->main_stream = lengths->slots[i].stream;
  tessera_judge_init_lengths (&planned->judge, lengths, height_bytes);
  status = tessera_lengths_follower_new (lengths, &hooks, &planned->by_length);
  if (status == TESSERA_OK)
    return status;
  tessera_pages_close (&planned->pages);
  return say (error, status);
}

/* The same of a plan that is for one run. */
static TesseraStatus
open_pool (TesseraPlanned *planned,
           const TesseraGuardLaws *laws,
           TesseraDevice *device,
           const TesseraObserver *observer,
           TesseraError *error)
{
  TesseraStatus status = tessera_follower_new (planned->plan, &planned->follower);

  if (status == TESSERA_OK)
    status = tessera_guard_new (tessera_plan_pool_bytes (planned->plan), laws,
                                &planned->guard);
  if (status != TESSERA_OK)
    return say (error, status);
  tessera_follower_set_guard (planned->follower,
                              &(TesseraFollowerGuard){ take, planned });
  /* Last: nothing can fail any more once the device gave it. */
  return tessera_pages_take (&planned->pages, tessera_plan_pool_bytes (planned->plan),
                             planned->growth.limit_bytes, device, observer, error);
}

TesseraStatus
tessera_planned_new (const TesseraPolicyOptions *options,
                     TesseraDevice *device,
                     TesseraCaching *beside,
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
  if (options->plan->across_streams && !options->by_length)
    laws.streams = laws.sizes = false;
  planned = calloc (1, sizeof *planned);
  if (planned == NULL)
    return say (error, TESSERA_NO_MEMORY);
  planned->plan = options->plan;
  planned->never_declines = options->never_declines;
  planned->large_page_bytes = options->caching.settings.large_segment_bytes;
  tessera_judge_init (&planned->judge, options->plan);
  planned->growth.beside = beside;
  planned->growth.limit_bytes = options->caching.limit_bytes;
  planned->growth.may_flush = true;
  if (options->by_length)
    status = open_by_length (planned, &laws, device, observer, error);
  else
    status = open_pool (planned, &laws, device, observer, error);
  if (status != TESSERA_OK)
    {
      tessera_planned_free (planned);
      return status;
    }
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
  tessera_lengths_follower_free (planned->by_length);
  tessera_guard_free (planned->guard);
  free (planned);
}

/* In whole steps of the plan's alignment, as the matching counts. */
static uint64_t
round_size (const TesseraPlanned *planned, uint64_t size_bytes)
{
  uint64_t step = planned->by_length != NULL ? planned->plan->lengths->alignment_bytes
                                             : planned->plan->alignment_bytes;

  step += step == 0;
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
get_followed (const TesseraPlanned *planned, TesseraFollowerStats *out_stats)
{
  *out_stats = planned->followed;
  if (planned->follower != NULL)
    tessera_follower_get_stats (planned->follower, out_stats);
  else if (planned->by_length != NULL)
    tessera_lengths_follower_get_stats (planned->by_length, out_stats);
}

static void
decline (TesseraPlanned *planned, TesseraDeclineReason reason)
{
  get_followed (planned, &planned->followed);
  tessera_follower_free (planned->follower);
  tessera_lengths_follower_free (planned->by_length);
  planned->follower = NULL;
  planned->by_length = NULL;
  planned->has_news = true;
  planned->decline = (TesseraDecline){
    .reason = reason,
    .misfit = planned->judge.misfit,
    .pool_bytes = planned->pages.held_bytes,
  };
  planned->decline.returned_bytes = trim (planned);
}

/* Returns: whether the plan has a place for the request. */
static bool
follow (TesseraPlanned *planned, TesseraPolicyGrant *out_grant)
{
  const TesseraGuardRequest *request = &planned->request;
  uint64_t offset_bytes;
  uint32_t slot = TESSERA_NONE;
  bool is_hit = planned->by_length != NULL
                    ? tessera_lengths_follower_malloc (
                          planned->by_length, request->size_bytes, request->stream,
                          request->pool, &offset_bytes)
                    : tessera_follower_malloc (planned->follower, request->size_bytes,
                                               request->stream, request->pool,
                                               &offset_bytes, &slot);

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

/* What no slot stands for. */
static TesseraPolicyGrant
in_pool (const TesseraPlanned *planned, uint64_t offset_bytes)
{
  return (TesseraPolicyGrant){
    .grant = { planned->pages.addr + offset_bytes, planned->request.block_bytes },
    .slot = TESSERA_NONE,
  };
}

/* Small blocks would lie in the way of large ones; what another stream or a graph used
 * once is lost to the plan's. */
static bool
is_for_pool (const TesseraPlanned *planned)
{
  const TesseraGuardRequest *request = &planned->request;

  return request->block_bytes > TESSERA_SMALL_BYTES && request->pool == 0 &&
         request->stream == planned->main_stream;
}

/* In the pool, though the plan has no place for it: where nobody planned the step, nobody
 * needs the pool for another. */
static void
place (TesseraPlanned *planned, TesseraPolicyGrant *out_grant)
{
  uint64_t held_bytes = planned->pages.held_bytes;
  uint64_t offset_bytes, end_bytes;

  if (tessera_growth_find (&planned->growth, &planned->request, &offset_bytes) &&
      tessera_guard_take (planned->guard, offset_bytes, &planned->request, &end_bytes) ==
          TESSERA_GUARD_GRANTED)
    *out_grant = in_pool (planned, offset_bytes);
  planned->has_news |= planned->pages.held_bytes != held_bytes;
}

TesseraStatus
tessera_planned_malloc (TesseraPlanned *planned,
                        uint64_t size_bytes,
                        uint32_t stream,
                        uint32_t pool,
                        TesseraPolicyGrant *out_grant)
{
  TesseraStatus status;
  bool is_hit;

  planned->request =
      (TesseraGuardRequest){ .size_bytes = size_bytes,
                             .block_bytes = round_size (planned, size_bytes),
                             .stream = stream,
                             .pool = pool };
  planned->is_unordered = false;
  if (planned->pages.n_bytes == 0 && !is_followed (planned))
    return TESSERA_OK;
  status = tessera_guard_see_request (planned->guard, &planned->request);
  if (status != TESSERA_OK || !is_followed (planned))
    return status;
  is_hit = follow (planned, out_grant);
  if (tessera_judge_request (&planned->judge, size_bytes, is_hit) &&
      !planned->never_declines)
    decline (planned, TESSERA_DECLINED_FOR_MISSES);
  else if (!is_hit && planned->by_length != NULL && is_for_pool (planned) &&
           tessera_lengths_follower_is_lost (planned->by_length))
    place (planned, out_grant);
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
  *out_grant = in_pool (planned, offset_bytes);
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
  if (!is_followed (planned))
    return trim (planned) > 0;
  if (planned->is_routed)
    return false;
  if (planned->by_length != NULL && tessera_growth_give_back (&planned->growth) > 0)
    {
      planned->has_news = true;
      return true;
    }
  if (planned->never_declines || !would_help (planned))
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
  if (planned->by_length != NULL)
    {
      tessera_lengths_follower_free_at (planned->by_length, offset_bytes);
      return TESSERA_OK;
    }
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
  if (!is_followed (planned))
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
  planned->growth.may_flush = !is_routed;
}

void
tessera_planned_set_limit (TesseraPlanned *planned, uint64_t limit_bytes)
{
  planned->growth.limit_bytes = limit_bytes;
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
  if (!is_followed (planned))
    {
      if (planned->has_freed)
        trim (planned);
      return;
    }
  planned->growth.step_bytes = 0;
  if (planned->by_length != NULL)
    tessera_lengths_follower_step (planned->by_length);
  else
    tessera_follower_step (planned->follower);
  if (tessera_judge_mark (&planned->judge) && !planned->never_declines)
    decline (planned, TESSERA_DECLINED_FOR_MISSES);
}

void
tessera_planned_phase (TesseraPlanned *planned, const char *name)
{
  if (planned->by_length != NULL)
    tessera_lengths_follower_phase (planned->by_length, name);
  else if (planned->follower != NULL)
    tessera_follower_phase (planned->follower, name);
}

void
tessera_planned_add_stats (const TesseraPlanned *planned, TesseraPolicyStats *stats)
{
  TesseraGuardStats guard;

  tessera_guard_get_stats (planned->guard, &guard);
  get_followed (planned, &stats->follower);
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
