/*
 * Making the recorded calls again, one by one, and comparing.
 *
 * Reading a window: what the entries before a call say about that call.
 *
 * Entries of the driver and completions of frees come before the entry of the call that
 * caused them; together they are its window. Three questions have to be answered from the
 * window alone:
 *   - completions in front: from the event processing at the start of the call, so they
 *     come before the search; but when expandable pages are given back right after them,
 *     they are the flush's own wait, after the search and the map that failed;
 *   - memory given back and then taken: a miss with a flush; given back and nothing
 *     taken, or where a free block would have served: an empty_cache() of its own;
 *   - where requests also give memory back without a flush (max_split_size, garbage
 *     collection): if exactly what a flush gives back was given back, it was an
 *     empty_cache().
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "simulator/private.h"
#include "simulator/verify/private.h"

#include <inttypes.h>

enum
{
  EVENTS_PER_PROGRESS = 1 << 14
};

bool
tessera_is_of_device (uint8_t action)
{
  return action == TESSERA_FREE_COMPLETED ||
         (action >= TESSERA_SEGMENT_ALLOC && action <= TESSERA_SEGMENT_UNMAP);
}

static bool
is_unmapped (uint8_t action)
{
  return action == TESSERA_SEGMENT_UNMAP;
}

static bool
has_any (const TesseraReplay *replay, bool (*is_kind) (uint8_t action))
{
  for (uint32_t i = replay->next; i < replay->end; i++)
    if (is_kind (replay->trace->events[i].action))
      return true;
  return false;
}

/* Private pools go when their last user does, which is the program's doing: told by what
 * was given back. */
static void
note_released_pools (TesseraReplay *replay)
{
  for (uint32_t i = replay->next; replay->trace->n_pools > 1 && i < replay->end; i++)
    if (tessera_is_given_back (replay->trace->events[i].action))
      {
        uint32_t pool =
            tessera_caching_pool_at (replay->caching, replay->trace->events[i].addr);

        if (pool != 0)
          tessera_caching_release_pool (replay->caching, pool);
      }
}

typedef struct
{
  const TesseraReplay *replay;
  uint32_t at;
} FlushMatch;

static void
skip_to_free (FlushMatch *match)
{
  while (match->at < match->replay->end &&
         match->replay->trace->events[match->at].action != TESSERA_SEGMENT_FREE)
    match->at++;
}

static bool
matches_flushed (void *user, uint64_t addr)
{
  FlushMatch *match = user;

  skip_to_free (match);
  return match->at < match->replay->end &&
         match->replay->trace->events[match->at++].addr == addr;
}

/* Whether the segments given back in the window are those that a flush gives back, with
 * no wait among them. */
static bool
is_whole_flush (const TesseraReplay *replay)
{
  FlushMatch match = { replay, replay->next };
  bool has_freed = false;

  for (uint32_t i = replay->next; i < replay->end; i++)
    {
      uint8_t action = replay->trace->events[i].action;

      if (action == TESSERA_FREE_COMPLETED && has_freed)
        return false;
      has_freed |= action == TESSERA_SEGMENT_FREE;
    }
  if (!tessera_caching_each_flushed (replay->caching, matches_flushed, &match))
    return false;
  skip_to_free (&match);
  return has_freed && match.at == replay->end;
}

/* @call: (nullable): NULL is none */
static bool
is_request (const TesseraEvent *call)
{
  return call != NULL && (call->action == TESSERA_ALLOC || call->action == TESSERA_OOM);
}

/* Whether the policy would serve this request now without asking the device. */
static bool
needs_no_device (const TesseraReplay *replay, const TesseraEvent *call)
{
  return tessera_caching_needs_no_device (replay->caching, call->size_bytes, call->stream,
                                          call->pool);
}

