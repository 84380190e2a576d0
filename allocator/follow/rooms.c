/*
 * Where dynamic requests go: see rooms.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/follow/rooms.h"

#include <stdlib.h>

#define SMALL_BYTES ((uint64_t) 1 << 20) /* PyTorch's small pool serves up to this */

enum
{
  MAX_TRIES = 4096, /* places in one range */
  NEAR = 64         /* slots ahead: whose room a request gets without one of its own */
};

static int
compare (const TesseraRoom *a, const TesseraRoom *b)
{
  const uint32_t x[] = { a->section, a->before, a->stream, a->is_small };
  const uint32_t y[] = { b->section, b->before, b->stream, b->is_small };

  for (size_t k = 0; k < sizeof x / sizeof x[0]; k++)
    if (x[k] != y[k])
      return x[k] < y[k] ? -1 : 1;
  return 0;
}

static bool
is_sound (const TesseraPlan *plan)
{
  uint64_t end_bytes = plan->height_bytes;

  for (size_t i = 0; i < plan->n_regions; i++)
    {
      if (plan->regions[i].begin_bytes != end_bytes ||
          plan->regions[i].end_bytes < end_bytes)
        return false;
      end_bytes = plan->regions[i].end_bytes;
    }
  for (size_t i = 0; i < plan->n_rooms; i++)
    {
      const TesseraRoom *room = &plan->rooms[i];

      if (room->section >= plan->n_sections || room->end_bytes > end_bytes ||
          room->begin_bytes > room->end_bytes || room->before > plan->n_slots ||
          (i > 0 && compare (room - 1, room) >= 0))
        return false;
    }
  return true;
}

TesseraStatus
tessera_rooms_init (TesseraRooms *rooms, const TesseraPlan *plan)
{
  size_t next = 0;

  *rooms = (TesseraRooms){ .plan = plan, .room = plan->n_rooms };
  if (!is_sound (plan))
    return TESSERA_INVALID;
  rooms->first_room = calloc (plan->n_sections + 1, sizeof *rooms->first_room);
  if (rooms->first_room == NULL)
    return TESSERA_NO_MEMORY;
  for (size_t s = 0; s <= plan->n_sections; s++)
    {
      while (next < plan->n_rooms && plan->rooms[next].section < s)
        next++;
      rooms->first_room[s] = next;
    }
  return TESSERA_OK;
}

void
tessera_rooms_clear (TesseraRooms *rooms)
{
  free (rooms->first_room);
  *rooms = (TesseraRooms){ 0 };
}

/* The lowest place in [@begin_bytes, @end_bytes) that the hook takes. */
static bool
take_lowest (const TesseraFollowerHook *hook,
             uint64_t begin_bytes,
             uint64_t end_bytes,
             uint64_t block_bytes,
             uint64_t *out_offset_bytes)
{
  uint64_t at = begin_bytes;

  for (int n = 0; n < MAX_TRIES && at <= end_bytes && block_bytes <= end_bytes - at; n++)
    {
      uint64_t next = at;

      if (hook->take (hook->user, at, &next))
        {
          *out_offset_bytes = at;
          return true;
        }
      if (next <= at)
        return false;
      at = next;
    }
  return false;
}

/* The room of the request; where nothing dynamic was seen there, that of one of the next
 * slots. */
static const TesseraRoom *
find_room (const TesseraRooms *rooms, const TesseraDynamicRequest *request, bool is_small)
{
  const TesseraPlan *plan = rooms->plan;
  size_t low = rooms->first_room[request->section];
  size_t end = rooms->first_room[request->section + 1];
  size_t high = end;

  while (low < high)
    {
      size_t middle = low + (high - low) / 2;

      if (plan->rooms[middle].before < request->before)
        low = middle + 1;
      else
        high = middle;
    }
  for (; low < end && plan->rooms[low].before - request->before <= NEAR; low++)
    if (plan->rooms[low].stream == request->stream &&
        plan->rooms[low].is_small == is_small)
      return &plan->rooms[low];
  return NULL;
}

bool
tessera_rooms_expect (TesseraRooms *rooms, const TesseraDynamicRequest *request)
{
  const TesseraRoom *room =
      request->section < rooms->plan->n_sections
          ? find_room (rooms, request, request->block_bytes <= SMALL_BYTES)
          : NULL;

  if (room == NULL || room->before != request->before)
    return true;
  if (rooms->room != (size_t) (room - rooms->plan->rooms))
    {
      rooms->room = (size_t) (room - rooms->plan->rooms);
      rooms->n_seen = 0;
    }
  return rooms->n_seen++ / 2 <= room->n_requests;
}

static const TesseraRegion *
find_region (const TesseraPlan *plan, uint32_t stream, bool is_small)
{
  for (size_t i = 0; i < plan->n_regions; i++)
    if (plan->regions[i].stream == stream && plan->regions[i].is_small == is_small)
      return &plan->regions[i];
  return NULL;
}

bool
tessera_rooms_take (const TesseraRooms *rooms,
                    const TesseraFollowerHook *hook,
                    const TesseraDynamicRequest *request,
                    uint64_t *out_offset_bytes)
{
  bool is_small = request->block_bytes <= SMALL_BYTES;
  const TesseraRoom *room;
  const TesseraRegion *region;

  if (request->pool != 0 || request->block_bytes == 0 ||
      request->section >= rooms->plan->n_sections)
    return false;
  room = find_room (rooms, request, is_small);
  if (room != NULL && take_lowest (hook, room->begin_bytes, room->end_bytes,
                                   request->block_bytes, out_offset_bytes))
    return true;
  region = find_region (rooms->plan, request->stream, is_small);
  return region != NULL && take_lowest (hook, region->begin_bytes, region->end_bytes,
                                        request->block_bytes, out_offset_bytes);
}
