/*
 * Tests of the parts of the exact search: states, reductions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/exact/private.h"

#include <glib.h>
#include <string.h>

/* Three of one life, and one that meets them in its second life. */
static TesseraCore *
small_core (void)
{
  TesseraCoreItem items[] = {
    { .size = 1, .begin = 0, .end = 1, .source = 0 },
    { .size = 2, .begin = 0, .end = 1, .source = 1 },
    { .size = 3, .begin = 0, .end = 1, .source = 2 },
    { .size = 2, .begin = 5, .end = 7, .begin2 = 0, .end2 = 3, .source = 3 },
    { .size = 4, .begin = 5, .end = 6, .source = 4 },
  };
  g_assert_cmpuint (tessera_core_cut (items, G_N_ELEMENTS (items)), ==, 2);
  return tessera_core_new (items, G_N_ELEMENTS (items), 2, 10);
}

/* All that changes comes back. */
static void
test_undo (void)
{
  TesseraCore *core = small_core ();
  TesseraExactState state;
  tessera_exact_state_init (&state, core);
  g_assert_true (tessera_exact_state_start (&state));
  size_t start = state.n_trail;
  uint64_t floors[5], level[2], reach[2], across[2];
  memcpy (floors, state.floors, sizeof floors);
  memcpy (level, state.level, sizeof level);
  memcpy (reach, state.reach, sizeof reach);
  memcpy (across, state.across, sizeof across);
  g_assert_cmpuint (reach[0], ==, 8);
  g_assert_true (tessera_exact_state_is_lowest (&state, 3));
  g_assert_true (tessera_exact_state_put_off (&state, 3));
  g_assert_cmpuint (state.floors[3], ==, 1); /* above the smallest of the others */
  g_assert_true (tessera_exact_state_place (&state, 0));
  g_assert_cmpuint (state.blocked[3], ==, 0);
  g_assert_true (tessera_exact_state_place (&state, 3));
  g_assert_cmpuint (state.across[0], ==, 0);
  g_assert_cmpuint (state.floors[4], ==, 3);
  tessera_exact_state_undo (&state, start);
  g_assert_cmpmem (floors, sizeof floors, state.floors, sizeof floors);
  g_assert_cmpmem (level, sizeof level, state.level, sizeof level);
  g_assert_cmpmem (reach, sizeof reach, state.reach, sizeof reach);
  g_assert_cmpmem (across, sizeof across, state.across, sizeof across);
  tessera_exact_state_clear (&state);
  tessera_core_free (core);
}

/* One that lives always, one that fits wherever the others are, two parts of two. */
static void
test_reduction (void)
{
  const TesseraExactItem items[] = {
    { .size_bytes = 40, .begin = 0, .end = 90 },
    { .size_bytes = 30, .begin = 0, .end = 20 },
    { .size_bytes = 30, .begin = 10, .end = 40 },
    { .size_bytes = 30, .begin = 30, .end = 45 },
    { .size_bytes = 40, .begin = 50, .end = 80 },
    { .size_bytes = 10, .begin = 60, .end = 90 },
    { .size_bytes = 30, .begin = 45, .end = 70 },
    { .size_bytes = 30, .begin = 75, .end = 90 },
  };
  TesseraReduction reduction;
  tessera_reduction_init (&reduction, items, G_N_ELEMENTS (items), 10);
  tessera_reduction_run (&reduction, 12, UINT64_MAX);
  g_assert_false (reduction.is_impossible);
  g_assert_cmpuint (reduction.places[0], ==, 0);
  uint32_t n_left = reduction.n_easy;
  for (uint32_t k = 0; k < reduction.n_cores; k++)
    {
      n_left += reduction.cores[k].n_items;
      g_assert_cmpuint (reduction.cores[k].base + reduction.cores[k].capacity, ==, 12);
    }
  for (uint32_t i = 1; i < G_N_ELEMENTS (items); i++)
    n_left += reduction.places[i] != UINT64_MAX;
  g_assert_cmpuint (n_left, ==, G_N_ELEMENTS (items) - 1);
  g_assert_cmpuint (reduction.n_easy, >, 0);
  tessera_reduction_clear (&reduction);

  tessera_reduction_init (&reduction, items, G_N_ELEMENTS (items), 10);
  tessera_reduction_run (&reduction, 11, UINT64_MAX);
  g_assert_true (reduction.is_impossible);
  tessera_reduction_clear (&reduction);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/exact-parts/undo", test_undo);
  g_test_add_func ("/exact-parts/reduction", test_reduction);
  return g_test_run ();
}