/* Whether this request can't have flushed: the program emptied the cache before it. */
static bool
can_not_flush (const TesseraReplay *replay, const TesseraEvent *call, bool has_completed)
{
  /* No request of a private pool flushes, and what some give back early are segments. */
  if (call->pool != 0 && (!replay->gives_back_early || has_any (replay, is_unmapped)))
    return true;
  if (call->action == TESSERA_ALLOC && !has_any (replay, tessera_is_taken))
    return true;
  /* Unless the block that would serve is free only since the flush waited for it. */
  return !has_completed && needs_no_device (replay, call);
}

/* Puts an empty_cache() before the call in effect, where the window tells of one.
 *
 * Returns: whether the call's search is known to miss, because memory is given back and
 * more is taken (or refused). */
static bool
settle_flush (TesseraReplay *replay, const TesseraEvent *call, bool has_completed)
{
  if (!has_any (replay, tessera_is_given_back))
    return false;
  note_released_pools (replay);
  if (!is_request (call) || can_not_flush (replay, call, has_completed) ||
      (replay->gives_back_early &&
       tessera_is_given_back (replay->trace->events[replay->next].action) &&
       is_whole_flush (replay)))
    tessera_caching_empty_cache (replay->caching);
  return call != NULL &&
         (call->action == TESSERA_OOM || has_any (replay, tessera_is_taken));
}

/* Whether the completions in front of @first come from the flush's own wait. */
static bool
waits_in_flush (const TesseraTrace *trace, uint32_t first, uint32_t index)
{
  const TesseraEvent *call = &trace->events[index];

  /* A failed request has flushed; where nothing else shows, before the flush or in it
   * makes a difference only to the search, which has missed. */
  if (first == index)
    return call->action == TESSERA_OOM && call->pool == 0;
  return trace->settings.is_expandable &&
         tessera_is_given_back (trace->events[first].action);
}

/* Whether the window at @begin begins with the end of the free just requested. */
static bool
completes_at_once (const TesseraTrace *trace, uint32_t begin)
{
  return begin > 0 && begin < trace->n_events &&
         trace->events[begin].action == TESSERA_FREE_COMPLETED &&
         trace->events[begin - 1].action == TESSERA_FREE_REQUESTED &&
         trace->events[begin - 1].addr == trace->events[begin].addr;
}

/* A wrong address right behind a start block of unknown size tells that size: the free
 * block that was expected there must have been too small for this request. */
static void
look_for_tail (TesseraReplay *replay, const TesseraEvent *event, uint64_t addr)
{
  const TesseraHeld *start = &replay->trace->start;
  uint64_t before, room_bytes, tail_bytes;
  size_t index;

  if (!tessera_caching_block_before (replay->caching, addr, &before, &room_bytes))
    return;
  index = tessera_held_find (start, before);
  if (index == start->n_blocks || !start->blocks[index].tail_open)
    return;
  tail_bytes = room_bytes -
               tessera_round_size (&replay->trace->settings, event->size_bytes) +
               TESSERA_MIN_BLOCK_BYTES;
  if (tail_bytes == 0 || tail_bytes > TESSERA_SMALL_BYTES)
    return;
  replay->hint_block = index;
  replay->hint_tail_bytes = tail_bytes;
}

static void
replay_alloc (TesseraReplay *replay, uint32_t index, TesseraGrant grant)
{
  const TesseraEvent *event = &replay->trace->events[index];

  if (grant.addr == 0)
    tessera_replay_differs (replay, index,
                            "expected the request of %" PRIu64
                            " bytes to fail, found it served at 0x%" PRIx64,
                            event->size_bytes, event->addr);
  else if (grant.addr != event->addr)
    {
      look_for_tail (replay, event, grant.addr);
      tessera_replay_differs (replay, index,
                              "expected alloc of %" PRIu64 " bytes at 0x%" PRIx64
                              ", found it at 0x%" PRIx64,
                              event->size_bytes, grant.addr, event->addr);
    }
  else if (replay->verification->first_difference == TESSERA_NONE &&
           replay->next == replay->end)
    {
      replay->verification->addresses_right++;
      replay->verification->block_bytes[index] = grant.block_bytes;
    }
}

