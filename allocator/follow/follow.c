/*
 * Following a plan: which slot, if any, serves this request now.
 *
 * The course of the run tells which slot a request is (course.c), or that it is one that
 * the plan leaves to others. The slot is only a proposal: the hook alone knows whether
 * its range is free. If not, another place of its rotation serves, or one that no slot
 * needs meanwhile (reuse.c), or one of a room (rooms.c); else the request misses.
 * Cost: a comparison where the run does what was planned.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/follow.h"

#include <stdlib.h>
#include <string.h>

#include "allocator/follow/matching.h"
#include "allocator/follow/rooms.h"

struct TesseraFollower
{
  const TesseraPlan *plan;
  TesseraSlots slots;
  TesseraCourse course;
  TesseraFollowerHook hook;
  TesseraReuse reuse;
  TesseraRooms rooms;
  uint64_t asked_bytes; /* rounded, of the request that is being served */
};

TesseraStatus
tessera_follower_new (const TesseraPlan *plan, TesseraFollower **out_follower)
{
  TesseraFollower *follower = calloc (1, sizeof *follower);
  TesseraStatus status = TESSERA_NO_MEMORY;

  *out_follower = NULL;
  if (follower == NULL)
    return TESSERA_NO_MEMORY;
  follower->plan = plan;
  status = tessera_slots_init (&follower->slots, plan);
  if (status != TESSERA_OK)
    goto fail;
  status = tessera_reuse_init (&follower->reuse, &follower->slots);
  if (status != TESSERA_OK)
    goto fail;
  status = tessera_rooms_init (&follower->rooms, plan);
  if (status != TESSERA_OK)
    goto fail;
  status = tessera_course_init (&follower->course, &follower->slots);
  if (status != TESSERA_OK)
    goto fail;
  *out_follower = follower;
  return TESSERA_OK;

fail:
  tessera_follower_free (follower);
  return status;
}

void
tessera_follower_free (TesseraFollower *follower)
{
  if (follower == NULL)
    return;
  tessera_slots_clear (&follower->slots);
  tessera_reuse_clear (&follower->reuse);
  tessera_course_clear (&follower->course);
  tessera_rooms_clear (&follower->rooms);
  free (follower);
}

void
tessera_follower_set_hook (TesseraFollower *follower, const TesseraFollowerHook *hook)
{
  follower->hook = *hook;
}

void
tessera_follower_step (TesseraFollower *follower)
{
  tessera_course_step (&follower->course);
}

void
tessera_follower_phase (TesseraFollower *follower, const char *name)
{
  tessera_course_phase (&follower->course, name);
}

static bool
take (TesseraFollower *follower, uint32_t slot)
{
  uint64_t end_bytes;

  return follower->hook.take (follower->hook.user,
                              follower->plan->slots[slot].offset_bytes, &end_bytes);
}

/* For a request whose slot is not free: a place of its rotation, the spare or any, else
 * what the rest of the pool can spare, unless the request only looks like that slot's: it is
 * none of a phase, and came where others were expected. Returns: whether there is one. */
static bool
take_instead (TesseraFollower *follower,
              uint32_t wanted,
              uint64_t *out_offset_bytes,
              uint32_t *out_slot)
{
  const TesseraSlots *slots = &follower->slots;
  uint32_t place = slots->next_places[wanted];

  while (place != wanted && !take (follower, place))
    place = slots->next_places[place];
  *out_slot = place;
  if (place == wanted)
    return !tessera_course_is_guess (&follower->course) &&
           tessera_reuse_take (&follower->reuse, &follower->hook, wanted,
                               out_offset_bytes);
  *out_offset_bytes = follower->plan->slots[place].offset_bytes;
  return true;
}

/* The request as one without a slot, where the run is. */
static TesseraDynamicRequest
as_dynamic (const TesseraFollower *follower, uint32_t stream, uint32_t pool)
{
  const TesseraCourse *course = &follower->course;
  const TesseraSlots *slots = &follower->slots;
  const TesseraSection *section = &follower->plan->sections[course->section];
  int64_t cursor = course->align.cursor;
  TesseraDynamicRequest request = { .block_bytes = follower->asked_bytes,
                                    .section = course->section,
                                    .before = section->first_slot + section->n_slots,
                                    .stream = stream,
                                    .pool = pool };

  if (cursor < (int64_t) tessera_slots_n_requests (slots, course->section))
    request.before = slots->next_slots[slots->first_requests[course->section] +
                                       (uint32_t) (cursor > 0 ? cursor : 0)];
  return request;
}

static bool
has_rooms (const TesseraFollower *follower)
{
  return follower->plan->n_rooms > 0 && follower->course.section != TESSERA_NONE;
}

/* A request that is no slot's, or whose slot has no place left: a room of those that come
 * where the run is. Returns: whether there is one. */
static bool
take_room (TesseraFollower *follower,
           uint32_t stream,
           uint32_t pool,
           uint64_t *out_offset_bytes)
{
  TesseraDynamicRequest request;

  if (!has_rooms (follower))
    return false;
  request = as_dynamic (follower, stream, pool);
  return tessera_rooms_take (&follower->rooms, &follower->hook, &request,
                             out_offset_bytes);
}

