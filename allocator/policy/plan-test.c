/*
 * Tests of following a plan: what is handed out, what is refused, what is counted.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/policy.h"

#include <glib.h>
#include <string.h>

#include "allocator/host.h"
#include "allocator/policy/oracle.h"
#include "allocator/virtual.h"
#include "tests/fail_alloc.h"

#define SEED 20261123
#define MIB ((uint64_t) 1 << 20)
#define MAX_SLOTS 300

typedef struct
{
  TesseraPlan plan;
  TesseraSection section;
  TesseraSlot slots[MAX_SLOTS];
} Planned;

static void
finish_plan (Planned *made, uint64_t height_bytes)
{
  TesseraPlan *plan = &made->plan;

  plan->slots = made->slots;
  plan->sections = &made->section;
  plan->n_sections = 1;
  plan->n_positions = (uint32_t) plan->n_slots * 2;
  plan->height_bytes = height_bytes;
  plan->alignment_bytes = 512;
  plan->followable = TESSERA_FOLLOWABLE_YES;
  made->section = (TesseraSection){ .end = plan->n_positions,
                                    .n_slots = (uint32_t) plan->n_slots,
                                    .kind = TESSERA_SECTION_REPEATS };
}

static void
add_slot (Planned *made, uint64_t block_bytes, uint32_t stream, uint64_t offset_bytes)
{
  uint32_t n = (uint32_t) made->plan.n_slots++;

  made->slots[n] = (TesseraSlot){ .size_bytes = block_bytes,
                                  .block_bytes = block_bytes,
                                  .offset_bytes = offset_bytes,
                                  .born = 2 * n,
                                  .died = 2 * n + 2,
                                  .phase = TESSERA_NONE,
                                  .group = TESSERA_NONE,
                                  .stream = (uint16_t) stream,
                                  .lifetime_class = TESSERA_CLASS_TRANSIENT };
  if (made->plan.n_streams <= stream)
    made->plan.n_streams = stream + 1;
}

/* Three blocks beside each other, of two streams. */
static Planned *
new_small_plan (void)
{
  Planned *made = g_new0 (Planned, 1);

  add_slot (made, 4 * MIB, 0, 0);
  add_slot (made, 2 * MIB, 1, 4 * MIB);
  add_slot (made, 1024, 0, 6 * MIB);
  finish_plan (made, 7 * MIB);
  return made;
}

/* What no planner would make and no checker pass: places at random, so that the guard is
 * asked for every wrong thing. */
static Planned *
new_hostile_plan (GRand *rand, uint64_t height_bytes)
{
  static const uint64_t sizes[] = { 512,     1536,      40960,       300 * 1024,
                                    1 * MIB, MIB + 512, 3 * MIB / 2, 3 * MIB };
  Planned *made = g_new0 (Planned, 1);

  for (guint i = 0; i < MAX_SLOTS; i++)
    {
      uint64_t size = sizes[g_rand_int_range (rand, 0, G_N_ELEMENTS (sizes))];
      gint32 n_places = (gint32) ((height_bytes - size) / (128 * 1024));

      add_slot (made, size, (uint32_t) g_rand_int_range (rand, 0, 3),
                (uint64_t) g_rand_int_range (rand, 0, n_places) * (128 * 1024));
      made->slots[i].died =
          made->slots[i].born + (uint32_t) g_rand_int_range (rand, 1, 9);
    }
  finish_plan (made, height_bytes);
  for (guint i = 0; i < MAX_SLOTS; i++)
    made->slots[i].died = MIN (made->slots[i].died, made->plan.n_positions);
  return made;
}

static TesseraPolicyOptions
make_options (const Planned *made)
{
  return (TesseraPolicyOptions){
    .kind = TESSERA_POLICY_PLAN,
    .caching = { .settings = { .max_split_bytes = UINT64_MAX,
                               .large_segment_bytes = 20 * MIB } },
    .plan = &made->plan,
  };
}

