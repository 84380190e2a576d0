/*
 * Tests of packing anew around the peak and of its parts, against slow models.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/generate.h"
#include "planner/pack/repack/around.h"
#include "planner/pack/repack/cheapest.h"
#include "planner/pack/repack/repack.h"
#include "planner/pack/repack/waiting.h"
#include "tests/fail_alloc.h"

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
  TesseraTimes times;
  uint64_t *offsets;
  uint64_t height;
} Layout;

static void
layout_init (Layout *layout, const TesseraItem *items, uint32_t n_items)
{
  g_autofree uint32_t *members = g_new (uint32_t, n_items);
  for (uint32_t i = 0; i < n_items; i++)
    members[i] = i;
  g_assert_cmpint (
      tessera_pack_problem_new (items, NULL, members, n_items, NULL, &layout->problem),
      ==, TESSERA_OK);
  g_assert_cmpint (tessera_times_init (&layout->times, layout->problem), ==, TESSERA_OK);
  layout->offsets = g_new0 (uint64_t, n_items);
  layout->height = 0;
}

static void
layout_clear (Layout *layout)
{
  tessera_times_clear (&layout->times);
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
      TesseraEdge lows[12], highs[12], scratch[12];
      uint64_t ranges[12][3], best = 0, best_cost = UINT64_MAX, cost;
      for (uint32_t i = 0; i < n; i++)
        {
          ranges[i][0] = pick (random, N_BYTES);
          ranges[i][1] = ranges[i][0] + 1 + pick (random, 15);
          ranges[i][2] = 1 + pick (random, 5);
          lows[i] = (TesseraEdge){ ranges[i][0], ranges[i][2] };
          highs[i] = (TesseraEdge){ ranges[i][1], ranges[i][2] };
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
      uint64_t found =
          tessera_cheapest_offset (lows, highs, scratch, n, size, limit, &cost);
      g_assert_cmpuint (cost, ==, best_cost);
      g_assert_cmpuint (found, ==, best);
    }
  g_rand_free (random);
}

static int
compare_lives (const void *a, const void *b)
{
  const uint32_t *x = a, *y = b;
  return *x < *y ? -1 : *x > *y;
}

/* Over more births than one list covers, second lives among them. */
static void
test_around (void)
{
  enum
  {
    N = 1500
  };
  GRand *random = g_rand_new_with_seed (SEED + 1);
  g_autofree TesseraItem *items = g_new (TesseraItem, N);
  g_autofree uint32_t *lives = g_new (uint32_t, 2 * N), *naive = g_new (uint32_t, 2 * N);
  for (int run = 0; run < 12; run++)
    {
      Layout layout;
      TesseraAround around;
      uint64_t looks = 0;
      draw_items (random, items, N);
      layout_init (&layout, items, N);
      g_assert_cmpint (tessera_around_init (&around, &layout.times), ==, TESSERA_OK);
      g_assert_cmpuint (around.n_lists, >, 1);
      for (int question = 0; question < 300; question++)
        {
          uint32_t begin = pick (random, layout.problem->n_sections), n = 0;
          uint32_t end = begin + 1 + pick (random, pick (random, 2) ? 4 : N);
          for (uint32_t k = 0; k < layout.times.n_lives; k++)
            {
              uint32_t life = layout.times.by_begin[k];
              if (tessera_life_begin (layout.problem, life) < end &&
                  tessera_life_end (layout.problem, life) > begin)
                naive[n++] = life;
            }
          uint64_t looks_before = looks;
          g_assert_cmpuint (
              tessera_around_list (&around, begin, end, 2 * N, lives, &looks), ==, n);
          g_assert_cmpuint (looks - looks_before, >=, n);
          qsort (lives, n, sizeof *lives, compare_lives);
          qsort (naive, n, sizeof *naive, compare_lives);
          g_assert_true (n == 0 || memcmp (lives, naive, n * sizeof *lives) == 0);
          if (n > 0)
            g_assert_true (tessera_around_list (&around, begin, end, n - 1, lives,
                                                &looks) == SIZE_MAX);
        }
      tessera_around_clear (&around);
      layout_clear (&layout);
    }
  g_rand_free (random);
}

