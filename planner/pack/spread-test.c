/*
 * Tests of bodies whose items are of several zones, where a layout of before is known.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/generate.h"
#include "planner/pack.h"
#include "tests/fail_alloc.h"

#include <glib.h>
#include <string.h>

enum
{
  N_ZONES = 3,
  N_OF_ZONE = 1600,
  N_ITEMS = N_ZONES * N_OF_ZONE,
  N_OF_BODY = 8,
  SEED = 7
};

typedef struct
{
  TesseraItem items[N_ITEMS];
  uint64_t former[N_ITEMS];
  uint64_t height_bytes; /* of the former layout */
  uint64_t bound_bytes;  /* with bodies */
} Zones;

/* Zones of pipelines, and where all lie while nobody is held. */
static void
make_zones (Zones *zones, uint32_t seed)
{
  const TesseraPackOptions options = { .n_threads = 1, .work_budget = 1 << 16 };
  TesseraPacking packing;
  memset (zones, 0, sizeof *zones);
  for (uint32_t z = 0; z < N_ZONES; z++)
    {
      TesseraItem *items = &zones->items[z * N_OF_ZONE];
      g_assert_cmpint (
          tessera_generate (TESSERA_GENERATE_DRIFT, N_ZONES * seed + z, items, N_OF_ZONE),
          ==, TESSERA_OK);
      for (uint32_t i = 0; i < N_OF_ZONE; i++)
        items[i].zone = z;
    }
  g_assert_cmpint (
      tessera_pack (zones->items, N_ITEMS, &options, zones->former, &packing), ==,
      TESSERA_OK);
  zones->height_bytes = packing.height_bytes;
}

/* The largest of some, as a person would choose. */
static TesseraItem *
draw_item (Zones *zones, GRand *random)
{
  TesseraItem *best = NULL;
  for (int i = 0; i < 16; i++)
    {
      TesseraItem *item = &zones->items[g_rand_int_range (random, 0, N_ITEMS)];
      if (best == NULL || item->size_bytes > best->size_bytes)
        best = item;
    }
  return best;
}

/* One on top of the other. */
static void
draw_body (Zones *zones, GRand *random, uint32_t body)
{
  uint64_t at_bytes = 0;
  for (int i = 0; i < N_OF_BODY; i++)
    {
      TesseraItem *item = draw_item (zones, random);
      if (item->body != 0)
        continue;
      item->body = body;
      item->body_offset_bytes = at_bytes;
      at_bytes += item->size_bytes;
    }
}

static gboolean
meet (const TesseraItem *a, const TesseraItem *b)
{
  return a->zone != b->zone || (a->begin < b->end && b->begin < a->end);
}

static void
assert_laws (const TesseraItem *items, const uint64_t *offsets, uint64_t height_bytes)
{
  uint64_t top_bytes = 0;
  for (uint32_t i = 0; i < N_ITEMS; i++)
    {
      top_bytes = MAX (top_bytes, offsets[i] + items[i].size_bytes);
      for (uint32_t k = 0; k < i; k++)
        {
          g_assert_false (offsets[i] < offsets[k] + items[k].size_bytes &&
                          offsets[k] < offsets[i] + items[i].size_bytes &&
                          meet (&items[i], &items[k]));
          if (items[i].body != 0 && items[i].body == items[k].body)
            g_assert_cmpuint (offsets[i] - items[i].body_offset_bytes, ==,
                              offsets[k] - items[k].body_offset_bytes);
        }
    }
  g_assert_cmpuint (top_bytes, ==, height_bytes);
}

/* Of a preview. */
static TesseraPacking
pack_brief (const Zones *zones, const uint64_t *former)
{
  const TesseraPackOptions options = { .n_threads = 1,
                                       .work_budget = 1 << 13,
                                       .fit_at_most = 4096,
                                       .former = former,
                                       .is_brief = true,
                                       .rough_part = 4096 };
  uint64_t offsets[N_ITEMS], bound_bytes;
  TesseraPacking packing;
  g_assert_cmpint (tessera_pack (zones->items, N_ITEMS, &options, offsets, &packing), ==,
                   TESSERA_OK);
  assert_laws (zones->items, offsets, packing.height_bytes);
  g_assert_cmpint (tessera_pack_bound (zones->items, N_ITEMS, &bound_bytes), ==,
                   TESSERA_OK);
  g_assert_cmpuint (packing.bound_bytes, ==, bound_bytes);
  g_assert_cmpuint (packing.proven_bound_bytes, ==, bound_bytes);
  return packing;
}

/* Nearer to what it was than zones that are packed together, for which there are only
 * fits in order of time where they have so many items. */
