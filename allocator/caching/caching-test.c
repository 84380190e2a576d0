/*
 * The caching allocator against the naive one: random settings, random histories, every
 * address, every call to the device and every figure equal; what it refuses, and that its
 * check notices damage.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/allocator/made-options.h"

#include <glib.h>

#include "allocator/caching/internal.h"
#include "allocator/virtual.h"
#include "tests/allocator/check.h"
#include "tests/allocator/naive.h"
#include "tests/fail_alloc.h"
#include "tests/ok.h"

#define ADDRESSES_OF_OPERATION ((uint64_t) 1 << 42)
#define MIB ((uint64_t) 1 << 20)

enum
{
  N_HISTORIES = 400,
  N_OPERATIONS = 600
};

typedef struct
{
  GRand *rand;
  Naive naive;
  TesseraVirtual device;
  TesseraCaching *caching;
  GArray *calls; /* NaiveCall: ours */
  GArray *live;  /* uint64_t */
  uint64_t n_ooms, n_calls;
} Pair;

static void
note (Pair *pair, char what, const TesseraSegment *memory)
{
  NaiveCall call = { what, memory->addr, memory->size_bytes };

  g_array_append_val (pair->calls, call);
}

static void
on_came (void *user, const TesseraSegment *memory)
{
  note (user, memory->is_expandable ? 'm' : 'a', memory);
}

static void
on_went (void *user, const TesseraSegment *memory)
{
  note (user, memory->is_expandable ? 'u' : 'f', memory);
}

/* The naive model runs second and still has the pending blocks of this moment. */
static void
complete_all (void *user)
{
  Pair *pair = user;

  for (guint i = 0; i < pair->naive.waiting->len; i++)
    OK (tessera_caching_free_completed (
        pair->caching, g_array_index (pair->naive.waiting, uint64_t, i)));
}

static void
pair_open (Pair *pair, guint32 seed)
{
  TesseraCachingOptions options;
  TesseraObserver observer = { on_came, on_went, .user = pair };

  *pair = (Pair){ .rand = g_rand_new_with_seed (seed) };
  made_options (pair->rand, &options);
  uint64_t device_bytes = made_device_bytes (pair->rand);
  naive_open (&pair->naive, &options, device_bytes);
  tessera_virtual_init (&pair->device, device_bytes);
  pair->device.synchronize = complete_all;
  pair->device.user = pair;
  pair->calls = g_array_new (FALSE, FALSE, sizeof (NaiveCall));
  pair->live = g_array_new (FALSE, FALSE, sizeof (uint64_t));
  OK (tessera_caching_new (&options, &pair->device.device, &observer, &pair->caching));
}

static void
compare_calls (Pair *pair)
{
  g_assert_cmpuint (pair->calls->len, ==, pair->naive.calls->len);
  for (guint i = 0; i < pair->calls->len; i++)
    {
      const NaiveCall *ours = &g_array_index (pair->calls, NaiveCall, i);
      const NaiveCall *theirs = &g_array_index (pair->naive.calls, NaiveCall, i);

      g_assert_cmpint (ours->what, ==, theirs->what);
      g_assert_cmphex (ours->addr, ==, theirs->addr);
      g_assert_cmpuint (ours->size, ==, theirs->size);
    }
  pair->n_calls += pair->calls->len;
  g_array_set_size (pair->calls, 0);
  g_array_set_size (pair->naive.calls, 0);
}

static void
compare_figures (Pair *pair)
{
  TesseraError error = { 0 };
  uint64_t active = 0, allocated = 0, requested = 0;

  for (guint i = 0; i < pair->naive.blocks->len; i++)
    {
      const NaiveBlock *block = &g_array_index (pair->naive.blocks, NaiveBlock, i);

      active += block->state != NAIVE_FREE ? block->size : 0;
      requested += block->state != NAIVE_FREE ? block->requested : 0;
      allocated += block->state == NAIVE_LIVE ? block->size : 0;
    }
  TesseraCachingStats stats = *tessera_caching_stats (pair->caching);
  g_assert_cmpuint (stats.reserved_bytes, ==, naive_reserved (&pair->naive));
  g_assert_cmpuint (stats.active_bytes, ==, active);
  g_assert_cmpuint (stats.allocated_bytes, ==, allocated);
  g_assert_cmpuint (stats.requested_bytes, ==, requested);
  g_assert_cmpuint (stats.n_retries, ==, pair->naive.n_retries);
  tessera_caching_check (pair->caching, &error);
  g_assert_cmpstr (error.text, ==, "");
}

