/*
 * Tests of packing: every packing is judged pair by pair (judge.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/planner/judge.h"

#include <glib.h>
#include <string.h>

typedef struct
{
  uint32_t n_items;
  uint32_t n_moments;
  uint32_t n_zones;
  uint64_t max_size_bytes;
  gboolean has_second;
} Shape;

static TesseraItem
random_item (GRand *random, const Shape *shape)
{
  uint32_t n = shape->n_moments;
  uint32_t longest = g_rand_int_range (random, 0, 4) == 0 ? n : MAX (n / 8, 1);
  uint32_t begin = (uint32_t) g_rand_int_range (random, 0, (int) n);
  uint32_t life = 1 + (uint32_t) g_rand_int_range (random, 0, (int) longest);
  TesseraItem item = {
    .size_bytes = 1 + (uint64_t) (g_rand_double (random) * g_rand_double (random) *
                                  (double) (shape->max_size_bytes - 1)),
    .begin = begin,
    .end = MIN (begin + life, n),
    .zone = (uint32_t) g_rand_int_range (random, 0, (int) shape->n_zones),
    .prefer_low = g_rand_boolean (random),
  };
  if (shape->has_second && begin > 1 && g_rand_boolean (random))
    {
      item.end2 = (uint32_t) g_rand_int_range (random, 1, (int) begin + 1);
      item.begin2 = (uint32_t) g_rand_int_range (random, 0, (int) item.end2);
    }
  return item;
}

static TesseraItem *
random_items (GRand *random, const Shape *shape)
{
  TesseraItem *items = g_new0 (TesseraItem, shape->n_items);
  for (uint32_t i = 0; i < shape->n_items; i++)
    items[i] = random_item (random, shape);
  return items;
}

static const Shape shapes[] = {
  { 1, 1, 1, 1, FALSE },           { 2, 3, 1, 10, FALSE },
  { 12, 8, 1, 5, FALSE },          { 30, 20, 1, 100, TRUE },
  { 60, 100, 3, 1 << 20, FALSE },  { 120, 40, 2, 1 << 20, TRUE },
  { 300, 700, 1, 1 << 30, FALSE }, { 400, 900, 4, 64, TRUE },
  { 60, 50, 2, 1 << 20, TRUE },    { 300, 400, 1, 1 << 20, TRUE },
};

static void
test_random (void)
{
  GRand *random = g_rand_new_with_seed (20260101);
  for (int run = 0; run < 100; run++)
    {
      const Shape *shape = &shapes[(gsize) run % G_N_ELEMENTS (shapes)];
      TesseraItem *items = random_items (random, shape);
      uint64_t *offsets = g_new (uint64_t, shape->n_items);
      TesseraPackOptions options = { .work_budget = 70000 };
      TesseraPacking packing;
      uint64_t bound = 0;
      g_assert_cmpint (tessera_pack (items, shape->n_items, &options, offsets, &packing),
                       ==, TESSERA_OK);
      judge_assert_packed (items, shape->n_items, offsets, &packing);
      g_assert_cmpuint (packing.bound_bytes, ==,
                        judge_load_bound (items, shape->n_items));
      g_assert_cmpint (tessera_pack_bound (items, shape->n_items, &bound), ==,
                       TESSERA_OK);
      g_assert_cmpuint (bound, ==, packing.bound_bytes);
      g_free (items);
      g_free (offsets);
    }
  g_rand_free (random);
}

static void
test_small_ones (void)
{
  TesseraPacking packing;
  uint64_t offsets[4];
  g_assert_cmpint (tessera_pack (NULL, 0, NULL, NULL, &packing), ==, TESSERA_OK);
  g_assert_cmpuint (packing.height_bytes, ==, 0);
  g_assert_cmpuint (packing.bound_bytes, ==, 0);
  const TesseraItem one = { .size_bytes = 512, .begin = 3, .end = 4 };
  g_assert_cmpint (tessera_pack (&one, 1, NULL, offsets, &packing), ==, TESSERA_OK);
  g_assert_cmpuint (packing.height_bytes, ==, 512);
  g_assert_cmpuint (offsets[0], ==, 0);

  /* Two that never meet share an address in one zone, not in two. */
  TesseraItem two[] = { { .size_bytes = 8, .begin = 0, .end = 5 },
                        { .size_bytes = 6, .begin = 5, .end = 9 } };
  g_assert_cmpint (tessera_pack (two, 2, NULL, offsets, &packing), ==, TESSERA_OK);
  g_assert_cmpuint (packing.height_bytes, ==, 8);
  two[1].zone = 1;
  g_assert_cmpint (tessera_pack (two, 2, NULL, offsets, &packing), ==, TESSERA_OK);
  g_assert_cmpuint (packing.height_bytes, ==, 14);

  /* One that wraps around meets at both ends. */
  TesseraItem wrapped[] = {
    { .size_bytes = 8, .begin = 6, .end = 9, .begin2 = 0, .end2 = 2 },
    { .size_bytes = 4, .begin = 1, .end = 3 },
    { .size_bytes = 4, .begin = 5, .end = 7 },
    { .size_bytes = 8, .begin = 2, .end = 6 },
  };
  g_assert_cmpint (tessera_pack (wrapped, 4, NULL, offsets, &packing), ==, TESSERA_OK);
  g_assert_cmpuint (packing.bound_bytes, ==, 12);
  g_assert_cmpuint (packing.height_bytes, ==, 12);
}

