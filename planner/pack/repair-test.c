/*
 * Tests of layouts that are repaired: what fits stays, what is held now gets its way.
 * That all laws hold on any problem and from any hint is asked in pack-limits-test.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/planner/generate.h"
#include "planner/pack.h"
#include "planner/pack/repack.h"

#include <glib.h>
#include <string.h>

enum
{
  N_ITEMS = 2000,
  SEED = 83
};

/* Of what a preview spends: next to nothing. */
static const TesseraPackOptions hurried = { .n_threads = 1,
                                            .work_budget = 1,
                                            .is_preview = true };

typedef struct
{
  TesseraItem items[N_ITEMS];
  uint64_t offsets[N_ITEMS];
  TesseraPacking packing;
} Packed;

static void
pack_well (Packed *packed, uint32_t seed)
{
  const TesseraPackOptions options = { .n_threads = 1, .work_budget = 1 << 18 };
  generate_items (GENERATE_DRIFT, seed, packed->items, N_ITEMS);
  g_assert_cmpint (
      tessera_pack (packed->items, N_ITEMS, &options, packed->offsets, &packed->packing),
      ==, TESSERA_OK);
}

static uint64_t
pack_again (const Packed *packed, const uint64_t *former, uint64_t *offsets)
{
  TesseraPackOptions options = hurried;
  TesseraPacking packing;
  options.former = former;
  g_assert_cmpint (tessera_pack (packed->items, N_ITEMS, &options, offsets, &packing), ==,
                   TESSERA_OK);
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
  const TesseraPackOptions options = { .n_threads = 1,
                                       .former = former,
                                       .is_preview = true };
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
  g_assert_cmpint (tessera_pack (items, N_MANY, &options, offsets, &packing), ==,
                   TESSERA_OK);
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
  GRand *random = g_rand_new_with_seed (SEED);
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
  g_assert_cmpuint (n_stay, >, n_stay_without);
  g_rand_free (random);
}

/* A problem of items that all live together, with what holds them. */
typedef struct
{
  TesseraItem items[4];
  TesseraPackLimit *limits;
  TesseraPackProblem *problem;
  uint64_t former[4], offsets[4], height_bytes;
} Small;

static void
small_init (Small *small, uint32_t n_items)
{
  const uint32_t members[] = { 0, 1, 2, 3 };
  uint32_t conflict[2];
  g_assert_cmpint (
      tessera_pack_limits_new (small->items, n_items, &small->limits, conflict), ==,
      TESSERA_OK);
  small->problem =
      tessera_pack_problem_new (small->items, small->limits, members, n_items, NULL);
  small->height_bytes = UINT64_MAX;
}

static void
small_clear (Small *small)
{
  tessera_pack_problem_free (small->problem);
  g_free (small->limits);
}

static TesseraStatus
small_repair (Small *small)
{
  TesseraPackProblem *problem = small->problem;
  const TesseraRepackOptions options = { .looks = 10000 };
  problem->hints = g_renew (uint64_t, problem->hints, problem->n_items);
  for (uint32_t i = 0; i < problem->n_items; i++)
    problem->hints[i] = small->former[problem->items[i].source];
  return tessera_repair (problem, &options, small->offsets, &small->height_bytes);
}

static uint64_t
place_of (const Small *small, uint32_t source)
{
  for (uint32_t i = 0; i < small->problem->n_items; i++)
    if (small->problem->items[i].source == source)
      return small->offsets[i];
  g_assert_not_reached ();
}

/* That of repair.h. */
static void
test_example (void)
{
  Small small = { .items = { { .size_bytes = 4, .begin = 0, .end = 4 },
                             { .size_bytes = 2, .begin = 0, .end = 4, .is_pinned = 1 },
                             { .size_bytes = 1, .begin = 0, .end = 4 } },
                  .former = { 0, 4, 6 } };
  small_init (&small, 3);
  g_assert_cmpint (small_repair (&small), ==, TESSERA_OK);
  g_assert_cmpuint (small.height_bytes, ==, 7);
  g_assert_cmpuint (place_of (&small, 0), ==, 2);
  g_assert_cmpuint (place_of (&small, 1), ==, 0);
  g_assert_cmpuint (place_of (&small, 2), ==, 6);
  small_clear (&small);
}

/* That of hints.h. */
static void
test_hints (void)
{
  Small small = { .items = { { .size_bytes = 1, .begin = 0, .end = 4 },
                             { .size_bytes = 2, .begin = 0, .end = 4 },
                             { .size_bytes = 3, .begin = 0, .end = 4 } },
                  .former = { 4, 5, 7 } };
  const uint64_t expected[] = { 5, 7, 9 };
  small_init (&small, 3);
  small.problem->blocked = g_new (TesseraPackRange, 2);
  small.problem->blocked[0] = (TesseraPackRange){ 0, 5 };
  small.problem->blocked[1] = (TesseraPackRange){ 6, 7 };
  small.problem->n_blocked = 2;
  tessera_pack_find_hints (small.problem, small.former);
  for (uint32_t i = 0; i < 3; i++)
    g_assert_cmpuint (small.problem->hints[i], ==,
                      expected[small.problem->items[i].source]);
  small_clear (&small);
}

/* Two zones, and one of the upper is pinned into the lower: that grows by it, which moves
 * all above, and neither has to be packed from the beginning. */
