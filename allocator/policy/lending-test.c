/*
 * Tests of lending: what a run holds beside a plan that does not suit it, what time it
 * spends on that, and which pages go.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/policy.h"

#include <glib.h>

#include "tests/allocator/program.h"
#include "allocator/virtual.h"

#define MIB ((uint64_t) 1 << 20)

enum
{
  N_SLOTS = 40
};

typedef struct
{
  MadePlan *made;
  TesseraVirtual device;
  TesseraPolicy *policy;
  uint64_t pool_addr;
  TesseraPolicyGrant placed[N_SLOTS];
  GArray *unmapped; /* uint64_t: offsets in the pool, in order */
} Case;

static void
on_unmap (void *user, uint64_t addr, uint64_t size_bytes)
{
  Case *c = user;
  uint64_t offset_bytes = addr - c->pool_addr;

  if (offset_bytes < N_SLOTS * 2 * MIB)
    g_array_append_val (c->unmapped, offset_bytes);
}

/* Slots of a page each, side by side. */
static void
open_pages (Case *c, uint64_t device_bytes, bool has_fine_pages)
{
  const TesseraObserver observer = { .segment_unmap = on_unmap, .user = c };
  TesseraPolicyOptions options;

  *c = (Case){ .made = g_new0 (MadePlan, 1),
               .unmapped = g_array_new (FALSE, FALSE, sizeof (uint64_t)) };
  for (guint i = 0; i < N_SLOTS; i++)
    made_plan_add_slot (c->made, 2 * MIB, 0, i * 2 * MIB);
  made_plan_finish (c->made, N_SLOTS * 2 * MIB);
  options = made_plan_options (c->made);
  options.never_declines = true;
  options.has_fine_pages = has_fine_pages;
  tessera_virtual_init (&c->device, device_bytes);
  c->policy = program_open_plan (&options, &c->device.device, &observer, &c->pool_addr);
}

static void
open_case (Case *c, uint64_t device_bytes)
{
  open_pages (c, device_bytes, false);
}

static void
close_case (Case *c)
{
  TesseraPolicyStats stats = program_check_sums (c->policy);

  g_assert_cmpuint (stats.caching.peak_reserved_bytes, ==, c->device.peak_used_bytes);
  g_assert_cmpuint (stats.caching.reserved_bytes, ==, c->device.used_bytes);
  tessera_policy_free (c->policy);
  g_array_unref (c->unmapped);
  g_free (c->made);
}

static void
place (Case *c, guint first, guint end)
{
  for (guint i = first; i < end; i++)
    {
      c->placed[i] = program_take (c->policy, 2 * MIB, 0);
      g_assert_true (c->placed[i].is_hit);
      g_assert_cmpuint (c->placed[i].grant.addr, ==, c->pool_addr + i * 2 * MIB);
    }
}

static void
give_back (Case *c, guint first, guint end)
{
  for (guint i = first; i < end; i++)
    program_give_back (c->policy, c->placed[i]);
}

/* What misses while half of the pool lies idle costs nothing, and no slot its place. */
static void
test_idle (void)
{
  TesseraPolicyGrant miss;
  Case c;

  open_case (&c, 0);
  for (guint step = 0; step < 5; step++)
    {
      tessera_policy_step (c.policy);
      place (&c, 0, N_SLOTS / 2);
      miss = program_take (c.policy, 33 * MIB, 0);
      g_assert_false (miss.is_hit);
      program_give_back (c.policy, miss);
      place (&c, N_SLOTS / 2, N_SLOTS);
      give_back (&c, 0, N_SLOTS);
      g_assert_cmpuint (c.device.peak_used_bytes, ==, N_SLOTS * 2 * MIB);
    }
  g_assert_cmpuint (c.unmapped->len, >, 0);
  close_case (&c);
}

/* Where nothing is idle more is held, as much as is asked for. */
static void
test_full (void)
{
  Case c;

  open_case (&c, 0);
  place (&c, 0, N_SLOTS);
  program_take (c.policy, 33 * MIB, 0);
  g_assert_cmpuint (c.unmapped->len, ==, 0);
  g_assert_cmpuint (c.device.used_bytes, ==, (2 * N_SLOTS + 40) * MIB);
  /* Now that it was, it may be again. */
  give_back (&c, 0, N_SLOTS);
  g_assert_cmpuint (c.unmapped->len, ==, 0);
  close_case (&c);
}

/* ... and not much more than that where pages beside the pool are as fine as its own. */
static void
test_fine (void)
{
  Case c;

  open_pages (&c, 0, true);
  place (&c, 0, N_SLOTS);
  program_take (c.policy, 33 * MIB, 0);
  g_assert_cmpuint (c.device.used_bytes, ==, (2 * N_SLOTS + 34) * MIB);
  give_back (&c, 0, N_SLOTS);
  close_case (&c);
}

