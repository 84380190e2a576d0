/*
 * Every byte reserved at one moment, under one label.
 *
 * Segments and what lies in them are put in order of address and walked once: what is not
 * part of a block is free, and its label follows from whose segment it is and what lies
 * on either side of it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "simulator/verdict.h"

#include <string.h>

#include "allocator/caching.h"
#include "simulator/private.h"

typedef struct
{
  uint64_t addr;
  uint64_t size_bytes;
  uint64_t asked_bytes;
  bool is_pending;
} Held;

typedef struct
{
  const TesseraEvent *request; /* that moment's; NULL: none */
  bool request_is_small;
  const TesseraEvent *fresh; /* segment that this event took for the request; or NULL */
  GArray *segments;          /* of TesseraSpan, and ... */
  GArray *held;              /* of Held: by address */
  TesseraParts *parts;
} Moment;

/* Mapped pages side by side are one segment of one reservation, or of a plan's pool. */
static bool
is_continued (const TesseraSpan *segment, const TesseraSpan *next)
{
  return ((segment->is_expandable && next->is_expandable) ||
          (segment->is_plan_pool && next->is_plan_pool)) &&
         segment->addr + segment->size_bytes == next->addr &&
         segment->stream == next->stream && segment->pool == next->pool &&
         segment->is_small == next->is_small;
}

static void
gather_segments (Moment *moment, const TesseraLayout *layout, uint32_t event_index)
{
  g_autoptr (GArray) spans = g_array_new (FALSE, FALSE, sizeof (TesseraSpan));

  for (size_t i = 0; i < layout->n_spans && layout->spans[i].born_index <= event_index;
       i++)
    if (layout->spans[i].died_index > event_index)
      g_array_append_val (spans, layout->spans[i]);
  g_array_sort (spans, tessera_by_first_number);
  for (guint i = 0; i < spans->len; i++)
    {
      const TesseraSpan *next = &g_array_index (spans, TesseraSpan, i);
      TesseraSpan *last = &g_array_index (moment->segments, TesseraSpan,
                                          MAX (moment->segments->len, 1) - 1);

      if (moment->segments->len > 0 && is_continued (last, next))
        last->size_bytes += next->size_bytes;
      else
        g_array_append_vals (moment->segments, next, 1);
    }
}

static bool
is_held (const TesseraBlocks *blocks,
         const TesseraLayout *layout,
         size_t block,
         uint32_t event_index)
{
  return layout->died_index[block] > event_index &&
         layout->addr[block] != TESSERA_NOWHERE &&
         blocks->blocks[block].born_index <= event_index;
}

bool
tessera_is_live (const TesseraBlocks *blocks,
                 const TesseraLayout *layout,
                 size_t block,
                 uint32_t event_index)
{
  return is_held (blocks, layout, block, event_index) &&
         blocks->blocks[block].freed_index > event_index;
}

static void
gather_held (Moment *moment,
             const TesseraBlocks *blocks,
             const TesseraLayout *layout,
             uint32_t event_index)
{
  /* By birth but for those of the start, which all count as born at 0. */
  for (size_t i = 0; i < layout->n_blocks && blocks->blocks[i].born_index <= event_index;
       i++)
    if (is_held (blocks, layout, i, event_index))
      {
        const Held held = {
          .addr = layout->addr[i],
          .size_bytes = layout->block_bytes[i],
          .asked_bytes = blocks->blocks[i].size_bytes,
          .is_pending = blocks->blocks[i].freed_index <= event_index,
        };
        g_array_append_val (moment->held, held);
      }
  g_array_sort (moment->held, tessera_by_first_number);
}

static void
find_request (Moment *moment, const TesseraTrace *trace, uint32_t event_index)
{
  for (size_t e = event_index; e < trace->n_events && moment->request == NULL; e++)
    if (trace->events[e].action == TESSERA_ALLOC ||
        trace->events[e].action == TESSERA_OOM)
      moment->request = &trace->events[e];
  if (moment->request == NULL)
    return;
  moment->parts->request_bytes =
      tessera_round_size (&trace->settings, moment->request->size_bytes);
  moment->request_is_small = moment->parts->request_bytes <= TESSERA_SMALL_BYTES;
}

