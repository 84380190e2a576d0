/*
 * The caching allocator's face: requests, frees, figures.
 *
 * A request is rounded and searched for in the free blocks of its stream and pool; on a
 * miss the device is asked; what is left over of the block found goes back to the pool.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/caching/internal.h"

#include <stdlib.h>

TesseraStatus
tessera_caching_new (const TesseraCachingOptions *options,
                     TesseraDevice *device,
                     const TesseraObserver *observer,
                     TesseraCaching **out_caching)
{
  TesseraCaching *caching;

  *out_caching = NULL;
  if (!tessera_settings_make_sense (&options->settings))
    return TESSERA_INVALID;
  caching = calloc (1, sizeof *caching);
  if (caching == NULL)
    return TESSERA_NO_MEMORY;
  caching->settings = options->settings;
  caching->rules = tessera_rules_pytorch;
  caching->limit_bytes = options->limit_bytes;
  caching->device = device;
  if (observer != NULL)
    caching->observer = *observer;
  if (options->stream_handles != NULL)
    for (size_t i = 0; i < options->n_streams; i++)
      if (tessera_caching_set_stream_handle (caching, (uint32_t) i,
                                             options->stream_handles[i]) != TESSERA_OK)
        {
          tessera_caching_free (caching);
          return TESSERA_NO_MEMORY;
        }
  *out_caching = caching;
  return TESSERA_OK;
}

void
tessera_caching_free (TesseraCaching *caching)
{
  if (caching == NULL)
    return;
  while (caching->first_chain != NULL)
    tessera_caching_drop_chain (caching, caching->first_chain);
  tessera_caching_drop_all_blocks (caching);
  tessera_table_clear (&caching->table);
  for (size_t i = 0; i < caching->n_pools; i++)
    free (caching->pools[i]);
  free (caching->pools);
  free (caching->stream_handles);
  free (caching);
}

void
tessera_caching_set_routed (TesseraCaching *caching, bool is_routed)
{
  caching->is_routed = is_routed;
}

static bool
should_split (const TesseraCaching *caching, const CachingBlock *block, uint64_t size)
{
  uint64_t rest_bytes = block->size_bytes - size;

  if (block->pool->is_small || caching->settings.is_expandable)
    return rest_bytes >= caching->rules.small_remainder_bytes;
  return size < caching->settings.max_split_bytes &&
         rest_bytes >= caching->rules.large_remainder_bytes;
}

static TesseraStatus
make_request (TesseraCaching *caching,
              uint64_t size_bytes,
              uint32_t stream,
              uint32_t pool,
              CachingRequest *out_request)
{
  TesseraStatus status;
  bool is_small;

  if (size_bytes == 0)
    return TESSERA_INVALID;
  if (size_bytes >= TESSERA_REFUSED_FROM_BYTES)
    return TESSERA_OUT_OF_DEVICE;
  out_request->size_bytes = tessera_round_size (&caching->settings, size_bytes);
  out_request->stream = stream;
  is_small = out_request->size_bytes <= caching->rules.small_bytes;
  status = tessera_caching_get_pool (caching, pool, is_small, &out_request->pool);
  if (status != TESSERA_OK)
    return status;
  caching->pools[pool]->is_unused = false;
  return tessera_caching_prepare (caching, TESSERA_CACHING_BLOCKS_PER_CALL);
}

TesseraStatus
tessera_caching_serve (TesseraCaching *caching,
                       uint64_t size_bytes,
                       uint32_t stream,
                       uint32_t pool,
                       bool is_known_miss,
                       TesseraGrant *out_grant)
{
  CachingRequest request;
  CachingBlock *block = NULL;
  TesseraStatus status;

  *out_grant = (TesseraGrant){ 0 };
  caching->has_started = true;
  status = make_request (caching, size_bytes, stream, pool, &request);
  if (status == TESSERA_OK && is_known_miss)
    tessera_caching_count_search (caching, request.pool);
  else if (status == TESSERA_OK)
    block = tessera_caching_search (caching, &request);
  if (status == TESSERA_OK && block == NULL)
    status = tessera_caching_obtain (caching, &request, &block);
  if (status == TESSERA_OUT_OF_DEVICE)
    caching->stats.n_ooms++;
  if (status != TESSERA_OK)
    return status;

  if (should_split (caching, block, request.size_bytes))
    tessera_caching_insert (caching,
                            tessera_caching_cut (caching, block, request.size_bytes));
  block->state = TESSERA_BLOCK_LIVE;
  block->requested_bytes = size_bytes;
  tessera_table_add (&caching->table, block->addr, block);
  tessera_caching_count_active (caching, block);
  *out_grant = (TesseraGrant){ block->addr, block->size_bytes };
  return TESSERA_OK;
}

uint64_t
tessera_caching_growth (TesseraCaching *caching,
                        uint64_t size_bytes,
                        uint32_t stream,
                        uint32_t pool)
{
  CachingRequest request;

  if (make_request (caching, size_bytes, stream, pool, &request) != TESSERA_OK ||
      tessera_caching_candidate (caching, &request) != NULL)
    return 0;
  return tessera_caching_measure_growth (caching, &request);
}

TesseraStatus
tessera_caching_malloc (TesseraCaching *caching,
                        uint64_t size_bytes,
                        uint32_t stream,
                        uint32_t pool,
                        TesseraGrant *out_grant)
{
  return tessera_caching_serve (caching, size_bytes, stream, pool, false, out_grant);
}

TesseraStatus
tessera_caching_free_requested (TesseraCaching *caching, uint64_t addr)
{
  CachingBlock *block = tessera_table_get (&caching->table, addr);

  if (block == NULL || block->state != TESSERA_BLOCK_LIVE)
    return TESSERA_INVALID;
  block->state = TESSERA_BLOCK_PENDING;
  caching->stats.allocated_bytes -= block->size_bytes;
  return TESSERA_OK;
}

/* Returns: the free block that the block at @addr is part of now; NULL: none is pending
 * there. */
