/*
 * Holds on slots as pins, sets and bodies of items: see holds.h.
 *
 * Bodies: slots that edits keep together, also by way of a slot that two of them share,
 * are one body. It is laid out by itself, and then moves as one. Where several of it are
 * pinned, or one so low that others would begin below 0, it is laid out around the pins.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/edits/holds.h"

#include "planner/memory.h"

/* Sets are bits. */
#define MAX_SETS 64
/* Improving a body's layout may cost so much. */
#define BODY_BUDGET (UINT64_C (1) << 14)

typedef struct
{
  const TesseraHolds *holds;
  const uint32_t *item_of_slot;
  TesseraItem *items;
  size_t n_items;
  uint32_t *pinned_by; /* by item: edit, or TESSERA_NONE */
} Apply;

static TesseraStatus
apply_pin (Apply *apply, const TesseraHold *hold)
{
  for (size_t i = 0; i < hold->n_slots; i++)
    {
      uint32_t index = apply->item_of_slot[hold->slots[i]];
      TesseraItem *item = &apply->items[index];

      if (item->is_pinned && item->pinned_bytes != hold->offsets[i])
        return tessera_complain (apply->holds->complaint, apply->pinned_by[index],
                                 hold->edit,
                                 "they pin the same place to different offsets");
      item->is_pinned = 1;
      item->pinned_bytes = hold->offsets[i];
      apply->pinned_by[index] = hold->edit;
    }
  return TESSERA_OK;
}

/* Of a rotation any block may come to lie in any place. */
static bool
is_of_rotation (const TesseraSlot *slot)
{
  return slot->wraps && slot->died_next >= slot->born;
}

static bool
are_of_one_rotation (const TesseraPlan *plan, uint32_t a, uint32_t b)
{
  const TesseraSlot *x = &plan->slots[a], *y = &plan->slots[b];

  return is_of_rotation (x) && is_of_rotation (y) && x->stream == y->stream &&
         x->pool == y->pool && x->block_bytes == y->block_bytes;
}

static void
put_into_set (const Apply *apply, uint32_t slot, uint64_t in, uint64_t apart)
{
  uint32_t item = apply->item_of_slot[slot];

  if (item == TESSERA_NONE)
    return;
  apply->items[item].in |= in;
  apply->items[item].apart |= apart;
}

/* Puts the items of slots into sets; a slot of a rotation brings the whole of it
   along. */
static void
put_into_sets (const Apply *apply,
               const uint32_t *slots,
               size_t n_slots,
               uint64_t in,
               uint64_t apart)
{
  for (size_t i = 0; i < n_slots; i++)
    {
      put_into_set (apply, slots[i], in, apart);
      for (uint32_t k = 0; is_of_rotation (&apply->holds->plan->slots[slots[i]]) &&
                           k < apply->holds->plan->n_slots;
           k++)
        if (are_of_one_rotation (apply->holds->plan, slots[i], k))
          put_into_set (apply, k, in, apart);
    }
}

/* Places that are taken in turn are not apart for long. */
static bool
takes_turns (const Apply *apply, const uint32_t *slots, size_t n_slots, uint32_t slot)
{
  for (size_t i = 0; is_of_rotation (&apply->holds->plan->slots[slot]) && i < n_slots;
       i++)
    if (slots[i] != slot && are_of_one_rotation (apply->holds->plan, slots[i], slot))
      return true;
  return false;
}

/* The own ones are the last. */
static uint32_t
most_sets (const TesseraHolds *holds)
{
  return holds->own_sets ? (uint32_t) __builtin_ctzll (holds->own_sets) : MAX_SETS;
}

