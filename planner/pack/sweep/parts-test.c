/*
 * Tests of what sweeps are made of: free ranges, against a slow model, and cuts.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/sweep/cuts.h"
#include "planner/pack/sweep/gaps.h"

#include <glib.h>
#include <string.h>

enum
{
  SEED = 47,
  N_BYTES = 600
};

static uint32_t
pick (GRand *random, uint32_t n)
{
  return (uint32_t) g_rand_int_range (random, 0, (int) n);
}

/* The free ranges of at least @size_bytes, one by one, are those of the model. */
static void
assert_gaps (const TesseraGaps *gaps, const gboolean *is_taken, uint64_t size_bytes)
{
  TesseraGapsCursor cursor = { 0, 0 };
  for (uint64_t begin = 0, end; begin <= N_BYTES; begin = end + 1)
    {
      for (end = begin; end < N_BYTES && !is_taken[end];)
        end++;
      if (end < N_BYTES && (end == begin || end - begin < size_bytes))
        continue;
      const TesseraGap *gap = tessera_gaps_next (gaps, &cursor, size_bytes);
      g_assert_cmpuint (gap->begin, ==, begin);
      g_assert_true (tessera_gaps_is_last (gap) == (end == N_BYTES));
      if (end < N_BYTES)
        g_assert_cmpuint (gap->end, ==, end);
    }
}

/* Any range is free exactly when the model says so. */
static void
assert_free (const TesseraGaps *gaps, const gboolean *is_taken, GRand *random)
{
  uint64_t begin = pick (random, N_BYTES), end = begin + 1 + pick (random, 8);
  gboolean is_free = TRUE;
  for (uint64_t at = begin; at < MIN (end, N_BYTES); at++)
    is_free = is_free && !is_taken[at];
  g_assert_true (tessera_gaps_are_free (gaps, begin, end) == is_free);
}

static void
test_gaps (void)
{
  GRand *random = g_rand_new_with_seed (SEED);
  for (int run = 0; run < 12; run++)
    {
      gboolean is_taken[N_BYTES] = { FALSE };
      uint64_t held[N_BYTES][2];
      uint32_t n_held = 0;
      TesseraGaps gaps = { 0 };
      g_assert_cmpint (tessera_gaps_init (&gaps, N_BYTES), ==, TESSERA_OK);
      for (int step = 0; step < 4000; step++)
        {
          /* Filled to the brim and emptied again and again. */
          gboolean takes = pick (random, 10) < (step / 500 % 2 == 0 ? 8 : 2);
          if (takes)
            {
              uint64_t begin = pick (random, N_BYTES), end = begin;
              uint64_t longest = 1 + pick (random, run % 2 ? 2 : 9);
              while (end < N_BYTES && end - begin < longest && !is_taken[end])
                is_taken[end++] = TRUE;
              if (begin == end)
                continue;
              tessera_gaps_take (&gaps, begin, end);
              held[n_held][0] = begin;
              held[n_held++][1] = end;
            }
          else if (n_held > 0)
            {
              uint32_t k = pick (random, n_held);
              tessera_gaps_give (&gaps, held[k][0], held[k][1]);
              for (uint64_t at = held[k][0]; at < held[k][1]; at++)
                is_taken[at] = FALSE;
              memcpy (held[k], held[--n_held], sizeof held[k]);
            }
          if (step % 16 == 0)
            assert_free (&gaps, is_taken, random);
          if (step % 16 == 0)
            assert_gaps (&gaps, is_taken, 1 + pick (random, 6));
        }
      assert_gaps (&gaps, is_taken, 1);
      tessera_gaps_reset (&gaps);
      g_assert_cmpuint (gaps.n_ranks, ==, 1);
      tessera_gaps_clear (&gaps);
    }
  g_rand_free (random);
}

/* Many short lives, some long ones, nothing between: that is where they are cut. */
static void
test_life_cuts (void)
{
  enum
  {
    N = 400
  };
  TesseraItem items[N] = { 0 };
  uint32_t members[N];
  for (uint32_t shift = 0; shift < 20; shift += 5)
    {
      TesseraPackProblem *problem;
      for (uint32_t i = 0; i < N; i++)
        {
          uint32_t life = (i % 40 == 0 ? 700 + i : 2 + i % 3) << shift;
          members[i] = i;
          items[i] = (TesseraItem){ .size_bytes = 8, .begin = i << shift };
          items[i].end = items[i].begin + life;
        }
      g_assert_cmpint (tessera_pack_problem_new (items, NULL, members, N, NULL, &problem),
                       ==, TESSERA_OK);
      TesseraLifeCuts cuts = tessera_life_cuts (problem);
      g_assert_cmpuint (cuts.break_events, >=, 4u << shift);
      g_assert_cmpuint (cuts.break_events, <, 700u << shift);
      g_assert_cmpuint (cuts.share_events, ==, 0); /* those of one length are more */
      tessera_pack_problem_free (problem);
    }
  /* All live as long: nothing is short. */
  for (uint32_t i = 0; i < N; i++)
    items[i].end = items[i].begin + 100;
  TesseraPackProblem *problem;
  g_assert_cmpint (tessera_pack_problem_new (items, NULL, members, N, NULL, &problem), ==,
                   TESSERA_OK);
  g_assert_cmpuint (tessera_life_cuts (problem).break_events, ==, 0);
  g_assert_cmpuint (tessera_life_cuts (problem).share_events, ==, 0);
  tessera_pack_problem_free (problem);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/sweep-parts/gaps", test_gaps);
  g_test_add_func ("/sweep-parts/life-cuts", test_life_cuts);
  return g_test_run ();
}
