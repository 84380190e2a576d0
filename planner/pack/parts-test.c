/*
 * Tests of the structures under the packer and of its methods, each against a naive model.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/methods.h"
#include "tests/planner/generate.h"

#include <string.h>

#define SEED 99
#define N_RUNS 200

static uint32_t
pick (GRand *random, uint32_t n)
{
  return (uint32_t) g_rand_int_range (random, 0, (int) n);
}

static void
pick_range (GRand *random, uint32_t n, uint32_t *begin, uint32_t *end)
{
  *begin = pick (random, n);
  *end = *begin + 1 + pick (random, n - *begin);
}

static void
test_skyline (void)
{
  GRand *random = g_rand_new_with_seed (SEED);
  for (int run = 0; run < N_RUNS; run++)
    {
      uint32_t n = 1 + pick (random, 70), begin, end;
      uint64_t model[70] = { 0 };
      TesseraSkyline skyline;
      tessera_skyline_init (&skyline, n);
      for (int step = 0; step < 60; step++)
        {
          uint64_t height = pick (random, 1000), highest = 0;
          pick_range (random, n, &begin, &end);
          tessera_skyline_raise (&skyline, begin, end, height);
          for (uint32_t s = begin; s < end; s++)
            model[s] = MAX (model[s], height);
          pick_range (random, n, &begin, &end);
          for (uint32_t s = begin; s < end; s++)
            highest = MAX (highest, model[s]);
          g_assert_cmpuint (tessera_skyline_highest (&skyline, begin, end), ==, highest);
          g_assert_cmpuint (tessera_skyline_highest (&skyline, end, end), ==, 0);
          g_assert_cmpuint (tessera_skyline_highest (&skyline, UINT32_MAX, 0), ==, 0);
        }
      tessera_skyline_flatten (&skyline);
      g_assert_cmpuint (tessera_skyline_highest (&skyline, 0, n), ==, 0);
      tessera_skyline_clear (&skyline);
    }
  g_rand_free (random);
}

/* The lowest window is the first longest run of the lowest height. */
static void
assert_lowest (const TesseraWindows *windows, const uint64_t *model, uint32_t n)
{
  uint32_t begin = 0, end;
  uint64_t height;
  for (uint32_t s = 1; s < n; s++)
    if (model[s] < model[begin])
      begin = s;
  for (end = begin; end < n && model[end] == model[begin];)
    end++;
  uint32_t found_end;
  g_assert_cmpuint (tessera_windows_lowest (windows, &height, &found_end), ==, begin);
  g_assert_cmpuint (height, ==, model[begin]);
  g_assert_cmpuint (found_end, ==, end);
}

static void
lift_model (uint64_t *model, uint32_t n, uint32_t begin, uint32_t end)
{
  uint64_t left = begin > 0 ? model[begin - 1] : UINT64_MAX;
  uint64_t right = end < n ? model[end] : UINT64_MAX;
  for (uint32_t s = begin; s < end; s++)
    model[s] = MIN (left, right);
}

static void
test_windows (void)
{
  GRand *random = g_rand_new_with_seed (SEED + 2);
  for (int run = 0; run < N_RUNS; run++)
    {
      uint32_t n = 1 + pick (random, 70), begin, end;
      uint64_t model[70] = { 0 }, height;
      TesseraWindows windows;
      tessera_windows_init (&windows, n);
      tessera_windows_flatten (&windows);
      for (int step = 0; step < 60; step++)
        {
          pick_range (random, n, &begin, &end);
          height = pick (random, 12);
          tessera_windows_raise (&windows, begin, end, height);
          for (uint32_t s = begin; s < end; s++)
            model[s] = MAX (model[s], height);
          assert_lowest (&windows, model, n);
          if (step % 3 != 0)
            continue;
          begin = tessera_windows_lowest (&windows, &height, &end);
          g_assert_true (tessera_windows_lift (&windows, begin) == (end - begin < n));
          if (end - begin < n)
            lift_model (model, n, begin, end);
          assert_lowest (&windows, model, n);
        }
      tessera_windows_clear (&windows);
    }
  g_rand_free (random);
}

