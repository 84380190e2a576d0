/*
 * Tests of the rule of the lowest reachable offset around what is fixed: pins, bodies and
 * blocked ranges of made problems. Some are cut from a full rectangle, so that a layout
 * with no hole is known; what is pinned lies where it was cut.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/fit/attempt.h"

#include "tests/fail_alloc.h"

#include <glib.h>
#include <stdlib.h>

enum
{
  MAX_ITEMS = 400,
  MOMENTS = 256,
  HEIGHT = 4096
};

typedef struct
{
  TesseraItem items[MAX_ITEMS];
  uint64_t cut_at[MAX_ITEMS]; /* where each was cut */
  uint32_t n;
} Cut;

typedef struct
{
  uint32_t begin, end;
  uint64_t low, high;
} Piece;

static uint32_t
pick (GRand *random, uint32_t n)
{
  return (uint32_t) g_rand_int_range (random, 0, (int) n);
}

/* Halves pieces at random places, in time or in size, until there are enough. */
static void
cut_rectangle (GRand *random, uint32_t n, Cut *cut)
{
  Piece pieces[MAX_ITEMS] = { { 0, MOMENTS, 0, HEIGHT } };
  cut->n = 1;
  while (cut->n < n)
    {
      Piece *piece = &pieces[pick (random, cut->n)], *other = &pieces[cut->n];
      *other = *piece;
      if (g_rand_boolean (random) && piece->end - piece->begin > 1)
        piece->end = other->begin =
            piece->begin + 1 + pick (random, piece->end - piece->begin - 1);
      else if (piece->high - piece->low > 1)
        piece->high = other->low =
            piece->low + 1 + pick (random, (uint32_t) (piece->high - piece->low - 1));
      else
        continue;
      cut->n++;
    }
  for (uint32_t i = 0; i < cut->n; i++)
    {
      cut->items[i] = (TesseraItem){ .size_bytes = pieces[i].high - pieces[i].low,
                                     .begin = pieces[i].begin,
                                     .end = pieces[i].end };
      cut->cut_at[i] = pieces[i].low;
    }
}

static void
pin (Cut *cut, uint32_t i)
{
  cut->items[i].is_pinned = 1;
  cut->items[i].pinned_bytes = cut->cut_at[i];
}

static TesseraPackProblem *
make_problem (const Cut *cut)
{
  uint32_t members[MAX_ITEMS], conflict[2];
  TesseraPackLimit *limits;
  TesseraPackProblem *problem;
  for (uint32_t i = 0; i < cut->n; i++)
    members[i] = i;
  g_assert_cmpint (tessera_pack_limits_new (cut->items, cut->n, &limits, conflict), ==,
                   TESSERA_OK);
  g_assert_cmpint (
      tessera_pack_problem_new (cut->items, limits, members, cut->n, NULL, &problem), ==,
      TESSERA_OK);
  free (limits);
  return problem;
}

static void
assert_lawful (const TesseraPackProblem *problem,
               const Cut *cut,
               const uint64_t *offsets,
               uint64_t height)
{
  uint64_t top = 0;
  for (uint32_t i = 0; i < cut->n; i++)
    {
      const TesseraPackItem *item = &problem->items[i];
      uint64_t end = offsets[i] + item->size_bytes;
      const TesseraItem *source = &cut->items[item->source];
      top = MAX (top, end);
      if (source->is_pinned)
        g_assert_cmpuint (offsets[i], ==, source->pinned_bytes);
      for (size_t b = 0; b < problem->n_blocked; b++)
        g_assert_true (end <= problem->blocked[b].begin_bytes ||
                       offsets[i] >= problem->blocked[b].end_bytes);
      for (uint32_t k = 0; k < i; k++)
        {
          const TesseraItem *other = &cut->items[problem->items[k].source];
          bool meet = (source->begin < other->end && other->begin < source->end) ||
                      (source->begin2 < other->end && other->begin < source->end2) ||
                      (source->begin < other->end2 && other->begin2 < source->end) ||
                      (source->begin2 < other->end2 && other->begin2 < source->end2) ||
                      (source->in & other->apart) != 0 ||
                      (other->in & source->apart) != 0;
          g_assert_true (!meet || end <= offsets[k] ||
                         offsets[i] >= offsets[k] + other->size_bytes);
          if (source->body != 0 && source->body == other->body)
            g_assert_cmpuint (offsets[i] + other->body_offset_bytes, ==,
                              offsets[k] + source->body_offset_bytes);
        }
    }
  g_assert_cmpuint (height, ==, top);
}

