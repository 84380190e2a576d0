/*
 * Tests of finding the place of a pool that is needed latest, against trying all places.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/follow/outlook.h"

#include <glib.h>

#define SEED 20261121

enum
{
  N_OFFSETS = 40,
  HEIGHT_BYTES = 400
};

/* The answer by looking at every stretch of every place. */
static uint32_t
try_all (const uint32_t *needs,
         const uint64_t *offsets,
         uint64_t size_bytes,
         uint32_t *out_rank)
{
  uint32_t latest = 0;

  for (uint32_t r = 0; r < N_OFFSETS; r++)
    {
      uint32_t least = TESSERA_NEVER;

      for (uint32_t k = r; k < N_OFFSETS && offsets[k] < offsets[r] + size_bytes; k++)
        least = MIN (least, needs[k]);
      if (offsets[r] + size_bytes <= HEIGHT_BYTES && least > latest)
        {
          latest = least;
          *out_rank = r;
        }
    }
  return latest;
}

static void
make_offsets (GRand *rand, uint64_t *offsets)
{
  uint64_t at = 0;

  for (uint32_t r = 0; r < N_OFFSETS; r++)
    {
      offsets[r] = at;
      at += (uint64_t) g_rand_int_range (rand, 1, 19);
    }
}

/* The same needs, told to the outlook and written into @expected one by one. */
static void
tell_needs (GRand *rand, TesseraOutlook *outlook, uint32_t *expected)
{
  uint32_t n_needs = (uint32_t) g_rand_int_range (rand, 0, 60);
  uint32_t n_barred = (uint32_t) g_rand_int_range (rand, 0, 8);

  tessera_outlook_begin (outlook);
  for (uint32_t r = 0; r < N_OFFSETS; r++)
    expected[r] = TESSERA_NEVER;
  for (uint32_t i = 0; i < n_barred + n_needs; i++)
    {
      uint32_t first = (uint32_t) g_rand_int_range (rand, 0, N_OFFSETS);
      uint32_t end = (uint32_t) g_rand_int_range (
          rand, (gint32) first + 1, MIN (N_OFFSETS, (gint32) first + 6) + 1);
      uint32_t when = i < n_barred ? 0 : i - n_barred + 1;

      tessera_outlook_need (outlook, first, end, when);
      for (uint32_t r = first; r < end; r++)
        expected[r] = MIN (expected[r], when);
    }
}

static void
test_all_places (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (SEED);
  uint64_t offsets[N_OFFSETS];
  uint32_t expected[N_OFFSETS];
  uint32_t n_found = 0;

  for (int round = 0; round < 4000; round++)
    {
      uint64_t size_bytes = (uint64_t) g_rand_int_range (rand, 1, 120);
      TesseraOutlook outlook;

      make_offsets (rand, offsets);
      g_assert_cmpint (tessera_outlook_init (&outlook, offsets, N_OFFSETS, HEIGHT_BYTES),
                       ==, TESSERA_OK);
      tell_needs (rand, &outlook, expected);
      /* One place after the other is refused, until there is none. */
      for (;;)
        {
          uint32_t rank = 0, expected_rank = 0;
          uint32_t when = tessera_outlook_find (&outlook, size_bytes, &rank);

          g_assert_cmpuint (when, ==,
                            try_all (expected, offsets, size_bytes, &expected_rank));
          if (when == 0)
            break;
          g_assert_cmpuint (rank, ==, expected_rank);
          tessera_outlook_bar (&outlook, rank, offsets[rank] + size_bytes / 2 + 1);
          for (uint32_t r = rank; r < N_OFFSETS; r++)
            if (offsets[r] < offsets[rank] + size_bytes / 2 + 1)
              expected[r] = 0;
          n_found++;
        }
      tessera_outlook_clear (&outlook);
    }
  g_assert_cmpuint (n_found, >, 4000);
}

static void
test_no_offsets (void)
{
  TesseraOutlook outlook;
  uint32_t rank;

  g_assert_cmpint (tessera_outlook_init (&outlook, NULL, 0, 0), ==, TESSERA_OK);
  tessera_outlook_begin (&outlook);
  g_assert_cmpuint (tessera_outlook_find (&outlook, 512, &rank), ==, 0);
  tessera_outlook_clear (&outlook);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/allocator/outlook/all-places", test_all_places);
  g_test_add_func ("/allocator/outlook/no-offsets", test_no_offsets);
  return g_test_run ();
}
