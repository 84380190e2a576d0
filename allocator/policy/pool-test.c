/*
 * Tests of a plan's pool, whose pages get their memory when they are used first: what a
 * run holds, what is kept for the plan, what becomes of it when the device refuses; what a
 * run holds beside a plan that does not suit it, what time it spends on that, and which
 * pages go.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/policy.h"

#include <glib.h>

#include "tests/allocator/program.h"

#define MIB ((uint64_t) 1 << 20)

enum
{
  N_SLOTS = 40,
  N_STEPS = 4,
  POOL_MIB = 2 * N_SLOTS
};

/* A device whose nth mapping fails, once. */
typedef struct
{
  TesseraVirtual virtual; /* must be first */
  TesseraStatus (*map) (TesseraDevice *, uint64_t, uint64_t, uint32_t);
  guint n_calls, fails_at;
  TesseraStatus fails_with;
} Failing;

static TesseraStatus
map_or_fail (TesseraDevice *device, uint64_t addr, uint64_t size_bytes, uint32_t stream)
{
  Failing *failing = (Failing *) device;

  if (++failing->n_calls == failing->fails_at)
    return failing->fails_with;
  return failing->map (device, addr, size_bytes, stream);
}

typedef struct
{
  MadePlan *made;
  Failing device;
  TesseraPolicy *policy;
  uint64_t pool_addr;
  TesseraPolicyGrant placed[N_SLOTS];
  uint64_t unmapped; /* the last page that went: its offset in the pool */
} Case;

static void
on_unmap (void *user, const TesseraSegment *memory)
{
  Case *c = user;

  c->unmapped = memory->addr - c->pool_addr;
}

/* From the middle of the pool on, and then from its beginning. */
static uint64_t
offset_of (guint slot)
{
  return (slot + N_SLOTS / 2) % N_SLOTS * 2 * MIB;
}

/* Slots of a page each, side by side. */
static void
open_pages (Case *c, uint64_t device_bytes, bool has_fine_pages)
{
  const TesseraObserver observer = { .memory_went = on_unmap, .user = c };

  *c = (Case){ .made = g_new0 (MadePlan, 1) };
  for (guint i = 0; i < N_SLOTS; i++)
    made_plan_add_slot (c->made, 2 * MIB, 0, offset_of (i));
  made_plan_finish (c->made, POOL_MIB * MIB);
  TesseraPolicyOptions options = made_plan_options (c->made);
  options.never_declines = true;
  options.has_fine_pages = has_fine_pages;
  tessera_virtual_init (&c->device.virtual, device_bytes);
  c->device.map = c->device.virtual.device.map;
  c->device.virtual.device.map = map_or_fail;
  c->policy =
      program_open_plan (&options, &c->device.virtual.device, &observer, &c->pool_addr);
  TesseraPolicyStats stats = program_look (c->policy);
  g_assert_cmpuint (stats.caching.reserved_bytes, ==, 0);
  g_assert_cmpuint (stats.promised_bytes, ==, POOL_MIB * MIB);
}

static void
open_case (Case *c, gconstpointer device_mib)
{
  open_pages (c, GPOINTER_TO_UINT (device_mib) * MIB, false);
}

static void
open_fine (Case *c, gconstpointer unused)
{
  open_pages (c, 0, true);
}

/* What the policy says it holds is what the device gave; what it promised is there. */
static TesseraPolicyStats
check (Case *c)
{
  const TesseraVirtual *device = &c->device.virtual;
  TesseraPolicyStats stats = program_check_sums (c->policy);

  g_assert_cmpuint (stats.caching.reserved_bytes, ==, device->used_bytes);
  g_assert_cmpuint (stats.caching.peak_reserved_bytes, ==, device->peak_used_bytes);
  if (device->device_bytes != 0)
    g_assert_cmpuint (device->used_bytes + stats.promised_bytes, <=,
                      device->device_bytes);
  return stats;
}

static void
close_case (Case *c, gconstpointer unused)
{
  check (c);
  tessera_policy_free (c->policy);
  g_free (c->made);
}

static guint
place (Case *c, guint first, guint end)
{
  guint n_hits = 0;

  for (guint i = first; i < end; i++)
    {
      c->placed[i] = program_take (c->policy, 2 * MIB, 0);
      n_hits += c->placed[i].is_hit;
      g_assert_cmpint (c->placed[i].is_hit, ==,
                       c->placed[i].grant.addr == c->pool_addr + offset_of (i));
    }
  return n_hits;
}

