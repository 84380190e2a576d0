/*
 * The state at the start of a trace: segments and blocks that nobody allocates in it.
 *
 * What lies between the blocks of a segment is free. All expandable ranges of one
 * (stream, pool) within reach belong to one reservation. Where it begins is not recorded;
 * the lowest address ever mapped in it does as well, because pages are counted from there
 * and below it nothing ever happens.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/caching/internal.h"
#include "allocator/caching-replay.h"

#include <stdlib.h>
#include <string.h>

/* A chain that grows at its upper end. */
typedef struct
{
  TesseraCaching *caching;
  CachingChain *chain;
  CachingPool *pool;
  CachingBlock *last;
  uint64_t end; /* address up to which the chain is built */
  uint32_t stream;
} Builder;

static TesseraStatus
append (Builder *builder, uint64_t end, bool is_mapped, CachingBlock **out_block)
{
  CachingBlock *block;
  TesseraStatus status =
      tessera_caching_prepare (builder->caching, TESSERA_CACHING_BLOCKS_PER_CALL);

  *out_block = NULL;
  if (status != TESSERA_OK)
    return status;
  block = tessera_caching_take_block (builder->caching, builder->pool, builder->stream,
                                      builder->end, end - builder->end);
  block->chain = builder->chain;
  block->is_mapped = is_mapped;
  block->previous = builder->last;
  if (builder->last != NULL)
    builder->last->next = block;
  else
    builder->chain->first = block;
  builder->last = block;
  builder->end = end;
  *out_block = block;
  return TESSERA_OK;
}

/* Free space up to @end, if there is any. Joins a free block of the same kind before it:
 * two mapped ranges of a reservation may touch. */
static TesseraStatus
append_free (Builder *builder, uint64_t end, bool is_mapped)
{
  CachingBlock *block = builder->last;
  TesseraStatus status;

  if (end <= builder->end)
    return TESSERA_OK;
  if (block != NULL && block->state == TESSERA_BLOCK_FREE &&
      block->is_mapped == is_mapped)
    {
      tessera_caching_remove (builder->caching, block);
      block->size_bytes += end - builder->end;
      builder->end = end;
    }
  else
    {
      status = append (builder, end, is_mapped, &block);
      if (status != TESSERA_OK)
        return status;
    }
  tessera_caching_insert (builder->caching, block);
  return TESSERA_OK;
}

static TesseraStatus
append_held (Builder *builder,
             const TesseraHeldBlock *held,
             uint64_t block_bytes,
             uint64_t segment_end)
{
  CachingBlock *block;
  TesseraStatus status;

  if (held->addr < builder->end || block_bytes == 0 || held->addr >= segment_end ||
      block_bytes > segment_end - held->addr || held->state == TESSERA_BLOCK_FREE)
    return TESSERA_BAD_INPUT;
  status = append_free (builder, held->addr, true);
  if (status == TESSERA_OK)
    status = append (builder, held->addr + block_bytes, true, &block);
  if (status != TESSERA_OK)
    return status;
  block->state = held->state;
  block->requested_bytes = held->size_bytes;
  tessera_table_add (&builder->caching->table, block->addr, block);
  tessera_caching_count_active (builder->caching, block);
  return TESSERA_OK;
}

static uint64_t
size_of_block (const TesseraCaching *caching,
               const TesseraHeld *held,
               size_t index,
               const uint64_t *block_bytes,
               uint64_t segment_end)
{
  const TesseraHeldBlock *block = &held->blocks[index];
  uint64_t end = segment_end, size_bytes = block->block_bytes;

  if (block_bytes != NULL)
    size_bytes = block_bytes[index];
  if (size_bytes == 0)
    size_bytes = tessera_round_size (&caching->settings, block->size_bytes);
  /* A file may say more than there is room for: the neighbour is surely there. */
  if (index + 1 < held->n_blocks && held->blocks[index + 1].addr < end)
    end = held->blocks[index + 1].addr;
  return size_bytes < end - block->addr ? size_bytes : end - block->addr;
}

