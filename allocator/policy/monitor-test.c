/*
 * Tests of the plan monitor: what makes it misfit, and what must not.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/policy/planned.h"

#include <glib.h>

#define MIB ((uint64_t) 1 << 20)

enum
{
  SETUP_SLOTS = 100,
  STEP_SLOTS = 1000
};

/* Of a GiB, whose steps ask for a MiB a thousand times. */
static TesseraMonitor
make_monitor (void)
{
  static TesseraSection sections[] = {
    { .n_slots = SETUP_SLOTS, .kind = TESSERA_SECTION_ONCE },
    { .n_slots = STEP_SLOTS, .kind = TESSERA_SECTION_REPEATS },
  };
  const TesseraPlan plan = { .sections = sections,
                             .n_sections = G_N_ELEMENTS (sections),
                             .n_slots = SETUP_SLOTS + STEP_SLOTS,
                             .height_bytes = 1024 * MIB };
  TesseraMonitor monitor;

  tessera_monitor_init (&monitor, &plan);
  return monitor;
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
  g_test_add_func ("/monitor/other-batch", test_other_batch);
  g_test_add_func ("/monitor/other-model", test_other_model);
  g_test_add_func ("/monitor/early", test_early);
  g_test_add_func ("/monitor/fits", test_fits);
  g_test_add_func ("/monitor/evaluations", test_evaluations);
  g_test_add_func ("/monitor/changed-for-good", test_changed_for_good);
  g_test_add_func ("/monitor/short", test_short);
  g_test_add_func ("/monitor/unmarked", test_unmarked);
  return g_test_run ();
}
