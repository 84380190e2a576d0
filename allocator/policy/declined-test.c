/*
 * Tests of plans that are declined: what is given back, when, and what stays.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/policy.h"

#include <glib.h>

#include "tests/allocator/program.h"
#include "tests/fail_alloc.h"
#include "tests/ok.h"

#define SEED 20261124
#define MIB ((uint64_t) 1 << 20)

enum
{
  N_SLOTS = 40,
  STEP_REQUESTS = 100
};

/* Blocks of a MiB, each beside the one before. */
static MadePlan *
make_plan (void)
{
  MadePlan *made = g_new0 (MadePlan, 1);

  for (guint i = 0; i < N_SLOTS; i++)
    made_plan_add_slot (made, MIB, 0, i * MIB);
  made_plan_finish (made, N_SLOTS * MIB);
  return made;
}

typedef struct
{
  MadePlan *made;
  TesseraVirtual device;
  TesseraPolicy *policy;
  TesseraPolicyGrant placed[N_SLOTS]; /* in the pool, in order */
  guint n_declined, n_unmapped;       /* of the pool */
  uint64_t pool_addr, unmapped_bytes;
} Case;

static void
on_unmap (void *user, const TesseraSegment *memory)
{
  Case *c = user;

  if (memory->addr - c->pool_addr >= N_SLOTS * MIB)
    return;
  c->n_unmapped++;
  c->unmapped_bytes += memory->size_bytes;
}

static void
on_map (void *user, const TesseraSegment *memory)
{
  Case *c = user;

  if (memory->addr - c->pool_addr < N_SLOTS * MIB)
    c->unmapped_bytes -= memory->size_bytes;
}

static void
on_declined (void *user)
{
  Case *c = user;

  c->n_declined++;
  TesseraPolicyStats stats = program_look (c->policy);
  g_assert_true (stats.decline.is_declined);
  /* What it did not hold any more it had lent before. */
  g_assert_cmpuint (N_SLOTS * MIB - stats.decline.pool_bytes +
                        stats.decline.returned_bytes,
                    ==, c->unmapped_bytes);
  g_assert_cmpuint (stats.pool_bytes, ==,
                    stats.decline.pool_bytes - stats.decline.returned_bytes);
}

/* On a device of so many bytes; 0: of any number. */
static void
start (Case *c, uint64_t device_bytes, uint64_t limit_bytes)
{
  const TesseraObserver observer = { .memory_came = on_map,
                                     .memory_went = on_unmap,
                                     .plan_declined = on_declined,
                                     .user = c };
  TesseraPolicyOptions options = made_plan_options (c->made);

  options.caching.limit_bytes = limit_bytes;
  tessera_virtual_init (&c->device, device_bytes);
  c->policy = program_open_plan (&options, &c->device.device, &observer, &c->pool_addr);
  c->unmapped_bytes = N_SLOTS * MIB;
}

static void
open_case (Case *c, gconstpointer device_mib)
{
  *c = (Case){ .made = make_plan () };
  start (c, GPOINTER_TO_UINT (device_mib) * MIB, 0);
}

static void
open_with_limit (Case *c, gconstpointer limit_mib)
{
  *c = (Case){ .made = make_plan () };
  start (c, 0, GPOINTER_TO_UINT (limit_mib) * MIB);
}

static void
close_case (Case *c, gconstpointer unused)
{
  program_check_sums (c->policy);
  tessera_policy_free (c->policy);
  g_free (c->made);
}

static void
place (Case *c)
{
  for (guint i = 0; i < N_SLOTS; i++)
    {
      c->placed[i] = program_take (c->policy, MIB, 0);
      g_assert_true (c->placed[i].is_hit);
    }
}

/* Steps of something else, one after the other, until the plan is declined. */
static void
misfit (Case *c)
{
  for (guint step = 0; c->n_declined == 0; step++)
    {
      g_assert_cmpuint (step, <, 3);
      tessera_policy_step (c->policy);
      for (guint i = 0; i < STEP_REQUESTS && c->n_declined == 0; i++)
        program_give_back (c->policy, program_take (c->policy, 3 * MIB, 0));
    }
  g_assert_cmpuint (c->n_declined, ==, 1);
}

