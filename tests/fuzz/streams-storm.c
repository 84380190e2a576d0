/*
 * No byte passes to a stream that may still race with its last use: random programs of
 * several streams (follow/streams.h) follow plans that share addresses, and vector clocks
 * judge (follow/clocks.h). And whatever the planner, the policy, the device or the program
 * leaves out of what that rests on is found.
 *
 * TESSERA_STORMS: how many programs (default 2,000; 50,000 where tests run long);
 * TESSERA_STORM_SEED: of the first one. A failure says the seed of its program.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <glib.h>

#include "tests/fuzz/follow/streams.h"
#include "tests/fuzz/storms.h"

#define FIRST_SEED 20261127
#define N_STORMS 2000
#define N_LONG_STORMS 50000
#define N_BROKEN 200 /* programs for each fault */

static StreamsFault
make_fault (void)
{
  return (StreamsFault){ .laws = tessera_occupancy_laws };
}

static void
say (const char *what, const StreamsResult *result)
{
  g_test_message ("%s: %u requests, %u hits, %u passed between streams, %u barriers, %u "
                  "ended by passing, %u late launches, %u replays, %u times memory went; "
                  "%u races, %u overtaken, %u unmapped",
                  what, result->n_requests, result->n_hits, result->n_passed,
                  result->n_barriers, result->n_ended_by_passing, result->n_late,
                  result->n_replays, result->n_unmapped, result->n_harms[CLOCKS_RACE],
                  result->n_harms[CLOCKS_OVERTAKEN], result->n_harms[CLOCKS_UNMAPPED]);
}

/* So many programs, none of which does harm. */
static void
run_clean (const StreamsFault *fault, guint64 n, StreamsResult *result)
{
  guint64 first = storms_first_seed (FIRST_SEED);

  for (guint64 seed = first; seed < first + n; seed++)
    if (streams_run ((uint32_t) seed, fault, result))
      g_error ("seed %" G_GUINT64_FORMAT ": %s", seed, result->first_harm);
}

static void
test_storm (void)
{
  guint64 n = storms_number (N_STORMS, N_LONG_STORMS);
  const StreamsFault fault = make_fault ();
  StreamsResult result = { 0 };

  run_clean (&fault, n, &result);
  say ("storm", &result);
  if (n < N_STORMS)
    return;
  /* It is about something. */
  g_assert_cmpuint (result.n_hits, >, result.n_requests / 2);
  g_assert_cmpuint (result.n_passed, >, result.n_requests / 4);
  g_assert_cmpuint (result.n_barriers, >, result.n_requests / 4);
  g_assert_cmpuint (result.n_ended_by_passing, >, result.n_requests / 100);
  g_assert_cmpuint (result.n_late, >, result.n_requests / 10);
  g_assert_cmpuint (result.n_replays, >, n);
  g_assert_cmpuint (result.n_unmapped, >, n);
}

/* Streams apart: nothing passes, and programs may wait before they allocate. */
static void
test_apart (void)
{
  StreamsFault fault = make_fault ();
  StreamsResult result = { 0 };

  fault.keeps_streams_apart = true;
  run_clean (&fault, N_STORMS / 2, &result);
  fault.waits_too_early = true;
  run_clean (&fault, N_STORMS / 2, &result);
  say ("apart", &result);
  g_assert_cmpuint (result.n_barriers, ==, 0);
  g_assert_cmpuint (result.n_passed, ==, 0);
}

static void
test_sharded (void)
{
  StreamsFault fault = make_fault ();
  StreamsResult result = { 0 };

  if (streams_run_sharded (&fault, &result))
    g_error ("%s", result.first_harm);
  say ("sharded", &result);
  g_assert_cmpuint (result.n_hits, ==, result.n_requests);
  g_assert_cmpuint (result.n_passed, >, result.n_requests / 5);
  fault.marks_all_but_one = true;
  g_assert_true (streams_run_sharded (&fault, &result));
}

/* What is left out or done wrong, and the kind of harm that it is found by. */
typedef struct
{
  const char *what;
  StreamsFault fault;
  ClocksHarm harm;
} Broken;

static void
test_broken (gconstpointer data)
{
  const Broken *broken = data;
  StreamsResult result = { 0 };
  guint n_found = 0;

  for (guint32 seed = FIRST_SEED; seed < FIRST_SEED + N_BROKEN; seed++)
    n_found += streams_run (seed, &broken->fault, &result);
  say (broken->what, &result);
  g_test_message ("found in %u programs of %u; %s", n_found, N_BROKEN, result.first_harm);
  g_assert_cmpuint (n_found, >, 0);
  g_assert_cmpuint (result.n_harms[broken->harm], >, 0);
}

/* Memory may go between a free and a launch that comes after it: a declined plan gives its
 * last pages back within the last free, and a request of another thread may lend a page.
 * PyTorch takes memory from under such a launch too, but only for a request that would
 * fail. So that is not kept yet. */
static void
test_memory_goes (void)
{
  StreamsFault fault = make_fault ();
  StreamsResult result = { 0 };

  if (g_getenv ("TESSERA_STORM_MEMORY") == NULL)
    {
      g_test_skip ("pages may go before the last launch that uses them: set "
                   "TESSERA_STORM_MEMORY to see");
      return;
    }
  fault.memory_goes_any_time = true;
  run_clean (&fault, N_STORMS, &result);
}

int
main (int argc, char **argv)
{
  const TesseraOccupancyLaws all = tessera_occupancy_laws;
  Broken broken[] = {
    { "no-order", { all }, CLOCKS_RACE },
    { "threads-that-are-not-back", { all }, CLOCKS_RACE },
    { "a-device-that-orders-nothing", { all, .orders_nothing = true }, CLOCKS_RACE },
    { "marks-that-lack-a-stream", { all, .marks_all_but_one = true }, CLOCKS_RACE },
    { "marks-of-the-time-before", { all, .marks_too_early = true }, CLOCKS_RACE },
    { "a-wait-before-the-allocation", { all, .waits_too_early = true }, CLOCKS_RACE },
    { "memory-that-goes-at-once", { all, .unmaps_at_once = true }, CLOCKS_UNMAPPED },
    /* Laws of the map that are older than barriers. */
    { "streams", { all }, CLOCKS_RACE },
    { "pools", { all }, CLOCKS_OVERTAKEN },
    { "small-and-large", { all }, CLOCKS_RACE },
    { "since", { all }, CLOCKS_RACE },
  };

  broken[0].fault.laws.order = broken[1].fault.laws.back = false;
  broken[7].fault.laws.streams = broken[8].fault.laws.pools = false;
  broken[9].fault.laws.sizes = broken[10].fault.laws.since = false;
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/streams/storm", test_storm);
  g_test_add_func ("/streams/apart", test_apart);
  g_test_add_func ("/streams/sharded", test_sharded);
  for (gsize i = 0; i < G_N_ELEMENTS (broken); i++)
    {
      g_autofree char *path = g_strconcat ("/streams/broken/", broken[i].what, NULL);

      g_test_add_data_func (path, &broken[i], test_broken);
    }
  g_test_add_func ("/streams/memory-goes", test_memory_goes);
  return g_test_run ();
}
