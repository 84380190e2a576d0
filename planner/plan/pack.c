/*
 * Packing a plan: see build.h.
 *
 * The kind with the largest load comes first, in both of its layouts where it has two,
 * together with all that any kind carries into the next step, the start and the end. Then
 * these have their places, and each other kind is packed around what of it is there in
 * its steps: what is inside one step may use all that is free in this kind. No carry
 * shares an address with another: all are held for a moment when a step begins.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/plan/build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "planner/stalloc/stalloc.h"

/* Of one stream small and large keep zones of their own where that costs no more than
 * this share of the pool: strays of a run that differs, most of them small, have a place
 * there that is in no large block's way. */
#define COSTLY_ZONES_SHARE 256
/* Across streams a range that passes between small and large is one more wait: examples/
 * fsdp2.py waits 546 times a step at 1B where 91 do, for 0.7 % of the height, and 357 for
 * 10 at 160M, for 2.6 %, which is 2 % of its time. */
#define COSTLY_ZONES_SHARE_ACROSS 32

static int
compare_owners (const void *a, const void *b)
{
  const uint64_t *x = a, *y = b;

  return (*x > *y) - (*x < *y);
}

/* PyTorch's streams, pools and sizes that share no address. */
static void
list_zones (TesseraKindPacking *packing)
{
  const TesseraPlan *plan = packing->build->plan;
  uint32_t n = 0;

  for (size_t i = 0; i < plan->n_slots; i++)
    packing->owners[i] = tessera_build_owner (packing->build, &plan->slots[i]);
  qsort (packing->owners, plan->n_slots, sizeof *packing->owners, compare_owners);
  for (size_t i = 0; i < plan->n_slots; i++)
    if (i == 0 || packing->owners[i] != packing->owners[n - 1])
      packing->owners[n++] = packing->owners[i];
  packing->n_zones = n;
}

/* Fills the items of the first kind. *@out_bytes: what the zones need, one on top of the
 * other. */
static TesseraStatus
list_items (TesseraKindPacking *packing, bool splits_sizes, uint64_t *out_bytes)
{
  packing->build->splits_sizes = splits_sizes;
  list_zones (packing);
  tessera_kind_items (packing);
  return tessera_pack_bound (packing->items, packing->n_items, out_bytes);
}

/* The same; small and large share addresses where they may and that they do not costs more
 * than it is worth. */
static TesseraStatus
list_first (TesseraKindPacking *packing)
{
  const TesseraPlanBuild *build = packing->build;
  bool splits = tessera_plan_splits_sizes (build->trace),
       crosses = build->plan->crosses_streams;
  uint64_t apart_bytes, together_bytes;
  uint64_t share = crosses ? COSTLY_ZONES_SHARE_ACROSS : COSTLY_ZONES_SHARE;
  TesseraStatus status = list_items (packing, splits, &apart_bytes);

  if (status == TESSERA_OK && splits &&
      (crosses || !tessera_trace_has_streams (build->trace)))
    {
      status = list_items (packing, false, &together_bytes);
      if (status == TESSERA_OK && apart_bytes - together_bytes <= apart_bytes / share)
        status = list_items (packing, true, &apart_bytes);
    }
  return status == TESSERA_OK ? tessera_kind_hold (packing) : status;
}