/* Items over [0, n_moments), some with two lives, and the problem they make. */
static TesseraPackProblem *
random_problem (GRand *random, uint32_t n_items, uint32_t n_moments, gboolean second)
{
  TesseraItem *items = g_new0 (TesseraItem, n_items);
  uint32_t *members = g_new (uint32_t, n_items);
  uint64_t *offsets = g_new (uint64_t, n_items);
  for (uint32_t i = 0; i < n_items; i++)
    {
      members[i] = i;
      items[i].size_bytes = 1 + pick (random, 20);
      pick_range (random, n_moments, &items[i].begin, &items[i].end);
      if (second && items[i].begin > 0 && pick (random, 2))
        pick_range (random, items[i].begin, &items[i].begin2, &items[i].end2);
    }
  TesseraPackProblem *problem =
      tessera_pack_problem_new (items, NULL, members, n_items, offsets);
  g_free (items);
  g_free (members);
  g_free (offsets);
  return problem;
}

static void
test_finder (void)
{
  GRand *random = g_rand_new_with_seed (SEED + 3);
  for (int run = 0; run < N_RUNS; run++)
    {
      TesseraPackProblem *problem = random_problem (random, 1 + pick (random, 80), 50, 0);
      uint32_t n = (uint32_t) problem->n_items, begin, end;
      uint32_t ranks[80];
      TesseraFinder finder = { 0 };
      tessera_finder_init (&finder, problem);
      for (uint32_t i = 0; i < n; i++)
        ranks[i] = pick (random, 3) ? i * 7 % 83 : TESSERA_NO_RANK;
      tessera_finder_fill (&finder, ranks);
      for (int step = 0; step < 80; step++)
        {
          uint32_t best = TESSERA_NO_RANK;
          if (n > 0)
            {
              uint32_t item = pick (random, n);
              ranks[item] = pick (random, 2) ? pick (random, 100) : TESSERA_NO_RANK;
              tessera_finder_set (&finder, item, ranks[item]);
            }
          pick_range (random, problem->n_sections, &begin, &end);
          for (uint32_t i = 0; i < n; i++)
            if (problem->items[i].lives.begin >= begin &&
                problem->items[i].lives.end <= end)
              best = MIN (best, ranks[i]);
          g_assert_cmpuint (tessera_finder_best (&finder, begin, end), ==, best);
        }
      tessera_finder_clear (&finder);
      tessera_pack_problem_free (problem);
    }
  g_rand_free (random);
}

/* Where an item fits, by trying every offset. */
static uint64_t
naive_fit (const TesseraPackProblem *problem,
           const uint64_t *offsets,
           const uint32_t *placed,
           uint32_t n_placed,
           uint32_t item_index)
{
  const TesseraPackItem *item = &problem->items[item_index];
  gboolean taken[1 << 15] = { 0 };
  uint64_t top = 0;
  for (uint32_t k = 0; k < n_placed; k++)
    {
      const TesseraPackItem *other = &problem->items[placed[k]];
      if (!tessera_pack_meet (problem, item_index, placed[k]))
        continue;
      for (uint64_t at = 0; at < other->size_bytes; at++)
        taken[offsets[placed[k]] + at] = TRUE;
      top = MAX (top, offsets[placed[k]] + other->size_bytes);
    }
  for (uint64_t at = 0, n_free = 0; at < top; at++)
    {
      n_free = taken[at] ? 0 : n_free + 1;
      if (n_free == item->size_bytes)
        return at + 1 - n_free;
    }
  return top;
}

