/*
 * One kind of step in two layouts: what a step keeps until the next has made it anew costs
 * one place, whatever the run does between steps.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/allocator/followed.h"
#include "planner/check.h"
#include "planner/plan/case.h"

#include <string.h>

#define MIB ((uint64_t) 1 << 20)

enum
{
  N_REQUESTS = 4
};

/* Batch, activations, what the model gives, and what the loss needs: the loop holds batch
 * and output until it has the next. */
static const uint64_t sizes[N_REQUESTS] = { 4 * MIB, 8 * MIB, 20 * MIB, 22 * MIB };
static const bool is_kept[N_REQUESTS] = { true, false, true, false };
#define WEIGHT_BYTES (2 * MIB)
#define MOST_ALIVE (WEIGHT_BYTES + (4 + 8 + 20 + 22) * MIB)

static uint64_t
addr_of (uint32_t step, uint32_t request)
{
  return (uint64_t) (step * N_REQUESTS + request + 2) << 28;
}

static TesseraTrace *
loop (uint32_t n_steps)
{
  TesseraTrace *trace = test_trace_new ();

  test_alloc (trace, 0x1000, WEIGHT_BYTES);
  for (uint32_t s = 0; s < n_steps; s++)
    {
      g_autofree char *name = g_strdup_printf ("step %u", s);
      uint32_t begin = (uint32_t) trace->n_events;

      for (uint32_t i = 0; i < N_REQUESTS; i++)
        {
          test_alloc (trace, addr_of (s, i), sizes[i]);
          if (is_kept[i] && s > 0)
            test_free (trace, addr_of (s - 1, i), sizes[i]);
        }
      for (uint32_t i = 0; i < N_REQUESTS; i++)
        if (!is_kept[i])
          test_free (trace, addr_of (s, i), sizes[i]);
      test_range (trace, TESSERA_RANGE_STEP, name, begin, (uint32_t) trace->n_events);
    }
  tessera_trace_settle_ranges (trace);
  return trace;
}

/* Whether its last two sections are the layouts of the kind. */
static bool
alternates (const TesseraPlan *plan)
{
  return plan->n_sections == 3 &&
         plan->sections[1].alternate == TESSERA_ALTERNATE_FIRST &&
         plan->sections[2].alternate == TESSERA_ALTERNATE_SECOND;
}

static void
test_height (void)
{
  for (uint32_t n_steps = 2; n_steps < 9; n_steps++)
    {
      PlanCase c = plan_case_new (loop (n_steps), &plan_all_steps);

      g_assert_cmpint (c.plan->followable, ==, TESSERA_FOLLOWABLE_YES);
      g_assert_true (alternates (c.plan));
      for (uint32_t s = 1; s < 3; s++)
        g_assert_cmpuint (c.plan->sections[s].n_slots, ==, N_REQUESTS);
      g_assert_cmpuint (c.plan->height_bytes, ==, MOST_ALIVE);
      plan_case_check (&c, 0, n_steps);
      plan_case_clear (&c);
    }
}

typedef struct
{
  Followed *follower;
  uint64_t offsets[N_REQUESTS];
  bool is_held[N_REQUESTS];
  uint64_t n_missed;
} Program;

static void
drop (Program *program, uint32_t request)
{
  if (program->is_held[request])
    g_assert_true (followed_free_at (program->follower, program->offsets[request]));
  program->is_held[request] = false;
}

/* @n_left_out: requests at its begin that this step does without. */
static void
do_step (Program *program, uint32_t n_left_out)
{
  tessera_follower_step (program->follower->follower);
  for (uint32_t i = n_left_out; i < N_REQUESTS; i++)
    {
      uint64_t offset;
      bool hits = followed_malloc (program->follower, sizes[i], 0, 0, &offset, NULL);

      drop (program, i);
      program->n_missed += !hits;
      program->is_held[i] = hits;
      program->offsets[i] = offset;
    }
  for (uint32_t i = 0; i < N_REQUESTS; i++)
    if (!is_kept[i])
      drop (program, i);
}

static TesseraFollowerStats
stats_of (const Program *program)
{
  TesseraFollowerStats stats;

  tessera_follower_get_stats (program->follower->follower, &stats);
  return stats;
}

static Program
start (const PlanCase *c)
{
  Program program = { 0 };
  uint64_t offset;

  program.follower = followed_new (c->plan);
  g_assert_true (followed_malloc (program.follower, WEIGHT_BYTES, 0, 0, &offset, NULL));
  return program;
}

