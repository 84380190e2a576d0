/*
 * Examples with addresses worked out by hand: each shows one rule.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/caching/internal.h"
#include "allocator/virtual.h"
#include "tests/fail_alloc.h"
#include "tests/allocator/check.h"

#include <glib.h>

#define MIB ((uint64_t) 1 << 20)

typedef struct
{
  TesseraVirtual device;
  TesseraCaching *caching;
  uint64_t base;       /* of the first segment */
  uint64_t pending[8]; /* completed when the device synchronises; 0: none */
} Bench;

static void
complete_pending (void *user)
{
  Bench *bench = user;

  for (size_t i = 0; i < G_N_ELEMENTS (bench->pending); i++)
    if (bench->pending[i] != 0)
      {
        g_assert_cmpint (
            tessera_caching_free_completed (bench->caching, bench->pending[i]), ==,
            TESSERA_OK);
        bench->pending[i] = 0;
      }
}

static void
bench_open (Bench *bench, const TesseraCachingOptions *options, uint64_t device_bytes)
{
  *bench = (Bench){ 0 };
  tessera_virtual_init (&bench->device, device_bytes);
  bench->device.synchronize = complete_pending;
  bench->device.user = bench;
  bench->base = bench->device.next_addr;
  g_assert_cmpint (
      tessera_caching_new (options, &bench->device.device, NULL, &bench->caching), ==,
      TESSERA_OK);
}

static void
bench_close (Bench *bench)
{
  TesseraError error = { 0 };

  tessera_caching_check (bench->caching, &error);
  g_assert_cmpstr (error.text, ==, "");
  tessera_caching_free (bench->caching);
}

static TesseraCachingOptions
default_options (void)
{
  TesseraCachingOptions options = { 0 };

  tessera_settings_default (&options.settings);
  return options;
}

static uint64_t
take_from (Bench *bench, uint64_t size_bytes, uint32_t stream, uint32_t pool)
{
  TesseraGrant grant;
  TesseraStatus status =
      tessera_caching_malloc (bench->caching, size_bytes, stream, pool, &grant);

  if (status == TESSERA_OUT_OF_DEVICE)
    return 0;
  g_assert_cmpint (status, ==, TESSERA_OK);
  return grant.addr;
}

static uint64_t
take (Bench *bench, uint64_t size_bytes)
{
  return take_from (bench, size_bytes, 0, 0);
}

static void
give (Bench *bench, uint64_t addr)
{
  g_assert_cmpint (tessera_caching_free_requested (bench->caching, addr), ==, TESSERA_OK);
  g_assert_cmpint (tessera_caching_free_completed (bench->caching, addr), ==, TESSERA_OK);
}

static TesseraCachingStats
stats_of (const Bench *bench)
{
  TesseraCachingStats stats;

  stats = *tessera_caching_stats (bench->caching);
  return stats;
}

static void
test_small_and_large (void)
{
  TesseraCachingOptions options = default_options ();
  Bench bench;
  uint64_t a, b, c;

  bench_open (&bench, &options, 0);
  a = take (&bench, 1);
  b = take (&bench, 513);
  g_assert_cmphex (a, ==, bench.base);
  g_assert_cmphex (b, ==, bench.base + 512);
  c = take (&bench, MIB + 1); /* large: another segment, of 20 MiB */
  g_assert_cmphex (c, ==, bench.base + 2 * MIB);
  g_assert_cmpuint (stats_of (&bench).reserved_bytes, ==, 22 * MIB);
  g_assert_cmpuint (stats_of (&bench).allocated_bytes, ==, 512 + 1024 + MIB + 512);
  g_assert_cmpuint (stats_of (&bench).requested_bytes, ==, 1 + 513 + MIB + 1);
  give (&bench, a);
  g_assert_cmphex (take (&bench, 512), ==, a);
  bench_close (&bench);
}

/* Of equal free blocks PyTorch takes the one at the lowest address, from 2.13 on that of the
 * oldest segment. Within a segment it is the lowest in both. */