/* What was mapped for a request, where nothing had to go for it, is what was told before. */
static void
check_growth (const Pair *pair, uint64_t growth)
{
  uint64_t mapped = 0;

  for (guint i = 0; i < pair->calls->len; i++)
    {
      const NaiveCall *call = &g_array_index (pair->calls, NaiveCall, i);

      if (call->what != 'm')
        return;
      mapped += call->size;
    }
  g_assert_cmpuint (growth, ==, mapped);
}

static void
do_malloc (Pair *pair)
{
  uint64_t size = made_request_bytes (pair->rand);
  uint32_t stream = made_stream (pair->rand);
  uint32_t pool = made_pool (pair->rand);
  TesseraGrant ours, theirs;
  uint64_t growth = tessera_caching_growth (pair->caching, size, stream, pool);
  uint64_t n_retries = tessera_caching_stats (pair->caching)->n_retries;
  TesseraStatus status =
      tessera_caching_malloc (pair->caching, size, stream, pool, &ours);

  if (pair->naive.options.settings.is_expandable && status == TESSERA_OK &&
      n_retries == tessera_caching_stats (pair->caching)->n_retries)
    check_growth (pair, growth);
  g_assert_cmpint (status, ==, naive_malloc (&pair->naive, size, stream, pool, &theirs));
  g_assert_cmphex (ours.addr, ==, theirs.addr);
  g_assert_cmpuint (ours.block_bytes, ==, theirs.block_bytes);
  if (status == TESSERA_OK)
    g_array_append_val (pair->live, ours.addr);
  else
    pair->n_ooms++;
}

static void
do_free (Pair *pair)
{
  guint i = (guint) g_rand_int_range (pair->rand, 0, (gint32) pair->live->len);
  uint64_t addr = g_array_index (pair->live, uint64_t, i);

  g_array_remove_index_fast (pair->live, i);
  OK (tessera_caching_free_requested (pair->caching, addr));
  naive_free_requested (&pair->naive, addr);
}

static void
do_complete (Pair *pair)
{
  guint i = (guint) g_rand_int_range (pair->rand, 0, (gint32) pair->naive.waiting->len);
  uint64_t addr = g_array_index (pair->naive.waiting, uint64_t, i);

  OK (tessera_caching_free_completed (pair->caching, addr));
  naive_free_completed (&pair->naive, addr);
}

static void
do_rare (Pair *pair)
{
  uint32_t pool = (uint32_t) g_rand_int_range (pair->rand, 1, MADE_N_POOLS);

  switch (g_rand_int_range (pair->rand, 0, 3))
    {
    case 0:
      tessera_caching_empty_cache (pair->caching);
      naive_empty_cache (&pair->naive);
      break;
    case 1:
      pair->naive.is_routed = !pair->naive.is_routed;
      tessera_caching_set_routed (pair->caching, pair->naive.is_routed);
      break;
    default:
      if (tessera_caching_release_pool (pair->caching, pool) == TESSERA_OK)
        pair->naive.is_unused[pool] = true;
      break;
    }
}

static void
run_history (guint32 seed, uint64_t *n_ooms, uint64_t *n_calls)
{
  Pair pair;

  pair_open (&pair, seed);
  for (guint i = 0; i < N_OPERATIONS; i++)
    {
      double kind = g_rand_double (pair.rand);

      /* Where a driver puts what comes later is below what came before as often as not. */
      if (seed % 2 == 0)
        pair.device.next_addr = pair.naive.device.next_addr =
            (uint64_t) (N_OPERATIONS - i) * ADDRESSES_OF_OPERATION;

      if (kind < 0.02)
        do_rare (&pair);
      else if (kind < 0.35 && pair.live->len > 0)
        do_free (&pair);
      else if (kind < 0.66 && pair.naive.waiting->len > 0)
        do_complete (&pair);
      else
        do_malloc (&pair);
      compare_calls (&pair);
      if (i % 16 == 0 || i + 1 == N_OPERATIONS)
        compare_figures (&pair);
    }
  *n_ooms += pair.n_ooms;
  *n_calls += pair.n_calls;
  tessera_caching_free (pair.caching);
  naive_close (&pair.naive);
  g_array_unref (pair.calls);
  g_array_unref (pair.live);
  g_rand_free (pair.rand);
}

