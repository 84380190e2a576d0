/*
 * The library's manners: settings, files that cannot be written, forks, the end.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/runtime/program.h"

#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB ((gsize) 1 << 20)

static void
assert_refused (const char *key, const char *value)
{
  g_assert_cmpint (tessera_configure (key, value), ==, -1);
  g_assert_nonnull (strstr (tessera_last_error (), key));
}

static void
configure_body (void)
{
  TesseraDeviceStats stats = { .struct_bytes = sizeof stats };

  assert_refused ("colour", "red");
  assert_refused ("policy", "fast");
  assert_refused ("rank", "-1");
  assert_refused ("world", "0");
  assert_refused ("limit", "1.5");
  assert_refused ("flush_ms", "soon");
  assert_refused ("ring_events", "1e5");
  assert_refused ("stacks", "2");
  assert_refused ("record", "run-%x.tsr");
  g_assert_null (tessera_torch_alloc (0, 0, NULL));
  program_start ("rank", "3", "world", "16", "limit", "0.5", "alloc_conf",
                 "no_such_key:1,max_split_size_mb:3,garbage_collection_threshold:0.6",
                 "record", program_file ("run-%r-%%.tsr"), NULL);
  assert_refused ("policy", "native"); /* too late */
  g_assert_cmpint (tessera_start (), ==, -1);
  program_free (program_must_alloc (1000, 0), 0);
  char *notices = program_notices ();
  g_assert_nonnull (strstr (notices, "no_such_key"));
  g_assert_nonnull (strstr (notices, "max_split_size_mb:3"));
  g_assert_null (strstr (notices, "garbage"));
  g_free (notices);
  g_assert_cmpint (tessera_get_stats (-1, &stats), ==, -1);
  g_assert_cmpint (tessera_flush (), ==, 0);
  tessera_stop ();
}

static void
test_configure (void)
{
  PROGRAM_RUN_CHILD (configure_body);
  g_autoptr (TesseraTrace) trace = program_load ("run-3-%.tsr");
  g_assert_cmpstr (tessera_trace_get_meta (trace, "rank"), ==, "3");
  g_assert_cmpstr (tessera_trace_get_meta (trace, "world"), ==, "16");
  g_assert_cmpstr (tessera_trace_get_meta (trace, "policy"), ==, "native");
  g_assert_cmpfloat (trace->settings.garbage_collection_threshold, ==, 0.6);
  g_assert_cmpuint (trace->limit_bytes, ==, trace->device_bytes / 2);
}

static void
unwritable_body (void)
{
  program_start ("record", program_file ("no/such/folder/run.tsr"), NULL);
  program_assert_noticed ("no/such/folder", "unrecorded", NULL);
  program_free (program_must_alloc (1000, 0), 0);
  tessera_stop ();
}

/* A file may not grow beyond 300 KiB, as on a full disk. */
static void
full_disk_body (void)
{
  const struct rlimit limit = { 300 << 10, 300 << 10 };

  signal (SIGXFSZ, SIG_IGN);
  program_start ("record", program_file ("full.tsr"), NULL);
  setrlimit (RLIMIT_FSIZE, &limit);
  for (int i = 0; i < 50000; i++)
    program_free (program_must_alloc (1000, 0), 0);
  tessera_stop ();
  program_assert_noticed ("full.tsr", "larger than files may be here", NULL);
  program_free (program_must_alloc (1000, 0), 0);
}

/* A child of the program: it has no device and leaves the trace alone. */
static int
be_a_child (void *block)
{
  TesseraDeviceStats stats = { .struct_bytes = sizeof stats };
  char notice[64];
  void *ptr;
  const char *text = program_alloc (1000, 0, &ptr);

  if (text == NULL || strstr (text, "forked child") == NULL)
    return 1;
  program_free (block, 0);
  tessera_torch_record_stream (block, NULL);
  tessera_torch_empty_cache ();
  tessera_step (100);
  if (tessera_step_repeats ())
    return 4;
  tessera_phase_begin ("a phase of the child");
  tessera_phase_end ();
  tessera_module_begin ("a module of the child");
  tessera_module_end ();
  tessera_mark ("a mark of the child");
  tessera_tensor (0, block, TESSERA_TENSOR_BUFFER, "a tensor of the child");
  if (tessera_get_stats (0, &stats) != 0 || stats.allocation[0].current != 0)
    return 2;
  if (tessera_flush () != 0)
    return 3;
  tessera_take_notice (notice, sizeof notice);
  tessera_stop ();
  return 0;
}

static gboolean stop_it; /* atomic */

/* No more requests of a thread than the ring holds the events of, wherever the writer is
 * meanwhile: nothing is lost. */
