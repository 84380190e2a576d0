/*
 * Tests of the occupancy map against books of each 512 bytes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/follow/occupancy.h"

#include <glib.h>

#include "tests/allocator/books.h"
#include "tests/ok.h"
#include "tests/allocator/auto.h"

#define SEED 20261122
#define MIB ((uint64_t) 1 << 20)
#define POOL_BYTES (24 * MIB)

typedef struct
{
  uint64_t offset_bytes;
  guint block; /* of the books */
  bool is_pending;
} Held;

typedef struct
{
  GRand *rand;
  TesseraOccupancy *map;
  Books books;
  GArray *held; /* Held */
  uint64_t addr;
  uint32_t n_streams, n_pools;
  guint n_verdicts[3];
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

/* Returns: whether the map says what the books say. */
static bool
request (Run *run)
{
  const uint64_t limits[] = { 8, 200, 2048, 2100, 9000 };
  uint64_t block_bytes =
      512 * (1 + pick (run, limits[pick (run, G_N_ELEMENTS (limits))]));
  const TesseraOccupancyRequest asked = { .size_bytes = block_bytes - 100,
                                          .block_bytes = block_bytes,
                                          .stream = (uint32_t) pick (run, run->n_streams),
                                          .pool = (uint32_t) pick (run, run->n_pools) };

  books_request (&run->books, asked.size_bytes, asked.stream, asked.pool);
  OK (tessera_occupancy_see_request (run->map, &asked));
  for (guint i = 0; i < 6; i++)
    {
      uint64_t offset = pick_offset (run), end = 0;
      BooksVerdict expected = books_ask (&run->books, run->addr + offset, block_bytes);
      TesseraOccupancyVerdict verdict =
          tessera_occupancy_take (run->map, offset, &asked, &end);
      Held held = { .offset_bytes = offset };

      /* Of a range with both, any of the two verdicts is right. */
      run->n_verdicts[verdict]++;
      if ((verdict == TESSERA_OCCUPANCY_GRANTED) != (expected == BOOKS_GRANT))
        return false;
      if (verdict == TESSERA_OCCUPANCY_GRANTED)
        {
          held.block = books_grant (&run->books, run->addr + offset, block_bytes);
          g_array_append_val (run->held, held);
          return true;
        }
      g_assert_cmpuint (end, >, offset);
      g_assert_cmpuint (end, <=, POOL_BYTES);
    }
  return true;
}

static bool
give_back (Run *run)
{
  guint i = (guint) pick (run, run->held->len);
  Held *held = &g_array_index (run->held, Held, i);
  uint64_t offset_bytes = held->offset_bytes;

  if (!held->is_pending)
    {
      if (tessera_occupancy_free_requested (run->map, offset_bytes) != TESSERA_OK)
        return false;
      held->is_pending = true;
      if (g_rand_boolean (run->rand))
        return true;
    }
  books_done (&run->books, held->block);
  g_array_remove_index_fast (run->held, i);
  return tessera_occupancy_free_completed (run->map, offset_bytes) == TESSERA_OK;
}

/* Until map and books do not agree. Returns: whether they always did. */
static bool
run_map (Run *run,
         const TesseraOccupancyLaws *laws,
         uint32_t n_streams,
         uint32_t n_pools,
         guint seed)
{
  TesseraDevice *device = &run->books.device;
  bool agree = true;

  *run = (Run){ .n_streams = n_streams, .n_pools = n_pools };
  books_init (&run->books, POOL_BYTES);
  OK (device->allocate (device, POOL_BYTES, 0, &run->addr));
  OK (tessera_occupancy_new (POOL_BYTES, laws, &run->map));
  run->rand = g_rand_new_with_seed (seed);
  run->held = g_array_new (FALSE, FALSE, sizeof (Held));
  for (guint n = 0; agree && n < 3000; n++)
    {
      guint fill = n / 500 % 2 == 0 ? 12 : 40;

      agree = pick (run, fill) >= run->held->len ? request (run) : give_back (run);
    }
  return agree;
}

static void
clear_run (Run *run)
{
  tessera_occupancy_free (run->map);
  books_clear (&run->books);
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
        Run run;

        g_assert_true (run_map (&run, &tessera_occupancy_laws, worlds[w].n_streams,
                                worlds[w].n_pools, seed));
        g_test_message ("seed %u: %u granted, %u taken, %u unordered", seed,
                        run.n_verdicts[0], run.n_verdicts[1], run.n_verdicts[2]);
        g_assert_cmpuint (run.n_verdicts[TESSERA_OCCUPANCY_GRANTED], >, 500);
        g_assert_cmpuint (run.n_verdicts[TESSERA_OCCUPANCY_TAKEN], >, 500);
        if (worlds[w].n_streams == 1)
          g_assert_cmpuint (run.n_verdicts[TESSERA_OCCUPANCY_UNORDERED], ==, 0);
        else
          g_assert_cmpuint (run.n_verdicts[TESSERA_OCCUPANCY_UNORDERED], >, 100);
        WORKS (error, tessera_occupancy_check (run.map, &error));
        clear_run (&run);
      }
}

/* The books see each law that is not kept. Those of barriers are
 * tests/fuzz/follow-storm's. */
static void
test_broken (void)
{
  for (size_t law = 0; law < offsetof (TesseraOccupancyLaws, order) / sizeof (bool);
       law++)
    {
      TesseraOccupancyLaws laws = tessera_occupancy_laws;
      Run run;

      ((bool *) &laws)[law] = false;
      g_test_message ("without law %zu", law);
      g_assert_false (run_map (&run, &laws, 3, 2, SEED));
      clear_run (&run);
    }
}

