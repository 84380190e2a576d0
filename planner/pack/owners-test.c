/*
 * Packing for several owners: lives that are wider in the eyes of others.
 *
 * The oracle tries every order: an item lies on top of all before it that it may not
 * share an address with. Some order of any lowest layout, by offset, gives one as low.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/generate.h"
#include "planner/pack.h"
#include "planner/pack/fit/lowest.h"

#include <glib.h>

#define MAX_FEW 7

static gboolean
meet (const guint32 a[2], const guint32 b[2])
{
  return MAX (a[0], b[0]) < MIN (a[1], b[1]);
}

static gboolean
in_conflict (const TesseraItem *a, const TesseraItem *b)
{
  const gboolean is_wide = a->owner != b->owner;
  const guint32 lives[2][2][2] = {
    { { is_wide ? a->wide_begin : a->begin, is_wide ? a->wide_end : a->end },
      { is_wide ? a->wide_begin2 : a->begin2, is_wide ? a->wide_end2 : a->end2 } },
    { { is_wide ? b->wide_begin : b->begin, is_wide ? b->wide_end : b->end },
      { is_wide ? b->wide_begin2 : b->begin2, is_wide ? b->wide_end2 : b->end2 } },
  };
  for (int i = 0; i < 2; i++)
    for (int k = 0; k < 2; k++)
      if (meet (lives[0][i], lives[1][k]))
        return TRUE;
  return FALSE;
}

static guint
pick (GRand *random, guint least, guint most)
{
  return (guint) g_rand_int_range (random, (gint) least, (gint) most + 1);
}

static TesseraItem
random_item (GRand *random, guint n_owners, guint span)
{
  TesseraItem item = { .size_bytes = pick (random, 1, 9),
                       .owner = pick (random, 0, n_owners - 1) };
  item.begin = pick (random, 0, span - 2);
  item.end = pick (random, item.begin + 1, MIN (span - 1, item.begin + 1 + span / 3));
  item.wide_begin = item.begin;
  item.wide_end = pick (random, 0, 1) ? pick (random, item.end, span) : item.end;
  if (item.begin > 2 && pick (random, 0, 5) == 0)
    {
      /* Closed into the next step, and perhaps alive there. */
      item.wide_end2 = pick (random, 1, item.begin - 1);
      if (pick (random, 0, 1))
        item.end2 = pick (random, 1, item.wide_end2);
    }
  return item;
}

static void
check_layout (const TesseraItem *items, guint n, const guint64 *offsets, guint64 height)
{
  for (guint i = 0; i < n; i++)
    {
      g_assert_cmpuint (offsets[i] + items[i].size_bytes, <=, height);
      for (guint k = 0; k < i; k++)
        g_assert_true (!in_conflict (&items[i], &items[k]) ||
                       offsets[i] + items[i].size_bytes <= offsets[k] ||
                       offsets[k] + items[k].size_bytes <= offsets[i]);
    }
}

typedef struct
{
  const TesseraItem *items;
  guint n;
  gboolean conflicts[MAX_FEW][MAX_FEW];
  guint64 tops[MAX_FEW];
  gboolean is_placed[MAX_FEW];
  guint64 best;
} Oracle;

static void
try_all (Oracle *oracle, guint n_placed, guint64 height)
{
  if (height >= oracle->best)
    return;
  if (n_placed == oracle->n)
    oracle->best = height;
  for (guint i = 0; i < oracle->n; i++)
    {
      guint64 floor = 0;
      if (oracle->is_placed[i])
        continue;
      for (guint k = 0; k < oracle->n; k++)
        if (oracle->is_placed[k] && oracle->conflicts[i][k])
          floor = MAX (floor, oracle->tops[k]);
      oracle->is_placed[i] = TRUE;
      oracle->tops[i] = floor + oracle->items[i].size_bytes;
      try_all (oracle, n_placed + 1, MAX (height, oracle->tops[i]));
      oracle->is_placed[i] = FALSE;
    }
}

static guint64
lowest_height (const TesseraItem *items, guint n)
{
  Oracle oracle = { .items = items, .n = n, .best = G_MAXUINT64 };
  for (guint i = 0; i < n; i++)
    for (guint k = 0; k < n; k++)
      oracle.conflicts[i][k] = in_conflict (&items[i], &items[k]);
  try_all (&oracle, 0, 0);
  return oracle.best;
}