/* Comes out by weight, which grows with size and life. */
static void
test_waiting (void)
{
  enum
  {
    N = 200
  };
  GRand *random = g_rand_new_with_seed (SEED + 2);
  TesseraItem items[N];
  for (int run = 0; run < 50; run++)
    {
      Layout layout;
      TesseraWaitingItems waiting;
      gboolean is_in[N] = { FALSE };
      draw_items (random, items, N);
      for (uint32_t i = 0; i < N && run % 2 == 0; i++)
        items[i].size_bytes <<= 48;
      layout_init (&layout, items, N);
      g_assert_cmpint (tessera_waiting_init (&waiting, layout.problem), ==, TESSERA_OK);
      const TesseraPackItem *packed = layout.problem->items;
      for (uint32_t i = 0; i < N; i++)
        {
          g_assert_cmpuint (waiting.weights[i], >=, 1);
          g_assert_cmpuint (waiting.weights[i], <=, (1u << 20) + 1);
          for (uint32_t k = 0; k < N; k++)
            if (packed[i].size_bytes <= packed[k].size_bytes &&
                packed[i].life_events <= packed[k].life_events)
              g_assert_cmpuint (waiting.weights[i], <=, waiting.weights[k]);
        }
      tessera_waiting_empty (&waiting);
      for (int step = 0; step < 1000; step++)
        {
          uint32_t item = pick (random, N), best = UINT32_MAX;
          if (!is_in[item])
            tessera_waiting_push (&waiting, item);
          is_in[item] = TRUE;
          if (pick (random, 2) == 0)
            continue;
          for (uint32_t i = 0; i < N; i++)
            if (is_in[i] &&
                (best == UINT32_MAX || waiting.weights[i] > waiting.weights[best]))
              best = i;
          g_assert_cmpuint (tessera_waiting_pop (&waiting), ==, best);
          is_in[best] = FALSE;
        }
      tessera_waiting_clear (&waiting);
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
          tessera_repack (&layout.times, &options, layout.offsets, &layout.height), ==,
          TESSERA_OK);
      g_assert_cmpuint (layout.height, ==, stacked);
      options.looks = 1 << (10 + run % 10);
      for (int again = 0; again < 2; again++)
        {
          stack (&layout);
          g_assert_cmpint (
              tessera_repack (&layout.times, &options, layout.offsets, &layout.height),
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
      tessera_repack (&layout.times, &options, layout.offsets, &layout.height), ==,
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
  g_assert_cmpint (tessera_generate (TESSERA_GENERATE_EXPERTS, 3, items, N), ==,
                   TESSERA_OK);
  layout_init (&layout, items, N);
  for (int n_reports = 0; n_reports < 60; n_reports += 3)
    {
      int left = n_reports;
      const TesseraProgress progress = { stop_soon, &left };
      const TesseraRepackOptions options = { 1 << 22, &progress, 0.5 };
      stack (&layout);
      TesseraStatus status =
          tessera_repack (&layout.times, &options, layout.offsets, &layout.height);
      g_assert_cmpint (status, ==, left < 0 ? TESSERA_CANCELLED : TESSERA_OK);
      assert_layout (&layout);
      g_assert_cmpuint (layout.height, <=, lowest);
      lowest = layout.height;
    }
  layout_clear (&layout);
}

static void
test_no_memory (void)
{
  GRand *random = g_rand_new_with_seed (SEED + 4);
  TesseraItem items[60];
  Layout layout;
  draw_items (random, items, 60);
  layout_init (&layout, items, 60);
  const TesseraRepackOptions options = { .looks = 100000 };
  long held = tessera_fail_alloc_held ();
  for (unsigned nth = 1;; nth++)
    {
      stack (&layout);
      tessera_fail_alloc_at (nth);
      TesseraStatus status =
          tessera_repack (&layout.times, &options, layout.offsets, &layout.height);
      bool has_failed = tessera_fail_alloc_stop ();
      g_assert_cmpint (tessera_fail_alloc_held (), ==, held);
      assert_layout (&layout);
      g_assert_cmpint (status, ==, has_failed ? TESSERA_NO_MEMORY : TESSERA_OK);
      if (has_failed)
        continue;
      g_assert_cmpuint (nth, >, 9);
      break;
    }
  layout_clear (&layout);
  g_rand_free (random);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/repack/cheapest", test_cheapest);
  g_test_add_func ("/repack/around", test_around);
  g_test_add_func ("/repack/waiting", test_waiting);
  g_test_add_func ("/repack/random", test_random);
  g_test_add_func ("/repack/example", test_example);
  g_test_add_func ("/repack/cancel", test_cancel);
  g_test_add_func ("/repack/no-memory", test_no_memory);
  return g_test_run ();
}
