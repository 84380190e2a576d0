/*
 * Tests of the policies over the virtual device; and of a whole run over a device that
 * refuses, at every call that it can refuse: nothing is handed out twice, nothing is lost,
 * requests are served or fail as "out of memory", and what is asked for once the device
 * gives again is served.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/policy.h"

#include <glib.h>

#include "tests/allocator/check.h"
#include "tests/allocator/program.h"
#include "tests/fail_alloc.h"
#include "tests/ok.h"

#define SEED 20261121
#define MIB ((uint64_t) 1 << 20)
#define KIB ((uint64_t) 1 << 10)

static TesseraPolicyOptions
make_options (TesseraPolicyKind kind)
{
  return (TesseraPolicyOptions){
    .kind = kind,
    .caching = { .settings = { .max_split_bytes = UINT64_MAX,
                               .large_segment_bytes = 20 * MIB } },
  };
}

static TesseraPolicyGrant
take (TesseraPolicy *policy, uint64_t size_bytes, uint32_t stream, uint32_t pool)
{
  TesseraPolicyGrant grant;

  OK (tessera_policy_malloc (policy, size_bytes, stream, pool, &grant));
  return grant;
}

static void
give_back (TesseraPolicy *policy, uint64_t addr)
{
  OK (tessera_policy_free_requested (policy, addr));
  GIVES (TESSERA_INVALID, tessera_policy_free_requested (policy, addr));
  OK (tessera_policy_free_completed (policy, addr));
  GIVES (TESSERA_INVALID, tessera_policy_free_completed (policy, addr));
}

static TesseraPolicyStats
check_sums (TesseraPolicy *policy, const TesseraVirtual *device)
{
  TesseraPolicyStats stats = program_check_sums (policy);

  g_assert_cmpuint (device->used_bytes, ==, stats.caching.reserved_bytes);
  g_assert_cmpuint (stats.caching.peak_reserved_bytes, ==, device->peak_used_bytes);
  g_assert_cmpuint (stats.extra_bytes, ==, stats.caching.reserved_bytes);
  return stats;
}

/* Large ones each of their own, small ones together; nothing is kept. */
static void
test_direct (void)
{
  const TesseraPolicyOptions options = make_options (TESSERA_POLICY_DIRECT);
  uint64_t addrs[4];

  TesseraVirtual device = program_device (0);
  g_autoptr (TesseraPolicy) policy = program_open (&options, &device.device);
  g_assert_null (tessera_policy_caching (policy));
  addrs[0] = take (policy, MIB, 0, 0).grant.addr;
  g_assert_cmpuint (device.used_bytes, ==, MIB);
  addrs[1] = take (policy, 3 * MIB + 1, 1, 0).grant.addr;
  g_assert_cmpuint (device.used_bytes, ==, 4 * MIB + 512);
  addrs[2] = take (policy, MIB - 512, 0, 0).grant.addr;
  addrs[3] = take (policy, 5000, 0, 0).grant.addr;
  g_assert_cmpuint (device.used_bytes, ==, 6 * MIB + 512);
  TesseraPolicyStats stats = check_sums (policy, &device);
  g_assert_cmpuint (stats.caching.requested_bytes, ==, 5 * MIB + 4489);
  for (guint i = 0; i < 4; i++)
    {
      give_back (policy, addrs[i]);
      check_sums (policy, &device);
    }
  g_assert_cmpuint (device.used_bytes, ==, 0);
  GIVES (TESSERA_INVALID, tessera_policy_free_requested (policy, 0));
  tessera_policy_reset_peaks (policy);
  stats = program_look (policy);
  g_assert_cmpuint (stats.caching.peak_reserved_bytes, ==, 0);
  g_assert_cmpuint (stats.caching.peak_allocated_bytes, ==, 0);
}

