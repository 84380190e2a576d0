/*
 * A whole run over a device that refuses, at every call that it can refuse: nothing is
 * handed out twice, nothing is lost, requests are served or fail as "out of memory", and
 * what is asked for once the device gives again is served.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/policy.h"

#include "tests/allocator/host.h"
#include "tests/allocator/program.h"

#define KIB ((uint64_t) 1 << 10)
#define MIB ((uint64_t) 1 << 20)

enum
{
  N_STEPS = 3, /* with the last of which the device gives again */
  N_SLOTS = 24,
  POOL_MIB = 16,
  DEVICE_MIB = 40,
  A_FEW = 5, /* refusals in a row */
  ALL_THAT_COME = 1 << 30
};

/* The host's memory, which refuses some calls from one on. */
typedef struct
{
  TesseraHost host; /* must be first */
  TesseraDevice whole;
  guint n_calls, refuses_from, n_to_refuse, n_refused;
  TesseraStatus refuses_with;
  uint64_t n_reserved; /* addresses, less those that came back */
} Refusing;

static bool
refuses (Refusing *device)
{
  bool is_refused = ++device->n_calls >= device->refuses_from && device->n_to_refuse > 0;

  device->n_to_refuse -= is_refused;
  device->n_refused += is_refused;
  return is_refused;
}

static TesseraStatus
allocate (TesseraDevice *device, uint64_t size_bytes, uint32_t stream, uint64_t *out_addr)
{
  Refusing *self = (Refusing *) device;

  *out_addr = 0;
  return refuses (self) ? self->refuses_with
                        : self->whole.allocate (device, size_bytes, stream, out_addr);
}

static TesseraStatus
reserve (TesseraDevice *device,
         uint32_t stream,
         uint64_t page_bytes,
         uint64_t *out_addr,
         uint64_t *out_size_bytes)
{
  Refusing *self = (Refusing *) device;
  TesseraStatus status;

  *out_addr = *out_size_bytes = 0;
  if (refuses (self))
    return self->refuses_with;
  status = self->whole.reserve (device, stream, page_bytes, out_addr, out_size_bytes);
  self->n_reserved += status == TESSERA_OK;
  return status;
}

static void
unreserve (TesseraDevice *device, uint64_t addr, uint64_t size_bytes)
{
  Refusing *self = (Refusing *) device;

  self->n_reserved--;
  self->whole.unreserve (device, addr, size_bytes);
}

static TesseraStatus
map (TesseraDevice *device, uint64_t addr, uint64_t size_bytes, uint32_t stream)
{
  Refusing *self = (Refusing *) device;

  return refuses (self) ? self->refuses_with
                        : self->whole.map (device, addr, size_bytes, stream);
}

static void
open_device (Refusing *device, guint refuses_from, guint n_to_refuse)
{
  *device = (Refusing){ .refuses_from = refuses_from, .n_to_refuse = n_to_refuse };
  device->refuses_with = refuses_from % 2 == 0 ? TESSERA_OUT_OF_DEVICE : TESSERA_IO;
  tessera_host_init (&device->host, DEVICE_MIB * MIB);
  device->whole = device->host.device;
  device->host.device.allocate = allocate;
  device->host.device.reserve = reserve;
  device->host.device.unreserve = unreserve;
  device->host.device.map = map;
}

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
  g_autoptr (GArray) live = g_array_new (FALSE, FALSE, sizeof (ProgramBlock));
  g_autoptr (GArray) pending = g_array_new (FALSE, FALSE, sizeof (ProgramBlock));
  g_autoptr (Oracle) oracle = NULL;
  TesseraPolicyOptions options = made_plan_options (made);
  Program program = { .live = live, .pending = pending };
  TesseraPolicyStats stats;
  Refusing device;
  guint n_held;

  options.kind = kind;
  open_device (&device, refuses_from, n_to_refuse);
  device.host.synchronize = program_complete_all;
  device.host.user = &program;
  if (refuses_from == 1 && kind == TESSERA_POLICY_PLAN)
    {
      TesseraError error = { 0 };

      g_assert_cmpint (tessera_policy_new (&options, &device.host.device, NULL, &error,
                                           &program.policy),
                       ==, device.refuses_with);
      g_assert_null (program.policy);
      g_assert_cmpstr (error.text, !=, "");
      g_assert_cmpuint (device.host.used_bytes, ==, 0);
      g_assert_cmpuint (device.n_reserved, ==, 0);
      return true;
    }
  program_start (&program, &options, &device.host.device);
  oracle = program.oracle;
  for (guint step = 0; step < N_STEPS - 1; step++)
    run_step (&program, rand, made);

  device.n_to_refuse = 0;
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
  stats = program_check_sums (program.policy);
  g_assert_cmpuint (stats.caching.allocated_bytes, ==, 0);
  g_assert_cmpuint (stats.extra_bytes, ==, 0);
  g_assert_cmpuint (device.host.used_bytes, ==, stats.pool_bytes);
  g_assert_cmpuint (device.host.peak_used_bytes, ==, stats.caching.peak_reserved_bytes);
  tessera_policy_free (program.policy);
  return device.n_refused > 0;
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
  g_test_init (&argc, &argv, NULL);
  g_test_add_data_func ("/faults/plan", GINT_TO_POINTER (TESSERA_POLICY_PLAN), test_kind);
  g_test_add_data_func ("/faults/native", GINT_TO_POINTER (TESSERA_POLICY_NATIVE),
                        test_kind);
  g_test_add_data_func ("/faults/expandable", GINT_TO_POINTER (TESSERA_POLICY_EXPANDABLE),
                        test_kind);
  g_test_add_data_func ("/faults/direct", GINT_TO_POINTER (TESSERA_POLICY_DIRECT),
                        test_kind);
  return g_test_run ();
}
