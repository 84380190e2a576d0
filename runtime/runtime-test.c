/*
 * Serving requests as PyTorch's allocator would, over the null CUDA.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/runtime/program.h"

#include <string.h>

#include "tests/fail_alloc.h"

#define MIB ((gsize) 1 << 20)
#define GIB ((gsize) 1 << 30)

enum
{
  N_REQUESTS = 4000,
  N_THREADS = 8,
  N_REQUESTS_OF_THREAD = 500
};

/* Random programs, recorded. */
typedef struct
{
  const char *policy, *conf;
  double side_uses;
} Recorded;

static const Recorded recorded[] = {
  { "native", "", 0.1 },
  { "expandable", "", 0.1 },
  { "native",
    "roundup_power2_divisions:[1:8,4:2,>:4],max_split_size_mb:64,"
    "garbage_collection_threshold:0.8",
    0 },
};

static void
run_recorded (const Recorded *run)
{
  guint32 seed = (guint32) g_test_rand_int ();
  Program program = { .rand = g_rand_new_with_seed (seed),
                      .n_requests = N_REQUESTS,
                      .n_streams = 4,
                      .side_uses = run->side_uses,
                      .empty_caches = 0.001,
                      .most_bytes = 2 * GIB };

  g_printerr ("seed %u\n", seed);
  program_start ("policy", run->policy, "record", program_file ("run.tsr"), "alloc_conf",
                 run->conf, NULL);
  program_run (&program);
  program_assert_quiet ();
  tessera_stop ();
  program_assert_quiet ();
  g_rand_free (program.rand);
}

static void
test_recorded (gconstpointer user)
{
  if (g_test_subprocess ())
    {
      run_recorded (user);
      return;
    }
  program_run_child (NULL);
  program_verify ("run.tsr", N_REQUESTS);
}

/* A block's content does not outlive the block, whichever gets its address next. */
static void
forgotten_body (void)
{
  char host[7] = "abcdef", *first, *second;

  program_start ("policy", "native", NULL);
  first = program_must_alloc (7, 0);
  program_copy (first, host, 7);
  program_free (first, 0);
  second = program_must_alloc (7, 0);
  g_assert_true (first == second);
  program_copy (host, second, 7);
  g_assert_cmpmem (host, 7, "\0\0\0\0\0\0", 7);
  program_copy (second, "ABCDEF", 7);
  program_copy (host, second, 7);
  g_assert_cmpstr (host, ==, "ABCDEF");
}

static void
assert_stat (const TesseraStat *stat, guint64 now, guint64 peak, guint64 up, guint64 down)
{
  g_assert_cmpuint (stat->current, ==, now);
  g_assert_cmpuint (stat->peak, ==, peak);
  g_assert_cmpuint (stat->allocated, ==, up);
  g_assert_cmpuint (stat->freed, ==, down);
}

/* What PyTorch's memory_stats() says after the same calls. */
static void
figures_body (void)
{
  program_start ("policy", "native", NULL);
  void *small = program_must_alloc (1000, 0);
  void *large = program_must_alloc (30 * (ssize_t) MIB, 0);

  program_free (large, 0);
  large = program_must_alloc (9 * (ssize_t) MIB, 0);
  TesseraDeviceStats stats = program_stats ();
  assert_stat (&stats.allocation[0], 2, 2, 3, 1);
  assert_stat (&stats.allocated_bytes[1], 1024, 1024, 1024, 0);
  assert_stat (&stats.allocated_bytes[2], 9 * MIB, 30 * MIB, 39 * MIB, 30 * MIB);
  assert_stat (&stats.requested_bytes[0], 1000 + 9 * MIB, 1000 + 30 * MIB,
               1000 + 39 * MIB, 30 * MIB);
  assert_stat (&stats.reserved_bytes[0], 32 * MIB, 32 * MIB, 32 * MIB, 0);
  assert_stat (&stats.segment[1], 1, 1, 1, 0);
  /* The first request left 2 MiB - 1024 behind; the last cut 21 MiB off. */
  assert_stat (&stats.inactive_split[0], 2, 2, 2, 0);
  assert_stat (&stats.inactive_split_bytes[2], 21 * MIB, 21 * MIB, 21 * MIB, 0);
  g_assert_cmpuint (stats.n_device_alloc, ==, 2);
  g_assert_cmpuint (stats.max_split_bytes, ==, UINT64_MAX);

  program_free (large, 0);
  program_free (small, 0);
  program_free (NULL, 0);
  tessera_torch_empty_cache ();
  tessera_reset_peak_stats (0);
  tessera_reset_accumulated_stats (0);
  stats = program_stats ();
  assert_stat (&stats.reserved_bytes[0], 0, 0, 0, 0);
  assert_stat (&stats.inactive_split[0], 0, 0, 0, 0);
  assert_stat (&stats.active[0], 0, 0, 0, 0);
  program_assert_quiet ();
}

