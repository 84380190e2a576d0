/*
 * Tests of the guard against a watcher that keeps books by the byte.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/policy/guard/guard.h"

#include <glib.h>

#include "allocator/host.h"
#include "allocator/policy/oracle.h"

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
  TesseraGuard *guard;
  Oracle *oracle;
  GArray *held;
  uint64_t addr;
  uint32_t n_streams, n_pools;
  guint n_verdicts[3];
  guint n_differences; /* guard and watcher do not agree */
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
  const TesseraGuardRequest same = { .size_bytes = block_bytes - 100,
                                     .block_bytes = block_bytes,
                                     .stream = asked.stream,
                                     .pool = asked.pool };

  oracle_request (run->oracle, asked);
  g_assert_cmpint (tessera_guard_see_request (run->guard, &same), ==, TESSERA_OK);
  for (guint i = 0; i < 6; i++)
    {
      uint64_t offset = pick_offset (run);
      uint64_t end = 0;
      OracleVerdict expected = oracle_ask (run->oracle, run->addr + offset, asked);
      TesseraGuardVerdict verdict = tessera_guard_take (run->guard, offset, &same, &end);
      const Held held = { .offset_bytes = offset };

      /* Of a range with both, any of the two verdicts is right. */
      run->n_verdicts[verdict]++;
      run->n_differences +=
          (verdict == TESSERA_GUARD_GRANTED) != (expected == ORACLE_GRANT);
      if (verdict == TESSERA_GUARD_GRANTED)
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
          tessera_guard_free_requested (run->guard, held->offset_bytes) != TESSERA_OK;
      held->is_pending = true;
      if (g_rand_boolean (run->rand))
        return;
    }
  run->n_differences +=
      tessera_guard_free_completed (run->guard, held->offset_bytes) != TESSERA_OK;
  run->n_corrupt += !oracle_done (run->oracle, held->id);
  g_array_remove_index_fast (run->held, i);
}

static Run
make_run (const TesseraGuardLaws *laws, uint32_t n_streams, uint32_t n_pools, guint seed)
{
  Run run = { .n_streams = n_streams, .n_pools = n_pools };
  TesseraHost host;

  tessera_host_init (&host, 0);
  g_assert_cmpint (host.device.allocate (&host.device, POOL_BYTES, 0, &run.addr), ==,
                   TESSERA_OK);
  g_assert_cmpint (tessera_guard_new (POOL_BYTES, laws, &run.guard), ==, TESSERA_OK);
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
  tessera_guard_free (run->guard);
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
        Run run =
            make_run (&tessera_guard_laws, worlds[w].n_streams, worlds[w].n_pools, seed);
        TesseraError error = { 0 };

        g_test_message ("seed %u: %u granted, %u taken, %u unordered", seed,
                        run.n_verdicts[0], run.n_verdicts[1], run.n_verdicts[2]);
        g_assert_cmpuint (run.n_differences, ==, 0);
        g_assert_cmpuint (run.n_corrupt, ==, 0);
        g_assert_cmpuint (run.n_verdicts[TESSERA_GUARD_GRANTED], >, 500);
        g_assert_cmpuint (run.n_verdicts[TESSERA_GUARD_TAKEN], >, 500);
        if (worlds[w].n_streams == 1)
          g_assert_cmpuint (run.n_verdicts[TESSERA_GUARD_UNORDERED], ==, 0);
        else
          g_assert_cmpuint (run.n_verdicts[TESSERA_GUARD_UNORDERED], >, 100);
        if (tessera_guard_check (run.guard, &error) != TESSERA_OK)
          g_error ("%s", error.text);
        clear_run (&run);
      }
}