/* What lives stays, what does not goes in whole pages, the last ones after the last
 * block. */
static void
test_gives_back (Case *c, gconstpointer unused)
{
  uint64_t n_misses;

  place (c);
  for (guint i = 0; i < N_SLOTS; i++)
    if (i != 5 && i != 20 && i != 21)
      program_give_back (c->policy, c->placed[i]);
  misfit (c);
  TesseraPolicyStats stats = program_check_sums (c->policy);
  g_assert_true (stats.decline.is_declined);
  n_misses = stats.decline.misfit.n_misses;
  g_assert_cmpuint (n_misses, >, STEP_REQUESTS);
  g_assert_cmpuint (n_misses, <=, 2 * STEP_REQUESTS);
  g_assert_cmpuint (stats.decline.misfit.n_requests, ==, n_misses);
  g_assert_cmpuint (stats.decline.misfit.missed_bytes, ==, n_misses * 3 * MIB);
  g_assert_cmpuint (stats.decline.misfit.asked_bytes, ==, n_misses * 3 * MIB);
  g_assert_cmpuint (stats.pool_bytes, ==, 4 * MIB); /* pages of two */
  g_assert_cmpuint (c->n_unmapped, ==, 4);          /* lent, and three when declined */
  g_assert_cmpuint (c->device.used_bytes, ==, stats.caching.reserved_bytes);
  g_assert_cmpuint (stats.caching.peak_reserved_bytes, ==, c->device.peak_used_bytes);

  /* Nothing is placed by the plan any more, and what lives is known. */
  g_assert_false (program_take (c->policy, MIB, 0).is_hit);
  GIVES (TESSERA_INVALID,
         tessera_policy_free_completed (c->policy, c->placed[5].grant.addr));
  program_give_back (c->policy, c->placed[5]);
  program_give_back (c->policy, c->placed[20]);
  g_assert_cmpuint (program_check_sums (c->policy).pool_bytes, ==, 4 * MIB);
  tessera_policy_step (c->policy);
  g_assert_cmpuint (program_check_sums (c->policy).pool_bytes, ==, 2 * MIB);
  program_give_back (c->policy, c->placed[21]);
  g_assert_cmpuint (program_check_sums (c->policy).pool_bytes, ==, 2 * MIB);
  /* A program may free a block and only then launch what uses it: until it asks for
   * something the memory is there. */
  program_give_back (c->policy, program_take (c->policy, 512, 0));
  stats = program_check_sums (c->policy);
  g_assert_cmpuint (stats.pool_bytes, ==, 0);
  g_assert_cmpuint (c->unmapped_bytes, ==, N_SLOTS * MIB);
  g_assert_cmpuint (c->device.used_bytes, ==, stats.extra_bytes);
  GIVES (TESSERA_INVALID,
         tessera_policy_free_requested (c->policy, c->placed[21].grant.addr));
  g_assert_cmpuint (stats.follower.hits, ==, N_SLOTS);
  g_assert_cmpuint (stats.follower.misses, ==, n_misses);
  g_assert_cmpuint (c->n_declined, ==, 1);
  tessera_policy_reset_peaks (c->policy);
  g_assert_cmpuint (program_check_sums (c->policy).caching.peak_reserved_bytes, ==,
                    stats.extra_bytes);
}

/* Pending blocks are as good as live ones; empty_cache() gives back as well. */
static void
test_pending (Case *c, gconstpointer unused)
{
  place (c);
  for (guint i = 2; i < N_SLOTS; i++)
    program_give_back (c->policy, c->placed[i]);
  program_give_back (c->policy, c->placed[0]);
  OK (tessera_policy_free_requested (c->policy, c->placed[1].grant.addr));
  misfit (c);
  g_assert_cmpuint (program_check_sums (c->policy).pool_bytes, ==, 2 * MIB);
  tessera_policy_empty_cache (c->policy);
  g_assert_cmpuint (c->device.used_bytes, ==, 2 * MIB);
  tessera_policy_set_routed (c->policy, true); /* a graph is captured: nothing goes */
  OK (tessera_policy_free_completed (c->policy, c->placed[1].grant.addr));
  tessera_policy_step (c->policy);
  g_assert_cmpuint (c->device.used_bytes, ==, 2 * MIB);
  tessera_policy_set_routed (c->policy, false);
  tessera_policy_empty_cache (c->policy);
  g_assert_cmpuint (c->device.used_bytes, ==, 0);
}

