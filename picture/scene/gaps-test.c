/*
 * Gaps: the lowest that fits, as a walk over all of them finds it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "picture/scene/gaps.h"

#include <glib.h>

#define SEED 20240517
#define N_ROUNDS 4000

typedef struct
{
  uint64_t begin, end;
} Taken;

/* The lowest place for @size between what is taken, which is in order. */
static uint64_t
lowest (GArray *taken, uint64_t size)
{
  uint64_t at = 0;
  for (guint i = 0; i < taken->len; i++)
    {
      Taken *t = &g_array_index (taken, Taken, i);
      if (t->begin - at >= size)
        break;
      at = t->end;
    }
  return at;
}

static void
insert (GArray *taken, Taken item)
{
  guint at = 0;
  while (at < taken->len && g_array_index (taken, Taken, at).begin < item.begin)
    at++;
  g_array_insert_val (taken, at, item);
}

/* More is taken than given, then the reverse, and sizes repeat so that gaps fill. */
static void
test_random (void)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (SEED);
  g_autoptr (GArray) taken = g_array_new (FALSE, FALSE, sizeof (Taken));
  TesseraRowGaps gaps;
  g_test_message ("seed %d", SEED);
  g_assert_cmpint (tessera_row_gaps_init (&gaps, N_ROUNDS), ==, TESSERA_OK);
  for (int round = 0; round < N_ROUNDS; round++)
    {
      gboolean gives = g_rand_double (random) < (round / 1000 % 2 ? 0.7 : 0.3);
      if (gives && taken->len > 0)
        {
          guint at = (guint) g_rand_int_range (random, 0, (gint32) taken->len);
          Taken item = g_array_index (taken, Taken, at);
          tessera_row_gaps_give (&gaps, item.begin, item.end);
          g_array_remove_index (taken, at);
          continue;
        }
      uint64_t size = (uint64_t) g_rand_int_range (random, 1, round % 3 ? 6 : 200);
      uint64_t at = tessera_row_gaps_take (&gaps, size);
      g_assert_cmpuint (at, ==, lowest (taken, size));
      insert (taken, (Taken){ at, at + size });
    }
  while (taken->len > 0)
    {
      Taken item = g_array_index (taken, Taken, taken->len - 1);
      tessera_row_gaps_give (&gaps, item.begin, item.end);
      g_array_set_size (taken, taken->len - 1);
    }
  g_assert_cmpuint (gaps.gaps[gaps.root].largest, ==, UINT64_MAX);
  tessera_row_gaps_clear (&gaps);
}

static void
test_nothing_left (void)
{
  TesseraRowGaps gaps;
  g_assert_cmpint (tessera_row_gaps_init (&gaps, 2), ==, TESSERA_OK);
  g_assert_cmpuint (tessera_row_gaps_take (&gaps, UINT64_MAX - 5), ==, 0);
  g_assert_cmpuint (tessera_row_gaps_take (&gaps, 6), ==, 0);
  g_assert_cmpuint (tessera_row_gaps_take (&gaps, 5), ==, UINT64_MAX - 5);
  tessera_row_gaps_give (&gaps, 0, 10);
  g_assert_cmpuint (tessera_row_gaps_take (&gaps, 10), ==, 0);
  tessera_row_gaps_clear (&gaps);
  g_assert_cmpint (tessera_row_gaps_init (&gaps, UINT32_MAX), ==, TESSERA_INVALID);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/gaps/random", test_random);
  g_test_add_func ("/gaps/nothing-left", test_nothing_left);
  return g_test_run ();
}