static void
give_back (Case *c, guint first, guint end)
{
  for (guint i = first; i < end; i++)
    program_give_back (c->policy, c->placed[i]);
}

static bool
is_in_pool (const Case *c, TesseraPolicyGrant grant)
{
  return grant.grant.addr - c->pool_addr < POOL_MIB * MIB;
}

/* A run that needs half of the pool holds half of it, and asks the driver in its first
 * step only. */
static void
test_half (Case *c, gconstpointer unused)
{
  guint n_mapped = 0;

  for (guint step = 0; step < N_STEPS; step++)
    {
      tessera_policy_step (c->policy);
      g_assert_cmpuint (place (c, 0, N_SLOTS / 2), ==, N_SLOTS / 2);
      give_back (c, 0, N_SLOTS / 2);
      g_assert_cmpuint (check (c).pool_bytes, ==, POOL_MIB / 2 * MIB);
      g_assert_cmpuint (c->device.n_calls, ==, step == 0 ? N_SLOTS / 2 : n_mapped);
      n_mapped = c->device.n_calls;
    }
  g_assert_cmpuint (c->device.virtual.n_unmapped, ==, 0);
}

/* What misses leaves the plan its memory, so far as there is other. */
static void
test_kept (Case *c, gconstpointer unused)
{
  TesseraPolicyGrant beside = program_take (c->policy, 20 * MIB, 0);
  g_assert_false (is_in_pool (c, beside));
  TesseraPolicyGrant inside = program_take (c->policy, 20 * MIB, 0);
  g_assert_false (inside.is_hit);
  g_assert_true (is_in_pool (c, inside));
  g_assert_cmpuint (check (c).extra_bytes, ==, 20 * MIB);
  program_give_back (c->policy, inside);
  tessera_policy_step (c->policy);
  g_assert_cmpuint (place (c, 0, N_SLOTS), ==, N_SLOTS);
  g_assert_cmpuint (c->device.virtual.n_unmapped, ==, 0);
}

/* A request that would fail breaks the promise, as far as it has to. */
static void
test_broken (Case *c, gconstpointer unused)
{
  TesseraPolicyGrant miss;

  place (c, 0, 2);                              /* 40 and 36 MiB on both sides */
  miss = program_take (c->policy, 41 * MIB, 0); /* 60, as pages: 20 are nobody's */
  g_assert_false (is_in_pool (c, miss));
  TesseraPolicyStats stats = check (c);
  g_assert_cmpuint (stats.pool_bytes, ==, 4 * MIB);
  g_assert_cmpuint (stats.promised_bytes, <=, 36 * MIB);
  g_assert_cmpuint (stats.promised_bytes, >, 10 * MIB);
  g_assert_cmpuint (stats.caching.n_ooms, ==, 0);
  g_assert_cmpuint (c->device.virtual.used_bytes, <=, (POOL_MIB + 20) * MIB);
  program_give_back (c->policy, miss);
  give_back (c, 0, 2);
  tessera_policy_step (c->policy);
  g_assert_cmpuint (place (c, 0, N_SLOTS), ==, N_SLOTS); /* once the cache is flushed */
}

/* Somebody else takes the memory: what does not come is a miss, and is served where there
 * is some; the plan goes on once there is more. */
static void
test_taken_by_others (Case *c, gconstpointer unused)
{
  TesseraPolicyGrant grant;
  guint n_hits;

  place (c, 0, 10);
  c->device.virtual.device_bytes = 30 * MIB;
  for (n_hits = 10;
       tessera_policy_malloc (c->policy, 2 * MIB, 0, 0, &grant) == TESSERA_OK; n_hits++)
    c->placed[n_hits] = grant;
  g_assert_cmpuint (n_hits, ==, 15); /* all that there is */
  give_back (c, 0, 15);
  c->device.virtual.device_bytes = POOL_MIB * MIB;
  tessera_policy_step (c->policy);
  g_assert_cmpuint (place (c, 0, N_SLOTS), ==, N_SLOTS);
}

/* What others leave of the device is what the run holds. */
static void
others_take_the_rest (Case *c)
{
  c->device.virtual.device_bytes = c->device.virtual.used_bytes;
}

