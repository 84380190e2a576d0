/*
 * Tests of packing what is pinned, apart, or of one body.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/planner/judge.h"
#include "tests/ok.h"

#include <glib.h>
#include <string.h>

enum
{
  MAX_ITEMS = 160,
  N_RUNS = 240
};

typedef struct
{
  uint32_t n_items, n_moments, n_zones, n_bodies;
  gboolean has_sets;
} Shape;

static uint32_t
pick (GRand *random, uint32_t n)
{
  return (uint32_t) g_rand_int_range (random, 0, (int) n);
}

static uint64_t
pick_sets (GRand *random)
{
  static const int bits[] = { 0, 1, 17, 63 };
  return pick (random, 6) == 0 ? UINT64_C (1) << bits[pick (random, 4)] : 0;
}

/* Neither pinned nor of a body. */
static TesseraItem
random_item (GRand *random, const Shape *shape)
{
  uint32_t begin = pick (random, shape->n_moments);
  TesseraItem item = {
    .size_bytes = 1 + pick (random, pick (random, 2) ? 8 : 60),
    .begin = begin,
    .end = MIN (begin + 1 + pick (random, 9), shape->n_moments),
    .zone = pick (random, shape->n_zones),
    .in = shape->has_sets ? pick_sets (random) : 0,
    .apart = shape->has_sets ? pick_sets (random) : 0,
  };
  if (begin > 1 && pick (random, 4) == 0)
    {
      item.end2 = 1 + pick (random, begin);
      item.begin2 = pick (random, item.end2);
    }
  return item;
}

/* Whether the two share an address that they may not. */
static gboolean
overlap (const TesseraItem *a, uint64_t at_a, const TesseraItem *b, uint64_t at_b)
{
  return at_a < at_b + b->size_bytes && at_b < at_a + a->size_bytes &&
         judge_conflict (a, b);
}

static const Shape shapes[] = {
  { 6, 5, 1, 2, TRUE },     { 25, 12, 1, 0, TRUE },  { 40, 30, 1, 5, FALSE },
  { 60, 40, 3, 6, TRUE },   { 80, 50, 2, 9, TRUE },  { 150, 200, 1, 12, TRUE },
  { 160, 90, 4, 0, FALSE }, { 120, 60, 1, 7, TRUE },
};

/* Where an item has to lie, seen from the pins of its body; G_MAXUINT64: anywhere. */
static uint64_t
fixed_at (const TesseraItem *items, uint32_t i, uint32_t by)
{
  if (by == i && items[i].is_pinned)
    return items[i].pinned_bytes;
  if (!items[by].is_pinned || items[i].body == 0 || items[by].body != items[i].body)
    return G_MAXUINT64;
  return items[by].pinned_bytes - items[by].body_offset_bytes +
         items[i].body_offset_bytes;
}

/* Whether what the two are held to can't be, with everybody else out of the way. */
static gboolean
excludes (const TesseraItem *items, uint32_t n_items, uint32_t a, uint32_t b)
{
  gboolean is_body = items[a].body != 0 && items[a].body == items[b].body;
  if (a == b)
    return items[a].is_pinned && items[a].body != 0 &&
           items[a].pinned_bytes < items[a].body_offset_bytes;
  if (is_body && overlap (&items[a], items[a].body_offset_bytes, &items[b],
                          items[b].body_offset_bytes))
    return TRUE;
  if (is_body && items[a].is_pinned && items[b].is_pinned &&
      items[a].pinned_bytes - items[a].body_offset_bytes !=
          items[b].pinned_bytes - items[b].body_offset_bytes)
    return TRUE;
  for (uint32_t i = 0; i < n_items; i++)
    {
      uint64_t at_a = fixed_at (items, a, i);
      for (uint32_t k = 0; k < n_items && at_a != G_MAXUINT64; k++)
        {
          uint64_t at_b = fixed_at (items, b, k);
          if (at_b != G_MAXUINT64 && overlap (&items[a], at_a, &items[b], at_b))
            return TRUE;
        }
    }
  return FALSE;
}

static gboolean
is_impossible (const TesseraItem *items, uint32_t n_items)
{
  for (uint32_t a = 0; a < n_items; a++)
    {
      if (excludes (items, n_items, a, a))
        return TRUE;
      for (uint32_t b = 0; b < a; b++)
        if ((items[a].is_pinned || items[a].body != 0) &&
            (items[b].is_pinned || items[b].body != 0) && excludes (items, n_items, a, b))
          return TRUE;
    }
  return FALSE;
}

