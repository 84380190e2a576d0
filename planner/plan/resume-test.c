/*
 * Tests of going on from a plan: never higher, whatever stopped it; and what does not
 * fit, or lies, does no harm.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/plan/case.h"

#include <string.h>

static bool
stop_at_once (void *user, double fraction)
{
  return false;
}

static const TesseraProgress stopped = { stop_at_once, NULL };

static TesseraStatus
plan_on (const PlanCase *c,
         const TesseraPlan *resumed,
         const TesseraPlanOptions *like,
         TesseraError *error,
         TesseraPlan **out_plan)
{
  TesseraPlanOptions options = *like;

  options.resumed = resumed;
  return tessera_plan_trace (c->trace, c->blocks, c->structure, &options, error,
                             out_plan);
}

/* A plan that was stopped at once, then with hardly any work, then with all of it. */
static void
go_on (TesseraTrace *trace, const TesseraPlanOptions *like)
{
  TesseraPlanOptions cut = *like, brief = *like;
  TesseraError error = { 0 };
  TesseraPlan *first = NULL, *again = NULL, *all = NULL;

  cut.progress = &stopped;
  cut.keeps_best = true;
  brief.work_budget = 1;
  PlanCase c = plan_case_new (trace, like);
  g_assert_cmpuint (c.plan->resumed_digest, ==, 0);
  g_assert_cmpint (plan_on (&c, NULL, &cut, &error, &first), ==, TESSERA_OK);
  g_assert_cmpint (first->cut_short, ==, TESSERA_CUT_BY_PERSON);
  g_assert_cmpint (plan_on (&c, first, &cut, &error, &again), ==, TESSERA_OK);
  g_assert_cmpuint (again->height_bytes, <=, first->height_bytes);
  g_assert_cmpuint (again->resumed_digest, ==, first->slot_digest);
  tessera_plan_free (again);
  /* Stopped at once, what was there is what there is. */
  g_assert_cmpint (plan_on (&c, c.plan, &cut, &error, &again), ==, TESSERA_OK);
  g_assert_cmpuint (again->height_bytes, <=, c.plan->height_bytes);
  tessera_plan_free (again);
  /* From the best there is, with next to no work: what is kept is kept. */
  g_assert_cmpint (plan_on (&c, c.plan, &brief, &error, &again), ==, TESSERA_OK);
  g_assert_cmpuint (again->height_bytes, <=, c.plan->height_bytes);
  g_assert_true (again->checked);
  g_assert_cmpint (plan_on (&c, first, like, &error, &all), ==, TESSERA_OK);
  g_assert_cmpuint (all->height_bytes, <=, first->height_bytes);
  g_assert_cmpint (all->cut_short, ==, TESSERA_CUT_NOT);
  tessera_plan_free (first);
  tessera_plan_free (again);
  tessera_plan_free (all);
  plan_case_clear (&c);
}

static void
test_never_higher (void)
{
  for (uint32_t seed = 1; seed <= 12; seed++)
    go_on (test_trace_random (seed, 300, (uint16_t) (1 + seed % 3)), &plan_all_steps);
  go_on (test_trace_loop (5, 6, true), &plan_all_steps);
}

/* Offsets of any kind, and heights that are not theirs: a checked plan, no higher than
 * without, or a sentence. */
static void
test_lies (void)
{
  GRand *random = g_rand_new_with_seed (5);
  int n_refused = 0, n_made = 0;

  for (uint32_t seed = 1; seed <= 40; seed++)
    {
      PlanCase c = plan_case_new (test_trace_random (seed, 150, 2), &plan_all_steps);
      TesseraPlan *lie = NULL, *made = NULL;
      TesseraError error = { 0 };

      g_assert_cmpint (plan_on (&c, NULL, &plan_all_steps, &error, &lie), ==, TESSERA_OK);
      for (size_t i = 0; i < lie->n_slots; i++)
        if (g_rand_int_range (random, 0, 3) == 0)
          lie->slots[i].offset_bytes =
              seed % 2 ? (uint64_t) g_rand_int_range (random, 0, 9) * TEST_UNIT
                       : g_rand_int (random) * UINT64_C (0x123456789);
      lie->height_bytes = seed % 3 ? 0 : UINT64_MAX;
      TesseraStatus status = plan_on (&c, lie, &plan_all_steps, &error, &made);
      if (status == TESSERA_OK)
        {
          g_assert_true (made->checked);
          g_assert_cmpuint (made->height_bytes, >=, made->bound_bytes);
          n_made++;
        }
      else
        {
          g_assert_null (made);
          g_assert_cmpint (status, ==, TESSERA_REFUSED);
          g_assert_nonnull (strstr (error.text, "planning can't go on from that plan"));
          n_refused++;
        }
      tessera_plan_free (made);
      tessera_plan_free (lie);
      plan_case_clear (&c);
    }
  g_test_message ("%d refused, %d made", n_refused, n_made);
  g_assert_cmpint (n_refused, >, 5);
  g_assert_cmpint (n_made, >, 5);
  g_rand_free (random);
}

static void
assert_refused (const PlanCase *c,
                const TesseraPlan *resumed,
                const TesseraPlanOptions *like,
                const char *word)
{
  TesseraPlan *made = NULL;
  TesseraError error = { 0 };

  g_assert_cmpint (plan_on (c, resumed, like, &error, &made), ==, TESSERA_REFUSED);
  g_assert_null (made);
  g_assert_nonnull (strstr (error.text, word));
}

static void
test_does_not_fit (void)
{
  PlanCase c = plan_case_new (test_trace_random (1, 60, 2), &plan_all_steps);
  PlanCase other = plan_case_new (test_trace_random (2, 60, 2), &plan_all_steps);
  PlanCase loop = plan_case_new (test_trace_loop (5, 4, true), &plan_all_steps);
  TesseraPlanOptions stalloc = plan_all_steps, steps = plan_all_steps;

  stalloc.strategy = TESSERA_STRATEGY_STALLOC;
  steps.first_step = 1;
  steps.last_step = 1;
  assert_refused (&c, other.plan, &plan_all_steps, "another trace");
  assert_refused (&c, c.plan, &stalloc, "strategy");
  assert_refused (&loop, loop.plan, &steps, "slots are not those");
  plan_case_clear (&c);
  plan_case_clear (&other);
  plan_case_clear (&loop);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/resume/never-higher", test_never_higher);
  g_test_add_func ("/resume/lies", test_lies);
  g_test_add_func ("/resume/does-not-fit", test_does_not_fit);
  return g_test_run ();
}
