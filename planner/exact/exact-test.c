/*
 * Tests of the exact search, against slow oracles that know nothing of its ideas; and of
 * its parts: states, reductions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/exact.h"

#include <glib.h>
#include <string.h>

#include "planner/exact/private.h"
#include "tests/ok.h"

#define MAX_ITEMS 64

typedef struct
{
  TesseraItem items[MAX_ITEMS];
  uint32_t n_items;
} Instance;

static gboolean
alive_at (const TesseraItem *item, uint32_t moment)
{
  return (item->begin <= moment && moment < item->end) ||
         (item->begin2 <= moment && moment < item->end2);
}

static gboolean
meet (const TesseraItem *a, const TesseraItem *b, uint32_t n_moments)
{
  for (uint32_t moment = 0; moment < n_moments; moment++)
    if (alive_at (a, moment) && alive_at (b, moment))
      return TRUE;
  return FALSE;
}

static uint32_t
last_moment (const Instance *instance)
{
  uint32_t last = 0;
  for (uint32_t i = 0; i < instance->n_items; i++)
    last = MAX (last, instance->items[i].end);
  return last;
}

static uint64_t
load_at (const Instance *instance, uint32_t moment)
{
  uint64_t load = 0;
  for (uint32_t i = 0; i < instance->n_items; i++)
    if (alive_at (&instance->items[i], moment))
      load += instance->items[i].size_bytes;
  return load;
}

static uint64_t
bound (const Instance *instance)
{
  uint64_t highest = 0;
  for (uint32_t moment = 0; moment < last_moment (instance); moment++)
    highest = MAX (highest, load_at (instance, moment));
  return highest;
}

static void
assert_fits (const Instance *instance, const uint64_t *offsets, uint64_t capacity)
{
  uint32_t n_moments = last_moment (instance);
  const TesseraItem *items = instance->items;
  for (uint32_t i = 0; i < instance->n_items; i++)
    {
      g_assert_cmpuint (offsets[i] + items[i].size_bytes, <=, capacity);
      for (uint32_t j = 0; j < i; j++)
        g_assert_true (!meet (&items[i], &items[j], n_moments) ||
                       offsets[i] + items[i].size_bytes <= offsets[j] ||
                       offsets[j] + items[j].size_bytes <= offsets[i]);
    }
}

/* Items are added until every moment is full, or nearly: hard for their number. */
static Instance
full_instance (GRand *random, uint32_t n_moments, uint32_t capacity, uint32_t max_items)
{
  Instance instance = { 0 };
  for (uint32_t moment = 0; moment < n_moments; moment++)
    while (load_at (&instance, moment) < capacity && instance.n_items < max_items)
      {
        uint32_t room = capacity - (uint32_t) load_at (&instance, moment);
        uint32_t end =
            moment + 1 + (uint32_t) g_rand_int_range (random, 0, (int) n_moments);
        TesseraItem item = {
          .size_bytes =
              MIN (room, (uint32_t) g_rand_int_range (random, 1, 2 + (int) capacity / 2)),
          .begin = moment,
          .end = MIN (end, n_moments),
        };
        if (moment > 2 && g_rand_int_range (random, 0, 3) == 0)
          {
            item.end2 = (uint32_t) g_rand_int_range (random, 1, (int) moment + 1);
            item.begin2 = (uint32_t) g_rand_int_range (random, 0, (int) item.end2);
          }
        instance.items[instance.n_items++] = item;
      }
  return instance;
}

/* Every offset of every item, one after the other. */
static gboolean
fits_by_trying_all (const Instance *instance,
                    uint64_t capacity,
                    uint64_t *offsets,
                    uint32_t n)
{
  const TesseraItem *items = instance->items;
  uint32_t n_moments = last_moment (instance);
  if (n == instance->n_items)
    return TRUE;
  for (uint64_t at = 0; at + items[n].size_bytes <= capacity; at++)
    {
      gboolean is_free = TRUE;
      for (uint32_t i = 0; i < n && is_free; i++)
        is_free = !meet (&items[i], &items[n], n_moments) ||
                  at + items[n].size_bytes <= offsets[i] ||
                  offsets[i] + items[i].size_bytes <= at;
      offsets[n] = at;
      if (is_free && fits_by_trying_all (instance, capacity, offsets, n + 1))
        return TRUE;
    }
  return FALSE;
}

