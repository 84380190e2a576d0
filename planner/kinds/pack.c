/*
 * Packing a plan of several kinds of step: see pack.h.
 *
 * The kind with the largest load comes first, in both of its layouts where it has two,
 * together with all that any kind carries into the next step, the start and the end. Then
 * these have their places, and each other kind is packed around what of it is there in
 * its steps: what is inside one step may use all that is free in this kind. No carry
 * shares an address with another: all are held for a moment when a step begins.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/kinds/pack.h"
#include "planner/plan/build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int
compare_owners (const void *a, const void *b)
{
  const uint64_t *x = a, *y = b;

  return (*x > *y) - (*x < *y);
}

/* PyTorch's streams, pools and sizes that share no address. */
static void
list_zones (TesseraKindsPacking *packing)
{
  const TesseraPlan *plan = packing->build->plan;
  uint32_t n = 0;

  for (size_t i = 0; i < plan->n_slots; i++)
    packing->owners[i] = tessera_kinds_owner (packing, &plan->slots[i]);
  qsort (packing->owners, plan->n_slots, sizeof *packing->owners, compare_owners);
  for (size_t i = 0; i < plan->n_slots; i++)
    if (i == 0 || packing->owners[i] != packing->owners[n - 1])
      packing->owners[n++] = packing->owners[i];
  packing->n_zones = n;
}

/* Of the first kind: its items, and what no layout of them is below; UINT64_MAX where
 * edits are in each other's way, of which packing tells. */
static TesseraStatus
list_items (TesseraKindsPacking *packing, bool splits_sizes, uint64_t *out_bound)
{
  TesseraStatus status;

  packing->splits_sizes = splits_sizes;
  list_zones (packing);
  status = tessera_kinds_items (packing);
  if (status != TESSERA_OK)
    return status;
  status = tessera_pack_bound (packing->items, packing->n_items, out_bound);
  if (status != TESSERA_REFUSED)
    return status;
  *out_bound = UINT64_MAX;
  return TESSERA_OK;
}

/* The same, with zones as a plan of one kind has them (planner/plan/places.c). */
static TesseraStatus
list_first (TesseraKindsPacking *packing)
{
  const TesseraPlanBuild *build = packing->build;
  bool splits = tessera_build_splits_sizes (build);
  uint64_t apart_bytes, together_bytes;
  TesseraStatus status = list_items (packing, splits, &apart_bytes);

  if (status != TESSERA_OK || !splits || !tessera_build_may_join_sizes (build))
    return status;
  status = list_items (packing, false, &together_bytes);
  return status == TESSERA_OK &&
                 !tessera_build_is_costly (build, apart_bytes, together_bytes)
             ? list_items (packing, true, &apart_bytes)
             : status;
}

/* Writes the places of what has none yet. */
static void
write_places (TesseraKindsPacking *packing, const uint64_t *offsets)
{
  TesseraPlan *plan = packing->build->plan;
  TesseraCarries *carries = packing->carries;

  for (uint32_t i = 0; i < carries->n_carries && packing->is_first; i++)
    if (packing->item_of_carry[i] != TESSERA_NONE)
      carries->carries[i].offset_bytes = offsets[packing->item_of_carry[i]];
  for (uint32_t i = 0; i < plan->n_slots; i++)
    {
      if (carries->of_slot[i] != TESSERA_NONE)
        plan->slots[i].offset_bytes = carries->carries[carries->of_slot[i]].offset_bytes;
      else if (packing->item_of_slot[i] != TESSERA_NONE)
        plan->slots[i].offset_bytes = offsets[packing->item_of_slot[i]];
      else
        continue;
      packing->has_place[i] = true;
    }
  packing->is_placed[packing->kind] = true;
  if (packing->twin != TESSERA_NONE)
    packing->is_placed[packing->twin] = true;
  packing->is_first = false;
}

/* Groups shape the largest kind: around what has its place each unit would be in the way
 * of something. */