static void
test_random_histories (void)
{
  uint64_t n_ooms = 0, n_calls = 0;

  for (guint32 seed = 1; seed <= N_HISTORIES; seed++)
    {
      g_test_message ("seed %u", seed);
      run_history (seed, &n_ooms, &n_calls);
    }
  g_test_message ("%" G_GUINT64_FORMAT " ooms, %" G_GUINT64_FORMAT " device calls",
                  n_ooms, n_calls);
  /* The histories must reach what they are meant to reach. */
  g_assert_cmpuint (n_ooms, >, 100);
  g_assert_cmpuint (n_calls, >, 2000);
}

typedef struct
{
  TesseraVirtual device;
  TesseraCaching *caching;
} Bench;

static void
bench_open (Bench *bench, const TesseraCachingOptions *options, uint64_t device_bytes)
{
  *bench = (Bench){ 0 };
  tessera_virtual_init (&bench->device, device_bytes);
  OK (tessera_caching_new (options, &bench->device.device, NULL, &bench->caching));
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
take (Bench *bench, uint64_t size_bytes)
{
  TesseraGrant grant;
  TesseraStatus status =
      tessera_caching_malloc (bench->caching, size_bytes, 0, 0, &grant);

  if (status == TESSERA_OUT_OF_DEVICE)
    return 0;
  OK (status);
  return grant.addr;
}

static void
give (Bench *bench, uint64_t addr)
{
  OK (tessera_caching_free_requested (bench->caching, addr));
  OK (tessera_caching_free_completed (bench->caching, addr));
}

static void
test_unknown_frees (void)
{
  TesseraCachingOptions options = default_options ();
  Bench bench;

  bench_open (&bench, &options, 0);
  uint64_t a = take (&bench, 512);
  GIVES (TESSERA_INVALID, tessera_caching_free_completed (bench.caching, a));
  GIVES (TESSERA_INVALID, tessera_caching_free_requested (bench.caching, a + 512));
  GIVES (TESSERA_INVALID, tessera_caching_free_requested (bench.caching, 0));
  give (&bench, a);
  GIVES (TESSERA_INVALID, tessera_caching_free_requested (bench.caching, a));
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
  GIVES (TESSERA_INVALID, tessera_caching_malloc (bench.caching, 0, 0, 0, &grant));
  GIVES (TESSERA_INVALID, tessera_caching_malloc (bench.caching, 1, 0, 1 << 16, &grant));
  g_assert_cmphex (take (&bench, UINT64_MAX), ==, 0);
  g_assert_cmphex (take (&bench, (uint64_t) 1 << 60), ==, 0);
  for (uint32_t pool = 0; pool < 3; pool++) /* the common one, and two that nobody used */
    GIVES (TESSERA_INVALID, tessera_caching_release_pool (bench.caching, pool));
  OK (tessera_trace_new (&trace));
  GIVES (TESSERA_INVALID, tessera_caching_seed (bench.caching, trace, NULL));
  tessera_trace_free (trace);
  bench_close (&bench);
  options.settings.large_segment_bytes = 0;
  GIVES (TESSERA_INVALID,
         tessera_caching_new (&options, &bench.device.device, NULL, &bench.caching));
}

static void
assert_noticed (Bench *bench)
{
  TesseraError error = { 0 };

  GIVES (TESSERA_INVALID, tessera_caching_check (bench->caching, &error));
  g_assert_cmpstr (error.text, !=, "");
}

/* The check must be able to fail: each kind of damage is done and undone. */
static void
test_check_notices (void)
{
  TesseraCachingOptions options = default_options ();
  Bench bench;

  bench_open (&bench, &options, 0);
  take (&bench, 3 * MIB);
  give (&bench, take (&bench, 5 * MIB));
  bench.caching->stats.reserved_bytes++;
  assert_noticed (&bench);
  bench.caching->stats.reserved_bytes--;
  bench.caching->stats.active_bytes -= 512;
  assert_noticed (&bench);
  bench.caching->stats.active_bytes += 512;
  CachingBlock *block = bench.caching->first_chain->first;
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

      g_assert_cmpuint (nth, <, 1000);
      tessera_virtual_init (&bench.device, 1500 * MIB);
      tessera_fail_alloc_at (nth);
      TesseraStatus status =
          tessera_caching_new (&options, &bench.device.device, NULL, &bench.caching);
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
  g_test_add_func ("/caching/random-histories", test_random_histories);
  g_test_add_func ("/caching/rounding", test_rounding);
  g_test_add_func ("/caching/unknown-frees", test_unknown_frees);
  g_test_add_func ("/caching/check-notices", test_check_notices);
  g_test_add_func ("/caching/failing-host", test_failing_host);
  g_test_add_func ("/caching/refusals", test_refusals);
  return g_test_run ();
}
