/*
 * Pools: the ordered free lists, and the search in them.
 *
 * PyTorch orders streams by their raw handle; that order shows in the order in which a
 * flush gives segments back, so the trees are keyed by the handle and not by our index.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/caching/internal.h"

#include <stdlib.h>

enum
{
  MAX_POOLS = 1 << 16 /* events name pools by 16 bits */
};

uint64_t
tessera_caching_stream_handle (const TesseraCaching *caching, uint32_t stream)
{
  return stream < caching->n_streams ? caching->stream_handles[stream] : stream;
}

TesseraStatus
tessera_caching_set_stream_handle (TesseraCaching *caching,
                                   uint32_t stream,
                                   uint64_t handle)
{
  uint64_t *handles;
  size_t n_streams = (size_t) stream + 1;

  if (stream >= caching->n_streams)
    {
      handles = realloc (caching->stream_handles, n_streams * sizeof *handles);
      if (handles == NULL)
        return TESSERA_NO_MEMORY;
      for (size_t i = caching->n_streams; i < n_streams; i++)
        handles[i] = i;
      caching->stream_handles = handles;
      caching->n_streams = n_streams;
    }
  caching->stream_handles[stream] = handle;
  return TESSERA_OK;
}

static TesseraStatus
get_pair (TesseraCaching *caching, uint32_t pool, CachingPoolPair **out_pair)
{
  CachingPoolPair **pools, *pair;

  *out_pair = NULL;
  if (pool >= MAX_POOLS)
    return TESSERA_INVALID;
  if (pool >= caching->n_pools)
    {
      pools = realloc (caching->pools, ((size_t) pool + 1) * sizeof (CachingPoolPair *));
      if (pools == NULL)
        return TESSERA_NO_MEMORY;
      for (size_t i = caching->n_pools; i <= pool; i++)
        pools[i] = NULL;
      caching->pools = pools;
      caching->n_pools = (size_t) pool + 1;
    }
  if (caching->pools[pool] == NULL)
    {
      pair = calloc (1, sizeof *pair);
      if (pair == NULL)
        return TESSERA_NO_MEMORY;
      pair->of_size[0].index = pair->of_size[1].index = pool;
      pair->of_size[1].is_small = true;
      caching->pools[pool] = pair;
    }
  *out_pair = caching->pools[pool];
  return TESSERA_OK;
}

TesseraStatus
tessera_caching_get_pool (TesseraCaching *caching,
                          uint32_t pool,
                          bool is_small,
                          CachingPool **out_pool)
{
  CachingPoolPair *pair;
  TesseraStatus status = get_pair (caching, pool, &pair);

  *out_pool = status == TESSERA_OK ? &pair->of_size[is_small] : NULL;
  return status;
}

TesseraStatus
tessera_caching_release_pool (TesseraCaching *caching, uint32_t pool)
{
  if (pool == 0 || pool >= caching->n_pools || caching->pools[pool] == NULL)
    return TESSERA_INVALID;
  caching->pools[pool]->is_unused = true;
  return TESSERA_OK;
}

TesseraTreeKey
tessera_caching_key_of (const TesseraCaching *caching, const CachingBlock *block)
{
  uint64_t handle = tessera_caching_stream_handle (caching, block->stream);

  if (!block->is_mapped)
    return (TesseraTreeKey){ handle, 0, 0, block->addr };
  return (TesseraTreeKey){
    handle, block->size_bytes,
    caching->settings.oldest_segment_first ? block->chain->number : 0,
    caching->rules.equal_sizes_from_the_top ? ~block->addr : block->addr
  };
}

bool
tessera_caching_is_inactive_split (const CachingBlock *block)
{
  return block->chain->page_bytes == 0 && tessera_caching_is_split (block);
}

/* A block keeps or lacks neighbours as long as it is in its tree: what is counted when it
 * comes is counted when it goes. */
