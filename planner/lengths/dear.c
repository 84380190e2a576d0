/*
 * Plans for every length that take more than there ever is, and are not made: expandable
 * rules serve better.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdlib.h>

#include "allocator/follow/lengths/sweep.h"
#include "planner/lengths/pins.h"

enum
{
  DEAR_SHARE = 4, /* above the trace's own load by more, expandable rules serve better */
  LITTLE_SHARE = 64, /* of a step's height: it is not for want of a law that it is dear */
  MISFIT_SHARE = 10  /* of the bytes of a step, as for those who follow */
};

static TesseraStatus
refuse_height (const TesseraLengthsBuild *build, double percent, TesseraError *error)
{
  const TesseraLengthsEdits *edits = build->edits;
  uint32_t pin = tessera_lengths_pins_highest (build);

  if (pin != TESSERA_NONE)
    return tessera_fail (error, TESSERA_REFUSED,
                         "the edit \"%s\" %s that a step would take %.0f %% "
                         "of the most that is ever alive, since what moves with the "
                         "length lies above: no plan for every length is made with it",
                         edits->edits[pin].name,
                         edits->edits[pin].kind == TESSERA_EDIT_PIN
                             ? "pins so high"
                             : "keeps so much together",
                         percent);
  if (edits->fixing != TESSERA_NONE)
    return tessera_fail (error, TESSERA_REFUSED,
                         "the edit \"%s\" keeps so much apart that a step would take "
                         "%.0f %% of the most that is ever alive: no plan for every "
                         "length is made with it",
                         edits->edits[edits->fixing].name, percent);
  return tessera_fail (error, TESSERA_REFUSED,
                       "sizes vary by a law, but what can't move with the length "
                       "is too much: a step would take %.0f %% of the most that is "
                       "ever alive: no plan for every length",
                       percent);
}

/* What is swept when each slot comes. */
static void
list_loads (const TesseraLengths *out, const uint64_t *block_bytes, uint64_t *loads)
{
  uint64_t load = 0;

  for (uint32_t i = 0; i <= out->n_slots; i++)
    loads[i] = 0;
  for (uint32_t i = 0; i < out->n_slots; i++)
    if (out->slots[i].place == TESSERA_PLACE_SWEPT)
      {
        loads[i] += block_bytes[out->slots[i].law];
        loads[out->slots[i].died] -= block_bytes[out->slots[i].law];
      }
  for (uint32_t i = 0; i < out->n_slots; i++)
    loads[i] = load += loads[i];
}

/* What the step takes at the least where the block, which has the size of no slot, lies
 * beside all that the plan holds meanwhile. */
static uint64_t
weigh_lawless (const TesseraLengths *out,
               const TesseraLengthsSlot *slot,
               uint32_t index,
               uint64_t bytes,
               const uint64_t *loads)
{
  uint64_t most = 0;

  for (uint32_t i = index; i < slot->died && i < out->n_slots; i++)
    most = loads[i] > most ? loads[i] : most;
  return out->fixed_bytes + most + bytes;
}

/* What observed steps ask for in sizes without a law. */
typedef struct
{
  uint64_t most_bytes; /* that a step takes with it */
  uint32_t n_misfits;  /* steps whose requests miss for more than a share */
} Lawless;

/* A size without a law is matched by the largest one only (of two lengths, its place is a
 * room): else the place is held, and the block lies elsewhere. */
static bool
is_lawless (const TesseraLengths *out,
            uint32_t slot,
            uint64_t size_bytes,
            const uint64_t *block_bytes)
{
  uint32_t law = out->slots[slot].law;

  return out->most.second == 0 && out->slots[slot].place == TESSERA_PLACE_SWEPT &&
         out->laws[law].kind == TESSERA_SIZE_BOUNDED &&
         size_bytes + out->alignment_bytes <= block_bytes[law];
}

