/*
 * Fixed places of a plan for every length: what is there for good lies lowest.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdlib.h>

#include "allocator/caching.h"
#include "allocator/follow/lengths/sweep.h"
#include "planner/lengths/orders/lay-out.h"
#include "planner/lengths/pins.h"

static TesseraStatus
read_start (TesseraLengthsBuild *build)
{
  const TesseraBlocks *blocks = build->blocks;
  uint32_t begin = build->structure->steps[0].begin_index;
  uint32_t n = tessera_first_born (blocks, begin);
  TesseraLengths *out = build->out;

  out->start = calloc (n + 1, sizeof *out->start);
  if (!out->start)
    return TESSERA_NO_MEMORY;
  out->n_start = n;
  for (uint32_t i = 0; i < n; i++)
    {
      const TesseraBlock *block = &blocks->blocks[i];
      uint32_t died = tessera_first_born (blocks, block->died_index);
      TesseraStartSlot *slot = &out->start[i];
      TesseraStatus status;

      *slot =
          (TesseraStartSlot){ .size_bytes = block->size_bytes,
                              .block_bytes = block->block_bytes ? block->block_bytes
                                                                : out->alignment_bytes,
                              .died = died > i ? died : i + 1,
                              .stream = block->stream,
                              .pool = block->pool,
                              .is_held = block->died_index > begin };
      if (slot->died > n)
        slot->died = n;
      status = tessera_lengths_phase (build, block->born_phase, &slot->phase);
      if (status != TESSERA_OK)
        return status;
    }
  return TESSERA_OK;
}

/* In the order of coming: in their step or part others may lie there until then. */
static void
place_staying (TesseraLengths *out,
               bool is_over_cuts,
               const uint64_t *block_bytes,
               TesseraPinGaps *gaps)
{
  for (uint32_t i = 0; i < out->n_slots; i++)
    {
      TesseraLengthsSlot *slot = &out->slots[i];

      if (slot->place == TESSERA_PLACE_FIXED && tessera_lengths_slot_stays (slot) &&
          slot->is_over_cuts == is_over_cuts)
        slot->offset_bytes = slot->spare_bytes =
            tessera_pin_gaps_take (gaps, block_bytes[slot->law]);
    }
}

/* Where it is pinned, else the lowest free place. */
static uint64_t
take (TesseraPinGaps *gaps, const uint64_t *pins, uint32_t index, uint64_t block_bytes)
{
  return pins && pins[index] != TESSERA_NOT_PINNED
             ? pins[index]
             : tessera_pin_gaps_take (gaps, block_bytes);
}

static TesseraStatus
place_fixed (const TesseraLengthsBuild *build,
             const uint64_t *block_bytes,
             TesseraError *error)
{
  TesseraLengths *out = build->out;
  const TesseraLengthsPins *pins = build->pins;
  TesseraPinGaps gaps;
  TesseraStatus status = tessera_pin_gaps_init (&gaps, build, block_bytes, error);

  if (status != TESSERA_OK)
    {
      tessera_pin_gaps_clear (&gaps);
      return status;
    }
  for (uint32_t i = 0; i < out->n_start; i++)
    if (out->start[i].is_held)
      out->start[i].offset_bytes =
          take (&gaps, pins->of_start, i, out->start[i].block_bytes);
  for (uint32_t i = 0; i < out->n_slots; i++)
    {
      TesseraLengthsSlot *slot = &out->slots[i];

      if (slot->place != TESSERA_PLACE_FIXED || tessera_lengths_slot_stays (slot))
        continue;
      slot->offset_bytes = take (&gaps, pins->of_slot, i, block_bytes[slot->law]);
      slot->spare_bytes = slot->offset_bytes;
      if (slot->crosses && tessera_lengths_outlives (build, i))
        slot->spare_bytes = tessera_pin_gaps_take (&gaps, block_bytes[slot->law]);
    }
  /* Highest what is others' meanwhile. */
  gaps.n_gaps = 0;
  place_staying (out, false, block_bytes, &gaps);
  place_staying (out, true, block_bytes, &gaps);
  out->fixed_bytes = gaps.top_bytes;
  tessera_pin_gaps_clear (&gaps);
  return TESSERA_OK;
}

/* What ends before the first step lies around what stays. */
static TesseraStatus
place_start (TesseraLengthsBuild *build, TesseraError *error)
{
  TesseraLengths *out = build->out;
  TesseraItem *items = calloc (out->n_start + 1, sizeof *items);
  uint64_t *offsets = calloc (out->n_start + 1, sizeof *offsets);
  TesseraPacking packing = { 0 };
  TesseraPackOptions options = { 0 };
  const uint64_t *pins = build->pins->of_start;
  bool splits = tessera_lengths_splits_sizes (build);
  TesseraStatus status = items && offsets ? TESSERA_OK : TESSERA_NO_MEMORY;

  if (build->options->pack)
    options = *build->options->pack;
  for (uint32_t i = 0; i < out->n_start && status == TESSERA_OK; i++)
    {
      const TesseraStartSlot *slot = &out->start[i];

      items[i] = (TesseraItem){ .size_bytes = slot->block_bytes,
                                .begin = i,
                                .end = slot->is_held ? out->n_start + 1 : slot->died,
                                .zone = splits && slot->block_bytes > TESSERA_SMALL_BYTES,
                                .is_pinned = slot->is_held,
                                .pinned_bytes = slot->offset_bytes };
      if (!slot->is_held && pins && pins[i] != TESSERA_NOT_PINNED)
        {
          items[i].is_pinned = true;
          items[i].pinned_bytes = pins[i];
        }
    }
  if (status == TESSERA_OK && out->n_start > 0)
    status = tessera_pack (items, out->n_start, &options, offsets, &packing);
  if (status == TESSERA_REFUSED)
    status = tessera_lengths_pins_refuse_start (build, packing.conflict, error);
  for (uint32_t i = 0; i < out->n_start && status == TESSERA_OK; i++)
    out->start[i].offset_bytes = offsets[i];
  out->start_bytes = packing.height_bytes;
  free (items);
  free (offsets);
  return status;
}

TesseraStatus
tessera_lengths_start (TesseraLengthsBuild *build, TesseraError *error)
{
  uint64_t *block_bytes =
      malloc (((size_t) build->out->n_laws + 1) * sizeof *block_bytes);
  TesseraStatus status = block_bytes ? read_start (build) : TESSERA_NO_MEMORY;

  if (status == TESSERA_OK)
    {
      status = tessera_sweep_sizes (build->out, &build->out->most, block_bytes)
                   ? place_fixed (build, block_bytes, error)
                   : TESSERA_INVALID;
    }
  free (block_bytes);
  return status == TESSERA_OK ? place_start (build, error) : status;
}
