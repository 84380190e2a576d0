/*
 * What the caching allocator refuses, and that its check notices damage; its rules are
 * those of a second implementation (caching-random-test.c).
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
} Bench;

static void
bench_open (Bench *bench, const TesseraCachingOptions *options, uint64_t device_bytes)
{
  *bench = (Bench){ 0 };
  tessera_virtual_init (&bench->device, device_bytes);
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
take (Bench *bench, uint64_t size_bytes)
{
  TesseraGrant grant;
  TesseraStatus status =
      tessera_caching_malloc (bench->caching, size_bytes, 0, 0, &grant);

  if (status == TESSERA_OUT_OF_DEVICE)
    return 0;
  g_assert_cmpint (status, ==, TESSERA_OK);
  return grant.addr;
}

static void
give (Bench *bench, uint64_t addr)
{
  g_assert_cmpint (tessera_caching_free_requested (bench->caching, addr), ==, TESSERA_OK);
  g_assert_cmpint (tessera_caching_free_completed (bench->caching, addr), ==, TESSERA_OK);
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
  for (uint32_t pool = 0; pool < 3; pool++) /* the common one, and two that nobody used */
    g_assert_cmpint (tessera_caching_release_pool (bench.caching, pool), ==,
                     TESSERA_INVALID);
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
  g_test_add_func ("/caching/unknown-frees", test_unknown_frees);
  g_test_add_func ("/caching/check-notices", test_check_notices);
  g_test_add_func ("/caching/failing-host", test_failing_host);
  g_test_add_func ("/caching/refusals", test_refusals);
  return g_test_run ();
}
