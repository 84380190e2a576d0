/*
 * The recorded layout: everything where the file says it lay.
 *
 * No snapshot says how large a block is, rounded and with its tail; our own allocator,
 * run over the same requests, does, as far as that replay agrees with the file. Beyond it
 * sizes are rounded requests. tessera_find_flushes() finds the calls of empty_cache().
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "simulator/private.h"
#include "simulator/verify/verify.h"

#include "allocator/caching.h"

/* Of a device some may be taken by others (context, libraries, other processes). */
#define SURE_SHARE 0.9

typedef struct
{
  TesseraBuild build;
  const TesseraTrace *trace;
  const TesseraBlocks *blocks;
  TesseraVerification replay;
  TesseraRecordedPool pool;
  size_t n_dead;      /* of blocks->by_death */
  uint64_t n_rounded; /* blocks whose size is not from the replay */
} Recorded;

static uint64_t
size_of (Recorded *recorded, const TesseraBlock *block, uint64_t replayed_bytes)
{
  bool is_in_pool = tessera_pool_holds (recorded->pool, block->addr);

  if (replayed_bytes != 0 && !is_in_pool)
    return replayed_bytes;
  /* Where a plan was followed nothing keeps a tail: neither slots nor what the expandable
   * rules cut beside them. */
  recorded->n_rounded += recorded->pool.n_bytes == 0;
  return tessera_round_size (&recorded->trace->settings, block->size_bytes);
}

static void
add_span (Recorded *recorded, TesseraSpan span)
{
  span.is_plan_pool = tessera_pool_holds (recorded->pool, span.addr);
  if (span.is_plan_pool) /* it grows no more than a segment does */
    span.is_small = span.is_expandable = false;
  tessera_build_add_span (&recorded->build, span);
}

/* What the plan that was followed served, and which of the misses were planned. */
static void
count_hits (const Recorded *recorded, TesseraLayout *layout)
{
  TesseraRecordedPool pool = recorded->pool;

  if (pool.n_bytes == 0)
    return;
  layout->pool_addr = pool.addr;
  layout->pool_bytes = pool.n_bytes;
  layout->declined_index = pool.declined_index;
  layout->is_hit = g_new0 (uint8_t, layout->n_blocks + 1);
  layout->is_left = g_new0 (uint8_t, layout->n_blocks + 1);
  for (size_t i = 0; i < layout->n_blocks; i++)
    {
      const TesseraBlock *block = &recorded->blocks->blocks[i];
      bool was_missed = tessera_pool_was_missed (pool, block);
      bool was_left = tessera_pool_was_left (recorded->trace, pool, block);

      layout->is_hit[i] = tessera_pool_holds (pool, block->addr);
      layout->is_left[i] = was_left;
      layout->n_hits += tessera_pool_was_asked (pool, block) && !was_missed;
      layout->n_misses += was_missed;
      layout->miss_bytes += was_missed ? block->size_bytes : 0;
      layout->n_planned_misses += was_left;
      layout->planned_miss_bytes += was_left ? block->size_bytes : 0;
    }
}

static void
place_start (Recorded *recorded)
{
  TesseraBuild *build = &recorded->build;
  const TesseraHeld *start = &recorded->trace->start;

  for (size_t i = 0; i < start->n_segments; i++)
    add_span (recorded, tessera_span_of (&start->segments[i]));
  for (size_t i = 0; i < start->n_blocks; i++)
    {
      uint32_t b = tessera_start_block_at (recorded->blocks, start->blocks[i].addr);
      uint64_t replayed = 0;

      if (b == TESSERA_NONE)
        continue;
      if (recorded->replay.start_block_bytes != NULL)
        replayed = recorded->replay.start_block_bytes[i];
      if (replayed == 0)
        replayed = start->blocks[i].block_bytes;
      tessera_build_place (build, b, start->blocks[i].addr,
                           size_of (recorded, &recorded->blocks->blocks[b], replayed));
      if (tessera_is_pending_at_start (recorded->trace, recorded->blocks, b))
        tessera_build_free_requested (build, b);
    }
  tessera_build_start (build);
}

static void
see_segment (Recorded *recorded, const TesseraEvent *event)
{
  bool is_map = event->action == TESSERA_SEGMENT_MAP;
  const TesseraSettings *settings = &recorded->trace->settings;

  if (tessera_is_given_back (event->action))
    {
      tessera_build_cut (&recorded->build, event->addr, event->size_bytes);
      return;
    }
  add_span (recorded,
            (TesseraSpan){
                .addr = event->addr,
                .size_bytes = event->size_bytes,
                .stream = event->stream,
                .pool = event->pool,
                .is_expandable = is_map,
                /* Small pools have segments of one size; one request there never maps as
                   much as a page of a large pool. */
                .is_small = is_map
                                ? event->size_bytes % settings->large_segment_bytes != 0
                                : event->size_bytes == 2 * TESSERA_SMALL_BYTES,
            });
}

