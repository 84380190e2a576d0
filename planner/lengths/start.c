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
  const TesseraEditedPlaces *edited = &build->edits->start;
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

      *slot = (TesseraStartSlot){
        .size_bytes = block->size_bytes,
        .block_bytes = block->block_bytes ? block->block_bytes : out->alignment_bytes,
        .died = died > i ? died : i + 1,
        .stream = block->stream,
        .pool = block->pool,
        .is_held = block->died_index > begin || (edited->fixes && edited->fixes[i]),
        .is_left = edited->leaves && edited->leaves[i]
      };
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
  const TesseraLengthsEdits *edits = build->edits;
  TesseraPinGaps gaps;
  TesseraStatus status = tessera_pin_gaps_init (&gaps, build, block_bytes, error);

  if (status != TESSERA_OK)
    {
      tessera_pin_gaps_clear (&gaps);
      return status;
    }
  for (uint32_t i = 0; i < out->n_start; i++)
    if (out->start[i].is_held && !out->start[i].is_left)
      out->start[i].offset_bytes =
          take (&gaps, edits->start.pins, i, out->start[i].block_bytes);
  for (uint32_t i = 0; i < out->n_slots; i++)
    {
      TesseraLengthsSlot *slot = &out->slots[i];

      if (slot->place != TESSERA_PLACE_FIXED || tessera_lengths_slot_stays (slot))
        continue;
      slot->offset_bytes = take (&gaps, edits->slots.pins, i, block_bytes[slot->law]);
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

/* One that has a place. What ends before the first step lies around what stays. */
static TesseraItem
item_of_start (const TesseraLengthsBuild *build, uint32_t index)
{
  const TesseraStartSlot *slot = &build->out->start[index];
  const uint64_t *pins = build->edits->start.pins;
  TesseraItem item = { .size_bytes = slot->block_bytes,
                       .begin = index,
                       .end = slot->is_held ? build->out->n_start + 1 : slot->died,
                       .zone = tessera_lengths_splits_sizes (build) &&
                               slot->block_bytes > TESSERA_SMALL_BYTES,
                       .is_pinned = slot->is_held,
                       .pinned_bytes = slot->offset_bytes };

  if (!slot->is_held && pins && pins[index] != TESSERA_NOT_PINNED)
    {
      item.is_pinned = true;
      item.pinned_bytes = pins[index];
    }
  return item;
}

static TesseraStatus
place_start (TesseraLengthsBuild *build, TesseraError *error)
{
  TesseraLengths *out = build->out;
  TesseraItem *items = calloc (out->n_start + 1, sizeof *items);
  uint32_t *slots = calloc (out->n_start + 1, sizeof *slots), n = 0;
  uint64_t *offsets = calloc (out->n_start + 1, sizeof *offsets);
  TesseraPacking packing = { 0 };
  TesseraPackOptions options = { 0 };
  TesseraStatus status = items && offsets && slots ? TESSERA_OK : TESSERA_NO_MEMORY;

  if (build->options->pack)
    options = *build->options->pack;
  for (uint32_t i = 0; i < out->n_start && status == TESSERA_OK; i++)
    if (!out->start[i].is_left)
      {
        items[n] = item_of_start (build, i);
        slots[n++] = i;
      }
  if (status == TESSERA_OK && n > 0)
    status = tessera_pack (items, n, &options, offsets, &packing);
  if (status == TESSERA_REFUSED)
    {
      const uint32_t conflict[] = { slots[packing.conflict[0]],
                                    slots[packing.conflict[1]] };

      status = tessera_lengths_pins_refuse_start (build, conflict, error);
    }
  for (uint32_t i = 0; i < n && status == TESSERA_OK; i++)
    out->start[slots[i]].offset_bytes = offsets[i];
  out->start_bytes = packing.height_bytes;
  free (items);
  free (slots);
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
