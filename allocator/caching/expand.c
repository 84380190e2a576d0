/*
 * Expandable segments: one reservation of addresses per (stream, pool) that grows and
 * shrinks by whole pages.
 *
 * The chain of a reservation holds mapped and unmapped blocks. A page lies wholly in the
 * mapped or wholly in the unmapped part; pages are counted from the reservation's start.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/caching/internal.h"

static uint64_t
smaller (uint64_t a, uint64_t b)
{
  return a < b ? a : b;
}

/* The bytes free, mapped or not, in one run from @start, as far as @size_bytes. */
static uint64_t
room_from (const CachingBlock *start, uint64_t size_bytes)
{
  uint64_t room_bytes = 0;

  for (const CachingBlock *at = start;
       room_bytes < size_bytes && at != NULL && at->state == TESSERA_BLOCK_FREE;
       at = at->next)
    room_bytes += at->size_bytes;
  return room_bytes;
}

CachingBlock *
tessera_caching_find_room (TesseraCaching *caching, const CachingRequest *request)
{
  CachingBlock *at =
      tessera_caching_lowest (caching, &request->pool->unmapped, request->stream, 0);
  uint64_t handle = tessera_caching_stream_handle (caching, request->stream);

  for (; at != NULL && at->node.key.major == handle; at = tessera_caching_after (at))
    {
      CachingBlock *start = at;

      if (at->previous != NULL && at->previous->state == TESSERA_BLOCK_FREE)
        start = at->previous;
      if (room_from (start, request->size_bytes) >= request->size_bytes)
        return start;
    }
  return NULL;
}

static TesseraStatus
add_reservation (TesseraCaching *caching,
                 const CachingRequest *request,
                 CachingBlock **out_block)
{
  CachingChain *chain;
  CachingBlock *block;
  TesseraStatus status = tessera_caching_add_chain (caching, &chain);

  if (status != TESSERA_OK)
    return status;
  chain->page_bytes = request->pool->is_small ? caching->rules.small_buffer_bytes
                                              : caching->settings.large_segment_bytes;
  status = caching->device->reserve (caching->device, request->stream, chain->page_bytes,
                                     &chain->addr, &chain->size_bytes);
  if (status == TESSERA_OK && chain->size_bytes < request->size_bytes)
    {
      caching->device->unreserve (caching->device, chain->addr, chain->size_bytes);
      status = TESSERA_OUT_OF_DEVICE;
    }
  if (status != TESSERA_OK)
    {
      tessera_caching_drop_chain (caching, chain);
      return status;
    }
  block = tessera_caching_take_block (caching, request->pool, request->stream,
                                      chain->addr, chain->size_bytes);
  block->is_mapped = false;
  block->chain = chain;
  chain->first = block;
  tessera_caching_insert (caching, block);
  *out_block = block;
  return TESSERA_OK;
}

/* From @begin_bytes of a reservation on, up to the end of a page. */
static uint64_t
up_to_page (const CachingChain *chain, uint64_t begin_bytes, uint64_t size_bytes)
{
  uint64_t page_bytes = chain->page_bytes;

  return (begin_bytes + size_bytes + page_bytes - 1) / page_bytes * page_bytes -
         begin_bytes;
}

uint64_t
tessera_caching_measure_growth (TesseraCaching *caching, const CachingRequest *request)
{
  uint64_t left_bytes = request->size_bytes;
  uint64_t growth_bytes = 0;
  const CachingBlock *block = tessera_caching_find_room (caching, request);

  if (block == NULL)
    {
      const CachingChain chain = { .page_bytes =
                                       request->pool->is_small
                                           ? caching->rules.small_buffer_bytes
                                           : caching->settings.large_segment_bytes };

      return up_to_page (&chain, 0, left_bytes);
    }
  for (; left_bytes > 0 && block != NULL; block = block->next)
    {
      uint64_t used_bytes = smaller (block->size_bytes, left_bytes);

      if (!block->is_mapped)
        growth_bytes += smaller (
            up_to_page (block->chain, block->addr - block->chain->addr, used_bytes),
            block->size_bytes);
      left_bytes -= used_bytes;
    }
  return growth_bytes;
}

