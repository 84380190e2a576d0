/*
 * What edits want of slots, and of what is packed: see build.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/plan/build.h"

#include <stdlib.h>
#include <string.h>

#include "planner/diff.h"
#include "planner/structure/private.h"

void
tessera_build_mark_left_out (TesseraPlanBuild *build, uint32_t block, uint32_t why)
{
  uint32_t twin = tessera_units_twin (build->units, block);

  build->left_out[block] = why;
  if (twin != TESSERA_NONE)
    build->left_out[twin] = why;
}

/* What units keep, of those that stand for their kind. */
static void
leave_kept_out (TesseraPlanBuild *build)
{
  const TesseraUnits *units = build->units;

  for (uint32_t k = 0; k < units->n_kinds; k++)
    for (uint32_t r = 0; units->kinds[k].is_kept && r < units->kinds[k].n_requests; r++)
      if (units->kinds[k].is_kept[r])
        build->left_out[units->blocks->block_of_event[units->kinds[k].requests[r]]] =
            TESSERA_LEFT_OUT_KEPT;
}

/* An edit all of whose blocks are dynamic leaves nothing out: no plan pretends that it
 * did. Where several edits are about a block, the first is asked. */
static TesseraStatus
refuse_dynamic (TesseraPlanBuild *build)
{
  const uint32_t *left_out = build->constraints.left_out;
  size_t n_edits = build->options->n_edits;
  g_autofree uint8_t *reaches = g_new0 (uint8_t, n_edits + 1); /* 1: dynamic, 2: others */

  for (size_t i = 0; i < build->blocks->n_blocks; i++)
    if (left_out[i])
      reaches[left_out[i] - 1] |= build->units->is_dynamic[i] ? 1 : 2;
  for (uint32_t i = 0; i < n_edits; i++)
    if (reaches[i] == 1)
      return tessera_complain (&build->complaint, i, i, TESSERA_ALL_DYNAMIC);
  return TESSERA_OK;
}

TesseraStatus
tessera_build_leave_out (TesseraPlanBuild *build, const TesseraUnits *units)
{
  const uint32_t *left_out = build->constraints.left_out;
  size_t n_blocks = build->blocks->n_blocks;

  build->units = units;
  free (build->left_out);
  build->left_out = g_new0 (uint32_t, n_blocks + 1);
  leave_kept_out (build);
  for (uint32_t i = 0; left_out && i < n_blocks; i++)
    {
      uint32_t block = left_out[i] ? tessera_units_stands_for (units, i) : TESSERA_NONE;

      if (block != TESSERA_NONE && !build->left_out[block])
        tessera_build_mark_left_out (build, block, left_out[i]);
    }
  return left_out && units->is_dynamic ? refuse_dynamic (build) : TESSERA_OK;
}

/* Adds to what holds each of the blocks; @seen: [n_blocks] the last number that was added
 * to it. */
static void
add_holder (const TesseraUnits *units,
            const uint32_t *blocks,
            const uint64_t *offsets,
            size_t n_blocks,
            uint32_t number,
            uint32_t *seen,
            uint64_t *holders)
{
  for (size_t i = 0; i < n_blocks; i++)
    {
      uint32_t block = tessera_units_stands_for (units, blocks[i]);

      if (block == TESSERA_NONE || seen[block] == number)
        continue;
      seen[block] = number;
      if (holders[block] == 0)
        holders[block] = TESSERA_FNV_BASIS;
      holders[block] =
          tessera_mix (tessera_mix (holders[block], number), offsets ? offsets[i] : 0);
    }
}

uint64_t *
tessera_build_find_holders (const TesseraPlanBuild *build)
{
  const TesseraUnits *units = build->units;
  const TesseraConstraints *constraints = &build->constraints;
  size_t n_blocks = build->blocks->n_blocks;
  g_autofree uint32_t *seen = NULL;
  uint64_t *holders;

  if (constraints->n_constraints == 0)
    return NULL;
  seen = g_new0 (uint32_t, n_blocks + 1);
  holders = g_new0 (uint64_t, n_blocks + 1);
  for (size_t w = 0; w < constraints->n_constraints; w++)
    {
      const TesseraHold *constraint = &constraints->constraints[w];

      add_holder (units, constraint->blocks, constraint->offsets, constraint->n_blocks,
                  2 * (uint32_t) w + 1, seen, holders);
      add_holder (units, constraint->with, NULL, constraint->n_with, 2 * (uint32_t) w + 2,
                  seen, holders);
    }
  return holders;
}

