/*
 * What a step of a given length takes: see lengths.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdlib.h>

#include "allocator/follow/lengths/sweep.h"
#include "planner/lengths.h"

#define LONGEST (UINT64_C (1) << 21)

/* Whether the block of the step before is there still when the slot's own comes: of a
 * size that is always the same. */
static bool
takes_turns (const TesseraLengths *lengths, const TesseraLengthsSlot *slot)
{
  return slot->place == TESSERA_PLACE_FIXED && slot->crosses &&
         slot->spare_bytes != slot->offset_bytes &&
         lengths->laws[slot->law].kind == TESSERA_SIZE_CONSTANT;
}

/* The largest load of what is not there for good. */
static TesseraStatus
largest_load (const TesseraLengths *lengths,
              const uint64_t *block_bytes,
              uint64_t *out_bytes)
{
  uint64_t *ending = calloc ((size_t) lengths->n_slots + 1, sizeof *ending);
  uint64_t load = 0;

  *out_bytes = 0;
  if (!ending)
    return TESSERA_NO_MEMORY;
  for (uint32_t i = 0; i < lengths->n_slots; i++)
    if (takes_turns (lengths, &lengths->slots[i]))
      {
        load += block_bytes[lengths->slots[i].law];
        ending[i + 1] += block_bytes[lengths->slots[i].law];
      }
  for (uint32_t i = 0; i < lengths->n_slots; i++)
    {
      const TesseraLengthsSlot *slot = &lengths->slots[i];

      load -= ending[i];
      if (slot->place == TESSERA_PLACE_NONE || tessera_lengths_slot_stays (slot))
        continue;
      load += block_bytes[slot->law];
      ending[slot->died] += block_bytes[slot->law];
      if (load > *out_bytes)
        *out_bytes = load;
    }
  free (ending);
  return TESSERA_OK;
}

static uint64_t
there_for_good (const TesseraLengths *lengths, const uint64_t *block_bytes)
{
  uint64_t sum = 0;

  for (uint32_t i = 0; i < lengths->n_start; i++)
    if (lengths->start[i].is_held && !lengths->start[i].is_left)
      sum += lengths->start[i].block_bytes;
  for (uint32_t i = 0; i < lengths->n_slots; i++)
    if (tessera_lengths_slot_stays (&lengths->slots[i]))
      sum += block_bytes[lengths->slots[i].law];
  return sum;
}

/* What the fixed places lack beyond what the plan is for. */
static uint64_t
lacking (const TesseraLengths *lengths,
         const uint64_t *block_bytes,
         const uint64_t *most_bytes)
{
  uint64_t sum = 0;

  for (uint32_t i = 0; i < lengths->n_slots; i++)
    {
      const TesseraLengthsSlot *slot = &lengths->slots[i];

      if (slot->place == TESSERA_PLACE_FIXED &&
          block_bytes[slot->law] > most_bytes[slot->law])
        sum += (block_bytes[slot->law] - most_bytes[slot->law]) *
               (slot->spare_bytes != slot->offset_bytes ? 2 : 1);
    }
  return sum;
}

/* What has no place and lives on when the next step asks for its like. */
static uint64_t
beside (const TesseraLengths *lengths, const uint64_t *block_bytes)
{
  uint64_t sum = 0;

  for (uint32_t i = 0; i < lengths->n_slots; i++)
    if (tessera_lengths_slot_is_kept (&lengths->slots[i]))
      sum += 2 * block_bytes[lengths->slots[i].law];
  return sum;
}

TesseraStatus
tessera_lengths_measure (const TesseraLengths *lengths,
                         const TesseraParameters *parameters,
                         TesseraLengthsNeed *out_need)
{
  uint64_t *sizes = malloc (((size_t) lengths->n_laws + 1) * sizeof *sizes);
  uint64_t *most = malloc (((size_t) lengths->n_laws + 1) * sizeof *most);
  uint64_t *tops = malloc (((size_t) lengths->n_swept + 1) * sizeof *tops);
  TesseraStatus status = TESSERA_NO_MEMORY;
  const TesseraOrder *order;
  uint64_t load;

  *out_need = (TesseraLengthsNeed){ 0 };
  if (!sizes || !most || !tops)
    goto out;
  status = TESSERA_INVALID;
  if (!tessera_sweep_sizes (lengths, parameters, sizes) ||
      !tessera_sweep_sizes (lengths, &lengths->most, most))
    goto out;
  out_need->height_bytes =
      tessera_sweep_by (lengths, parameters, false, sizes, NULL, tops, &order);
  out_need->height_bytes += lacking (lengths, sizes, most);
  out_need->beside_bytes = beside (lengths, sizes);
  status = largest_load (lengths, sizes, &load);
  out_need->bound_bytes = there_for_good (lengths, sizes) + load;
out:
  free (sizes);
  free (most);
  free (tops);
  return status;
}

/* Shorter than any step with these laws: one gives less than nothing. */
static bool
is_too_short (const TesseraLengths *lengths, const TesseraParameters *parameters)
{
  for (uint32_t i = 0; i < lengths->n_laws; i++)
    if (tessera_size_law_is_below (&lengths->laws[i], parameters, 0))
      return true;
  return false;
}

/* Where a law gives no size, of a step that would be too long, it does not. */
static TesseraStatus
fits (const TesseraLengths *lengths,
      const TesseraParameters *parameters,
      uint64_t device_bytes,
      bool *out_fits)
{
  TesseraLengthsNeed need;
  TesseraStatus status = tessera_lengths_measure (lengths, parameters, &need);

  *out_fits =
      status == TESSERA_OK && need.height_bytes + need.beside_bytes <= device_bytes;
  return status == TESSERA_NO_MEMORY ? status : TESSERA_OK;
}

TesseraStatus
tessera_lengths_longest (const TesseraLengths *lengths,
                         uint64_t batch,
                         uint64_t device_bytes,
                         uint64_t *out_length)
{
  uint64_t low = 1, high = LONGEST;

  *out_length = 0;
  while (low < high)
    {
      const TesseraParameters middle = { batch, low + (high - low) / 2 };
      bool does_fit;
      TesseraStatus status = fits (lengths, &middle, device_bytes, &does_fit);

      if (status != TESSERA_OK)
        return status;
      if (does_fit)
        *out_length = middle.length;
      if (does_fit || is_too_short (lengths, &middle))
        low = middle.length + 1;
      else
        high = middle.length;
    }
  return TESSERA_OK;
}