static TesseraExactResult
search (const Instance *instance, uint64_t capacity, uint64_t budget)
{
  uint64_t offsets[MAX_ITEMS];
  TesseraExactResult result;
  TesseraExactOptions options = { .capacity_bytes = capacity, .work_budget = budget };
  TesseraStatus status = tessera_exact_search (instance->items, instance->n_items,
                                               &options, offsets, &result);
  OK (status);
  if (result.answer == TESSERA_EXACT_FITS)
    assert_fits (instance, offsets, capacity);
  return result;
}

static void
test_against_trying_all (void)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (1);
  uint32_t n_fit = 0, n_impossible = 0;
  for (uint32_t round = 0; round < 6000; round++)
    {
      uint32_t n_moments = (uint32_t) g_rand_int_range (random, 2, 7);
      uint32_t capacity = (uint32_t) g_rand_int_range (random, 3, 10);
      Instance instance = full_instance (random, n_moments, capacity, 8);
      for (uint64_t asked = bound (&instance); asked < bound (&instance) + 3; asked++)
        {
          uint64_t offsets[MAX_ITEMS];
          gboolean fits = fits_by_trying_all (&instance, asked, offsets, 0);
          TesseraExactResult result = search (&instance, asked, 0);
          g_assert_cmpint (result.answer, ==,
                           fits ? TESSERA_EXACT_FITS : TESSERA_EXACT_IMPOSSIBLE);
          n_fit += fits;
          n_impossible += !fits;
        }
      TesseraExactResult below = search (&instance, bound (&instance) - 1, 0);
      g_assert_cmpint (below.answer, ==, TESSERA_EXACT_IMPOSSIBLE);
    }
  g_test_message ("%u fit, %u impossible above the bound", n_fit, n_impossible);
  g_assert_cmpuint (n_fit, >, 100);
  g_assert_cmpuint (n_impossible, >, 50);
}

/* Each of three meets both others, never all at once: the load is that of the larger
 * pair, the height the sum of all. Sizes are multiplied to show that units are found. */
static void
test_proof (void)
{
  const Instance instance = {
    .n_items = 3,
    .items = { { .size_bytes = 3000, .begin = 0, .end = 3 },
               { .size_bytes = 1000, .begin = 3, .end = 4, .begin2 = 0, .end2 = 1 },
               { .size_bytes = 2000, .begin = 3, .end = 4, .begin2 = 2, .end2 = 3 } },
  };
  g_assert_cmpuint (bound (&instance), ==, 5000);
  g_assert_cmpint (search (&instance, 5000, 0).answer, ==, TESSERA_EXACT_IMPOSSIBLE);
  g_assert_cmpint (search (&instance, 5999, 0).answer, ==, TESSERA_EXACT_IMPOSSIBLE);
  g_assert_cmpint (search (&instance, 6000, 0).answer, ==, TESSERA_EXACT_FITS);
  g_assert_cmpint (search (&instance, UINT64_MAX, 0).answer, ==, TESSERA_EXACT_FITS);
}

