/*
 * Tests of following a plan in a policy; and of the plan monitor: what makes it misfit, and
 * what must not.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/policy.h"

#include <glib.h>
#include <string.h>

#include "allocator/policy/planned.h"
#include "tests/allocator/program.h"
#include "tests/fail_alloc.h"
#include "tests/ok.h"

#define SEED 20261123
#define MIB ((uint64_t) 1 << 20)

static void
test_follows (void)
{
  g_autofree MadePlan *made = made_plan_small ();
  TesseraPolicyOptions options = made_plan_options (made);
  TesseraPolicyStats stats;
  TesseraPolicyGrant grants[3], extra;

  TesseraVirtual device = program_device (100 * MIB);
  g_autoptr (TesseraPolicy) policy = program_open (&options, &device.device);
  g_assert_null (tessera_policy_caching (policy));
  g_assert_cmpuint (device.used_bytes, ==, 0);
  for (guint step = 0; step < 4; step++)
    {
      /* What was used once stays: later steps ask the driver for nothing. */
      g_assert_cmpuint (device.n_mapped, ==, step > 0 ? 4 : 0);
      g_assert_cmpuint (device.n_unmapped, ==, 0);
      for (guint i = 0; i < 3; i++)
        {
          grants[i] =
              program_take (policy, made->slots[i].size_bytes - 1, made->slots[i].stream);
          stats = program_look (policy);
          g_assert_true (grants[i].is_hit);
          g_assert_cmpuint (grants[i].slot, ==, i);
          g_assert_cmpuint (grants[i].grant.addr, ==,
                            stats.pool_addr + made->slots[i].offset_bytes);
          g_assert_cmpuint (grants[i].grant.block_bytes, ==, made->slots[i].block_bytes);
        }
      /* Not planned: outside the pool. */
      extra = program_take (policy, 9 * MIB, 0);
      g_assert_false (extra.is_hit);
      g_assert_cmpuint (extra.slot, ==, TESSERA_NONE);
      g_assert_true (extra.grant.addr < stats.pool_addr ||
                     extra.grant.addr >= stats.pool_addr + 7 * MIB);
      GIVES (TESSERA_INVALID,
             tessera_policy_free_completed (policy, grants[0].grant.addr));
      stats = program_check_sums (policy);
      program_give_back (policy, extra);
      for (guint i = 0; i < 3; i++)
        program_give_back (policy, grants[i]);
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
  GIVES (TESSERA_INVALID, tessera_policy_free_requested (policy, grants[0].grant.addr));
  GIVES (TESSERA_INVALID,
         tessera_policy_free_requested (policy, stats.pool_addr + 6 * MIB + 5));

  tessera_policy_empty_cache (policy);
  tessera_policy_reset_peaks (policy);
  stats = program_look (policy);
  g_assert_cmpuint (stats.caching.peak_allocated_bytes, ==, 0);
  g_assert_cmpuint (stats.caching.peak_reserved_bytes, ==, 7 * MIB);
  g_assert_cmpuint (stats.peak_extra_bytes, ==, 0);
  g_assert_cmpuint (device.used_bytes, ==, 7 * MIB);
}

/* A step of other sizes lies in the pool, once its first requests missed, where steps
 * were followed before: in the run of another model, of which none was, beside it. */
static void
test_strange_step (void)
{
  for (guint n_followed = 1; n_followed < 4; n_followed++)
    {
      g_autofree MadePlan *made = made_plan_small ();
      TesseraPolicyOptions options = made_plan_options (made);

      TesseraVirtual device = program_device (0);
      g_autoptr (TesseraPolicy) policy = program_open (&options, &device.device);
      for (guint step = 0; step < n_followed; step++)
        {
          for (guint i = 0; i < 3; i++)
            program_give_back (policy, program_take (policy, made->slots[i].size_bytes,
                                                     made->slots[i].stream));
          tessera_policy_step (policy);
        }
      TesseraPolicyStats stats = program_look (policy);
      for (guint i = 0; i < 8; i++)
        {
          TesseraPolicyGrant grant = program_take (policy, 3 * MIB, 0);

          g_assert_false (grant.is_hit);
          g_assert_cmpint (grant.grant.addr == stats.pool_addr, ==,
                           n_followed > 1 && i >= 4);
          program_give_back (policy, grant);
        }
    }
}

