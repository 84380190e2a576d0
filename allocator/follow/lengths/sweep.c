/*
 * Offsets for a step of a given length: see sweep.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/follow/lengths/sweep.h"

#include <stdlib.h>

#include "allocator/follow/lengths/lengths.h"

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
      if (tessera_size_law_is_conditional (&lengths->laws[i]) &&
          tessera_size_law_is_absent (&lengths->laws[i], parameters))
        out_block_bytes[i] = 0;
    }
  return true;
}

uint64_t
tessera_sweep_multiple (const TesseraLengths *lengths, bool is_second)
{
  uint64_t multiple = 1;

  for (uint32_t i = 0; i < lengths->n_laws; i++)
    if (lengths->laws[i].when_multiple > multiple &&
        lengths->laws[i].when_second == is_second)
      multiple = lengths->laws[i].when_multiple;
  return multiple;
}

/* Compiled to no branch: which of them is larger nobody can foresee. */
static inline uint64_t
larger (uint64_t a, uint64_t b)
{
  return a > b ? a : b;
}

/* The highest top of those that a slot rests on; 0 where it lies at the bottom. Most rest
 * on one to three, and how many cannot be foreseen either: some are looked at twice. */
static inline uint64_t
highest_below (const uint64_t *tops, const uint32_t *below, uint32_t n)
{
  uint64_t highest;

  if (n == 0)
    return 0;
  highest = larger (tops[below[0]], tops[below[n / 2]]);
  highest = larger (highest, tops[below[n - 1]]);
  for (uint32_t i = 1; i + 1 < n && n > 3; i++)
    highest = larger (highest, tops[below[i]]);
  return highest;
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
  uint64_t height = 0, low_bytes = 0;

  for (uint32_t i = 0; i < lengths->n_swept; i++)
    {
      uint64_t top = floors ? floors[order->slots[i]] : lengths->fixed_bytes;

      if (i == order->n_low && i > 0)
        low_bytes = height;
      top = larger (top, low_bytes);
      top = larger (top, highest_below (tops, below + first_edge[i],
                                        first_edge[i + 1] - first_edge[i]));
      if (!floors || lengths->slots[order->slots[i]].seen != TESSERA_SEEN_LATER)
        top += block_bytes[order->laws[i]];
      tops[i] = top;
      height = larger (height, top);
    }
  return larger (height, lengths->fixed_bytes);
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

/* The last one whose range has begun. */
static const TesseraOrder *
order_of_range (const TesseraLengths *lengths,
                const TesseraParameters *parameters,
                bool is_first)
{
  const TesseraOrder *found = NULL;
  uint64_t tokens = tessera_parameters_tokens (parameters);

  for (uint32_t i = 0; i < lengths->n_orders; i++)
    if (lengths->orders[i].is_first == is_first &&
        lengths->orders[i].from_tokens <= tokens)
      found = &lengths->orders[i];
  return found;
}

/* The lowest, of equals the first. */
static const TesseraOrder *
lowest_order (const TesseraLengths *lengths,
              bool is_first,
              const uint64_t *block_bytes,
              const uint64_t *floors,
              uint64_t *tops)
{
  const TesseraOrder *lowest = NULL;
  uint64_t least = UINT64_MAX;

  for (uint32_t i = 0; i < lengths->n_orders; i++)
    if (lengths->orders[i].is_first == is_first)
      {
        uint64_t height = sweep (lengths, &lengths->orders[i], block_bytes, floors, tops);

        if (!lowest || height < least)
          {
            lowest = &lengths->orders[i];
            least = height;
          }
      }
  return lowest;
}

uint64_t
tessera_sweep_by (const TesseraLengths *lengths,
                  const TesseraParameters *parameters,
                  bool is_first,
                  const uint64_t *block_bytes,
                  const uint64_t *floors,
                  uint64_t *out_tops,
                  const TesseraOrder **out_order)
{
  *out_order = lengths->most.second > 0
                   ? lowest_order (lengths, is_first, block_bytes, floors, out_tops)
                   : order_of_range (lengths, parameters, is_first);
  return *out_order ? sweep (lengths, *out_order, block_bytes, floors, out_tops)
                    : UINT64_MAX;
}

/* The longest length that is not above and no multiple of what some requests depend on,
 * where @length is one; else that is one. */
static uint64_t
other_length (const TesseraLengths *lengths, uint64_t length, bool is_second)
{
  uint64_t multiple = tessera_sweep_multiple (lengths, is_second);
  uint64_t beyond = length % multiple;

  return multiple == 1 || length < multiple ? length
         : beyond > 0                       ? length - beyond
                                            : length - 1;
}

/* What no step of at most these lengths takes more than, 0 where nothing is swept: of two
 * lengths each has the lowest order, of one that of its range. Returns: false where a law
 * gives no sizes. */
static bool
most_of_orders (const TesseraLengths *lengths,
                const TesseraParameters *at,
                uint64_t *sizes,
                uint64_t *tops,
                uint64_t *out_bytes)
{
  uint64_t bytes = 0;

  if (!tessera_sweep_sizes (lengths, at, sizes))
    return false;
  for (uint32_t k = 0; k < lengths->n_orders && !lengths->orders[k].is_first; k++)
    {
      uint64_t height = tessera_sweep (lengths, &lengths->orders[k], sizes, tops);

      if (bytes == 0 || (lengths->most.second > 0 ? height < bytes : height > bytes))
        bytes = height;
    }
  *out_bytes = bytes;
  return true;
}

TesseraStatus
tessera_lengths_height (const TesseraLengths *lengths, uint64_t *out_height_bytes)
{
  uint64_t *sizes = malloc (((size_t) lengths->n_laws + 1) * sizeof *sizes);
  uint64_t *tops = malloc (((size_t) lengths->n_swept + 1) * sizeof *tops);
  TesseraStatus status = sizes && tops ? TESSERA_OK : TESSERA_NO_MEMORY;

  *out_height_bytes = lengths->start_bytes;
  for (int i = 0; i < (lengths->most.second > 0 ? 4 : 1) && status == TESSERA_OK; i++)
    {
      TesseraParameters at = lengths->most;
      uint64_t height = 0;

      if (i & 1)
        at.length = other_length (lengths, at.length, false);
      if (i & 2)
        at.second = other_length (lengths, at.second, true);
      if (!most_of_orders (lengths, &at, sizes, tops, &height) && i == 0)
        status = TESSERA_INVALID;
      if (height > *out_height_bytes)
        *out_height_bytes = height;
    }
  free (sizes);
  free (tops);
  return status;
}