/* Bodies whose distances are those of a packing of other items: they can be kept. */
static void
make_bodies (GRand *random,
             TesseraItem *items,
             const Shape *shape,
             const uint64_t *offsets)
{
  for (uint32_t body = 1; body <= shape->n_bodies; body++)
    {
      uint32_t n_members = 1 + pick (random, 5);
      for (uint32_t i = 0; i < n_members; i++)
        {
          TesseraItem *item = &items[pick (random, shape->n_items)];
          uint64_t offset = offsets[item - items];
          if (item->body != 0)
            continue;
          item->body = body * 7;
          item->body_offset_bytes =
              pick (random, 20) == 0 ? pick (random, 99) : offset + body % 3;
        }
    }
}

/* Pins where a packing has the items, so that they can be, and some elsewhere. */
static void
make_pins (GRand *random, TesseraItem *items, const Shape *shape, const uint64_t *offsets)
{
  gboolean is_wild = pick (random, 4) == 0;
  for (uint32_t i = 0; i < shape->n_items; i++)
    if (pick (random, 5) == 0)
      {
        items[i].is_pinned = 1;
        items[i].pinned_bytes = offsets[i];
        if (is_wild && pick (random, 6) == 0)
          items[i].pinned_bytes = pick (random, 500);
      }
}

typedef struct
{
  uint32_t n_packed, n_refused, n_pinned, n_bodies;
} Seen;

/* Packs; what may be refused is refused, for a reason that holds, and nothing else. */
static gboolean
pack_checked (const TesseraItem *items,
              uint32_t n_items,
              const uint64_t *former,
              uint64_t *offsets,
              Seen *seen)
{
  const TesseraPackOptions options = { .work_budget = 20000, .former = former };
  TesseraPacking packing;
  uint64_t bound = 0;
  TesseraStatus status = tessera_pack (items, n_items, &options, offsets, &packing);
  g_assert_cmpint (tessera_pack_bound (items, n_items, &bound), ==, status);
  g_assert_cmpint (status, ==,
                   is_impossible (items, n_items) ? TESSERA_REFUSED : TESSERA_OK);
  if (status == TESSERA_REFUSED)
    {
      g_assert_cmpuint (packing.conflict[0], <=, packing.conflict[1]);
      g_assert_cmpuint (packing.conflict[1], <, n_items);
      g_assert_true (excludes (items, n_items, packing.conflict[0], packing.conflict[1]));
      seen->n_refused++;
      return FALSE;
    }
  g_assert_cmpuint (bound, ==, packing.bound_bytes);
  judge_assert_packed (items, n_items, offsets, &packing);
  seen->n_packed++;
  for (uint32_t i = 0; i < n_items; i++)
    {
      seen->n_pinned += items[i].is_pinned;
      seen->n_bodies += items[i].body != 0 ? 1 : 0;
      if (items[i].is_pinned)
        g_assert_cmpuint (bound, >=, items[i].pinned_bytes + items[i].size_bytes);
    }
  return TRUE;
}

/* Around where a packing of before had them, twice; or around what is no layout at all. */
static void
pack_as_before (GRand *random,
                const TesseraItem *items,
                uint32_t n_items,
                uint64_t *former,
                Seen *seen)
{
  uint64_t offsets[MAX_ITEMS], again[MAX_ITEMS];
  for (uint32_t i = 0; i < n_items; i++)
    if (pick (random, 30) == 0)
      former[i] = UINT64_MAX - pick (random, 3);
  g_assert_true (pack_checked (items, n_items, former, offsets, seen));
  g_assert_true (pack_checked (items, n_items, former, again, seen));
  g_assert_true (memcmp (offsets, again, n_items * sizeof *offsets) == 0);
  for (uint32_t i = 0; i < n_items; i++)
    former[i] =
        pick (random, 2) ? pick (random, 300) : UINT64_MAX / (1 + pick (random, 99));
  g_assert_true (pack_checked (items, n_items, former, offsets, seen));
}