static void
test_zones_make_room (void)
{
  TesseraPackOptions options = { .n_threads = 1, .work_budget = 1 << 16 };
  const TesseraPackOptions preview = { .n_threads = 1, .is_preview = true };
  for (uint32_t seed = 1; seed <= 6; seed++)
    {
      g_autofree Packed *packed = g_new0 (Packed, 1);
      uint64_t offsets[N_ITEMS], low_top = 0;
      TesseraPacking packing;
      generate_items (GENERATE_DRIFT, seed, packed->items, N_ITEMS);
      for (uint32_t i = 0; i < N_ITEMS; i++)
        packed->items[i].zone = i % 2;
      g_assert_cmpint (tessera_pack (packed->items, N_ITEMS, &options, packed->offsets,
                                     &packed->packing),
                       ==, TESSERA_OK);
      for (uint32_t i = 0; i < N_ITEMS; i += 2)
        low_top = MAX (low_top, packed->offsets[i] + packed->items[i].size_bytes);
      TesseraItem *pinned = &packed->items[2 * seed + 1];
      pinned->is_pinned = 1;
      pinned->pinned_bytes = low_top / 2;
      options = preview;
      options.former = packed->offsets;
      g_assert_cmpint (tessera_pack (packed->items, N_ITEMS, &options, offsets, &packing),
                       ==, TESSERA_OK);
      g_test_message ("seed %u: %.5f of before and what is pinned", seed,
                      (double) packing.height_bytes /
                          (double) (packed->packing.height_bytes + pinned->size_bytes));
      g_assert_cmpuint (packing.height_bytes, <=,
                        (packed->packing.height_bytes + pinned->size_bytes) / 1000 *
                            1001);
      options = (TesseraPackOptions){ .n_threads = 1, .work_budget = 1 << 16 };
    }
}

/* Two of a body, 3 apart, among two others: they keep their distance, below what is
 * blocked. */
static void
test_body (void)
{
  Small small = { .items = { { .size_bytes = 1, .begin = 0, .end = 4, .body = 1 },
                             { .size_bytes = 1,
                               .begin = 0,
                               .end = 4,
                               .body = 1,
                               .body_offset_bytes = 3 },
                             { .size_bytes = 2, .begin = 0, .end = 4 },
                             { .size_bytes = 1, .begin = 0, .end = 4 } },
                  .former = { 0, 1, 2, 4 } };
  small_init (&small, 4);
  g_assert_cmpint (small_repair (&small), ==, TESSERA_OK);
  g_assert_cmpuint (place_of (&small, 1), ==, place_of (&small, 0) + 3);
  g_assert_cmpuint (small.height_bytes, ==, 5);
  small.problem->blocked = g_new (TesseraPackRange, 1);
  small.problem->blocked[0] = (TesseraPackRange){ 1, 2 };
  small.problem->n_blocked = 1;
  small.problem->bound_bytes = 6;
  small.height_bytes = UINT64_MAX;
  g_assert_cmpint (small_repair (&small), ==, TESSERA_OK);
  g_assert_cmpuint (place_of (&small, 1), ==, place_of (&small, 0) + 3);
  for (uint32_t i = 0; i < 4; i++)
    g_assert_true (place_of (&small, i) >= 2 ||
                   place_of (&small, i) + small.items[i].size_bytes <= 1);
  g_assert_cmpuint (small.height_bytes, ==, 6);
  small_clear (&small);
}

/* A pin higher up is no leave to spread: the others stay below what their load takes. */
static void
test_below_pin (void)
{
  Small small = { .items = { { .size_bytes = 2, .begin = 0, .end = 4 },
                             { .size_bytes = 2, .begin = 0, .end = 4 },
                             { .size_bytes = 2, .begin = 0, .end = 4 },
                             { .size_bytes = 1,
                               .begin = 5,
                               .end = 6,
                               .is_pinned = 1,
                               .pinned_bytes = 10 } },
                  .former = { 1, 3, TESSERA_NOWHERE, 0 } };
  small_init (&small, 4);
  small.problem->bound_bytes = 11;
  small.problem->least_bytes = 6;
  g_assert_cmpint (small_repair (&small), ==, TESSERA_OK);
  g_assert_cmpuint (small.height_bytes, ==, 6); /* of those that are not pinned */
  for (uint32_t i = 0; i < 3; i++)
    g_assert_cmpuint (place_of (&small, i), <=, 4);
  small_clear (&small);
}

/* What is not lower than what is known is not told. */
static void
test_not_lower (void)
{
  Small small = { .items = { { .size_bytes = 4, .begin = 0, .end = 2 },
                             { .size_bytes = 2, .begin = 1, .end = 4 },
                             { .size_bytes = 3,
                               .begin = 3,
                               .end = 6,
                               .is_pinned = 1,
                               .pinned_bytes = 5 } },
                  .former = { 0, 4, 0 } };
  small_init (&small, 3);
  small.problem->bound_bytes = 8; /* the pin's end */
  small.height_bytes = 6;
  small.offsets[0] = 77;
  g_assert_cmpint (small_repair (&small), ==, TESSERA_OK);
  g_assert_cmpuint (small.offsets[0], ==, 77);
  small.height_bytes = UINT64_MAX;
  g_assert_cmpint (small_repair (&small), ==, TESSERA_OK);
  g_assert_cmpuint (small.height_bytes, ==, 6);
  small_clear (&small);
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
  g_test_add_func ("/repair/not-lower", test_not_lower);
  g_test_add_func ("/repair/same-again", test_same_again);
  g_test_add_func ("/repair/pin", test_pin);
  return g_test_run ();
}
