/*
 * Steps of random programs: see items.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/fuzz/follow/items.h"

#define KIB ((uint64_t) 1 << 10)
#define MIB ((uint64_t) 1 << 20)

static guint
below (GRand *rand, guint n)
{
  return (guint) g_rand_int_range (rand, 0, (gint32) n);
}

static bool
chance (GRand *rand, guint of_hundred)
{
  return below (rand, 100) < of_hundred;
}

static uint64_t
make_size (GRand *rand, guint small)
{
  static const uint64_t sizes[] = { 512,       9 * KIB, 100 * KIB, 600 * KIB, MIB,
                                    MIB + 512, 2 * MIB, 2 * MIB,   3 * MIB,   5 * MIB };

  return sizes[below (rand, chance (rand, small) ? 4 : G_N_ELEMENTS (sizes))];
}

Item
item_random (GRand *rand, guint n_streams, guint n_threads, guint small)
{
  Item item = { .size_bytes = make_size (rand, small),
                .stream = below (rand, n_streams),
                .pool = chance (rand, 3) ? GRAPHS : 0,
                .thread = below (rand, n_threads),
                .lifetime = 1 + below (rand, 6),
                .ending = below (rand, 3),
                .skips_owner = chance (rand, 30),
                .is_used_late = chance (rand, 30),
                .is_late_aside = chance (rand, 50) };

  item.freed_by = chance (rand, 70) ? item.thread : below (rand, n_threads);
  if (chance (rand, 35))
    item.sides = (1u << below (rand, n_streams) | 1u << below (rand, n_streams)) &
                 ~(1u << item.stream);
  item.skips_owner &= item.sides != 0;
  if (item.pool != 0)
    item.ending = JOINED;
  if (item.pool != 0)
    item.is_used_late = false;
  return item;
}

/* ---- The plan ---- */

typedef struct
{
  const Item *items;
  guint n_items;
  bool crosses_streams;
  MadePlan *plan;
} Packing;

static bool
share_time (const Packing *packing, guint a, guint b)
{
  guint n = packing->n_items;

  return (b + n - a) % n < packing->items[a].lifetime ||
         (a + n - b) % n < packing->items[b].lifetime;
}

static bool
meet (const Packing *packing, guint a, guint b)
{
  const Item *x = &packing->items[a], *y = &packing->items[b];

  return share_time (packing, a, b) || x->pool != y->pool ||
         (x->stream != y->stream && (x->pool != 0 || !packing->crosses_streams));
}

static uint64_t
block_bytes (const Item *item)
{
  return (item->size_bytes + 511) / 512 * 512;
}

/* The lowest place beside those it meets. */
static uint64_t
find_place (const Packing *packing, guint index)
{
  uint64_t offset_bytes = 0;

  for (guint i = 0; i < index; i++)
    {
      const TesseraSlot *other = &packing->plan->slots[i];

      if (other->offset_bytes < offset_bytes + block_bytes (&packing->items[index]) &&
          offset_bytes < other->offset_bytes + other->block_bytes &&
          meet (packing, index, i))
        {
          offset_bytes = other->offset_bytes + other->block_bytes;
          i = G_MAXUINT; /* from the first one again */
        }
    }
  return offset_bytes;
}

static void
add_slot (Packing *packing, guint index)
{
  const Item *item = &packing->items[index];
  MadePlan *plan = packing->plan;
  TesseraSlot *slot = &plan->slots[index];
  guint end = index + item->lifetime, n = packing->n_items;

  made_plan_add_slot (plan, block_bytes (item), item->stream,
                      find_place (packing, index));
  slot->size_bytes = item->size_bytes;
  slot->pool = (uint16_t) item->pool;
  slot->died = 2 * MIN (end, n) - (end <= n);
  slot->wraps = end > n;
  slot->died_next = end > n ? 2 * (end - n) - 1 : 0;
}

MadePlan *
items_plan (const Item *items, guint n_items, guint n_streams, bool crosses_streams)
{
  MadePlan *plan = g_new0 (MadePlan, 1);
  Packing packing = { items, n_items, crosses_streams, plan };
  uint64_t height_bytes = 0;

  for (guint i = 0; i < n_items; i++)
    {
      const TesseraSlot *slot = &plan->slots[i];

      add_slot (&packing, i);
      height_bytes = MAX (height_bytes, slot->offset_bytes + slot->block_bytes);
    }
  /* As in a trace: of equals in stream and size within the step. */
  for (guint i = 0; i < plan->plan.n_slots; i++)
    for (guint j = 0; j < i; j++)
      plan->slots[i].ordinal += plan->slots[i].stream == plan->slots[j].stream &&
                                plan->slots[i].block_bytes == plan->slots[j].block_bytes;
  made_plan_finish (plan, height_bytes);
  plan->plan.n_streams = n_streams;
  plan->plan.crosses_streams = crosses_streams;
  return plan;
}
