/*
 * Rooms of a plan for one step: see instance-rooms.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/follow/lengths/instance-rooms.h"

#include <stdlib.h>

#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define SMALL_BYTES (UINT64_C (1) << 20) /* PyTorch's small pool serves up to this */

void
tessera_instance_add_room (TesseraPlan *plan, const TesseraSlot *slot)
{
  plan->rooms[plan->n_rooms++] = (TesseraRoom){
    .begin_bytes = slot->offset_bytes,
    .end_bytes = slot->offset_bytes + slot->block_bytes,
    .most_bytes = slot->block_bytes,
    .sum_bytes = slot->block_bytes,
    .before = (uint32_t) plan->n_slots,
    .born = plan->n_slots > 0 ? plan->slots[plan->n_slots - 1].born + 1 : 0,
    .died = slot->died,
    .n_requests = 1,
    .stream = slot->stream,
    .is_small = slot->block_bytes <= SMALL_BYTES,
  };
}

/* Whether the range that the room would be is needed by a slot while it is open. */
static bool
is_needed (const TesseraPlan *plan, const TesseraRoom *room)
{
  for (size_t i = 0; i < plan->n_slots; i++)
    {
      const TesseraSlot *slot = &plan->slots[i];

      if (slot->offset_bytes < room->end_bytes &&
          room->begin_bytes < slot->offset_bytes + slot->block_bytes &&
          slot->born < room->died && room->born < slot->died)
        return true;
    }
  return false;
}

static int
by_place (const void *a, const void *b)
{
  const TesseraRoom *x = a, *y = b;

  if (x->before != y->before)
    return x->before < y->before ? -1 : 1;
  if (x->is_small != y->is_small)
    return x->is_small < y->is_small ? -1 : 1;
  return (x->begin_bytes > y->begin_bytes) - (x->begin_bytes < y->begin_bytes);
}

void
tessera_instance_settle_rooms (TesseraPlan *plan)
{
  size_t n = 0;

  if (plan->n_rooms > 0)
    qsort (plan->rooms, plan->n_rooms, sizeof *plan->rooms, by_place);
  for (size_t i = 0; i < plan->n_rooms; i++)
    {
      const TesseraRoom *room = &plan->rooms[i];

      if (is_needed (plan, room) || (n > 0 && plan->rooms[n - 1].before == room->before &&
                                     plan->rooms[n - 1].is_small == room->is_small))
        continue;
      plan->height_bytes = MAX (plan->height_bytes, room->end_bytes);
      plan->rooms[n++] = *room;
    }
  plan->n_rooms = n;
}
