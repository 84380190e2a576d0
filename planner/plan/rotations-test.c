/*
 * Blocks that outlive the birth of their successor: places in turn, and one kind of step
 * in two layouts.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/allocator/followed.h"

#include <string.h>

#include "planner/check.h"
#include "planner/plan/build.h"
#include "planner/plan/test-case.h"

#define BRIEF_BUDGET (UINT64_C (1) << 14)
#define MIB ((uint64_t) 1 << 20)
#define WEIGHT_BYTES (2 * MIB)
#define MOST_ALIVE (WEIGHT_BYTES + (4 + 8 + 20 + 22) * MIB)

/* Steps of equal requests, the first of which may be before all steps. The i-th block of
 * a step ends right before the lives[i]-th request after its own. */
static TesseraTrace *
lives_loop (const uint64_t *sizes,
            const uint32_t *lives,
            uint32_t n_blocks,
            uint32_t n_steps,
            bool has_start)
{
  TesseraTrace *trace = test_trace_new ();

  test_alloc (trace, 0x1000, 4096);
  for (uint64_t s = 0; s < n_steps; s++)
    {
      uint32_t begin = (uint32_t) trace->n_events;

      for (uint64_t i = 0; i < n_blocks; i++)
        {
          uint64_t request = s * n_blocks + i;

          for (uint64_t k = 0; k < n_blocks; k++)
            if (request >= lives[k] + k && (request - lives[k] - k) % n_blocks == 0)
              test_free (trace, (request - lives[k] + 1) << 24, sizes[k]);
          test_alloc (trace, (request + 1) << 24, sizes[i]);
        }
      if (s > 0 || !has_start)
        test_step (trace, (uint32_t) s, begin);
    }
  tessera_trace_settle_ranges (trace);
  return trace;
}

/* An optimizer that makes new state before it lets go of the old, one parameter after the
 * other: one place more than parameters is enough. */
static void
test_replaced_state (void)
{
  enum
  {
    N_STATES = 20
  };
  const uint64_t bytes = 4 << 20;
  uint64_t sizes[N_STATES];
  uint32_t lives[N_STATES];

  for (uint32_t i = 0; i < N_STATES; i++)
    {
      sizes[i] = bytes;
      /* The last one's goes at the end of the step. */
      lives[i] = i + 1 < N_STATES ? N_STATES + 1 : N_STATES;
    }
  for (int has_start = 0; has_start < 2; has_start++)
    {
      g_auto (PlanCase) c = plan_case_new (
          lives_loop (sizes, lives, N_STATES, 5, has_start), &plan_all_steps);
      size_t n_spares = 0;

      g_assert_cmpint (c.plan->followable, ==, TESSERA_FOLLOWABLE_YES);
      for (size_t i = 0; i < c.plan->n_slots; i++)
        n_spares += c.plan->slots[i].ordinal == TESSERA_NONE;
      g_assert_cmpuint (n_spares, ==, 1);
      g_assert_cmpuint (c.plan->height_bytes, ==, 4096 + (N_STATES + 1) * bytes);
      plan_case_check (&c, 0, 5 - (guint) has_start);
    }
}

static uint64_t
count_misses (const TesseraPlan *p,
              const TesseraTrace *trace,
              const TesseraBlocks *blocks)
{
  g_autofree uint64_t *offsets = g_new (uint64_t, blocks->n_blocks);
  g_autoptr (Followed) follower = followed_new (p);

  for (uint32_t i = 0; i < trace->n_events; i++)
    {
      const TesseraEvent *event = &trace->events[i];
      uint64_t *offset = &offsets[blocks->block_of_event[i]];

      if (event->action == TESSERA_ALLOC)
        followed_malloc (follower, event->size_bytes, event->stream, event->pool, offset,
                         NULL);
      else if (event->action == TESSERA_FREE_COMPLETED)
        followed_free_at (follower, *offset);
    }
  return follower->stats.misses;
}

/* How low the plans are is nothing to the tests below: no long search for lower ones. */

enum
{
  MAX_BLOCKS = 24,
  N_STEPS = 5,
  N_MORE_STEPS = 40
};

static bool
alternates (const TesseraPlan *plan)
{
  for (size_t i = 0; i < plan->n_sections; i++)
    if (plan->sections[i].alternate != TESSERA_ALTERNATE_NOT)
      return true;
  return false;
}

static bool
has_turns (const TesseraPlan *plan)
{
  for (size_t i = 0; i < plan->n_slots; i++)
    if (plan->slots[i].wraps && plan->slots[i].died_next > plan->slots[i].born)
      return true;
  return false;
}

typedef struct
{
  uint32_t n_turns; /* plans with places in turn */
  uint32_t n_alternating;
} Counts;

