/*
 * Tests of layouts that are repaired: what fits stays, what is held now gets its way.
 * That all laws hold on any problem and from any hint is asked in pack-limits-test.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/planner/generate.h"
#include "planner/pack.h"
#include "planner/pack/private.h"
#include "tests/ok.h"

#include <glib.h>
#include <string.h>

enum
{
  N_ITEMS = 2000,
  SEED = 83
};

/* Of what a preview spends: next to nothing. */
static const TesseraPackOptions hurried = { .work_budget = 1, .is_preview = true };

typedef struct
{
  TesseraItem items[N_ITEMS];
  uint64_t offsets[N_ITEMS];
  TesseraPacking packing;
} Packed;

static void
pack_well (Packed *packed, uint32_t seed)
{
  const TesseraPackOptions options = { .work_budget = 1 << 18 };
  generate_items (GENERATE_DRIFT, seed, packed->items, N_ITEMS);
  OK (tessera_pack (packed->items, N_ITEMS, &options, packed->offsets, &packed->packing));
}

static uint64_t
pack_again (const Packed *packed, const uint64_t *former, uint64_t *offsets)
{
  TesseraPackOptions options = hurried;
  TesseraPacking packing;
  options.former = former;
  OK (tessera_pack (packed->items, N_ITEMS, &options, offsets, &packing));
  return packing.height_bytes;
}

/* Where nothing has changed nothing is lost, and nobody moves without need. */
static void
test_same_again (void)
{
  for (uint32_t seed = 1; seed <= 6; seed++)
    {
      g_autofree Packed *packed = g_new0 (Packed, 1);
      uint64_t offsets[N_ITEMS];
      pack_well (packed, seed);
      g_assert_cmpuint (pack_again (packed, packed->offsets, offsets), <=,
                        packed->packing.height_bytes);
      if (packed->packing.is_optimal)
        g_assert_true (memcmp (offsets, packed->offsets, sizeof offsets) == 0);
    }
}

/* Who lives as long as 70,000 others in turn finds another place as well: A (size 2, at
 * 0) and B (2, at 3) live always, the others (1 each) one after the other at 2. B is
 * pinned to 0. */
static void
test_many_around (void)
{
  enum
  {
    N_MANY = 70002
  };
  g_autofree TesseraItem *items = g_new0 (TesseraItem, N_MANY);
  g_autofree uint64_t *former = g_new0 (uint64_t, N_MANY);
  g_autofree uint64_t *offsets = g_new0 (uint64_t, N_MANY);
  const TesseraPackOptions options = { .former = former, .is_preview = true };
  TesseraPacking packing;
  for (uint32_t i = 0; i < N_MANY; i++)
    {
      items[i] = (TesseraItem){ .size_bytes = 1, .begin = i, .end = i + 1 };
      former[i] = offsets[i] = 2;
    }
  items[0] = items[1] = (TesseraItem){ .size_bytes = 2, .begin = 1, .end = N_MANY };
  former[0] = 0;
  former[1] = 3;
  items[1].is_pinned = 1;
  OK (tessera_pack (items, N_MANY, &options, offsets, &packing));
  g_assert_cmpstr (packing.strategy, ==, "as before, repaired");
  g_assert_cmpuint (packing.height_bytes, ==, 5);
  g_assert_cmpuint (offsets[0], ==, 3);
  for (uint32_t i = 2; i < N_MANY; i++)
    g_assert_cmpuint (offsets[i], ==, 2);
}

static size_t
count_equal (const uint64_t *a, const uint64_t *b)
{
  size_t n = 0;
  for (uint32_t i = 0; i < N_ITEMS; i++)
    n += a[i] == b[i];
  return n;
}

/* One block is pinned where others lie: no higher than without the hint, and most blocks
 * stay where they were, more than without. */
static void
test_pin (void)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (SEED);
  size_t n_stay = 0, n_stay_without = 0;
  for (uint32_t seed = 1; seed <= 12; seed++)
    {
      g_autofree Packed *packed = g_new0 (Packed, 1);
      uint64_t offsets[N_ITEMS], without[N_ITEMS];
      pack_well (packed, seed);
      TesseraItem *item = &packed->items[g_rand_int_range (random, 0, N_ITEMS)];
      uint64_t at = packed->offsets[g_rand_int_range (random, 0, N_ITEMS)];
      item->is_pinned = 1;
      item->pinned_bytes = MIN (at, packed->packing.height_bytes - item->size_bytes);
      uint64_t height = pack_again (packed, packed->offsets, offsets);
      uint64_t height_without = pack_again (packed, NULL, without);
      g_assert_cmpuint (offsets[item - packed->items], ==, item->pinned_bytes);
      g_assert_cmpuint (height, <=, height_without + height_without / 1000);
      n_stay += count_equal (packed->offsets, offsets);
      n_stay_without += count_equal (packed->offsets, without);
    }
  g_test_message ("%zu of %d stay, %zu without", n_stay, 12 * N_ITEMS, n_stay_without);
  g_assert_cmpuint (n_stay, >, 12 * N_ITEMS / 2);
  g_assert_cmpuint (n_stay, >, n_stay_without * 5 / 4);
}

/* Two of a body, 3 apart, among two others: they keep their distance, nobody lies on another,
 * and no more is taken than for one after the other. */