static void
test_body (void)
{
  g_autofree Zones *zones = g_new (Zones, 1);
  GRand *random = g_rand_new_with_seed (SEED);
  double sum = 0, sum_together = 0;
  for (uint32_t seed = 1; seed <= 4; seed++)
    {
      make_zones (zones, seed);
      draw_body (zones, random, 1);
      const TesseraPacking packing = pack_brief (zones, zones->former);
      const TesseraPacking together = pack_brief (zones, NULL);
      g_test_message ("%.4f of before, %.4f together",
                      (double) packing.height_bytes / (double) zones->height_bytes,
                      (double) together.height_bytes / (double) zones->height_bytes);
      sum += (double) packing.height_bytes / (double) zones->height_bytes - 1;
      sum_together += (double) together.height_bytes / (double) zones->height_bytes - 1;
    }
  g_assert_cmpfloat (sum, <, sum_together / 4);
  g_rand_free (random);
}

/* Several bodies at once, hints that are wrong, hints that say nothing: all laws hold. */
static void
test_laws (void)
{
  g_autofree Zones *zones = g_new (Zones, 1);
  GRand *random = g_rand_new_with_seed (SEED);
  for (uint32_t seed = 1; seed <= 6; seed++)
    {
      make_zones (zones, seed);
      for (uint32_t body = 1; body <= seed; body++)
        draw_body (zones, random, body);
      if (seed == 2)
        zones->items[0].is_pinned = 1;
      for (uint32_t i = 0; i < N_ITEMS && seed > 3; i++)
        if (g_rand_int_range (random, 0, 4) == 0)
          zones->former[i] = g_rand_boolean (random)
                                 ? UINT64_MAX
                                 : (uint64_t) g_rand_int (random) << (seed == 5 ? 28 : 0);
      pack_brief (zones, zones->former);
      memset (zones->former, 0xff, sizeof zones->former);
      pack_brief (zones, zones->former);
    }
  g_rand_free (random);
}

/* A body torn apart by two pins is refused, and its items are named. */
static void
test_refused (void)
{
  g_autofree Zones *zones = g_new (Zones, 1);
  const TesseraPackOptions options = { .former = zones->former, .is_brief = true };
  uint64_t offsets[N_ITEMS];
  TesseraPacking packing;
  make_zones (zones, 1);
  zones->items[0].body = zones->items[N_ITEMS - 1].body = 1;
  zones->items[0].is_pinned = zones->items[N_ITEMS - 1].is_pinned = 1;
  g_assert_cmpint (tessera_pack (zones->items, N_ITEMS, &options, offsets, &packing), ==,
                   TESSERA_REFUSED);
  g_assert_cmpuint (packing.conflict[0], ==, 0);
  g_assert_cmpuint (packing.conflict[1], ==, N_ITEMS - 1);
}

/* What can't be lower than is wanted is given up, and nothing else. */
static void
test_of_no_use (void)
{
  g_autofree Zones *zones = g_new (Zones, 1);
  TesseraPackOptions options = { .former = zones->former, .is_brief = true };
  uint64_t offsets[N_ITEMS], height_bytes;
  TesseraPacking packing;
  make_zones (zones, 1);
  zones->items[0].is_pinned = 1;
  g_assert_cmpint (tessera_pack (zones->items, N_ITEMS, &options, offsets, &packing), ==,
                   TESSERA_OK);
  height_bytes = packing.height_bytes;
  options.most_bytes = packing.bound_bytes;
  g_assert_cmpint (tessera_pack (zones->items, N_ITEMS, &options, offsets, &packing), ==,
                   TESSERA_REFUSED);
  options.most_bytes = height_bytes + 1;
  g_assert_cmpint (tessera_pack (zones->items, N_ITEMS, &options, offsets, &packing), ==,
                   TESSERA_OK);
  g_assert_cmpuint (packing.height_bytes, ==, height_bytes);
}

static void
test_no_memory (void)
{
  g_autofree Zones *zones = g_new (Zones, 1);
  GRand *random = g_rand_new_with_seed (SEED);
  const TesseraPackOptions options = { .n_threads = 1,
                                       .work_budget = 1,
                                       .former = zones->former,
                                       .is_brief = true,
                                       .rough_part = 64 };
  uint64_t offsets[N_ITEMS];
  unsigned long nth = 1;
  TesseraPacking packing;
  make_zones (zones, 1);
  draw_body (zones, random, 1);
  for (;; nth += 1 + nth / 8)
    {
      long held = tessera_fail_alloc_held ();
      tessera_fail_alloc_at (nth);
      TesseraStatus status =
          tessera_pack (zones->items, N_ITEMS, &options, offsets, &packing);
      bool has_failed = tessera_fail_alloc_stop ();
      g_assert_cmpint (status, ==, has_failed ? TESSERA_NO_MEMORY : TESSERA_OK);
      g_assert_cmpint (tessera_fail_alloc_held (), ==, held);
      if (!has_failed)
        break;
    }
  g_assert_cmpuint (nth, >, 50);
  g_rand_free (random);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/pack-spread/body", test_body);
  g_test_add_func ("/pack-spread/laws", test_laws);
  g_test_add_func ("/pack-spread/refused", test_refused);
  g_test_add_func ("/pack-spread/of-no-use", test_of_no_use);
  g_test_add_func ("/pack-spread/no-memory", test_no_memory);
  return g_test_run ();
}
