/*
 * What becomes of a plan while it is followed, for the recording; and a sentence where it
 * turned out not to fit the run.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/device/device-internal.h"

#include <inttypes.h>
#include <stdio.h>

#include "runtime/process/notice.h"
#include "db/size-text.h"

static void
say_misses (const TesseraDecline *decline)
{
  const TesseraHitCount *misfit = &decline->misfit;

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

void
tessera_device_plan_declined (void *user)
{
  RuntimeDevice *device = user;
  TesseraPolicyStats stats;

  tessera_policy_get_stats (device->policy, &stats);
  say_misses (&stats.decline);
  if (device->recorder != NULL)
    record (device);
}