static void
test_random (void)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (20261121);
  Seen seen = { 0 };
  for (int run = 0; run < N_RUNS; run++)
    {
      const Shape *shape = &shapes[(gsize) run % G_N_ELEMENTS (shapes)];
      TesseraItem items[MAX_ITEMS];
      uint64_t offsets[MAX_ITEMS], again[MAX_ITEMS], former[MAX_ITEMS];
      for (uint32_t i = 0; i < shape->n_items; i++)
        items[i] = random_item (random, shape);
      g_assert_true (pack_checked (items, shape->n_items, NULL, offsets, &seen));
      make_bodies (random, items, shape, offsets);
      memcpy (former, offsets, sizeof former);
      if (!pack_checked (items, shape->n_items, NULL, offsets, &seen))
        continue;
      if (run % 24 < 8)
        pack_as_before (random, items, shape->n_items, former, &seen);
      make_pins (random, items, shape, offsets);
      memcpy (former, offsets, sizeof former);
      if (!pack_checked (items, shape->n_items, NULL, offsets, &seen))
        continue;
      if (run % 24 >= 16)
        pack_as_before (random, items, shape->n_items, former, &seen);
      g_assert_true (pack_checked (items, shape->n_items, NULL, again, &seen));
      g_assert_true (memcmp (offsets, again, shape->n_items * sizeof *offsets) == 0);
    }
  g_test_message ("%u packed, %u refused, %u items pinned, %u in bodies", seen.n_packed,
                  seen.n_refused, seen.n_pinned, seen.n_bodies);
  g_assert_cmpuint (seen.n_packed, >, N_RUNS);
  g_assert_cmpuint (seen.n_refused, >, N_RUNS / 20);
  g_assert_cmpuint (seen.n_pinned, >, 1000);
  g_assert_cmpuint (seen.n_bodies, >, 1000);
}

static void
assert_refused (const TesseraItem *items, uint32_t n_items, uint32_t a, uint32_t b)
{
  uint64_t offsets[4];
  TesseraPacking packing;
  GIVES (TESSERA_REFUSED, tessera_pack (items, n_items, NULL, offsets, &packing));
  g_assert_cmpuint (packing.conflict[0], ==, a);
  g_assert_cmpuint (packing.conflict[1], ==, b);
}

static void
test_refusals (void)
{
  const TesseraItem block = { .size_bytes = 8, .begin = 0, .end = 4, .is_pinned = 1 };
  TesseraItem items[3] = { block, block, block };
  uint64_t offsets[3];
  items[0].is_pinned = 0;
  items[1].pinned_bytes = 20;
  items[2].pinned_bytes = 27;
  assert_refused (items, 3, 1, 2);
  /* Side by side, or one after the other, they can be. */
  items[2].pinned_bytes = 28;
  TesseraPacking packing = judge_pack (items, 3, NULL, offsets);
  g_assert_cmpuint (packing.height_bytes, ==, 36);
  g_assert_cmpuint (packing.bound_bytes, ==, 36);
  g_assert_cmpuint (offsets[0], ==, 0);
  items[2].pinned_bytes = 20;
  items[2].begin = 4;
  items[2].end = 9;
  packing = judge_pack (items, 3, NULL, offsets);
  /* Not when their sets or zones keep them apart. */
  items[1].in = 2;
  items[2].apart = 6;
  assert_refused (items, 3, 1, 2);
  items[1].in = 8;
  packing = judge_pack (items, 3, NULL, offsets);
  items[2].zone = 1;
  assert_refused (items, 3, 1, 2);
  /* Below 0, and a body torn apart. */
  TesseraItem bodies[3] = { block, block, block };
  for (int i = 0; i < 3; i++)
    {
      bodies[i].is_pinned = i > 0;
      bodies[i].body = 3;
      bodies[i].body_offset_bytes = 8 * (uint64_t) i;
      bodies[i].pinned_bytes = 8 * (uint64_t) i + 100;
    }
  packing = judge_pack (bodies, 3, NULL, offsets);
  g_assert_cmpuint (offsets[0], ==, 100);
  bodies[2].pinned_bytes++;
  assert_refused (bodies, 3, 1, 2);
  bodies[1].is_pinned = 0;
  bodies[2].pinned_bytes = 15;
  assert_refused (bodies, 3, 2, 2);
  bodies[2].pinned_bytes = 16;
  bodies[1].body_offset_bytes = 7;
  assert_refused (bodies, 3, 0, 1);
}