/* The pool counts against the limit. */
static void
test_limit (void)
{
  g_autofree MadePlan *made = made_plan_small ();
  TesseraPolicyOptions options = made_plan_options (made);

  TesseraVirtual device = program_device (0);
  options.caching.limit_bytes = 27 * MIB;
  g_autoptr (TesseraPolicy) policy = program_open (&options, &device.device);
  for (guint i = 0; i < 3; i++)
    g_assert_true (
        program_take (policy, made->slots[i].size_bytes, made->slots[i].stream).is_hit);
  TesseraPolicyGrant grant = program_take (policy, 8 * MIB, 0);
  program_give_back (policy, grant);
  tessera_policy_empty_cache (policy);
  tessera_policy_set_limit (policy, 27 * MIB - 1);
  GIVES (TESSERA_OUT_OF_DEVICE, tessera_policy_malloc (policy, 8 * MIB, 0, 0, &grant));
  tessera_policy_set_limit (policy, MIB);
  GIVES (TESSERA_OUT_OF_DEVICE, tessera_policy_malloc (policy, 8 * MIB, 0, 0, &grant));
  tessera_policy_set_limit (policy, 0);
  OK (tessera_policy_malloc (policy, 90 * MIB, 0, 0, &grant));
}

/* Memory that the plan does not use at the moment serves before the run ends. */
static void
test_rescue (void)
{
  g_autofree MadePlan *made = made_plan_small ();
  TesseraPolicyOptions options = made_plan_options (made);
  TesseraPolicyGrant grant;

  TesseraVirtual device = program_device (8 * MIB);
  g_autoptr (TesseraPolicy) policy = program_open (&options, &device.device);
  TesseraPolicyGrant first = program_take (policy, made->slots[0].size_bytes, 0);
  g_assert_true (first.is_hit);
  TesseraPolicyGrant rescued = program_take (policy, 2 * MIB + 512, 0);
  TesseraPolicyStats stats = program_look (policy);
  g_assert_false (rescued.is_hit);
  g_assert_cmpuint (rescued.slot, ==, TESSERA_NONE);
  g_assert_cmpuint (rescued.grant.addr, ==, stats.pool_addr + 4 * MIB);
  g_assert_cmpuint (stats.misses_rescued, ==, 1);
  g_assert_cmpuint (stats.caching.n_ooms, ==, 0);
  GIVES (TESSERA_OUT_OF_DEVICE, tessera_policy_malloc (policy, 2 * MIB, 0, 0, &grant));
  /* Its slot is taken now, and there is no other place: the device has one page. */
  grant = program_take (policy, made->slots[2].size_bytes, 0);
  stats = program_look (policy);
  g_assert_cmpuint (stats.misses_rescued, ==, 1 + !grant.is_hit);
  program_check_sums (policy);
  program_give_back (policy, rescued);
  program_give_back (policy, first);
  program_give_back (policy, grant);
  /* Of the other stream only what no one used: the last MiB but 512. */
  GIVES (TESSERA_OUT_OF_DEVICE, tessera_policy_malloc (policy, 3 * MIB, 1, 0, &grant));
  g_assert_cmpuint (device.n_unmapped, ==, 0);
  stats = program_check_sums (policy);
  g_assert_cmpuint (stats.caching.n_ooms, ==, 2);
  /* Pages go for it again, and what was away from the pool no one used. */
  tessera_policy_step (policy);
  grant = program_take (policy, 3 * MIB, 1);
  g_assert_cmpuint (device.n_unmapped, >, 0);
  g_assert_cmpuint (stats.caching.peak_allocated_bytes, ==, 6 * MIB + 512 + 1024);
}

/* What PyTorch refuses unseen is no request: the plan is not asked, nor declined for it.
 */