static TesseraPolicy *
new_policy (const TesseraPolicyOptions *options, TesseraDevice *device)
{
  TesseraError error = { 0 };
  TesseraPolicy *policy;

  if (tessera_policy_new (options, device, NULL, &error, &policy) != TESSERA_OK)
    g_error ("%s", error.text);
  return policy;
}

static TesseraPolicyGrant
take (TesseraPolicy *policy, uint64_t size_bytes, uint32_t stream)
{
  TesseraPolicyGrant grant;

  g_assert_cmpint (tessera_policy_malloc (policy, size_bytes, stream, 0, &grant), ==,
                   TESSERA_OK);
  return grant;
}

static void
give_back (TesseraPolicy *policy, TesseraPolicyGrant grant)
{
  g_assert_cmpint (tessera_policy_free_requested (policy, grant.grant.addr), ==,
                   TESSERA_OK);
  g_assert_cmpint (tessera_policy_free_completed (policy, grant.grant.addr), ==,
                   TESSERA_OK);
}

static void
add_block (void *user, const TesseraBlockInfo *info)
{
  TesseraCachingStats *sums = user;

  sums->reserved_bytes += info->block_bytes;
  if (info->state != TESSERA_BLOCK_FREE)
    sums->active_bytes += info->block_bytes;
  if (info->state == TESSERA_BLOCK_LIVE)
    sums->allocated_bytes += info->block_bytes;
  sums->requested_bytes += info->size_bytes;
}

/* What each() tells sums to what the figures say. */
static TesseraPolicyStats
check_sums (TesseraPolicy *policy)
{
  TesseraCachingStats sums = { 0 };
  TesseraPolicyStats stats;
  TesseraError error = { 0 };

  if (tessera_policy_check (policy, &error) != TESSERA_OK)
    g_error ("%s", error.text);
  tessera_policy_each (policy, add_block, &sums);
  tessera_policy_get_stats (policy, &stats);
  g_assert_cmpuint (stats.caching.reserved_bytes, ==, sums.reserved_bytes);
  g_assert_cmpuint (stats.caching.active_bytes, ==, sums.active_bytes);
  g_assert_cmpuint (stats.caching.allocated_bytes, ==, sums.allocated_bytes);
  g_assert_cmpuint (stats.caching.requested_bytes, ==, sums.requested_bytes);
  g_assert_cmpuint (stats.caching.reserved_bytes, ==,
                    stats.pool_bytes + stats.extra_bytes);
  g_assert_cmpuint (stats.caching.peak_allocated_bytes, >=, sums.allocated_bytes);
  g_assert_cmpuint (stats.caching.peak_reserved_bytes, >=, sums.reserved_bytes);
  return stats;
}