static guint
n_calls (const Case *c)
{
  return c->device.n_calls + (guint) c->device.virtual.n_synchronized;
}

/* A pool that is not given what it needs has memory all the same: what misses lies there
 * where nothing may be given back for it. */
static void
test_refused_page (Case *c, gconstpointer unused)
{
  place (c, 0, 10); /* in the middle of the pool */
  give_back (c, 0, 10);
  others_take_the_rest (c);
  tessera_policy_set_routed (c->policy, true);
  TesseraPolicyGrant miss = program_take (c->policy, 3 * MIB, 0);
  g_assert_false (miss.is_hit);
  g_assert_true (is_in_pool (c, miss));
  g_assert_cmpuint (c->device.virtual.n_unmapped, ==, 0);
  program_give_back (c->policy, miss);
  tessera_policy_set_routed (c->policy, false);
  c->device.virtual.device_bytes = POOL_MIB * MIB;
  tessera_policy_step (c->policy);
  g_assert_cmpuint (place (c, 0, N_SLOTS), ==, N_SLOTS);
}

enum
{
  BESIDE_MIB = 20 /* one page of what expandable rules map */
};

/* The first ten slots have memory; beside the pool there is room for some others, with a
 * block in the way of giving it back. */
static TesseraPolicyGrant
fill (Case *c)
{
  tessera_policy_step (c->policy);
  TesseraPolicyGrant in_the_way = program_take (c->policy, 3 * MIB, 0);
  place (c, 0, 10);
  others_take_the_rest (c);
  return in_the_way;
}

/* The device is full: it is asked for pages of the pool twice, and not with each request.
 */
static void
test_refused_often (Case *c, gconstpointer unused)
{
  enum
  {
    N_BESIDE = 8 /* slots that find room there */
  };
  TesseraPolicyGrant in_the_way = fill (c);
  guint n_before = n_calls (c);

  for (guint i = 10; i < 10 + N_BESIDE; i++)
    {
      c->placed[i] = program_take (c->policy, 2 * MIB, 0);
      g_assert_false (c->placed[i].is_hit);
      g_assert_false (is_in_pool (c, c->placed[i]));
    }
  g_assert_cmpuint (n_calls (c) - n_before, <=, 2 * 2); /* each asks, and flushes */

  /* What this process gives back it can have. */
  give_back (c, 10, 10 + N_BESIDE);
  program_give_back (c->policy, in_the_way);
  tessera_policy_empty_cache (c->policy);
  g_assert_cmpuint (place (c, 10 + N_BESIDE, 20 + N_BESIDE), ==, 10);
  c->device.virtual.device_bytes = 0;
}

/* What others gave back is found out after some requests, of which none fails. */
static void
test_refused_for_a_while (Case *c, gconstpointer unused)
{
  enum
  {
    MOST_REQUESTS = 64
  };

  fill (c);
  for (guint i = 10; i < 12; i++)
    g_assert_false (program_take (c->policy, 2 * MIB, 0).is_hit);
  c->device.virtual.device_bytes = 0;
  g_assert_false (program_take (c->policy, 2 * MIB, 0).is_hit);
  for (guint i = 0; i < MOST_REQUESTS; i++)
    program_give_back (c->policy, program_take (c->policy, 3 * MIB, 0));
  g_assert_true (program_take (c->policy, 2 * MIB, 0).is_hit);
}

/* Who would fail asks the device, whatever it refused before. */
static void
test_refused_but_needed (Case *c, gconstpointer unused)
{
  TesseraPolicyGrant grant;
  guint n_served = 10;

  fill (c);
  while (tessera_policy_malloc (c->policy, 2 * MIB, 0, 0, &grant) == TESSERA_OK)
    n_served++;
  g_assert_cmpuint (n_served, ==, 10 + 8);
  c->device.virtual.device_bytes += 2 * MIB;
  g_assert_true (is_in_pool (c, program_take (c->policy, 2 * MIB, 0)));
  c->device.virtual.device_bytes = 0;
}

/* Before graphs may be captured all is mapped that the plan could want. */
static void
test_routed (Case *c, gconstpointer unused)
{
  place (c, 0, 5);
  tessera_policy_set_routed (c->policy, true);
  g_assert_cmpuint (check (c).pool_bytes, ==, POOL_MIB * MIB);
  guint n_mapped = c->device.n_calls;
  place (c, 5, N_SLOTS);
  g_assert_cmpuint (c->device.n_calls, ==, n_mapped);
  tessera_policy_set_routed (c->policy, false);
}