/* Each step is in the right layout: everything lies in the place that it was given, though
 * steps are told twice (evaluations come between), and what is held is let go of. */
static void
test_follow (void)
{
  PlanCase c = plan_case_new (loop (6), &plan_all_steps);
  Program program = start (&c);

  for (uint32_t s = 0; s < 40; s++)
    {
      if (s % 5 == 3)
        tessera_follower_step (program.follower->follower);
      if (s % 7 == 6)
        for (uint32_t i = 0; i < N_REQUESTS; i++)
          drop (&program, i);
      do_step (&program, 0);
    }
  g_assert_cmpuint (program.n_missed, ==, 0);
  g_assert_cmpuint (stats_of (&program).hits_elsewhere, ==, 0);
  followed_free (program.follower);
  plan_case_clear (&c);
}

/* Who lost a step (its output is that of the one before) is right again in the next. */
static void
test_lost_step (void)
{
  PlanCase c = plan_case_new (loop (6), &plan_all_steps);
  Program program = start (&c);
  uint64_t elsewhere;

  for (uint32_t s = 0; s < 5; s++)
    do_step (&program, 0);
  do_step (&program, N_REQUESTS);
  elsewhere = stats_of (&program).hits_elsewhere;
  for (uint32_t s = 0; s < 6; s++)
    do_step (&program, 0);
  g_assert_cmpuint (program.n_missed, ==, 0);
  g_assert_cmpuint (stats_of (&program).hits_elsewhere, ==, elsewhere);
  followed_free (program.follower);
  plan_case_clear (&c);
}

static void
assert_refused (TesseraPlan *plan, TesseraLaw wanted, const char *pattern)
{
  TesseraError error = { 0 };
  TesseraLaw law;

  plan->slot_digest = tessera_plan_digest (plan);
  g_assert_cmpint (tessera_check_plan (plan, NULL, &law, &error), ==, TESSERA_REFUSED);
  g_assert_cmpint (law, ==, wanted);
  g_assert_true (g_pattern_match_simple (pattern, error.text));
}

/* The checker knows what two layouts are: both ask for the same. */
static void
test_refused (void)
{
  PlanCase c = plan_case_new (loop (6), &plan_all_steps);
  TesseraSlot *slot = &c.plan->slots[c.plan->n_slots - 1];
  const TesseraSlot kept = *slot;

  slot->size_bytes = slot->block_bytes = MIB;
  assert_refused (c.plan, TESSERA_LAW_SECTIONS, "*second of two steps*");
  *slot = kept;
  slot->pool = 1;
  assert_refused (c.plan, TESSERA_LAW_SECTIONS, "*second of two steps*");
  *slot = kept;
  c.plan->n_slots--;
  c.plan->sections[2].n_slots--;
  assert_refused (c.plan, TESSERA_LAW_SECTIONS, "*as many slots in both*");
  c.plan->n_slots++;
  c.plan->sections[2].n_slots++;
  c.plan->sections[0].alternate = TESSERA_ALTERNATE_FIRST;
  assert_refused (c.plan, TESSERA_LAW_SECTIONS, "*first layouts*");
  plan_case_clear (&c);
}

static TesseraPlan *
plan_with (const PlanCase *c, TesseraEdit *edit, TesseraError *error)
{
  const TesseraPlanOptions options = {
    .edits = edit, .n_edits = 1, .first_step = -1, .last_step = -1
  };
  TesseraPlan *plan = NULL;

  if (tessera_plan_trace (c->trace, c->blocks, c->structure, &options, error, &plan) !=
      TESSERA_OK)
    return NULL;
  return plan;
}

/* What is left out of one layout, by an edit or under a cap, is left out of both; with a
 * pin, which both can't have at once, the kind has one. */