/* Could that moment's request not use free memory of this segment? */
static bool
is_other (const Moment *moment, const TesseraSpan *segment)
{
  const TesseraEvent *request = moment->request;

  return request != NULL && !segment->is_plan_pool &&
         (segment->stream != request->stream || segment->pool != request->pool ||
          segment->is_small != moment->request_is_small);
}

/* A recording has the segment one event before the request that it is taken for, which
 * found no hole: this is none. */
static void
find_fresh (Moment *moment,
            const TesseraTrace *trace,
            const TesseraLayout *layout,
            uint32_t event_index)
{
  const TesseraEvent *event = &trace->events[event_index];

  if (layout->kind == TESSERA_LAYOUT_RECORDED &&
      (event->action == TESSERA_SEGMENT_ALLOC || event->action == TESSERA_SEGMENT_MAP))
    moment->fresh = event;
}

static bool
is_fresh (const Moment *moment, uint64_t addr, uint64_t size_bytes)
{
  return moment->fresh != NULL && moment->fresh->addr == addr &&
         moment->fresh->size_bytes == size_bytes;
}

static void
count_free (Moment *moment,
            const TesseraSpan *segment,
            uint64_t addr,
            uint64_t end,
            bool is_used_below,
            bool is_used_above)
{
  TesseraParts *parts = moment->parts;
  uint64_t size_bytes = end - addr;
  bool other = is_other (moment, segment);
  bool other_size = other && segment->stream == moment->request->stream &&
                    segment->pool == moment->request->pool;
  uint64_t *place;

  if (is_fresh (moment, addr, size_bytes))
    {
      parts->new_segment_bytes += size_bytes;
      return;
    }
  if (other && !other_size)
    place = &parts->other_stream_bytes;
  else if (is_used_below && is_used_above)
    place = other_size ? &parts->other_size_hard_bytes : &parts->hard_bytes;
  else if (is_used_below || is_used_above)
    place = other_size ? &parts->other_size_soft_bytes : &parts->soft_bytes;
  else
    place = other_size ? &parts->other_size_cache_bytes : &parts->cache_bytes;
  *place += size_bytes;
  if (other_size)
    parts->other_size_bytes += size_bytes;
  if (!other && size_bytes > parts->largest_hole_bytes)
    {
      parts->largest_hole_bytes = size_bytes;
      parts->largest_hole_addr = addr;
    }
}

static void
count_held (Moment *moment, const Held *held, uint64_t size_bytes)
{
  TesseraParts *parts = moment->parts;
  uint64_t asked_bytes = MIN (held->asked_bytes, size_bytes);

  if (held->is_pending)
    parts->pending_bytes += size_bytes;
  else
    {
      parts->live_bytes += asked_bytes;
      parts->rounding_bytes += size_bytes - asked_bytes;
    }
}

/* @next_held: the first block that ends above the segment's begin. What a damaged file
 * lets overlap or stick out is cut off, so that the parts always sum up. */
static void
count_segment (Moment *moment, const TesseraSpan *segment, guint *next_held)
{
  uint64_t at = segment->addr;
  uint64_t end = segment->addr + segment->size_bytes;
  bool is_used = false;
  guint i = *next_held;

  moment->parts->reserved_bytes += segment->size_bytes;
  for (; i < moment->held->len; i++)
    {
      const Held *held = &g_array_index (moment->held, Held, i);
      uint64_t begin = MAX (held->addr, at);
      uint64_t held_end = end;

      if (held->addr >= end)
        break;
      if (held->size_bytes < end - held->addr)
        held_end = held->addr + held->size_bytes;
      if (held_end <= begin)
        continue;
      if (begin > at)
        count_free (moment, segment, at, begin, is_used, true);
      count_held (moment, held, held_end - begin);
      at = held_end;
      is_used = true;
    }
  if (at < end)
    count_free (moment, segment, at, end, is_used, false);
  *next_held = i;
}