static TesseraStatus
pack (const TesseraKindsPacking *packing, uint64_t *offsets, TesseraPacking *out_packing)
{
  TesseraPlanBuild *build = packing->build;
  const TesseraPackOptions options = tessera_build_pack_options (build);
  bool is_grouped =
      packing->is_first && build->options->strategy == TESSERA_STRATEGY_STALLOC;
  TesseraStatus status;

  *out_packing = (TesseraPacking){ .strategy = "nothing to place" };
  if (packing->n_items == 0)
    return TESSERA_OK;
  status = is_grouped
               ? tessera_build_pack_groups (build, packing->items, packing->item_of_slot,
                                            packing->n_items, offsets, out_packing)
               : tessera_pack (packing->items, packing->n_items, &options, offsets,
                               out_packing);
  return status == TESSERA_OK ? tessera_build_settle_cut (build, out_packing) : status;
}

/* The same; where edits are in each other's way it says which. */
static TesseraStatus
pack_all (const TesseraKindsPacking *packing,
          uint64_t *offsets,
          TesseraPacking *out_packing)
{
  const TesseraComplaint complaint = tessera_build_complaint (packing->build);
  TesseraStatus status = pack (packing, offsets, out_packing);

  return status == TESSERA_REFUSED
             ? tessera_holds_explain (&packing->build->holds, packing->item_of_slot,
                                      packing->items, &complaint, out_packing->conflict)
             : status;
}

static uint64_t
higher (const TesseraKindsPacking *packing, const TesseraPacking *result)
{
  return result->height_bytes > packing->height_bytes ? result->height_bytes
                                                      : packing->height_bytes;
}

/* How much higher than anew a kind may be for what it has in common with another. */
#define PINS_COST 0.01

/* Packs with what the kind has in common with another where that lies. *@out_height: of
 * all kinds; UINT64_MAX: that can't be, or there is no such. */
static TesseraStatus
pack_pinned (TesseraKindsPacking *packing,
             bool begins_only,
             uint64_t *offsets,
             uint64_t *out_height)
{
  TesseraPacking result;
  TesseraStatus status = tessera_kinds_items (packing);

  *out_height = UINT64_MAX;
  if (status != TESSERA_OK || tessera_kinds_pin (packing, begins_only) == 0)
    return status;
  status = pack (packing, offsets, &result);
  if (status == TESSERA_OK)
    *out_height = higher (packing, &result);
  return status == TESSERA_REFUSED ? TESSERA_OK : status;
}

/* A kind after the first. All that it has in common with another lies where that has it,
 * if that is no higher; else what both begin with, if that costs little; else nothing. */
static TesseraStatus
pack_next (TesseraKindsPacking *packing,
           uint64_t *offsets,
           uint64_t *other_offsets,
           uint64_t *out_height)
{
  TesseraPacking anew;
  uint64_t height;
  TesseraStatus status = pack_pinned (packing, false, offsets, out_height);

  if (status != TESSERA_OK || *out_height <= packing->height_bytes)
    return status;
  status = pack_pinned (packing, true, other_offsets, &height);
  if (status == TESSERA_OK && height < *out_height)
    {
      memcpy (offsets, other_offsets, packing->n_items * sizeof *offsets);
      *out_height = height;
    }
  if (status != TESSERA_OK || *out_height <= packing->height_bytes)
    return status;
  status = tessera_kinds_items (packing);
  if (status == TESSERA_OK)
    status = pack_all (packing, other_offsets, &anew);
  if (status == TESSERA_OK &&
      (double) *out_height > (double) higher (packing, &anew) * (1 + PINS_COST))
    {
      memcpy (offsets, other_offsets, packing->n_items * sizeof *offsets);
      *out_height = higher (packing, &anew);
    }
  return status;
}

static TesseraStatus
pack_kind (TesseraKindsPacking *packing, uint32_t kind)
{
  TesseraPacking result;
  g_autofree uint64_t *offsets = NULL, *other_offsets = NULL;
  uint64_t height = 0;
  TesseraStatus status;

  packing->kind = kind;
  packing->twin = packing->is_first && packing->carries->units->n_alternating > 0
                      ? kind + packing->carries->units->n_alternating
                      : TESSERA_NONE;
  status = packing->is_first ? list_first (packing) : tessera_kinds_items (packing);
  if (status != TESSERA_OK)
    return status;
  offsets = g_new (uint64_t, packing->n_items + 1);
  other_offsets = g_new (uint64_t, packing->n_items + 1);
  if (!packing->is_first)
    status = pack_next (packing, offsets, other_offsets, &height);
  else
    {
      status = pack_all (packing, offsets, &result);
      if (status == TESSERA_OK && packing->build->plan->crosses_streams)
        tessera_build_part_streams (packing->build, packing->items, packing->item_of_slot,
                                    packing->n_items, offsets);
      height = result.height_bytes;
      packing->strategy = result.strategy;
    }
  if (status != TESSERA_OK)
    return status;
  packing->height_bytes = height;
  write_places (packing, offsets);
  return TESSERA_OK;
}

