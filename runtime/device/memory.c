/*
 * What the policy tells: the driver's memory as it comes and goes, recorded and counted;
 * and what becomes of a plan while it is followed, with a sentence where it turned out not
 * to fit the run.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/device/device-internal.h"

#include <inttypes.h>
#include <stdio.h>

#include "db/size-text.h"
#include "runtime/guest.h"

static void
note_memory (RuntimeDevice *device, const TesseraSegment *memory, bool has_come)
{
  static const TesseraAction actions[2][2] = {
    { TESSERA_SEGMENT_FREE, TESSERA_SEGMENT_UNMAP },
    { TESSERA_SEGMENT_ALLOC, TESSERA_SEGMENT_MAP }
  };
  const RuntimeBlock shape = { .addr = memory->addr,
                               .size_bytes = memory->size_bytes,
                               .stream = memory->stream,
                               .pool = memory->pool };

  tessera_stats_reserved (&device->stats, memory, has_come);
  tessera_device_record (device, actions[has_come][memory->is_expandable], &shape,
                         TESSERA_NONE);
}

static void
on_memory_came (void *user, const TesseraSegment *memory)
{
  note_memory (user, memory, true);
}

static void
on_memory_went (void *user, const TesseraSegment *memory)
{
  note_memory (user, memory, false);
}

static void
say_misses (const TesseraDecline *decline)
{
  const TesseraHitCount *misfit = &decline->misfit;

  if (decline->lacks_barriers)
    {
      tessera_notice (
          "The plan is declined: it passes memory between streams, and here that is not "
          "safe (work of one stream may need what comes later on another, or a second "
          "device is used); expandable rules serve from here on, and %s of its pool of "
          "%s "
          "are given back. Plan with --streams-apart.",
          TESSERA_SIZE (decline->returned_bytes), TESSERA_SIZE (decline->pool_bytes));
      return;
    }
  /* What to type is known to python/tessera/session.py, which puts it behind the last
   * sentence. */
  tessera_notice (
      "The plan is declined, it looks made for another model or other batches: of the "
      "last %" PRIu64 " requests %" PRIu64 " missed it, %s of %s; expandable "
      "rules serve from here on, and %s of its pool of %s are given back. "
      "Record this run and plan it.",
      misfit->n_requests, misfit->n_misses, TESSERA_SIZE (misfit->missed_bytes),
      TESSERA_SIZE (misfit->asked_bytes), TESSERA_SIZE (decline->returned_bytes),
      TESSERA_SIZE (decline->pool_bytes));
}

/* Events have their place in the recording as index. */
static void
record (RuntimeDevice *device)
{
  TesseraRecorderStats recorded;
  char text[32];

  tessera_recorder_get_stats (device->recorder, &recorded);
  snprintf (text, sizeof text, "%" PRIu64, recorded.n_events);
  tessera_recorder_meta (device->recorder, "plan_declined", text);
}

void
tessera_device_pool_sized (void *user)
{
  RuntimeDevice *device = user;
  TesseraPolicyStats stats;
  char text[32];

  /* While the policy is made there is none to ask yet. */
  if (device->recorder == NULL || device->policy == NULL)
    return;
  tessera_policy_get_stats (device->policy, &stats);
  if (stats.pool_height_bytes <= device->most_pool_bytes)
    return;
  device->most_pool_bytes = stats.pool_height_bytes;
  snprintf (text, sizeof text, "%d", device->ordinal);
  tessera_recorder_meta (device->recorder, "plan_device", text);
  snprintf (text, sizeof text, "%" PRIu64, stats.pool_addr);
  tessera_recorder_meta (device->recorder, "plan_pool_addr", text);
  snprintf (text, sizeof text, "%" PRIu64, stats.pool_height_bytes);
  tessera_recorder_meta (device->recorder, "plan_pool_bytes", text);
}

static void
on_plan_declined (void *user)
{
  RuntimeDevice *device = user;
  TesseraPolicyStats stats;

  tessera_policy_get_stats (device->policy, &stats);
  say_misses (&stats.decline);
  if (device->recorder != NULL)
    record (device);
}

TesseraObserver
tessera_device_observer (RuntimeDevice *device)
{
  return (TesseraObserver){ .memory_came = on_memory_came,
                            .memory_went = on_memory_went,
                            .plan_declined = on_plan_declined,
                            .pool_sized = tessera_device_pool_sized,
                            .block_passed = tessera_device_pass,
                            .user = device };
}