static TesseraStatus
replay_request (TesseraReplay *replay, uint32_t index, bool is_known_miss)
{
  const TesseraEvent *event = &replay->trace->events[index];
  TesseraGrant grant;
  TesseraStatus status =
      (is_known_miss ? tessera_caching_malloc_missed : tessera_caching_malloc) (
          replay->caching, event->size_bytes, event->stream, event->pool, &grant);

  if (status == TESSERA_NO_MEMORY)
    return status;
  if (event->action == TESSERA_ALLOC)
    replay_alloc (replay, index, grant);
  else if (status == TESSERA_OK)
    tessera_replay_differs (replay, index,
                            "expected the request of %" PRIu64
                            " bytes to be served at 0x%" PRIx64 ", found oom",
                            event->size_bytes, grant.addr);
  else if (replay->verification->first_difference == TESSERA_NONE)
    replay->verification->ooms_right++;
  return TESSERA_OK;
}

static void
replay_free (TesseraReplay *replay, uint32_t index)
{
  const TesseraEvent *event = &replay->trace->events[index];
  uint64_t requested_bytes = tessera_caching_requested_at (replay->caching, event->addr);

  if (requested_bytes != event->size_bytes ||
      tessera_caching_free_requested (replay->caching, event->addr) != TESSERA_OK)
    tessera_replay_differs (replay, index,
                            "expected the free of a live block, found free_requested of "
                            "%" PRIu64 " bytes at 0x%" PRIx64 ", where %" PRIu64
                            " bytes are held",
                            event->size_bytes, event->addr, requested_bytes);
}

/* One call of the program and its window [begin, index). */
static TesseraStatus
replay_call (TesseraReplay *replay, uint32_t begin, uint32_t index)
{
  const TesseraTrace *trace = replay->trace;
  const TesseraEvent *call = index < trace->n_events ? &trace->events[index] : NULL;
  uint32_t first = begin;
  TesseraStatus status = TESSERA_OK;
  bool has_completed, is_known_miss, is_at_once = completes_at_once (trace, begin);

  while (first < index && trace->events[first].action == TESSERA_FREE_COMPLETED)
    first++;
  replay->call_index = index;
  replay->is_oom = call != NULL && call->action == TESSERA_OOM;
  replay->next = begin;
  /* A free that completes at once may look like the wait of a flush; it can't be if
   * without it there was no reason to flush. */
  if (is_request (call) && waits_in_flush (trace, first, index))
    first = begin + (is_at_once && needs_no_device (replay, call));
  has_completed = first > begin + is_at_once;
  replay->end = first;
  tessera_replay_complete (replay);
  replay->end = index;
  is_known_miss = settle_flush (replay, call, has_completed);
  if (is_request (call))
    status = replay_request (replay, index, is_known_miss);
  else if (call != NULL && call->action == TESSERA_FREE_REQUESTED)
    replay_free (replay, index);
  if (replay->next < replay->end)
    tessera_replay_differs (
        replay, replay->next,
        "expected nothing of the kind, found %s of %" PRIu64 " bytes at 0x%" PRIx64,
        tessera_action_name (trace->events[replay->next].action),
        trace->events[replay->next].size_bytes, trace->events[replay->next].addr);
  return status;
}

TesseraStatus
tessera_verify_events (TesseraReplay *replay, const TesseraProgress *progress)
{
  const TesseraTrace *trace = replay->trace;
  uint32_t n_events = (uint32_t) trace->n_events, begin = 0;
  TesseraStatus status = TESSERA_OK;

  for (uint32_t i = 0; i <= n_events && status == TESSERA_OK &&
                       replay->verification->first_difference == TESSERA_NONE;
       i++)
    {
      if (i % EVENTS_PER_PROGRESS == 0 &&
          !tessera_progress (progress, (double) i / (n_events + 1.0)))
        return TESSERA_CANCELLED;
      if (i < n_events && tessera_is_of_device (trace->events[i].action))
        continue;
      status = replay_call (replay, begin, i);
      begin = i + 1;
    }
  return status;
}
