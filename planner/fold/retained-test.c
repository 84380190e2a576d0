/*
 * Steps that keep something for good still fold: what they keep gets no place, all else
 * has its slot, and what is too much to leave out is said.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/fold.h"
#include "planner/plan/test-case.h"

#include <string.h>

#define MIB ((uint64_t) 1 << 20)
#define SEED 20261122

enum
{
  N_STEPS = 8,
  N_LAYERS = 6,
  LOSS_BYTES = 4
};

typedef enum
{
  FREES_ALL,
  LISTS_LOSSES, /* of every step, for good */
  MAKES_CYCLES, /* of every step, until the collector comes by, at random */
  KEEPS_STATE,  /* of the first step, for good */
  KEEPS_WINDOW, /* the last three losses */
  KEEPS_MUCH    /* a quarter of all, for good */
} Habit;

typedef struct
{
  Habit habit;
  bool evaluates; /* between every other two steps */
  bool routes;    /* asks for other sizes in each step, in each layer */
  bool holds;     /* a batch until the next one is there: rotations, or pairs */
  uint32_t n_steps;
} Loop;

typedef struct
{
  TesseraTrace *trace;
  GRand *random;
  GArray *kept; /* uint64_t, addresses */
  uint64_t next, batch, kept_bytes;
} Run;

static uint64_t
ask (Run *run, uint64_t size_bytes)
{
  uint64_t addr = ++run->next << 28;

  test_alloc (run->trace, addr, size_bytes);
  return addr;
}

static void
drop_first (Run *run)
{
  test_free (run->trace, g_array_index (run->kept, uint64_t, 0), run->kept_bytes);
  g_array_remove_index (run->kept, 0);
}

/* The collector comes by now and then, at any request. */
static void
collect (Run *run, const Loop *loop)
{
  if (loop->habit == MAKES_CYCLES && g_rand_int_range (run->random, 0, 60) == 0)
    while (run->kept->len > 0)
      drop_first (run);
}

/* Scores, which are of one size, and what they send here. */
static void
route (Run *run)
{
  uint64_t size_bytes = 512 * (uint64_t) g_rand_int_range (run->random, 3, 1000);

  for (uint32_t i = 0; i < 4; i++)
    test_free (run->trace, ask (run, MIB), MIB);
  test_free (run->trace, ask (run, size_bytes), size_bytes);
}

/* Small blocks like the one that is kept lie around it. */
static void
compute_loss (Run *run, const Loop *loop, uint32_t step)
{
  uint64_t before = ask (run, LOSS_BYTES), kept = ask (run, run->kept_bytes);
  uint64_t after = ask (run, LOSS_BYTES);

  test_free (run->trace, before, LOSS_BYTES);
  if (loop->habit == FREES_ALL || (loop->habit == KEEPS_STATE && step > 0))
    test_free (run->trace, kept, run->kept_bytes);
  else
    g_array_append_val (run->kept, kept);
  if (loop->habit == KEEPS_WINDOW && run->kept->len > 3)
    drop_first (run);
  test_free (run->trace, after, LOSS_BYTES);
}

static void
do_step (Run *run, const Loop *loop, uint32_t step)
{
  uint32_t begin = (uint32_t) run->trace->n_events;
  uint64_t layers[N_LAYERS], batch = ask (run, 4 * MIB);

  if (run->batch != 0)
    test_free (run->trace, run->batch, 4 * MIB);
  run->batch = batch;
  for (uint32_t i = 0; i < N_LAYERS; i++)
    {
      collect (run, loop);
      layers[i] = ask (run, (2 + i) * MIB);
      if (loop->routes)
        route (run);
    }
  compute_loss (run, loop, step);
  for (uint32_t i = N_LAYERS; i-- > 0;)
    test_free (run->trace, layers[i], (2 + i) * MIB);
  if (!loop->holds)
    {
      test_free (run->trace, batch, 4 * MIB);
      run->batch = 0;
    }
  test_step (run->trace, step, begin);
}

static void
evaluate (Run *run)
{
  for (uint32_t i = 0; i < 2 * N_LAYERS; i++)
    {
      uint64_t block = ask (run, (1 + i % 3) * MIB + 512);

      test_free (run->trace, block, (1 + i % 3) * MIB + 512);
    }
}

static TesseraTrace *
trace_of (const Loop *loop, guint32 seed)
{
  Run run = { .trace = test_trace_new (),
              .random = g_rand_new_with_seed (seed),
              .kept = g_array_new (FALSE, FALSE, sizeof (uint64_t)),
              .kept_bytes = loop->habit == KEEPS_MUCH ? 10 * MIB : LOSS_BYTES };

  (void) ask (&run, 8 * MIB);
  for (uint32_t s = 0; s < loop->n_steps; s++)
    {
      do_step (&run, loop, s);
      if (loop->evaluates && s % 2)
        evaluate (&run);
    }
  tessera_trace_settle_ranges (run.trace);
  g_array_free (run.kept, TRUE);
  g_rand_free (run.random);
  return run.trace;
}

