/*
 * The slots of a plan for several kinds of step: see db/plan.h for what they say.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "db/array.h"

#include <assert.h>
#include <stdlib.h>

#include "planner/kinds/plan.h"
#include "planner/kinds/rota.h"

static_assert (TESSERA_MAX_KINDS + 2 <= TESSERA_BUILD_MOST_SECTIONS,
               "a section for the start, each kind and the end");

typedef struct
{
  TesseraPlanBuild *build;
  TesseraCarries *carries;
  uint32_t section;
  size_t cap_crossings;
} Slots;

static TesseraStatus
add_slot (Slots *slots, const TesseraSlot *slot, uint32_t carry)
{
  TesseraPlan *plan = slots->build->plan;
  TesseraCarries *carries = slots->carries;

  if (!TESSERA_RESERVE (plan->slots, slots->build->cap_slots, plan->n_slots + 1) ||
      !TESSERA_RESERVE (carries->of_slot, carries->cap_of_slot, plan->n_slots + 1))
    return TESSERA_NO_MEMORY;
  carries->of_slot[plan->n_slots] = carry;
  plan->slots[plan->n_slots++] = *slot;
  return TESSERA_OK;
}

static TesseraSlot
make_slot (const Slots *slots, uint32_t index, uint32_t born, uint32_t died)
{
  const TesseraBlock *block = &slots->build->blocks->blocks[index];

  return (TesseraSlot){ .size_bytes = block->size_bytes,
                        .block_bytes = block->block_bytes,
                        .born = born,
                        .died = died > born ? died : born + 1,
                        .section = slots->section,
                        .phase = TESSERA_NONE,
                        .ordinal = TESSERA_NONE,
                        .group = block->group,
                        .block = index,
                        .stream = block->stream,
                        .pool = block->pool,
                        .lifetime_class = block->lifetime_class };
}

static void
open_section (Slots *slots, uint32_t begin, uint32_t end, TesseraSectionKind kind)
{
  TesseraPlan *plan = slots->build->plan;

  slots->section = (uint32_t) plan->n_sections;
  plan->sections[plan->n_sections++] =
      (TesseraSection){ .begin = begin,
                        .end = end,
                        .first_slot = (uint32_t) plan->n_slots,
                        .kind = (uint8_t) kind };
}

static void
close_section (Slots *slots)
{
  TesseraSection *section = &slots->build->plan->sections[slots->section];

  section->n_slots = (uint32_t) slots->build->plan->n_slots - section->first_slot;
}

/* Up to the window's begin, and over all kinds of step where it lives longer, unless a
 * carry stands for the rest. */
static TesseraStatus
add_start (Slots *slots, uint32_t index)
{
  const TesseraUnits *units = slots->carries->units;
  const TesseraBlock *block = &slots->build->blocks->blocks[index];
  uint32_t born = block->flags & TESSERA_AT_START ? 0 : block->born_index;
  uint32_t died = block->died_index, carry = TESSERA_NONE;

  if (slots->build->left_out[index])
    return tessera_build_placeless (slots->build, index, slots->section, born);
  if (died >= units->end)
    died = tessera_units_outside (units, died);
  else if (died > units->begin)
    {
      carry = tessera_carries_take_start (slots->carries, index);
      died = carry != TESSERA_NONE ? units->begin : units->first_end;
    }
  const TesseraSlot slot = make_slot (slots, index, born, died);
  return add_slot (slots, &slot, carry);
}

static TesseraStatus
cross (Slots *slots, uint32_t kind, const uint32_t *ends)
{
  const TesseraUnits *units = slots->carries->units;
  TesseraPlan *plan = slots->build->plan;

  for (uint32_t k = 0; k < units->n_kinds; k++)
    {
      if (k == kind || ends[k] >= units->kinds[k].end)
        continue;
      if (!TESSERA_RESERVE (plan->crossings, slots->cap_crossings, plan->n_crossings + 1))
        return TESSERA_NO_MEMORY;
      plan->crossings[plan->n_crossings++] =
          (TesseraCrossing){ .slot = (uint32_t) plan->n_slots,
                             .section = slots->section - kind + k,
                             .died = ends[k] };
    }
  return TESSERA_OK;
}