static void
test_body (void)
{
  const TesseraItem items[] = {
    { .size_bytes = 1, .begin = 0, .end = 4, .body = 1 },
    { .size_bytes = 1, .begin = 0, .end = 4, .body = 1, .body_offset_bytes = 3 },
    { .size_bytes = 2, .begin = 0, .end = 4 },
    { .size_bytes = 1, .begin = 0, .end = 4 }
  };
  const uint64_t former[] = { 0, 1, 2, 4 };
  const TesseraPackOptions options = { .is_preview = true, .former = former };
  uint64_t offsets[4];
  TesseraPacking packing;
  OK (tessera_pack (items, 4, &options, offsets, &packing));
  g_assert_cmpuint (offsets[1], ==, offsets[0] + 3);
  for (uint32_t i = 0; i < 4; i++)
    for (uint32_t j = 0; j < i; j++)
      g_assert_true (offsets[i] >= offsets[j] + items[j].size_bytes ||
                     offsets[j] >= offsets[i] + items[i].size_bytes);
  g_assert_cmpuint (packing.height_bytes, <=, 7);
}

/* A pin higher up is no leave to spread: the others stay below what their load takes. */
static void
test_below_pin (void)
{
  const TesseraItem items[] = {
    { .size_bytes = 2, .begin = 0, .end = 4 },
    { .size_bytes = 2, .begin = 0, .end = 4 },
    { .size_bytes = 2, .begin = 0, .end = 4 },
    { .size_bytes = 1, .begin = 5, .end = 6, .is_pinned = 1, .pinned_bytes = 10 }
  };
  const uint64_t former[] = { 1, 3, TESSERA_NOWHERE, 0 };
  const TesseraPackOptions options = { .is_preview = true, .former = former };
  uint64_t offsets[4];
  TesseraPacking packing;
  OK (tessera_pack (items, 4, &options, offsets, &packing));
  for (uint32_t i = 0; i < 3; i++)
    g_assert_cmpuint (offsets[i], <=, 4);
  g_assert_cmpuint (packing.height_bytes, ==, 11);
}

/* A (size 4, at 0), B (2, at 4) and C (1, at 6) live together, and B is pinned to 0 now: A
 * fits between B and C, which stays. */
static void
test_example (void)
{
  const TesseraItem items[] = { { .size_bytes = 4, .begin = 0, .end = 4 },
                                { .size_bytes = 2, .begin = 0, .end = 4, .is_pinned = 1 },
                                { .size_bytes = 1, .begin = 0, .end = 4 } };
  const uint64_t former[] = { 0, 4, 6 };
  const TesseraPackOptions options = { .is_preview = true, .former = former };
  uint64_t offsets[3];
  TesseraPacking packing;
  OK (tessera_pack (items, 3, &options, offsets, &packing));
  g_assert_cmpuint (packing.height_bytes, ==, 7);
  g_assert_cmpuint (offsets[0], ==, 2);
  g_assert_cmpuint (offsets[1], ==, 0);
  g_assert_cmpuint (offsets[2], ==, 6);
}

/* That of tessera_pack_find_hints(). */
static void
test_hints (void)
{
  const TesseraItem items[] = { { .size_bytes = 1, .begin = 0, .end = 4 },
                                { .size_bytes = 2, .begin = 0, .end = 4 },
                                { .size_bytes = 3, .begin = 0, .end = 4 } };
  const uint32_t members[] = { 0, 1, 2 };
  const uint64_t former[] = { 4, 5, 7 }, expected[] = { 5, 7, 9 };
  TesseraPackProblem *problem = tessera_pack_problem_new (items, members, 3, NULL);
  tessera_gaps_take (problem->room, 0, 5);
  tessera_gaps_take (problem->room, 6, 7);
  tessera_pack_find_hints (problem, former);
  for (uint32_t i = 0; i < 3; i++)
    g_assert_cmpuint (problem->hints[i], ==, expected[problem->items[i].source]);
  tessera_pack_problem_free (problem);
}

/* Two zones, and one of the upper is pinned into the lower: that grows by it, which moves
 * all above, and neither has to be packed from the beginning. */
static void
test_zones_make_room (void)
{
  TesseraPackOptions options = { .work_budget = 1 << 16 };
  const TesseraPackOptions preview = { .is_preview = true };
  for (uint32_t seed = 1; seed <= 6; seed++)
    {
      g_autofree Packed *packed = g_new0 (Packed, 1);
      uint64_t offsets[N_ITEMS], low_top = 0;
      TesseraPacking packing;
      generate_items (GENERATE_DRIFT, seed, packed->items, N_ITEMS);
      for (uint32_t i = 0; i < N_ITEMS; i++)
        packed->items[i].zone = i % 2;
      OK (tessera_pack (packed->items, N_ITEMS, &options, packed->offsets,
                        &packed->packing));
      for (uint32_t i = 0; i < N_ITEMS; i += 2)
        low_top = MAX (low_top, packed->offsets[i] + packed->items[i].size_bytes);
      TesseraItem *pinned = &packed->items[2 * seed + 1];
      pinned->is_pinned = 1;
      pinned->pinned_bytes = low_top / 2;
      options = preview;
      options.former = packed->offsets;
      OK (tessera_pack (packed->items, N_ITEMS, &options, offsets, &packing));
      g_test_message ("seed %u: %.5f of before and what is pinned", seed,
                      (double) packing.height_bytes /
                          (double) (packed->packing.height_bytes + pinned->size_bytes));
      g_assert_cmpuint (packing.height_bytes, <=,
                        (packed->packing.height_bytes + pinned->size_bytes) / 1000 *
                            1001);
      options = (TesseraPackOptions){ .work_budget = 1 << 16 };
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/repair/many-around", test_many_around);
  g_test_add_func ("/repair/example", test_example);
  g_test_add_func ("/repair/hints", test_hints);
  g_test_add_func ("/repair/zones-make-room", test_zones_make_room);
  g_test_add_func ("/repair/body", test_body);
  g_test_add_func ("/repair/below-pin", test_below_pin);
  g_test_add_func ("/repair/same-again", test_same_again);
  g_test_add_func ("/repair/pin", test_pin);
  return g_test_run ();
}
