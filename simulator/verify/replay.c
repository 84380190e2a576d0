/*
 * The device that answers from a recording.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "simulator/private.h"
#include "simulator/verify/private.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

/* Above every real device address: for reservations that the recording never maps. */
#define MADE_UP_ADDR ((uint64_t) 1 << 60)

void
tessera_replay_differs (TesseraReplay *replay, uint32_t index, const char *format, ...)
{
  va_list args;

  if (replay->verification->first_difference != TESSERA_NONE)
    return;
  replay->verification->first_difference = index;
  va_start (args, format);
  vsnprintf (replay->verification->difference, sizeof replay->verification->difference,
             format, args);
  va_end (args);
}

static bool
has_differed (const TesseraReplay *replay)
{
  return replay->verification->first_difference != TESSERA_NONE;
}

static const TesseraEvent *
head_of (const TesseraReplay *replay)
{
  return replay->next < replay->end ? &replay->trace->events[replay->next] : NULL;
}

/* The policy does something to [addr, addr + size) that the recording must say as well.
 */
static bool
expect (TesseraReplay *replay, uint8_t action, uint64_t addr, uint64_t size_bytes)
{
  const TesseraEvent *head = head_of (replay);

  if (has_differed (replay))
    return false;
  if (head == NULL)
    tessera_replay_differs (replay, replay->call_index,
                            "expected %s of %" PRIu64 " bytes at 0x%" PRIx64
                            " before it, found none",
                            tessera_action_name (action), size_bytes, addr);
  else if (head->action != action || head->addr != addr || head->size_bytes != size_bytes)
    tessera_replay_differs (replay, replay->next,
                            "expected %s of %" PRIu64 " bytes at 0x%" PRIx64
                            ", found %s of %" PRIu64 " at 0x%" PRIx64,
                            tessera_action_name (action), size_bytes, addr,
                            tessera_action_name (head->action), head->size_bytes,
                            head->addr);
  else
    {
      replay->next++;
      replay->verification->segments_right++;
      return true;
    }
  return false;
}

/* Whether the driver refuses: something else follows in the window, or the call failed.
 */
static bool
is_refused (TesseraReplay *replay, uint8_t action, uint64_t size_bytes)
{
  const TesseraEvent *head = head_of (replay);

  if (has_differed (replay))
    return true;
  if (head == NULL && !replay->is_oom)
    tessera_replay_differs (replay, replay->call_index,
                            "expected %s of %" PRIu64 " bytes before it, found none",
                            tessera_action_name (action), size_bytes);
  return head == NULL || head->action != action;
}

static TesseraStatus
allocate (TesseraDevice *device, uint64_t size_bytes, uint32_t stream, uint64_t *out_addr)
{
  TesseraReplay *replay = (TesseraReplay *) device;
  const TesseraEvent *head = head_of (replay);

  *out_addr = 0;
  if (is_refused (replay, TESSERA_SEGMENT_ALLOC, size_bytes))
    return TESSERA_OUT_OF_DEVICE;
  if (head->stream != stream)
    tessera_replay_differs (replay, replay->next,
                            "expected a segment_alloc on stream %u, found one on %u",
                            stream, head->stream);
  if (!expect (replay, TESSERA_SEGMENT_ALLOC, head->addr, size_bytes))
    return TESSERA_OUT_OF_DEVICE;
  *out_addr = head->addr;
  return TESSERA_OK;
}

static void
release (TesseraDevice *device, uint64_t addr, uint64_t size_bytes)
{
  expect ((TesseraReplay *) device, TESSERA_SEGMENT_FREE, addr, size_bytes);
}

/* The next map of this kind, @is_outside all reservations there are or anywhere.
 *
 * Returns: its index, or n_events. */