static void
add_device (TesseraParts *parts, const TesseraTrace *trace, const TesseraLayout *layout)
{
  uint64_t known_bytes = parts->reserved_bytes;

  parts->free_at_driver_bytes = parts->outside_bytes = TESSERA_NOWHERE;
  for (size_t i = 0; i < layout->n_ooms; i++)
    if (layout->ooms[i].event_index == parts->event_index)
      parts->free_at_driver_bytes = layout->ooms[i].free_at_driver_bytes;
  if (layout->kind != TESSERA_LAYOUT_RECORDED || trace->device_bytes == 0 ||
      parts->free_at_driver_bytes == TESSERA_NOWHERE)
    return;
  known_bytes += parts->free_at_driver_bytes;
  if (known_bytes <= trace->device_bytes)
    parts->outside_bytes = trace->device_bytes - known_bytes;
}

TesseraParts
tessera_parts_at (const TesseraTrace *trace,
                  const TesseraBlocks *blocks,
                  const TesseraLayout *layout,
                  uint32_t event_index)
{
  g_autoptr (GArray) segments = g_array_new (FALSE, FALSE, sizeof (TesseraSpan));
  g_autoptr (GArray) held = g_array_new (FALSE, FALSE, sizeof (Held));
  TesseraParts parts = { .event_index = event_index };
  Moment moment = { .parts = &parts, .segments = segments, .held = held };
  guint next_held = 0;

  gather_segments (&moment, layout, event_index);
  gather_held (&moment, blocks, layout, event_index);
  find_request (&moment, trace, event_index);
  find_fresh (&moment, trace, layout, event_index);
  for (guint i = 0; i < segments->len; i++)
    count_segment (&moment, &g_array_index (segments, TesseraSpan, i), &next_held);
  add_device (&parts, trace, layout);
  return parts;
}

void
tessera_parts_list (const TesseraTrace *trace,
                    const TesseraParts *parts,
                    TesseraPart out_parts[TESSERA_N_PARTS])
{
  /* A program of one stream can have private pools. */
  bool has_streams = trace->n_streams > 1;
  const TesseraPart list[TESSERA_N_PARTS] = {
    { "live_bytes", "live", "Asked for by the program and not freed", parts->live_bytes },
    { "rounding_bytes", "rounding", "Block sizes above what was asked for",
      parts->rounding_bytes },
    { "pending_bytes", "awaits a stream", "Freed, waiting for an event of another stream",
      parts->pending_bytes },
    { "new_segment_bytes", "new segment",
      "Free, taken just now for the next request, which found no hole",
      parts->new_segment_bytes, .is_rare = true },
    { "other_stream_bytes", has_streams ? "other stream" : "other pool",
      has_streams ? "Free, but kept for another stream or pool than the next request's"
                  : "Free, but kept for another pool than the next request's",
      parts->other_stream_bytes },
    { "other_size_bytes", "other sizes",
      "Free, but in segments for small requests (up to 1 MiB) where the next one is "
      "large, or for large ones where it is small",
      parts->other_size_bytes },
    { "hard_bytes", "between blocks", "Free between live blocks of a segment",
      parts->hard_bytes },
    { "soft_bytes", "segment edges", "Free at the edge of a segment in use",
      parts->soft_bytes },
    { "cache_bytes", "free segments", "Free as a whole: given back before anything fails",
      parts->cache_bytes },
  };

  memcpy (out_parts, list, sizeof list);
}

uint64_t
tessera_parts_free_bytes (const TesseraParts *parts)
{
  return parts->reserved_bytes - parts->live_bytes - parts->rounding_bytes -
         parts->pending_bytes;
}
