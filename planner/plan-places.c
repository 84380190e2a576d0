/*
 * Places for the slots of a plan: items, zones, packing.
 *
 * Zones: blocks of different pools never share an address (the memory of a captured graph
 * is in use whenever it is replayed, whatever the trace shows), nor do those of different
 * streams, nor, where several streams are at work, PyTorch's two size classes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/plan-build.h"

#include "db/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct
{
  uint64_t owner;
  uint32_t slot;
} Owned;

static int
by_owner (const void *a, const void *b)
{
  const Owned *x = a, *y = b;

  if (x->owner != y->owner)
    return x->owner < y->owner ? -1 : 1;
  return x->slot < y->slot ? -1 : x->slot > y->slot;
}

static TesseraItem
item_of (const TesseraPlanBuild *build, const TesseraSlot *slot)
{
  TesseraItem item = { .size_bytes = slot->block_bytes,
                       .begin = slot->born,
                       .end = slot->died,
                       .prefer_low = slot->lifetime_class == TESSERA_CLASS_PERSISTENT };

  if (slot->wraps && slot->died_next == slot->born)
    item.begin = build->run.step_begin;
  else if (slot->wraps)
    {
      item.begin2 = build->run.step_begin;
      item.end2 = slot->died_next;
    }
  return item;
}

/* The slot of the repeating step that ends at request @ordinal of the next, its spare
 * where there is one; TESSERA_NONE: none does. */
static TesseraStatus
map_tails (const TesseraPlanBuild *build, uint32_t **out_slot_of)
{
  const TesseraPlan *plan = build->plan;
  uint32_t *slot_of = malloc ((build->run.n_requests + 1) * sizeof *slot_of);

  *out_slot_of = slot_of;
  if (!slot_of)
    return TESSERA_NO_MEMORY;
  memset (slot_of, 0xff, (build->run.n_requests + 1) * sizeof *slot_of);
  for (uint32_t i = 0; i < plan->n_slots; i++)
    {
      TesseraSpell spell;

      if (plan->sections[plan->slots[i].section].kind == TESSERA_SECTION_REPEATS &&
          tessera_run_spell (&build->run, plan->slots[i].block, &spell) &&
          spell.tail != TESSERA_NONE)
        slot_of[spell.tail] = i;
    }
  return TESSERA_OK;
}

/* A block of the start that lives on into the first repeating step takes the range of the
 * wrapping slot that ends where it does. */
static TesseraStatus
join_tails (TesseraPlanBuild *build)
{
  TesseraPlan *plan = build->plan;
  uint32_t *slot_of, begin = build->run.step_begin;
  TesseraStatus status = map_tails (build, &slot_of);

  for (uint32_t i = 0; status == TESSERA_OK && i < plan->n_slots; i++)
    {
      TesseraSlot *slot = &plan->slots[i];
      uint32_t tail = tessera_run_tail (&build->run, slot->block);
      TesseraItem *item;
      const TesseraSlot *other;

      if (slot->born >= begin)
        break;
      if (tail == TESSERA_NONE || slot_of[tail] == TESSERA_NONE)
        continue;
      other = &plan->slots[slot_of[tail]];
      if (!other->wraps || other->block_bytes != slot->block_bytes ||
          other->stream != slot->stream || other->pool != slot->pool)
        continue;
      item = &build->items[build->item_of_slot[slot_of[tail]]];
      slot->died = begin;
      build->item_of_slot[i] = build->item_of_slot[slot_of[tail]];
      if (item->begin2 < item->end2)
        item->begin2 = slot->born;
      else
        item->begin = slot->born;
      slot_of[tail] = TESSERA_NONE;
    }
  free (slot_of);
  return status;
}