static TesseraStatus
append_segment (Builder *builder,
                const TesseraTrace *trace,
                const TesseraSegment *segment,
                const uint64_t *block_bytes,
                size_t *n_placed)
{
  const TesseraHeld *start = &trace->start;
  uint64_t end = segment->addr + segment->size_bytes;
  TesseraStatus status = append_free (builder, segment->addr, false);

  for (size_t i = tessera_held_first (start, segment->addr);
       status == TESSERA_OK && i < start->n_blocks && start->blocks[i].addr < end; i++)
    {
      uint64_t size_bytes = size_of_block (builder->caching, start, i, block_bytes, end);

      status = append_held (builder, &start->blocks[i], size_bytes, end);
      ++*n_placed;
    }
  if (status == TESSERA_OK)
    status = append_free (builder, end, true);
  builder->caching->stats.reserved_bytes += segment->size_bytes;
  return status;
}

static bool
is_same_reservation (const TesseraSegment *a, const TesseraSegment *b)
{
  return a->is_expandable && b->is_expandable && a->stream == b->stream &&
         a->pool == b->pool && a->is_small == b->is_small;
}

/* Where the reservations of this stream and pool that are built already end. */
static uint64_t
end_of_earlier (const Builder *builder, const CachingChain *chain)
{
  uint64_t end = 0;

  for (const CachingChain *at = builder->caching->first_chain; at != NULL; at = at->next)
    if (at != chain && at->page_bytes != 0 && at->first->pool == builder->pool &&
        at->first->stream == builder->stream && at->addr + at->size_bytes > end)
      end = at->addr + at->size_bytes;
  return end;
}

/* The lowest address ever mapped that can belong to the reservation of @segment. One
 * page serves a request of a small pool, so only there a map is no multiple of the large
 * page. */
static uint64_t
find_base (const Builder *builder,
           const TesseraTrace *trace,
           const TesseraSegment *segment,
           const CachingChain *chain)
{
  uint64_t lowest = segment->addr, floor = end_of_earlier (builder, chain);

  for (size_t i = 0; i < trace->n_events; i++)
    {
      const TesseraEvent *event = &trace->events[i];
      bool is_small = event->size_bytes % trace->settings.large_segment_bytes != 0;

      if (event->action == TESSERA_SEGMENT_MAP && event->stream == segment->stream &&
          event->pool == segment->pool && is_small == segment->is_small &&
          event->addr < lowest && event->addr >= floor &&
          segment->addr - event->addr < chain->size_bytes)
        lowest = event->addr;
    }
  return lowest;
}

static TesseraStatus
begin_chain (Builder *builder, const TesseraTrace *trace, const TesseraSegment *segment)
{
  TesseraCaching *caching = builder->caching;
  CachingChain *chain;
  TesseraStatus status = tessera_caching_get_pool (caching, segment->pool,
                                                   segment->is_small, &builder->pool);

  if (status == TESSERA_OK)
    status = tessera_caching_add_chain (caching, &chain);
  if (status != TESSERA_OK)
    return status;
  builder->chain = chain;
  builder->last = NULL;
  builder->stream = segment->stream;
  chain->addr = segment->addr;
  chain->size_bytes = segment->size_bytes;
  if (segment->is_expandable)
    {
      chain->page_bytes = segment->is_small ? caching->rules.small_buffer_bytes
                                            : caching->settings.large_segment_bytes;
      chain->size_bytes =
          tessera_reservation_size (trace->device_bytes, chain->page_bytes);
      chain->addr = find_base (builder, trace, segment, chain);
    }
  /* How old it is nobody says: those of lower addresses count as older. */
  tessera_caching_number_chain (caching, chain);
  builder->end = chain->addr;
  return TESSERA_OK;
}

