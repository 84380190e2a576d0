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
tessera_sweep_order (const TesseraLengths *lengths, const TesseraParameters *parameters)
{
  const TesseraOrder *order = lengths->orders;
  uint64_t tokens;

  if (__builtin_mul_overflow (parameters->batch, parameters->length, &tokens))
    tokens = UINT64_MAX;
  for (uint32_t i = 1; i < lengths->n_orders && lengths->orders[i].from_tokens <= tokens;
       i++)
    order = &lengths->orders[i];
  return order;
}

uint64_t
tessera_sweep (const TesseraLengths *lengths,
               const TesseraOrder *order,
               const uint64_t *block_bytes,
               uint64_t *out_tops)
{
  const uint32_t *below = order->below, *first_edge = order->first_edge;
  uint64_t height = lengths->fixed_bytes;

  for (uint32_t i = 0; i < lengths->n_swept; i++)
    {
      uint64_t top = lengths->fixed_bytes;

      for (uint32_t e = first_edge[i]; e < first_edge[i + 1]; e++)
        if (out_tops[below[e]] > top)
          top = out_tops[below[e]];
      top += block_bytes[order->laws[i]];
      out_tops[i] = top;
      if (top > height)
        height = top;
    }
  return height;
}
