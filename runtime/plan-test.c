/*
 * A plan from one process, followed in the next; and plans that are declined.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/runtime/training.h"

#include <glib/gstdio.h>
#include <sqlite3.h>
#include <string.h>

#define MIB ((gsize) 1 << 20)

static void
follow_body (void)
{
  program_start ("plan", program_file ("run.tsp"), "rank", "1", "world", "4", "torch",
                 "2.15.0", "record", program_file ("followed.tsr"), NULL);
  training_run (FALSE);
  program_assert_quiet ();
  TesseraDeviceStats stats = program_stats ();
  g_assert_cmpuint (stats.misses, ==, 0);
  g_assert_cmpuint (stats.hits, ==, stats.allocation[0].allocated);
  g_assert_cmpuint (stats.peak_extra_bytes, ==, 0);
  g_assert_cmpuint (stats.plan_height_bytes, >, 0);
  g_assert_cmpuint (stats.reserved_bytes[0].peak, >=, stats.plan_height_bytes);
  g_assert_cmpuint (stats.reserved_bytes[0].peak, <, stats.plan_height_bytes + 2 * MIB);
  g_assert_cmpuint (stats.allocated_bytes[0].current, ==, 0);
  tessera_stop ();
}

/* Memory comes when it is used first: with the first step, and with the second, whose
 * places are others. What came stays: no later step asks the driver for any, or gives
 * some back. */
static void
steady_body (void)
{
  void *parameters[2 * TRAINING_LAYERS] = { NULL };

  program_start ("plan", program_file ("run.tsp"), "rank", "1", "world", "4", NULL);
  training_make_model (parameters);
  TesseraDeviceStats stats = program_stats ();
  g_assert_cmpuint (stats.reserved_bytes[0].current, >=, TRAINING_LAYERS * 2 * MIB);
  g_assert_cmpuint (stats.reserved_bytes[0].current, <,
                    TRAINING_LAYERS * 2 * MIB + 4 * MIB);
  training_steps (parameters, 1, 2, FALSE);
  TesseraDeviceStats first = program_stats ();
  training_steps (parameters, 1, 4, FALSE);
  stats = program_stats ();
  g_assert_cmpuint (stats.misses, ==, 0);
  g_assert_cmpuint (first.n_device_alloc, >, TRAINING_LAYERS);
  g_assert_cmpuint (stats.n_device_alloc, ==, first.n_device_alloc);
  g_assert_cmpuint (stats.n_device_free, ==, 0);
  training_free_model (parameters);
  tessera_stop ();
}

static void
test_steady (void)
{
  training_plan ();
  PROGRAM_RUN_CHILD (steady_body);
}

static void
test_follow (void)
{
  training_plan ();
  PROGRAM_RUN_CHILD (follow_body);
  g_autoptr (TesseraTrace) trace = program_load ("followed.tsr");
  g_assert_cmpstr (tessera_trace_get_meta (trace, "policy"), ==, "plan");
  g_assert_cmpstr (tessera_trace_get_meta (trace, "plan_source"), ==, "run.tsp");
  g_assert_nonnull (tessera_trace_get_meta (trace, "plan_digest"));
  g_assert_nonnull (tessera_trace_get_meta (trace, "plan_pool_addr"));
  program_assert_no_overlap (trace);
}

static void
detour_body (void)
{
  training_follow ();
  training_run (TRUE);
  TesseraDeviceStats stats = program_stats ();
  g_assert_cmpuint (stats.misses, <=, 3); /* nothing but the evaluation */
  g_assert_cmpuint (stats.peak_extra_bytes, <=, 64 * MIB);
  tessera_stop ();
}

static void
test_detour (void)
{
  training_plan ();
  PROGRAM_RUN_CHILD (detour_body);
  g_autoptr (TesseraTrace) trace = program_load ("followed.tsr");
  program_assert_no_overlap (trace);
}

/* Whose plan is declined, and why: as rank 1 of 4, as the plan was made, but for what is said. */
typedef struct
{
  const char *name;
  const char *plan; /* NULL: none is named */
  const char *rank, *torch;
  bool is_truncated, has_no_hook;
  const char *sql; /* run on the plan before */
  const char *why;
} Declined;