/* More than most fits can be tried for: micro-batches that overlap, whose blocks go in
 * the order in which they came. A fit in order of time finds what the other orders miss. */
static void
test_many (void)
{
  enum
  {
    N_ITEMS = 6000,
    KEPT = 1500
  };
  GRand *random = g_rand_new_with_seed (33);
  g_autofree TesseraItem *items = g_new0 (TesseraItem, N_ITEMS);
  g_autofree uint64_t *offsets = g_new (uint64_t, N_ITEMS);
  const TesseraPackOptions options = { .work_budget = 1 };
  TesseraPacking packing;
  for (uint32_t i = 0; i < N_ITEMS; i++)
    {
      bool is_kept = i % 8 == 0;
      items[i].size_bytes = 512 * (1 + (uint64_t) g_rand_int_range (random, 0, 40));
      items[i].begin = i;
      items[i].end = i + (is_kept ? KEPT + i % 7 * 150
                                  : 1 + (uint32_t) g_rand_int_range (random, 0, 12));
    }
  g_assert_cmpint (tessera_pack (items, N_ITEMS, &options, offsets, &packing), ==,
                   TESSERA_OK);
  judge_assert_packed (items, N_ITEMS, offsets, &packing);
  g_test_message ("%s: %.4f of the bound", packing.strategy,
                  (double) packing.height_bytes / (double) packing.bound_bytes);
  g_assert_cmpuint (packing.height_bytes, <=,
                    packing.bound_bytes + packing.bound_bytes / 10);
  g_assert_nonnull (strstr (packing.strategy, "in order of time"));
  g_rand_free (random);
}

/* Those that live always lie at the bottom, the preferred ones lowest. */
static void
test_preference (void)
{
  const TesseraItem items[] = {
    { .size_bytes = 1, .begin = 0, .end = 9 },
    { .size_bytes = 2, .begin = 0, .end = 9, .prefer_low = 1 },
    { .size_bytes = 4, .begin = 0, .end = 5 },
    { .size_bytes = 4, .begin = 5, .end = 9 },
  };
  uint64_t offsets[4];
  TesseraPacking packing;
  g_assert_cmpint (tessera_pack (items, 4, NULL, offsets, &packing), ==, TESSERA_OK);
  g_assert_cmpuint (offsets[1], ==, 0);
  g_assert_cmpuint (offsets[0], ==, 2);
  g_assert_cmpuint (offsets[2], ==, 3);
  g_assert_cmpuint (offsets[3], ==, 3);
  g_assert_cmpuint (packing.height_bytes, ==, 7);
}