/* The most that a kind's own blocks take in one moment. */
static uint64_t
load_of (const TesseraKindsPacking *packing, uint32_t kind)
{
  const TesseraStepKind *of = &packing->carries->units->kinds[kind];
  const TesseraPlan *plan = packing->build->plan;
  g_autofree uint64_t *changes = g_new0 (uint64_t, (size_t) (of->end - of->begin) + 1);
  uint64_t load = 0, most = 0;

  for (size_t i = 0; i < plan->n_slots; i++)
    {
      const TesseraSlot *slot = &plan->slots[i];

      if (slot->born < of->begin || slot->born >= of->end ||
          slot->ordinal == TESSERA_NONE)
        continue;
      changes[slot->born - of->begin] += slot->block_bytes;
      if (slot->died < of->end)
        changes[slot->died - of->begin] -= slot->block_bytes;
    }
  for (uint32_t i = 0; i < of->end - of->begin; i++)
    {
      load += changes[i];
      most = MAX (load, most);
    }
  return most;
}

/* Of two layouts: only what a step of the kind leaves has its places settled with it. */
static bool
may_be_first (const TesseraUnits *units, uint32_t kind)
{
  const TesseraStepKind *of = &units->kinds[kind];
  bool makes = units->n_alternating == 0;

  for (uint32_t r = 0; r < of->n_requests && !makes; r++)
    makes = of->alternates[r];
  return makes;
}

/* All kinds anew, the one with the largest load first. */
static TesseraStatus
pack_kinds (TesseraKindsPacking *packing)
{
  const TesseraPlan *plan = packing->build->plan;
  uint32_t n_kinds = packing->carries->units->n_kinds;
  uint32_t n_alternating = packing->carries->units->n_alternating;
  uint64_t loads[TESSERA_MAX_KINDS];
  TesseraStatus status = TESSERA_OK;

  packing->is_first = true;
  packing->height_bytes = 0;
  packing->strategy = "nothing to place";
  memset (packing->is_placed, 0, sizeof packing->is_placed);
  memset (packing->has_place, 0, plan->n_slots);
  for (uint32_t k = 0; k < n_kinds; k++)
    loads[k] = load_of (packing, k);
  for (uint32_t n = 0; status == TESSERA_OK && n < n_kinds; n++)
    {
      uint32_t largest = TESSERA_NONE;

      for (uint32_t k = 0; k < n_kinds; k++)
        if (!packing->is_placed[k] &&
            (!packing->is_first || may_be_first (packing->carries->units, k)) &&
            (largest == TESSERA_NONE || loads[k] > loads[largest]))
          largest = k;
      if (largest == TESSERA_NONE)
        break; /* the last ones were packed with their twins */
      if (packing->is_first && n_alternating > 0)
        largest %= n_alternating;
      status = pack_kind (packing, largest);
    }
  return status;
}

static uint64_t
height_of (const TesseraPlan *plan)
{
  uint64_t height = 0;

  for (size_t i = 0; i < plan->n_slots; i++)
    height = MAX (height, plan->slots[i].offset_bytes + plan->slots[i].block_bytes);
  return height;
}

TesseraStatus
tessera_kinds_pack (TesseraPlanBuild *build, TesseraCarries *carries)
{
  TesseraPlan *plan = build->plan;
  TesseraKindsPacking packing = { .build = build,
                                  .carries = carries,
                                  .item_of_slot = tessera_new_nones (plan->n_slots),
                                  .item_of_carry = tessera_new_nones (carries->n_carries),
                                  .has_place = g_new0 (uint8_t, plan->n_slots + 1) };
  TesseraStatus status;

  packing.owners = g_new (uint64_t, plan->n_slots + 1);
  build->holds.own_sets = tessera_kinds_own_sets ();
  status = pack_kinds (&packing);
  plan->height_bytes = height_of (plan);
  if (status == TESSERA_OK)
    tessera_build_describe (build, packing.strategy);
  free (packing.owners);
  free (packing.items);
  free (packing.item_of_slot);
  free (packing.item_of_carry);
  free (packing.has_place);
  return status;
}