/* In any order. */
static void
test_placed (void)
{
  GRand *random = g_rand_new_with_seed (SEED + 4);
  for (int run = 0; run < 80; run++)
    {
      TesseraPackProblem *problem =
          random_problem (random, 1 + pick (random, 200), 60, run % 2);
      uint32_t n = (uint32_t) problem->n_items;
      uint64_t offsets[200];
      uint32_t order[200];
      TesseraPlaced placed;
      tessera_placed_init (&placed, problem, n);
      for (uint32_t i = 0; i < n; i++)
        order[i] = i;
      for (uint32_t i = 0; i < n; i++)
        {
          uint32_t other = i + pick (random, n - i), item = order[other];
          order[other] = order[i];
          order[i] = item;
          uint64_t first = tessera_placed_fit (&placed, item, 0);
          g_assert_cmpuint (first, ==, naive_fit (problem, offsets, order, i, item));
          /* Somewhere higher at times, so that gaps come about. */
          uint64_t from = pick (random, 2) ? 0 : pick (random, 100);
          offsets[item] = tessera_placed_fit (&placed, item, first + from);
          tessera_placed_put (&placed, item, offsets[item]);
        }
      tessera_placed_clear (&placed);
      tessera_pack_problem_free (problem);
    }
  g_rand_free (random);
}

/* ---- sweeps ---- */

enum
{
  MAX_ITEMS = 150
};

static TesseraPackProblem *
sweep_problem (GRand *random, uint32_t n_items, gboolean has_second)
{
  enum
  {
    N_MOMENTS = 80
  };
  TesseraItem items[MAX_ITEMS] = { 0 };
  uint32_t members[MAX_ITEMS];
  for (uint32_t i = 0; i < n_items; i++)
    {
      members[i] = i;
      items[i].size_bytes = 1 + pick (random, pick (random, 3) ? 6 : 30);
      items[i].begin = pick (random, N_MOMENTS - 1);
      items[i].end =
          MIN (items[i].begin + 1 + pick (random, pick (random, 3) ? 6 : 60), N_MOMENTS);
      if (has_second && items[i].begin > 1 && pick (random, 5) == 0)
        {
          items[i].end2 = 1 + pick (random, items[i].begin - 1);
          items[i].begin2 = pick (random, items[i].end2);
        }
    }
  return tessera_pack_problem_new (items, NULL, members, n_items, NULL);
}

/* Where an item fits among the @n_placed first of @order, byte by byte. */
static uint64_t
naive_sweep_fit (const TesseraPackProblem *problem,
                 const uint32_t *order,
                 uint32_t n_placed,
                 const uint64_t *offsets,
                 TesseraSweepFit fit)
{
  uint32_t item = order[n_placed];
  uint64_t top = 0, best = UINT64_MAX, best_gap = UINT64_MAX;
  gboolean is_taken[8192] = { FALSE };
  for (uint32_t i = 0; i < n_placed; i++)
    if (tessera_pack_meet (problem, item, order[i]))
      for (uint64_t at = 0; at < problem->items[order[i]].size_bytes; at++)
        {
          is_taken[offsets[order[i]] + at] = TRUE;
          top = MAX (top, offsets[order[i]] + at + 1);
        }
  for (uint64_t at = 0, gap; at < top; at += gap + 1)
    {
      for (gap = 0; at + gap < top && !is_taken[at + gap];)
        gap++;
      if (gap >= problem->items[item].size_bytes && gap < best_gap &&
          (fit == TESSERA_SWEEP_BEST_FIT || best == UINT64_MAX))
        {
          best = at;
          best_gap = gap;
        }
    }
  return best != UINT64_MAX ? best : top;
}

/* The order of a rule: classes as cut, in each by time, and everybody once. */
static void
assert_order (const TesseraPackProblem *problem,
              const TesseraRule *rule,
              const uint32_t *order,
              const uint32_t *ends)
{
  gboolean is_there[MAX_ITEMS] = { FALSE };
  for (uint32_t c = 0, i = 0; c < TESSERA_RULE_N_CLASSES; c++)
    for (uint32_t first = i; i < ends[c]; i++)
      {
        const TesseraPackItem *item = &problem->items[order[i]];
        const TesseraPackItem *last = &problem->items[order[i > first ? i - 1 : i]];
        g_assert_false (is_there[order[i]]);
        is_there[order[i]] = TRUE;
        g_assert_true ((c == 0) == (item->lives.begin2 < item->lives.end2));
        if (rule->is_backward)
          g_assert_cmpuint (item->lives.end, <=, last->lives.end);
        else
          g_assert_cmpuint (item->lives.begin, >=, last->lives.begin);
        g_assert_true (c == 0 ||
                       (c == 1) == (item->life_events > rule->longest_short_events));
      }
  g_assert_cmpuint (ends[TESSERA_RULE_N_CLASSES - 1], ==, problem->n_items);
}