/* Of slots in one place for good the first that wraps; of all others themselves. */
static uint32_t *
find_places (const TesseraPlan *plan, const TesseraCarries *carries)
{
  g_autofree uint32_t *first = tessera_new_nones (carries->n_carries);
  uint32_t *places = tessera_new_nones (plan->n_slots);

  for (size_t i = plan->n_slots; i-- > 0;)
    if (carries->of_slot[i] != TESSERA_NONE && plan->slots[i].wraps)
      first[carries->of_slot[i]] = (uint32_t) i;
  for (uint32_t i = 0; i < plan->n_slots; i++)
    places[i] = carries->of_slot[i] != TESSERA_NONE ? first[carries->of_slot[i]] : i;
  return places;
}

/* Of each block the slot that stands for it, or TESSERA_NONE, and whether steps keep it. */
static void
find_slots (const TesseraPlanBuild *build, uint32_t *slot_of_block, uint8_t *is_kept)
{
  const TesseraPlan *plan = build->plan;
  size_t n_blocks = build->blocks->n_blocks;
  g_autofree uint32_t *own = tessera_new_nones (n_blocks); /* of what stands for itself */

  for (uint32_t i = 0; i < plan->n_slots; i++)
    if (!tessera_build_is_spare (build, i))
      own[plan->slots[i].block] = i;
  for (uint32_t i = 0; i < n_blocks; i++)
    {
      uint32_t block = tessera_units_stands_for (build->units, i);

      if (block == TESSERA_NONE)
        continue;
      slot_of_block[i] = own[block];
      is_kept[i] = build->left_out[block] == TESSERA_LEFT_OUT_KEPT;
    }
}

TesseraStatus
tessera_build_find_holds (TesseraPlanBuild *build)
{
  size_t n_blocks = build->blocks->n_blocks;
  g_autofree uint32_t *slots = NULL, *places = NULL;
  g_autofree uint8_t *is_kept = NULL;

  if (build->constraints.n_constraints == 0)
    return TESSERA_OK;
  slots = tessera_new_nones (n_blocks);
  places = find_places (build->plan, &build->carries);
  is_kept = g_new0 (uint8_t, n_blocks + 1);
  find_slots (build, slots, is_kept);
  return tessera_holds_init (&build->constraints, build->plan,
                             &(TesseraHoldsMap){ .slot_of_block = slots,
                                                 .first_at_place = places,
                                                 .is_dynamic = build->units->is_dynamic,
                                                 .is_kept = is_kept },
                             &build->complaint, &build->holds);
}

/*
 * What edits hold while one kind of step is packed: see build.h.
 *
 * With the first kind come all pins of other kinds too, and all that is to stay together:
 * in moments of their own kind, behind all others, where they meet each other. What the
 * first kind's packing places for all kinds (carries, the start) keeps out of their way:
 * where the two may be there together they are of sets that are apart.
 *
 * After the first kind these have their places. What is kept apart from others and has
 * one is there in each later packing, in a moment of its own, where it is in nobody's way
 * but of those.
 */

/* Own sets, of each kind one, are the last (own_sets of the holds). */
static uint64_t
set_of_kind (uint32_t kind)
{
  return UINT64_C (1) << (56 + kind);
}

