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
    }
  return true;
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

/* What lies in the places that slots take in turns: over these slots nobody else. */
typedef struct
{
  uint64_t begin_bytes, end_bytes;
  uint32_t begin, end;
} Taken;

uint64_t
tessera_sweep_spare (const TesseraLengthsSlot *slot,
                     uint64_t most_bytes,
                     uint64_t block_bytes)
{
  return slot->spare_bytes + (block_bytes < most_bytes ? most_bytes - block_bytes : 0);
}

/* The blocks of this step, and those that the step before left in the other places: as
 * large as can be. Places lie above one another by address. */
static uint32_t
list_taken (const TesseraLengths *lengths,
            const TesseraOrder *order,
            const uint64_t *block_bytes,
            Taken *out_taken)
{
  uint64_t step = lengths->alignment_bytes;
  uint32_t n = 0;

  for (int is_spare = 0; is_spare < 2; is_spare++)
    for (uint32_t i = 0; i < lengths->n_slots; i++)
      {
        const TesseraLengthsSlot *slot = &lengths->slots[i];
        bool is_own = is_spare == order->in_spare;
        uint64_t begin_bytes, bytes, most_bytes;

        if (!tessera_lengths_slot_turns (slot) || (!is_own && order->is_first) ||
            !tessera_size_law_evaluate (&lengths->laws[slot->law], &lengths->most,
                                        &most_bytes))
          continue;
        most_bytes = (most_bytes + step - 1) / step * step;
        bytes = is_own ? block_bytes[slot->law] : most_bytes;
        begin_bytes =
            is_spare ? tessera_sweep_spare (slot, most_bytes, bytes) : slot->offset_bytes;
        out_taken[n++] = (Taken){ begin_bytes, begin_bytes + bytes, is_own ? i : 0,
                                  is_own ? lengths->n_slots : slot->gone };
      }
  return n;
}

/* Where the slot may lie at @base_bytes or above. */
static uint64_t
above_taken (const Taken *taken,
             uint32_t n,
             uint32_t born,
             uint32_t died,
             uint64_t bytes,
             uint64_t base_bytes)
{
  for (uint32_t i = 0; i < n; i++)
    if (born < taken[i].end && taken[i].begin < died && base_bytes < taken[i].end_bytes &&
        taken[i].begin_bytes < base_bytes + bytes)
      base_bytes = taken[i].end_bytes;
  return base_bytes;
}

uint64_t
tessera_sweep (const TesseraLengths *lengths,
               const TesseraOrder *order,
               const uint64_t *block_bytes,
               const uint64_t *floors,
               uint64_t *tops)
{
  const uint32_t *below = order->below, *first_edge = order->first_edge;
  uint64_t height = 0, low_bytes = 0, base_bytes = tessera_lengths_base (lengths);
  Taken taken[2 * TESSERA_MOST_TURNS];
  uint32_t n_taken = list_taken (lengths, order, block_bytes, taken);

  for (uint32_t i = 0; i < lengths->n_swept; i++)
    {
      uint64_t top = floors ? floors[order->slots[i]] : base_bytes;

      if (i == order->n_low && i > 0)
        low_bytes = height;
      top = larger (top, low_bytes);
      top = larger (top, highest_below (tops, below + first_edge[i],
                                        first_edge[i + 1] - first_edge[i]));
      if (n_taken > 0)
        top = above_taken (taken, n_taken, order->slots[i],
                           lengths->slots[order->slots[i]].died,
                           block_bytes[order->laws[i]], top);
      if (!floors || lengths->slots[order->slots[i]].seen != TESSERA_SEEN_LATER)
        top += block_bytes[order->laws[i]];
      tops[i] = top;
      height = larger (height, top);
    }
  for (uint32_t i = 0; i < n_taken; i++)
    if (taken[i].begin > 0) /* of this step */
      height = height <= taken[i].begin_bytes
                   ? height + taken[i].end_bytes - taken[i].begin_bytes
                   : larger (height, taken[i].end_bytes);
  return larger (height, base_bytes);
}

/* The last one whose range has begun. */
static const TesseraOrder *
order_of_range (const TesseraLengths *lengths,
                const TesseraParameters *parameters,
                bool is_first,
                bool in_spare)
{
  const TesseraOrder *found = NULL;
  uint64_t tokens = tessera_parameters_tokens (parameters);

  for (uint32_t i = 0; i < lengths->n_orders; i++)
    if (lengths->orders[i].is_first == is_first &&
        lengths->orders[i].in_spare == in_spare &&
        lengths->orders[i].from_tokens <= tokens)
      found = &lengths->orders[i];
  return found;
}

uint64_t
tessera_sweep_by (const TesseraLengths *lengths,
                  const TesseraParameters *parameters,
                  bool is_first,
                  bool in_spare,
                  const uint64_t *block_bytes,
                  const uint64_t *floors,
                  uint64_t *out_tops,
                  const TesseraOrder **out_order)
{
  *out_order = order_of_range (lengths, parameters, is_first, in_spare);
  return *out_order ? tessera_sweep (lengths, *out_order, block_bytes, floors, out_tops)
                    : UINT64_MAX;
}

TesseraStatus
tessera_lengths_height (const TesseraLengths *lengths, uint64_t *out_height_bytes)
{
  uint64_t *sizes = malloc (((size_t) lengths->n_laws + 1) * sizeof *sizes);
  uint64_t *tops = malloc (((size_t) lengths->n_swept + 1) * sizeof *tops);
  TesseraStatus status = sizes && tops ? TESSERA_OK : TESSERA_NO_MEMORY;

  *out_height_bytes = larger (lengths->start_bytes, lengths->fixed_bytes);
  if (status == TESSERA_OK && !tessera_sweep_sizes (lengths, &lengths->most, sizes))
    status = TESSERA_INVALID;
  for (uint32_t k = 0; k < lengths->n_orders && status == TESSERA_OK; k++)
    if (!lengths->orders[k].is_first)
      {
        uint64_t height = tessera_sweep (lengths, &lengths->orders[k], sizes, NULL, tops);

        if (height > *out_height_bytes)
          *out_height_bytes = height;
      }
  free (sizes);
  free (tops);
  return status;
}