static void
look_at_step (const TesseraLengthsBuild *build,
              uint32_t k,
              uint64_t height_bytes,
              const uint64_t *block_bytes,
              uint64_t *loads,
              Lawless *lawless)
{
  const TesseraLengths *out = build->out;
  uint64_t asked = 0, missed = 0;

  list_loads (out, block_bytes, loads);
  for (uint32_t i = 0; i < out->n_slots; i++)
    {
      uint32_t block = tessera_kind_block (build->kind, i, k);
      uint64_t size, bytes;

      if (block == TESSERA_NONE)
        continue;
      size = build->blocks->blocks[block].size_bytes;
      asked += size;
      if (!is_lawless (out, i, size, block_bytes))
        continue;
      missed += size;
      bytes = weigh_lawless (out, &out->slots[i], i, size, loads);
      if (bytes > height_bytes + height_bytes / LITTLE_SHARE &&
          bytes > lawless->most_bytes)
        lawless->most_bytes = bytes;
    }
  lawless->n_misfits += missed > asked / MISFIT_SHARE;
}

/* What expandable segments do with such sizes is looked at only where the plan takes more
 * than there ever is alive. */
static TesseraStatus
refuse_lawless (const TesseraLengthsBuild *build,
                const Lawless *lawless,
                uint64_t load,
                TesseraError *error)
{
  uint64_t online_bytes;
  TesseraStatus status;

  if (lawless->most_bytes <= load)
    return TESSERA_OK;
  if (2 * lawless->n_misfits > build->out->n_observed)
    return tessera_fail (error, TESSERA_REFUSED,
                         "sizes vary by a law, but most steps ask for more than a tenth "
                         "of their bytes in sizes that have none: such a plan would be "
                         "declined, no plan for every length");
  status = tessera_lengths_online (build, &online_bytes);
  if (status != TESSERA_OK || lawless->most_bytes <= online_bytes)
    return status;
  return tessera_fail (error, TESSERA_REFUSED,
                       "sizes vary by a law, but a large one has none: with it a step "
                       "would take %.0f %% of the most that is ever alive, where "
                       "expandable segments take %.0f %%: no plan for every length",
                       100.0 * (double) lawless->most_bytes / (double) load,
                       100.0 * (double) online_bytes / (double) load);
}

/* What can't move with the length (blocks that live into the next step in sizes that
 * vary, requests that each step makes otherwise) may take more than there ever is, and so
 * may what an edit fixes. */
TesseraStatus
tessera_lengths_refuse_dear (const TesseraLengthsBuild *build, TesseraError *error)
{
  const TesseraLengths *out = build->out;
  uint64_t load = tessera_blocks_bound (build->blocks, 0, build->blocks->n_events, NULL);
  uint64_t *block_bytes = malloc (((size_t) out->n_laws + 1) * sizeof *block_bytes);
  uint64_t *loads = malloc (((size_t) out->n_slots + 1) * sizeof *loads);
  TesseraStatus status = block_bytes && loads ? TESSERA_OK : TESSERA_NO_MEMORY;
  Lawless lawless = { 0 };

  for (uint32_t k = 0; k < out->n_observed && status == TESSERA_OK; k++)
    {
      TesseraLengthsNeed need;

      status = tessera_lengths_measure (out, &out->observed[k], &need);
      if (status == TESSERA_OK && need.height_bytes > load + load / DEAR_SHARE)
        status = refuse_height (build, 100.0 * (double) need.height_bytes / (double) load,
                                error);
      else if (status == TESSERA_OK &&
               tessera_sweep_sizes (out, &out->observed[k], block_bytes))
        look_at_step (build, k, need.height_bytes, block_bytes, loads, &lawless);
      else if (status == TESSERA_INVALID) /* a law gives no size there */
        status = TESSERA_OK;
    }
  if (status == TESSERA_OK)
    status = refuse_lawless (build, &lawless, load, error);
  free (block_bytes);
  free (loads);
  return status;
}
