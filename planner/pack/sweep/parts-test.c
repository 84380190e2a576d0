/*
 * Tests of what sweeps are made of: free ranges, against a slow model.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
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
            assert_gaps (&gaps, is_taken, 1 + pick (random, 6));
        }
      assert_gaps (&gaps, is_taken, 1);
      tessera_gaps_reset (&gaps);
      g_assert_cmpuint (gaps.n_ranks, ==, 1);
      tessera_gaps_clear (&gaps);
    }
  g_rand_free (random);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/sweep-parts/gaps", test_gaps);
  return g_test_run ();
}
