/*
 * Layouts with edits, improved by what the items come to without: judged by code that
 * shares nothing with the packer.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/plan/build.h"

#include <glib.h>
#include <string.h>

#include "tests/planner/judge.h"

enum
{
  N_ITEMS = 150,
  N_MOMENTS = 120,
  N_ROUNDS = 60
};

static const TesseraPackOptions options = { .n_threads = 1, .work_budget = 1 << 11 };

static uint32_t
pick (GRand *random, uint32_t least, uint32_t most)
{
  return (uint32_t) g_rand_int_range (random, (gint32) least, (gint32) most + 1);
}

static gboolean
meets_pinned (const TesseraItem *items, uint32_t n, const TesseraItem *item)
{
  for (uint32_t i = 0; i < n; i++)
    if (items[i].is_pinned && &items[i] != item && judge_conflict (&items[i], item))
      return TRUE;
  return FALSE;
}

/* Few long ones, many short ones; up to six pins, of items that never meet. */
static void
fill (GRand *random, TesseraItem *items)
{
  memset (items, 0, N_ITEMS * sizeof *items);
  for (uint32_t i = 0; i < N_ITEMS; i++)
    {
      items[i].size_bytes = pick (random, 1, 64);
      items[i].begin = pick (random, 0, N_MOMENTS - 2);
      items[i].end = MIN (N_MOMENTS, items[i].begin + pick (random, 1, i % 5 ? 12 : 60));
    }
  for (uint32_t k = 0; k < 6; k++)
    {
      TesseraItem *item = &items[pick (random, 0, N_ITEMS - 1)];

      item->is_pinned = !meets_pinned (items, N_ITEMS, item);
      item->pinned_bytes = pick (random, 0, 300);
    }
}

/* The last that was told, and the lowest. */
typedef struct
{
  uint64_t last_bytes, lowest_bytes;
} Heard;

static void
hear (void *user, const TesseraNews *news)
{
  Heard *heard = user;

  if (news->height_bytes == 0)
    return;
  heard->last_bytes = news->height_bytes;
  heard->lowest_bytes = MIN (heard->lowest_bytes, news->height_bytes);
}

/* Heights that edits rule out are told to nobody: what is told is there to be had. */
static void
test_heard (void)
{
  GRand *random = g_rand_new_with_seed (13);
  uint32_t n_repaired = 0;

  for (uint32_t round = 0; round < N_ROUNDS; round++)
    {
      TesseraItem items[N_ITEMS];
      uint64_t offsets[N_ITEMS];
      Heard heard = { .lowest_bytes = UINT64_MAX };
      const TesseraListener listener = { hear, &heard };
      TesseraPackOptions reported = options;
      TesseraPacking packing;

      reported.listener = &listener;
      fill (random, items);
      g_assert_cmpint (tessera_pack (items, N_ITEMS, &reported, offsets, &packing), ==,
                       TESSERA_OK);
      g_assert_cmpuint (heard.last_bytes, ==, packing.height_bytes);
      heard.last_bytes = 0;
      g_assert_cmpint (
          tessera_unheld_improve (items, N_ITEMS, &reported, offsets, &packing), ==,
          TESSERA_OK);
      g_assert_cmpuint (heard.lowest_bytes, ==, packing.height_bytes);
      n_repaired += heard.last_bytes != 0;
    }
  g_assert_cmpuint (n_repaired, >, 0);
  g_rand_free (random);
}

/* Never higher, always right, and told as it is. */
static void
test_random (void)
{
  GRand *random = g_rand_new_with_seed (11);
  uint32_t n_lower = 0;

  for (uint32_t round = 0; round < N_ROUNDS; round++)
    {
      TesseraItem items[N_ITEMS];
      uint64_t offsets[N_ITEMS], before_bytes;
      TesseraPacking packing;

      fill (random, items);
      g_assert_cmpint (tessera_pack (items, N_ITEMS, &options, offsets, &packing), ==,
                       TESSERA_OK);
      before_bytes = packing.height_bytes;
      g_assert_cmpint (
          tessera_unheld_improve (items, N_ITEMS, &options, offsets, &packing), ==,
          TESSERA_OK);
      judge_assert_keeps (items, N_ITEMS, offsets);
      g_assert_cmpuint (packing.height_bytes, ==, judge_top (items, N_ITEMS, offsets));
      g_assert_cmpuint (packing.height_bytes, <=, before_bytes);
      g_assert_cmpuint (packing.height_bytes, >=, packing.proven_bound_bytes);
      g_assert_true (packing.is_optimal ==
                     (packing.height_bytes == packing.proven_bound_bytes));
      n_lower += packing.height_bytes < before_bytes;
    }
  g_test_message ("%u of %u lower", n_lower, N_ROUNDS);
  g_assert_cmpuint (n_lower, >, 0);
  g_rand_free (random);
}

static bool
stop (void *user, double fraction)
{
  return false;
}

/* Nobody is held, or it was stopped: nothing is done. While it works it can be stopped.
 */
static void
test_left_alone (void)
{
  const TesseraProgress says_stop = { stop, NULL };
  TesseraPackOptions stopped = options;
  GRand *random = g_rand_new_with_seed (12);
  TesseraItem items[N_ITEMS];
  uint64_t offsets[N_ITEMS] = { 7 };
  TesseraPacking packing = { .height_bytes = UINT64_MAX };

  stopped.progress = &says_stop;
  fill (random, items);
  items[0].is_pinned = 1;
  packing.is_cut_short = true;
  g_assert_cmpint (tessera_unheld_improve (items, N_ITEMS, &stopped, offsets, &packing),
                   ==, TESSERA_OK);
  packing.is_cut_short = false;
  g_assert_cmpint (tessera_unheld_improve (items, N_ITEMS, &stopped, offsets, &packing),
                   ==, TESSERA_CANCELLED);
  for (uint32_t i = 0; i < N_ITEMS; i++)
    items[i].is_pinned = 0;
  g_assert_cmpint (tessera_unheld_improve (items, N_ITEMS, &stopped, offsets, &packing),
                   ==, TESSERA_OK);
  g_assert_cmpuint (packing.height_bytes, ==, UINT64_MAX);
  g_assert_cmpuint (offsets[0], ==, 7);
  g_rand_free (random);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/unheld/random", test_random);
  g_test_add_func ("/unheld/heard", test_heard);
  g_test_add_func ("/unheld/left-alone", test_left_alone);
  return g_test_run ();
}