/* Lives of all kinds over the end of a step, few sizes, multiples of @unit_bytes: the
 * plan is right for the trace whichever free place each block takes, and serves many more
 * steps than it saw. */
static void
try_turns (uint32_t seed, uint64_t unit_bytes, Counts *counts)
{
  TesseraPlanOptions options = plan_all_steps;
  g_autoptr (GRand) rand = g_rand_new_with_seed (seed);
  uint32_t n = (uint32_t) g_rand_int_range (rand, 2, MAX_BLOCKS + 1);
  bool has_start = seed % 2;
  uint64_t sizes[MAX_BLOCKS];
  uint32_t lives[MAX_BLOCKS];

  for (uint32_t i = 0; i < n; i++)
    {
      sizes[i] = (uint64_t) g_rand_int_range (rand, 1, 4) * unit_bytes;
      lives[i] = (uint32_t) g_rand_int_range (rand, 1, (gint32) (2 * n - i));
    }
  options.work_budget = BRIEF_BUDGET;
  PlanCase c = plan_case_new (lives_loop (sizes, lives, n, N_STEPS, has_start), &options);
  PlanCase longer =
      plan_case_look (lives_loop (sizes, lives, n, N_MORE_STEPS, has_start));
  g_assert_cmpint (c.plan->followable, ==, TESSERA_FOLLOWABLE_YES);
  plan_case_check (&c, 0, N_STEPS - has_start);
  g_assert_cmpuint (count_misses (c.plan, longer.trace, longer.blocks), ==, 0);
  counts->n_turns += has_turns (c.plan);
  counts->n_alternating += alternates (c.plan);
  plan_case_clear (&c);
  plan_case_clear (&longer);
}

/* Two layouts could not be lower by what they have to be. */
static void
test_turns (void)
{
  Counts counts = { 0 };

  for (uint32_t seed = 1; seed <= 40; seed++)
    try_turns (seed, 16 << 10, &counts);
  g_assert_cmpuint (counts.n_turns, >, 10);
  g_assert_cmpuint (counts.n_alternating, ==, 0);
}

/* The same where they can. */
static void
test_layouts (void)
{
  Counts counts = { 0 };

  for (uint32_t seed = 1; seed <= 40; seed++)
    try_turns (seed, 2 << 20, &counts);
  g_assert_cmpuint (counts.n_alternating, >, 10);
}

enum
{
  N_TAILS = 5,
  MOST_TAIL = 9
};

/* The sum of the tails of starts that find a carry, one more for each. */
static uint32_t
join_tails (const uint32_t *starts, const uint32_t *carried)
{
  TesseraBlock of_start[N_TAILS] = { 0 };
  const TesseraBlocks blocks = { .blocks = of_start, .n_blocks = N_TAILS };
  uint32_t places[MOST_TAIL + 2] = { 0 }, requests[MOST_TAIL], sum = 0;
  const uint32_t left_out[N_TAILS] = { 0 };
  TesseraUnit unit = { .begin = 1, .end = MOST_TAIL + 3 };
  TesseraUnits units = { .blocks = &blocks,
                         .units = &unit,
                         .n_units = 1,
                         .n_kinds = 1,
                         .begin = 1,
                         .end = unit.end,
                         .place_of = places };
  TesseraCarries carries = { .units = &units,
                             .carries = g_new0 (TesseraCarry, N_TAILS),
                             .n_carries = N_TAILS };

  for (uint32_t i = 0; i < MOST_TAIL; i++)
    {
      requests[i] = 2 + i; /* their events, and where they are in the step */
      places[i + 1] = i;
    }
  units.kinds[0] = (TesseraStepKind){
    .n_requests = MOST_TAIL, .begin = 1, .end = unit.end, .requests = requests
  };
  for (uint32_t i = 0; i < N_TAILS; i++)
    {
      of_start[i] = (TesseraBlock){ .block_bytes = 512, .died_index = 2 + starts[i] };
      carries.carries[i] = (TesseraCarry){ .block_bytes = 512,
                                           .ends = { 2 + carried[i] },
                                           .start = TESSERA_NONE };
    }
  tessera_carries_match_starts (&carries, left_out);
  for (uint32_t i = 0; i < N_TAILS; i++)
    {
      uint32_t carry = carries.of_start[i];

      if (carry == TESSERA_NONE)
        continue;
      g_assert_cmpuint (carries.carries[carry].start, ==, i);
      g_assert_cmpuint (carried[carry], >=, starts[i]);
      sum += starts[i] + 1;
    }
  tessera_carries_clear (&carries);
  return sum;
}

/* Of what the start leaves to the first repeating step, what reaches far is joined
 * before what is as good as gone: as many as can be, and no join could be worth more. */
