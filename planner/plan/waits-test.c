/*
 * Blocks that other streams use as well, the slack of hand-overs, and plans that make do
 * with few that have none.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/plan/case.h"
#include "planner/waits.h"

#define MS INT64_C (1000000)
#define MIB (UINT64_C (1) << 20)

static void
at_last (
    TesseraTrace *trace, TesseraAction action, uint64_t addr, uint64_t size, int stream)
{
  test_event (trace, action, addr, size, (uint16_t) stream);
}

static void
set_clock (TesseraTrace *trace, int64_t step_ns)
{
  trace->has_time = true;
  for (size_t i = 0; i < trace->n_events; i++)
    trace->events[i].at_ns = (int64_t) i * step_ns;
}

/* Stream 0 lets go of a block that another stream uses as well; the host sees that this
 * is done five events later. Meanwhile stream 0 asks for a small part of it, and stream 1
 * for all. */
static TesseraTrace *
held_back (bool has_request)
{
  TesseraTrace *trace = test_trace_new ();

  at_last (trace, TESSERA_ALLOC, 0xa00000, 64 * MIB, 0);          /* 0 */
  at_last (trace, TESSERA_FREE_REQUESTED, 0xa00000, 64 * MIB, 0); /* 1 */
  if (has_request)
    {
      at_last (trace, TESSERA_ALLOC, 0xb00000, 2 * MIB, 0);          /* 2 */
      at_last (trace, TESSERA_FREE_REQUESTED, 0xb00000, 2 * MIB, 0); /* 3 */
      at_last (trace, TESSERA_FREE_COMPLETED, 0xb00000, 2 * MIB, 0); /* 4 */
    }
  at_last (trace, TESSERA_ALLOC, 0xc00000, 64 * MIB, 1);
  at_last (trace, TESSERA_FREE_COMPLETED, 0xa00000, 64 * MIB, 0);
  at_last (trace, TESSERA_ALLOC, 0xd00000, 512, 1);
  return trace;
}

static const TesseraHandOver *
find_pair (const TesseraPlan *plan, uint32_t from, uint32_t to)
{
  for (size_t i = 0; i < plan->n_hand_overs; i++)
    if (plan->slots[plan->hand_overs[i].from_slot].block == from &&
        plan->slots[plan->hand_overs[i].to_slot].block == to)
      return &plan->hand_overs[i];
  return NULL;
}

static PlanCase
plan_with (TesseraTrace *trace, uint64_t from_bytes)
{
  TesseraPlanOptions options = plan_across;

  options.waits_from_bytes = from_bytes;
  return plan_case_new (trace, &options);
}

/* The range passes while the host has not seen it: stream 1 waits for an event at the
 * request of 2 MiB and for the side stream. */
static void
test_ordered (void)
{
  TesseraTrace *trace = held_back (true);
  PlanCase c;
  const TesseraHandOver *pair;

  set_clock (trace, MS);
  c = plan_with (trace, 0);
  g_assert_cmpuint (c.plan->bound_bytes, ==, 64 * MIB + 512);
  /* Nothing orders stream 0 behind the 2 MiB. */
  g_assert_cmpuint (c.plan->height_bytes, ==, 66 * MIB + 512);
  g_assert_cmpuint (c.plan->slots[0].died, ==, 1);
  g_assert_true (c.plan->slots[0].side_streams);
  pair = find_pair (c.plan, 0, 2);
  g_assert_nonnull (pair);
  g_assert_cmpuint (pair->event_slot, ==, 1);
  g_assert_cmpint (pair->slack_ns, ==, (5 - 6) * MS);
  g_assert_cmpint (pair->slack_requests, ==, 5 - 6);
  g_assert_true (tessera_hand_over_waits (pair));
  g_assert_cmpuint (tessera_waits_of (c.plan).n_pending, >, 0);
  g_assert_cmpint (tessera_waits_of (c.plan).stall_ns, >=, MS);
  plan_case_check (&c, 0, 0);
  plan_case_clear (&c);
}

/* No request of stream 0 comes: nothing orders it, side streams or not. */
static void
test_closed (void)
{
  TesseraTrace *trace = held_back (false);
  PlanCase c;

  set_clock (trace, MS);
  c = plan_with (trace, 0);
  g_assert_cmpuint (c.plan->height_bytes, >=, 128 * MIB);
  plan_case_check (&c, 0, 0);
  plan_case_clear (&c);
}

/* Without waits the block lives until the host has seen it. */
static void
test_none (void)
{
  TesseraTrace *trace = held_back (true);
  PlanCase c;

  set_clock (trace, MS);
  c = plan_with (trace, UINT64_MAX);
  g_assert_cmpuint (c.plan->bound_bytes, ==, 128 * MIB);
  g_assert_cmpuint (c.plan->slots[0].died, ==, 6);
  g_assert_false (c.plan->slots[0].side_streams);
  g_assert_cmpuint (tessera_waits_of (c.plan).n_waits, ==, 0);
  plan_case_clear (&c);
}

