/*
 * Building a layout event by event.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "simulator/build.h"

#include <stdlib.h>
#include <string.h>

#include "db/array.h"

/* At least one item, so that NULL always means failure. */
static void *
new_array (size_t n_items, size_t item_bytes)
{
  return calloc (n_items > 0 ? n_items : 1, item_bytes);
}

static bool
allocate_curves (TesseraCurves *curves, size_t n_events)
{
  curves->live_bytes = new_array (n_events, sizeof *curves->live_bytes);
  curves->allocated_bytes = new_array (n_events, sizeof *curves->allocated_bytes);
  curves->active_bytes = new_array (n_events, sizeof *curves->active_bytes);
  curves->reserved_bytes = new_array (n_events, sizeof *curves->reserved_bytes);
  return curves->live_bytes != NULL && curves->allocated_bytes != NULL &&
         curves->active_bytes != NULL && curves->reserved_bytes != NULL;
}

TesseraStatus
tessera_build_init (TesseraBuild *build,
                    const TesseraTrace *trace,
                    const TesseraBlocks *blocks,
                    TesseraLayoutKind kind,
                    bool without_curves)
{
  TesseraLayout *layout = calloc (1, sizeof *layout);

  *build = (TesseraBuild){
    .trace = trace, .blocks = blocks, .layout = layout, .without_curves = without_curves
  };
  if (layout == NULL)
    return TESSERA_NO_MEMORY;
  layout->kind = kind;
  layout->n_events = blocks->n_events;
  layout->n_blocks = blocks->n_blocks;
  layout->addr = new_array (blocks->n_blocks, sizeof *layout->addr);
  layout->block_bytes = new_array (blocks->n_blocks, sizeof *layout->block_bytes);
  layout->died_index = new_array (blocks->n_blocks, sizeof *layout->died_index);
  build->states = new_array (blocks->n_blocks, sizeof *build->states);
  if (kind == TESSERA_LAYOUT_PLAN)
    {
      layout->is_hit = new_array (blocks->n_blocks, sizeof *layout->is_hit);
      layout->is_left = new_array (blocks->n_blocks, sizeof *layout->is_left);
    }
  if (layout->addr == NULL || layout->block_bytes == NULL || layout->died_index == NULL ||
      build->states == NULL ||
      (kind == TESSERA_LAYOUT_PLAN &&
       (layout->is_hit == NULL || layout->is_left == NULL)) ||
      (!without_curves && !allocate_curves (&layout->curves, blocks->n_events)))
    {
      tessera_build_clear (build);
      return TESSERA_NO_MEMORY;
    }
  for (size_t i = 0; i < blocks->n_blocks; i++)
    {
      layout->addr[i] = TESSERA_NOWHERE;
      layout->died_index[i] = blocks->blocks[i].died_index;
    }
  return TESSERA_OK;
}

void
tessera_build_clear (TesseraBuild *build)
{
  tessera_layout_free (build->layout);
  free (build->states);
  free (build->open);
  build->layout = NULL;
  build->states = NULL;
  build->open = NULL;
}

void
tessera_build_place (TesseraBuild *build,
                     uint32_t block,
                     uint64_t addr,
                     uint64_t block_bytes)
{
  build->layout->addr[block] = addr;
  build->layout->block_bytes[block] = block_bytes;
  build->states[block] = TESSERA_BLOCK_LIVE;
  build->live_bytes += build->blocks->blocks[block].size_bytes;
  build->allocated_bytes += block_bytes;
  build->active_bytes += block_bytes;
}

void
tessera_build_free_requested (TesseraBuild *build, uint32_t block)
{
  if (build->states[block] != TESSERA_BLOCK_LIVE)
    return;
  build->states[block] = TESSERA_BLOCK_PENDING;
  build->live_bytes -= build->blocks->blocks[block].size_bytes;
  build->allocated_bytes -= build->layout->block_bytes[block];
}

