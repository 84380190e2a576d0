/*
 * A plan followed while the driver refuses memory, at every request for it: PyTorch gets
 * memory or the ordinary exception, and the run goes on by the plan once there is some.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/runtime/training.h"

#include <string.h>

#define MIB ((gsize) 1 << 20)
#define REFUSED_FROM "TESSERA_TEST_REFUSED_FROM"

enum
{
  N_ASKED = 30,
  UNPLANNED_BYTES = 3 << 19
};

static void
start (unsigned long n_refused)
{
  training_follow ();
  program_refuse (strtoul (g_getenv (REFUSED_FROM), NULL, 10), n_refused);
}

/* One refusal costs a request its place at most: no request fails. */
static void
once_body (void)
{
  void *parameters[2 * TRAINING_LAYERS] = { NULL };

  start (1);
  training_make_model (parameters);
  training_steps (parameters, 1, 2, FALSE);
  TesseraDeviceStats stats = program_stats ();
  g_assert_cmpuint (stats.misses, <=, 1);
  g_assert_cmpuint (stats.plan_is_declined, ==, 0);
  training_free_model (parameters);
  g_assert_cmpuint (program_stats ().allocation[0].current, ==, 0);
  tessera_stop ();
}

/* From some moment on there is no memory at all; then there is. */
static void
for_long_body (void)
{
  void *blocks[N_ASKED], *parameters[2 * TRAINING_LAYERS] = { NULL };
  guint n_failed = 0;

  start (G_MAXUINT32);
  for (guint i = 0; i < N_ASKED; i++)
    {
      const char *failure = program_alloc (2 * (ssize_t) MIB, 0, &blocks[i]);

      if (failure != NULL && strstr (failure, "out of memory") == NULL)
        g_error ("%s", failure);
      if (failure != NULL)
        blocks[i] = NULL;
      n_failed += failure != NULL;
    }
  for (guint i = 0; i < N_ASKED; i++)
    if (blocks[i] != NULL)
      program_free (blocks[i], 0);
  /* No request of the plan's, and still no memory: what the pool holds is free. */
  if (n_failed < N_ASKED)
    program_free (program_must_alloc (UNPLANNED_BYTES, 0), 0);
  program_refuse (1, 0);
  g_assert_cmpuint (program_stats ().allocation[0].allocated, ==,
                    N_ASKED - n_failed + (n_failed < N_ASKED));
  g_assert_cmpuint (program_stats ().allocation[0].current, ==, 0);
  training_make_model (parameters);
  training_steps (parameters, 1, 1, FALSE);
  uint64_t n_missed = program_stats ().misses;
  training_steps (parameters, 1, 1, FALSE);
  g_assert_cmpuint (program_stats ().misses, ==, n_missed);
  training_free_model (parameters);
  g_assert_cmpuint (program_stats ().allocation[0].current, ==, 0);
  tessera_stop ();
}

static guint
count_mapped (const TesseraTrace *trace)
{
  guint n = 0;

  for (size_t i = 0; i < trace->n_events; i++)
    n += trace->events[i].action == TESSERA_SEGMENT_MAP ||
         trace->events[i].action == TESSERA_SEGMENT_ALLOC;
  return n;
}

/* Until the run asks the driver less often than that. */
static void
test_refused (gconstpointer body)
{
  guint nth = 1, n_mapped = G_MAXUINT;

  training_plan ();
  for (; nth <= n_mapped; nth++)
    {
      g_autofree char *number = g_strdup_printf ("%u", nth);

      g_setenv (REFUSED_FROM, number, TRUE);
      program_run_child (body);
      g_autoptr (TesseraTrace) trace = program_load ("followed.tsr");
      g_assert_null (tessera_trace_get_meta (trace, "plan_declined"));
      program_assert_no_overlap (trace);
      n_mapped = count_mapped (trace);
    }
  g_assert_cmpuint (nth, >, TRAINING_LAYERS);
}

int
main (int argc, char **argv)
{
  program_init (&argc, &argv);
  PROGRAM_ADD_CHILD (training_record_body);
  PROGRAM_ADD_CHILD (once_body);
  PROGRAM_ADD_CHILD (for_long_body);
  g_test_add_data_func ("/refused/once", "/subprocess/once_body", test_refused);
  g_test_add_data_func ("/refused/for-long", "/subprocess/for_long_body", test_refused);
  return program_finish ();
}