/* An owner that takes its range back at once, for a larger request, is behind the later
 * use sooner than behind the earlier: the event has to be the last of both. */
static void
test_last_event (void)
{
  TesseraTrace *trace = test_trace_new ();
  PlanCase c;
  const TesseraHandOver *pair;

  at_last (trace, TESSERA_ALLOC, 0xa00000, 4 * MIB, 0);
  at_last (trace, TESSERA_FREE_REQUESTED, 0xa00000, 4 * MIB, 0);
  at_last (trace, TESSERA_FREE_COMPLETED, 0xa00000, 4 * MIB, 0);
  at_last (trace, TESSERA_ALLOC, 0xb00000, 64 * MIB, 0);
  at_last (trace, TESSERA_FREE_REQUESTED, 0xb00000, 64 * MIB, 0);
  at_last (trace, TESSERA_FREE_COMPLETED, 0xb00000, 64 * MIB, 0);
  at_last (trace, TESSERA_ALLOC, 0xc00000, 32 * MIB, 0); /* block 2: orders the 64 MiB */
  at_last (trace, TESSERA_FREE_REQUESTED, 0xc00000, 32 * MIB, 0);
  at_last (trace, TESSERA_FREE_COMPLETED, 0xc00000, 32 * MIB, 0);
  at_last (trace, TESSERA_ALLOC, 0xd00000, 3 * MIB, 0); /* block 3: orders the 4 MiB */
  at_last (trace, TESSERA_ALLOC, 0xe00000, 61 * MIB, 1);
  set_clock (trace, MS);
  c = plan_with (trace, 0);
  g_assert_cmpuint (c.plan->height_bytes, ==, 64 * MIB);
  for (size_t i = 0; i < c.plan->n_hand_overs; i++)
    {
      pair = &c.plan->hand_overs[i];
      g_assert_cmpuint (pair->to_slot, ==, 4);
      g_assert_cmpuint (pair->event_slot, ==, pair->from_slot == 1 ? 2 : 3);
      if (pair->from_slot == 1 && c.plan->slots[0].offset_bytes == 0 &&
          c.plan->slots[4].offset_bytes == 0)
        g_error ("the 4 MiB are not waited for");
    }
  plan_case_check (&c, 0, 0);
  plan_case_clear (&c);
}

typedef struct
{
  TesseraEvent event;
  uint32_t due;
} Pending;

static void
complete_due (TesseraTrace *trace, GArray *pending, gboolean all)
{
  for (guint i = 0; i < pending->len;)
    if (all || g_array_index (pending, Pending, i).due <= trace->n_events)
      {
        const TesseraEvent *event = &g_array_index (pending, Pending, i).event;

        at_last (trace, TESSERA_FREE_COMPLETED, event->addr, event->size_bytes,
                 event->stream);
        g_array_remove_index (pending, i);
      }
    else
      i++;
}

/* Steps that ask for the same, on three streams; of some blocks the host sees only later
 * that they are done, in each step at another moment. */
static TesseraTrace *
late_loop (uint32_t seed, uint64_t n_steps)
{
  enum
  {
    N_BLOCKS = 20
  };
  TesseraTrace *trace = test_trace_new ();
  g_autoptr (GRand) lags = g_rand_new_with_seed (seed + 1000);
  g_autoptr (GArray) pending = g_array_new (FALSE, FALSE, sizeof (Pending));

  for (uint64_t s = 0; s < n_steps; s++)
    {
      g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
      g_autofree char *name = g_strdup_printf ("step %u", (guint) s);
      uint32_t begin = (uint32_t) trace->n_events;

      for (uint64_t i = 0; i < N_BLOCKS; i++)
        {
          uint64_t size = (uint64_t) g_rand_int_range (rand, 1, 9) << (i % 4 ? 19 : 9);

          complete_due (trace, pending, FALSE);
          for (uint64_t k = 0; k < N_BLOCKS; k++)
            {
              uint64_t end = k + 1 + (k * 7 + seed) % (N_BLOCKS - 1);
              uint64_t addr = (s - (end >= N_BLOCKS)) * N_BLOCKS + k + 1;
              Pending late = { .event = { .addr = addr << 30,
                                          .size_bytes = 512,
                                          .stream = (uint16_t) ((k + seed) % 3) } };

              if (end % N_BLOCKS != i || (end >= N_BLOCKS && s == 0))
                continue;
              late.due = (uint32_t) trace->n_events +
                         (k % 2 ? (uint32_t) g_rand_int_range (lags, 2, 25) : 0);
              at_last (trace, TESSERA_FREE_REQUESTED, late.event.addr, 512,
                       late.event.stream);
              g_array_append_val (pending, late);
              complete_due (trace, pending, FALSE);
            }
          at_last (trace, TESSERA_ALLOC, (s * N_BLOCKS + i + 1) << 30, size,
                   (int) ((i + seed) % 3));
        }
      if (s + 1 == n_steps)
        complete_due (trace, pending, seed % 2);
      test_range (trace, TESSERA_RANGE_STEP, name, begin, (uint32_t) trace->n_events);
    }
  tessera_trace_settle_ranges (trace);
  if (seed % 3)
    set_clock (trace, 100000);
  return trace;
}