/* Reserved is never above what lives, but for the rest of the slabs. */
static void
test_direct_random (void)
{
  const TesseraPolicyOptions options = make_options (TESSERA_POLICY_DIRECT);
  g_autoptr (GRand) rand = g_rand_new_with_seed (SEED);
  g_autoptr (GArray) live = g_array_new (FALSE, FALSE, sizeof (uint64_t));

  g_test_message ("seed %d", SEED);
  TesseraVirtual device = program_device (0);
  g_autoptr (TesseraPolicy) policy = program_open (&options, &device.device);
  for (int n = 0; n < 3000; n++)
    if (live->len == 0 || g_rand_int_range (rand, 0, 100) < (n / 1000 == 1 ? 40 : 55))
      {
        uint64_t size =
            (uint64_t) g_rand_int_range (rand, 1, n % 2 == 0 ? 9000000 : 9000);
        uint64_t addr =
            take (policy, size, (uint32_t) g_rand_int_range (rand, 0, 3), 0).grant.addr;

        g_array_append_val (live, addr);
      }
    else
      {
        guint i = (guint) g_rand_int_range (rand, 0, (gint32) live->len);

        give_back (policy, g_array_index (live, uint64_t, i));
        g_array_remove_index_fast (live, i);
        if (n % 50 == 0)
          check_sums (policy, &device);
      }
  for (guint i = 0; i < live->len; i++)
    give_back (policy, g_array_index (live, uint64_t, i));
  TesseraPolicyStats stats = check_sums (policy, &device);
  g_assert_cmpuint (stats.caching.reserved_bytes, ==, 0);
  g_assert_cmpuint (device.n_allocated, >, 500);
  g_assert_cmpuint (device.n_allocated, ==, device.n_released);
}

typedef struct
{
  TesseraPolicy *policy;
  uint64_t pending;
} Waiting;

static void
complete_pending (void *user)
{
  Waiting *waiting = user;

  if (waiting->pending != 0)
    OK (tessera_policy_free_completed (waiting->policy, waiting->pending));
  waiting->pending = 0;
}

/* What is pending is waited for; then the device has the last word, or the limit. */
static void
test_direct_out_of_memory (void)
{
  const TesseraPolicyOptions options = make_options (TESSERA_POLICY_DIRECT);
  Waiting waiting = { 0 };
  TesseraPolicyGrant grant;

  TesseraVirtual device = program_device (32 * MIB);
  device.synchronize = complete_pending;
  device.user = &waiting;
  waiting.policy = program_open (&options, &device.device);
  waiting.pending = take (waiting.policy, 20 * MIB, 0, 0).grant.addr;
  OK (tessera_policy_free_requested (waiting.policy, waiting.pending));
  give_back (waiting.policy, take (waiting.policy, 30 * MIB, 0, 0).grant.addr);
  g_assert_cmpuint (waiting.pending, ==, 0);
  GIVES (TESSERA_OUT_OF_DEVICE,
         tessera_policy_malloc (waiting.policy, 33 * MIB, 0, 0, &grant));
  g_assert_cmpuint (grant.grant.addr, ==, 0);
  TesseraPolicyStats stats = check_sums (waiting.policy, &device);
  g_assert_cmpuint (stats.caching.n_retries, ==, 2);
  g_assert_cmpuint (stats.caching.n_ooms, ==, 1);
  GIVES (TESSERA_OUT_OF_DEVICE,
         tessera_policy_malloc (waiting.policy, UINT64_MAX, 0, 0, &grant));

  /* Slabs and segments count together. */
  tessera_policy_set_limit (waiting.policy, 4 * MIB);
  give_back (waiting.policy, take (waiting.policy, 4 * MIB, 0, 0).grant.addr);
  take (waiting.policy, 3 * MIB, 0, 0);
  GIVES (TESSERA_OUT_OF_DEVICE,
         tessera_policy_malloc (waiting.policy, 512, 0, 0, &grant));
  GIVES (TESSERA_OUT_OF_DEVICE,
         tessera_policy_malloc (waiting.policy, 2 * MIB, 0, 0, &grant));
  tessera_policy_set_limit (waiting.policy, 5 * MIB);
  take (waiting.policy, 512, 0, 0);
  check_sums (waiting.policy, &device);
  tessera_policy_free (waiting.policy);
}

/* A captured graph uses its blocks after they are freed. */
static void
test_direct_private_pool (void)
{
  const TesseraPolicyOptions options = make_options (TESSERA_POLICY_DIRECT);

  TesseraVirtual device = program_device (0);
  g_autoptr (TesseraPolicy) policy = program_open (&options, &device.device);
  give_back (policy, take (policy, 30 * MIB, 0, 3).grant.addr);
  give_back (policy, take (policy, 512, 0, 3).grant.addr);
  tessera_policy_empty_cache (policy);
  g_assert_cmpuint (device.used_bytes, ==, 32 * MIB);
  OK (tessera_policy_release_pool (policy, 3));
  tessera_policy_empty_cache (policy);
  g_assert_cmpuint (device.used_bytes, ==, 0);
}