/* The same of sizes near the end of what can be counted, and with no unit but 1. */
static void
test_huge_sizes (void)
{
  const uint64_t huge = UINT64_C (1) << 60;
  const Instance instance = {
    .n_items = 3,
    .items = { { .size_bytes = 3 * huge + 1, .begin = 0, .end = 3 },
               { .size_bytes = huge + 1, .begin = 3, .end = 4, .begin2 = 0, .end2 = 1 },
               { .size_bytes = 2 * huge, .begin = 3, .end = 4, .begin2 = 2, .end2 = 3 } },
  };
  g_assert_cmpuint (bound (&instance), ==, 5 * huge + 1);
  g_assert_cmpint (search (&instance, 5 * huge + 1, 0).answer, ==,
                   TESSERA_EXACT_IMPOSSIBLE);
  g_assert_cmpint (search (&instance, 6 * huge + 1, 0).answer, ==,
                   TESSERA_EXACT_IMPOSSIBLE);
  g_assert_cmpint (search (&instance, 6 * huge + 2, 0).answer, ==, TESSERA_EXACT_FITS);
}

/* The example of docs/PLANNER.md. */
static void
test_example (void)
{
  const Instance instance = {
    .n_items = 5,
    .items = { { .size_bytes = 2, .begin = 0, .end = 1 },
               { .size_bytes = 2, .begin = 0, .end = 2 },
               { .size_bytes = 1, .begin = 1, .end = 2 },
               { .size_bytes = 1, .begin = 1, .end = 3 },
               { .size_bytes = 3, .begin = 2, .end = 3 } },
  };
  g_assert_cmpuint (bound (&instance), ==, 4);
  g_assert_cmpint (search (&instance, 4, 0).answer, ==, TESSERA_EXACT_FITS);
  g_assert_cmpint (search (&instance, 3, 0).answer, ==, TESSERA_EXACT_IMPOSSIBLE);
}

/* More than a brute force can look at: each is proven impossible at its bound, and a copy
 * that is stretched, mirrored in time and mixed is as well. */
static void
test_mirrored_proofs (void)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (3);
  uint32_t n_impossible = 0;
  for (uint32_t round = 0; round < 200; round++)
    {
      Instance instance = full_instance (random, 8, 20, 32), other = { 0 };
      uint32_t n_moments = last_moment (&instance);
      for (uint32_t i = 0; i < instance.n_items; i++)
        {
          TesseraItem item = instance.items[i];
          gboolean has_second = item.begin2 < item.end2;
          TesseraItem turned = {
            .size_bytes = item.size_bytes * 512,
            .begin = (n_moments - (has_second ? item.end2 : item.end)) * 3,
            .end = (n_moments - (has_second ? item.begin2 : item.begin)) * 3,
            .begin2 = has_second ? (n_moments - item.end) * 3 : 0,
            .end2 = has_second ? (n_moments - item.begin) * 3 : 0,
          };
          other.items[(i + round) % instance.n_items] = turned;
        }
      other.n_items = instance.n_items;
      uint64_t capacity = bound (&instance);
      TesseraExactResult one = search (&instance, capacity, 0);
      TesseraExactResult two = search (&other, capacity * 512, 0);
      if (one.answer != TESSERA_EXACT_UNKNOWN && two.answer != TESSERA_EXACT_UNKNOWN)
        g_assert_cmpint (one.answer, ==, two.answer);
      n_impossible += one.answer == TESSERA_EXACT_IMPOSSIBLE;
    }
  g_test_message ("%u of 200 impossible at the bound", n_impossible);
  g_assert_cmpuint (n_impossible, >, 5);
}

/* An instance whose search takes some thousand decisions. */
static Instance
hard_instance (void)
{
  for (uint32_t seed = 1;; seed++)
    {
      GRand *random = g_rand_new_with_seed (seed);
      Instance instance = full_instance (random, 14, 60, MAX_ITEMS);
      g_rand_free (random);
      if (search (&instance, bound (&instance), 1 << 24).n_decisions > 5000)
        return instance;
    }
}

static void
test_budget (void)
{
  Instance instance = hard_instance ();
  uint64_t capacity = bound (&instance);
  TesseraExactResult small = search (&instance, capacity, 100000);
  g_assert_cmpint (small.answer, ==, TESSERA_EXACT_UNKNOWN);
  g_assert_cmpuint (small.work, >=, 100000);
  g_assert_cmpuint (small.work, <, 200000);
  TesseraExactResult again = search (&instance, capacity, 100000);
  g_assert_cmpmem (&small, sizeof small, &again, sizeof again);
}