static void
test_tails (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (7);

  for (int round = 0; round < 400; round++)
    {
      uint32_t starts[N_TAILS], carried[N_TAILS], best = 0;

      for (uint32_t i = 0; i < N_TAILS; i++)
        {
          starts[i] = (uint32_t) g_rand_int_range (rand, 0, MOST_TAIL);
          carried[i] = (uint32_t) g_rand_int_range (rand, 0, MOST_TAIL);
        }
      /* Each carry may be left out, and what is joined is a subset of the starts. */
      for (uint32_t chosen = 0; chosen < 1u << N_TAILS; chosen++)
        {
          bool is_possible = true;
          uint32_t sum = 0;

          for (uint32_t least = 0; least < MOST_TAIL; least++)
            {
              uint32_t n_starts = 0, n_carried = 0;

              for (uint32_t i = 0; i < N_TAILS; i++)
                {
                  n_starts += chosen >> i & 1 && starts[i] >= least;
                  n_carried += carried[i] >= least;
                }
              is_possible = is_possible && n_starts <= n_carried;
            }
          for (uint32_t i = 0; i < N_TAILS; i++)
            sum += (chosen >> i & 1) * (starts[i] + 1);
          best = is_possible && sum > best ? sum : best;
        }
      g_assert_cmpuint (join_tails (starts, carried), ==, best);
    }
}

enum
{
  N_REQUESTS = 4
};

/* Batch, activations, what the model gives, and what the loss needs: the loop holds batch
 * and output until it has the next. */
static const uint64_t sizes[N_REQUESTS] = { 4 * MIB, 8 * MIB, 20 * MIB, 22 * MIB };
static const bool is_kept[N_REQUESTS] = { true, false, true, false };

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
      test_step (trace, s, begin);
    }
  tessera_trace_settle_ranges (trace);
  return trace;
}

/* Whether its last two sections are the layouts of the kind. */
static bool
alternates_turns (const TesseraPlan *plan)
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
      g_auto (PlanCase) c = plan_case_new (loop (n_steps), &plan_all_steps);

      g_assert_cmpint (c.plan->followable, ==, TESSERA_FOLLOWABLE_YES);
      g_assert_true (alternates_turns (c.plan));
      for (uint32_t s = 1; s < 3; s++)
        g_assert_cmpuint (c.plan->sections[s].n_slots, ==, N_REQUESTS);
      g_assert_cmpuint (c.plan->height_bytes, ==, MOST_ALIVE);
      plan_case_check (&c, 0, n_steps);
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
  g_auto (PlanCase) c = plan_case_new (loop (6), &plan_all_steps);
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
  g_assert_cmpuint (program.follower->stats.hits_elsewhere, ==, 0);
  followed_free (program.follower);
}

/* Who lost a step (its output is that of the one before) is right again in the next. */
static void
test_lost_step (void)
{
  g_auto (PlanCase) c = plan_case_new (loop (6), &plan_all_steps);
  Program program = start (&c);

  for (uint32_t s = 0; s < 5; s++)
    do_step (&program, 0);
  do_step (&program, N_REQUESTS);
  uint64_t elsewhere = program.follower->stats.hits_elsewhere;
  for (uint32_t s = 0; s < 6; s++)
    do_step (&program, 0);
  g_assert_cmpuint (program.n_missed, ==, 0);
  g_assert_cmpuint (program.follower->stats.hits_elsewhere, ==, elsewhere);
  followed_free (program.follower);
}

static void
assert_refused (TesseraPlan *plan, TesseraLaw wanted, const char *pattern)
{
  TesseraError error = { 0 };
  TesseraLaw law;

  plan->slot_digest = tessera_plan_digest (plan);
  GIVES (TESSERA_REFUSED, tessera_check_plan (plan, NULL, &law, &error));
  g_assert_cmpint (law, ==, wanted);
  g_assert_true (g_pattern_match_simple (pattern, error.text));
}