static void
test_equal_blocks (void)
{
  for (int by_age = 0; by_age <= 1; by_age++)
    {
      TesseraCachingOptions options = default_options ();
      uint64_t old, young, first, second;
      Bench bench;

      options.settings.oldest_segment_first = by_age;
      bench_open (&bench, &options, 0);
      bench.device.next_addr = bench.base + 1000 * MIB;
      old = take (&bench, 24 * MIB);
      bench.device.next_addr = bench.base;
      young = take (&bench, 24 * MIB);
      g_assert_cmphex (young, <, old);
      give (&bench, old);
      give (&bench, young);
      first = take (&bench, 8 * MIB);
      g_assert_cmphex (first, ==, by_age ? old : young);
      g_assert_cmphex (take (&bench, 8 * MIB), ==, first + 8 * MIB);
      second = take (&bench, 8 * MIB);
      g_assert_cmphex (second, ==, first + 16 * MIB);
      give (&bench, second);
      give (&bench, first);
      g_assert_cmphex (take (&bench, 8 * MIB), ==, first);
      bench_close (&bench);
    }
}

/* The remainder of 1 MiB is not split off, one of 512 bytes more is. */
static void
test_tail (void)
{
  TesseraCachingOptions options = default_options ();
  TesseraGrant grant;
  Bench bench;

  bench_open (&bench, &options, 0);
  g_assert_cmpint (tessera_caching_malloc (bench.caching, 19 * MIB, 0, 0, &grant), ==,
                   TESSERA_OK);
  g_assert_cmpuint (grant.block_bytes, ==, 20 * MIB);
  give (&bench, grant.addr);
  g_assert_cmpint (tessera_caching_malloc (bench.caching, 19 * MIB - 512, 0, 0, &grant),
                   ==, TESSERA_OK);
  g_assert_cmpuint (grant.block_bytes, ==, 19 * MIB - 512);
  bench_close (&bench);
}

static void
test_pending_is_not_reused (void)
{
  TesseraCachingOptions options = default_options ();
  Bench bench;
  uint64_t a, b;

  bench_open (&bench, &options, 0);
  a = take (&bench, 2 * MIB);
  g_assert_cmpint (tessera_caching_free_requested (bench.caching, a), ==, TESSERA_OK);
  b = take (&bench, 2 * MIB);
  g_assert_cmphex (b, ==, a + 2 * MIB);
  g_assert_cmpuint (stats_of (&bench).allocated_bytes, ==, 2 * MIB);
  g_assert_cmpuint (stats_of (&bench).active_bytes, ==, 4 * MIB);
  g_assert_cmpint (tessera_caching_free_completed (bench.caching, a), ==, TESSERA_OK);
  g_assert_cmphex (take (&bench, 2 * MIB), ==, a);
  bench_close (&bench);
}

static void
test_unknown_frees (void)
{
  TesseraCachingOptions options = default_options ();
  Bench bench;
  uint64_t a;

  bench_open (&bench, &options, 0);
  a = take (&bench, 512);
  g_assert_cmpint (tessera_caching_free_completed (bench.caching, a), ==,
                   TESSERA_INVALID);
  g_assert_cmpint (tessera_caching_free_requested (bench.caching, a + 512), ==,
                   TESSERA_INVALID);
  g_assert_cmpint (tessera_caching_free_requested (bench.caching, 0), ==,
                   TESSERA_INVALID);
  give (&bench, a);
  g_assert_cmpint (tessera_caching_free_requested (bench.caching, a), ==,
                   TESSERA_INVALID);
  bench_close (&bench);
}

static void
test_streams_and_pools_are_apart (void)
{
  TesseraCachingOptions options = default_options ();
  Bench bench;
  uint64_t a;

  bench_open (&bench, &options, 0);
  a = take (&bench, 512);
  give (&bench, a);
  g_assert_cmphex (take_from (&bench, 512, 1, 0), ==, bench.base + 2 * MIB);
  g_assert_cmphex (take_from (&bench, 512, 0, 1), ==, bench.base + 4 * MIB);
  g_assert_cmphex (take (&bench, 512), ==, a);
  bench_close (&bench);
}

/* Out of memory: the pending block is waited for, cached segments go, the last try
 * succeeds; a request that never fits leaves the cache empty. */