void
tessera_build_free_completed (TesseraBuild *build, uint32_t block)
{
  tessera_build_free_requested (build, block);
  if (build->states[block] != TESSERA_BLOCK_PENDING)
    return;
  build->states[block] = TESSERA_BLOCK_FREE;
  build->active_bytes -= build->layout->block_bytes[block];
  build->layout->died_index[block] = build->now;
}

void
tessera_build_oom (TesseraBuild *build,
                   const TesseraBlock *block,
                   uint64_t size_bytes,
                   uint64_t free_at_driver_bytes)
{
  TesseraLayout *layout = build->layout;

  if (!TESSERA_RESERVE (layout->ooms, build->cap_ooms, layout->n_ooms + 1))
    {
      build->status = TESSERA_NO_MEMORY;
      return;
    }
  layout->ooms[layout->n_ooms++] = (TesseraOom){
    .event_index = build->now,
    .size_bytes = size_bytes,
    .stream = block->stream,
    .pool = block->pool,
    .free_at_driver_bytes = free_at_driver_bytes,
  };
}

/* Position in the open spans of the first that ends above @addr. */
static size_t
find_open (const TesseraBuild *build, uint64_t addr)
{
  size_t low = 0;
  size_t high = build->n_open;

  while (low < high)
    {
      size_t middle = low + (high - low) / 2;
      const TesseraSpan *span = &build->layout->spans[build->open[middle]];

      if (span->addr + span->size_bytes <= addr)
        low = middle + 1;
      else
        high = middle;
    }
  return low;
}

static void
open_span (TesseraBuild *build, TesseraSpan span)
{
  TesseraLayout *layout = build->layout;
  size_t at = find_open (build, span.addr);

  if (!TESSERA_RESERVE (layout->spans, build->cap_spans, layout->n_spans + 1) ||
      !TESSERA_RESERVE (build->open, build->cap_open, build->n_open + 1))
    {
      build->status = TESSERA_NO_MEMORY;
      return;
    }
  span.born_index = build->now;
  span.died_index = layout->n_events;
  memmove (build->open + at + 1, build->open + at,
           (build->n_open - at) * sizeof *build->open);
  build->open[at] = (uint32_t) layout->n_spans;
  build->n_open++;
  layout->spans[layout->n_spans++] = span;
}

/* A file may name ranges that reach beyond the last address: they end there. */
static uint64_t
clip (uint64_t addr, uint64_t size_bytes)
{
  return size_bytes < UINT64_MAX - addr ? size_bytes : UINT64_MAX - addr;
}

void
tessera_build_add_span (TesseraBuild *build, TesseraSpan span)
{
  span.size_bytes = clip (span.addr, span.size_bytes);
  build->reserved_bytes += span.size_bytes;
  build->has_pool |= span.is_plan_pool;
  if (!build->without_curves)
    open_span (build, span);
}

void
tessera_build_cut (TesseraBuild *build, uint64_t addr, uint64_t size_bytes)
{
  uint64_t end = addr + clip (addr, size_bytes);
  size_t at;

  if (build->without_curves)
    {
      build->reserved_bytes -= size_bytes;
      return;
    }
  at = find_open (build, addr);
  while (at < build->n_open && build->status == TESSERA_OK)
    {
      TesseraSpan *span = &build->layout->spans[build->open[at]];
      TesseraSpan low = *span;
      TesseraSpan high = *span;

      if (span->addr >= end)
        break;
      build->reserved_bytes -= span->size_bytes;
      span->died_index = build->now;
      build->n_open--;
      memmove (build->open + at, build->open + at + 1,
               (build->n_open - at) * sizeof *build->open);
      if (low.addr < addr)
        {
          low.size_bytes = addr - low.addr;
          tessera_build_add_span (build, low);
          at++;
        }
      if (high.addr + high.size_bytes > end)
        {
          high.size_bytes -= end - high.addr;
          high.addr = end;
          tessera_build_add_span (build, high);
        }
    }
}

/* What was there before the first event and is given back explains nothing: a trace can
 * begin with the caches of a warm-up. Where the run itself grows to at least this share
 * of it, the first event of that peak is taken. */
#define REGROWN_SHARE 0.9

/* The first event that reserves the most explains why it is so much; not where that is a
 * pool, reserved before anything lives: there the fullest of those events does. */
