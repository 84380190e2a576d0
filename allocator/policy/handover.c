/*
 * Memory that passes between streams: what a stream waits for, and whether that is safe.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/policy/planned.h"

#include <stdlib.h>

enum
{
  RECENT_MARKS = 64,
  RECENT_SERVED = 4096,
  STEPS_TRIED = 2, /* in which hand-overs were made, and all of them tried */
  MOST_FAILED = 3,
  MOST_REFUSED = 64 /* moments in a row that could not be marked */
};

#define TRIAL_NS (UINT64_C (2) * 1000 * 1000 * 1000)

typedef struct
{
  uint64_t moment; /* of the map */
  void *mark;      /* the device's */
} Mark;

typedef struct
{
  uint64_t moment;
  uint32_t slot;
} Served;

struct TesseraHandover
{
  TesseraDevice *device;
  TesseraOccupancy *map;
  uint8_t *is_marked;            /* [n_slots] at the slot's request */
  Mark marks[RECENT_MARKS];      /* round and round, by moment */
  Served served[RECENT_SERVED];  /* ... */
  size_t n_marks, n_served;      /* so far */
  TesseraTable tried;            /* hand-overs, by offset and stream */
  uint64_t n_barriers, n_before; /* so far; before this step */
  uint64_t refused_at;           /* the moment that could not be marked last */
  uint32_t n_steps;              /* with barriers, STEPS_TRIED at most */
  uint32_t n_failed;             /* trials */
  uint32_t n_refused;            /* moments in a row */
};

TesseraStatus
tessera_handover_new (const TesseraPlan *plan,
                      TesseraDevice *device,
                      TesseraOccupancy *map,
                      TesseraHandover **out_handover)
{
  TesseraHandover *handover = calloc (1, sizeof *handover);

  *out_handover = handover;
  if (handover == NULL)
    return TESSERA_NO_MEMORY;
  handover->device = device;
  handover->map = map;
  handover->is_marked = calloc (plan->n_slots + 1, sizeof *handover->is_marked);
  if (handover->is_marked != NULL)
    return TESSERA_OK;
  tessera_handover_free (handover);
  *out_handover = NULL;
  return TESSERA_NO_MEMORY;
}

void
tessera_handover_free (TesseraHandover *handover)
{
  if (handover == NULL)
    return;
  for (size_t i = 0; i < handover->n_marks && i < RECENT_MARKS; i++)
    handover->device->forget_mark (handover->device, handover->marks[i].mark);
  tessera_table_clear (&handover->tried);
  free (handover->is_marked);
  free (handover);
}

/* Of all that streams were given so far. Returns: NULL where that can't be had now; at one
 * moment it is asked for once. */
static const Mark *
add_mark (TesseraHandover *handover, uint32_t stream)
{
  TesseraDevice *device = handover->device;
  Mark *mark = &handover->marks[handover->n_marks % RECENT_MARKS];
  uint64_t now = tessera_occupancy_now (handover->map);
  void *made = handover->refused_at != now ? device->mark (device, stream) : NULL;

  if (made == NULL)
    {
      handover->n_refused += handover->refused_at != now;
      handover->refused_at = now;
      return NULL;
    }
  handover->n_refused = 0;
  if (handover->n_marks >= RECENT_MARKS)
    device->forget_mark (device, mark->mark);
  handover->n_marks++;
  *mark = (Mark){ now, made };
  return mark;
}

/* The earliest that is not before @moment, or NULL. */
static const Mark *
find_mark (const TesseraHandover *handover, uint64_t moment)
{
  const Mark *found = NULL;

  for (size_t i = handover->n_marks; i > 0 && handover->n_marks - i < RECENT_MARKS; i--)
    {
      const Mark *mark = &handover->marks[(i - 1) % RECENT_MARKS];

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

  for (size_t i = handover->n_served; i > 0 && handover->n_served - i < RECENT_SERVED;
       i--)
    {
      const Served *served = &handover->served[(i - 1) % RECENT_SERVED];

      if (served->moment < moment)
        break;
      slot = served->slot;
    }
  if (slot != TESSERA_NONE)
    handover->is_marked[slot] = true;
}

void
tessera_handover_serve (TesseraHandover *handover, uint32_t slot, uint32_t stream)
{
  handover->served[handover->n_served++ % RECENT_SERVED] =
      (Served){ tessera_occupancy_now (handover->map), slot };
  if (handover->is_marked[slot])
    (void) add_mark (handover, stream);
}

void
tessera_handover_step (TesseraHandover *handover)
{
  handover->n_steps +=
      handover->n_steps < STEPS_TRIED && handover->n_barriers > handover->n_before;
  handover->n_before = handover->n_barriers;
}

uint64_t
tessera_handover_count (const TesseraHandover *handover)
{
  return handover->n_barriers;
}

bool
tessera_handover_has_ended (const TesseraHandover *handover)
{
  return handover->n_failed >= MOST_FAILED || handover->n_refused >= MOST_REFUSED;
}

/* Offsets are multiples of 512, and no key is 0. */
static uint64_t
key_of (uint64_t offset_bytes, uint32_t stream)
{
  return ((offset_bytes / TESSERA_MIN_BLOCK_BYTES) << 16 | (stream & 0xffff)) + 1;
}

/* Whether it is known, of what comes there now, that the work ends by itself. */
static bool
is_safe (TesseraHandover *handover, const Mark *mark, uint64_t key)
{
  bool is_new = tessera_table_get (&handover->tried, key) == NULL;

  if (!is_new && handover->n_steps >= STEPS_TRIED)
    return true;
  if (is_new && tessera_table_reserve (&handover->tried) != TESSERA_OK)
    return false;
  if (!handover->device->ends (handover->device, mark->mark, TRIAL_NS))
    {
      handover->n_failed++;
      return false;
    }
  if (is_new)
    tessera_table_add (&handover->tried, key, handover);
  return true;
}

static bool
wait_for (TesseraHandover *handover,
          const Mark *mark,
          uint64_t offset_bytes,
          uint32_t stream)
{
  if (!is_safe (handover, mark, key_of (offset_bytes, stream)) ||
      !handover->device->order (handover->device, stream, mark->mark))
    return false;
  handover->n_barriers++;
  tessera_occupancy_set_ordered (handover->map, stream, mark->moment);
  return true;
}

bool
tessera_handover_order (TesseraHandover *handover,
                        uint64_t offset_bytes,
                        const TesseraOccupancyRequest *request)
{
  const Mark *mark;
  uint64_t moment;
  TesseraOrderVerdict verdict =
      tessera_occupancy_ask_order (handover->map, offset_bytes, request, &moment);

  if (verdict != TESSERA_ORDER_NEEDED)
    return verdict == TESSERA_ORDER_THERE;
  if (tessera_handover_has_ended (handover))
    return false;
  mark = find_mark (handover, moment);
  if (mark == NULL)
    {
      mark = add_mark (handover, request->stream);
      if (mark != NULL)
        want_mark (handover, moment);
    }
  return mark != NULL && wait_for (handover, mark, offset_bytes, request->stream);
}