/* The device is asked what it has left only where some of that is not to be had. */
static bool
may_map (const TesseraCaching *caching, uint64_t size_bytes)
{
  uint64_t left_bytes = caching->kept_bytes != 0
                            ? caching->device->free_bytes (caching->device)
                            : UINT64_MAX;

  return left_bytes >= caching->kept_bytes &&
         size_bytes <= left_bytes - caching->kept_bytes;
}

/* Maps the first @size_bytes, up to whole pages, of an unmapped block, which then joins
 * its mapped free neighbours. */
static TesseraStatus
map (TesseraCaching *caching, CachingBlock *block, uint64_t size_bytes)
{
  CachingChain *chain = block->chain;
  uint64_t begin = block->addr - chain->addr, addr = block->addr, mapped_bytes;
  TesseraStatus status;

  mapped_bytes = smaller (up_to_page (chain, begin, size_bytes), block->size_bytes);
  if (!may_map (caching, mapped_bytes))
    return TESSERA_OUT_OF_DEVICE;
  status = caching->device->map (caching->device, addr, mapped_bytes, block->stream);
  if (status != TESSERA_OK)
    return status;
  tessera_caching_number_chain (caching, chain);
  tessera_caching_remove (caching, block);
  if (mapped_bytes < block->size_bytes)
    tessera_caching_insert (caching, tessera_caching_cut (caching, block, mapped_bytes));
  block->is_mapped = true;
  tessera_caching_merge (caching, block);
  tessera_caching_insert (caching, block);
  tessera_caching_note_memory (caching, block, addr, mapped_bytes, true);
  return TESSERA_OK;
}

TesseraStatus
tessera_caching_expand (TesseraCaching *caching,
                        const CachingRequest *request,
                        CachingBlock **out_block)
{
  uint64_t size_bytes = request->size_bytes;
  CachingBlock *block = tessera_caching_find_room (caching, request);
  TesseraStatus status = TESSERA_OK;

  if (block == NULL)
    status = add_reservation (caching, request, &block);
  if (status == TESSERA_OK && !block->is_mapped)
    status = map (caching, block, smaller (block->size_bytes, size_bytes));
  while (status == TESSERA_OK && block->size_bytes < size_bytes)
    {
      CachingBlock *next = block->next;

      status =
          map (caching, next, smaller (size_bytes - block->size_bytes, next->size_bytes));
      /* The block mapped last swallows what was there before it. */
      if (status == TESSERA_OK)
        block = next;
    }
  if (status != TESSERA_OK)
    return status; /* what was mapped so far stays */
  tessera_caching_remove (caching, block);
  *out_block = block;
  return TESSERA_OK;
}

static void
drop_reservation (TesseraCaching *caching, CachingBlock *block)
{
  CachingChain *chain = block->chain;

  tessera_caching_remove (caching, block);
  tessera_caching_drop_block (caching, block);
  caching->device->unreserve (caching->device, chain->addr, chain->size_bytes);
  tessera_caching_drop_chain (caching, chain);
}

TesseraStatus
tessera_caching_unmap (TesseraCaching *caching, CachingBlock *block)
{
  CachingChain *chain = block->chain;
  uint64_t page_bytes = chain->page_bytes;
  uint64_t begin = block->addr - chain->addr, end = begin + block->size_bytes;
  uint64_t first = (begin + page_bytes - 1) / page_bytes * page_bytes;
  uint64_t last = end / page_bytes * page_bytes;
  TesseraStatus status;

  if (first >= last)
    return TESSERA_OK;
  status = tessera_caching_prepare (caching, 2 + TESSERA_CACHING_BLOCKS_PER_CALL);
  if (status != TESSERA_OK)
    return status;
  tessera_caching_remove (caching, block);
  if (first > begin)
    {
      CachingBlock *head = block;

      block = tessera_caching_cut (caching, head, first - begin);
      tessera_caching_insert (caching, head);
    }
  if (last < end)
    tessera_caching_insert (caching, tessera_caching_cut (caching, block, last - first));
  block->is_mapped = false;
  tessera_caching_merge (caching, block);
  tessera_caching_insert (caching, block);
  tessera_caching_note_memory (caching, block, chain->addr + first, last - first, false);
  caching->device->unmap (caching->device, chain->addr + first, last - first);
  if (!tessera_caching_is_split (block))
    drop_reservation (caching, block);
  return TESSERA_OK;
}
