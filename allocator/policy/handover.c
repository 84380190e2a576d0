/*
 * Memory that passes between streams: see handover.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/policy/handover.h"

#include <stdlib.h>

TesseraStatus
tessera_handover_new (const TesseraPlan *plan,
                      TesseraDevice *device,
                      TesseraOccupancy *map,
                      TesseraHandover **out_crossing)
{
  TesseraHandover *handover = calloc (1, sizeof *handover);

  *out_crossing = handover;
  if (handover == NULL)
    return TESSERA_NO_MEMORY;
  handover->device = device;
  handover->map = map;
  handover->n_slots = (uint32_t) plan->n_slots;
  handover->is_marked = calloc (plan->n_slots + 1, sizeof *handover->is_marked);
  if (handover->is_marked != NULL)
    return TESSERA_OK;
  tessera_handover_free (handover);
  *out_crossing = NULL;
  return TESSERA_NO_MEMORY;
}

void
tessera_handover_free (TesseraHandover *handover)
{
  if (handover == NULL)
    return;
  for (size_t i = 0; i < handover->n_marks && i < TESSERA_RECENT_MARKS; i++)
    handover->device->forget_mark (handover->device, handover->marks[i].mark);
  tessera_table_clear (&handover->tried);
  free (handover->is_marked);
  free (handover);
}

/* Of all that streams were given so far. Returns: NULL where that can't be had now. */
static const TesseraMark *
add_mark (TesseraHandover *handover)
{
  TesseraDevice *device = handover->device;
  TesseraMark *mark = &handover->marks[handover->n_marks % TESSERA_RECENT_MARKS];
  void *made = device->mark (device);

  if (made == NULL)
    return NULL;
  if (handover->n_marks >= TESSERA_RECENT_MARKS)
    device->forget_mark (device, mark->mark);
  handover->n_marks++;
  *mark = (TesseraMark){ tessera_occupancy_now (handover->map), made };
  return mark;
}

/* The earliest that is not before @moment, or NULL. */
static const TesseraMark *
find_mark (const TesseraHandover *handover, uint64_t moment)
{
  const TesseraMark *found = NULL;

  for (size_t i = handover->n_marks;
       i > 0 && handover->n_marks - i < TESSERA_RECENT_MARKS; i--)
    {
      const TesseraMark *mark = &handover->marks[(i - 1) % TESSERA_RECENT_MARKS];

      if (mark->moment < moment)
        break;
      found = mark;
    }
  return found;
}

/* From now on a mark is made with the first slot that is served from @moment on. */
static void
want_mark (TesseraHandover *handover, uint64_t moment)
{
  uint32_t slot = TESSERA_NONE;

  for (size_t i = handover->n_served;
       i > 0 && handover->n_served - i < TESSERA_RECENT_SERVED; i--)
    {
      const TesseraServed *served = &handover->served[(i - 1) % TESSERA_RECENT_SERVED];

      if (served->moment < moment)
        break;
      slot = served->slot;
    }
  if (slot != TESSERA_NONE)
    handover->is_marked[slot] = true;
}

void
tessera_handover_serve (TesseraHandover *handover, uint32_t slot)
{
  handover->served[handover->n_served++ % TESSERA_RECENT_SERVED] =
      (TesseraServed){ tessera_occupancy_now (handover->map), slot };
  if (handover->is_marked[slot])
    (void) add_mark (handover);
}

/* Offsets are multiples of 512, and no key is 0. */
static uint64_t
key_of (uint64_t offset_bytes, uint32_t stream)
{
  return ((offset_bytes / TESSERA_MIN_BLOCK_BYTES) << 16 | (stream & 0xffff)) + 1;
}

static bool
wait_for (TesseraHandover *handover,
          const TesseraMark *mark,
          uint64_t offset_bytes,
          uint32_t stream)
{
  uint64_t key = key_of (offset_bytes, stream);
  bool is_new = tessera_table_get (&handover->tried, key) == NULL;

  if (is_new &&
      (handover->has_failed || tessera_table_reserve (&handover->tried) != TESSERA_OK))
    return false;
  if (!handover->device->order (handover->device, stream, mark->mark, is_new))
    {
      handover->has_failed |= is_new;
      return false;
    }
  if (is_new)
    tessera_table_add (&handover->tried, key, handover);
  handover->n_barriers++;
  tessera_occupancy_set_ordered (handover->map, stream, mark->moment);
  return true;
}

bool
tessera_handover_order (TesseraHandover *handover,
                        uint64_t offset_bytes,
                        const TesseraOccupancyRequest *request)
{
  const TesseraMark *mark;
  uint64_t moment;
  TesseraOrderVerdict verdict =
      tessera_occupancy_ask_order (handover->map, offset_bytes, request, &moment);

  if (verdict != TESSERA_ORDER_NEEDED)
    return verdict == TESSERA_ORDER_THERE;
  mark = find_mark (handover, moment);
  if (mark == NULL)
    {
      want_mark (handover, moment);
      mark = add_mark (handover);
    }
  return mark != NULL && wait_for (handover, mark, offset_bytes, request->stream);
}