/* Everything has a slot but the loss. */
static void
assert_kept (const PlanCase *c, uint32_t n_unplanned)
{
  g_assert_cmpint (c->plan->followable, ==, TESSERA_FOLLOWABLE_YES);
  g_assert_cmpuint (c->plan->n_unplanned, ==, n_unplanned);
  for (size_t i = 0; i < c->plan->n_unplanned; i++)
    {
      g_assert_cmpuint (c->plan->unplanned[i].size_bytes, ==, LOSS_BYTES);
      g_assert_cmpuint (c->plan->unplanned[i].ordinal, ==, 1);
    }
  if (n_unplanned > 0)
    g_assert_nonnull (
        strstr (c->plan->follow_reason,
                "keeps up to 512 B beyond the next one, in 1 request without a"));
  else
    g_assert_null (strstr (c->plan->follow_reason, "beyond the next one"));
}

static void
test_one_kind (void)
{
  static const Habit habits[] = { LISTS_LOSSES, MAKES_CYCLES, KEEPS_WINDOW };

  for (size_t i = 0; i < G_N_ELEMENTS (habits); i++)
    for (uint32_t n_steps = 3; n_steps < N_STEPS; n_steps++)
      {
        const Loop loop = { .habit = habits[i], .n_steps = n_steps };
        g_auto (PlanCase) c = plan_case_new (trace_of (&loop, SEED), &plan_all_steps);

        assert_kept (&c, 1);
        g_assert_cmpuint (c.plan->sections[c.plan->n_sections - 1].n_steps, ==, n_steps);
        g_assert_cmpuint (c.plan->height_bytes, ==, c.plan->bound_bytes);
        plan_case_check (&c, 0, n_steps);
      }
}

/* What the first step made and kept has its place in the start, and its like in the
 * others a slot. */
static void
test_state (void)
{
  const Loop loop = { .habit = KEEPS_STATE, .n_steps = N_STEPS };
  g_auto (PlanCase) c = plan_case_new (trace_of (&loop, SEED), &plan_all_steps);

  assert_kept (&c, 0);
  g_assert_cmpuint (c.plan->sections[1].n_steps, ==, N_STEPS - 1);
  plan_case_check (&c, 1, N_STEPS - 1);
}

static void
test_much (void)
{
  const Loop loop = { .habit = KEEPS_MUCH, .n_steps = N_STEPS };
  g_auto (PlanCase) c = plan_case_new (trace_of (&loop, SEED), &plan_all_steps);

  g_assert_cmpint (c.plan->followable, ==, TESSERA_FOLLOWABLE_SAME_BATCHES);
  g_assert_cmpuint (c.plan->n_unplanned, ==, 0);
  g_assert_nonnull (strstr (c.plan->follow_reason, "10.00 MiB each"));
  plan_case_check (&c, 0, 0);
}

/* The batch is there twice for a moment: steps have two layouts, both with a loss. */
static void
test_layouts (void)
{
  const Loop loop = { .habit = LISTS_LOSSES, .holds = true, .n_steps = N_STEPS };
  const Loop without = { .habit = FREES_ALL, .holds = true, .n_steps = N_STEPS };
  g_auto (PlanCase) c = plan_case_new (trace_of (&loop, SEED), &plan_all_steps);
  g_auto (PlanCase) of = plan_case_new (trace_of (&without, SEED), &plan_all_steps);

  g_assert_cmpuint (c.plan->sections[1].alternate, ==, TESSERA_ALTERNATE_FIRST);
  assert_kept (&c, 2);
  g_assert_cmpuint (c.plan->height_bytes, <=, of.plan->height_bytes);
  plan_case_check (&c, 0, N_STEPS);
}

static void
test_kinds (void)
{
  const Loop loop = { .habit = LISTS_LOSSES, .evaluates = true, .n_steps = N_STEPS };
  const Loop without = { .habit = FREES_ALL, .evaluates = true, .n_steps = N_STEPS };
  g_auto (PlanCase) c = plan_case_new (trace_of (&loop, SEED), &plan_all_steps);
  g_auto (PlanCase) of = plan_case_new (trace_of (&without, SEED), &plan_all_steps);

  assert_kept (&c, 1);
  g_assert_cmpuint (c.plan->n_sections, >=, 3);
  g_assert_cmpuint (c.plan->n_sections, ==, of.plan->n_sections);
  g_assert_cmpuint (c.plan->n_slots + 1, ==, of.plan->n_slots);
}

/* Where requests differ from step to step, what all steps make folds without it. */
static void
test_dynamic (void)
{
  const Loop loop = { .habit = LISTS_LOSSES, .routes = true, .n_steps = N_STEPS };
  g_auto (PlanCase) c = plan_case_new (trace_of (&loop, SEED), &plan_all_steps);

  assert_kept (&c, 1);
  g_assert_nonnull (strstr (c.plan->follow_reason, "dynamic requests a step"));
  g_assert_cmpuint (c.plan->n_rooms, >, 0);
  g_assert_cmpuint (c.plan->sections[1].n_slots, ==, 1 + 5 * N_LAYERS + 2);
}

