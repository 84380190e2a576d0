/*
 * Several devices in one process: a plan is for its own, the others go on under their policy;
 * one recording holds them all.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/runtime/program.h"

#define MIB ((gsize) 1 << 20)

enum
{
  N_DEVICES = 2,
  N_LAYERS = 6,
  N_STEPS = 4,
  N_REQUESTS = N_LAYERS * N_STEPS /* of one device */
};

/* Devices differ in what they ask for, so that none is taken for another. */
static gsize
size_of (int device, int layer)
{
  return (gsize) (3 + 4 * device) * MIB + 512 * (gsize) layer;
}

static void
run_layers (int device)
{
  void *activations[N_LAYERS];

  for (int i = 0; i < N_LAYERS; i++)
    {
      activations[i] = tessera_torch_alloc ((ssize_t) size_of (device, i), device, NULL);
      g_assert_nonnull (activations[i]);
    }
  for (int i = N_LAYERS - 1; i >= 0; i--)
    tessera_torch_free (activations[i], (ssize_t) size_of (device, i), device, NULL);
}

static void
train (void)
{
  for (int step = 0; step < N_STEPS; step++)
    {
      tessera_step (step);
      for (int device = 0; device < N_DEVICES; device++)
        run_layers (device);
    }
  tessera_step (-1);
}

static TesseraDeviceStats
stats_of (int device)
{
  TesseraDeviceStats stats = { .struct_bytes = sizeof stats };

  g_assert_cmpint (tessera_get_stats (device, &stats), ==, 0);
  g_assert_cmpuint (stats.allocation[0].allocated, ==, N_REQUESTS);
  g_assert_cmpuint (stats.allocation[0].current, ==, 0);
  return stats;
}

static void
record_body (void)
{
  program_start ("record", program_file ("run.tsr"), NULL);
  train ();
  for (int device = 0; device < N_DEVICES; device++)
    g_assert_cmpuint (stats_of (device).allocated_bytes[0].peak, >=,
                      N_LAYERS * size_of (device, 0));
  tessera_stop ();
}

static void
follow_body (void)
{
  program_start ("plan", program_file ("run.tsp"), "record",
                 program_file ("followed.tsr"), NULL);
  train ();
  TesseraDeviceStats stats = stats_of (0);
  g_assert_cmpuint (stats.hits, ==, N_REQUESTS);
  g_assert_cmpuint (stats.misses, ==, 0);
  g_assert_cmpuint (stats.plan_height_bytes, >=, N_LAYERS * size_of (0, 0));
  stats = stats_of (1);
  g_assert_cmpuint (stats.hits + stats.misses, ==, 0);
  g_assert_cmpuint (stats.plan_height_bytes, ==, 0);
  g_assert_cmpuint (stats.segment[0].allocated, ==, 0); /* expandable ones are none */
  g_assert_cmpuint (stats.reserved_bytes[0].peak, >=, N_LAYERS * size_of (1, 0));
  program_assert_quiet ();
  tessera_stop ();
}

/* Device 0 is used first, and the plan is of device 1. */
static void
follow_second_body (void)
{
  program_start ("plan", program_file ("second.tsp"), "record",
                 program_file ("followed.tsr"), NULL);
  tessera_torch_init (N_DEVICES);
  train ();
  g_assert_cmpuint (stats_of (0).plan_height_bytes, ==, 0);
  g_assert_cmpuint (stats_of (1).hits, ==, N_REQUESTS);
  program_assert_noticed ("device 1", "on device 0 expandable rules serve", NULL);
  tessera_stop ();
}

static void
train_alone (int device)
{
  for (int step = 0; step < N_STEPS; step++)
    {
      tessera_step (step);
      for (int i = 0; i < N_LAYERS; i++)
        tessera_torch_free (tessera_torch_alloc ((ssize_t) size_of (0, i), device, NULL),
                            (ssize_t) size_of (0, i), device, NULL);
    }
  tessera_step (-1);
}

static void
record_alone_body (void)
{
  program_start ("record", program_file ("alone.tsr"), NULL);
  train_alone (0);
  tessera_stop ();
}

static void
follow_alone_body (void)
{
  program_start ("plan", program_file ("alone.tsp"), NULL);
  tessera_torch_init (N_DEVICES);
  train_alone (1);
  g_assert_cmpuint (stats_of (1).hits, ==, N_REQUESTS);
  program_assert_quiet ();
  tessera_stop ();
}

/* A program of one device may take another tomorrow. */
static void
test_alone (void)
{
  PROGRAM_RUN_CHILD (record_alone_body);
  program_plan ("alone.tsr", 0, "alone.tsp");
  PROGRAM_RUN_CHILD (follow_alone_body);
}

/* The recording has every device's own requests, in order, and what all share. */
static void
assert_recorded (const char *name)
{
  for (int device = 0; device < N_DEVICES; device++)
    {
      g_autoptr (TesseraTrace) trace = program_load_device (name, (guint32) device);
      guint n_requests = 0, n_steps = 0;

      for (gsize i = 0; i < trace->n_events; i++)
        if (trace->events[i].action == TESSERA_ALLOC)
          g_assert_cmpuint (trace->events[i].size_bytes, ==,
                            size_of (device, (int) (n_requests++ % N_LAYERS)));
      g_assert_cmpuint (n_requests, ==, N_REQUESTS);
      for (gsize i = 0; i < trace->n_ranges; i++)
        n_steps += trace->ranges[i].kind == TESSERA_RANGE_STEP;
      g_assert_cmpuint (n_steps, ==, N_STEPS);
      g_assert_cmpuint (trace->device, ==, (guint) device);
      program_assert_no_overlap (trace);
    }
}

static void
test_record (void)
{
  PROGRAM_RUN_CHILD (record_body);
  assert_recorded ("run.tsr");
}

static void
test_follow (void)
{
  PROGRAM_RUN_CHILD (record_body);
  program_plan ("run.tsr", 0, "run.tsp");
  PROGRAM_RUN_CHILD (follow_body);
  assert_recorded ("followed.tsr");
  g_autoptr (TesseraTrace) trace = program_load_device ("followed.tsr", 0);
  g_assert_cmpstr (tessera_trace_get_meta (trace, "plan_device"), ==, "0");
}

static void
test_follow_second (void)
{
  PROGRAM_RUN_CHILD (record_body);
  program_plan ("run.tsr", 1, "second.tsp");
  PROGRAM_RUN_CHILD (follow_second_body);
  assert_recorded ("followed.tsr");
  g_autoptr (TesseraTrace) trace = program_load_device ("followed.tsr", 1);
  g_assert_cmpstr (tessera_trace_get_meta (trace, "plan_device"), ==, "1");
}

int
main (int argc, char **argv)
{
  g_setenv ("NULLCUDA_COUNT", "2", TRUE);
  program_init (&argc, &argv);
  PROGRAM_ADD_CHILD (record_body);
  PROGRAM_ADD_CHILD (follow_body);
  PROGRAM_ADD_CHILD (follow_second_body);
  PROGRAM_ADD_CHILD (record_alone_body);
  PROGRAM_ADD_CHILD (follow_alone_body);
  g_test_add_func ("/devices/record", test_record);
  g_test_add_func ("/devices/follow", test_follow);
  g_test_add_func ("/devices/follow-second", test_follow_second);
  g_test_add_func ("/devices/alone", test_alone);
  return program_finish ();
}
