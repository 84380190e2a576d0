/*
 * What is packed for the slots of a plan: items and their zones.
 *
 * Zones: blocks of different pools never share an address (the memory of a captured graph
 * is in use whenever it is replayed, whatever the trace shows), nor do those of different
 * streams, nor, where several streams may be at work, PyTorch's two size classes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/plan/build.h"

#include "db/plan.h"

#include <stdlib.h>
#include <string.h>

/* Of one stream small and large keep zones of their own where that costs no more than
 * this share of the pool: strays of a run that differs, most of them small, have a place
 * there that is in no large block's way. */
#define COSTLY_ZONES_SHARE 256
/* Across streams a range that passes between small and large is one more wait: examples/
 * fsdp2.py waits 546 times a step at 1B where 91 do, for 0.7 % of the height, and 357 for
 * 10 at 160M, for 2.6 %, which is 2 % of its time. */
#define COSTLY_ZONES_SHARE_ACROSS 32

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

  if (slot->wraps && slot->died_next >= slot->born)
    item.begin = build->run.step_begin;
  else if (slot->wraps)
    {
      item.begin2 = build->run.step_begin;
      item.end2 = slot->died_next;
    }
  return item;
}

static int
compare_shapes (const TesseraTail *x, const TesseraTail *y)
{
  if (x->owner != y->owner)
    return x->owner < y->owner ? -1 : 1;
  return x->block_bytes < y->block_bytes ? -1 : x->block_bytes > y->block_bytes;
}

static int
by_shape_and_tail (const void *a, const void *b)
{
  const TesseraTail *x = a, *y = b;
  int order = compare_shapes (x, y);

  if (order)
    return order;
  if (x->tail != y->tail)
    return x->tail < y->tail ? -1 : 1;
  return x->slot < y->slot ? -1 : x->slot > y->slot;
}

void
tessera_match_tails (TesseraTail *starts,
                     size_t n_starts,
                     TesseraTail *wraps,
                     size_t n_wraps)
{
  size_t k = n_wraps;

  qsort (starts, n_starts, sizeof *starts, by_shape_and_tail);
  qsort (wraps, n_wraps, sizeof *wraps, by_shape_and_tail);
  for (size_t i = n_starts; i > 0; i--)
    {
      TesseraTail *start = &starts[i - 1];

      start->partner = TESSERA_NONE;
      while (k > 0 && compare_shapes (&wraps[k - 1], start) > 0)
        k--;
      if (k > 0 && compare_shapes (&wraps[k - 1], start) == 0 &&
          wraps[k - 1].tail >= start->tail)
        start->partner = wraps[--k].slot;
    }
}

static TesseraTail
make_tail (const TesseraSlot *slot, uint32_t tail, uint32_t index)
{
  return (TesseraTail){ .owner = tessera_slot_owner (slot),
                        .block_bytes = slot->block_bytes,
                        .tail = tail,
                        .slot = index };
}

/* Tails of the start, then those of the repeating step: the number of requests before the
 * end. */
static void
list_tails (const TesseraPlanBuild *build,
            TesseraTail *tails,
            size_t *out_n_starts,
            size_t *out_n_wraps)
{
  const TesseraPlan *plan = build->plan;
  const TesseraRun *run = &build->run;
  size_t n = 0;
  uint32_t i = 0;

  for (; i < plan->n_slots && plan->slots[i].born < run->step_begin; i++)
    {
      uint32_t tail = tessera_run_tail (run, plan->slots[i].block);

      /* What an edit wants of the one it need not want of the other. */
      if (tail != TESSERA_NONE && !(build->holds.is_held && build->holds.is_held[i]))
        tails[n++] = make_tail (&plan->slots[i], tail, i);
    }
  *out_n_starts = n;
  for (; i < plan->n_slots && plan->slots[i].born < run->step_end; i++)
    {
      const TesseraSlot *slot = &plan->slots[i];
      TesseraLifetime lifetime;

      if (slot->wraps && tessera_run_lifetime (run, slot->block, &lifetime) &&
          lifetime.tail != TESSERA_NONE && !tessera_build_is_spare (build, i))
        tails[n++] = make_tail (slot, lifetime.tail, i);
    }
  *out_n_wraps = n - *out_n_starts;
}

