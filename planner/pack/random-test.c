/*
 * Random problems from fixed seeds: whatever the packer answers is judged by code that
 * shares nothing with it (judge.h).
 *
 * Sizes, lives, second lives (steps that come again), zones (streams), pins,
 * sets, bodies. 2,000 problems, 10,000 with TESSERA_TEST_LONG, or what
 * TESSERA_PACK_PROBLEMS says.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/planner/generate.h"
#include "tests/planner/judge.h"

#include <glib.h>
#include <string.h>

#define MOST_ITEMS 40
#define N_MOMENTS 24
#define BUDGET 512 /* units of work: most problems need none */

typedef struct
{
  TesseraItem items[MOST_ITEMS];
  uint32_t n_items;
  gboolean is_held; /* pins, sets or bodies */
} Problem;

static uint32_t
pick (GRand *random, uint32_t n)
{
  return (uint32_t) g_rand_int_range (random, 0, (gint32) n);
}

/* ---- problems ---- */

static uint32_t
later (GRand *random, uint32_t moment, uint32_t at_most)
{
  uint32_t result = moment + pick (random, at_most);
  return MIN (result, (uint32_t) N_MOMENTS);
}

static void
random_lives (GRand *random, TesseraItem *item, gboolean has_second)
{
  item->begin = pick (random, N_MOMENTS - 1);
  item->end = later (random, item->begin + 1, pick (random, 3) ? 5 : N_MOMENTS);
  if (has_second && item->begin > 0 && pick (random, 2))
    {
      item->end2 = 1 + pick (random, item->begin);
      item->begin2 = pick (random, item->end2);
    }
}

/* Pins without regard to others, sets, bodies: some of these can't be had together. */
static void
hold (GRand *random, Problem *problem)
{
  problem->is_held = TRUE;
  for (uint32_t i = 0; i < problem->n_items; i++)
    {
      TesseraItem *item = &problem->items[i];
      switch (pick (random, 8))
        {
        case 0:
          item->is_pinned = 1;
          item->pinned_bytes = pick (random, 200);
          break;
        case 1:
          item->in = UINT64_C (1) << pick (random, 4);
          break;
        case 2:
          item->apart = UINT64_C (1) << pick (random, 4);
          break;
        case 3:
          item->body = 1 + pick (random, 3);
          item->body_offset_bytes = pick (random, 60);
          break;
        default:
          break;
        }
    }
}

static void
random_problem (GRand *random, Problem *problem)
{
  gboolean has_second = pick (random, 2) == 0;
  uint32_t n_zones = pick (random, 3) ? 1 : 3;
  uint32_t most_size = pick (random, 2) ? 8 : 60;
  memset (problem, 0, sizeof *problem);
  problem->n_items =
      1 + pick (random, pick (random, 2) ? JUDGE_MOST_TO_TRY - 1 : MOST_ITEMS);
  for (uint32_t i = 0; i < problem->n_items; i++)
    {
      TesseraItem *item = &problem->items[i];
      item->size_bytes = 1 + pick (random, most_size);
      item->prefer_low = (uint8_t) pick (random, 2);
      item->zone = pick (random, n_zones);
      random_lives (random, item, has_second);
    }
  if (pick (random, 4) == 0)
    hold (random, problem);
}

/* ---- the tests ---- */

static TesseraStatus
pack (const Problem *problem,
      const TesseraPackOptions *options,
      uint64_t *offsets,
      TesseraPacking *packing)
{
  memset (offsets, 0xff, MOST_ITEMS * sizeof *offsets);
  return tessera_pack (problem->items, problem->n_items, options, offsets, packing);
}

/* Whether the two that are named do get into each other's way, or one into its own. */
static void
assert_refused (const Problem *problem, const TesseraPacking *packing)
{
  g_assert_true (problem->is_held);
  for (int i = 0; i < 2; i++)
    g_assert_cmpuint (packing->conflict[i], <, problem->n_items);
  const TesseraItem *a = &problem->items[packing->conflict[0]];
  const TesseraItem *b = &problem->items[packing->conflict[1]];
  g_assert_true ((a->is_pinned && b->is_pinned) || (a->body != 0 && a->body == b->body) ||
                 ((a->is_pinned || a->body != 0) && (b->is_pinned || b->body != 0)));
}