static bool
is_fuller (const TesseraBuild *build)
{
  return build->has_pool && build->reserved_bytes == build->layout->peak_reserved_bytes &&
         build->allocated_bytes > build->fullest_bytes;
}

static void
raise_peaks (TesseraBuild *build)
{
  TesseraLayout *layout = build->layout;

  if (build->live_bytes > layout->peak_live_bytes)
    layout->peak_live_bytes = build->live_bytes;
  if (build->allocated_bytes > layout->peak_allocated_bytes)
    layout->peak_allocated_bytes = build->allocated_bytes;
  if (build->active_bytes > layout->peak_active_bytes)
    layout->peak_active_bytes = build->active_bytes;
  if (build->reserved_bytes > layout->peak_reserved_bytes || is_fuller (build))
    {
      build->fullest_bytes = build->allocated_bytes;
      layout->peak_reserved_bytes = build->reserved_bytes;
      layout->peak_reserved_index = build->now;
    }
}

void
tessera_build_start (TesseraBuild *build)
{
  raise_peaks (build);
  build->before_bytes = build->reserved_bytes;
}

static void
note_growth (TesseraBuild *build)
{
  if (build->reserved_bytes > build->before_bytes &&
      build->reserved_bytes > build->grown_bytes)
    {
      build->grown_bytes = build->reserved_bytes;
      build->grown_index = build->now;
    }
  build->before_bytes = build->reserved_bytes;
}

/* Of a peak that was there at the start. */
static void
move_to_growth (TesseraBuild *build)
{
  TesseraLayout *layout = build->layout;

  if (!build->has_pool && build->grown_bytes > 0 &&
      (double) build->grown_bytes >= REGROWN_SHARE * (double) layout->peak_reserved_bytes)
    layout->peak_reserved_index = build->grown_index;
}

void
tessera_build_end_event (TesseraBuild *build)
{
  const TesseraCurves *curves = &build->layout->curves;

  raise_peaks (build);
  note_growth (build);
  if (build->without_curves)
    return;
  curves->live_bytes[build->now] = build->live_bytes;
  curves->allocated_bytes[build->now] = build->allocated_bytes;
  curves->active_bytes[build->now] = build->active_bytes;
  curves->reserved_bytes[build->now] = build->reserved_bytes;
}

TesseraLayout *
tessera_build_finish (TesseraBuild *build)
{
  TesseraLayout *layout = build->layout;
  size_t n_kept = 0;

  if (build->status != TESSERA_OK)
    return NULL;
  move_to_growth (build);
  /* What came and went within one event was never there after an event. */
  for (size_t i = 0; i < layout->n_spans; i++)
    if (layout->spans[i].born_index < layout->spans[i].died_index)
      layout->spans[n_kept++] = layout->spans[i];
  layout->n_spans = n_kept;
  build->layout = NULL;
  return layout;
}

bool
tessera_is_pending_at_start (const TesseraTrace *trace,
                             const TesseraBlocks *blocks,
                             uint32_t block)
{
  const TesseraBlock *b = &blocks->blocks[block];

  return (b->flags & TESSERA_AT_START) != 0 && b->freed_index == 0 &&
         !(trace->n_events > 0 && trace->events[0].action == TESSERA_FREE_REQUESTED &&
           blocks->block_of_event[0] == block);
}

uint32_t
tessera_start_block_at (const TesseraBlocks *blocks, uint64_t addr)
{
  size_t low = 0;
  size_t high = blocks->n_blocks;

  /* Blocks of the start come first, by address. */
  while (low < high)
    {
      size_t middle = low + (high - low) / 2;
      const TesseraBlock *block = &blocks->blocks[middle];

      if ((block->flags & TESSERA_AT_START) != 0 && block->addr < addr)
        low = middle + 1;
      else
        high = middle;
    }
  if (low < blocks->n_blocks && (blocks->blocks[low].flags & TESSERA_AT_START) != 0 &&
      blocks->blocks[low].addr == addr)
    return (uint32_t) low;
  return TESSERA_NONE;
}