static void
test_follows (void)
{
  g_autofree Planned *made = new_small_plan ();
  TesseraPolicyOptions options = make_options (made);
  TesseraVirtual device;
  TesseraPolicy *policy;
  TesseraPolicyStats stats;
  TesseraPolicyGrant grants[3];
  TesseraPolicyGrant extra;

  tessera_virtual_init (&device, 100 * MIB);
  policy = new_policy (&options, &device.device);
  g_assert_null (tessera_policy_caching (policy));
  g_assert_cmpuint (device.used_bytes, ==, 7 * MIB);
  for (guint step = 0; step < 4; step++)
    {
      for (guint i = 0; i < 3; i++)
        {
          grants[i] = take (policy, made->slots[i].size_bytes - 1, made->slots[i].stream);
          tessera_policy_get_stats (policy, &stats);
          g_assert_true (grants[i].is_hit);
          g_assert_cmpuint (grants[i].slot, ==, i);
          g_assert_cmpuint (grants[i].grant.addr, ==,
                            stats.pool_addr + made->slots[i].offset_bytes);
          g_assert_cmpuint (grants[i].grant.block_bytes, ==, made->slots[i].block_bytes);
        }
      /* Not planned: outside the pool. */
      extra = take (policy, 9 * MIB, 0);
      g_assert_false (extra.is_hit);
      g_assert_cmpuint (extra.slot, ==, TESSERA_NONE);
      g_assert_true (extra.grant.addr < stats.pool_addr ||
                     extra.grant.addr >= stats.pool_addr + 7 * MIB);
      g_assert_cmpint (tessera_policy_free_completed (policy, grants[0].grant.addr), ==,
                       TESSERA_INVALID);
      stats = check_sums (policy);
      give_back (policy, extra);
      for (guint i = 0; i < 3; i++)
        give_back (policy, grants[i]);
      tessera_policy_step (policy);
    }
  g_assert_cmpuint (stats.pool_bytes, ==, 7 * MIB);
  g_assert_cmpuint (stats.extra_bytes, ==, 20 * MIB);
  g_assert_cmpuint (stats.follower.hits, ==, 12);
  g_assert_cmpuint (stats.follower.misses, ==, 4);
  g_assert_cmpuint (stats.misses_unordered, ==, 0);
  g_assert_cmpuint (stats.caching.peak_allocated_bytes, ==, 15 * MIB + 1024);
  g_assert_cmpuint (stats.caching.peak_active_bytes, ==, 15 * MIB + 1024);
  g_assert_cmpuint (stats.caching.peak_requested_bytes, ==, 15 * MIB + 1024 - 3);
  g_assert_cmpuint (stats.caching.peak_reserved_bytes, ==, 27 * MIB);
  g_assert_cmpint (tessera_policy_free_requested (policy, grants[0].grant.addr), ==,
                   TESSERA_INVALID);
  g_assert_cmpint (tessera_policy_free_requested (policy, stats.pool_addr + 6 * MIB + 5),
                   ==, TESSERA_INVALID);

  tessera_policy_empty_cache (policy);
  tessera_policy_reset_peaks (policy);
  tessera_policy_get_stats (policy, &stats);
  g_assert_cmpuint (stats.caching.peak_allocated_bytes, ==, 0);
  g_assert_cmpuint (stats.caching.peak_reserved_bytes, ==, 7 * MIB);
  g_assert_cmpuint (stats.peak_extra_bytes, ==, 0);
  g_assert_cmpuint (device.used_bytes, ==, 7 * MIB);
  tessera_policy_free (policy);
}

/* The pool counts against the limit. */
static void
test_limit (void)
{
  g_autofree Planned *made = new_small_plan ();
  TesseraPolicyOptions options = make_options (made);
  TesseraVirtual device;
  TesseraPolicy *policy;
  TesseraPolicyGrant grant;

  tessera_virtual_init (&device, 0);
  options.caching.limit_bytes = 27 * MIB;
  policy = new_policy (&options, &device.device);
  grant = take (policy, 8 * MIB, 0);
  give_back (policy, grant);
  tessera_policy_empty_cache (policy);
  tessera_policy_set_limit (policy, 27 * MIB - 1);
  g_assert_cmpint (tessera_policy_malloc (policy, 8 * MIB, 0, 0, &grant), ==,
                   TESSERA_OUT_OF_DEVICE);
  tessera_policy_set_limit (policy, MIB);
  g_assert_cmpint (tessera_policy_malloc (policy, 8 * MIB, 0, 0, &grant), ==,
                   TESSERA_OUT_OF_DEVICE);
  tessera_policy_set_limit (policy, 0);
  g_assert_cmpint (tessera_policy_malloc (policy, 90 * MIB, 0, 0, &grant), ==,
                   TESSERA_OK);
  tessera_policy_free (policy);
}