/* A block that side streams use is free when they are done, not before. */
static void
sides_body (void)
{
  program_start ("policy", "native", "record", program_file ("run.tsr"), NULL);
  uintptr_t own = program_stream (1);
  uintptr_t side = program_stream (2);
  void *first = program_must_alloc (4 * (ssize_t) MIB, own);

  tessera_torch_record_stream (first, (void *) own); /* nothing */
  tessera_torch_record_stream (first, (void *) side);
  tessera_torch_record_stream (first, (void *) side);
  program_delay (side, 1e7);
  program_free (first, own);
  program_free (first, own); /* twice changes nothing */
  g_assert_cmpuint (program_stats ().allocation[0].current, ==, 0);
  g_assert_cmpuint (program_stats ().active[0].current, ==, 1);
  void *second = program_must_alloc (4 * (ssize_t) MIB, own);
  g_assert_true (second != first);
  program_free (second, own);
  tessera_torch_empty_cache (); /* waits */
  g_assert_cmpuint (program_stats ().active[0].current, ==, 0);
  g_assert_cmpuint (program_stats ().reserved_bytes[0].current, ==, 0);
  g_assert_cmpuint (program_stats ().n_sync_all_streams, ==, 1);

  first = program_must_alloc (4 * (ssize_t) MIB, own);
  tessera_torch_record_stream (first, (void *) side); /* which has nothing to do */
  program_free (first, own);
  second = program_must_alloc (4 * (ssize_t) MIB, own);
  g_assert_true (first == second);
  program_free (second, own);
  tessera_stop ();
}

/* More side streams than a block has room for. */
static void
many_sides_body (void)
{
  program_start ("policy", "native", NULL);
  uintptr_t own = program_stream (1);
  void *block = program_must_alloc (1000, own);

  for (guint i = 0; i < 20; i++)
    {
      tessera_torch_record_stream (block, (void *) program_stream (2 + i));
      program_delay (program_stream (2 + i), 1e6 * i);
    }
  program_free (block, own);
  g_assert_cmpuint (program_stats ().active[0].current, ==, 1);
  tessera_torch_empty_cache ();
  g_assert_cmpuint (program_stats ().active[0].current, ==, 0);
  program_assert_quiet ();
}

/* The side stream captures a graph that nobody announced: its events tell nothing, not
 * even to who waits for them. */
static void
captured_side_body (void)
{
  program_start ("policy", "native", NULL);
  uintptr_t own = program_stream (1);
  uintptr_t side = program_stream (2);
  void *block = program_must_alloc (4 * (ssize_t) MIB, own);

  tessera_torch_record_stream (block, (void *) side);
  program_delay (side, 1e7);
  program_capture (side, TRUE);
  program_free (block, own);
  tessera_torch_empty_cache ();
  g_assert_cmpuint (program_stats ().active[0].current, ==, 1);
  program_must_alloc (4 * (ssize_t) MIB, own);
  g_assert_cmpuint (program_stats ().active[0].current, ==, 2);
  program_capture (side, FALSE);
  tessera_torch_empty_cache ();
  g_assert_cmpuint (program_stats ().active[0].current, ==, 1);
  program_assert_quiet ();
}

static void
test_sides (void)
{
  PROGRAM_RUN_CHILD (sides_body);
  TesseraTrace *trace = program_load ("run.tsr");
  /* The default one, one of its own, and one that nothing was allocated on. */
  g_assert_cmpuint (trace->n_streams, ==, 3);
  tessera_trace_free (trace);
  program_verify ("run.tsr", 4);
}