/* Writes the places of what has none yet. */
static void
write_places (TesseraKindPacking *packing, const uint64_t *offsets)
{
  TesseraPlan *plan = packing->build->plan;
  TesseraCarries *carries = &packing->build->carries;

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

static TesseraPackOptions
pack_options (const TesseraPlanBuild *build)
{
  const TesseraPlanOptions *options = build->options;
  TesseraPackOptions pack = { .work_budget = options->work_budget,
                              .progress = &build->stop.progress,
                              .keeps_best = options->keeps_best,
                              .listener = options->listener,
                              .is_preview = options->is_preview };
  return pack;
}

/* What was cut short is told of, and kept where that was asked for: else
 * TESSERA_CANCELLED. */
static TesseraStatus
settle_cut (TesseraPlanBuild *build, const TesseraPacking *packing)
{
  if (!packing->is_cut_short)
    return TESSERA_OK;
  if (!build->options->keeps_best)
    return TESSERA_CANCELLED;
  build->plan->cut_short = true;
  return TESSERA_OK;
}

/* Where the items lay in the plan before, by their blocks: for the caller to free. */
static uint64_t *
find_former (const TesseraKindPacking *packing)
{
  const TesseraPlanBuild *build = packing->build;
  const TesseraPlan *before = build->options->former, *plan = build->plan;
  size_t n_blocks = build->blocks->n_blocks;
  g_autofree uint64_t *of_block = g_new (uint64_t, n_blocks + 1);
  uint64_t *former = g_new (uint64_t, packing->n_items + 1);

  memset (of_block, 0xff, n_blocks * sizeof *of_block);
  memset (former, 0xff, packing->n_items * sizeof *former);
  for (size_t i = 0; i < before->n_slots; i++)
    if (before->slots[i].block < n_blocks)
      of_block[before->slots[i].block] = before->slots[i].offset_bytes;
  for (size_t i = 0; i < plan->n_slots; i++)
    if (packing->item_of_slot[i] != TESSERA_NONE)
      former[packing->item_of_slot[i]] = of_block[plan->slots[i].block];
  return former;
}

static uint32_t
main_phase (const TesseraPlanBuild *build, uint32_t phase)
{
  return phase < build->structure->n_phases ? build->structure->phases[phase].main
                                            : TESSERA_NONE;
}

/* What groups each item, by its first slot. */
static void
find_groups (const TesseraKindPacking *packing, TesseraStallocItem *grouped)
{
  const TesseraPlanBuild *build = packing->build;
  const uint32_t *item_of_slot = packing->item_of_slot;
  const TesseraPlan *plan = build->plan;

  for (size_t i = 0; i < packing->n_items; i++)
    grouped[i] = (TesseraStallocItem){ .group = TESSERA_NONE,
                                       .from_phase = TESSERA_NONE,
                                       .to_phase = TESSERA_NONE };
  for (size_t i = plan->n_slots; i-- > 0;)
    {
      const TesseraSlot *slot = &plan->slots[i];
      const TesseraBlock *block = &build->blocks->blocks[slot->block];

      if (item_of_slot[i] == TESSERA_NONE)
        continue;
      grouped[item_of_slot[i]] = (TesseraStallocItem){
        .group = slot->group,
        .from_phase = main_phase (build, block->born_phase),
        .to_phase = main_phase (build, block->died_phase),
        .kind = slot->group == TESSERA_NONE ? 0 : plan->groups[slot->group].kind,
      };
    }
}

/* Packs with the groups of slots as units, as the strategy `stalloc` does. */
static TesseraStatus
pack_groups (const TesseraKindPacking *packing,
             const TesseraPackOptions *options,
             uint64_t *offsets,
             TesseraPacking *out_packing)
{
  g_autofree TesseraStallocItem *grouped =
      g_new (TesseraStallocItem, packing->n_items + 1);
  TesseraStatus status;

  find_groups (packing, grouped);
  status = tessera_stalloc_pack (packing->items, grouped, packing->n_items, options,
                                 offsets, out_packing);
  out_packing->proven_bound_bytes = packing->build->plan->bound_bytes;
  return status;
}

/* Groups shape the largest kind: around what has its place each unit would be in the way
 * of something. */
static TesseraStatus
pack (const TesseraKindPacking *packing, uint64_t *offsets, TesseraPacking *out_packing)
{
  TesseraPlanBuild *build = packing->build;
  TesseraPackOptions options = pack_options (build);
  g_autofree uint64_t *former = NULL;
  TesseraStatus status;

  *out_packing = (TesseraPacking){ .strategy = "nothing to place" };
  if (packing->n_items == 0)
    return TESSERA_OK;
  if (packing->is_first && build->options->strategy == TESSERA_STRATEGY_STALLOC)
    status = pack_groups (packing, &options, offsets, out_packing);
  else
    {
      if (packing->is_first && options.is_preview && build->options->former != NULL)
        options.former = former = find_former (packing);
      status =
          tessera_pack (packing->items, packing->n_items, &options, offsets, out_packing);
    }
  return status == TESSERA_OK ? settle_cut (build, out_packing) : status;
}

/* The same; where edits are in each other's way it says which. */
static TesseraStatus
pack_all (const TesseraKindPacking *packing,
          uint64_t *offsets,
          TesseraPacking *out_packing)
{
  TesseraStatus status = pack (packing, offsets, out_packing);

  return status == TESSERA_REFUSED
             ? tessera_holds_explain (&packing->build->holds, packing->item_of_slot,
                                      packing->items, out_packing->conflict)
             : status;
}

/* How much higher than anew a kind may be for what it has in common with another. */
#define PINS_COST 0.01

/* Fills the items of a kind after the first. */
static TesseraStatus
list_next (TesseraKindPacking *packing)
{
  tessera_kind_items (packing);
  return tessera_kind_hold (packing);
}

/* Packs with what the kind has in common with another where that lies. *@out_height: of
 * all kinds; UINT64_MAX: that can't be, or there is no such. */
static TesseraStatus
pack_pinned (TesseraKindPacking *packing, uint64_t *offsets, uint64_t *out_height)
{
  TesseraPacking result;
  TesseraStatus status = list_next (packing);

  *out_height = UINT64_MAX;
  if (status != TESSERA_OK || tessera_kind_pin (packing) == 0)
    return status;
  status = pack (packing, offsets, &result);
  if (status == TESSERA_OK)
    *out_height = MAX (result.height_bytes, packing->height_bytes);
  return status == TESSERA_REFUSED ? TESSERA_OK : status;
}

/* A kind after the first. All that it has in common with another lies where that has it, if
 * that costs little; else it is packed anew. */
static TesseraStatus
pack_next (TesseraKindPacking *packing, uint64_t *offsets, uint64_t *out_height)
{
  g_autofree uint64_t *anew_offsets = NULL;
  TesseraPacking anew;
  uint64_t height;
  TesseraStatus status = pack_pinned (packing, offsets, out_height);

  if (status == TESSERA_OK && *out_height > packing->height_bytes)
    status = list_next (packing);
  if (status != TESSERA_OK || *out_height <= packing->height_bytes)
    return status;
  anew_offsets = g_new (uint64_t, packing->n_items + 1);
  status = pack_all (packing, anew_offsets, &anew);
  if (status != TESSERA_OK)
    return status;
  height = MAX (anew.height_bytes, packing->height_bytes);
  if ((double) *out_height > (double) height * (1 + PINS_COST))
    {
      memcpy (offsets, anew_offsets, packing->n_items * sizeof *offsets);
      *out_height = height;
    }
  return TESSERA_OK;
}

static TesseraStatus
pack_kind (TesseraKindPacking *packing, uint32_t kind)
{
  g_autofree uint64_t *offsets = NULL;
  uint64_t height = 0;
  TesseraStatus status;

  packing->kind = kind;
  packing->twin = packing->is_first && packing->build->units->n_alternating > 0
                      ? kind + packing->build->units->n_alternating
                      : TESSERA_NONE;
  status = packing->is_first ? list_first (packing) : list_next (packing);
  if (status != TESSERA_OK)
    return status;
  offsets = g_new (uint64_t, packing->n_items + 1);
  if (!packing->is_first)
    status = pack_next (packing, offsets, &height);
  else
    {
      status = pack_all (packing, offsets, &packing->result);
      if (status == TESSERA_OK && packing->build->plan->crosses_streams)
        tessera_build_part_streams (packing->build, packing->items, packing->item_of_slot,
                                    packing->n_items, offsets);
      height = packing->result.height_bytes;
    }
  if (status != TESSERA_OK)
    return status;
  packing->height_bytes = height;
  write_places (packing, offsets);
  return TESSERA_OK;
}

/* The most that a kind's own blocks take in one moment. */
static uint64_t
load_of (const TesseraKindPacking *packing, uint32_t kind)
{
  const TesseraStepKind *of = &packing->build->units->kinds[kind];
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

/* The kind to be packed next: the one with the largest load; n_kinds: all are. */
static uint32_t
next_kind (const TesseraKindPacking *packing, const uint64_t *loads)
{
  const TesseraUnits *units = packing->build->units;
  uint32_t largest = units->n_kinds;
  /* Of two layouts only what a step of the kind leaves has its places settled with it. */
  bool must_change = packing->is_first && units->n_alternating > 0;

  for (uint32_t k = 0; k < units->n_kinds; k++)
    if (!packing->is_placed[k] &&
        (!must_change || tessera_carries_change_turn (units, k)) &&
        (largest == units->n_kinds || loads[k] > loads[largest]))
      largest = k;
  return packing->is_first && units->n_alternating > 0 ? largest % units->n_alternating
                                                       : largest;
}

/* Where nothing repeats the start is packed alone. */
static TesseraStatus
pack_kinds (TesseraKindPacking *packing)
{
  uint32_t n_kinds = packing->build->units->n_kinds, kind;
  uint64_t loads[TESSERA_MAX_KINDS];
  TesseraStatus status = TESSERA_OK;

  if (n_kinds == 0)
    return pack_kind (packing, 0);
  for (uint32_t k = 0; k < n_kinds; k++)
    loads[k] = load_of (packing, k);
  while (status == TESSERA_OK && (kind = next_kind (packing, loads)) < n_kinds)
    status = pack_kind (packing, kind);
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

static void
describe (TesseraPlanBuild *build, const char *packing)
{
  bool is_stalloc = build->options->strategy == TESSERA_STRATEGY_STALLOC;

  free (build->plan->strategy);
  build->plan->strategy =
      g_strdup_printf ("%s: %s", is_stalloc ? "stalloc" : "free", packing);
}

TesseraStatus
tessera_build_pack (TesseraPlanBuild *build)
{
  TesseraPlan *plan = build->plan;
  const TesseraCarries *carries = &build->carries;
  TesseraKindPacking packing = { .build = build,
                                 .owners = g_new (uint64_t, plan->n_slots + 1),
                                 .item_of_slot = tessera_new_nones (plan->n_slots),
                                 .item_of_carry = tessera_new_nones (carries->n_carries),
                                 .has_place = g_new0 (uint8_t, plan->n_slots + 1),
                                 .is_first = true };
  TesseraStatus status;

  build->holds.own_sets = tessera_kind_own_sets (build->units);
  status = pack_kinds (&packing);
  plan->height_bytes = height_of (plan);
  if (status == TESSERA_OK)
    describe (build, packing.result.strategy);
  if (status == TESSERA_OK && build->units->n_kinds <= 1)
    plan->proven_bound_bytes = packing.result.proven_bound_bytes;
  free (packing.owners);
  free (packing.items);
  free (packing.item_of_slot);
  free (packing.item_of_carry);
  free (packing.has_place);
  return status;
}