static void
test_flush_and_retry (void)
{
  TesseraCachingOptions options = default_options ();
  Bench bench;
  uint64_t a;

  bench_open (&bench, &options, 40 * MIB);
  a = take (&bench, 30 * MIB);
  g_assert_cmpint (tessera_caching_free_requested (bench.caching, a), ==, TESSERA_OK);
  bench.pending[0] = a;
  a = take (&bench, 32 * MIB);
  g_assert_cmphex (a, !=, 0);
  g_assert_cmpuint (stats_of (&bench).n_retries, ==, 1);
  g_assert_cmpuint (bench.device.n_released, ==, 1);
  g_assert_cmphex (take (&bench, 12 * MIB), ==, 0);
  g_assert_cmpuint (stats_of (&bench).n_ooms, ==, 1);
  /* A private pool does not flush for itself: the 32 MiB stay cached. */
  give (&bench, a);
  g_assert_cmphex (take_from (&bench, 12 * MIB, 0, 1), ==, 0);
  g_assert_cmpuint (stats_of (&bench).reserved_bytes, ==, 32 * MIB);
  tessera_caching_empty_cache (bench.caching);
  g_assert_cmpuint (stats_of (&bench).reserved_bytes, ==, 0);
  bench_close (&bench);
}

static void
test_private_pool_release (void)
{
  TesseraCachingOptions options = default_options ();
  Bench bench;

  bench_open (&bench, &options, 0);
  give (&bench, take_from (&bench, 512, 0, 3));
  tessera_caching_empty_cache (bench.caching);
  g_assert_cmpuint (stats_of (&bench).reserved_bytes, ==, 2 * MIB);
  g_assert_cmpint (tessera_caching_release_pool (bench.caching, 3), ==, TESSERA_OK);
  g_assert_cmpint (tessera_caching_release_pool (bench.caching, 2), ==, TESSERA_INVALID);
  g_assert_cmpint (tessera_caching_release_pool (bench.caching, 0), ==, TESSERA_INVALID);
  tessera_caching_empty_cache (bench.caching);
  g_assert_cmpuint (stats_of (&bench).reserved_bytes, ==, 0);
  bench_close (&bench);
}

/* One candidate only: the 30 MiB block is refused for being too large, and that is a
 * miss although nothing else was looked at. */
static void
test_max_split (void)
{
  TesseraCachingOptions options = default_options ();
  Bench bench;
  uint64_t a;

  options.settings.max_split_bytes = 24 * MIB;
  bench_open (&bench, &options, 0);
  a = take (&bench, 30 * MIB);
  give (&bench, a);
  g_assert_cmphex (take (&bench, 12 * MIB), ==, a + 30 * MIB);
  g_assert_cmphex (take (&bench, 25 * MIB), ==, a); /* not split: 30 < 25 + 20 */
  g_assert_cmpuint (stats_of (&bench).allocated_bytes, ==, 42 * MIB);
  bench_close (&bench);
}

static void
test_expandable_growth (void)
{
  TesseraCachingOptions options = default_options ();
  Bench bench;
  uint64_t a, b;

  options.settings.is_expandable = true;
  bench_open (&bench, &options, 400 * MIB);
  a = take (&bench, 30 * MIB);
  g_assert_cmphex (a, ==, bench.base);
  g_assert_cmpuint (stats_of (&bench).reserved_bytes, ==, 40 * MIB);
  g_assert_cmpuint (tessera_caching_growth (bench.caching, 5 * MIB, 0, 0), ==, 0);
  g_assert_cmpuint (tessera_caching_growth (bench.caching, 25 * MIB, 0, 0), ==, 20 * MIB);
  g_assert_cmpuint (tessera_caching_growth (bench.caching, 31 * MIB, 0, 0), ==, 40 * MIB);
  b = take (&bench, 25 * MIB); /* 10 free, 15 missing: one page more */
  g_assert_cmphex (b, ==, a + 30 * MIB);
  g_assert_cmpuint (stats_of (&bench).reserved_bytes, ==, 60 * MIB);
  give (&bench, a);
  tessera_caching_empty_cache (bench.caching); /* page [0, 20) whole; [20, 30) stays */
  g_assert_cmpuint (stats_of (&bench).reserved_bytes, ==, 40 * MIB);
  g_assert_cmphex (take (&bench, 30 * MIB), ==, a); /* mapped again, joined */
  give (&bench, a);
  give (&bench, b);
  tessera_caching_empty_cache (bench.caching);
  g_assert_cmpuint (stats_of (&bench).reserved_bytes, ==, 0);
  bench_close (&bench);
}

