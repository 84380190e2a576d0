/*
 * Plans for several kinds of step, end to end: made-up programs that train in several
 * ways, evaluate and save in any order are planned from one order and followed in
 * another.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/planner.h"
#include "tests/simulator/made-case.h"
#include "tests/simulator/made-program.h"

#define SEED 20261122

static TesseraTrace *
run_program (GRand *random, const MadeProgram *program, guint n_units, guint *counts)
{
  MadeUnit units[MADE_MAX_UNITS];

  made_units (random, program, n_units, units, counts);
  return made_run (random, program, units, n_units + 2);
}

static TesseraPlan *
make_edited (const Case *of, const TesseraEdit *edits, size_t n_edits)
{
  const TesseraPlanOptions options = { .first_step = -1,
                                       .last_step = -1,
                                       .work_budget = 1 << 12,
                                       .edits = edits,
                                       .n_edits = n_edits };

  return case_plan (of, &options);
}

static guint
count_kinds (const TesseraPlan *plan)
{
  guint n = 0;

  for (size_t i = 0; i < plan->n_sections; i++)
    n += plan->sections[i].kind == TESSERA_SECTION_REPEATS;
  return n;
}

static gboolean
alternates (const TesseraPlan *plan)
{
  for (size_t i = 0; i < plan->n_sections; i++)
    if (plan->sections[i].alternate != TESSERA_ALTERNATE_NOT)
      return TRUE;
  return FALSE;
}

typedef struct
{
  guint n_plans;                        /* of several kinds */
  guint n_alternating;                  /* of these: with two layouts of each */
  guint64 n_hits, n_misses;             /* by the run that was planned */
  guint64 n_other_hits, n_other_misses; /* by another */
  guint64 height_bytes, bound_bytes;
} Totals;

static void
follow (const Case *of, const TesseraPlan *plan, guint64 *n_hits, guint64 *n_misses)
{
  g_autoptr (TesseraLayout) layout = case_follow (of, plan);

  case_assert_no_overlap (of->blocks, layout);
  g_assert_cmpuint (layout->n_ooms, ==, 0);
  *n_hits += layout->n_hits;
  *n_misses += layout->n_misses;
}

/* Was each kind seen to come again? */
static gboolean
are_frequent (const MadeProgram *program, const guint *counts)
{
  gboolean are = TRUE;

  for (guint k = 0; k < program->n_kinds; k++)
    are = are && counts[k] >= 2;
  return are;
}

static Totals
play (gboolean has_part, guint n_programs, guint64 scale)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (SEED);
  const MadeOptions made = { .has_part = has_part, .scale = scale };
  Totals totals = { 0 };

  for (guint n = 0; n < n_programs; n++)
    {
      const MadeProgram program = made_program (random, &made);
      guint counts[MADE_MAX_KINDS] = { 0 }, other_counts[MADE_MAX_KINDS] = { 0 };
      g_auto (Case) planned = case_new (run_program (random, &program, 24, counts));
      g_auto (Case) other = case_new (run_program (random, &program, 50, other_counts));
      g_autoptr (TesseraPlan) plan = make_edited (&planned, NULL, 0);

      if (count_kinds (plan) > 1 && are_frequent (&program, counts))
        {
          totals.n_plans++;
          totals.n_alternating += alternates (plan);
          totals.height_bytes += plan->height_bytes;
          totals.bound_bytes += plan->bound_bytes;
          follow (&planned, plan, &totals.n_hits, &totals.n_misses);
          follow (&other, plan, &totals.n_other_hits, &totals.n_other_misses);
        }
    }
  g_test_message (
      "%u plans, %u alternating, %.4f of the bound; planned run %" G_GUINT64_FORMAT
      " hits, %" G_GUINT64_FORMAT " misses, another %" G_GUINT64_FORMAT
      " and %" G_GUINT64_FORMAT,
      totals.n_plans, totals.n_alternating,
      (double) totals.height_bytes / (double) totals.bound_bytes, totals.n_hits,
      totals.n_misses, totals.n_other_hits, totals.n_other_misses);
  g_assert_cmpuint (totals.n_plans, >, n_programs / 2);
  return totals;
}