/* A graph uses what it freed, until its pool is released. */
static void
test_private_pool (Case *c, gconstpointer unused)
{
  TesseraPolicyGrant grant;

  for (guint i = 0; i < N_SLOTS; i++)
    c->made->slots[i].pool = i < 8 ? 3 : 0;
  tessera_policy_free (c->policy);
  start (c, 0, 0);
  /* An earlier pool of this number is gone: the requests take that back. */
  tessera_policy_release_pool (c->policy, 3);
  for (guint i = 0; i < 8; i++)
    {
      OK (tessera_policy_malloc (c->policy, MIB, 0, 3, &grant));
      g_assert_true (grant.is_hit);
      c->placed[i] = grant;
    }
  for (guint i = 0; i < 8; i++)
    program_give_back (c->policy, c->placed[i]);
  misfit (c);
  g_assert_cmpuint (program_check_sums (c->policy).pool_bytes, ==, 8 * MIB);
  GIVES (TESSERA_INVALID, tessera_policy_release_pool (c->policy, 3));
  tessera_policy_step (c->policy);
  g_assert_cmpuint (program_check_sums (c->policy).pool_bytes, ==, 0);
}

/* The device is full and the pool is not: its pages serve who would fail, the plan is
 * followed on. */
static void
test_shortage (Case *c, gconstpointer unused)
{
  TesseraPolicyGrant beside, grant;

  beside = program_take (c->policy, 20 * MIB, 0);
  place (c);
  for (guint i = 0; i < N_SLOTS; i++)
    if (i % 19 != 18) /* two live ones cut the pool: no piece has 20 MiB */
      program_give_back (c->policy, c->placed[i]);
  tessera_policy_set_routed (c->policy, true);
  GIVES (TESSERA_OUT_OF_DEVICE,
         tessera_policy_malloc (c->policy, 20 * MIB, 0, 0, &grant));
  tessera_policy_set_routed (c->policy, false);
  g_assert_cmpuint (program_check_sums (c->policy).pool_bytes, ==, N_SLOTS * MIB);
  grant = program_take (c->policy, 20 * MIB, 0);
  g_assert_false (grant.is_hit);
  TesseraPolicyStats stats = program_check_sums (c->policy);
  g_assert_cmpuint (stats.pool_bytes, <=, 20 * MIB);
  g_assert_cmpuint (stats.caching.n_ooms, ==, 1);
  g_assert_cmpuint (c->device.used_bytes, <=, 60 * MIB);

  /* The places are as they were: what is lent comes back from beside the pool. */
  program_give_back (c->policy, grant);
  program_give_back (c->policy, beside);
  tessera_policy_step (c->policy);
  for (guint i = 0; i < N_SLOTS; i++)
    if (i % 19 == 18)
      program_give_back (c->policy, c->placed[i]);
  place (c);
  stats = program_check_sums (c->policy);
  g_assert_cmpuint (stats.pool_bytes, ==, N_SLOTS * MIB);
  g_assert_cmpuint (c->n_declined, ==, 0);
  g_assert_cmpuint (c->device.peak_used_bytes, <=, 60 * MIB);
  g_assert_cmpuint (stats.caching.peak_reserved_bytes, ==, c->device.peak_used_bytes);
}

