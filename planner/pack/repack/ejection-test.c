/*
 * Tests of how long a layout in work is given while nothing gets better.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/repack/ejection.h"

#include <glib.h>

enum
{
  FEW = 20000,
  MANY = 40000,
  TARGET = 4
};

/* A (size 2) lives always and has no place yet; B (2) lies at 0 for the first moment, and
 * the others (1 each) at 2, one after the other. A has to look at all of them before it
 * takes the place of B, who lies elsewhere at once. */
static bool
reach (uint32_t n_items, uint64_t looks, uint64_t *out_looks)
{
  g_autofree TesseraItem *items = g_new0 (TesseraItem, n_items);
  g_autofree uint32_t *members = g_new (uint32_t, n_items);
  const TesseraRepackOptions options = { .looks = looks };
  TesseraPackProblem *problem;
  TesseraTimes times;
  TesseraEjection ejection;
  uint32_t a = 0, b = 0;
  bool is_reached;

  for (uint32_t i = 0; i < n_items; i++)
    {
      items[i] = (TesseraItem){ .size_bytes = 1, .begin = i - 1, .end = i };
      members[i] = i;
    }
  items[0] = (TesseraItem){ .size_bytes = 2, .begin = 0, .end = n_items };
  items[1] = (TesseraItem){ .size_bytes = 2, .begin = 0, .end = 1 };
  g_assert_cmpint (
      tessera_pack_problem_new (items, NULL, members, n_items, NULL, &problem), ==,
      TESSERA_OK);
  g_assert_cmpint (tessera_times_init (&times, problem), ==, TESSERA_OK);
  g_assert_cmpint (tessera_ejection_init (&ejection, &times, &options), ==, TESSERA_OK);
  for (uint32_t i = 0; i < n_items; i++)
    {
      ejection.offsets[i] = problem->items[i].source == 1 ? 0 : 2;
      a = problem->items[i].source == 0 ? i : a;
      b = problem->items[i].source == 1 ? i : b;
    }
  tessera_ejection_begin (&ejection);
  tessera_ejection_take_out (&ejection, a);
  is_reached = tessera_ejection_reach (&ejection, TARGET);
  g_assert_true (!is_reached || (ejection.offsets[a] == 0 && ejection.offsets[b] == 2));
  *out_looks = ejection.looks;
  tessera_ejection_clear (&ejection);
  tessera_times_clear (&times);
  tessera_pack_problem_free (problem);
  return is_reached;
}

/* The first look at all costs between an eighth and a third of what may be spent: too
 * much for a small problem, where others get their turn, but not for a large one. */
static void
test_patience (void)
{
  uint64_t spent;

  for (uint32_t n_items = FEW; n_items <= MANY; n_items += MANY - FEW)
    {
      g_assert_true (reach (n_items, UINT64_MAX, &spent));
      g_assert_cmpuint (spent, >, n_items);
      g_assert_cmpint (reach (n_items, 5 * spent, &spent), ==, n_items == MANY);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/ejection/patience", test_patience);
  return g_test_run ();
}