/* What has no place can't be pinned, and who wants it is told. */
static void
test_pin (void)
{
  for (int evaluates = 0; evaluates < 2; evaluates++)
    {
      const Loop loop = { .habit = LISTS_LOSSES,
                          .evaluates = evaluates,
                          .n_steps = N_STEPS };
      g_auto (PlanCase) c = plan_case_new (trace_of (&loop, SEED), &plan_all_steps);
      uint32_t block = c.plan->unplanned[0].block;
      TesseraEdit edit = { .kind = TESSERA_EDIT_PIN, .name = (char *) "here" };
      TesseraPlanOptions options = plan_all_steps;
      TesseraError error = { 0 };
      TesseraPlan *plan;

      tessera_selector_init (&edit.what);
      edit.what.blocks = &block;
      edit.what.n_blocks = 1;
      options.edits = &edit;
      options.n_edits = 1;
      GIVES (TESSERA_REFUSED, tessera_plan_trace (c.trace, c.blocks, c.structure,
                                                  &options, &error, &plan));
      g_assert_nonnull (strstr (error.text, TESSERA_ALL_KEPT));
    }
}

/* ---- what is kept, by itself ---- */

typedef struct
{
  uint32_t steps[4]; /* that keep request 0; 99: none more */
  uint64_t bytes;
  uint32_t first;
  bool is_kept;
} Question;

/* Each step asks for @bytes, and for what makes 64 MiB of it. */
static TesseraTrace *
trace_of_question (const Question *question, uint32_t n_steps)
{
  TesseraTrace *trace = test_trace_new ();
  const uint64_t rest_bytes = 64 * MIB - question->bytes;
  uint32_t n_kept = 0;

  for (uint32_t k = 0; k < n_steps; k++)
    {
      uint32_t begin = (uint32_t) trace->n_events;
      uint64_t addr = (uint64_t) (k + 1) << 32;

      test_alloc (trace, addr, question->bytes);
      test_alloc (trace, 1, rest_bytes);
      test_free (trace, 1, rest_bytes);
      if (n_kept < 4 && question->steps[n_kept] == k)
        n_kept++;
      else
        test_free (trace, addr, question->bytes);
      test_step (trace, k, begin);
    }
  tessera_trace_settle_ranges (trace);
  return trace;
}

static void
ask_question (const Question *question, uint32_t n_steps)
{
  g_auto (PlanCase) c = plan_case_look (trace_of_question (question, n_steps));
  TesseraRun run;

  OK (tessera_run_init (c.trace, c.blocks, c.structure, -1, -1, NULL, &run));
  const TesseraStepKind *kind = &run.units.kinds[0];
  g_assert_cmpint (run.units.n_kinds > 0, ==, question->first + 2 <= n_steps);
  if (run.units.n_kinds > 0)
    g_assert_cmpuint (run.last_step + 1 - run.units.n_units, ==, question->first);
  g_assert_cmpuint (kind->n_kept, ==, question->is_kept);
  if (question->is_kept)
    {
      g_assert_cmpuint (kind->is_kept[0], ==, 1);
      g_assert_cmpuint (kind->is_kept[1], ==, 0);
      g_assert_cmpuint (kind->kept_bytes, ==, question->bytes);
    }
  tessera_run_clear (&run);
}

static void
test_habits (void)
{
  static const Question questions[] = {
    { { 99 }, 512, 0, false },           { { 0, 99 }, 512, 1, false }, /* state */
    { { 0, 1, 2, 3 }, 512, 0, true },                                  /* a list */
    { { 1, 4, 99 }, 512, 0, true },      /* a cycle that was collected late twice */
    { { 4, 99 }, 512, 0, true },         /* once, but only one step is behind it */
    { { 7, 99 }, 512, 0, false },        /* the last: nobody can tell */
    { { 0, 1, 99 }, 2 * MIB, 2, false }, /* too much, where six others fold */
    { { 5, 6, 99 }, 2 * MIB, 0, true },  /* not, where none would */
    { { 5, 6, 99 }, 9 * MIB, 7, false }, /* too much all the same: none folds */
  };

  for (size_t i = 0; i < G_N_ELEMENTS (questions); i++)
    ask_question (&questions[i], 8);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/kept/one-kind", test_one_kind);
  g_test_add_func ("/kept/state", test_state);
  g_test_add_func ("/kept/much", test_much);
  g_test_add_func ("/kept/layouts", test_layouts);
  g_test_add_func ("/kept/kinds", test_kinds);
  g_test_add_func ("/kept/dynamic", test_dynamic);
  g_test_add_func ("/kept/pin", test_pin);
  g_test_add_func ("/kept/habits", test_habits);
  return g_test_run ();
}
