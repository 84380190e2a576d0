/*
 * Which plans a run is advised to follow.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "simulator/advice.h"

#include <stdlib.h>
#include <string.h>

#include "planner/planner.h"
#include "planner/test-traces.h"
#include "simulator/made-case.h"

#define MIB ((uint64_t) 1 << 20)
#define PAGE ((uint64_t) 1 << 30)

static TesseraPlan *
make_plan (const Case *c)
{
  const TesseraPlanOptions options = { .first_step = -1, .last_step = -1 };
  TesseraError error = { 0 };
  TesseraPlan *plan;

  if (tessera_plan_trace (c->trace, c->blocks, c->structure, &options, &error, &plan) !=
      TESSERA_OK)
    g_error ("%s", error.text);
  return plan;
}

/* Says what the plan then says of itself. */
static const char *
advise (const Case *c, TesseraPlan *plan)
{
  TesseraError error = { 0 };
  char *no_lengths = NULL;

  if (tessera_advise_plan (c->trace, c->blocks, c->structure, plan, NULL, NULL, &error,
                           &no_lengths) != TESSERA_OK)
    g_error ("%s", error.text);
  g_assert_null (no_lengths);
  return plan->follow_reason;
}

/* Four blocks of 64 MiB, one after the other: they all fit into the first one's place. */
static Case
case_in_turn (void)
{
  TesseraTrace *trace = test_trace_new ();

  trace->alignment_bytes = 512;
  for (uint64_t i = 0; i < 4; i++)
    {
      test_alloc (trace, (i + 1) * PAGE, 64 * MIB);
      test_free (trace, (i + 1) * PAGE, 64 * MIB);
    }
  return case_new (trace);
}

static void
followed_plans_are_advised (void)
{
  TesseraTrace *trace = test_trace_loop (4, 40, true);
  Case c;
  TesseraPlan *plan;

  trace->alignment_bytes = 512;
  c = case_new (trace);
  plan = make_plan (&c);
  g_assert_nonnull (strstr (advise (&c, plan), "ask for the same"));
  g_assert_cmpint (plan->followable, ==, TESSERA_FOLLOWABLE_YES);
  tessera_plan_free (plan);
  case_clear (&c);
}

static void
missed_plans_are_not (void)
{
  Case c = case_in_turn ();
  TesseraPlan *plan = make_plan (&c);

  for (size_t i = 0; i < plan->n_slots; i++)
    plan->slots[i].size_bytes = plan->slots[i].block_bytes = 32 * MIB;
  g_assert_cmpstr (advise (&c, plan), ==,
                   "not advised, since of the 4 requests of the trace that it was made "
                   "from 4 miss their slots");
  g_assert_cmpint (plan->followable, ==, TESSERA_FOLLOWABLE_NO);
  tessera_plan_free (plan);
  case_clear (&c);
}

/* @step_bytes apart: what a plan reserves is what lies in its pool. */
static TesseraPlan *
plan_apart (const Case *c, uint64_t step_bytes)
{
  TesseraPlan *plan = make_plan (c);

  g_assert_cmpuint (plan->n_slots, ==, 4);
  for (size_t i = 0; i < plan->n_slots; i++)
    plan->slots[i].offset_bytes = i * step_bytes;
  plan->height_bytes = 64 * MIB + (plan->n_slots - 1) * step_bytes;
  return plan;
}

static void
wasteful_plans_are_not (void)
{
  Case c = case_in_turn ();
  TesseraPlan *plan = plan_apart (&c, MIB);

  advise (&c, plan);
  g_assert_cmpint (plan->followable, ==, TESSERA_FOLLOWABLE_SAME_BATCHES);
  tessera_plan_free (plan);
  plan = plan_apart (&c, 2 * MIB);
  g_assert_cmpstr (advise (&c, plan), ==,
                   "not advised, since with it the trace that it was made from reserves "
                   "70.00 MiB, and natively 64.00 MiB");
  g_assert_cmpint (plan->followable, ==, TESSERA_FOLLOWABLE_NO);
  tessera_plan_free (plan);
  case_clear (&c);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/advice/followed-plans-are-advised", followed_plans_are_advised);
  g_test_add_func ("/advice/missed-plans-are-not", missed_plans_are_not);
  g_test_add_func ("/advice/wasteful-plans-are-not", wasteful_plans_are_not);
  return g_test_run ();
}
