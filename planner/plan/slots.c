/*
 * The slots of a plan, before they have places: see db/plan.h for what each field says.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/plan/build.h"

#include <assert.h>

static_assert (TESSERA_MAX_KINDS + 2 <= TESSERA_BUILD_MOST_SECTIONS,
               "a section for the start, each kind and the end");

typedef struct
{
  TesseraPlanBuild *build;
  TesseraCarries *carries;
  uint32_t section;
  size_t cap_crossings;
} Slots;

/* A slot of @block without an offset and names; the end is behind the birth. */
static TesseraSlot
make_slot (const Slots *slots, uint32_t block, uint32_t born, uint32_t died)
{
  const TesseraBlock *of = &slots->build->blocks->blocks[block];

  return (TesseraSlot){ .size_bytes = of->size_bytes,
                        .block_bytes = of->block_bytes,
                        .born = born,
                        .died = died > born ? died : born + 1,
                        .section = slots->section,
                        .phase = TESSERA_NONE,
                        .ordinal = TESSERA_NONE,
                        .group = of->group,
                        .block = block,
                        .stream = of->stream,
                        .pool = of->pool,
                        .lifetime_class = of->lifetime_class };
}

static void
add_slot (Slots *slots, const TesseraSlot *slot, uint32_t carry)
{
  TesseraCarries *carries = slots->carries;
  TesseraPlan *plan = slots->build->plan;

  TESSERA_GROW (carries->of_slot, carries->cap_of_slot, plan->n_slots + 1);
  TESSERA_GROW (plan->slots, slots->build->cap_slots, plan->n_slots + 1);
  carries->of_slot[plan->n_slots] = carry;
  plan->slots[plan->n_slots++] = *slot;
}

/* An unplanned request, without its names: it comes before the next slot that is added. */
static void
add_unplanned (Slots *slots, uint32_t block, uint32_t born)
{
  TesseraPlan *plan = slots->build->plan;
  const TesseraBlock *of = &slots->build->blocks->blocks[block];

  TESSERA_GROW (plan->unplanned, slots->build->cap_unplanned, plan->n_unplanned + 1);
  plan->unplanned[plan->n_unplanned++] =
      (TesseraUnplanned){ .size_bytes = of->size_bytes,
                          .block_bytes = of->block_bytes,
                          .section = slots->section,
                          .before = (uint32_t) plan->n_slots,
                          .born = born,
                          .phase = TESSERA_NONE,
                          .ordinal = TESSERA_NONE,
                          .block = block,
                          .stream = of->stream,
                          .pool = of->pool };
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
 * carry stands for the rest; of a single kind only up to its end. */
static void
add_start (Slots *slots, uint32_t index)
{
  const TesseraUnits *units = slots->carries->units;
  const TesseraBlock *block = &slots->build->blocks->blocks[index];
  uint32_t born = block->flags & TESSERA_AT_START ? 0 : block->born_index;
  uint32_t died = block->died_index, carry = slots->carries->of_start[index];
  TesseraSlot slot;

  if (slots->build->left_out[index])
    {
      add_unplanned (slots, index, born);
      return;
    }
  if (died >= units->end)
    died = tessera_units_outside (units, died);
  else if (carry != TESSERA_NONE)
    died = units->begin;
  else if (died > units->begin && (units->n_kinds > 1 || died > units->first_end))
    died = units->first_end;
  slot = make_slot (slots, index, born, died);
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
add_request (Slots *slots, TesseraKindRequest *request)
{
  TesseraPlanBuild *build = slots->build;
  TesseraSlot slot = make_slot (slots, request->block, request->born, request->died);

  if (request->is_left_out)
    {
      add_unplanned (slots, request->block, request->born);
      return;
    }
  request->slot = (uint32_t) build->plan->n_slots;
  if (request->carry != TESSERA_NONE)
    {
      const TesseraCarry *carry = &slots->carries->carries[request->carry];
      const uint32_t *ends = carry->is_turn ? request->ends : carry->ends;

      slot.wraps = true;
      slot.died_next = ends[request->kind];
      slot.died =
          carry->after ? carry->after : slots->carries->units->kinds[request->kind].end;
      cross (slots, request->kind, ends);
    }
  add_slot (slots, &slot, request->carry);
}

/* The places of a rotation that a kind uses and makes no requests of its own for. */
static void
add_spares (Slots *slots, uint32_t kind)
{
  const TesseraCarries *carries = slots->carries;
  const TesseraStepKind *of = &carries->units->kinds[kind];

  for (uint32_t i = 0; i < carries->n_carries; i++)
    {
      const TesseraCarry *carry = &carries->carries[i];
      TesseraSlot slot;

      if (!carry->is_turn || carry->requests[kind] != TESSERA_NONE ||
          carries->carries[carry->rotation].requests[kind] == TESSERA_NONE)
        continue;
      slot =
          make_slot (slots, carries->requests[carry->like].block, of->end - 1, of->end);
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

  for (uint32_t i = carries->first_request[kind]; i < carries->first_request[kind + 1];
       i++)
    add_request (slots, &carries->requests[i]);
  add_spares (slots, kind);
}

static void
add_end (Slots *slots, uint32_t index)
{
  const TesseraUnits *units = slots->carries->units;
  const TesseraBlock *block = &slots->build->blocks->blocks[index];
  uint32_t born = tessera_units_outside (units, block->born_index);
  const TesseraSlot slot =
      make_slot (slots, index, born, tessera_units_outside (units, block->died_index));

  if (slots->build->left_out[index])
    add_unplanned (slots, index, born);
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
tessera_build_add_slots (TesseraPlanBuild *build)
{
  const TesseraUnits *units = build->units;
  Slots slots = { .build = build, .carries = &build->carries };
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
      if (units->n_alternating > 0)
        build->plan->sections[slots.section].alternate =
            k < units->n_alternating ? TESSERA_ALTERNATE_FIRST : TESSERA_ALTERNATE_SECOND;
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
