/*
 * A plan for one step: see instance.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/follow/instance.h"

#include <stdlib.h>
#include <string.h>

#include "allocator/follow/sweep.h"

/* A plan with room for its slots, and the names. */
static TesseraStatus
new_plan (const TesseraLengths *lengths, uint32_t n_positions, TesseraPlan **out_plan)
{
  TesseraPlan *plan;
  TesseraStatus status = tessera_plan_new (out_plan);

  if (status != TESSERA_OK)
    return status;
  plan = *out_plan;
  plan->alignment_bytes = lengths->alignment_bytes;
  plan->n_positions = n_positions > 0 ? n_positions : 1;
  plan->followable = TESSERA_FOLLOWABLE_SAME_BATCHES;
  plan->slots = calloc ((size_t) n_positions + 1, sizeof *plan->slots);
  plan->sections = calloc (1, sizeof *plan->sections);
  plan->strings = calloc ((size_t) lengths->n_strings + 1, sizeof *plan->strings);
  if (!plan->slots || !plan->sections || !plan->strings)
    return TESSERA_NO_MEMORY;
  plan->n_sections = 1;
  for (; plan->n_strings < lengths->n_strings; plan->n_strings++)
    {
      plan->strings[plan->n_strings] = strdup (lengths->strings[plan->n_strings]);
      if (!plan->strings[plan->n_strings])
        return TESSERA_NO_MEMORY;
    }
  return TESSERA_OK;
}

/* Height, section, bound and digest, once the slots are there. */
static TesseraStatus
finish (TesseraPlan *plan)
{
  uint64_t *ending = calloc ((size_t) plan->n_positions + 1, sizeof *ending);
  uint64_t load = 0;
  uint32_t ended = 0;

  if (!ending)
    return TESSERA_NO_MEMORY;
  for (size_t i = 0; i < plan->n_slots; i++)
    {
      const TesseraSlot *slot = &plan->slots[i];
      uint64_t end_bytes = slot->offset_bytes + slot->block_bytes;

      for (; ended <= slot->born; ended++)
        load -= ending[ended];
      load += slot->block_bytes;
      ending[slot->died] += slot->block_bytes;
      if (load > plan->bound_bytes)
        plan->bound_bytes = load;
      if (end_bytes > plan->height_bytes)
        plan->height_bytes = end_bytes;
      if (slot->stream >= plan->n_streams)
        plan->n_streams = slot->stream + 1u;
    }
  free (ending);
  plan->n_streams += plan->n_streams == 0;
  plan->sections[0] = (TesseraSection){ .begin = 0,
                                        .end = plan->n_positions,
                                        .n_slots = (uint32_t) plan->n_slots,
                                        .kind = TESSERA_SECTION_ONCE };
  plan->slot_digest = tessera_plan_digest (plan);
  return TESSERA_OK;
}

/* Offsets of the swept: [n_slots]. */
static TesseraStatus
sweep (const TesseraLengths *lengths,
       const TesseraParameters *parameters,
       const uint64_t *block_bytes,
       uint64_t *out_offsets)
{
  const TesseraOrder *order = tessera_sweep_order (lengths, parameters);
  uint64_t *tops = malloc (((size_t) lengths->n_swept + 1) * sizeof *tops);

  if (!tops)
    return TESSERA_NO_MEMORY;
  (void) tessera_sweep (lengths, order, block_bytes, tops);
  for (uint32_t i = 0; i < lengths->n_swept; i++)
    out_offsets[order->slots[i]] = tops[i] - block_bytes[order->laws[i]];
  free (tops);
  return TESSERA_OK;
}

static void
add_slot (TesseraPlan *plan,
          const TesseraLengths *lengths,
          uint32_t index,
          uint64_t block_bytes,
          uint64_t offset_bytes)
{
  const TesseraLengthsSlot *of = &lengths->slots[index];

  plan->slots[plan->n_slots++] = (TesseraSlot){
    .size_bytes = block_bytes,
    .block_bytes = block_bytes,
    .offset_bytes = offset_bytes,
    .born = index,
    .died = of->died,
    .phase = of->phase,
    .group = TESSERA_NONE,
    .block = index,
    .stream = of->stream,
    .pool = of->pool,
  };
}

