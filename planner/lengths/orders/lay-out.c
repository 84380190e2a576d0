/*
 * One packing of the swept slots: see lay-out.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/lengths/orders/lay-out.h"

#include <stdlib.h>

#include "allocator/caching.h"

enum
{
  /* Around what is pinned packing is dearer: the likely orders, and less work. */
  FIRST_WORK = 1 << 18
};

/* What one step makes, from its request to the step's end; one item of those that come
 * together. Returns: how many. */
static uint32_t
pin_once (const TesseraLengths *of, const uint64_t *block_bytes, TesseraItem *items)
{
  uint64_t base_bytes = 0, end_bytes = 0;
  uint32_t n = 0, next = TESSERA_NONE;

  for (uint32_t i = 0; i < of->n_slots; i++)
    {
      const TesseraLengthsSlot *slot = &of->slots[i];

      if (slot->place != TESSERA_PLACE_FIXED || !tessera_lengths_slot_lends (of, slot))
        continue;
      if (n == 0)
        base_bytes = end_bytes = slot->offset_bytes;
      if (i == next && slot->offset_bytes == end_bytes)
        items[n - 1].size_bytes += block_bytes[slot->law];
      else
        items[n++] = (TesseraItem){ .size_bytes = block_bytes[slot->law],
                                    .begin = i,
                                    .end = of->n_slots,
                                    .is_pinned = true,
                                    .pinned_bytes = slot->offset_bytes - base_bytes };
      end_bytes = slot->offset_bytes + block_bytes[slot->law];
      next = i + 1;
    }
  return n;
}

/* What such a step never asks for, or none of these lengths, is in the order, and as
 * small as can be. */
static uint64_t
size_of (const TesseraLengths *of,
         uint32_t slot,
         bool is_first,
         const uint64_t *block_bytes)
{
  uint64_t bytes = block_bytes[of->slots[slot].law];

  return bytes == 0 || (is_first && of->slots[slot].seen == TESSERA_SEEN_LATER)
             ? of->alignment_bytes
             : bytes;
}

bool
tessera_lengths_splits_sizes (const TesseraLengthsBuild *build)
{
  return build->trace && (build->trace->n_streams > 1 ||
                          tessera_trace_get_meta (build->trace, "policy") != NULL);
}

/* The small ones lie at the bottom, in a zone of their own. A law counts by what it gives
 * at the most. Returns: how many they are. */
static uint32_t
set_zones (const TesseraLengthsBuild *build, const uint32_t *swept, TesseraItem *items)
{
  const TesseraLengths *of = build->out;
  uint32_t n_low = 0;

  for (uint32_t i = 0; i < of->n_swept; i++)
    {
      const TesseraSizeLaw *law = &of->laws[of->slots[swept[i]].law];
      uint64_t bytes = items[i].size_bytes;
      bool is_small = tessera_size_law_evaluate (law, &of->most, &bytes) &&
                      bytes <= TESSERA_SMALL_BYTES;

      items[i].zone = !is_small;
      n_low += is_small;
    }
  return n_low < of->n_swept ? n_low : 0;
}

/* Of parts, where sizes are kept apart: the large ones around what is pinned, the small
 * ones on top of them all. @items: the swept, then what is pinned. */