/* The checker knows what two layouts are: both ask for the same. */
static void
test_refused (void)
{
  g_auto (PlanCase) c = plan_case_new (loop (6), &plan_all_steps);
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
  g_auto (PlanCase) c = plan_case_look (loop (6));
  TesseraEdit edit = { .kind = TESSERA_EDIT_DYNAMIC, .name = (char *) "edit" };
  TesseraLaw law = TESSERA_LAW_NONE;
  TesseraError error = { 0 };
  uint32_t block = 1 + 2 * N_REQUESTS + 1; /* the activations of the third step */

  tessera_selector_init (&edit.what);
  edit.what.blocks = &block;
  edit.what.n_blocks = 1;
  TesseraPlan *plan = plan_with (&c, &edit, &error);
  g_assert_nonnull (plan);
  g_assert_true (alternates_turns (plan));
  g_assert_cmpuint (plan->n_unplanned, ==, 2);
  /* The second layout would leave out another request. */
  plan->unplanned[1].block_bytes += 512;
  plan->slot_digest = tessera_plan_digest (plan);
  GIVES (TESSERA_REFUSED, tessera_check_plan (plan, NULL, &law, &error));
  g_assert_nonnull (strstr (error.text, "leave out the same requests"));
  error = (TesseraError){ 0 };
  tessera_plan_free (plan);

  edit.what.n_blocks = 0;
  edit.what.blocks = NULL;
  edit.kind = TESSERA_EDIT_CAP;
  edit.at = MOST_ALIVE - 4 * MIB;
  plan = plan_with (&c, &edit, &error);
  g_assert_nonnull (plan);
  g_assert_true (alternates_turns (plan));
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
  g_assert_false (alternates_turns (plan));
  tessera_plan_free (plan);
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
      test_step (trace, s, begin);
    }
  tessera_trace_settle_ranges (trace);
  return trace;
}

static void
test_first_request (void)
{
  g_auto (PlanCase) c =
      plan_case_new (loop_with_evaluations (24), &plan_all_steps); /* is checked */

  g_assert_cmpuint (c.plan->sections[1].alternate, ==, TESSERA_ALTERNATE_FIRST);
  g_assert_cmpuint (c.plan->height_bytes, <=,
                    WEIGHT_BYTES + sizes[2] + sizes[3] + 8 * TEST_UNIT);
}

/* One step more: each of its blocks is kept until the next has made as large a one, or as
 * its first. */
static void
add_loop_step (
    TesseraTrace *trace, uint32_t s, uint32_t n, uint32_t n_before, uint64_t own_bytes)
{
  uint32_t begin = (uint32_t) trace->n_events;

  for (uint32_t i = 0; i < n; i++)
    {
      test_alloc (trace, addr_of (s, i), sizes[2]);
      if (i < n_before)
        test_free (trace, addr_of (s - 1, i), sizes[2]);
      test_alloc (trace, addr_of (s, 3), own_bytes);
      test_free (trace, addr_of (s, 3), own_bytes);
    }
  for (uint32_t i = n; i < n_before; i++)
    test_free (trace, addr_of (s - 1, i), sizes[2]);
  test_step (trace, s, begin);
}

/* Five steps keep two blocks, then one clears up, and three of another kind keep one as
 * large: how long they would have what the first kind left nobody saw. */
static void
test_never_met (void)
{
  TesseraTrace *trace = test_trace_new ();

  test_alloc (trace, 0x1000, WEIGHT_BYTES);
  for (uint32_t s = 0; s < 5; s++)
    add_loop_step (trace, s, 2, s > 0 ? 2 : 0, sizes[0]);
  add_loop_step (trace, 5, 0, 2, 0);
  for (uint32_t s = 6; s < 9; s++)
    add_loop_step (trace, s, 1, s > 6 ? 1 : 0, sizes[3]);
  tessera_trace_settle_ranges (trace);
  g_auto (PlanCase) c = plan_case_new (trace, &plan_all_steps); /* is checked */

  g_assert_cmpuint (c.plan->n_sections, ==, 5);
  g_assert_cmpuint (c.plan->sections[1].alternate, ==, TESSERA_ALTERNATE_FIRST);
}

/* A preview has as many layouts as the plan before. */
static void
test_plan_before (void)
{
  g_auto (PlanCase) c = plan_case_new (loop (6), &plan_all_steps);
  TesseraPlanOptions options = {
    .first_step = -1, .last_step = -1, .is_preview = true, .former = c.plan
  };
  g_autoptr (TesseraPlan) plan = NULL;

  OK (tessera_plan_trace (c.trace, c.blocks, c.structure, &options, NULL, &plan));
  g_assert_cmpuint (plan->height_bytes, ==, MOST_ALIVE);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/planner/rotations/replaced-state", test_replaced_state);
  g_test_add_func ("/planner/rotations/turns", test_turns);
  g_test_add_func ("/planner/rotations/layouts", test_layouts);
  g_test_add_func ("/planner/rotations/tails", test_tails);
  g_test_add_func ("/planner/turns/height", test_height);
  g_test_add_func ("/planner/turns/follow", test_follow);
  g_test_add_func ("/planner/turns/first-request", test_first_request);
  g_test_add_func ("/planner/turns/never-met", test_never_met);
  g_test_add_func ("/planner/turns/lost-step", test_lost_step);
  g_test_add_func ("/planner/turns/refused", test_refused);
  g_test_add_func ("/planner/turns/edits", test_edits);
  g_test_add_func ("/planner/turns/plan-before", test_plan_before);
  return g_test_run ();
}
