/*
 * Following a plan in its pool.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/policy/planned/internal.h"

#include <stdlib.h>

#include "allocator/policy/planned/strays.h"

enum
{
  MAX_SOUGHT = 64, /* strays of a step that places are looked for in its own */
  MAX_PIECES = 256 /* of a declined plan's pool that each large request looks at */
};

void
tessera_planned_free (TesseraPlanned *planned)
{
  if (planned == NULL)
    return;
  tessera_follower_free (planned->follower);
  tessera_lengths_follower_free (planned->by_length);
  tessera_lending_clear (&planned->lending);
  tessera_guard_free (planned->guard);
  free (planned);
}

const TesseraPages *
tessera_planned_pages (const TesseraPlanned *planned)
{
  return &planned->pages;
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
  planned->is_placeless =
      !is_hit && (planned->by_length != NULL
                      ? tessera_lengths_follower_was_placeless (planned->by_length)
                      : tessera_follower_was_placeless (planned->follower));
  out_grant->is_placeless = planned->is_placeless;
  return is_hit;
}

/* What the plan leaves to others says nothing of whether it suits. */
static bool
is_misfit (TesseraPlanned *planned, bool is_hit)
{
  return !planned->is_placeless &&
         tessera_judge_request (&planned->judge, planned->request.size_bytes, is_hit) &&
         !planned->never_declines;
}