/* Memory that the plan does not use at the moment serves before the run ends. */
static void
test_rescue (void)
{
  g_autofree Planned *made = new_small_plan ();
  TesseraPolicyOptions options = make_options (made);
  TesseraVirtual device;
  TesseraPolicy *policy;
  TesseraPolicyStats stats;
  TesseraPolicyGrant first;
  TesseraPolicyGrant rescued;
  TesseraPolicyGrant grant;

  tessera_virtual_init (&device, 8 * MIB);
  policy = new_policy (&options, &device.device);
  first = take (policy, made->slots[0].size_bytes, 0);
  g_assert_true (first.is_hit);
  rescued = take (policy, 2 * MIB + 512, 0);
  tessera_policy_get_stats (policy, &stats);
  g_assert_false (rescued.is_hit);
  g_assert_cmpuint (rescued.slot, ==, TESSERA_NONE);
  g_assert_cmpuint (rescued.grant.addr, ==, stats.pool_addr + 4 * MIB);
  g_assert_cmpuint (stats.misses_rescued, ==, 1);
  g_assert_cmpuint (stats.caching.n_ooms, ==, 0);
  g_assert_cmpint (tessera_policy_malloc (policy, 2 * MIB, 0, 0, &grant), ==,
                   TESSERA_OUT_OF_DEVICE);
  /* Its slot is taken now, and there is no other place: the device has one page. */
  grant = take (policy, made->slots[2].size_bytes, 0);
  tessera_policy_get_stats (policy, &stats);
  g_assert_cmpuint (stats.misses_rescued, ==, 1 + !grant.is_hit);
  check_sums (policy);
  give_back (policy, rescued);
  give_back (policy, first);
  give_back (policy, grant);
  /* Of the other stream only what no one used: the last MiB but 512. */
  g_assert_cmpint (tessera_policy_malloc (policy, 3 * MIB, 1, 0, &grant), ==,
                   TESSERA_OUT_OF_DEVICE);
  stats = check_sums (policy);
  g_assert_cmpuint (stats.caching.n_ooms, ==, 2);
  g_assert_cmpuint (stats.caching.peak_allocated_bytes, ==, 6 * MIB + 512 + 1024);
  tessera_policy_free (policy);
}

static void
assert_refused (const TesseraPolicyOptions *options,
                TesseraDevice *device,
                TesseraStatus expected,
                const char *part)
{
  TesseraError error = { 0 };
  TesseraPolicy *policy;

  g_assert_cmpint (tessera_policy_new (options, device, NULL, &error, &policy), ==,
                   expected);
  g_assert_null (policy);
  g_assert_cmpint (error.status, ==, expected);
  g_assert_nonnull (strstr (error.text, part));
}

static void
test_refusals (void)
{
  g_autofree Planned *made = new_small_plan ();
  TesseraPolicyOptions options = make_options (made);
  TesseraVirtual device;
  TesseraDevice *door = &device.device;
  char reason[] = "it has no order";

  tessera_virtual_init (&device, 7 * MIB - 1);
  assert_refused (&options, door, TESSERA_OUT_OF_DEVICE, "does not give");
  tessera_virtual_init (&device, 7 * MIB);
  options.caching.limit_bytes = 6 * MIB;
  assert_refused (&options, door, TESSERA_OUT_OF_DEVICE, "may use");
  options.caching.limit_bytes = 0;
  tessera_policy_free (new_policy (&options, door));

  tessera_virtual_init (&device, 0);
  options.plan = NULL;
  assert_refused (&options, door, TESSERA_INVALID, "no plan");
  options.plan = &made->plan;
  made->plan.across_streams = 1;
  assert_refused (&options, door, TESSERA_REFUSED, "stream to stream");
  options.is_simulation = true;
  tessera_policy_free (new_policy (&options, door));
  options.is_simulation = false;
  made->plan.across_streams = 0;

  made->plan.followable = TESSERA_FOLLOWABLE_NO;
  made->plan.follow_reason = reason;
  assert_refused (&options, door, TESSERA_REFUSED, reason);
  made->plan.followable = TESSERA_FOLLOWABLE_YES;

  made->slots[1].offset_bytes += 256;
  assert_refused (&options, door, TESSERA_REFUSED, "multiples of 512");
  made->slots[1].offset_bytes -= 256;
  made->plan.alignment_bytes = 64;
  assert_refused (&options, door, TESSERA_REFUSED, "multiples of 512");
  made->plan.alignment_bytes = 512;

  made->slots[1].offset_bytes = 6 * MIB;
  assert_refused (&options, door, TESSERA_REFUSED, "damaged");
  made->slots[1].offset_bytes = 4 * MIB;
  tessera_policy_free (new_policy (&options, door));
}