static void
test_invalid (void)
{
  const TesseraItem wrong[] = {
    { .size_bytes = 0, .begin = 0, .end = 1 },
    { .size_bytes = 1, .begin = 1, .end = 1 },
    { .size_bytes = 1, .begin = 2, .end = 1 },
    { .size_bytes = 1, .begin = 2, .end = 3, .begin2 = 1, .end2 = 3 },
    { .size_bytes = 1, .begin = 2, .end = 3, .begin2 = 2, .end2 = 1 },
    { .size_bytes = UINT64_MAX, .begin = 0, .end = 1 },
  };
  TesseraExactOptions options = { .capacity_bytes = 1000 };
  TesseraExactResult result;
  uint64_t offset = 77;
  for (size_t k = 0; k < G_N_ELEMENTS (wrong); k++)
    GIVES (TESSERA_INVALID,
           tessera_exact_search (&wrong[k], 1, &options, &offset, &result));
  g_assert_cmpuint (offset, ==, 77);
  OK (tessera_exact_search (NULL, 0, &options, NULL, &result));
  g_assert_cmpint (result.answer, ==, TESSERA_EXACT_FITS);
}

static bool
count_down (void *user, double fraction)
{
  int *n_left = user;
  g_assert_cmpfloat (fraction, >=, 0);
  g_assert_cmpfloat (fraction, <=, 1);
  return (*n_left)-- > 0;
}

static void
test_cancel (void)
{
  Instance instance = hard_instance ();
  g_autoptr (GRand) random = g_rand_new_with_seed (4);
  for (int round = 0; round < 20; round++)
    {
      int n_left = g_rand_int_range (random, 0, 14);
      TesseraProgress progress = { count_down, &n_left };
      TesseraExactOptions options = { .capacity_bytes = bound (&instance),
                                      .work_budget = 1000000,
                                      .progress = &progress };
      uint64_t offsets[MAX_ITEMS];
      TesseraExactResult result;
      TesseraStatus status = tessera_exact_search (instance.items, instance.n_items,
                                                   &options, offsets, &result);
      g_assert_cmpint (status, ==, n_left < 0 ? TESSERA_CANCELLED : TESSERA_OK);
      g_assert_cmpint (result.answer, ==, TESSERA_EXACT_UNKNOWN);
    }
  int n_left = 1000000;
  TesseraProgress progress = { count_down, &n_left };
  TesseraExactOptions options = { .capacity_bytes = bound (&instance),
                                  .work_budget = 1000000,
                                  .progress = &progress };
  uint64_t offsets[MAX_ITEMS];
  TesseraExactResult result;
  OK (tessera_exact_search (instance.items, instance.n_items, &options, offsets,
                            &result));
  g_assert_cmpint (1000000 - n_left, >, 10);
  g_assert_cmpint (1000000 - n_left, <, 100);
}

/* Three of one life, and one that meets them in its second life. */
static TesseraCore *
small_core (void)
{
  TesseraCoreItem items[] = {
    { .size = 1, .begin = 0, .end = 1, .source = 0 },
    { .size = 2, .begin = 0, .end = 1, .source = 1 },
    { .size = 3, .begin = 0, .end = 1, .source = 2 },
    { .size = 2, .begin = 5, .end = 7, .begin2 = 0, .end2 = 3, .source = 3 },
    { .size = 4, .begin = 5, .end = 6, .source = 4 },
  };
  g_assert_cmpuint (tessera_core_cut (items, G_N_ELEMENTS (items)), ==, 2);
  return tessera_core_new (items, G_N_ELEMENTS (items), 2, 10);
}