/* What no slot stands for. */
static TesseraPolicyGrant
in_pool (const TesseraPlanned *planned, uint64_t offset_bytes)
{
  return (TesseraPolicyGrant){
    .grant = { planned->pages.addr + offset_bytes, planned->request.block_bytes },
    .is_placeless = planned->is_placeless,
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

/* In the pool, though the plan has no place for it: beside a pool that longer steps made
 * it would be paid twice. Where nobody planned the step nobody needs the pool for
 * another; else where the step's plan needs nothing any more, or above it. */
static bool
find_place (TesseraPlanned *planned, uint64_t *out_offset_bytes)
{
  const TesseraLengths *lengths = planned->plan->lengths;

  if (tessera_lengths_follower_is_lost (planned->by_length))
    return tessera_growth_find (&planned->growth, &planned->request, out_offset_bytes);
  if (planned->growth.step_bytes == 0)
    return false;
  return (planned->n_strays++ < MAX_SOUGHT &&
          tessera_strays_find (planned->by_length, &planned->growth, lengths->fixed_bytes,
                               &planned->request, out_offset_bytes)) ||
         tessera_growth_find_above (&planned->growth, &planned->request,
                                    out_offset_bytes);
}

static void
place (TesseraPlanned *planned, TesseraPolicyGrant *out_grant)
{
  uint64_t held_bytes = planned->pages.held_bytes;
  uint64_t offset_bytes, end_bytes;

  if (find_place (planned, &offset_bytes) &&
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
  planned->is_unordered = planned->is_placeless = false;
  planned->lending.n_requests++;
  if (planned->pages.n_bytes == 0 && !tessera_planned_is_followed (planned))
    return TESSERA_OK;
  status = tessera_guard_see_request (planned->guard, &planned->request);
  if (status != TESSERA_OK || !tessera_planned_is_followed (planned))
    return status;
  tessera_refusal_count (&planned->refusal);
  is_hit = follow (planned, out_grant);
  if (is_misfit (planned, is_hit))
    tessera_planned_decline (planned, TESSERA_DECLINED_FOR_MISSES);
  else if (!is_hit && !planned->is_placeless && planned->by_length != NULL &&
           is_for_pool (planned))
    place (planned, out_grant);
  return TESSERA_OK;
}

/* The lowest place that the guard would grant, with pages that have no memory; where the
 * device refuses that, one that has. It is asked, whatever it refused before. */
static bool
find_rescue (TesseraPlanned *planned, uint64_t *out_offset_bytes)
{
  const TesseraGuardRequest *request = &planned->request;
  bool was_refused = tessera_refusal_forget (&planned->refusal);
  uint64_t end_bytes;

  if (planned->follower != NULL)
    {
      if (!tessera_guard_find (planned->guard, request, true, UINT32_MAX,
                               out_offset_bytes))
        return false;
      tessera_planned_bring_back (planned, *out_offset_bytes);
      if (tessera_guard_ask (planned->guard, *out_offset_bytes, request, &end_bytes) ==
          TESSERA_GUARD_GRANTED)
        return true;
    }
  if (planned->by_length != NULL && was_refused)
    return tessera_growth_find (&planned->growth, request, out_offset_bytes);
  return tessera_guard_find (planned->guard, request, false, UINT32_MAX,
                             out_offset_bytes);
}

bool
tessera_planned_rescue (TesseraPlanned *planned, TesseraPolicyGrant *out_grant)
{
  uint64_t held_bytes = planned->pages.held_bytes;
  uint64_t offset_bytes, end_bytes;
  bool is_found = planned->pages.n_bytes != 0 && find_rescue (planned, &offset_bytes);

  planned->has_news |= planned->pages.held_bytes != held_bytes;
  if (!is_found || tessera_guard_take (planned->guard, offset_bytes, &planned->request,
                                       &end_bytes) != TESSERA_GUARD_GRANTED)
    return false;
  planned->n_rescued++;
  *out_grant = in_pool (planned, offset_bytes);
  return true;
}

bool
tessera_planned_fill (TesseraPlanned *planned, TesseraPolicyGrant *out_grant)
{
  const TesseraGuardRequest *request = &planned->request;
  uint64_t offset_bytes;
  uint64_t end_bytes;

  if (planned->pages.n_bytes == 0 || tessera_planned_is_followed (planned) ||
      request->block_bytes <= TESSERA_SMALL_BYTES || request->pool != 0 ||
      !tessera_guard_find (planned->guard, request, false, MAX_PIECES, &offset_bytes) ||
      tessera_guard_take (planned->guard, offset_bytes, request, &end_bytes) !=
          TESSERA_GUARD_GRANTED)
    return false;
  *out_grant = in_pool (planned, offset_bytes);
  return true;
}

void
tessera_planned_make_room (TesseraPlanned *planned, uint64_t n_bytes)
{
  uint64_t held_bytes = planned->pages.held_bytes;

  if (planned->by_length != NULL)
    return;
  tessera_lending_make_room (&planned->lending, n_bytes);
  planned->has_news |= planned->pages.held_bytes != held_bytes;
}

void
tessera_planned_see_refused (TesseraPlanned *planned, uint64_t n_bytes)
{
  tessera_lending_see_refused (&planned->lending, n_bytes);
}

void
tessera_planned_see_held (TesseraPlanned *planned)
{
  if (planned->by_length == NULL)
    tessera_lending_see_held (&planned->lending);
}

bool
tessera_planned_bring_back (TesseraPlanned *planned, uint64_t offset_bytes)
{
  uint64_t held_bytes = planned->pages.held_bytes;
  bool has_memory = tessera_lending_bring_back (
      &planned->lending, offset_bytes, offset_bytes + planned->request.block_bytes);

  planned->has_news |= planned->pages.held_bytes != held_bytes;
  return has_memory;
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
    tessera_planned_trim (planned);
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
  if (!tessera_planned_is_followed (planned))
    tessera_planned_trim (planned);
}

void
tessera_planned_release_pool (TesseraPlanned *planned, uint32_t pool)
{
  tessera_guard_release_pool (planned->guard, pool);
  planned->has_freed = true;
}

/* A graph is about to be captured, perhaps: nothing is mapped for the plan meanwhile. */
static void
fulfil (TesseraPlanned *planned)
{
  uint64_t held_bytes = planned->pages.held_bytes;

  tessera_lending_fulfil (&planned->lending);
  planned->has_news |= planned->pages.held_bytes != held_bytes;
}

void
tessera_planned_set_routed (TesseraPlanned *planned, bool is_routed)
{
  planned->is_routed = is_routed;
  tessera_refusal_forget (&planned->refusal);
  planned->growth.may_flush = !is_routed;
  planned->lending.is_off = is_routed;
  if (is_routed && planned->follower != NULL)
    fulfil (planned);
}

void
tessera_planned_set_limit (TesseraPlanned *planned, uint64_t limit_bytes)
{
  planned->growth.limit_bytes = planned->lending.limit_bytes = limit_bytes;
  tessera_refusal_forget (&planned->refusal);
}

void
tessera_planned_see_streams (TesseraPlanned *planned)
{
  tessera_guard_see_streams (planned->guard);
}

void
tessera_planned_step (TesseraPlanned *planned)
{
  planned->lending.refused_bytes = 0;
  if (!tessera_planned_is_followed (planned))
    {
      if (planned->has_freed)
        tessera_planned_trim (planned);
      return;
    }
  planned->growth.step_bytes = 0;
  planned->n_strays = 0;
  tessera_refusal_forget (&planned->refusal);
  if (planned->by_length != NULL)
    tessera_lengths_follower_step (planned->by_length);
  else
    {
      tessera_follower_step (planned->follower);
      tessera_lending_step (&planned->lending);
    }
  if (tessera_judge_mark (&planned->judge) && !planned->never_declines)
    tessera_planned_decline (planned, TESSERA_DECLINED_FOR_MISSES);
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
  tessera_planned_get_followed (planned, &stats->follower);
  stats->caching.allocated_bytes += guard.allocated_bytes;
  stats->caching.active_bytes += guard.active_bytes;
  stats->caching.requested_bytes += guard.requested_bytes;
  stats->caching.reserved_bytes += planned->pages.held_bytes;
  stats->pool_addr = planned->pages.addr;
  stats->pool_bytes = planned->pages.held_bytes;
  stats->promised_bytes = planned->pages.promised_bytes;
  stats->pool_height_bytes = planned->pages.height_bytes;
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
