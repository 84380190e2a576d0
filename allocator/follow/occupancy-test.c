/*
 * Tests of the occupancy map against a watcher that keeps books by the byte.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/follow/occupancy.h"

#include <glib.h>

#include "tests/allocator/host.h"
#include "tests/allocator/oracle.h"

#define SEED 20261122
#define MIB ((uint64_t) 1 << 20)
#define POOL_BYTES (24 * MIB)

typedef struct
{
  uint64_t offset_bytes;
  guint id;
  bool is_pending;
} Held;

typedef struct
{
  GRand *rand;
  TesseraOccupancy *map;
  Oracle *oracle;
  GArray *held;
  uint64_t addr;
  uint32_t n_streams, n_pools;
  guint n_verdicts[3];
  guint n_differences; /* map and watcher do not agree */
  guint n_corrupt;     /* blocks that lost their content */
} Run;

static uint64_t
pick (Run *run, uint64_t below)
{
  return (uint64_t) g_rand_int_range (run->rand, 0, (gint32) below);
}

/* Half of them where some block began: else pieces would hardly ever fit. */
static uint64_t
pick_offset (Run *run)
{
  if (run->held->len > 0 && g_rand_boolean (run->rand))
    return g_array_index (run->held, Held, pick (run, run->held->len)).offset_bytes;
  return pick (run, POOL_BYTES / 512) * 512;
}

static void
request (Run *run)
{
  const uint64_t limits[] = { 8, 200, 2048, 2100, 9000 };
  uint64_t block_bytes =
      512 * (1 + pick (run, limits[pick (run, G_N_ELEMENTS (limits))]));
  const OracleRequest asked = { .block_bytes = block_bytes,
                                .stream = (uint32_t) pick (run, run->n_streams),
                                .pool = (uint32_t) pick (run, run->n_pools) };
  const TesseraOccupancyRequest same = { .size_bytes = block_bytes - 100,
                                         .block_bytes = block_bytes,
                                         .stream = asked.stream,
                                         .pool = asked.pool };

  oracle_request (run->oracle, asked);
  g_assert_cmpint (tessera_occupancy_see_request (run->map, &same), ==, TESSERA_OK);
  for (guint i = 0; i < 6; i++)
    {
      uint64_t offset = pick_offset (run);
      uint64_t end = 0;
      OracleVerdict expected = oracle_ask (run->oracle, run->addr + offset, asked);
      TesseraOccupancyVerdict verdict =
          tessera_occupancy_take (run->map, offset, &same, &end);
      const Held held = { .offset_bytes = offset };

      /* Of a range with both, any of the two verdicts is right. */
      run->n_verdicts[verdict]++;
      run->n_differences +=
          (verdict == TESSERA_OCCUPANCY_GRANTED) != (expected == ORACLE_GRANT);
      if (verdict == TESSERA_OCCUPANCY_GRANTED)
        {
          g_array_append_val (run->held, held);
          g_array_index (run->held, Held, run->held->len - 1).id =
              oracle_grant (run->oracle, run->addr + offset, asked);
          return;
        }
      g_assert_cmpuint (end, >, offset);
      g_assert_cmpuint (end, <=, POOL_BYTES);
    }
}

static void
give_back (Run *run)
{
  guint i = (guint) pick (run, run->held->len);
  Held *held = &g_array_index (run->held, Held, i);

  if (!held->is_pending)
    {
      run->n_differences +=
          tessera_occupancy_free_requested (run->map, held->offset_bytes) != TESSERA_OK;
      held->is_pending = true;
      if (g_rand_boolean (run->rand))
        return;
    }
  run->n_differences +=
      tessera_occupancy_free_completed (run->map, held->offset_bytes) != TESSERA_OK;
  run->n_corrupt += !oracle_done (run->oracle, held->id);
  g_array_remove_index_fast (run->held, i);
}