/* What lies between: others fill a body's gaps, and the room below and between pins. */
static void
test_gaps_are_used (void)
{
  const TesseraItem items[] = {
    { .size_bytes = 4, .begin = 0, .end = 9, .is_pinned = 1, .pinned_bytes = 6 },
    { .size_bytes = 2, .begin = 0, .end = 5, .body = 1 },
    { .size_bytes = 2, .begin = 0, .end = 9, .body = 1, .body_offset_bytes = 4 },
    { .size_bytes = 2, .begin = 0, .end = 9 },
    { .size_bytes = 2, .begin = 5, .end = 9 },
  };
  uint64_t offsets[5];
  TesseraPacking packing = judge_pack (items, 5, NULL, offsets);
  g_assert_cmpuint (packing.bound_bytes, ==, 10);
  g_assert_cmpuint (packing.height_bytes, ==, 10);

  /* Zones around each other's pins: of the second, one fits below a pin of the first. */
  const TesseraItem zones[] = {
    { .size_bytes = 4, .begin = 0, .end = 9, .is_pinned = 1, .pinned_bytes = 6 },
    { .size_bytes = 3, .begin = 0, .end = 9 },
    { .size_bytes = 3, .begin = 0, .end = 9, .zone = 1 },
    { .size_bytes = 2, .begin = 0, .end = 9, .zone = 1 },
  };
  packing = judge_pack (zones, 4, NULL, offsets);
  g_assert_cmpuint (packing.height_bytes, ==, 12);
}

/* Micro-batches that overlap, of which some blocks are held: the rest is packed about as
 * well as if nothing were. */
static void
test_many (void)
{
  enum
  {
    N_ITEMS = 6000
  };
  g_autofree TesseraItem *items = g_new0 (TesseraItem, N_ITEMS);
  g_autofree uint64_t *offsets = g_new (uint64_t, N_ITEMS),
                      *free_offsets = g_new (uint64_t, N_ITEMS);
  g_autoptr (GRand) random = g_rand_new_with_seed (34);
  TesseraPackOptions options = { .work_budget = 40000 };
  for (uint32_t i = 0; i < N_ITEMS; i++)
    {
      items[i].size_bytes = 64 * (1 + pick (random, 40));
      items[i].begin = i;
      items[i].end = i % 8 == 0 ? i + 1500 + i % 7 * 150 : i + 1 + pick (random, 12);
    }
  TesseraPacking free_packing = judge_pack (items, N_ITEMS, &options, free_offsets);
  for (uint32_t i = 0; i < N_ITEMS; i += 250)
    {
      items[i].is_pinned = i % 500 == 0;
      items[i].pinned_bytes = free_offsets[i];
      items[i].in = i % 750 == 0;
      items[i + 1].apart = i % 1000 == 0;
      items[i + 3].body = 1 + i / 1000;
      items[i + 3].body_offset_bytes = i % 1000 * 64;
    }
  TesseraPacking packing = judge_pack (items, N_ITEMS, &options, offsets);
  g_test_message ("%.4f of the bound, %.4f when nothing is held: %s",
                  (double) packing.height_bytes / (double) packing.bound_bytes,
                  (double) free_packing.height_bytes / (double) packing.bound_bytes,
                  packing.strategy);
  g_assert_cmpuint (packing.height_bytes, <=,
                    free_packing.height_bytes + free_packing.height_bytes / 50);
}

static void
test_invalid (void)
{
  const uint64_t half = UINT64_C (1) << 59;
  const TesseraItem wrong[][2] = {
    { { .size_bytes = 1, .end = 1, .is_pinned = 1, .pinned_bytes = INT64_MAX } },
    { { .size_bytes = 1, .end = 1, .is_pinned = 1, .pinned_bytes = half },
      { .size_bytes = half, .end = 1 } },
    { { .size_bytes = 1, .end = 1, .body = 1, .body_offset_bytes = half },
      { .size_bytes = 1, .end = 1, .body = 1, .body_offset_bytes = half } },
  };
  uint64_t offsets[2];
  TesseraPacking packing;
  for (gsize i = 0; i < G_N_ELEMENTS (wrong); i++)
    GIVES (TESSERA_INVALID,
           tessera_pack (wrong[i], wrong[i][1].end > 0 ? 2 : 1, NULL, offsets, &packing));
}

