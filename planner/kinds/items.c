/*
 * What is packed for one of several kinds of step: see pack.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

#include "db/sort.h"
#include "planner/kinds/pack.h"

/* Positions as this kind's own run has them: the others are left out. */
static uint32_t
map (const TesseraKindsPacking *packing, uint32_t position)
{
  const TesseraUnits *units = packing->carries->units;
  const TesseraStepKind *kind = &units->kinds[packing->kind];

  if (position <= units->begin)
    return position;
  if (position >= units->first_end)
    return position - units->first_end + units->begin + kind->end - kind->begin;
  return position - kind->begin + units->begin;
}

static uint32_t
step_end (const TesseraKindsPacking *packing)
{
  return map (packing, packing->carries->units->first_end);
}

static uint32_t
zone_of (const TesseraKindsPacking *packing, const TesseraSlot *slot)
{
  uint64_t owner = tessera_build_splits_sizes (packing->build)
                       ? tessera_build_owner (packing->build, slot)
                       : slot->pool;

  return tessera_count_below (packing->owners, packing->n_zones, owner);
}

static uint32_t
add_item (TesseraKindsPacking *packing, const TesseraItem *item)
{
  TESSERA_GROW (packing->items, packing->cap_items, packing->n_items + 1);
  packing->items[packing->n_items] = *item;
  return (uint32_t) packing->n_items++;
}

/* What is no carry's: alive over one stretch. */
static void
add_slot (TesseraKindsPacking *packing, uint32_t index)
{
  const TesseraSlot *slot = &packing->build->plan->slots[index];
  const TesseraUnits *units = packing->carries->units;
  const TesseraStepKind *kind = &units->kinds[packing->kind];
  bool is_local = slot->born >= kind->begin && slot->born < kind->end;
  TesseraItem item = { .size_bytes = slot->block_bytes,
                       .begin = map (packing, slot->born),
                       .end = map (packing, slot->died),
                       .zone = zone_of (packing, slot),
                       .prefer_low = slot->lifetime_class == TESSERA_CLASS_PERSISTENT };

  if (packing->has_place[index])
    {
      item.is_pinned = true;
      item.pinned_bytes = slot->offset_bytes;
    }
  if (!is_local && !packing->is_first)
    {
      item.begin = units->begin;
      item.end = step_end (packing);
    }
  packing->item_of_slot[index] = add_item (packing, &item);
}

/* Is the slot of interest while this kind is packed? */
static bool
is_wanted (const TesseraKindsPacking *packing, const TesseraSlot *slot)
{
  const TesseraUnits *units = packing->carries->units;
  const TesseraStepKind *kind = &units->kinds[packing->kind];

  if (slot->born < units->begin)
    return packing->is_first || slot->died > units->begin;
  if (slot->born >= units->first_end)
    return packing->is_first;
  return slot->born >= kind->begin && slot->born < kind->end;
}

static uint32_t
born_of_start (const TesseraKindsPacking *packing, uint32_t block)
{
  const TesseraBlock *of = &packing->build->blocks->blocks[block];

  return of->flags & TESSERA_AT_START ? 0 : of->born_index;
}

/* How a carry holds its place in this kind's own run: when the step begins, and from the
 * birth of its request on. */
static void
set_lives (const TesseraKindsPacking *packing,
           const TesseraCarry *carry,
           TesseraItem *item)
{
  const TesseraUnits *units = packing->carries->units;
  const TesseraStepKind *kind = &units->kinds[packing->kind];
  uint32_t request = carry->requests[packing->kind];
  uint32_t end = step_end (packing);

  item->begin = units->begin;
  item->end = end;
  if (packing->is_first && carry->after)
    item->end = map (packing, carry->after);
  if (carry->ends[packing->kind] < kind->end)
    {
      item->begin2 = item->begin;
      item->end2 = map (packing, carry->ends[packing->kind]);
      item->begin = request != TESSERA_NONE
                        ? map (packing, packing->carries->requests[request].born)
                        : end;
    }
  if (item->begin >= item->end) /* gone for good */
    {
      item->begin = item->begin2;
      item->end = item->end2;
      item->begin2 = item->end2 = 0;
    }
  if (packing->is_first && carry->start != TESSERA_NONE)
    *(item->begin2 < item->end2 ? &item->begin2 : &item->begin) =
        born_of_start (packing, carry->start);
}

