/*
 * Tests of the structures under the packer and of its methods, each against a naive model.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/private.h"
#include "tests/planner/generate.h"
#include "tests/ok.h"

#include <string.h>

G_DEFINE_AUTOPTR_CLEANUP_FUNC (TesseraPackProblem, tessera_pack_problem_free)

#define SEED 99

enum
{
  MAX_ITEMS = 150,
  MAX_MOMENTS = 50
};

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

/* Items over [0, n_moments), one in @seconds with two lives (0: none), and the problem they
 * make. */
static TesseraPackProblem *
random_problem (GRand *random, uint32_t n_items, uint32_t n_moments, uint32_t seconds)
{
  g_autofree TesseraItem *items = g_new0 (TesseraItem, n_items);
  g_autofree uint32_t *members = g_new (uint32_t, n_items);
  g_autofree uint64_t *offsets = g_new (uint64_t, n_items);
  for (uint32_t i = 0; i < n_items; i++)
    {
      members[i] = i;
      items[i].size_bytes = 1 + pick (random, 20);
      pick_range (random, n_moments, &items[i].begin, &items[i].end);
      if (seconds > 0 && items[i].begin > 0 && pick (random, seconds) == 0)
        pick_range (random, items[i].begin, &items[i].begin2, &items[i].end2);
    }
  TesseraPackProblem *problem =
      tessera_pack_problem_new (items, members, n_items, offsets);
  return problem;
}

/* The rule as it is told, over an array of heights by section: of the first longest run of
 * the lowest height, whoever of those that wait lives inside it and comes first in
 * @order; where nobody does, the run is lifted to its lower neighbour. */
static uint32_t
naive_next (const TesseraPackProblem *problem,
            const uint32_t *order,
            const gboolean *waits,
            uint64_t *heights)
{
  const uint32_t n = problem->n_sections;
  for (;;)
    {
      uint32_t begin = 0, end;
      for (uint32_t s = 1; s < n; s++)
        if (heights[s] < heights[begin])
          begin = s;
      for (end = begin; end < n && heights[end] == heights[begin];)
        end++;
      for (uint32_t rank = 0; rank < problem->n_items; rank++)
        if (waits[order[rank]] && problem->items[order[rank]].lives.begin >= begin &&
            problem->items[order[rank]].lives.end <= end)
          return order[rank];
      const uint64_t left = begin > 0 ? heights[begin - 1] : UINT64_MAX;
      const uint64_t right = end < n ? heights[end] : UINT64_MAX;
      for (uint32_t s = begin; s < end; s++)
        heights[s] = MIN (left, right);
    }
}

static void
raise_heights (uint64_t *heights, uint32_t begin, uint32_t end, uint64_t top)
{
  for (uint32_t s = begin; s < end; s++)
    heights[s] = MAX (heights[s], top);
}

static void
shuffle (GRand *random, uint32_t *order, uint32_t n)
{
  for (uint32_t i = 0; i < n; i++)
    {
      uint32_t other = pick (random, i + 1);
      order[i] = order[other];
      order[other] = i;
    }
}

/* Each item lies where the rule says, around those that come first. */
static void
assert_lowest (const TesseraPackProblem *problem,
               const uint32_t *order,
               const uint64_t *offsets,
               uint64_t height)
{
  const uint32_t n = (uint32_t) problem->n_items;
  uint64_t heights[MAX_MOMENTS] = { 0 }, top = 0;
  gboolean waits[MAX_ITEMS];
  uint32_t n_waiting = 0;
  for (uint32_t i = 0; i < n; i++)
    {
      const TesseraPackLives *lives = &problem->items[i].lives;
      const uint64_t its_top = offsets[i] + problem->items[i].size_bytes;
      waits[i] = !tessera_pack_is_first (problem, i);
      n_waiting += waits[i];
      if (waits[i])
        continue;
      raise_heights (heights, lives->begin, lives->end, its_top);
      raise_heights (heights, lives->begin2, lives->end2, its_top);
    }
  for (; n_waiting > 0; n_waiting--)
    {
      const uint32_t item = naive_next (problem, order, waits, heights);
      const TesseraPackItem *it = &problem->items[item];
      const uint64_t its_top = heights[it->lives.begin] + it->size_bytes;
      g_assert_cmpuint (offsets[item], ==, heights[it->lives.begin]);
      waits[item] = FALSE;
      raise_heights (heights, it->lives.begin, it->lives.end, its_top);
      top = MAX (top, its_top);
    }
  g_assert_cmpuint (height, ==, top);
}