static TesseraStatus
add_spot (Slots *slots, TesseraSpot *spot)
{
  TesseraSlot slot = make_slot (slots, spot->block, spot->born, spot->died);
  TesseraStatus status = TESSERA_OK;

  if (spot->is_left_out)
    return tessera_build_placeless (slots->build, spot->block, slots->section,
                                    spot->born);
  spot->slot = (uint32_t) slots->build->plan->n_slots;
  if (spot->carry != TESSERA_NONE)
    {
      const TesseraCarry *carry = &slots->carries->carries[spot->carry];
      const uint32_t *ends = carry->is_turn ? spot->ends : carry->ends;

      slot.wraps = true;
      slot.died_next = ends[spot->kind];
      slot.died =
          carry->after ? carry->after : slots->carries->units->kinds[spot->kind].end;
      status = cross (slots, spot->kind, ends);
    }
  return status == TESSERA_OK ? add_slot (slots, &slot, spot->carry) : status;
}

/* The places of a rota that a kind uses and makes no requests of its own for. */
static TesseraStatus
add_spares (Slots *slots, uint32_t kind)
{
  const TesseraCarries *carries = slots->carries;
  const TesseraStepKind *of = &carries->units->kinds[kind];

  for (uint32_t i = 0; i < carries->n_carries; i++)
    {
      const TesseraCarry *carry = &carries->carries[i];
      TesseraStatus status;

      if (!carry->is_turn || carry->spots[kind] != TESSERA_NONE ||
          carries->carries[carry->rota].spots[kind] == TESSERA_NONE)
        continue;
      TesseraSlot slot =
          make_slot (slots, carries->spots[carry->like].block, of->end - 1, of->end);
      slot.wraps = true;
      slot.died = carry->after ? carry->after : of->end;
      slot.died_next = of->end - 1 > of->begin ? of->end - 1 : of->end;
      status = add_slot (slots, &slot, i);
      if (status != TESSERA_OK)
        return status;
      slots->build->n_spares[slots->section]++;
    }
  return TESSERA_OK;
}

static TesseraStatus
add_kind (Slots *slots, uint32_t kind)
{
  TesseraCarries *carries = slots->carries;
  TesseraStatus status = TESSERA_OK;

  for (uint32_t i = carries->first_spot[kind];
       status == TESSERA_OK && i < carries->first_spot[kind + 1]; i++)
    status = add_spot (slots, &carries->spots[i]);
  return status == TESSERA_OK ? add_spares (slots, kind) : status;
}

static TesseraStatus
add_end (Slots *slots, uint32_t index)
{
  const TesseraUnits *units = slots->carries->units;
  const TesseraBlock *block = &slots->build->blocks->blocks[index];
  uint32_t born = tessera_units_outside (units, block->born_index);
  const TesseraSlot slot =
      make_slot (slots, index, born, tessera_units_outside (units, block->died_index));

  return slots->build->left_out[index]
             ? tessera_build_placeless (slots->build, index, slots->section, born)
             : add_slot (slots, &slot, TESSERA_NONE);
}

/* Blocks from @block on that are born before @until. */
static TesseraStatus
add_blocks (Slots *slots, uint32_t *block, uint32_t until, bool is_start)
{
  const TesseraBlocks *blocks = slots->build->blocks;
  TesseraStatus status = TESSERA_OK;

  for (; status == TESSERA_OK && *block < blocks->n_blocks; ++*block)
    {
      const TesseraBlock *of = &blocks->blocks[*block];

      if (of->born_index >= until && !(of->flags & TESSERA_AT_START))
        break;
      status = is_start ? add_start (slots, *block) : add_end (slots, *block);
    }
  return status;
}

TesseraStatus
tessera_kinds_slots (TesseraPlanBuild *build, TesseraCarries *carries)
{
  const TesseraUnits *units = carries->units;
  Slots slots = { .build = build, .carries = carries };
  const TesseraBlocks *blocks = build->blocks;
  uint32_t block = 0;
  TesseraStatus status = TESSERA_OK;

  build->plan->sections = calloc (TESSERA_MAX_KINDS + 2, sizeof *build->plan->sections);
  if (!build->plan->sections)
    return TESSERA_NO_MEMORY;
  if (units->begin > 0)
    {
      open_section (&slots, 0, units->begin, TESSERA_SECTION_ONCE);
      status = add_blocks (&slots, &block, units->begin, true);
      close_section (&slots);
    }
  for (uint32_t k = 0; status == TESSERA_OK && k < units->n_kinds; k++)
    {
      open_section (&slots, units->kinds[k].begin, units->kinds[k].end,
                    TESSERA_SECTION_REPEATS);
      build->plan->sections[slots.section].n_steps = units->kinds[k].n_units;
      status = add_kind (&slots, k);
      close_section (&slots);
    }
  if (status != TESSERA_OK || units->first_end == units->n_positions)
    return status;
  while (block < blocks->n_blocks && blocks->blocks[block].born_index < units->end)
    block++;
  open_section (&slots, units->first_end, units->n_positions, TESSERA_SECTION_ONCE);
  status = add_blocks (&slots, &block, units->limit, false);
  close_section (&slots);
  return status;
}

