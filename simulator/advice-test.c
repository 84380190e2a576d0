/*
 * Which plans a run is advised to follow.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "simulator/simulate.h"

#include <stdlib.h>
#include <string.h>

#include "planner/lengths/test-steps.h"
#include "planner/lengths.h"
#include "planner/planner.h"
#include "planner/test-traces.h"
#include "tests/simulator/made-case.h"

#define MIB ((uint64_t) 1 << 20)
#define PAGE ((uint64_t) 1 << 30)

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

  trace->alignment_bytes = 512;
  g_auto (Case) c = case_new (trace);
  g_autoptr (TesseraPlan) plan = case_plan (&c, NULL);
  g_assert_nonnull (strstr (case_advise (&c, plan), "ask for the same"));
  g_assert_cmpint (plan->followable, ==, TESSERA_FOLLOWABLE_YES);
}

static void
missed_plans_are_not (void)
{
  g_auto (Case) c = case_in_turn ();
  g_autoptr (TesseraPlan) plan = case_plan (&c, NULL);

  for (size_t i = 0; i < plan->n_slots; i++)
    plan->slots[i].size_bytes = plan->slots[i].block_bytes = 32 * MIB;
  g_assert_cmpstr (case_advise (&c, plan), ==,
                   "of the 4 requests of the trace that it was made "
                   "from 4 miss their slots");
  g_assert_cmpint (plan->followable, ==, TESSERA_FOLLOWABLE_NO);
}

/* A small and a large block in each of twelve steps. */
static Case
case_of_steps (void)
{
  TesseraTrace *trace = test_trace_new ();

  trace->alignment_bytes = 512;
  for (guint i = 0; i < 12; i++)
    {
      uint32_t begin = (uint32_t) trace->n_events;

      test_alloc (trace, PAGE, 64 * MIB);
      test_alloc (trace, 2 * PAGE, 4096);
      test_free (trace, 2 * PAGE, 4096);
      test_free (trace, PAGE, 64 * MIB);
      test_step (trace, i, begin);
    }
  tessera_trace_settle_ranges (trace);
  return case_new (trace);
}

/* What nobody sees may miss in each step; more may not. */
static void
little_may_miss (void)
{
  for (int is_large = 0; is_large < 2; is_large++)
    {
      g_auto (Case) c = case_of_steps ();
      g_autoptr (TesseraPlan) plan = case_plan (&c, NULL);

      for (size_t i = 0; i < plan->n_slots; i++)
        if ((plan->slots[i].size_bytes > MIB) == (is_large != 0))
          plan->slots[i].size_bytes = plan->slots[i].block_bytes = 512;
      (void) case_advise (&c, plan);
      g_assert_cmpint (plan->followable, ==,
                       is_large ? TESSERA_FOLLOWABLE_NO : TESSERA_FOLLOWABLE_YES);
    }
}

/* In each step a block of 70 MiB, for which expandable segments have no hole, after one of
 * 64: a plan that has no place for the first gives the other's back for it, in each step. */
static void
plans_that_give_back_in_each_step_are_not (void)
{
  static const struct
  {
    uint64_t addr, size_bytes;
    bool is_free;
  } calls[] = { { PAGE, 64 * MIB, false },    { 2 * PAGE, 2 * MIB, false },
                { PAGE, 64 * MIB, true },     { 3 * PAGE, 70 * MIB, false },
                { 3 * PAGE, 70 * MIB, true }, { 2 * PAGE, 2 * MIB, true } };
  TesseraTrace *trace = test_trace_new ();

  trace->alignment_bytes = 512;
  for (guint i = 0; i < 12; i++)
    {
      uint32_t begin = (uint32_t) trace->n_events;

      for (size_t k = 0; k < G_N_ELEMENTS (calls); k++)
        (calls[k].is_free ? test_free : test_alloc) (trace, calls[k].addr,
                                                     calls[k].size_bytes);
      test_step (trace, i, begin);
    }
  tessera_trace_settle_ranges (trace);
  g_auto (Case) c = case_new (trace);
  g_autoptr (TesseraPlan) plan = case_plan (&c, NULL);

  g_assert_cmpuint (plan->height_bytes, ==, 72 * MIB);
  for (size_t i = 0; i < plan->n_slots; i++)
    if (plan->slots[i].size_bytes == 70 * MIB)
      plan->slots[i].size_bytes = plan->slots[i].block_bytes = 512;
  g_assert_nonnull (strstr (case_advise (&c, plan), "miss their slots"));
  g_assert_cmpint (plan->followable, ==, TESSERA_FOLLOWABLE_NO);
}

/* @step_bytes apart: what a plan reserves is what lies in its pool. */
static TesseraPlan *
plan_apart (const Case *c, uint64_t step_bytes)
{
  TesseraPlan *plan = case_plan (c, NULL);

  g_assert_cmpuint (plan->n_slots, ==, 4);
  for (size_t i = 0; i < plan->n_slots; i++)
    plan->slots[i].offset_bytes = i * step_bytes;
  plan->height_bytes = 64 * MIB + (plan->n_slots - 1) * step_bytes;
  return plan;
}