/* Whichever mapping fails, and for whatever reason: the request is served elsewhere or
 * fails alone, nothing is half there, and the next step goes by the plan. */
static void
check_faults (TesseraStatus fails_with)
{
  guint fails_at = 0, n_failed = 0;
  bool has_failed = true;

  while (has_failed)
    {
      Case c;

      open_case (&c, GUINT_TO_POINTER (POOL_MIB + 44));
      c.device.fails_at = ++fails_at;
      c.device.fails_with = fails_with;
      for (guint step = 0; step < N_STEPS; step++)
        {
          guint n_hits = 0;

          tessera_policy_step (c.policy);
          for (guint i = 0; i < N_SLOTS; i++)
            {
              TesseraPolicyGrant miss;

              if (tessera_policy_malloc (c.policy, 2 * MIB, 0, 0, &c.placed[i]) ==
                  TESSERA_OK)
                n_hits += c.placed[i].is_hit;
              else
                n_failed++;
              if (i % 10 == 3 &&
                  tessera_policy_malloc (c.policy, 3 * MIB, 0, 0, &miss) == TESSERA_OK)
                program_give_back (c.policy, miss);
              check (&c);
            }
          for (guint i = 0; i < N_SLOTS; i++)
            if (c.placed[i].grant.addr != 0)
              program_give_back (c.policy, c.placed[i]);
          g_assert_cmpuint (n_hits, >=, step == 0 ? N_SLOTS - 1 : N_SLOTS);
        }
      has_failed = c.device.n_calls >= fails_at;
      close_case (&c, NULL);
    }
  g_assert_cmpuint (fails_at, >, N_SLOTS);
  g_assert_cmpuint (n_failed, ==, 0);
}

static void
test_faults (void)
{
  check_faults (TESSERA_OUT_OF_DEVICE);
  check_faults (TESSERA_IO);
}

/* A request that would fail has what is free and what is promised, though neither alone
 * is as much. */
static void
test_broken_in_part (Case *c, gconstpointer unused)
{
  place (c, 0, 30);
  TesseraPolicyGrant beside = program_take (c->policy, 30 * MIB, 0);
  g_assert_false (is_in_pool (c, beside));
  program_give_back (c->policy, beside);
  give_back (c, 0, 30);
}

/* What misses while half of the pool lies idle costs nothing, and no slot its place. */
static void
test_lends (Case *c, gconstpointer unused)
{
  TesseraPolicyGrant miss;

  for (guint step = 0; step < 5; step++)
    {
      tessera_policy_step (c->policy);
      place (c, 0, N_SLOTS / 2);
      miss = program_take (c->policy, 33 * MIB, 0);
      g_assert_false (miss.is_hit);
      program_give_back (c->policy, miss);
      place (c, N_SLOTS / 2, N_SLOTS);
      give_back (c, 0, N_SLOTS);
      g_assert_cmpuint (c->device.virtual.peak_used_bytes, ==, N_SLOTS * 2 * MIB);
    }
  g_assert_cmpuint (c->device.virtual.n_unmapped, >, 0);
}

/* Once, a step asks for more than its plan. What that took beside the pool goes back at
 * the end of the next step, which does not. */
static void
test_once (Case *c, gconstpointer unused)
{
  for (guint step = 0; step < 6; step++)
    {
      tessera_policy_step (c->policy);
      g_assert_cmpuint (c->device.virtual.used_bytes, ==,
                        (step == 0   ? 0
                         : step == 3 ? 2 * N_SLOTS + 34
                                     : 2 * N_SLOTS) *
                            MIB);
      place (c, 0, N_SLOTS);
      if (step == 2)
        program_give_back (c->policy, program_take (c->policy, 33 * MIB, 0));
      give_back (c, 0, N_SLOTS);
    }
  g_assert_cmpuint (c->device.virtual.peak_used_bytes, ==, (2 * N_SLOTS + 34) * MIB);
}

