/*
 * Test of sorting by keys: against the C library's sort, with ties.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "db/sort.h"

#include "tests/fail_alloc.h"

#include <glib.h>
#include <stdlib.h>
#include <string.h>

/* Values number the entries as they came. */
static int
compare (const void *a, const void *b)
{
  const TesseraKeyed *x = a, *y = b;
  if (x->key != y->key)
    return x->key < y->key ? -1 : 1;
  return x->value < y->value ? -1 : x->value > y->value;
}

static TesseraKeyed *
draw (GRand *random, gsize n, int n_bits)
{
  TesseraKeyed *keyed = g_new0 (TesseraKeyed, n + 1);
  guint64 mask = n_bits == 64 ? G_MAXUINT64 : (G_GUINT64_CONSTANT (1) << n_bits) - 1;
  for (gsize i = 0; i < n; i++)
    {
      guint64 key = (guint64) g_rand_int (random) << 32 | g_rand_int (random);
      keyed[i] = (TesseraKeyed){ key & mask, (guint32) i };
    }
  return keyed;
}

static void
test_random (void)
{
  static const gsize sizes[] = { 0, 1, 2, 63, 64, 65, 300, 5000 };
  static const int bits[] = { 0, 1, 5, 9, 33, 64 };
  GRand *random = g_rand_new_with_seed (4);
  for (gsize s = 0; s < G_N_ELEMENTS (sizes); s++)
    for (gsize b = 0; b < G_N_ELEMENTS (bits); b++)
      {
        TesseraKeyed *keyed = draw (random, sizes[s], bits[b]);
        TesseraKeyed *same = g_memdup2 (keyed, (sizes[s] + 1) * sizeof *keyed);
        g_assert_cmpint (tessera_sort_keyed (keyed, sizes[s]), ==, TESSERA_OK);
        qsort (same, sizes[s], sizeof *same, compare);
        for (gsize i = 0; i < sizes[s]; i++)
          {
            g_assert_cmpuint (keyed[i].key, ==, same[i].key);
            g_assert_cmpuint (keyed[i].value, ==, same[i].value);
          }
        g_free (keyed);
        g_free (same);
      }
  g_rand_free (random);
}

static void
test_no_memory (void)
{
  GRand *random = g_rand_new_with_seed (7);
  TesseraKeyed *keyed = draw (random, 500, 20);
  TesseraKeyed *same = g_memdup2 (keyed, 500 * sizeof *keyed);
  tessera_fail_alloc_at (1);
  g_assert_cmpint (tessera_sort_keyed (keyed, 500), ==, TESSERA_NO_MEMORY);
  g_assert_true (tessera_fail_alloc_stop ());
  g_assert_cmpmem (keyed, 500 * sizeof *keyed, same, 500 * sizeof *same);
  g_free (keyed);
  g_free (same);
  g_rand_free (random);
}

/* Among 0, 10, 10, 20: those below, however many are equal. */
static void
test_count_below (void)
{
  static const uint64_t numbers[] = { 0, 10, 10, 20 };
  static const uint32_t expected[] = { 0, 1, 1, 3, 3, 4 };

  for (uint32_t i = 0; i < G_N_ELEMENTS (expected); i++)
    g_assert_cmpuint (tessera_count_below (numbers, 4, 5 * i), ==, expected[i]);
  g_assert_cmpuint (tessera_count_below (numbers, 0, 5), ==, 0);
  g_assert_cmpuint (tessera_count_below (numbers, 4, UINT64_MAX), ==, 4);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/sort/random", test_random);
  g_test_add_func ("/sort/no-memory", test_no_memory);
  g_test_add_func ("/search/count-below", test_count_below);
  return g_test_run ();
}
