/*
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
#include "simulator/verify/verify-internal.h"

bool
tessera_is_of_device (uint8_t action)
{
  return action == TESSERA_FREE_COMPLETED ||
         (action >= TESSERA_SEGMENT_ALLOC && action <= TESSERA_SEGMENT_UNMAP);
}

static bool
is_given_back (uint8_t action)
{
  return action == TESSERA_SEGMENT_FREE || action == TESSERA_SEGMENT_UNMAP;
}

bool
tessera_is_taken (uint8_t action)
{
  return action == TESSERA_SEGMENT_ALLOC || action == TESSERA_SEGMENT_MAP;
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
note_released_pools (TesseraVerifier *verifier)
{
  const TesseraReplay *replay = &verifier->replay;

  for (uint32_t i = replay->next; verifier->trace->n_pools > 1 && i < replay->end; i++)
    if (is_given_back (replay->trace->events[i].action))
      {
        uint32_t pool =
            tessera_caching_pool_at (verifier->caching, replay->trace->events[i].addr);

        if (pool != 0)
          tessera_caching_release_pool (verifier->caching, pool);
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
is_whole_flush (const TesseraVerifier *verifier)
{
  const TesseraReplay *replay = &verifier->replay;
  FlushMatch match = { replay, replay->next };
  bool has_freed = false;

  for (uint32_t i = replay->next; i < replay->end; i++)
    {
      uint8_t action = replay->trace->events[i].action;

      if (action == TESSERA_FREE_COMPLETED && has_freed)
        return false;
      has_freed |= action == TESSERA_SEGMENT_FREE;
    }
  if (!tessera_caching_each_flushed (verifier->caching, matches_flushed, &match))
    return false;
  skip_to_free (&match);
  return has_freed && match.at == replay->end;
}

bool
tessera_is_request (const TesseraEvent *call)
{
  return call != NULL && (call->action == TESSERA_ALLOC || call->action == TESSERA_OOM);
}

bool
tessera_window_needs_no_device (const TesseraVerifier *verifier, const TesseraEvent *call)
{
  return tessera_caching_needs_no_device (verifier->caching, call->size_bytes,
                                          call->stream, call->pool);
}

/* Whether this request can't have flushed: the program emptied the cache before it. */
static bool
can_not_flush (const TesseraVerifier *verifier,
               const TesseraEvent *call,
               bool has_completed)
{
  /* No request of a private pool flushes, and what some give back early are segments. */
  if (call->pool != 0 &&
      (!verifier->gives_back_early || has_any (&verifier->replay, is_unmapped)))
    return true;
  if (call->action == TESSERA_ALLOC && !has_any (&verifier->replay, tessera_is_taken))
    return true;
  /* Unless the block that would serve is free only since the flush waited for it. */
  return !has_completed && tessera_window_needs_no_device (verifier, call);
}

bool
tessera_window_settle_flush (TesseraVerifier *verifier,
                             const TesseraEvent *call,
                             bool has_completed)
{
  const TesseraReplay *replay = &verifier->replay;

  if (!has_any (replay, is_given_back))
    return false;
  note_released_pools (verifier);
  if (!tessera_is_request (call) || can_not_flush (verifier, call, has_completed) ||
      (verifier->gives_back_early &&
       is_given_back (replay->trace->events[replay->next].action) &&
       is_whole_flush (verifier)))
    tessera_caching_empty_cache (verifier->caching);
  return call != NULL &&
         (call->action == TESSERA_OOM || has_any (replay, tessera_is_taken));
}

bool
tessera_window_waits_in_flush (const TesseraTrace *trace, uint32_t first, uint32_t index)
{
  const TesseraEvent *call = &trace->events[index];

  /* A failed request has flushed; where nothing else shows, before the flush or in it
   * makes a difference only to the search, which has missed. */
  if (first == index)
    return call->action == TESSERA_OOM && call->pool == 0;
  return trace->settings.is_expandable && is_given_back (trace->events[first].action);
}

bool
tessera_window_completes_at_once (const TesseraTrace *trace, uint32_t begin)
{
  return begin > 0 && begin < trace->n_events &&
         trace->events[begin].action == TESSERA_FREE_COMPLETED &&
         trace->events[begin - 1].action == TESSERA_FREE_REQUESTED &&
         trace->events[begin - 1].addr == trace->events[begin].addr;
}