static void
add_carry (TesseraKindsPacking *packing, uint32_t index)
{
  const TesseraCarry *carry = &packing->carries->carries[index];
  const TesseraSlot like = { .block_bytes = carry->block_bytes,
                             .stream = carry->stream,
                             .pool = carry->pool };
  TesseraItem item = { .size_bytes = carry->block_bytes,
                       .zone = zone_of (packing, &like),
                       .is_pinned = !packing->is_first,
                       .pinned_bytes = packing->is_first ? 0 : carry->offset_bytes };

  set_lives (packing, carry, &item);
  packing->item_of_carry[index] = add_item (packing, &item);
}

typedef struct
{
  uint64_t begin_bytes, end_bytes;
  uint32_t zone;
} Range;

static int
compare_ranges (const void *a, const void *b)
{
  const Range *x = a, *y = b;

  if (x->zone != y->zone)
    return x->zone < y->zone ? -1 : 1;
  return x->begin_bytes < y->begin_bytes ? -1 : x->begin_bytes > y->begin_bytes;
}

/* What one zone has been given no other may use: fences, in a moment after all others. */
static void
add_fences (TesseraKindsPacking *packing)
{
  const TesseraPlan *plan = packing->build->plan;
  uint32_t moment = step_end (packing) + 1;
  g_autofree Range *ranges = g_new (Range, plan->n_slots + 1);
  size_t n = 0, end;

  for (uint32_t i = 0; i < plan->n_slots; i++)
    if (packing->has_place[i])
      ranges[n++] = (Range){ plan->slots[i].offset_bytes,
                             plan->slots[i].offset_bytes + plan->slots[i].block_bytes,
                             zone_of (packing, &plan->slots[i]) };
  qsort (ranges, n, sizeof *ranges, compare_ranges);
  for (size_t i = 0; i < n; i = end)
    {
      TesseraItem fence = { .begin = moment,
                            .end = moment + 1,
                            .zone = ranges[i].zone,
                            .is_pinned = true,
                            .pinned_bytes = ranges[i].begin_bytes };
      uint64_t top = ranges[i].end_bytes;

      for (end = i + 1;
           end < n && ranges[end].zone == fence.zone && ranges[end].begin_bytes <= top;
           end++)
        top = MAX (ranges[end].end_bytes, top);
      fence.size_bytes = top - fence.pinned_bytes;
      add_item (packing, &fence);
    }
}

void
tessera_kinds_add_elsewhere (TesseraKindsPacking *packing,
                             uint32_t slot,
                             uint32_t begin,
                             uint32_t end)
{
  const TesseraSlot *of = &packing->build->plan->slots[slot];
  const TesseraItem item = { .size_bytes = of->block_bytes,
                             .begin = begin,
                             .end = end,
                             .zone = zone_of (packing, of),
                             .is_pinned = packing->has_place[slot],
                             .pinned_bytes = of->offset_bytes };

  packing->item_of_slot[slot] = add_item (packing, &item);
}

/* The fences' moment is the last before. */
uint32_t
tessera_kinds_after_all (const TesseraKindsPacking *packing)
{
  return map (packing, packing->carries->units->n_positions) + 2;
}

TesseraStatus
tessera_kinds_items (TesseraKindsPacking *packing)
{
  const TesseraPlan *plan = packing->build->plan;
  const uint32_t *carry_of = packing->carries->of_slot;

  packing->n_items = 0;
  for (uint32_t i = 0; i < plan->n_slots; i++)
    {
      packing->item_of_slot[i] = TESSERA_NONE;
      if (carry_of[i] == TESSERA_NONE && is_wanted (packing, &plan->slots[i]))
        add_slot (packing, i);
    }
  for (uint32_t i = 0; i < packing->carries->n_carries; i++)
    add_carry (packing, i);
  for (uint32_t i = 0; i < plan->n_slots; i++)
    if (carry_of[i] != TESSERA_NONE)
      packing->item_of_slot[i] = packing->item_of_carry[carry_of[i]];
  if (!packing->is_first && packing->n_zones > 1)
    add_fences (packing);
  return tessera_kinds_hold (packing);
}
