/*
 * Building a layout event by event.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "simulator/private.h"

int
tessera_by_first_number (const void *a, const void *b)
{
  const uint64_t *left = a, *right = b;

  return (*left > *right) - (*left < *right);
}

static void
allocate_curves (TesseraCurves *curves, size_t n_events)
{
  curves->live_bytes = g_new0 (uint64_t, n_events);
  curves->allocated_bytes = g_new0 (uint64_t, n_events);
  curves->active_bytes = g_new0 (uint64_t, n_events);
  curves->reserved_bytes = g_new0 (uint64_t, n_events);
}

void
tessera_build_init (TesseraBuild *build,
                    const TesseraTrace *trace,
                    const TesseraBlocks *blocks,
                    TesseraLayoutKind kind,
                    bool without_curves)
{
  TesseraLayout *layout = g_new0 (TesseraLayout, 1);
  size_t n = blocks->n_blocks;

  *build = (TesseraBuild){
    .trace = trace,
    .blocks = blocks,
    .layout = layout,
    .without_curves = without_curves,
    .states = g_new0 (uint8_t, n),
    .spans = g_array_new (FALSE, FALSE, sizeof (TesseraSpan)),
    .open = g_array_new (FALSE, FALSE, sizeof (uint32_t)),
    .ooms = g_array_new (FALSE, FALSE, sizeof (TesseraOom)),
  };
  layout->kind = kind;
  layout->n_events = blocks->n_events;
  layout->n_blocks = n;
  layout->handovers.step = TESSERA_NONE;
  layout->addr = g_new (uint64_t, n);
  layout->block_bytes = g_new0 (uint64_t, n);
  layout->died_index = g_new (uint32_t, n);
  if (kind == TESSERA_LAYOUT_PLAN)
    {
      layout->is_hit = g_new0 (uint8_t, n + 1);
      layout->is_left = g_new0 (uint8_t, n + 1);
    }
  if (!without_curves)
    allocate_curves (&layout->curves, blocks->n_events);
  for (size_t i = 0; i < n; i++)
    {
      layout->addr[i] = TESSERA_NOWHERE;
      layout->died_index[i] = blocks->blocks[i].died_index;
    }
}

void
tessera_build_clear (TesseraBuild *build)
{
  g_clear_pointer (&build->layout, tessera_layout_free);
  g_clear_pointer (&build->states, g_free);
  g_clear_pointer (&build->spans, g_array_unref);
  g_clear_pointer (&build->open, g_array_unref);
  g_clear_pointer (&build->ooms, g_array_unref);
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
  const TesseraOom oom = { .event_index = build->now,
                           .size_bytes = size_bytes,
                           .stream = block->stream,
                           .pool = block->pool,
                           .free_at_driver_bytes = free_at_driver_bytes };

  g_array_append_val (build->ooms, oom);
  build->layout->n_ooms = build->ooms->len;
}

static TesseraSpan *
get_open (const TesseraBuild *build, guint at)
{
  return &g_array_index (build->spans, TesseraSpan,
                         g_array_index (build->open, uint32_t, at));
}

/* Position in the open spans of the first that ends above @addr. */
static guint
find_open (const TesseraBuild *build, uint64_t addr)
{
  guint low = 0;
  guint high = build->open->len;

  while (low < high)
    {
      guint middle = low + (high - low) / 2;
      const TesseraSpan *span = get_open (build, middle);

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
  uint32_t index = build->spans->len;

  span.born_index = build->now;
  span.died_index = build->layout->n_events;
  g_array_insert_val (build->open, find_open (build, span.addr), index);
  g_array_append_val (build->spans, span);
}

/* A file may name ranges that reach beyond the last address: they end there. */
static uint64_t
clip (uint64_t addr, uint64_t size_bytes)
{
  return MIN (size_bytes, UINT64_MAX - addr);
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

TesseraSpan
tessera_span_of (const TesseraSegment *segment)
{
  return (TesseraSpan){ .addr = segment->addr,
                        .size_bytes = segment->size_bytes,
                        .stream = segment->stream,
                        .pool = segment->pool,
                        .is_small = segment->is_small,
                        .is_expandable = segment->is_expandable };
}

void
tessera_build_cut (TesseraBuild *build, uint64_t addr, uint64_t size_bytes)
{
  uint64_t end = addr + clip (addr, size_bytes);
  guint at;

  if (build->without_curves)
    {
      build->reserved_bytes -= size_bytes;
      return;
    }
  at = find_open (build, addr);
  while (at < build->open->len)
    {
      TesseraSpan *span = get_open (build, at);
      TesseraSpan low = *span;
      TesseraSpan high = *span;

      if (span->addr >= end)
        break;
      build->reserved_bytes -= span->size_bytes;
      span->died_index = build->now;
      g_array_remove_index (build->open, at);
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

  layout->peak_live_bytes = MAX (layout->peak_live_bytes, build->live_bytes);
  layout->peak_allocated_bytes =
      MAX (layout->peak_allocated_bytes, build->allocated_bytes);
  layout->peak_active_bytes = MAX (layout->peak_active_bytes, build->active_bytes);
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
  TesseraLayout *layout = g_steal_pointer (&build->layout);
  size_t n_spans = build->spans->len;

  layout->ooms = (TesseraOom *) g_array_free (g_steal_pointer (&build->ooms), FALSE);
  layout->spans = (TesseraSpan *) g_array_free (g_steal_pointer (&build->spans), FALSE);
  /* Of a peak that was there at the start, what grew to near it again. */
  if (!build->has_pool && build->grown_bytes > 0 &&
      (double) build->grown_bytes >= REGROWN_SHARE * (double) layout->peak_reserved_bytes)
    layout->peak_reserved_index = build->grown_index;
  /* What came and went within one event was never there after an event. */
  for (size_t i = 0; i < n_spans; i++)
    if (layout->spans[i].born_index < layout->spans[i].died_index)
      layout->spans[layout->n_spans++] = layout->spans[i];
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