/* Who is pinned high up makes its own zone no higher: there others lie. */
static void
test_below_pins (void)
{
  enum
  {
    N = 60
  };
  TesseraItem items[N];
  uint64_t offsets[N];
  TesseraPacking packing;

  for (guint32 seed = 0; seed < 40; seed++)
    {
      g_autoptr (GRand) random = g_rand_new_with_seed (seed + 50);
      const TesseraPackOptions options = { .work_budget = 1 << 10 };

      for (uint32_t i = 0; i < N; i++)
        items[i] = (TesseraItem){ .size_bytes = 1 + pick (random, 40),
                                  .begin = pick (random, 50),
                                  .zone = i % 2 };
      for (uint32_t i = 0; i < N; i++)
        items[i].end = items[i].begin + 1 + pick (random, 20);
      packing = judge_pack (items, N, &options, offsets);
      uint64_t without_bytes = packing.height_bytes;
      items[0].is_pinned = 1;
      items[0].pinned_bytes = without_bytes + without_bytes / 32 + pick (random, 30);
      packing = judge_pack (items, N, &options, offsets);
      g_assert_cmpuint (packing.height_bytes, ==,
                        items[0].pinned_bytes + items[0].size_bytes);
    }
}

/* What is apart in itself takes the sum of its sizes, whenever each lives, and what lives
 * over all of it takes its own besides: at that the search ends, and the height is
 * proven. */
static void
test_apart_is_proven (void)
{
  enum
  {
    N_ITEMS = 40
  };
  TesseraItem items[N_ITEMS];
  uint64_t offsets[N_ITEMS], sum = 0;
  const TesseraPackOptions options = { 0 };
  for (uint32_t i = 0; i < N_ITEMS; i++)
    {
      items[i] =
          (TesseraItem){ .size_bytes = 8 + i, .begin = 10 + 3 * i, .end = 14 + 3 * i };
      items[i].in = items[i].apart = i % 2 == 0 ? 4 : 0;
      sum += i % 2 == 0 ? items[i].size_bytes : 0;
    }
  items[1].begin = 5;
  items[1].end = 200;
  sum += items[1].size_bytes;
  items[3].end = 200; /* not alive with the first: it may lie where that does */
  items[3].size_bytes = 2;
  TesseraPacking packing = judge_pack (items, N_ITEMS, &options, offsets);
  g_assert_cmpuint (packing.proven_bound_bytes, ==, sum);
  g_assert_cmpuint (packing.height_bytes, ==, sum);
  g_assert_true (packing.is_optimal);
}

/* A pin across the height that all take, and one above at another time, whose addresses
 * it shares: nobody else comes to lie on either. */
static void
test_pins_across (void)
{
  enum
  {
    N = 40
  };
  g_autoptr (GRand) random = g_rand_new_with_seed (77);
  for (int run = 0; run < 200; run++)
    {
      const TesseraPackOptions options = { .work_budget = 1 };
      TesseraItem items[N];
      uint64_t offsets[N], load;
      for (uint32_t i = 0; i < N; i++)
        {
          items[i] = (TesseraItem){ .size_bytes = 1 + pick (random, 20),
                                    .begin = i < 2 ? 20 * i : pick (random, 40) };
          items[i].end = items[i].begin + (i < 2 ? 20 : 1 + pick (random, 20));
        }
      OK (tessera_pack_bound (items, N, &load));
      for (uint32_t i = 0; i < 2; i++)
        {
          items[i].is_pinned = 1;
          items[i].pinned_bytes = load - 2 + 3 * i;
        }
      judge_pack (items, N, &options, offsets);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/pack-limits/random", test_random);
  g_test_add_func ("/pack-limits/refusals", test_refusals);
  g_test_add_func ("/pack-limits/gaps-are-used", test_gaps_are_used);
  g_test_add_func ("/pack-limits/below-pins", test_below_pins);
  g_test_add_func ("/pack-limits/pins-across", test_pins_across);
  g_test_add_func ("/pack-limits/many", test_many);
  g_test_add_func ("/pack-limits/invalid", test_invalid);
  g_test_add_func ("/pack-limits/apart-is-proven", test_apart_is_proven);
  return g_test_run ();
}