/* A few items: the lowest height there is, and never below what is proven. */
static void
test_few (void)
{
  GRand *random = g_rand_new_with_seed (41);
  guint n_above_load = 0, n_proven = 0;
  for (guint round = 0; round < 3000; round++)
    {
      TesseraItem items[MAX_FEW];
      guint64 offsets[MAX_FEW], closed, load, lowest;
      TesseraPacking packing;
      guint n = pick (random, 2, MAX_FEW), n_owners = pick (random, 2, 3);
      for (guint i = 0; i < n; i++)
        items[i] = random_item (random, n_owners, 14);
      lowest = lowest_height (items, n);
      g_assert_cmpint (tessera_pack_bound (items, n, &load), ==, TESSERA_OK);
      g_assert_cmpint (tessera_pack_closed_bound (items, n, &closed), ==, TESSERA_OK);
      g_assert_cmpuint (load, <=, closed);
      g_assert_cmpuint (closed, <=, lowest);
      g_assert_cmpint (tessera_pack (items, n, NULL, offsets, &packing), ==, TESSERA_OK);
      check_layout (items, n, offsets, packing.height_bytes);
      g_assert_cmpuint (packing.height_bytes, ==, lowest);
      g_assert_cmpuint (packing.proven_bound_bytes, <=, lowest);
      n_above_load += lowest > load;
      n_proven += packing.is_optimal && lowest > load;
    }
  g_assert_cmpuint (n_above_load, >, 300);
  g_assert_cmpuint (n_proven, >, n_above_load / 2);
  g_rand_free (random);
}

/* The sum of what each owner takes by itself. */
static guint64
height_apart (const TesseraItem *items, guint n)
{
  TesseraItem *apart = g_new0 (TesseraItem, n);
  guint64 *offsets = g_new (guint64, n);
  TesseraPacking packing;
  for (guint i = 0; i < n; i++)
    apart[i] = (TesseraItem){ .size_bytes = items[i].size_bytes,
                              .begin = items[i].begin,
                              .end = items[i].end,
                              .begin2 = items[i].begin2,
                              .end2 = items[i].end2,
                              .zone = items[i].owner };
  g_assert_cmpint (tessera_pack (apart, n, NULL, offsets, &packing), ==, TESSERA_OK);
  g_free (apart);
  g_free (offsets);
  return packing.height_bytes;
}

/* Some hundred: right, not below what is forced, rarely above what owners take apart
 * from each other (which the planner takes then), and the same for any number of threads.
 */
static void
test_some (void)
{
  GRand *random = g_rand_new_with_seed (42);
  guint n_above = 0;
  for (guint round = 0; round < 40; round++)
    {
      guint n = pick (random, 20, 300), n_owners = pick (random, 2, 6);
      TesseraItem *items = g_new0 (TesseraItem, n);
      guint64 *offsets = g_new (guint64, n), *again = g_new (guint64, n), closed;
      TesseraPackOptions options = { .n_threads = 1, .work_budget = 1 << 14 };
      TesseraPacking packing, other;
      for (guint i = 0; i < n; i++)
        items[i] = random_item (random, n_owners, 4 * n);
      g_assert_cmpint (tessera_pack_closed_bound (items, n, &closed), ==, TESSERA_OK);
      g_assert_cmpint (tessera_pack (items, n, &options, offsets, &packing), ==,
                       TESSERA_OK);
      check_layout (items, n, offsets, packing.height_bytes);
      g_assert_cmpuint (closed, <=, packing.height_bytes);
      g_assert_cmpuint (closed, <=, packing.proven_bound_bytes);
      n_above += packing.height_bytes > height_apart (items, n);
      for (options.n_threads = 2; options.n_threads <= 4; options.n_threads++)
        {
          g_assert_cmpint (tessera_pack (items, n, &options, again, &other), ==,
                           TESSERA_OK);
          for (guint i = 0; i < n; i++)
            g_assert_cmpuint (again[i], ==, offsets[i]);
          g_assert_cmpstr (other.strategy, ==, packing.strategy);
        }
      g_free (items);
      g_free (offsets);
      g_free (again);
    }
  g_assert_cmpuint (n_above, <=, 8);
  g_rand_free (random);
}

/* The height of the order as it is, by the lowest offset: with all in one heap, or, as
 * soon as a floor was found anew, with windows for each owner. *@n_settled: and the
 * floors that were found anew. */
