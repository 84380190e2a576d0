/*
 * The recorded layout: everything where the file says it lay.
 *
 * A snapshot does not say how large a block is once it was rounded and kept its tail; our
 * own allocator, run over the same requests, does. As far as that replay agrees with the
 * file its sizes are exact, beyond that they are the rounded requests.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "simulator/recorded.h"

#include <stdio.h>
#include <stdlib.h>

#include "allocator/caching.h"
#include "simulator/build.h"
#include "simulator/pool.h"
#include "simulator/verify/verify.h"

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

/* Which of the misses were planned. */
static TesseraStatus
mark_left (Recorded *recorded)
{
  TesseraLayout *layout = recorded->build.layout;

  layout->is_left = calloc (layout->n_blocks + 1, sizeof *layout->is_left);
  if (layout->is_left == NULL)
    return TESSERA_NO_MEMORY;
  for (size_t i = 0; i < layout->n_blocks; i++)
    {
      const TesseraBlock *block = &recorded->blocks->blocks[i];

      layout->is_left[i] = tessera_pool_was_left (recorded->trace, recorded->pool, block);
      layout->n_planned_misses += layout->is_left[i];
      layout->planned_miss_bytes += layout->is_left[i] ? block->size_bytes : 0;
    }
  return TESSERA_OK;
}

static TesseraStatus
count_hits (Recorded *recorded)
{
  TesseraLayout *layout = recorded->build.layout;
  TesseraRecordedPool pool = recorded->pool;

  if (pool.n_bytes == 0)
    return TESSERA_OK;
  layout->pool_addr = pool.addr;
  layout->pool_bytes = pool.n_bytes;
  layout->declined_index = pool.declined_index;
  layout->is_hit = calloc (layout->n_blocks + 1, sizeof *layout->is_hit);
  if (layout->is_hit == NULL)
    return TESSERA_NO_MEMORY;
  for (size_t i = 0; i < layout->n_blocks; i++)
    {
      const TesseraBlock *block = &recorded->blocks->blocks[i];
      bool was_missed = tessera_pool_was_missed (pool, block);

      layout->is_hit[i] = tessera_pool_holds (pool, block->addr);
      layout->n_hits += tessera_pool_was_asked (pool, block) && !was_missed;
      layout->n_misses += was_missed;
      layout->miss_bytes += was_missed ? block->size_bytes : 0;
    }
  return mark_left (recorded);
}

static void
place_start (Recorded *recorded)
{
  TesseraBuild *build = &recorded->build;
  const TesseraHeld *start = &recorded->trace->start;

  for (size_t i = 0; i < start->n_segments; i++)
    {
      const TesseraSegment *segment = &start->segments[i];

      add_span (recorded, (TesseraSpan){ .addr = segment->addr,
                                         .size_bytes = segment->size_bytes,
                                         .stream = segment->stream,
                                         .pool = segment->pool,
                                         .is_small = segment->is_small,
                                         .is_expandable = segment->is_expandable });
    }
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

  if (event->action == TESSERA_SEGMENT_FREE || event->action == TESSERA_SEGMENT_UNMAP)
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

  for (uint32_t e = 0; e < trace->n_events && build->status == TESSERA_OK; e++)
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
  return build->status;
}

static void
write_note (const Recorded *recorded, TesseraLayout *layout)
{
  if (recorded->n_rounded > 0)
    snprintf (layout->note, sizeof layout->note,
              "The sizes of %llu blocks are the rounded requests: the file does not say "
              "them and the replay did not get there.",
              (unsigned long long) recorded->n_rounded);
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
  TesseraStatus status;

  *out_layout = NULL;
  if (!trace->has_addresses || !trace->has_segments)
    return tessera_fail (
        error, TESSERA_REFUSED,
        "%s does not say where its blocks lay: simulate a policy instead",
        trace->source != NULL && *trace->source ? trace->source : "the trace");
  status = tessera_verify (trace, NULL, &recorded.replay);
  if (status != TESSERA_OK)
    return tessera_fail (error, status, "the replay of the trace failed");
  status = tessera_build_init (&recorded.build, trace, blocks, options->kind,
                               options->without_curves);
  if (status == TESSERA_OK)
    {
      place_start (&recorded);
      status = walk (&recorded, options->progress);
    }
  if (status == TESSERA_OK)
    status = count_hits (&recorded);
  if (status == TESSERA_OK)
    {
      *out_layout = tessera_build_finish (&recorded.build);
      status = recorded.build.status;
    }
  if (*out_layout != NULL)
    write_note (&recorded, *out_layout);
  tessera_build_clear (&recorded.build);
  tessera_verification_clear (&recorded.replay);
  if (status == TESSERA_NO_MEMORY)
    tessera_fail (error, status, "there is no memory left for the layout");
  return status;
}