static void
add_slots (TesseraPlan *plan,
           const TesseraLengths *lengths,
           const TesseraInstanceOptions *options,
           const uint64_t *block_bytes,
           const uint64_t *swept)
{
  for (uint32_t i = options->first_slot; i < lengths->n_slots; i++)
    {
      const TesseraLengthsSlot *of = &lengths->slots[i];
      bool is_spare = of->crosses && options->is_spare && options->is_spare[i];

      if (of->place == TESSERA_PLACE_NONE || (of->is_once && options->without_once))
        continue;
      add_slot (plan, lengths, i, block_bytes[of->law],
                of->place == TESSERA_PLACE_SWEPT ? swept[i]
                : is_spare                       ? of->spare_bytes
                                                 : of->offset_bytes);
    }
}

/* Whether all fixed places are large enough: beyond what the plan is for they are not. */
static bool
fits_fixed (const TesseraLengths *lengths,
            const uint64_t *block_bytes,
            const uint64_t *most_bytes)
{
  for (uint32_t i = 0; i < lengths->n_slots; i++)
    if (lengths->slots[i].place == TESSERA_PLACE_FIXED &&
        block_bytes[lengths->slots[i].law] > most_bytes[lengths->slots[i].law])
      return false;
  return true;
}

TesseraStatus
tessera_instance_of_step (const TesseraLengths *lengths,
                          const TesseraParameters *parameters,
                          const TesseraInstanceOptions *options,
                          TesseraPlan **out_plan)
{
  uint64_t *block_bytes = malloc (((size_t) lengths->n_laws + 1) * sizeof *block_bytes);
  uint64_t *most_bytes = malloc (((size_t) lengths->n_laws + 1) * sizeof *most_bytes);
  uint64_t *swept = calloc ((size_t) lengths->n_slots + 1, sizeof *swept);
  TesseraPlan *plan = NULL;
  TesseraStatus status =
      block_bytes && most_bytes && swept ? TESSERA_OK : TESSERA_NO_MEMORY;

  *out_plan = NULL;
  if (status == TESSERA_OK &&
      (!tessera_sweep_sizes (lengths, parameters, block_bytes) ||
       !tessera_sweep_sizes (lengths, &lengths->most, most_bytes) ||
       !fits_fixed (lengths, block_bytes, most_bytes)))
    status = TESSERA_INVALID;
  if (status == TESSERA_OK)
    status = sweep (lengths, parameters, block_bytes, swept);
  if (status == TESSERA_OK)
    status = new_plan (lengths, lengths->n_slots, &plan);
  if (status == TESSERA_OK)
    {
      add_slots (plan, lengths, options, block_bytes, swept);
      status = finish (plan);
    }
  if (status == TESSERA_OK)
    *out_plan = plan;
  else
    tessera_plan_free (plan);
  free (block_bytes);
  free (most_bytes);
  free (swept);
  return status;
}

TesseraStatus
tessera_instance_of_start (const TesseraLengths *lengths, TesseraPlan **out_plan)
{
  TesseraPlan *plan = NULL;
  TesseraStatus status = new_plan (lengths, lengths->n_start, &plan);

  *out_plan = NULL;
  for (uint32_t i = 0; i < lengths->n_start && status == TESSERA_OK; i++)
    {
      const TesseraStartSlot *of = &lengths->start[i];

      plan->slots[plan->n_slots++] = (TesseraSlot){
        .size_bytes = of->size_bytes,
        .block_bytes = of->block_bytes,
        .offset_bytes = of->offset_bytes,
        .born = i,
        .died = of->is_held ? lengths->n_start : of->died,
        .phase = of->phase,
        .group = TESSERA_NONE,
        .block = i,
        .stream = of->stream,
        .pool = of->pool,
      };
    }
  if (status == TESSERA_OK)
    status = finish (plan);
  if (status == TESSERA_OK)
    *out_plan = plan;
  else
    tessera_plan_free (plan);
  return status;
}
