/*
 * Tests of how far is looked for lower layouts of what is apart or of bodies: to what is
 * proven, as far as the work budget pays.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/limits/test-limits.h"

#include <string.h>

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
  const TesseraPackOptions options = { .n_threads = 1 };
  TesseraPacking packing;
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
  g_assert_cmpint (tessera_pack (items, N_ITEMS, &options, offsets, &packing), ==,
                   TESSERA_OK);
  test_limits_assert_laws (items, N_ITEMS, offsets, &packing);
  g_assert_cmpuint (packing.proven_bound_bytes, ==, sum);
  g_assert_cmpuint (packing.height_bytes, ==, sum);
  g_assert_true (packing.is_optimal);
}

static void
count_chains (void *user, const TesseraNews *news)
{
  guint *n_rounds = user;
  *n_rounds += strcmp (news->doing, "improving on orders") == 0;
}

/* Of thousands that are kept apart each placement looks at hundreds of floors: the work
 * budget pays for these, too, in fewer rounds. */
static void
test_turns_are_paid (void)
{
  enum
  {
    N = 1600
  };
  GRand *random = g_rand_new_with_seed (20261123);
  TesseraItem *items = g_new (TesseraItem, N);
  uint64_t *offsets = g_new (uint64_t, N);
  guint n_rounds[2] = { 0, 0 };
  for (uint32_t i = 0; i < N; i++)
    {
      items[i] = test_limits_item (random, &(TestLimitsShape){ N, N, 1, 0, FALSE });
      if (i % 50 == 1) /* the sum of what is apart can't be reached beside these */
        items[i] = (TesseraItem){ .size_bytes = 60 + test_limits_pick (random, 200),
                                  .begin = test_limits_pick (random, N / 2),
                                  .end = N / 2 + test_limits_pick (random, N / 2) };
    }
  for (int apart = 0; apart < 2; apart++)
    {
      const TesseraListener listener = { count_chains, &n_rounds[apart] };
      const TesseraPackOptions options = { .n_threads = 1,
                                           .work_budget = 1 << 19,
                                           .listener = &listener };
      TesseraPacking packing;
      for (uint32_t i = 0; i < N; i++)
        {
          items[i].in = apart && i % 2 == 0 ? 1 + i % 4 / 2 : 0;
          items[i].apart = apart && i % 4 == 0 ? 3 : 0;
        }
      g_assert_cmpint (tessera_pack (items, N, &options, offsets, &packing), ==,
                       TESSERA_OK);
    }
  g_assert_cmpuint (n_rounds[1], >, 0);
  /* Half of what placements alone would pay for: three attempts of a chain a time. */
  g_assert_cmpuint (2 * n_rounds[1], <, (1 << 19) / (3 * N));
  g_free (offsets);
  g_free (items);
  g_rand_free (random);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/pack-search/apart-is-proven", test_apart_is_proven);
  g_test_add_func ("/pack-search/turns-are-paid", test_turns_are_paid);
  return g_test_run ();
}