typedef struct
{
  TesseraPolicyGrant grant;
  guint id;
} Held;

typedef struct
{
  TesseraPolicy *policy;
  Oracle *oracle;
  GArray *live, *pending;
  uint64_t pool_addr, pool_bytes;
  guint n_hits, n_in_pool;
} Run;

static void
complete (Run *run, guint i)
{
  Held held = g_array_index (run->pending, Held, i);

  g_array_remove_index_fast (run->pending, i);
  g_assert_true (oracle_done (run->oracle, held.id));
  g_assert_cmpint (tessera_policy_free_completed (run->policy, held.grant.grant.addr), ==,
                   TESSERA_OK);
}

static void
complete_all (void *user)
{
  Run *run = user;

  while (run->pending->len > 0)
    complete (run, 0);
}

static void
ask (Run *run, const TesseraSlot *like, uint32_t stream)
{
  const OracleRequest asked = { .block_bytes = like->block_bytes, .stream = stream };
  Held held;

  oracle_request (run->oracle, asked);
  if (tessera_policy_malloc (run->policy, like->size_bytes, stream, 0, &held.grant) !=
      TESSERA_OK)
    return;
  run->n_hits += held.grant.is_hit;
  if (held.grant.grant.addr - run->pool_addr < run->pool_bytes)
    {
      g_assert_cmpint (oracle_ask (run->oracle, held.grant.grant.addr, asked), ==,
                       ORACLE_GRANT);
      run->n_in_pool++;
    }
  held.id = oracle_grant (run->oracle, held.grant.grant.addr, asked);
  g_array_append_val (run->live, held);
}

/* Asks for what the plan has next, mostly; frees as it likes. */
static void
run_program (Run *run, GRand *rand, const Planned *made)
{
  for (guint n = 0; n < 3000; n++)
    {
      const TesseraSlot *slot = &made->slots[n % MAX_SLOTS];
      gint32 chance = g_rand_int_range (rand, 0, 100);

      if (n % MAX_SLOTS == 0)
        tessera_policy_step (run->policy);
      if (chance < 85)
        ask (run, slot, slot->stream);
      else if (chance < 95)
        ask (run, &made->slots[g_rand_int_range (rand, 0, MAX_SLOTS)],
             (uint32_t) g_rand_int_range (rand, 0, 3));
      while (run->live->len > (guint) g_rand_int_range (rand, 2, 12))
        {
          guint i = (guint) g_rand_int_range (rand, 0, (gint32) run->live->len);
          Held held = g_array_index (run->live, Held, i);

          g_array_remove_index_fast (run->live, i);
          g_assert_cmpint (
              tessera_policy_free_requested (run->policy, held.grant.grant.addr), ==,
              TESSERA_OK);
          g_array_append_val (run->pending, held);
        }
      while (run->pending->len > (guint) g_rand_int_range (rand, 0, 5))
        complete (run, 0);
      if (n % 500 == 0)
        check_sums (run->policy);
    }
}

/* Whatever the plan says, what is handed out is free and ordered, and nobody's content
 * changes. */
