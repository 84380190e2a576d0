/*
 * Tests of packing anew around the peak and of its parts, against slow models.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/repack.h"
#include "tests/planner/generate.h"

#include <glib.h>
#include <string.h>

enum
{
  SEED = 61
};

static uint32_t
pick (GRand *random, uint32_t n)
{
  return (uint32_t) g_rand_int_range (random, 0, (int) n);
}

/* A problem and where its items lie. */
typedef struct
{
  TesseraPackProblem *problem;
  uint64_t *offsets;
  uint64_t height;
} Layout;

static void
layout_init (Layout *layout, const TesseraItem *items, uint32_t n_items)
{
  g_autofree uint32_t *members = g_new (uint32_t, n_items);
  for (uint32_t i = 0; i < n_items; i++)
    members[i] = i;
  layout->problem = tessera_pack_problem_new (items, NULL, members, n_items, NULL);
  layout->offsets = g_new0 (uint64_t, n_items);
  layout->height = 0;
}

static void
layout_clear (Layout *layout)
{
  tessera_pack_problem_free (layout->problem);
  g_free (layout->offsets);
}

/* All on top of each other: as bad as it gets. */
static void
stack (Layout *layout)
{
  layout->height = 0;
  for (size_t i = 0; i < layout->problem->n_items; i++)
    {
      layout->offsets[i] = layout->height;
      layout->height += layout->problem->items[i].size_bytes;
    }
}

/* Nobody meets anybody, and the height is that of the highest. */
static void
assert_layout (const Layout *layout)
{
  const TesseraPackItem *items = layout->problem->items;
  uint64_t top = 0;
  for (uint32_t i = 0; i < layout->problem->n_items; i++)
    {
      top = MAX (top, layout->offsets[i] + items[i].size_bytes);
      for (uint32_t k = 0; k < i; k++)
        g_assert_true (!tessera_pack_meet (layout->problem, i, k) ||
                       layout->offsets[i] + items[i].size_bytes <= layout->offsets[k] ||
                       layout->offsets[k] + items[k].size_bytes <= layout->offsets[i]);
    }
  g_assert_cmpuint (layout->height, ==, top);
}

static void
draw_items (GRand *random, TesseraItem *items, uint32_t n_items)
{
  uint32_t n_moments = 2 + pick (random, n_items * 2);
  for (uint32_t i = 0; i < n_items; i++)
    {
      uint32_t longest = pick (random, 3) ? 6 : n_moments;
      items[i] =
          (TesseraItem){ .size_bytes = 1 + pick (random, pick (random, 3) ? 6 : 40),
                         .begin = pick (random, n_moments) };
      items[i].end = items[i].begin + 1 + pick (random, longest);
      if (items[i].begin > 1 && pick (random, 5) == 0)
        {
          items[i].end2 = 1 + pick (random, items[i].begin - 1);
          items[i].begin2 = pick (random, items[i].end2);
        }
    }
}

static void
test_cheapest (void)
{
  enum
  {
    N_BYTES = 60
  };
  GRand *random = g_rand_new_with_seed (SEED);
  for (int run = 0; run < 3000; run++)
    {
      uint32_t n = pick (random, 12), size = 1 + pick (random, 12);
      uint32_t limit = pick (random, N_BYTES);
      TesseraKeyed lows[12], highs[12];
      uint64_t costs[12];
      TesseraEdges edges = { lows, highs, costs, n };
      uint64_t ranges[12][3], best = 0, best_cost = UINT64_MAX, cost;
      for (uint32_t i = 0; i < n; i++)
        {
          ranges[i][0] = pick (random, N_BYTES);
          ranges[i][1] = ranges[i][0] + 1 + pick (random, 15);
          ranges[i][2] = 1 + pick (random, 5);
          lows[i] = (TesseraKeyed){ ranges[i][0], i };
          highs[i] = (TesseraKeyed){ ranges[i][1], i };
          costs[i] = ranges[i][2];
        }
      for (uint64_t at = 0; at <= limit; at++)
        {
          uint64_t here = 0;
          for (uint32_t i = 0; i < n; i++)
            if (ranges[i][0] < at + size && ranges[i][1] > at)
              here += ranges[i][2];
          if (here < best_cost)
            {
              best = at;
              best_cost = here;
            }
        }
      uint64_t found = tessera_cheapest_offset (&edges, size, limit, &cost);
      g_assert_cmpuint (cost, ==, best_cost);
      g_assert_cmpuint (found, ==, best);
    }
  g_rand_free (random);
}

