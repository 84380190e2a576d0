/*
 * Giving memory back: the flush, the search for oversize blocks, garbage collection.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/caching/internal.h"

/* @block is free and the whole of a cudaMalloc segment. */
static void
release_segment (TesseraCaching *caching, CachingBlock *block)
{
  CachingChain *chain = block->chain;
  uint64_t addr = chain->addr, size_bytes = chain->size_bytes;

  tessera_caching_remove (caching, block);
  tessera_caching_note_memory (caching, block, addr, size_bytes, false);
  tessera_caching_drop_block (caching, block);
  tessera_caching_drop_chain (caching, chain);
  caching->device->release (caching->device, addr, size_bytes);
}

static bool
is_whole_segment (const CachingBlock *block)
{
  return block->chain->page_bytes == 0 && !tessera_caching_is_split (block);
}

void
tessera_caching_release_whole (TesseraCaching *caching, CachingBlock *block)
{
  if (is_whole_segment (block))
    release_segment (caching, block);
}

CachingBlock *
tessera_caching_next_whole (CachingBlock *block)
{
  while (block != NULL && !is_whole_segment (block))
    block = tessera_caching_after (block);
  return block;
}

/* Segments first, while walking; expandable blocks are only noted, and unmapped after. */
static TesseraStatus
release_pool (TesseraCaching *caching, CachingPool *pool)
{
  CachingBlock *to_unmap = NULL, **tail = &to_unmap, *next;
  TesseraStatus status = TESSERA_OK;

  for (CachingBlock *block = tessera_caching_first_free (pool); block != NULL;
       block = next)
    {
      next = tessera_caching_after (block);
      if (block->chain->page_bytes != 0)
        {
          block->link = NULL;
          *tail = block;
          tail = &block->link;
        }
      else if (is_whole_segment (block))
        release_segment (caching, block);
    }
  /* Unmapping joins unmapped blocks only: no block of the list goes away under us. */
  for (CachingBlock *block = to_unmap; block != NULL && status == TESSERA_OK;
       block = next)
    {
      next = block->link;
      status = tessera_caching_unmap (caching, block);
    }
  return status;
}

TesseraStatus
tessera_caching_release_cached (TesseraCaching *caching)
{
  TesseraStatus status = TESSERA_OK;

  caching->device->synchronize (caching->device);
  for (size_t i = 0; i < caching->n_pools && status == TESSERA_OK; i++)
    {
      CachingPoolPair *pair = caching->pools[i];
      /* The default pool: large first. Private ones: small first. */
      bool is_small_first = i != 0 || caching->rules.small_pool_first;

      if (pair == NULL || (i != 0 && !pair->is_unused))
        continue;
      status = release_pool (caching, &pair->of_size[is_small_first]);
      if (status == TESSERA_OK)
        status = release_pool (caching, &pair->of_size[!is_small_first]);
    }
  return status;
}

bool
tessera_caching_release_available (TesseraCaching *caching, const CachingRequest *request)
{
  uint64_t oversize_bytes = caching->settings.max_split_bytes, released_bytes = 0;
  uint64_t handle = tessera_caching_stream_handle (caching, request->stream);
  uint64_t key_bytes =
      request->size_bytes > oversize_bytes ? request->size_bytes : oversize_bytes;
  TesseraTree *tree = &request->pool->free;
  TesseraTreeNode *node, *previous;
  CachingBlock *block;

  if (oversize_bytes == UINT64_MAX)
    return false;
  block = tessera_caching_lowest (caching, tree, request->stream, key_bytes);
  if (block != NULL && is_whole_segment (block))
    {
      release_segment (caching, block);
      return true;
    }
  /* No single one: the largest of the stream and downwards, until they are enough. What
   * was released stays released. */
  node = tessera_tree_below (tree, (TesseraTreeKey){ handle, key_bytes, 0 });
  for (; node != NULL && released_bytes < key_bytes; node = previous)
    {
      previous = tessera_tree_previous (node);
      block = tessera_caching_block_of (node);
      if (node->key.major != handle || block->size_bytes < oversize_bytes)
        break;
      if (is_whole_segment (block))
        {
          released_bytes += block->size_bytes;
          release_segment (caching, block);
        }
    }
  return released_bytes >= key_bytes;
}

bool
tessera_caching_is_collecting (const TesseraCaching *caching)
{
  return caching->limit_bytes != 0 && caching->settings.garbage_collection_threshold > 0;
}

static uint64_t
age_of (const CachingBlock *block)
{
  return block->pool->n_searches - block->searches_at_insert;
}

/* Rounds: each frees the whole segments that are at least as old as the mean, and is
 * finished even when the target is met on the way. */
void
tessera_caching_collect_garbage (TesseraCaching *caching)
{
  uint64_t threshold_bytes = (uint64_t) (caching->settings.garbage_collection_threshold *
                                         (double) caching->limit_bytes);
  uint64_t target_bytes, freed_bytes = 0, total_age = 0, n_blocks = 0;
  bool has_freed = true;
  CachingPool *pool;
  CachingBlock *next;

  if (caching->stats.reserved_bytes <= threshold_bytes || caching->n_pools == 0 ||
      caching->pools[0] == NULL)
    return;
  target_bytes = caching->stats.reserved_bytes - threshold_bytes;
  pool = &caching->pools[0]->of_size[0];
  for (CachingBlock *at = tessera_caching_next_whole (tessera_caching_first_free (pool));
       at != NULL; at = tessera_caching_next_whole (tessera_caching_after (at)))
    {
      total_age += age_of (at);
      n_blocks++;
    }
  while (n_blocks > 0 && freed_bytes < target_bytes && has_freed)
    {
      double age_limit = (double) total_age / (double) n_blocks;

      has_freed = false;
      for (CachingBlock *at =
               tessera_caching_next_whole (tessera_caching_first_free (pool));
           at != NULL; at = next)
        {
          next = tessera_caching_next_whole (tessera_caching_after (at));
          if ((double) age_of (at) < age_limit)
            continue;
          has_freed = true;
          freed_bytes += at->size_bytes;
          total_age -= age_of (at);
          n_blocks--;
          release_segment (caching, at);
        }
    }
}
