/*
 * Sizes: what a request is rounded to, and what is asked of the driver for it; and
 * segments: what the device gives for a request that no free block serves.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/caching/internal.h"

const TesseraRules tessera_rules_pytorch = {
  .small_bytes = TESSERA_SMALL_BYTES,
  .small_buffer_bytes = 2 * TESSERA_MIB,
  .made_to_measure_bytes = 10 * TESSERA_MIB,
  .segment_step_bytes = 2 * TESSERA_MIB,
  .small_remainder_bytes = TESSERA_MIN_BLOCK_BYTES,
  /* Strictly more than 1 MiB. */
  .large_remainder_bytes = TESSERA_SMALL_BYTES + 1,
};

enum
{
  N_DIVISIONS = 16,
  LOG2_OF_FIRST_DIVISION = 20 /* 1 MiB */
};

static unsigned
floor_log2 (uint64_t value)
{
  return 63u - (unsigned) __builtin_clzll (value);
}

static uint64_t
round_up (uint64_t value, uint64_t step)
{
  return (value + step - 1) / step * step;
}

static uint32_t
divisions_for (const TesseraSettings *settings, uint64_t size_bytes)
{
  unsigned log = floor_log2 (size_bytes);
  unsigned entry = log < LOG2_OF_FIRST_DIVISION ? 0 : log - LOG2_OF_FIRST_DIVISION;

  return settings->roundup_divisions[entry < N_DIVISIONS ? entry : N_DIVISIONS - 1];
}

uint64_t
tessera_round_size (const TesseraSettings *settings, uint64_t size_bytes)
{
  uint32_t divisions;
  uint64_t power, step;

  if (size_bytes < TESSERA_MIN_BLOCK_BYTES)
    return TESSERA_MIN_BLOCK_BYTES;
  divisions = divisions_for (settings, size_bytes);
  if (divisions <= 1 || size_bytes <= TESSERA_MIN_BLOCK_BYTES * divisions)
    return round_up (size_bytes, TESSERA_MIN_BLOCK_BYTES);

  power = (uint64_t) 1 << floor_log2 (size_bytes);
  if (size_bytes == power)
    return size_bytes;
  step = power >> floor_log2 (divisions);
  /* Rounding up by whole steps from a power of two ends at the next power at most. */
  return step == 0 ? power << 1 : round_up (size_bytes, step);
}

uint64_t
tessera_rules_segment_size (const TesseraRules *rules,
                            const TesseraSettings *settings,
                            uint64_t block_bytes)
{
  if (block_bytes <= rules->small_bytes)
    return rules->small_buffer_bytes;
  if (block_bytes < rules->made_to_measure_bytes)
    return settings->large_segment_bytes;
  return round_up (block_bytes, rules->segment_step_bytes);
}

uint64_t
tessera_segment_size (const TesseraSettings *settings, uint64_t block_bytes)
{
  return tessera_rules_segment_size (&tessera_rules_pytorch, settings, block_bytes);
}

uint64_t
tessera_reservation_size (uint64_t device_bytes, uint64_t page_bytes)
{
  if (device_bytes == 0)
    return TESSERA_ENDLESS_RESERVATION_BYTES / page_bytes * page_bytes;
  return round_up (device_bytes + device_bytes / 8, page_bytes);
}

/* One call to the driver for a segment of its own. */
static TesseraStatus
add_segment (TesseraCaching *caching,
             const CachingRequest *request,
             CachingBlock **out_block)
{
  uint64_t segment_bytes = tessera_rules_segment_size (
      &caching->rules, &caching->settings, request->size_bytes);
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
  block = tessera_caching_take_block (caching, request->pool, request->stream,
                                      chain->addr, segment_bytes);
  tessera_caching_number_chain (caching, chain);
  block->chain = chain;
  chain->size_bytes = segment_bytes;
  chain->first = block;
  tessera_caching_note_memory (caching, block, chain->addr, segment_bytes, true);
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
