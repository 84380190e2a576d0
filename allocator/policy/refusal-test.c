/*
 * Tests of a pool that needs memory where others fill the device: how often the driver is
 * asked, and that nobody fails for what it refused before.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/policy/pool.h"

#include <glib.h>

#include "tests/allocator/program.h"
#include "allocator/virtual.h"

#define MIB ((uint64_t) 1 << 20)

enum
{
  HEIGHT_MIB = 100,
  HELD_MIB = 10,
  N_ASKED = 50,
  N_STRANGERS = 100,
  N_BESIDE = 8
};

typedef struct
{
  TesseraVirtual device;
  TesseraCaching *beside;
  TesseraMonitor monitor;
  TesseraPool pool;
} Case;

/* A request that needs the pool to have so much. */
static bool
reach (Case *c, uint64_t height_mib)
{
  uint64_t held_bytes = c->pool.held_bytes;

  tessera_pool_count_request (&c->pool);
  return tessera_pool_bring_back (&c->pool, 0, height_mib * MIB) ||
         held_bytes >= height_mib * MIB;
}

/* A pool that has 10 MiB, on a device that has no more for it. */
static void
open_case (Case *c)
{
  TesseraCachingOptions options = { 0 };

  *c = (Case){ 0 };
  tessera_settings_default (&options.settings);
  tessera_virtual_init (&c->device, 0);
  g_assert_cmpint (tessera_caching_new (&options, &c->device.device, NULL, &c->beside),
                   ==, TESSERA_OK);
  c->pool.users = (TesseraPoolUsers){ .device = &c->device.device,
                                      .beside = c->beside,
                                      .monitor = &c->monitor };
  g_assert_cmpint (tessera_pool_open (&c->pool, HEIGHT_MIB * MIB, false, NULL), ==,
                   TESSERA_OK);
  g_assert_true (reach (c, HELD_MIB));
  c->device.device_bytes = c->device.used_bytes;
}

static void
close_case (Case *c)
{
  tessera_pool_clear (&c->pool);
  tessera_caching_free (c->beside);
}

static void
test_asked_twice (void)
{
  Case c;

  open_case (&c);
  for (guint i = 0; i < N_ASKED; i++)
    g_assert_false (reach (&c, HELD_MIB + 10));
  g_assert_cmpuint (c.device.n_refused, ==, 2);
  g_assert_false (reach (&c, HELD_MIB + 20)); /* more is refused as well */
  g_assert_cmpuint (c.device.n_refused, ==, 2);
  g_assert_true (reach (&c, HELD_MIB));
  close_case (&c);
}

/* Less may be there. */
static void
test_less (void)
{
  Case c;

  open_case (&c);
  c.device.device_bytes += 4 * MIB;
  for (guint i = 0; i < N_ASKED; i++)
    g_assert_false (reach (&c, HELD_MIB + 10));
  g_assert_true (reach (&c, HELD_MIB + 4));
  close_case (&c);
}

/* A refusal ends when this process gives something back, and after some requests; what
 * ends one is as good as new. */
static void
test_ends (void)
{
  Case c;
  guint n_asked = 0;

  open_case (&c);
  for (guint i = 0; i < 2; i++)
    g_assert_false (reach (&c, HELD_MIB + 2));
  g_assert_cmpuint (tessera_pool_give_back (&c.pool, HELD_MIB * MIB), ==, HELD_MIB * MIB);
  g_assert_true (reach (&c, HELD_MIB));

  for (guint i = 0; i < 2; i++)
    g_assert_false (reach (&c, HELD_MIB + 2));
  c.device.device_bytes = 0;
  while (!reach (&c, HELD_MIB + 2))
    n_asked++;
  g_assert_cmpuint (n_asked, >, 30);
  g_assert_cmpuint (n_asked, <, 64);
  close_case (&c);
}

/* One that fails by accident is none. */
static void
test_once (void)
{
  Case c;

  open_case (&c);
  g_assert_false (reach (&c, HELD_MIB + 2));
  c.device.device_bytes = 0;
  g_assert_true (reach (&c, HELD_MIB + 2));
  c.device.device_bytes = c.device.used_bytes;
  g_assert_false (reach (&c, HELD_MIB + 4));
  c.device.device_bytes = 0;
  g_assert_true (reach (&c, HELD_MIB + 4));
  close_case (&c);
}

/* A plan for every length, of one request. */
typedef struct
{
  TesseraSizeLaw law;
  TesseraLengthsSlot slot;
  TesseraLengths lengths;
  TesseraPlan plan;
} Made;

static void
make (Made *made)
{
  *made = (Made){ .law = { .numerators = { [TESSERA_TERM_TOKENS] = 1 << 20 },
                           .denominator = 1,
                           .rounding = 1,
                           .kind = TESSERA_SIZE_AFFINE },
                  .slot = { .died = 1, .place = TESSERA_PLACE_FIXED } };
  made->lengths = (TesseraLengths){ .most = { 1, 64 },
                                    .laws = &made->law,
                                    .n_laws = 1,
                                    .slots = &made->slot,
                                    .n_slots = 1,
                                    .fixed_bytes = 64 * MIB,
                                    .alignment_bytes = 512,
                                    .n_early = 1 };
  made->plan = (TesseraPlan){ .lengths = &made->lengths };
}

/* What finds no memory beside the pool either asks the device, whatever it refused. */
static void
test_needed (void)
{
  Made made;
  TesseraPolicyOptions options = {
    .kind = TESSERA_POLICY_PLAN,
    .caching = { .settings = { .is_expandable = true,
                               .max_split_bytes = UINT64_MAX,
                               .large_segment_bytes = 20 * MIB } },
    .plan = &made.plan,
    .by_length = true,
    .never_declines = true
  };
  TesseraVirtual device;
  TesseraPolicy *policy;
  TesseraPolicyGrant grant;

  make (&made);
  tessera_virtual_init (&device, 0);
  policy = program_open (&options, &device.device);
  tessera_policy_step (policy);
  program_take (policy, 3 * MIB + 512, 0);
  g_assert_cmpuint (device.used_bytes, ==, 20 * MIB); /* beside the pool */
  device.device_bytes = device.used_bytes;
  for (guint i = 0; i < N_STRANGERS; i++) /* then nobody plans the step */
    program_give_back (policy, program_take (policy, 2 * MIB + 512, 0));
  for (guint i = 0; i < N_BESIDE; i++)
    grant = program_take (policy, 2 * MIB + 512, 0);
  g_assert_false (tessera_policy_is_in_pool (policy, grant.grant.addr));
  device.device_bytes += 4 * MIB;
  grant = program_take (policy, 2 * MIB + 512, 0);
  g_assert_true (tessera_policy_is_in_pool (policy, grant.grant.addr));
  tessera_policy_free (policy);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/refusal/asked-twice", test_asked_twice);
  g_test_add_func ("/refusal/less", test_less);
  g_test_add_func ("/refusal/ends", test_ends);
  g_test_add_func ("/refusal/once", test_once);
  g_test_add_func ("/refusal/needed", test_needed);
  return g_test_run ();
}