/* Returns: the height. */
static uint64_t
attempt (const TesseraPackProblem *problem, const Cut *cut, TesseraPlacement placement)
{
  const TesseraOrderKey keys[TESSERA_ORDER_MAX_KEYS] = { TESSERA_BY_CONTENTION,
                                                         TESSERA_BY_LIFE,
                                                         TESSERA_BY_AREA };
  const TesseraDeskParts parts = { .has_orders = true, .n_on_shelf = cut->n };
  TesseraPackShared shared = { .best_height_bytes = UINT64_MAX, .reached = UINT32_MAX };
  const TesseraPackWatch watch = { &shared, 0 };
  TesseraDesk desk = { 0 };
  uint64_t height;
  g_assert_cmpint (tessera_desk_init (&desk, problem, &parts), ==, TESSERA_OK);
  tessera_order_items (problem, keys, desk.entries, desk.order);
  g_assert_true (tessera_attempt (&desk, placement, &watch, &height));
  assert_lawful (problem, cut, desk.offsets, height);
  tessera_desk_clear (&desk);
  return height;
}

/* Pins that leave no hole: how high the rule ends, and fits do. */
static void
test_cut (void)
{
  static const uint32_t sizes[] = { 24, 60, 200, 400 };
  enum
  {
    N_RUNS = 60
  };
  for (gsize s = 0; s < G_N_ELEMENTS (sizes); s++)
    {
      double lowest = 0, fits = 0;
      GRand *random = g_rand_new_with_seed ((guint32) s);
      for (int run = 0; run < N_RUNS; run++)
        {
          Cut cut = { .n = 0 };
          cut_rectangle (random, sizes[s], &cut);
          for (int i = 0; i <= run % 4; i++)
            pin (&cut, pick (random, cut.n));
          TesseraPackProblem *problem = make_problem (&cut);
          g_assert_cmpuint (problem->bound_bytes, ==, HEIGHT);
          g_assert_true (tessera_fixed_is_for (problem));
          lowest += (double) attempt (problem, &cut, TESSERA_PLACE_LOWEST) / HEIGHT;
          fits += (double) attempt (problem, &cut, TESSERA_PLACE_FIRST_FIT) / HEIGHT;
          tessera_pack_problem_free (problem);
        }
      g_test_message ("%u pieces, some pinned: %.4f of the bound, first fit %.4f",
                      sizes[s], lowest / N_RUNS, fits / N_RUNS);
      g_assert_cmpfloat (lowest, <, fits);
      g_rand_free (random);
    }
}

/* Of a cut rectangle some lives are doubled, some items pinned elsewhere, of one body or
 * kept apart; and some ranges are not to be had. */
static void
change (GRand *random, Cut *cut)
{
  for (uint32_t i = 0; i < cut->n; i++)
    {
      TesseraItem *item = &cut->items[i];
      if (item->begin > 8 && pick (random, 5) == 0)
        {
          item->end2 = 1 + pick (random, item->begin);
          item->begin2 = pick (random, item->end2);
        }
      if (pick (random, 12) == 0)
        item->in = UINT64_C (1) << pick (random, 3);
      if (pick (random, 12) == 0)
        item->apart = UINT64_C (1) << pick (random, 3);
    }
  uint32_t pinned = pick (random, cut->n);
  cut->items[pinned].is_pinned = 1;
  cut->items[pinned].pinned_bytes = pick (random, HEIGHT);
  for (uint32_t i = 0; i < pick (random, 6); i++)
    {
      uint32_t member = pick (random, cut->n);
      if (cut->items[member].body != 0 || member == pinned)
        continue;
      cut->items[member].body = 1;
      cut->items[member].body_offset_bytes = (uint64_t) i * HEIGHT;
    }
}

static void
block (GRand *random, TesseraPackProblem *problem)
{
  uint64_t at = 2 * HEIGHT + pick (random, HEIGHT); /* pins lie below */
  problem->n_blocked = 1 + pick (random, 3);
  problem->blocked = calloc (problem->n_blocked, sizeof *problem->blocked);
  for (size_t i = 0; i < problem->n_blocked; i++)
    {
      uint64_t end = at + 1 + pick (random, HEIGHT / 8);
      problem->blocked[i] = (TesseraPackRange){ at, end };
      at = end + 1 + pick (random, HEIGHT / 8);
    }
}