/* What each step takes beside the pool stays there. */
static void
test_each (Case *c, gconstpointer unused)
{
  for (guint step = 0; step < 10; step++)
    {
      tessera_policy_step (c->policy);
      if (step > 0)
        g_assert_cmpuint (c->device.virtual.used_bytes, ==, (2 * N_SLOTS + 34) * MIB);
      place (c, 0, N_SLOTS);
      program_give_back (c->policy, program_take (c->policy, 33 * MIB, 0));
      give_back (c, 0, N_SLOTS);
    }
}

/* What was only asked for, and the device did not have, does not count as held: idle pages
 * of the pool go for the next miss. */
static void
test_only_asked (Case *c, gconstpointer unused)
{
  TesseraPolicyGrant miss;

  place (c, 0, N_SLOTS);
  g_assert_cmpint (tessera_policy_malloc (c->policy, 2048 * MIB, 0, 0, &miss), ==,
                   TESSERA_OUT_OF_DEVICE);
  give_back (c, 0, N_SLOTS);
  miss = program_take (c->policy, 33 * MIB, 0);
  g_assert_false (miss.is_hit);
  g_assert_cmpuint (c->device.virtual.n_unmapped, >, 0);
  g_assert_cmpuint (c->device.virtual.peak_used_bytes, ==, N_SLOTS * 2 * MIB);
}

/* Of ten idle pages the highest goes; a page in use never. */
static void
test_highest (Case *c, gconstpointer unused)
{
  place (c, 0, N_SLOTS);
  give_back (c, 10, 20);
  g_assert_false (program_take (c->policy, MIB, 0).is_hit); /* a page of 2 MiB */
  g_assert_cmpuint (c->device.virtual.n_unmapped, ==, 1);
  g_assert_cmpuint (c->unmapped, ==, offset_of (19));
  g_assert_cmpuint (check (c).pool_bytes, ==, (N_SLOTS - 1) * 2 * MIB);
}

/* A run that asks by turns for what the plan serves and for what it does not spends one
 * part in 64 of its time on pages that go and come, but for 50 ms, and for 500 that were saved. */
static void
test_time (Case *c, gconstpointer unused)
{
  const uint64_t step_ns = 10000000;

  c->device.virtual.unmap_ns = 1000000;
  c->device.virtual.now_ns = (uint64_t) 36000 *
                             1000000000; /* ten hours in which nothing missed */
  uint64_t began_ns = c->device.virtual.now_ns;
  for (guint step = 0; step < 400; step++)
    {
      tessera_policy_step (c->policy);
      c->device.virtual.now_ns += step_ns;
      place (c, 0, N_SLOTS);
      give_back (c, 0, N_SLOTS);
      TesseraPolicyGrant miss =
          program_take (c->policy, (20 + 20 * (step % 4)) * MIB + 512, 0);
      program_give_back (c->policy, miss);
    }
  g_test_message ("%" G_GUINT64_FORMAT " times pages went", c->device.virtual.n_unmapped);
  g_assert_cmpuint (c->device.virtual.n_unmapped, >=, 10);
  g_assert_cmpuint (2 * c->device.virtual.n_unmapped * c->device.virtual.unmap_ns, <=,
                    (c->device.virtual.now_ns - began_ns) / 64 + 550000000 +
                        8 * c->device.virtual.unmap_ns);
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
  add ("/promise/half", 0, test_half);
  add ("/promise/kept", POOL_MIB + 20, test_kept);
  add ("/promise/broken", POOL_MIB + 20, test_broken);
  add ("/promise/broken-in-part", 100, test_broken_in_part);
  add ("/promise/taken-by-others", POOL_MIB, test_taken_by_others);
  add ("/promise/refused-page", POOL_MIB, test_refused_page);
  add ("/promise/refused-often", POOL_MIB + BESIDE_MIB, test_refused_often);
  add ("/promise/refused-for-a-while", POOL_MIB + BESIDE_MIB, test_refused_for_a_while);
  add ("/promise/refused-but-needed", POOL_MIB + BESIDE_MIB, test_refused_but_needed);
  add ("/promise/routed", 0, test_routed);
  g_test_add_func ("/promise/faults", test_faults);
  add ("/lending/lends", 0, test_lends);
  g_test_add ("/lending/once", Case, NULL, open_fine, test_once, close_case);
  g_test_add ("/lending/each", Case, NULL, open_fine, test_each, close_case);
  add ("/lending/only-asked", 1024, test_only_asked);
  add ("/lending/highest", 0, test_highest);
  add ("/lending/time", 0, test_time);
  return g_test_run ();
}