static void
test_invalid (void)
{
  const uint64_t huge = UINT64_C (1) << 62;
  const TesseraItem wrong[][3] = {
    { { .size_bytes = 0, .begin = 0, .end = 1 } },
    { { .size_bytes = 1, .begin = 1, .end = 1 } },
    { { .size_bytes = 1, .begin = 2, .end = 1 } },
    { { .size_bytes = 1, .begin = 2, .end = 3, .begin2 = 1, .end2 = 0 } },
    { { .size_bytes = 1, .begin = 2, .end = 3, .begin2 = 1, .end2 = 3 } },
    { { .size_bytes = huge, .begin = 0, .end = 1 },
      { .size_bytes = huge, .begin = 1, .end = 2 } },
    { { .size_bytes = UINT64_MAX, .begin = 0, .end = 1 },
      { .size_bytes = UINT64_MAX, .begin = 1, .end = 2 } },
  };
  uint64_t offsets[2], bound;
  TesseraPacking packing;
  for (gsize i = 0; i < G_N_ELEMENTS (wrong); i++)
    {
      size_t n = wrong[i][1].size_bytes != 0 ? 2 : 1;
      g_assert_cmpint (tessera_pack (wrong[i], n, NULL, offsets, &packing), ==,
                       TESSERA_INVALID);
      g_assert_cmpint (tessera_pack_bound (wrong[i], n, &bound), ==, TESSERA_INVALID);
    }
  /* The largest that are possible; heights below 2^60. */
  const TesseraItem large[] = {
    { .size_bytes = huge / 8, .begin = 0, .end = 2 },
    { .size_bytes = huge / 16, .begin = 1, .end = 3 },
    { .size_bytes = huge / 16 - 1, .begin = 2, .end = 4 },
  };
  uint64_t places[3];
  g_assert_cmpint (tessera_pack (large, 3, NULL, places, &packing), ==, TESSERA_OK);
  judge_assert_packed (large, 3, places, &packing);
  g_assert_cmpuint (packing.height_bytes, ==, huge / 8 + huge / 16);
}

typedef struct
{
  int calls_left;
  int n_calls;
  double last;
} Patience;

static bool
lose_patience (void *user, double fraction)
{
  Patience *patience = user;
  g_assert_cmpfloat (fraction, >=, 0);
  g_assert_cmpfloat (fraction, <=, 1);
  g_assert_cmpfloat (fraction, >=, patience->last);
  patience->last = fraction;
  patience->n_calls++;
  return patience->calls_left-- > 0;
}

static void
test_progress_and_cancel (void)
{
  GRand *random = g_rand_new_with_seed (11);
  const Shape shape = { 200, 300, 2, 50, TRUE };
  TesseraItem *items = random_items (random, &shape);
  uint64_t offsets[200];
  for (int stop_after = 0;; stop_after += 1 + stop_after / 8)
    {
      Patience patience = { .calls_left = stop_after };
      TesseraProgress progress = { lose_patience, &patience };
      TesseraPackOptions options = { .work_budget = 70000, .progress = &progress };
      TesseraPacking packing;
      TesseraStatus status = tessera_pack (items, 200, &options, offsets, &packing);
      if (patience.calls_left >= 0)
        {
          g_assert_cmpint (status, ==, TESSERA_OK);
          g_assert_cmpfloat (patience.last, ==, 1);
          g_test_message ("%d reports", patience.n_calls);
          break;
        }
      g_assert_cmpint (status, ==, TESSERA_CANCELLED);
      g_assert_cmpint (patience.n_calls, ==, stop_after + 1);
      g_assert_cmpint (patience.n_calls, <, 600);
    }
  g_free (items);
  g_rand_free (random);
}

/* Three that wrap, each of which meets both others at another moment: 5 are alive at
 * once, and no layout is lower than 6. */