void
tessera_caching_insert (TesseraCaching *caching, CachingBlock *block)
{
  CachingPool *pool = block->pool;

  if (tessera_caching_is_inactive_split (block))
    {
      caching->stats.n_inactive_split[pool->is_small]++;
      caching->stats.inactive_split_bytes[pool->is_small] += block->size_bytes;
    }
  block->searches_at_insert = pool->n_searches;
  tessera_tree_insert (block->is_mapped ? &pool->free : &pool->unmapped, &block->node,
                       tessera_caching_key_of (caching, block));
}

void
tessera_caching_remove (TesseraCaching *caching, CachingBlock *block)
{
  CachingPool *pool = block->pool;

  if (tessera_caching_is_inactive_split (block))
    {
      caching->stats.n_inactive_split[pool->is_small]--;
      caching->stats.inactive_split_bytes[pool->is_small] -= block->size_bytes;
    }
  tessera_tree_remove (block->is_mapped ? &pool->free : &pool->unmapped, &block->node);
}

/* The first free block of this stream of at least this size; 0 in the unmapped tree. */
CachingBlock *
tessera_caching_lowest (TesseraCaching *caching,
                        TesseraTree *tree,
                        uint32_t stream,
                        uint64_t size_bytes)
{
  uint64_t handle = tessera_caching_stream_handle (caching, stream);
  TesseraTreeNode *node =
      tessera_tree_at_least (tree, (TesseraTreeKey){ handle, size_bytes, 0 });

  return node != NULL && node->key.major == handle ? tessera_caching_block_of (node)
                                                   : NULL;
}

/* Next in the tree, as long as it is of the same stream. */
static CachingBlock *
next_of_stream (CachingBlock *block)
{
  CachingBlock *next = tessera_caching_after (block);

  return next != NULL && next->node.key.major == block->node.key.major ? next : NULL;
}

/* What the block could grow to without another reservation. */
static uint64_t
expanded_size (const CachingBlock *block)
{
  uint64_t size_bytes = block->size_bytes;

  if (block->next != NULL && !block->next->is_mapped)
    size_bytes += block->next->size_bytes;
  return size_bytes;
}

/* Among expandable candidates PyTorch prefers one with less room to grow behind it. */
static CachingBlock *
refine_expandable (TesseraCaching *caching, CachingBlock *candidate)
{
  CachingBlock *next;

  if (!caching->settings.is_expandable)
    {
      /* The mode was switched off: such blocks are passed over. */
      do
        candidate = next_of_stream (candidate);
      while (candidate != NULL && candidate->chain->page_bytes != 0);
      return candidate;
    }
  while (candidate->chain->page_bytes != 0)
    {
      next = next_of_stream (candidate);
      if (next == NULL || expanded_size (next) >= expanded_size (candidate))
        break;
      candidate = next;
    }
  return candidate;
}

void
tessera_caching_count_search (TesseraCaching *caching, CachingPool *pool)
{
  if (tessera_caching_is_collecting (caching))
    pool->n_searches++;
}

CachingBlock *
tessera_caching_candidate (TesseraCaching *caching, const CachingRequest *request)
{
  const TesseraSettings *settings = &caching->settings;
  uint64_t size_bytes = request->size_bytes;
  CachingBlock *block;

  block =
      tessera_caching_lowest (caching, &request->pool->free, request->stream, size_bytes);
  if (block != NULL && block->chain->page_bytes != 0)
    block = refine_expandable (caching, block);
  if (block == NULL)
    return NULL;

  /* Only this candidate is tried: where it is refused the next is not looked at. */
  if (size_bytes < settings->max_split_bytes &&
      block->size_bytes >= settings->max_split_bytes)
    return NULL;
  if (size_bytes >= settings->max_split_bytes &&
      block->size_bytes >= size_bytes + settings->max_non_split_rounding_bytes)
    return NULL;
  return block;
}

CachingBlock *
tessera_caching_search (TesseraCaching *caching, const CachingRequest *request)
{
  CachingBlock *block;

  tessera_caching_count_search (caching, request->pool);
  block = tessera_caching_candidate (caching, request);
  if (block != NULL)
    tessera_caching_remove (caching, block);
  return block;
}