/*
 * Rotas of several kinds of step: how many places they need.
 *
 * A step of a kind *clears* a rota when all blocks that it finds of it end in it. Where
 * every kind that makes requests of the rota clears it, the blocks found are those of one
 * earlier step; else each kind may have left all that it makes. What was never seen to
 * enter a kind that makes such requests is taken to end with its step.
 */

typedef struct
{
  const TesseraUnits *units;
  TesseraSpot **spots;
  size_t n_spots;
  bool makes[TESSERA_MAX_KINDS];
  bool are_cleared;
} Rota;

static void
guess_ends (Rota *rota)
{
  rota->are_cleared = true;
  for (size_t i = 0; i < rota->n_spots; i++)
    rota->makes[rota->spots[i]->kind] = true;
  for (size_t i = 0; i < rota->n_spots; i++)
    for (uint32_t k = 0; k < rota->units->n_kinds; k++)
      {
        const TesseraStepKind *kind = &rota->units->kinds[k];
        uint32_t *end = &rota->spots[i]->ends[k];

        if (*end == 0)
          *end =
              rota->makes[k] && kind->end - kind->begin > 1 ? kind->end - 1 : kind->end;
        /* Of its own kind only ends count that are not before the birth. */
        if (k == rota->spots[i]->kind && *end < rota->spots[i]->born)
          *end = rota->spots[i]->born;
        if (k == rota->spots[i]->kind && *end <= kind->begin)
          *end = kind->begin + 1;
        if (rota->makes[k] && *end == kind->end)
          rota->are_cleared = false;
      }
}

/* Blocks that a step of @kind found and that are there at @position: of the one kind that
 * left most, or of all. */
static size_t
count_found (const Rota *rota, uint32_t kind, uint32_t position)
{
  size_t counts[TESSERA_MAX_KINDS] = { 0 }, most = 0, sum = 0;

  for (size_t i = 0; i < rota->n_spots; i++)
    counts[rota->spots[i]->kind] += rota->spots[i]->ends[kind] > position;
  for (uint32_t k = 0; k < rota->units->n_kinds; k++)
    {
      most = counts[k] > most ? counts[k] : most;
      sum += counts[k];
    }
  return rota->are_cleared ? most : sum;
}

static size_t
count_places (const Rota *rota)
{
  size_t most = 0, n_born = 0;

  for (size_t i = 0; i < rota->n_spots; i++)
    {
      const TesseraSpot *spot = rota->spots[i];
      size_t n;

      n_born = i > 0 && rota->spots[i - 1]->kind == spot->kind ? n_born + 1 : 1;
      n = n_born + count_found (rota, spot->kind, spot->born);
      most = n > most ? n : most;
    }
  return most;
}

TesseraStatus
tessera_carries_rota (TesseraCarries *carries, TesseraSpot **spots, size_t n_spots)
{
  Rota rota = { .units = carries->units, .spots = spots, .n_spots = n_spots };
  uint32_t first = carries->n_carries, after = 0, n_of_kind = 0;
  size_t n_places;

  guess_ends (&rota);
  n_places = count_places (&rota);
  for (size_t i = 0; i < n_spots; i++)
    after = spots[i]->after > after ? spots[i]->after : after;
  for (size_t i = 0; i < n_places; i++)
    {
      TesseraCarry *carry = tessera_carries_add (carries, spots[0]);

      if (!carry)
        return TESSERA_NO_MEMORY;
      carry->is_turn = true;
      carry->rota = first;
      carry->after = after;
      for (uint32_t k = 0; k < carries->units->n_kinds; k++)
        carry->ends[k] = carries->units->kinds[k].end;
    }
  for (size_t i = 0; i < n_spots; i++)
    {
      n_of_kind = i > 0 && spots[i - 1]->kind == spots[i]->kind ? n_of_kind + 1 : 0;
      spots[i]->carry = first + n_of_kind;
      carries->carries[first + n_of_kind].spots[spots[i]->kind] =
          (uint32_t) (spots[i] - carries->spots);
    }
  return TESSERA_OK;
}