/* A device that others fill as well: what was held before does not count. */
static void
test_shrunk (Case *c, gconstpointer unused)
{
  place (c);
  TesseraPolicyGrant grant = program_take (c->policy, 20 * MIB, 0);
  for (guint i = 0; i < N_SLOTS; i++)
    if (i % 19 != 18)
      program_give_back (c->policy, c->placed[i]);
  program_give_back (c->policy, grant);
  tessera_policy_empty_cache (c->policy);
  g_assert_cmpuint (c->device.used_bytes, ==, 40 * MIB);
  c->device.device_bytes = 41 * MIB;
  grant = program_take (c->policy, 20 * MIB, 0);
  g_assert_false (grant.is_hit);
  g_assert_cmpuint (program_check_sums (c->policy).pool_bytes, <=, 20 * MIB);
  GIVES (TESSERA_OUT_OF_DEVICE,
         tessera_policy_malloc (c->policy, 41 * MIB, 0, 0, &grant));
  g_assert_cmpuint (c->n_declined, ==, 0);
}

/* The pool that is given back counts no longer. */
static void
test_limit (Case *c, gconstpointer unused)
{
  misfit (c);
  g_assert_cmpuint (program_check_sums (c->policy).pool_bytes, ==, 0);
  TesseraPolicyGrant grant = program_take (c->policy, 60 * MIB, 0);
  program_give_back (c->policy, grant);
  tessera_policy_set_limit (c->policy, 40 * MIB);
  tessera_policy_empty_cache (c->policy);
  GIVES (TESSERA_OUT_OF_DEVICE,
         tessera_policy_malloc (c->policy, 41 * MIB, 0, 0, &grant));
  program_take (c->policy, 40 * MIB, 0);
}

/* Wherever the host's memory ends: the pool may stay longer, nothing else. */
static void
test_faults (void)
{
  long held = tessera_fail_alloc_held ();
  unsigned nth = 1;
  bool has_failed = true;

  for (; has_failed; nth++)
    {
      Case c;
      TesseraPolicyGrant grant;

      open_case (&c, NULL);
      place (&c);
      for (guint i = 0; i < N_SLOTS; i += 2)
        program_give_back (c.policy, c.placed[i]);
      tessera_policy_step (c.policy);
      tessera_fail_alloc_at (nth);
      for (guint i = 0; i < 6 * STEP_REQUESTS; i++)
        {
          if (tessera_policy_malloc (c.policy, (1 + i % 7) * 2 * MIB + i * 512, i % 3, 0,
                                     &grant) == TESSERA_OK)
            program_give_back (c.policy, grant);
          if (i % STEP_REQUESTS == 0)
            tessera_policy_step (c.policy);
        }
      has_failed = tessera_fail_alloc_stop ();
      g_assert_cmpuint (c.n_declined, ==, 1);
      for (guint i = 1; i < N_SLOTS; i += 2)
        program_give_back (c.policy, c.placed[i]);
      tessera_policy_step (c.policy);
      g_assert_cmpuint (program_check_sums (c.policy).pool_bytes, ==, 0);
      close_case (&c, NULL);
      g_assert_cmpint (tessera_fail_alloc_held (), ==, held);
    }
  g_assert_cmpuint (nth, >, 2);
}

/* Steps of any length, and phases in which the program does something else: so the plan
 * may be declined at any of its moments. */
static void
run_steps (Program *program, GRand *rand, const MadePlan *made)
{
  guint next_mark = 0;

  for (guint n = 0; n < 1500; n++)
    {
      const TesseraSlot *slot = &made->slots[n % MADE_PLAN_SLOTS];

      if (n == next_mark)
        {
          tessera_policy_step (program->policy);
          next_mark += (guint) g_rand_int_range (rand, 30, 300);
        }
      if (g_rand_int_range (rand, 0, 100) < 30)
        slot = &made->slots[g_rand_int_range (rand, 0, MADE_PLAN_SLOTS)];
      program_ask (program, slot, slot->stream, (uint32_t) (n / 97 % 5 == 4));
      program_free_some (program, rand);
      if (g_rand_int_range (rand, 0, 200) == 0)
        tessera_policy_release_pool (program->policy, 1);
      if (g_rand_int_range (rand, 0, 200) == 0)
        tessera_policy_empty_cache (program->policy);
      if (n % 50 == 0)
        program_check_sums (program->policy);
    }
}