/* No packing is above the simple order. */
static void
compare_with_first_fit (const Problem *problem, const TesseraPacking *packing)
{
  g_assert_cmpuint (packing->height_bytes, <=,
                    judge_first_fit_by_size (problem->items, problem->n_items));
}

/* Few items, no limits, one zone: the lowest height there is. */
static void
compare_with_all (const Problem *problem, const TesseraPacking *packing)
{
  uint64_t best;
  if (problem->n_items > JUDGE_MOST_TO_TRY || problem->is_held)
    return;
  for (uint32_t i = 0; i < problem->n_items; i++)
    if (problem->items[i].zone != problem->items[0].zone)
      return;
  best = judge_lowest (problem->items, problem->n_items);
  g_assert_cmpuint (packing->proven_bound_bytes, <=, best);
  g_assert_cmpuint (packing->height_bytes, ==, best);
}

static uint32_t
number_of_problems (void)
{
  const char *text = g_getenv ("TESSERA_PACK_PROBLEMS");
  if (text != NULL)
    return (uint32_t) g_ascii_strtoull (text, NULL, 10);
  return g_getenv ("TESSERA_TEST_LONG") != NULL ? 10000 : 2000;
}

static void
test_any (void)
{
  const TesseraPackOptions options = { .work_budget = BUDGET };
  uint32_t n_refused = 0, n_held = 0, n_optimal = 0, n_problems = number_of_problems ();
  for (uint32_t seed = 0; seed < n_problems; seed++)
    {
      GRand *random = g_rand_new_with_seed (seed);
      Problem problem;
      uint64_t offsets[MOST_ITEMS], again[MOST_ITEMS];
      TesseraPacking packing;
      random_problem (random, &problem);
      TesseraStatus status = pack (&problem, &options, again, &packing);
      g_assert_cmpint (pack (&problem, &options, offsets, &packing), ==, status);
      n_held += problem.is_held;
      if (status == TESSERA_OK)
        {
          judge_assert_packed (problem.items, problem.n_items, offsets, &packing);
          g_assert_true (memcmp (offsets, again, problem.n_items * sizeof *again) == 0);
          if (!problem.is_held)
            compare_with_first_fit (&problem, &packing);
          compare_with_all (&problem, &packing);
          n_optimal += packing.is_optimal;
        }
      else
        {
          g_assert_cmpint (status, ==, TESSERA_REFUSED);
          assert_refused (&problem, &packing);
          n_refused++;
        }
      g_rand_free (random);
    }
  g_test_message ("%u problems, %u held, %u refused, %u optimal", n_problems, n_held,
                  n_refused, n_optimal);
  g_assert_cmpuint (n_held, >, n_problems / 8);
  g_assert_cmpuint (n_refused, <, n_held);
  g_assert_cmpuint (n_optimal, >, n_problems / 2);
}

typedef struct
{
  int left; /* reports until it says stop, for good */
  int n_news;
} Stopper;

static bool
count_down (void *user, double fraction)
{
  Stopper *stopper = user;
  g_assert_cmpfloat (fraction, <=, 1);
  return stopper->left-- > 0;
}

static void
hear (void *user, const TesseraNews *news)
{
  Stopper *stopper = user;
  stopper->n_news++;
  g_assert_nonnull (news->doing);
  if (news->height_bytes != 0)
    g_assert_cmpuint (news->height_bytes, >=, news->bound_bytes);
}