static Run
make_run (const TesseraOccupancyLaws *laws,
          uint32_t n_streams,
          uint32_t n_pools,
          guint seed)
{
  Run run = { .n_streams = n_streams, .n_pools = n_pools };
  TesseraHost host;

  tessera_host_init (&host, 0);
  g_assert_cmpint (host.device.allocate (&host.device, POOL_BYTES, 0, &run.addr), ==,
                   TESSERA_OK);
  g_assert_cmpint (tessera_occupancy_new (POOL_BYTES, laws, &run.map), ==, TESSERA_OK);
  run.rand = g_rand_new_with_seed (seed);
  run.oracle = oracle_new (run.addr, POOL_BYTES);
  run.held = g_array_new (FALSE, FALSE, sizeof (Held));
  for (guint n = 0; n < 3000; n++)
    {
      guint fill = n / 500 % 2 == 0 ? 12 : 40;

      if (pick (&run, fill) >= run.held->len)
        request (&run);
      else
        give_back (&run);
    }
  host.device.release (&host.device, run.addr, POOL_BYTES);
  return run;
}

static void
clear_run (Run *run)
{
  tessera_occupancy_free (run->map);
  oracle_free (run->oracle);
  g_array_unref (run->held);
  g_rand_free (run->rand);
}

static void
test_random (void)
{
  const struct
  {
    uint32_t n_streams, n_pools;
  } worlds[] = { { 1, 1 }, { 2, 1 }, { 3, 2 } };

  for (guint w = 0; w < G_N_ELEMENTS (worlds); w++)
    for (guint seed = SEED; seed < SEED + 3; seed++)
      {
        Run run = make_run (&tessera_occupancy_laws, worlds[w].n_streams,
                            worlds[w].n_pools, seed);
        TesseraError error = { 0 };

        g_test_message ("seed %u: %u granted, %u taken, %u unordered", seed,
                        run.n_verdicts[0], run.n_verdicts[1], run.n_verdicts[2]);
        g_assert_cmpuint (run.n_differences, ==, 0);
        g_assert_cmpuint (run.n_corrupt, ==, 0);
        g_assert_cmpuint (run.n_verdicts[TESSERA_OCCUPANCY_GRANTED], >, 500);
        g_assert_cmpuint (run.n_verdicts[TESSERA_OCCUPANCY_TAKEN], >, 500);
        if (worlds[w].n_streams == 1)
          g_assert_cmpuint (run.n_verdicts[TESSERA_OCCUPANCY_UNORDERED], ==, 0);
        else
          g_assert_cmpuint (run.n_verdicts[TESSERA_OCCUPANCY_UNORDERED], >, 100);
        if (tessera_occupancy_check (run.map, &error) != TESSERA_OK)
          g_error ("%s", error.text);
        clear_run (&run);
      }
}

/* The watcher sees each law that is not kept; overlaps also by content. Those of barriers
 * are tests/fuzz/follow-storm's. */
static void
test_broken (void)
{
  for (size_t law = 0; law < offsetof (TesseraOccupancyLaws, order) / sizeof (bool);
       law++)
    {
      TesseraOccupancyLaws laws = tessera_occupancy_laws;
      Run run;

      ((bool *) &laws)[law] = false;
      run = make_run (&laws, 3, 2, SEED);
      g_test_message ("without law %zu: %u differences, %u blocks corrupt", law,
                      run.n_differences, run.n_corrupt);
      g_assert_cmpuint (run.n_differences, >, 0);
      if (law <= 1)
        g_assert_cmpuint (run.n_corrupt, >, 0);
      clear_run (&run);
    }
}

/* What lies outside the pool, or is not in that state. */
static void
test_invalid (void)
{
  const TesseraOccupancyRequest request = { .size_bytes = MIB, .block_bytes = MIB };
  static const uint64_t outside[] = { 8 * MIB, 8 * MIB - 512, UINT64_MAX - 511 };
  TesseraOccupancy *map;
  uint64_t end;

  g_assert_cmpint (tessera_occupancy_new (8 * MIB, &tessera_occupancy_laws, &map), ==,
                   TESSERA_OK);
  g_assert_cmpint (tessera_occupancy_see_request (map, &request), ==, TESSERA_OK);
  for (guint i = 0; i < G_N_ELEMENTS (outside); i++)
    g_assert_cmpint (tessera_occupancy_ask (map, outside[i], &request, &end), ==,
                     TESSERA_OCCUPANCY_TAKEN);
  g_assert_cmpint (tessera_occupancy_take (map, 0, &request, &end), ==,
                   TESSERA_OCCUPANCY_GRANTED);
  g_assert_cmpint (tessera_occupancy_free_completed (map, 0), ==, TESSERA_INVALID);
  g_assert_cmpint (tessera_occupancy_free_requested (map, 0), ==, TESSERA_OK);
  g_assert_cmpint (tessera_occupancy_free_requested (map, 0), ==, TESSERA_INVALID);
  g_assert_cmpint (tessera_occupancy_free_completed (map, 0), ==, TESSERA_OK);
  g_assert_cmpint (tessera_occupancy_free_completed (map, 0), ==, TESSERA_INVALID);
  g_assert_cmpint (tessera_occupancy_free_requested (map, 512), ==, TESSERA_INVALID);
  g_assert_cmpint (tessera_occupancy_free_requested (map, 9 * MIB), ==, TESSERA_INVALID);
  tessera_occupancy_free (map);
}