static void
test_lowest (void)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (SEED + 3);
  uint32_t n_first = 0;
  for (int run = 0; run < 300; run++)
    {
      g_autoptr (TesseraPackProblem) problem = random_problem (
          random, 1 + pick (random, 80), MAX_MOMENTS, run % 3 == 0 ? 10 : 0);
      uint32_t n = (uint32_t) problem->n_items, order[MAX_ITEMS];
      TesseraLowest *lowest = tessera_lowest_new (problem);
      for (int again = 0; lowest != NULL && again < 2; again++)
        {
          uint64_t offsets[MAX_ITEMS] = { 0 }, height = 0;
          shuffle (random, order, n);
          for (uint32_t i = 0; i < n; i++)
            if (tessera_pack_is_first (problem, i))
              {
                offsets[i] = pick (random, 100);
                n_first++;
              }
          g_assert_true (
              tessera_lowest_place (lowest, order, UINT64_MAX, offsets, &height));
          assert_lowest (problem, order, offsets, height);
        }
      tessera_lowest_free (lowest);
    }
  g_assert_cmpuint (n_first, >, 50);
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
  g_autoptr (GRand) random = g_rand_new_with_seed (SEED + 4);
  for (int run = 0; run < 80; run++)
    {
      g_autoptr (TesseraPackProblem) problem =
          random_problem (random, 1 + pick (random, 200), 60, run % 2 * 2);
      uint32_t n = (uint32_t) problem->n_items;
      uint64_t offsets[200];
      uint32_t order[200];
      TesseraPlaced placed;
      tessera_placed_init (&placed, problem, n);
      shuffle (random, order, n);
      for (uint32_t i = 0; i < n; i++)
        {
          const uint32_t item = order[i];
          uint64_t first = tessera_placed_fit (&placed, item, 0);
          g_assert_cmpuint (first, ==, naive_fit (problem, offsets, order, i, item));
          /* Somewhere higher at times, so that gaps come about. */
          uint64_t from = pick (random, 2) ? 0 : pick (random, 100);
          offsets[item] = tessera_placed_fit (&placed, item, first + from);
          tessera_placed_put (&placed, item, offsets[item]);
        }
      tessera_placed_clear (&placed);
    }
}

/* ---- sweeps ---- */

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
  return tessera_pack_problem_new (items, members, n_items, NULL);
}

/* Where an item fits among the @n_placed first of @order, byte by byte. */
static uint64_t
naive_sweep_fit (const TesseraPackProblem *problem,
                 const uint32_t *order,
                 uint32_t n_placed,
                 const uint64_t *offsets,
                 gboolean is_best)
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
          (is_best || best == UINT64_MAX))
        {
          best = at;
          best_gap = gap;
        }
    }
  return best != UINT64_MAX ? best : top;
}

static gboolean
lives_in (const TesseraPackLives *lives, uint32_t section)
{
  return (lives->begin <= section && section < lives->end) ||
         (lives->begin2 <= section && section < lives->end2);
}