static void
wasteful_plans_are_not (void)
{
  g_auto (Case) c = case_in_turn ();
  TesseraPlan *plan = plan_apart (&c, MIB);

  case_advise (&c, plan);
  g_assert_cmpint (plan->followable, ==, TESSERA_FOLLOWABLE_SAME_BATCHES);
  tessera_plan_free (plan);
  plan = plan_apart (&c, 2 * MIB);
  g_assert_cmpstr (case_advise (&c, plan), ==,
                   "with it the trace that it was made from reserves "
                   "70.00 MiB, and natively 64.00 MiB");
  g_assert_cmpint (plan->followable, ==, TESSERA_FOLLOWABLE_NO);
  tessera_plan_free (plan);
}

/* Eight steps of a length each: a batch, four sizes that follow it, and 20 small blocks. */
static TesseraTrace *
trace_of_lengths (void)
{
  TesseraTrace *trace = test_trace_new ();
  uint64_t next = PAGE;

  trace->alignment_bytes = 512;
  for (uint32_t s = 0; s < 8; s++)
    {
      const uint64_t length = test_steps_lengths[s];
      uint32_t begin = (uint32_t) trace->n_events;

      for (uint32_t i = 0; i < 25; i++, next += PAGE)
        {
          uint64_t bytes = i == 0 ? 8 * length : i < 5 ? 8192 * i * length : 3072;

          test_alloc (trace, next, bytes);
          test_free (trace, next, bytes);
        }
      test_step (trace, s, begin);
    }
  tessera_trace_settle_ranges (trace);
  return trace;
}

static TesseraPlan *
plan_lengths (const Case *c)
{
  const TesseraLengthsOptions options = { .work_budget = 0 };
  TesseraPlan *plan = case_plan (c, NULL);
  g_autoptr (TesseraLaws) laws = tessera_laws_new (c->trace, c->blocks, c->structure);

  WORKS (error, tessera_lengths_plan (c->trace, c->blocks, c->structure, laws, &options,
                                      &error, &plan->lengths));
  return plan;
}

/* Returns: why there is nothing for every length, or NULL */
static char *
judge_lengths (const Case *c, TesseraPlan *plan)
{
  const TesseraFollowOptions options = { .laws = NULL };
  g_autoptr (TesseraLayout) layout = NULL;
  char *no_lengths;

  WORKS (error, tessera_follow_plan (c->trace, c->blocks, c->structure, &options, plan,
                                     &error, &layout, &no_lengths));
  return no_lengths;
}

/* What a plan has for every length goes where its laws give other sizes than most requests
 * have, be these as small as nothing. */
static void
contradicted_laws_are_not (void)
{
  for (int is_other = 0; is_other < 2; is_other++)
    {
      g_auto (Case) c = case_new (trace_of_lengths ());
      g_autoptr (TesseraPlan) plan = plan_lengths (&c);

      for (uint32_t i = 0; is_other && i < plan->lengths->n_laws; i++)
        if (plan->lengths->laws[i].kind == TESSERA_SIZE_CONSTANT)
          plan->lengths->laws[i].numerators[TESSERA_TERM_ONE] = 1024;
      g_autofree char *no_lengths = judge_lengths (&c, plan);
      g_assert_cmpint (plan->lengths != NULL, ==, !is_other);
      g_assert_cmpint (no_lengths != NULL && strstr (no_lengths, "miss their slots"), ==,
                       is_other);
    }
}

/* Where PyTorch is better at steps of many lengths than a plan for them, one with rooms for
 * what varies in this trace is no plan for other lengths either. It is where steps vary
 * otherwise: small blocks beside the pool cost nothing. */
static void
rooms_for_other_lengths_are_not (void)
{
  static const struct
  {
    uint32_t slot; /* too small in the plan */
    uint32_t n_rooms;
    TesseraFollowable followable;
  } cases[] = {
    { 4, 1, TESSERA_FOLLOWABLE_SAME_BATCHES },
    { 4, 0, TESSERA_FOLLOWABLE_YES },
    { 24, 1, TESSERA_FOLLOWABLE_YES },
  };

  for (size_t k = 0; k < G_N_ELEMENTS (cases); k++)
    {
      g_auto (Case) c = case_new (trace_of_lengths ());
      g_autoptr (TesseraPlan) plan = plan_lengths (&c);

      plan->followable = TESSERA_FOLLOWABLE_YES;
      plan->rooms = g_new0 (TesseraRoom, 1);
      plan->n_rooms = cases[k].n_rooms;
      plan->lengths->laws[plan->lengths->slots[cases[k].slot].law].denominator *= 4;
      g_autofree char *no_lengths = judge_lengths (&c, plan);
      g_assert_nonnull (no_lengths);
      g_assert_cmpint (plan->followable, ==, cases[k].followable);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/advice/followed-plans-are-advised", followed_plans_are_advised);
  g_test_add_func ("/advice/missed-plans-are-not", missed_plans_are_not);
  g_test_add_func ("/advice/little-may-miss", little_may_miss);
  g_test_add_func ("/advice/plans-that-give-back-in-each-step-are-not",
                   plans_that_give_back_in_each_step_are_not);
  g_test_add_func ("/advice/wasteful-plans-are-not", wasteful_plans_are_not);
  g_test_add_func ("/advice/contradicted-laws-are-not", contradicted_laws_are_not);
  g_test_add_func ("/advice/rooms-for-other-lengths-are-not",
                   rooms_for_other_lengths_are_not);
  return g_test_run ();
}