static void
test_random (void)
{
  for (guint seed = SEED; seed < SEED + 2; seed++)
    {
      g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
      g_autofree Planned *made = new_hostile_plan (rand, 24 * MIB);
      g_autoptr (GArray) live = g_array_new (FALSE, FALSE, sizeof (Held));
      g_autoptr (GArray) pending = g_array_new (FALSE, FALSE, sizeof (Held));
      g_autoptr (Oracle) oracle = NULL;
      TesseraPolicyOptions options = make_options (made);
      TesseraPolicyStats stats;
      TesseraHost host;
      Run run = { .live = live, .pending = pending };

      tessera_host_init (&host, 44 * MIB);
      host.synchronize = complete_all;
      host.user = &run;
      run.policy = new_policy (&options, &host.device);
      tessera_policy_get_stats (run.policy, &stats);
      run.pool_addr = stats.pool_addr;
      run.pool_bytes = stats.pool_bytes;
      run.oracle = oracle = oracle_new (stats.pool_addr, stats.pool_bytes);
      run_program (&run, rand, made);
      stats = check_sums (run.policy);
      g_test_message ("seed %u: %u hits, %u of them elsewhere, %u misses, %u unordered",
                      seed, (guint) stats.follower.hits,
                      (guint) stats.follower.hits_elsewhere,
                      (guint) stats.follower.misses, (guint) stats.misses_unordered);
      g_assert_cmpuint (stats.follower.hits, ==, run.n_hits);
      g_assert_cmpuint (run.n_hits, >, 200);
      g_assert_cmpuint (run.n_in_pool - run.n_hits, ==, stats.misses_rescued);
      g_assert_cmpuint (stats.misses_rescued, >, 20);
      g_assert_cmpuint (stats.misses_unordered, >, 100);
      g_assert_cmpuint (stats.misses_unordered, <=, stats.follower.misses);
      g_array_append_vals (pending, live->data, live->len);
      for (guint i = 0; i < live->len; i++)
        g_assert_cmpint (tessera_policy_free_requested (
                             run.policy, g_array_index (live, Held, i).grant.grant.addr),
                         ==, TESSERA_OK);
      tessera_policy_empty_cache (run.policy);
      g_assert_cmpuint (pending->len, ==, 0);
      g_assert_cmpuint (host.used_bytes, ==, stats.pool_bytes);
      check_sums (run.policy);
      tessera_policy_free (run.policy);
      host.device.release (&host.device, stats.pool_addr, stats.pool_bytes);
      g_assert_cmpuint (host.used_bytes, ==, 0);
    }
}

/* Every allocation of the host fails once: nothing is kept, nothing half done. */
static void
test_faults (void)
{
  g_autofree Planned *made = new_small_plan ();
  const TesseraPolicyOptions options = make_options (made);
  long held = tessera_fail_alloc_held ();
  unsigned nth = 1;

  for (;; nth++)
    {
      TesseraError error = { 0 };
      TesseraPolicy *policy;
      TesseraVirtual device;
      TesseraPolicyGrant grant;
      TesseraStatus status;
      bool has_failed;

      tessera_virtual_init (&device, 0);
      tessera_fail_alloc_at (nth);
      status = tessera_policy_new (&options, &device.device, NULL, &error, &policy);
      for (guint i = 0; status == TESSERA_OK && i < 9; i++)
        status = tessera_policy_malloc (policy, made->slots[i % 3].size_bytes,
                                        made->slots[i % 3].stream, 0, &grant);
      has_failed = tessera_fail_alloc_stop ();
      g_assert_cmpint (status, ==, has_failed ? TESSERA_NO_MEMORY : TESSERA_OK);
      if (policy != NULL)
        check_sums (policy);
      else
        {
          g_assert_cmpstr (error.text, !=, "");
          g_assert_cmpuint (device.used_bytes, ==, 0);
        }
      tessera_policy_free (policy);
      g_assert_cmpint (tessera_fail_alloc_held (), ==, held);
      if (!has_failed)
        break;
    }
  g_assert_cmpuint (nth, >, 20);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/plan/follows", test_follows);
  g_test_add_func ("/plan/limit", test_limit);
  g_test_add_func ("/plan/refusals", test_refusals);
  g_test_add_func ("/plan/rescue", test_rescue);
  g_test_add_func ("/plan/random", test_random);
  g_test_add_func ("/plan/faults", test_faults);
  return g_test_run ();
}