static const Declined declined_plans[] = {
  { "missing", "no-such.tsp", "1", .why = "no-such.tsp" },
  { "foreign", "run.tsr", "1", .why = "run.tsr" },
  { "truncated", "run.tsp", "1", .is_truncated = true, .why = "run.tsp" },
  { "edited", "run.tsp", "1",
    .sql = "UPDATE slot SET offset_bytes = 0 WHERE slot_index = 5",
    .why = "refused by the checker" },
  { "no-hook", "run.tsp", "1", .has_no_hook = true, .why = "record_stream" },
  { "other-rank", "run.tsp", "2", .why = "rank 1 of 4, and this is rank 2 of 4" },
  { "other-torch", "run.tsp", "1", "2.14.0",
    .why = "PyTorch 2.15.0, and this is 2.14.0" },
  { "other-device", "run.tsp", "1",
    .sql = "UPDATE plan SET device_bytes = device_bytes * 2", .why = "device of " },
  { "nameless", NULL, "1", .why = "No plan" },
};

static void
run_declined (const Declined *run)
{
  program_start ("rank", run->rank, "world", "4", run->plan != NULL ? "plan" : "policy",
                 run->plan != NULL ? program_file (run->plan) : "plan",
                 run->torch != NULL ? "torch" : NULL, run->torch, NULL);
  if (run->has_no_hook)
    tessera_torch_has_record_stream (0);
  /* The run goes on under expandable rules. */
  training_run (FALSE);
  program_assert_noticed (run->why, "expandable rules", NULL);
  TesseraDeviceStats stats = program_stats ();
  g_assert_cmpuint (stats.plan_height_bytes, ==, 0);
  g_assert_cmpuint (stats.segment[0].allocated, ==, 0); /* expandable ones are none */
  g_assert_cmpuint (stats.reserved_bytes[0].allocated, >, 0);
}

static void
edit (const char *sql)
{
  sqlite3 *db;

  g_assert_cmpint (sqlite3_open (program_file ("run.tsp"), &db), ==, SQLITE_OK);
  g_assert_cmpint (sqlite3_exec (db, sql, NULL, NULL, NULL), ==, SQLITE_OK);
  g_assert_cmpint (sqlite3_changes (db), >, 0);
  sqlite3_close (db);
}

static void
truncate_plan (void)
{
  g_autofree char *bytes = NULL;
  gsize n_bytes;

  g_assert_true (g_file_get_contents (program_file ("run.tsp"), &bytes, &n_bytes, NULL));
  g_assert_true (g_file_set_contents (program_file ("run.tsp"), bytes,
                                      (gssize) (n_bytes / 2), NULL));
}

static void
test_declined (gconstpointer user)
{
  const Declined *run = user;

  if (g_test_subprocess ())
    {
      run_declined (run);
      return;
    }
  training_plan ();
  if (run->is_truncated)
    truncate_plan ();
  if (run->sql != NULL)
    edit (run->sql);
  program_run_child (NULL);
}

/* The run itself would not fit either: one request is enough to open the device. */
static void
too_large_body (void)
{
  program_start ("plan", program_file ("run.tsp"), "rank", "1", "world", "4", "limit",
                 "0.05", NULL);
  program_free (program_must_alloc (1000, 0), 0);
  program_assert_noticed ("the plan's pool of ", "expandable rules", NULL);
  g_assert_cmpuint (program_stats ().plan_height_bytes, ==, 0);
}

static void
test_too_large (void)
{
  g_setenv ("NULLCUDA_DEVICE", "1GiB", TRUE);
  training_plan ();
  PROGRAM_RUN_CHILD (too_large_body);
  g_setenv ("NULLCUDA_DEVICE", "16GiB", TRUE);
}

/* In one sentence, with the figures; what hit is known. */
static TesseraDeviceStats
assert_misfits (void)
{
  TesseraDeviceStats stats = program_stats ();

  program_assert_noticed ("declined", "another model or other batches", "given back",
                          NULL);
  g_assert_cmpuint (stats.plan_is_declined, ==, 1);
  g_assert_cmpuint (stats.plan_height_bytes, ==, 0);
  g_assert_cmpuint (stats.misses, >, 0);
  g_assert_cmpuint (stats.reserved_bytes[0].current, ==,
                    stats.pool_bytes + stats.extra_bytes);
  return stats;
}

