/*
 * The signatures of a plan's requests: a hash table by stream, pool and rounded size.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/follow/slots/private.h"

uint64_t
tessera_slots_round (const TesseraSlots *slots, uint64_t size_bytes)
{
  uint64_t alignment_bytes = slots->plan->alignment_bytes;
  uint64_t step = alignment_bytes > 0 ? alignment_bytes : 1;
  uint64_t n_steps = size_bytes / step + (size_bytes % step != 0);

  return (n_steps > 0 ? n_steps : 1) * step;
}

/* The finalizer of SplitMix64: sizes are multiples of the alignment, and often one of
 * another, so every bit has to reach the low ones. */
static uint32_t
hash_key (uint64_t block_bytes, uint32_t stream_pool)
{
  uint64_t h = block_bytes + stream_pool * UINT64_C (0x9e3779b97f4a7c15);

  h = (h ^ (h >> 30)) * UINT64_C (0xbf58476d1ce4e5b9);
  h = (h ^ (h >> 27)) * UINT64_C (0x94d049bb133111eb);
  return (uint32_t) (h ^ (h >> 31));
}

/* The place of the key in the table: where it is, or the empty one where it would be. */
static TesseraSignature *
look_up (const TesseraSlots *slots, uint64_t block_bytes, uint32_t stream_pool)
{
  uint32_t at = hash_key (block_bytes, stream_pool) & slots->table_mask;

  for (;; at = (at + 1) & slots->table_mask)
    {
      TesseraSignature *entry = &slots->table[at];

      if (entry->signature == TESSERA_NONE ||
          (entry->block_bytes == block_bytes && entry->stream_pool == stream_pool))
        return entry;
    }
}

static uint32_t
pack_stream_pool (uint32_t stream, uint32_t pool)
{
  return stream << 16 | pool;
}

uint32_t
tessera_slots_find_signature (const TesseraSlots *slots,
                              uint64_t size_bytes,
                              uint32_t stream,
                              uint32_t pool)
{
  if (stream > UINT16_MAX || pool > UINT16_MAX || size_bytes > slots->most_bytes)
    return TESSERA_NONE;
  return look_up (slots, tessera_slots_round (slots, size_bytes),
                  pack_stream_pool (stream, pool))
      ->signature;
}

uint32_t
tessera_slots_signature_of (const TesseraSlots *slots, uint32_t slot)
{
  const TesseraSlot *of = &slots->plan->slots[slot];

  return look_up (slots, of->block_bytes, pack_stream_pool (of->stream, of->pool))
      ->signature;
}

uint32_t
tessera_slots_sign (TesseraSlots *slots,
                    uint64_t block_bytes,
                    uint32_t stream,
                    uint32_t pool,
                    uint32_t *n_signatures)
{
  uint32_t stream_pool = pack_stream_pool (stream, pool);
  TesseraSignature *entry = look_up (slots, block_bytes, stream_pool);

  if (entry->signature == TESSERA_NONE)
    *entry = (TesseraSignature){ .block_bytes = block_bytes,
                                 .stream_pool = stream_pool,
                                 .signature = (*n_signatures)++ };
  if (block_bytes > slots->most_bytes)
    slots->most_bytes = block_bytes;
  return entry->signature;
}
