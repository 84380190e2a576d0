/*
 * A plan for one step: see instance.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/follow/lengths/instance.h"

#include <stdlib.h>
#include <string.h>

#include "allocator/follow/lengths/sweep.h"

#define MAX(a, b) ((a) > (b) ? (a) : (b))

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
  plan->unplanned = calloc ((size_t) n_positions + 1, sizeof *plan->unplanned);
  plan->sections = calloc (1, sizeof *plan->sections);
  plan->strings = calloc ((size_t) lengths->n_strings + 1, sizeof *plan->strings);
  if (!plan->slots || !plan->unplanned || !plan->sections || !plan->strings)
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

static bool
is_there (const TesseraInstanceOptions *options, uint32_t slot)
{
  return options->is_there && options->is_there[slot];
}

/* What is asked for in longer steps only, or in shorter ones. */
static bool
is_beyond (const TesseraLengthsSlot *slot, const TesseraParameters *parameters)
{
  uint64_t tokens = tessera_parameters_tokens (parameters);

  return tokens < slot->from_tokens || (slot->to_tokens > 0 && tokens > slot->to_tokens);
}

static bool
is_left_out (const TesseraLengthsSlot *slot, const TesseraInstanceOptions *options)
{
  return slot->seen == (options->is_first ? TESSERA_SEEN_LATER : TESSERA_SEEN_FIRST) &&
         !tessera_lengths_slot_stays (slot);
}

uint64_t
tessera_instance_base (const TesseraLengths *lengths,
                       const uint64_t *most_bytes,
                       const bool *is_there)
{
  uint64_t base = 0;

  for (uint32_t i = 0; i < lengths->n_start; i++)
    if (lengths->start[i].is_held && !lengths->start[i].is_left)
      base = MAX (base, lengths->start[i].offset_bytes + lengths->start[i].block_bytes);
  for (uint32_t i = 0; i < lengths->n_slots; i++)
    {
      const TesseraLengthsSlot *slot = &lengths->slots[i];

      if (slot->place != TESSERA_PLACE_FIXED || tessera_lengths_slot_turns (slot) ||
          (tessera_lengths_slot_stays (slot) && !(is_there && is_there[i])))
        continue;
      base = MAX (base, slot->offset_bytes + most_bytes[slot->law]);
      if (slot->crosses)
        base = MAX (base, slot->spare_bytes + most_bytes[slot->law]);
    }
  return base;
}

TesseraStatus
tessera_instance_floors (const TesseraLengths *lengths,
                         const uint64_t *most_bytes,
                         const bool *is_there,
                         uint64_t *out_floors)
{
  uint64_t *until = malloc (((size_t) lengths->n_slots + 1) * sizeof *until);
  uint64_t floor = tessera_instance_base (lengths, most_bytes, is_there);

  if (!until)
    return TESSERA_NO_MEMORY;
  for (uint32_t i = 0; i < lengths->n_slots; i++)
    {
      const TesseraLengthsSlot *slot = &lengths->slots[i];

      until[i] = floor;
      if (tessera_lengths_slot_stays (slot) && slot->place == TESSERA_PLACE_FIXED &&
          !(is_there && is_there[i]))
        floor = MAX (floor, slot->offset_bytes + most_bytes[slot->law]);
    }
  until[lengths->n_slots] = floor;
  for (uint32_t i = 0; i < lengths->n_slots; i++)
    out_floors[i] = until[lengths->slots[i].died];
  free (until);
  return TESSERA_OK;
}

/* Those that take turns do so together. */
static bool
in_spare (const TesseraLengths *lengths, const TesseraInstanceOptions *options)
{
  for (uint32_t i = 0; i < lengths->n_slots && options->is_spare; i++)
    if (tessera_lengths_slot_turns (&lengths->slots[i]))
      return options->is_spare[i];
  return false;
}

/* Offsets of the swept: [n_slots]. */
static TesseraStatus
sweep (const TesseraLengths *lengths,
       const TesseraParameters *parameters,
       const TesseraInstanceOptions *options,
       const uint64_t *block_bytes,
       const uint64_t *most_bytes,
       uint64_t *out_offsets)
{
  const bool is_lent = options->shares_once && options->is_first;
  const TesseraOrder *order = NULL;
  uint64_t *tops = malloc (((size_t) lengths->n_swept + 1) * sizeof *tops);
  uint64_t *floors = malloc (((size_t) lengths->n_slots + 1) * sizeof *floors);
  TesseraStatus status = tops && floors ? TESSERA_OK : TESSERA_NO_MEMORY;

  if (status == TESSERA_OK && is_lent)
    status = tessera_instance_floors (lengths, most_bytes, options->is_there, floors);
  if (status == TESSERA_OK && is_lent)
    (void) tessera_sweep_by (lengths, parameters, true, false, block_bytes, floors, tops,
                             &order);
  if (status == TESSERA_OK && !order)
    (void) tessera_sweep_by (lengths, parameters, false, in_spare (lengths, options),
                             block_bytes, is_lent ? floors : NULL, tops, &order);
  /* What is left out has no offset, and its top is where it would begin. */
  for (uint32_t i = 0; i < lengths->n_swept && status == TESSERA_OK; i++)
    if (!is_left_out (&lengths->slots[order->slots[i]], options))
      out_offsets[order->slots[i]] = tops[i] - block_bytes[order->laws[i]];
  free (tops);
  free (floors);
  return status;
}

