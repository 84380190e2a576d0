/*
 * Tests of private pools: what captured graphs get, and when it may be given back.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/runtime/program.h"

#include <pthread.h>

#define MIB ((uint64_t) 1 << 20)

static void
pools_body (void)
{
  const TesseraTorchPool pool = { 7, 0 };

  program_start ("policy", "native", "record", program_file ("run.tsr"), NULL);
  void *outside = program_must_alloc (4 * (ssize_t) MIB, 0);
  program_free (outside, 0);
  tessera_torch_begin_pool (0, pool, NULL);
  void *inside = program_must_alloc (4 * (ssize_t) MIB, 0);
  g_assert_true (inside != outside);
  program_free (inside, 0);
  void *again = program_must_alloc (4 * (ssize_t) MIB, 0);
  g_assert_true (again == inside);
  tessera_torch_record_stream (again, (void *) program_stream (1));
  tessera_torch_empty_cache (); /* nothing: frees are not allowed now */
  program_free (again, 0);      /* put off: events cannot be recorded now */
  program_free (program_must_alloc (512, 0), 0);
  g_assert_cmpuint (program_stats ().active[0].current, ==, 1);
  tessera_torch_end_pool (0, pool);
  g_assert_true (program_must_alloc (4 * (ssize_t) MIB, 0) == outside);
  program_free (outside, 0);
  tessera_torch_empty_cache ();
  g_assert_cmpuint (program_stats ().active[0].current, ==, 0);
  g_assert_cmpuint (program_stats ().reserved_bytes[0].current, ==, 22 * MIB);
  tessera_torch_release_pool (0, pool);
  tessera_torch_empty_cache ();
  g_assert_cmpuint (program_stats ().reserved_bytes[0].current, ==, 0);
  program_assert_quiet ();
  tessera_stop ();
}

static void
test_pools (void)
{
  PROGRAM_RUN_CHILD (pools_body);
  TesseraTrace *trace = program_load ("run.tsr");
  g_assert_cmpuint (trace->n_pools, ==, 2);
  g_assert_cmpuint (trace->pools[1].owner_id, ==, 7);
  tessera_trace_free (trace);
  program_verify ("run.tsr", 5);
}

/* Two captures into one pool, of two threads. */
typedef struct
{
  TesseraTorchPool pool;
  pthread_barrier_t steps;
  void *block;
} Captures;

/* Its capture goes on after the other has ended. */
static void *
capture_longer (void *user)
{
  Captures *captures = user;

  tessera_torch_begin_pool (0, captures->pool, NULL);
  pthread_barrier_wait (&captures->steps); /* both have begun */
  pthread_barrier_wait (&captures->steps); /* the other has ended */
  captures->block = program_must_alloc (4 * (ssize_t) MIB, 0);
  program_free (captures->block, 0);
  tessera_torch_end_pool (0, captures->pool);
  return NULL;
}

/* What a graph was captured with serves nobody else, be it that another capture into the
 * same pool ended before. */
static void
shared_body (void)
{
  Captures captures = { .pool = { 7, 0 } };
  pthread_t thread;

  program_start ("policy", "native", NULL);
  g_assert_cmpint (pthread_barrier_init (&captures.steps, NULL, 2), ==, 0);
  program_free (program_must_alloc (512, 0), 0);
  g_assert_cmpint (pthread_create (&thread, NULL, capture_longer, &captures), ==, 0);
  tessera_torch_begin_pool (0, captures.pool, NULL);
  pthread_barrier_wait (&captures.steps);
  tessera_torch_end_pool (0, captures.pool);
  pthread_barrier_wait (&captures.steps);
  g_assert_cmpint (pthread_join (thread, NULL), ==, 0);
  g_assert_true (program_must_alloc (4 * (ssize_t) MIB, 0) != captures.block);
  tessera_torch_release_pool (0, captures.pool);
  tessera_torch_empty_cache ();
  g_assert_cmpuint (program_stats ().reserved_bytes[0].current, ==, 40 * MIB);
  tessera_torch_release_pool (0, captures.pool);
  tessera_torch_empty_cache ();
  g_assert_cmpuint (program_stats ().reserved_bytes[0].current, ==, 20 * MIB);
  pthread_barrier_destroy (&captures.steps);
}

int
main (int argc, char **argv)
{
  program_init (&argc, &argv);
  PROGRAM_ADD_CHILD (pools_body);
  g_test_add_func ("/pools/one", test_pools);
  PROGRAM_TEST_CHILD ("/pools/shared", shared_body);
  return program_finish ();
}