/* Builds the whole chain that begins with segment @index, and marks the others in it. */
static TesseraStatus
seed_chain (TesseraCaching *caching,
            const TesseraTrace *trace,
            size_t index,
            const uint64_t *block_bytes,
            bool *is_built,
            size_t *n_placed)
{
  const TesseraHeld *start = &trace->start;
  const TesseraSegment *first = &start->segments[index];
  Builder builder = { .caching = caching };
  TesseraStatus status = begin_chain (&builder, trace, first);

  if (status != TESSERA_OK)
    return status;
  status = append_segment (&builder, trace, first, block_bytes, n_placed);
  for (size_t i = index + 1;
       status == TESSERA_OK && first->is_expandable && i < start->n_segments; i++)
    if (is_same_reservation (first, &start->segments[i]) &&
        start->segments[i].addr - builder.chain->addr < builder.chain->size_bytes)
      {
        is_built[i] = true;
        status =
            append_segment (&builder, trace, &start->segments[i], block_bytes, n_placed);
      }
  if (status != TESSERA_OK)
    return status;
  if (builder.end > builder.chain->addr + builder.chain->size_bytes)
    builder.chain->size_bytes = builder.end - builder.chain->addr;
  return append_free (&builder, builder.chain->addr + builder.chain->size_bytes, false);
}

static bool
is_sound (const TesseraHeld *held)
{
  uint64_t end = 0;

  for (size_t i = 0; i < held->n_segments; i++)
    {
      const TesseraSegment *segment = &held->segments[i];

      if (segment->addr == 0 || segment->addr < end || segment->size_bytes == 0 ||
          segment->size_bytes > INT64_MAX - segment->addr)
        return false;
      end = segment->addr + segment->size_bytes;
    }
  for (size_t i = 1; i < held->n_blocks; i++)
    if (held->blocks[i].addr <= held->blocks[i - 1].addr)
      return false;
  return true;
}

/* While a segment is built its first block has no neighbour yet. */
static void
count_inactive_splits (TesseraCaching *caching)
{
  TesseraCachingStats *stats = &caching->stats;

  memset (stats->n_inactive_split, 0, sizeof stats->n_inactive_split);
  memset (stats->inactive_split_bytes, 0, sizeof stats->inactive_split_bytes);
  for (const CachingChain *chain = caching->first_chain; chain != NULL;
       chain = chain->next)
    for (const CachingBlock *block = chain->first; block != NULL; block = block->next)
      if (block->state == TESSERA_BLOCK_FREE && tessera_caching_is_inactive_split (block))
        {
          stats->n_inactive_split[block->pool->is_small]++;
          stats->inactive_split_bytes[block->pool->is_small] += block->size_bytes;
        }
}

TesseraStatus
tessera_caching_seed (TesseraCaching *caching,
                      const TesseraTrace *trace,
                      const uint64_t *block_bytes)
{
  const TesseraHeld *start = &trace->start;
  bool *is_built;
  size_t n_placed = 0;
  TesseraStatus status = TESSERA_OK;

  if (caching->has_started)
    return TESSERA_INVALID;
  caching->has_started = true;
  if (!is_sound (start))
    return TESSERA_BAD_INPUT;
  is_built = calloc (start->n_segments + 1, sizeof *is_built);
  if (is_built == NULL)
    return TESSERA_NO_MEMORY;
  for (size_t i = 0; i < trace->n_streams && status == TESSERA_OK; i++)
    status = tessera_caching_set_stream_handle (caching, (uint32_t) i, trace->streams[i]);
  for (size_t i = 0; i < start->n_segments && status == TESSERA_OK; i++)
    if (!is_built[i])
      status = seed_chain (caching, trace, i, block_bytes, is_built, &n_placed);
  free (is_built);
  count_inactive_splits (caching);
  tessera_caching_reset_peaks (caching);
  if (status == TESSERA_OK && n_placed != start->n_blocks)
    return TESSERA_BAD_INPUT;
  return status;
}