/* ---- Slots ---- */

/* @slot without what is the same of all slots of such a plan. */
static void
add_slot (TesseraPlan *plan, uint32_t index, TesseraSlot slot)
{
  slot.born = slot.block = index;
  slot.group = TESSERA_NONE;
  plan->slots[plan->n_slots++] = slot;
}

/* It is asked for like @slot, and has no place: a follower that did not know would take it
 * for the next of its size. */
static void
add_unplanned (TesseraPlan *plan, uint32_t index, const TesseraSlot *slot)
{
  plan->unplanned[plan->n_unplanned++] =
      (TesseraUnplanned){ .size_bytes = slot->size_bytes,
                          .block_bytes = slot->block_bytes,
                          .before = (uint32_t) plan->n_slots,
                          .born = index,
                          .phase = slot->phase,
                          .block = index,
                          .stream = slot->stream,
                          .pool = slot->pool };
}

static TesseraSlot
slot_of_step (const TesseraLengthsSlot *of, uint64_t block_bytes, uint64_t offset_bytes)
{
  return (TesseraSlot){
    .size_bytes = block_bytes,
    .block_bytes = block_bytes,
    .offset_bytes = offset_bytes,
    .died = of->died,
    .phase = of->phase,
    .stream = of->stream,
    .pool = of->pool,
  };
}

static TesseraSlot
slot_of_start (const TesseraStartSlot *of, uint32_t n_start)
{
  return (TesseraSlot){
    .size_bytes = of->size_bytes,
    .block_bytes = of->block_bytes,
    .offset_bytes = of->offset_bytes,
    .died = of->is_held ? n_start : of->died,
    .phase = of->phase,
    .stream = of->stream,
    .pool = of->pool,
  };
}

/* Where a block of the slot lies that has no offset from a sweep. */
static uint64_t
fixed_offset (const TesseraLengthsSlot *of,
              bool is_spare,
              uint64_t block_bytes,
              uint64_t most_bytes)
{
  if (!is_spare)
    return of->offset_bytes;
  return tessera_lengths_slot_turns (of)
             ? tessera_sweep_spare (of, most_bytes, block_bytes)
             : of->spare_bytes;
}

static void
add_slots (TesseraPlan *plan,
           const TesseraLengths *lengths,
           const TesseraParameters *parameters,
           const TesseraInstanceOptions *options,
           const uint64_t *block_bytes,
           const uint64_t *most_bytes,
           const uint64_t *swept)
{
  for (uint32_t i = options->first_slot; i < lengths->n_slots; i++)
    {
      const TesseraLengthsSlot *of = &lengths->slots[i];
      bool is_spare = of->crosses && options->is_spare && options->is_spare[i];
      uint64_t bytes = block_bytes[of->law], offset_bytes = swept[i];
      bool is_too_large = of->place == TESSERA_PLACE_FIXED &&
                          !tessera_lengths_slot_turns (of) && bytes > most_bytes[of->law];
      TesseraSlot slot;

      if (is_left_out (of, options) || is_beyond (of, parameters) ||
          (tessera_lengths_slot_stays (of) && is_there (options, i)))
        continue;
      if (of->place != TESSERA_PLACE_SWEPT)
        offset_bytes = fixed_offset (of, is_spare, bytes, most_bytes[of->law]);
      slot = slot_of_step (of, bytes, offset_bytes);
      if (is_too_large || tessera_lengths_slot_is_kept (of))
        add_unplanned (plan, i, &slot);
      else if (of->place != TESSERA_PLACE_NONE)
        add_slot (plan, i, slot);
    }
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
       !tessera_sweep_sizes (lengths, &lengths->most, most_bytes)))
    status = TESSERA_INVALID;
  if (status == TESSERA_OK)
    status = sweep (lengths, parameters, options, block_bytes, most_bytes, swept);
  if (status == TESSERA_OK)
    status = new_plan (lengths, lengths->n_slots, &plan);
  if (status == TESSERA_OK)
    {
      add_slots (plan, lengths, parameters, options, block_bytes, most_bytes, swept);
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
      TesseraSlot slot = slot_of_start (&lengths->start[i], lengths->n_start);

      if (lengths->start[i].is_left)
        add_unplanned (plan, i, &slot);
      else
        add_slot (plan, i, slot);
    }
  if (status == TESSERA_OK)
    status = finish (plan);
  if (status == TESSERA_OK)
    *out_plan = plan;
  else
    tessera_plan_free (plan);
  return status;
}