/* Without the hook a block that was freed waits for every stream that is known. */
static void
no_hook_body (void)
{
  program_start ("policy", "native", NULL);
  tessera_torch_has_record_stream (0);
  uintptr_t own = program_stream (1);
  uintptr_t other_stream = program_stream (2);
  void *other = program_must_alloc (512, other_stream);
  void *first = program_must_alloc (4 * (ssize_t) MIB, own);

  program_delay (other_stream, 1e7);
  program_free (first, own);
  void *second = program_must_alloc (4 * (ssize_t) MIB, own);
  g_assert_true (second != first);
  g_assert_cmpuint (program_stats ().active[0].current, ==, 3);
  tessera_torch_empty_cache ();
  g_assert_cmpuint (program_stats ().active[0].current, ==, 2);
  program_free (second, own);
  program_free (other, other_stream);
}

/* The device of this test has 1 GiB. */
static void
out_of_memory_body (void)
{
  const char *text;
  void *blocks[16], *ptr;
  int n = 0;

  program_start ("policy", "native", "record", program_file ("run.tsr"), NULL);
  while ((text = program_alloc (100 * (ssize_t) MIB, 0, &blocks[n])) == NULL)
    n++;
  g_assert_cmpint (n, >=, 8);
  g_assert_true (g_str_has_prefix (text,
                                   "CUDA out of memory. Tried to allocate 100.00 MiB. "
                                   "GPU 0 has a total capacity of 1.00 GiB of which "));
  g_assert_nonnull (strstr (text, "MiB is allocated by PyTorch, and 0 B is reserved "
                                  "by PyTorch but unallocated. Tessera: not "
                                  "fragmentation; "));
  for (int i = 0; i < n; i += 2)
    program_free (blocks[i], 0);
  /* Cut up what is free, so that a flush cannot give it back. */
  for (int i = 0; i < n; i += 2)
    blocks[i] = program_must_alloc (60 * (ssize_t) MIB, 0);
  text = program_alloc (200 * (ssize_t) MIB, 0, &ptr);
  g_assert_nonnull (strstr (text, "Tessera: fragmentation; "));
  g_assert_nonnull (strstr (text, "in pieces of at most 40.00 MiB."));
  text = program_alloc (200 * (ssize_t) MIB, program_stream (1), &ptr);
  g_assert_nonnull (strstr (text, "Tessera: fragmentation; "));
  g_assert_nonnull (strstr (text, "held for other streams"));
  g_assert_cmpuint (program_stats ().n_ooms, ==, 3);
  g_assert_nonnull (program_alloc (-1, 0, &ptr));
  for (int i = 0; i < n; i++)
    program_free (blocks[i], 0);
  program_free (program_must_alloc (200 * (ssize_t) MIB, program_stream (1)),
                program_stream (1));
  program_assert_quiet ();
  tessera_stop ();
}

static void
test_out_of_memory (void)
{
  guint n_failed = 0;

  g_setenv ("NULLCUDA_DEVICE", "1GiB", TRUE);
  PROGRAM_RUN_CHILD (out_of_memory_body);
  g_setenv ("NULLCUDA_DEVICE", "16GiB", TRUE);
  g_autoptr (TesseraTrace) trace = program_load ("run.tsr");
  for (gsize i = 0; i < trace->n_events; i++)
    if (trace->events[i].action == TESSERA_OOM)
      {
        n_failed++;
        g_assert_cmpuint (trace->events[i].addr, <, 200 * MIB);
      }
  g_assert_cmpuint (n_failed, ==, 4);
}

static void
limit_body (void)
{
  void *ptr;

  tessera_torch_memory_fraction (0.5, 0); /* before the device is there */
  program_start ("policy", "native", NULL);
  g_assert_nonnull (program_alloc (600 * (ssize_t) MIB, 0, &ptr));
  program_free (program_must_alloc (500 * (ssize_t) MIB, 0), 0);
  tessera_torch_memory_fraction (1.0, 0);
  program_free (program_must_alloc (600 * (ssize_t) MIB, 0), 0);
}

static void
test_limit (void)
{
  g_setenv ("NULLCUDA_DEVICE", "1GiB", TRUE);
  PROGRAM_RUN_CHILD (limit_body);
  g_setenv ("NULLCUDA_DEVICE", "16GiB", TRUE);
}

static gpointer
run_thread (gpointer user)
{
  Program program = { .rand = g_rand_new_with_seed (GPOINTER_TO_UINT (user)),
                      .n_requests = N_REQUESTS_OF_THREAD,
                      .n_streams = 4,
                      .side_uses = 0.1,
                      .empty_caches = 0.002,
                      .most_bytes = GIB };

  tessera_module_begin ("a module");
  program_run (&program);
  tessera_module_end ();
  g_rand_free (program.rand);
  return NULL;
}