static void
takes (TesseraOccupancy *map, uint64_t at, const TesseraOccupancyRequest *request)
{
  uint64_t end;

  g_assert_cmpint (tessera_occupancy_take (map, at, request, &end), ==,
                   TESSERA_OCCUPANCY_GRANTED);
}

/* What the map would say. */
static void
says (TesseraOccupancy *map,
      uint64_t at,
      const TesseraOccupancyRequest *request,
      TesseraOccupancyVerdict expected)
{
  uint64_t end;

  g_assert_cmpint (tessera_occupancy_ask (map, at, request, &end), ==, expected);
}

/* What lies outside the pool, or is not in that state. */
static void
test_invalid (void)
{
  const TesseraOccupancyRequest request = { .size_bytes = MIB, .block_bytes = MIB };
  static const uint64_t outside[] = { 8 * MIB, 8 * MIB - 512, UINT64_MAX - 511 };
  g_autoptr (TesseraOccupancy) map = NULL;

  OK (tessera_occupancy_new (8 * MIB, &tessera_occupancy_laws, &map));
  OK (tessera_occupancy_see_request (map, &request));
  for (guint i = 0; i < G_N_ELEMENTS (outside); i++)
    says (map, outside[i], &request, TESSERA_OCCUPANCY_TAKEN);
  takes (map, 0, &request);
  GIVES (TESSERA_INVALID, tessera_occupancy_free_completed (map, 0));
  OK (tessera_occupancy_free_requested (map, 0));
  GIVES (TESSERA_INVALID, tessera_occupancy_free_requested (map, 0));
  OK (tessera_occupancy_free_completed (map, 0));
  GIVES (TESSERA_INVALID, tessera_occupancy_free_completed (map, 0));
  GIVES (TESSERA_INVALID, tessera_occupancy_free_requested (map, 512));
  GIVES (TESSERA_INVALID, tessera_occupancy_free_requested (map, 9 * MIB));
}

/* A stream that is behind a barrier gets all that was freed before it, until another has
 * its number. */
static void
test_barriers (void)
{
  const TesseraOccupancyRequest first = { .size_bytes = 2 * MIB, .block_bytes = 2 * MIB };
  TesseraOccupancySearch search = { 0, 8 * MIB, UINT32_MAX };
  TesseraOccupancyRequest other = first;
  g_autoptr (TesseraOccupancy) map = NULL;
  uint64_t moment, found;

  other.stream = 1;
  OK (tessera_occupancy_new (8 * MIB, &tessera_occupancy_laws, &map));
  tessera_occupancy_cross_streams (map);
  for (uint64_t at = 0; at < 6 * MIB; at += 2 * MIB)
    {
      OK (tessera_occupancy_see_request (map, &first));
      takes (map, at, &first);
    }
  for (uint64_t at = 0; at < 4 * MIB; at += 2 * MIB)
    {
      OK (tessera_occupancy_free_requested (map, at));
      OK (tessera_occupancy_free_completed (map, at));
    }
  /* Not back yet; then a barrier of this moment would do, and then it is there. */
  g_assert_cmpint (tessera_occupancy_ask_order (map, 2 * MIB, &other, &moment), ==,
                   TESSERA_ORDER_REFUSED);
  OK (tessera_occupancy_see_request (map, &other));
  says (map, 2 * MIB, &other, TESSERA_OCCUPANCY_UNORDERED);
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
    says (map, at, &other, TESSERA_OCCUPANCY_GRANTED);
  g_assert_cmpint (tessera_occupancy_ask_order (map, 4 * MIB, &other, &moment), ==,
                   TESSERA_ORDER_REFUSED); /* it lives */
  tessera_occupancy_set_ordered (map, 1, 0);
  says (map, 0, &other, TESSERA_OCCUPANCY_UNORDERED);
  other.pool = 1;
  g_assert_cmpint (tessera_occupancy_ask_order (map, 0, &other, &moment), ==,
                   TESSERA_ORDER_REFUSED);
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
  g_autoptr (TesseraOccupancy) map = NULL;

  OK (tessera_occupancy_new (4 * MIB, &tessera_occupancy_laws, &map));
  tessera_occupancy_see_streams (map);
  OK (tessera_occupancy_see_request (map, &small));
  takes (map, 0, &small);
  OK (tessera_occupancy_free_requested (map, 0));
  OK (tessera_occupancy_free_completed (map, 0));
  says (map, 0, &smaller, TESSERA_OCCUPANCY_GRANTED);
  OK (tessera_occupancy_see_request (map, &large));
  says (map, 0, &large, TESSERA_OCCUPANCY_UNORDERED);
  OK (tessera_occupancy_see_request (map, &larger));
  says (map, 0, &large, TESSERA_OCCUPANCY_UNORDERED);
  OK (tessera_occupancy_see_request (map, &smaller));
  says (map, 0, &large, TESSERA_OCCUPANCY_GRANTED);
}

/* Memory that is given back while a request is served takes pieces, too: there are some
 * left for the request, however many there were. */
static void
test_stock (void)
{
  const TesseraOccupancyRequest request = { .size_bytes = 512, .block_bytes = 512 };

  for (uint64_t n_taken = 0; n_taken < 300; n_taken++)
    {
      uint64_t height_bytes = 512 * (2 * n_taken + 10);
      g_autoptr (TesseraOccupancy) map = NULL;

      OK (tessera_occupancy_new (height_bytes, &tessera_occupancy_laws, &map));
      for (uint64_t i = 0; i < n_taken; i++)
        {
          OK (tessera_occupancy_see_request (map, &request));
          takes (map, 512 * (2 * i + 1), &request);
        }
      OK (tessera_occupancy_see_request (map, &request));
      OK (tessera_occupancy_set_closed (map, height_bytes - 4096, height_bytes - 3584,
                                        true));
      takes (map, height_bytes - 2048, &request);
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