static void
test_limit_and_garbage (void)
{
  TesseraCachingOptions options = default_options ();
  Bench bench;
  uint64_t a;

  options.limit_bytes = 100 * MIB;
  options.settings.garbage_collection_threshold = 0.5;
  bench_open (&bench, &options, 0);
  a = take (&bench, 30 * MIB);
  give (&bench, a);
  give (&bench, take (&bench, 40 * MIB));
  /* Reserved 70 > 50: the older one goes first, and is enough. */
  take (&bench, 42 * MIB);
  g_assert_cmpuint (bench.device.n_released, ==, 1);
  g_assert_cmpuint (stats_of (&bench).reserved_bytes, ==, 82 * MIB);
  g_assert_cmphex (take (&bench, 60 * MIB), ==, 0); /* above the limit */
  bench_close (&bench);
}

static void
test_refusals (void)
{
  TesseraCachingOptions options = default_options ();
  TesseraGrant grant;
  TesseraTrace *trace;
  Bench bench;

  bench_open (&bench, &options, 0);
  g_assert_cmpint (tessera_caching_malloc (bench.caching, 0, 0, 0, &grant), ==,
                   TESSERA_INVALID);
  g_assert_cmpint (tessera_caching_malloc (bench.caching, 1, 0, 1 << 16, &grant), ==,
                   TESSERA_INVALID);
  g_assert_cmphex (take (&bench, UINT64_MAX), ==, 0);
  g_assert_cmphex (take (&bench, (uint64_t) 1 << 60), ==, 0);
  g_assert_cmpint (tessera_trace_new (&trace), ==, TESSERA_OK);
  g_assert_cmpint (tessera_caching_seed (bench.caching, trace), ==, TESSERA_INVALID);
  tessera_trace_free (trace);
  bench_close (&bench);
  options.settings.large_segment_bytes = 0;
  g_assert_cmpint (
      tessera_caching_new (&options, &bench.device.device, NULL, &bench.caching), ==,
      TESSERA_INVALID);
}

static void
assert_noticed (Bench *bench)
{
  TesseraError error = { 0 };

  g_assert_cmpint (tessera_caching_check (bench->caching, &error), ==, TESSERA_INVALID);
  g_assert_cmpstr (error.text, !=, "");
}

/* The check must be able to fail: each kind of damage is done and undone. */
static void
test_check_notices (void)
{
  TesseraCachingOptions options = default_options ();
  Bench bench;
  CachingBlock *block;

  bench_open (&bench, &options, 0);
  take (&bench, 3 * MIB);
  give (&bench, take (&bench, 5 * MIB));
  bench.caching->stats.reserved_bytes++;
  assert_noticed (&bench);
  bench.caching->stats.reserved_bytes--;
  bench.caching->stats.active_bytes -= 512;
  assert_noticed (&bench);
  bench.caching->stats.active_bytes += 512;
  block = bench.caching->first_chain->first;
  block->size_bytes += 512;
  assert_noticed (&bench);
  block->size_bytes -= 512;
  block->state = TESSERA_BLOCK_FREE; /* beside a free one, and in no list */
  assert_noticed (&bench);
  block->state = TESSERA_BLOCK_LIVE;
  block->next->node.key.middle++;
  assert_noticed (&bench);
  block->next->node.key.middle--;
  bench_close (&bench);
}

/* Grows, splits, flushes and unmaps; says whether the host's memory sufficed. */
static bool
run_expandable_history (Bench *bench)
{
  uint64_t held[48] = { 0 };
  bool is_complete = true;

  for (size_t i = 0; i < 4 * G_N_ELEMENTS (held); i++)
    {
      uint64_t *slot = &held[i * 7 % G_N_ELEMENTS (held)];
      TesseraGrant grant;

      if (*slot != 0)
        give (bench, *slot);
      is_complete &=
          tessera_caching_malloc (bench->caching, i % 3 == 0 ? 3 * MIB * i : 700 * i + 1,
                                  i % 2, i % 5 == 0, &grant) != TESSERA_NO_MEMORY;
      *slot = grant.addr;
      if (i % 50 == 49)
        tessera_caching_empty_cache (bench->caching);
    }
  return is_complete;
}