static TesseraStatus
apply_apart (const Apply *apply, const TesseraHold *hold, uint32_t *n_sets)
{
  const uint32_t *with = hold->has_with ? hold->with : hold->slots;
  size_t n_with = hold->has_with ? hold->n_with : hold->n_slots;
  uint64_t first, second;

  if (*n_sets + 1 + hold->has_with > most_sets (apply->holds))
    return tessera_complain (
        apply->holds->complaint, hold->edit, hold->edit,
        apply->holds->own_sets
            ? "more is kept apart than a plan of several kinds of step takes (56 sets of "
              "blocks)"
            : "more is kept apart than a plan takes (64 sets of blocks)");
  first = second = UINT64_C (1) << (*n_sets)++;
  if (hold->has_with)
    second = UINT64_C (1) << (*n_sets)++;
  for (size_t i = 0; i < hold->n_slots; i++)
    if (takes_turns (apply, with, n_with, hold->slots[i]))
      return tessera_complain (apply->holds->complaint, hold->edit, hold->edit,
                               "these blocks take turns in the same places");
  for (size_t i = 0, k = 0; hold->has_with && i < hold->n_slots; i++)
    {
      while (k < n_with && with[k] < hold->slots[i])
        k++;
      if (k < n_with && with[k] == hold->slots[i])
        return tessera_complain (apply->holds->complaint, hold->edit, hold->edit,
                                 "some blocks are on both sides");
    }
  put_into_sets (apply, hold->slots, hold->n_slots, first, second);
  if (hold->has_with)
    put_into_sets (apply, hold->with, hold->n_with, second, first);
  return TESSERA_OK;
}

static uint32_t
find_root (uint32_t *parents, uint32_t item)
{
  while (parents[item] != item)
    item = parents[item] = parents[parents[item]];
  return item;
}

/* Numbers bodies, 1 and up, into the items. Returns: how many. */
static uint32_t
number_bodies (Apply *apply)
{
  g_autofree uint32_t *parents = g_new (uint32_t, apply->n_items + 1);
  g_autofree uint32_t *numbers = g_new0 (uint32_t, apply->n_items + 1);
  uint32_t n_bodies = 0;

  for (uint32_t i = 0; i < apply->n_items; i++)
    parents[i] = i;
  for (size_t h = 0; h < apply->holds->n_holds; h++)
    {
      const TesseraHold *hold = &apply->holds->holds[h];

      for (size_t i = 1; hold->kind == TESSERA_EDIT_TOGETHER && i < hold->n_slots; i++)
        parents[find_root (parents, apply->item_of_slot[hold->slots[i]])] =
            find_root (parents, apply->item_of_slot[hold->slots[0]]);
    }
  for (uint32_t i = 0; i < apply->n_items; i++)
    numbers[find_root (parents, i)]++;
  for (uint32_t i = 0; i < apply->n_items; i++) /* by root: size, then the number */
    if (parents[i] == i)
      numbers[i] = numbers[i] > 1 ? ++n_bodies : 0;
  for (uint32_t i = 0; i < apply->n_items; i++)
    apply->items[i].body = numbers[find_root (parents, i)];
  return n_bodies;
}

typedef struct
{
  TesseraItem *items; /* copies of one body's */
  uint32_t *sources;  /* [..] their items */
  uint64_t *offsets;
  size_t n, n_pins;
  uint64_t lowest_pin;
} Body;

/* Members of body @body, without their pins. */
static void
gather (const Apply *apply, uint32_t body, Body *gathered)
{
  gathered->n = gathered->n_pins = 0;
  gathered->lowest_pin = UINT64_MAX;
  for (uint32_t i = 0; i < apply->n_items; i++)
    {
      const TesseraItem *item = &apply->items[i];

      if (item->body != body)
        continue;
      gathered->sources[gathered->n] = i;
      gathered->items[gathered->n] = *item;
      gathered->items[gathered->n].is_pinned = 0;
      gathered->items[gathered->n++].body = 0;
      gathered->n_pins += item->is_pinned;
      if (item->is_pinned && item->pinned_bytes < gathered->lowest_pin)
        gathered->lowest_pin = item->pinned_bytes;
    }
}

/* Whether the layout, moved so that the one pin holds, begins at 0 or above. */
static bool
hangs_on_its_pin (const Apply *apply, const Body *gathered)
{
  for (size_t i = 0; i < gathered->n; i++)
    if (apply->items[gathered->sources[i]].is_pinned)
      return gathered->n_pins == 1 && gathered->offsets[i] <= gathered->lowest_pin;
  return true;
}

