/*
 * Following a plan in its pool.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/policy/planned.h"

#include <inttypes.h>
#include <stdlib.h>

#include "allocator/policy/guard.h"

struct TesseraPlanned
{
  const TesseraPlan *plan;
  TesseraFollower *follower;
  TesseraGuard *guard;
  uint64_t pool_addr;
  uint64_t pool_bytes;
  TesseraGuardRequest request; /* that is being served */
  bool is_unordered;           /* ... and some range was refused to it for that */
  uint64_t misses_unordered;
  uint64_t n_rescued;
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
take_pool (TesseraPlanned *planned,
           uint64_t limit_bytes,
           TesseraDevice *device,
           const TesseraObserver *observer,
           TesseraError *error)
{
  uint64_t pool_bytes = planned->plan->height_bytes;
  TesseraStatus status;

  if (pool_bytes == 0)
    return TESSERA_OK;
  if (limit_bytes != 0 && pool_bytes > limit_bytes)
    return tessera_fail (error, TESSERA_OUT_OF_DEVICE,
                         "the plan's pool of %" PRIu64
                         " bytes is larger than the %" PRIu64
                         " bytes that this process may use",
                         pool_bytes, limit_bytes);
  status = device->allocate (device, pool_bytes, 0, &planned->pool_addr);
  if (status != TESSERA_OK)
    return tessera_fail (error, status,
                         "the device does not give the plan's pool of %" PRIu64 " bytes",
                         pool_bytes);
  planned->pool_bytes = pool_bytes;
  if (observer != NULL && observer->segment_alloc != NULL)
    observer->segment_alloc (observer->user, planned->pool_addr, pool_bytes, 0, 0, false);
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
  status = tessera_follower_new (options->plan, &planned->follower);
  if (status == TESSERA_OK)
    status = tessera_guard_new (options->plan->height_bytes, &laws, &planned->guard);
  if (status != TESSERA_OK)
    status = say (error, status);
  else
    /* Last: nothing can fail any more once the device gave it. */
    status = take_pool (planned, options->caching.limit_bytes, device, observer, error);
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

TesseraStatus
tessera_planned_malloc (TesseraPlanned *planned,
                        uint64_t size_bytes,
                        uint32_t stream,
                        uint32_t pool,
                        TesseraPolicyGrant *out_grant)
{
  uint64_t offset_bytes;
  uint32_t slot;
  TesseraStatus status;

  planned->request =
      (TesseraGuardRequest){ .size_bytes = size_bytes,
                             .block_bytes = round_size (planned->plan, size_bytes),
                             .stream = stream,
                             .pool = pool };
  planned->is_unordered = false;
  status = tessera_guard_see_request (planned->guard, &planned->request);
  if (status != TESSERA_OK)
    return status;
  if (!tessera_follower_malloc (planned->follower, size_bytes, stream, pool,
                                &offset_bytes, &slot))
    {
      planned->misses_unordered += planned->is_unordered;
      return TESSERA_OK;
    }
  *out_grant = (TesseraPolicyGrant){
    .grant = { planned->pool_addr + offset_bytes, planned->request.block_bytes },
    .is_hit = true,
    .slot = slot,
  };
  return TESSERA_OK;
}

bool
tessera_planned_rescue (TesseraPlanned *planned, TesseraPolicyGrant *out_grant)
{
  uint64_t offset_bytes;
  uint64_t end_bytes;

  if (!tessera_guard_find (planned->guard, &planned->request, &offset_bytes) ||
      tessera_guard_take (planned->guard, offset_bytes, &planned->request, &end_bytes) !=
          TESSERA_GUARD_GRANTED)
    return false;
  planned->n_rescued++;
  *out_grant = (TesseraPolicyGrant){
    .grant = { planned->pool_addr + offset_bytes, planned->request.block_bytes },
    .slot = TESSERA_NONE,
  };
  return true;
}

bool
tessera_planned_holds (const TesseraPlanned *planned, uint64_t addr)
{
  return addr >= planned->pool_addr && addr - planned->pool_addr < planned->pool_bytes;
}

TesseraStatus
tessera_planned_free_requested (TesseraPlanned *planned, uint64_t addr)
{
  return tessera_guard_free_requested (planned->guard, addr - planned->pool_addr);
}

TesseraStatus
tessera_planned_free_completed (TesseraPlanned *planned, uint64_t addr)
{
  uint64_t offset_bytes = addr - planned->pool_addr;
  TesseraStatus status = tessera_guard_free_completed (planned->guard, offset_bytes);

  if (status == TESSERA_OK)
    tessera_follower_free_at (planned->follower, offset_bytes); /* if it placed it */
  return status;
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
  tessera_follower_step (planned->follower);
}

void
tessera_planned_phase (TesseraPlanned *planned, const char *name)
{
  tessera_follower_phase (planned->follower, name);
}

void
tessera_planned_add_stats (const TesseraPlanned *planned, TesseraPolicyStats *stats)
{
  TesseraGuardStats guard;

  tessera_guard_get_stats (planned->guard, &guard);
  tessera_follower_get_stats (planned->follower, &stats->follower);
  stats->caching.allocated_bytes += guard.allocated_bytes;
  stats->caching.active_bytes += guard.active_bytes;
  stats->caching.requested_bytes += guard.requested_bytes;
  stats->caching.reserved_bytes += planned->pool_bytes;
  stats->pool_addr = planned->pool_addr;
  stats->pool_bytes = planned->pool_bytes;
  stats->misses_unordered = planned->misses_unordered;
  stats->misses_rescued = planned->n_rescued;
  /* The caching allocator gave up on them, the program did not notice. */
  stats->caching.n_ooms -= planned->n_rescued;
}

void
tessera_planned_each (const TesseraPlanned *planned,
                      void (*visit) (void *user, const TesseraBlockInfo *info),
                      void *user)
{
  tessera_guard_each (planned->guard, planned->pool_addr, visit, user);
}

TesseraStatus
tessera_planned_check (const TesseraPlanned *planned, TesseraError *error)
{
  return tessera_guard_check (planned->guard, error);
}