/* A step of one request on each of two streams. */
static int
step_repeats (ssize_t first_bytes, ssize_t second_bytes, guint stream)
{
  tessera_step (0);
  program_free (program_must_alloc (first_bytes, 0), 0);
  program_free (program_must_alloc (second_bytes, program_stream (stream)),
                program_stream (stream));
  return tessera_step_repeats ();
}

static void
repeats_body (void)
{
  program_start ("policy", "native", NULL);
  step_repeats ((ssize_t) MIB, 2 * (ssize_t) MIB, 1);
  g_assert_true (step_repeats ((ssize_t) MIB, 2 * (ssize_t) MIB, 1));
  g_assert_true (step_repeats ((ssize_t) MIB, 2 * (ssize_t) MIB, 1));
  g_assert_false (step_repeats ((ssize_t) MIB, 2 * (ssize_t) MIB + 1, 1));
  g_assert_false (step_repeats (2 * (ssize_t) MIB + 1, (ssize_t) MIB, 1));
  g_assert_false (step_repeats (2 * (ssize_t) MIB + 1, (ssize_t) MIB, 2));
  g_assert_true (step_repeats (2 * (ssize_t) MIB + 1, (ssize_t) MIB, 2));
  /* What came before the step is not the step's. */
  program_free (program_must_alloc (1000, 0), 0);
  g_assert_true (step_repeats (2 * (ssize_t) MIB + 1, (ssize_t) MIB, 2));
  tessera_stop ();
}

static void
threads_body (void)
{
  GThread *threads[N_THREADS];

  program_start ("policy", "native", "record", program_file ("run.tsr"), NULL);
  for (guint i = 0; i < N_THREADS; i++)
    threads[i] = g_thread_new ("program", run_thread, GUINT_TO_POINTER (i));
  for (int step = 0; step < 20; step++)
    {
      tessera_step (step);
      tessera_phase_begin ("forward");
      program_stats ();
      tessera_phase_end ();
    }
  for (guint i = 0; i < N_THREADS; i++)
    g_thread_join (threads[i]);
  program_assert_quiet ();
  tessera_stop ();
}

static void
test_threads (void)
{
  PROGRAM_RUN_CHILD (threads_body);
  program_verify ("run.tsr", N_THREADS * N_REQUESTS_OF_THREAD);
}

/* A recording that begins while blocks live, one waits for another stream and a phase is
 * open; and another one after it. */
static void
run_midway (const char *policy)
{
  Program program = { .rand = g_rand_new_with_seed ((guint32) g_test_rand_int ()),
                      .n_requests = N_REQUESTS,
                      .n_streams = 4,
                      .side_uses = 0.1,
                      .most_bytes = 2 * GIB };
  void *blocks[40];

  program_start ("policy", policy, NULL);
  program_run (&program);
  for (guint i = 0; i < G_N_ELEMENTS (blocks); i++)
    blocks[i] = program_must_alloc ((ssize_t) ((i + 1) * 100000), program_stream (i % 3));
  program_delay (program_stream (3), 1e12);
  tessera_torch_record_stream (blocks[3], (void *) program_stream (3));
  for (guint i = 0; i < G_N_ELEMENTS (blocks); i += 3)
    program_free (blocks[i], program_stream (i % 3));
  tessera_phase_begin ("forward");
  g_assert_cmpint (tessera_record (program_file ("no/folder/run.tsr"), 0), ==, -1);
  g_assert_nonnull (strstr (tessera_last_error (), "no/folder"));
  for (guint i = 0; i < 2; i++)
    {
      g_autofree char *name = g_strdup_printf ("run-%u.tsr", i);

      g_assert_cmpint (tessera_record (program_file (name), 0), ==, 0);
      g_assert_cmpint (tessera_record (program_file ("other.tsr"), 0), ==, -1);
      program_run (&program);
      if (i == 0)
        tessera_phase_end ();
      tessera_stop ();
      program_run (&program); /* what the next one does not know */
    }
  program_assert_quiet ();
  g_rand_free (program.rand);
}