/* Items that no slot uses any more are dropped, the order is kept. */
static void
close_ranks (TesseraPlanBuild *build, uint32_t *new_index)
{
  size_t n_items = 0;

  memset (new_index, 0xff, (build->n_items + 1) * sizeof *new_index);
  for (size_t i = 0; i < build->plan->n_slots; i++)
    new_index[build->item_of_slot[i]] = 0;
  for (size_t i = 0; i < build->n_items; i++)
    if (new_index[i] == 0)
      {
        build->items[n_items] = build->items[i];
        new_index[i] = (uint32_t) n_items++;
      }
  build->n_items = n_items;
  for (size_t i = 0; i < build->plan->n_slots; i++)
    build->item_of_slot[i] = new_index[build->item_of_slot[i]];
}

static TesseraStatus
set_zones (TesseraPlanBuild *build)
{
  const TesseraPlan *plan = build->plan;
  Owned *owned = malloc ((plan->n_slots + 1) * sizeof *owned);
  uint32_t zone = 0;

  if (!owned)
    return TESSERA_NO_MEMORY;
  for (size_t i = 0; i < plan->n_slots; i++)
    {
      uint64_t owner = tessera_slot_owner (&plan->slots[i]);

      if (plan->across_streams || !tessera_build_splits_sizes (build))
        owner = plan->slots[i].pool;
      owned[i] = (Owned){ owner, (uint32_t) i };
    }
  qsort (owned, plan->n_slots, sizeof *owned, by_owner);
  for (size_t i = 0; i < plan->n_slots; i++)
    {
      zone += i && owned[i].owner != owned[i - 1].owner;
      build->items[build->item_of_slot[owned[i].slot]].zone = zone;
    }
  free (owned);
  return TESSERA_OK;
}

TesseraStatus
tessera_build_items (TesseraPlanBuild *build)
{
  const TesseraPlan *plan = build->plan;
  uint32_t *new_index = malloc ((plan->n_slots + 1) * sizeof *new_index);
  TesseraStatus status = TESSERA_NO_MEMORY;

  build->items = malloc ((plan->n_slots + 1) * sizeof *build->items);
  build->item_of_slot = malloc ((plan->n_slots + 1) * sizeof *build->item_of_slot);
  if (!new_index || !build->items || !build->item_of_slot)
    goto out;
  for (size_t i = 0; i < plan->n_slots; i++)
    {
      build->items[i] = item_of (build, &plan->slots[i]);
      build->item_of_slot[i] = (uint32_t) i;
    }
  build->n_items = plan->n_slots;
  status = build->run.repeats ? join_tails (build) : TESSERA_OK;
  if (status == TESSERA_OK)
    {
      close_ranks (build, new_index);
      status = set_zones (build);
    }
out:
  free (new_index);
  return status;
}

TesseraStatus
tessera_build_offsets (TesseraPlanBuild *build)
{
  TesseraPlan *plan = build->plan;
  const TesseraPackOptions options = { .n_threads = build->options->n_threads,
                                       .work_budget = build->options->work_budget,
                                       .progress = build->options->progress };
  TesseraPacking packing = { .strategy = "nothing to place" };
  uint64_t *offsets = malloc ((build->n_items + 1) * sizeof *offsets);
  char strategy[160];
  TesseraStatus status = TESSERA_NO_MEMORY;

  if (!offsets)
    return status;
  status = build->n_items
               ? tessera_pack (build->items, build->n_items, &options, offsets, &packing)
               : TESSERA_OK;
  if (status != TESSERA_OK)
    goto out;
  for (size_t i = 0; i < plan->n_slots; i++)
    plan->slots[i].offset_bytes = offsets[build->item_of_slot[i]];
  plan->height_bytes = packing.height_bytes;
  snprintf (strategy, sizeof strategy, "free: %s", packing.strategy);
  free (plan->strategy);
  plan->strategy = strdup (strategy);
  if (!plan->strategy)
    status = TESSERA_NO_MEMORY;
out:
  free (offsets);
  return status;
}

TesseraStatus
tessera_build_across (TesseraPlanBuild *build)
{
  return tessera_build_offsets (build);
}
