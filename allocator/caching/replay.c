/*
 * The additions of caching-replay.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/caching-replay.h"

#include "allocator/caching/internal.h"

void
tessera_caching_set_rules (TesseraCaching *caching, const TesseraRules *rules)
{
  caching->rules = *rules;
}

TesseraStatus
tessera_caching_malloc_missed (TesseraCaching *caching,
                               uint64_t size_bytes,
                               uint32_t stream,
                               uint32_t pool,
                               TesseraGrant *out_grant)
{
  return tessera_caching_serve (caching, size_bytes, stream, pool, true, out_grant);
}

bool
tessera_caching_needs_no_device (TesseraCaching *caching,
                                 uint64_t size_bytes,
                                 uint32_t stream,
                                 uint32_t pool)
{
  CachingRequest request = { .stream = stream };
  const CachingBlock *room;

  request.size_bytes = tessera_round_size (&caching->settings, size_bytes);
  if (tessera_caching_get_pool (caching, pool,
                                request.size_bytes <= caching->rules.small_bytes,
                                &request.pool) != TESSERA_OK)
    return false;
  if (tessera_caching_candidate (caching, &request) != NULL)
    return true;
  if (!caching->settings.is_expandable ||
      !tessera_caching_is_within_limit (caching, &request))
    return false;
  /* Growing takes what max_split_size kept the search from, if no page is missing. */
  room = tessera_caching_find_room (caching, &request);
  return room != NULL && room->is_mapped && room->size_bytes >= request.size_bytes;
}

uint64_t
tessera_caching_requested_at (const TesseraCaching *caching, uint64_t addr)
{
  const CachingBlock *block = tessera_table_get (&caching->table, addr);

  return block != NULL ? block->requested_bytes : 0;
}

bool
tessera_caching_block_before (const TesseraCaching *caching,
                              uint64_t addr,
                              uint64_t *out_addr,
                              uint64_t *out_room_bytes)
{
  const CachingBlock *block = tessera_table_get (&caching->table, addr);

  *out_addr = *out_room_bytes = 0;
  if (block == NULL || block->previous == NULL ||
      block->previous->state != TESSERA_BLOCK_LIVE)
    return false;
  *out_addr = block->previous->addr;
  *out_room_bytes = block->size_bytes;
  if (block->next != NULL && block->next->state == TESSERA_BLOCK_FREE)
    *out_room_bytes += block->next->size_bytes;
  return true;
}

static bool
reaches (const CachingChain *chain, uint64_t addr)
{
  return addr - chain->addr < chain->size_bytes;
}

/* Reservations of an endless device overlap; what is mapped never does. */
static bool
is_mapped_at (const CachingChain *chain, uint64_t addr)
{
  for (const CachingBlock *block = chain->first; block != NULL; block = block->next)
    if (addr - block->addr < block->size_bytes)
      return block->is_mapped;
  return false;
}

uint32_t
tessera_caching_pool_at (const TesseraCaching *caching, uint64_t addr)
{
  for (const CachingChain *chain = caching->first_chain; chain != NULL;
       chain = chain->next)
    if (reaches (chain, addr) && is_mapped_at (chain, addr))
      return chain->first->pool->index;
  return 0;
}

bool
tessera_caching_is_reserved (const TesseraCaching *caching,
                             uint64_t addr,
                             uint32_t stream,
                             uint32_t pool,
                             uint64_t page_bytes)
{
  for (const CachingChain *chain = caching->first_chain; chain != NULL;
       chain = chain->next)
    /* A damaged file may name a segment of no bytes: its chain has no block. */
    if (chain->first != NULL && chain->page_bytes == page_bytes &&
        reaches (chain, addr) && chain->first->stream == stream &&
        chain->first->pool->index == pool)
      return true;
  return false;
}

static bool
each_whole (const CachingPool *pool,
            bool (*visit) (void *user, uint64_t addr),
            void *user)
{
  for (CachingBlock *at = tessera_caching_next_whole (tessera_caching_first_free (pool));
       at != NULL; at = tessera_caching_next_whole (tessera_caching_after (at)))
    if (!visit (user, at->addr))
      return false;
  return true;
}

bool
tessera_caching_each_flushed (const TesseraCaching *caching,
                              bool (*visit) (void *user, uint64_t addr),
                              void *user)
{
  for (size_t i = 0; i < caching->n_pools; i++)
    {
      const CachingPoolPair *pair = caching->pools[i];
      bool is_small_first = i != 0 || caching->rules.small_pool_first;

      if (pair != NULL && (i == 0 || pair->is_unused) &&
          (!each_whole (&pair->of_size[is_small_first], visit, user) ||
           !each_whole (&pair->of_size[!is_small_first], visit, user)))
        return false;
    }
  return true;
}
