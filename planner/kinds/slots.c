/*
 * The slots of a plan for several kinds of step: see db/plan.h for what they say.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include <assert.h>

#include "planner/kinds/plan.h"

static_assert (TESSERA_MAX_KINDS + 2 <= TESSERA_BUILD_MOST_SECTIONS,
               "a section for the start, each kind and the end");

typedef struct
{
  TesseraPlanBuild *build;
  TesseraCarries *carries;
  uint32_t section;
  size_t cap_crossings;
} Slots;

static void
add_slot (Slots *slots, const TesseraSlot *slot, uint32_t carry)
{
  TesseraCarries *carries = slots->carries;
  size_t index = slots->build->plan->n_slots;

  TESSERA_GROW (carries->of_slot, carries->cap_of_slot, index + 1);
  carries->of_slot[index] = carry;
  tessera_build_add_slot (slots->build, slot);
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
static void
add_start (Slots *slots, uint32_t index)
{
  const TesseraUnits *units = slots->carries->units;
  const TesseraBlock *block = &slots->build->blocks->blocks[index];
  uint32_t born = block->flags & TESSERA_AT_START ? 0 : block->born_index;
  uint32_t died = block->died_index, carry = TESSERA_NONE;
  TesseraSlot slot;

  if (slots->build->left_out[index])
    {
      tessera_build_placeless (slots->build, index, slots->section, born);
      return;
    }
  if (died >= units->end)
    died = tessera_units_outside (units, died);
  else if (died > units->begin)
    {
      carry = tessera_carries_take_start (slots->carries, index);
      died = carry != TESSERA_NONE ? units->begin : units->first_end;
    }
  slot = tessera_build_make_slot (slots->build, index, slots->section, born, died);
  add_slot (slots, &slot, carry);
}

static void
cross (Slots *slots, uint32_t kind, const uint32_t *ends)
{
  const TesseraUnits *units = slots->carries->units;
  TesseraPlan *plan = slots->build->plan;

  for (uint32_t k = 0; k < units->n_kinds; k++)
    {
      if (k == kind || ends[k] >= units->kinds[k].end)
        continue;
      TESSERA_GROW (plan->crossings, slots->cap_crossings, plan->n_crossings + 1);
      plan->crossings[plan->n_crossings++] =
          (TesseraCrossing){ .slot = (uint32_t) plan->n_slots,
                             .section = slots->section - kind + k,
                             .died = ends[k] };
    }
}

static void
add_spot (Slots *slots, TesseraSpot *spot)
{
  TesseraPlanBuild *build = slots->build;
  TesseraSlot slot = tessera_build_make_slot (build, spot->block, slots->section,
                                              spot->born, spot->died);

  if (spot->is_left_out)
    {
      tessera_build_placeless (build, spot->block, slots->section, spot->born);
      return;
    }
  spot->slot = (uint32_t) build->plan->n_slots;
  if (spot->carry != TESSERA_NONE)
    {
      const TesseraCarry *carry = &slots->carries->carries[spot->carry];
      const uint32_t *ends = carry->is_turn ? spot->ends : carry->ends;

      slot.wraps = true;
      slot.died_next = ends[spot->kind];
      slot.died =
          carry->after ? carry->after : slots->carries->units->kinds[spot->kind].end;
      cross (slots, spot->kind, ends);
    }
  add_slot (slots, &slot, spot->carry);
}

/* The places of a rota that a kind uses and makes no requests of its own for. */
static void
add_spares (Slots *slots, uint32_t kind)
{
  const TesseraCarries *carries = slots->carries;
  const TesseraStepKind *of = &carries->units->kinds[kind];

  for (uint32_t i = 0; i < carries->n_carries; i++)
    {
      const TesseraCarry *carry = &carries->carries[i];
      TesseraSlot slot;

      if (!carry->is_turn || carry->spots[kind] != TESSERA_NONE ||
          carries->carries[carry->rota].spots[kind] == TESSERA_NONE)
        continue;
      slot = tessera_build_make_slot (slots->build, carries->spots[carry->like].block,
                                      slots->section, of->end - 1, of->end);
      slot.wraps = true;
      slot.died = carry->after ? carry->after : of->end;
      slot.died_next = of->end - 1 > of->begin ? of->end - 1 : of->end;
      add_slot (slots, &slot, i);
      slots->build->n_spares[slots->section]++;
    }
}

static void
add_kind (Slots *slots, uint32_t kind)
{
  TesseraCarries *carries = slots->carries;

  for (uint32_t i = carries->first_spot[kind]; i < carries->first_spot[kind + 1]; i++)
    add_spot (slots, &carries->spots[i]);
  add_spares (slots, kind);
}

static void
add_end (Slots *slots, uint32_t index)
{
  const TesseraUnits *units = slots->carries->units;
  const TesseraBlock *block = &slots->build->blocks->blocks[index];
  uint32_t born = tessera_units_outside (units, block->born_index);
  const TesseraSlot slot =
      tessera_build_make_slot (slots->build, index, slots->section, born,
                               tessera_units_outside (units, block->died_index));

  if (slots->build->left_out[index])
    tessera_build_placeless (slots->build, index, slots->section, born);
  else
    add_slot (slots, &slot, TESSERA_NONE);
}

/* Blocks from @block on that are born before @until. */
static void
add_blocks (Slots *slots, uint32_t *block, uint32_t until, bool is_start)
{
  const TesseraBlocks *blocks = slots->build->blocks;

  for (; *block < blocks->n_blocks; ++*block)
    {
      const TesseraBlock *of = &blocks->blocks[*block];

      if (of->born_index >= until && !(of->flags & TESSERA_AT_START))
        break;
      if (is_start)
        add_start (slots, *block);
      else
        add_end (slots, *block);
    }
}

void
tessera_kinds_slots (TesseraPlanBuild *build, TesseraCarries *carries)
{
  const TesseraUnits *units = carries->units;
  Slots slots = { .build = build, .carries = carries };
  const TesseraBlocks *blocks = build->blocks;
  uint32_t block = 0;

  build->plan->sections = g_new0 (TesseraSection, TESSERA_MAX_KINDS + 2);
  if (units->begin > 0)
    {
      open_section (&slots, 0, units->begin, TESSERA_SECTION_ONCE);
      add_blocks (&slots, &block, units->begin, true);
      close_section (&slots);
    }
  for (uint32_t k = 0; k < units->n_kinds; k++)
    {
      open_section (&slots, units->kinds[k].begin, units->kinds[k].end,
                    TESSERA_SECTION_REPEATS);
      build->plan->sections[slots.section].n_steps = units->kinds[k].n_units;
      add_kind (&slots, k);
      close_section (&slots);
    }
  if (units->first_end == units->n_positions)
    return;
  while (block < blocks->n_blocks && blocks->blocks[block].born_index < units->end)
    block++;
  open_section (&slots, units->first_end, units->n_positions, TESSERA_SECTION_ONCE);
  add_blocks (&slots, &block, units->limit, false);
  close_section (&slots);
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

void
tessera_carries_rota (TesseraCarries *carries, TesseraSpot **spots, size_t n_spots)
{
  Rota rota = { .units = carries->units, .spots = spots, .n_spots = n_spots };
  uint32_t first = carries->n_carries, after = 0, n_of_kind = 0;
  size_t n_places;

  guess_ends (&rota);
  n_places = count_places (&rota);
  for (size_t i = 0; i < n_spots; i++)
    after = MAX (spots[i]->after, after);
  for (size_t i = 0; i < n_places; i++)
    {
      TesseraCarry *carry = tessera_carries_add (carries, spots[0]);

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
}
