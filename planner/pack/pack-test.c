/*
 * Tests of packing. Random problems from fixed seeds: whatever the packer answers is judged
 * by code that shares nothing with it (judge.h). And examples small enough to know the
 * answer, or made to be hard.
 *
 * Sizes, lives, second lives (steps that come again), zones (streams), pins,
 * sets, bodies. 2,000 problems, 10,000 with TESSERA_TEST_LONG, or what
 * TESSERA_PACK_PROBLEMS says; one in fifty of them is large.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/planner/generate.h"
#include "tests/planner/judge.h"
#include "tests/ok.h"

#include <glib.h>
#include <string.h>

#define MOST_ITEMS 400
#define BUDGET 512 /* units of work: most problems need none */

typedef struct
{
  TesseraItem items[MOST_ITEMS];
  uint32_t n_moments;
  uint32_t n_items;
  gboolean is_held; /* pins, sets or bodies */
} Problem;

static uint32_t
pick (GRand *random, uint32_t n)
{
  return (uint32_t) g_rand_int_range (random, 0, (gint32) n);
}

/* ---- problems ---- */

static void
random_lives (GRand *random, TesseraItem *item, uint32_t n_moments, gboolean has_second)
{
  item->begin = pick (random, n_moments - 1);
  uint32_t end = item->begin + 1 + pick (random, pick (random, 3) ? 5 : n_moments);
  item->end = MIN (end, n_moments);
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
  gboolean has_second = pick (random, 2) == 0, is_large = pick (random, 50) == 0;
  uint32_t n_zones = pick (random, 3) ? 1 : 3;
  uint32_t most_size = is_large ? 1 << 30 : pick (random, 2) ? 8 : 60;
  memset (problem, 0, sizeof *problem);
  problem->n_moments = is_large ? 900 : 24;
  problem->n_items = 1 + pick (random, is_large           ? MOST_ITEMS
                                       : pick (random, 2) ? JUDGE_MOST_TO_TRY - 1
                                                          : 40);
  for (uint32_t i = 0; i < problem->n_items; i++)
    {
      TesseraItem *item = &problem->items[i];
      item->size_bytes = 1 + pick (random, most_size);
      item->prefer_low = (uint8_t) pick (random, 2);
      item->zone = pick (random, n_zones);
      random_lives (random, item, problem->n_moments, has_second);
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

/* The bound is the load's, and no packing is above the simple order. */
static void
compare_with_first_fit (const Problem *problem, const TesseraPacking *packing)
{
  uint64_t bound;
  g_assert_cmpuint (packing->bound_bytes, ==,
                    judge_load_bound (problem->items, problem->n_items));
  OK (tessera_pack_bound (problem->items, problem->n_items, &bound));
  g_assert_cmpuint (bound, ==, packing->bound_bytes);
  g_assert_cmpuint (packing->height_bytes, <=,
                    judge_first_fit_by_size (problem->items, problem->n_items));
}

/* Few items, no limits, one zone: the lowest height there is. */
static void
compare_with_all (const Problem *problem, const TesseraPacking *packing)
{
  if (problem->n_items > JUDGE_MOST_TO_TRY || problem->is_held)
    return;
  for (uint32_t i = 0; i < problem->n_items; i++)
    if (problem->items[i].zone != problem->items[0].zone)
      return;
  uint64_t best = judge_lowest (problem->items, problem->n_items);
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
      g_autoptr (GRand) random = g_rand_new_with_seed (seed);
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
  double last; /* fraction reported */
} Stopper;

static bool
count_down (void *user, double fraction)
{
  Stopper *stopper = user;
  g_assert_cmpfloat (fraction, <=, 1);
  g_assert_cmpfloat (fraction, >=, stopper->last);
  stopper->last = fraction;
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

/* Stopped at any moment: a packing that is one, or, at once, TESSERA_CANCELLED. What is not
 * stopped is done. */
static void
test_stopped (void)
{
  uint32_t n_cut = 0, n_cancelled = 0;
  for (uint32_t seed = 0; seed < number_of_problems () / 2; seed++)
    {
      g_autoptr (GRand) random = g_rand_new_with_seed (seed + 100000);
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
        g_assert_true (!options.keeps_best && stopper.left == -1);
      else
        g_assert_cmpint (status, ==, TESSERA_REFUSED);
      if (status == TESSERA_OK && packing.is_cut_short)
        g_assert_true (options.keeps_best && stopper.left < 0);
      else if (status == TESSERA_OK)
        g_assert_cmpfloat (stopper.last, ==, 1);
      n_cut += status == TESSERA_OK && packing.is_cut_short;
      n_cancelled += status == TESSERA_CANCELLED;
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
      g_autoptr (GRand) random = g_rand_new_with_seed (seed + 7);
      TesseraPackOptions options = { 0 };
      TesseraItem items[N_WORK] = { 0 };
      uint64_t offsets[N_WORK], first_bytes = 0, last_bytes = UINT64_MAX;
      TesseraPacking packing;
      for (uint32_t i = 0; i < N_WORK; i++)
        {
          items[i].size_bytes = 1 + pick (random, 50);
          random_lives (random, &items[i], 24, FALSE);
          items[i].zone = seed % 3 == 0 ? pick (random, 3) : 0;
        }
      for (uint64_t work = 1; work <= 1 << 17; work = work * 3 + 1)
        {
          options.work_budget = work;
          packing = judge_pack (items, N_WORK, &options, offsets);
          g_assert_cmpuint (packing.height_bytes, <=, last_bytes);
          last_bytes = packing.height_bytes;
          first_bytes = work == 1 ? last_bytes : first_bytes;
        }
      n_lower += last_bytes < first_bytes;
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
          TesseraPacking packing = judge_pack ((const TesseraItem *) items->data,
                                               items->len, &options, offsets);
          g_assert_cmpuint (packing.height_bytes, <=, last_bytes);
          n_lower += work > 1 && packing.height_bytes < last_bytes;
          last_bytes = packing.height_bytes;
        }
    }
  g_assert_cmpuint (n_lower, >, 0);
}

/* ---- examples ---- */

static void
test_small_ones (void)
{
  uint64_t offsets[4];
  TesseraPacking packing = judge_pack (NULL, 0, NULL, NULL);
  g_assert_cmpuint (packing.height_bytes, ==, 0);
  g_assert_cmpuint (packing.bound_bytes, ==, 0);
  const TesseraItem one = { .size_bytes = 512, .begin = 3, .end = 4 };
  packing = judge_pack (&one, 1, NULL, offsets);
  g_assert_cmpuint (packing.height_bytes, ==, 512);
  g_assert_cmpuint (offsets[0], ==, 0);

  /* Two that never meet share an address in one zone, not in two. */
  TesseraItem two[] = { { .size_bytes = 8, .begin = 0, .end = 5 },
                        { .size_bytes = 6, .begin = 5, .end = 9 } };
  packing = judge_pack (two, 2, NULL, offsets);
  g_assert_cmpuint (packing.height_bytes, ==, 8);
  two[1].zone = 1;
  packing = judge_pack (two, 2, NULL, offsets);
  g_assert_cmpuint (packing.height_bytes, ==, 14);

  /* One that wraps around meets at both ends. */
  TesseraItem wrapped[] = {
    { .size_bytes = 8, .begin = 6, .end = 9, .begin2 = 0, .end2 = 2 },
    { .size_bytes = 4, .begin = 1, .end = 3 },
    { .size_bytes = 4, .begin = 5, .end = 7 },
    { .size_bytes = 8, .begin = 2, .end = 6 },
  };
  packing = judge_pack (wrapped, 4, NULL, offsets);
  g_assert_cmpuint (packing.bound_bytes, ==, 12);
  g_assert_cmpuint (packing.height_bytes, ==, 12);
}

/* More than most fits can be tried for: micro-batches that overlap, whose blocks go in
 * the order in which they came. A fit in order of time finds what the other orders miss. */
static void
test_many (void)
{
  enum
  {
    N_ITEMS = 6000,
    KEPT = 1500
  };
  g_autoptr (GRand) random = g_rand_new_with_seed (33);
  g_autofree TesseraItem *items = g_new0 (TesseraItem, N_ITEMS);
  g_autofree uint64_t *offsets = g_new (uint64_t, N_ITEMS);
  const TesseraPackOptions options = { .work_budget = 1 };
  for (uint32_t i = 0; i < N_ITEMS; i++)
    {
      bool is_kept = i % 8 == 0;
      items[i].size_bytes = 512 * (1 + (uint64_t) g_rand_int_range (random, 0, 40));
      items[i].begin = i;
      items[i].end = i + (is_kept ? KEPT + i % 7 * 150
                                  : 1 + (uint32_t) g_rand_int_range (random, 0, 12));
    }
  TesseraPacking packing = judge_pack (items, N_ITEMS, &options, offsets);
  g_test_message ("%s: %.4f of the bound", packing.strategy,
                  (double) packing.height_bytes / (double) packing.bound_bytes);
  g_assert_cmpuint (packing.height_bytes, <=,
                    packing.bound_bytes + packing.bound_bytes / 10);
  g_assert_nonnull (strstr (packing.strategy, "in order of time"));
}

/* Those that live always lie at the bottom, the preferred ones lowest. */
static void
test_preference (void)
{
  const TesseraItem items[] = {
    { .size_bytes = 1, .begin = 0, .end = 9 },
    { .size_bytes = 2, .begin = 0, .end = 9, .prefer_low = 1 },
    { .size_bytes = 4, .begin = 0, .end = 5 },
    { .size_bytes = 4, .begin = 5, .end = 9 },
  };
  uint64_t offsets[4];
  TesseraPacking packing = judge_pack (items, 4, NULL, offsets);
  g_assert_cmpuint (offsets[1], ==, 0);
  g_assert_cmpuint (offsets[0], ==, 2);
  g_assert_cmpuint (offsets[2], ==, 3);
  g_assert_cmpuint (offsets[3], ==, 3);
  g_assert_cmpuint (packing.height_bytes, ==, 7);
}

static void
test_invalid (void)
{
  const uint64_t huge = UINT64_C (1) << 62;
  const TesseraItem wrong[][3] = {
    { { .size_bytes = 0, .begin = 0, .end = 1 } },
    { { .size_bytes = 1, .begin = 1, .end = 1 } },
    { { .size_bytes = 1, .begin = 2, .end = 1 } },
    { { .size_bytes = 1, .begin = 2, .end = 3, .begin2 = 1, .end2 = 0 } },
    { { .size_bytes = 1, .begin = 2, .end = 3, .begin2 = 1, .end2 = 3 } },
    { { .size_bytes = huge, .begin = 0, .end = 1 },
      { .size_bytes = huge, .begin = 1, .end = 2 } },
    { { .size_bytes = UINT64_MAX, .begin = 0, .end = 1 },
      { .size_bytes = UINT64_MAX, .begin = 1, .end = 2 } },
  };
  uint64_t offsets[2], bound;
  TesseraPacking packing;
  for (gsize i = 0; i < G_N_ELEMENTS (wrong); i++)
    {
      size_t n = wrong[i][1].size_bytes != 0 ? 2 : 1;
      GIVES (TESSERA_INVALID, tessera_pack (wrong[i], n, NULL, offsets, &packing));
      GIVES (TESSERA_INVALID, tessera_pack_bound (wrong[i], n, &bound));
    }
  /* The largest that are possible; heights below 2^60. */
  const TesseraItem large[] = {
    { .size_bytes = huge / 8, .begin = 0, .end = 2 },
    { .size_bytes = huge / 16, .begin = 1, .end = 3 },
    { .size_bytes = huge / 16 - 1, .begin = 2, .end = 4 },
  };
  uint64_t places[3];
  packing = judge_pack (large, 3, NULL, places);
  g_assert_cmpuint (packing.height_bytes, ==, huge / 8 + huge / 16);
}

/* Three that wrap, each of which meets both others at another moment: 5 are alive at
 * once, and no layout is lower than 6. */
static void
test_proven_above_the_bound (void)
{
  const TesseraItem items[] = {
    { .size_bytes = 3 * 512, .begin = 0, .end = 3 },
    { .size_bytes = 1 * 512, .begin = 3, .end = 4, .begin2 = 0, .end2 = 1 },
    { .size_bytes = 2 * 512, .begin = 3, .end = 4, .begin2 = 2, .end2 = 3 },
    { .size_bytes = 7 * 512, .begin = 0, .end = 4, .zone = 1 },
  };
  for (uint32_t n_items = 1; n_items <= G_N_ELEMENTS (items); n_items++)
    {
      uint64_t offsets[4];
      TesseraPacking packing = judge_pack (items, n_items, NULL, offsets);
      g_assert_true (packing.is_optimal);
      if (n_items < 3)
        g_assert_cmpuint (packing.height_bytes, ==, packing.bound_bytes);
      else
        g_assert_cmpuint (packing.height_bytes, ==, packing.bound_bytes + 512);
    }
  TesseraItem huge[] = { items[0], items[1], items[2] };
  for (int i = 0; i < 3; i++)
    huge[i].size_bytes = (huge[i].size_bytes / 512 << 57) + (i == 0);
  uint64_t huge_offsets[3];
  TesseraPacking huge_packing = judge_pack (huge, 3, NULL, huge_offsets);
  g_assert_cmpuint (huge_packing.height_bytes, ==, (UINT64_C (6) << 57) + 1);
  g_assert_true (huge_packing.is_optimal);
  /* Three items that lie apart from each other in all: nothing is searched or proven. */
  TesseraItem apart[] = { items[0], items[1], items[2] };
  apart[0].in = apart[2].apart = 1;
  uint64_t offsets[3];
  TesseraPacking packing = judge_pack (apart, 3, NULL, offsets);
  g_assert_cmpuint (packing.height_bytes, >, packing.bound_bytes);
  g_assert_false (packing.is_optimal);
}

/* Full at every moment: what rules miss is found, and said so; whatever is called optimal
 * is at the bound or proven. */
static void
test_hard_cores (void)
{
  uint32_t n_searched = 0;
  g_autoptr (GRand) random = g_rand_new_with_seed (6);
  for (uint32_t round = 0; round < 150; round++)
    {
      TesseraItem items[64];
      uint64_t offsets[64], load[12] = { 0 };
      uint32_t n_items = 0;
      for (uint32_t moment = 0; moment < 12; moment++)
        while (load[moment] < 40 && n_items < 64)
          {
            uint32_t room = 40 - (uint32_t) load[moment];
            uint32_t end = moment + 1 + (uint32_t) g_rand_int_range (random, 0, 5);
            TesseraItem item = {
              .size_bytes = MIN (room, (uint32_t) g_rand_int_range (random, 1, 16)),
              .begin = moment,
              .end = MIN (end, 12),
            };
            for (uint32_t t = moment; t < item.end; t++)
              load[t] += item.size_bytes;
            items[n_items++] = item;
          }
      TesseraPackOptions options = { .work_budget = 4096 + round % 2 };
      TesseraPacking packing = judge_pack (items, n_items, &options, offsets);
      if (packing.height_bytes == packing.bound_bytes)
        g_assert_true (packing.is_optimal);
      n_searched += g_str_has_prefix (packing.strategy, "exact search");
    }
  g_test_message ("%u of 150 by search", n_searched);
  g_assert_cmpuint (n_searched, >, 20);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/pack/any", test_any);
  g_test_add_func ("/pack/stopped", test_stopped);
  g_test_add_func ("/pack/more-work", test_more_work);
  g_test_add_func ("/pack/more-work-of-many", test_more_work_of_many);
  g_test_add_func ("/pack/small-ones", test_small_ones);
  g_test_add_func ("/pack/many", test_many);
  g_test_add_func ("/pack/preference", test_preference);
  g_test_add_func ("/pack/invalid", test_invalid);
  g_test_add_func ("/pack/proven-above-the-bound", test_proven_above_the_bound);
  g_test_add_func ("/pack/hard-cores", test_hard_cores);
  return g_test_run ();
}