/* Pins as they are, measured from the lowest of them. */
static void
put_pins_back (const Apply *apply, Body *gathered)
{
  for (size_t i = 0; i < gathered->n; i++)
    {
      const TesseraItem *item = &apply->items[gathered->sources[i]];

      gathered->items[i].is_pinned = item->is_pinned;
      if (item->is_pinned)
        gathered->items[i].pinned_bytes = item->pinned_bytes - gathered->lowest_pin;
    }
}

static TesseraStatus
lay_out (Apply *apply, uint32_t body, Body *gathered)
{
  const TesseraPackOptions options = { .work_budget = BODY_BUDGET };
  TesseraPacking packing;
  TesseraStatus status;

  gather (apply, body, gathered);
  status =
      tessera_pack (gathered->items, gathered->n, &options, gathered->offsets, &packing);
  if (status == TESSERA_OK && !hangs_on_its_pin (apply, gathered))
    {
      put_pins_back (apply, gathered);
      status = tessera_pack (gathered->items, gathered->n, &options, gathered->offsets,
                             &packing);
    }
  if (status == TESSERA_REFUSED)
    {
      const uint32_t items[] = { gathered->sources[packing.conflict[0]],
                                 gathered->sources[packing.conflict[1]] };

      return tessera_holds_explain (apply->holds, apply->item_of_slot, apply->items,
                                    items);
    }
  for (size_t i = 0; status == TESSERA_OK && i < gathered->n; i++)
    apply->items[gathered->sources[i]].body_offset_bytes = gathered->offsets[i];
  return status;
}

static TesseraStatus
lay_out_bodies (Apply *apply)
{
  uint32_t n_bodies = number_bodies (apply);
  g_autofree TesseraItem *items = g_new (TesseraItem, apply->n_items + 1);
  g_autofree uint32_t *sources = g_new (uint32_t, apply->n_items + 1);
  g_autofree uint64_t *offsets = g_new (uint64_t, apply->n_items + 1);
  Body gathered = { items, sources, offsets, 0, 0, 0 };
  TesseraStatus status = TESSERA_OK;

  for (uint32_t body = 1; status == TESSERA_OK && body <= n_bodies; body++)
    status = lay_out (apply, body, &gathered);
  return status;
}

/* Distances of the slots kept together, for whoever looks whether they are kept. */
static void
note_distances (const Apply *apply, TesseraHold *hold)
{
  uint64_t lowest = UINT64_MAX;

  free (hold->offsets);
  hold->offsets = g_new (uint64_t, hold->n_slots + 1);
  for (size_t i = 0; i < hold->n_slots; i++)
    {
      hold->offsets[i] =
          apply->items[apply->item_of_slot[hold->slots[i]]].body_offset_bytes;
      lowest = MIN (hold->offsets[i], lowest);
    }
  for (size_t i = 0; i < hold->n_slots; i++)
    hold->offsets[i] -= lowest;
}

TesseraStatus
tessera_holds_apply_sets (const TesseraHolds *holds,
                          const uint32_t *item_of_slot,
                          TesseraItem *items)
{
  const Apply apply = { .holds = holds, .item_of_slot = item_of_slot, .items = items };
  uint32_t n_sets = 0;
  TesseraStatus status = TESSERA_OK;

  for (size_t h = 0; h < holds->n_holds && status == TESSERA_OK; h++)
    if (holds->holds[h].kind == TESSERA_EDIT_APART)
      status = apply_apart (&apply, &holds->holds[h], &n_sets);
  return status;
}