/* A block of the start that lives on into the first repeating step takes the range of a
 * wrapping slot that ends no sooner there: they are never both alive. */
static void
join_tails (TesseraPlanBuild *build)
{
  TesseraSlot *slots = build->plan->slots;
  g_autofree TesseraTail *tails = g_new (TesseraTail, build->plan->n_slots + 1);
  size_t n_starts, n_wraps;

  list_tails (build, tails, &n_starts, &n_wraps);
  tessera_match_tails (tails, n_starts, tails + n_starts, n_wraps);
  for (const TesseraTail *start = tails; start < tails + n_starts; start++)
    {
      TesseraItem *item;

      if (start->partner == TESSERA_NONE)
        continue;
      item = &build->items[build->item_of_slot[start->partner]];
      slots[start->slot].died = build->run.step_begin;
      build->item_of_slot[start->slot] = build->item_of_slot[start->partner];
      if (item->begin2 < item->end2)
        item->begin2 = slots[start->slot].born;
      else
        item->begin = slots[start->slot].born;
    }
}

/* Drops items that no slot uses any more; the order is kept. */
static void
close_ranks (TesseraPlanBuild *build)
{
  g_autofree uint32_t *new_index = tessera_new_nones (build->n_items);
  size_t n_items = 0;

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

/* @splits: small and large have zones of their own. @out_bytes: what the zones need, one
 * on top of the other. */
static TesseraStatus
number_zones (TesseraPlanBuild *build, bool splits, uint64_t *out_bytes)
{
  const TesseraPlan *plan = build->plan;
  g_autofree Owned *owned = g_new (Owned, plan->n_slots + 1);
  uint32_t zone = 0;

  for (size_t i = 0; i < plan->n_slots; i++)
    {
      uint64_t owner =
          splits ? tessera_build_owner (build, &plan->slots[i]) : plan->slots[i].pool;

      owned[i] = (Owned){ owner, (uint32_t) i };
    }
  qsort (owned, plan->n_slots, sizeof *owned, by_owner);
  for (size_t i = 0; i < plan->n_slots; i++)
    {
      zone += i && owned[i].owner != owned[i - 1].owner;
      build->items[build->item_of_slot[owned[i].slot]].zone = zone;
    }
  return tessera_pack_bound (build->items, build->n_items, out_bytes);
}

bool
tessera_build_may_join_sizes (const TesseraPlanBuild *build)
{
  return !tessera_trace_has_streams (build->trace) || build->plan->crosses_streams;
}

bool
tessera_build_is_costly (const TesseraPlanBuild *build,
                         uint64_t apart_bytes,
                         uint64_t together_bytes)
{
  uint64_t share =
      build->plan->crosses_streams ? COSTLY_ZONES_SHARE_ACROSS : COSTLY_ZONES_SHARE;

  return apart_bytes - together_bytes > apart_bytes / share;
}

static TesseraStatus
set_zones (TesseraPlanBuild *build)
{
  bool splits = tessera_build_splits_sizes (build);
  uint64_t apart_bytes, together_bytes;
  TesseraStatus status = number_zones (build, splits, &apart_bytes);

  if (status != TESSERA_OK || !splits || !tessera_build_may_join_sizes (build))
    return status;
  status = number_zones (build, false, &together_bytes);
  return status == TESSERA_OK &&
                 !tessera_build_is_costly (build, apart_bytes, together_bytes)
             ? number_zones (build, true, &apart_bytes)
             : status;
}

TesseraStatus
tessera_build_items (TesseraPlanBuild *build)
{
  const TesseraPlan *plan = build->plan;

  build->items = g_new (TesseraItem, plan->n_slots + 1);
  build->item_of_slot = g_new (uint32_t, plan->n_slots + 1);
  for (size_t i = 0; i < plan->n_slots; i++)
    {
      build->items[i] = item_of (build, &plan->slots[i]);
      build->item_of_slot[i] = (uint32_t) i;
    }
  build->n_items = plan->n_slots;
  if (build->run.repeats)
    {
      join_tails (build);
      close_ranks (build);
    }
  return set_zones (build);
}