/* Where the run is in the plan, after this request. Returns: which of its requests. */
static uint32_t
find_request (TesseraFollower *follower,
              uint64_t size_bytes,
              uint32_t stream,
              uint32_t pool)
{
  uint32_t signature =
      tessera_slots_find_signature (&follower->slots, size_bytes, stream, pool);
  TesseraAlignRequest request = { signature, UINT64_MAX };

  follower->asked_bytes = tessera_slots_round (&follower->slots, size_bytes);
  if (has_rooms (follower))
    {
      const TesseraDynamicRequest dynamic = as_dynamic (follower, stream, pool);

      if (tessera_rooms_expect (&follower->rooms, &dynamic))
        request.block_bytes = follower->asked_bytes;
    }
  /* What no slot is like tells nothing about the place: the row would not change. */
  if (signature == TESSERA_NONE &&
      (follower->course.align.is_sure || !has_rooms (follower)))
    return TESSERA_NONE;
  return tessera_course_find (&follower->course, &request);
}

/* The request, where it is the one that comes next, and a slot's. */
static uint32_t
expect_request (TesseraFollower *follower,
                uint64_t size_bytes,
                uint32_t stream,
                uint32_t pool)
{
  const TesseraSlots *slots = &follower->slots;
  uint32_t request = follower->plan->n_rooms == 0
                         ? tessera_course_next (&follower->course)
                         : TESSERA_NONE;
  uint32_t slot =
      request != TESSERA_NONE ? tessera_slots_of_request (slots, request) : TESSERA_NONE;
  const TesseraSlot *of;

  if (slot == TESSERA_NONE)
    return TESSERA_NONE;
  of = &follower->plan->slots[slot];
  if (of->stream != stream || of->pool != pool || size_bytes > of->block_bytes ||
      of->block_bytes - size_bytes >= slots->step_bytes)
    return TESSERA_NONE;
  follower->asked_bytes = of->block_bytes;
  tessera_course_pass (&follower->course, request);
  return request;
}

TesseraFollowed
tessera_follower_malloc (TesseraFollower *follower,
                         uint64_t size_bytes,
                         uint32_t stream,
                         uint32_t pool,
                         uint64_t *out_offset_bytes,
                         uint32_t *out_slot)
{
  uint32_t request = expect_request (follower, size_bytes, stream, pool), slot;
  TesseraFollowed followed = TESSERA_HIT;

  if (request == TESSERA_NONE)
    request = find_request (follower, size_bytes, stream, pool);
  slot = request != TESSERA_NONE ? tessera_slots_of_request (&follower->slots, request)
                                 : TESSERA_NONE;
  if (request != TESSERA_NONE && slot == TESSERA_NONE)
    return TESSERA_MISS_PLANNED;
  if (slot != TESSERA_NONE && take (follower, slot))
    *out_offset_bytes = follower->plan->slots[slot].offset_bytes;
  else if (slot != TESSERA_NONE && take_instead (follower, slot, out_offset_bytes, &slot))
    followed = TESSERA_HIT_ELSEWHERE;
  else if (take_room (follower, stream, pool, out_offset_bytes))
    {
      slot = TESSERA_NONE;
      followed = TESSERA_HIT_DYNAMIC;
    }
  else
    return slot != TESSERA_NONE ? TESSERA_MISS_OCCUPIED : TESSERA_MISS_UNKNOWN;
  if (slot != TESSERA_NONE)
    tessera_follow_kinds_take (&follower->course.kinds,
                               follower->plan->slots[slot].section);
  if (out_slot != NULL)
    *out_slot = slot;
  return followed;
}

static void
need_pages (const TesseraSlot *slot,
            uint64_t page_bytes,
            uint32_t n_pages,
            bool *out_is_needed)
{
  uint64_t end = (slot->offset_bytes + slot->block_bytes - 1) / page_bytes;

  for (uint64_t page = slot->offset_bytes / page_bytes; page <= end && page < n_pages;
       page++)
    out_is_needed[page] = true;
}

void
tessera_follower_forecast (const TesseraFollower *follower,
                           uint64_t page_bytes,
                           uint32_t n_pages,
                           bool *out_is_needed)
{
  const TesseraSlots *slots = &follower->slots;
  const TesseraCourse *course = &follower->course;

  memset (out_is_needed, 0, n_pages * sizeof *out_is_needed);
  for (uint32_t place = course->align.cursor > 0 ? (uint32_t) course->align.cursor : 0;
       course->section != TESSERA_NONE &&
       place < tessera_slots_n_requests (slots, course->section);
       place++)
    {
      uint32_t slot = tessera_slots_of_request (
          slots, slots->first_requests[course->section] + place);

      if (slot != TESSERA_NONE)
        need_pages (&follower->plan->slots[slot], page_bytes, n_pages, out_is_needed);
    }
}
