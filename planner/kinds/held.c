/*
 * What edits hold while one kind of step is packed: see pack.h.
 *
 * With the first kind come all pins of other kinds too, and all that is to stay together:
 * in moments of their own kind, behind all others, where they meet each other. What the
 * first kind's packing places for all kinds (carries, the start) keeps out of their way:
 * where the two may be there together they are of sets that are apart.
 *
 * After the first kind these have their places. What is kept apart from others and has
 * one is there in each later packing, in a moment of its own, where it is in nobody's way
 * but of those.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/kinds/pack.h"

/* Own sets, of each kind one, are the last (own_sets of the holds). */
static uint64_t
set_of_kind (uint32_t kind)
{
  return UINT64_C (1) << (56 + kind);
}

uint64_t
tessera_kinds_own_sets (void)
{
  return UINT64_C (0xff) << 56;
}

/* Of one kind's slots that came along with the first kind: from the first birth to the
 * last end. */
typedef struct
{
  uint32_t begin, end;
} Stretch;

static uint32_t
kind_of (const TesseraUnits *units, const TesseraSlot *slot)
{
  for (uint32_t k = 0; k < units->n_kinds; k++)
    if (slot->born >= units->kinds[k].begin && slot->born < units->kinds[k].end)
      return k;
  return TESSERA_NONE;
}

/* Slots of other kinds that pins and the like place together with the first one. */
static TesseraStatus
add_later (TesseraKindsPacking *packing, Stretch *stretches)
{
  const TesseraPlan *plan = packing->build->plan;
  const TesseraHolds *holds = &packing->build->holds;
  uint32_t behind = tessera_kinds_after_all (packing);
  TesseraStatus status = TESSERA_OK;

  for (size_t h = 0; h < holds->n_holds; h++)
    for (size_t i = 0; status == TESSERA_OK && i < holds->holds[h].n_slots; i++)
      {
        uint32_t index = holds->holds[h].slots[i];
        const TesseraSlot *slot = &plan->slots[index];
        uint32_t kind = kind_of (packing->carries->units, slot);

        if (holds->holds[h].kind == TESSERA_EDIT_APART ||
            packing->item_of_slot[index] != TESSERA_NONE)
          continue;
        status = tessera_kinds_add_elsewhere (packing, index, behind + slot->born,
                                              behind + slot->died);
        if (status != TESSERA_OK)
          break;
        packing->items[packing->item_of_slot[index]].apart = set_of_kind (kind);
        if (slot->born < stretches[kind].begin)
          stretches[kind].begin = slot->born;
        if (slot->died > stretches[kind].end)
          stretches[kind].end = slot->died;
      }
  return status;
}

/* Whether what is placed for all kinds may be there while those slots of the kind are. */
static bool
carry_meets (const TesseraCarries *carries,
             const TesseraCarry *carry,
             uint32_t kind,
             const Stretch *stretch)
{
  uint32_t spot = carry->spots[kind];

  return carry->is_turn || stretch->begin < carry->ends[kind] ||
         (spot != TESSERA_NONE && stretch->end > carries->spots[spot].born);
}

static void
keep_clear (TesseraKindsPacking *packing, uint32_t kind, const Stretch *stretch)
{
  const TesseraCarries *carries = packing->carries;
  const TesseraPlan *plan = packing->build->plan;

  if (stretch->begin >= stretch->end)
    return;
  for (uint32_t i = 0; i < carries->n_carries; i++)
    if (carry_meets (carries, &carries->carries[i], kind, stretch))
      packing->items[packing->item_of_carry[i]].in |= set_of_kind (kind);
  for (uint32_t i = 0; i < plan->n_slots; i++)
    if (plan->slots[i].born < carries->units->begin &&
        plan->slots[i].died > carries->units->begin)
      packing->items[packing->item_of_slot[i]].in |= set_of_kind (kind);
}

static TesseraStatus
hold_first (TesseraKindsPacking *packing)
{
  const TesseraComplaint complaint = tessera_build_complaint (packing->build);
  TesseraPlanBuild *build = packing->build;
  Stretch stretches[TESSERA_MAX_KINDS];
  TesseraStatus status;

  for (uint32_t k = 0; k < TESSERA_MAX_KINDS; k++)
    stretches[k] = (Stretch){ UINT32_MAX, 0 };
  status = add_later (packing, stretches);
  for (uint32_t k = 0; status == TESSERA_OK && k < packing->carries->units->n_kinds; k++)
    keep_clear (packing, k, &stretches[k]);
  return status == TESSERA_OK
             ? tessera_holds_apply (&build->holds, packing->item_of_slot, build->plan,
                                    &complaint, packing->items, packing->n_items)
             : status;
}

/* What has its place and is held to something comes along, each in a moment by itself. */
static TesseraStatus
hold_next (TesseraKindsPacking *packing)
{
  const TesseraComplaint complaint = tessera_build_complaint (packing->build);
  const TesseraPlanBuild *build = packing->build;
  uint32_t moment = tessera_kinds_after_all (packing);
  TesseraStatus status = TESSERA_OK;

  for (uint32_t i = 0; status == TESSERA_OK && i < build->plan->n_slots; i++)
    if (build->holds.is_held[i] && packing->has_place[i] &&
        packing->item_of_slot[i] == TESSERA_NONE)
      {
        status = tessera_kinds_add_elsewhere (packing, i, moment, moment + 1);
        moment++;
      }
  return status == TESSERA_OK
             ? tessera_holds_apply_sets (&build->holds, packing->item_of_slot,
                                         build->plan, &complaint, packing->items)
             : status;
}

TesseraStatus
tessera_kinds_hold (TesseraKindsPacking *packing)
{
  if (packing->build->holds.n_holds == 0)
    return TESSERA_OK;
  return packing->is_first ? hold_first (packing) : hold_next (packing);
}