/* ... but not what was only asked for: the device did not have it. */
static void
test_refused (void)
{
  TesseraPolicyGrant miss;
  Case c;

  open_case (&c, 1024 * MIB);
  place (&c, 0, N_SLOTS);
  g_assert_cmpint (tessera_policy_malloc (c.policy, 2048 * MIB, 0, 0, &miss), ==,
                   TESSERA_OUT_OF_DEVICE);
  give_back (&c, 0, N_SLOTS);
  miss = program_take (c.policy, 33 * MIB, 0);
  g_assert_false (miss.is_hit);
  g_assert_cmpuint (c.unmapped->len, >, 0);
  g_assert_cmpuint (c.device.peak_used_bytes, ==, N_SLOTS * 2 * MIB);
  close_case (&c);
}

/* Of ten idle pages the highest goes; a page in use never. */
static void
test_highest (void)
{
  Case c;

  open_case (&c, 0);
  place (&c, 0, N_SLOTS);
  give_back (&c, 10, 20);
  g_assert_false (program_take (c.policy, MIB, 0).is_hit); /* a page of 2 MiB */
  g_assert_cmpuint (c.unmapped->len, ==, 1);
  g_assert_cmpuint (g_array_index (c.unmapped, uint64_t, 0), ==, 19 * 2 * MIB);
  g_assert_cmpuint (program_check_sums (c.policy).pool_bytes, ==,
                    (N_SLOTS - 1) * 2 * MIB);
  close_case (&c);
}

/* Pages that are lent come back for a request that finds no memory anywhere else. */
static void
test_rescue (void)
{
  TesseraPolicyGrant grant;
  Case c;

  open_case (&c, N_SLOTS * 2 * MIB);
  place (&c, 0, 11);
  grant = program_take (c.policy, 55 * MIB, 0); /* 60 as pages; 58 are idle */
  g_assert_false (grant.is_hit);
  g_assert_cmpuint (grant.grant.addr, >=, c.pool_addr);
  g_assert_cmpuint (grant.grant.addr, <, c.pool_addr + N_SLOTS * 2 * MIB);
  close_case (&c);
}

/* A run that asks by turns for what the plan serves and for what it does not spends one
 * part in 64 of its time on pages that go and come, but for 50 ms, and for 500 that were saved. */
static void
test_time (void)
{
  const uint64_t step_ns = 10000000;
  uint64_t began_ns;
  Case c;

  open_case (&c, 0);
  c.device.unmap_ns = 1000000;
  c.device.now_ns = (uint64_t) 36000 * 1000000000; /* ten hours in which nothing missed */
  began_ns = c.device.now_ns;
  for (guint step = 0; step < 400; step++)
    {
      TesseraPolicyGrant miss;

      tessera_policy_step (c.policy);
      c.device.now_ns += step_ns;
      place (&c, 0, N_SLOTS);
      give_back (&c, 0, N_SLOTS);
      miss = program_take (c.policy, (20 + 20 * (step % 4)) * MIB + 512, 0);
      program_give_back (c.policy, miss);
    }
  g_test_message ("%" G_GUINT64_FORMAT " times pages went", c.device.n_unmapped);
  g_assert_cmpuint (c.device.n_unmapped, >=, 10);
  g_assert_cmpuint (2 * c.device.n_unmapped * c.device.unmap_ns, <=,
                    (c.device.now_ns - began_ns) / 64 + 550000000 +
                        8 * c.device.unmap_ns);
  close_case (&c);
}

/* Page after page is needed while half of the pool is lent for long: no more is held. */
static void
test_by_turns (void)
{
  Case c;

  open_case (&c, 0);
  place (&c, 0, N_SLOTS);
  give_back (&c, 0, N_SLOTS);
  for (guint step = 0; step < 40; step++)
    {
      TesseraPolicyGrant miss;

      tessera_policy_step (c.policy);
      miss = program_take (c.policy, 39 * MIB, 0);
      g_assert_false (miss.is_hit);
      for (guint i = 0; i < N_SLOTS; i++)
        {
          place (&c, i, i + 1);
          give_back (&c, i, i + 1);
        }
      program_give_back (c.policy, miss);
    }
  g_test_message ("%u times pages went", c.unmapped->len);
  g_assert_cmpuint (c.device.peak_used_bytes, ==, N_SLOTS * 2 * MIB);
  close_case (&c);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/lending/idle", test_idle);
  g_test_add_func ("/lending/full", test_full);
  g_test_add_func ("/lending/fine", test_fine);
  g_test_add_func ("/lending/refused", test_refused);
  g_test_add_func ("/lending/highest", test_highest);
  g_test_add_func ("/lending/rescue", test_rescue);
  g_test_add_func ("/lending/time", test_time);
  g_test_add_func ("/lending/by-turns", test_by_turns);
  return g_test_run ();
}