static void
test_edits (void)
{
  PlanCase c = plan_case_look (loop (6));
  TesseraEdit edit = { .kind = TESSERA_EDIT_DYNAMIC, .name = (char *) "edit" };
  TesseraError error = { 0 };
  uint32_t block = 1 + 2 * N_REQUESTS + 1; /* the activations of the third step */
  TesseraPlan *plan;

  tessera_selector_init (&edit.what);
  edit.what.blocks = &block;
  edit.what.n_blocks = 1;
  plan = plan_with (&c, &edit, &error);
  g_assert_nonnull (plan);
  g_assert_true (alternates (plan));
  g_assert_cmpuint (plan->n_unplanned, ==, 2);
  tessera_plan_free (plan);

  edit.what.n_blocks = 0;
  edit.what.blocks = NULL;
  edit.kind = TESSERA_EDIT_CAP;
  edit.at = MOST_ALIVE - 4 * MIB;
  plan = plan_with (&c, &edit, &error);
  g_assert_nonnull (plan);
  g_assert_true (alternates (plan));
  g_assert_cmpuint (plan->height_bytes, <=, edit.at);
  g_assert_cmpuint (plan->sections[1].n_slots, <, N_REQUESTS);
  g_assert_cmpuint (plan->sections[2].n_slots, ==, plan->sections[1].n_slots);
  tessera_plan_free (plan);

  edit.kind = TESSERA_EDIT_PIN;
  edit.at = 0;
  edit.what.least_bytes = edit.what.most_bytes = sizes[2];
  plan = plan_with (&c, &edit, &error);
  g_assert_cmpstr (error.text, ==, "");
  g_assert_nonnull (plan);
  g_assert_false (alternates (plan));
  tessera_plan_free (plan);
  plan_case_clear (&c);
}

/* Each step begins with a number that is there until the next has made its own. Each third
 * is an evaluation, which keeps another of that size until the next evaluation: that one
 * takes turns, and the first of a step must not be taken for one that does. */
static TesseraTrace *
loop_with_evaluations (uint32_t n_steps)
{
  TesseraTrace *trace = test_trace_new ();
  uint32_t best = TESSERA_NONE;

  test_alloc (trace, 0x1000, WEIGHT_BYTES);
  for (uint32_t s = 0; s < n_steps; s++)
    {
      g_autofree char *name = g_strdup_printf ("step %u", s);
      uint32_t begin = (uint32_t) trace->n_events;
      bool is_evaluation = s % 3 == 2;

      test_alloc (trace, addr_of (s, 0), 512);
      if (s > 0)
        test_free (trace, addr_of (s - 1, 0), 512);
      test_alloc (trace, addr_of (s, 1), sizes[2]);
      if (s > 0)
        test_free (trace, addr_of (s - 1, 1), sizes[2]);
      test_alloc (trace, addr_of (s, 2), is_evaluation ? sizes[1] : sizes[3]);
      test_free (trace, addr_of (s, 2), is_evaluation ? sizes[1] : sizes[3]);
      if (is_evaluation)
        {
          test_alloc (trace, addr_of (s, 3), 512);
          if (best != TESSERA_NONE)
            test_free (trace, addr_of (best, 3), 512);
          best = s;
        }
      test_range (trace, TESSERA_RANGE_STEP, name, begin, (uint32_t) trace->n_events);
    }
  tessera_trace_settle_ranges (trace);
  return trace;
}

static void
test_first_request (void)
{
  PlanCase c =
      plan_case_new (loop_with_evaluations (24), &plan_all_steps); /* is checked */

  g_assert_cmpuint (c.plan->sections[1].alternate, ==, TESSERA_ALTERNATE_FIRST);
  g_assert_cmpuint (c.plan->height_bytes, <=,
                    WEIGHT_BYTES + sizes[2] + sizes[3] + 8 * TEST_UNIT);
  plan_case_clear (&c);
}

/* A preview has as many layouts as the plan before. */
static void
test_plan_before (void)
{
  PlanCase c = plan_case_new (loop (6), &plan_all_steps);
  TesseraPlanOptions options = {
    .first_step = -1, .last_step = -1, .is_preview = true, .former = c.plan
  };
  TesseraPlan *plan;

  g_assert_cmpint (
      tessera_plan_trace (c.trace, c.blocks, c.structure, &options, NULL, &plan), ==,
      TESSERA_OK);
  g_assert_cmpuint (plan->height_bytes, ==, MOST_ALIVE);
  tessera_plan_free (plan);
  plan_case_clear (&c);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/planner/turns/height", test_height);
  g_test_add_func ("/planner/turns/follow", test_follow);
  g_test_add_func ("/planner/turns/first-request", test_first_request);
  g_test_add_func ("/planner/turns/lost-step", test_lost_step);
  g_test_add_func ("/planner/turns/refused", test_refused);
  g_test_add_func ("/planner/turns/edits", test_edits);
  g_test_add_func ("/planner/turns/plan-before", test_plan_before);
  return g_test_run ();
}