static void
test_orders (void)
{
  const Totals totals = play (FALSE, 200, 1);

  g_assert_cmpuint (totals.n_misses * 1000, <, totals.n_hits);
  g_assert_cmpuint (totals.n_other_misses * 1000, <, totals.n_other_hits);
}

/* Blocks so large that what two steps have at once is worth two layouts. */
static void
test_layouts_in_turn (void)
{
  const Totals totals = play (FALSE, 60, 4096);

  g_assert_cmpuint (totals.n_alternating, >, 15);
  g_assert_cmpuint (totals.n_misses * 1000, <, totals.n_hits);
  g_assert_cmpuint (totals.n_other_misses * 1000, <, totals.n_other_hits);
}

/* A step that leaves out a stretch of another's requests is aligned anew each time: no
 * phase tells. */
static void
test_parts (void)
{
  const Totals totals = play (TRUE, 100, 1);

  g_assert_cmpuint (totals.n_misses * 25, <, totals.n_hits);
  g_assert_cmpuint (totals.n_other_misses * 25, <, totals.n_other_hits);
}

static void
ask_and_free (TesseraTrace *trace, guint64 units, guint16 stream)
{
  test_event (trace, TESSERA_ALLOC, MADE_UNIT, units * MADE_UNIT, stream);
  test_event (trace, TESSERA_FREE_REQUESTED, MADE_UNIT, units * MADE_UNIT, stream);
  test_event (trace, TESSERA_FREE_COMPLETED, MADE_UNIT, units * MADE_UNIT, stream);
}

/* Steps A and B, as @order has them, on two streams that are never busy together. */
static TesseraTrace *
run_in_order (const char *order)
{
  TesseraTrace *trace = test_trace_new ();

  trace->alignment_bytes = MADE_UNIT;
  for (guint i = 0; order[i]; i++)
    {
      uint32_t begin = (uint32_t) trace->n_events;

      for (guint k = 0; k < 8; k++)
        ask_and_free (trace, (order[i] == 'A' ? 20 : 12) + k, 0);
      ask_and_free (trace, 16, 1);
      test_step (trace, i, begin);
    }
  tessera_trace_settle_ranges (trace);
  return trace;
}

/* Streams apart are dear, of one kind as of two: that is no reason to leave one out. */
static void
test_costly (void)
{
  g_auto (Case) planned = case_new (run_in_order ("AAABABAAAA"));
  g_auto (Case) other = case_new (run_in_order ("BABBAABABB"));
  guint64 n_hits = 0, n_misses = 0;
  g_autoptr (TesseraPlan) plan = make_edited (&planned, NULL, 0);

  g_assert_cmpuint (plan->height_bytes * 100, >, plan->bound_bytes * 102);
  g_assert_cmpuint (count_kinds (plan), ==, 2);
  follow (&other, plan, &n_hits, &n_misses);
  g_assert_cmpuint (n_hits, ==, 90);
  g_assert_cmpuint (n_misses, ==, 0);
}

static TesseraPlan *
plan_with (const Case *of, TesseraStrategy strategy)
{
  const TesseraPlanOptions options = {
    .first_step = -1, .last_step = -1, .work_budget = 1 << 12, .strategy = strategy
  };

  return case_plan (of, &options);
}

/* Groups as units shape plans of several kinds too. */
static void
test_strategies (void)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (SEED + 2);
  guint n_kinds = 0, n_costly = 0;

  for (guint n = 0; n < 20; n++)
    {
      const MadeProgram program = made_program (random, &(MadeOptions){ 0 });
      guint counts[MADE_MAX_KINDS] = { 0 };
      g_auto (Case) of = case_new (run_program (random, &program, 16, counts));
      g_autoptr (TesseraPlan) bare = plan_with (&of, TESSERA_STRATEGY_FREE);
      g_autoptr (TesseraPlan) grouped = plan_with (&of, TESSERA_STRATEGY_STALLOC);

      if (count_kinds (bare) > 1 && count_kinds (grouped) > 1)
        {
          n_kinds++;
          n_costly += grouped->height_bytes > bare->height_bytes;
          g_assert_true (g_str_has_prefix (grouped->strategy, "stalloc: "));
        }
    }
  g_assert_cmpuint (n_kinds, >, 10);
  g_assert_cmpuint (n_costly, >, 0);
}

static bool
stop_at_once (void *user, double fraction)
{
  return false;
}

