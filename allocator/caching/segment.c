/*
 * Segments: what the device gives for a request that no free block serves.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/caching/internal.h"

/* One call to the driver for a segment of its own. */
static TesseraStatus
add_segment (TesseraCaching *caching,
             const CachingRequest *request,
             CachingBlock **out_block)
{
  uint64_t segment_bytes = tessera_rules_segment_size (
      &caching->rules, &caching->settings, request->size_bytes);
  CachingPool *pool = request->pool;
  CachingChain *chain;
  CachingBlock *block;
  TesseraStatus status = tessera_caching_add_chain (caching, &chain);

  if (status != TESSERA_OK)
    return status;
  status = caching->device->allocate (caching->device, segment_bytes, request->stream,
                                      &chain->addr);
  if (status != TESSERA_OK)
    {
      tessera_caching_drop_chain (caching, chain);
      return status;
    }
  block = tessera_caching_take_block (caching, pool, request->stream, chain->addr,
                                      segment_bytes);
  tessera_caching_number_chain (caching, chain);
  block->chain = chain;
  chain->size_bytes = segment_bytes;
  chain->first = block;
  tessera_caching_count_reserved (caching, segment_bytes, 0);
  if (caching->observer.segment_alloc != NULL)
    caching->observer.segment_alloc (caching->observer.user, chain->addr, segment_bytes,
                                     request->stream, pool->index, pool->is_small);
  *out_block = block;
  return TESSERA_OK;
}

/* Expandable segments take less, but PyTorch holds this size against the limit too. */
bool
tessera_caching_is_within_limit (const TesseraCaching *caching,
                                 const CachingRequest *request)
{
  uint64_t segment_bytes = tessera_rules_segment_size (
      &caching->rules, &caching->settings, request->size_bytes);

  return caching->limit_bytes == 0 ||
         caching->stats.reserved_bytes + segment_bytes <= caching->limit_bytes;
}

static TesseraStatus
try_device (TesseraCaching *caching,
            const CachingRequest *request,
            CachingBlock **out_block)
{
  if (!tessera_caching_is_within_limit (caching, request))
    return TESSERA_OUT_OF_DEVICE;
  if (caching->settings.is_expandable)
    return tessera_caching_expand (caching, request, out_block);
  return add_segment (caching, request, out_block);
}

TesseraStatus
tessera_caching_obtain (TesseraCaching *caching,
                        const CachingRequest *request,
                        CachingBlock **out_block)
{
  TesseraStatus status;

  *out_block = NULL;
  if (tessera_caching_is_collecting (caching))
    tessera_caching_collect_garbage (caching);
  status = try_device (caching, request, out_block);
  if (status == TESSERA_OUT_OF_DEVICE &&
      tessera_caching_release_available (caching, request))
    status = try_device (caching, request, out_block);
  /* While requests are routed to private pools PyTorch flushes for nobody. */
  if (status == TESSERA_OUT_OF_DEVICE && !caching->is_routed && request->pool->index == 0)
    {
      status = tessera_caching_release_cached (caching);
      if (status != TESSERA_OK)
        return status;
      /* The free lists are not searched again: straight to the device. */
      caching->stats.n_retries++;
      status = try_device (caching, request, out_block);
    }
  return status;
}
