/*
 * A plan that is followed while the program forks, works in several threads and ends in
 * the midst of a step.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/runtime/training.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define BUSY_BYTES 5000

enum
{
  N_FORKS = 10,
  N_STEPS = 12
};

static int stop_it;                           /* atomic */
static guint n_busy;                          /* requests, of the one busy thread */
static void *parameters[2 * TRAINING_LAYERS]; /* in the pool */

/* Loads data, on a stream that the plan never saw. */
static gpointer
keep_busy (gpointer user)
{
  while (!g_atomic_int_get (&stop_it))
    {
      program_free (program_must_alloc (BUSY_BYTES, program_stream (2)),
                    program_stream (2));
      g_atomic_int_inc (&n_busy);
      g_usleep (50);
    }
  return NULL;
}

/* It has neither device nor pool, and may not touch what the parent has. */
static int
be_a_child (void)
{
  TesseraDeviceStats stats = { .struct_bytes = sizeof stats };
  void *ptr;

  tessera_step (7);
  const char *text = program_alloc (1 << 21, 0, &ptr);
  if (text == NULL || strstr (text, "forked child") == NULL)
    return 1;
  program_free (parameters[0], 0);
  tessera_torch_empty_cache ();
  if (tessera_get_stats (0, &stats) != 0 || stats.pool_bytes != 0 || stats.hits != 0)
    return 2;
  tessera_stop ();
  return 0;
}

static gpointer
keep_forking (gpointer user)
{
  for (int i = 0; i < N_FORKS; i++)
    {
      int status;
      pid_t child = fork ();

      g_assert_cmpint (child, >=, 0);
      if (child == 0)
        {
          alarm (20); /* a lock that nobody holds any more */
          _exit (be_a_child ());
        }
      g_assert_cmpint (waitpid (child, &status, 0), ==, child);
      g_assert_cmpint (status, ==, 0);
    }
  g_atomic_int_set (&stop_it, TRUE);
  return NULL;
}

/* Steps while others fork and load data: each request of the plan hits, in all of them.
 */
static void
threads_body (void)
{
  GThread *threads[2];

  training_follow ();
  training_make_model (parameters);
  training_steps (parameters, 1, 1, FALSE);
  threads[0] = g_thread_new ("busy", keep_busy, NULL);
  threads[1] = g_thread_new ("forks", keep_forking, NULL);
  while (!g_atomic_int_get (&stop_it))
    training_steps (parameters, 1, 1, FALSE);
  for (size_t i = 0; i < G_N_ELEMENTS (threads); i++)
    g_thread_join (threads[i]);
  TesseraDeviceStats stats = program_stats ();
  g_assert_cmpuint (n_busy, >, 0);
  g_assert_cmpuint (stats.misses, ==, n_busy);
  g_assert_cmpuint (stats.hits + n_busy, ==, stats.allocation[0].allocated);
  g_assert_cmpuint (stats.plan_is_declined, ==, 0);
  training_free_model (parameters);
  g_assert_cmpuint (program_stats ().allocation[0].current, ==, 0);
  tessera_stop ();
}

static void
free_the_model (void)
{
  training_free_model (parameters);
}

/* Nobody stops it, blocks are held, and a thread works on while the process ends. */
static void
exit_body (void)
{
  atexit (free_the_model);
  training_follow ();
  training_make_model (parameters);
  training_steps (parameters, 1, 2, FALSE);
  g_thread_unref (g_thread_new ("busy", keep_busy, NULL));
  tessera_step (2);
  program_must_alloc (1000000, program_stream (1));
  while (g_atomic_int_get (&n_busy) < 100)
    g_usleep (100);
}

static void
test_followed (gconstpointer body)
{
  training_plan ();
  program_run_child (body);
  g_autoptr (TesseraTrace) trace = program_load ("followed.tsr");
  g_assert_cmpstr (tessera_trace_get_meta (trace, "policy"), ==, "plan");
  g_assert_null (tessera_trace_get_meta (trace, "plan_declined"));
  g_assert_cmpuint (trace->n_events, >, 100);
  program_assert_no_overlap (trace);
}

int
main (int argc, char **argv)
{
  program_init (&argc, &argv);
  PROGRAM_ADD_CHILD (training_record_body);
  PROGRAM_ADD_CHILD (threads_body);
  PROGRAM_ADD_CHILD (exit_body);
  g_test_add_data_func ("/plan-process/threads", "/subprocess/threads_body",
                        test_followed);
  g_test_add_data_func ("/plan-process/exit", "/subprocess/exit_body", test_followed);
  return program_finish ();
}