static void
test_random (void)
{
  GRand *random = g_rand_new_with_seed (11);
  for (int run = 0; run < 400; run++)
    {
      Cut cut = { .n = 0 };
      cut_rectangle (random, 4 + pick (random, 80), &cut);
      change (random, &cut);
      TesseraPackProblem *problem = make_problem (&cut);
      if (run % 2)
        block (random, problem);
      if (tessera_fixed_is_for (problem))
        attempt (problem, &cut, TESSERA_PLACE_LOWEST);
      tessera_pack_problem_free (problem);
    }
  g_rand_free (random);
}

/* Three wait: the large one does not fit below the pin, the small ones do. */
static void
test_example (void)
{
  Cut cut = { .n = 4,
              .items = { { .size_bytes = 2,
                           .begin = 0,
                           .end = 4,
                           .is_pinned = 1,
                           .pinned_bytes = 3 },
                         { .size_bytes = 4, .begin = 0, .end = 4 },
                         { .size_bytes = 2, .begin = 0, .end = 3 },
                         { .size_bytes = 1, .begin = 1, .end = 4 } } };
  TesseraPackProblem *problem = make_problem (&cut);
  g_assert_cmpuint (attempt (problem, &cut, TESSERA_PLACE_LOWEST), ==, 9);
  tessera_pack_problem_free (problem);
}

static void
test_next (void)
{
  GRand *random = g_rand_new_with_seed (5);
  Cut cut = { .n = 0 };
  TesseraFixed fixed;
  cut_rectangle (random, 60, &cut);
  for (uint32_t i = 0; i < cut.n; i += 5)
    pin (&cut, i);
  TesseraPackProblem *problem = make_problem (&cut);
  g_assert_cmpint (tessera_fixed_init (&fixed, problem), ==, TESSERA_OK);
  for (int run = 0; run < 2000; run++)
    {
      uint32_t begin = pick (random, problem->n_sections);
      uint32_t end = begin + 1 + pick (random, problem->n_sections - begin);
      uint64_t height = pick (random, HEIGHT), lowest = UINT64_MAX;
      for (uint32_t i = 0; i < problem->n_items; i++)
        if (tessera_fixed_has (&fixed, i) && problem->items[i].lives.begin < end &&
            begin < problem->items[i].lives.end && fixed.offsets[i] >= height)
          lowest = MIN (lowest, fixed.offsets[i]);
      size_t next = tessera_fixed_next (&fixed, begin, end, height);
      g_assert_cmpuint (next == fixed.n_ranges ? UINT64_MAX : fixed.ranges[next].offset,
                        ==, lowest);
    }
  tessera_fixed_clear (&fixed);
  tessera_pack_problem_free (problem);
  g_rand_free (random);
}

static void
test_no_memory (void)
{
  GRand *random = g_rand_new_with_seed (3);
  Cut cut = { .n = 0 };
  cut_rectangle (random, 30, &cut);
  pin (&cut, 4);
  TesseraPackProblem *problem = make_problem (&cut);
  for (unsigned nth = 1;; nth++)
    {
      long held = tessera_fail_alloc_held ();
      TesseraLowest lowest = { 0 };
      tessera_fail_alloc_at (nth);
      TesseraStatus status = tessera_lowest_init (&lowest, problem);
      bool failed = tessera_fail_alloc_stop ();
      if (status == TESSERA_OK)
        tessera_lowest_clear (&lowest);
      g_assert_cmpint (tessera_fail_alloc_held (), ==, held);
      g_assert_cmpint (status, ==, failed ? TESSERA_NO_MEMORY : TESSERA_OK);
      if (!failed)
        break;
    }
  tessera_pack_problem_free (problem);
  g_rand_free (random);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/fixed/cut", test_cut);
  g_test_add_func ("/fixed/random", test_random);
  g_test_add_func ("/fixed/example", test_example);
  g_test_add_func ("/fixed/next", test_next);
  g_test_add_func ("/fixed/no-memory", test_no_memory);
  return g_test_run ();
}
