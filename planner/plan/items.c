/*
 * What is packed for a kind of step: see build.h.
 *
 * Zones: blocks of different pools never share an address (the memory of a captured graph
 * is in use whenever it is replayed, whatever the trace shows), nor do those of different
 * streams, nor, where several streams may be at work, PyTorch's two size classes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/plan/build.h"

#include "db/sort.h"

static bool
is_in (const TesseraKindPacking *packing, uint32_t kind, uint32_t position)
{
  const TesseraStepKind *of = &packing->build->units->kinds[kind];

  return position >= of->begin && position <= of->end;
}

static uint32_t
length_of (const TesseraKindPacking *packing, uint32_t kind)
{
  const TesseraStepKind *kinds = packing->build->units->kinds;

  return kind != TESSERA_NONE ? kinds[kind].end - kinds[kind].begin : 0;
}

/* Positions as this kind's own run, and behind it its twin's, has them: the others are
 * left out. */
static uint32_t
map (const TesseraKindPacking *packing, uint32_t position)
{
  const TesseraUnits *units = packing->build->units;
  uint32_t twin = packing->twin;
  uint32_t twin_begin = units->begin + length_of (packing, packing->kind);

  if (position <= units->begin)
    return position;
  if (position >= units->first_end)
    return position - units->first_end + twin_begin + length_of (packing, twin);
  if (is_in (packing, packing->kind, position))
    return position - units->kinds[packing->kind].begin + units->begin;
  return position - units->kinds[twin].begin + twin_begin;
}

static uint32_t
step_end (const TesseraKindPacking *packing)
{
  return map (packing, packing->build->units->first_end);
}

static uint32_t
zone_of (const TesseraKindPacking *packing, const TesseraSlot *slot)
{
  return tessera_count_below (packing->owners, packing->n_zones,
                              tessera_build_owner (packing->build, slot));
}

static uint32_t
add_item (TesseraKindPacking *packing, const TesseraItem *item)
{
  TESSERA_GROW (packing->items, packing->cap_items, packing->n_items + 1);
  packing->items[packing->n_items] = *item;
  return (uint32_t) packing->n_items++;
}

/* In the kind at hand, or its twin. */
static bool
is_born_in (const TesseraKindPacking *packing, const TesseraSlot *slot)
{
  const TesseraStepKind *kinds = packing->build->units->kinds;
  const TesseraStepKind *kind = &kinds[packing->kind];
  const TesseraStepKind *twin =
      packing->twin != TESSERA_NONE ? &kinds[packing->twin] : kind;

  return (slot->born >= kind->begin && slot->born < kind->end) ||
         (slot->born >= twin->begin && slot->born < twin->end);
}