static uint32_t
find_map (const TesseraReplay *replay,
          uint32_t stream,
          uint64_t page_bytes,
          bool is_outside)
{
  const TesseraTrace *trace = replay->trace;
  uint64_t large_bytes = trace->settings.large_segment_bytes;
  uint16_t pool = trace->events[replay->call_index].pool;
  uint32_t at;

  for (at = replay->next; at < trace->n_events; at++)
    {
      const TesseraEvent *event = &trace->events[at];

      if (event->action == TESSERA_SEGMENT_MAP && event->stream == stream &&
          event->pool == pool &&
          (event->size_bytes % large_bytes == 0) == (page_bytes == large_bytes) &&
          (!is_outside || !tessera_caching_is_reserved (replay->caching, event->addr,
                                                        stream, pool, page_bytes)))
        break;
    }
  return at;
}

/* Where a reservation begins shows in the first map in it. That is the next entry; or a
 * later one, where the driver refuses now and the reservation is kept for then. How far
 * the others reach is our guess: outside them is better, but not a must. */
static TesseraStatus
reserve (TesseraDevice *device,
         uint32_t stream,
         uint64_t page_bytes,
         uint64_t *out_addr,
         uint64_t *out_size_bytes)
{
  TesseraReplay *replay = (TesseraReplay *) device;
  const TesseraTrace *trace = replay->trace;
  const TesseraEvent *head = head_of (replay);
  uint32_t at = replay->next;

  *out_size_bytes = tessera_reservation_size (trace->device_bytes, page_bytes);
  if (head == NULL || head->action != TESSERA_SEGMENT_MAP)
    {
      at = find_map (replay, stream, page_bytes, true);
      if (at == trace->n_events)
        at = find_map (replay, stream, page_bytes, false);
    }
  if (at < trace->n_events)
    {
      *out_addr = trace->events[at].addr;
      return TESSERA_OK;
    }
  *out_addr = replay->made_up_addr;
  replay->made_up_addr += *out_size_bytes;
  return TESSERA_OK;
}

static void
unreserve (TesseraDevice *device, uint64_t addr, uint64_t size_bytes)
{
}

static TesseraStatus
map (TesseraDevice *device, uint64_t addr, uint64_t size_bytes, uint32_t stream)
{
  TesseraReplay *replay = (TesseraReplay *) device;

  return is_refused (replay, TESSERA_SEGMENT_MAP, size_bytes) ||
                 !expect (replay, TESSERA_SEGMENT_MAP, addr, size_bytes)
             ? TESSERA_OUT_OF_DEVICE
             : TESSERA_OK;
}

static void
unmap (TesseraDevice *device, uint64_t addr, uint64_t size_bytes)
{
  expect ((TesseraReplay *) device, TESSERA_SEGMENT_UNMAP, addr, size_bytes);
}

/* The recording says when the driver refused. */
static uint64_t
free_bytes (TesseraDevice *device)
{
  return UINT64_MAX;
}

void
tessera_replay_complete (TesseraReplay *replay)
{
  const TesseraEvent *head;

  for (head = head_of (replay); head != NULL && head->action == TESSERA_FREE_COMPLETED;
       head = head_of (replay))
    {
      uint64_t requested_bytes =
          tessera_caching_requested_at (replay->caching, head->addr);

      if (has_differed (replay))
        return;
      if (requested_bytes != head->size_bytes ||
          tessera_caching_free_completed (replay->caching, head->addr) != TESSERA_OK)
        tessera_replay_differs (replay, replay->next,
                                "expected the end of a pending free, found "
                                "free_completed of %" PRIu64 " bytes at 0x%" PRIx64
                                ", where %" PRIu64 " bytes are held",
                                head->size_bytes, head->addr, requested_bytes);
      replay->next++;
    }
}

static void
synchronize (TesseraDevice *device)
{
  tessera_replay_complete ((TesseraReplay *) device);
}

void
tessera_replay_begin (TesseraReplay *replay)
{
  TesseraVerification *verification = replay->verification;

  replay->device = (TesseraDevice){ allocate, release,     reserve,    unreserve, map,
                                    unmap,    synchronize, free_bytes, NULL };
  replay->made_up_addr = MADE_UP_ADDR;
  replay->hint_block = replay->trace->start.n_blocks;
  verification->addresses_right = verification->segments_right = 0;
  verification->ooms_right = verification->final_right = 0;
  verification->first_difference = TESSERA_NONE;
  verification->difference[0] = '\0';
}
