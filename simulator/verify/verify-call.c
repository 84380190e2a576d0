/*
 * Making the recorded calls again, one by one, and comparing.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <inttypes.h>

#include "simulator/verify/verify-internal.h"

enum
{
  EVENTS_PER_PROGRESS = 1 << 14
};

/* A wrong address right behind a start block of unknown size tells that size: the free
 * block that was expected there must have been too small for this request. */
static void
look_for_tail (TesseraVerifier *verifier, const TesseraEvent *event, uint64_t addr)
{
  const TesseraHeld *start = &verifier->trace->start;
  uint64_t before, room_bytes, tail_bytes;
  size_t index;

  if (!tessera_caching_block_before (verifier->caching, addr, &before, &room_bytes))
    return;
  index = tessera_held_find (start, before);
  if (index == start->n_blocks || !start->blocks[index].tail_open)
    return;
  tail_bytes = room_bytes -
               tessera_round_size (&verifier->trace->settings, event->size_bytes) +
               TESSERA_MIN_BLOCK_BYTES;
  if (tail_bytes == 0 || tail_bytes > TESSERA_SMALL_BYTES)
    return;
  verifier->hint_block = index;
  verifier->hint_tail_bytes = tail_bytes;
}

/* Whether the recording goes on to treat this allocation as what it says it is. */
static bool
is_confirmed (const TesseraTrace *trace, uint32_t index)
{
  const TesseraEvent *event = &trace->events[index];
  size_t at;

  for (uint32_t i = index + 1; i < trace->n_events; i++)
    if (trace->events[i].addr == event->addr &&
        (trace->events[i].action == TESSERA_ALLOC ||
         trace->events[i].action == TESSERA_FREE_REQUESTED))
      return trace->events[i].action == TESSERA_FREE_REQUESTED &&
             trace->events[i].size_bytes == event->size_bytes;
  at = tessera_held_find (&trace->end, event->addr);
  return at < trace->end.n_blocks && trace->end.blocks[at].state != TESSERA_BLOCK_FREE &&
         trace->end.blocks[at].size_bytes == event->size_bytes;
}

/* The entry in the window by which the driver gave the memory at @addr, or NULL. */
static const TesseraEvent *
find_given (const TesseraReplay *replay, uint64_t addr)
{
  for (uint32_t i = replay->begin; i < replay->call_index; i++)
    {
      const TesseraEvent *event = &replay->trace->events[i];

      if (tessera_is_taken (event->action) && addr - event->addr < event->size_bytes)
        return event;
    }
  return NULL;
}

static void
differ_in_address (TesseraVerifier *verifier, uint32_t index, uint64_t expected)
{
  TesseraReplay *replay = &verifier->replay;
  const TesseraEvent *events = verifier->trace->events;
  const TesseraEvent *given = find_given (replay, expected);

  /* The expected address follows from what the driver gave for this very call: if the
   * rest of the recording stands by the allocation, that entry is what is wrong. */
  if (given != NULL && is_confirmed (verifier->trace, index))
    tessera_replay_differs (
        replay, (uint32_t) (given - events),
        "found %s at 0x%" PRIx64 ", but the block served from it lies at 0x%" PRIx64,
        tessera_action_name (given->action), given->addr, events[index].addr);
  else
    tessera_replay_differs (replay, index,
                            "expected alloc of %" PRIu64 " bytes at 0x%" PRIx64
                            ", found it at 0x%" PRIx64,
                            events[index].size_bytes, expected, events[index].addr);
}

static void
replay_alloc (TesseraVerifier *verifier, uint32_t index, TesseraGrant grant)
{
  TesseraReplay *replay = &verifier->replay;
  const TesseraEvent *event = &verifier->trace->events[index];

  if (grant.addr == 0)
    tessera_replay_differs (replay, index,
                            "expected the request of %" PRIu64
                            " bytes to fail, found it served at 0x%" PRIx64,
                            event->size_bytes, event->addr);
  else if (grant.addr != event->addr)
    {
      look_for_tail (verifier, event, grant.addr);
      differ_in_address (verifier, index, grant.addr);
    }
  else if (replay->difference_index == TESSERA_NONE && replay->next == replay->end)
    {
      verifier->verification->addresses_right++;
      verifier->verification->block_bytes[index] = grant.block_bytes;
    }
}