static void
test_absurd (void)
{
  static const uint64_t sizes[] = { UINT64_MAX, UINT64_MAX - 511, UINT64_MAX / 2,
                                    UINT64_C (1) << 60 };
  g_autofree MadePlan *made = made_plan_small ();
  TesseraPolicyOptions options = made_plan_options (made);
  TesseraVirtual device;
  TesseraPolicyStats before, stats;
  TesseraPolicyGrant grant;

  tessera_virtual_init (&device, 7 * MIB); /* no miss is served but in the pool */
  g_autoptr (TesseraPolicy) policy = program_open (&options, &device.device);
  for (guint i = 0; i < 3; i++)
    program_give_back (
        policy, program_take (policy, made->slots[i].size_bytes, made->slots[i].stream));
  before = program_look (policy);
  g_assert_cmpuint (before.follower.hits, ==, 3);
  for (guint i = 0; i < G_N_ELEMENTS (sizes); i++)
    {
      GIVES (TESSERA_OUT_OF_DEVICE,
             tessera_policy_malloc (policy, sizes[i], 0, 0, &grant));
      stats = program_look (policy);
      g_assert_false (stats.decline.is_declined);
      g_assert_cmpuint (stats.follower.misses, ==, before.follower.misses);
      g_assert_cmpuint (stats.caching.n_ooms, ==, i + 1);
    }
  program_check_sums (policy);
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
  g_autofree MadePlan *made = made_plan_small ();
  TesseraPolicyOptions options = made_plan_options (made);
  TesseraVirtual device;
  TesseraDevice *door = &device.device;
  char reason[] = "it has no order";

  device = program_device (7 * MIB - 1);
  assert_refused (&options, door, TESSERA_OUT_OF_DEVICE, "does not give");
  device = program_device (7 * MIB);
  options.caching.limit_bytes = 6 * MIB;
  assert_refused (&options, door, TESSERA_OUT_OF_DEVICE, "may use");
  options.caching.limit_bytes = 0;
  tessera_policy_free (program_open (&options, door));

  device = program_device (0);
  options.plan = NULL;
  assert_refused (&options, door, TESSERA_INVALID, "no plan");
  options.plan = &made->plan;

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
  tessera_policy_free (program_open (&options, door));
}

/* What comes before the slot and has no place. */
static void
ask_unplanned (Program *run, const MadePlan *made, uint32_t slot)
{
  for (size_t i = 0; i < made->plan.n_unplanned; i++)
    if (made->unplanned[i].before == slot)
      {
        const TesseraSlot like = { .size_bytes = made->unplanned[i].size_bytes,
                                   .block_bytes = made->unplanned[i].block_bytes };

        program_ask (run, &like, made->unplanned[i].stream, 0);
      }
}

/* Asks for what the plan has next, mostly; frees as it likes. */
static void
run_program (Program *run, GRand *rand, const MadePlan *made)
{
  for (guint n = 0; n < 3000; n++)
    {
      const TesseraSlot *slot = &made->slots[n % MADE_PLAN_SLOTS];
      gint32 chance = g_rand_int_range (rand, 0, 100);

      if (n % MADE_PLAN_SLOTS == 0)
        tessera_policy_step (run->policy);
      ask_unplanned (run, made, n % MADE_PLAN_SLOTS);
      if (chance < 85)
        program_ask (run, slot, slot->stream, 0);
      else if (chance < 95)
        program_ask (run, &made->slots[g_rand_int_range (rand, 0, MADE_PLAN_SLOTS)],
                     (uint32_t) g_rand_int_range (rand, 0, 3), 0);
      program_free_some (run, rand);
      if (n % 500 == 0)
        program_check_sums (run->policy);
    }
}

/* Whatever the plan says, what is handed out is free and ordered. */
static void
test_random (void)
{
  for (guint seed = SEED; seed < SEED + 2; seed++)
    {
      g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
      g_autofree MadePlan *made = made_plan_hostile (rand, 24 * MIB);
      TesseraPolicyOptions options = made_plan_options (made);
      Program run;

      options.never_declines = true;
      program_init (&run, 44 * MIB);
      program_start (&run, &options);
      run_program (&run, rand, made);
      TesseraPolicyStats stats = program_check_sums (run.policy);
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
      g_assert_cmpuint (stats.follower.misses_planned, >, 100);
      program_free_all (&run);
      tessera_policy_empty_cache (run.policy);
      stats = program_check_sums (run.policy);
      g_assert_cmpuint (run.books.used_bytes, ==, stats.pool_bytes);
      g_assert_cmpuint (run.books.peak_used_bytes, ==, stats.caching.peak_reserved_bytes);
      g_assert_cmpuint (run.n_lent, >, 20);
      program_clear (&run);
    }
}

/* What a person left to others is no sign that the plan does not suit, however much it
 * is; all else counts as ever. */
