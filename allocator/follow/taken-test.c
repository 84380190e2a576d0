/*
 * Tests of the set of taken ranges, against a plain list.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/follow/taken.h"

#include <glib.h>

#define SEED 20260612

static const TesseraFollowerHook no_hook;

typedef struct
{
  uint64_t begin, end;
  uint32_t holder;
} Range;

static bool
list_take (GArray *list, Range range)
{
  for (guint i = 0; i < list->len; i++)
    {
      const Range *other = &g_array_index (list, Range, i);

      if (other->begin < range.end && range.begin < other->end)
        return false;
    }
  g_array_append_val (list, range);
  return true;
}

static bool
list_give_back (GArray *list, uint64_t begin, uint32_t *out_holder)
{
  for (guint i = 0; i < list->len; i++)
    if (g_array_index (list, Range, i).begin == begin)
      {
        *out_holder = g_array_index (list, Range, i).holder;
        g_array_remove_index_fast (list, i);
        return true;
      }
  return false;
}

/* Random ranges over offsets as a plan has them; 5000 offsets need three levels. */
static void
test_random (gconstpointer user)
{
  guint n_offsets = GPOINTER_TO_UINT (user);
  g_autoptr (GRand) rand = g_rand_new_with_seed (SEED);
  g_autoptr (GArray) list = g_array_new (FALSE, FALSE, sizeof (Range));
  g_autofree uint64_t *offsets = g_new (uint64_t, n_offsets);
  TesseraTaken *taken;

  g_test_message ("seed %d", SEED);
  for (guint i = 0; i < n_offsets; i++)
    offsets[i] =
        (i > 0 ? offsets[i - 1] : 0) + 512 * (guint) g_rand_int_range (rand, 1, 9);
  g_assert_cmpint (tessera_taken_new (offsets, n_offsets, &taken), ==, TESSERA_OK);
  for (uint32_t n = 0; n < 40000; n++)
    {
      uint32_t rank = (uint32_t) g_rand_int_range (rand, 0, (gint32) n_offsets);
      uint64_t size = 512 * (uint64_t) g_rand_int_range (rand, 1, n % 7 == 0 ? 400 : 20);
      uint64_t end = offsets[rank] + size;
      uint32_t found = 0;
      uint32_t expected = 0;

      if (g_rand_boolean (rand))
        {
          uint64_t again;
          bool took = tessera_taken_take (
              taken, &no_hook, rank, tessera_taken_rank (taken, end), size, n, &again);

          g_assert_cmpint (took, ==, list_take (list, (Range){ offsets[rank], end, n }));
        }
      else
        {
          uint64_t at = offsets[rank] + (n % 11 == 0 ? 1 : 0);
          bool gave = tessera_taken_give_back (taken, at, &found);

          g_assert_cmpint (gave, ==, list_give_back (list, at, &expected));
          g_assert_cmpuint (found, ==, expected);
        }
    }
  tessera_taken_free (taken);
}

static void
test_rank (void)
{
  static const uint64_t offsets[] = { 0, 512, 4096 };
  TesseraTaken *taken;
  uint32_t holder;

  g_assert_cmpint (tessera_taken_new (offsets, 3, &taken), ==, TESSERA_OK);
  g_assert_cmpuint (tessera_taken_rank (taken, 0), ==, 0);
  g_assert_cmpuint (tessera_taken_rank (taken, 513), ==, 2);
  g_assert_cmpuint (tessera_taken_rank (taken, 4097), ==, 3);
  tessera_taken_free (taken);

  g_assert_cmpint (tessera_taken_new (NULL, 0, &taken), ==, TESSERA_OK);
  g_assert_false (tessera_taken_give_back (taken, 0, &holder));
  tessera_taken_free (taken);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/allocator/taken/rank", test_rank);
  g_test_add_data_func ("/allocator/taken/one-word", GUINT_TO_POINTER (40), test_random);
  g_test_add_data_func ("/allocator/taken/two-levels", GUINT_TO_POINTER (640),
                        test_random);
  g_test_add_data_func ("/allocator/taken/three-levels", GUINT_TO_POINTER (5000),
                        test_random);
  return g_test_run ();
}