static TesseraDecline
watch (guint seed, uint64_t device_bytes)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  g_autofree MadePlan *made = made_plan_hostile (rand, 24 * MIB);
  TesseraPolicyOptions options = made_plan_options (made);
  Program program;

  options.caching.settings.large_segment_bytes = 4 * MIB;
  program_init (&program, device_bytes);
  program_start (&program, &options);
  run_steps (&program, rand, made);
  program_free_all (&program);
  tessera_policy_release_pool (program.policy, 1);
  tessera_policy_empty_cache (program.policy);
  TesseraPolicyStats stats = program_check_sums (program.policy);
  g_assert_cmpuint (program.books.used_bytes, ==, stats.pool_bytes);
  if (stats.decline.is_declined)
    g_assert_cmpuint (stats.pool_bytes, ==, 0);
  g_assert_cmpuint (program.n_lent, >, 10);
  program_clear (&program);
  return stats.decline;
}

/* Nothing that lives is pulled from under the program, nothing is handed out twice. */
static void
test_random (void)
{
  guint n_declined = 0;

  for (guint i = 0; i < 10; i++)
    n_declined += watch (SEED + i, (i % 2 == 0 ? 1024 : 36) * MIB).is_declined;
  g_test_message ("%u of 10 declined", n_declined);
  g_assert_cmpuint (n_declined, >=, 3);
}

/* What is left of the pool between blocks that live on serves large requests first,
 * though there is room beside it: that may go, this can't. */
static void
test_fills (Case *c, gconstpointer unused)
{
  uint64_t used_bytes;

  place (c);
  for (guint i = 0; i < N_SLOTS; i++)
    if (i % 3 != 0)
      program_give_back (c->policy, c->placed[i]);
  misfit (c);
  program_give_back (c->policy, program_take (c->policy, 20 * MIB, 0));
  used_bytes = c->device.used_bytes;
  /* Slots 0 and 3 live in the first two pages. */
  TesseraPolicyGrant grant = program_take (c->policy, 2 * MIB, 0);
  g_assert_false (grant.is_hit);
  g_assert_cmpuint (grant.grant.addr, ==, c->pool_addr + MIB);
  g_assert_cmpuint (c->device.used_bytes, ==, used_bytes);
  program_give_back (c->policy, grant);
  grant = program_take (c->policy, 3 * MIB, 0); /* no such hole */
  g_assert_cmpuint (grant.grant.addr - c->pool_addr, >=, N_SLOTS * MIB);
}

/* What a graph uses without asking stays while one is captured, whatever is asked for. */
static void
test_routed (Case *c, gconstpointer unused)
{
  uint64_t pool_bytes;

  place (c);
  misfit (c);
  pool_bytes = program_check_sums (c->policy).pool_bytes;
  tessera_policy_set_routed (c->policy, true);
  for (guint i = 1; i < N_SLOTS; i++)
    program_give_back (c->policy, c->placed[i]);
  program_take (c->policy, 100 * MIB, 0);
  g_assert_cmpuint (program_check_sums (c->policy).pool_bytes, ==, pool_bytes);
  tessera_policy_set_routed (c->policy, false);
  program_take (c->policy, 200 * MIB, 0);
  g_assert_cmpuint (program_check_sums (c->policy).pool_bytes, ==, 2 * MIB);
}

static void
add (const char *path, guint device_mib, void (*test) (Case *, gconstpointer))
{
  g_test_add (path, Case, GUINT_TO_POINTER (device_mib), open_case, test, close_case);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  add ("/declined/gives-back", 0, test_gives_back);
  add ("/declined/pending", 0, test_pending);
  add ("/declined/private-pool", 0, test_private_pool);
  add ("/declined/shortage", 60, test_shortage);
  add ("/declined/shrunk", 0, test_shrunk);
  g_test_add ("/declined/limit", Case, GUINT_TO_POINTER (60), open_with_limit, test_limit,
              close_case);
  g_test_add_func ("/declined/faults", test_faults);
  g_test_add_func ("/declined/random", test_random);
  add ("/declined/fills", 0, test_fills);
  add ("/declined/routed", 0, test_routed);
  return g_test_run ();
}