static guint64
place_lowest (const TesseraItem *items,
              guint n,
              gboolean has_windows,
              guint64 *offsets,
              guint64 *n_settled)
{
  TesseraPackShared shared = { .best_height_bytes = UINT64_MAX, .reached = UINT32_MAX };
  const TesseraPackWatch watch = { &shared, 0 };
  guint32 *members = g_new (guint32, n);
  guint64 *placed = g_new (guint64, n), height;
  TesseraPackProblem *problem;
  TesseraLowest lowest = { 0 };
  for (guint i = 0; i < n; i++)
    members[i] = i;
  g_assert_cmpint (tessera_pack_problem_new (items, NULL, members, n, NULL, &problem), ==,
                   TESSERA_OK);
  g_assert_cmpint (tessera_lowest_init (&lowest, problem), ==, TESSERA_OK);
  if (has_windows)
    lowest.max_settled = 0;
  g_assert_cmpint (tessera_lowest_place (&lowest, members, problem->bound_bytes, TRUE,
                                         &watch, placed, &height),
                   ==, TESSERA_LOWEST_DONE);
  g_assert_true (!has_windows || lowest.has_windows);
  *n_settled += lowest.n_settled;
  for (guint i = 0; i < n; i++)
    offsets[problem->items[i].source] = placed[i];
  tessera_lowest_clear (&lowest);
  tessera_pack_problem_free (problem);
  g_free (members);
  g_free (placed);
  return height;
}

/* Windows are another way to find who comes next: layouts are right, and about as high.
 * They are there to spare floors: where one is not raised by what others see of an item,
 * all that live in it have to wait in the heap after all. */
static void
test_windows (void)
{
  GRand *random = g_rand_new_with_seed (7);
  guint64 by_heap = 0, by_windows = 0, settled_by_heap = 0, settled_by_windows = 0;
  for (guint round = 0; round < 200; round++)
    {
      guint n = pick (random, 20, 200), n_owners = pick (random, 2, 6);
      TesseraItem *items = g_new0 (TesseraItem, n);
      guint64 *offsets = g_new (guint64, n), height;
      items[0] = (TesseraItem){ .size_bytes = 1, .end = 2, .wide_end = 2 };
      items[1] = (TesseraItem){ .size_bytes = 1, .end = 2, .wide_end = 2, .owner = 1 };
      for (guint i = 2; i < n; i++)
        items[i] = random_item (random, n_owners, 4 * n);
      by_heap += place_lowest (items, n, FALSE, offsets, &settled_by_heap);
      height = place_lowest (items, n, TRUE, offsets, &settled_by_windows);
      check_layout (items, n, offsets, height);
      by_windows += height;
      g_free (items);
      g_free (offsets);
    }
  g_assert_cmpuint (by_windows, <=, by_heap + by_heap / 50);
  g_assert_cmpuint (3 * settled_by_windows, <, settled_by_heap);
  g_rand_free (random);
}

/* What closed.h tells as its example. */
static void
test_example (void)
{
  const TesseraItem items[] = {
    { .size_bytes = 4, .begin = 0, .end = 1, .wide_begin = 0, .wide_end = 5 },
    { .size_bytes = 4, .begin = 2, .end = 3, .wide_begin = 2, .wide_end = 5 },
    { .size_bytes = 4, .begin = 4, .end = 5, .wide_begin = 4, .wide_end = 5, .owner = 1 },
  };
  guint64 offsets[3], closed, load;
  TesseraPacking packing;
  g_assert_cmpint (tessera_pack_bound (items, 3, &load), ==, TESSERA_OK);
  g_assert_cmpint (tessera_pack_closed_bound (items, 3, &closed), ==, TESSERA_OK);
  g_assert_cmpuint (load, ==, 4);
  g_assert_cmpuint (closed, ==, 8);
  g_assert_cmpint (tessera_pack (items, 3, NULL, offsets, &packing), ==, TESSERA_OK);
  g_assert_cmpuint (packing.height_bytes, ==, 8);
  g_assert_true (packing.is_optimal);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/owners/example", test_example);
  g_test_add_func ("/owners/few", test_few);
  g_test_add_func ("/owners/some", test_some);
  g_test_add_func ("/owners/windows", test_windows);
  return g_test_run ();
}
