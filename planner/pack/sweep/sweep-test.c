/*
 * Tests of sweeps, against slow models.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/generate.h"
#include "planner/pack/fit/attempt.h"

#include <glib.h>
#include <string.h>

enum
{
  SEED = 47,
  MAX_ITEMS = 150
};

static uint32_t
pick (GRand *random, uint32_t n)
{
  return (uint32_t) g_rand_int_range (random, 0, (int) n);
}

static TesseraPackProblem *
random_problem (GRand *random, uint32_t n_items, gboolean has_second)
{
  enum
  {
    N_MOMENTS = 80
  };
  TesseraItem items[MAX_ITEMS] = { 0 };
  uint32_t members[MAX_ITEMS];
  TesseraPackProblem *problem;
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
  g_assert_cmpint (
      tessera_pack_problem_new (items, NULL, members, n_items, NULL, &problem), ==,
      TESSERA_OK);
  return problem;
}

/* Where an item fits among the @n_placed first of @order, byte by byte. */
static uint64_t
naive_fit (const TesseraPackProblem *problem,
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
      TesseraPackProblem *problem = random_problem (random, n, run % 3 == 0);
      TesseraTimes times;
      TesseraDesk desk = { 0 };
      TesseraPackShared shared = { .best_height_bytes = UINT64_MAX,
                                   .reached = UINT32_MAX };
      const TesseraPackWatch watch = { &shared, 0 };
      g_assert_cmpint (tessera_times_init (&times, problem), ==, TESSERA_OK);
      const TesseraDeskParts parts = { .n_on_shelf = n, .times = &times };
      g_assert_cmpint (tessera_desk_init (&desk, problem, &parts), ==, TESSERA_OK);
      for (int k = 0; k < 12; k++) /* what comes first is kept from rule to rule */
        {
          uint64_t height, top = 0, offsets[MAX_ITEMS];
          TesseraRule rule = tessera_rule_nth (60, pick (random, TESSERA_N_RULES));
          if (k % 2 == 0)
            rule.longest_short_events = pick (random, 60);
          g_assert_true (
              tessera_attempt_sweep (&desk, &rule, UINT64_MAX, &watch, &height));
          tessera_rule_order (&rule, &times, desk.order, ends);
          assert_order (problem, &rule, desk.order, ends);
          for (uint32_t i = 0; i < n; i++)
            {
              uint32_t item = desk.order[i];
              offsets[item] =
                  naive_fit (problem, desk.order, i, offsets,
                             i < ends[0] ? TESSERA_SWEEP_FIRST_FIT : rule.fit);
              g_assert_cmpuint (desk.offsets[item], ==, offsets[item]);
              top = MAX (top, offsets[item] + problem->items[item].size_bytes);
            }
          g_assert_cmpuint (height, ==, top);
        }
      tessera_desk_clear (&desk);
      tessera_times_clear (&times);
      tessera_pack_problem_free (problem);
    }
  g_rand_free (random);
}

/* More ranges ahead than an item keeps in mind: it goes around all of them all the same,
 * and what it may spend on looking is all it spends. */
static void
test_much_ahead (void)
{
  enum
  {
    N = 9000
  };
  TesseraItem *items = g_new0 (TesseraItem, N + 1);
  uint32_t *members = g_new (uint32_t, N + 1);
  uint64_t *offsets = g_new0 (uint64_t, N + 1);
  TesseraPackProblem *problem;
  TesseraTimes times;
  TesseraSweep sweep = { 0 };
  TesseraPackShared shared = { .best_height_bytes = UINT64_MAX, .reached = UINT32_MAX };
  const TesseraPackWatch watch = { &shared, 0 };
  uint64_t height = 0;
  uint32_t long_one = 0;
  for (uint32_t i = 0; i <= N; i++)
    {
      members[i] = i;
      items[i] = (TesseraItem){ .size_bytes = 10, .begin = 2 * i + 2, .end = 2 * i + 3 };
    }
  items[N].begin = 0;
  items[N].end = 2 * N + 2;
  items[N].size_bytes = 9;
  g_assert_cmpint (tessera_pack_problem_new (items, NULL, members, N + 1, NULL, &problem),
                   ==, TESSERA_OK);
  g_assert_cmpint (tessera_times_init (&times, problem), ==, TESSERA_OK);
  g_assert_cmpint (tessera_sweep_init (&sweep, &times), ==, TESSERA_OK);
  for (int spends = 0; spends < 2; spends++)
    {
      /* The first of the others is born in the same section: not ahead. */
      tessera_sweep_begin (&sweep, false, spends ? N - 1 : N - 2);
      for (uint32_t i = 0; i <= N; i++)
        {
          uint32_t source = problem->items[i].source;
          if (source == N)
            long_one = i;
          else
            tessera_sweep_note (&sweep, i);
          offsets[i] = 19 * (uint64_t) source; /* 9 bytes between any two */
        }
      g_assert_true (tessera_sweep_class (&sweep, &long_one, 1, TESSERA_SWEEP_FIRST_FIT,
                                          &watch, offsets, &height) == (spends == 1));
    }
  for (uint32_t i = 0; i <= N; i++)
    if (i != long_one)
      g_assert_true (offsets[i] + 10 <= offsets[long_one] ||
                     offsets[long_one] + 9 <= offsets[i]);
  g_assert_cmpuint (height, ==, offsets[long_one] + 9);
  g_assert_cmpuint (height, <=, 19 * (uint64_t) N);
  tessera_sweep_clear (&sweep);
  tessera_times_clear (&times);
  tessera_pack_problem_free (problem);
  g_free (items);
  g_free (members);
  g_free (offsets);
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
  for (int kind = 0; kind < TESSERA_N_GENERATE_KINDS; kind++)
    {
      g_autoptr (GHashTable) sizes = g_hash_table_new (g_int64_hash, g_int64_equal);
      uint64_t bound, sum = 0;
      for (int run = 0; run < 2; run++)
        g_assert_cmpint (
            tessera_generate ((TesseraGenerateKind) kind, 5, run == 0 ? items : again, N),
            ==, TESSERA_OK);
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
  g_test_add_func ("/sweep/against-naive", test_against_naive);
  g_test_add_func ("/sweep/much-ahead", test_much_ahead);
  g_test_add_func ("/sweep/generated", test_generated);
  return g_test_run ();
}