/* Settings that cannot be, and every allocation that can fail. */
static void
test_refusals (gconstpointer user)
{
  TesseraPolicyOptions options =
      make_options ((TesseraPolicyKind) GPOINTER_TO_INT (user));
  const uint64_t handles[] = { 0, 7 };
  long held = tessera_fail_alloc_held ();
  TesseraVirtual device;
  TesseraPolicy *policy;
  TesseraError error;
  unsigned nth = 1;

  options.caching.stream_handles = handles;
  options.caching.n_streams = G_N_ELEMENTS (handles);
  for (;; nth++)
    {
      TesseraPolicyGrant grant;

      error = (TesseraError){ 0 };
      device = program_device (0);
      tessera_fail_alloc_at (nth);
      TesseraStatus status =
          tessera_policy_new (&options, &device.device, NULL, &error, &policy);
      for (uint32_t i = 0; status == TESSERA_OK && i < 40; i++)
        status =
            tessera_policy_malloc (policy, i % 2 == 0 ? 3 * MIB : 3000, i % 2, 0, &grant);
      bool has_failed = tessera_fail_alloc_stop ();
      g_assert_cmpint (status, ==, has_failed ? TESSERA_NO_MEMORY : TESSERA_OK);
      if (policy == NULL)
        g_assert_cmpstr (error.text, !=, "");
      else
        OK (tessera_policy_check (policy, &error));
      tessera_policy_free (policy);
      g_assert_cmpint (tessera_fail_alloc_held (), ==, held);
      if (!has_failed)
        break;
    }
  g_assert_cmpuint (nth, >, 5);

  options.caching.settings.large_segment_bytes = 0;
  error = (TesseraError){ 0 };
  GIVES (TESSERA_INVALID,
         tessera_policy_new (&options, &device.device, NULL, &error, &policy));
  g_assert_null (policy);
  g_assert_cmpstr (error.text, !=, "");
  tessera_policy_free (NULL);
}

enum
{
  N_STEPS = 3, /* with the last of which the device gives again */
  N_SLOTS = 24,
  POOL_MIB = 16,
  DEVICE_MIB = 40,
  A_FEW = 5, /* refusals in a row */
  ALL_THAT_COME = 1 << 30
};

/* Slots of few and many pages, beside each other. */
static MadePlan *
make_plan (void)
{
  static const uint64_t sizes[] = { 40 * KIB, 300 * KIB, 1100 * KIB, 900 * KIB };
  MadePlan *made = g_new0 (MadePlan, 1);
  uint64_t at_bytes = 0;

  for (guint i = 0; i < N_SLOTS; i++)
    {
      made_plan_add_slot (made, sizes[i % G_N_ELEMENTS (sizes)], 0, at_bytes);
      at_bytes += sizes[i % G_N_ELEMENTS (sizes)];
    }
  g_assert_cmpuint (at_bytes, <=, POOL_MIB * MIB);
  made_plan_finish (made, POOL_MIB * MIB);
  return made;
}

/* Of the plan, with strangers between, of which some stay. */
static void
run_step (Program *program, GRand *rand, const MadePlan *made)
{
  const TesseraSlot small = { .size_bytes = 4096, .block_bytes = 4096 };
  const TesseraSlot large = { .size_bytes = 3 * MIB, .block_bytes = 3 * MIB };

  tessera_policy_step (program->policy);
  for (guint i = 0; i < N_SLOTS; i++)
    {
      program_ask (program, &made->slots[i], 0, 0);
      if (i % 8 == 3)
        program_ask (program, i % 16 == 3 ? &small : &large, i % 3 == 0, 0);
      if (i % 6 == 5)
        program_free_some (program, rand);
      program_check_sums (program->policy);
    }
}

static guint
n_granted (const Program *program)
{
  return program->live->len + program->pending->len;
}