static CachingBlock *
complete (TesseraCaching *caching, uint64_t addr)
{
  CachingBlock *block = tessera_table_get (&caching->table, addr);

  if (block == NULL || block->state != TESSERA_BLOCK_PENDING)
    return NULL;
  tessera_table_remove (&caching->table, addr);
  block->state = TESSERA_BLOCK_FREE;
  caching->stats.active_bytes -= block->size_bytes;
  caching->stats.requested_bytes -= block->requested_bytes;
  block->requested_bytes = 0;
  tessera_caching_merge (caching, block);
  tessera_caching_insert (caching, block);
  return block;
}

TesseraStatus
tessera_caching_free_completed (TesseraCaching *caching, uint64_t addr)
{
  return complete (caching, addr) != NULL ? TESSERA_OK : TESSERA_INVALID;
}

TesseraStatus
tessera_caching_free_to_device (TesseraCaching *caching, uint64_t addr)
{
  CachingBlock *block = complete (caching, addr);

  if (block == NULL)
    return TESSERA_INVALID;
  if (block->pool->index == 0)
    tessera_caching_release_whole (caching, block);
  return TESSERA_OK;
}

void
tessera_caching_empty_cache (TesseraCaching *caching)
{
  (void) !tessera_caching_release_cached (caching);
}

const TesseraCachingStats *
tessera_caching_stats (const TesseraCaching *caching)
{
  return &caching->stats;
}

void
tessera_caching_reset_peaks (TesseraCaching *caching)
{
  TesseraCachingStats *stats = &caching->stats;

  stats->peak_allocated_bytes = stats->allocated_bytes;
  stats->peak_active_bytes = stats->active_bytes;
  stats->peak_requested_bytes = stats->requested_bytes;
  stats->peak_reserved_bytes = stats->reserved_bytes;
}

void
tessera_caching_set_limit (TesseraCaching *caching, uint64_t limit_bytes)
{
  caching->limit_bytes = limit_bytes;
}

void
tessera_caching_set_kept (TesseraCaching *caching, uint64_t kept_bytes)
{
  caching->kept_bytes = kept_bytes;
}

void
tessera_caching_each (const TesseraCaching *caching,
                      void (*visit) (void *user, const TesseraBlockInfo *info),
                      void *user)
{
  for (const CachingChain *chain = caching->first_chain; chain != NULL;
       chain = chain->next)
    for (const CachingBlock *block = chain->first; block != NULL; block = block->next)
      {
        const TesseraBlockInfo info = {
          .addr = block->addr,
          .block_bytes = block->size_bytes,
          .size_bytes = block->requested_bytes,
          .segment_addr = chain->addr,
          .stream = block->stream,
          .pool = block->pool->index,
          .is_small = block->pool->is_small,
          .is_expandable = chain->page_bytes != 0,
          .state = block->state,
        };

        if (block->is_mapped)
          visit (user, &info);
      }
}