static void
test_proven_above_the_bound (void)
{
  const TesseraItem items[] = {
    { .size_bytes = 3 * 512, .begin = 0, .end = 3 },
    { .size_bytes = 1 * 512, .begin = 3, .end = 4, .begin2 = 0, .end2 = 1 },
    { .size_bytes = 2 * 512, .begin = 3, .end = 4, .begin2 = 2, .end2 = 3 },
    { .size_bytes = 7 * 512, .begin = 0, .end = 4, .zone = 1 },
  };
  for (uint32_t n_items = 1; n_items <= G_N_ELEMENTS (items); n_items++)
    {
      uint64_t offsets[4];
      TesseraPacking packing;
      g_assert_cmpint (tessera_pack (items, n_items, NULL, offsets, &packing), ==,
                       TESSERA_OK);
      judge_assert_packed (items, n_items, offsets, &packing);
      g_assert_true (packing.is_optimal);
      if (n_items < 3)
        g_assert_cmpuint (packing.height_bytes, ==, packing.bound_bytes);
      else
        g_assert_cmpuint (packing.height_bytes, ==, packing.bound_bytes + 512);
    }
  TesseraItem huge[] = { items[0], items[1], items[2] };
  for (int i = 0; i < 3; i++)
    huge[i].size_bytes = (huge[i].size_bytes / 512 << 57) + (i == 0);
  uint64_t huge_offsets[3];
  TesseraPacking huge_packing;
  g_assert_cmpint (tessera_pack (huge, 3, NULL, huge_offsets, &huge_packing), ==,
                   TESSERA_OK);
  g_assert_cmpuint (huge_packing.height_bytes, ==, (UINT64_C (6) << 57) + 1);
  g_assert_true (huge_packing.is_optimal);
  /* Three items that lie apart from each other in all: nothing is searched or proven. */
  TesseraItem apart[] = { items[0], items[1], items[2] };
  apart[0].in = apart[2].apart = 1;
  uint64_t offsets[3];
  TesseraPacking packing;
  g_assert_cmpint (tessera_pack (apart, 3, NULL, offsets, &packing), ==, TESSERA_OK);
  g_assert_cmpuint (packing.height_bytes, >, packing.bound_bytes);
  g_assert_false (packing.is_optimal);
}

/* Full at every moment: what rules miss is found, and said so; whatever is called optimal
 * is at the bound or proven. */
static void
test_hard_cores (void)
{
  uint32_t n_searched = 0;
  GRand *random = g_rand_new_with_seed (6);
  for (uint32_t round = 0; round < 150; round++)
    {
      TesseraItem items[64];
      uint64_t offsets[64], load[12] = { 0 };
      uint32_t n_items = 0;
      for (uint32_t moment = 0; moment < 12; moment++)
        while (load[moment] < 40 && n_items < 64)
          {
            uint32_t room = 40 - (uint32_t) load[moment];
            uint32_t end = moment + 1 + (uint32_t) g_rand_int_range (random, 0, 5);
            TesseraItem item = {
              .size_bytes = MIN (room, (uint32_t) g_rand_int_range (random, 1, 16)),
              .begin = moment,
              .end = MIN (end, 12),
            };
            for (uint32_t t = moment; t < item.end; t++)
              load[t] += item.size_bytes;
            items[n_items++] = item;
          }
      TesseraPacking packing;
      TesseraPackOptions options = { .work_budget = 4096 + round % 2 };
      g_assert_cmpint (tessera_pack (items, n_items, &options, offsets, &packing), ==,
                       TESSERA_OK);
      judge_assert_packed (items, n_items, offsets, &packing);
      if (packing.height_bytes == packing.bound_bytes)
        g_assert_true (packing.is_optimal);
      n_searched += g_str_has_prefix (packing.strategy, "exact search");
    }
  g_test_message ("%u of 150 by search", n_searched);
  g_assert_cmpuint (n_searched, >, 20);
  g_rand_free (random);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/pack/small-ones", test_small_ones);
  g_test_add_func ("/pack/random", test_random);
  g_test_add_func ("/pack/many", test_many);
  g_test_add_func ("/pack/preference", test_preference);
  g_test_add_func ("/pack/invalid", test_invalid);
  g_test_add_func ("/pack/progress-and-cancel", test_progress_and_cancel);
  g_test_add_func ("/pack/proven-above-the-bound", test_proven_above_the_bound);
  g_test_add_func ("/pack/hard-cores", test_hard_cores);
  return g_test_run ();
}