/* Returns: whether the device was asked often enough to refuse. */
static bool
run (TesseraPolicyKind kind, guint refuses_from, guint n_to_refuse)
{
  g_autofree MadePlan *made = make_plan ();
  g_autoptr (GRand) rand = g_rand_new_with_seed (refuses_from);
  TesseraPolicyOptions options = made_plan_options (made);
  Program program;
  Books *books = &program.books;
  guint n_held;

  options.kind = kind;
  program_init (&program, DEVICE_MIB * MIB);
  books->fails_after = refuses_from - 1;
  books->n_to_fail = n_to_refuse;
  books->fails_with = refuses_from % 2 == 0 ? TESSERA_OUT_OF_DEVICE : TESSERA_IO;
  if (refuses_from == 1 && kind == TESSERA_POLICY_PLAN)
    {
      TesseraError error = { 0 };

      g_assert_cmpint (
          tessera_policy_new (&options, &books->device, NULL, &error, &program.policy),
          ==, books->fails_with);
      g_assert_null (program.policy);
      g_assert_cmpstr (error.text, !=, "");
      g_assert_cmpuint (books->used_bytes, ==, 0);
      g_assert_cmpuint (books->n_reserved, ==, 0);
      program_clear (&program);
      return true;
    }
  program_start (&program, &options);
  for (guint step = 0; step < N_STEPS - 1; step++)
    run_step (&program, rand, made);

  books->n_to_fail = 0;
  program_free_all (&program);
  tessera_policy_step (program.policy);
  for (guint i = 0; i < N_SLOTS; i++)
    {
      n_held = n_granted (&program);
      program_ask (&program, &made->slots[i], 0, 0);
      g_assert_cmpuint (n_granted (&program), ==, n_held + 1);
    }
  program_free_all (&program);
  tessera_policy_empty_cache (program.policy);
  TesseraPolicyStats stats = program_check_sums (program.policy);
  g_assert_cmpuint (stats.caching.allocated_bytes, ==, 0);
  g_assert_cmpuint (stats.extra_bytes, ==, 0);
  g_assert_cmpuint (books->used_bytes, ==, stats.pool_bytes);
  g_assert_cmpuint (books->peak_used_bytes, ==, stats.caching.peak_reserved_bytes);
  bool has_failed = books->n_failed > 0;
  program_clear (&program);
  return has_failed;
}

static void
test_kind (gconstpointer user)
{
  const guint lengths[] = { 1, A_FEW, ALL_THAT_COME };
  TesseraPolicyKind kind = (TesseraPolicyKind) GPOINTER_TO_INT (user);

  for (size_t i = 0; i < G_N_ELEMENTS (lengths); i++)
    {
      guint nth = 1;

      for (; run (kind, nth, lengths[i]); nth++)
        g_test_message ("%u refusals from call %u on", lengths[i], nth);
      g_assert_cmpuint (nth, >, 5);
    }
}

int
main (int argc, char **argv)
{
  const struct
  {
    const char *name;
    TesseraPolicyKind kind;
  } kinds[] = { { "native", TESSERA_POLICY_NATIVE },
                { "expandable", TESSERA_POLICY_EXPANDABLE },
                { "direct", TESSERA_POLICY_DIRECT } };

  g_test_init (&argc, &argv, NULL);
  for (size_t i = 0; i < G_N_ELEMENTS (kinds); i++)
    {
      g_autofree char *faults = g_strdup_printf ("/policy/%s/refusals", kinds[i].name);

      g_test_add_data_func (faults, GINT_TO_POINTER (kinds[i].kind), test_refusals);
    }
  g_test_add_func ("/policy/direct/figures", test_direct);
  g_test_add_func ("/policy/direct/random", test_direct_random);
  g_test_add_func ("/policy/direct/out-of-memory", test_direct_out_of_memory);
  g_test_add_func ("/policy/direct/private-pool", test_direct_private_pool);
  g_test_add_data_func ("/faults/plan", GINT_TO_POINTER (TESSERA_POLICY_PLAN), test_kind);
  g_test_add_data_func ("/faults/native", GINT_TO_POINTER (TESSERA_POLICY_NATIVE),
                        test_kind);
  g_test_add_data_func ("/faults/expandable", GINT_TO_POINTER (TESSERA_POLICY_EXPANDABLE),
                        test_kind);
  g_test_add_data_func ("/faults/direct", GINT_TO_POINTER (TESSERA_POLICY_DIRECT),
                        test_kind);
  return g_test_run ();
}