/* A stream that is behind a barrier gets all that was freed before it, until another has
 * its number. */
static void
test_barriers (void)
{
  const TesseraOccupancyRequest first = { .size_bytes = 2 * MIB, .block_bytes = 2 * MIB };
  TesseraOccupancySearch search = { 0, 8 * MIB, UINT32_MAX };
  TesseraOccupancyRequest other = first;
  TesseraOccupancy *map;
  uint64_t end, moment, found;

  other.stream = 1;
  g_assert_cmpint (tessera_occupancy_new (8 * MIB, &tessera_occupancy_laws, &map), ==,
                   TESSERA_OK);
  tessera_occupancy_cross_streams (map);
  for (uint64_t at = 0; at < 6 * MIB; at += 2 * MIB)
    {
      g_assert_cmpint (tessera_occupancy_see_request (map, &first), ==, TESSERA_OK);
      g_assert_cmpint (tessera_occupancy_take (map, at, &first, &end), ==,
                       TESSERA_OCCUPANCY_GRANTED);
    }
  for (uint64_t at = 0; at < 4 * MIB; at += 2 * MIB)
    {
      g_assert_cmpint (tessera_occupancy_free_requested (map, at), ==, TESSERA_OK);
      g_assert_cmpint (tessera_occupancy_free_completed (map, at), ==, TESSERA_OK);
    }
  /* Not back yet; then a barrier of this moment would do, and then it is there. */
  g_assert_cmpint (tessera_occupancy_ask_order (map, 2 * MIB, &other, &moment), ==,
                   TESSERA_ORDER_REFUSED);
  g_assert_cmpint (tessera_occupancy_see_request (map, &other), ==, TESSERA_OK);
  g_assert_cmpint (tessera_occupancy_ask (map, 2 * MIB, &other, &end), ==,
                   TESSERA_OCCUPANCY_UNORDERED);
  g_assert_cmpint (tessera_occupancy_ask_order (map, 2 * MIB, &other, &moment), ==,
                   TESSERA_ORDER_NEEDED);
  g_assert_cmpuint (moment, ==, tessera_occupancy_now (map));
  g_assert_true (tessera_occupancy_find (map, &other, &search, &found));
  g_assert_cmpuint (found, ==, 6 * MIB); /* which nobody used yet */
  search.with_order = true;
  g_assert_true (tessera_occupancy_find (map, &other, &search, &found));
  g_assert_cmpuint (found, ==, 0);
  tessera_occupancy_set_ordered (map, 1, moment);
  for (uint64_t at = 0; at < 4 * MIB; at += 2 * MIB)
    g_assert_cmpint (tessera_occupancy_ask (map, at, &other, &end), ==,
                     TESSERA_OCCUPANCY_GRANTED);
  g_assert_cmpint (tessera_occupancy_ask_order (map, 4 * MIB, &other, &moment), ==,
                   TESSERA_ORDER_REFUSED); /* it lives */
  tessera_occupancy_set_ordered (map, 1, 0);
  g_assert_cmpint (tessera_occupancy_ask (map, 0, &other, &end), ==,
                   TESSERA_OCCUPANCY_UNORDERED);
  other.pool = 1;
  g_assert_cmpint (tessera_occupancy_ask_order (map, 0, &other, &moment), ==,
                   TESSERA_ORDER_REFUSED);
  tessera_occupancy_free (map);
}