/* Stopped before its end a plan says so, and is kept only where that was asked for. */
static void
test_stopped (void)
{
  const TesseraProgress stopped = { stop_at_once, NULL };
  g_autoptr (GRand) random = g_rand_new_with_seed (SEED + 3);
  guint n_kinds = 0;

  for (guint n = 0; n < 10; n++)
    {
      const MadeProgram program = made_program (random, &(MadeOptions){ 0 });
      guint counts[MADE_MAX_KINDS] = { 0 };
      g_auto (Case) of = case_new (run_program (random, &program, 16, counts));
      TesseraPlanOptions options = {
        .first_step = -1, .last_step = -1, .progress = &stopped, .keeps_best = true
      };
      TesseraError error = { 0 };
      TesseraPlan *plan = case_plan (&of, &options);

      g_assert_true (plan->cut_short);
      n_kinds += count_kinds (plan) > 1;
      tessera_plan_free (plan);
      options.keeps_best = false;
      GIVES (TESSERA_CANCELLED, tessera_plan_trace (of.trace, of.blocks, of.structure,
                                                    &options, &error, &plan));
    }
  g_assert_cmpuint (n_kinds, >, 5);
}

/* The same trace gives the same plan, as often as it is made. */
static void
make_twice (const TesseraEdit *edits, size_t n_edits)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (SEED + 1);
  const MadeProgram program = made_program (random, &(MadeOptions){ 0 });
  guint counts[MADE_MAX_KINDS] = { 0 };
  g_auto (Case) of = case_new (run_program (random, &program, 12, counts));
  g_autoptr (TesseraPlan) plan = make_edited (&of, edits, n_edits),
                          again = make_edited (&of, edits, n_edits);

  g_assert_true (n_edits == 0 || plan->n_unplanned > 2); /* under the cap */
  g_assert_cmpuint (count_kinds (plan), >, 1);
  g_assert_cmpuint (again->slot_digest, ==, plan->slot_digest);
}

static void
test_again (void)
{
  make_twice (NULL, 0);
}

/* A rule about what is asked for in each step of any kind, others about some blocks; and
 * not all of it may stay. */
static void
test_again_with_edits (void)
{
  guint32 pinned[] = { 30 }, kept[] = { 20, 45, 60 }, left[] = { 24, 50 };
  TesseraEdit edits[] = {
    { .kind = TESSERA_EDIT_PIN, .name = "pin", .at = 64 * MADE_UNIT },
    { .kind = TESSERA_EDIT_TOGETHER, .name = "together" },
    { .kind = TESSERA_EDIT_APART, .name = "apart", .has_with = true },
    { .kind = TESSERA_EDIT_DYNAMIC, .name = "dynamic" },
    { .kind = TESSERA_EDIT_CAP, .name = "cap", .at = 660 * MADE_UNIT },
  };

  for (guint i = 0; i < G_N_ELEMENTS (edits); i++)
    {
      tessera_selector_init (&edits[i].what);
      tessera_selector_init (&edits[i].with);
    }
  edits[0].what.blocks = pinned;
  edits[0].what.n_blocks = G_N_ELEMENTS (pinned);
  edits[1].what.blocks = kept;
  edits[1].what.n_blocks = G_N_ELEMENTS (kept);
  edits[2].what.blocks = pinned;
  edits[2].what.n_blocks = G_N_ELEMENTS (pinned);
  edits[2].with.blocks = kept;
  edits[2].with.n_blocks = G_N_ELEMENTS (kept);
  edits[3].what.blocks = left;
  edits[3].what.n_blocks = G_N_ELEMENTS (left);
  make_twice (edits, G_N_ELEMENTS (edits));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/simulator/kinds/orders", test_orders);
  g_test_add_func ("/simulator/kinds/layouts-in-turn", test_layouts_in_turn);
  g_test_add_func ("/simulator/kinds/parts", test_parts);
  g_test_add_func ("/simulator/kinds/costly", test_costly);
  g_test_add_func ("/simulator/kinds/strategies", test_strategies);
  g_test_add_func ("/simulator/kinds/stopped", test_stopped);
  g_test_add_func ("/simulator/kinds/again", test_again);
  g_test_add_func ("/simulator/kinds/again-with-edits", test_again_with_edits);
  return g_test_run ();
}