#define MOST_REQUESTS 40000

static gint n_made;

static gpointer
keep_busy (gpointer user)
{
  for (int i = 0; i < MOST_REQUESTS && !g_atomic_int_get (&stop_it); i++)
    {
      program_free (program_must_alloc (5000, program_stream (1)), program_stream (1));
      g_atomic_int_inc (&n_made);
    }
  return NULL;
}

static void
fork_body (void)
{
  program_start ("record", program_file ("run.tsr"), NULL);
  void *block = program_must_alloc (1000, 0);
  GThread *thread = g_thread_new ("busy", keep_busy, NULL);

  for (int i = 0; i < 20; i++)
    {
      int status;
      pid_t child = fork ();

      g_assert_cmpint (child, >=, 0);
      if (child == 0)
        {
          alarm (20);                 /* a lock that nobody holds any more */
          _exit (be_a_child (block)); /* leaks are what a fork leaves of threads */
        }
      g_assert_cmpint (waitpid (child, &status, 0), ==, child);
      g_assert_cmpint (status, ==, 0);
    }
  g_atomic_int_set (&stop_it, TRUE);
  g_thread_join (thread);
  g_assert_cmpuint (program_stats ().allocation[0].current, ==, 1);
  program_free (block, 0);
  tessera_stop ();
}

static void
test_fork (void)
{
  PROGRAM_RUN_CHILD (fork_body);
  g_autoptr (TesseraTrace) trace = program_load ("run.tsr");
  for (gsize i = 0; i < trace->n_ranges; i++)
    g_assert_cmpstr (tessera_trace_string (trace, trace->ranges[i].name), !=,
                     "a phase of the child");
}

/* Nobody stops it: the end of the process does, and frees keep coming. */
static void *left_over;

static void
free_left_over (void)
{
  program_free (left_over, 0);
}

static void
exit_body (void)
{
  atexit (free_left_over);
  program_start ("record", program_file ("run.tsr"), NULL);
  left_over = program_must_alloc (1000, 0);
  tessera_step (0);
}

static void
test_exit (void)
{
  PROGRAM_RUN_CHILD (exit_body);
  g_autoptr (TesseraTrace) trace = program_load ("run.tsr");
  g_assert_cmpuint (trace->n_events, ==, 4);
}

static gpointer
stop_soon (gpointer user)
{
  while (g_atomic_int_get (&n_made) < 2000)
    g_usleep (1000);
  tessera_stop ();
  tessera_stop ();
  return NULL;
}

/* Stopped in the midst of it: what is recorded is whole, and memory is served on. */
static void
stop_body (void)
{
  GThread *threads[3];

  program_start ("record", program_file ("run.tsr"), NULL);
  g_atomic_int_set (&stop_it, FALSE);
  for (int i = 0; i < 2; i++)
    threads[i] = g_thread_new ("busy", keep_busy, NULL);
  threads[2] = g_thread_new ("stop", stop_soon, NULL);
  g_thread_join (threads[2]);
  g_atomic_int_set (&stop_it, TRUE);
  for (int i = 0; i < 2; i++)
    g_thread_join (threads[i]);
  program_free (program_must_alloc (1000, 0), 0);
}

static void
test_stop (void)
{
  guint n_requests = 0;

  PROGRAM_RUN_CHILD (stop_body);
  TesseraTrace *trace = program_load ("run.tsr");
  for (gsize i = 0; i < trace->n_events; i++)
    n_requests += trace->events[i].action == TESSERA_ALLOC;
  tessera_trace_free (trace);
  program_verify ("run.tsr", n_requests);
}

static const char *module_name; /* what the finder says */

static const char *
find_module (void)
{
  return module_name;
}

static void
marks_body (void)
{
  program_start ("record", program_file ("run.tsr"), NULL);
  tessera_set_module_finder (find_module);
  tessera_phase_begin ("warm-up");
  program_free (program_must_alloc (1000, 0), 0);
  tessera_phase_end ();
  tessera_phase_end (); /* one too many */
  tessera_step (0);
  tessera_phase_begin ("forward");
  tessera_module_begin ("layers.0");
  module_name = "never asked for here";
  program_free (program_must_alloc (2000, 0), 0);
  tessera_module_end ();
  tessera_phase_end ();
  tessera_phase_begin ("backward");
  module_name = "layers.1";
  for (int i = 0; i < 3; i++)
    program_free (program_must_alloc (3000, 0), 0);
  module_name = "layers.0";
  program_free (program_must_alloc (4000, 0), 0);
  tessera_phase_end ();
  module_name = NULL;
  tessera_mark ("saved");
  tessera_tensor (1, (void *) 512, TESSERA_TENSOR_BUFFER, "of a device never used");
  tessera_tensor (-1, (void *) 512, TESSERA_TENSOR_BUFFER, "of none");
  tessera_tensor (0, (void *) 512, 0, "of no kind");
  tessera_tensor (0, (void *) 512, 257, "of no kind");
  void *weight = program_must_alloc (6000, 0);
  tessera_tensor (0, weight, TESSERA_TENSOR_PARAMETER, "layers.0.weight");
  program_free (weight, 0);
  tessera_note ("died_of", "memory");
  tessera_step (1);
  tessera_step (-1);
  program_free (program_must_alloc (5000, 0), 0);
  tessera_stop ();
}