static TesseraStatus
replay_request (TesseraVerifier *verifier, uint32_t index, bool is_known_miss)
{
  const TesseraEvent *event = &verifier->trace->events[index];
  TesseraGrant grant;
  TesseraStatus status =
      (is_known_miss ? tessera_caching_malloc_missed : tessera_caching_malloc) (
          verifier->caching, event->size_bytes, event->stream, event->pool, &grant);

  if (status == TESSERA_NO_MEMORY)
    return status;
  if (event->action == TESSERA_ALLOC)
    replay_alloc (verifier, index, grant);
  else if (status == TESSERA_OK)
    tessera_replay_differs (&verifier->replay, index,
                            "expected the request of %" PRIu64
                            " bytes to be served at 0x%" PRIx64 ", found oom",
                            event->size_bytes, grant.addr);
  else if (verifier->replay.difference_index == TESSERA_NONE)
    verifier->verification->ooms_right++;
  return TESSERA_OK;
}

static void
replay_free (TesseraVerifier *verifier, uint32_t index)
{
  const TesseraEvent *event = &verifier->trace->events[index];
  uint64_t requested_bytes =
      tessera_caching_requested_at (verifier->caching, event->addr);

  if (requested_bytes != event->size_bytes ||
      tessera_caching_free_requested (verifier->caching, event->addr) != TESSERA_OK)
    tessera_replay_differs (&verifier->replay, index,
                            "expected the free of a live block, found free_requested of "
                            "%" PRIu64 " bytes at 0x%" PRIx64 ", where %" PRIu64
                            " bytes are held",
                            event->size_bytes, event->addr, requested_bytes);
}

/* One call of the program and its window [begin, index). */
static TesseraStatus
replay_call (TesseraVerifier *verifier, uint32_t begin, uint32_t index)
{
  TesseraReplay *replay = &verifier->replay;
  const TesseraTrace *trace = verifier->trace;
  const TesseraEvent *call = index < trace->n_events ? &trace->events[index] : NULL;
  uint32_t first = begin;
  TesseraStatus status = TESSERA_OK;
  bool has_completed, is_known_miss,
      is_at_once = tessera_window_completes_at_once (trace, begin);

  while (first < index && trace->events[first].action == TESSERA_FREE_COMPLETED)
    first++;
  replay->call_index = index;
  replay->is_oom = call != NULL && call->action == TESSERA_OOM;
  replay->begin = replay->next = begin;
  /* A free that completes at once may look like the wait of a flush; it can't be if
   * without it there was no reason to flush. */
  if (tessera_is_request (call) && tessera_window_waits_in_flush (trace, first, index))
    first = begin + (is_at_once && tessera_window_needs_no_device (verifier, call));
  has_completed = first > begin + is_at_once;
  replay->end = first;
  tessera_replay_complete (replay);
  replay->end = index;
  is_known_miss = tessera_window_settle_flush (verifier, call, has_completed);
  if (tessera_is_request (call))
    status = replay_request (verifier, index, is_known_miss);
  else if (call != NULL && call->action == TESSERA_FREE_REQUESTED)
    replay_free (verifier, index);
  if (replay->next < replay->end)
    tessera_replay_differs (
        replay, replay->next,
        "expected nothing of the kind, found %s of %" PRIu64 " bytes at 0x%" PRIx64,
        tessera_action_name (trace->events[replay->next].action),
        trace->events[replay->next].size_bytes, trace->events[replay->next].addr);
  return status;
}

TesseraStatus
tessera_verify_events (TesseraVerifier *verifier, const TesseraProgress *progress)
{
  const TesseraTrace *trace = verifier->trace;
  uint32_t n_events = (uint32_t) trace->n_events, begin = 0;
  TesseraStatus status = TESSERA_OK;

  for (uint32_t i = 0; i <= n_events && status == TESSERA_OK &&
                       verifier->replay.difference_index == TESSERA_NONE;
       i++)
    {
      if (i % EVENTS_PER_PROGRESS == 0 &&
          !tessera_progress (progress, (double) i / (n_events + 1.0)))
        return TESSERA_CANCELLED;
      if (i < n_events && tessera_is_of_device (trace->events[i].action))
        continue;
      status = replay_call (verifier, begin, i);
      begin = i + 1;
    }
  return status;
}