static int
compare_items (const void *a, const void *b)
{
  const uint32_t *x = a, *y = b;
  return *x < *y ? -1 : *x > *y;
}

/* Who is alive with whom, second lives among them. */
static void
test_around (void)
{
  enum
  {
    N = 700
  };
  GRand *random = g_rand_new_with_seed (SEED + 1);
  g_autofree TesseraItem *items = g_new (TesseraItem, N);
  g_autofree uint32_t *around = g_new (uint32_t, N), *naive = g_new (uint32_t, N);
  for (int run = 0; run < 6; run++)
    {
      Layout layout;
      TesseraBoxes boxes;
      uint64_t looks = 0;
      draw_items (random, items, N);
      layout_init (&layout, items, N);
      tessera_boxes_init (&boxes, layout.problem);
      for (uint32_t of = 0; of < N; of++)
        {
          uint32_t n = 0;
          for (uint32_t i = 0; i < N; i++)
            if (i != of && tessera_pack_meet (layout.problem, of, i))
              naive[n++] = i;
          uint64_t looks_before = looks;
          g_assert_cmpuint (tessera_boxes_list (&boxes, of, N, around, &looks), ==, n);
          g_assert_cmpuint (looks - looks_before, >=, n);
          qsort (around, n, sizeof *around, compare_items);
          g_assert_true (n == 0 || memcmp (around, naive, n * sizeof *naive) == 0);
          if (n > 0)
            g_assert_true (tessera_boxes_list (&boxes, of, n - 1, around, &looks) ==
                           SIZE_MAX);
        }
      tessera_boxes_clear (&boxes);
      layout_clear (&layout);
    }
  g_rand_free (random);
}

/* Weights grow with size and life. */
static void
test_weights (void)
{
  enum
  {
    N = 200
  };
  GRand *random = g_rand_new_with_seed (SEED + 2);
  TesseraItem items[N];
  for (int run = 0; run < 20; run++)
    {
      Layout layout;
      TesseraEjection ejection;
      const TesseraRepackOptions options = { .looks = 1 };
      draw_items (random, items, N);
      for (uint32_t i = 0; i < N && run % 2 == 0; i++)
        items[i].size_bytes <<= 48;
      layout_init (&layout, items, N);
      tessera_ejection_init (&ejection, layout.problem, &options);
      const TesseraPackItem *packed = layout.problem->items;
      for (uint32_t i = 0; i < N; i++)
        {
          g_assert_cmpuint (ejection.weights[i], >=, 1);
          g_assert_cmpuint (ejection.weights[i], <=, (1u << 20) + 1);
          for (uint32_t k = 0; k < N; k++)
            if (packed[i].size_bytes <= packed[k].size_bytes &&
                packed[i].life_events <= packed[k].life_events)
              g_assert_cmpuint (ejection.weights[i], <=, ejection.weights[k]);
        }
      tessera_ejection_clear (&ejection);
      layout_clear (&layout);
    }
  g_rand_free (random);
}

/* From the worst layout there is: valid, never higher, and most of the way to the bound;
 * the same again; and with nothing to spend nothing happens. */
