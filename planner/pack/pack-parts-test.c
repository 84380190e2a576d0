/*
 * Tests of the structures under the packer, each against a naive model: skyline, room,
 * windows, finder and shelf.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/pack/windows.h"

#include "planner/pack/fit/finder.h"
#include "planner/pack/fit/shelf.h"
#include "planner/pack/fit/tree.h"

#include <glib.h>

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
      g_assert_cmpint (tessera_skyline_init (&skyline, n), ==, TESSERA_OK);
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

static void
test_room (void)
{
  GRand *random = g_rand_new_with_seed (SEED + 1);
  for (int run = 0; run < N_RUNS; run++)
    {
      uint32_t n = 1 + pick (random, 70), begin, end;
      int64_t model[70];
      TesseraRoom room;
      g_assert_cmpint (tessera_room_init (&room, n), ==, TESSERA_OK);
      tessera_room_reset (&room, 500);
      for (uint32_t s = 0; s < n; s++)
        model[s] = 500;
      for (int step = 0; step < 60; step++)
        {
          int64_t bytes = g_rand_int_range (random, -100, 100), lowest = INT64_MAX;
          pick_range (random, n, &begin, &end);
          if (step % 8 == 0)
            tessera_room_add_all (&room, bytes);
          else
            tessera_room_add (&room, begin, end, bytes);
          for (uint32_t s = 0; s < n; s++)
            model[s] += step % 8 == 0 || (begin <= s && s < end) ? bytes : 0;
          pick_range (random, n, &begin, &end);
          for (uint32_t s = begin; s < end; s++)
            lowest = MIN (lowest, model[s]);
          g_assert_cmpint (tessera_room_lowest (&room, begin, end), ==, lowest);
          uint32_t where = tessera_room_where (&room, begin, end);
          g_assert_true (begin <= where && where < end);
          g_assert_cmpint (model[where], ==, lowest);
          g_assert_cmpint (tessera_room_lowest (&room, UINT32_MAX, 0), ==, INT64_MAX);
        }
      tessera_room_clear (&room);
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

/* The window of a section, and the lower one beside it. */
static void
assert_at (const TesseraWindows *windows, const uint64_t *model, uint32_t n, uint32_t at)
{
  uint32_t begin = at, end = at, found_end;
  while (begin > 0 && model[begin - 1] == model[at])
    begin--;
  while (end < n && model[end] == model[at])
    end++;
  g_assert_cmpuint (tessera_windows_at (windows, at, &found_end), ==, model[at]);
  g_assert_cmpuint (found_end, ==, end);
  g_assert_cmpuint (
      tessera_windows_beside (windows, begin), ==,
      MIN (begin > 0 ? model[begin - 1] : UINT64_MAX, end < n ? model[end] : UINT64_MAX));
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
      g_assert_cmpint (tessera_windows_init (&windows, n), ==, TESSERA_OK);
      tessera_windows_flatten (&windows);
      for (int step = 0; step < 60; step++)
        {
          pick_range (random, n, &begin, &end);
          height = pick (random, 12);
          tessera_windows_raise (&windows, begin, end, height);
          for (uint32_t s = begin; s < end; s++)
            model[s] = MAX (model[s], height);
          assert_lowest (&windows, model, n);
          assert_at (&windows, model, n, pick (random, n));
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
  TesseraPackProblem *problem;
  for (uint32_t i = 0; i < n_items; i++)
    {
      members[i] = i;
      items[i].size_bytes = 1 + pick (random, 20);
      pick_range (random, n_moments, &items[i].begin, &items[i].end);
      if (second && items[i].begin > 0 && pick (random, 2))
        pick_range (random, items[i].begin, &items[i].begin2, &items[i].end2);
    }
  g_assert_cmpint (
      tessera_pack_problem_new (items, NULL, members, n_items, offsets, &problem), ==,
      TESSERA_OK);
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
      g_assert_cmpint (tessera_finder_init (&finder, problem), ==, TESSERA_OK);
      for (uint32_t i = 0; i < n; i++)
        ranks[i] = pick (random, 3) ? i * 7 % 83 : TESSERA_NO_RANK;
      tessera_finder_fill (&finder, ranks, n);
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
      if (!tessera_pack_items_meet (item, other))
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

/* The k-th of @items and those after it, the earliest of them first. */
static void
bring_earliest (const TesseraPackProblem *problem, uint32_t *items, uint32_t k)
{
  for (uint32_t i = k + 1; i < problem->n_items; i++)
    if (tessera_pack_first_section (&problem->items[items[i]]) <
        tessera_pack_first_section (&problem->items[items[k]]))
      {
        uint32_t later = items[k];
        items[k] = items[i];
        items[i] = later;
      }
}

/* In any order, or in that of time: then the shelf forgets who is past. */
static void
test_shelf (void)
{
  GRand *random = g_rand_new_with_seed (SEED + 4);
  for (int run = 0; run < 80; run++)
    {
      TesseraPackProblem *problem =
          random_problem (random, 1 + pick (random, 200), 60, run % 2);
      uint32_t n = (uint32_t) problem->n_items;
      gboolean is_by_time = run % 4 >= 2;
      uint64_t offsets[200];
      uint32_t placed[200];
      TesseraShelf shelf;
      g_assert_cmpint (tessera_shelf_init (&shelf, problem, n), ==, TESSERA_OK);
      for (uint32_t i = 0; i < n; i++)
        placed[i] = i;
      for (uint32_t i = 0; i < n; i++)
        {
          uint32_t other = i + pick (random, n - i), item = placed[other];
          placed[other] = placed[i];
          placed[i] = item;
          if (is_by_time)
            {
              bring_earliest (problem, placed, i);
              item = placed[i];
            }
          if (is_by_time && pick (random, 8) == 0)
            tessera_shelf_forget (&shelf,
                                  tessera_pack_first_section (&problem->items[item]));
          uint64_t first = tessera_shelf_first_fit (&shelf, &problem->items[item]);
          g_assert_cmpuint (first, ==, naive_fit (problem, offsets, placed, i, item));
          /* Somewhere higher at times, so that gaps come about. */
          uint64_t from = pick (random, 2) ? 0 : pick (random, 100);
          offsets[item] =
              tessera_shelf_fit_from (&shelf, &problem->items[item], first + from);
          tessera_shelf_put (&shelf, item, offsets[item]);
        }
      tessera_shelf_clear (&shelf);
      tessera_pack_problem_free (problem);
    }
  g_rand_free (random);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/pack-parts/skyline", test_skyline);
  g_test_add_func ("/pack-parts/room", test_room);
  g_test_add_func ("/pack-parts/windows", test_windows);
  g_test_add_func ("/pack-parts/finder", test_finder);
  g_test_add_func ("/pack-parts/shelf", test_shelf);
  return g_test_run ();
}