/* What is no carry's: alive over one stretch. */
static void
add_slot (TesseraKindPacking *packing, uint32_t index)
{
  const TesseraSlot *slot = &packing->build->plan->slots[index];
  const TesseraUnits *units = packing->build->units;
  bool is_local = is_born_in (packing, slot);
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
is_wanted (const TesseraKindPacking *packing, const TesseraSlot *slot)
{
  const TesseraUnits *units = packing->build->units;

  if (slot->born < units->begin)
    return packing->is_first || slot->died > units->begin;
  if (slot->born >= units->first_end)
    return packing->is_first;
  return is_born_in (packing, slot);
}

static uint32_t
born_of_start (const TesseraKindPacking *packing, uint32_t block)
{
  const TesseraBlock *of = &packing->build->blocks->blocks[block];

  return of->flags & TESSERA_AT_START ? 0 : of->born_index;
}

/* Stretches of time, ascending, none of which touches another. */
typedef struct
{
  uint32_t begins[8], ends[8];
  guint n;
} Spans;

static void
add_span (Spans *spans, uint32_t begin, uint32_t end)
{
  if (begin >= end)
    return;
  if (spans->n > 0 && spans->ends[spans->n - 1] >= begin)
    {
      spans->ends[spans->n - 1] = MAX (spans->ends[spans->n - 1], end);
      return;
    }
  spans->begins[spans->n] = begin;
  spans->ends[spans->n++] = end;
}

/* What two layouts leave, @x and @y, may share a place in a step of the pair at hand and
 * be there at once in one of another kind: where @x is born and @y is still held. */
static bool
meet_elsewhere (const TesseraKindPacking *packing,
                const TesseraCarry *x,
                const TesseraCarry *y)
{
  for (uint32_t k = 0; k < packing->build->units->n_kinds; k++)
    if (k != packing->kind && k != packing->twin && x->requests[k] != TESSERA_NONE &&
        y->ends[k] > packing->build->carries.requests[x->requests[k]].born)
      return true;
  return false;
}

/* Up to where the carry is held when a step of the kind begins: in the pair at hand until
 * all are born there that it meets in steps of other kinds. */
static uint32_t
held_until (const TesseraKindPacking *packing, const TesseraCarry *carry, uint32_t kind)
{
  const TesseraCarries *carries = &packing->build->carries;
  uint32_t until = carry->ends[kind];

  if (packing->twin == TESSERA_NONE || carry->alternates == TESSERA_ALTERNATE_NOT ||
      until <= carries->units->kinds[kind].begin)
    return until;
  for (uint32_t i = 0; i < carries->n_carries; i++)
    {
      const TesseraCarry *other = &carries->carries[i];
      uint32_t request = other->requests[kind];

      if (other->alternates != TESSERA_ALTERNATE_NOT &&
          other->alternates != carry->alternates && request != TESSERA_NONE &&
          carries->requests[request].born >= until &&
          meet_elsewhere (packing, other, carry))
        until = carries->requests[request].born + 1;
    }
  return until;
}

/* In a step of the kind: when it begins, and from the birth of its request on. */
static void
add_spans_of_kind (const TesseraKindPacking *packing,
                   const TesseraCarry *carry,
                   uint32_t kind,
                   Spans *spans)
{
  const TesseraStepKind *of = &packing->build->units->kinds[kind];
  uint32_t request = carry->requests[kind];

  add_span (spans, map (packing, of->begin),
            map (packing, held_until (packing, carry, kind)));
  if (request != TESSERA_NONE)
    add_span (spans, map (packing, packing->build->carries.requests[request].born),
              map (packing, of->end));
}

/* An item has two lives at most: the shortest times between are held too. */
static void
join_spans (Spans *spans)
{
  while (spans->n > 2)
    {
      guint at = 1;

      for (guint i = 2; i < spans->n; i++)
        if (spans->begins[i] - spans->ends[i - 1] <
            spans->begins[at] - spans->ends[at - 1])
          at = i;
      spans->ends[at - 1] = spans->ends[at];
      spans->n--;
      memmove (spans->begins + at, spans->begins + at + 1,
               (spans->n - at) * sizeof *spans->begins);
      memmove (spans->ends + at, spans->ends + at + 1,
               (spans->n - at) * sizeof *spans->ends);
    }
}

/* Of the pair at hand neither step makes it: when it meets what is like it, none tells. */
static bool
is_of_others (const TesseraKindPacking *packing, const TesseraCarry *carry)
{
  return packing->twin != TESSERA_NONE && carry->alternates != TESSERA_ALTERNATE_NOT &&
         carry->requests[packing->kind] == TESSERA_NONE &&
         carry->requests[packing->twin] == TESSERA_NONE;
}

/* How a carry holds its place in this kind's own run. Returns: whether it does. */
static bool
set_lives (const TesseraKindPacking *packing,
           const TesseraCarry *carry,
           TesseraItem *item)
{
  const TesseraUnits *units = packing->build->units;
  Spans spans = { .n = 0 };

  if (packing->is_first && carry->start != TESSERA_NONE)
    add_span (&spans, born_of_start (packing, carry->start), units->begin);
  if (carry->is_turn || is_of_others (packing, carry))
    add_span (&spans, units->begin, step_end (packing));
  else
    {
      add_spans_of_kind (packing, carry, packing->kind, &spans);
      if (packing->twin != TESSERA_NONE)
        add_spans_of_kind (packing, carry, packing->twin, &spans);
    }
  if (packing->is_first && carry->after)
    add_span (&spans, step_end (packing), map (packing, carry->after));
  join_spans (&spans);
  item->begin = spans.n > 0 ? spans.begins[spans.n - 1] : 0;
  item->end = spans.n > 0 ? spans.ends[spans.n - 1] : 0;
  if (spans.n > 1)
    {
      item->begin2 = spans.begins[0];
      item->end2 = spans.ends[0];
    }
  return spans.n > 0;
}

/* The carry of @slot. */
static void
add_carry (TesseraKindPacking *packing, uint32_t index, const TesseraSlot *slot)
{
  const TesseraCarry *carry = &packing->build->carries.carries[index];
  TesseraItem item = { .size_bytes = carry->block_bytes,
                       .zone = zone_of (packing, slot),
                       .prefer_low = slot->lifetime_class == TESSERA_CLASS_PERSISTENT,
                       .is_pinned = !packing->is_first,
                       .pinned_bytes = packing->is_first ? 0 : carry->offset_bytes };

  if (set_lives (packing, carry, &item))
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
add_fences (TesseraKindPacking *packing)
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
tessera_kind_add_elsewhere (TesseraKindPacking *packing,
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
tessera_kind_after_all (const TesseraKindPacking *packing)
{
  return map (packing, packing->build->units->n_positions) + 2;
}

void
tessera_kind_items (TesseraKindPacking *packing)
{
  const TesseraPlan *plan = packing->build->plan;
  const TesseraCarries *carries = &packing->build->carries;

  packing->n_items = 0;
  for (uint32_t i = 0; i < carries->n_carries; i++)
    packing->item_of_carry[i] = TESSERA_NONE;
  for (uint32_t i = 0; i < plan->n_slots; i++)
    {
      const TesseraSlot *slot = &plan->slots[i];
      uint32_t carry = carries->of_slot[i];

      packing->item_of_slot[i] = TESSERA_NONE;
      if (carry == TESSERA_NONE && is_wanted (packing, slot))
        add_slot (packing, i);
      else if (carry != TESSERA_NONE && slot->wraps &&
               packing->item_of_carry[carry] == TESSERA_NONE)
        add_carry (packing, carry, slot);
    }
  for (uint32_t i = 0; i < plan->n_slots; i++)
    if (carries->of_slot[i] != TESSERA_NONE)
      packing->item_of_slot[i] = packing->item_of_carry[carries->of_slot[i]];
  if (!packing->is_first && packing->n_zones > 1)
    add_fences (packing);
}