/* Load and contention of each item: the highest of the sections in which it lives. */
static void
test_measures (void)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (SEED + 5);
  for (int run = 0; run < 60; run++)
    {
      g_autoptr (TesseraPackProblem) problem =
          sweep_problem (random, 1 + pick (random, 60), run % 2);
      uint64_t loads[MAX_ITEMS] = { 0 }, n_alive[MAX_ITEMS] = { 0 };
      for (uint32_t i = 0; i < problem->n_items; i++)
        for (uint32_t section = 0; section < problem->n_sections; section++)
          if (lives_in (&problem->items[i].lives, section))
            {
              loads[section] += problem->items[i].size_bytes;
              n_alive[section]++;
            }
      for (uint32_t i = 0; i < problem->n_items; i++)
        {
          uint64_t load = 0, most = 0;
          for (uint32_t section = 0; section < problem->n_sections; section++)
            if (lives_in (&problem->items[i].lives, section))
              {
                load = MAX (load, loads[section]);
                most = MAX (most, n_alive[section]);
              }
          g_assert_cmpuint (problem->items[i].load_bytes, ==, load);
          g_assert_cmpuint (problem->items[i].contention, ==, most);
        }
    }
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
  g_autoptr (GRand) random = g_rand_new_with_seed (SEED + 1);
  for (int run = 0; run < 250; run++)
    {
      uint32_t n = 1 + pick (random, MAX_ITEMS - 1), ends[TESSERA_RULE_N_CLASSES];
      g_autoptr (TesseraPackProblem) problem = sweep_problem (random, n, run % 3 == 0);
      TesseraWorkspace workspace;
      tessera_workspace_init (&workspace, problem);
      workspace.sweep = tessera_sweep_new (problem);
      for (int k = 0; k < 12; k++) /* what comes first is kept from rule to rule */
        {
          uint64_t height, top = 0, offsets[MAX_ITEMS];
          const TesseraRule rule = { .longest_short_events =
                                         k % 3 ? pick (random, 60) : 0,
                                     .is_backward = pick (random, 2),
                                     .is_best_fit = pick (random, 2) };
          g_assert_true (
              tessera_attempt_sweep (&workspace, &rule, UINT64_MAX, UINT64_MAX, &height));
          tessera_rule_order (&rule, workspace.sweep, workspace.order, ends);
          assert_order (problem, &rule, workspace.order, ends);
          for (uint32_t i = 0; i < n; i++)
            {
              uint32_t item = workspace.order[i];
              offsets[item] = naive_sweep_fit (problem, workspace.order, i, offsets,
                                               i >= ends[0] && rule.is_best_fit);
              g_assert_cmpuint (workspace.offsets[item], ==, offsets[item]);
              top = MAX (top, offsets[item] + problem->items[item].size_bytes);
            }
          g_assert_cmpuint (height, ==, top);
        }
      tessera_workspace_clear (&workspace);
    }
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
      OK (tessera_pack_bound (items, N, &bound));
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

/* ---- ejection ---- */

/* All on top of each other: as bad as it gets. */
static uint64_t
stack (const TesseraPackProblem *problem, uint64_t *offsets)
{
  uint64_t height = 0;
  for (size_t i = 0; i < problem->n_items; i++)
    {
      offsets[i] = height;
      height += problem->items[i].size_bytes;
    }
  return height;
}

static void
assert_apart (const TesseraPackProblem *problem, const uint64_t *offsets, uint64_t height)
{
  const TesseraPackItem *items = problem->items;
  g_assert_cmpuint (tessera_pack_height (problem, offsets), ==, height);
  for (uint32_t i = 0; i < problem->n_items; i++)
    for (uint32_t k = 0; k < i; k++)
      g_assert_true (!tessera_pack_meet (problem, i, k) ||
                     offsets[i] + items[i].size_bytes <= offsets[k] ||
                     offsets[k] + items[k].size_bytes <= offsets[i]);
}

/* From the worst layout there is: valid, never higher, and most of the way to the bound;
 * the same again; with nothing to spend nothing happens. */