static TesseraStatus
pack_apart (const TesseraLengthsBuild *build,
            const uint32_t *swept,
            TesseraItem *items,
            uint32_t n,
            const TesseraPackOptions *options,
            uint64_t *out_offsets,
            uint32_t *out_n_low)
{
  uint32_t n_swept = build->out->n_swept, n_small = set_zones (build, swept, items);
  TesseraItem *some = calloc ((size_t) n + 1, sizeof *some);
  uint64_t *offsets = calloc ((size_t) n + 1, sizeof *offsets), above = 0;
  TesseraStatus status = some && offsets ? TESSERA_OK : TESSERA_NO_MEMORY;

  for (uint32_t is_small = 0; is_small < 2 && status == TESSERA_OK; is_small++)
    {
      TesseraPacking packing = { 0 };
      uint32_t n_some = 0;

      for (uint32_t i = 0; i < n; i++)
        if (i >= n_swept ? !is_small : items[i].zone == !is_small)
          {
            some[n_some] = items[i];
            some[n_some++].zone = 0;
          }
      if (n_some > 0)
        status = tessera_pack (some, n_some, options, offsets, &packing);
      n_some = 0;
      for (uint32_t i = 0; i < n; i++)
        if (i >= n_swept ? !is_small : items[i].zone == !is_small)
          out_offsets[i] = above + offsets[n_some++];
      above += packing.height_bytes;
    }
  *out_n_low = n_swept - n_small;
  free (some);
  free (offsets);
  return status;
}

TesseraStatus
tessera_lengths_lay_out (const TesseraLengthsBuild *build,
                         const uint32_t *swept,
                         const TesseraLayOutWay *way,
                         const uint64_t *block_bytes,
                         TesseraLaidOut *out_laid_out,
                         uint32_t *out_n_low)
{
  const TesseraLengths *of = build->out;
  size_t most = (size_t) of->n_swept + (way->is_first ? of->n_slots : 0);
  TesseraItem *items = calloc (most + 1, sizeof *items);
  uint64_t *offsets = calloc (most + 1, sizeof *offsets);
  TesseraPackOptions options = { 0 };
  TesseraPacking packing;
  uint32_t n = 0;
  TesseraStatus status = items && offsets ? TESSERA_OK : TESSERA_NO_MEMORY;

  if (build->options->pack)
    options = *build->options->pack;
  if (way->is_first && options.work_budget == 0)
    options.work_budget = FIRST_WORK;
  for (; n < of->n_swept && status == TESSERA_OK; n++)
    items[n] =
        (TesseraItem){ .size_bytes = size_of (of, swept[n], way->is_first, block_bytes),
                       .begin = swept[n],
                       .end = of->slots[swept[n]].died };
  *out_n_low = 0;
  if (status == TESSERA_OK && way->has_zones && !way->is_first)
    *out_n_low = set_zones (build, swept, items);
  if (status == TESSERA_OK && way->is_first)
    n += pin_once (of, block_bytes, items + n);
  if (status == TESSERA_OK && way->is_first && of->cut_phase && way->has_zones)
    status = pack_apart (build, swept, items, n, &options, offsets, out_n_low);
  else if (status == TESSERA_OK)
    status = tessera_pack (items, n, &options, offsets, &packing);
  for (uint32_t i = 0; i < of->n_swept && status == TESSERA_OK; i++)
    out_laid_out[i] = (TesseraLaidOut){ .begin = items[i].begin,
                                        .end = items[i].end,
                                        .offset_bytes = offsets[i] };
  free (items);
  free (offsets);
  return status;
}

TesseraStatus
tessera_lengths_bound (const TesseraLengthsBuild *build,
                       const uint32_t *swept,
                       bool has_zones,
                       const uint64_t *block_bytes,
                       uint64_t *out_bytes)
{
  const TesseraLengths *of = build->out;
  TesseraItem *items = calloc ((size_t) of->n_swept + 1, sizeof *items);
  TesseraStatus status = items ? TESSERA_OK : TESSERA_NO_MEMORY;

  for (uint32_t i = 0; i < of->n_swept && status == TESSERA_OK; i++)
    items[i] = (TesseraItem){ .size_bytes = size_of (of, swept[i], false, block_bytes),
                              .begin = swept[i],
                              .end = of->slots[swept[i]].died };
  if (status == TESSERA_OK && has_zones)
    (void) set_zones (build, swept, items);
  *out_bytes = 0;
  if (status == TESSERA_OK)
    status = tessera_pack_bound (items, of->n_swept, out_bytes);
  free (items);
  return status;
}
