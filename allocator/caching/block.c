/*
 * Blocks and the chains they form: where they come from, cutting and joining.
 *
 * Blocks live in chunks that are kept until the allocator goes; a dropped block is spare.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/caching/internal.h"

#include <stdlib.h>

enum
{
  BLOCKS_PER_CHUNK = 512
};

struct CachingSlabChunk
{
  CachingSlabChunk *next;
  CachingBlock blocks[BLOCKS_PER_CHUNK];
};

static TesseraStatus
add_chunk (TesseraCaching *caching)
{
  CachingSlabChunk *chunk = malloc (sizeof *chunk);

  if (chunk == NULL)
    return TESSERA_NO_MEMORY;
  chunk->next = caching->chunks;
  caching->chunks = chunk;
  for (size_t i = BLOCKS_PER_CHUNK; i-- > 0;)
    tessera_caching_drop_block (caching, &chunk->blocks[i]);
  return TESSERA_OK;
}

TesseraStatus
tessera_caching_prepare (TesseraCaching *caching, size_t n_blocks)
{
  while (caching->n_spare < n_blocks)
    if (add_chunk (caching) != TESSERA_OK)
      return TESSERA_NO_MEMORY;
  return tessera_table_reserve (&caching->table);
}

CachingBlock *
tessera_caching_take_block (TesseraCaching *caching,
                            CachingPool *pool,
                            uint32_t stream,
                            uint64_t addr,
                            uint64_t size_bytes)
{
  CachingBlock *block = caching->spare;

  caching->spare = block->link;
  caching->n_spare--;
  *block = (CachingBlock){ .addr = addr,
                           .size_bytes = size_bytes,
                           .pool = pool,
                           .stream = stream,
                           .state = TESSERA_BLOCK_FREE,
                           .is_mapped = true };
  return block;
}

void
tessera_caching_drop_block (TesseraCaching *caching, CachingBlock *block)
{
  block->link = caching->spare;
  caching->spare = block;
  caching->n_spare++;
}

void
tessera_caching_drop_all_blocks (TesseraCaching *caching)
{
  CachingSlabChunk *next;

  for (CachingSlabChunk *chunk = caching->chunks; chunk != NULL; chunk = next)
    {
      next = chunk->next;
      free (chunk);
    }
  caching->chunks = NULL;
  caching->spare = NULL;
  caching->n_spare = 0;
}

CachingBlock *
tessera_caching_cut (TesseraCaching *caching, CachingBlock *block, uint64_t size_bytes)
{
  CachingBlock *rest = tessera_caching_take_block (caching, block->pool, block->stream,
                                                   block->addr + size_bytes,
                                                   block->size_bytes - size_bytes);

  rest->chain = block->chain;
  rest->is_mapped = block->is_mapped;
  rest->previous = block;
  rest->next = block->next;
  if (rest->next != NULL)
    rest->next->previous = rest;
  block->next = rest;
  block->size_bytes = size_bytes;
  return rest;
}

static bool
can_join (const CachingBlock *block, const CachingBlock *neighbour)
{
  return neighbour != NULL && neighbour->state == TESSERA_BLOCK_FREE &&
         neighbour->is_mapped == block->is_mapped;
}

void
tessera_caching_merge (TesseraCaching *caching, CachingBlock *block)
{
  CachingBlock *previous = block->previous, *next = block->next;

  if (can_join (block, previous) && !caching->rules.forward_merge_only)
    {
      tessera_caching_remove (caching, previous);
      block->addr = previous->addr;
      block->size_bytes += previous->size_bytes;
      block->previous = previous->previous;
      if (block->previous != NULL)
        block->previous->next = block;
      else
        block->chain->first = block;
      tessera_caching_drop_block (caching, previous);
    }
  if (can_join (block, next))
    {
      tessera_caching_remove (caching, next);
      block->size_bytes += next->size_bytes;
      block->next = next->next;
      if (block->next != NULL)
        block->next->previous = block;
      tessera_caching_drop_block (caching, next);
    }
}

TesseraStatus
tessera_caching_add_chain (TesseraCaching *caching, CachingChain **out_chain)
{
  CachingChain *chain = calloc (1, sizeof *chain);

  *out_chain = chain;
  if (chain == NULL)
    return TESSERA_NO_MEMORY;
  chain->previous = caching->last_chain;
  if (caching->last_chain != NULL)
    caching->last_chain->next = chain;
  else
    caching->first_chain = chain;
  caching->last_chain = chain;
  return TESSERA_OK;
}

void
tessera_caching_drop_chain (TesseraCaching *caching, CachingChain *chain)
{
  if (chain->previous != NULL)
    chain->previous->next = chain->next;
  else
    caching->first_chain = chain->next;
  if (chain->next != NULL)
    chain->next->previous = chain->previous;
  else
    caching->last_chain = chain->previous;
  free (chain);
}

void
tessera_caching_number_chain (TesseraCaching *caching, CachingChain *chain)
{
  if (chain->number == 0)
    chain->number = ++caching->n_numbered;
}

static void
raise (uint64_t *peak, uint64_t value)
{
  if (value > *peak)
    *peak = value;
}

void
tessera_caching_note_memory (TesseraCaching *caching,
                             const CachingBlock *block,
                             uint64_t addr,
                             uint64_t size_bytes,
                             bool has_come)
{
  const TesseraSegment memory = { .addr = addr,
                                  .size_bytes = size_bytes,
                                  .stack = TESSERA_NONE,
                                  .stream = (uint16_t) block->stream,
                                  .pool = (uint16_t) block->pool->index,
                                  .is_small = block->pool->is_small,
                                  .is_expandable = block->chain->page_bytes != 0 };
  const TesseraObserver *observer = &caching->observer;
  void (*tell) (void *user, const TesseraSegment *memory) =
      has_come ? observer->memory_came : observer->memory_went;

  caching->stats.reserved_bytes += has_come ? size_bytes : -size_bytes;
  raise (&caching->stats.peak_reserved_bytes, caching->stats.reserved_bytes);
  if (tell != NULL)
    tell (observer->user, &memory);
}

void
tessera_caching_count_active (TesseraCaching *caching, const CachingBlock *block)
{
  TesseraCachingStats *stats = &caching->stats;

  if (block->state == TESSERA_BLOCK_LIVE)
    stats->allocated_bytes += block->size_bytes;
  stats->active_bytes += block->size_bytes;
  stats->requested_bytes += block->requested_bytes;
  raise (&stats->peak_allocated_bytes, stats->allocated_bytes);
  raise (&stats->peak_active_bytes, stats->active_bytes);
  raise (&stats->peak_requested_bytes, stats->requested_bytes);
}