uint64_t
tessera_kind_own_sets (const TesseraUnits *units)
{
  return units->n_kinds > 1 ? UINT64_C (0xff) << 56 : 0;
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
static void
add_later (TesseraKindPacking *packing, Stretch *stretches)
{
  const TesseraPlan *plan = packing->build->plan;
  const TesseraHolds *holds = &packing->build->holds;
  uint32_t behind = tessera_kind_after_all (packing);

  for (size_t h = 0; h < holds->n_holds; h++)
    for (size_t i = 0; i < holds->holds[h].n_slots; i++)
      {
        uint32_t index = holds->holds[h].slots[i];
        const TesseraSlot *slot = &plan->slots[index];
        uint32_t kind = kind_of (packing->build->units, slot);

        if (holds->holds[h].kind == TESSERA_EDIT_APART ||
            packing->item_of_slot[index] != TESSERA_NONE)
          continue;
        tessera_kind_add_elsewhere (packing, index, behind + slot->born,
                                    behind + slot->died);
        packing->items[packing->item_of_slot[index]].apart = set_of_kind (kind);
        stretches[kind].begin = MIN (slot->born, stretches[kind].begin);
        stretches[kind].end = MAX (slot->died, stretches[kind].end);
      }
}

/* Whether what is placed for all kinds may be there while those slots of the kind are. */
static bool
carry_meets (const TesseraCarries *carries,
             const TesseraCarry *carry,
             uint32_t kind,
             const Stretch *stretch)
{
  uint32_t request = carry->requests[kind];

  return carry->is_turn || stretch->begin < carry->ends[kind] ||
         (request != TESSERA_NONE && stretch->end > carries->requests[request].born);
}

static void
keep_clear (TesseraKindPacking *packing, uint32_t kind, const Stretch *stretch)
{
  const TesseraCarries *carries = &packing->build->carries;
  const TesseraPlan *plan = packing->build->plan;

  if (stretch->begin >= stretch->end)
    return;
  for (uint32_t i = 0; i < carries->n_carries; i++)
    if (carry_meets (carries, &carries->carries[i], kind, stretch))
      if (packing->item_of_carry[i] != TESSERA_NONE)
        packing->items[packing->item_of_carry[i]].in |= set_of_kind (kind);
  for (uint32_t i = 0; i < plan->n_slots; i++)
    if (plan->slots[i].born < carries->units->begin &&
        plan->slots[i].died > carries->units->begin)
      packing->items[packing->item_of_slot[i]].in |= set_of_kind (kind);
}

static TesseraStatus
hold_first (TesseraKindPacking *packing)
{
  TesseraPlanBuild *build = packing->build;
  Stretch stretches[TESSERA_MAX_KINDS];

  for (uint32_t k = 0; k < TESSERA_MAX_KINDS; k++)
    stretches[k] = (Stretch){ UINT32_MAX, 0 };
  add_later (packing, stretches);
  for (uint32_t k = 0; k < packing->build->units->n_kinds; k++)
    keep_clear (packing, k, &stretches[k]);
  return tessera_holds_apply (&build->holds, packing->item_of_slot, packing->items,
                              packing->n_items);
}

/* What has its place and is held to something comes along, each in a moment by itself. */
static TesseraStatus
hold_next (TesseraKindPacking *packing)
{
  const TesseraPlanBuild *build = packing->build;
  uint32_t moment = tessera_kind_after_all (packing);

  for (uint32_t i = 0; i < build->plan->n_slots; i++)
    if (build->holds.is_held[i] && packing->has_place[i] &&
        packing->item_of_slot[i] == TESSERA_NONE)
      {
        tessera_kind_add_elsewhere (packing, i, moment, moment + 1);
        moment++;
      }
  return tessera_holds_apply_sets (&build->holds, packing->item_of_slot, packing->items);
}

TesseraStatus
tessera_kind_hold (TesseraKindPacking *packing)
{
  if (packing->build->holds.n_holds == 0)
    return TESSERA_OK;
  return packing->is_first ? hold_first (packing) : hold_next (packing);
}

/*
 * Requests that several kinds of step have in common get the same places, where they are
 * free: who follows the plan need not know at once of which kind a step is.
 */

#define MAX_DIFFERENT 2048

/* The tokens of a kind's requests. */
static uint64_t *
tokens_of (const TesseraUnits *units, uint32_t kind)
{
  const TesseraUnit *unit = &units->units[units->kinds[kind].unit];
  uint64_t *tokens = g_new (uint64_t, unit->n_requests + 1);

  tessera_unit_tokens (units->trace, unit->begin, unit->end, tokens);
  return tokens;
}

/* For each request of the kind at hand the like of it in @other, or TESSERA_NONE. Returns:
 * how many have one. */
static uint32_t
compare_with (const TesseraKindPacking *packing, uint32_t other, uint32_t *likes)
{
  const TesseraUnits *units = packing->build->units;
  uint32_t n = units->kinds[packing->kind].n_requests;
  uint32_t n_other = units->kinds[other].n_requests;
  g_autofree uint64_t *a = tokens_of (units, packing->kind);
  g_autofree uint64_t *b = tokens_of (units, other);
  uint32_t n_common = tessera_diff (a, n, b, n_other, MAX_DIFFERENT, likes);

  if (n_common > 0)
    return n_common;
  /* Too different: what both begin with. */
  for (; n_common < MIN (n, n_other) && a[n_common] == b[n_common]; n_common++)
    likes[n_common] = n_common;
  return n_common;
}

static bool
meet (const TesseraItem *a, const TesseraItem *b)
{
  return a->pinned_bytes < b->pinned_bytes + b->size_bytes &&
         b->pinned_bytes < a->pinned_bytes + a->size_bytes &&
         (tessera_items_are_apart (a, b) || tessera_items_meet (a, b));
}

/* Of those pinned, whoever may be alive from now on. */
typedef struct
{
  const TesseraItem *items;
  uint32_t *list;
  size_t n;
} Pinned;

static bool
is_free (Pinned *pinned, const TesseraItem *item)
{
  bool is_free = true;
  size_t n = 0;

  for (size_t i = 0; i < pinned->n; i++)
    {
      const TesseraItem *other = &pinned->items[pinned->list[i]];

      if (other->end <= item->begin && (other->in | other->apart) == 0)
        continue;
      pinned->list[n++] = pinned->list[i];
      is_free = is_free && !meet (item, other);
    }
  pinned->n = n;
  return is_free;
}

static size_t
pin_likes (TesseraKindPacking *packing,
           uint32_t other,
           const uint32_t *likes,
           Pinned *pinned)
{
  const TesseraPlan *plan = packing->build->plan;
  const TesseraUnits *units = packing->build->units;
  const TesseraKindRequest *requests =
      &packing->build->carries
           .requests[packing->build->carries.first_request[packing->kind]];
  const TesseraKindRequest *other_requests =
      &packing->build->carries.requests[packing->build->carries.first_request[other]];
  size_t n_pinned = 0;

  for (uint32_t i = 0; i < packing->n_items; i++)
    if (packing->items[i].is_pinned)
      pinned->list[pinned->n++] = i;
  for (uint32_t r = 0; r < units->kinds[packing->kind].n_requests; r++)
    {
      uint32_t slot = requests[r].slot, index, like;
      TesseraItem *item;

      if (likes[r] == TESSERA_NONE || slot == TESSERA_NONE)
        continue;
      index = packing->item_of_slot[slot];
      like = other_requests[likes[r]].slot;
      item = &packing->items[index];
      if (item->is_pinned || like == TESSERA_NONE)
        continue;
      item->pinned_bytes = plan->slots[like].offset_bytes;
      if (!is_free (pinned, item))
        continue;
      item->is_pinned = true;
      pinned->list[pinned->n++] = index;
      n_pinned++;
    }
  return n_pinned;
}

size_t
tessera_kind_pin (TesseraKindPacking *packing)
{
  const TesseraUnits *units = packing->build->units;
  g_autofree uint32_t *best = NULL;
  g_autofree uint32_t *list = g_new (uint32_t, packing->n_items + 1);
  Pinned pinned = { .items = packing->items, .list = list };
  uint32_t n_best = 0, best_kind = TESSERA_NONE;

  for (uint32_t k = 0; k < units->n_kinds; k++)
    if (packing->is_placed[k])
      {
        g_autofree uint32_t *likes =
            tessera_new_nones (units->kinds[packing->kind].n_requests);
        uint32_t n_common = compare_with (packing, k, likes);

        if (n_common <= n_best)
          continue;
        g_free (best);
        best = g_steal_pointer (&likes);
        n_best = n_common;
        best_kind = k;
      }
  return n_best > 0 ? pin_likes (packing, best_kind, best, &pinned) : 0;
}