TesseraStatus
tessera_holds_apply (TesseraHolds *holds,
                     const uint32_t *item_of_slot,
                     TesseraItem *items,
                     size_t n_items)
{
  Apply apply = { holds, item_of_slot, items, n_items, NULL };
  TesseraStatus status = TESSERA_OK;

  if (holds->n_holds == 0)
    return TESSERA_OK;
  apply.pinned_by = g_new (uint32_t, n_items + 1);
  for (size_t i = 0; i < n_items; i++)
    {
      items[i].is_pinned = 0;
      items[i].in &= holds->own_sets;
      items[i].apart &= holds->own_sets;
      items[i].body_offset_bytes = 0;
      items[i].body = 0;
    }
  for (size_t h = 0; h < holds->n_holds && status == TESSERA_OK; h++)
    if (holds->holds[h].kind == TESSERA_EDIT_PIN)
      status = apply_pin (&apply, &holds->holds[h]);
  if (status == TESSERA_OK)
    status = tessera_holds_apply_sets (holds, item_of_slot, items);
  if (status == TESSERA_OK)
    status = lay_out_bodies (&apply);
  for (size_t h = 0; h < holds->n_holds && status == TESSERA_OK; h++)
    if (holds->holds[h].kind == TESSERA_EDIT_TOGETHER)
      note_distances (&apply, &holds->holds[h]);
  free (apply.pinned_by);
  return status;
}

/* Whether one of the slots is that item's. */
static bool
has_item (const uint32_t *slots,
          size_t n_slots,
          const uint32_t *item_of_slot,
          uint32_t item)
{
  for (size_t i = 0; i < n_slots; i++)
    if (item_of_slot[slots[i]] == item)
      return true;
  return false;
}

/* The edit that says where the item lies: a pin, else what keeps it together with
 * others; TESSERA_NONE: none does. */
static uint32_t
find_edit (const TesseraHolds *holds, const uint32_t *item_of_slot, uint32_t item)
{
  static const TesseraEditKind kinds[] = { TESSERA_EDIT_PIN, TESSERA_EDIT_TOGETHER };

  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
    for (size_t h = 0; h < holds->n_holds; h++)
      if (holds->holds[h].kind == kinds[k] &&
          has_item (holds->holds[h].slots, holds->holds[h].n_slots, item_of_slot, item))
        return holds->holds[h].edit;
  return TESSERA_NONE;
}

/* The edit that keeps the two apart; TESSERA_NONE: none does. */
static uint32_t
find_apart (const TesseraHolds *holds,
            const uint32_t *item_of_slot,
            uint32_t a,
            uint32_t b)
{
  for (size_t h = 0; h < holds->n_holds; h++)
    {
      const TesseraHold *hold = &holds->holds[h];
      bool has_a = has_item (hold->slots, hold->n_slots, item_of_slot, a);
      bool has_b = has_item (hold->slots, hold->n_slots, item_of_slot, b);

      if (hold->kind != TESSERA_EDIT_APART)
        continue;
      if (!hold->has_with
              ? has_a && has_b
              : (has_a && has_item (hold->with, hold->n_with, item_of_slot, b)) ||
                    (has_b && has_item (hold->with, hold->n_with, item_of_slot, a)))
        return hold->edit;
    }
  return TESSERA_NONE;
}

TesseraStatus
tessera_holds_explain (const TesseraHolds *holds,
                       const uint32_t *item_of_slot,
                       const TesseraItem *items,
                       const uint32_t conflict[2])
{
  uint32_t first = find_edit (holds, item_of_slot, conflict[0]);
  uint32_t second = find_edit (holds, item_of_slot, conflict[1]), apart;

  if (first == TESSERA_NONE)
    first = second;
  if (second == TESSERA_NONE)
    second = first;
  if (first == TESSERA_NONE)
    return TESSERA_REFUSED;
  apart = conflict[0] != conflict[1] &&
                  !tessera_items_meet (&items[conflict[0]], &items[conflict[1]])
              ? find_apart (holds, item_of_slot, conflict[0], conflict[1])
              : TESSERA_NONE;
  if (apart != TESSERA_NONE)
    return tessera_complain (holds->complaint, first, apart,
                             "what is pinned to the same addresses is to be kept apart");
  return tessera_complain (holds->complaint, first, second,
                           "blocks that may not share an address would share one");
}
