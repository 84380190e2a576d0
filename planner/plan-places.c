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

/* A slot that lives on into a step: of the repeating step into the next, or of the start
 * into the first. */
typedef struct
{
  uint64_t owner, block_bytes;
  uint32_t tail; /* requests of that step before it ends */
  uint32_t slot;
} Tail;

static int
compare_shapes (const Tail *x, const Tail *y)
{
  if (x->owner != y->owner)
    return x->owner < y->owner ? -1 : 1;
  return x->block_bytes < y->block_bytes ? -1 : x->block_bytes > y->block_bytes;
}

static int
by_shape_and_tail (const void *a, const void *b)
{
  const Tail *x = a, *y = b;
  int order = compare_shapes (x, y);

  if (order)
    return order;
  if (x->tail != y->tail)
    return x->tail < y->tail ? -1 : 1;
  return x->slot < y->slot ? -1 : x->slot > y->slot;
}

/* Tails of the start first, then those of the repeating step, each sorted. Of a slot with
 * a spare, the spare. */
static void
list_tails (const TesseraPlanBuild *build,
            Tail *tails,
            size_t *out_n_starts,
            size_t *out_n_wraps)
{
  const TesseraPlan *plan = build->plan;
  const TesseraRun *run = &build->run;
  size_t n = 0;
  uint32_t i = 0;

  for (; i < plan->n_slots && plan->slots[i].born < run->step_begin; i++)
    {
      const TesseraSlot *slot = &plan->slots[i];
      uint32_t tail = tessera_run_tail (run, slot->block);

      if (tail != TESSERA_NONE)
        tails[n++] = (Tail){ tessera_slot_owner (slot), slot->block_bytes, tail, i };
    }
  *out_n_starts = n;
  for (; i < plan->n_slots && plan->slots[i].born < run->step_end; i++)
    {
      const TesseraSlot *slot = &plan->slots[i];
      TesseraSpell spell;

      if (slot->wraps && tessera_run_spell (run, slot->block, &spell) &&
          spell.tail != TESSERA_NONE && (!spell.needs_spare || i >= build->first_spare))
        tails[n++] =
            (Tail){ tessera_slot_owner (slot), slot->block_bytes, spell.tail, i };
    }
  *out_n_wraps = n - *out_n_starts;
  qsort (tails, *out_n_starts, sizeof *tails, by_shape_and_tail);
  qsort (tails + *out_n_starts, *out_n_wraps, sizeof *tails, by_shape_and_tail);
}

/* A block of the start that lives on into the first repeating step takes the range of a
 * wrapping slot that ends no sooner there: they are never both alive. */
static TesseraStatus
join_tails (TesseraPlanBuild *build)
{
  TesseraSlot *slots = build->plan->slots;
  Tail *tails = malloc ((build->plan->n_slots + 1) * sizeof *tails), *wrap, *end;
  size_t n_starts, n_wraps;

  if (!tails)
    return TESSERA_NO_MEMORY;
  list_tails (build, tails, &n_starts, &n_wraps);
  wrap = tails + n_starts;
  end = wrap + n_wraps;
  for (Tail *start = tails; start < tails + n_starts; start++)
    {
      TesseraItem *item;

      while (wrap < end &&
             (compare_shapes (wrap, start) < 0 ||
              (compare_shapes (wrap, start) == 0 && wrap->tail < start->tail)))
        wrap++;
      if (wrap == end || compare_shapes (wrap, start) != 0)
        continue;
      item = &build->items[build->item_of_slot[wrap->slot]];
      slots[start->slot].died = build->run.step_begin;
      build->item_of_slot[start->slot] = build->item_of_slot[wrap->slot];
      if (item->begin2 < item->end2)
        item->begin2 = slots[start->slot].born;
      else
        item->begin = slots[start->slot].born;
      wrap++;
    }
  free (tails);
  return TESSERA_OK;
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
