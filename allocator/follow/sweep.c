/*
 * Offsets for a step of a given length: see sweep.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/follow/sweep.h"

bool
tessera_sweep_sizes (const TesseraLengths *lengths,
                     const TesseraParameters *parameters,
                     uint64_t *out_block_bytes)
{
  uint64_t step = lengths->alignment_bytes;

  for (uint32_t i = 0; i < lengths->n_laws; i++)
    {
      uint64_t bytes;

      if (!tessera_size_law_evaluate (&lengths->laws[i], parameters, &bytes))
        return false;
      out_block_bytes[i] = bytes == 0 ? step : (bytes + step - 1) / step * step;
    }
  return true;
}

const TesseraOrder *
tessera_sweep_order (const TesseraLengths *lengths,
                     const TesseraParameters *parameters,
                     bool is_first)
{
  const TesseraOrder *found = NULL;
  uint64_t tokens;

  if (__builtin_mul_overflow (parameters->batch, parameters->length, &tokens))
    tokens = UINT64_MAX;
  for (uint32_t i = 0; i < lengths->n_orders; i++)
    if (lengths->orders[i].is_first == is_first &&
        lengths->orders[i].from_tokens <= tokens)
      found = &lengths->orders[i];
  return found;
}

/* Both sweeps: @floors is NULL where all have the same. */
static inline uint64_t
sweep (const TesseraLengths *lengths,
       const TesseraOrder *order,
       const uint64_t *block_bytes,
       const uint64_t *floors,
       uint64_t *tops)
{
  const uint32_t *below = order->below, *first_edge = order->first_edge;
  uint64_t height = lengths->fixed_bytes, low_bytes = 0, low_top = 0;

  for (uint32_t i = 0; i < lengths->n_swept; i++)
    {
      uint64_t top = floors ? floors[order->slots[i]] : lengths->fixed_bytes;

      if (i == order->n_low)
        low_bytes = low_top;
      if (low_bytes > top)
        top = low_bytes;
      for (uint32_t e = first_edge[i]; e < first_edge[i + 1]; e++)
        if (tops[below[e]] > top)
          top = tops[below[e]];
      if (!floors || lengths->slots[order->slots[i]].seen != TESSERA_SEEN_LATER)
        top += block_bytes[order->laws[i]];
      tops[i] = top;
      if (i < order->n_low && top > low_top)
        low_top = top;
      if (top > height)
        height = top;
    }
  return height;
}

uint64_t
tessera_sweep (const TesseraLengths *lengths,
               const TesseraOrder *order,
               const uint64_t *block_bytes,
               uint64_t *out_tops)
{
  return sweep (lengths, order, block_bytes, NULL, out_tops);
}

uint64_t
tessera_sweep_above (const TesseraLengths *lengths,
                     const TesseraOrder *order,
                     const uint64_t *block_bytes,
                     const uint64_t *floors,
                     uint64_t *out_tops)
{
  return sweep (lengths, order, block_bytes, floors, out_tops);
}