static void
test_midway (gconstpointer policy)
{
  if (g_test_subprocess ())
    {
      run_midway (policy);
      return;
    }
  program_run_child (NULL);
  program_verify ("run-0.tsr", N_REQUESTS);
  program_verify ("run-1.tsr", N_REQUESTS);
  TesseraTrace *trace = program_load ("run-0.tsr");
  g_assert_false (trace->starts_empty);
  g_assert_cmpuint (trace->n_streams, ==, 4);
  g_assert_cmpuint (trace->start.n_blocks, ==, 27); /* one of them is pending */
  g_assert_cmpuint (trace->start.blocks[0].state + trace->start.blocks[1].state, >, 0);
  g_assert_cmpuint (trace->n_ranges, ==, 1);
  g_assert_cmpstr (tessera_trace_string (trace, trace->ranges[0].name), ==, "forward");
  tessera_trace_free (trace);
  trace = program_load ("run-1.tsr");
  g_assert_cmpuint (trace->n_ranges, ==, 0);
  tessera_trace_free (trace);
}

static void
base_body (void)
{
  size_t size;

  program_start ("policy", "native", NULL);
  char *first = program_must_alloc (1000, 0);
  char *second = program_must_alloc (1000, 0);
  g_assert_true (tessera_torch_base_alloc (second, &size) == first);
  g_assert_cmpuint (size, ==, 2 * MIB);
  g_assert_null (tessera_torch_base_alloc (&size, &size));
  g_assert_cmpuint (size, ==, 0);
  g_assert_null (tessera_torch_alloc (0, 0, NULL));
  program_free (first, 0);
  program_free (second, 0);
}

/* Every allocation on the way fails once: an exception, and all goes on. */
static void
faults_body (void)
{
  const TesseraTorchPool pool = { 7, 0 };
  bool has_failed = true;

  program_start ("policy", "native", NULL);
  for (unsigned nth = 1; has_failed; nth++)
    {
      uintptr_t stream = program_stream (2 * nth); /* seen for the first time, each */
      uintptr_t side = program_stream (2 * nth + 1);
      void *ptr;

      tessera_fail_alloc_at (nth);
      tessera_torch_begin_pool (0, pool, NULL);
      const char *text = program_alloc (3 * (ssize_t) MIB, stream, &ptr);
      tessera_torch_record_stream (ptr, (void *) side);
      program_free (ptr, stream);
      tessera_torch_end_pool (0, pool);
      tessera_torch_release_pool (0, pool);
      has_failed = tessera_fail_alloc_stop ();
      if (text != NULL)
        g_assert_true (g_str_has_prefix (text, "CUDA out of memory."));
    }
  tessera_torch_empty_cache ();
  g_assert_cmpuint (program_stats ().allocated_bytes[0].current, ==, 0);
}

int
main (int argc, char **argv)
{
  program_init (&argc, &argv);
  PROGRAM_ADD_CHILD (sides_body);
  PROGRAM_ADD_CHILD (out_of_memory_body);
  PROGRAM_ADD_CHILD (limit_body);
  PROGRAM_ADD_CHILD (threads_body);
  PROGRAM_TEST_CHILD ("/runtime/forgotten", forgotten_body);
  g_test_add_data_func ("/runtime/native", &recorded[0], test_recorded);
  g_test_add_data_func ("/runtime/expandable", &recorded[1], test_recorded);
  g_test_add_data_func ("/runtime/settings", &recorded[2], test_recorded);
  PROGRAM_TEST_CHILD ("/runtime/figures", figures_body);
  g_test_add_func ("/runtime/side-streams", test_sides);
  PROGRAM_TEST_CHILD ("/runtime/captured-side-stream", captured_side_body);
  PROGRAM_TEST_CHILD ("/runtime/many-side-streams", many_sides_body);
  PROGRAM_TEST_CHILD ("/runtime/no-hook", no_hook_body);
  g_test_add_func ("/runtime/out-of-memory", test_out_of_memory);
  g_test_add_func ("/runtime/limit", test_limit);
  PROGRAM_TEST_CHILD ("/runtime/steps-repeat", repeats_body);
  g_test_add_func ("/runtime/threads", test_threads);
  g_test_add_data_func ("/runtime/midway/native", "native", test_midway);
  g_test_add_data_func ("/runtime/midway/expandable", "expandable", test_midway);
  PROGRAM_TEST_CHILD ("/runtime/base", base_body);
  PROGRAM_TEST_CHILD ("/runtime/faults", faults_body);
  return program_finish ();
}