/* Nothing of the pool lives: all of it is given back. */
static void
other_model_body (void)
{
  training_follow ();
  for (int step = 0; step < 6; step++)
    {
      tessera_step (step);
      for (int i = 0; i < 70; i++)
        program_free (program_must_alloc ((40 + i) * (ssize_t) MIB, 0), 0);
    }
  TesseraDeviceStats stats = assert_misfits ();
  g_assert_cmpuint (stats.pool_bytes, ==, 0);
  g_assert_cmpuint (stats.misses, >, 70);
  g_assert_cmpuint (stats.misses, <=, 2 * 70);
  g_assert_cmpuint (stats.reserved_bytes[0].current, <, 140 * MIB);
  tessera_stop ();
}

/* The weights stay where they are, the memory of the rest is given back. */
static void
other_batch_body (void)
{
  void *parameters[2 * TRAINING_LAYERS] = { NULL }, *after;

  training_follow ();
  training_make_model (parameters);
  g_assert_cmpuint (program_stats ().misses, ==, 0);
  training_steps (parameters, 2, 8, FALSE);
  TesseraDeviceStats stats = assert_misfits ();
  g_assert_cmpuint (stats.pool_bytes, >=, 2 * TRAINING_LAYERS * 2 * MIB);
  g_assert_cmpuint (stats.pool_bytes, <=, 2 * TRAINING_LAYERS * 2 * MIB + 4 * MIB);
  training_free_model (parameters);
  g_assert_null (program_alloc (512, 0, &after)); /* until then it may still be used */
  g_assert_cmpuint (program_stats ().pool_bytes, ==, 0);
  tessera_stop ();
}

/* @body: the run. */
static void
test_declined_later (gconstpointer body)
{
  guint64 declined, mapped = 0, unmapped = 0;

  training_plan ();
  program_run_child (body);
  g_autoptr (TesseraTrace) trace = program_load ("followed.tsr");
  g_assert_cmpstr (tessera_trace_get_meta (trace, "policy"), ==, "plan");
  g_assert_nonnull (tessera_trace_get_meta (trace, "plan_declined"));
  declined = g_ascii_strtoull (tessera_trace_get_meta (trace, "plan_declined"), NULL, 10);
  g_assert_cmpuint (declined, >, 100);
  g_assert_cmpuint (declined, <, trace->n_events);
  for (size_t e = 0; e < trace->n_events; e++)
    {
      if (trace->events[e].action == TESSERA_SEGMENT_MAP)
        mapped += trace->events[e].size_bytes;
      if (trace->events[e].action == TESSERA_SEGMENT_UNMAP)
        unmapped += trace->events[e].size_bytes;
    }
  g_assert_cmpuint (mapped, >, unmapped);
  g_assert_cmpuint (unmapped, >, 0);
  program_assert_no_overlap (trace);
}

int
main (int argc, char **argv)
{
  program_init (&argc, &argv);
  PROGRAM_ADD_CHILD (training_record_body);
  PROGRAM_ADD_CHILD (follow_body);
  PROGRAM_ADD_CHILD (detour_body);
  PROGRAM_ADD_CHILD (too_large_body);
  PROGRAM_ADD_CHILD (other_model_body);
  PROGRAM_ADD_CHILD (other_batch_body);
  PROGRAM_ADD_CHILD (steady_body);
  g_test_add_func ("/plan/follow", test_follow);
  g_test_add_func ("/plan/steady", test_steady);
  g_test_add_func ("/plan/detour", test_detour);
  for (size_t i = 0; i < G_N_ELEMENTS (declined_plans); i++)
    {
      g_autofree char *path = g_strconcat ("/plan/", declined_plans[i].name, NULL);

      g_test_add_data_func (path, &declined_plans[i], test_declined);
    }
  g_test_add_func ("/plan/too-large", test_too_large);
  g_test_add_data_func ("/plan/other-model", "/subprocess/other_model_body",
                        test_declined_later);
  g_test_add_data_func ("/plan/other-batch", "/subprocess/other_batch_body",
                        test_declined_later);
  return program_finish ();
}