/* Judges the plan by its trace, where steps repeat. */
static void
check_steps (const PlanCase *c)
{
  const TesseraPlan *plan = c->plan;
  uint32_t first = 0, end = (uint32_t) c->structure->n_steps;
  const TesseraSection *repeats = NULL;

  for (size_t i = 0; i < plan->n_sections; i++)
    if (plan->sections[i].kind == TESSERA_SECTION_REPEATS)
      repeats = &plan->sections[i];
  if (!repeats)
    return;
  while (c->structure->steps[first].begin_index < repeats->begin)
    first++;
  for (size_t i = repeats->first_slot + repeats->n_slots; i < plan->n_slots; i++)
    end = MIN (end, c->blocks->blocks[plan->slots[i].block].step);
  plan_case_check (c, first, end - first);
}

/* In a run of all steps: ranges are open when they pass, side streams are waited for, and
 * more waits never make a plan of at most so many higher. */
static void
test_property (void)
{
  guint n_side = 0, n_lower = 0, n_folded = 0;

  for (uint32_t seed = 1; seed <= 60; seed++)
    {
      PlanCase all = plan_with (late_loop (seed, 4), 0);
      PlanCase none = plan_with (late_loop (seed, 4), UINT64_MAX);
      TesseraPlanOptions options = plan_across;
      TesseraPlan *some = NULL;

      for (size_t i = 0; i < all.plan->n_slots; i++)
        n_side += all.plan->slots[i].side_streams;
      check_steps (&all);
      check_steps (&none);
      n_folded += all.plan->followable == TESSERA_FOLLOWABLE_YES;
      g_assert_cmpuint (tessera_waits_of (none.plan).n_waits, ==, 0);
      g_assert_cmpuint (all.plan->bound_bytes, <=, none.plan->bound_bytes);
      n_lower += all.plan->height_bytes < none.plan->height_bytes;
      g_assert_cmpint (tessera_plan_within_waits (all.trace, all.blocks, all.structure,
                                                  &options, 3, NULL, &some),
                       ==, TESSERA_OK);
      g_assert_cmpuint (tessera_waits_of (some).n_waits, <=, 3);
      g_assert_cmpuint (some->height_bytes, <=, none.plan->height_bytes);
      g_assert_true (some->checked);
      tessera_plan_free (some);
      plan_case_clear (&all);
      plan_case_clear (&none);
    }
  g_assert_cmpuint (n_side, >, 100);
  g_assert_cmpuint (n_lower, >, 20);
  g_assert_cmpuint (n_folded, >, 20);
}

static bool
count_call (void *user, double fraction)
{
  guint *n_calls = user;

  ++*n_calls;
  return true;
}

/* Time is up after the first look: one planning is begun, not one for each of the sizes
 * that are tried, and the plan says that it was cut short. */
static void
test_time_of_all (void)
{
  guint n_calls = 0;
  const TesseraProgress progress = { count_call, &n_calls };
  PlanCase c = plan_case_look (late_loop (1, 4));
  TesseraPlanOptions options = plan_across;
  TesseraPlan *plan = NULL;

  options.progress = &progress;
  options.time_limit_s = 1e-9;
  g_assert_cmpint (tessera_plan_within_waits (c.trace, c.blocks, c.structure, &options, 3,
                                              NULL, &plan),
                   ==, TESSERA_OK);
  g_assert_cmpuint (n_calls, ==, 1);
  g_assert_cmpuint (plan->cut_short, ==, TESSERA_CUT_BY_TIME);
  g_assert_cmpfloat (plan->time_limit_s, ==, 1e-9);
  g_assert_true (plan->checked);
  g_assert_cmpuint (tessera_waits_of (plan).n_waits, ==, 0);
  tessera_plan_free (plan);
  plan_case_clear (&c);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/waits/ordered", test_ordered);
  g_test_add_func ("/waits/closed", test_closed);
  g_test_add_func ("/waits/none", test_none);
  g_test_add_func ("/waits/last-event", test_last_event);
  g_test_add_func ("/waits/time-of-all", test_time_of_all);
  g_test_add_func ("/waits/property", test_property);
  return g_test_run ();
}
