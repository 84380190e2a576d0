/*
 * The calls of empty_cache() that a recording shows.
 *
 * What was given back between two calls of the program came from one of them. If nothing
 * was taken from the driver before the next request, or no request follows, nobody was
 * short of memory: empty_cache(). If a request took memory afterwards, it either flushed
 * because the device refused it, or came after an empty_cache() that left it nothing. The
 * device can't have refused what it is known to have.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "simulator/run/flushes.h"

#include <stdlib.h>

#include "db/array.h"
#include "simulator/pool.h"

/* Of a device some may be taken by others (context, libraries, other processes). */
#define SURE_SHARE 0.9

typedef struct
{
  uint64_t reserved_bytes; /* before the call */
  uint64_t taken_bytes;    /* by it */
  uint64_t given_bytes;
  uint32_t first_given;
} Window;

static bool
is_taken (uint8_t action)
{
  return action == TESSERA_SEGMENT_ALLOC || action == TESSERA_SEGMENT_MAP;
}

static bool
is_given_back (uint8_t action)
{
  return action == TESSERA_SEGMENT_FREE || action == TESSERA_SEGMENT_UNMAP;
}

/* Entries that come before the entry of the call that caused them. */
static bool
is_of_call (uint8_t action)
{
  return is_taken (action) || is_given_back (action) ||
         action == TESSERA_FREE_COMPLETED || action == TESSERA_MARK;
}

static uint64_t
start_bytes (const TesseraTrace *trace)
{
  uint64_t bytes = 0;

  for (size_t i = 0; i < trace->start.n_segments; i++)
    bytes += trace->start.segments[i].size_bytes;
  return bytes;
}

/* So much the device has for sure. */
static uint64_t
known_capacity (const TesseraTrace *trace)
{
  uint64_t reserved = start_bytes (trace);
  uint64_t most = reserved;
  uint64_t device = (uint64_t) (SURE_SHARE * (double) trace->device_bytes);

  for (size_t e = 0; e < trace->n_events; e++)
    {
      const TesseraEvent *event = &trace->events[e];

      if (is_taken (event->action))
        reserved += event->size_bytes;
      else if (is_given_back (event->action))
        reserved -= event->size_bytes < reserved ? event->size_bytes : reserved;
      if (reserved > most)
        most = reserved;
    }
  if (device > most)
    most = device;
  return trace->limit_bytes != 0 && trace->limit_bytes < most ? trace->limit_bytes : most;
}

static bool
is_empty_cache (const TesseraTrace *trace,
                const Window *window,
                uint8_t call,
                uint64_t capacity_bytes)
{
  if (window->given_bytes == 0 || call == TESSERA_OOM)
    return false;
  if (call != TESSERA_ALLOC || window->taken_bytes == 0)
    return true;
  /* Garbage collection gives back before anything is refused. */
  return trace->settings.garbage_collection_threshold <= 0 &&
         window->reserved_bytes + window->taken_bytes <= capacity_bytes;
}

TesseraStatus
tessera_flushes_find (const TesseraTrace *trace, TesseraFlushes *out_flushes)
{
  uint64_t capacity_bytes = known_capacity (trace);
  TesseraRecordedPool pool = tessera_recorded_pool (trace);
  Window window = { .reserved_bytes = start_bytes (trace) };

  *out_flushes = (TesseraFlushes){ 0 };
  for (size_t e = 0; e <= trace->n_events; e++)
    {
      const TesseraEvent *event = e < trace->n_events ? &trace->events[e] : NULL;
      uint8_t action = event != NULL ? event->action : TESSERA_SNAPSHOT;

      if (is_taken (action))
        window.taken_bytes += event->size_bytes;
      else if (is_given_back (action) && tessera_pool_holds (pool, event->addr))
        /* A declined plan's: nobody called for it. */
        window.reserved_bytes -= event->size_bytes < window.reserved_bytes
                                     ? event->size_bytes
                                     : window.reserved_bytes;
      else if (is_given_back (action))
        {
          if (window.given_bytes == 0)
            window.first_given = (uint32_t) e;
          window.given_bytes += event->size_bytes;
        }
      if (is_of_call (action))
        continue;
      if (is_empty_cache (trace, &window, action, capacity_bytes))
        {
          if (!TESSERA_RESERVE (out_flushes->events, out_flushes->cap_events,
                                out_flushes->n_events + 1))
            {
              tessera_flushes_clear (out_flushes);
              return TESSERA_NO_MEMORY;
            }
          out_flushes->events[out_flushes->n_events++] = window.first_given;
        }
      window.reserved_bytes += window.taken_bytes;
      window.reserved_bytes -= window.given_bytes < window.reserved_bytes
                                   ? window.given_bytes
                                   : window.reserved_bytes;
      window.taken_bytes = window.given_bytes = 0;
    }
  return TESSERA_OK;
}

void
tessera_flushes_clear (TesseraFlushes *flushes)
{
  free (flushes->events);
  *flushes = (TesseraFlushes){ 0 };
}