static void
test_against_naive (void)
{
  GRand *random = g_rand_new_with_seed (SEED + 1);
  for (int run = 0; run < 250; run++)
    {
      uint32_t n = 1 + pick (random, MAX_ITEMS - 1), ends[TESSERA_RULE_N_CLASSES];
      TesseraPackProblem *problem = sweep_problem (random, n, run % 3 == 0);
      TesseraTimes times;
      TesseraWorkspace workspace;
      TesseraPackShared shared = { .best_height_bytes = UINT64_MAX,
                                   .reached = UINT32_MAX };
      const TesseraPackWatch watch = { &shared, 0 };
      tessera_times_init (&times, problem);
      tessera_workspace_init (&workspace, problem, false, n, &times);
      for (int k = 0; k < 12; k++) /* what comes first is kept from rule to rule */
        {
          uint64_t height, top = 0, offsets[MAX_ITEMS];
          TesseraRule rule = tessera_rule_nth (60, pick (random, TESSERA_N_RULES));
          if (k % 2 == 0)
            rule.longest_short_events = pick (random, 60);
          g_assert_true (
              tessera_attempt_sweep (&workspace, &rule, UINT64_MAX, &watch, &height));
          tessera_rule_order (&rule, &times, workspace.order, ends);
          assert_order (problem, &rule, workspace.order, ends);
          for (uint32_t i = 0; i < n; i++)
            {
              uint32_t item = workspace.order[i];
              offsets[item] =
                  naive_sweep_fit (problem, workspace.order, i, offsets,
                                   i < ends[0] ? TESSERA_SWEEP_FIRST_FIT : rule.fit);
              g_assert_cmpuint (workspace.offsets[item], ==, offsets[item]);
              top = MAX (top, offsets[item] + problem->items[item].size_bytes);
            }
          g_assert_cmpuint (height, ==, top);
        }
      tessera_workspace_clear (&workspace);
      tessera_times_clear (&times);
      tessera_pack_problem_free (problem);
    }
  g_rand_free (random);
}

/* What is generated is valid, the same each time, of many sizes, and in flight together.
 */
static void
test_generated (void)
{
  enum
  {
    N = 20000
  };
  TesseraItem *items = g_new0 (TesseraItem, N), *again = g_new0 (TesseraItem, N);
  for (int kind = 0; kind < GENERATE_N_KINDS; kind++)
    {
      g_autoptr (GHashTable) sizes = g_hash_table_new (g_int64_hash, g_int64_equal);
      uint64_t bound, sum = 0;
      for (int run = 0; run < 2; run++)
        generate_items ((GenerateKind) kind, 5, run == 0 ? items : again, N);
      g_assert_true (memcmp (items, again, N * sizeof *items) == 0);
      g_assert_cmpint (tessera_pack_bound (items, N, &bound), ==, TESSERA_OK);
      for (uint32_t i = 0; i < N; i++)
        {
          g_hash_table_add (sizes, &items[i].size_bytes);
          sum += items[i].size_bytes;
        }
      g_assert_cmpuint (g_hash_table_size (sizes), >=, 30);
      g_assert_cmpuint (bound, <, sum / 5);
      g_assert_cmpuint (bound, >, sum / N * 100);
    }
  g_free (items);
  g_free (again);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/pack-parts/skyline", test_skyline);
  g_test_add_func ("/pack-parts/windows", test_windows);
  g_test_add_func ("/pack-parts/finder", test_finder);
  g_test_add_func ("/pack-parts/placed", test_placed);
  g_test_add_func ("/pack-parts/sweep/against-naive", test_against_naive);
  g_test_add_func ("/pack-parts/generated", test_generated);
  return g_test_run ();
}