static void
check_left (gboolean is_followed)
{
  g_autofree MadePlan *made = g_new0 (MadePlan, 1);
  TesseraPolicyOptions options = made_plan_options (made);
  TesseraPolicyGrant grant;
  guint n_steps = 20, n_slots = 70, n_left = 3;

  for (guint i = 0; i < n_slots; i++)
    made_plan_add_slot (made, MIB, 0, i * MIB);
  for (guint i = 0; i < n_left; i++)
    made_plan_add_unplanned (
        made, &(TesseraSlot){ .size_bytes = 200 * MIB, .block_bytes = 200 * MIB });
  made_plan_finish (made, n_slots * MIB);
  if (!is_followed)
    made->plan.n_unplanned = 0;
  TesseraVirtual device = program_device (0);
  g_autoptr (TesseraPolicy) policy = program_open (&options, &device.device);
  TesseraPolicyStats stats = program_look (policy);
  for (guint step = 0; step < n_steps; step++)
    {
      tessera_policy_step (policy);
      for (guint i = 0; i < n_slots + n_left; i++)
        {
          grant = program_take (policy, i < n_slots ? MIB : 200 * MIB, 0);
          g_assert_cmpint (grant.is_unplanned, ==, is_followed && i >= n_slots);
          g_assert_true (!is_followed || grant.is_hit == !grant.is_unplanned);
          g_assert_true (!is_followed ||
                         grant.is_hit == (grant.grant.addr - stats.pool_addr <
                                          stats.pool_height_bytes));
          program_give_back (policy, grant);
        }
    }
  stats = program_check_sums (policy);
  g_assert_cmpint (stats.decline.is_declined, ==, !is_followed);
  if (is_followed)
    {
      g_assert_cmpuint (stats.follower.misses_planned, ==, n_steps * n_left);
      g_assert_cmpuint (stats.follower.planned_miss_bytes, ==,
                        n_steps * n_left * 200 * MIB);
      g_assert_cmpuint (stats.follower.misses, ==, n_steps * n_left);
      g_assert_cmpuint (stats.follower.hits, ==, n_steps * n_slots);
    }
}

static void
test_left (void)
{
  check_left (TRUE);
  check_left (FALSE);
}