/* The sizes of the requests inside the range of this name, joined by commas. */
static char *
sizes_in (const TesseraTrace *trace, TesseraRangeKind kind, const char *name)
{
  GString *sizes = g_string_new (NULL);

  for (gsize i = 0; i < trace->n_ranges; i++)
    {
      const TesseraRange *range = &trace->ranges[i];

      if (range->kind != kind ||
          strcmp (tessera_trace_string (trace, range->name), name) != 0)
        continue;
      g_string_append_c (sizes, range->is_inferred ? '?' : ':');
      for (guint32 e = range->begin_index; e < range->end_index; e++)
        if (trace->events[e].action == TESSERA_ALLOC)
          g_string_append_printf (sizes, "%u ", (guint) trace->events[e].size_bytes);
    }
  return g_string_free (sizes, FALSE);
}

/* The one that makes sense, told between its block's request and the free. */
static void
check_tensor (const TesseraTrace *trace)
{
  const TesseraTensor *tensor = trace->tensors;

  g_assert_cmpuint (trace->n_tensors, ==, 1);
  g_assert_cmpuint (tensor->kind, ==, TESSERA_TENSOR_PARAMETER);
  g_assert_cmpstr (tessera_trace_string (trace, tensor->name), ==, "layers.0.weight");
  const TesseraEvent *asked = &trace->events[tensor->event_index - 1];
  g_assert_cmpuint (asked->action, ==, TESSERA_ALLOC);
  g_assert_cmpuint (asked->size_bytes, ==, 6000);
  g_assert_cmphex (asked->addr, ==, tensor->addr);
  g_assert_cmpuint (asked[1].action, ==, TESSERA_FREE_REQUESTED);
}

static void
test_marks (void)
{
  static const struct
  {
    TesseraRangeKind kind;
    const char *name, *sizes;
  } expected[] = {
    { TESSERA_RANGE_PHASE, "warm-up", ":1000 " },
    { TESSERA_RANGE_STEP, "step 0", ":2000 3000 3000 3000 4000 6000 " },
    { TESSERA_RANGE_STEP, "step 1", ":" },
    { TESSERA_RANGE_PHASE, "forward", ":2000 " },
    { TESSERA_RANGE_MODULE, "layers.0", ":2000 ?4000 " },
    { TESSERA_RANGE_MODULE, "layers.1", "?3000 3000 3000 " },
    { TESSERA_RANGE_MODULE, "never asked for here", "" },
    { TESSERA_RANGE_OTHER, "saved", ":" },
  };

  PROGRAM_RUN_CHILD (marks_body);
  g_autoptr (TesseraTrace) trace = program_load ("run.tsr");
  for (gsize i = 0; i < G_N_ELEMENTS (expected); i++)
    {
      g_autofree char *sizes = sizes_in (trace, expected[i].kind, expected[i].name);

      g_assert_cmpstr (sizes, ==, expected[i].sizes);
    }
  check_tensor (trace);
  g_assert_cmpstr (tessera_trace_get_meta (trace, "died_of"), ==, "memory");
}

int
main (int argc, char **argv)
{
  program_init (&argc, &argv);
  PROGRAM_ADD_CHILD (configure_body);
  PROGRAM_ADD_CHILD (fork_body);
  PROGRAM_ADD_CHILD (exit_body);
  PROGRAM_ADD_CHILD (stop_body);
  PROGRAM_ADD_CHILD (marks_body);
  g_test_add_func ("/process/configure", test_configure);
  PROGRAM_TEST_CHILD ("/process/unwritable", unwritable_body);
  PROGRAM_TEST_CHILD ("/process/full-disk", full_disk_body);
  g_test_add_func ("/process/fork", test_fork);
  g_test_add_func ("/process/exit", test_exit);
  g_test_add_func ("/process/stop", test_stop);
  g_test_add_func ("/process/marks", test_marks);
  return program_finish ();
}