static void
test_random (void)
{
  enum
  {
    N = 120
  };
  GRand *random = g_rand_new_with_seed (SEED + 3);
  TesseraItem items[N];
  double above = 0;
  for (int run = 0; run < 120; run++)
    {
      uint32_t n = 1 + pick (random, N);
      uint64_t once[N];
      Layout layout;
      draw_items (random, items, n);
      layout_init (&layout, items, n);
      TesseraRepackOptions options = { .looks = 0 };
      stack (&layout);
      uint64_t stacked = layout.height;
      g_assert_cmpint (
          tessera_repack (layout.problem, &options, layout.offsets, &layout.height), ==,
          TESSERA_OK);
      g_assert_cmpuint (layout.height, ==, stacked);
      options.looks = 1 << (10 + run % 10);
      for (int again = 0; again < 2; again++)
        {
          stack (&layout);
          g_assert_cmpint (
              tessera_repack (layout.problem, &options, layout.offsets, &layout.height),
              ==, TESSERA_OK);
          g_assert_cmpuint (layout.height, <=, stacked);
          g_assert_cmpuint (layout.height, >=, layout.problem->bound_bytes);
          assert_layout (&layout);
          if (again == 0)
            memcpy (once, layout.offsets, n * sizeof *once);
        }
      g_assert_true (memcmp (once, layout.offsets, n * sizeof *once) == 0);
      if (run % 10 == 9)
        above += (double) layout.height / (double) layout.problem->bound_bytes - 1;
      layout_clear (&layout);
    }
  /* Those with half a million looks, twelve of them. */
  g_assert_cmpfloat (above / 12, <, 0.15);
  g_rand_free (random);
}

/* The example of repack.h: one block in the way of another. */
static void
test_example (void)
{
  static const TesseraItem items[] = {
    { .size_bytes = 4, .begin = 0, .end = 10 }, /* below the hole */
    { .size_bytes = 2, .begin = 1, .end = 4 },  /* frees its lower half */
    { .size_bytes = 1, .begin = 3, .end = 6 },  /* lies in the middle of it */
    { .size_bytes = 3, .begin = 5, .end = 10 },
  };
  static const uint64_t places[] = { 0, 4, 6, 7 };
  Layout layout;
  layout_init (&layout, items, G_N_ELEMENTS (items));
  for (uint32_t i = 0; i < G_N_ELEMENTS (items); i++)
    layout.offsets[i] = places[layout.problem->items[i].source];
  layout.height = 10;
  const TesseraRepackOptions options = { .looks = 10000 };
  g_assert_cmpuint (layout.problem->bound_bytes, ==, 8);
  g_assert_cmpint (
      tessera_repack (layout.problem, &options, layout.offsets, &layout.height), ==,
      TESSERA_OK);
  assert_layout (&layout);
  g_assert_cmpuint (layout.height, ==, 8);
  layout_clear (&layout);
}

static bool
stop_soon (void *user, double fraction)
{
  int *left = user;
  g_assert_cmpfloat (fraction, ==, 0.5);
  return (*left)-- > 0;
}

/* Stopped at any moment it holds a layout. */
static void
test_cancel (void)
{
  enum
  {
    N = 600
  };
  g_autofree TesseraItem *items = g_new0 (TesseraItem, N);
  Layout layout;
  uint64_t lowest = UINT64_MAX;
  generate_items (GENERATE_EXPERTS, 3, items, N);
  layout_init (&layout, items, N);
  for (int n_reports = 0; n_reports < 60; n_reports += 3)
    {
      int left = n_reports;
      const TesseraProgress progress = { stop_soon, &left };
      const TesseraRepackOptions options = { 1 << 22, &progress, 0.5 };
      stack (&layout);
      TesseraStatus status =
          tessera_repack (layout.problem, &options, layout.offsets, &layout.height);
      g_assert_cmpint (status, ==, left < 0 ? TESSERA_CANCELLED : TESSERA_OK);
      assert_layout (&layout);
      g_assert_cmpuint (layout.height, <=, lowest);
      lowest = layout.height;
    }
  layout_clear (&layout);
}

/* ---- how long a layout in work is given while nothing gets better ---- */

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
  problem = tessera_pack_problem_new (items, NULL, members, n_items, NULL);
  tessera_ejection_init (&ejection, problem, &options);
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
  g_test_add_func ("/repack/cheapest", test_cheapest);
  g_test_add_func ("/repack/around", test_around);
  g_test_add_func ("/repack/weights", test_weights);
  g_test_add_func ("/repack/patience", test_patience);
  g_test_add_func ("/repack/random", test_random);
  g_test_add_func ("/repack/example", test_example);
  g_test_add_func ("/repack/cancel", test_cancel);
  return g_test_run ();
}