/* All that changes comes back. */
static void
test_undo (void)
{
  TesseraCore *core = small_core ();
  TesseraExactState state;
  tessera_exact_state_init (&state, core);
  g_assert_true (tessera_exact_state_start (&state));
  size_t start = state.n_trail;
  uint64_t floors[5], level[2], reach[2];
  memcpy (floors, state.floors, sizeof floors);
  memcpy (level, state.level, sizeof level);
  memcpy (reach, state.reach, sizeof reach);
  g_assert_cmpuint (reach[0], ==, 8);
  g_assert_true (tessera_exact_state_is_lowest (&state, 3));
  g_assert_true (tessera_exact_state_put_off (&state, 3));
  g_assert_cmpuint (state.floors[3], ==, 1); /* above the smallest of the others */
  g_assert_true (tessera_exact_state_place (&state, 0));
  g_assert_cmpuint (state.blocked[3], ==, 0);
  g_assert_true (tessera_exact_state_place (&state, 3));
  g_assert_cmpuint (state.floors[4], ==, 3);
  tessera_exact_state_undo (&state, start);
  g_assert_cmpmem (floors, sizeof floors, state.floors, sizeof floors);
  g_assert_cmpmem (level, sizeof level, state.level, sizeof level);
  g_assert_cmpmem (reach, sizeof reach, state.reach, sizeof reach);
  tessera_exact_state_clear (&state);
  tessera_core_free (core);
}

/* One that lives always, one that fits wherever the others are, two parts of two. */
static void
test_reduction (void)
{
  const TesseraItem items[] = {
    { .size_bytes = 40, .begin = 0, .end = 90 },
    { .size_bytes = 30, .begin = 0, .end = 20 },
    { .size_bytes = 30, .begin = 10, .end = 40 },
    { .size_bytes = 30, .begin = 30, .end = 45 },
    { .size_bytes = 40, .begin = 50, .end = 80 },
    { .size_bytes = 10, .begin = 60, .end = 90 },
    { .size_bytes = 30, .begin = 45, .end = 70 },
    { .size_bytes = 30, .begin = 75, .end = 90 },
  };
  TesseraReduction reduction;
  tessera_reduction_init (&reduction, items, G_N_ELEMENTS (items), 10);
  tessera_reduction_run (&reduction, 12, UINT64_MAX);
  g_assert_false (reduction.is_impossible);
  g_assert_cmpuint (reduction.places[0], ==, 0);
  uint32_t n_left = reduction.n_easy;
  for (uint32_t k = 0; k < reduction.n_cores; k++)
    {
      n_left += reduction.cores[k].n_items;
      g_assert_cmpuint (reduction.cores[k].base + reduction.cores[k].capacity, ==, 12);
    }
  for (uint32_t i = 1; i < G_N_ELEMENTS (items); i++)
    n_left += reduction.places[i] != UINT64_MAX;
  g_assert_cmpuint (n_left, ==, G_N_ELEMENTS (items) - 1);
  g_assert_cmpuint (reduction.n_easy, >, 0);
  tessera_reduction_clear (&reduction);

  tessera_reduction_init (&reduction, items, G_N_ELEMENTS (items), 10);
  tessera_reduction_run (&reduction, 11, UINT64_MAX);
  g_assert_true (reduction.is_impossible);
  tessera_reduction_clear (&reduction);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/exact/against-trying-all", test_against_trying_all);
  g_test_add_func ("/exact/proof", test_proof);
  g_test_add_func ("/exact/example", test_example);
  g_test_add_func ("/exact/huge-sizes", test_huge_sizes);
  g_test_add_func ("/exact/mirrored-proofs", test_mirrored_proofs);
  g_test_add_func ("/exact/budget", test_budget);
  g_test_add_func ("/exact/invalid", test_invalid);
  g_test_add_func ("/exact/cancel", test_cancel);
  g_test_add_func ("/exact-parts/undo", test_undo);
  g_test_add_func ("/exact-parts/reduction", test_reduction);
  return g_test_run ();
}