static void
see_event (Recorded *recorded, const TesseraEvent *event, uint32_t e)
{
  TesseraBuild *build = &recorded->build;
  uint32_t b = recorded->blocks->block_of_event[e];

  switch (event->action)
    {
    case TESSERA_ALLOC:
      if (b != TESSERA_NONE)
        tessera_build_place (build, b, event->addr,
                             size_of (recorded, &recorded->blocks->blocks[b],
                                      recorded->replay.block_bytes != NULL
                                          ? recorded->replay.block_bytes[e]
                                          : 0));
      break;
    case TESSERA_FREE_REQUESTED:
      if (b != TESSERA_NONE)
        tessera_build_free_requested (build, b);
      break;
    case TESSERA_OOM:
      if (b != TESSERA_NONE)
        tessera_build_oom (build, &recorded->blocks->blocks[b], event->size_bytes,
                           event->addr);
      break;
    case TESSERA_SEGMENT_ALLOC:
    case TESSERA_SEGMENT_MAP:
    case TESSERA_SEGMENT_FREE:
    case TESSERA_SEGMENT_UNMAP:
      see_segment (recorded, event);
      break;
    default:
      break;
    }
}

static TesseraStatus
walk (Recorded *recorded, const TesseraProgress *progress)
{
  const TesseraTrace *trace = recorded->trace;
  const TesseraBlocks *blocks = recorded->blocks;
  TesseraBuild *build = &recorded->build;

  for (uint32_t e = 0; e < trace->n_events; e++)
    {
      build->now = e;
      for (; recorded->n_dead < blocks->n_blocks; recorded->n_dead++)
        {
          uint32_t b = blocks->by_death[recorded->n_dead];

          if (blocks->blocks[b].died_index > e)
            break;
          tessera_build_free_completed (build, b);
        }
      see_event (recorded, &trace->events[e], e);
      tessera_build_end_event (build);
      if (e % 65536 == 0 &&
          !tessera_progress (progress, (double) e / (double) trace->n_events))
        return TESSERA_CANCELLED;
    }
  return TESSERA_OK;
}

TesseraStatus
tessera_lay_recorded (const TesseraTrace *trace,
                      const TesseraBlocks *blocks,
                      const TesseraSimulateOptions *options,
                      TesseraError *error,
                      TesseraLayout **out_layout)
{
  Recorded recorded = { .trace = trace,
                        .blocks = blocks,
                        .pool = tessera_recorded_pool (trace) };
  TesseraLayout *layout;
  TesseraStatus status = TESSERA_OK;

  if (!trace->has_addresses || !trace->has_segments)
    return tessera_fail (
        error, TESSERA_REFUSED,
        "%s does not say where its blocks lay: simulate a policy instead",
        trace->source != NULL && *trace->source ? trace->source : "the trace");
  if (!options->without_sizes)
    status = tessera_verify (trace, NULL, &recorded.replay);
  if (status != TESSERA_OK)
    return tessera_fail (error, status, "the replay of the trace failed");
  tessera_build_init (&recorded.build, trace, blocks, TESSERA_LAYOUT_RECORDED,
                      options->without_curves);
  place_start (&recorded);
  status = walk (&recorded, options->progress);
  if (status == TESSERA_OK)
    {
      *out_layout = layout = tessera_build_finish (&recorded.build);
      count_hits (&recorded, layout);
      if (recorded.n_rounded > 0 && !options->without_sizes)
        g_snprintf (
            layout->note, sizeof layout->note,
            "The sizes of %" G_GUINT64_FORMAT
            " blocks are the rounded requests: the file does not say them and the "
            "replay did not get there.",
            recorded.n_rounded);
    }
  tessera_build_clear (&recorded.build);
  tessera_verification_clear (&recorded.replay);
  return status;
}

typedef struct
{
  uint64_t reserved_bytes; /* before the call */
  uint64_t taken_bytes;    /* by it */
  uint64_t given_bytes;
  uint32_t first_given;
} Window;

/* Entries that come before the entry of the call that caused them. */
static bool
is_of_call (uint8_t action)
{
  return tessera_is_taken (action) || tessera_is_given_back (action) ||
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

      if (tessera_is_taken (event->action))
        reserved += event->size_bytes;
      else if (tessera_is_given_back (event->action))
        reserved -= MIN (event->size_bytes, reserved);
      most = MAX (most, reserved);
    }
  most = MAX (most, device);
  return trace->limit_bytes != 0 ? MIN (trace->limit_bytes, most) : most;
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

GArray *
tessera_find_flushes (const TesseraTrace *trace)
{
  uint64_t capacity_bytes = known_capacity (trace);
  TesseraRecordedPool pool = tessera_recorded_pool (trace);
  Window window = { .reserved_bytes = start_bytes (trace) };
  GArray *flushes = g_array_new (FALSE, FALSE, sizeof (uint32_t));

  if (g_strcmp0 (tessera_trace_get_meta (trace, "policy"), "direct") == 0)
    return flushes;
  for (size_t e = 0; e <= trace->n_events; e++)
    {
      const TesseraEvent *event = e < trace->n_events ? &trace->events[e] : NULL;
      uint8_t action = event != NULL ? event->action : TESSERA_SNAPSHOT;

      if (tessera_is_taken (action))
        window.taken_bytes += event->size_bytes;
      else if (tessera_is_given_back (action) && tessera_pool_holds (pool, event->addr))
        /* A declined plan's: nobody called for it. */
        window.reserved_bytes -= MIN (event->size_bytes, window.reserved_bytes);
      else if (tessera_is_given_back (action))
        {
          if (window.given_bytes == 0)
            window.first_given = (uint32_t) e;
          window.given_bytes += event->size_bytes;
        }
      if (is_of_call (action))
        continue;
      if (is_empty_cache (trace, &window, action, capacity_bytes))
        g_array_append_val (flushes, window.first_given);
      window.reserved_bytes += window.taken_bytes;
      window.reserved_bytes -= MIN (window.given_bytes, window.reserved_bytes);
      window.taken_bytes = window.given_bytes = 0;
    }
  return flushes;
}
