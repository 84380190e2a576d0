/*
 * What the policy tells: the driver's memory as it comes and goes, kept as ranges in a sorted
 * array (some hundreds, rarely changed), recorded and counted; and what becomes of a plan
 * while it is followed, with a sentence where it turned out not to fit the run.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/device/device-internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "db/array.h"
#include "db/size-text.h"
#include "runtime/guest.h"

/* The first span that ends behind @addr. */
static size_t
find_span (const RuntimeSpans *spans, uint64_t addr)
{
  size_t low = 0, high = spans->n;

  while (low < high)
    {
      size_t middle = low + (high - low) / 2;

      if (spans->all[middle].addr + spans->all[middle].size_bytes <= addr)
        low = middle + 1;
      else
        high = middle;
    }
  return low;
}

static void
insert (RuntimeSpans *spans, size_t at, const RuntimeSpan *span)
{
  if (!TESSERA_RESERVE (spans->all, spans->cap, spans->n + 1))
    return;
  memmove (&spans->all[at + 1], &spans->all[at], (spans->n - at) * sizeof spans->all[0]);
  spans->all[at] = *span;
  spans->n++;
}

static void delete (RuntimeSpans *spans, size_t at)
{
  spans->n--;
  memmove (&spans->all[at], &spans->all[at + 1], (spans->n - at) * sizeof spans->all[0]);
}

/* Two segments of cudaMalloc stay two, however close they lie. */
static bool
can_join (const RuntimeSpan *a, const RuntimeSpan *b)
{
  return a->is_expandable && b->is_expandable && a->addr + a->size_bytes == b->addr &&
         a->stream == b->stream && a->pool == b->pool && a->is_small == b->is_small;
}

void
tessera_spans_add (RuntimeSpans *spans, const RuntimeSpan *span)
{
  size_t at = find_span (spans, span->addr);

  if (at > 0 && can_join (&spans->all[at - 1], span))
    spans->all[--at].size_bytes += span->size_bytes;
  else
    insert (spans, at, span);
  if (at + 1 < spans->n && can_join (&spans->all[at], &spans->all[at + 1]))
    {
      spans->all[at].size_bytes += spans->all[at + 1].size_bytes;
      delete (spans, at + 1);
    }
}

RuntimeSpan
tessera_spans_remove (RuntimeSpans *spans, uint64_t addr, uint64_t size_bytes)
{
  size_t at = find_span (spans, addr);
  RuntimeSpan whole, rest;

  if (at == spans->n || spans->all[at].addr > addr)
    return (RuntimeSpan){ .addr = addr, .size_bytes = size_bytes };
  whole = rest = spans->all[at];
  rest.addr = addr + size_bytes;
  rest.size_bytes = whole.addr + whole.size_bytes - rest.addr;
  if (whole.addr == addr)
    delete (spans, at);
  else
    spans->all[at++].size_bytes = addr - whole.addr;
  if (rest.size_bytes != 0)
    insert (spans, at, &rest);
  return whole;
}

const RuntimeSpan *
tessera_spans_at (const RuntimeSpans *spans, uint64_t addr)
{
  size_t at = find_span (spans, addr);

  return at < spans->n && spans->all[at].addr <= addr ? &spans->all[at] : NULL;
}

static void
record_span (RuntimeDevice *device, TesseraAction action, const RuntimeSpan *span)
{
  const RuntimeBlock shape = { .addr = span->addr,
                               .size_bytes = span->size_bytes,
                               .stream = (uint16_t) span->stream,
                               .pool = (uint16_t) span->pool };

  tessera_device_record (device, action, &shape, TESSERA_NONE);
}

static void
take_span (RuntimeDevice *device, const RuntimeSpan *span)
{
  tessera_spans_add (&device->spans, span);
  tessera_stats_reserve (&device->stats, span->is_small, span->is_expandable,
                         span->size_bytes);
  record_span (device, span->is_expandable ? TESSERA_SEGMENT_MAP : TESSERA_SEGMENT_ALLOC,
               span);
}

static void
give_span (RuntimeDevice *device, uint64_t addr, uint64_t size_bytes, bool is_expandable)
{
  RuntimeSpan span = tessera_spans_remove (&device->spans, addr, size_bytes);

  span.addr = addr;
  span.size_bytes = size_bytes;
  tessera_stats_unreserve (&device->stats, span.is_small, is_expandable, size_bytes);
  record_span (device, is_expandable ? TESSERA_SEGMENT_UNMAP : TESSERA_SEGMENT_FREE,
               &span);
}

static void
on_segment_alloc (void *user,
                  uint64_t addr,
                  uint64_t size_bytes,
                  uint32_t stream,
                  uint32_t pool,
                  bool is_small)
{
  take_span (user, &(RuntimeSpan){ addr, size_bytes, stream, pool, is_small, false });
}

static void
on_segment_map (void *user,
                uint64_t addr,
                uint64_t size_bytes,
                uint32_t stream,
                uint32_t pool,
                bool is_small)
{
  take_span (user, &(RuntimeSpan){ addr, size_bytes, stream, pool, is_small, true });
}

static void
on_segment_free (void *user, uint64_t addr, uint64_t size_bytes)
{
  give_span (user, addr, size_bytes, false);
}

static void
on_segment_unmap (void *user, uint64_t addr, uint64_t size_bytes)
{
  give_span (user, addr, size_bytes, true);
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
  return (TesseraObserver){ .segment_alloc = on_segment_alloc,
                            .segment_free = on_segment_free,
                            .segment_map = on_segment_map,
                            .segment_unmap = on_segment_unmap,
                            .plan_declined = on_plan_declined,
                            .pool_sized = tessera_device_pool_sized,
                            .block_passed = tessera_device_pass,
                            .user = device };
}
