/*
 * The check of all invariants of an allocator: see check.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/allocator/check.h"

#include <inttypes.h>
#include <string.h>

#include "allocator/caching/internal.h"
#include "allocator/policy/planned.h"

typedef struct
{
  TesseraCachingStats sums;
  uint64_t n_free, n_unmapped, n_active;
} Census;

static bool
equals (TesseraError *error, const char *what, uint64_t expected, uint64_t found)
{
  if (expected == found)
    return true;
  tessera_fail (error, TESSERA_INVALID,
                "the allocator's %s should be %" PRIu64 " and is %" PRIu64, what,
                expected, found);
  return false;
}

static bool
is_filed_right (const TesseraCaching *caching, const CachingBlock *block)
{
  const CachingPool *pool = block->pool;
  TesseraTreeKey key = tessera_caching_key_of (caching, block);

  if (block->state != TESSERA_BLOCK_FREE)
    return tessera_table_get (&caching->table, block->addr) == block && block->is_mapped;
  return tessera_tree_at_least (block->is_mapped ? &pool->free : &pool->unmapped,
                                block->node.key) == &block->node &&
         memcmp (&key, &block->node.key, sizeof key) == 0;
}

static bool
check_block (const TesseraCaching *caching,
             const CachingBlock *block,
             uint64_t addr,
             const CachingBlock *previous,
             TesseraError *error)
{
  if (!equals (error, "next block of a segment", addr, block->addr))
    return false;
  if (block->previous != previous || block->size_bytes == 0)
    return equals (error, "link of neighbours", 1, 0);
  if (!caching->rules.forward_merge_only && previous != NULL &&
      previous->state == TESSERA_BLOCK_FREE && block->state == TESSERA_BLOCK_FREE &&
      previous->is_mapped == block->is_mapped)
    return equals (error, "number of free neighbours", 0, 1);
  if (!is_filed_right (caching, block))
    return equals (error, "place of the block in its list", block->addr, 0);
  return true;
}

static void
count_block (Census *census, const CachingBlock *block)
{
  if (block->is_mapped)
    census->sums.reserved_bytes += block->size_bytes;
  if (block->state == TESSERA_BLOCK_FREE)
    {
      if (tessera_caching_is_inactive_split (block))
        {
          census->sums.n_inactive_split[block->pool->is_small]++;
          census->sums.inactive_split_bytes[block->pool->is_small] += block->size_bytes;
        }
      census->n_free += block->is_mapped;
      census->n_unmapped += !block->is_mapped;
      return;
    }
  census->n_active++;
  census->sums.active_bytes += block->size_bytes;
  census->sums.requested_bytes += block->requested_bytes;
  if (block->state == TESSERA_BLOCK_LIVE)
    census->sums.allocated_bytes += block->size_bytes;
}

static bool
check_chain (const TesseraCaching *caching,
             const CachingChain *chain,
             Census *census,
             TesseraError *error)
{
  const CachingBlock *previous = NULL;
  uint64_t addr = chain->addr;

  for (const CachingBlock *block = chain->first; block != NULL; block = block->next)
    {
      if (!check_block (caching, block, addr, previous, error))
        return false;
      count_block (census, block);
      addr += block->size_bytes;
      previous = block;
    }
  return equals (error, "end of a segment", chain->addr + chain->size_bytes, addr);
}

static bool
check_trees (const TesseraCaching *caching, const Census *census, TesseraError *error)
{
  uint64_t n_free = 0, n_unmapped = 0;

  for (size_t i = 0; i < caching->n_pools; i++)
    for (int side = 0; side < 2 && caching->pools[i] != NULL; side++)
      {
        const CachingPool *pool = &caching->pools[i]->of_size[side];

        if (!tessera_tree_check (&pool->free) || !tessera_tree_check (&pool->unmapped))
          return equals (error, "order of free blocks", 1, 0);
        n_free += pool->free.n_nodes;
        n_unmapped += pool->unmapped.n_nodes;
      }
  return equals (error, "number of free blocks", census->n_free, n_free) &&
         equals (error, "number of unmapped blocks", census->n_unmapped, n_unmapped);
}

static bool
check_inactive_splits (const TesseraCachingStats *stats,
                       const TesseraCachingStats *sums,
                       TesseraError *error)
{
  for (int side = 0; side < 2; side++)
    if (!equals (error, "inactive splits", sums->n_inactive_split[side],
                 stats->n_inactive_split[side]) ||
        !equals (error, "bytes of inactive splits", sums->inactive_split_bytes[side],
                 stats->inactive_split_bytes[side]))
      return false;
  return true;
}

TesseraStatus
tessera_caching_check (const TesseraCaching *caching, TesseraError *error)
{
  const TesseraCachingStats *stats = &caching->stats;
  Census census = { 0 };

  for (const CachingChain *chain = caching->first_chain; chain != NULL;
       chain = chain->next)
    if (!check_chain (caching, chain, &census, error))
      return TESSERA_INVALID;
  if (!check_trees (caching, &census, error) ||
      !check_inactive_splits (stats, &census.sums, error) ||
      !equals (error, "active blocks", census.n_active, caching->table.n_used) ||
      !equals (error, "reserved bytes", census.sums.reserved_bytes,
               stats->reserved_bytes) ||
      !equals (error, "allocated bytes", census.sums.allocated_bytes,
               stats->allocated_bytes) ||
      !equals (error, "active bytes", census.sums.active_bytes, stats->active_bytes) ||
      !equals (error, "requested bytes", census.sums.requested_bytes,
               stats->requested_bytes))
    return TESSERA_INVALID;
  return TESSERA_OK;
}

TesseraStatus
tessera_policy_check (const TesseraPolicy *policy, TesseraError *error)
{
  TesseraStatus status = TESSERA_OK;

  if (policy->kind == TESSERA_POLICY_PLAN)
    status = tessera_occupancy_check (policy->pool.map, error);
  return status == TESSERA_OK ? tessera_caching_check (policy->caching, error) : status;
}