/* Stopped at any moment: a packing that is one, or TESSERA_CANCELLED. */
static void
test_stopped (void)
{
  uint32_t n_cut = 0, n_cancelled = 0;
  for (uint32_t seed = 0; seed < number_of_problems () / 2; seed++)
    {
      GRand *random = g_rand_new_with_seed (seed + 100000);
      Problem problem;
      uint64_t offsets[MOST_ITEMS];
      TesseraPacking packing;
      random_problem (random, &problem);
      Stopper stopper = { .left = (int) pick (random, pick (random, 2) ? 4 : 40) };
      const TesseraProgress progress = { count_down, &stopper };
      const TesseraListener listener = { hear, &stopper };
      TesseraPackOptions options = { .work_budget = BUDGET,
                                     .progress = &progress,
                                     .keeps_best = pick (random, 4) != 0,
                                     .listener = &listener };
      TesseraStatus status = pack (&problem, &options, offsets, &packing);
      if (status == TESSERA_OK)
        judge_assert_packed (problem.items, problem.n_items, offsets, &packing);
      else if (status == TESSERA_CANCELLED)
        g_assert_false (options.keeps_best);
      else
        g_assert_cmpint (status, ==, TESSERA_REFUSED);
      if (status == TESSERA_OK && packing.is_cut_short)
        g_assert_true (options.keeps_best && stopper.left < 0);
      n_cut += status == TESSERA_OK && packing.is_cut_short;
      n_cancelled += status == TESSERA_CANCELLED;
      g_rand_free (random);
    }
  g_test_message ("%u cut short, %u cancelled", n_cut, n_cancelled);
  g_assert_cmpuint (n_cut, >, number_of_problems () / 40);
  g_assert_cmpuint (n_cancelled, >, number_of_problems () / 100);
}

#define N_WORK 300

/* More work never ends higher. */
static void
test_more_work (void)
{
  guint n_lower = 0;
  for (guint32 seed = 0; seed < 30; seed++)
    {
      GRand *random = g_rand_new_with_seed (seed + 7);
      TesseraPackOptions options = { 0 };
      TesseraItem items[N_WORK] = { 0 };
      uint64_t offsets[N_WORK], first_bytes = 0, last_bytes = UINT64_MAX;
      TesseraPacking packing;
      for (uint32_t i = 0; i < N_WORK; i++)
        {
          items[i].size_bytes = 1 + pick (random, 50);
          random_lives (random, &items[i], FALSE);
          items[i].zone = seed % 3 == 0 ? pick (random, 3) : 0;
        }
      for (uint64_t work = 1; work <= 1 << 17; work = work * 3 + 1)
        {
          options.work_budget = work;
          g_assert_cmpint (tessera_pack (items, N_WORK, &options, offsets, &packing), ==,
                           TESSERA_OK);
          judge_assert_keeps (items, N_WORK, offsets);
          g_assert_cmpuint (packing.height_bytes, <=, last_bytes);
          last_bytes = packing.height_bytes;
          first_bytes = work == 1 ? last_bytes : first_bytes;
        }
      n_lower += last_bytes < first_bytes;
      g_rand_free (random);
    }
  g_assert_cmpuint (n_lower, >, 10);
}

/* So many that the exact search is not for them: rounds differ in re-packing alone. */
static void
test_more_work_of_many (void)
{
  guint n_lower = 0;
  for (uint32_t rank = 0; rank < 4; rank++)
    {
      const GenerateSchedule schedule = { rank, 1 + rank % 2, false, 0.1 };
      g_autoptr (GArray) items = generate_schedule (&schedule);
      g_autofree uint64_t *offsets = g_new (uint64_t, items->len);
      uint64_t last_bytes = UINT64_MAX;
      for (uint64_t work = 1; work <= 1 << 18; work *= 64)
        {
          const TesseraPackOptions options = { .work_budget = work };
          TesseraPacking packing;
          g_assert_cmpint (tessera_pack ((const TesseraItem *) items->data, items->len,
                                         &options, offsets, &packing),
                           ==, TESSERA_OK);
          g_assert_cmpuint (packing.height_bytes, <=, last_bytes);
          n_lower += work > 1 && packing.height_bytes < last_bytes;
          last_bytes = packing.height_bytes;
        }
    }
  g_assert_cmpuint (n_lower, >, 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/pack-random/any", test_any);
  g_test_add_func ("/pack-random/stopped", test_stopped);
  g_test_add_func ("/pack-random/more-work", test_more_work);
  g_test_add_func ("/pack-random/more-work-of-many", test_more_work_of_many);
  return g_test_run ();
}