static void
test_ejection (void)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (SEED + 7);
  double above = 0;
  for (int run = 0; run < 120; run++)
    {
      g_autoptr (TesseraPackProblem) problem = random_problem (
          random, 2 + pick (random, MAX_ITEMS - 2), MAX_MOMENTS, run % 2 == 0 ? 0 : 5);
      uint64_t once[MAX_ITEMS], offsets[MAX_ITEMS];
      const uint64_t stacked = stack (problem, offsets);
      uint64_t height = stacked;
      if (stacked > problem->bound_bytes)
        {
          g_assert_false (tessera_eject (problem, 0, NULL, offsets, &height));
          g_assert_cmpuint (height, ==, stacked);
          g_assert_true (tessera_eject (problem, 1 << 18, NULL, offsets, &height));
          memcpy (once, offsets, problem->n_items * sizeof *once);
          assert_apart (problem, offsets, height);
          height = stack (problem, offsets);
          g_assert_true (tessera_eject (problem, 1 << 18, NULL, offsets, &height));
          g_assert_true (memcmp (once, offsets, problem->n_items * sizeof *once) == 0);
          above += (double) height / (double) problem->bound_bytes - 1;
        }
    }
  g_assert_cmpfloat (above / 120, <, 0.03);
}

static bool
stop_soon (void *user, double fraction)
{
  int *left = user;
  (void) fraction;
  return --*left >= 0;
}

/* Stopped at any report, it ends at once, with a layout that is valid, and no higher than
 * with fewer reports. */
static void
test_ejection_stopped (void)
{
  enum
  {
    N = 600
  };
  g_autofree TesseraItem *items = g_new0 (TesseraItem, N);
  g_autofree uint64_t *offsets = g_new (uint64_t, N);
  g_autofree uint32_t *members = g_new (uint32_t, N);
  uint64_t lowest = UINT64_MAX;
  int n_stopped = 0;
  generate_items (GENERATE_EXPERTS, 3, items, N);
  for (uint32_t i = 0; i < N; i++)
    members[i] = i;
  g_autoptr (TesseraPackProblem) problem =
      tessera_pack_problem_new (items, members, N, NULL);
  for (int n_reports = 0; n_reports < 60; n_reports += 3)
    {
      int left = n_reports;
      const TesseraProgress progress = { stop_soon, &left };
      uint64_t height = stack (problem, offsets);
      tessera_eject (problem, 1 << 22, &progress, offsets, &height);
      assert_apart (problem, offsets, height);
      g_assert_cmpint (left, >=, -1); /* it does not ask again */
      g_assert_cmpuint (height, <=, lowest);
      lowest = height;
      n_stopped += left < 0;
    }
  g_assert_cmpint (n_stopped, >, 5);
}

/* The example of eject.c: one block in the way of another. */
static void
test_ejection_example (void)
{
  static const TesseraItem items[] = {
    { .size_bytes = 4, .begin = 0, .end = 10 }, /* below the hole */
    { .size_bytes = 2, .begin = 1, .end = 4 },  /* frees its lower half */
    { .size_bytes = 1, .begin = 3, .end = 6 },  /* lies in the middle of it */
    { .size_bytes = 3, .begin = 5, .end = 10 },
  };
  static const uint32_t members[] = { 0, 1, 2, 3 };
  static const uint64_t places[] = { 0, 4, 6, 7 };
  g_autoptr (TesseraPackProblem) problem =
      tessera_pack_problem_new (items, members, G_N_ELEMENTS (items), NULL);
  uint64_t offsets[G_N_ELEMENTS (items)], height = 10;
  for (uint32_t i = 0; i < G_N_ELEMENTS (items); i++)
    offsets[i] = places[problem->items[i].source];
  g_assert_cmpuint (problem->bound_bytes, ==, 8);
  g_assert_true (tessera_eject (problem, 10000, NULL, offsets, &height));
  assert_apart (problem, offsets, 8);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/pack-parts/measures", test_measures);
  g_test_add_func ("/pack-parts/lowest", test_lowest);
  g_test_add_func ("/pack-parts/placed", test_placed);
  g_test_add_func ("/pack-parts/sweep/against-naive", test_against_naive);
  g_test_add_func ("/pack-parts/ejection/random", test_ejection);
  g_test_add_func ("/pack-parts/ejection/stopped", test_ejection_stopped);
  g_test_add_func ("/pack-parts/ejection/example", test_ejection_example);
  g_test_add_func ("/pack-parts/generated", test_generated);
  return g_test_run ();
}