/* The watcher sees each law that is not kept; overlaps also by content. */
static void
test_broken (void)
{
  for (size_t law = 0; law < sizeof (TesseraGuardLaws) / sizeof (bool); law++)
    {
      TesseraGuardLaws laws = tessera_guard_laws;
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

/* The exception to the law of sizes, step by step. */
static void
test_sizes (void)
{
  const TesseraGuardRequest large = { .size_bytes = 4 * MIB, .block_bytes = 4 * MIB };
  const TesseraGuardRequest larger = { .size_bytes = 5 * MIB, .block_bytes = 5 * MIB };
  const TesseraGuardRequest small = { .size_bytes = MIB, .block_bytes = MIB };
  TesseraGuardRequest other = small;
  TesseraGuard *guard;
  uint64_t end;

  other.stream = 1;
  g_assert_cmpint (tessera_guard_new (8 * MIB, &tessera_guard_laws, &guard), ==,
                   TESSERA_OK);
  g_assert_cmpint (tessera_guard_see_request (guard, &large), ==, TESSERA_OK);
  g_assert_cmpint (tessera_guard_take (guard, 0, &large, &end), ==,
                   TESSERA_GUARD_GRANTED);
  g_assert_cmpint (tessera_guard_take (guard, 3 * MIB, &small, &end), ==,
                   TESSERA_GUARD_TAKEN);
  g_assert_cmpuint (end, ==, 4 * MIB);
  g_assert_cmpint (tessera_guard_free_requested (guard, 0), ==, TESSERA_OK);
  g_assert_cmpint (tessera_guard_ask (guard, 0, &small, &end), ==, TESSERA_GUARD_TAKEN);
  g_assert_cmpint (tessera_guard_free_requested (guard, 0), ==, TESSERA_INVALID);
  g_assert_cmpint (tessera_guard_free_completed (guard, 0), ==, TESSERA_OK);
  g_assert_cmpint (tessera_guard_free_completed (guard, 0), ==, TESSERA_INVALID);
  g_assert_cmpint (tessera_guard_free_requested (guard, 512), ==, TESSERA_INVALID);

  /* One stream: any order is safe. */
  g_assert_cmpint (tessera_guard_ask (guard, 0, &small, &end), ==, TESSERA_GUARD_GRANTED);
  tessera_guard_see_streams (guard);
  g_assert_cmpint (tessera_guard_ask (guard, 0, &small, &end), ==,
                   TESSERA_GUARD_UNORDERED);
  g_assert_cmpint (tessera_guard_ask (guard, 0, &other, &end), ==,
                   TESSERA_GUARD_UNORDERED);
  g_assert_cmpint (tessera_guard_ask (guard, 4 * MIB, &small, &end), ==,
                   TESSERA_GUARD_GRANTED);
  /* PyTorch could not have served this one from it, nor this one; but that one. */
  g_assert_cmpint (tessera_guard_see_request (guard, &larger), ==, TESSERA_OK);
  g_assert_cmpint (tessera_guard_see_request (guard, &small), ==, TESSERA_OK);
  g_assert_cmpint (tessera_guard_ask (guard, 0, &small, &end), ==,
                   TESSERA_GUARD_UNORDERED);
  g_assert_cmpint (tessera_guard_see_request (guard, &large), ==, TESSERA_OK);
  g_assert_cmpint (tessera_guard_ask (guard, 0, &small, &end), ==, TESSERA_GUARD_GRANTED);
  g_assert_cmpint (tessera_guard_ask (guard, 0, &other, &end), ==,
                   TESSERA_GUARD_UNORDERED);

  /* Outside the pool. */
  g_assert_cmpint (tessera_guard_ask (guard, 8 * MIB, &small, &end), ==,
                   TESSERA_GUARD_TAKEN);
  g_assert_cmpint (tessera_guard_ask (guard, 8 * MIB - 512, &small, &end), ==,
                   TESSERA_GUARD_TAKEN);
  g_assert_cmpint (tessera_guard_ask (guard, UINT64_MAX - 511, &small, &end), ==,
                   TESSERA_GUARD_TAKEN);
  g_assert_cmpint (tessera_guard_free_requested (guard, 9 * MIB), ==, TESSERA_INVALID);
  tessera_guard_free (guard);
}

/* Where a plan places by larger steps than PyTorch, its own sizes count all the same:
 * small is what PyTorch calls so, and what it could have served from a block. */
static void
test_coarse_plan (void)
{
  const TesseraGuardRequest small = { .size_bytes = 900, .block_bytes = 2 * MIB };
  const TesseraGuardRequest large = { .size_bytes = 2 * MIB, .block_bytes = 2 * MIB };
  const TesseraGuardRequest smaller = { .size_bytes = 512, .block_bytes = 2 * MIB };
  const TesseraGuardRequest larger = { .size_bytes = 1025, .block_bytes = 2 * MIB };
  TesseraGuard *guard;
  uint64_t end;

  g_assert_cmpint (tessera_guard_new (4 * MIB, &tessera_guard_laws, &guard), ==,
                   TESSERA_OK);
  tessera_guard_see_streams (guard);
  g_assert_cmpint (tessera_guard_see_request (guard, &small), ==, TESSERA_OK);
  g_assert_cmpint (tessera_guard_take (guard, 0, &small, &end), ==,
                   TESSERA_GUARD_GRANTED);
  g_assert_cmpint (tessera_guard_free_requested (guard, 0), ==, TESSERA_OK);
  g_assert_cmpint (tessera_guard_free_completed (guard, 0), ==, TESSERA_OK);
  g_assert_cmpint (tessera_guard_ask (guard, 0, &smaller, &end), ==,
                   TESSERA_GUARD_GRANTED);
  g_assert_cmpint (tessera_guard_see_request (guard, &large), ==, TESSERA_OK);
  g_assert_cmpint (tessera_guard_ask (guard, 0, &large, &end), ==,
                   TESSERA_GUARD_UNORDERED);
  g_assert_cmpint (tessera_guard_see_request (guard, &larger), ==, TESSERA_OK);
  g_assert_cmpint (tessera_guard_ask (guard, 0, &large, &end), ==,
                   TESSERA_GUARD_UNORDERED);
  g_assert_cmpint (tessera_guard_see_request (guard, &smaller), ==, TESSERA_OK);
  g_assert_cmpint (tessera_guard_ask (guard, 0, &large, &end), ==, TESSERA_GUARD_GRANTED);
  tessera_guard_free (guard);
}

/* Memory that is given back while a request is served takes pieces, too: there are some
 * left for the request, however many there were. */
static void
test_stock (void)
{
  const TesseraGuardRequest request = { .size_bytes = 512, .block_bytes = 512 };

  for (uint64_t n_taken = 0; n_taken < 300; n_taken++)
    {
      uint64_t height_bytes = 512 * (2 * n_taken + 10), end_bytes;
      TesseraGuard *guard;

      g_assert_cmpint (tessera_guard_new (height_bytes, &tessera_guard_laws, &guard), ==,
                       TESSERA_OK);
      for (uint64_t i = 0; i < n_taken; i++)
        {
          g_assert_cmpint (tessera_guard_see_request (guard, &request), ==, TESSERA_OK);
          g_assert_cmpint (
              tessera_guard_take (guard, 512 * (2 * i + 1), &request, &end_bytes), ==,
              TESSERA_GUARD_GRANTED);
        }
      g_assert_cmpint (tessera_guard_see_request (guard, &request), ==, TESSERA_OK);
      g_assert_cmpint (
          tessera_guard_close (guard, height_bytes - 4096, height_bytes - 3584), ==,
          TESSERA_OK);
      g_assert_cmpint (
          tessera_guard_take (guard, height_bytes - 2048, &request, &end_bytes), ==,
          TESSERA_GUARD_GRANTED);
      tessera_guard_free (guard);
    }
}

enum
{
  GRAINS = 200
};

typedef struct
{
  TesseraGuard *guard;
  uint32_t block_of[GRAINS]; /* 0: free; else which lies there */
  uint64_t n_grains;         /* of the pool */
  uint32_t n_blocks;
} Grown;

static uint64_t
needed_grains (const Grown *grown)
{
  uint64_t n = grown->n_grains;

  while (n > 0 && grown->block_of[n - 1] == 0)
    n--;
  return n;
}

static void
take_some (Grown *grown, uint64_t at, uint64_t n)
{
  const TesseraGuardRequest request = { .size_bytes = 512 * n, .block_bytes = 512 * n };
  bool is_free = at + n <= grown->n_grains;
  uint64_t end_bytes;

  for (uint64_t i = at; i < at + n && i < grown->n_grains; i++)
    is_free = is_free && grown->block_of[i] == 0;
  g_assert_cmpint (tessera_guard_see_request (grown->guard, &request), ==, TESSERA_OK);
  g_assert_cmpint (tessera_guard_take (grown->guard, 512 * at, &request, &end_bytes), ==,
                   is_free ? TESSERA_GUARD_GRANTED : TESSERA_GUARD_TAKEN);
  grown->n_blocks++;
  for (uint64_t i = at; is_free && i < at + n; i++)
    grown->block_of[i] = grown->n_blocks;
}

static void
free_at (Grown *grown, uint64_t at)
{
  uint32_t block = at < grown->n_grains ? grown->block_of[at] : 0;

  if (block == 0 || (at > 0 && grown->block_of[at - 1] == block))
    return;
  g_assert_cmpint (tessera_guard_free_requested (grown->guard, 512 * at), ==, TESSERA_OK);
  g_assert_cmpint (tessera_guard_free_completed (grown->guard, 512 * at), ==, TESSERA_OK);
  for (; at < grown->n_grains && grown->block_of[at] == block; at++)
    grown->block_of[at] = 0;
}

/* A pool whose end moves: what it grants, needs and has free is what an array says. */
static void
test_growing (void)
{
  GRand *rand = g_rand_new_with_seed (SEED);
  Grown grown = { 0 };
  TesseraError error = { 0 };

  g_assert_cmpint (tessera_guard_new (0, &tessera_guard_laws, &grown.guard), ==,
                   TESSERA_OK);
  for (int step = 0; step < 20000; step++)
    {
      uint64_t at = (uint64_t) g_rand_int_range (rand, 0, GRAINS);
      uint64_t n = (uint64_t) g_rand_int_range (rand, 1, 20), begin;
      bool is_free = true;

      switch (g_rand_int_range (rand, 0, 8))
        {
        case 0:
          grown.n_grains = MAX (grown.n_grains, at);
          g_assert_cmpint (tessera_guard_grow (grown.guard, 512 * at), ==, TESSERA_OK);
          break;
        case 1:
          grown.n_grains = MIN (grown.n_grains, MAX (at, needed_grains (&grown)));
          tessera_guard_shrink (grown.guard, 512 * grown.n_grains);
          break;
        case 2:
        case 3:
        case 4:
          take_some (&grown, at, n);
          break;
        default:
          free_at (&grown, at);
        }
      g_assert_cmpuint (tessera_guard_needed (grown.guard), ==,
                        512 * needed_grains (&grown));
      begin = MIN (at, (uint64_t) GRAINS - n);
      for (uint64_t i = begin; i < begin + n && i < grown.n_grains; i++)
        is_free = is_free && grown.block_of[i] == 0;
      g_assert_cmpint (
          tessera_guard_is_free (grown.guard, 512 * begin, 512 * (begin + n)), ==,
          is_free);
      g_assert_cmpint (tessera_guard_check (grown.guard, &error), ==, TESSERA_OK);
    }
  tessera_guard_free (grown.guard);
  g_rand_free (rand);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/guard/sizes", test_sizes);
  g_test_add_func ("/guard/coarse-plan", test_coarse_plan);
  g_test_add_func ("/guard/stock", test_stock);
  g_test_add_func ("/guard/growing", test_growing);
  g_test_add_func ("/guard/random", test_random);
  g_test_add_func ("/guard/broken", test_broken);
  return g_test_run ();
}