/* Each allocation of the host fails once. Nothing breaks, nothing leaks. */
static void
test_failing_host (void)
{
  TesseraCachingOptions options = default_options ();
  static const uint64_t handles[] = { 0, 7 };
  bool is_complete = false;
  Bench bench = { 0 };

  options.settings.is_expandable = true;
  options.stream_handles = handles;
  options.n_streams = 2;
  for (unsigned long nth = 1; !is_complete; nth++)
    {
      long held = tessera_fail_alloc_held ();
      TesseraStatus status;

      g_assert_cmpuint (nth, <, 1000);
      tessera_virtual_init (&bench.device, 1500 * MIB);
      tessera_fail_alloc_at (nth);
      status = tessera_caching_new (&options, &bench.device.device, NULL, &bench.caching);
      if (status == TESSERA_OK)
        {
          run_expandable_history (&bench);
          is_complete = !tessera_fail_alloc_stop ();
          g_assert_true (run_expandable_history (&bench));
          bench_close (&bench);
        }
      else
        tessera_fail_alloc_stop ();
      g_assert_cmpint (tessera_fail_alloc_held (), ==, held);
    }
}

static void
test_rounding (void)
{
  static const uint64_t plain[][2] = {
    { 1, 512 }, { 512, 512 }, { 513, 1024 }, { 2500, 2560 }, { MIB, MIB }
  };
  TesseraSettings settings;

  tessera_settings_default (&settings);
  for (size_t i = 0; i < G_N_ELEMENTS (plain); i++)
    g_assert_cmpuint (tessera_round_size (&settings, plain[i][0]), ==, plain[i][1]);
  for (size_t i = 0; i < 16; i++)
    settings.roundup_divisions[i] = 4;
  g_assert_cmpuint (tessera_round_size (&settings, 2048), ==, 2048);
  g_assert_cmpuint (tessera_round_size (&settings, 2047), ==, 2048);
  g_assert_cmpuint (tessera_round_size (&settings, 2500), ==, 2560);
  g_assert_cmpuint (tessera_round_size (&settings, 5 * MIB + 1), ==, 6 * MIB);
  g_assert_cmpuint (tessera_round_size (&settings, 4 * MIB), ==, 4 * MIB);
  settings.roundup_divisions[15] = 0; /* 32 GiB and more */
  g_assert_cmpuint (tessera_round_size (&settings, 33 * 1024 * MIB + 1), ==,
                    33 * 1024 * MIB + 512);
  g_assert_cmpuint (tessera_segment_size (&settings, MIB), ==, 2 * MIB);
  g_assert_cmpuint (tessera_segment_size (&settings, MIB + 512), ==, 20 * MIB);
  g_assert_cmpuint (tessera_segment_size (&settings, 10 * MIB - 512), ==, 20 * MIB);
  g_assert_cmpuint (tessera_segment_size (&settings, 10 * MIB), ==, 10 * MIB);
  g_assert_cmpuint (tessera_segment_size (&settings, 10 * MIB + 512), ==, 12 * MIB);
  g_assert_cmpuint (tessera_reservation_size (80 * MIB, 20 * MIB), ==, 100 * MIB);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/caching/rounding", test_rounding);
  g_test_add_func ("/caching/small-and-large", test_small_and_large);
  g_test_add_func ("/caching/equal-blocks", test_equal_blocks);
  g_test_add_func ("/caching/tail", test_tail);
  g_test_add_func ("/caching/pending", test_pending_is_not_reused);
  g_test_add_func ("/caching/unknown-frees", test_unknown_frees);
  g_test_add_func ("/caching/streams-and-pools", test_streams_and_pools_are_apart);
  g_test_add_func ("/caching/flush-and-retry", test_flush_and_retry);
  g_test_add_func ("/caching/private-pool-release", test_private_pool_release);
  g_test_add_func ("/caching/max-split", test_max_split);
  g_test_add_func ("/caching/expandable", test_expandable_growth);
  g_test_add_func ("/caching/limit-and-garbage", test_limit_and_garbage);
  g_test_add_func ("/caching/check-notices", test_check_notices);
  g_test_add_func ("/caching/failing-host", test_failing_host);
  g_test_add_func ("/caching/refusals", test_refusals);
  return g_test_run ();
}