/* Every allocation of the host fails once: nothing is kept, nothing half done. */
static void
test_faults (void)
{
  g_autofree MadePlan *made = made_plan_small ();
  const TesseraPolicyOptions options = made_plan_options (made);
  long held = tessera_fail_alloc_held ();
  unsigned nth = 1;
  guint n_served_all_the_same = 0;

  made_plan_add_unplanned (made, &made->slots[1]);
  for (;; nth++)
    {
      TesseraError error = { 0 };
      TesseraPolicy *policy;
      TesseraPolicyGrant grant;

      TesseraVirtual device = program_device (0);
      tessera_fail_alloc_at (nth);
      TesseraStatus status =
          tessera_policy_new (&options, &device.device, NULL, &error, &policy);
      for (guint i = 0; status == TESSERA_OK && i < 9; i++)
        status = tessera_policy_malloc (policy, made->slots[i % 3].size_bytes,
                                        made->slots[i % 3].stream, 0, &grant);
      bool has_failed = tessera_fail_alloc_stop ();
      /* Where there is none to note which pages are lent or back, none are. */
      g_assert_true (status == TESSERA_NO_MEMORY || status == TESSERA_OK);
      g_assert_true (has_failed || status == TESSERA_OK);
      n_served_all_the_same += has_failed && status == TESSERA_OK;
      if (policy != NULL)
        program_check_sums (policy);
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
  g_assert_cmpuint (n_served_all_the_same, <, nth / 4);
}

enum
{
  SETUP_SLOTS = 100,
  STEP_SLOTS = 1000
};

/* Of a GiB, whose steps ask for a MiB a thousand times. */
static TesseraMonitor
make_monitor_of (TesseraFollowable followable)
{
  static TesseraSection sections[] = {
    { .n_slots = SETUP_SLOTS, .kind = TESSERA_SECTION_ONCE },
    { .n_slots = STEP_SLOTS, .kind = TESSERA_SECTION_REPEATS },
  };
  const TesseraPlan plan = { .sections = sections,
                             .n_sections = G_N_ELEMENTS (sections),
                             .n_slots = SETUP_SLOTS + STEP_SLOTS,
                             .height_bytes = 1024 * MIB,
                             .followable = followable };
  TesseraMonitor monitor;

  tessera_monitor_init (&monitor, &plan);
  return monitor;
}

static TesseraMonitor
make_monitor (void)
{
  return make_monitor_of (TESSERA_FOLLOWABLE_YES);
}

/* So many requests of a MiB, of which @n_misses miss, and as many small ones, which all
 * do. Returns: whether the plan misfits before a mark. */
static bool
ask (TesseraMonitor *monitor, guint n_requests, guint n_misses)
{
  bool misfits = false;

  for (guint i = 0; i < n_requests; i++)
    {
      misfits |= tessera_monitor_request (monitor, MIB, i >= n_misses);
      misfits |= monitor->has_marks && tessera_monitor_request (monitor, 512, false);
    }
  return misfits;
}

static bool
step (TesseraMonitor *monitor, guint n_requests, guint n_misses)
{
  return ask (monitor, n_requests, n_misses) || tessera_monitor_mark (monitor);
}

/* The same model with another batch is made as planned: two steps are needed. */
static void
test_other_batch (void)
{
  TesseraMonitor monitor = make_monitor ();

  g_assert_false (step (&monitor, SETUP_SLOTS, 0));
  g_assert_false (step (&monitor, STEP_SLOTS, 110));
  g_assert_true (step (&monitor, STEP_SLOTS, 105));
  g_assert_cmpuint (monitor.misfit.n_requests, ==, 4 * STEP_SLOTS);
  g_assert_cmpuint (monitor.misfit.n_misses, ==, 2 * STEP_SLOTS + 215);
  g_assert_cmpuint (monitor.misfit.missed_bytes, ==, 215 * MIB + 2 * STEP_SLOTS * 512);
}

/* A plan for the same batches alone is left in the first step of others, once these asked for
 * an eighth of the pool and a quarter missed. What they have in common with them is no sign. */
static void
test_exact (void)
{
  TesseraMonitor monitor = make_monitor_of (TESSERA_FOLLOWABLE_SAME_BATCHES);

  g_assert_false (step (&monitor, SETUP_SLOTS, 0));
  g_assert_false (ask (&monitor, 127, 35));
  g_assert_true (ask (&monitor, 1, 0));
  monitor = make_monitor_of (TESSERA_FOLLOWABLE_SAME_BATCHES);
  g_assert_false (step (&monitor, SETUP_SLOTS, 0));
  g_assert_false (step (&monitor, STEP_SLOTS, 20));
  g_assert_false (step (&monitor, STEP_SLOTS, 300));
}

/* Another model is not even made as planned: then one step is enough, or the half of the
 * pool's bytes asked for in it if most of them missed. */
static void
test_other_model (void)
{
  TesseraMonitor monitor = make_monitor ();

  g_assert_false (step (&monitor, 300, 240));
  g_assert_false (ask (&monitor, STEP_SLOTS, 200));
  g_assert_true (tessera_monitor_mark (&monitor));
  monitor = make_monitor ();
  g_assert_false (step (&monitor, 300, 240));
  g_assert_false (ask (&monitor, 511, 400));
  g_assert_true (ask (&monitor, 1, 1));
  g_assert_cmpuint (monitor.misfit.n_requests, ==, 300 + 2 * 512 - 1);
  monitor = make_monitor ();
  g_assert_false (step (&monitor, 300, 150)); /* loaded in another way */
  g_assert_false (step (&monitor, STEP_SLOTS, 800));
  g_assert_false (step (&monitor, STEP_SLOTS, 0));
}

/* So does the step that decides about another batch; it is looked at now and then. */
static void
test_early (void)
{
  TesseraMonitor monitor = make_monitor ();

  g_assert_false (step (&monitor, SETUP_SLOTS, 0));
  g_assert_false (step (&monitor, STEP_SLOTS, 900)); /* the first is seen to its end */
  g_assert_false (ask (&monitor, 500, 0));
  g_assert_false (ask (&monitor, 523, 523)); /* half of 512 had not missed */
  g_assert_true (ask (&monitor, 3, 3));      /* of 1024 it had */
}

/* A tenth of the bytes may miss, and any number of small requests, for ever. */
static void
test_fits (void)
{
  TesseraMonitor monitor = make_monitor ();

  for (guint i = 0; i < 100; i++)
    g_assert_false (step (&monitor, STEP_SLOTS, 99));
}

/* Evaluations, however long and often, as long as a step comes now and then. */
static void
test_evaluations (void)
{
  TesseraMonitor monitor = make_monitor ();

  g_assert_false (step (&monitor, SETUP_SLOTS, 0));
  g_assert_false (step (&monitor, 50000, 50000)); /* even before the first step */
  for (guint i = 0; i < 100; i++)
    {
      g_assert_false (step (&monitor, STEP_SLOTS, 0));
      for (guint k = 0; k < i % 8; k++)
        g_assert_false (step (&monitor, 700, 700));
    }
}

/* A plan that fitted is given up when it hasn't for long. */
static void
test_changed_for_good (void)
{
  TesseraMonitor monitor = make_monitor ();

  g_assert_false (step (&monitor, SETUP_SLOTS, 0));
  for (guint i = 0; i < 10; i++)
    g_assert_false (step (&monitor, STEP_SLOTS, 0));
  for (guint i = 0; i < 7; i++)
    g_assert_false (step (&monitor, STEP_SLOTS, 300));
  g_assert_true (step (&monitor, STEP_SLOTS, 300));
  g_assert_cmpuint (monitor.misfit.n_requests, ==, 8 * 2 * STEP_SLOTS);
}

/* What is short counts with the next: a handful of bytes tells nothing of a pool, but
 * a program of nothing else does in time. */
static void
test_short (void)
{
  TesseraMonitor monitor = make_monitor ();
  guint n_steps = 0;

  g_assert_false (step (&monitor, SETUP_SLOTS, 0));
  for (guint i = 0; i < 100; i++)
    {
      g_assert_false (step (&monitor, 60, 60));
      g_assert_false (step (&monitor, STEP_SLOTS, 0));
    }
  monitor = make_monitor ();
  g_assert_false (step (&monitor, SETUP_SLOTS, 0));
  while (!step (&monitor, 10, 10))
    n_steps++;
  g_assert_cmpuint (n_steps, ==, 25); /* twice an eighth of the pool */
}

/* Without marks: once it fitted it does for good. */
static void
test_unmarked (void)
{
  TesseraMonitor monitor = make_monitor ();

  g_assert_false (ask (&monitor, SETUP_SLOTS, 0));
  g_assert_false (ask (&monitor, 4 * STEP_SLOTS - 1, 4 * STEP_SLOTS));
  g_assert_true (ask (&monitor, 1, 1));
  monitor = make_monitor ();
  g_assert_false (ask (&monitor, 2 * STEP_SLOTS, 2 * STEP_SLOTS));
  g_assert_false (ask (&monitor, 2 * STEP_SLOTS, 0));
  g_assert_false (ask (&monitor, 50 * STEP_SLOTS, 50 * STEP_SLOTS));
  /* Marks that come late begin anew. */
  g_assert_false (tessera_monitor_mark (&monitor));
  g_assert_false (step (&monitor, STEP_SLOTS, STEP_SLOTS));
  g_assert_true (step (&monitor, STEP_SLOTS, STEP_SLOTS));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/plan/follows", test_follows);
  g_test_add_func ("/plan/strange-step", test_strange_step);
  g_test_add_func ("/plan/limit", test_limit);
  g_test_add_func ("/plan/refusals", test_refusals);
  g_test_add_func ("/plan/rescue", test_rescue);
  g_test_add_func ("/plan/absurd", test_absurd);
  g_test_add_func ("/plan/random", test_random);
  g_test_add_func ("/plan/left", test_left);
  g_test_add_func ("/plan/faults", test_faults);
  g_test_add_func ("/monitor/other-batch", test_other_batch);
  g_test_add_func ("/monitor/exact", test_exact);
  g_test_add_func ("/monitor/other-model", test_other_model);
  g_test_add_func ("/monitor/early", test_early);
  g_test_add_func ("/monitor/fits", test_fits);
  g_test_add_func ("/monitor/evaluations", test_evaluations);
  g_test_add_func ("/monitor/changed-for-good", test_changed_for_good);
  g_test_add_func ("/monitor/short", test_short);
  g_test_add_func ("/monitor/unmarked", test_unmarked);
  return g_test_run ();
}