/* Where a plan places by larger steps than PyTorch, its own sizes count all the same:
 * small is what PyTorch calls so, and what it could have served from a block. */
static void
test_coarse_plan (void)
{
  const TesseraOccupancyRequest small = { .size_bytes = 900, .block_bytes = 2 * MIB };
  const TesseraOccupancyRequest large = { .size_bytes = 2 * MIB, .block_bytes = 2 * MIB };
  const TesseraOccupancyRequest smaller = { .size_bytes = 512, .block_bytes = 2 * MIB };
  const TesseraOccupancyRequest larger = { .size_bytes = 1025, .block_bytes = 2 * MIB };
  TesseraOccupancy *map;
  uint64_t end;

  g_assert_cmpint (tessera_occupancy_new (4 * MIB, &tessera_occupancy_laws, &map), ==,
                   TESSERA_OK);
  tessera_occupancy_see_streams (map);
  g_assert_cmpint (tessera_occupancy_see_request (map, &small), ==, TESSERA_OK);
  g_assert_cmpint (tessera_occupancy_take (map, 0, &small, &end), ==,
                   TESSERA_OCCUPANCY_GRANTED);
  g_assert_cmpint (tessera_occupancy_free_requested (map, 0), ==, TESSERA_OK);
  g_assert_cmpint (tessera_occupancy_free_completed (map, 0), ==, TESSERA_OK);
  g_assert_cmpint (tessera_occupancy_ask (map, 0, &smaller, &end), ==,
                   TESSERA_OCCUPANCY_GRANTED);
  g_assert_cmpint (tessera_occupancy_see_request (map, &large), ==, TESSERA_OK);
  g_assert_cmpint (tessera_occupancy_ask (map, 0, &large, &end), ==,
                   TESSERA_OCCUPANCY_UNORDERED);
  g_assert_cmpint (tessera_occupancy_see_request (map, &larger), ==, TESSERA_OK);
  g_assert_cmpint (tessera_occupancy_ask (map, 0, &large, &end), ==,
                   TESSERA_OCCUPANCY_UNORDERED);
  g_assert_cmpint (tessera_occupancy_see_request (map, &smaller), ==, TESSERA_OK);
  g_assert_cmpint (tessera_occupancy_ask (map, 0, &large, &end), ==,
                   TESSERA_OCCUPANCY_GRANTED);
  tessera_occupancy_free (map);
}

/* Memory that is given back while a request is served takes pieces, too: there are some
 * left for the request, however many there were. */
static void
test_stock (void)
{
  const TesseraOccupancyRequest request = { .size_bytes = 512, .block_bytes = 512 };

  for (uint64_t n_taken = 0; n_taken < 300; n_taken++)
    {
      uint64_t height_bytes = 512 * (2 * n_taken + 10), end_bytes;
      TesseraOccupancy *map;

      g_assert_cmpint (
          tessera_occupancy_new (height_bytes, &tessera_occupancy_laws, &map), ==,
          TESSERA_OK);
      for (uint64_t i = 0; i < n_taken; i++)
        {
          g_assert_cmpint (tessera_occupancy_see_request (map, &request), ==, TESSERA_OK);
          g_assert_cmpint (
              tessera_occupancy_take (map, 512 * (2 * i + 1), &request, &end_bytes), ==,
              TESSERA_OCCUPANCY_GRANTED);
        }
      g_assert_cmpint (tessera_occupancy_see_request (map, &request), ==, TESSERA_OK);
      g_assert_cmpint (tessera_occupancy_set_closed (map, height_bytes - 4096,
                                                     height_bytes - 3584, true),
                       ==, TESSERA_OK);
      g_assert_cmpint (
          tessera_occupancy_take (map, height_bytes - 2048, &request, &end_bytes), ==,
          TESSERA_OCCUPANCY_GRANTED);
      tessera_occupancy_free (map);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/occupancy/invalid", test_invalid);
  g_test_add_func ("/occupancy/barriers", test_barriers);
  g_test_add_func ("/occupancy/coarse-plan", test_coarse_plan);
  g_test_add_func ("/occupancy/stock", test_stock);
  g_test_add_func ("/occupancy/random", test_random);
  g_test_add_func ("/occupancy/broken", test_broken);
  return g_test_run ();
}
