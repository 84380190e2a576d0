/*
 * Fixed places of a plan for every length: what is there for good lies lowest.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdlib.h>

#include "allocator/caching.h"
#include "allocator/follow/sweep.h"
#include "planner/laws/lay-out.h"

static uint64_t
take (uint64_t *next, uint64_t block_bytes)
{
  uint64_t offset_bytes = *next;

  *next += block_bytes;
  return offset_bytes;
}

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
               uint64_t *next)
{
  for (uint32_t i = 0; i < out->n_slots; i++)
    {
      TesseraLengthsSlot *slot = &out->slots[i];

      if (slot->place == TESSERA_PLACE_FIXED && tessera_lengths_slot_stays (slot) &&
          slot->is_over_cuts == is_over_cuts)
        slot->offset_bytes = slot->spare_bytes = take (next, block_bytes[slot->law]);
    }
}

static void
place_fixed (const TesseraLengthsBuild *build, const uint64_t *block_bytes)
{
  TesseraLengths *out = build->out;
  uint64_t next = 0;

  for (uint32_t i = 0; i < out->n_start; i++)
    if (out->start[i].is_held)
      out->start[i].offset_bytes = take (&next, out->start[i].block_bytes);
  for (uint32_t i = 0; i < out->n_slots; i++)
    {
      TesseraLengthsSlot *slot = &out->slots[i];

      if (slot->place != TESSERA_PLACE_FIXED || tessera_lengths_slot_stays (slot))
        continue;
      slot->offset_bytes = take (&next, block_bytes[slot->law]);
      slot->spare_bytes = slot->offset_bytes;
      if (slot->crosses && tessera_lengths_outlives (build, i))
        slot->spare_bytes = take (&next, block_bytes[slot->law]);
    }
  /* Highest what is others' meanwhile. */
  place_staying (out, false, block_bytes, &next);
  place_staying (out, true, block_bytes, &next);
  out->fixed_bytes = next;
}

/* What ends before the first step lies around what stays. */
static TesseraStatus
place_start (TesseraLengthsBuild *build)
{
  TesseraLengths *out = build->out;
  TesseraItem *items = calloc (out->n_start + 1, sizeof *items);
  uint64_t *offsets = calloc (out->n_start + 1, sizeof *offsets);
  TesseraPacking packing = { 0 };
  TesseraPackOptions options = { 0 };
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
    }
  if (status == TESSERA_OK && out->n_start > 0)
    status = tessera_pack (items, out->n_start, &options, offsets, &packing);
  for (uint32_t i = 0; i < out->n_start && status == TESSERA_OK; i++)
    out->start[i].offset_bytes = offsets[i];
  out->start_bytes = packing.height_bytes;
  free (items);
  free (offsets);
  return status;
}

TesseraStatus
tessera_lengths_start (TesseraLengthsBuild *build)
{
  uint64_t *block_bytes =
      malloc (((size_t) build->out->n_laws + 1) * sizeof *block_bytes);
  TesseraStatus status = block_bytes ? read_start (build) : TESSERA_NO_MEMORY;

  if (status == TESSERA_OK)
    {
      if (tessera_sweep_sizes (build->out, &build->out->most, block_bytes))
        place_fixed (build, block_bytes);
      else
        status = TESSERA_INVALID;
    }
  free (block_bytes);
  return status == TESSERA_OK ? place_start (build) : status;
}
